"""Corpora: named ones are the published files or are refused, and users' own files become a corpus of the same kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spanwise import corpora
from spanwise.corpora import CHECKSUMS, CORPORA, NamedCorpus
from spanwise.errors import CorpusError, InputError, SchemaError
from spanwise.formats import Report
from spanwise.inspection import crossing, nested

DATA = Path(os.environ.get(corpora.DATA_VARIABLE) or Path(__file__).parents[3] / "shared" / "data").absolute()
needs_data = pytest.mark.skipif(not (DATA / "conll04").is_dir(), reason="the named corpora are not on this machine")


def spert(*sentences: tuple[str, list[tuple[int, int, str]]]) -> str:
    """Invented sentences in SpERT's form."""
    return json.dumps(
        [
            {
                "tokens": text.split(),
                "entities": [{"start": start, "end": end, "type": label} for start, end, label in entities],
                "relations": [],
                "orig_id": number,
            }
            for number, (text, entities) in enumerate(sentences)
        ]
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    contents = {
        "train": spert(("Ada met Bo .", [(0, 1, "Person"), (2, 3, "Person")]), ("Cy left Rome .", [(2, 3, "Place")])),
        "dev": spert(("Di stayed .", [(0, 1, "Person")])),
        "strange": spert(("Acme grew .", [(0, 1, "Company")])),
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(content)
    return {name: tmp_path / f"{name}.json" for name in contents}


def test_own_files_become_splits_with_the_schema_of_train(files: dict[str, Path]) -> None:
    corpus = corpora.from_files([files["train"]], [files["dev"]])
    assert {name: len(documents) for name, documents in corpus.splits.items()} == {"train": 2, "dev": 1}
    assert corpus.schema.entity_names == ("Person", "Place")
    assert corpus.split("dev")[0].text == "Di stayed ."


def test_a_label_that_train_lacks_is_refused_with_its_file(files: dict[str, Path]) -> None:
    with pytest.raises(SchemaError, match=r"strange\.json has the entity labels \['Company'\]"):
        corpora.from_files([files["train"]], test=[files["strange"]])
    looked_at = corpora.from_files([files["train"]], test=[files["strange"]], check_labels=False)
    assert looked_at.schema.entity_names == ("Person", "Place")
    assert looked_at.split("test")[0].entities[0].label == "Company"


def test_several_files_of_a_split_are_read_in_order(files: dict[str, Path]) -> None:
    corpus = corpora.from_files([files["dev"], files["train"]])
    assert [document.text for document in corpus.splits["train"]] == ["Di stayed .", "Ada met Bo .", "Cy left Rome ."]


def test_bad_records_are_counted_when_they_are_skipped(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    good = {"text": "Ada left.", "entities": [{"start": 0, "end": 3, "label": "Person"}]}
    bad = {"text": "Bo.", "entities": [{"start": 0, "end": 99, "label": "Person"}]}
    file.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    report = Report()
    corpus = corpora.from_files([file], skip_bad=True, report=report)
    assert (len(corpus.splits["train"]), report.bad) == (1, 1)


def test_one_path_is_not_taken_for_a_list(files: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="put it in a list"):
        corpora.from_files(str(files["train"]))
    with pytest.raises(InputError, match="no training file was given"):
        corpora.from_files([])


def test_a_missing_split_error_lists_the_others(files: dict[str, Path]) -> None:
    with pytest.raises(CorpusError, match=r"no split 'test'; it has \['train'\]"):
        corpora.from_files([files["train"]]).split("test")


@pytest.mark.parametrize(
    "names",
    [
        "a_train.json b.devel.tsv my-test.conll",
        "eng.train eng.testa eng.testb",
        "wnut17train.conll emerging.dev.conll emerging.test.annotated",
        "Training.json Development.json Testing.json",
        "train.json validation.json test.json",
    ],
)
def test_names_tell_the_splits_of_files(names: str) -> None:
    files = [Path(name) for name in names.split()]
    assert corpora.infer_splits(reversed(files)) == ([files[0]], [files[1]], [files[2]])


@pytest.mark.parametrize("names", ["test.json", "a.json latest.json", "dev.1.json dev.2.json"])
def test_files_whose_names_tell_nothing_apart_are_all_train(names: str) -> None:
    files = [Path(name) for name in names.split()]
    assert corpora.infer_splits(files) == (files, [], [])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("train.json dev.json held-out.json", "'held-out.json' marks no split.* --dev or --test"),
        ("mine.json test.json", "'mine.json' marks no split"),
        ("train.json latest.json", "'latest.json' marks no split"),
        ("eng.testa eng.testb", "no training file"),
    ],
)
def test_a_file_that_could_be_of_any_split_is_not_trained_on(names: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        corpora.infer_splits(map(Path, names.split()))


def test_a_missing_corpus_error_names_the_data_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_DATA", str(tmp_path))
    with pytest.raises(CorpusError, match="environment variable SPANWISE_DATA") as caught:
        corpora.load("conll04")
    assert str(tmp_path) in str(caught.value)
    monkeypatch.delenv("SPANWISE_DATA")
    with pytest.raises(
        CorpusError, match=r"does not ship with spanwise.*environment variable SPANWISE_DATA to the folder"
    ):
        corpora.load("wnut17")
    assert not corpora.is_present(_named("wnut17"))


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    for path in (named := _named("conll04")).files:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(spert(("Ada left .", [])))
    assert corpora.is_present(named, tmp_path)
    with pytest.raises(CorpusError, match="is not the published file"):
        corpora.load("conll04", tmp_path)


@pytest.mark.parametrize("name", ["conll", "ade/10", "ade-flat/10", "ade/x", "ade/", "conll04/0", ""])
def test_an_unknown_name_or_fold_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(CorpusError, match=r"choose from conll04|its folds are 0 to 9|its folds are none"):
        corpora.load(name)


def test_every_file_of_a_named_corpus_has_a_checksum_and_the_reverse() -> None:
    declared = {path for named in CORPORA if not named.bundled for path in named.files}
    assert declared == set(CHECKSUMS)


def test_the_demo_corpus_ships_and_its_labels_are_described() -> None:
    corpus = corpora.load("demo")
    named = _named("demo")
    assert set(corpus.splits) == {"train", "dev", "test"}
    assert (len(corpus.schema.entities), len(corpus.schema.relations)) == (named.entity_types, named.relation_types)
    assert all(entity.description for entity in corpus.schema.entities)
    for documents in corpus.splits.values():
        corpus.schema.check(documents, "demo")


@needs_data
def test_the_schema_keeps_the_published_order_names_and_symmetry() -> None:
    schema = corpora.load("scierc", DATA).schema
    assert schema.entity_names == ("Task", "Method", "Material", "OtherScientificTerm", "Metric", "Generic")
    assert schema.relation_names[:3] == ("Used-for", "Feature-of", "Hyponym-of")
    assert {r.name for r in schema.relations if r.symmetric} == {"Compare", "Conjunction"}


@needs_data
@pytest.mark.parametrize("named", [n for n in CORPORA if n.descriptions], ids=lambda named: named.name)
def test_every_label_that_we_describe_has_a_sentence_and_the_reverse(named: NamedCorpus) -> None:
    schema = corpora.load(named.name, DATA).schema
    types = (*schema.entities, *schema.relations)
    assert all(len(described.description.split()) > 3 and described.description.endswith(".") for described in types)
    assert set(named.descriptions) == set(schema.entity_names)
    assert set(named.relation_descriptions) == set(schema.relation_names)


@needs_data
def test_a_fold_is_the_whole_corpus_cut_in_two() -> None:
    whole, fold = corpora.load("ade", DATA), corpora.load("ade/3", DATA)
    assert list(whole.splits) == ["all"]
    assert list(fold.splits) == ["train", "test"]
    assert fold.schema == whole.schema
    texts = sorted(document.text for documents in fold.splits.values() for document in documents)
    assert texts == sorted(document.text for document in whole.splits["all"])


@needs_data
@pytest.mark.parametrize("fold", ["", "/0", "/9"])
def test_ade_flat_is_ade_without_the_sentences_whose_entities_overlap(fold: str) -> None:
    full, flat = corpora.load(f"ade{fold}", DATA), corpora.load(f"ade-flat{fold}", DATA)
    assert (flat.name, flat.schema, list(flat.splits)) == (f"ade-flat{fold}", full.schema, list(full.splits))
    for split, documents in full.splits.items():
        kept = tuple(d for d in documents if not nested(d.entities) and not crossing(d.entities))
        assert flat.splits[split] == kept
    assert sum(map(len, full.splits.values())) - sum(map(len, flat.splits.values())) == 119


@needs_data
def test_ade_flat_has_the_counts_that_the_docs_tell() -> None:
    documents = corpora.load("ade-flat", DATA).split("all")
    entities, relations = (sum(len(getattr(d, kind)) for d in documents) for kind in ("entities", "relations"))
    assert (len(documents), entities, relations) == (4153, 10477, 6552)


@needs_data
def test_geneva_is_a_corpus_of_described_triggers() -> None:
    corpus = corpora.load("geneva", DATA)
    assert len(corpus.schema.entities) == 115
    assert all(len(entity.description) > 20 for entity in corpus.schema.entities)
    described = {entity.name: entity.description for entity in corpus.schema.entities}
    assert described["Agree_or_refuse_to_act"].startswith("Agree or refuse to act: A Speaker either agrees to")
    assert not corpus.schema.relations


def _named(name: str) -> NamedCorpus:
    return next(named for named in CORPORA if named.name == name)
