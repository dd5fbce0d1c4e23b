"""A corpus is a folder; a list beside it names the files of a split."""

from __future__ import annotations

import pytest

from invented_ace import ENTITIES, put
from spanwise import corpora
from spanwise.errors import FormatError
from spanwise.formats import detect, read


@pytest.fixture
def corpus(tmp_path):
    for folder, name in (("nw", "a.1"), ("nw", "a.2"), ("nw", "a.3"), ("bn", "b.1")):
        put(tmp_path / folder / "timex2norm", name, content=ENTITIES)
        put(tmp_path / folder / "adj", name, content="")
    return tmp_path


def listed(corpus, name, *names):
    (corpus / name).write_text("".join(f"{line}\n" for line in names))
    return corpus / name


def test_a_list_names_files_by_name_or_path_with_or_without_ending(corpus):
    path = listed(corpus, "train.list", "b.1", "", "nw/timex2norm/a.1", "a.2.apf.xml", "a.3.sgm")
    assert detect(path) == "ace"
    assert [(d.id, len(d.entities)) for d in read(path)] == [("b.1", 3), ("a.1", 3), ("a.2", 3), ("a.3", 3)]


def test_a_path_in_the_list_tells_which_version_is_read(corpus):
    (document,) = read(listed(corpus, "x.list", "nw/adj/a.1"))
    assert document.entities == ()


def test_lists_are_the_splits_of_a_corpus(corpus):
    lists = [listed(corpus, f"{split}.list", name) for split, name in (("train", "a.1"), ("dev", "a.2"))]
    train, dev, _ = corpora.infer_splits(lists)
    found = corpora.from_files(train, dev)
    assert {split: [d.id for d in documents] for split, documents in found.splits.items()} == {
        "train": ["a.1"],
        "dev": ["a.2"],
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.1", "", "c.1"], r"x\.list:3: 'c\.1' is not below the folder of the list"),
        (["../other/a.1"], r"x\.list:1: '\.\./other/a\.1' is not below the folder of the list"),
        (["/etc/passwd"], r"x\.list:1: '/etc/passwd' is not below the folder of the list"),
        (["a.1", "a.1.sgm"], r"x\.list:2: 'a\.1\.sgm' is listed twice"),
        (["a.1", "nw/timex2norm/a.1"], r"x\.list:2: 'nw/timex2norm/a\.1' is listed twice"),
    ],
)
def test_a_wrong_name_in_a_list_is_refused_with_its_line(corpus, names, message):
    with pytest.raises(FormatError, match=message) as caught:
        list(read(listed(corpus, "x.list", *names)))
    assert "is a guess" not in str(caught.value)
