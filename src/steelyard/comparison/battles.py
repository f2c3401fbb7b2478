"""Systems against systems from a log of battles: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.battlerankings import RANKINGS, LogSample, n_orders, rank_log
from steelyard.comparison.rankings import Aggregate, RankOptions
from steelyard.comparison.results import MOST_SHOWN, Comparison, PairTest, Tiers
from steelyard.comparison.run import order_flips, ranked, tie_note, tiers_by
from steelyard.core import bounds, provenance
from steelyard.core.errors import UsageError, hint
from steelyard.core.parallel import Workers
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.words import plural
from steelyard.data.judgements import BattleLog
from steelyard.formats.judged.battlecounts import from_log, log_files, read_counts
from steelyard.formats.judged.battlescan import LogColumns
from steelyard.formats.load import selection
from steelyard.formats.streams import kept, on_disk
from steelyard.stats.arrays import Floats
from steelyard.stats.paired.corrections import CORRECTIONS, adjust_pairs
from steelyard.stats.paired.pairedtests import gap_test, sign_test_counts
from steelyard.stats.permutation.pvalues import ALTERNATIVES
from steelyard.stats.strength.elo import EloOptions
from steelyard.stats.strength.wins import PairWins, win_share

DEFAULT = ("bt", "mean")
INTERVALS = ("segment", "battle")
_LEVEL = 0.95
_MOST_REFITTED = 60  # systems up to which the fit is tried with other ties and without each


@dataclass(frozen=True, slots=True)
class BattleComparison(Comparison):
    """Systems against systems in battles; ``n_segments`` is 0 where the log has no units."""

    n_battles: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints; matrices of pairs for up to 300 systems."""
        result = Comparison.to_dict(self)
        for name in ("score", "higher_is_better", "diagnosis"):
            del result[name]
        result = {"systems": result.pop("systems"), "n_battles": self.n_battles} | result
        result["n_segments"] = self.n_segments or None
        if len(self.systems) > MOST_SHOWN:
            for found in result["aggregations"].values():
                found["pairwise"] = None
            for test in result["tests"].values():
                test["p"] = test["p_adjusted"] = None
        return result

    def size(self) -> str:
        """Say in words what was compared."""
        size = f"{plural(len(self.systems), 'system')}, {plural(self.n_battles, 'battle')}"
        return f"{size}, {plural(self.n_segments, 'unit')}" if self.n_segments else size


