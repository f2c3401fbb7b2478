"""Relative ranking: systems scored by whose outputs judges put before whose.

Rankings are unfolded: every two outputs that one judge put in order are a duel. Three models score
systems by them, ranks come from resampled rankings, and judges are compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.warnings import TypedWarning
from steelyard.data.judgements import BattleLog, Codes, Floats, Rankings
from steelyard.data.segments import positions
from steelyard.formats.format import TableFormat
from steelyard.formats.rawtable import RawTable
from steelyard.human.options import HumanOptions
from steelyard.human.ranking import Ordering, Rule
from steelyard.human.results import HumanScores, place_systems
from steelyard.human.run import Inputs, Scorer
from steelyard.stats import agreement, clusters
from steelyard.stats.arrays import Counts, group_sums, pairs_within, ratio
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.ranks import FITTED, ranks, whole
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.bradleyterry import bradley_terry, bradley_terry_batch
from steelyard.stats.strength.sequential import TrueSkillOptions, battles_in_orders
from steelyard.stats.strength.wins import (
    Battles,
    UnitCounts,
    WinCounts,
    battle_counts,
    expected_wins,
)

RUNS = 20  # runs that TrueSkill's means are averaged over, at least
_MATCHES = 2_000_000  # matches of all these runs together; small logs have more of them
_BATCH = 100  # resamples counted at a time
_MOST_RUNS = 100  # resamples of TrueSkill, which plays match after match


@dataclass(frozen=True, slots=True)
class Duels:
    """Pairs of outputs that a judge put in order, that with the lower code on the left.

    The units of the ``log`` are segments; ``row`` codes the ranking that a duel comes from.
    """

    log: BattleLog
    rater: Codes
    row: Counts

    @property
    def pair(self) -> Counts:
        """The code of the two systems of each duel."""
        return self.log.left.astype(np.int64) * len(self.log.systems) + self.log.right

    @property
    def segment(self) -> Counts:
        """The segment of each duel."""
        return np.asarray(self.log.unit, np.int64)


def unfold(rankings: Rankings) -> Duels:
    """Unfold rankings into duels of two outputs each.

    Identical outputs were one output to the judge: a system named ``A+B`` stands for both, where A
    and B occur on their own, too. They do not meet each other there, but all others.
    """
    n_rows, width = rankings.system.shape
    row = np.repeat(np.arange(n_rows), width)
    rank = rankings.rank.ravel()
    code: NDArray[np.integer] = rankings.system.ravel()
    ranked = (code >= 0) & ~np.isnan(rank)
    names, slot, code = _split_joined(rankings.systems, code[ranked])
    row, rank = row[ranked][slot], rank[ranked][slot]
    first, second = pairs_within(row)
    meet = slot[first] != slot[second]
    first, second = first[meet], second[meet]
    again = code[first] == code[second]
    if again.any():
        raise UsageError(f"system '{names[code[first][again][0]]}' stands twice in one ranking")
    swap = code[first] > code[second]
    left, right = np.where(swap, second, first), np.where(swap, first, second)
    log = BattleLog(
        names,
        code[left].astype(np.int32),
        code[right].astype(np.int32),
        0.5 + np.sign(rank[right] - rank[left]) / 2,
        units=rankings.segments,
        unit=rankings.segment[row[left]],
    )
    which = np.unique(row[left], return_inverse=True)[1]
    return Duels(log, rankings.rater[row[left]], which)


def _split_joined(
    names: tuple[str, ...], code: NDArray[np.integer]
) -> tuple[tuple[str, ...], Counts, NDArray[np.int64]]:
    """Let a row of ``A+B`` be a row of A and a row of B; returns names, old rows and codes."""
    parts = [n.split("+") if all(p in names for p in n.split("+")) else [n] for n in names]
    single = tuple(name for name, part in zip(names, parts, strict=True) if len(part) == 1)
    if len(single) == len(names):
        return names, np.arange(len(code)), code.astype(np.int64)
    codes = [positions(part, single) for part in parts]
    slot = np.repeat(np.arange(len(code)), np.array([len(part) for part in parts])[code])
    return single, slot, np.concatenate([codes[c] for c in code])


def wmt_options(n_battles: int) -> TrueSkillOptions:
    """Return TrueSkill as WMT ran it from 2014: nothing drifts, a quarter of the battles ties.

    The noise of a single battle grows with their number, so that late ones weigh like early ones.
    """
    sigma = 0.5
    return TrueSkillOptions(0.0, sigma, sigma * max(n_battles, 1) / 40, 0.0, 0.25)


def matches(duels: Duels, n: int, rng: np.random.Generator, *, resample: bool) -> Counts:
    """Draw runs of TrueSkill: runs x battles, each an index into the log.

    A match is a pair of systems, all equally often, and one of their battles at random: with the
    noise of WMT's constants, a system that plays less would stay near the mean. ``resample`` draws
    the rankings of each run with replacement first.
    """
    pair = duels.pair
    by_pair = np.argsort(pair, kind="stable")
    runs = np.empty((n, len(duels.log)), dtype=np.int64)
    for run in runs:
        pool = by_pair
        if resample:
            count = segment_counts(1, int(duels.row.max()) + 1, rng)[0].astype(np.int64)
            pool = np.repeat(by_pair, count[duels.row[by_pair]])
        _, starts, sizes = np.unique(pair[pool], return_index=True, return_counts=True)
        which = rng.integers(0, len(starts), size=len(run))
        run[:] = pool[starts[which] + (rng.random(len(run)) * sizes[which]).astype(np.int64)]
    return runs


class Fitted(NamedTuple):
    """Scores of systems by every model, and by one of them in resamples of the rankings."""

    scores: dict[str, Floats]
    draws: Floats | None
    n_runs: int


def fit(duels: Duels, by: str, n_resamples: int, rng: np.random.Generator) -> Fitted:
    """Score systems by TrueSkill (mean over runs), Bradley-Terry and Expected Wins.

    Bradley-Terry is in log-strengths (ties are half a win), Expected Wins a share (ties left out).
    """
    log = duels.log
    battles = Battles(log.left, log.right, log.outcome, len(log.systems))
    counts = battle_counts(battles)
    plain, again = rng.spawn(2)
    n_runs = max(RUNS, min(1000, _MATCHES // len(log)))
    runs = matches(duels, n_runs, plain, resample=False)
    played = by not in COUNTED
    if played and n_resamples:
        more = matches(duels, min(n_resamples, _MOST_RUNS), again, resample=True)
        runs = np.concatenate([runs, more])
    mu = battles_in_orders(wmt_options(len(battles)), battles, runs).scores
    scores = {
        "trueskill": mu[:n_runs].mean(axis=0),
        "bt": bradley_terry(counts.wins, counts.ties).log_strength,
        "expected-wins": expected_wins(counts),
    }
    draws: Floats | None = None
    if n_resamples and played:
        draws = mu[n_runs:]
    elif n_resamples:
        units = UnitCounts.of(battles, duels.row)
        sizes = [min(_BATCH, n_resamples - done) for done in range(0, n_resamples, _BATCH)]
        drawn = (segment_counts(size, units.n_units, again) for size in sizes)
        draws = np.concatenate([COUNTED[by](units.resampled(counts)) for counts in drawn])
    return Fitted(scores, draws, n_runs)


def _log_strengths(counts: WinCounts) -> Floats:
    """Log-strengths in resamples; minus infinity is the limit where a resample falls apart."""
    fits = bradley_terry_batch(counts)
    with np.errstate(divide="ignore"):
        return np.where(fits.connected[:, None], fits.log_strength, np.log(fits.strength))


#: Models that see counts of wins alone; TrueSkill plays match after match.
COUNTED: dict[str, Callable[[WinCounts], Floats]] = {
    "bt": _log_strengths,
    "expected-wins": expected_wins,
}


def _ranks(scores: Floats, by: str) -> Floats:
    """Rank scores; fitted strengths tie within their error, which logarithms would stretch."""
    return ranks(np.exp(scores), close=FITTED) if by == "bt" else ranks(scores)


class _RelativeRanking(Scorer):
    name = "rr"
    expected = "segmentId, judgeId, system1Id, system1rank, system2Id, ..."

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        del table
        return form.gives is Rankings

    def refuse(self, options: HumanOptions) -> None:
        """Refuse to choose systems, too: without one of its systems a ranking is another."""
        super().refuse(options)
        if options.systems is not None or options.drop_systems:
            raise UsageError("systems=... and drop_systems=... do not apply to rankings")

    def score(self, inputs: Inputs, options: HumanOptions, rng: np.random.Generator) -> HumanScores:
        """Run the protocol: duels, three models, ranks by resampling, agreement of judges."""
        rankings, by = inputs.judgements, options.by
        if not isinstance(rankings, Rankings):
            raise self.missing("no rankings")
        duels = unfold(rankings)
        log = duels.log
        if not len(log):
            raise DegenerateError("no ranking puts two outputs in order")
        rule = Rule(options.clusters, "bootstrap", options.alpha, options.correction)
        of_fit, of_judges = rng.spawn(2)
        n_resamples = options.n_bootstrap if rule.clusters != "none" else 0
        fitted = fit(duels, by, n_resamples, of_fit)
        scores, draws = fitted.scores, fitted.draws
        warnings: list[str] = []
        missing = [s for s, x in zip(log.systems, scores["bt"], strict=True) if np.isnan(x)]
        if missing:
            why = "they won or lost everything, or never met the others"
            text = f"no Bradley-Terry strength ({why}): {', '.join(missing)}"
            warnings.append(TypedWarning(text, names=missing))
        placed = _placed(scores[by], draws, by, rule)
        size, width = len(log.systems), len(rankings.segments)
        sides = np.concatenate([log.left, log.right])
        seen = np.unique(sides.astype(np.int64) * width + np.tile(duels.segment, 2)) // width
        columns = {
            "score": scores[by],
            "raw": scores["expected-wins"],
            "n_segments": np.bincount(seen, minlength=size),
            "n_ratings": np.bincount(sides, minlength=size),
        }
        tables = {
            "models": _model_table(duels, fitted, placed.order),
            "raters": _judge_table(duels, rankings),
        }
        share = f"{100 * (1 - rule.alpha):g}%"
        notes = (
            f"rank: ranks of the cluster (rule {rule.clusters})",
            f"range: ranks that the system takes in {share} of the resampled rankings",
            "raw: Expected Wins",
        )
        return HumanScores(
            protocol=self.name,
            systems=place_systems(log.systems, columns, placed),
            score=by,
            parts=tables,
            rule=rule if placed.p is not None else None,
            p=placed.p,
            agreement=_judge_agreement(duels, options.n_bootstrap, of_judges),
            battles=log,
            warnings=tuple(warnings),
            more={"n_resamples": 0 if draws is None else len(draws)},
            settings={"by": by},
            counted="battles",
            notes=notes if placed.p is not None else (),
        )


RR = _RelativeRanking()


def _placed(score: Floats, draws: Floats | None, by: str, rule: Rule) -> Ordering:
    """Order systems; ranges of ranks hold 95% of the resamples, clusters do not overlap."""
    by_score = _ranks(score, by)
    order = np.argsort(by_score, kind="stable").astype(np.int64)
    base = Ordering(order, whole(by_score[order]))
    if draws is None:
        return base
    drawn = _ranks(draws[:, order], by)
    ranked = (~np.isnan(drawn)).astype(np.float64)
    ahead = (drawn[:, :, None] < drawn[:, None, :]).sum(axis=0)
    met = ranked.T @ ranked  # resamples that rank both
    p = (1 + met - ahead) / (1 + met)
    np.fill_diagonal(p, np.nan)
    p = adjust_pairs(p, rule.correction, symmetric=False)
    spans = [_span(column[~np.isnan(column)], rule.alpha / 2, len(order)) for column in drawn.T]
    return replace(base, p=p, cluster=_apart(spans), range=spans)


def _span(drawn: Floats, tail: float, n: int) -> tuple[int, int]:
    if not drawn.size:
        return 1, n
    low = np.quantile(drawn, tail, method="lower")
    return int(low), int(np.quantile(drawn, 1 - tail, method="higher"))


def _apart(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut where no range of ranks above reaches a range below."""
    worst = np.maximum.accumulate([last for _, last in spans])
    best = np.minimum.accumulate([first for first, _ in spans][::-1])[::-1]
    opens = np.append(True, worst[:-1] < best[1:])
    return clusters.spans(np.cumsum(opens))


