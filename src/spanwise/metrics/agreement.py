"""Agreement of annotators: F1 of each pair, strict and partial, Krippendorff's alpha, and what they disagree about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, combinations
from typing import Any, TypeVar

from spanwise.document import Document, Entity
from spanwise.errors import InputError
from spanwise.formats.annotators import ANNOTATOR, entity_key, relation_key
from spanwise.metrics.alpha import NominalAlpha
from spanwise.metrics.relations import relation_items
from spanwise.metrics.scores import Scores, count_matches
from spanwise.text.alignment import ensure_words

K = TypeVar("K", bound=Hashable)
Pairs = Sequence[tuple[Document, Document]]  # the documents of two annotators, text by text
Versions = Mapping[str, Document]  # one text as each of its annotators marked it


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two annotators on the texts that both marked. Their F1 is the same in either direction.

    An entity of one is partially confirmed if it overlaps one of the other with the same label; `partial_f1` is the
    share of the entities of both that are. `relations` require both entities with their labels.
    """

    annotators: tuple[str, str]
    texts: int
    entities: tuple[int, int]
    strict_f1: float
    partial_f1: float
    relations_f1: float | None


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """One label over all pairs of annotators; `alpha` is None if it marks no word, or all of them."""

    entities: int
    strict_f1: float
    partial_f1: float
    alpha: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement on all texts that two or more annotators marked. `overall` counts all labels together."""

    annotators: tuple[str, ...]
    texts: int
    overall: LabelAgreement
    labels: Mapping[str, LabelAgreement]
    pairs: tuple[PairAgreement, ...]

    def to_dict(self) -> dict[str, Any]:
        """The agreement as plain JSON values."""
        return asdict(self)


def measure_agreement(texts: Iterable[Versions]) -> Agreement:
    """The agreement of annotators on texts, each given as its versions by annotator."""
    shared = [versions for versions in texts if len(versions) > 1]
    if not shared:
        raise InputError("no text has the annotations of two annotators, so there is no agreement to measure.")
    names = tuple(dict.fromkeys(name for versions in shared for name in versions))
    by_pair = {pair: _pair_documents(pair, shared) for pair in combinations(names, 2)}
    by_pair = {pair: documents for pair, documents in by_pair.items() if documents}
    every = [documents for found in by_pair.values() for documents in found]
    strict, partial = _strict(every), _partial(every)
    alphas = _alphas(shared)
    counts = Counter(entity.label for versions in shared for d in versions.values() for entity in d.entities)
    labels = {
        label: LabelAgreement(counts[label], score.f1, partial[label], alphas[label])
        for label, score in strict.labels.items()
    }
    overall = LabelAgreement(counts.total(), strict.micro.f1, partial[None], alphas[None])
    return Agreement(names, len(shared), overall, labels, tuple(_pair(pair, found) for pair, found in by_pair.items()))


def find_disagreements(texts: Iterable[Versions]) -> Iterator[Document]:
    """Each text that its annotators marked differently, with everything that any of them marked.

    The score of an entity or a relation is the share of the annotators that marked it. `metadata["annotators"]` holds,
    by annotator, the indices of the entities and of the relations.
    """
    for versions in texts:
        merged = _merged(versions)
        scores = [entity.score for entity in merged.entities] + [relation.score for relation in merged.relations]
        if min(scores, default=1.0) < 1:
            yield merged


def _pair_documents(pair: tuple[str, str], texts: Iterable[Versions]) -> Pairs:
    one, other = pair
    return [(versions[one], versions[other]) for versions in texts if one in versions and other in versions]


def _pair(pair: tuple[str, str], documents: Pairs) -> PairAgreement:
    strict = _strict(documents).micro
    return PairAgreement(
        annotators=pair,
        texts=len(documents),
        entities=(strict.gold, strict.predicted),
        strict_f1=strict.f1,
        partial_f1=_partial(documents)[None],
        relations_f1=_relations(documents),
    )


def _strict(documents: Pairs) -> Scores:
    return count_matches((_items(one), _items(other)) for one, other in documents)


def _items(document: Document) -> Iterator[tuple[str, Hashable]]:
    return ((entity.label, (entity.start, entity.end)) for entity in document.entities)


def _relations(documents: Pairs) -> float | None:
    if not any(one.relations or other.relations for one, other in documents):
        return None
    pairs = ((relation_items(one, (), True), relation_items(other, (), True)) for one, other in documents)
    return count_matches(pairs).micro.f1


def _partial(documents: Pairs) -> Mapping[str | None, float]:
    """The share of entities that overlap one of the other annotator with the same label; None: of all labels."""
    marked, confirmed = Counter[str](), Counter[str]()
    for pair in documents:
        one, other = (_by_label(document) for document in pair)
        for mine, theirs in ((one, other), (other, one)):
            for label, spans in mine.items():
                marked[label] += len(spans)
                confirmed[label] += _overlapping(spans, theirs.get(label, []))
    shares: dict[str | None, float] = {label: confirmed[label] / marked[label] for label in marked}
    return {**shares, None: confirmed.total() / marked.total() if marked else 0.0}


def _by_label(document: Document) -> Mapping[str, list[tuple[int, int]]]:
    found: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for entity in document.entities:
        found[entity.label].add((entity.start, entity.end))
    return {label: sorted(spans) for label, spans in found.items()}


def _overlapping(spans: Iterable[tuple[int, int]], others: Sequence[tuple[int, int]]) -> int:
    """How many of the spans overlap one of the others, which are sorted."""
    starts, furthest = [start for start, _ in others], list(accumulate((end for _, end in others), max))
    before = ((start, bisect_left(starts, end)) for start, end in spans)
    return sum(index > 0 and furthest[index - 1] > start for start, index in before)


def _alphas(texts: Iterable[Versions]) -> Mapping[str | None, float | None]:
    """Alpha over words: of the presence of each label, and under None of the set of labels that a word has."""
    labels = sorted({entity.label for versions in texts for d in versions.values() for entity in d.entities})
    whole = NominalAlpha()
    single = {label: NominalAlpha() for label in labels}
    for versions in texts:
        words = ensure_words(next(iter(versions.values()))).words
        patterns = Counter(zip(*(_word_labels(d.entities, words) for d in versions.values()), strict=True))
        for pattern, units in patterns.items():
            whole.add(pattern, units)
            for label, alpha in single.items():
                alpha.add([label in found for found in pattern], units)
    return {None: whole.alpha(), **{label: alpha.alpha() for label, alpha in single.items()}}


def _word_labels(entities: Iterable[Entity], words: Sequence[tuple[int, int]]) -> list[frozenset[str]]:
    """The labels of the entities that overlap each word."""
    starts, ends = [start for start, _ in words], [end for _, end in words]
    found: list[frozenset[str]] = [frozenset()] * len(words)
    for entity in entities:
        for index in range(bisect_right(ends, entity.start), bisect_left(starts, entity.end)):
            found[index] = found[index] | {entity.label}
    return found


def _merged(versions: Versions) -> Document:
    """Everything that any annotator marked, with the share of the annotators that did as its score."""
    documents = versions.values()
    entities = {entity_key(entity): entity for document in documents for entity in document.entities}
    relations = {relation_key(d, relation): relation for d in documents for relation in d.relations}
    entity_places, relation_places = _places(entities), _places(relations)
    marked = {
        name: {
            "entities": sorted({entity_places[entity_key(e)] for e in document.entities}),
            "relations": sorted({relation_places[relation_key(document, r)] for r in document.relations}),
        }
        for name, document in versions.items()
    }
    first = next(iter(documents))
    entity_shares, relation_shares = (_shares(marked, kind) for kind in ("entities", "relations"))
    merged = first.with_annotations(
        (replace(entity, score=entity_shares[index]) for index, entity in enumerate(entities.values())),
        (
            replace(r, head=entity_places[key[0]], tail=entity_places[key[1]], score=relation_shares[index])
            for index, (key, r) in enumerate(relations.items())
        ),
    )
    metadata = {key: value for key, value in first.metadata.items() if key != ANNOTATOR}
    return replace(merged, metadata={**metadata, "annotators": marked})


def _places(keys: Iterable[K]) -> dict[K, int]:
    return {key: index for index, key in enumerate(keys)}


def _shares(marked: Mapping[str, Mapping[str, Sequence[int]]], kind: str) -> dict[int, float]:
    """For each entity or relation the share of the annotators that marked it."""
    counts = Counter(index for indices in marked.values() for index in indices[kind])
    return {index: count / len(marked) for index, count in counts.items()}
