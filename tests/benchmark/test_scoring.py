"""Scores of a run whose training left some labels out: of those it knows, and of those it can still be asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from label_askers import emboldened
from spanwise import benchmark, corpora
from spanwise.benchmark import scoring
from spanwise.corpora import Corpus
from spanwise.corpora.selection import select
from spanwise.document import Document, Relation
from spanwise.errors import SchemaError
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import DataOptions
from spanwise.schema import RelationType

WITHOUT_PLACES = DataOptions(corpus="demo", leave_out=("Place",))
Triples = set[tuple[str | None, int, int, str]]


@pytest.fixture(scope="module")
def corpus(flat_corpus: Corpus) -> Corpus:
    """The eight flat sentences, which are the test split as well."""
    return replace(flat_corpus, splits={**flat_corpus.splits, "test": flat_corpus.splits["train"]})


@pytest.fixture(scope="module")
def without_places(corpus: Corpus) -> Corpus:
    schema = corpus.schema.without(["Place"])
    train = tuple(document.filter_labels(schema.entity_names) for document in corpus.splits["train"])
    return replace(corpus, splits={"train": train}, schema=schema)


@pytest.fixture(scope="module")
def asker(make_pipeline: Callable[..., TorchPipeline], without_places: Corpus) -> Extractor:
    """Knows no places, but can be asked for them."""
    return Extractor(emboldened(make_pipeline("lear", without_places, shared=True)))


@pytest.fixture(scope="module")
def half_found(asker: Extractor, corpus: Corpus) -> Corpus:
    """A test split that also marks every second entity that the asker finds by itself, and when asked for places."""
    gold = list(corpus.split("test"))
    found = zip(gold, asker(gold), asker(gold, labels={"Place": description(corpus, "Place")}), strict=True)
    test = tuple(
        document.with_annotations([*document.entities, *own.entities[::2], *asked.entities[::2]])
        for document, own, asked in found
    )
    return replace(corpus, splits={**corpus.splits, "test": test})


def score_on_test(extractor: Extractor, corpus: Corpus, data: DataOptions) -> dict[str, Any]:
    return scoring.score_model(extractor, select(data, seed=1, corpus=corpus), "test").scores


def description(corpus: Corpus, label: str) -> str:
    return next(kind.description for kind in corpus.schema.entities if kind.name == label)


def triples(documents: Sequence[Document], *labels: str) -> Triples:
    return {(d.id, e.start, e.end, e.label) for d in documents for e in d.entities if e.label in labels}


def assert_counts(found: dict[str, Any], gold: Triples, predicted: Triples) -> None:
    assert (found["gold"], found["predicted"], found["correct"]) == (len(gold), len(predicted), len(gold & predicted))


def test_labels_left_out_are_asked_for_and_scored_apart(asker: Extractor, half_found: Corpus) -> None:
    gold = list(half_found.split("test"))
    found = score_on_test(asker, half_found, WITHOUT_PLACES)
    asked = triples(asker(gold, labels={"Place": description(half_found, "Place")}), "Place")
    assert asked & triples(gold, "Place")
    assert_counts(found["new_labels"], triples(gold, "Place"), asked)
    assert set(found["new_labels"]) == {"precision", "recall", "f1", "gold", "predicted", "correct"}
    assert json.loads(json.dumps(found)) == found


def test_scores_of_the_known_labels_pass_over_gold_of_those_left_out(asker: Extractor, half_found: Corpus) -> None:
    gold = list(half_found.split("test"))
    found = score_on_test(asker, half_found, WITHOUT_PLACES)
    known = triples(gold, "Person", "Organization")
    assert 0 < len(known) < len(triples(gold, "Person", "Organization", "Place"))
    predicted = triples(asker(gold), "Person", "Organization")
    assert known & predicted
    assert_counts(found["entities"]["micro"], known, predicted)
    ends, found_ends = ({(id, start, end, "") for id, start, end, _ in row} for row in (known, predicted))
    assert_counts(found["boundaries"], ends, found_ends)
    assert [row[0] for row in found["documents"]["entities"]] == [
        len(triples([document], "Person", "Organization")) for document in gold
    ]


def test_several_new_labels_are_asked_for_together(
    make_pipeline: Callable[..., TorchPipeline], corpus: Corpus, without_places: Corpus
) -> None:
    schema = without_places.schema.without(["Person"])
    train = tuple(document.filter_labels(schema.entity_names) for document in corpus.splits["train"])
    few = replace(without_places, splits={"train": train}, schema=schema)
    qa = Extractor(emboldened(make_pipeline("qa", few)))
    found = score_on_test(qa, corpus, DataOptions(corpus="demo", leave_out=("Place", "Person")))
    gold = list(corpus.split("test"))
    described = {kind.name: kind.description for kind in corpus.schema.entities if kind.name != "Organization"}
    assert_counts(
        found["new_labels"], triples(gold, "Place", "Person"), triples(qa(gold, labels=described), "Place", "Person")
    )
    assert found["entities"]["micro"]["gold"] == len(triples(gold, "Organization"))


@pytest.mark.parametrize(
    ("model", "options"),
    [("seq-ner", {}), ("lear", {}), ("lear", {"shared": True, "knowledge": "embeddings"})],
    ids=["seq-ner", "lear", "lear of embeddings"],
)
def test_a_model_that_takes_no_new_labels_is_scored_on_its_own_alone(
    model: str,
    options: dict[str, Any],
    make_pipeline: Callable[..., TorchPipeline],
    corpus: Corpus,
    without_places: Corpus,
) -> None:
    found = score_on_test(Extractor(make_pipeline(model, without_places, **options)), corpus, WITHOUT_PLACES)
    assert "new_labels" not in found
    assert found["entities"]["micro"]["gold"] == len(triples(corpus.split("test"), "Person", "Organization"))


def test_without_labels_left_out_the_scores_are_those_of_evaluating_the_model(
    make_pipeline: Callable[..., TorchPipeline], corpus: Corpus
) -> None:
    extractor = Extractor(emboldened(make_pipeline("lear", corpus, shared=True)))
    found = score_on_test(extractor, corpus, DataOptions(corpus="demo"))
    gold = list(corpus.split("test"))
    wanted = evaluate(extractor, gold)
    assert wanted.entities.micro.predicted > 5
    assert (found["entities"]["micro"], found["boundaries"]) == (
        asdict(wanted.entities.micro),
        asdict(wanted.boundaries),
    )
    assert found == scoring.scores(gold, extractor(gold), extractor.schema)


def test_gold_that_the_model_does_not_know_is_passed_over_only_where_it_was_left_out(
    asker: Extractor, corpus: Corpus
) -> None:
    with pytest.raises(SchemaError, match=r"entity labels \['Place'\]"):
        score_on_test(asker, corpus, DataOptions(corpus="demo"))


def test_relations_of_entities_that_were_left_out_are_not_asked_of_a_model(
    make_pipeline: Callable[..., TorchPipeline], corpus: Corpus, without_places: Corpus
) -> None:
    """Of the first sentence's persons one knows the other, and lives in the place."""
    document = corpus.split("test")[0]
    linked = document.with_annotations(document.entities, [Relation(0, 1, "knows"), Relation(0, 2, "lives in")])
    relations = (RelationType("knows"), RelationType("lives in"))
    whole = replace(
        corpus, splits={**corpus.splits, "test": (linked,)}, schema=replace(corpus.schema, relations=relations)
    )
    known = replace(without_places, schema=replace(without_places.schema, relations=relations))
    found = score_on_test(Extractor(make_pipeline("spert", known, max_width=2)), whole, WITHOUT_PLACES)
    assert found["relations"]["strict"]["micro"]["gold"] == 1
    assert (found["entities"]["micro"]["gold"], "new_labels" in found) == (2, False)


