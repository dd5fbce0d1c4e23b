"""What tests share: a tiny random encoder, two invented corpora, pipelines over them, and the real data where it is.

torch is imported by the fixtures that need it, so that tests of what must do without it start quickly.
"""

from __future__ import annotations

import json
import os
import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from spanwise import runtime
from spanwise.corpora import DATA_VARIABLE, Corpus
from spanwise.document import Document
from spanwise.schema import EntityType, Schema
from spanwise.text.alignment import segmented

if TYPE_CHECKING:
    from spanwise.pipeline import Pipeline
    from spanwise.recipe import Recipe

SHARED = Path(__file__).resolve().parents[2] / "shared"
COMMON_PIECES = ("the", "of", "in", "mar", "ost", "bren", "met", "univer", "##ing", "##ed", "##er", "##ow", "##sity")
CHINESE = "中国人在北京大学工作"

# One thread, no network: also for the processes that tests start.
os.environ.update(
    {runtime.THREADS: "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
)
settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")


def _vocabulary() -> list[str]:
    characters = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    pieces = [*characters, *(f"##{c}" for c in characters), *COMMON_PIECES, *CHINESE]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT that reads 96 pieces, lower-cased; nearly every word falls into several pieces."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny-encoder")
    vocabulary = _vocabulary()
    tokenizer = BertTokenizer(
        vocab={piece: index for index, piece in enumerate(vocabulary)}, do_lower_case=True, model_max_length=96
    )
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=96,
            initializer_range=0.2,  # so that random vectors differ by far more than rounding
        )
        BertModel(config).save_pretrained(folder)
    return folder


FLAT = (
    ("Mara Ostrow met Bo Lind in Brenford .", [(0, 2, "Person"), (3, 5, "Person"), (6, 7, "Place")]),
    ("The University of Brenford opened .", [(1, 4, "Organization")]),
    ("Nothing happened on that long grey day .", []),
    ("Acme hired Mara .", [(0, 1, "Organization"), (2, 3, "Person")]),
    ("In Westmoor and Brenford it rained", [(1, 2, "Place"), (3, 4, "Place")]),
    ("Lind", [(0, 1, "Person")]),
    (
        "Yesterday the Institute of Deep Water Studies moved from Westmoor to Kell , said Ada Moss , who runs it .",
        [(2, 7, "Organization"), (9, 10, "Place"), (11, 12, "Place"), (14, 16, "Person")],
    ),
    ("Kell United beat Acme 3 - 1 .", [(0, 2, "Organization"), (3, 4, "Organization")]),
)
NESTED = (
    ("The University of Brenford opened .", [(1, 4, "Organization"), (3, 4, "Place")]),
    ("Mara Ostrow of the Bank of Westmoor spoke .", [(0, 2, "Person"), (4, 7, "Organization"), (6, 7, "Place")]),
    ("Nobody came .", []),
    ("The mayor of Kell left .", [(0, 4, "Person"), (3, 4, "Place")]),
    ("Brenford", [(0, 1, "Place")]),
    (
        "Kell Water and Acme Gas merged .",
        [(0, 2, "Organization"), (0, 1, "Place"), (3, 5, "Organization")],
    ),
    ("Bo Lind , head of Acme Brenford , agreed .", [(0, 2, "Person"), (5, 7, "Organization"), (6, 7, "Place")]),
    ("It rained in Westmoor .", [(3, 4, "Place")]),
)
DESCRIPTIONS = {
    "Organization": "companies, clubs, offices and schools",
    "Person": "people, by name or by office",
    "Place": "towns and countries",
}


def _corpus(name: str, sentences: tuple[tuple[str, list[tuple[int, int, str]]], ...]) -> Corpus:
    documents = tuple(
        Document.from_words(text.split(), entities, id=f"{name}-{number}")
        for number, (text, entities) in enumerate(sentences)
    )
    schema = Schema(tuple(EntityType(label, described) for label, described in DESCRIPTIONS.items()))
    return Corpus(name, {"train": documents, "dev": documents}, schema)


@pytest.fixture(scope="session")
def flat_corpus() -> Corpus:
    """Eight invented sentences of 1 to 21 words, three labels, no entity inside another; dev is train."""
    return _corpus("flat", FLAT)


@pytest.fixture(scope="session")
def nested_corpus() -> Corpus:
    """Eight invented sentences with entities inside others; dev is train."""
    return _corpus("nested", NESTED)


