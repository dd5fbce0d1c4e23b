"""Tag schemes, checked against seqeval, which shares no code with ours."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from spanwise.errors import FormatError
from spanwise.formats.schemes import SCHEMES, SchemeDetector, decode, encode, merged_in_io, scheme_named
from spanwise.formats.tokens import WordSpan

LABELS = ("PER", "creative-work")
AS_BIOES = {"BIOES": {}, "BILOU": {"L": "E", "U": "S"}, "BMES": {"M": "I"}, "IOB2": {}, "IOB1": {}, "IO": {}}
LETTERS = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES", "IO": "I"}


def by_seqeval(tags: list[str], scheme: str) -> list[tuple[int, int, str]]:
    letters = AS_BIOES[scheme]
    plain = [letters.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    return [(start, end + 1, label) for label, start, end in get_entities(plain)]


@st.composite
def flat_spans(draw: st.DrawFn) -> tuple[int, list[WordSpan]]:
    length = draw(st.integers(1, 12))
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    spans = [
        WordSpan(first, last, label)
        for first, last in pairwise(cuts)
        if (label := draw(st.sampled_from((None, *LABELS))))
    ]
    return length, spans


@st.composite
def any_tags(draw: st.DrawFn) -> tuple[str, list[str]]:
    scheme = draw(st.sampled_from(SCHEMES))
    known = ["O", *(f"{letter}-{label}" for letter in LETTERS[scheme] for label in LABELS)]
    return scheme, draw(st.lists(st.sampled_from(known), max_size=12))


@given(flat_spans(), st.sampled_from(SCHEMES))
def test_encoded_entities_are_what_seqeval_and_we_read(sample, scheme):
    length, spans = sample
    if scheme == "IO":
        spans = [span for span, following in pairwise([*spans, None]) if not touches(span, following)]
    tags = encode(spans, length, scheme)
    assert decode(tags, scheme) == (spans, 0)
    assert by_seqeval(tags, scheme) == [tuple(span) for span in spans]


def touches(one: WordSpan, two: WordSpan | None) -> bool:
    return two is not None and one.last == two.first and one.label == two.label


@given(flat_spans())
def test_io_merges_the_neighbors_that_are_counted(sample):
    length, spans = sample
    read_back, repairs = decode(encode(spans, length, "IO"), "IO")
    assert (len(spans) - len(read_back), repairs) == (merged_in_io(spans), 0)


@settings(max_examples=500)
@given(any_tags())
def test_tags_out_of_place_are_repaired_as_seqeval_does(sample):
    scheme, tags = sample
    spans, _ = decode(tags, scheme)
    assert [tuple(span) for span in spans] == by_seqeval(tags, scheme)


@given(any_tags())
def test_no_repair_means_that_encoding_gives_the_same_tags(sample):
    scheme, tags = sample
    spans, repairs = decode(tags, scheme)
    same = encode(spans, len(tags), scheme) == tags
    assert same or repairs or scheme == "IOB1"
    assert not (same and repairs)


@given(any_tags())
def test_every_tagged_word_belongs_to_one_entity_of_its_label(sample):
    scheme, tags = sample
    covered = {i: span.label for span in decode(tags, scheme)[0] for i in range(span.first, span.last)}
    assert covered == {i: tag[2:] for i, tag in enumerate(tags) if tag != "O"}


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["B-X", "I-X", "O", "B-X"], "IOB2"),
        (["O", "O"], "IOB2"),
        (["I-X", "I-X", "O", "I-X", "B-X"], "IOB1"),
        (["I-X", "O", "B-X"], "IOB2"),  # B- after O is never written in IOB1: the I- is out of place
        (["B-X", "I-X", "E-X", "S-X"], "BIOES"),
        (["B-X", "E-X"], "BIOES"),
        (["B-X", "L-X", "U-X"], "BILOU"),
        (["B-X", "M-X", "E-X", "S-X"], "BMES"),
        (["PER", "PER", "O", "PER", "O", "LOC"], "IO"),
        (["PER", "O", "LOC"], "IOB2"),  # labels that do not repeat may be any words
        (["PER", "PER"], "IOB2"),  # without O this may be a column of another kind
        (["PER", "PER", "O", "B-PER"], "IOB2"),
        (["PER", "PER", "O", "_"], "IOB2"),
        (["I-X", "O", "I-X"], "IOB1"),
    ],
)
def test_the_scheme_is_detected_from_the_tags(tags, scheme):
    survey = SchemeDetector()
    survey.add(tags)
    assert survey.scheme() == scheme


def test_letters_of_several_schemes_are_refused():
    survey = SchemeDetector()
    survey.add(["B-X", "M-X", "L-X"])
    with pytest.raises(FormatError, match="B, L, M fit no scheme"):
        survey.scheme()


@pytest.mark.parametrize("tag", ["PER", "X-PER", "B-", "", "-PER", "B"])
def test_a_tag_that_is_none_is_refused(tag):
    with pytest.raises(FormatError, match="not one of IOB2"):
        decode([tag], "IOB2")


@pytest.mark.parametrize("tag", ["B-PER", "_", "-", "1", "I-"])
def test_a_tag_that_is_no_label_is_refused_in_io(tag):
    with pytest.raises(FormatError, match=r"not one of IO \(I-TYPE, TYPE, O\)"):
        decode([tag], "IO")


def test_io_reads_labels_with_and_without_prefix():
    words = [WordSpan(0, 2, "PER"), WordSpan(2, 3, "LOC"), WordSpan(4, 5, "LOC")]
    assert decode(["PER", "PER", "LOC", "O", "LOC"], "IO") == (words, 0)
    assert decode(["I-PER", "I-PER", "I-LOC", "O", "I-LOC"], "IO") == (words, 0)


def test_a_scheme_is_found_by_its_usual_names():
    assert [scheme_named(name) for name in ("bio", "iobes", "BMES", "io")] == ["IOB2", "BIOES", "BMES", "IO"]
    with pytest.raises(FormatError, match="choose one of IOB1, IOB2, BIOES, BILOU, BMES, IO"):
        scheme_named("XYZ")
