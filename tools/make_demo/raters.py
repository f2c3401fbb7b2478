"""Invented raters of the demo's systems: direct assessment with control items, and MQM errors.

The systems and segments are those of :mod:`make_demo.simulator`; the errors that its ``mqm``
counts are what the raters see. Raters differ in mean, spread and care, and three of them should
be caught: one gives the same score to everything, one looks at nothing, one is too fast.

The experts of MQM mark what :mod:`make_demo.texts` planted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from make_demo.sentences import CATEGORIES, PUNCTUATION
from make_demo.simulator import Array, SimulatedSet
from make_demo.texts import Output, Planted, Segment
from steelyard.core.table import delimited, dumps
from steelyard.formats import files

SEED = 20240608
RATINGS_FILE = "ratings.csv.gz"
ERRORS_FILE = "errors.jsonl.gz"
N_SEGMENTS = 150  # the first ones that people judged
_RATERS = 12
_FLAT, _CARELESS, _HASTY = 3, 7, 10
AWKWARD = CATEGORIES["w"]
_EXPERTS = ("expert-1", "expert-2", "expert-3")
# How often who is strict changes, how often severities are mixed up, or errors missed.
_MIXED, _BLURRED, _MISSED = 0.5, 0.25, 0.7


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


def error_lists(
    simulated: SimulatedSet, written: Sequence[Segment], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Draw MQM ratings: each document goes to one expert, the first of each domain to all.

    An expert marks what was planted, so that ``mqm`` is what the ratings say. Where three of them
    rate an output they differ now and then, and their mean is the score.
    """
    judged = ~np.isnan(simulated.scores["mqm"]).any(axis=0)
    documents = list(dict.fromkeys(simulated.documents))
    firsts = {domain: name for name, domain in reversed(
        list(zip(simulated.documents, simulated.domains, strict=True)))}  # fmt: skip
    for column in np.flatnonzero(judged).tolist():
        document = simulated.documents[column]
        shared = document in firsts.values()
        for system, output in zip(simulated.systems, written[column].outputs, strict=True):
            if shared:
                marked = dict(zip(_EXPERTS, _opinions(output, rng), strict=True))
            else:
                marked = {_EXPERTS[documents.index(document) % len(_EXPERTS)]: output.errors}
            for expert, errors in marked.items():
                yield {"rater": expert, "system": system,
                       "segment": simulated.segment_ids[column],
                       "errors": [one.to_dict() for one in errors]}  # fmt: skip


def _opinions(
    output: Output, rng: np.random.Generator
) -> tuple[tuple[Planted, ...], tuple[Planted, ...], tuple[Planted, ...]]:
    """Give what three experts mark: one all that is there, the others more, and less.

    What one of them adds to the cost, another takes away.
    """
    right = output.errors
    minor = [e for e in right if e.severity == "minor" and e.category != PUNCTUATION]
    major = [e for e in right if e.severity == "major"]
    draw = rng.random()
    order = rng.permutation(3) if rng.random() < _MIXED else (0, 1, 2)
    strict, lenient = right, right
    if minor and major and draw < _BLURRED:
        one, other = minor[rng.integers(len(minor))], major[rng.integers(len(major))]
        strict = tuple(replace(e, severity="major") if e is one else e for e in right)
        lenient = tuple(replace(e, severity="minor") if e is other else e for e in right)
    elif minor and output.fine and draw < _MISSED:
        start, end = output.fine[rng.integers(len(output.fine))]
        missed = minor[rng.integers(len(minor))]
        strict = (*right, Planted(AWKWARD, "minor", start, end))
        lenient = tuple(e for e in right if e is not missed)
    opinions = (right, strict, lenient)
    return (opinions[order[0]], opinions[order[1]], opinions[order[2]])


def write(path: Path | str, simulated: SimulatedSet, written: Sequence[Segment]) -> list[Path]:
    """Write both files to a folder, always with the same seed; give their paths."""
    one, other = np.random.default_rng(SEED).spawn(2)
    header = ("rater", "unit", "system", "segment", "type", "raw", "seconds")
    table, lists = Path(path) / RATINGS_FILE, Path(path) / ERRORS_FILE
    files.write_text(table, delimited(header, ratings(simulated, one), ","))
    rows = error_lists(simulated, written, other)
    files.write_text(lists, "".join(dumps(row, indent=None) + "\n" for row in rows))
    return [table, lists]
