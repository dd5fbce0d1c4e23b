"""Hugging Face data sets on disk and Parquet, with and without the package `datasets`."""

from __future__ import annotations

import json

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read, write

pa = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
pq = pytest.importorskip("pyarrow.parquet")

TOKENS = ["Mara", "saw", "Osaka", "Bay"]
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TAGGED = Document.from_words(TOKENS, [(0, 1, "PER"), (2, 4, "LOC")], id="7")
SPANNED = Document(
    "Mara 😀 saw Osaka",
    ((0, 4), (5, 6)),
    (Entity(0, 4, "PER", 0.5), Entity(0, 8, "X")),
    (Relation(0, 1, "in", 0.25),),
    "7",
)


def parquet(path, rows, feature=None):
    table = pa.Table.from_pylist(rows)
    if feature:
        table = table.replace_schema_metadata(
            {"huggingface": json.dumps({"info": {"features": {"ner_tags": feature}}})}
        )
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("name", ["folder", "file.parquet"])
@pytest.mark.parametrize(("format", "document"), [("huggingface", SPANNED), ("huggingface-tags", TAGGED)])
def test_documents_survive_a_table(tmp_path, name, format, document):
    write([document, Document.from_words(["x"])] * 1000, tmp_path / name, format)
    assert detect(tmp_path / name) == format
    documents = list(read(tmp_path / name))
    assert (len(documents), documents[0], documents[-1].entities) == (2000, document, ())


@pytest.mark.parametrize("wrapped", ["Sequence", "List"])
def test_tags_by_class(tmp_path, wrapped):
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": wrapped}
    rows = [{"id": "7", "tokens": TOKENS, "ner_tags": [1, 0, 3, 4], "pos_tags": [0, 1, 2, 2]}]
    path, report = parquet(tmp_path / "x.parquet", rows, feature), Report()
    assert list(read(path, report=report)) == [TAGGED]
    assert report.dropped == {"column 'pos_tags'": 1}
    assert report.notes == ["x.parquet: scheme IOB2 (detected)"]


def test_tags_as_strings_and_without_prefix(tmp_path):
    rows = [{"words": TOKENS, "tags": ["PER", "O", "LOC", "LOC"]}, {"words": ["Bo"], "tags": ["PER"]}]
    documents = list(read(parquet(tmp_path / "x.parquet", rows)))
    assert [[e.label for e in d.entities] for d in documents] == [["PER", "LOC"], ["PER"]]


@pytest.mark.parametrize(
    ("rows", "feature", "message"),
    [
        ([{"tokens": ["a"], "ner_tags": [1]}], None, r"1: the tag 1 has no name: .*store the tags as ClassLabel"),
        ([{"tokens": ["a"], "ner_tags": [9]}], {"names": NAMES}, "1: the tag 9 is not one of the 5 classes"),
        (
            [{"tokens": ["a"], "ner_tags": ["O"]}, {"tokens": ["a"], "ner_tags": []}],
            None,
            "2: there are 1 tokens, but 0 tags",
        ),
        (
            [{"text": "a", "spans": [{"start": 0, "end": 9, "label": "X"}]}],
            None,
            "1: the entity 'X' at 0 to 9 does not lie",
        ),
        ([{"text": "a", "topic": "b"}], None, "the table has no text with entities, but the columns text, topic"),
    ],
)
def test_a_bad_row_is_named_with_its_number(tmp_path, rows, feature, message):
    with pytest.raises(FormatError, match=rf"x\.parquet:? ?{message}"):
        list(read(parquet(tmp_path / "x.parquet", rows, feature)))


def test_spans_in_columns_of_lists(tmp_path):
    spans = {"start": [0, 5], "end": [4, 8], "type": ["PER", "V"]}
    (document,) = read(parquet(tmp_path / "x.parquet", [{"text": "Mara saw", "entities": spans}]))
    assert document.entities == (Entity(0, 4, "PER"), Entity(5, 8, "V"))


def test_a_folder_of_splits_names_them(tmp_path):
    write([TAGGED], tmp_path / "train", "huggingface-tags")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(FormatError, match=r"holds the splits of a data set; give one of them: .*train, .*test\."):
        list(read(tmp_path))
    assert list(read(tmp_path / "train")) == [TAGGED]


@pytest.mark.parametrize("name", ["folder", "file.parquet"])
def test_a_damaged_table_is_refused(tmp_path, name):
    write([TAGGED], tmp_path / name, "huggingface-tags")
    file = tmp_path / name / "data-00000-of-00001.arrow" if name == "folder" else tmp_path / name
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(FormatError, match="it is damaged"):
        list(read(tmp_path / name, "huggingface-tags"))


@pytest.mark.parametrize("name", ["folder", "file.parquet"])
def test_datasets_reads_what_is_written(tmp_path, name):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    load = datasets.load_from_disk if name == "folder" else datasets.Dataset.from_parquet
    write([SPANNED], tmp_path / name, "huggingface")
    (row,) = load(str(tmp_path / name))
    assert row == {key: row[key] for key in ("id", "text", "words", "entities", "relations")}
    assert row["entities"][0] == {"start": 0, "end": 4, "label": "PER", "score": 0.5}
    write([TAGGED], tmp_path / f"tags-{name}", "huggingface-tags", scheme="BIOES")
    table = load(str(tmp_path / f"tags-{name}"))
    names = table.features["ner_tags"].feature.names
    assert [names[tag] for tag in table[0]["ner_tags"]] == ["S-PER", "O", "B-LOC", "E-LOC"]


def test_what_datasets_saves_is_read(tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(datasets.ClassLabel(names=NAMES)),
        }
    )
    rows = {"id": ["7", "8"], "tokens": [TOKENS, ["Bo"]], "ner_tags": [[1, 0, 3, 4], [0]]}
    table = datasets.Dataset.from_dict(rows, features=features)
    datasets.disable_progress_bars()
    table.save_to_disk(str(tmp_path / "saved"), num_shards=2)
    table.to_parquet(str(tmp_path / "x.parquet"))
    for path in (tmp_path / "saved", tmp_path / "x.parquet"):
        assert next(iter(read(path))) == TAGGED
        assert len(list(read(path))) == 2
