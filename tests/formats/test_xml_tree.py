"""XML is read without opening anything outside the file, and without expanding anything in it."""

from __future__ import annotations

import pytest

from spanwise.errors import FormatError
from spanwise.formats import xml_tree
from spanwise.formats.xml_tree import read_xml


def test_a_tree_knows_its_text_and_its_lines(tmp_path):
    (tmp_path / "x.xml").write_text('<?xml version="1.0"?>\n<a>\n<b c="1">x &amp; y</b>\n</a>')
    (child,) = read_xml(tmp_path / "x.xml").children
    assert (child.tag, child.text, child.line, child.number("c")) == ("b", "x & y", 3, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY e "boom">]>\n<a>&e;</a>', r"x\.xml:1: the XML declares or uses the entity 'e'"),
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "secret.txt">]>\n<a>&e;</a>', r"x\.xml:1: .* entity 'e'"),
        ('<!DOCTYPE a [<!ENTITY % p SYSTEM "evil.dtd"> %p;]>\n<a/>', r"x\.xml:1: .* entity 'p'"),
        ('<!DOCTYPE a SYSTEM "a.dtd">\n<a>&secret;</a>', r"x\.xml:2: .* entity 'secret'"),
        ("<a>&secret;</a>", r"x\.xml:1: this is not well-formed XML \(undefined entity\)"),
        ("<a>\n<b></a>", r"x\.xml:2: this is not well-formed XML \(mismatched tag\)"),
        ("", r"x\.xml:1: this is not well-formed XML \(no element found\)"),
        ("<a>" * 60 + "</a>" * 60, r"x\.xml:1: the XML is nested deeper than 50 levels"),
        ('<?xml version="1.0" encoding="klingon"?><a/>', r"x\.xml.*: .*(unknown encoding|cannot be decoded)"),
    ],
)
def test_what_is_not_plain_xml_is_refused(tmp_path, content, message):
    (tmp_path / "x.xml").write_text(content)
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "evil.dtd").write_text('<!ENTITY e "boom">')
    with pytest.raises(FormatError, match=message):
        read_xml(tmp_path / "x.xml")


def test_a_dtd_is_not_opened(tmp_path):
    (tmp_path / "x.xml").write_text('<!DOCTYPE a SYSTEM "a.dtd">\n<a/>')
    (tmp_path / "a.dtd").write_text("this is no DTD")
    assert read_xml(tmp_path / "x.xml").tag == "a"


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_tree, "MAX_BYTES", 2**20)
    (tmp_path / "x.xml").write_text(f"<a>{' ' * 2**20}</a>")
    with pytest.raises(FormatError, match="the file is larger than 1 MB"):
        read_xml(tmp_path / "x.xml")


def test_too_many_elements_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_tree, "MAX_NODES", 10)
    (tmp_path / "x.xml").write_text("<a>" + "<b/>\n" * 20 + "</a>")
    with pytest.raises(
        FormatError, match=r"x\.xml:10: the XML is nested deeper than 50 levels or has more than 10 ele"
    ):
        read_xml(tmp_path / "x.xml")


def test_text_around_children_is_kept(tmp_path):
    (tmp_path / "x.xml").write_text("<a>one<b>two</b>three</a>")
    root = read_xml(tmp_path / "x.xml")
    assert (root.text, root.child("b").text) == ("onethree", "two")
