"""Relations in documents: through windows, between entities that are found and between entities that are given."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from spanwise.corpora import Corpus
from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.pipeline import Member, Pipeline
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import RelationType, Schema
from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import Decoder, PredictedSpans, Prediction, Proposal, ScoredRelation, ScoredSpan
from spanwise.seam.runner import Arrays, StageOne
from spanwise.seam.traits import Traits
from spanwise.text.windows import Window

TEXT = "Ada Moss met Bo in Upper Dale ."
PERSON, PLACE = Entity(0, 8, "Person"), Entity(19, 29, "Place")
BO = Entity(13, 15, "Person", 0.3)


@pytest.fixture(scope="module")
def linked_corpus(flat_corpus: Corpus) -> Corpus:
    """The flat corpus with two relation types; who lives where is a matter of types."""
    lives = RelationType("lives in", head_types=("Person",), tail_types=("Place",))
    return replace(flat_corpus, schema=Schema(flat_corpus.schema.entities, (lives, RelationType("knows"))))


@pytest.fixture(scope="module")
def pipeline(make_pipeline: Callable[..., TorchPipeline], linked_corpus: Corpus) -> TorchPipeline:
    return make_pipeline("spert", linked_corpus, max_width=2)


@pytest.fixture(scope="module")
def extractor(pipeline: TorchPipeline) -> Extractor:
    """Untrained, so that with a threshold of nought it finds every relation there may be."""
    return Extractor(pipeline)


class NoModel:
    """A runner that computes nothing."""

    def forward(self, batch: Batch[Array]) -> StageOne:
        return StageOne((), None)

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        raise AssertionError("there is no second stage")


@dataclass(frozen=True)
class Letters(Decoder[Any, Any, Any]):
    """Marks `b` with all `i` behind it, and joins each entity of a window to the next one.

    The further from the window's start the first of the two lies, the higher is the probability.
    """

    kind: ClassVar[str] = "letters"
    begin: int
    inside: int

    def propose(self, first: Any, batch: Batch[Array], thresholds: Any, given: Any = None) -> Proposal[Any]:
        return Proposal(PredictedSpans.empty())

    def decode(self, proposal: Any, second: Any, batch: Batch[Array], thresholds: Any) -> list[Prediction]:
        found = []
        for pieces, first_piece, present in zip(
            batch.words.pieces, batch.words.first_piece, batch.words.present, strict=True
        ):
            words = [*pieces[first_piece[present]].tolist(), 0]
            spans = []
            for start in (t for t, word in enumerate(words) if word == self.begin):
                end = next(t for t in range(start + 1, len(words)) if words[t] != self.inside)
                spans.append(ScoredSpan(start, end, 0, 0.5))
            links = [ScoredRelation(n, n + 1, 1, 0.5 + span.start / 1000) for n, span in enumerate(spans[:-1])]
            found.append(Prediction(tuple(spans), tuple(links)))
        return found


def reading_with(decoder: Decoder[Any, Any, Any], pipeline: Pipeline) -> Pipeline:
    """A pipeline with the windows and the schema of another one, and with this decoder in the place of a model."""
    reader = Member("letters", Traits(relations=True), None, decoder)
    return Pipeline(reader, pipeline.schema, pipeline.pieces, pipeline.windows, NoModel())


@pytest.fixture(scope="module")
def letter_reader(pipeline: TorchPipeline) -> Pipeline:
    """Reads 96 pieces at once and finds what `Letters` says."""
    begin, inside = (pipeline.pieces([letter])[0][0] for letter in "bi")
    return reading_with(Letters(begin, inside), pipeline)


def windows_of(pipeline: Pipeline, document: Document) -> list[Window]:
    return [example.window for example in pipeline.task.builder.examples(document)]


def text_of(length: int, starts: list[int], width: int = 1) -> Document:
    """A text of `o`, with an entity of so many words at each of these places."""
    words = ["o"] * length
    for start in starts:
        words[start : start + width] = ["b", *["i"] * (width - 1)]
    return Document.from_words(words)


def test_a_relation_that_several_windows_see_is_found_once_with_the_highest_score(letter_reader: Pipeline) -> None:
    starts = list(range(0, 400, 7))
    document = text_of(400, starts)
    windows = windows_of(letter_reader, document)
    (found,) = letter_reader.predict([document])
    assert len(found.entities) == len(starts)
    seen = [[w for w in windows if w.start <= one and other < w.end] for one, other in pairwise(starts)]
    assert {len(holders) for holders in seen} == {1, 2}
    best = [0.5 + max(one - w.start for w in holders) / 1000 for one, holders in zip(starts, seen, strict=False)]
    assert [(r.head, r.tail, r.label) for r in found.relations] == [(n, n + 1, "knows") for n in range(len(seen))]
    assert [r.score for r in found.relations] == pytest.approx(best)


def test_entities_that_share_no_window_are_not_joined(letter_reader: Pipeline) -> None:
    document = text_of(400, [10, 30, 300, 310])
    (found,) = letter_reader.predict([document])
    assert [(r.head, r.tail) for r in found.relations] == [(0, 1), (2, 3)]


def test_entities_that_different_windows_report_are_joined_where_one_sees_both(letter_reader: Pipeline) -> None:
    first, second = windows_of(letter_reader, text_of(150, []))
    middle = (second.start + first.end) // 2
    document = text_of(150, [middle - 3, middle + 3])
    assert [[w.owns(s, s + 1) for s in (middle - 3, middle + 3)] for w in (first, second)] == [
        [True, False],
        [False, True],
    ]
    (found,) = letter_reader.predict([document])
    assert [(r.head, r.tail) for r in found.relations] == [(0, 1)]


def test_what_a_windows_edge_leaves_of_an_entity_has_no_relations(letter_reader: Pipeline) -> None:
    """The first window ends inside the second entity: it sees and joins a stump, which is nobody's entity."""
    first, second = windows_of(letter_reader, text_of(150, []))
    early, cut = second.start - 10, first.end - 3
    document = text_of(150, [early, cut], width=6)
    assert cut < first.end < cut + 6
    (found,) = letter_reader.predict([document])
    assert [document.text_of(e) for e in found.entities] == ["b i i i i i"] * 2
    assert found.relations == ()


