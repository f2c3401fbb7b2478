"""Invented raters of the demo's systems: direct assessment with control items, and MQM errors.

The systems and segments are those of :mod:`make_demo.simulator`; the errors that its ``mqm``
counts are what the raters see. Raters differ in mean, spread and care, and three of them should
be caught: one gives the same score to everything, one looks at nothing, one is too fast.

Run ``PYTHONPATH=tools python -m make_demo.raters`` to write the shipped files anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from make_demo import simulator
from make_demo.simulator import Array, SimulatedSet
from steelyard.core.table import delimited, dumps
from steelyard.demo import embedded
from steelyard.formats import files

SEED = 20240608
RATINGS_FILE = "ratings.csv.gz"
ERRORS_FILE = "errors.jsonl.gz"
N_SEGMENTS = 150  # the first ones that people judged
_RATERS = 12
_FLAT, _CARELESS, _HASTY = 3, 7, 10
_EXPERTS = ("expert-1", "expert-2", "expert-3")
_SHARED = 15  # segments that all experts judged
_CATEGORIES = ("accuracy/mistranslation", "accuracy/omission", "accuracy/addition",
               "fluency/grammar", "fluency/spelling", "terminology/inappropriate for context",
               "style/unnatural or awkward")  # fmt: skip
_SHARES = (0.34, 0.1, 0.06, 0.2, 0.08, 0.1, 0.12)


def _judged(simulated: SimulatedSet) -> tuple[list[int], Array]:
    """Choose segments, and give the cost of the errors in every output: systems x segments."""
    cost = -simulated.scores["mqm"]
    columns = np.flatnonzero(~np.isnan(cost).any(axis=0))[:N_SEGMENTS]
    return columns.tolist(), cost[:, columns]


def ratings(simulated: SimulatedSet, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Draw rows of direct assessment: rater, unit, system, segment, type, raw, seconds.

    Every output is rated by two people. A batch of twenty also holds two damaged references of
    outputs in it, two repeats, and a reference.
    """
    columns, cost = _judged(simulated)
    offset, spread = rng.normal(0, 9, _RATERS), rng.uniform(0.7, 1.3, _RATERS)
    noise = rng.uniform(5, 10, _RATERS)
    outputs = [(n, s) for n in range(len(cost)) for s in range(len(columns))]
    # Two rounds, so that no batch holds an output twice by chance.
    rounds = [rng.permutation(len(outputs)) for _ in range(2)]
    batches = [own[start : start + 20] for own in rounds for start in range(0, len(own), 20)]

    def slider(rater: int, quality: float) -> int:
        if rater == _FLAT:
            return 100
        if rater in (_CARELESS, _HASTY):
            quality = float(rng.normal(70, 18))
        value = 70 + offset[rater] + spread[rater] * (quality - 70) + rng.normal(0, noise[rater])
        return int(np.clip(round(value), 0, 100))

    for number, batch in enumerate(batches):
        rater = number % _RATERS
        items = [(*outputs[k], "system") for k in batch]
        for place, kind in ((2, "bad_ref"), (9, "bad_ref"), (5, "repeat"), (14, "repeat"),
                            (17, "ref")):  # fmt: skip
            if place < len(batch):
                items.append((*outputs[batch[place]], kind))
        for n, s, kind in items:
            real = 90 - 15 * float(np.log1p(cost[n, s]))
            quality = {"bad_ref": real - 30, "ref": 93.0}.get(kind, real)
            seconds = rng.gamma(4, 0.3 if rater == _HASTY else 5)
            yield (f"rater-{rater + 1:02}", f"batch-{number + 1:03}", simulated.systems[n],
                   simulated.segment_ids[columns[s]], kind, slider(rater, quality),
                   round(float(seconds), 1))  # fmt: skip


def error_lists(simulated: SimulatedSet, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Draw MQM ratings: each segment goes to one expert, the first fifteen to all of them.

    An expert misses some of the errors, and sometimes takes a minor one for major.
    """
    columns, cost = _judged(simulated)
    care, severe = (0.95, 0.85, 0.7), (0.03, 0.1, 0.0)
    for s, column in enumerate(columns):
        experts = range(len(_EXPERTS)) if s < _SHARED else [s % len(_EXPERTS)]
        for n, system in enumerate(simulated.systems):
            marks = _true_errors(float(cost[n, s]), rng)
            for expert in experts:
                seen = [mark for mark in marks if rng.random() < care[expert]]
                errors = []
                for category, severity in seen:
                    harsh = severity == "minor" and rng.random() < severe[expert]
                    punctuation = category == "fluency/punctuation"
                    known = severity if punctuation or not harsh else "major"
                    errors.append({"category": category, "severity": known})
                yield {"rater": _EXPERTS[expert], "system": system,
                       "segment": simulated.segment_ids[column], "errors": errors}  # fmt: skip


def _true_errors(cost: float, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Split a cost into errors: five for a major one, one for a minor, a tenth for a comma."""
    tenths = round(cost * 10)
    if tenths >= 250:
        return [("non-translation!", "major")]
    major, rest = divmod(tenths, 50)
    minor, commas = divmod(rest, 10)
    kinds = rng.choice(len(_CATEGORIES), size=major + minor, p=_SHARES)
    marks = [(_CATEGORIES[k], "major" if i < major else "minor") for i, k in enumerate(kinds)]
    return marks + [("fluency/punctuation", "minor")] * commas


def write(path: Path | str) -> tuple[Path, Path]:
    """Write both files to a folder, always with the same seed; give their paths."""
    simulated = simulator.simulate(np.random.default_rng(simulator.SEED))
    one, other = np.random.default_rng(SEED).spawn(2)
    header = ("rater", "unit", "system", "segment", "type", "raw", "seconds")
    table, lists = Path(path) / RATINGS_FILE, Path(path) / ERRORS_FILE
    files.write_text(table, delimited(header, ratings(simulated, one), ","))
    rows = (dumps(row, indent=None) + "\n" for row in error_lists(simulated, other))
    files.write_text(lists, "".join(rows))
    return table, lists


if __name__ == "__main__":
    for file in write(sys.argv[1] if len(sys.argv) > 1 else embedded.FOLDER):
        sys.stdout.write(f"{file}: {file.stat().st_size} bytes\n")
