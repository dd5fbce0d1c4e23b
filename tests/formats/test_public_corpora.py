"""Every public corpus gives the counts of its table, and comes back the same after being written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spanwise.formats import Report, detect, read, triggers_only, write

DATA = Path(os.environ.get("SPANWISE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no corpora in {DATA}; set SPANWISE_DATA to their folder")

# file: format, sentences, entities, relations
COUNTS = {
    "conll04/conll04_train.json": ("spert", 922, 3377, 1283),
    "conll04/conll04_dev.json": ("spert", 231, 893, 343),
    "conll04/conll04_test.json": ("spert", 288, 1079, 422),
    "ade/ade_full.json": ("spert", 4272, 10839, 6821),
    "scierc/spert_json/scierc_train.json": ("spert", 1861, 5598, 3219),
    "scierc/spert_json/scierc_dev.json": ("spert", 275, 811, 455),
    "scierc/spert_json/scierc_test.json": ("spert", 551, 1685, 974),
    "scierc/dygie_json/train.json": ("dygie", 1861, 5598, 3219),
    "scierc/dygie_json/dev.json": ("dygie", 275, 811, 455),
    "scierc/dygie_json/test.json": ("dygie", 551, 1685, 974),
    "wnut17/wnut17train.conll": ("conll", 3394, 1975, 0),
    "wnut17/emerging.dev.conll": ("conll", 1009, 836, 0),
    "wnut17/emerging.test.annotated": ("conll", 1287, 1079, 0),
    "bc5cdr/train.tsv": ("conll", 4560, 9385, 0),
    "bc5cdr/devel.tsv": ("conll", 4581, 9593, 0),
    "bc5cdr/test.tsv": ("conll", 4797, 9809, 0),
    "genia/genia_train.json": ("spert", 15023, 45164, 0),
    "genia/genia_dev.json": ("spert", 1669, 5371, 0),
    "genia/genia_test.json": ("spert", 1854, 5511, 0),
    "weibo/weiboNER_2nd_conll.train": ("conll-weibo", 1350, 1895, 0),
    "weibo/weiboNER_2nd_conll.dev": ("conll-weibo", 270, 389, 0),
    "weibo/weiboNER_2nd_conll.test": ("conll-weibo", 270, 418, 0),
    "resume/train.char.bmes": ("conll", 3821, 13440, 0),
    "resume/dev.char.bmes": ("conll", 463, 1497, 0),
    "resume/test.char.bmes": ("conll", 477, 1630, 0),
}
EVENTS = {
    "geneva/train_union_derived.json": (1963, 4057),
    "geneva/val.json": (783, 1442),
    "geneva/test.json": (933, 1893),
}


@pytest.mark.parametrize("file", COUNTS)
def test_counts_are_those_of_the_table(file):
    report = Report()
    documents = list(read(DATA / file, report=report))
    entities = sum(len(document.entities) for document in documents)
    relations = sum(len(document.relations) for document in documents)
    assert (detect(DATA / file), len(documents), entities, relations) == COUNTS[file]
    assert (report.read, report.bad, report.dropped) == (len(documents), 0, {})


@pytest.mark.parametrize("file", EVENTS)
def test_geneva_events_are_those_of_the_table(file):
    documents = list(read(DATA / file))
    assert (len(documents), sum(len(triggers_only(document).entities) for document in documents)) == EVENTS[file]


def test_ade_folds_make_up_the_whole():
    whole = sorted(document.id for document in read(DATA / "ade/ade_full.json"))
    fold = [document.id for part in ("train", "test") for document in read(DATA / f"ade/ade_split_3_{part}.json")]
    assert sorted(fold) == whole


@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("conll04/conll04_dev.json", "spert"),
        ("conll04/conll04_dev.json", "brat"),
        ("scierc/dygie_json/dev.json", "dygie"),
        ("geneva/val.json", "oneie"),
        ("genia/genia_dev.json", "jsonl"),
        ("resume/dev.char.bmes", "conll"),
        ("weibo/weiboNER_2nd_conll.dev", "conll"),
        ("wnut17/emerging.dev.conll", "conll"),
    ],
)
def test_a_corpus_is_the_same_after_being_written(tmp_path, file, format):
    documents = list(read(DATA / file))
    write(documents, tmp_path / "out", format)
    read_back = list(read(tmp_path / "out", format))
    if format == "brat":  # knows no words, and is read in the order of its file names
        documents = sorted(documents, key=lambda d: d.id)
        assert [(d.text, d.entities, d.relations) for d in read_back] == [
            (d.text, d.entities, d.relations) for d in documents
        ]
    else:
        assert read_back == documents


def test_chinese_text_is_as_it_was_written():
    document = next(read(DATA / "weibo/weiboNER_2nd_conll.test"))
    assert document.text == "一节课的时间真心感动了李开复感动"
    assert [document.text_of(entity) for entity in document.entities] == ["李开复"]
