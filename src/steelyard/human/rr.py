"""Relative ranking: systems scored by whose outputs judges put before whose.

Rankings are unfolded: every two outputs that one judge put in order are a duel. Three models score
systems by them, places come from resampled rankings, and judges are compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Floats, Rankings
from steelyard.formats.format import TableFormat
from steelyard.formats.rawtable import RawTable
from steelyard.human import ordering
from steelyard.human.options import HumanOptions
from steelyard.human.ordering import Ordering, Rule
from steelyard.human.outputpairs import ordered_alike
from steelyard.human.protocol import Inputs, Protocol, read_inputs
from steelyard.human.results import HumanScores, place_systems
from steelyard.human.unfolding import Duels, duels
from steelyard.stats import agreement, clusters
from steelyard.stats.arrays import Counts, group_sums, ratio
from steelyard.stats.ranks import FITTED, ranks, whole
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.bradleyterry import bradley_terry, bradley_terry_batch
from steelyard.stats.strength.sequential import TrueSkillOptions, battles_in_orders
from steelyard.stats.strength.wins import UnitCounts, WinCounts, battle_counts, expected_wins

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
    played = by not in _COUNTED
    if played and n_resamples:
        more = matches(found, min(n_resamples, _MOST_RUNS), again, resample=True)
        runs = np.concatenate([runs, more])
    mu = battles_in_orders(wmt_options(len(battles)), battles, runs).scores
    scores = {
        "trueskill": mu[:n_runs].mean(axis=0),
        "bt": bradley_terry(counts.wins, counts.ties).log_strength,
        "expected-wins": expected_wins(counts),
    }
    if not n_resamples:
        return Fitted(scores, None, n_runs)
    draws = mu[n_runs:] if played else _resampled(found, _COUNTED[by], n_resamples, again)
    return Fitted(scores, draws, n_runs)


def _resampled(
    found: Duels, model: Callable[[WinCounts], Floats], n: int, rng: np.random.Generator
) -> Floats:
    """Score systems by counts of wins in resamples of the rankings: resamples x systems."""
    _, row = np.unique(found.row, return_inverse=True)
    units = UnitCounts.of(found.battles(), row)
    sizes = [min(_BATCH, n - done) for done in range(0, n, _BATCH)]
    drawn = (segment_counts(size, units.n_units, rng) for size in sizes)
    return np.concatenate([model(units.resampled(counts)) for counts in drawn])


def _log_strengths(counts: WinCounts) -> Floats:
    """Log-strengths in resamples; their limit where one falls apart: minus infinity at the end."""
    fits = bradley_terry_batch(counts)
    with np.errstate(divide="ignore"):
        return np.where(fits.connected[:, None], fits.log_strength, np.log(fits.strength))


#: Models that see counts of wins alone; TrueSkill plays match after match.
_COUNTED: dict[str, Callable[[WinCounts], Floats]] = {
    "bt": _log_strengths,
    "expected-wins": expected_wins,
}
#: Ranks where plain ones do not do: strengths are fitted, and logarithms would stretch their error.
_RANKS: dict[str, Callable[[Floats], Floats]] = {
    "bt": lambda scores: ranks(np.exp(scores), close=FITTED)
}


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
    columns = (
        Column("model"),
        Column("accuracy", "higher", digits=4),
        Column("right"),
        Column("pairs"),
    )
    notes = [f"{plural(tied, 'tied pair')} left out"]
    unknown = int((~known).sum())
    notes += [f"{plural(unknown, 'pair')} of unknown systems left out"] if unknown else []
    return Table("Held-back pairs", columns, tuple(rows), tuple(notes))


class _RelativeRanking(Protocol):
    name = "rr"
    expected = "segmentId, judgeId, system1Id, system1rank, system2Id, ..."

    def takes(self, found: TableFormat, table: RawTable) -> bool:
        del table
        return found.gives in (Rankings, EvalSet)  # texts tell which outputs are identical

    def refuse(self, options: HumanOptions) -> None:
        """Refuse to choose systems, too: a ranking without one of them is another ranking."""
        super().refuse(options)
        if options.systems is not None or options.drop_systems:
            raise UsageError("systems=... and drop_systems=... do not apply to rankings")

    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        del result
        return {"by": options.by}

    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        """Run the protocol: duels, three models, places by resampling, agreement of judges."""
        (inputs,) = read.values()
        rankings, es, by = inputs.judgements, inputs.scores, options.by
        if not isinstance(rankings, Rankings):
            raise self.missing("no rankings")
        held = None if options.held_back is None else self._held_back(options)
        rule = Rule(options.clusters, "bootstrap", options.alpha, options.correction)
        found = duels(rankings, es)
        if not len(found):
            raise DegenerateError("no ranking puts two outputs in order")
        one, other = rng.spawn(2)
        fitted = fit(found, by, options.n_bootstrap if rule.clusters != "none" else 0, one)
        scores, draws = fitted.scores, fitted.draws
        warnings: list[str] = []
        if found.n_identical:
            pairs = plural(found.n_identical, "pair")
            warnings.append(f"{pairs} of identical outputs are no battle")
        missing = [s for s, x in zip(found.systems, scores["bt"], strict=True) if np.isnan(x)]
        if missing:
            why = "they won or lost everything, or never met the others"
            text = f"no Bradley-Terry strength ({why}): {', '.join(missing)}"
            warnings.append(TypedWarning(text, names=missing))
        placed = _placed(scores[by], draws, _RANKS.get(by, ranks), rule)
        columns = {"score": scores[by], "raw": scores["expected-wins"], **_counts(found)}
        systems = place_systems(found.systems, columns, placed)
        tables = {"models": _model_table(found, fitted, [s.system for s in systems])}
        if held is not None:
            tables["held_back"] = accuracy(scores, found.systems, duels(held, es))
        if es is not None and es.outputs:
            tables["identical"] = ordered_alike(found.alike, found.n_identical)
        tables["raters"] = _judge_table(found, rankings)
        share = f"{100 * (1 - rule.alpha):g} %"
        notes = (
            f"rank: places of the cluster (rule {rule.clusters})",
            f"range: places that the system takes in {share} of the resampled rankings",
            "raw: Expected Wins",
        )
        return HumanScores(
            protocol=self.name,
            systems=systems,
            score=by,
            parts=tables,
            rule=rule if placed.p is not None else None,
            p=placed.p,
            agreement=_judge_agreement(found, options.n_bootstrap, other),
            battles=found.log(),
            warnings=tuple(warnings),
            more={"n_resamples": 0 if draws is None else len(draws)},
            counted="battles",
            notes=notes if placed.p is not None else (),
        )

    def _held_back(self, options: HumanOptions) -> Rankings:
        held = read_inputs([options.held_back], self, options).judgements
        if not isinstance(held, Rankings):
            raise UsageError("the held-back file holds no rankings")
        return held


RR = _RelativeRanking()


def _placed(
    score: Floats, draws: Floats | None, ranked: Callable[[Floats], Floats], rule: Rule
) -> Ordering:
    """Order systems; ranges of places hold 95 % of the resamples, clusters do not overlap."""
    places = ranked(score)
    order = np.argsort(places, kind="stable")
    rank = whole(places[order])
    if draws is None:
        return Ordering(order, rank)
    drawn = ranked(draws[:, order])
    known = (~np.isnan(drawn)).astype(np.float64)
    ahead = (drawn[:, :, None] < drawn[:, None, :]).sum(axis=0)
    met = known.T @ known  # resamples that place both
    p = (1 + met - ahead) / (1 + met)
    np.fill_diagonal(p, np.nan)
    p = np.asarray(ordering.adjusted(p, rule))
    spans = [_span(own[~np.isnan(own)], rule.alpha / 2, len(order)) for own in drawn.T]
    cut = _apart(spans) if rule.clusters == "wmt" else ordering.cut(p, rule)
    return Ordering(order=order, rank=rank, p=p, cluster=cut, range=spans)


def _counts(found: Duels) -> dict[str, Counts]:
    """Count segments and duels of each system."""
    size, width = len(found.systems), len(found.segments)
    sides = np.concatenate([found.left, found.right])
    seen = np.unique(sides.astype(np.int64) * width + np.tile(found.segment, 2)) // width
    counted = {"n_segments": seen, "n_ratings": sides}
    return {name: np.bincount(codes, minlength=size) for name, codes in counted.items()}


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


def _orderings(found: Duels) -> agreement.Orderings:
    size = len(found.systems)
    pair = found.left.astype(np.int64) * size + found.right
    return agreement.Orderings(
        rater=found.rater.astype(np.int64),
        unit=found.segment.astype(np.int64) * size * size + pair,
        outcome=np.asarray(found.outcome * 2 - 1),
        block=found.segment.astype(np.int64),
    )


def _judge_agreement(found: Duels, n_resamples: int, rng: np.random.Generator) -> dict[str, Any]:
    """Agreement of orderings: between judges, and of each judge with the own repeats."""
    columns = _orderings(found)
    one, other = rng.spawn(2)
    between = agreement.ranking_agreement(columns, n_resamples=n_resamples, rng=one)
    within = agreement.ranking_agreement(columns, within=True, n_resamples=n_resamples, rng=other)
    return {
        "rankings": {
            "ranking": between.to_dict(),
            "kappa": between.kappa.to_dict(),
            "repeats_ranking": within.to_dict(),
            "repeats_kappa": within.kappa.to_dict(),
        }
    }


def _judge_table(found: Duels, rankings: Rankings) -> Table:
    """Make a row per judge, the one who agrees least with others first."""
    size = len(found.raters)
    columns = _orderings(found)
    sign = columns.outcome.astype(np.int64) + 1
    _, unit = np.unique(columns.unit, return_inverse=True)
    alike, met = _with_others(unit * 3 + sign, found.rater), _with_others(unit, found.rater)
    _, own = np.unique(unit * size + found.rater, return_inverse=True)
    own_alike, own_met = (np.bincount(x)[x] - 1 for x in (own * 3 + sign, own))

    def share(top: NDArray[Any], bottom: NDArray[Any]) -> Floats:
        return ratio(group_sums(found.rater, top, size), group_sums(found.rater, bottom, size))

    agree = share(alike, met)
    cells = {
        "n_rankings": np.bincount(rankings.rater, minlength=size),
        "n_pairs": np.bincount(found.rater, minlength=size),
        "ties": share(found.outcome == 0.5, np.ones(len(found))),
        "n_shared": group_sums(found.rater, met > 0, size).astype(np.int64),
        "agree": agree,
        "agree_self": share(own_alike, own_met),
    }
    rows: list[tuple[Cell, ...]] = [
        (name, *(column[i].item() for column in cells.values()))
        for i, name in enumerate(found.raters)
    ]
    order = sorted(range(size), key=lambda i: (np.nan_to_num(agree[i], nan=2.0), rows[i][0]))
    digits = {"ties": 3, "agree": 3, "agree_self": 3}
    notes = (
        "agree: share of pairs ordered as others did; n_shared: pairs that others ordered too",
        "agree_self: share of pairs ordered as the same judge did another time",
    )
    shown = tuple(Column(name, digits=digits.get(name)) for name in ("rater", *cells))
    return Table("Raters", shown, tuple(rows[i] for i in order), notes)


def _with_others(group: NDArray[Any], rater: NDArray[Any]) -> NDArray[Any]:
    """Count for each row the rows of its group that are not by its own rater."""
    _, whole = np.unique(group, return_inverse=True)
    _, own = np.unique(group * (int(rater.max()) + 1) + rater, return_inverse=True)
    return np.asarray(np.bincount(whole)[whole] - np.bincount(own)[own])
