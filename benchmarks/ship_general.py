"""Make the general model that ships with the package from a trained one.

    spanwise benchmark zero-shot --out runs/zero-shot
    python benchmarks/ship_general.py runs/zero-shot/general --scores runs/zero-shot/scores.jsonl --threshold 0.2

The encoder is stored as a difference of low rank to the default encoder. The card is that of the training, with the
zero-shot scores of the file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from shutil import rmtree

from spanwise import Extractor
from spanwise.benchmark.zero_shot import Asking, ScoreFile, means

TARGET = Path(__file__).resolve().parents[1] / "src/spanwise/data/general"
CARD, CONFIG = "README.md", "config.json"
LIMIT = 8_000_000  # bytes of all files
WORDINGS = ("names", "descriptions", "paraphrases")


def card(trained: str, scores: ScoreFile, model: str, sample: int | None) -> str:
    """The card of the training with a table of zero-shot scores on test."""
    found = scores.find(Asking(sample=sample))
    asked = f", on at most {sample:,} documents of each" if sample else ""
    by_corpus = {score.corpus: {} for score in found}
    for score in found:
        by_corpus[score.corpus][score.wording] = f"{100 * score.f1:.1f}"
    by_corpus["mean"] = {wording: f"{100 * value:.1f}" for wording, value in means(found).items()}
    lines = [
        "## Zero-shot scores",
        f"Strict F1 on test{asked}, of {model}.",
        "",
        f"| corpus | {' | '.join(WORDINGS)} |",
        f"|---|{'---:|' * len(WORDINGS)}",
        *(
            f"| {name} | {' | '.join(row.get(wording, '') for wording in WORDINGS)} |"
            for name, row in by_corpus.items()
        ),
    ]
    return trained.rstrip() + "\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the trained model folder")
    parser.add_argument("--scores", type=Path, required=True, help="the file of zero-shot scores")
    parser.add_argument("--of", default="models that have not seen the corpus", help="what the scores are of")
    parser.add_argument("--sample", type=int, help="the scores with this --sample; default: those of whole splits")
    parser.add_argument("--rank", type=int, default=60, help="of the stored difference (default: 60)")
    parser.add_argument("--threshold", type=float, help="lowest probability where a call names none, chosen on dev")
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args()
    if options.out.exists():
        rmtree(options.out)
    Extractor.from_pretrained(options.model).save_pretrained(options.out, rank=options.rank)
    if options.threshold is not None:
        config = json.loads((options.out / CONFIG).read_text("utf-8"))
        text = json.dumps({**config, "threshold": options.threshold}, indent=2, ensure_ascii=False)
        (options.out / CONFIG).write_text(text + "\n", encoding="utf-8")
    trained = (options.model / CARD).read_text("utf-8")
    (options.out / CARD).write_text(
        card(trained, ScoreFile(options.scores), options.of, options.sample), encoding="utf-8"
    )
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {size:,} bytes")
    if size > LIMIT:
        raise SystemExit(f"more than {LIMIT:,} bytes; give a lower --rank")


if __name__ == "__main__":
    main()
