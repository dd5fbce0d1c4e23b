"""What a run is trained on and scored on: the one place that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from spanwise import corpora
from spanwise.corpora import Corpus
from spanwise.corpora.options import DataOptions, Descriptions
from spanwise.corpora.splitting import split_documents
from spanwise.document import outermost
from spanwise.errors import RecipeError
from spanwise.formats import Report
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument, align
from spanwise.text.profile import DataProfile, profile
from spanwise.text.sentences import first_sentences

DESCRIPTIONS = "descriptions.yaml"
Place = tuple[str, int]  # of a document in a corpus: its split and its number there


class _Gold:
    """The documents of a corpus, each segmented and aligned once, when it is first asked for.

    With `sample_dev` the dev split is this many of its documents.
    """

    def __init__(self, corpus: Corpus, heads: bool, sample_dev: int | None) -> None:
        self.corpus, self.heads, self.sample_dev = corpus, heads, sample_dev
        self._aligned: dict[Place, AlignedDocument] = {}

    def __getitem__(self, place: Place) -> AlignedDocument:
        if place not in self._aligned:
            split, number = place
            document = self.corpus.splits[split][number]
            self._aligned[place] = align(document.with_head_spans() if self.heads else document)
        return self._aligned[place]

    def split(self, name: str) -> list[AlignedDocument]:
        places = _places(self.corpus, [name])
        if name == "dev" and self.sample_dev is not None:
            places = _sampled(places, self.sample_dev)
        return [self[place] for place in places]


@dataclass(frozen=True, eq=False)
class Selection:
    """What a run is trained on and scored on. `schema` are the labels that are trained, with their descriptions.

    `splits` are the splits to score on: none that is trained on, and no dev split with few shots.
    """

    name: str
    schema: Schema
    splits: tuple[str, ...]
    report: Report
    _gold: _Gold = field(repr=False)
    _drawn: tuple[Place, ...] = field(repr=False)
    _hidden: Schema = field(repr=False)  # the labels that are left out
    _flatten: Callable[[AlignedDocument], AlignedDocument] | None = field(default=None, repr=False)

    @property
    def parts(self) -> tuple[Selection, ...]:
        """What a run trains on, corpus by corpus: this one."""
        return (self,)

    @cached_property
    def train(self) -> tuple[AlignedDocument, ...]:
        """The documents to train on."""
        documents = (self._known(self._gold[place]) for place in self._drawn)
        return tuple(map(self._flatten, documents) if self._flatten else documents)

    @cached_property
    def profile(self) -> DataProfile:
        """What the documents to train on look like."""
        return profile(self.train)

    def split(self, name: str) -> tuple[AlignedDocument, ...]:
        """The documents of any split of the corpus, with the labels that are trained: gold to score on."""
        if name not in self._scored:
            self._scored[name] = tuple(map(self._known, self._gold.split(name)))
        return self._scored[name]

    def held_out(self, split: str) -> tuple[Schema, tuple[AlignedDocument, ...]]:
        """The labels that training does not see, and the documents of a split with entities of these labels alone."""
        if not self._hidden.entities:
            return self._hidden, ()
        documents = (row.filter_labels(self._hidden.entity_names) for row in self._gold.split(split))
        return self._hidden, tuple(replace(row, document=row.document.without_relations()) for row in documents)

    def flattened(self, *, keep_shared: bool = False) -> tuple[Selection, int, int]:
        """The same with the outermost training entities alone, and how many entities and relations are lost.

        With `keep_shared` all labels of an outermost span stay. The splits to score on keep all of theirs, so that
        scores stay honest.
        """
        flat = replace(self, _flatten=_outermost_spans if keep_shared else _outermost_only)
        (entities, relations), (kept, links) = _counts(self.train), _counts(flat.train)
        return flat, entities - kept, relations - links

    @cached_property
    def _scored(self) -> dict[str, tuple[AlignedDocument, ...]]:
        return {}

    def _known(self, row: AlignedDocument) -> AlignedDocument:
        return row.filter_labels(self.schema.entity_names) if self._hidden.entities else row


def select(options: DataOptions, *, seed: int, corpus: Corpus | None = None) -> Selection:
    """Read the data (or take `corpus`) and draw from it what the options ask for; `seed` draws the shots."""
    report = Report()
    if corpus is None and options.corpora:
        raise RecipeError("the recipe has several corpora (data.corpora); give the one that is meant as data.corpus.")
    corpus = _with_dev(corpus if corpus is not None else _loaded(options, report), options.dev_share)
    corpus = _described(corpus, options)
    if not corpus.splits.get("train"):
        raise RecipeError(f"corpus {corpus.name!r} has no training documents; it has {', '.join(corpus.splits)}.")
    schema = corpus.schema.without(options.leave_out) if options.leave_out else corpus.schema
    if not schema.entities:
        raise RecipeError(
            f"the training data of {corpus.name!r} contains no entities; check the files and their format."
        )
    drawn = _places(corpus, options.train_on)
    if options.sample is not None:
        drawn = _sampled(drawn, options.sample)
    if options.shots is not None:
        drawn = _few_shots(corpus, drawn, schema.entity_names, options.shots, seed)
    return Selection(
        name=corpus.name,
        schema=schema,
        splits=_scorable(corpus.splits, options),
        report=report,
        _gold=_Gold(corpus, options.heads, options.sample_dev),
        _drawn=tuple(drawn),
        _hidden=Schema(tuple(kind for kind in corpus.schema.entities if kind.name in options.leave_out)),
    )


def _loaded(options: DataOptions, report: Report) -> Corpus:
    if options.corpus is not None:
        return corpora.load(options.corpus)
    if not options.train:
        raise RecipeError("the recipe has no data; give data.corpus or data.train, or pass a corpus to `train`.")
    return corpora.from_files(
        *(options.train, options.dev, options.test),
        format=options.format,
        scheme=options.scheme,
        tag_columns=options.tag_columns,
        annotator=options.annotator,
        skip_bad=options.skip_bad,
        report=report,
    )


def _with_dev(corpus: Corpus, share: float | None) -> Corpus:
    """The corpus with a share of its training documents as dev, always the same ones, unless it has dev data."""
    if share is None or "dev" in corpus.splits or not corpus.splits.get("train"):
        return corpus
    splits = split_documents(corpus.splits["train"], {"dev": share})
    return replace(corpus, splits={**corpus.splits, **{name: tuple(rows) for name, rows in splits.items()}})


def _described(corpus: Corpus, options: DataOptions) -> Corpus:
    """The corpus with the descriptions that the options give, or that lie beside its own training files."""
    given = options.descriptions
    if given is None:
        beside = [path.parent / DESCRIPTIONS for path in options.train]
        given = next((path for path in beside if path.is_file()), None)
    schema = corpus.schema
    if given is not None:
        texts = given if isinstance(given, Descriptions) else Descriptions.load(given)
        schema = schema.with_descriptions(texts.entities, texts.relations)
    if options.description_sentences is not None:
        schema = _shortened(schema, options.description_sentences)
    return replace(corpus, schema=schema)


def _shortened(schema: Schema, sentences: int) -> Schema:
    """The schema with this many sentences of each description."""
    entities, relations = (
        {kind.name: first_sentences(kind.description, sentences) for kind in kinds}
        for kinds in (schema.entities, schema.relations)
    )
    return schema.with_descriptions(entities, relations)


def _scorable(splits: Mapping[str, object], options: DataOptions) -> tuple[str, ...]:
    used = {*options.train_on, *(["dev"] if options.shots is not None else [])}
    return tuple(name for name in splits if name not in used)


def _places(corpus: Corpus, splits: Sequence[str]) -> list[Place]:
    """The documents of these splits, one split after another."""
    return [(split, number) for split in splits for number in range(len(corpus.split(split)))]


def _sampled(places: Sequence[Place], size: int) -> list[Place]:
    """This many of the documents, in their order; always the same ones."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(places))[:size])
    return [places[index] for index in chosen]


