"""Systems against systems from a log of battles: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from steelyard.comparison.aggregations import (
    AGGREGATIONS,
    NO_PAIRS,
    Aggregate,
    bt_aggregate,
    ranked,
    rated_aggregate,
)
from steelyard.comparison.diagnosis import order_flips, tie_note
from steelyard.comparison.eloscale import NOTE, on_elo_scale
from steelyard.comparison.logsamples import BATTLE, LogSample, log_unit, read_log, unit_warnings
from steelyard.comparison.options import LOG_RANKINGS, BattleOptions
from steelyard.comparison.ranked import MOST_SHOWN, PairTest, Tiers, with_pairs_alone
from steelyard.comparison.ratings import RATINGS, Resampling, rate_log
from steelyard.comparison.results import RankedSystems
from steelyard.comparison.tests import GAP, SIGN, Verdicts, corrected, tiers_by
from steelyard.comparison.words import named
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.text import plural
from steelyard.data.judgements import BattleLog
from steelyard.data.units import FEWEST, PROMPT, many
from steelyard.data.units import counted as named_units
from steelyard.formats.load import selection
from steelyard.formats.streams import kept
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.paired.tests import gap_test, sign_test_counts
from steelyard.stats.ranks import ranks
from steelyard.stats.strength.bradleyterry import (
    bradley_terry_batch,
    bradley_terry_pairs,
)
from steelyard.stats.strength.wins import PairWins, win_share

DEFAULT = ("bt", "mean")
ORDERS = 100  # random orders, unless the log is long
_PLAYS = 20_000_000  # battles played in all orders together
_FEWEST = 4  # orders of the longest log
_MOST_PLAYED = 50_000  # battles up to which ratings that depend on the order get intervals
_MOST_REFITTED = 60  # systems up to which the fit is tried with other ties and without each


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BattleComparison(RankedSystems):
    """Systems against systems in battles; ``n_segments`` is 0 where the log has no units."""

    DRAWN: ClassVar[str] = "resampled logs"
    MORE: ClassVar[str] = "more battles"

    n_battles: int

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

    def called(self, by: str) -> str:
        """Name a ranking in a sentence."""
        return "share of battles won" if by == "mean" else named(self, by)

    def measure(self, by: str) -> str:
        """Say in a sentence what a ranking goes by."""
        return f"{self.called(by)} over {plural(self.n_battles, 'battle')}"

    def size(self) -> str:
        """Say in words what was compared."""
        size = f"{plural(len(self.systems), 'system')}, {plural(self.n_battles, 'battle')}"
        name = PROMPT if self.unit.name == BATTLE else self.unit.name
        return f"{size}, {named_units(self.n_segments, name)}" if self.n_segments else size


@kept()
def compare_battles(  # noqa: PLR0913 - every option has a default
    log: Path | str | Sequence[Path | str] | BattleLog,
    *,
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    words: Sequence[str] = (),
    swapped: str | None = None,
    unit: str = "auto",
    where: Sequence[tuple[str, str]] = (),
    ignore: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the word that people use
    by: str | Sequence[str] = DEFAULT,
    ties: str = "half",
    prior: float = 0.0,
    method: str = "newton",
    orders: int | None = None,
    k: float = 20.0,
    trueskill_beta: float = 25 / 6,
    trueskill_tau: float = 25 / 300,
    trueskill_draw: float = 0.1,
    scale: str = "strength",
    alternative: str = "two-sided",
    correction: str = "holm",
    alpha: float = 0.05,
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
    rng: Rng = 0,
) -> BattleComparison:
    """Compare systems by a log of battles.

    Parameters
    ----------
    log
        A table of battles (CSV, TSV, JSON lines, also ``.gz``, or Parquet) or of rankings, which
        unfold into battles; a file of another tool that holds battles; a folder of tables, or of
        such files; several of them; a pandas, polars or Arrow frame; or a log in memory.
    left, right, outcome
        Columns, where they do not have one of the usual names.
    words, swapped
        Words for left, right and tie, or ``["names"]`` where outcomes name systems; what A means
        where the right output was shown first: the one shown first (``place``) or the left column
        (``column``).
    unit
        What is independent: ``prompt`` or ``segment``, what battles share by one of the usual
        columns; any other column, as the user who judged; or single battles (``battle``). ``auto``
        takes prompts where the log names at least ten, else battles, with a warning.
    where, ignore
        Columns and values that select rows; columns to skip.
    format
        The name of the format (``steelyard data formats`` lists them), where the log looks like
        another.
    by
        Rankings: ``mean`` (the share of battles won, ties as half), ``bt``, ``elo``, ``trueskill``.
    ties, prior, method
        Bradley-Terry: what becomes of ties, a weak prior, and how the fit is made.
    orders, k
        Random orders that Elo and TrueSkill are averaged over: None for 100, or fewer where the log
        is long; 0 for the order of time, or else of the file. K of Elo.
    trueskill_beta, trueskill_tau, trueskill_draw
        TrueSkill: deviation of a performance, drift of a skill before each battle, and the
        chance that equals tie.
    scale
        What ``bt`` shows: strengths that add up to 1, or the same as ratings (``elo``: 1000 on
        average, 400 more is ten times the strength).
    alternative, correction, alpha
        Of the sign test of every pair, and the level of the tiers.
    intervals, n_bootstrap
        Whether units are resampled for 95 % intervals (None: no intervals), and how often.
    rng
        Seed of the draws.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 2, 1, 2], dtype=np.int32)
    >>> others = np.array([1, 1, 2, 0, 0, 1], dtype=np.int32)
    >>> log = BattleLog(("A", "B", "C"), codes, others, np.array([1, 1, 1, 0.5, 1, 1.0]))
    >>> found = compare_battles(log, intervals=None)
    >>> found.ranking("bt"), found.aggregations["bt"].scores.round(3).tolist()
    (['A', 'C', 'B'], [0.442, 0.253, 0.305])
    """
    options = BattleOptions.of(locals() | {"where": selection(where)})
    return compare_log(log, options, rng)


def compare_log(
    log: Path | str | Sequence[Path | str] | BattleLog,
    options: BattleOptions,
    rng: Rng,
) -> BattleComparison:
    """Compare systems by a log of battles, as :func:`compare_battles` does."""
    stream = generator(rng)
    in_order = any(AGGREGATIONS[name].in_order for name in options.by)
    read = read_log(log, options, in_order=in_order)
    counted, shared, inputs = read.counted, read.shared, read.inputs
    options = replace(options, orders=n_orders(options.orders, counted.n_battles))
    unit = log_unit(counted, options.unit, inputs)
    sample = LogSample(counted, options.n_bootstrap if options.intervals else 0, unit.name)
    found = rank_log(sample, options, stream)
    pairs = _pairs(sample, found, options)
    rankings = {name: ranked(name, own, sample.level) for name, own in found.items()}
    scaled: tuple[str, ...] = ()
    if options.scale == "elo" and "bt" in rankings:
        rankings["bt"], scaled = on_elo_scale(rankings["bt"]), (NOTE,)
    warnings = [*counted.notes, *unit_warnings(sample, unit, shared, options.unit)]
    warnings += [text for own in found.values() for text in own.warnings]
    settings = options.settings(options.by, tuple(pairs.tests)) | {"unit": unit.name}
    if sample.n_resamples:
        settings |= {"bootstrap": options.n_bootstrap}
    if in_order:
        settings |= {"orders": options.orders or "time"}
    return BattleComparison(
        systems=counted.systems,
        n_battles=counted.n_battles,
        n_segments=shared or 0,
        unit=unit,
        aggregations=with_pairs_alone(rankings, pairs.effects.get("superiority")),
        tests=pairs.tests,
        tiers=pairs.tiers,
        effects=pairs.effects,
        notes=(*scaled, *pairs.notes),
        warnings=tuple(dict.fromkeys([*warnings, *pairs.warnings])),
        provenance=Provenance.of("compare", settings, inputs, rng, options),
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
    tests, tiers = _test(sample, found, options)
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
    sample: LogSample, found: Mapping[str, Aggregate], options: BattleOptions
) -> tuple[dict[str, PairTest], dict[str, Tiers]]:
    log, unit = sample.log, sample.unit
    pairs = log.pairs
    first, second = (pairs.wins_i, pairs.wins_j) if log.units is None else log.units.ahead()
    none = np.zeros_like(first)
    ahead = PairWins(pairs.i, pairs.j, first, second, none, pairs.n).tables().wins
    met = pairs.tables().met > 0
    few = sample.n_units < FEWEST  # for a test that is not exact
    side = options.alternative
    p = sign_test_counts(ahead, met, alternative=side)
    tests = {"sign": corrected(p, options, SIGN, unit=unit)}
    tiers = {}
    for by, own in found.items():
        name, lead = "sign", ahead - ahead.T
        if own.replicates is not None and not few:
            name = f"{by}-gap"
            scores, replicates = own.scores, own.replicates
            if own.strengths is not None:  # strengths are ratios
                with np.errstate(divide="ignore"):
                    scores, replicates = np.log(scores), np.log(replicates)
            freedom, shrunk = sample.spread()
            p = gap_test(scores, replicates, alternative=side, freedom=freedom, shrunk=shrunk)
            tests[name] = corrected(p, options, GAP, unit=unit)
            lead = scores[:, None] - scores
        verdicts = Verdicts(name, tests[name], lead)
        tier = tiers_by(by, own.ranks, log.systems, verdicts, options.alpha)
        if tier is not None:
            tiers[by] = tier
    return tests, tiers


def _notes(
    sample: LogSample, found: Mapping[str, Aggregate], options: BattleOptions, *, gaps: bool
) -> list[str]:
    unit = many(sample.unit)
    notes = [f"sign tests who wins more {unit} of each pair alone, ties left out"]
    if gaps:
        notes.append(f"gap tests differences of scores by their spread over resampled {unit}")
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


def n_orders(asked: int | None, n_battles: int) -> int:
    """Give the number of random orders: as asked, or fewer the longer the log is.

    Examples
    --------
    >>> n_orders(None, 8_931), n_orders(None, 1_000_000), n_orders(50, 1_000_000)
    (100, 20, 50)
    """
    if asked is not None:
        return asked
    return int(np.clip(_PLAYS // max(n_battles, 1), _FEWEST, ORDERS))


def rank_log(
    sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> dict[str, Aggregate]:
    """Rank the systems of a log in several ways; ``mean`` is the share of battles won."""
    draw, *streams = rng.spawn(1 + len(LOG_RANKINGS))
    chance = dict(zip(LOG_RANKINGS, streams, strict=True))
    found: dict[str, Aggregate] = {}
    if "mean" in options.by:
        found["mean"] = _share(sample.log.pairs, dense=sample.dense)
    if "bt" in options.by:
        fit = bradley_terry_pairs(
            sample.log.pairs, ties_as=options.ties, method=options.method, prior=options.prior
        )
        found["bt"] = bt_aggregate(fit, sample.log.systems, pairs=sample.dense)
    if found and sample.n_resamples and sample.dense:
        replicates = _replicates(found, sample, options, draw)
        found = {name: replace(own, replicates=replicates[name]) for name, own in found.items()}
    for name in RATINGS:
        if name in options.by:
            found[name] = _rated(name, sample, options, chance[name])
    return {name: found[name] for name in options.by}


def _shares(wins: Floats, ties: Floats) -> Floats:
    won = wins.sum(axis=-1) + ties.sum(axis=-1) / 2
    return ratio(won, (wins + np.swapaxes(wins, -1, -2) + ties).sum(axis=-1))


def _share(pairs: PairWins, *, dense: bool) -> Aggregate:
    """Share of the battles that each system won, ties as half; of pairs, the difference of both."""
    n = pairs.n
    half = pairs.ties / 2
    won = np.bincount(pairs.i, pairs.wins_i + half, n)
    won += np.bincount(pairs.j, pairs.wins_j + half, n)
    met = np.bincount(pairs.i, pairs.met, n) + np.bincount(pairs.j, pairs.met, n)
    scores = ratio(won, met)
    pairwise = NO_PAIRS
    if dense:
        share = win_share(pairs.tables())
        pairwise = share - share.T
        np.fill_diagonal(pairwise, 0.0)
    return Aggregate(scores, ranks(scores), pairwise)


def _replicates(
    found: dict[str, Aggregate], sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> dict[str, Floats]:
    """Share and strength in the same resamples; strengths of what is connected in the log only."""
    parts: dict[str, list[Floats]] = {name: [] for name in found}
    inside, start = np.arange(0), None
    if "bt" in found:
        fit = found["bt"].strengths
        assert fit is not None
        inside = np.flatnonzero(~np.isnan(fit.strength))
        start = fit.log_strength[inside]
    for tables in sample.tables(rng):
        if "mean" in found:
            parts["mean"].append(_shares(tables.wins, tables.ties))
        if "bt" in found:
            strength = np.full((len(tables.wins), sample.n), np.nan)
            if len(inside) > 1:
                own = tables if len(inside) == sample.n else tables.within(inside.tolist())
                strength[:, inside] = bradley_terry_batch(
                    own, ties_as=options.ties, prior=options.prior, start=start
                ).strength
            parts["bt"].append(strength)
    return {name: np.concatenate(own) for name, own in parts.items()}


def _rated(
    name: str, sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> Aggregate:
    battles, unit = sample.log.played, sample.log.unit
    assert battles is not None
    rating = RATINGS[name](options)
    resampling = None
    warnings: tuple[str, ...] = ()
    if sample.n_resamples and len(battles) <= _MOST_PLAYED:
        blocks = None if unit is None else unit.astype(np.int64)
        resampling = Resampling(sample.n_resamples, blocks)
    elif sample.n_resamples:
        none = f"no intervals for more than {_MOST_PLAYED:,} battles; bt has them"
        warnings = (f"{name}: {none}",)
    found = rate_log(rating, battles, options, rng, resampling)
    return replace(rated_aggregate(rating, found, pairs=sample.dense), warnings=warnings)
