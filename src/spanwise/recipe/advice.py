"""A recipe that fits a user's data: which model suits it and why, by the rules in recipes/advice/rules.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from spanwise.plural import counted
from spanwise.recipe.parsing import RECIPES
from spanwise.text.profile import DataProfile

RULES, COMMENTS = (RECIPES / "advice" / name for name in ("rules.yaml", "comments.yaml"))
STEPS = 1500  # optimizer steps that a small encoder needs, about
COVERAGE, WIDE_COVERAGE = 0.99, 0.999  # shares of the entities that the model's width covers
CHEAP_WIDTH = 16  # words up to which a model covers the larger share
ENCODER_OPTIONS = {"freeze_embeddings": True, "window": "text"}
FAST_LAYERS = [0, 2, 5]  # of the six layers of the default encoder
DEV_SHARE = 0.1  # of the documents, where there is no dev file
Options = dict[str, Any]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Conditions(_Frozen):
    """What a rule asks of the data; None: it does not matter."""

    relations: bool | None = None
    nested: bool | None = None
    shared: bool | None = None
    min_width: int = 0
    max_width: int | None = None
    max_sentences: int | None = None
    script: str | None = None

    def hold(self, facts: Mapping[str, Any]) -> bool:
        wanted = {"relations": self.relations, "nested": self.nested, "shared": self.shared}
        fits = all(value is None or value == bool(facts[name]) for name, value in wanted.items())
        fits = fits and (self.script is None or self.script == facts["script"])
        small = self.max_sentences is None or facts["sentences"] <= self.max_sentences
        narrow = self.max_width is None or facts["usual_width"] <= self.max_width
        return fits and small and narrow and bool(facts["usual_width"] >= self.min_width)


class Rule(_Frozen):
    """A recommendation, with placeholders for facts about the data."""

    when: Conditions = Conditions()
    model: Options
    bundle: Options | None = None
    encoder: Options = {}
    train: Options = {}
    why: str


class Advice(_Frozen):
    """The content of the rules file: rules in order of precedence."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The sections `model` and `bundle` for a user's data, and the reason."""

    model: Options
    bundle: Options | None
    why: str
    encoder: Options = field(default_factory=dict)
    train: Options = field(default_factory=dict)


@cache
def advice() -> Advice:
    """The rules that ship with the package."""
    return Advice.model_validate(yaml.safe_load(RULES.read_text(encoding="utf-8")))


@cache
def comments(section: str) -> dict[str, str]:
    """The description of each option of a section, or of a model by its name; see recipe.reference."""
    found: dict[str, dict[str, str]] = yaml.safe_load(COMMENTS.read_text(encoding="utf-8"))
    return found.get(section, {})


def choose(profile: DataProfile, *, new: bool = False) -> Choice:
    """The model of the first rule that fits the data; with `new`, none that starts from trained weights."""
    facts = _facts(profile)
    rules = (rule for rule in advice().rules if not (new and "start" in rule.train))
    rule = next(rule for rule in rules if rule.when.hold(facts))
    bundle = None if rule.bundle is None else _filled(rule.bundle, facts)
    return Choice(_filled(rule.model, facts), bundle, rule.why.format_map(facts), rule.encoder, rule.train)


def _facts(profile: DataProfile) -> dict[str, Any]:
    """What conditions are checked against and placeholders are filled with."""
    width = profile.covering_width(WIDE_COVERAGE)
    coverage = WIDE_COVERAGE if width <= CHEAP_WIDTH else COVERAGE
    return {
        "documents": profile.documents,
        "sentences": profile.sentences,
        "script": profile.script,
        "shares_spans": profile.shared_entities > 0,
        "entities": profile.entities,
        "relations": profile.relations,
        "labels": profile.labels,
        "shared": profile.shared_entities,
        "nested": profile.nested,
        "usual_width": profile.covering_width(COVERAGE),
        "width": profile.covering_width(coverage),
        "coverage": f"{100 * coverage:g} %",
    }


def _filled(options: Options, facts: Mapping[str, Any]) -> Options:
    """The options with placeholders such as "{width}" replaced by the value itself, a number or a truth value."""
    values = {f"{{{name}}}": value for name, value in facts.items()}
    return {key: values.get(option, option) if isinstance(option, str) else option for key, option in options.items()}


