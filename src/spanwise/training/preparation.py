"""From a recipe to a corpus and a pipeline, with every pairing that cannot work refused before weights are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spanwise import corpora
from spanwise.corpora import Corpus
from spanwise.document import Document, outermost
from spanwise.encoders import load_pretrained
from spanwise.errors import RecipeError
from spanwise.formats import Report
from spanwise.models.base import DataFacts
from spanwise.models.registry import find
from spanwise.pipeline import Blueprint, Pipeline, data_facts
from spanwise.recipe import DataSection, Descriptions, Recipe
from spanwise.schema import Schema
from spanwise.text.alignment import segmented, word_spans
from spanwise.text.sentences import first_sentences

DESCRIPTIONS = "descriptions.yaml"


@dataclass(frozen=True)
class Prepared:
    """What training starts from; `told` are sentences that the user must see."""

    recipe: Recipe
    corpus: Corpus
    blueprint: Blueprint
    told: tuple[str, ...]

    def pipeline(self) -> Pipeline:
        """Load the encoder and put a fresh model on it."""
        return Pipeline(self.blueprint, self.corpus.schema, *load_pretrained(self.recipe.encoder.name))


def load_corpus(recipe: Recipe, report: Report | None = None) -> Corpus:
    data = recipe.data
    if data.corpus is not None:
        corpus = corpora.load(data.corpus)
    else:
        corpus = corpora.from_files(
            *(data.train, data.dev, data.test),
            format=data.format,
            scheme=data.scheme,
            skip_bad=data.skip_bad,
            report=report,
        )
    return described(corpus, data)


def described(corpus: Corpus, data: DataSection) -> Corpus:
    """The corpus with the descriptions that the recipe gives, or that lie beside its own training files."""
    given = data.descriptions
    if given is None:
        beside = [path.parent / DESCRIPTIONS for path in data.train]
        given = next((path for path in beside if path.is_file()), None)
    schema = corpus.schema
    if given is not None:
        texts = given if isinstance(given, Descriptions) else Descriptions.load(given)
        schema = schema.described(texts.entities, texts.relations)
    if data.description_sentences is not None:
        schema = _shortened(schema, data.description_sentences)
    return replace(corpus, schema=schema)


def _shortened(schema: Schema, sentences: int) -> Schema:
    """The schema with so many sentences of each description."""
    entities, relations = (
        {kind.name: first_sentences(kind.description, sentences) for kind in kinds}
        for kinds in (schema.entities, schema.relations)
    )
    return schema.described(entities, relations)


def prepare(recipe: Recipe, corpus: Corpus | None = None) -> Prepared:
    """Check recipe and data against each other and settle what the recipe leaves open."""
    report = Report()
    corpus = described(corpus, recipe.data) if corpus else load_corpus(recipe, report)
    if not corpus.splits.get("train"):
        raise RecipeError(f"corpus {corpus.name!r} has no training documents; it has {', '.join(corpus.splits)}.")
    if recipe.data.leave_out:
        corpus = _without(corpus, recipe.data.leave_out)
    if not corpus.schema.entities:
        raise RecipeError(f"the training data of {corpus.name!r} marks no entity; there is nothing to learn.")
    corpus = _joined(corpus, recipe.data.train_on)
    if recipe.data.sample is not None:
        corpus = _sampled(corpus, recipe.data.sample)
    if recipe.data.shots is not None:
        corpus = few_shots(corpus, recipe.data.shots, recipe.train.seed)
    if recipe.data.heads:
        narrowed = {name: tuple(d.narrowed_to_heads() for d in docs) for name, docs in corpus.splits.items()}
        corpus = replace(corpus, splits=narrowed)
    corpus = replace(corpus, splits={name: tuple(map(segmented, docs)) for name, docs in corpus.splits.items()})
    told = report.sentences()
    facts = data_facts(corpus.splits["train"])
    if facts.nested and not _takes_nested(recipe):
        before = corpus.splits["train"]
        corpus, lost = _flattened(corpus, recipe)
        links = sum(len(d.relations) for d in before) - sum(len(d.relations) for d in corpus.splits["train"])
        also = f", and {links} relations with them" if links and find(recipe.model.name).can.relations else ""
        told.append(f"{lost} training entities lie inside another and are left out{also} (data.overlaps: outermost).")
        facts = data_facts(corpus.splits["train"])
    _check_abilities(recipe, corpus)
    blueprint = Blueprint.from_recipe(recipe, facts)
    told += _too_wide(blueprint, facts)
    told += _unlearnt_relations(blueprint, corpus.splits["train"])
    if find(recipe.model.name).can.relations and not corpus.schema.relations:
        told.append(f"the data marks no relations; {recipe.model.name} will learn entities alone.")
    members = [recipe.model, *([recipe.bundle] if recipe.bundle else [])]
    if facts.crowded and any(find(member.name).can.double_tags for member in members):
        told.append(f"{facts.crowded} words lie in three or more entities; the tagger sees the two that come first.")
    return Prepared(recipe, corpus, blueprint, tuple(told))


def _joined(corpus: Corpus, names: Sequence[str]) -> Corpus:
    """The corpus whose train split is these splits together, and which has none of them besides."""
    train = tuple(document for name in names for document in corpus.split(name))
    others = {name: documents for name, documents in corpus.splits.items() if name not in names}
    return replace(corpus, splits={**others, "train": train})


def _takes_nested(recipe: Recipe) -> bool:
    return recipe.model.config().predicts_nested()


def _flattened(corpus: Corpus, recipe: Recipe) -> tuple[Corpus, int]:
    """The corpus with flat training entities; dev and test keep all of theirs, so that scores stay honest."""
    if recipe.data.overlaps == "refuse":
        able = find(recipe.model.name).can.nested
        fix = "set model.nested: true" if able else "choose a model that can (see `spanwise models`)"
        raise RecipeError(
            f"the training data of {corpus.name!r} has nested entities, which this {recipe.model.name} does not "
            f"predict; {fix}, or set data.overlaps: outermost to train on the outermost ones."
        )
    train = corpus.splits["train"]
    flat = tuple(_outermost_only(document) for document in train)
    lost = sum(len(d.entities) for d in train) - sum(len(d.entities) for d in flat)
    return replace(corpus, splits={**corpus.splits, "train": flat}), lost


def _outermost_only(document: Document) -> Document:
    kept = set(outermost(document.entities))
    return document.keeping(index for index, entity in enumerate(document.entities) if entity in kept)


def _check_abilities(recipe: Recipe, corpus: Corpus) -> None:
    for section in (recipe.model, recipe.bundle):
        if section is None or not find(section.name).can.needs_descriptions:
            continue
        if section.config().reads_descriptions() and (silent := corpus.schema.undescribed):
            raise RecipeError(
                f"{section.name} reads descriptions of the labels, and {', '.join(silent)} "
                f"{'have' if len(silent) > 1 else 'has'} none; write them into {DESCRIPTIONS} beside the training "
                f"file, or under data.descriptions in the recipe."
            )


def _without(corpus: Corpus, names: Sequence[str]) -> Corpus:
    """The corpus as if these entity types did not exist."""
    schema = corpus.schema.without(names)
    seen = {
        split: tuple(document.of_labels(schema.entity_names) for document in documents)
        for split, documents in corpus.splits.items()
    }
    return replace(corpus, splits=seen, schema=schema)


def _sampled(corpus: Corpus, size: int) -> Corpus:
    """The corpus with so many of its training documents, in their order; always the same ones."""
    train = corpus.splits["train"]
    chosen = np.sort(np.random.default_rng(0).permutation(len(train))[:size])
    return replace(corpus, splits={**corpus.splits, "train": tuple(train[index] for index in chosen)})


def few_shots(corpus: Corpus, shots: int, seed: int) -> Corpus:
    """Train on so many documents for each label, drawn without repetition (LEAR, section 5.2), and without dev.

    A label that the documents of others already bring still gets its own; one with fewer gives all it has.
    """
    rng = np.random.default_rng(seed)
    train = corpus.splits["train"]
    chosen: set[int] = set()
    for name in corpus.schema.entity_names:
        holds = [i for i, document in enumerate(train) if i not in chosen and _holds(document, name)]
        chosen.update(rng.permutation(holds)[:shots].tolist())
    drawn = tuple(train[index] for index in sorted(chosen))
    kept = {split: documents for split, documents in corpus.splits.items() if split != "dev"}
    return replace(corpus, splits={**kept, "train": drawn})


def _holds(document: Document, label: str) -> bool:
    return any(entity.label == label for entity in document.entities)


def _unlearnt_relations(blueprint: Blueprint, documents: Sequence[Document]) -> Sequence[str]:
    """Say how many relations a model that predicts some cannot learn because an entity of theirs is too wide."""
    widest = blueprint.model.config().widest()
    if not find(blueprint.model.name).can.relations or widest is None:
        return []
    lost = 0
    for document in documents:
        wide = {i for i, span in enumerate(word_spans(document)) if span is not None and span[1] - span[0] > widest}
        lost += sum(bool({relation.head, relation.tail} & wide) for relation in document.relations)
    return [f"{lost} training relations join an entity wider than {widest} words and cannot be learnt."] if lost else []


def _too_wide(blueprint: Blueprint, facts: DataFacts) -> Sequence[str]:
    """Say how many training entities a span model cannot see."""
    sections = [blueprint.model, *([blueprint.bundle] if blueprint.bundle else [])]
    told = []
    for section in sections:
        widest = section.config().widest()
        if widest is not None and (beyond := sum(n for width, n in facts.widths.items() if width > widest)):
            share = beyond / sum(facts.widths.values())
            told.append(
                f"{beyond} training entities ({share:.1%}) are wider than {section.name}'s max_width of {widest} words."
            )
    return told
