"""Relations on the page: arcs that a script positions, a list that needs no script, and a legend.

The script (`arcs.js`) only computes positions. All content is in the markup, and the page's Content-Security-Policy
allows only this script, by its hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.document import Document, Relation
from spanwise.render.markup import chip, escaped, short
from spanwise.render.relations import arrow, relation_indices, symmetric_labels
from spanwise.schema import Schema

ARCS = "arcs.js"


@dataclass(frozen=True, slots=True)
class Arcs:
    """The relations of a page's documents as markup."""

    entity_labels: Mapping[str, int]
    relation_labels: Mapping[str, int]
    symmetric: frozenset[str]

    @classmethod
    def of(cls, documents: Sequence[Document], entity_labels: Mapping[str, int], schema: Schema | None) -> Arcs:
        return cls(entity_labels, relation_indices(documents, schema), symmetric_labels(schema))

    def legend(self, documents: Sequence[Document], schema: Schema | None) -> str:
        """The relation labels that occur, with their counts. Unchecking a label hides its arcs."""
        counts = Counter(relation.label for document in documents for relation in document.relations)
        described = {kind.name: kind.description for kind in schema.relations} if schema else {}
        chips = [
            chip("tie", f"r{index}", label, described.get(label, ""), counts[label])
            for label, index in self.relation_labels.items()
        ]
        return '<nav class="ties" aria-label="Relations">\n' + "\n".join(chips) + "\n</nav>\n" if chips else ""

    def drawing(self, document: Document) -> str:
        """An arc and a label for each relation, without positions. Labels come last, to cover the arcs they cross."""
        if not document.relations:
            return ""
        numbered = list(enumerate(document.relations))
        paths = "".join(f"<path {self._path(number, document)}>{_title(tie)}</path>" for number, tie in numbered)
        labels = "".join(
            f"<text {self._part(number, document)}>{_title(tie)}{escaped(short(tie.label))}</text>"
            for number, tie in numbered
        )
        return f'<svg class="arcs" aria-hidden="true">{paths}{labels}</svg>\n'

    def written(self, document: Document) -> str:
        """The relations as a list. It is open for readers without the script; the script closes it."""
        if not document.relations:
            return ""
        lines = "\n".join(self._line(number, tie, document) for number, tie in enumerate(document.relations))
        return f"<details open>\n<summary>Relations</summary>\n<ul>\n{lines}\n</ul>\n</details>\n"

    def _line(self, number: int, relation: Relation, document: Document) -> str:
        head, tail = (escaped(document.text_of(document.entities[i])) for i in (relation.head, relation.tail))
        link = escaped(arrow(relation.label, symmetric=relation.label in self.symmetric))
        return (
            f'<li {self._part(number, document)} title="{_score(relation)}">'
            f'<bdi>{head}</bdi> <span class="link">{link}</span> <bdi>{tail}</bdi></li>'
        )

    def _path(self, number: int, document: Document) -> str:
        relation = document.relations[number]
        symmetric = " data-symmetric" if relation.label in self.symmetric else ""
        return f'{self._part(number, document)} data-head="{relation.head}" data-tail="{relation.tail}"{symmetric}'

    def _part(self, number: int, document: Document) -> str:
        """The relation's number, and the classes by which the checkboxes of the legends hide it."""
        relation = document.relations[number]
        ends = {self.entity_labels[document.entities[i].label] for i in (relation.head, relation.tail)}
        classes = [f"r{self.relation_labels[relation.label]}", *(f"e{index}" for index in sorted(ends))]
        return f'class="{" ".join(classes)}" data-relation="{number}"'


def _title(relation: Relation) -> str:
    return f"<title>{_score(relation)}</title>"


def _score(relation: Relation) -> str:
    return f"{escaped(relation.label)} · {relation.score:.2f}"
