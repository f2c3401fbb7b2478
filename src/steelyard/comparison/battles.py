"""Systems against systems from a log of battles: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.battlerankings import LogSample, n_orders, rank_log
from steelyard.comparison.diagnosis import order_flips, tie_note
from steelyard.comparison.options import BattleOptions
from steelyard.comparison.rankings import AGGREGATIONS, Aggregate, ranked
from steelyard.comparison.ratings import RATINGS
from steelyard.comparison.results import MOST_SHOWN, PairTest, Ranked, RankedSystems, Tiers
from steelyard.comparison.tests import GAP, SIGN, Verdicts, corrected, tiers_by
from steelyard.core import bounds, provenance
from steelyard.core.parallel import Workers
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.words import plural
from steelyard.data.judgements import BattleLog
from steelyard.formats.judged.battlelogs import LogColumns
from steelyard.formats.judged.logcounts import CountedLog, from_log, log_files, read_counts
from steelyard.formats.load import selection
from steelyard.formats.streams import kept, on_disk
from steelyard.stats.arrays import Floats
from steelyard.stats.paired.pairedtests import gap_test, sign_test_counts
from steelyard.stats.strength.wins import PairWins, win_share

DEFAULT = ("bt", "mean")
_MOST_REFITTED = 60  # systems up to which the fit is tried with other ties and without each


@dataclass(frozen=True, slots=True)
class BattleComparison(RankedSystems):
    """Systems against systems in battles; ``n_segments`` is 0 where the log has no units."""

    systems: tuple[str, ...]
    n_battles: int
    n_segments: int
    aggregations: Mapping[str, Ranked]
    tests: Mapping[str, PairTest]
    tiers: Mapping[str, Tiers]
    effects: Mapping[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    alpha: float = 0.05

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints; matrices of pairs for up to 300 systems."""
        result = {
            "systems": list(self.systems),
            "n_battles": self.n_battles,
            "n_segments": self.n_segments or None,
            **self.found_dict(),
            **self.told_dict(),
        }
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
    options = BattleOptions(
        by=by,  # type: ignore[arg-type]  # a plain name becomes a list of one
        ties=ties,
        prior=prior,
        method=method,
        orders=orders,
        k=k,
        alternative=alternative,
        correction=correction,
        alpha=alpha,
        intervals=intervals,
        n_bootstrap=n_bootstrap,
        left=left,
        right=right,
        outcome=outcome,
        unit=unit,
        where=selection(where),
        ignore=ignore,
    )
    return compare_log(log, options, rng, workers)