@dataclass(frozen=True)
class TwoWindows(Letters):
    """The longer window sees the first entity, the other the second; both join it to one beside it."""

    windows: tuple[Window, Window]
    entities: tuple[tuple[int, int], tuple[int, int]]

    def decode(self, proposal: Any, second: Any, batch: Batch[Array], thresholds: Any) -> list[Prediction]:
        predictions = []
        for present in batch.words.present:
            number = int(present.sum() != self.windows[0].end - self.windows[0].start)
            window, (start, end) = self.windows[number], self.entities[number]
            beside = start - 5 if number == 0 else end + 5
            places = [(start, end, (0.9, 0.6)[number]), (beside, beside + 1, 0.8)]
            spans = tuple(ScoredSpan(s - window.start, e - window.start, 0, score) for s, e, score in places)
            predictions.append(Prediction(spans, (ScoredRelation(0, 1, 1, 0.7),)))
        return predictions


def test_an_entity_that_gives_way_to_a_more_probable_one_takes_its_relations_with_it(letter_reader: Pipeline) -> None:
    """In flat mode two windows may each report one of two entities that overlap; the more probable one stays."""
    first, second = windows_of(letter_reader, text_of(150, []))
    middle = (second.start + first.end) // 2
    left, right = (middle - 4, middle), (middle - 1, middle + 4)  # each its own window's
    assert first.owns(*left)
    assert second.owns(*right)
    reader = reading_with(TwoWindows(0, 0, (first, second), (left, right)), letter_reader)
    (found,) = reader.predict([text_of(150, [])])
    words = {word.start: index for index, word in enumerate(found.words)}
    assert [words[e.start] for e in found.entities] == [left[0] - 5, left[0], right[1] + 5]
    assert [(r.head, r.tail) for r in found.relations] == [(1, 0)]