def _model_table(duels: Duels, fitted: Fitted, order: Counts) -> Table:
    scores = fitted.scores
    columns = (Column("system"), *(Column(name, "higher", digits=4) for name in scores))
    rows: list[tuple[Cell, ...]] = [
        (duels.log.systems[i], *(float(score[i]) for score in scores.values())) for i in order
    ]
    notes = (
        f"{len(duels.log):,} battles; trueskill: mean over {fitted.n_runs:,} runs",
        "bt: log-strengths, a tie is half a win; expected-wins: ties left out",
    )
    return Table("Models", columns, tuple(rows), notes)


def _orderings(duels: Duels) -> agreement.Orderings:
    return agreement.Orderings(
        rater=duels.rater.astype(np.int64),
        unit=duels.segment * len(duels.log.systems) ** 2 + duels.pair,
        outcome=np.asarray(duels.log.outcome * 2 - 1),
        block=duels.segment,
    )


def _judge_agreement(duels: Duels, n_resamples: int, rng: np.random.Generator) -> dict[str, Any]:
    columns = _orderings(duels)
    first, second = rng.spawn(2)
    between = agreement.ranking_agreement(columns, n_resamples=n_resamples, rng=first)
    within = agreement.ranking_agreement(columns, within=True, n_resamples=n_resamples, rng=second)
    return {
        "rankings": {
            "ranking": between.to_dict(),
            "kappa": between.kappa.to_dict(),
            "repeats_ranking": within.to_dict(),
            "repeats_kappa": within.kappa.to_dict(),
        }
    }