def compare_log(
    log: Path | str | BattleLog, options: BattleOptions, rng: Rng, workers: Workers | None
) -> BattleComparison:
    """Compare systems by a log of battles, as :func:`compare_battles` does."""
    bounds.instance((str, Path, BattleLog), "the path of a log, or a BattleLog", log=log)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    stream = generator(rng)
    in_order = any(AGGREGATIONS[name].in_order for name in options.by)
    by_unit = options.intervals != "battle"
    inputs: tuple[InputFile, ...] = ()
    if isinstance(log, BattleLog):
        counted = from_log(log, by_unit=by_unit, in_order=in_order)
    else:
        columns = LogColumns(
            left=options.left,
            right=options.right,
            outcome=options.outcome,
            unit=options.unit,
            where=options.where,
            ignore=tuple(options.ignore),
        )
        counted = read_counts(log, columns, by_unit=by_unit, in_order=in_order, workers=workers)
        paths = log_files(Path(log))
        root = None if paths == [Path(log)] else Path(log)
        digest = provenance.sha256([on_disk(path) for path in paths], root)
        inputs = (InputFile(str(log), counted.form, digest),)
    options = replace(options, orders=n_orders(options.orders, counted.n_battles))
    sample = LogSample(counted, options.n_bootstrap if options.intervals else 0)
    found = rank_log(sample, options, stream)
    pairs = _pairs(sample, found, options)
    warnings = [*_unit_warnings(sample), *(text for own in found.values() for text in own.warnings)]
    settings = options.settings(options.by, tuple(pairs.tests))
    if sample.n_resamples:
        resampled = "battle" if counted.n_units is None else options.unit or "unit"
        settings |= {"intervals": resampled, "bootstrap": options.n_bootstrap}
    if in_order:
        settings |= {"orders": options.orders or "time"}
    return BattleComparison(
        systems=counted.systems,
        n_battles=counted.n_battles,
        n_segments=counted.n_units or 0,
        aggregations={name: ranked(name, own) for name, own in found.items()},
        tests=pairs.tests,
        tiers=pairs.tiers,
        effects=pairs.effects,
        notes=pairs.notes,
        warnings=tuple(dict.fromkeys([*warnings, *pairs.warnings])),
        provenance=Provenance.of("compare", settings, inputs, rng),
        alpha=options.alpha,
    )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What can be said of every pair: tests, tiers by them, and what is worth a warning."""

    tests: dict[str, PairTest] = field(default_factory=dict)
    tiers: dict[str, Tiers] = field(default_factory=dict)
    effects: dict[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _pairs(sample: LogSample, found: Mapping[str, Aggregate], options: BattleOptions) -> _Pairs:
    if sample.n == 1:
        return _Pairs(warnings=("one system: there is nothing to compare it with",))
    if not sample.dense:
        return _Pairs()
    tests, tiers = _test(sample.log, found, options)
    notes = _notes(sample, found, options, gaps=len(tests) > 1)
    warnings = [text for own in tiers.values() for text in own.warnings]
    effects = {}
    if sample.n <= MOST_SHOWN:
        table = sample.log.pairs.tables()
        effects["superiority"] = win_share(table)
        if "bt" in found and sample.n <= _MOST_REFITTED:
            notes += tie_note(table, sample.log.systems, options)
            warnings += order_flips(table, sample.log.systems, options)
    return _Pairs(tests, tiers, effects, tuple(notes), tuple(warnings))


def _test(
    log: CountedLog, found: Mapping[str, Aggregate], options: BattleOptions
) -> tuple[dict[str, PairTest], dict[str, Tiers]]:
    pairs = log.pairs
    first, second = (pairs.wins_i, pairs.wins_j) if log.units is None else log.units.ahead()
    none = np.zeros_like(first)
    ahead = PairWins(pairs.i, pairs.j, first, second, none, pairs.n).tables().wins
    met = pairs.tables().met > 0
    side = options.alternative
    tests = {"sign": corrected(sign_test_counts(ahead, met, alternative=side), options, SIGN)}
    tiers = {}
    for by, own in found.items():
        name, lead = "sign", ahead - ahead.T
        if own.replicates is not None:
            name = f"{by}-gap"
            scores, replicates = own.scores, own.replicates
            if own.strengths is not None:  # strengths are ratios
                with np.errstate(divide="ignore"):
                    scores, replicates = np.log(scores), np.log(replicates)
            freedom = np.inf if log.n_units is None else max(log.n_units - 1, 1)
            p = gap_test(scores, replicates, alternative=side, freedom=freedom)
            tests[name] = corrected(p, options, GAP)
            lead = scores[:, None] - scores
        verdicts = Verdicts(name, tests[name], lead)
        tier = tiers_by(by, own.ranks, log.systems, verdicts, options.alpha)
        if tier is not None:
            tiers[by] = tier
    return tests, tiers


def _notes(
    sample: LogSample, found: Mapping[str, Aggregate], options: BattleOptions, *, gaps: bool
) -> list[str]:
    unit = "battles" if sample.log.n_units is None else "units"
    notes = [f"sign tests who wins more {unit} of each pair alone, ties left out"]
    if gaps:
        notes.append("gap tests differences of scores by their spread over resamples")
    if "mean" in found:
        notes.append("mean: share of battles won, ties as half, whoever the opponents were")
    rated = [name for name in RATINGS if name in found]
    if rated:
        orders = options.orders
        shown = f"mean over {orders} random orders" if orders else "in the order of time"
        notes.append(f"{' and '.join(rated)}: {shown}")
    if sample.n > MOST_SHOWN:
        notes.append(f"more than {MOST_SHOWN} systems: matrices of pairs are left out")
    return notes


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
