"""Judges against people: prediction-powered strengths, kappa, whole cards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from beds import Floats
from harness.row import Row
from harness.setting import Setting, package
from harness.work import Call, Command
from steelyard.stats.agreement import kappa
from steelyard.stats.prediction_powered.strengths import powered_strengths


def rows(setting: Setting) -> Iterator[Row]:
    """All rows of judges."""
    n, labels = (120, 60) if setting.small else (999, 200)
    left, right, human, judge = _battles(n, labels)
    ppi = package("ppi_py")
    yield Row(
        key="powered-bt",
        work=f"Prediction-powered Bradley-Terry, {n:,} battles of 5 systems, {labels} labels",
        ours=Call(partial(powered_strengths, left, right, human, judge, 5)),
        peer="ppi-python, logistic",
        theirs=None if ppi is None else Call(partial(_logistic, ppi, left, right, human, judge)),
        skip="" if ppi else "ppi-python is not installed",
        least=100,
        check=_same_strengths,
    )
    inter_rater = package("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(0)
    one = rng.integers(0, 5, 6400)
    other = np.where(rng.random(6400) < 0.6, one, rng.integers(0, 5, 6400))
    yield Row(
        key="kappa",
        work="Cohen's kappa with its error, 6,400 rows, five categories",
        ours=Call(partial(kappa, one, other, 5)),
        peer="statsmodels",
        theirs=None if inter_rater is None else Call(partial(_kappa, inter_rater, one, other)),
        skip="" if inter_rater else "statsmodels is not installed",
        check=_same_kappa,
    )
    path = _verdict_file(setting, *((60, 20) if setting.small else (2000, 50)))
    yield Row(
        key="judge-card",
        work="`judge`, 2,000 verdicts, 50 labels",
        ours=Command(("judge", str(path), "--human", "human")),
        most=2,
    )
    arena = "judges/arena-judges/battles.csv.gz"
    lacks = setting.lacks(arena)
    yield Row(
        key="judge-arena",
        work="`judge`, 26,919 battles, three judges",
        ours=None if lacks else Command(("judge", f"{setting.data}/{arena}", "--human", "human")),
        most=10,
        skip=lacks,
        rounds=2,
    )


def _battles(n: int, labels: int) -> tuple[Any, Any, Floats, Floats]:
    """Battles without ties, which logistic regression does not know."""
    rng = np.random.default_rng(1)
    left = rng.integers(0, 5, n)
    right = (left + rng.integers(1, 5, n)) % 5
    people = (rng.random(n) < 0.5 + 0.08 * (right - left)).astype(np.float64)
    judge = np.where(rng.random(n) < 0.75, people, 1 - people)
    return left, right, np.where(np.arange(n) < labels, people, np.nan), judge


def _logistic(ppi: Any, left: Any, right: Any, human: Floats, judge: Floats) -> Any:
    """The same strengths as coefficients of a design of +1 and -1; the last system is 0."""
    design = np.zeros((len(left), 5))
    design[np.arange(len(left)), left] = 1
    design[np.arange(len(left)), right] = -1
    labelled = ~np.isnan(human)
    x, rest = design[labelled][:, :4], design[~labelled][:, :4]
    return ppi.ppi_logistic_ci(x, human[labelled], judge[labelled], rest, judge[~labelled])


def _same_strengths(ours: Any, theirs: Any) -> str | None:
    if theirs is None:
        return None
    own = ours.log_strength[:4] - ours.log_strength[4]
    # Their weight of the judge is tuned for the sum of coefficients, ours for all strengths.
    far = float(np.abs(own - np.mean(theirs, axis=0)).max())
    if far > 0.05:
        raise ValueError(f"strengths differ by {far}")
    return f"strengths agree to {far:.2g}"


def _kappa(inter_rater: Any, one: Any, other: Any) -> Any:
    table = np.zeros((5, 5))
    np.add.at(table, (one, other), 1)
    return inter_rater.cohens_kappa(table)


def _same_kappa(ours: Any, theirs: Any) -> str | None:
    if theirs is None:
        return None
    far = max(abs(ours.value - theirs.kappa), abs(ours.se - theirs.std_kappa))
    if far > 1e-9:
        raise ValueError(f"kappa or its error differ by {far}")
    return "kappa and its error agree"


def _verdict_file(setting: Setting, n: int, labels: int) -> Path:
    path, made = setting.made(f"verdicts-{n}-{labels}.csv")
    if not made:
        rng = np.random.default_rng(2)
        truth = rng.choice(["pass", "fail"], n)
        said = np.where(rng.random(n) < 0.85, truth, "fail")
        lines = ["system,item,human,judge"]
        lines += [f"S{i % 8},{i // 8},{truth[i] if i < labels else ''},{said[i]}" for i in range(n)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
