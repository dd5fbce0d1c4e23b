"""An extractor without a model, and the service of one on a thread."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from types import SimpleNamespace
from typing import Any

from spanwise import Document, Entity, EntityType, Relation, RelationType, Schema
from spanwise.errors import InputError
from spanwise.serve import server
from spanwise.serve.api import create_app
from spanwise.serve.settings import Settings


class FakeExtractor:
    """Capitalized words are entities of the first label, neighbors are related; some texts are slow or fail."""

    def __init__(self, *, open_labels: bool = False, relations: bool = True) -> None:
        ties = (RelationType("knows", symmetric=True),) if relations else ()
        self.schema = Schema((EntityType("Person", "A human being."), EntityType("Place")), ties)
        traits = SimpleNamespace(open_labels=open_labels, open_relations=False, relations=relations)
        self.pipeline: Any = SimpleNamespace(reader=SimpleNamespace(traits=traits))
        self.calls: list[int] = []

    def __call__(self, texts: list[Document], **options: Any) -> list[Document]:
        self.calls.append(len(texts))
        return [self._read(text, **options) for text in texts]

    def relate(self, texts: Iterable[Document], *, relation_threshold: Any = None) -> Iterator[Document]:
        for text in texts:
            yield text.with_annotations(text.entities, self._ties(len(text.entities)))

    def _read(
        self, document: Document, labels: Mapping[str, str] | None, threshold: Any, relation_threshold: Any
    ) -> Document:
        if "slow" in document.text:
            time.sleep(0.3)
        if "broken" in document.text:
            raise RuntimeError(document.text)
        if isinstance(threshold, Mapping) and set(threshold) - set(labels or self.schema.entity_names):
            raise InputError("unknown label in a threshold.")
        label = next(iter(labels)) if labels else "Person"
        found = [Entity(m.start(), m.end(), label, 0.75) for m in re.finditer(r"\b[A-Z]\w*", document.text)]
        return replace(document, entities=tuple(found), relations=self._ties(len(found)))

    def _ties(self, entities: int) -> tuple[Relation, ...]:
        kinds = self.schema.relation_names
        return tuple(Relation(n, n + 1, kinds[0], 0.5) for n in range(entities - 1)) if kinds else ()


@contextmanager
def served(extractor: Any, settings: Settings | None = None) -> Iterator[str]:
    """The address of a service on a free port of loopback."""
    settings = replace(settings or Settings(), port=0)
    bound = server.bind(settings)
    running = server.create_server(create_app(extractor, settings), settings)
    thread = Thread(target=running.run, args=([bound],), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(30)
