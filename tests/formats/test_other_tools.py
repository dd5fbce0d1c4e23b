"""Files of other tools are refused by name, before their labels are lost; texts without labels are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spanwise import corpora
from spanwise.cli import main
from spanwise.document import Document
from spanwise.errors import FormatError, InputError
from spanwise.formats import FORMATS, Report, detect, read

TEXT = "Ann left Halden."
SPAN = {"start": 0, "end": 3, "label": "PER"}
RESULT = [{"value": {**SPAN, "labels": ["PER"]}, "from_name": "label", "to_name": "text", "type": "labels"}]
TOOLS = {
    "doccano": [{"id": 1, "text": TEXT, "annotations": [{"label": 1, "start_offset": 0, "end_offset": 3}], "meta": {}}],
    "Label Studio": [{"id": 1, "text": TEXT, "result": RESULT}],
    "GLiNER": [
        {"tokenized_text": ["Ann", "left"], "ner": [[0, 0, "PER"]]},
        {"text": TEXT, "tokenized_text": ["Ann", "left"], "ner": [[0, 0, "PER"]]},
    ],
    "spaCy": [
        {"text": TEXT, "ents": [SPAN]},
        {"text": TEXT, "ents": [SPAN], "tokens": [{"id": 0, "start": 0, "end": 3}]},
        {"id": 0, "paragraphs": [{"raw": TEXT, "sentences": []}]},
    ],
    "Hugging Face datasets": [
        {"tokens": ["Ann", "left"], "ner_tags": [1, 0]},
        {"tokens": ["Ann", "left"], "tags": ["B-PER", "O"]},
    ],
}
DOCCANO = {"id": 1, "text": TEXT, "label": [[0, 3, "PER"]]}
RECORDS = [(tool, record) for tool, records in TOOLS.items() for record in records]


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize(("tool", "record"), RECORDS)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_json_lines_of_another_tool_are_named(tmp_path, tool, record, skip_bad):
    path = lines(tmp_path / "x.jsonl", record, record)
    with pytest.raises(FormatError, match=rf"x\.jsonl.*this looks like a file of {tool}[,;] "):
        list(read(path, skip_bad=skip_bad))


@pytest.mark.parametrize(("tool", "record"), RECORDS)
def test_a_json_array_of_another_tool_is_named(tmp_path, tool, record):
    (tmp_path / "x.json").write_text(json.dumps([record, record]))
    with pytest.raises(FormatError, match=rf"x\.json.*this looks like a file of {tool}[,;] .*docs/formats\.md"):
        list(read(tmp_path / "x.json"))


@pytest.mark.parametrize(
    ("name", "content", "tool"),
    [
        ("x.csv", "a,b\n1,2\n", "a CSV or TSV table"),
        ("x.csv", "text,entities\nAnn left,PER\n", "a CSV or TSV table"),
        ("x", "text,label\nAnn left,PER\n", "a CSV or TSV table"),
        ("x.txt", "Sentence #;Word;POS;Tag\n1;Ann;NNP;B-PER\n", "a CSV or TSV table"),
        ("x.tsv", "word\ttag\nAnn\tB-PER\nleft\tO\n", "a CSV or TSV table"),
        ("x.tsv", "word\ttag\nAnn\tPER\nLee\tPER\nBo\tPER\nleft\tO\n", "a CSV or TSV table"),
        ("x.json", '[["Ann left", {"entities": [[0, 3, "PER"]]}]]', "a file of spaCy"),
        ("x.json", '{"classes": ["PER"], "annotations": [["Ann", {"entities": [[0, 3, "PER"]]}]]}', "a file of spaCy"),
    ],
)
def test_a_table_or_a_file_of_spacy_is_named(tmp_path, name, content, tool):
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=f"this looks like {tool}, in a form that spanwise cannot read; "):
        detect(tmp_path / name)


def test_a_header_in_a_conll_file_is_refused(tmp_path):
    (tmp_path / "x.conll").write_text("word tag\nAnn PER\nLee PER\nleft O\nBo PER\n")
    with pytest.raises(FormatError, match=r"x\.conll:1: the first line is a header \('word tag'\).*remove it"):
        list(read(tmp_path / "x.conll", "conll"))


def test_what_was_seen_and_what_to_do_is_said(tmp_path):
    path = lines(tmp_path / "x.jsonl", DOCCANO)
    with pytest.raises(FormatError) as caught:
        list(read(path, "jsonl"))
    assert str(caught.value) == (
        f"{path}: not one entity was read, but the field 'label' ([[0, 3, 'PER']]) looks like labels; this looks like "
        "a file of doccano; read it as 'doccano' if its records are of that form, else export it as JSONL, or convert "
        'it to jsonl (one {"text": "Ann left.", "entities": [{"start": 0, '
        '"end": 3, "label": "PER"}]} per line, see docs/formats.md); remove the field if it is something else.'
    )


@pytest.mark.parametrize(
    "field", ["label", "labels", "ner_tags", "ner", "spans", "annotations", "result", "predictions"]
)
def test_a_field_that_looks_like_labels_is_refused_whatever_it_holds(tmp_path, field):
    path = lines(tmp_path / "x.jsonl", {"text": TEXT}, {"text": TEXT, "entities": [], field: "PER"})
    with pytest.raises(FormatError, match=f"not one entity was read, but the field '{field}' "):
        list(read(path))


def test_a_misspelled_field_of_entities_is_refused(tmp_path):
    with pytest.raises(FormatError, match=r"the field 'entites' .* looks like labels"):
        list(read(lines(tmp_path / "x.jsonl", {"text": TEXT, "entites": [SPAN]})))


@pytest.mark.parametrize(
    "records",
    [
        [{"text": TEXT}, {"text": TEXT, "id": 7, "metadata": {"label": "x"}}],
        [{"text": TEXT, "entities": []}],
        [{"text": TEXT, "label": []}, {"text": TEXT, "spans": None}],
        [{"text": TEXT, "source": "mail", "topics": ["trade"]}],
        [{"text": TEXT, "label": "news"}, {"text": TEXT, "label": "news", "entities": [SPAN]}],
    ],
)
def test_texts_without_labels_and_files_with_an_entity_are_read(tmp_path, records):
    assert [d.text for d in read(lines(tmp_path / "x.jsonl", *records))] == [TEXT] * len(records)


def test_the_refusal_comes_before_any_document_of_a_short_file(tmp_path):
    path = lines(tmp_path / "x.jsonl", *[{"text": TEXT, "label": "news"}] * 2000)
    with pytest.raises(FormatError, match="not one entity was read"):
        next(iter(read(path)))


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in FORMATS
        if FORMATS[name].example and not name.startswith(("ace", "conll-2012", "ontonotes", "kbp"))
    ),
)
def test_the_example_of_a_format_is_a_record_of_it(tmp_path, name):
    path = tmp_path / ("x.ann" if name == "brat" else "x")
    path.write_text(FORMATS[name].example)
    (tmp_path / "x.txt").write_text("Ann left.")
    (document,) = read(path)
    assert (detect(path), len(document.entities)) == (name, 1)


@pytest.mark.parametrize(
    ("file", "content", "name"),
    [
        ("x.json", '[{"words": ["Ann"]}]', "spert"),
        ("x.jsonl", '[{"text": "Ann"}]', "jsonl"),
        ("x.tsv", "Ann\tPER\tmaybe\n", "conll"),
    ],
)
def test_a_wrong_guess_is_named_with_a_good_record(tmp_path, file, content, name):
    (tmp_path / file).write_text(content)
    with pytest.raises(FormatError) as caught:
        list(read(tmp_path / file))
    assert f"The format {name!r} is a guess; a record of it looks like this: {FORMATS[name].example}" in str(
        caught.value
    )
    with pytest.raises(FormatError) as caught:
        list(read(tmp_path / file, name))
    assert "is a guess" not in str(caught.value)


def test_a_later_bad_record_does_not_doubt_the_format(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"text": TEXT}, {"text": 5})
    with pytest.raises(FormatError, match=r"x\.jsonl:2: 'text' is 5, but should be a string\.$"):
        list(read(path))


def test_training_files_without_entities_are_refused_and_may_be_looked_at(tmp_path):
    path = lines(tmp_path / "train.jsonl", {"text": TEXT, "entities": []})
    with pytest.raises(InputError, match=r"the training data in .*train\.jsonl contains no entities; check the files"):
        corpora.from_files([path])
    report = Report()
    corpus = corpora.from_files([path], report=report, check_labels=False)
    assert corpus.splits["train"] == (Document(TEXT),)
    assert report.notes == [f"{path}: there are no entities in these files; no model can be trained on them"]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"text": TEXT, "label": "PER"}, "not one entity was read"),
        ({"text": TEXT, "entities": []}, "contains no entities"),
    ],
)
@pytest.mark.parametrize("verb", ["init", "convert", "inspect"])
def test_every_verb_refuses_labels_that_would_vanish(tmp_path, monkeypatch, capsys, record, sentence, verb):
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "train.jsonl", record)
    arguments = {"init": [], "convert": ["out.json"], "inspect": []}
    monkeypatch.setattr("sys.argv", ["spanwise", verb, "train.jsonl", *arguments[verb]])
    with pytest.raises(SystemExit) as caught:
        main()
    if verb == "init" or "label" in record:
        assert (caught.value.code, sentence in capsys.readouterr().err) == (2, True)
        assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]
    else:
        assert not caught.value.code
        assert ("there are no entities in these files" in capsys.readouterr().err) == (verb == "inspect")


def test_tag_columns_reach_the_files_of_a_corpus(tmp_path):
    (tmp_path / "train.conll").write_text("Bank B-ORG O\nof I-ORG O\nHalden I-ORG B-LOC\n")
    corpus = corpora.from_files([tmp_path / "train.conll"], tag_columns=[2, 3])
    assert corpus.schema.entity_names == ("LOC", "ORG")
