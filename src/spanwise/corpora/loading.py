"""Corpora: named ones, whose files are checked against their published checksums, and the user's own files."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from spanwise import formats
from spanwise.corpora.catalog import ANNOTATED_LABELS, CHECKSUMS, CORPORA, OPEN, PACKAGE, NamedCorpus
from spanwise.corpora.label_texts import open_schema, read_label_texts, read_open, with_plain_names
from spanwise.document import Document, overlap
from spanwise.errors import CorpusError, InputError
from spanwise.schema import EntityType, RelationType, Schema

DATA_VARIABLE = "SPANWISE_DATA"
# testa and testb are the dev and the test split of CoNLL-2003
_SPLIT_IN_NAME = re.compile(
    r"(?<![a-z])(?:(?P<train>train(?:ing)?)"
    r"|(?P<dev>dev(?:el|elopment)?|val(?:id|idation)?|testa)"
    r"|(?P<test>test(?:ing|b)?))(?![a-z])"
)
NAMES = tuple(named.name for named in CORPORA)


@dataclass(frozen=True)
class Corpus:
    """Named splits of documents plus their schema."""

    name: str
    splits: Mapping[str, tuple[Document, ...]]
    schema: Schema

    @classmethod
    def from_documents(
        cls,
        train: Iterable[Document],
        dev: Iterable[Document] = (),
        test: Iterable[Document] = (),
        *,
        schema: Schema | None = None,
        name: str = "documents",
    ) -> Corpus:
        """A corpus of documents in memory; without a schema, of the labels that occur in train."""
        given = {"train": tuple(train), "dev": tuple(dev), "test": tuple(test)}
        splits = {split: documents for split, documents in given.items() if documents}
        schema = schema or Schema.from_documents(given["train"])
        for split, documents in splits.items():
            schema.check(documents, split)
        return cls(name, splits, schema)

    def split(self, name: str) -> tuple[Document, ...]:
        """One split, or a sentence that names those there are."""
        if name not in self.splits:
            raise CorpusError(f"corpus {self.name!r} has no split {name!r}; it has {sorted(self.splits)}.")
        return self.splits[name]


def load(name: str, root: Path | None = None) -> Corpus:
    """A named corpus, or one fold of it ("ade/0"), from the folder `root`, else from $SPANWISE_DATA."""
    named, cut = _find(name)
    folder = _folder(named, root)
    if folder is None:
        raise CorpusError(
            f"corpus {named.name!r} does not ship with spanwise; get it ({named.source}) and set the environment "
            f"variable {DATA_VARIABLE} to the folder that holds {named.files[0]!r}."
        )
    for path in (*cut.values(), *filter(None, [named.schema_file])):
        _verify(named, folder, path)
    if named.schema_form == "open":
        return _load_open(named, folder)
    splits = {split: tuple(formats.read(folder / path, named.format)) for split, path in cut.items()}
    content = json.loads((folder / named.schema_file).read_text("utf-8")) if named.schema_file else {}
    if named.schema_form == "ontology":
        # the arguments have no type of their own, so that the corpus is one of triggers
        splits = {split: tuple(map(formats.triggers_only, documents)) for split, documents in splits.items()}
    if named.without_overlaps:
        splits = {split: tuple(d for d in documents if not overlap(d.entities)) for split, documents in splits.items()}
    schema = _schema(named, content, (d for split in splits.values() for d in split))
    return Corpus(name, splits, with_plain_names(named.name.removesuffix("-flat"), schema))


def _load_open(named: NamedCorpus, folder: Path) -> Corpus:
    """A corpus of many label sets; parts of some were annotated for a part of the labels."""
    _verify(named, folder, ANNOTATED_LABELS)
    splits = {split: tuple(read_open(folder / path, folder / ANNOTATED_LABELS)) for split, path in named.splits.items()}
    return Corpus(named.name, splits, open_schema(named.name, read_label_texts(folder / named.schema_file)))


def from_files(
    train: Iterable[Path | str],
    dev: Iterable[Path | str] = (),
    test: Iterable[Path | str] = (),
    *,
    format: str | None = None,
    scheme: str | None = None,
    tag_columns: Sequence[int] = (),
    annotator: str | None = None,
    skip_bad: bool = False,
    report: formats.Report | None = None,
    check_labels: bool = True,
) -> Corpus:
    """A corpus of the user's own files. The schema is what occurs in train.

    A train split without entities is refused, and so are other labels in dev or test, but for a look at the files
    (`check_labels=False`).
    """
    paths = {"train": _paths(train), "dev": _paths(dev), "test": _paths(test)}
    if not paths["train"]:
        raise InputError("no training file was given; give at least one.")
    read = partial(
        formats.read,
        format=format,
        scheme=scheme,
        tag_columns=tag_columns,
        annotator=annotator,
        skip_bad=skip_bad,
        report=report,
    )
    splits = {split: tuple(chain.from_iterable(map(read, files))) for split, files in paths.items() if files}
    schema = Schema.from_documents(splits["train"])
    names = {split: ", ".join(map(str, files)) for split, files in paths.items()}
    if not schema.entities and check_labels:
        raise InputError(
            f"the training data in {names['train']} contains no entities; check the files and their format."
        )
    if not schema.entities and report is not None:
        report.notes.append(f"{names['train']}: there are no entities in these files; no model can be trained on them")
    for split in splits if check_labels else ():
        schema.check(splits[split], names[split])
    return Corpus(paths["train"][0].stem, splits, schema)


def infer_splits(files: Iterable[Path]) -> tuple[list[Path], list[Path], list[Path]]:
    """Train, dev and test files, as their names tell (dev, devel, valid, testa …).

    All are train when no name tells a split, or all tell the same. Anything else that leaves a doubt is refused: a test
    file among those to train on would spoil every score.
    """
    listed = list(files)
    split_of = {file: _split_in_name(file) for file in listed}
    if len(set(split_of.values())) <= 1:
        return listed, [], []
    if unmarked := [file.name for file in listed if split_of[file] is None]:
        raise InputError(
            f"the name of {unmarked[0]!r} marks no split, but other file names do; give it with --dev or --test, or "
            f"put 'train' into its name."
        )
    if "train" not in split_of.values():
        raise InputError(
            "the file names mark dev and test files but no training file; put 'train' into a name, or give the others "
            "with --dev and --test."
        )
    train, dev, test = ([file for file in listed if split_of[file] == split] for split in ("train", "dev", "test"))
    return train, dev, test


def _split_in_name(file: Path) -> str | None:
    found = _SPLIT_IN_NAME.search(file.name.lower())
    return found.lastgroup if found else None


def is_present(named: NamedCorpus, root: Path | None = None) -> bool:
    """Whether every file of the corpus is on this machine; checksums are left to `load`."""
    folder = _folder(named, root)
    return folder is not None and all((folder / path).is_file() for path in named.files)


def _find(name: str) -> tuple[NamedCorpus, Mapping[str, str]]:
    """The declaration of a name and the files of its splits."""
    base, _, fold = (name, "", "") if name.startswith(OPEN) else name.partition("/")
    named = next((named for named in CORPORA if named.name == base), None)
    if named is None:
        known = ", ".join(each for each in NAMES if not each.startswith(OPEN))
        raise CorpusError(f"unknown corpus {name!r}; choose from {known}, or those of {OPEN}… (`spanwise corpora`).")
    if not fold and base == name:
        return named, named.splits
    if fold not in map(str, range(len(named.folds))):
        folds = f"0 to {len(named.folds) - 1}" if named.folds else "none"
        raise CorpusError(f"corpus {base!r} has no fold {fold!r}; its folds are {folds}.")
    return named, named.folds[int(fold)]


def _folder(named: NamedCorpus, root: Path | None) -> Path | None:
    """The folder below which a corpus lies: the package, `root`, or $SPANWISE_DATA; None where none is set."""
    if named.bundled:
        return PACKAGE
    configured = os.environ.get(DATA_VARIABLE)
    return root or (Path(configured) if configured else None)


def _verify(named: NamedCorpus, folder: Path, path: str) -> None:
    """Refuse a file that is missing or is not the published one; what ships with the package is trusted."""
    file = folder / path
    if named.bundled:
        return
    if not file.is_file():
        raise CorpusError(
            f"corpus {named.name!r} is not on this machine ({file} is missing); get it ({named.source}) and set the "
            f"environment variable {DATA_VARIABLE} to the folder that holds {path!r}."
        )
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != CHECKSUMS[path]:
        raise CorpusError(
            f"{file} is not the published file (its SHA-256 is {found}, expected was {CHECKSUMS[path]}); "
            f"get it again ({named.source}), or pass it as a file of your own."
        )


def _schema(named: NamedCorpus, content: dict[str, Any], documents: Iterable[Document]) -> Schema:
    if named.schema_form == "spert":
        return _spert_schema(named, content)
    if named.schema_file and named.schema_form == "native":
        return Schema.from_dict(content)
    found = Schema.from_documents(documents)
    described = {name: _named_description(name, content[name]["description"]) for name in content} or named.descriptions
    return replace(found, entities=tuple(EntityType(name, described.get(name, "")) for name in found.entity_names))


def _named_description(name: str, description: str) -> str:
    """GENEVA's descriptions speak of agents and goals, and seldom of what the event is called."""
    return f"{name.replace('_', ' ')}: {description}"


def _spert_schema(named: NamedCorpus, content: dict[str, Any]) -> Schema:
    """The types of SpERT's types file, in its order; its verbose names say no more than the labels do."""
    return Schema(
        tuple(EntityType(name, named.descriptions[name]) for name in content["entities"]),
        tuple(
            RelationType(name, named.relation_descriptions[name], relation["symmetric"])
            for name, relation in content["relations"].items()
        ),
    )


def _paths(files: Iterable[Path | str]) -> list[Path]:
    if isinstance(files, str | Path):
        raise InputError(f"a list of files was expected, but {str(files)!r} is one path; put it in a list.")
    return [Path(file) for file in files]
