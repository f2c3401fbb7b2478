"""Relative ranking: systems scored by whose outputs judges put before whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.errors import DegenerateError, UsageError, hint
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Floats, Rankings
from steelyard.human import ordering
from steelyard.human.duels import Duels, duels
from steelyard.human.judges import judge_agreement, judge_table
from steelyard.human.results import HumanScores, SystemScore
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts
from steelyard.stats.ranks import FITTED, ranks, whole
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.battlelog import UnitCounts, battle_counts
from steelyard.stats.strength.bradleyterry import bradley_terry, bradley_terry_batch
from steelyard.stats.strength.trueskill import TrueSkillOptions, trueskill_orders
from steelyard.stats.strength.wins import WinCounts, expected_wins

MODELS = ("trueskill", "bt", "expected-wins")
RUNS = 20  # runs that TrueSkill's means are averaged over, at least
_MATCHES = 2_000_000  # matches of all these runs together; small logs have more of them
_BATCH = 100  # resamples counted at a time
_MOST_RUNS = 100  # resamples of TrueSkill, which plays match after match


def wmt_options(n_battles: int) -> TrueSkillOptions:
    """TrueSkill as WMT ran it from 2014: nothing drifts, a quarter of the battles ties.

    The noise of a single battle grows with their number, so that late ones weigh like early ones.
    """
    sigma = 0.5
    return TrueSkillOptions(0.0, sigma, sigma * max(n_battles, 1) / 40, 0.0, 0.25)


def matches(found: Duels, n: int, rng: np.random.Generator, *, resample: bool) -> Counts:
    """Draw runs of TrueSkill: runs x battles, each a place in the log.

    A match is a pair of systems, all equally often, and one of their battles at random: with the
    noise of WMT's constants, a system that plays less would stay near the mean. ``resample`` draws
    the rankings of each run with replacement first.
    """
    pair = found.left.astype(np.int64) * len(found.systems) + found.right
    _, row = np.unique(found.row, return_inverse=True)
    by_pair = np.argsort(pair, kind="stable")
    runs = np.empty((n, len(found)), dtype=np.int64)
    for run in runs:
        pool = by_pair
        if resample:
            count = segment_counts(1, int(row.max()) + 1, rng)[0].astype(np.int64)
            pool = np.repeat(by_pair, count[row[by_pair]])
        _, starts, sizes = np.unique(pair[pool], return_index=True, return_counts=True)
        which = rng.integers(0, len(starts), size=len(run))
        run[:] = pool[starts[which] + (rng.random(len(run)) * sizes[which]).astype(np.int64)]
    return runs


@dataclass(frozen=True, slots=True)
class Fitted:
    """Scores of systems by every model, and by one of them in resamples of the rankings."""

    scores: dict[str, Floats]
    draws: Floats | None
    n_runs: int


def fit(found: Duels, by: str, n_resamples: int, rng: np.random.Generator) -> Fitted:
    """Score systems by TrueSkill (mean over runs), Bradley-Terry and Expected Wins.

    Bradley-Terry is in log-strengths (ties are half a win), Expected Wins a share (ties left out).
    """
    battles = found.battles()
    counts = battle_counts(battles)
    plain, again = rng.spawn(2)
    n_runs = max(RUNS, min(1000, _MATCHES // len(found)))
    runs = matches(found, n_runs, plain, resample=False)
    if by == "trueskill" and n_resamples:
        more = matches(found, min(n_resamples, _MOST_RUNS), again, resample=True)
        runs = np.concatenate([runs, more])
    mu = trueskill_orders(battles, runs, wmt_options(len(battles))).mu
    scores = {
        "trueskill": mu[:n_runs].mean(axis=0),
        "bt": bradley_terry(counts.wins, counts.ties).log_strength,
        "expected-wins": expected_wins(counts),
    }
    if not n_resamples:
        return Fitted(scores, None, n_runs)
    draws = mu[n_runs:] if by == "trueskill" else _resampled(found, by, n_resamples, again)
    return Fitted(scores, draws, n_runs)


def _resampled(found: Duels, model: str, n: int, rng: np.random.Generator) -> Floats:
    """Score systems by counts of wins in resamples of the rankings: resamples x systems."""
    _, row = np.unique(found.row, return_inverse=True)
    units = UnitCounts.of(found.battles(), row)
    parts = []
    for done in range(0, n, _BATCH):
        drawn = segment_counts(min(_BATCH, n - done), units.n_units, rng)
        counts = units.resampled(drawn)
        parts.append(_log_strengths(counts) if model == "bt" else expected_wins(counts))
    return np.concatenate(parts)


def _log_strengths(counts: WinCounts) -> Floats:
    """Log-strengths in resamples; their limit where one falls apart: minus infinity at the end."""
    fits = bradley_terry_batch(counts)
    with np.errstate(divide="ignore"):
        return np.where(fits.connected[:, None], fits.log_strength, np.log(fits.strength))


def accuracy(scores: Mapping[str, Floats], systems: Sequence[str], held: Duels) -> Table:
    """How many held-back duels each model predicts: the system with the higher score wins."""
    place = {name: i for i, name in enumerate(systems)}
    to = np.array([place.get(name, -1) for name in held.systems], dtype=np.int64)
    left, right = to[held.left], to[held.right]
    known = (left >= 0) & (right >= 0)
    decided = known & (held.outcome != 0.5)
    n = int(decided.sum())
    rows: list[tuple[Cell, ...]] = []
    for name, score in scores.items():
        lead = score[left[decided]] - score[right[decided]]
        right_calls = int((np.sign(lead) == np.sign(held.outcome[decided] - 0.5)).sum())
        rows.append((name, right_calls / n if n else float("nan"), right_calls, n))
    tied = int((known & (held.outcome == 0.5)).sum())
    columns = (Column("model"), Column("accuracy", "higher", digits=4), Column("right"),
               Column("pairs"))  # fmt: skip
    notes = [f"{plural(tied, 'tied pair')} left out"]
    unknown = int((~known).sum())
    notes += [f"{plural(unknown, 'pair')} of unknown systems left out"] if unknown else []
    return Table("Held-back pairs", columns, tuple(rows), tuple(notes))


def human_rankings(
    rankings: Rankings,
    es: EvalSet | None,
    *,
    by: str = "trueskill",
    rule: ordering.Rule | None = None,
    held_back: Rankings | None = None,
    n_resamples: int = 1000,
    rng: np.random.Generator,
) -> HumanScores:
    """Run the protocol: duels, three models, places by resampling, agreement of judges."""
    if by not in MODELS:
        raise UsageError(f"unknown model '{by}'; {hint(by, MODELS)}")
    chosen = replace(rule or ordering.Rule(), test="bootstrap")
    found = duels(rankings, es)
    if not len(found):
        raise DegenerateError("no ranking puts two outputs in order")
    one, other = rng.spawn(2)
    fitted = fit(found, by, n_resamples if chosen.clusters != "none" else 0, one)
    scores, draws = fitted.scores, fitted.draws
    warnings = []
    if found.n_identical:
        warnings.append(f"{plural(found.n_identical, 'pair')} of identical outputs are no battle")
    missing = [s for s, x in zip(found.systems, scores["bt"], strict=True) if np.isnan(x)]
    if missing:
        warnings.append(
            "no Bradley-Terry strength (they won or lost everything, or never met the others): "
            + ", ".join(missing)
        )
    systems, p = _places(found, scores, by, draws, chosen)
    tables = {"models": _model_table(found, fitted, [s.system for s in systems])}
    if held_back is not None:
        tables["held_back"] = accuracy(scores, found.systems, duels(held_back, es))
    tables["raters"] = judge_table(found, rankings)
    return HumanScores(
        "rr",
        systems,
        by,
        None,
        tables,
        chosen if p is not None else None,
        p,
        judge_agreement(found, n_resamples, other),
        found.log(),
        warnings=tuple(warnings),
        more={"n_resamples": 0 if draws is None else len(draws)},
    )


def _places(
    found: Duels,
    scores: Mapping[str, Floats],
    by: str,
    draws: Floats | None,
    rule: ordering.Rule,
) -> tuple[tuple[SystemScore, ...], Floats | None]:
    """Order systems; ranges of places hold 95 % of the resamples, clusters do not overlap."""
    score = scores[by]
    placed = _ranks(score, by)
    order = np.argsort(placed, kind="stable")
    rank = whole(placed[order])
    spans: list[tuple[int, int]] | None = None
    cut: list[tuple[int, int]] | None = None
    p = None
    if draws is not None:
        places = _ranks(draws[:, order], by)
        known = (~np.isnan(places)).astype(np.float64)
        ahead = (places[:, :, None] < places[:, None, :]).sum(axis=0)
        met = known.T @ known  # resamples that place both
        p = (1 + met - ahead) / (1 + met)
        np.fill_diagonal(p, np.nan)
        p = np.asarray(ordering.adjusted(p, rule))
        spans = [_span(own[~np.isnan(own)], rule.alpha / 2, len(order)) for own in places.T]
        cut = _apart(spans) if rule.clusters == "wmt" else ordering.cut(p, rule)
    sides = np.concatenate([found.left, found.right])
    n_duels = np.bincount(sides, minlength=len(found.systems))
    seen = np.unique(
        sides.astype(np.int64) * len(found.segments) + np.tile(found.segment, 2)
    ) // len(found.segments)
    n_segments = np.bincount(seen, minlength=len(found.systems))
    wins = expected_wins(battle_counts(found.battles()))
    result = [
        SystemScore(
            found.systems[i],
            float(score[i]),
            float(wins[i]),
            rank[k],
            rank_from=cut[k][0] if cut else None,
            rank_to=cut[k][1] if cut else None,
            range_from=spans[k][0] if spans else None,
            range_to=spans[k][1] if spans else None,
            n_segments=int(n_segments[i]),
            n_ratings=int(n_duels[i]),
        )
        for k, i in enumerate(order.tolist())
    ]
    return tuple(result), p


def _ranks(scores: Floats, by: str) -> Floats:
    return ranks(np.exp(scores), close=FITTED) if by == "bt" else ranks(scores)


def _span(places: Floats, tail: float, n: int) -> tuple[int, int]:
    """Give the places that a system takes but for the tails; any of n, if no resample has one."""
    if not places.size:
        return 1, n
    low = np.quantile(places, tail, method="lower")
    return int(low), int(np.quantile(places, 1 - tail, method="higher"))


def _apart(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut where no range of places above reaches one below."""
    worst = np.maximum.accumulate([last for _, last in spans])
    best = np.minimum.accumulate([first for first, _ in spans][::-1])[::-1]
    opens = np.append(True, worst[:-1] < best[1:])
    return clusters.spans(np.cumsum(opens))


def _model_table(found: Duels, fitted: Fitted, order: Sequence[str]) -> Table:
    scores = fitted.scores
    place = {name: i for i, name in enumerate(found.systems)}
    columns = (Column("system"), *(Column(name, "higher", digits=4) for name in scores))
    rows: list[tuple[Cell, ...]] = [
        (name, *(float(score[place[name]]) for score in scores.values())) for name in order
    ]
    notes = (
        f"{len(found):,} battles; trueskill: mean over {fitted.n_runs:,} runs",
        "bt: log-strengths, a tie is half a win; expected-wins: ties left out",
    )
    return Table("Models", columns, tuple(rows), notes)
