"""Systems against systems from a log of battles: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.options import (
    LOG_RANKINGS,
    BattleOptions,
    By,
    Correction,
    check_named,
)
from steelyard.comparison.rankings import (
    RATINGS,
    bt_ranked,
    bt_replicates,
    corrected,
    rate_log,
    tiers_by,
    with_intervals,
)
from steelyard.comparison.results import (
    LEVEL,
    MOST_SHOWN,
    Comparison,
    PairTest,
    Ranked,
    Tiers,
)
from steelyard.comparison.suites import board_of
from steelyard.core import provenance
from steelyard.core.errors import UsageError
from steelyard.core.options import check_instance
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.text import plural
from steelyard.data.judgements import BattleLog, Rankings
from steelyard.data.units import (
    AUTO,
    FEWEST,
    PROMPT,
    SEGMENT,
    UnitEffect,
    counted,
    least_p,
    too_few,
)
from steelyard.formats import columns as roles
from steelyard.formats import frames
from steelyard.formats.files import kept, on_disk
from steelyard.formats.judged import battles
from steelyard.formats.judged.battle_counts import CountedLog, from_log, log_files, read_counts
from steelyard.formats.judged.battles import LogColumns, unfolded
from steelyard.formats.options import selection
from steelyard.formats.reading import Reading, read_any
from steelyard.formats.view import FileView
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.paired.tests import gap_test, sign_test_counts
from steelyard.stats.ranks import ranks
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.resampling.cluster_df import expanded_level, shrinkage
from steelyard.stats.strength.bradleyterry import (
    MOST_DENSE,
    bradley_terry_pairs,
)
from steelyard.stats.strength.clustered_errors import strength_effect
from steelyard.stats.strength.wins import PairWins, WinCounts, resampled_battles, win_share

DEFAULT = ("bt", "mean")
BATTLE = "battle"  # the unit where each is independent of all others
ORDERS = 100  # random orders, unless the log is long
_PLAYS = 20_000_000  # battles played in all orders together
_FEWEST_ORDERS = 4  # of the longest log
_MOST_PLAYED = 50_000  # battles up to which ratings that depend on the order get intervals
_CELLS = 8_000_000  # entries of resampled tables held at a time
_DRAWN = 20_000_000  # and of the units drawn for them

Log = Path | str | Sequence[Path | str] | BattleLog  # or a frame, which has no common type


@kept()
def compare_battles(  # noqa: PLR0913 - every option has a default
    log: Log,
    *,
    by: By = DEFAULT,
    columns: Mapping[str, str] | None = None,
    words: Sequence[str] = (),
    swapped: str | None = None,
    where: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    unit: str = "auto",
    correction: Correction = "holm",
    alpha: float = 0.05,
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
    rng: Rng = 0,
) -> Comparison:
    """Compare systems by a log of battles.

    Parameters
    ----------
    log
        A table of battles or of rankings, which unfold into battles; a file of another tool that
        holds battles; a folder of these, or several of them; a frame; or a log in memory.
    by
        Rankings: ``mean`` (the share of battles won, ties as half), ``bt``, ``elo``, ``trueskill``,
        or with options: ``sy.bt(ties="davidson")``, ``sy.elo(k=20)``.
    columns
        Columns of ``left``, ``right`` and ``outcome``, where they have no usual names:
        ``{"outcome": "verdict"}``.
    words, swapped
        Words for left, right and tie, or ``["names"]`` where outcomes name systems; what A means
        where the right output was shown first: the one shown first (``place``) or the left column
        (``column``).
    where
        Columns and values that select rows.
    unit
        What is independent: ``prompt`` or ``segment``, what battles share by one of the usual
        columns; any other column; or single battles (``battle``). ``auto`` takes prompts where the
        log names at least ten, else battles, with a warning.
    correction, alpha
        Of the tests of every pair, and the level of the tiers.
    intervals, n_bootstrap
        Whether units are resampled for 95% intervals (None: no intervals), and how often.
    rng
        Seed of the draws.

    Returns
    -------
    Comparison
        Rankings, tests, tiers; ``pairs()`` is a frame of pairs with p-values.

    See Also
    --------
    compare : Compare systems by the scores of segments.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 2, 1, 2], dtype=np.int32)
    >>> others = np.array([1, 1, 2, 0, 0, 1], dtype=np.int32)
    >>> log = BattleLog(("A", "B", "C"), codes, others, np.array([1, 1, 1, 0.5, 1, 1.0]))
    >>> result = compare_battles(log, intervals=None)
    >>> result.ranking("bt"), result.aggregations["bt"].scores.round(3).tolist()
    (['A', 'C', 'B'], [0.442, 0.253, 0.305])
    """
    check_instance(Mapping, "columns by role", optional=True, columns=columns)
    sides = dict(columns or {})
    check_named("role of a column", list(sides), ("left", "right", "outcome"))
    options = BattleOptions.of({**locals(), **sides, "where": selection(where)})
    return compare_log(log, options, rng)


def compare_log(log: Log, options: BattleOptions, rng: Rng) -> Comparison:
    """Compare systems by a log of battles, as :func:`compare_battles` does."""
    in_order = not set(RATINGS).isdisjoint(options.by)
    battles, shared, inputs = _read_log(log, options, in_order=in_order)
    n = len(battles.systems)
    if n > MOST_DENSE:
        raise UsageError(f"up to {MOST_DENSE:,} systems are compared, got {n:,}")
    options = replace(options, orders=n_orders(options.orders, battles.n_battles))
    unit = _log_unit(battles, options.unit, inputs)
    asked = options.n_bootstrap if options.intervals else 0
    sample = LogSample(battles, unit, asked if unit.n > 1 else 0)
    drawn = rank_log(sample, options, generator(rng))
    tests, tiers = ({}, {}) if n == 1 else _test(sample, drawn, options)
    sizes = sample.sizes()
    level = LEVEL if sizes is None else expanded_level(LEVEL, sizes)
    rankings = {by: with_intervals(ranked, level) for by, ranked in drawn.items()}
    if tests and n <= MOST_SHOWN:
        share = win_share(battles.pairs.tables())
        rankings = {by: r if r.average else replace(r, alone=share) for by, r in rankings.items()}
    warnings = [*battles.notes, *_unit_warnings(unit, shared, options)]
    warnings += [text for ranked in drawn.values() for text in ranked.warnings]
    warnings += [text for tier in tiers.values() for text in tier.warnings]
    warnings += ["one system: there is nothing to compare it with"] if n == 1 else []
    settings = options.settings(options.by, tuple(tests), unit.name, "time" if in_order else None)
    over = plural(battles.n_battles, "battle")
    size = f"{plural(n, 'system')}, {over}"
    size += f", {counted(shared, PROMPT if unit.name == BATTLE else unit.name)}" if shared else ""
    result = Comparison(
        systems=battles.systems,
        n_segments=shared or 0,
        unit=unit,
        aggregations=rankings,
        tests=tests,
        tiers=tiers,
        size=size,
        over=f"over {over}" + ("" if unit.name == BATTLE else f" of {unit.counted()}"),
        facts={"n_segments": shared, "n_battles": battles.n_battles},
        notes=(f"more than {MOST_SHOWN} systems: no matrices of pairs",) * (n > MOST_SHOWN),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", settings, inputs, rng, options),
        alpha=options.alpha,
        n_battles=battles.n_battles,
    )
    plain = options.ties == "half" and not options.prior and n <= MOST_SHOWN
    return replace(result, board=board_of(result, battles.pairs.tables() if plain else None, None))


def _test(
    sample: LogSample, rankings: Mapping[str, Ranked], options: BattleOptions
) -> tuple[dict[str, PairTest], dict[str, Tiers]]:
    """Test all pairs by signs, and by the spread of resamples, where there are enough units."""
    log, pairs = sample.log, sample.log.pairs
    first, second = (pairs.wins_i, pairs.wins_j) if log.units is None else log.units.ahead()
    none = np.zeros_like(first)
    ahead = PairWins(pairs.i, pairs.j, first, second, none, pairs.n).tables().wins
    p_values = {"sign": sign_test_counts(ahead, pairs.tables().met > 0)}
    leads = {"sign": ahead - ahead.T}
    freedom, shrunk, sizes = float(sample.unit.n - 1), 1.0, sample.sizes()
    if sizes is not None:
        freedom, shrunk = shrinkage(sizes)
    elif log.n_units is None:
        freedom = np.inf
    for by, ranked in rankings.items() if sample.unit.n >= FEWEST else ():
        if ranked.replicates is not None:
            scores, replicates = ranked.scores, ranked.replicates
            if ranked.strengths is not None:  # strengths are ratios
                with np.errstate(divide="ignore"):
                    scores, replicates = np.log(scores), np.log(replicates)
            p = gap_test(scores, replicates, freedom=freedom, shrunk=shrunk)
            p_values[f"{by}-gap"] = p
            leads[f"{by}-gap"] = scores[:, None] - scores
    tests = {name: corrected(p, options, unit=sample.unit.name) for name, p in p_values.items()}
    tiers = {}
    for by, ranked in rankings.items():
        name = f"{by}-gap" if f"{by}-gap" in tests else "sign"
        test, lead = tests[name], leads[name]
        tier = tiers_by(by, ranked.ranks, log.systems, name, test, lead, options.alpha)
        if tier is not None:
            tiers[by] = tier
    return tests, tiers


def n_orders(asked: int | None, n_battles: int) -> int:
    """Return the number of random orders: as asked, or fewer the longer the log is.

    >>> n_orders(None, 8_931), n_orders(None, 1_000_000), n_orders(50, 1_000_000)
    (100, 20, 50)
    """
    if asked is not None:
        return asked
    return int(np.clip(_PLAYS // max(n_battles, 1), _FEWEST_ORDERS, ORDERS))


def rank_log(
    sample: LogSample, options: BattleOptions, rng: np.random.Generator
) -> dict[str, Ranked]:
    """Rank the systems of a log in several ways; ``mean`` is the share of battles won."""
    log = sample.log
    draw, *streams = rng.spawn(1 + len(LOG_RANKINGS))
    rankings: dict[str, Ranked] = {}
    if "mean" in options.by:
        rankings["mean"] = _share(log.pairs.tables())
    fit = None
    if "bt" in options.by:
        fit = bradley_terry_pairs(log.pairs, ties_as=options.ties, prior=options.prior)
        rankings["bt"] = bt_ranked(fit, log.systems)
    replicates: dict[str, list[Floats]] = {by: [] for by in rankings}
    for drawn in sample.tables(draw) if rankings else ():
        if "mean" in rankings:
            replicates["mean"].append(_shares(drawn))
        if fit is not None:
            replicates["bt"].append(bt_replicates([drawn], fit, options))
    for by, parts in replicates.items():
        if parts:
            rankings[by] = replace(rankings[by], replicates=np.concatenate(parts))
    few = log.n_battles <= _MOST_PLAYED
    for name, stream in zip(LOG_RANKINGS, streams, strict=True):
        if name in RATINGS and name in options.by:
            assert log.played is not None
            rankings[name] = rate_log(
                name,
                log.played,
                options,
                stream,
                n_resamples=sample.n_resamples if few else 0,
                blocks=None if log.unit is None else log.unit.astype(np.int64),
            )
            if sample.n_resamples and not few:
                text = f"{name}: no intervals for more than {_MOST_PLAYED:,} battles; bt has them"
                rankings[name] = replace(rankings[name], warnings=(text,))
    return {name: rankings[name] for name in options.by}


def _share(counts: WinCounts) -> Ranked:
    scores, share = _shares(counts), win_share(counts)
    pairwise = share - share.T
    np.fill_diagonal(pairwise, 0.0)
    return Ranked(scores, ranks(scores), pairwise, average=True)


def _shares(counts: WinCounts) -> Floats:
    won = counts.wins.sum(axis=-1) + counts.ties.sum(axis=-1) / 2
    met = (counts.wins + np.swapaxes(counts.wins, -1, -2) + counts.ties).sum(axis=-1)
    return ratio(won, met)


# -- the log


@dataclass(frozen=True, slots=True)
class LogSample:
    """A log, its units, and how often these shall be resampled for intervals (0: not at all)."""

    log: CountedLog
    unit: UnitEffect
    n_resamples: int

    def sizes(self) -> Floats | None:
        """Count the battles of units; None where these are battles, or single ones."""
        log = self.log
        if log.units is None or log.n_units in (None, 1, log.n_battles):
            return None
        return log.units.sizes()

    def tables(self, rng: np.random.Generator) -> Iterator[WinCounts]:
        """Draw resamples of the units, or else of the battles: wins and ties, some at a time."""
        units, whole = self.log.units, self.log.pairs.tables()
        step = _CELLS // len(self.log.systems) ** 2
        step = max(1, step if units is None else min(step, _DRAWN // units.n_units))
        for start in range(0, self.n_resamples, step):
            size = min(step, self.n_resamples - start)
            if units is None:
                yield resampled_battles(whole, size, rng)
            else:
                yield units.resampled(segment_counts(size, units.n_units, rng))


def _read_log(
    log: Log, options: BattleOptions, *, in_order: bool
) -> tuple[CountedLog, int | None, tuple[InputFile, ...]]:
    """Count a log by the units that are asked for; return also the prompts it names, and files."""
    same = ("left", "right", "outcome", "where", "swapped")
    columns = LogColumns(
        unit=None if options.unit in (AUTO, BATTLE) else options.unit,
        ignore=tuple(options.ignore),
        words=tuple(options.words),
        form=options.format,
        **{name: getattr(options, name) for name in same},
    )
    log = _of_frame(log, options, columns)
    several = isinstance(log, (list, tuple))
    kinds = (str, Path) if several else (str, Path, BattleLog)
    for part in log if isinstance(log, (list, tuple)) and log else [log]:
        expected = "the path of a log, several of them, a frame, or a BattleLog"
        check_instance(kinds, expected, log=part)

    def count(*, by_unit: bool) -> CountedLog:
        if isinstance(log, BattleLog):
            return from_log(log, by_unit=by_unit, in_order=in_order)
        return read_counts(log, columns, by_unit=by_unit, in_order=in_order)

    counted_log = count(by_unit=options.unit != BATTLE)
    shared = counted_log.n_units
    if shared is not None and shared < FEWEST and options.unit == AUTO:
        counted_log = count(by_unit=False)
    inputs: tuple[InputFile, ...] = ()
    if not isinstance(log, BattleLog):
        paths = [log] if isinstance(log, (str, Path)) else log
        inputs = counted_log.inputs or tuple(
            _input(Path(p), counted_log.form, columns) for p in paths
        )
    if counted_log.n_units is None and options.unit not in (AUTO, BATTLE):
        raise UsageError(f'unit="{options.unit}": the log does not name any')
    return counted_log, shared, inputs


def _of_frame(log: Any, options: BattleOptions, log_columns: LogColumns) -> Any:
    """Return the log that a frame holds; all else stays what it is."""
    if not frames.recognise(log):
        return log
    if log_columns.words or log_columns.swapped:
        table = log_columns.selected(frames.read(log))
        return battles.read(battles.prepared(table, log_columns), log_columns)
    sides = ("left", "right", "outcome")
    columns = tuple((role, column) for role in sides if (column := getattr(options, role)))
    if options.unit not in (AUTO, BATTLE, PROMPT, SEGMENT):
        columns += (("unit", options.unit),)
    reading = Reading(options.where, tuple(options.ignore), columns=columns, form=options.format)
    form, content, _ = read_any(log, reading)
    if isinstance(content, Rankings):
        content = unfolded(content)
    if not isinstance(content, BattleLog):
        raise UsageError(f"log: the frame holds {form}, expected battles (left, right, outcome)")
    return content


def _input(log: Path, form: str, columns: LogColumns) -> InputFile:
    paths = log_files(log)
    root = None if paths == [log] else log
    digest = provenance.sha256([on_disk(path) for path in paths], root)
    text = paths[0].suffix.lower() not in (".parquet", ".pq")
    described = columns.described(FileView(paths[0]).names if text else (), log)
    return InputFile(str(log), form, digest, described)


def _log_unit(log: CountedLog, asked: str, inputs: Sequence[InputFile]) -> UnitEffect:
    if log.n_units is None:
        return UnitEffect(BATTLE, log.n_battles, 1.0)
    name = asked
    if asked in (AUTO, *roles.UNIT):
        columns = [column for file in inputs for column in file.columns]
        headings = {heading for role, named in columns if role == "unit" for heading in named}
        of_segments = log.form == "rankings" or headings & {"segment", "seg"}
        name = SEGMENT if of_segments else PROMPT
    if log.n_units == log.n_battles:
        return UnitEffect(name, log.n_units, 1.0)
    assert log.units is not None
    return replace(UnitEffect.of(name, log.n_units, strength_effect(log.units)), of_battles=True)


def _unit_warnings(unit: UnitEffect, shared: int | None, options: BattleOptions) -> Iterator[str]:
    narrow = "p-values and intervals are too small if"
    if unit.name == BATTLE and shared is not None:
        yield (
            f"battles are taken as independent, but share {plural(shared, 'prompt')}, fewer than "
            f'{FEWEST}: {narrow} those of a prompt are alike (unit="prompt")'
        )
    elif unit.name == BATTLE:
        hint = "" if options.unit == BATTLE else " (name it in a column 'unit')"
        yield f"battles are taken as independent: {narrow} they share a prompt or a segment{hint}"
    if options.intervals and unit.n == 1:
        yield f"{unit.counted()}: there is nothing to resample, and no interval"
    elif unit.n < FEWEST:
        few = f"{too_few(unit.n, unit.name)} for anything but exact tests"
        few += ", and intervals are rough" if options.intervals and unit.n > 1 else ""
        yield few + least_p(unit.n)
