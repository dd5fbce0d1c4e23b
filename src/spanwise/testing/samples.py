"""Data for checking models: a tiny random encoder and a few invented sentences."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanwise.corpora import Corpus
from spanwise.document import Document, Relation
from spanwise.schema import EntityType, RelationType, Schema

Sentences = Sequence[tuple[str, Sequence[tuple[int, int, str]]]]
Links = Mapping[int, Sequence[tuple[int, int, str]]]

PIECES = 96  # maximum input length of the tiny encoder
_COMMON = ("the", "of", "in", "mar", "ost", "bren", "met", "univer", "##ing", "##ed", "##er", "##ow", "##sity")
_CHINESE = "中国人在北京大学工作"

FLAT: Sentences = (
    ("Mara Ostrow met Bo Lind in Brenford .", [(0, 2, "Person"), (3, 5, "Person"), (6, 7, "Place")]),
    ("The University of Brenford opened .", [(1, 4, "Organization")]),
    ("Nothing happened on that long grey day .", []),
    ("Acme hired Mara .", [(0, 1, "Organization"), (2, 3, "Person")]),
    ("In Westmoor and Brenford it rained", [(1, 2, "Place"), (3, 4, "Place")]),
    ("Lind", [(0, 1, "Person")]),
    (
        "Yesterday the Institute of Deep Water Studies moved from Westmoor to Kell , said Ada Moss , who runs it .",
        [(2, 7, "Organization"), (9, 10, "Place"), (11, 12, "Place"), (14, 16, "Person")],
    ),
    ("Kell United beat Acme 3 - 1 .", [(0, 2, "Organization"), (3, 4, "Organization")]),
)
NESTED: Sentences = (
    ("The University of Brenford opened .", [(1, 4, "Organization"), (3, 4, "Place")]),
    ("Mara Ostrow of the Bank of Westmoor spoke .", [(0, 2, "Person"), (4, 7, "Organization"), (6, 7, "Place")]),
    ("Nobody came .", []),
    ("The mayor of Kell left .", [(0, 4, "Person"), (3, 4, "Place")]),
    ("Brenford", [(0, 1, "Place")]),
    ("Kell Water and Acme Gas merged .", [(0, 2, "Organization"), (0, 1, "Place"), (3, 5, "Organization")]),
    ("Bo Lind , head of Acme Brenford , agreed .", [(0, 2, "Person"), (5, 7, "Organization"), (6, 7, "Place")]),
    ("It rained in Westmoor .", [(3, 4, "Place")]),
)
# Relations by sentence: indices of the head and tail entities, label. Heads occur before and after tails.
FLAT_LINKS: Links = {
    0: [(0, 1, "knows"), (0, 2, "lives in")],
    3: [(1, 0, "works for")],
    6: [(3, 0, "works for"), (0, 2, "lives in")],
    7: [(0, 1, "knows")],
}
NESTED_LINKS: Links = {
    0: [(0, 1, "lives in")],
    1: [(0, 1, "works for"), (1, 2, "lives in")],
    3: [(0, 1, "lives in")],
    5: [(0, 2, "knows"), (0, 1, "lives in")],
    6: [(0, 1, "works for"), (1, 2, "lives in")],
}
_ACTORS = ("Organization", "Person")
RELATIONS = (
    RelationType("works for", "", False, _ACTORS, ("Organization",)),
    RelationType("lives in", "", False, _ACTORS, ("Place",)),
    RelationType("knows", "", True, _ACTORS, _ACTORS),
)
DESCRIPTIONS = {
    "Organization": "companies, clubs, offices and schools",
    "Person": "people, by name or by office",
    "Place": "towns and countries",
}


def tiny_encoder(folder: Path) -> Path:
    """Write a random uncased BERT with a short maximum length; it splits nearly every word into several pieces."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    vocabulary = _vocabulary()
    pieces = {piece: index for index, piece in enumerate(vocabulary)}
    BertTokenizer(vocab=pieces, do_lower_case=True, model_max_length=PIECES).save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=PIECES,
            initializer_range=0.2,  # so that random vectors differ by far more than rounding errors
        )
        BertModel(config).save_pretrained(folder)
    return folder


def _vocabulary() -> list[str]:
    characters = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    pieces = [*characters, *(f"##{c}" for c in characters), *_COMMON, *_CHINESE]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]


def sample_corpus(name: str, sentences: Sentences, links: Links | None = None) -> Corpus:
    """A corpus with the sentences as train and dev, and with relations if `links` is given."""
    documents = tuple(
        Document.from_words(
            text.split(),
            entities,
            [Relation(*link) for link in (links or {}).get(number, ())],
            id=f"{name}-{number}",
        )
        for number, (text, entities) in enumerate(sentences)
    )
    types = tuple(EntityType(label, text) for label, text in DESCRIPTIONS.items())
    return Corpus(name, {"train": documents, "dev": documents}, Schema(types, RELATIONS if links is not None else ()))


def with_shared_spans(sentences: Sentences) -> Sentences:
    """The same sentences with a second label on some spans: each organization is also a place."""
    return [
        (text, [*entities, *((start, end, "Place") for start, end, label in entities if label == "Organization")])
        for text, entities in sentences
    ]