def test_new_labels_are_scored_on_head_regions_where_the_recipe_says_so(asker: Extractor, corpus: Corpus) -> None:
    """Both places of the sentence have the same head, so that on heads there is one."""
    named = Document.from_words(["Upper", "Dale", "rained"], [(0, 2, "Place"), (1, 2, "Place")])
    headed = named.with_annotations([replace(named.entities[0], head=named.words[1]), named.entities[1]])
    one = replace(corpus, splits={**corpus.splits, "test": (headed,)})
    golds = [
        score_on_test(asker, one, WITHOUT_PLACES.model_copy(update={"heads": heads}))["new_labels"]["gold"]
        for heads in (False, True)
    ]
    assert golds == [2, 1]


@pytest.fixture
def described_easy(easy: None, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """The easy corpus, with descriptions as every named corpus has them."""
    whole = corpora.load("easy")
    schema = whole.schema.with_descriptions({"Person": "people, by name", "Place": "towns and countries"}, {})
    described = replace(whole, schema=schema)
    monkeypatch.setattr(corpora, "load", lambda _: described)
    return described


def test_a_suite_records_the_new_labels_of_its_runs(
    suites: Any, described_easy: Corpus, tiny_encoder: Path, tmp_path: Path
) -> None:
    quick = {"encoder.name": str(tiny_encoder), "train.epochs": 1, "data.leave_out": ["Place"], "data.sample": 8}
    suites(
        variants={
            "asked": {"recipe": "lear", "set": {**quick, "model.shared": True}},
            "tags": {"recipe": "seq-ner", "set": quick},
        },
        paper={},
    )
    asked, tags = benchmark.run_suite(benchmark.plan("tiny", "easy", 1), tmp_path / "out")
    golds = [len(triples(described_easy.split("test"), label)) for label in ("Person", "Place")]
    assert [asked["entities"]["micro"]["gold"], asked["new_labels"]["gold"]] == golds
    assert (tags["entities"]["micro"]["gold"], "new_labels" in tags) == (golds[0], False)


def test_new_labels_are_asked_for_by_the_descriptions_of_the_recipe(asker: Extractor, corpus: Corpus) -> None:
    """They go before those of the corpus, as they do for the labels that are trained."""
    gold = list(corpus.split("test"))
    odd = "12 # 7 [mask] ??"
    asked = triples(asker(gold, labels={"Place": odd}), "Place")
    assert asked != triples(asker(gold, labels={"Place": description(corpus, "Place")}), "Place")
    data = DataOptions.model_validate(
        {"corpus": "demo", "leave_out": ["Place"], "descriptions": {"entities": {"Place": odd}}}
    )
    assert_counts(score_on_test(asker, corpus, data)["new_labels"], triples(gold, "Place"), asked)
