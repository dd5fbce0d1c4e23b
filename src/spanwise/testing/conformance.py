"""The contract for models. Each check is a function of a case and independent of any particular model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from spanwise import runtime
from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.errors import InputError, RecipeError
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.collate import collate
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.seam.batch import Array, Batch
from spanwise.seam.registry import find_decoder, find_proposer
from spanwise.seam.runner import Arrays
from spanwise.testing.case import Case, Options, cases
from spanwise.testing.expectation import ConformanceError, expect
from spanwise.testing.inside import check_label_attention, check_span_vectors
from spanwise.testing.samples import NESTED, sample_corpus
from spanwise.testing.windows import check_long_text, check_many_long_texts
from spanwise.training.preparation import prepare
from spanwise.training.run import train

BRIEF: Options = {"epochs": 2, "batch_size": 4, "encoder_lr": 1e-3, "task_lr": 1e-3}
SHORT: Options = {"epochs": 5, "batch_size": 2, "encoder_lr": 3e-3, "task_lr": 1e-2}
TOLERANCE = 1e-5
ODD_TEXTS = (
    "Mara",
    ".",
    "Mara 👩‍👩‍👧‍👦 met 🙂🙂 in 🇫🇷 !",
    "سافرت مارا إلى القاهرة . מארה נסעה לחיפה .",
    "王小明在北京大学工作。她住在上海。",
    "Mara在Brenford工作 — naïve cafe\u0301 № 5",
    "Ma\u200dra \u200b \ufeff met\u00adBo",
    "Mara\x00met\x07Bo",
    "𝓜𝓪𝓻𝓪 𐍈 met",
    "x" * 3000,
    "[CLS] Mara [SEP] met [PAD] [MASK] [UNK]",
)


def check_model(
    name: str, *, options: Options | None = None, bundle: Options | None = None, overfit: Options | None = None
) -> None:
    """Check a registered model, also with `nested` and with `multi_label` on if it has these options.

    `options` are the model's options, `bundle` is a partner as in a recipe. `overfit` overrides settings (epochs,
    batch_size, encoder_lr, task_lr) of the training run that must overfit eight sentences.
    """
    import torch

    threads = torch.get_num_threads()
    runtime.set_threads(1)  # the models are tiny
    try:
        with TemporaryDirectory() as folder:
            for case in cases(name, Path(folder), options, bundle, overfit):
                _check_case(case)
    finally:
        runtime.set_threads(threads)


def _check_case(case: Case) -> None:
    for check in CHECKS:
        try:
            check(case)
        except ConformanceError as error:
            raise ConformanceError(f"{case}: {check.__name__}: {error}") from None


def check_stored_parts(case: Case) -> None:
    """Traits, decoder and proposer are plain data that is stored in the folder and restored from it."""
    stored = json.loads((case.trained / "config.json").read_text(encoding="utf-8"))["members"]
    for member in case.extractor.pipeline.members:  # type: ignore[attr-defined]
        parts = stored[member.name]
        traits = json.loads(json.dumps(asdict(member.traits)))
        expect(parts["traits"] == traits, f"the stored traits {parts['traits']} are not those of its options, {traits}")
        decoder = find_decoder(parts["decoder"]["kind"]).from_dict(parts["decoder"])
        expect(decoder == member.decoder, f"the stored decoder gives {decoder}, not {member.decoder}")
        if member.proposer is not None:
            proposer = find_proposer(parts["proposer"]["kind"]).from_dict(parts["proposer"])
            expect(proposer == member.proposer, f"the stored proposer gives {proposer}, not {member.proposer}")


def check_overfits(case: Case) -> None:
    """The model can overfit eight sentences."""
    scores = evaluate(case.extractor, case.corpus.splits["train"])
    f1 = scores.entities.micro.f1
    expect(f1 >= 0.99, f"F1 on the sentences it was trained on is {f1:.3f}, not 0.99; give other `overfit` settings")
    expect((scores.relations is not None) == case.traits.relations, "relations are scored unless its traits have none")
    if scores.relations is not None:
        f1 = scores.relations.strict.micro.f1
        expect(f1 >= 0.99, f"F1 of relations on the sentences it was trained on is {f1:.3f}, not 0.99")


def check_given_entities(case: Case) -> None:
    """Relations between given entities are those of the training data; models without relations raise an error."""
    documents = case.corpus.splits["train"]
    if not case.traits.relations:
        try:
            list(case.extractor.relate(documents))
        except InputError:
            return
        raise ConformanceError("it has no relations, but relates given entities")
    for document, found in zip(documents, case.extractor.relate(documents), strict=True):
        expect(found.entities == document.entities, "given entities come back changed")
        expect(sorted(_joined(found)) == sorted(_joined(document)), f"relations in {document.text!r}: {_joined(found)}")


def check_batch_independence(case: Case) -> None:
    """Scores of an example do not depend on the other examples in the batch."""
    pipeline = case.random
    examples = [e for document in case.corpus.splits["train"] for e in pipeline.task.builder.examples(document)]

    def scored(chosen: list[int]) -> tuple[Batch[Array], Arrays]:
        rows = [examples[index] for index in chosen]
        batch = collate(rows, pipeline.pieces, pipeline.reader.proposer, labels=pipeline.task.labels)
        return batch, pipeline.runner.forward(batch).scores

    batch, together = scored(list(range(len(examples))))
    for row in range(len(examples)):
        single, alone = scored([row])
        for name, one, other in zip(type(alone)._fields, alone, together, strict=True):  # type: ignore[attr-defined]
            pair = _rows_of(one, single, 0), _rows_of(other, batch, row)
            if pair[0] is not None and pair[1] is not None:
                same = np.allclose(pair[0], pair[1], atol=TOLERANCE, rtol=TOLERANCE)
                expect(same, f"{name} of an example differs alone and inside a padded batch")


def _rows_of(scores: Array, batch: Batch[Array], row: int) -> Array | None:
    """The scores of one example, if they are scores of spans [N, …] or of words [B, T, …], else None."""
    if scores.ndim and scores.ndim < 3 and len(scores) == len(batch.proposals.spans):
        of_spans: Array = scores[batch.proposals.spans[:, 0] == row]
        return of_spans
    if scores.shape[:2] == batch.words.present.shape:
        of_words: Array = scores[row, batch.words.scored[row]]
        return of_words
    return None


def check_order_independence(case: Case) -> None:
    """A document gets the same annotations alone and together with others."""
    documents = case.corpus.splits["train"]
    together = case.random.predict(documents)
    expect(sum(len(document.entities) for document in together) > 0, "an untrained model should mark something")
    for document, found in zip(documents, together, strict=True):
        (alone,) = case.random.predict([document])
        _expect_alike(alone, found, "a document alone and among others")


def check_save_and_load(case: Case) -> None:
    """A model makes the same predictions after saving and loading."""
    documents = [*case.corpus.splits["train"], Document("Bo Lind   left Westmoor . " * 30)]
    folder = case.folder / "copy"
    Extractor(case.random).save_pretrained(folder)
    loaded = Extractor.from_pretrained(folder)
    for one, other in zip(loaded(documents), case.random.predict(documents), strict=True):
        _expect_alike(one, other, "a document before and after saving", tolerance=0.0)


def check_folder_is_enough(case: Case) -> None:
    """A model folder works after it is moved, without other files."""
    moved = case.folder / "moved"
    moved.mkdir(exist_ok=True)
    for file in ("config.json", "schema.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (moved / file).write_bytes((case.trained / file).read_bytes())
    text = "Mara Ostrow met Bo Lind in Brenford ."
    expect(Extractor.from_pretrained(moved)(text) == case.extractor(text), "a moved folder gives another document")


def check_offsets(case: Case) -> None:
    """A training sentence with unusual white space gets the same entities as the sentence itself.

    Sentences of several windows are left out, because line breaks change where windows are cut.
    """
    builder = case.extractor.pipeline.task.builder
    whole = [document for document in case.corpus.splits["train"] if len(builder.examples(document)) == 1]
    expect(len(whole) >= 4, "too few sentences fit into one window")
    for document in whole:
        text = "\n\t " + " \u00a0\n ".join(document.word_texts) + "  "
        found = case.extractor(text)
        expect(found.text == text, "the text of a document changes")
        expect(_marked(found) == _marked(document), f"{text!r} is marked {_marked(found)}, not {_marked(document)}")
        expect(
            all(found.text_of(e) == found.text_of(e).strip() for e in found.entities), "an entity begins or ends blank"
        )


def check_odd_texts(case: Case) -> None:
    """Any text is accepted, and its entities are on word boundaries; a text without words has no entities."""
    extractor = Extractor(case.random)
    for text in ODD_TEXTS:
        found = extractor(text)
        covered = {c for w in found.words for c in range(*w)}
        expect(covered == {i for i, c in enumerate(text) if not c.isspace()}, f"words do not cover {text!r}")
        starts, ends = {word.start for word in found.words}, {word.end for word in found.words}
        on_borders = all(e.start in starts and e.end in ends and 0 <= e.score <= 1 for e in found.entities)
        expect(on_borders, f"an entity of {text!r} is not on word boundaries, or its score is no probability")
    for text in ("", " ", "\n\t \u3000"):
        found = extractor(text)
        expect((found.text, found.words, found.entities) == (text, (), ()), f"{text!r} has words or entities")


def check_overlaps(case: Case) -> None:
    """Flat models never mark a word twice, except for several labels on one span with `multi_label`."""
    documents = [*case.corpus.splits["train"], Document("Bo Lind left Westmoor . " * 30)]
    crossing = shared = 0
    for found in case.random.predict(documents):
        spans = sorted({(e.start, e.end) for e in found.entities})
        shared += len(found.entities) - len(spans)
        crossing += sum(one[1] > other[0] for one, other in pairwise(spans))
    expect(not crossing or case.traits.nested, "a model that is not nested predicts overlapping entities")
    several = case.traits.multi_label or (case.traits.nested and not _one_label_per_span(case))
    expect(not shared or several, "a span has two labels, but the model does not have multi_label")


def _one_label_per_span(case: Case) -> bool:
    """Whether the decoder picks at most one label per span. Span decoders do; word decoders may mark a span twice."""
    return getattr(case.random.reader.decoder, "multi_label", None) is False


def check_one_label(case: Case) -> None:
    """Training works with a single label."""
    documents = tuple(_relabeled(document) for document in case.corpus.splits["train"])
    relations = (RelationType("joined"),) if case.traits.relations else ()
    schema = Schema((EntityType("Name", "anything that has a name"),), relations)
    folder = case.folder / "one-label"
    train(case.recipe(train=SHORT), folder, corpus=Corpus("single", {"train": documents}, schema))
    for found in Extractor.from_pretrained(folder)(list(documents), relation_threshold=0.0):
        expect({e.label for e in found.entities} <= {"Name"}, "it predicts a label that the data does not have")
        expect({r.label for r in found.relations} <= {"joined"}, "it predicts a relation that the data does not have")
    losses = _losses(folder)
    expect(losses[-1] < losses[0], f"the loss does not fall: {losses}")


def _relabeled(document: Document) -> Document:
    """The document with every entity labeled Name, each span once, without the relations of removed entities."""
    first = {(e.start, e.end): index for index, e in reversed(list(enumerate(document.entities)))}
    kept = document.select_entities(sorted(first.values()))
    return kept.with_annotations(
        [replace(entity, label="Name") for entity in kept.entities],
        [replace(relation, label="joined") for relation in kept.relations],
    )


def check_no_relation_types(case: Case) -> None:
    """A model with relations learns entities alone if the data has no relations."""
    if not case.traits.relations:
        return
    documents = tuple(document.without_relations() for document in case.corpus.splits["train"])
    corpus = Corpus("entities", {"train": documents}, Schema(case.corpus.schema.entities))
    folder = case.folder / "entities-alone"
    train(case.recipe(train=SHORT), folder, corpus=corpus)
    extractor, rows = Extractor.from_pretrained(folder), list(documents)
    found = (*extractor(rows, relation_threshold=0.0), *extractor.relate(rows, relation_threshold=0.0))
    expect(not any(document.relations for document in found), "it predicts relations that the data does not have")
    expect(evaluate(extractor, rows).relations is None, "relations are scored that the data does not have")


def check_determinism(case: Case) -> None:
    """The result of training depends only on the seed."""
    import torch

    weights = []
    for number, seed in enumerate((1, 1, 2)):
        torch.manual_seed(number)  # the random state before a run must not matter
        folder = case.folder / f"seed-{number}"
        train(case.recipe(train={**BRIEF, "seed": seed}), folder, corpus=case.corpus)
        weights.append((folder / "model.safetensors").read_bytes())
    expect(weights[0] == weights[1], "two trainings with one seed differ")
    expect(weights[0] != weights[2], "trainings with two seeds are equal")


def check_refusals(case: Case) -> None:
    """Data that the model cannot learn from is rejected before anything is loaded."""
    nowhere = case.recipe(encoder="./no/such/encoder")
    nested = sample_corpus("nested", NESTED)
    if case.traits.nested or case.traits.independent:
        prepare(nowhere, nested)
    else:
        _expect_refusal(lambda: prepare(nowhere, nested), "nested data is not refused")
    if case.traits.label_texts == "descriptions":
        types = tuple(EntityType(name) for name in case.corpus.schema.entity_names)
        silent = replace(case.corpus, schema=replace(case.corpus.schema, entities=types))
        _expect_refusal(lambda: prepare(nowhere, silent), "labels without descriptions are not refused")
    empty = Corpus("empty", {"train": (Document.from_words(["It", "rained"]),)}, Schema())
    _expect_refusal(lambda: prepare(nowhere, empty), "data without entities is not refused")


def check_new_labels(case: Case) -> None:
    """A model with open labels accepts its own labels as new ones, and different label sets in each call."""
    own = {kind.name: kind.description for kind in case.corpus.schema.entities}
    documents = list(case.corpus.splits["train"])
    if not case.traits.open_labels:
        try:
            case.extractor.with_labels(own)
        except InputError:
            return
        raise ConformanceError("its traits have no open labels, but it takes new ones")
    for one, other in zip(case.extractor.with_labels(own)(documents), case.extractor(documents), strict=True):
        _expect_alike(one, other.without_relations(), "a document with the model's own labels asked for as new ones")
    for name, text in own.items():
        found = case.extractor.with_labels({"Thing": text, name: text})(documents)
        expect(len(found) == len(documents), "documents are lost")
        expect({e.label for d in found for e in d.entities} <= {"Thing", name}, "it predicts a label not asked for")


def check_new_relations(case: Case) -> None:
    """A model with open relations accepts its own as new ones, and different ones in each call, also between given
    entities.
    """
    schema, documents = case.corpus.schema, list(case.corpus.splits["train"])
    own = {kind.name: kind.description or kind.plain_name for kind in schema.relations}
    if not case.traits.open_relations:
        try:
            case.extractor.with_labels(relations=own or ["knows"])
        except InputError:
            return
        raise ConformanceError("its traits have no open relations, but it takes new ones")
    labels = {kind.name: kind.description for kind in schema.entities}
    for asked in (case.extractor.with_labels(relations=own), case.extractor.with_labels(labels, own)):
        for one, other in zip(asked(documents), case.extractor(documents), strict=True):
            _expect_alike(one, other, "a document with the model's own relations asked for as new ones")
    for name, text in own.items():
        asked = case.extractor.with_labels(relations={"thing": text, name: text})
        for found in (asked(documents), list(asked.relate(documents))):
            expect(len(found) == len(documents), "documents are lost")
            wrong = {r.label for d in found for r in d.relations} - {"thing", name}
            expect(not wrong, "it predicts a relation not asked for")


def check_threads(case: Case) -> None:
    """Eight threads that share an extractor get the same results as one thread."""
    documents = list(case.corpus.splits["train"]) * 4
    extractor = Extractor(case.random)
    wanted = [extractor(document) for document in documents]
    with ThreadPoolExecutor(8) as pool:
        for one, other in zip(pool.map(extractor, documents), wanted, strict=True):
            _expect_alike(one, other, "a document in one thread and in eight")


def _expect_refusal(action: Callable[[], object], problem: str) -> None:
    try:
        action()
    except RecipeError:
        return
    raise ConformanceError(problem)


def _expect_alike(one: Document, other: Document, what: str, tolerance: float = TOLERANCE) -> None:
    expect(_marked(one) == _marked(other), f"{what}: {_marked(one)} and {_marked(other)}")
    expect(_joined(one) == _joined(other), f"{what}: {_joined(one)} and {_joined(other)}")
    for kind in ("entities", "relations"):
        scores = [[row.score for row in getattr(document, kind)] for document in (one, other)]
        expect(np.allclose(scores[0], scores[1], atol=tolerance), f"{what}: scores of {kind} differ")


def _marked(document: Document) -> list[tuple[int, int, str]]:
    """Entities with bounds that count only characters that are not white space."""
    solid = np.cumsum([0, *(not character.isspace() for character in document.text)]).tolist()
    return sorted((solid[e.start], solid[e.end], e.label) for e in document.entities)


def _joined(document: Document) -> list[tuple[str, str, str]]:
    entities = [document.text_of(entity) for entity in document.entities]
    return sorted((entities[r.head], r.label, entities[r.tail]) for r in document.relations)


def _losses(folder: Path) -> list[float]:
    lines: Iterable[str] = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["loss"] for line in lines]


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_refusals,
    check_batch_independence,
    check_order_independence,
    check_save_and_load,
    check_odd_texts,
    check_overlaps,
    check_long_text,
    check_many_long_texts,
    check_threads,
    check_span_vectors,
    check_label_attention,
    check_determinism,
    check_one_label,
    check_no_relation_types,
    check_overfits,
    check_stored_parts,
    check_folder_is_enough,
    check_offsets,
    check_given_entities,
    check_new_labels,
    check_new_relations,
)
