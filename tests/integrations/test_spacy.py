"""The spaCy component: what it writes into a Doc, in batches, and after storing a pipeline."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spanwise.corpora import Corpus
from spanwise.errors import ModelError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import RelationType

spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
from spacy.tokens import Doc, DocBin  # noqa: E402

from spanwise.integrations.spacy import to_document  # noqa: E402

TEXT = "Mara Ostrow met Bo Lind in  Brenford, and Ada\nleft."


@pytest.fixture(scope="module")
def flat(trained: Path) -> Path:
    return trained


@pytest.fixture(scope="module")
def joint(
    make_pipeline: Callable[..., TorchPipeline], nested_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A random model with overlapping entities and relations between them."""
    linked = replace(nested_corpus, schema=replace(nested_corpus.schema, relations=(RelationType("knows"),)))
    folder = tmp_path_factory.mktemp("models") / "joint"
    Extractor(make_pipeline("spert", linked, relation_threshold=0.5, nested=True)).save_pretrained(folder)
    return folder


def blank(model: Path | str, **config: object) -> spacy.language.Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("spanwise", config={"model": str(model), **config})
    return nlp


def spans_of(doc: Doc, key: str = "spanwise") -> list[tuple[str, str]]:
    return [(span.text, span.label_) for span in doc.spans[key]]


def test_spans_have_scores_and_are_entities_of_a_flat_model(flat: Path) -> None:
    doc = blank(flat)("Ada Moss met Bo in Kell .")
    found = Extractor.from_pretrained(flat)(to_document(doc))
    assert spans_of(doc) == [(found.text_of(entity), entity.label) for entity in found.entities]
    assert ("Ada Moss", "Person") in spans_of(doc)
    assert doc.spans["spanwise"].attrs["scores"].tolist() == pytest.approx([e.score for e in found.entities])
    assert [(span.text, span.label_) for span in doc.ents] == spans_of(doc)
    assert doc._.spanwise_relations == ()


def test_overlapping_spans_and_relations_are_written(joint: Path) -> None:
    doc = blank(joint)(TEXT)
    found = Extractor.from_pretrained(joint)(to_document(doc))
    assert found.relations
    assert spans_of(doc) == [(found.text_of(entity), entity.label) for entity in found.entities]
    assert not doc.ents
    rows = [(row["head"], row["tail"], row["label"]) for row in doc._.spanwise_relations]
    assert rows == [(row.head, row.tail, row.label) for row in found.relations]


@pytest.mark.parametrize("text", [TEXT, "", "  \n ", "'s", "Don't!\t\tMara's"])
def test_every_span_is_on_tokens(joint: Path, text: str) -> None:
    nlp = blank(joint, threshold=0.0)
    doc = nlp(text)
    assert doc.text == text
    assert all(not span[0].is_space and not span[-1].is_space for span in doc.spans["spanwise"])


def test_pipe_gives_the_docs_in_order_with_their_contexts(flat: Path) -> None:
    nlp = blank(flat)
    texts = [f"{'Nothing happened . ' * (number % 5)}Bo left Kell ." for number in range(40)]
    docs = list(nlp.pipe(((text, number) for number, text in enumerate(texts)), as_tuples=True, batch_size=7))
    assert [number for _, number in docs] == list(range(40))
    assert [spans_of(doc) for doc, _ in docs] == [spans_of(nlp(text)) for text in texts]
    assert all(spans_of(doc) for doc, _ in docs)


def test_a_stored_pipeline_needs_the_first_folder_no_more(joint: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(joint, tmp_path / "model"))
    nlp = blank(model, spans_key="mine", relation_threshold=0.4)
    wanted = nlp(TEXT)
    nlp.to_disk(tmp_path / "nlp")
    shutil.rmtree(model)
    found = spacy.load(tmp_path / "nlp")(TEXT)
    assert spans_of(found, "mine") == spans_of(wanted, "mine")
    assert found._.mine_relations == wanted._.mine_relations


@pytest.mark.slow
def test_an_exported_model_is_stored_with_the_pipeline(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path
) -> None:
    pytest.importorskip("onnx")
    from spanwise.inference.graphs import export_graphs
    from spanwise.pipeline.onnx_folder import write_config

    pipeline = make_pipeline("span-ner", nested=True)
    pipeline.tokenizer.save_pretrained(tmp_path / "model")
    export_graphs(pipeline, tmp_path / "model")
    write_config(pipeline, tmp_path / "model", {})
    nlp = blank(tmp_path / "model")
    wanted = nlp(TEXT)
    nlp.to_disk(tmp_path / "nlp")
    shutil.rmtree(tmp_path / "model")
    assert spans_of(spacy.load(tmp_path / "nlp")(TEXT)) == spans_of(wanted) != []


def test_docs_are_stored_with_scores_and_relations(joint: Path, tmp_path: Path) -> None:
    nlp = blank(joint)
    doc = nlp(TEXT)
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "docs.spacy")
    (read,) = DocBin(store_user_data=True).from_disk(tmp_path / "docs.spacy").get_docs(spacy.blank("en").vocab)
    assert spans_of(read) == spans_of(doc)
    assert read.spans["spanwise"].attrs["scores"].tolist() == doc.spans["spanwise"].attrs["scores"].tolist()
    assert [dict(row) for row in read._.spanwise_relations] == list(doc._.spanwise_relations)


def test_entities_of_another_component_are_kept_on_request(flat: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "VERB", "pattern": "met"}])
    nlp.add_pipe("spanwise", config={"model": str(flat), "set_ents": False})
    doc = nlp("Ada Moss met Bo in Kell .")
    assert [span.label_ for span in doc.ents] == ["VERB"]
    assert len(doc.spans["spanwise"]) > 1


def test_a_missing_model_is_reported_at_the_first_doc(tmp_path: Path) -> None:
    nlp = blank(tmp_path / "none")
    with pytest.raises(ModelError, match="does not exist"):
        nlp(TEXT)
