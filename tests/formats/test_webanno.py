"""WebAnno TSV 3 as INCEpTION exports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError, LossyError
from spanwise.formats import Report, detect, read, write

NER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
HEAD = f"""#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue|coarseValue
#T_SP={NER}|identifier|value
#T_SP=webanno.custom.Topic|
#T_CH=de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink|referenceRelation|referenceType
#T_RL=webanno.custom.Relation|label|BT_{NER}


"""
BODY = """#Text=Mara Ostrow saw O'Hara-style art.
1-1\t0-4\tMara\tNNP\t*\t*[1]\tPER[1]\t_\t*->1-1\t*\t_\t_\t
1-2\t5-11\tOstrow\tNNP\t*\t*[1]\tPER[1]\t_\t_\t_\t_\t_\t
1-3\t12-15\tsaw\tVBD\t*\t_\t_\t_\t_\t_\t_\t_\t
1-4\t16-28\tO'Hara-style\tJJ\t*\t_\t_\t_\t_\t_\t_\t_\t
1-4.1\t16-22\tO'Hara\t_\t_\t*\tPER\t_\t_\t_\tlikes\t1-1[1_0]\t
1-5\t29-32\tart\tNN\t*\t_\t_\t*\t_\t_\t_\t_\t
1-6\t32-33\t.\t.\t*\t_\t_\t_\t_\t_\t_\t_\t

