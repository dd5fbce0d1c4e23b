"""What matters in a general model: short trainings that differ in one choice, scored on the dev data of unseen corpora.

    python benchmarks/open_choices.py --out benchmarks/results/open-choices.jsonl
    python benchmarks/open_choices.py --out benchmarks/results/open-choices.jsonl --variant "no descriptions"

Each variant is trained for `--steps` steps without the corpora of `spanwise benchmark zero-shot`, and scored on at most
`--sample` documents of each with label names and with descriptions. Test data is not read. Variants that are in the
file already are not run again; a stopped training goes on where it stopped. `--ranks FOLDER` instead scores a trained
model that is stored in low ranks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from spanwise import Extractor, runtime
from spanwise.benchmark.zero_shot import Asking, ZeroShot, means, score_zero_shot
from spanwise.nn import label_scorer
from spanwise.recipe import Recipe
from spanwise.training.run import train

FROZEN = "label side not trained"
VARIANTS: dict[str, list[str]] = {
    "as in the recipe": [],
    "by name only": ["train.labels.names=1", "train.labels.descriptions=0"],
    "by description only": ["train.labels.names=0", "train.labels.descriptions=1"],
    FROZEN: [],
    "10 labels per batch": ["train.labels.per_batch=10"],
    "100 negative spans per sentence": ["model.negatives=100"],
    "DSpERT's span vectors, 2 blocks": [
        "model={name: dspert, scorer: descriptions, depth: 2, max_width: 12, negatives: 100, dropout: 0.1}"
    ],
    "biaffine span vectors": ["model={name: biaffine, scorer: descriptions, max_width: 12, dropout: 0.1}"],
    "corpora by size": ["data.temperature=1"],
    "corpora equally often": ["data.temperature=0"],
    "12 corpora": [],
    "encoder with dropout 0.1": ["encoder.dropout=0.1"],
    "LoRA, rank 16": ["encoder.adapter=lora", "encoder.lora_rank=16", "encoder.freeze_embeddings=false"],
}
FEW = 12  # corpora of the variant with few; evenly spread over the recipe's list
RANKS = (8, 16, 32, 64)


@contextmanager
def labels_not_trained(active: bool) -> Iterator[None]:
    """The encoder gets no gradient from label texts."""
    encode = label_scorer.encode_texts

    def detached(*arguments: Any) -> Any:
        with torch.no_grad():
            return encode(*arguments)

    label_scorer.encode_texts = detached if active else encode
    try:
        yield
    finally:
        label_scorer.encode_texts = encode


def recipe_of(name: str, suite: ZeroShot, options: argparse.Namespace) -> Recipe:
    assignments = [f"train.epoch_batches={options.steps}", "train.epochs=1", "train.final_lr=0", *VARIANTS[name]]
    recipe = next(suite.models(options.work, assignments)).recipe
    if name != "12 corpora":
        return recipe
    parts = recipe.data.corpora
    few = tuple(parts[index * len(parts) // FEW] for index in range(FEW))
    return recipe.model_copy(update={"data": recipe.data.model_copy(update={"corpora": few})})


def scores(folder: Path, suite: ZeroShot, sample: int) -> dict[str, Any]:
    """F1 of each corpus by name, and the means of both wordings."""
    found = list(score_zero_shot(Extractor.from_pretrained(folder), suite, asking=Asking("dev", sample)))
    by_name = {score.corpus: score.f1 for score in found if score.wording == "names"}
    return {"means": {k: v for k, v in means(found).items() if k in ("names", "descriptions")}, "names": by_name}


def run(name: str, suite: ZeroShot, options: argparse.Namespace) -> dict[str, Any]:
    recipe = recipe_of(name, suite, options)
    folder = options.work / name.replace(" ", "-").replace(",", "")
    began = time.perf_counter()
    with labels_not_trained(name == FROZEN):
        summary = train(recipe, folder)
    record = {"variant": name, "steps": options.steps, "seed": recipe.train.seed, "seconds": summary.seconds}
    return {**record, "wall": time.perf_counter() - began, **scores(folder, suite, options.sample)}


def ranks(folder: Path, suite: ZeroShot, sample: int) -> None:
    print("| rank | weights, MB | names | descriptions |\n|---|---:|---:|---:|")
    for rank in (None, *RANKS):
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary) / "model"
            Extractor.from_pretrained(folder).save_pretrained(place, rank=rank)
            megabytes = (place / "model.safetensors").stat().st_size / 1e6
            found = scores(place, suite, sample)["means"]
        cells = (str(rank or "full"), f"{megabytes:.1f}", *(f"{100 * found[k]:.1f}" for k in ("names", "descriptions")))
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/open-choices.jsonl"))
    parser.add_argument("--work", type=Path, default=Path("runs/open-choices"), help="folder of the trained models")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="only this one; may be repeated")
    parser.add_argument("--steps", type=int, default=600, help="steps of each training (default: 600)")
    parser.add_argument("--sample", type=int, default=100, help="documents of each corpus (default: 100)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ranks", type=Path, help="a trained model folder: score it stored in low ranks")
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    suite = ZeroShot.load()
    if options.ranks:
        ranks(options.ranks, suite, options.sample)
        return
    lines = options.out.read_text("utf-8").splitlines() if options.out.exists() else []
    found = {record["variant"]: record for record in map(json.loads, lines) if record["steps"] == options.steps}
    for name in options.variant or VARIANTS:
        if name not in found:
            found[name] = run(name, suite, options)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            with options.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(found[name]) + "\n")
    print("| choice | names | descriptions | seconds |\n|---|---:|---:|---:|")
    for name, record in found.items():
        cells = [f"{100 * record['means'][key]:.1f}" for key in ("names", "descriptions")]
        print(f"| {name} | {' | '.join(cells)} | {record['seconds']:,.0f} |")


if __name__ == "__main__":
    main()
