"""Inputs of every shape: other orders, long documents, raw text, nothing predicted, partial annotation."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from time import perf_counter

import pytest
from brackets import document

from spanwise import corpora
from spanwise.analysis import analyze, report
from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError
from spanwise.formats import read, write

ONE, TWO = document("[Mara:PER] left .", id="a"), document("[Bo:PER] stayed .", id="b")
SILENT = [one.with_annotations() for one in (ONE, TWO)]


def without_id(one: Document) -> Document:
    return Document(one.text, one.words, one.entities, one.relations)


def f1(gold, predicted) -> float:
    return analyze(gold, {"one": predicted}, samples=2).systems["one"].entities.strict.micro.f1.value


def test_documents_are_matched_by_id():
    assert f1([ONE, TWO], [TWO, ONE]) == 1


def test_documents_are_matched_by_text_without_ids():
    assert f1([ONE, TWO], [without_id(TWO), without_id(ONE)]) == 1


def test_equal_texts_are_matched_in_their_order():
    twice = [without_id(ONE), without_id(TWO), without_id(ONE.with_annotations())]
    assert f1(twice, [twice[1], twice[0], twice[2]]) == 1


@pytest.mark.parametrize(
    ("predicted", "named"),
    [
        ([ONE], "one has no prediction for gold document 'b'"),
        ([ONE, TWO, document("New .", id="c")], "one has a document 'c' that gold does not have"),
        ([ONE, document("Bo left .", id="b")], "another text than gold for document 'b'"),
        ([without_id(ONE)], "one has no prediction for gold document 'b'"),
        ([without_id(ONE), document("Bo left .")], "one has no prediction for gold document 'b'"),
        ([without_id(ONE), without_id(TWO), document("New .")], "one has a document 'New .'"),
    ],
)
def test_documents_that_do_not_match_are_named(predicted, named):
    with pytest.raises(InputError, match=named):
        analyze([ONE, TWO], {"one": predicted})


@pytest.mark.parametrize(("gold", "systems"), [([], {"one": []}), ([ONE], {})])
def test_nothing_to_analyze_is_an_error(gold, systems):
    with pytest.raises(InputError, match="nothing to analyze"):
        analyze(gold, systems)


def test_a_system_without_predictions_is_scored():
    analysis = analyze([ONE, TWO], {"one": SILENT}, samples=5)
    system = analysis.systems["one"]
    assert (system.entities.strict.micro.f1.value, system.errors.kinds["missed"].count) == (0, 2)
    assert (system.relations, system.calibration, analysis.suspicious.total) == ({}, None, 0)
    assert report(analysis).sections


def test_gold_without_entities_is_scored():
    analysis = analyze(SILENT, {"one": [ONE, TWO], "two": SILENT}, samples=5)
    assert analysis.systems["one"].errors.kinds["spurious"].count == 2
    assert analysis.systems["two"].entities.strict.micro.f1.value == 0
    assert report(analysis).sections


def test_texts_without_words_are_analyzed():
    empty = [Document(""), Document("  ", entities=(Entity(0, 1, "PER"),)), without_id(ONE)]
    system = analyze(empty, {"one": empty}, train=empty, samples=5).systems["one"]
    assert system.entities.strict.micro.f1.value == 1
    assert sum(one.gold for one in system.breakdowns["sentence_length"].groups.values()) == 2


def test_raw_text_is_segmented():
    gold = Document("Ada Moss left.", entities=(Entity(0, 8, "PER"),))
    analysis = analyze([gold], {"one": [gold]}, samples=2)
    assert analysis.words == 4
    assert analysis.systems["one"].breakdowns["span_length"].groups["2"].gold == 1
    assert "single document" in analysis.notes[1]


def test_entities_inside_words_count_by_the_words_they_touch():
    gold = [Document("Moss-based firms", entities=(Entity(0, 4, "PER"),)).with_words(((0, 10), (11, 16)))]
    found = [gold[0].with_annotations([Entity(2, 13, "PER")])]
    analysis = analyze(gold, {"one": found}, samples=2)
    lengths = analysis.systems["one"].breakdowns["span_length"].groups
    assert (lengths["1"].gold, lengths["2"].predicted) == (1, 1)
    assert "1 entity of gold is not on word boundaries; the length is the number of words touched." in analysis.notes
    assert analysis.systems["one"].errors.kinds["boundary"].count == 1


def test_predictions_of_labels_that_gold_was_not_annotated_for_are_left_out():
    gold = Document(ONE.text, ONE.words, ONE.entities, metadata={"annotated": ["PER"]})
    found = document("[Mara:PER] [left:EVENT] .")
    assert analyze([gold], {"one": [found]}, samples=2).systems["one"].errors.false_positives == 0


def long_document() -> tuple[Document, Document]:
    """Thirty sentences of five words; the entity of the 20th is missed."""
    sentences = [f"[Mara:PER] saw number {index} ." for index in range(30)]
    gold = document(" ".join(sentences))
    return gold, gold.with_annotations([e for index, e in enumerate(gold.entities) if index != 20])


def test_a_long_document_is_split_into_sentences_for_lengths_and_examples():
    gold, found = long_document()
    analysis = analyze([gold], {"one": [found], "two": [gold]}, samples=2)
    assert (analysis.documents, analysis.sentences) == (1, 30)
    system = analysis.systems["one"]
    assert system.breakdowns["sentence_length"].groups["XS 1–7"].gold == 30
    example = system.errors.mistakes[0].examples[0]
    assert example.gold.text == example.predicted.text == "Mara saw number 20 ."
    assert (len(example.gold.entities), len(example.predicted.entities)) == (1, 0)
    assert example.gold.word_texts == ["Mara", "saw", "number", "20", "."]
    assert analysis.comparison.disagreements[0].gold.text == "Mara saw number 20 ."


def test_an_endless_sentence_is_cut_around_the_mistake():
    gold = document("so " * 3000 + "[Mara:PER] left " + "so " * 3000)
    example = (
        analyze([gold], {"one": [gold.with_annotations()]}, samples=2).systems["one"].errors.mistakes[0].examples[0]
    )
    assert len(example.gold.words) == 81
    assert example.gold.text_of(example.gold.entities[0]) == "Mara"


def test_mistakes_and_cases_are_bounded_and_counted():
    gold = [document(f"x{index} y .") for index in range(300)]
    found = [one.with_annotations([Entity(0, len(f"x{index}"), "PER", 0.95)]) for index, one in enumerate(gold)]
    analysis = analyze(gold, {"one": found, "two": gold}, samples=2)
    errors = analysis.systems["one"].errors
    assert (len(errors.mistakes), errors.different_mistakes) == (50, 300)
    assert (len(analysis.suspicious.cases), analysis.suspicious.total) == (200, 300)
    assert len(analysis.comparison.disagreements) == 50
    assert analysis.comparison.disagreeing_sentences == 300


def test_without_confident_errors_the_most_confident_tenth_is_suspicious():
    gold = [document(f"x{index} y .") for index in range(40)]
    found = [one.with_annotations([Entity(0, 2, "PER", index / 100)]) for index, one in enumerate(gold)]
    suspicious = analyze(gold, {"one": found}, samples=2).suspicious
    assert [case.confidence for case in suspicious.cases] == [0.39, 0.38, 0.37, 0.36]


def test_scores_that_are_no_probabilities_are_not_calibrated():
    found = [one.with_annotations([Entity(0, 2, "PER", 7.5)]) for one in (ONE, TWO)]
    analysis = analyze([ONE, TWO], {"one": found}, samples=2)
    assert analysis.systems["one"].calibration is None
    assert "The predictions of one have scores that are not between 0 and 1; calibration is left out." in analysis.notes


def test_without_training_data_two_attributes_are_left_out():
    analysis = analyze([ONE, TWO], {"one": [ONE, TWO]}, samples=2)
    assert not {"label_consistency", "oov_density"} & set(analysis.systems["one"].breakdowns)
    assert analysis.notes[0].startswith("Without training data")


def test_the_same_seed_gives_the_same_analysis():
    rng = random.Random(3)  # noqa: S311
    gold = [document(f"[Mara:PER] saw {index} .") for index in range(30)]
    found = [one if rng.random() < 0.5 else one.with_annotations() for one in gold]
    one, two = (analyze(gold, {"x": found, "y": gold}, samples=7, seed=5).to_dict() for _ in range(2))
    assert one == two
    other = analyze(gold, {"x": found, "y": gold}, samples=7, seed=6).to_dict()
    assert one["systems"]["x"]["entities"] != other["systems"]["x"]["entities"]


def test_suspicious_documents_are_written_and_read(tmp_path):
    found = [ONE.with_annotations([Entity(0, 4, "LOC", 0.95)]), TWO]
    suspicious = analyze([ONE, TWO], {"one": found}, samples=2).suspicious
    write(suspicious.documents, tmp_path / "suspicious.jsonl")
    (again,) = read(tmp_path / "suspicious.jsonl")
    assert (again.text, again.entities) == (ONE.text, ONE.entities)
    assert again.metadata["review"][0]["predicted"] == {"start": 0, "end": 4, "label": "LOC", "text": "Mara"}


def test_the_analysis_needs_no_torch():
    code = "import sys, spanwise.analysis; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_genia_is_analyzed_in_seconds(data_root):
    corpus = corpora.load("genia")
    gold = corpus.split("test")
    found = [one.with_annotations(e for n, e in enumerate(one.entities) if (n + i) % 5) for i, one in enumerate(gold)]
    started = perf_counter()
    report(analyze(gold, {"one": found, "two": gold}, train=corpus.split("train")))
    assert perf_counter() - started < 20


def test_progress_is_reported_step_by_step():
    seen: list[tuple[str, int, int]] = []
    analyze([ONE], {"x": [ONE], "y": [ONE]}, samples=2, progress=lambda *step: seen.append(step))
    assert all(second[1] == first[1] + 1 for first, second in pairwise(seen))
    assert seen[-1][1] + 1 == seen[-1][2]


def test_documents_with_other_ids_are_matched_by_their_texts():
    gold = [Document("Ann left .", entities=(Entity(0, 3, "PER"),), id="d1"), Document("Bo .", id="d2")]
    numbered = [replace(gold[1], id="1"), replace(gold[0], id="2")]
    found = analyze(gold, {"A": numbered}, samples=10).systems["A"].entities.strict.micro
    assert (found.gold, found.predicted, found.correct) == (1, 1, 1)


def test_an_example_holds_the_entities_that_cross_its_sentence():
    text = "He joined Yahoo ! Inc. today . " + "Then it rained all day . " * 12
    gold = Document(text, entities=(Entity(10, 22, "ORG"),))
    predicted = Document(text, entities=(Entity(10, 15, "ORG", 0.5),))
    (mistake,) = analyze([gold], {"A": [predicted]}, samples=10).systems["A"].errors.mistakes
    shown = mistake.examples[0].gold
    assert [shown.text_of(entity) for entity in shown.entities] == ["Yahoo ! Inc."]
    assert len(shown.text) < len(text)


def test_a_system_without_relations_is_noted():
    entities = (Entity(0, 3, "PER"), Entity(9, 13, "LOC"))
    gold = Document("Ann left Kell", entities=entities, relations=(Relation(0, 1, "left"),))
    notes = analyze([gold], {"A": [gold], "B": [gold.without_relations()]}, samples=10).notes
    assert "B predicts no relations; its scores of relations are 0." in notes
    assert not any(note.startswith("A predicts no") for note in notes)