@dataclass(frozen=True, slots=True)
class Timing:
    """What a timed probe said: the precision to train in, and how long that takes, in words."""

    precision: str = "fp32"
    estimate: str = ""


def recommend(
    profile: DataProfile,
    files: Mapping[str, Sequence[Path]],
    recipe: Path,
    format: str | None = None,
    timing: Timing | None = None,
    reading: Options | None = None,
    split_off_dev: bool = True,
    fast: bool = False,
    new: bool = False,
) -> str:
    """The text of a commented recipe for files with this profile, to be written to `recipe`.

    Without dev files and with `split_off_dev`, training splits a share of the documents off as dev. With `fast`, the
    encoder keeps half of its layers. With `new` or `fast`, training does not start from the general model.
    """
    choice, timing = choose(profile, new=new or fast), timing or Timing()
    splits_dev = split_off_dev and not files.get("dev")
    lines = [
        f"# spanwise train {recipe.name} --out runs/mine",
        f"# {counted(profile.documents, 'document')}, {counted(profile.words, 'word')}, "
        f"{counted(profile.entities, 'entity', 'entities')}, {counted(profile.labels, 'type')}, "
        f"{profile.script} script.",
        f"# Why this model: {choice.why}.",
        *([f"# Training takes {timing.estimate}."] if timing.estimate else []),
        "encoder:",
        _encoder(profile.script),
        *_pairs(
            {**({"layers": FAST_LAYERS} if fast else {}), **ENCODER_OPTIONS, **choice.encoder}, comments("encoder")
        ),
        "model:",
        *_pairs(choice.model, comments(choice.model["name"])),
    ]
    if choice.bundle:
        lines.append("bundle:                     # a second model, trained on the same encoder (BL-NER, eq. 19)")
        lines += _pairs(choice.bundle, comments("bundle") | comments(choice.bundle["name"]))
    lines += ["data:", *_data(files, recipe.parent, format, reading or {})]
    if splits_dev:
        lines += _pairs({"dev_share": DEV_SHARE}, comments("data"))
    training = _training(profile.sentences, has_dev=splits_dev or bool(files.get("dev")))
    training |= {**choice.train, "precision": timing.precision}
    lines += ["train:", *_pairs(training, comments("train"))]
    return "\n".join(lines) + "\n"


def _training(sentences: int, *, has_dev: bool) -> Options:
    """Enough epochs for about STEPS steps; small data is trained until dev F1 stops rising."""
    batch_size = 8 if sentences < 2000 else 16
    epochs = max(3, min(100 if has_dev else 30, round(STEPS * batch_size / max(1, sentences))))
    patience = {"patience": max(5, epochs // 5)} if has_dev else {}
    return {
        "epochs": epochs,
        "batch_size": batch_size,
        "encoder_lr": 0.0002,
        "task_lr": 0.001,
        "seed": 1,
        **patience,
    }


def _pairs(values: Options, described: Mapping[str, str]) -> list[str]:
    """Lines of a YAML mapping, each with the description of its option as a comment."""
    rows = []
    for key, value in values.items():
        dumped = yaml.safe_dump(value, default_flow_style=True)
        text = f"  {key}: {dumped.removesuffix('...' + chr(10)).strip()}"
        rows.append(f"{text:<28}# {described[key]}" if key in described else text)
    return rows


def _encoder(script: str) -> str:
    if script in ("latin", "none"):
        comment = "small, English, in a wheel; any folder or hub name works"
    else:
        comment = f"English: for {script} text give the folder or hub name of an encoder that reads it"
    return f"  name: minilm              # {comment}"


def _data(files: Mapping[str, Sequence[Path]], folder: Path, format: str | None, reading: Options) -> list[str]:
    """The lines of the data section; `reading` are further options of how the files are read."""
    rows = [f"  {split}: {_listed(paths, folder)}" for split, paths in files.items() if paths]
    rows += [f"  format: {format}"] if format else []
    return rows + _pairs({name: value for name, value in reading.items() if value}, comments("data"))


def _listed(paths: Sequence[Path], folder: Path) -> str:
    return yaml.safe_dump([_relative(path, folder) for path in paths], default_flow_style=True, width=10**6).strip()


def _relative(path: Path, folder: Path) -> str:
    """Beside or below the recipe a relative path, so that both can move together; else an absolute one."""
    path, folder = path.resolve(), folder.resolve()
    return os.path.relpath(path, folder) if path.is_relative_to(folder.parent) else str(path)