def _judge_table(duels: Duels, rankings: Rankings) -> Table:
    size = len(rankings.raters)
    columns = _orderings(duels)
    sign = columns.outcome.astype(np.int64) + 1
    _, unit = np.unique(columns.unit, return_inverse=True)
    alike, met = _with_others(unit * 3 + sign, duels.rater), _with_others(unit, duels.rater)

    def share(top: NDArray[Any], bottom: NDArray[Any]) -> Floats:
        return ratio(group_sums(duels.rater, top, size), group_sums(duels.rater, bottom, size))

    agree = share(alike, met)
    cells = {
        "n_rankings": np.bincount(rankings.rater, minlength=size),
        "n_pairs": np.bincount(duels.rater, minlength=size),
        "ties": share(duels.log.outcome == 0.5, np.ones(len(duels.log))),
        "n_shared": group_sums(duels.rater, met > 0, size).astype(np.int64),
        "agree": agree,
    }
    rows: list[tuple[Cell, ...]] = [
        (name, *(column[i].item() for column in cells.values()))
        for i, name in enumerate(rankings.raters)
    ]
    order = sorted(range(size), key=lambda i: (np.nan_to_num(agree[i], nan=2.0), rows[i][0]))
    note = "agree: share of pairs ordered as others did; n_shared: pairs that others ordered too"
    digits = {"ties": 3, "agree": 3}
    shown = tuple(Column(name, digits=digits.get(name)) for name in ("rater", *cells))
    return Table("Raters", shown, tuple(rows[i] for i in order), (note,))


def _with_others(group: NDArray[Any], rater: NDArray[Any]) -> NDArray[Any]:
    _, whole_group = np.unique(group, return_inverse=True)
    _, of_rater = np.unique(group * (int(rater.max()) + 1) + rater, return_inverse=True)
    return np.asarray(np.bincount(whole_group)[whole_group] - np.bincount(of_rater)[of_rater])