@pytest.fixture(scope="session")
def make_recipe(tiny_encoder: Path) -> Callable[..., Recipe]:
    """make_recipe("seq-ner", bundle={"name": "span-ner"}, train={"epochs": 2}, tagging="crf"), tiny encoder."""
    from spanwise.recipe import Recipe

    def make(
        model: str,
        *,
        encoder: dict[str, Any] | None = None,
        bundle: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
        train: dict[str, Any] | None = None,
        **options: Any,
    ) -> Recipe:
        sections: dict[str, Any] = {
            "encoder": {"name": str(tiny_encoder), **(encoder or {})},
            "model": {"name": model, **options},
            "data": data or {"corpus": "demo"},
            "train": train or {},
        }
        return Recipe.parse({**sections, "bundle": bundle} if bundle else sections)

    return make


@pytest.fixture(scope="session")
def make_pipeline(make_recipe: Callable[..., Recipe], flat_corpus: Corpus) -> Callable[..., Pipeline]:
    """make_pipeline("span-ner", nested_corpus, nested=True): a random model in eval mode, always the same."""
    import torch

    from spanwise.encoders import load_pretrained
    from spanwise.pipeline import Blueprint, Pipeline, data_facts

    def make(model: str, corpus: Corpus | None = None, *, seed: int = 1, **options: Any) -> Pipeline:
        corpus = corpus or flat_corpus
        recipe = make_recipe(model, **options)
        blueprint = Blueprint.from_recipe(recipe, data_facts(map(segmented, corpus.splits["train"])))
        with torch.random.fork_rng():
            runtime.seed_step(seed)
            pipeline = Pipeline(blueprint, corpus.schema, *load_pretrained(recipe.encoder.name))
        pipeline.model.eval()
        return pipeline

    return make


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of the real corpora: $SPANWISE_DATA, else ../shared/data beside the repository."""
    root = Path(os.environ.get(DATA_VARIABLE) or SHARED / "data").absolute()
    if not (root / "conll04").is_dir():
        pytest.skip(f"the real corpora are not on this machine; set {DATA_VARIABLE} to their folder")
    return root


@pytest.fixture(scope="session")
def encoder_root() -> Path:
    """The folder of the larger pretrained encoders, ../shared/encoders beside the repository."""
    root = SHARED / "encoders"
    if not root.is_dir():
        pytest.skip("the shared pretrained encoders are not on this machine")
    return root


PEOPLE = ("Mara", "Bo", "Ada Moss", "Ivo Lind", "Nell", "Tarek Oss")
PLACES = ("Brenford", "Kell", "Westmoor", "Upper Dale")
FRAMES = (
    ("{Person} met ", "{Person} in ", "{Place} ."),
    ("{Person} left ", "{Place} ."),
    ("In ", "{Place} it rained ."),
    ("{Person} and ", "{Person} saw ", "{Place} again ."),
    ("Nothing happened that day .",),
)


def _easy_document(rng: random.Random, id: str) -> dict[str, Any]:
    """A sentence from few names, so that a tiny encoder learns them in seconds; raw text, without words."""
    text, entities = "", []
    for part in rng.choice(FRAMES):
        for label, names in (("Person", PEOPLE), ("Place", PLACES)):
            if part.startswith(f"{{{label}}}"):
                name = rng.choice(names)
                entities.append({"start": len(text), "end": len(text) + len(name), "label": label})
                part = part.replace(f"{{{label}}}", name)
        text += part
    return {"text": text, "entities": entities, "id": id}


@pytest.fixture(scope="session")
def easy_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.jsonl, dev.jsonl and test.jsonl that a tiny encoder learns in a second or two."""
    folder = tmp_path_factory.mktemp("easy")
    for seed, (split, size) in enumerate({"train": 64, "dev": 24, "test": 24}.items()):
        rng = random.Random(seed)  # noqa: S311
        lines = (json.dumps(_easy_document(rng, f"{split}-{number}")) for number in range(size))
        (folder / f"{split}.jsonl").write_text("".join(line + "\n" for line in lines))
    return folder


@pytest.fixture(scope="session")
def easy_recipe(easy_files: Path, tiny_encoder: Path) -> Path:
    """A recipe file beside the easy corpus: a tagger on the tiny encoder, above 0.9 dev F1 with any seed."""
    path = easy_files / "recipe.yaml"
    path.write_text(f"""\
encoder: {{name: {tiny_encoder}}}
model: {{name: seq-ner}}
data: {{train: [train.jsonl], dev: [dev.jsonl], test: [test.jsonl]}}
train: {{epochs: 16, batch_size: 4, encoder_lr: 5e-3, task_lr: 1e-2, seed: 6}}
""")
    return path


@pytest.fixture(scope="session")
def trained(easy_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of the easy recipe. Tests must not write into it."""
    from spanwise.recipe import Recipe
    from spanwise.training.run import train

    folder = tmp_path_factory.mktemp("runs") / "trained"
    runtime.set_threads()
    train(Recipe.load(easy_recipe), folder)
    return folder
