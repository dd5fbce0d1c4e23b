"""From a recipe to a corpus and a pipeline, with every pairing that cannot work refused before weights are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanwise import corpora
from spanwise.corpora import Corpus
from spanwise.document import Document, outermost
from spanwise.encoders import load_pretrained
from spanwise.errors import RecipeError
from spanwise.formats import Report
from spanwise.models.base import DataFacts
from spanwise.models.registry import find
from spanwise.pipeline import Blueprint, Pipeline, data_facts
from spanwise.recipe import Recipe
from spanwise.text.alignment import segmented, word_spans


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
        return corpora.load(data.corpus)
    return corpora.from_files(
        data.train, data.dev, data.test, format=data.format, scheme=data.scheme, skip_bad=data.skip_bad, report=report
    )


def prepare(recipe: Recipe, corpus: Corpus | None = None) -> Prepared:
    """Check recipe and data against each other and settle what the recipe leaves open."""
    report = Report()
    corpus = corpus or load_corpus(recipe, report)
    if not corpus.splits.get("train"):
        raise RecipeError(f"corpus {corpus.name!r} has no training documents; it has {', '.join(corpus.splits)}.")
    if not corpus.schema.entities:
        raise RecipeError(f"the training data of {corpus.name!r} marks no entity; there is nothing to learn.")
    corpus = _joined(corpus, recipe.data.train_on)
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
    if find(recipe.model.name).can.needs_descriptions:
        silent = [entity.name for entity in corpus.schema.entities if not entity.description]
        if silent:
            raise RecipeError(f"{recipe.model.name} reads descriptions of the labels, and {silent[0]!r} has none.")


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
