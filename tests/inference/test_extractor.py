"""Text in, documents out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

import spanwise
from spanwise import formats
from spanwise.document import Document, Entity, Offsets
from spanwise.errors import InputError, ModelError
from spanwise.evaluation import evaluate
from spanwise.inference import extractor as module
from spanwise.inference.card import HubScores
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline

TEXT = "Ada Moss met Bo in Upper Dale ."
TEXTS = ["Mara left Kell .", "Nothing happened that day .", "", TEXT, "In Westmoor it rained ."]


@pytest.fixture(scope="module")
def extractor(trained: Path) -> Extractor:
    return Extractor.from_pretrained(trained)


@pytest.fixture(scope="module")
def unsure(make_pipeline: Callable[..., TorchPipeline]) -> Extractor:
    """A random span model, whose probabilities are low and spread."""
    return Extractor(make_pipeline("span-ner", nested=True, max_width=4))


def found(document: Document) -> list[tuple[str, str]]:
    return [(document.text_of(entity), entity.label) for entity in document.entities]


def test_a_text_gives_a_document(extractor: Extractor) -> None:
    document = extractor(TEXT)
    assert isinstance(document, Document)
    assert document.text == TEXT
    assert found(document) == [("Ada Moss", "Person"), ("Bo", "Person"), ("Upper Dale", "Place")]
    assert all(0 < entity.score <= 1 for entity in document.entities)


def test_the_package_itself_gives_the_extractor() -> None:
    assert spanwise.Extractor is Extractor


def test_a_list_gives_a_list_in_its_order(extractor: Extractor) -> None:
    documents = extractor(TEXTS)
    assert [document.text for document in documents] == TEXTS
    for document, alone in zip(documents, map(extractor, TEXTS), strict=True):
        assert found(document) == found(alone)
    assert extractor([]) == []


def test_a_list_of_words_given_as_texts_is_a_list_of_texts(extractor: Extractor) -> None:
    documents = extractor(["Ada", "Moss", "left"])
    assert [document.text for document in documents] == ["Ada", "Moss", "left"]


def test_words_are_one_text(extractor: Extractor) -> None:
    document = extractor(words=["Ada", "Moss", "left", "Upper", "Dale", "."])
    assert document.word_texts == ["Ada", "Moss", "left", "Upper", "Dale", "."]
    assert found(document) == [("Ada Moss", "Person"), ("Upper Dale", "Place")]


def test_words_are_never_split_again(extractor: Extractor) -> None:
    assert extractor(words=["don't", "well-known", "New York"]).word_texts == ["don't", "well-known", "New York"]
    assert extractor(words=[]).words == ()


def test_lists_of_words_are_texts(extractor: Extractor) -> None:
    rows = [["Ada", "Moss", "left", "Kell"], ["don't", "New York"], []]
    documents = extractor(words=rows)
    assert [document.word_texts for document in documents] == rows
    assert documents == [extractor(words=row) for row in rows]
    assert found(documents[0]) == [("Ada Moss", "Person"), ("Kell", "Place")]
    assert extractor(words=[tuple(row) for row in rows]) == documents


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("Ada left", "words= takes a list of words, or a list of such lists, not str."),
        ([1, 2], "words= takes the words of one text, which are strings, but item 0 is of type int."),
        (["Ada", ["left"]], "words= takes the words of one text, which are strings, but item 1 is of type list."),
        ([["Ada"], "left"], "words= takes lists of words, one per text, but item 1 is of type str."),
        ([["Ada"], None], "words= takes lists of words, one per text, but item 1 is of type NoneType."),
        ([["Ada"], ["left", 3]], "words= has in text 1 an item of type int at position 1; "),
        ([["Ada"], ["left"], [""]], "words= has in text 2 an empty word at position 0; "),
        (["Ada", "", "left"], "words= has an empty word at position 1; give strings that are not empty."),
        (["Ada", "left", " \t"], "words= has an empty word at position 2; "),
    ],
)
def test_words_of_another_kind_are_rejected(extractor: Extractor, words: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        extractor(words=words)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("texts", [[TEXT, ["Ada", "left"]], [TEXT, 3], [TEXT, None], [TEXT, b"Ada"]], ids=repr)
def test_texts_of_another_kind_are_rejected_by_their_index(extractor: Extractor, texts: Any) -> None:
    sentence = r"item 1: a text is a string, not (list|int|NoneType|bytes); .*use words="
    for read in (extractor, lambda given: list(extractor.stream(given)), lambda given: list(extractor.relate(given))):
        with pytest.raises(InputError, match=sentence):
            read(texts)


def test_text_and_words_together_or_neither_are_reported(extractor: Extractor) -> None:
    for arguments in ({}, {"text": "Ada", "words": ["Ada"]}):
        with pytest.raises(InputError, match="give either a text"):
            extractor(**arguments)


def test_a_stream_reads_only_a_chunk_ahead(extractor: Extractor) -> None:
    read = 0

    def texts() -> Iterator[str]:
        nonlocal read
        for number in range(10_000):
            read += 1
            yield f"Bo met {number} ."

    stream = extractor.stream(texts())
    assert read == 0
    assert [document.text for document in itertools.islice(stream, 3)] == ["Bo met 0 .", "Bo met 1 .", "Bo met 2 ."]
    assert read == module.CHUNK_TEXTS == 512
    rest = itertools.islice(stream, module.CHUNK_TEXTS)
    assert [document.text for document in rest][-1] == f"Bo met {module.CHUNK_TEXTS + 2} ."
    assert read == 2 * module.CHUNK_TEXTS


def test_a_stream_is_the_same_whatever_its_chunks(extractor: Extractor, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{text} {number}" for number in range(4) for text in TEXTS]
    whole = [found(document) for document in extractor.stream(texts)]
    monkeypatch.setattr(module, "CHUNK_TEXTS", 3)
    assert [found(document) for document in extractor.stream(iter(texts))] == whole


def test_a_stream_of_pairs_keeps_each_text_with_its_context(
    extractor: Extractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_TEXTS", 2)
    contexts: list[Any] = [{"row": 1}, None, "x", 4, (5, 6)]
    pairs = extractor.stream(zip(TEXTS, contexts, strict=True), as_tuples=True)
    assert list(pairs) == list(zip(extractor(TEXTS), contexts, strict=True))


@pytest.mark.parametrize("item", ["Ada left", ("Ada left",), Document("Ada left"), ("a", "b", "c")], ids=repr)
def test_an_item_that_is_no_pair_is_rejected_by_its_index(extractor: Extractor, item: Any) -> None:
    with pytest.raises(InputError, match=r"item 1: with as_tuples=True every item is a pair \(text, context\)"):
        list(extractor.stream([("Bo left", 1), item], as_tuples=True))
    with pytest.raises(InputError, match="item 0: a text is a string, not int"):
        list(extractor.stream([(3, "Bo left")], as_tuples=True))  # type: ignore[list-item]


def test_a_stream_refuses_wrong_options_when_it_is_asked_for(extractor: Extractor) -> None:
    with pytest.raises(InputError, match="a threshold is a probability"):
        extractor.stream(TEXTS, threshold=2)
    with pytest.raises(InputError, match="has fixed labels and takes no new ones"):
        extractor.stream(TEXTS, labels={"Town": "where people live"})


@pytest.mark.parametrize("name", ["extractor", "unsure"])
def test_a_higher_threshold_never_adds_an_entity(name: str, request: pytest.FixtureRequest) -> None:
    model: Extractor = request.getfixturevalue(name)
    before = set(model(TEXT).entities)
    assert before
    for threshold in (0.2, 0.35, 0.5, 0.9, 0.99, 1.0):
        entities = set(model(TEXT, threshold=threshold).entities)
        assert entities == {entity for entity in before if entity.score >= threshold}
        before = entities
    assert all(entity.score == 1.0 for entity in before)


def test_a_threshold_per_label_leaves_other_labels_alone(unsure: Extractor) -> None:
    everything = unsure(TEXT).entities
    label = everything[0].label
    kept = unsure(TEXT, threshold={label: 1.0}).entities
    assert kept == tuple(entity for entity in everything if entity.label != label or entity.score >= 1.0)
    assert len(kept) < len(everything)


def test_a_threshold_holds_for_its_own_call_only(extractor: Extractor) -> None:
    before = extractor(TEXT)
    extractor(TEXT, threshold=1.0)
    assert extractor(TEXT) == before


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), {"Person": 2}])
def test_a_threshold_that_is_no_probability_is_reported(extractor: Extractor, threshold: Any) -> None:
    with pytest.raises(InputError, match="a threshold is a probability between 0 and 1, not"):
        extractor(TEXT, threshold=threshold)


def test_a_threshold_for_an_unknown_label_is_reported(extractor: Extractor) -> None:
    with pytest.raises(InputError, match=r"unknown label 'Planet' .*; choose from Person, Place"):
        extractor(TEXT, threshold={"Planet": 0.5})


def test_a_document_keeps_its_id_metadata_and_words_and_gets_new_entities(extractor: Extractor) -> None:
    words = (Offsets(0, 3), Offsets(4, 8))
    given = Document("Nell left", words[:1], (Entity(0, 9, "Place"),), id="d7", metadata={"source": "test"})
    document = extractor(Document("Nell left", id="d7", metadata={"source": "test"}))
    assert (document.id, document.metadata) == ("d7", {"source": "test"})
    assert found(document) == [("Nell", "Person")]
    (document,) = extractor([given])
    assert document.words == words[:1]
    assert all(entity.label != "Place" or entity.end <= 3 for entity in document.entities)


def test_long_text_is_read_to_its_end(extractor: Extractor) -> None:
    """The encoder reads 96 pieces; this is many times that, with names everywhere."""
    text = " ".join([TEXT] * 100)
    entities = extractor(text).entities
    assert {10 * entity.start // len(text) for entity in entities} == set(range(10))
    assert len(set(entities)) == len(entities)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "🙂", "中国人", "שלום עולם", "a" * 5000, "\x00", "é" * 300])
def test_any_text_is_taken(extractor: Extractor, text: str) -> None:
    document = extractor(text)
    assert document.text == text
    for entity in document.entities:
        assert document.text_of(entity).strip()


def test_a_saved_extractor_is_the_same_when_it_is_loaded(extractor: Extractor, trained: Path, tmp_path: Path) -> None:
    extractor.save_pretrained(tmp_path / "model")
    loaded = Extractor.from_pretrained(str(tmp_path / "model"))
    assert loaded(TEXTS) == extractor(TEXTS)
    assert loaded.schema == extractor.schema
    assert (tmp_path / "model" / "README.md").read_text() == (trained / "README.md").read_text()


class FakeHub:
    """Stands in for the hub's API; remembers what it was asked for."""

    made: dict[str, Any]
    uploaded: dict[str, bytes]

    def __init__(self, token: str | None = None) -> None:
        FakeHub.made = {"token": token}

    def create_repo(self, name: str, *, private: bool, exist_ok: bool) -> None:
        FakeHub.made.update(name=name, private=private)

    def upload_folder(self, *, repo_id: str, folder_path: str, commit_message: str) -> Any:
        assert repo_id == FakeHub.made["name"]
        FakeHub.uploaded = {path.name: path.read_bytes() for path in Path(folder_path).rglob("*")}

        class Commit:
            commit_url = f"https://hub.example/{repo_id}/commit/1"

        return Commit()