def test_relations_come_with_the_right_documents_whatever_the_batches(letter_reader: Pipeline) -> None:
    documents = [text_of(20 + 40 * n, [n, n + 5 * n + 3]) for n in range(1, 9)]
    for document, found in zip(documents, letter_reader.predict(documents, token_budget=200), strict=True):
        assert found == letter_reader.predict([document])[0]
        assert len(found.relations) == 1


def triples(document: Document) -> set[tuple[str, str, str]]:
    entities = [document.text_of(entity) for entity in document.entities]
    return {(entities[r.head], r.label, entities[r.tail]) for r in document.relations}


def test_given_entities_are_kept_as_they_are_and_only_relations_are_added(extractor: Extractor) -> None:
    given = [PLACE, BO, replace(PERSON, head=Offsets(4, 8)), Entity(13, 15, "Place")]
    document = extractor(TEXT, entities=given, relation_threshold=0.0)
    assert document.text == TEXT
    assert document.entities == tuple(given)
    wanted = {("Ada Moss", "lives in", "Upper Dale"), ("Bo", "lives in", "Upper Dale"), ("Ada Moss", "lives in", "Bo")}
    names = ("Ada Moss", "Bo", "Upper Dale")
    wanted |= {(one, "knows", other) for one in names for other in names if one != other}
    assert triples(document) == wanted
    assert len(document.relations) == 3 + 10  # either label of Bo has its own, and none with the other
    assert all(0 < relation.score < 1 for relation in document.relations)


@pytest.mark.parametrize("given", [[], [PERSON]], ids=["none", "one"])
def test_fewer_than_two_given_entities_have_no_relations(extractor: Extractor, given: list[Entity]) -> None:
    document = extractor(TEXT, entities=given, relation_threshold=0.0)
    assert (document.entities, document.relations) == (tuple(given), ())


def test_given_entities_replace_those_of_a_document_and_its_relations(extractor: Extractor) -> None:
    document = Document(TEXT, entities=(BO, PLACE), relations=(Relation(0, 1, "lives in"),), id="d1")
    found = extractor(document, entities=[PERSON, BO], relation_threshold={"lives in": 1.0, "knows": 0.0})
    assert (found.id, found.entities) == ("d1", (PERSON, BO))
    assert triples(found) == {("Ada Moss", "knows", "Bo"), ("Bo", "knows", "Ada Moss")}


def test_documents_bring_their_own_entities_in_any_number(extractor: Extractor) -> None:
    one = Document(TEXT, entities=(PERSON, PLACE), id="one")
    documents = [one, Document("", id="none"), replace(one, entities=(PLACE, BO), id="two"), Document("Bo", id="bare")]
    found = list(extractor.relate(iter(documents), relation_threshold=0.0))
    assert [document.id for document in found] == ["one", "none", "two", "bare"]
    assert [document.entities for document in found] == [document.entities for document in documents]
    assert [len(document.relations) for document in found] == [3, 0, 3, 0]


def test_a_given_entity_wider_than_any_that_is_found_has_its_relations(extractor: Extractor) -> None:
    wide = Entity(0, 15, "Person")  # four words; the model looks at two
    document = extractor(TEXT, entities=[wide, PLACE], relation_threshold=0.0)
    assert triples(document) >= {("Ada Moss met Bo", "lives in", "Upper Dale")}


def test_a_given_entity_off_the_word_borders_is_reported_and_kept(
    extractor: Extractor, caplog: pytest.LogCaptureFixture
) -> None:
    odd = Entity(0, 6, "Person")
    with caplog.at_level(logging.WARNING, logger="spanwise"):
        document = extractor(TEXT, entities=[odd, PERSON, PLACE], relation_threshold=0.0)
    assert document.entities == (odd, PERSON, PLACE)
    assert {end for r in document.relations for end in (r.head, r.tail)} == {1, 2}
    (message,) = caplog.messages
    assert message.startswith("1 of the given entities take part in no relation, such as 'Ada Mo'")
    assert message.endswith("which does not fall on word boundaries.")