@kept()
def compare_battles(  # noqa: PLR0913 - every option has a default
    log: Path | str | BattleLog,
    *,
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    unit: str | None = None,
    where: Sequence[tuple[str, str]] = (),
    ignore: Sequence[str] = (),
    by: str | Sequence[str] = DEFAULT,
    ties: str = "half",
    prior: float = 0.0,
    method: str = "newton",
    orders: int | None = None,
    k: float = 20.0,
    alternative: str = "two-sided",
    correction: str = "holm",
    alpha: float = 0.05,
    intervals: str | None = "segment",
    n_bootstrap: int = 1000,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> BattleComparison:
    """Compare systems by a log of battles.

    Parameters
    ----------
    log
        A table of battles (CSV, TSV, JSON lines, also ``.gz``, or Parquet) or of rankings, which
        unfold into battles; a folder of tables of battles; or a log in memory. Long files are
        counted out of core.
    left, right, outcome, unit
        Columns, where they do not have one of the usual names. The last names what battles share
        and intervals resample: a prompt, a segment, or the user who judged.
    where, ignore
        Columns and values that select rows; columns to skip.
    by
        Rankings: ``mean`` (the share of battles won, ties as half), ``bt``, ``elo``, ``trueskill``.
    ties, prior, method
        Bradley-Terry: what becomes of ties, a weak prior, and how the fit is made.
    orders, k
        Random orders that Elo and TrueSkill are averaged over: None for 100, or fewer where the log
        is long; 0 for the order of time, or else of the file. K of Elo.
    alternative, correction, alpha
        Of the sign test of every pair, and the level of the tiers.
    intervals, n_bootstrap
        What is resampled for 95 % intervals, and how often: ``segment``, the prompts or segments
        that battles share, as far as the log names them, else single battles, with a warning;
        ``battle``; None for no intervals.
    rng
        Seed of the draws.
    workers
        What long logs are counted and resampled on; the result does not depend on it.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 2, 1, 2], dtype=np.int32)
    >>> others = np.array([1, 1, 2, 0, 0, 1], dtype=np.int32)
    >>> log = BattleLog(("A", "B", "C"), codes, others, np.array([1, 1, 1, 0.5, 1, 1.0]))
    >>> found = compare_battles(log, intervals=None)
    >>> found.ranking("bt"), found.aggregations["bt"].scores.round(3).tolist()
    (['A', 'C', 'B'], [0.442, 0.253, 0.305])
    """
    names = tuple(dict.fromkeys(bounds.listed(by=by)))
    _check(names, intervals)
    level = _Level(alternative, correction, alpha)
    options = RankOptions(ties, 0.0, prior, method, 0, EloOptions(k=k))
    bounds.whole(optional=True, orders=orders)
    bounds.whole(10, n_bootstrap=n_bootstrap)
    bounds.text(optional=True, left=left, right=right, outcome=outcome, unit=unit)
    bounds.names(ignore=ignore)
    bounds.instance((str, Path, BattleLog), "the path of a log, or a BattleLog", log=log)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    stream, selected = generator(rng), selection(where)
    in_order = bool({"elo", "trueskill"} & set(names))
    by_unit = intervals != "battle"
    inputs: tuple[InputFile, ...] = ()
    if isinstance(log, BattleLog):
        counted = from_log(log, by_unit=by_unit, in_order=in_order)
    else:
        columns = LogColumns(left, right, outcome, unit, selected, tuple(ignore))
        counted = read_counts(log, columns, by_unit=by_unit, in_order=in_order, workers=workers)
        paths = log_files(Path(log))
        root = None if paths == [Path(log)] else Path(log)
        digest = provenance.sha256([on_disk(path) for path in paths], root)
        inputs = (InputFile(str(log), counted.form, digest),)
    played = n_orders(orders, counted.n_battles)
    options = replace(options, orders=played)
    sample = LogSample(counted, n_bootstrap if intervals else 0)
    found = rank_log(names, sample, options, stream)
    pairs = _Pairs(sample, found, options, level)
    settings: dict[str, Any] = {"by": ",".join(names), "tests": ",".join(pairs.tests),
                                "ties": ties, "alternative": alternative,
                                "correction": correction}  # fmt: skip
    if sample.n_resamples:
        resampled = "battle" if counted.n_units is None else unit or "unit"
        settings |= {"intervals": resampled, "bootstrap": n_bootstrap}
    if in_order:
        settings |= {"orders": played or "time"}
    return BattleComparison(
        "battles",
        counted.systems,
        counted.n_units or 0,
        {name: ranked(own, _LEVEL) for name, own in found.items()},
        pairs.tests,
        pairs.tiers,
        pairs.effects,
        {},
        tuple(pairs.notes),
        tuple(dict.fromkeys(pairs.warnings)),
        Provenance.of("compare", settings, inputs, rng),
        alpha,
        n_battles=counted.n_battles,
    )


def _check(names: Sequence[str], intervals: str | None) -> None:
    for name in names:
        if name == "median":
            raise UsageError("median: the outcomes of battles have no median worth ranking by; "
                             f"known: {', '.join(RANKINGS)}")  # fmt: skip
        if name not in RANKINGS:
            raise UsageError(f"no aggregation '{name}'; {hint(name, RANKINGS)}")
    if intervals == "document":
        raise UsageError("--intervals document: a log of battles has no documents")
    bounds.choice(INTERVALS, optional=True, intervals=intervals)


@dataclass(frozen=True, slots=True)
class _Level:
    alternative: str
    correction: str
    alpha: float

    def __post_init__(self) -> None:
        bounds.choice(ALTERNATIVES, alternative=self.alternative)
        bounds.choice(CORRECTIONS, correction=self.correction)
        bounds.fraction(alpha=self.alpha)

    def test(self, p: Floats) -> PairTest:
        """Correct p-values for the number of pairs."""
        symmetric = self.alternative == "two-sided"
        adjusted = adjust_pairs(p, self.correction, symmetric=symmetric)
        return PairTest(p, adjusted, self.alternative, self.correction)


class _Pairs:
    """What can be said of every pair: tests, tiers by them, and what is worth a warning."""

    def __init__(
        self, sample: LogSample, found: dict[str, Aggregate], options: RankOptions, level: _Level
    ) -> None:
        self.sample, self.found, self.options, self.level = sample, found, options, level
        self.tests: dict[str, PairTest] = {}
        self.tiers: dict[str, Tiers] = {}
        self.effects: dict[str, Floats] = {}
        self.warnings = _unit_warnings(sample)
        for own in found.values():
            self.warnings += own.warnings
        self.notes: list[str] = []
        if sample.n == 1:
            self.warnings.append("one system: there is nothing to compare it with")
        elif sample.dense:
            self._test()
            self._notes()
            self._refit()

    def _test(self) -> None:
        log, level = self.sample.log, self.level
        pairs = log.pairs
        first, second = (pairs.wins_i, pairs.wins_j) if log.units is None else log.units.ahead()
        none = np.zeros_like(first)
        ahead = PairWins(pairs.i, pairs.j, first, second, none, pairs.n).tables().wins
        met = pairs.tables().met > 0
        side = level.alternative
        self.tests["sign"] = level.test(sign_test_counts(ahead, met, alternative=side))
        for by, own in self.found.items():
            name, lead = "sign", ahead - ahead.T
            if own.replicates is not None:
                name = f"{by}-gap"
                scores, replicates = own.scores, own.replicates
                if by == "bt":  # strengths are ratios
                    with np.errstate(divide="ignore"):
                        scores, replicates = np.log(scores), np.log(replicates)
                freedom = np.inf if log.n_units is None else max(log.n_units - 1, 1)
                p = gap_test(scores, replicates, alternative=side, freedom=freedom)
                self.tests[name] = level.test(p)
                lead = scores[:, None] - scores
            tier = tiers_by(
                by, own.ranks, name, self.tests[name], lead, log.systems, level.alpha, self.warnings
            )
            if tier is not None:
                self.tiers[by] = tier

    def _notes(self) -> None:
        unit = "battles" if self.sample.log.n_units is None else "units"
        self.notes.append(f"sign tests who wins more {unit} of each pair alone, ties left out")
        if len(self.tests) > 1:
            self.notes.append("gap tests differences of scores by their spread over resamples")
        if "mean" in self.found:
            self.notes.append(
                "mean: share of battles won, ties as half, whoever the opponents were"
            )
        rated = [name for name in ("elo", "trueskill") if name in self.found]
        if rated:
            orders = self.options.orders
            shown = f"mean over {orders} random orders" if orders else "in the order of time"
            self.notes.append(f"{' and '.join(rated)}: {shown}")
        if self.sample.n > MOST_SHOWN:
            self.notes.append(f"more than {MOST_SHOWN} systems: matrices of pairs are left out")

    def _refit(self) -> None:
        """Say what other treatments of ties, or the absence of a system, would change."""
        n = self.sample.n
        table = self.sample.log.pairs.tables() if n <= MOST_SHOWN else None
        if table is None:
            return
        self.effects["superiority"] = win_share(table)
        if "bt" in self.found and n <= _MOST_REFITTED:
            systems = self.sample.log.systems
            self.notes += tie_note(table, systems, self.options)
            self.warnings += order_flips(table, systems, self.options)


def _unit_warnings(sample: LogSample) -> list[str]:
    log = sample.log
    found = []
    if sample.n_resamples and log.n_units is None:
        found.append(
            "intervals draw single battles: they are too narrow if battles share a prompt or a "
            "segment (name it in a column 'unit')"
        )
    if sample.n_resamples and not sample.dense:
        found.append(f"no intervals for {sample.n:,} systems: there are too many pairs")
    if sample.asked and log.n_units == 1:
        found.append("one unit: there is nothing to resample, and no interval")
    if log.n_units is not None and log.n_units < 10 and sample.n_resamples:
        found.append(f"{plural(log.n_units, 'unit')} to resample: intervals are rough")
    return found
