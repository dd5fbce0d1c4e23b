"""`spanwise convert` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.formats import read, write


@pytest.fixture
def convert(tmp_path):
    def run(*arguments: object, input: bytes = b""):
        command = [sys.executable, "-c", "from spanwise.cli import main; main()", "convert", *map(str, arguments)]
        return subprocess.run(command, input=input, capture_output=True, cwd=tmp_path, check=False)

    return run


@pytest.fixture
def corpus(tmp_path):
    documents = [
        Document(
            "Ann left.", entities=(Entity(0, 3, "PER"), Entity(0, 8, "X")), relations=(Relation(0, 1, "R"),), id="1"
        ),
        Document("Bo came.", entities=(Entity(0, 2, "PER"),), id="2"),
    ]
    write(documents, tmp_path / "in.jsonl")
    return tmp_path / "in.jsonl"


def test_raw_text_is_segmented_for_a_format_of_words(convert, corpus, tmp_path):
    result = convert(corpus, "out.json")
    assert (result.returncode, result.stdout) == (0, b"")
    assert [d.word_texts for d in read(tmp_path / "out.json")] == [["Ann", "left", "."], ["Bo", "came", "."]]
    assert "read 2 documents from" in result.stderr.decode()
    assert "wrote 2 to out.json (spert)" in result.stderr.decode()


def test_a_loss_is_refused_with_exit_code_2_and_one_sentence(convert, corpus, tmp_path):
    result = convert(corpus, "out.conll")
    assert result.returncode == 2
    (sentence,) = result.stderr.decode().strip().split("\n")
    assert sentence.startswith("error: out.conll: document '1' has 1 x relation")
    assert not (tmp_path / "out.conll").exists()


def test_the_summary_as_json_stands_alone_on_standard_output(convert, corpus, tmp_path):
    result = convert(corpus, "out.conll", "--lossy", "--scheme", "bioes", "--json")
    assert (result.returncode, result.stderr) == (0, b"")
    summary = json.loads(result.stdout)
    assert (summary["from"], summary["to"], summary["read"], summary["written"]) == ("jsonl", "conll", 2, 2)
    assert summary["dropped"] == {
        "relation": 1, "nested or overlapping entity": 1, "id": 2, "spacing of a text": 2,
    }  # fmt: skip
    assert (tmp_path / "out.conll").read_text().startswith("Ann\tB-X\nleft\tE-X\n")


def test_a_document_is_written_as_its_sentences(convert, tmp_path):
    text = "Ann left. Bo stayed in Halden. Cy came."
    joined = "He joined Yahoo! Inc. in May. She left."
    documents = [
        Document(text, entities=(Entity(0, 3, "PER"), Entity(23, 29, "LOC")), id="1"),
        Document(joined, entities=(Entity(10, 21, "ORG"),), id="2"),
    ]
    write(documents, tmp_path / "in.jsonl")
    summary = json.loads(convert("in.jsonl", "out.conll", "--json").stdout)
    sentences = list(read(tmp_path / "out.conll"))
    assert [d.text for d in sentences] == [
        "Ann left .", "Bo stayed in Halden .", "Cy came .", "He joined Yahoo ! Inc. in May .", "She left .",
    ]  # fmt: skip
    assert [(d.text_of(e), e.label) for d in sentences for e in d.entities] == [
        ("Ann", "PER"), ("Halden", "LOC"), ("Yahoo ! Inc.", "ORG"),
    ]  # fmt: skip
    assert (summary["read"], summary["written"], summary["dropped"]) == (2, 2, {"spacing of a text": 2, "id": 2})
    assert "out.conll: 5 sentences are written for 2 documents; each is read as a document" in summary["notes"]


def test_the_sentences_of_a_conll_file_keep_their_borders(convert, tmp_path):
    content = "He\tO\nleft\tO\n.\tO\nBo\tI-PER\ncame\tO\n.\tO\n\n"
    (tmp_path / "in.conll").write_text(content)
    assert convert("in.conll", "out.conll", "--scheme", "IO").returncode == 0
    assert (tmp_path / "out.conll").read_text() == content


def test_layers_of_tags_become_nested_entities(convert, tmp_path):
    (tmp_path / "in.conll").write_text("Bank B-ORG O\nof I-ORG O\nHalden I-ORG B-LOC\n")
    assert convert("in.conll", "out.jsonl", "--tag-columns", "2,3").returncode == 0
    (document,) = read(tmp_path / "out.jsonl")
    assert [e.label for e in document.entities] == ["ORG", "LOC"]
    result = convert("in.conll", "out.jsonl", "--tag-columns", "two")
    assert (result.returncode, "are not numbers with commas between" in result.stderr.decode()) == (2, True)


def test_bad_records_are_skipped_and_shown(convert, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    assert convert("in.jsonl", "-").returncode == 2
    result = convert("in.jsonl", "-", "--skip-bad")
    assert result.returncode == 0
    assert json.loads(result.stdout)["text"] == "a"
    assert "skipped 1 bad record:" in result.stderr.decode()
    assert "in.jsonl:2: 'text' is 1" in result.stderr.decode()


def test_it_is_a_filter_between_pipes(convert):
    line = b'{"text": "a", "entities": [], "relations": []}\n'
    result = convert("-", "-", input=line)
    assert (result.returncode, result.stdout) == (0, line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.jsonl", "x.jsonl"), "missing.jsonl: no such file or folder"),
        (("in.jsonl", "x.xml"), "does not determine the format"),
        (("in.jsonl", "x.conll", "--to", "xml"), "the format 'xml' is unknown"),
        (("in.jsonl", "x.conll", "--from", "xml"), "the format 'xml' is unknown"),
        (("in.jsonl", "x.conll", "--scheme", "XYZ", "--lossy"), "the tag scheme 'XYZ' is unknown"),
        (("in.jsonl", "-", "--json"), "both write to standard output"),
        (("in.jsonl", "no/such/x.jsonl"), "does not exist; create it first"),
    ],
)
def test_wrong_arguments_are_rejected_in_one_sentence(convert, corpus, arguments, message):
    result = convert(*arguments)
    assert result.returncode == 2
    assert message in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()


def test_help_shows_an_example(convert):
    assert "spanwise convert train.json train.conll" in " ".join(convert("--help").stdout.decode().split())