def test_the_hub_gets_the_model_with_its_card_and_nothing_else(
    extractor: Extractor, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    assert extractor.push_to_hub("ada/names", token="t") == "https://hub.example/ada/names/commit/1"  # noqa: S106
    assert FakeHub.made == {"token": "t", "name": "ada/names", "private": True}
    names = {"config.json", "schema.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md"}
    assert set(FakeHub.uploaded) == names
    assert FakeHub.uploaded["model.safetensors"] == (trained / "model.safetensors").read_bytes()


def test_the_card_on_the_hub_has_metadata_scores_and_the_models_name(
    extractor: Extractor, easy_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    gold = list(formats.read(easy_files / "test.jsonl"))
    scores = HubScores(evaluate(extractor, gold), "easy")
    extractor.push_to_hub("ada/names", scores=scores, license="apache-2.0", language="en")
    card = huggingface_hub.ModelCard(FakeHub.uploaded["README.md"].decode())
    assert card.data.library_name == "spanwise"
    assert card.data.pipeline_tag in card.data.tags
    assert (card.data.license, card.data.language) == ("apache-2.0", "en")
    rows = [(row.dataset_name, row.dataset_split, row.metric_type) for row in card.data.eval_results]
    assert [row[1:] for row in rows] == [("dev", "f1"), ("test", "precision"), ("test", "recall"), ("test", "f1")]
    assert rows[-1][0] == "easy"
    assert card.data.eval_results[-1].metric_value == pytest.approx(scores.evaluation.entities.micro.f1, abs=1e-4)
    assert 'Extractor.from_pretrained("ada/names")' in card.text
    assert "this-folder" not in card.text


def test_a_model_without_a_card_gets_one(
    make_pipeline: Callable[..., TorchPipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    Extractor(make_pipeline("seq-ner")).push_to_hub("ada/names")
    card = huggingface_hub.ModelCard(FakeHub.uploaded["README.md"].decode())
    assert card.data.library_name == "spanwise"
    assert 'Extractor.from_pretrained("ada/names")' in card.text


def test_entities_in_the_form_of_transformers(extractor: Extractor) -> None:
    document = extractor("Ada Moss left Kell .")
    (first, *_) = extractor.to_hf(document)
    entity = document.entities[0]
    assert first == {"entity_group": "Person", "score": entity.score, "word": "Ada Moss", "start": 0, "end": 8}
    assert len(extractor.to_hf(document)) == len(document.entities)


def test_a_model_comes_from_the_hub_by_its_name(
    extractor: Extractor, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def download(name: str, *, allow_patterns: list[str]) -> str:
        asked.update(name=name, patterns=allow_patterns)
        return str(trained)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert Extractor.from_pretrained("ada/names")(TEXT) == extractor(TEXT)
    assert asked["name"] == "ada/names"
    assert not any(pattern.endswith((".bin", ".pt", ".pkl", "*", ".py")) for pattern in asked["patterns"])


@pytest.mark.parametrize(
    "error",
    [
        LocalEntryNotFoundError("no network\nand no cache"),
        HFValidationError("not a name"),
        OSError("disk full"),
        pytest.param("http", id="http"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_hub_that_gives_nothing_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch, error: Any) -> None:
    def fail(*_: Any, **__: Any) -> str:
        if error == "http":
            raise _http_error()
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(ModelError, match="folder 'ada/names' does not exist, and the hub has no such model") as caught:
        Extractor.from_pretrained("ada/names")
    assert "\n" not in str(caught.value)


def _http_error() -> HfHubHTTPError:
    error = HfHubHTTPError.__new__(HfHubHTTPError)
    Exception.__init__(error, "503 Server Error\nRequest ID: 1")
    return error


def test_without_network_a_name_on_the_hub_is_reported_at_once() -> None:
    """Offline mode is set for all tests; nothing is asked of the network."""
    with pytest.raises(ModelError, match="the hub has no such model"):
        Extractor.from_pretrained("nobody/nothing-of-this-name")


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder in which the hub must not be asked."""
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("asked the hub"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["nothing", "./no/such", "/no/such/folder", "~/nothing", "a/b/c"])
def test_a_path_is_not_taken_for_a_name_on_the_hub(no_hub: Path, name: str) -> None:
    with pytest.raises(ModelError, match=f"model folder '{name}' does not exist; check the path, or train one"):
        Extractor.from_pretrained(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("runs/mien", "runs/mine"), ("rusn/mine", "runs/mine"), ("./run/mines", "runs/mine"), ("rnus", "runs")],
)
def test_a_mistyped_folder_is_reported_with_the_one_that_was_meant(no_hub: Path, name: str, meant: str) -> None:
    (no_hub / "runs" / "mine").mkdir(parents=True)
    (no_hub / "runs" / "mine.txt").touch()
    with pytest.raises(ModelError) as caught:
        Extractor.from_pretrained(name)
    assert str(caught.value).startswith(f"model folder '{name}' does not exist; did you mean '{meant}'?")


def test_a_name_in_a_folder_that_exists_is_not_asked_of_the_hub(no_hub: Path) -> None:
    (no_hub / "runs").mkdir()
    with pytest.raises(ModelError, match="model folder 'runs/other' does not exist; check the path"):
        Extractor.from_pretrained("runs/other")


def test_a_name_after_hub_is_always_one_on_the_hub(
    trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: asked.append(name) or str(trained))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ada" / "names").mkdir(parents=True)
    Extractor.from_pretrained("hub:ada/names")
    assert asked == ["ada/names"]
