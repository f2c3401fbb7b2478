"""Systems ranked from scores: Bradley-Terry against the paper's code and its package, commands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import steelyard as sy
from beds import Floats, score_file, score_matrix, scored
from harness.row import Row
from harness.setting import Setting, package
from harness.work import Call, Command


def rows(setting: Setting) -> Iterator[Row]:
    """All rows of comparing systems by scores."""
    systems, segments = (4, 100) if setting.small else (12, 11_432)
    size = f"{systems} x {segments:,}"
    es, scores = scored(systems, segments), score_matrix(systems, segments)
    fit = partial(sy.compare, es, "score", by="bt", intervals=None)
    pairformance = package("pairformance.bt")
    yield Row(
        key="bt-scores",
        work=f"BT from {size} scores, no intervals",
        ours=Call(fit),
        peer="BT-eval's loops",
        theirs=Call(partial(paper_loops, scores)),
        least=100,
        check=same_order,
    )
    yield Row(
        key="bt-scores-package",
        work=f"BT from {size} scores, no intervals",
        ours=Call(fit),
        peer="pairformance",
        theirs=None if pairformance is None else Call(partial(_package, pairformance, scores)),
        skip="" if pairformance else "pairformance is not installed",
        least=100,
        watched=False,
    )
    yield Row(
        key="compare-default",
        work=f"`compare`, default, {size}",
        ours=Command(("compare", str(score_file(setting, systems, segments, "csv")))),
        most=2,
    )
    systems, segments = (20, 20) if setting.small else (1000, 1000)
    path = score_file(setting, systems, segments, "parquet")
    options = ("--by", "bt", "--intervals", "none")
    yield Row(
        key="compare-many",
        work=f"`compare --by bt --intervals none`, {systems:,} x {segments:,}",
        ours=Command(("compare", str(path), *options)),
        most=5,
        rounds=1,
    )


def paper_loops(scores: Floats) -> Floats:
    """Bradley-Terry as the paper's code is described: loops over instances, pairs and systems.

    A pair's instances are gone through one by one, and what the first does not win is the second's;
    then the classic iteration from 0.5, until the squares of the changes sum to less than 1e-9.
    """
    n = len(scores)
    wins = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        first = sum([int(a > b) for a, b in zip(scores[i], scores[j], strict=True)])
        wins[i][j], wins[j][i] = first, len(scores[i]) - first
    won = wins.sum(axis=1)
    strength = [0.5] * n
    while True:
        new = []
        for i in range(n):
            total = 0.0
            for j in range(n):
                if i != j:
                    total += (wins[i][j] + wins[j][i]) / (strength[i] + strength[j])
            new.append(won[i] / total)
        scale = sum(new)
        new = [x / scale for x in new]
        change = sum([(a - b) ** 2 for a, b in zip(new, strength, strict=True)])
        strength = new
        if change < 1e-9:
            return np.array(new)


def _package(pairformance: Any, scores: Floats) -> Floats:
    import pandas as pd

    return np.asarray(pairformance.BT(pd.DataFrame(scores.T)))


def same_order(ours: sy.Comparison, theirs: Floats) -> str | None:
    """Compare the rankings: ties count half here, and for the second system there."""
    if theirs is not None:
        found = [ours.systems.index(name) for name in ours.ranking("bt")]
        expected = np.argsort(-theirs, kind="stable").tolist()
        share = np.mean([a == b for a, b in zip(found, expected, strict=True)])
        if share < 0.5:
            raise ValueError(f"ours ranks {found}, the peer {expected}")
    return None
