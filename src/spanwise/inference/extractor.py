"""Text in, documents out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, overload

from spanwise import runtime
from spanwise.document import Document, Entity
from spanwise.errors import InputError
from spanwise.files import write_text
from spanwise.inference.inputs import C, Text, Words, from_words, split_pairs, to_documents, with_entities
from spanwise.inference.labels import Labels, label_descriptions
from spanwise.inference.loading import is_exported, load_exported, load_trained
from spanwise.inference.sources import general_folder, model_folder
from spanwise.pipeline import MODEL_CARD
from spanwise.pipeline.pipeline import TOKEN_BUDGET, Pipeline, Task, Threshold
from spanwise.pipeline.tuning import Tuning
from spanwise.schema import Schema

if TYPE_CHECKING:
    from pandas import DataFrame

    from spanwise.inference.card import HubScores
    from spanwise.pipeline.adapters import SharedEncoder

CHUNK_TEXTS = 512  # texts that are sorted and batched together, at most
CHUNK_CHARACTERS = 1_000_000  # and no more of them than have so many characters


class Extractor:
    """A trained model with its tokenizer and schema. Threads can share it; processes cannot, each loads its own.

    >>> extractor = Extractor.from_pretrained("runs/demo")
    >>> extractor("Mara Ostrow joined the University of Brenford.").entities

    `threads` is how many threads PyTorch uses in this process for one batch, by default SPANWISE_THREADS. An exported
    model gets its threads when it is loaded.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        card: str = "",
        token_budget: int = TOKEN_BUDGET,
        task: Task | None = None,
        threads: int | None = None,
    ) -> None:
        runtime.check_not_forked()
        pipeline.use_threads(threads)
        self.pipeline, self.card = pipeline, card
        self.token_budget = token_budget
        self.task = task or pipeline.task

    @classmethod
    def from_pretrained(
        cls,
        source: Path | str,
        *,
        device: str = "cpu",
        reader: str | None = None,
        threads: int | None = None,
        encoder: SharedEncoder | None = None,
        verify: bool = True,
    ) -> Extractor:
        """Load a model folder, or download a model by its name on the hub (`owner/name`, or `hub:owner/name`).

        A folder that `spanwise export` wrote runs on ONNX Runtime, without PyTorch. `reader` names the member of a
        bundle that makes the predictions; by default the recipe's `model`. A model with an adapter uses the weights of
        `encoder`, which several models can share. `verify=False` skips the checksums of the folder's files.
        """
        runtime.check_not_forked()
        folder = model_folder(source)
        card = folder / MODEL_CARD
        text = card.read_text(encoding="utf-8", errors="replace") if card.exists() else ""
        if is_exported(folder):
            if encoder is not None:
                raise InputError("an exported model holds its own encoder; leave encoder= out.")
            return cls(load_exported(folder, reader, device=device, threads=threads, verify=verify), card=text)
        pipeline = load_trained(folder, reader, device=device, encoder=encoder, verify=verify)
        return cls(pipeline, card=text, threads=threads)

    @classmethod
    def general(cls, *, device: str = "cpu", threads: int | None = None) -> Extractor:
        """The general model, which is asked for any labels.

        >>> Extractor.general()("Ibuprofen eased the migraine.", labels=["drug", "symptom"]).entities
        """
        return cls.from_pretrained(general_folder(), device=device, threads=threads)

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "an extractor cannot be copied or sent to another process; load it there with Extractor.from_pretrained."
        )

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
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Document: ...
    @overload
    def __call__(
        self,
        text: list[str] | list[Document],
        *,
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> list[Document]: ...
    @overload
    def __call__(
        self,
        *,
        words: list[str] | tuple[str, ...],
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Document: ...
    @overload
    def __call__(
        self,
        *,
        words: list[list[str]] | list[tuple[str, ...]],
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> list[Document]: ...

    def __call__(
        self,
        text: Text | list[str] | list[Document] | None = None,
        *,
        words: Words | None = None,
        entities: Sequence[Entity] | None = None,
        labels: Labels | None = None,
        relations: Labels | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Document | list[Document]:
        """The document of one text, or the documents of a list of texts in order.

        `words` are the words of one text that is already split, or a list of such texts: one list of words per text.
        With `entities`, those of the one text are taken as given and only relations between them are sought. `labels`
        asks a model that can for other labels than its own: a list of names, or a mapping of each label to a text that
        describes it. `relations` does the same for relations. With `labels` alone, no relations are sought; with
        `relations` alone, the labels are the model's own. `threshold` is the lowest probability of an entity, for all
        labels or per label; `relation_threshold` the same for relations.
        """
        if (text is None) == (words is None):
            raise InputError("give either a text (or a list of texts) or words=, the words of one text or of several.")
        if labels is not None and entities is not None:
            raise InputError("labels= and entities= exclude each other; give one of them.")
        extractor = self._asked_for(labels, relations)
        if entities is not None:
            if threshold is not None:
                raise InputError("threshold= does not apply to entities=, which are kept as given; leave it out.")
            return next(extractor.relate([with_entities(text, entities)], relation_threshold=relation_threshold))
        return extractor._read(text, words, threshold, relation_threshold)

    def _read(
        self,
        text: Text | list[str] | list[Document] | None,
        words: Words | None,
        threshold: Threshold | None,
        relation_threshold: Threshold | None,
    ) -> Document | list[Document]:
        given = text if words is None else from_words(words)
        if isinstance(given, (str, Document)):
            return next(self.stream([given], threshold=threshold, relation_threshold=relation_threshold))
        if not isinstance(given, (list, tuple)):
            kind = type(given).__name__
            raise InputError(f"give a text or a list of texts, not {kind}; for an iterable use stream().")
        return list(self.stream(given, threshold=threshold, relation_threshold=relation_threshold))

    def with_labels(self, labels: Labels | None = None, relations: Labels | None = None) -> Extractor:
        """An extractor with the same weights for other labels and relations, as a call takes them."""
        if labels is None and relations is None:
            raise InputError("with_labels() needs labels or relations; give names, or names with descriptions.")
        described = None if labels is None else label_descriptions(labels)
        related = None if relations is None else label_descriptions(relations, "relations")
        task = self.pipeline.task_for_labels(described, related)
        return Extractor(self.pipeline, token_budget=self.token_budget, task=task)

    def _asked_for(self, labels: Labels | None, relations: Labels | None) -> Extractor:
        """Itself, unless a call asks for other labels or relations."""
        return self if labels is None and relations is None else self.with_labels(labels, relations)

    def with_tuning(self, tuning: Tuning) -> Extractor:
        """An extractor with the same weights and other thresholds and temperatures."""
        pipeline = self.pipeline.with_tuning(tuning)
        return Extractor(pipeline, card=self.card, token_budget=self.token_budget, task=self.task)

    @overload
    def stream(
        self,
        texts: Iterable[Text],
        *,
        as_tuples: Literal[False] = ...,
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Iterator[Document]: ...
    @overload
    def stream(
        self,
        texts: Iterable[tuple[Text, C]],
        *,
        as_tuples: Literal[True],
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Iterator[tuple[Document, C]]: ...

    def stream(
        self,
        texts: Iterable[Text] | Iterable[tuple[Text, C]],
        *,
        as_tuples: bool = False,
        labels: Labels | None = None,
        relations: Labels | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Iterator[Document] | Iterator[tuple[Document, C]]:
        """The documents of any number of texts, in order and in bounded memory.

        With `as_tuples` each text comes with a context, as a pair, and so does its document: an id, a record, anything.
        """
        extractor = self._asked_for(labels, relations)
        extractor.pipeline.thresholds(threshold, relation_threshold, extractor.schema)  # a wrong one is refused at once
        if not as_tuples:
            return extractor._documents(cast(Iterable[Text], texts), threshold, relation_threshold)
        contexts: deque[C] = deque()
        alone = split_pairs(cast(Iterable[tuple[Text, C]], texts), contexts.append)
        documents = extractor._documents(alone, threshold, relation_threshold)
        return ((document, contexts.popleft()) for document in documents)

    def _documents(
        self, texts: Iterable[Text], threshold: Threshold | None, relation_threshold: Threshold | None
    ) -> Iterator[Document]:
        for chunk in chunks(to_documents(texts)):
            runtime.check_not_forked()
            yield from self.pipeline.predict(
                chunk,
                self.task,
                threshold=threshold,
                relation_threshold=relation_threshold,
                token_budget=self.token_budget,
            )

    def table(
        self,
        texts: Iterable[Text],
        *,
        labels: Labels | None = None,
        relations: Labels | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> DataFrame:
        """A pandas data frame with one row per entity and one per relation of the texts."""
        from spanwise.formats.tables import to_frame

        if isinstance(texts, (str, Document)):
            raise InputError("table() takes a list of texts; put the one text into a list.")
        asked = self._asked_for(labels, relations)
        return to_frame(asked.stream(texts, threshold=threshold, relation_threshold=relation_threshold))

    def relate(
        self, documents: Iterable[Document], *, relation_threshold: Threshold | None = None
    ) -> Iterator[Document]:
        """The documents with their own entities and the relations that the model finds between them."""
        if self.task is not self.pipeline.task and not self.task.schema.relations:
            raise InputError("relations between given entities need the model's own labels; leave labels= out.")
        self.pipeline.thresholds(None, relation_threshold, self.schema)
        for chunk in chunks(to_documents(documents)):
            runtime.check_not_forked()
            yield from self.pipeline.relate(
                chunk, self.task, relation_threshold=relation_threshold, token_budget=self.token_budget
            )

    def save_pretrained(self, folder: Path | str, *, merge: bool = False, rank: int | None = None) -> None:
        """Write the model, and its card if it has one, into a folder; if it asks for other labels, with these.

        With `merge` an adapter is added to the weights of its encoder, and the folder stores all of them. With `rank`,
        a model on the default encoder is stored in a few megabytes: in half precision, its encoder as a difference of
        this rank to the published one. Predictions change a little.
        """
        from spanwise.pipeline import folder as model_folder
        from spanwise.pipeline.torch_pipeline import TorchPipeline

        if not isinstance(self.pipeline, TorchPipeline):
            raise InputError("this model does not run on PyTorch; copy its folder instead.")
        asks = self.task is not self.pipeline.task
        pipeline = self.pipeline.with_labels(self.schema) if asks else self.pipeline
        model_folder.save(pipeline.merged() if merge else pipeline, Path(folder), rank)
        if self.card:
            write_text(Path(folder) / MODEL_CARD, self.card)

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool = True,
        token: str | None = None,
        scores: HubScores | None = None,
        license: str | None = None,
        language: str | None = None,
        merge: bool = False,
    ) -> str:
        """Upload the model under this name, with a card that the hub can read; gives its address.

        `scores` are written into the card, beside those of training on dev. `license` is the model's, as the hub
        abbreviates it, such as "apache-2.0"; `language` is for example "en". With `merge` an adapter is added to the
        weights of its encoder, which an adapter for a local encoder needs.
        """
        from tempfile import TemporaryDirectory

        from huggingface_hub import HfApi

        from spanwise.inference.card import hub_card

        if not merge:
            self._check_public()
        api = HfApi(token=token)
        api.create_repo(name, private=private, exist_ok=True)
        with TemporaryDirectory() as folder:
            self.save_pretrained(folder, merge=merge)
            card = hub_card(self.card, name, scores=scores, license=license, language=language)
            write_text(Path(folder) / MODEL_CARD, card)
            commit = api.upload_folder(repo_id=name, folder_path=folder, commit_message="Upload spanwise model")
        return str(commit.commit_url)

    def _check_public(self) -> None:
        from spanwise.pipeline.base_encoder import check_public
        from spanwise.pipeline.torch_pipeline import TorchPipeline

        if isinstance(self.pipeline, TorchPipeline) and self.pipeline.blueprint.encoder.adapter is not None:
            check_public(self.pipeline.blueprint.encoder.name)

    @staticmethod
    def to_hf(document: Document) -> list[dict[str, Any]]:
        """The document's entities as the token classification pipeline of transformers returns them."""
        return [
            {
                "entity_group": entity.label,
                "score": entity.score,
                "word": document.text_of(entity),
                "start": entity.start,
                "end": entity.end,
            }
            for entity in document.entities
        ]


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