#Text=Osaka 😀 Bank of A\\\\B
2-1\t34-39\tOsaka\tNNP\t*\tQ1\tLOC\t_\t_\t_\t_\t_\t
2-2\t40-42\t😀\tSYM\t*\t_\t_\t_\t_\t_\t_\t_\t
2-3\t43-47\tBank\tNNP\t*\t*[2]|*[3]\tORG[2]|A\\|B\\_C[3]\t_\t_\t_\tin|in\t2-1[0_2]|1-1[1_3]\t
2-4\t48-50\tof\tIN\t*\t*[2]\tORG[2]\t_\t_\t_\t_\t_\t
2-5\t51-54\tA\\\\B\tNNP\t*\t*[2]\tORG[2]\t_\t_\t_\t_\t_\t
"""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    (tmp_path / "news.tsv").write_text(HEAD + BODY, encoding="utf-8")
    return tmp_path / "news.tsv"


def test_layers_stacked_spans_and_parts_of_tokens(export):
    report = Report()
    (document,) = read(export, report=report)
    assert detect(export) == "webanno"
    assert document.text == "Mara Ostrow saw O'Hara-style art.\nOsaka 😀 Bank of A\\B"
    assert {(document.text_of(e), e.label) for e in document.entities} == {
        ("Mara Ostrow", "PER"), ("O'Hara", "PER"), ("art", "Topic"), ("Osaka", "LOC"), ("Bank of A\\B", "ORG"),
        ("Bank", "A|B_C"),
    }  # fmt: skip
    assert {
        (document.text_of(document.entities[r.head]), r.label, document.text_of(document.entities[r.tail]))
        for r in document.relations
    } == {
        ("Mara Ostrow", "likes", "O'Hara"), ("Osaka", "in", "Bank of A\\B"), ("Mara Ostrow", "in", "Bank"),
    }  # fmt: skip
    assert document.word_texts[3:6] == ["O'Hara-style", "art", "."]
    assert report.dropped == {
        "annotation of the layer 'de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS'": 11,
        "annotation of the layer 'de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink'": 1,
        "feature 'identifier'": 1,
    }


def test_offsets_in_characters_are_read_too(tmp_path):
    (tmp_path / "x.tsv").write_text(
        "#FORMAT=WebAnno TSV 3.2\n#T_SP=webanno.custom.Name|kind\n\n\n"
        "#Text=😀 Bo\n1-1\t0-1\t😀\t_\t\n1-2\t2-4\tBo\tPER\t\n",
        encoding="utf-8",
    )
    (document,) = read(tmp_path / "x.tsv")
    assert [(document.text_of(e), e.label) for e in document.entities] == [("Bo", "PER")]


def test_lines_of_a_sentence_and_java_escapes(tmp_path):
    (tmp_path / "x.tsv").write_text(
        "#FORMAT=WebAnno TSV 3.2\n#T_SP=webanno.custom.Name|value\n\n\n#Text=Zo\\u00EB \\uD83D\\uDE00\\r\n#Text=left\n"
        "1-1\t0-3\tZoë\tPER\t\n1-2\t4-6\t😀\t_\t\n1-3\t8-12\tleft\t_\t\n",
        encoding="utf-8",
    )
    (document,) = read(tmp_path / "x.tsv")
    assert (document.text, document.entities) == ("Zoë 😀\r\nleft", (Entity(0, 3, "PER"),))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("12-15\tsaw", "12-15\tsow", 12, "the token 'sow' does not stand at its offsets"),
        ("1-3\t12-15", "1-3\t12", 12, "is not a token"),
        ("2-4\t48-50\tof\tIN\t*", "2-4\t48-50\tof\tIN", 22, "cells, but the layers of the file need 12"),
        ("1-1[1_0]", "1-1[7_0]", 14, "a relation joins '7', which is no span of the layer"),
        ("1-1[1_0]", "here", 14, "'here' is not the source of a relation"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(export, old, new, line, message):
    content = (HEAD + BODY).replace(old, new, 1)
    export.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=rf"news\.tsv:{line}: .*{message}"):
        list(read(export))


def test_an_exported_project_has_a_folder_per_document(tmp_path):
    for annotator, content in {"ann": BODY, "bo": BODY.replace("LOC", "GPE"), "INITIAL_CAS": BODY}.items():
        file = tmp_path / "annotation" / "news.txt" / f"{annotator}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEAD + content, encoding="utf-8")
    with pytest.raises(FormatError, match=r"several annotators \('ann', 'bo'\)"):
        list(read(tmp_path))
    (document,) = read(tmp_path, annotator="bo")
    assert document.id == "news.txt"
    (common,) = read(tmp_path, annotator="majority")
    assert {e.label for e in document.entities} - {e.label for e in common.entities} == {"GPE"}


DOCUMENT = Document(
    "Mara [Ostrow] saw\r\n\tthe_art. Osaka 😀 is far.\n Bo *left*.",
    words=((0, 4), (6, 12), (14, 17), (20, 27), (27, 28), (29, 34), (35, 36), (37, 39), (40, 43), (43, 44), (46, 48)),
    entities=(
        Entity(0, 12, "PER"),
        Entity(6, 12, "A|B"),
        Entity(24, 27, "_"),
        Entity(35, 36, "EMO"),
        Entity(46, 48, "PER"),
    ),
    relations=(Relation(0, 4, "knows"), Relation(2, 2, "self->"), Relation(1, 0, "*")),
    id="a/b",
)


def test_every_text_and_span_is_kept(tmp_path):
    write([DOCUMENT, Document("Bo", ((0, 2),), id="c")], tmp_path / "out", "webanno")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a%2Fb.tsv", "c.tsv"]
    document, _ = read(tmp_path / "out")
    assert (document.text, document.id, set(document.entities)) == (DOCUMENT.text, "a/b", set(DOCUMENT.entities))
    for found in (document, DOCUMENT):
        found_relations = {(found.entities[r.head], found.entities[r.tail], r.label) for r in found.relations}
        assert found_relations == {
            (DOCUMENT.entities[r.head], DOCUMENT.entities[r.tail], r.label) for r in DOCUMENT.relations
        }


def test_offsets_are_written_in_utf16_units(tmp_path):
    write([DOCUMENT], tmp_path / "out", "webanno")
    content = (tmp_path / "out" / "a%2Fb.tsv").read_text(encoding="utf-8")
    assert "\t35-37\t😀\t*\tEMO\t" in content
    assert "\t38-40\tis\t" in content


def test_a_text_without_words_is_left_out_only_if_asked(tmp_path):
    with pytest.raises(LossyError, match="document left out for a text without words"):
        write([Document(" ")], tmp_path / "out", "webanno")
    write([Document(" "), DOCUMENT], tmp_path / "out", "webanno", lossy=True)
    assert len(list(read(tmp_path / "out"))) == 1
