"""Texts with the annotations of several annotators: a file for each, or one file that names them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from spanwise.document import ANNOTATED, Document
from spanwise.errors import InputError
from spanwise.formats import FORMATS, Report, format_for_reading, read
from spanwise.formats.annotators import ANNOTATOR, EACH
from spanwise.plural import counted


def read_versions(
    files: Sequence[Path], *, format: str | None = None, skip_bad: bool = False, report: Report | None = None
) -> list[Mapping[str, Document]]:
    """The texts of the files, each with its documents by annotator. Texts are the same if all characters are.

    With several files an annotator is named after the file; a file of several annotators adds their names.
    """
    report = Report() if report is None else report
    texts: dict[tuple[str, int], dict[str, Document]] = {}
    for file, name in zip(files, _file_names(files), strict=True):
        seen: Counter[tuple[str, str]] = Counter()
        for annotator, document in _annotated(file, name, len(files) > 1, format, skip_bad, report):
            place = document.text, seen[document.text, annotator]  # a file may hold a text twice
            seen[document.text, annotator] += 1
            texts.setdefault(place, {})[annotator] = document
    alone = sum(len(versions) == 1 for versions in texts.values())
    if alone == len(texts):
        raise InputError(
            "no text has the annotations of two annotators; give files with the same texts, or one file that names "
            "several annotators."
        )
    if alone:
        report.notes.append(f"{counted(alone, 'text has', 'texts have')} one annotator only and no part in the scores")
    return list(texts.values())


def _annotated(
    file: Path, name: str, named_by_file: bool, format: str | None, skip_bad: bool, report: Report
) -> Iterator[tuple[str, Document]]:
    """The documents of a file with their annotators; unannotated ones are left out."""
    found = format_for_reading(file, format)
    each = EACH if found in FORMATS and FORMATS[found].holds_annotators else None
    by_annotator: defaultdict[str, list[Document]] = defaultdict(list)
    for document in read(file, found, annotator=each, skip_bad=skip_bad, report=report):
        if document.metadata.get(ANNOTATED) != []:
            by_annotator[str(document.metadata.get(ANNOTATOR) or "")].append(document)
    for annotator, documents in by_annotator.items():
        several = f"{name}/{annotator}" if annotator else name
        full = (several if len(by_annotator) > 1 else name) if named_by_file else annotator or name
        yield from ((full, document) for document in documents)


def _file_names(files: Sequence[Path]) -> list[str]:
    """The names of the files without their extensions; their paths if names repeat."""
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [str(file) for file in files]