def _few_shots(corpus: Corpus, places: Sequence[Place], labels: Sequence[str], shots: int, seed: int) -> list[Place]:
    """This many documents per label, drawn without repetition (LEAR, section 5.2), in their order.

    A label that the documents of others already bring still gets its own; one with fewer gives all it has.
    """
    rng = np.random.default_rng(seed)
    marked = [{entity.label for entity in corpus.splits[split][number].entities} for split, number in places]
    chosen: set[int] = set()
    for label in labels:
        holds = [index for index, found in enumerate(marked) if index not in chosen and label in found]
        chosen.update(rng.permutation(holds)[:shots].tolist())
    return [places[index] for index in sorted(chosen)]


def _outermost_only(row: AlignedDocument) -> AlignedDocument:
    kept = set(outermost(row.document.entities))
    return row.select_entities(index for index, entity in enumerate(row.document.entities) if entity in kept)


def _outermost_spans(row: AlignedDocument) -> AlignedDocument:
    kept = {(entity.start, entity.end) for entity in outermost(row.document.entities)}
    return row.select_entities(index for index, e in enumerate(row.document.entities) if (e.start, e.end) in kept)


def _counts(rows: Sequence[AlignedDocument]) -> tuple[int, int]:
    """How many entities and how many relations there are."""
    return sum(len(row.document.entities) for row in rows), sum(len(row.document.relations) for row in rows)
