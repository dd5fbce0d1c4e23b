"""The demo: train on the corpus that ships, score on test, read an unseen text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spanwise.corpora import Corpus
from spanwise.demo import unseen_text
from spanwise.document import Document
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Evaluation
from spanwise.recipe import Recipe, find_recipe
from spanwise.render.html import write_html
from spanwise.schema import Schema
from spanwise.training.reporting import Listener
from spanwise.training.run import SUMMARY, train

PAGE, MODEL = "demo.html", "model"


@dataclass(frozen=True, slots=True)
class Showcase:
    """What the demo has to show."""

    scores: Evaluation
    unseen: tuple[Document, ...]
    schema: Schema
    page: Path
    model: Path


def train_demo(folder: Path, corpus: Corpus, listener: Listener, stop: Callable[[], bool] | None = None) -> None:
    """Train the demo's model, unless an earlier demo did; `stop` as in `spanwise.train`."""
    model = folder / MODEL
    if (model / SUMMARY).exists():
        listener.notice(f"{model} already holds a trained model; delete it to train again.")
    else:
        train(Recipe.load(find_recipe("demo")), model, listener, corpus, stop=stop)


def show_demo(folder: Path, corpus: Corpus) -> Showcase:
    """Evaluate the trained model, extract from an unseen text, and write the page."""
    model = folder / MODEL
    extractor = Extractor.from_pretrained(model)
    scores = evaluate(extractor, corpus.split("test"))
    paragraphs = [text for text in unseen_text().split("\n\n") if text.strip()]
    unseen = tuple(extractor(paragraphs))
    page = folder / PAGE
    write_html(unseen, page, title="An unseen text, read by spanwise", schema=extractor.schema)
    return Showcase(scores, unseen, extractor.schema, page, model)
