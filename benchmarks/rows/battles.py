"""Battles: Bradley-Terry, Elo and TrueSkill against evalica, choix and trueskill; long logs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import steelyard as sy
from beds import Log, log_file, make_log
from harness.row import Row
from harness.setting import Setting, package
from harness.work import Call, Command, Work

SYSTEMS = 100
GAMES = 5000  # that the trueskill package is timed on


def rows(setting: Setting) -> Iterator[Row]:
    """All rows of battles."""
    few, many = (2000, 5000) if setting.small else (1_000_000, 10_000_000)
    log = make_log(few, SYSTEMS)
    evalica, choix = package("evalica"), package("choix")
    lacking = "" if evalica else "evalica is not installed"
    yield Row(
        key="bt-log",
        work=f"BT of {few:,} battles, codes in memory, no intervals",
        ours=Call(partial(ranked, log, "bt")),
        peer="evalica",
        theirs=_theirs(evalica, "bradley_terry", log),
        skip=lacking,
        check=partial(same_ranking, "bt"),
    )
    yield Row(
        key="bt-log-choix",
        work=f"BT of {few:,} battles, codes in memory, no intervals",
        ours=Call(partial(ranked, log, "bt")),
        peer="choix",
        theirs=None if choix is None else Call(partial(_choix, choix, log)),
        skip="" if choix else "choix is not installed",
        watched=False,
    )
    yield from elo((few, many), evalica)
    yield from trueskill(log)
    path = log_file(setting, many, SYSTEMS)
    for key, said, options, most in (
        ("battles-none", "no intervals", ("--intervals", "none"), 4.0),
        ("battles-100", "100 resamples", ("--bootstrap", "100"), 8.0),
    ):
        yield Row(
            key=key,
            work=f"`compare --battles --by bt`, {many:,} battles with prompts, Parquet, {said}",
            ours=Command(("compare", "--battles", str(path), "--by", "bt", *options)),
            peer="evalica, codes in memory",
            theirs=_theirs(evalica, "bradley_terry", make_log(many, SYSTEMS)),
            most=most,
            rounds=1,
        )


def elo(sizes: tuple[int, int], evalica: Any) -> Iterator[Row]:
    """One order as the log has it, and the default: the mean of random orders."""
    lacking = "" if evalica else "evalica is not installed"
    for size in sizes:
        log = make_log(size, SYSTEMS)
        yield Row(
            key=f"elo-{size}",
            work=f"Elo of {size:,} battles, one order, no intervals",
            ours=Call(partial(ranked, log, sy.elo(k=4, orders=0))),
            peer="evalica",
            theirs=_theirs(evalica, "elo", log),
            least=1,
            rounds=2,
            skip=lacking,
            check=partial(same_ranking, "elo"),
        )
    yield Row(
        key="elo-orders",
        work=f"Elo of {sizes[0]:,} battles, default orders, no intervals",
        ours=Call(partial(ranked, make_log(sizes[0], SYSTEMS), "elo")),
        most=1,
        rounds=1,
    )


def trueskill(log: Log) -> Iterator[Row]:
    """One order, and the default."""
    peer, few = package("trueskill"), min(GAMES, len(log.left))
    yield Row(
        key="trueskill",
        work=f"TrueSkill of {len(log.left):,} battles, one order, no intervals",
        ours=Call(partial(ranked, log, sy.trueskill(orders=0))),
        peer="trueskill",
        theirs=None if peer is None else Call(partial(_play, peer, log, few)),
        times=len(log.left) / few,
        least=1000,
        rounds=2,
        skip="" if peer else "trueskill is not installed",
    )
    yield Row(
        key="trueskill-orders",
        work=f"TrueSkill of {len(log.left):,} battles, default orders, no intervals",
        ours=Call(partial(ranked, log, "trueskill")),
        most=5,
        rounds=2,
    )


def ranked(log: Log, by: Any, **options: Any) -> Any:
    """What a user calls."""
    return sy.compare_battles(log.public(), by=by, intervals=None, **options)


def _theirs(evalica: Any, name: str, log: Log) -> Work | None:
    if evalica is None:
        return None
    import pandas as pd

    winners, index = log.winners, pd.Index(range(log.systems))
    return Call(partial(getattr(evalica, name), log.left, log.right, winners, index=index))


def _choix(choix: Any, log: Log) -> Any:
    keep = log.outcome != 0.5
    first = log.outcome[keep] == 1
    left, right = log.left[keep], log.right[keep]
    won, lost = np.where(first, left, right).tolist(), np.where(first, right, left).tolist()
    return choix.ilsr_pairwise(log.systems, list(zip(won, lost, strict=True)))


def _play(trueskill: Any, log: Log, games: int) -> list[Any]:
    rated = [trueskill.Rating() for _ in range(log.systems)]
    parts = (log.left[:games].tolist(), log.right[:games].tolist(), log.outcome[:games].tolist())
    for i, j, score in zip(*parts, strict=True):
        if score:
            rated[i], rated[j] = trueskill.rate_1vs1(rated[i], rated[j], drawn=score == 0.5)
        else:
            rated[j], rated[i] = trueskill.rate_1vs1(rated[j], rated[i])
    return rated


def same_ranking(by: str, ours: Any, theirs: Any) -> str | None:
    """Compare scores up to where they begin: Elo to a part of a point, strengths as shares."""
    if theirs is None:
        return None
    found = np.asarray(ours.aggregations[by].scores, dtype=np.float64)
    expected = theirs.scores.sort_index().to_numpy()
    if by == "bt":
        found, expected = found / found.sum(), expected / expected.sum()
    else:
        found, expected = found - found.mean(), expected - expected.mean()
    off = float(np.abs(found - expected).max())
    if off > (1e-3 if by == "bt" else 1e-6):
        raise ValueError(f"scores differ by {off:g}")
    return f"scores differ by {off:.0e}"
