"""The folder of an exported model: config, schema, tokenizer.json and one ONNX graph per stage; read without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from spanwise import __version__
from spanwise.errors import ModelError, SchemaError
from spanwise.files import write_text
from spanwise.pipeline.integrity import FORMAT, check_version, checksum, verify_checksums
from spanwise.pipeline.onnx_runner import FORWARD, GRAPHS, OnnxRunner
from spanwise.pipeline.pipeline import Member, Pipeline, WindowSettings
from spanwise.pipeline.stored import (
    BACKEND,
    CONFIG,
    ONNX,
    SCHEMA,
    check_member,
    first_line,
    member_names,
    read_schema,
    read_tuning,
    to_json,
    tuning_to_dict,
    with_tuning,
)
from spanwise.pipeline.tuning import Tuning
from spanwise.seam.registry import find_decoder, find_proposer
from spanwise.seam.traits import Traits
from spanwise.text.pieces import PieceSettings, WordPieces

TOKENIZER = "tokenizer.json"


def write_config(pipeline: Pipeline, folder: Path, options: Mapping[str, Any], **export: Any) -> None:
    """Write schema and config of a folder that already has its graphs and its tokenizer.

    `options` are those of the model; `export` says how the graphs were made. Both are for people.
    """
    write_text(folder / SCHEMA, to_json(pipeline.schema.to_dict()))
    reader = pipeline.reader
    config = {
        "spanwise": __version__,
        "format": FORMAT,
        BACKEND: ONNX,
        "model": {"name": reader.name, **options},
        "export": export,
        "threshold": pipeline.threshold,
        "member": {
            "traits": asdict(reader.traits),
            "proposer": reader.proposer and reader.proposer.to_dict(),
            "decoder": reader.decoder.to_dict(),
        },
        "windows": asdict(pipeline.windows),
        "pieces": asdict(pipeline.pieces.settings),
        "checksums": {
            path.name: checksum(path) for name in (SCHEMA, TOKENIZER, *GRAPHS) if (path := folder / name).is_file()
        },
    }
    write_text(folder / CONFIG, to_json(with_tuning(config, tuning_to_dict({reader.name: reader.tuning}))))


def load(
    folder: Path, config: Mapping[str, Any], reader: str | None = None, *, threads: int = 1, verify: bool = True
) -> Pipeline:
    """Read a folder that `spanwise export` wrote."""
    check_version(config, folder / CONFIG)
    if verify:
        verify_checksums(config, folder, (SCHEMA, TOKENIZER, FORWARD))
    if reader is not None:
        check_member(reader, member_names(config))
    schema = read_schema(folder)
    try:
        (name,) = member_names(config)
        tuning = read_tuning(folder, config, [name], schema).get(name, Tuning())
        member = _member(name, config["member"], tuning)
        windows = TypeAdapter(WindowSettings).validate_python(config["windows"])
        pieces = TypeAdapter(PieceSettings).validate_python(config["pieces"])
        threshold = float(config["threshold"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{folder / CONFIG}: not an exported model ({first_line(error)}); copy it again.") from None
    runner = OnnxRunner(folder, member.decoder, threads)
    try:
        return Pipeline(member, schema, WordPieces.from_file(folder / TOKENIZER, pieces), windows, runner, threshold)
    except SchemaError as error:
        raise ModelError(f"{folder / SCHEMA}: {error}") from None


def _member(name: str, stored: Mapping[str, Any], tuning: Tuning) -> Member:
    traits = TypeAdapter(Traits).validate_python(stored["traits"])
    proposer, decoder = stored["proposer"], stored["decoder"]
    return Member(
        name,
        traits,
        None if proposer is None else find_proposer(proposer["kind"]).from_dict(proposer),
        find_decoder(decoder["kind"]).from_dict(decoder),
        tuning,
    )