def test_given_entities_of_a_long_text_are_joined_where_a_window_sees_both(
    extractor: Extractor, caplog: pytest.LogCaptureFixture
) -> None:
    text = " ".join([TEXT] * 30)
    step = len(TEXT) + 1
    persons = [replace(PERSON, start=PERSON.start + n * step, end=PERSON.end + n * step) for n in (0, 1, 29)]
    everything = Entity(0, len(text), "Place")
    document = extractor(text, entities=[*persons, everything], relation_threshold=0.0)
    assert document.entities == (*persons, everything)
    assert {(r.head, r.tail) for r in document.relations} == {(0, 1), (1, 0)}
    assert caplog.messages[0].endswith("fits into no window.")


def test_relations_between_given_entities_are_the_same_alone_and_among_others(extractor: Extractor) -> None:
    alone = extractor(TEXT, entities=[PERSON, BO, PLACE], relation_threshold=0.0)
    longer = Document(TEXT + " " + TEXT, entities=(PERSON, PLACE))
    _, among, _ = extractor.relate([longer, alone, longer], relation_threshold=0.0)
    assert [r.label for r in among.relations] == [r.label for r in alone.relations]
    assert [r.score for r in among.relations] == pytest.approx([r.score for r in alone.relations], abs=1e-5)


def test_a_threshold_for_entities_that_are_given_is_refused(extractor: Extractor) -> None:
    with pytest.raises(InputError, match="threshold= does not apply to entities="):
        extractor(TEXT, entities=[PERSON], threshold=0.5)


def test_unknown_labels_of_given_entities_are_refused(extractor: Extractor) -> None:
    with pytest.raises(InputError, match=r"no entity label 'Planet'; rename it to one of Organization, Person, Place,"):
        extractor(TEXT, entities=[replace(PERSON, label="Planet")])


@pytest.mark.parametrize("arguments", [{"text": [TEXT]}, {"words": ["Bo"]}, {"text": [Document(TEXT)]}], ids=str)
def test_given_entities_go_with_one_text(extractor: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"entities= goes with one text, .* use relate\(\)"):
        extractor(**arguments, entities=[PERSON])


@pytest.mark.parametrize("odd", [(0, 8, "Person"), {"start": 0}, "Ada"], ids=str)
def test_given_entities_of_another_kind_are_rejected(extractor: Any, odd: object) -> None:
    with pytest.raises(InputError, match=r"entities= takes Entity\(start, end, label\) by characters of the text, not"):
        extractor(TEXT, entities=[PERSON, odd])


def test_a_model_of_entities_refuses_given_ones(trained: Path) -> None:
    with pytest.raises(InputError, match="seq-ner does not predict relations; train a model that does"):
        Extractor.from_pretrained(trained)(TEXT, entities=[PERSON])


def test_a_higher_threshold_never_adds_a_relation(extractor: Extractor) -> None:
    given = [PERSON, BO, PLACE]
    before = set(extractor(TEXT, entities=given, relation_threshold=0.0).relations)
    for threshold in (0.3, 0.45, 0.5, 0.6, 1.0):
        found = set(extractor(TEXT, entities=given, relation_threshold=threshold).relations)
        assert found == {relation for relation in before if relation.score >= threshold}
        before = found
    assert not before


def test_the_models_own_threshold_counts_where_a_call_names_none(extractor: Extractor) -> None:
    given = [PERSON, BO, PLACE]
    own = extractor(TEXT, entities=given)
    assert own == extractor(TEXT, entities=given, relation_threshold=0.4)
    assert 0 < len(own.relations) < len(extractor(TEXT, entities=given, relation_threshold=0.0).relations)


def test_thresholds_of_entities_and_relations_are_apart(extractor: Extractor) -> None:
    everything = extractor(TEXT, relation_threshold=0.0)
    assert everything.relations
    assert extractor(TEXT, relation_threshold=1.0).entities == everything.entities
    assert extractor(TEXT, threshold=1.0, relation_threshold=0.0).relations == ()
    with pytest.raises(InputError, match=r"unknown label 'Person' .*; choose from lives in, knows"):
        extractor(TEXT, relation_threshold={"Person": 0.5})
    with pytest.raises(InputError, match=r"unknown label 'knows' .*; choose from Organization, Person, Place"):
        extractor(TEXT, threshold={"knows": 0.5})
