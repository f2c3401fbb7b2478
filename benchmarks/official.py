"""Compare our scores with those that WMT published: BLEU and chrF of every system, EED, CharacTER.

    python benchmarks/official.py            # shared data in STEELYARD_SHARED or ../shared

BLEU and chrF: the texts and official scores of WMT22 and WMT23, one reference and all of them.
EED and CharacTER: the eight ru-en systems of WMT19 whose texts are public, against the columns of
the metrics task. One row for each pair, metric and choice of references: how many systems, the
largest difference, and the seconds that scoring took.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import time
from itertools import permutations
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.scoring import edit
from steelyard.scoring.surface import surface_table

DATA = Path(os.environ.get("STEELYARD_SHARED", Path(__file__).parents[2] / "shared")) / "data"
PAIRS = (("22", "cs-en"), ("22", "de-en"), ("22", "en-de"), ("22", "ru-en"), ("22", "zh-en"),
         ("23", "de-en"), ("23", "ru-en"))  # fmt: skip


def official(folder: Path) -> dict[tuple[str, str, str], float]:
    with (folder / "automatic-scores.csv").open(encoding="utf-8", newline="") as lines:
        return {
            (row["pair"], row["metric"].replace("-ref", "-"), row["system"]): float(row["score"])
            for row in csv.DictReader(lines)
        }


def surface() -> None:
    print("year pair  metric references systems largest difference seconds")
    for year, pair in PAIRS:
        folder = DATA / f"wmt{year}-text"
        known = official(folder)
        es = sy.load(folder / f"{pair}.text.jsonl.gz", lp=pair)
        for metric in ("bleu", "chrf"):
            choices = [(name[3:], [name]) for name in es.references]
            if len(es.references) > 1:
                orders = permutations(es.references) if metric == "chrf" else [es.references]
                choices += [("all", list(order)) for order in orders]
            for label, references in choices:
                expected = np.array([known.get((pair, f"{metric}-{label}", s), np.nan)
                                     for s in es.systems])  # fmt: skip
                if np.isnan(expected).all():
                    continue
                start = time.process_time()
                gap = np.abs(surface_table(es, metric, references).system_means() - expected)
                took = time.process_time() - start
                scored = int((~np.isnan(gap)).sum())
                shown = "+".join(references)
                print(f"{year}   {pair} {metric:6} {shown:10} {scored:7} {np.nanmax(gap):18.2g} "
                      f"{took:7.1f}", flush=True)  # fmt: skip


def edits() -> None:
    folder = DATA / "wmt19-metrics"
    texts: dict[str, dict[int, str]] = {}
    with gzip.open(folder / "kobe-entities.ru-en.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts.setdefault(row["system"], {})[row["line"]] = row["sentence"]
    reference = texts.pop("ref")
    with gzip.open(folder / "sys-scores.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = {row["system"]: row for row in csv.DictReader(lines) if row["lp"] == "ru-en"}
    pairs = [(out[k], reference[k]) for out in texts.values() for k in sorted(reference)]
    print("\nmetric    Pearson    largest difference  seconds")
    for name, measure in (("EED", edit.eed), ("CharacTER", edit.character)):
        start = time.process_time()
        found = measure(pairs).reshape(len(texts), -1).mean(axis=1)
        took = time.process_time() - start
        expected = np.array([-float(rows[system][name]) for system in texts])
        r = np.corrcoef(found, expected)[0, 1]
        print(f"{name:9} {r:.6f} {np.abs(found - expected).max():21.4f} {took:8.1f}", flush=True)


if __name__ == "__main__":
    edits()
    if "--quick" not in sys.argv:
        surface()
