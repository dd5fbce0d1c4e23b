"""A self-contained HTML page: texts with spans as nested boxes and relations as arcs between them.

The page loads no resources. Its only script positions the arcs, and pages without relations have no script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from spanwise.document import Document
from spanwise.files import atomic_file, check_target
from spanwise.plural import counted
from spanwise.render.arcs import ARCS, Arcs
from spanwise.render.marked import label_classes, marked_text
from spanwise.render.markup import chip, escaped
from spanwise.render.palette import color_indices
from spanwise.render.scripts import script, script_policy
from spanwise.render.style import style_sheet
from spanwise.schema import Schema

DEFAULT_TITLE = "Extracted spans"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CROSSING = "A span that crosses another is drawn in two parts; dotted edges and … show where it goes on."


def to_html(documents: Iterable[Document], *, title: str = DEFAULT_TITLE, schema: Schema | None = None) -> str:
    """A page of all documents with a legend of label counts; the schema gives the labels' order and descriptions.

    Relations that are symmetric in the schema are drawn without an arrow head. Characters that HTML cannot contain
    (NUL) appear as U+FFFD.
    """
    texts = list(documents)
    colors = color_indices(texts, schema)
    arcs = Arcs.of(texts, colors, schema)
    articles = [_article(number, document, colors, arcs) for number, document in enumerate(texts, start=1)]
    crossing = any("goes-on" in article for article in articles)
    styles = style_sheet(len(colors), len(arcs.relation_labels))
    body = "\n".join(articles) or '<p class="empty">There are no documents.</p>'
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(arcs)}">\n'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{styles}</style>\n</head>\n<body>\n"
        f'<div class="wrap">\n<h1>{escaped(title)}</h1>\n<p class="summary">{_summary(texts)}</p>\n'
        f"{_legend(texts, colors, schema)}{arcs.legend(texts, schema)}<main>\n{body}\n</main>\n"
        f"{f'<p class=note>{_CROSSING}</p>' if crossing else ''}</div>\n{_script(arcs)}</body>\n</html>\n"
    )


def write_html(
    documents: Iterable[Document], path: Path | str, *, title: str = DEFAULT_TITLE, schema: Schema | None = None
) -> None:
    """Write the page atomically, by rename, into a folder that exists."""
    check_target(Path(path))
    page = to_html(documents, title=title, schema=schema)
    with atomic_file(Path(path)) as draft:
        draft.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))  # UTF-8 cannot encode lone surrogates


def _policy(arcs: Arcs) -> str:
    return f"{_POLICY}; {script_policy([script(ARCS)])}" if arcs.relation_labels else _POLICY


def _script(arcs: Arcs) -> str:
    return f"<script>{script(ARCS)}</script>\n" if arcs.relation_labels else ""


def _summary(documents: Sequence[Document]) -> str:
    entities = sum(len(document.entities) for document in documents)
    return f"{counted(len(documents), 'document')} · {_counts(entities, sum(len(d.relations) for d in documents))}"


def _counts(entities: int, relations: int) -> str:
    found = counted(entities, "entity", "entities")
    return f"{found} · {counted(relations, 'relation')}" if relations else found


def _legend(documents: Sequence[Document], colors: Mapping[str, int], schema: Schema | None) -> str:
    """The labels that occur, with their counts. Unchecking a label hides its boxes, by CSS alone."""
    counts = Counter(entity.label for document in documents for entity in document.entities)
    described = {kind.name: kind.description for kind in schema.entities} if schema else {}
    chips = [
        chip(label_classes(index), str(index), label, described.get(label, ""), counts[label])
        for label, index in colors.items()
        if counts[label]
    ]
    return '<nav class="legend" aria-label="Labels">\n' + "\n".join(chips) + "\n</nav>\n" if chips else ""


def _article(number: int, document: Document, colors: Mapping[str, int], arcs: Arcs) -> str:
    name = escaped(document.id) if document.id else f"Document {number}"
    counts = _counts(len(document.entities), len(document.relations))
    return (
        f'<article class="doc" id="doc-{number}">\n'
        f'<header><h2>{name}</h2><span class="counts">{counts}</span></header>\n'
        f"{marked_text(document, colors)}{arcs.drawing(document)}{arcs.written(document)}</article>"
    )
