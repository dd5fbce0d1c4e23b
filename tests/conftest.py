"""What tests share: a tiny random encoder, two invented corpora, pipelines over them, and the real data where it is.

torch is imported by the fixtures that need it, so that tests of what must do without it start quickly.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from browser import BROWSERS, Browser
from spanwise import runtime
from spanwise.corpora import DATA_VARIABLE, Corpus
from spanwise.testing.samples import FLAT, NESTED, sample_corpus
from spanwise.text.alignment import align

if TYPE_CHECKING:
    from spanwise.pipeline.torch_pipeline import TorchPipeline
    from spanwise.recipe import Recipe

ENCODERS_VARIABLE = "SPANWISE_ENCODERS"
SHARED = Path(__file__).resolve().parents[2] / "shared"
# One thread, no network: also for the processes that tests start.
os.environ.update(
    {runtime.THREADS_VARIABLE: "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
)
for variable, folder in ((DATA_VARIABLE, "data"), (ENCODERS_VARIABLE, "encoders")):
    if (SHARED / folder).is_dir():
        os.environ.setdefault(variable, str(SHARED / folder))
# A shell ignores INT for what it runs in the background, and children inherit that: tests send real signals.
for signal_name, default in (
    ("SIGINT", signal.default_int_handler),
    ("SIGTERM", signal.SIG_DFL),
    ("SIGHUP", signal.SIG_DFL),
):
    number = getattr(signal, signal_name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN and current_thread() is main_thread():
        signal.signal(number, default)
settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT that reads 96 pieces, lower-cased; nearly every word falls into several pieces."""
    from spanwise.testing import samples

    return samples.tiny_encoder(tmp_path_factory.mktemp("tiny-encoder"))


@pytest.fixture(scope="session")
def flat_corpus() -> Corpus:
    """Eight invented sentences of 1 to 21 words, three labels, no entity inside another; dev is train."""
    return sample_corpus("flat", FLAT)


@pytest.fixture(scope="session")
def nested_corpus() -> Corpus:
    """Eight invented sentences with entities inside others; dev is train."""
    return sample_corpus("nested", NESTED)


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
def make_pipeline(make_recipe: Callable[..., Recipe], flat_corpus: Corpus) -> Callable[..., TorchPipeline]:
    """make_pipeline("span-ner", nested_corpus, nested=True): a random model in eval mode, always the same."""
    import torch

    from spanwise.pipeline.blueprint import Blueprint
    from spanwise.pipeline.encoders import load_pretrained
    from spanwise.pipeline.torch_pipeline import TorchPipeline
    from spanwise.text.profile import profile

    def make(model: str, corpus: Corpus | None = None, *, seed: int = 1, **options: Any) -> TorchPipeline:
        corpus = corpus or flat_corpus
        recipe = make_recipe(model, **options)
        blueprint = Blueprint.from_recipe(recipe, profile(map(align, corpus.splits["train"])))
        with torch.random.fork_rng():
            runtime.seed_step(seed)
            pipeline = TorchPipeline(blueprint, corpus.schema, *load_pretrained(recipe.encoder.name))
        pipeline.model.eval()
        return pipeline

    return make


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of the real corpora: $SPANWISE_DATA, which the tests set where the corpora lie beside the checkout."""
    root = Path(os.environ.get(DATA_VARIABLE, "")).absolute()
    if not (root / "conll04").is_dir():
        pytest.skip(f"the real corpora are not on this machine; set {DATA_VARIABLE} to their folder")
    return root


@pytest.fixture(scope="session")
def encoder_root() -> Path:
    """The folder of the larger pretrained encoders: $SPANWISE_ENCODERS."""
    root = Path(os.environ.get(ENCODERS_VARIABLE, "missing"))
    if not root.is_dir():
        pytest.skip(f"the pretrained encoders are not on this machine; set {ENCODERS_VARIABLE} to their folder")
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless browser; without one on this machine, the tests of pages are skipped."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on this machine")
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
