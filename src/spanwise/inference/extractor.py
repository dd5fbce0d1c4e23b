"""Text in, documents out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

from spanwise.document import Document, Entity
from spanwise.errors import InputError, ModelError
from spanwise.files import write_text
from spanwise.pipeline import MODEL_CARD
from spanwise.pipeline.pipeline import TOKEN_BUDGET, Pipeline, Task, Threshold
from spanwise.runtime import resolve_device
from spanwise.schema import Schema

CHUNK_TEXTS = 512  # texts that are sorted and batched together, at most
CHUNK_CHARACTERS = 1_000_000  # and no more of them than have so many characters
Text = str | Document
log = logging.getLogger("spanwise")


class Extractor:
    """A trained model with its tokenizer and schema.

    >>> extractor = Extractor.from_pretrained("runs/demo")
    >>> extractor("Mara Ostrow joined the University of Brenford.").entities
    """

    def __init__(
        self, pipeline: Pipeline, *, card: str = "", token_budget: int = TOKEN_BUDGET, task: Task | None = None
    ) -> None:
        self.pipeline, self.card = pipeline, card
        self.token_budget = token_budget
        self.task = task or pipeline.task

    @classmethod
    def from_pretrained(
        cls, source: Path | str, *, device: str = "cpu", reader: str | None = None, verify: bool = True
    ) -> Extractor:
        """Load a model folder, or download one by its name on the hub.

        `reader` names the member of a bundle that makes the predictions; by default the recipe's `model`.
        `verify=False` skips the checksums of the folder's files.
        """
        from spanwise.pipeline import folder as model_folder

        device = resolve_device(device)
        folder = Path(source)
        if not folder.exists() and _looks_like_hub_name(str(source)):
            folder = _download(str(source))
        pipeline, card = model_folder.load(folder, reader, verify=verify), folder / MODEL_CARD
        pipeline.model.to(device)
        return cls(pipeline, card=card.read_text(encoding="utf-8", errors="replace") if card.exists() else "")

    @property
    def schema(self) -> Schema:
        """The labels that it looks for."""
        return self.task.schema

    @overload
    def __call__(
        self,
        text: Text,
        *,
        entities: Sequence[Entity] | None = ...,
        labels: Mapping[str, str] | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Document: ...
    @overload
    def __call__(
        self,
        text: list[str] | list[Document],
        *,
        labels: Mapping[str, str] | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> list[Document]: ...
    @overload
    def __call__(
        self,
        *,
        words: Sequence[str],
        labels: Mapping[str, str] | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Document: ...

    def __call__(
        self,
        text: Text | list[str] | list[Document] | None = None,
        *,
        words: Sequence[str] | None = None,
        entities: Sequence[Entity] | None = None,
        labels: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Document | list[Document]:
        """The document of one text, or the documents of a list of texts in order.

        `words` is one text that is already split into words. With `entities`, those of the one text are taken as given
        and only relations between them are sought. `labels` asks a model that can for other labels than its own, each
        with the text that describes it. `threshold` is the lowest probability of an entity, for all labels
        or per label; `relation_threshold` the same for relations.
        """
        if (text is None) == (words is None):
            raise InputError("give either a text (or a list of texts) or words=, the words of one text.")
        if labels is not None:
            if entities is not None:
                raise InputError("labels= and entities= exclude each other; give one of them.")
            return self.with_labels(labels)._read(text, words, threshold, relation_threshold)
        if entities is not None:
            if threshold is not None:
                raise InputError("threshold= does not apply to entities=, which are kept as given; leave it out.")
            return next(self.relate([_given(text, entities)], relation_threshold=relation_threshold))
        return self._read(text, words, threshold, relation_threshold)

    def _read(
        self,
        text: Text | list[str] | list[Document] | None,
        words: Sequence[str] | None,
        threshold: Threshold | None,
        relation_threshold: Threshold | None,
    ) -> Document | list[Document]:
        thresholds = {"threshold": threshold, "relation_threshold": relation_threshold}
        if words is not None:
            return next(self.stream([_from_words(words)], **thresholds))
        if isinstance(text, (str, Document)):
            return next(self.stream([text], **thresholds))
        if not isinstance(text, (list, tuple)):
            raise InputError(
                f"give a text or a list of texts, not {type(text).__name__}; for an iterable use stream()."
            )
        return list(self.stream(text, **thresholds))

    def with_labels(self, labels: Mapping[str, str]) -> Extractor:
        """An extractor with the same weights for other labels, each with the text that describes it."""
        texts = [*labels, *labels.values()] if isinstance(labels, Mapping) else []
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise InputError("labels= maps each label to its description; give at least one label and no empty text.")
        task = self.pipeline.task_for_labels(labels)
        return Extractor(self.pipeline, token_budget=self.token_budget, task=task)

    def stream(
        self,
        texts: Iterable[Text],
        *,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Iterator[Document]:
        """The documents of any number of texts, in order and in bounded memory."""
        self.pipeline.thresholds(threshold, relation_threshold, self.schema)  # a wrong one is refused before any text
        for chunk in chunks(map(_document, texts)):
            yield from self.pipeline.predict(
                chunk,
                self.task,
                threshold=threshold,
                relation_threshold=relation_threshold,
                token_budget=self.token_budget,
            )

    def relate(
        self, documents: Iterable[Document], *, relation_threshold: Threshold | None = None
    ) -> Iterator[Document]:
        """The documents with their own entities and the relations that the model finds between them."""
        if self.task is not self.pipeline.task:
            raise InputError("relations between given entities need the model's own labels; leave labels= out.")
        self.pipeline.thresholds(None, relation_threshold)
        for chunk in chunks(map(_document, documents)):
            yield from self.pipeline.relate(
                chunk, relation_threshold=relation_threshold, token_budget=self.token_budget
            )

    def save_pretrained(self, folder: Path | str) -> None:
        """Write the model, and its card if it has one, into a folder; if it asks for other labels, with these."""
        from spanwise.pipeline import folder as model_folder
        from spanwise.pipeline.torch_pipeline import TorchPipeline

        if not isinstance(self.pipeline, TorchPipeline):
            raise InputError("this model does not run on PyTorch; copy its folder instead.")
        asks = self.task is not self.pipeline.task
        model_folder.save(self.pipeline.with_labels(self.schema) if asks else self.pipeline, Path(folder))
        if self.card:
            write_text(Path(folder) / MODEL_CARD, self.card)

    def push_to_hub(self, name: str, *, private: bool = True, token: str | None = None) -> str:
        """Upload the model under this name; gives its address."""
        from tempfile import TemporaryDirectory

        from huggingface_hub import HfApi

        api = HfApi(token=token)
        api.create_repo(name, private=private, exist_ok=True)
        with TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            commit = api.upload_folder(repo_id=name, folder_path=folder, commit_message="Upload spanwise model")
        return str(commit.commit_url)


def _from_words(words: Sequence[str]) -> Document:
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise InputError("words= takes the words of one text, as a list of strings.")
    if blank := [index for index, word in enumerate(words) if not word.strip()]:
        raise InputError(f"words= holds an empty word at position {blank[0]}; leave it out.")
    return Document.from_words(words)


def _given(text: object, entities: Sequence[Entity]) -> Document:
    if not isinstance(text, (str, Document)):
        raise InputError("entities= goes with one text, not with words= or a list; for documents use relate().")
    if odd := [entity for entity in entities if not isinstance(entity, Entity)]:
        raise InputError(f"entities= takes Entity(start, end, label) by characters of the text, not {odd[0]!r}.")
    return _document(text).with_annotations(entities)


def _document(text: Text) -> Document:
    if isinstance(text, Document):
        return text
    if not isinstance(text, str):
        raise InputError(f"a text is a string, not {type(text).__name__}; for a text that is already split use words=.")
    return Document(text)


def chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in groups that fit into memory, however long the texts are."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text)
        if len(chunk) == CHUNK_TEXTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _looks_like_hub_name(source: str) -> bool:
    owner, slash, name = source.partition("/")
    return bool(slash and owner and name) and "/" not in name and not owner.startswith((".", "~"))


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    log.warning("folder %r does not exist; looking for a model of that name on the hub.", name)
    try:
        kinds = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "README.md"]
        return Path(snapshot_download(name, allow_patterns=kinds))
    except (RepositoryNotFoundError, LocalEntryNotFoundError, HFValidationError, HfHubHTTPError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"folder {name!r} does not exist, and the hub has no such model ({reason}).") from None
