"""How often mean, median, Bradley-Terry, Elo and TrueSkill rank the same systems differently.

Section 5 of the paired-evaluation paper for any data: over all setups (a score of a test set is
one), by score, by set, by the number of segments; and how often tests that fit different rankings
agree on which systems differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import AGGREGATIONS
from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares
from steelyard.studies import setups as units
from steelyard.studies.setups import MEASURES, SAMPLED, TESTS, Bools, Rules, Setup, name_pairs
from steelyard.studies.study import Curve, Study, line_of

DEFAULT = ("mean", "median", "bt")
SIZES = (10, 50, 100, 500, 1000, 5000)
_WIDE = 3  # pairs of rankings up to which a table shows all measures of each


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: rankings, samples of segments, tests."""

    by: tuple[str, ...]
    rules: Rules
    sizes: tuple[int, ...]
    draws: int
    tests: tuple[str, ...]
    alpha: float

    @property
    def sampled(self) -> tuple[str, ...]:
        """The rankings that samples have, too."""
        return tuple(name for name in self.by if name in SAMPLED)


@dataclass(frozen=True, slots=True)
class _Found:
    """Measures of every setup.

    ``values`` is setups x pairs of rankings x (pairs, best, top); ``by_size`` has, for each number
    of segments, the mean over samples of ``pairs`` (setups x pairs of rankings); ``significant`` is
    tests x pairs of systems.
    """

    setups: tuple[Setup, ...]
    by: tuple[str, ...]
    values: Floats
    by_size: Mapping[int, Floats]
    significant: Bools
    warnings: tuple[str, ...]

    def group(self, key: str) -> dict[str, Floats]:
        """Split the setups by ``set`` or ``score``."""
        labels = [getattr(setup, key) for setup in self.setups]
        places = {name: [k for k, own in enumerate(labels) if own == name] for name in labels}
        return {name: self.values[rows] for name, rows in places.items()}


def disagree(  # noqa: PLR0913 - every option has a default
    sets: Source | Mapping[str, Source],
    scores: Sequence[str] | None = None,
    *,
    by: Sequence[str] = DEFAULT,
    ties: str = "half",
    tolerance: float = 0.0,
    prior: float = 0.0,
    orders: int = 100,
    top: int = 3,
    sizes: Sequence[int] = SIZES,
    draws: int = 20,
    tests: Sequence[str] = tuple(TESTS),
    alpha: float = 0.05,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> Study:
    """Measure how much rankings of the same systems disagree.

    Parameters
    ----------
    sets
        One set, or several by name.
    scores
        Which scores; all that have segment scores if None.
    by
        Rankings to compare: ``mean median bt elo trueskill``.
    ties, tolerance, prior, orders
        See :func:`steelyard.comparison.run.compare`.
    top
        Size of the top whose members are compared as a set.
    sizes, draws
        Numbers of segments to sample, without replacement and ``draws`` times each, for mean,
        median and Bradley-Terry; sets with no more segments take no part.
    tests, alpha
        Tests whose verdicts are compared, of ``t mood sign wilcoxon``, and their level.
    rng
        Seed of the draws.
    workers
        What the setups run on; the result does not depend on it.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = disagree(sy.demo_set(), ["learned-refA", "overlap-refA"], sizes=[10])
    >>> [row["rankings"] for row in study.table().records()]
    ['mean, median', 'mean, bt', 'median, bt']
    """
    bounds.names(by=by, tests=tests)
    bounds.wholes(1, empty=True, sizes=sizes)
    bounds.whole(1, draws=draws, top=top)
    bounds.fraction(alpha=alpha)
    bounds.names(optional=True, scores=scores)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    stream = generator(rng)
    rules = Rules(RankOptions(ties=ties, tolerance=tolerance, prior=prior, orders=orders), top)
    plan = Plan(tuple(dict.fromkeys(by)), rules, tuple(dict.fromkeys(sizes)), draws,
                tuple(dict.fromkeys(tests)), alpha)  # fmt: skip
    _check(plan)
    if isinstance(sets, Mapping):
        named = {name: as_evalset(one) for name, one in sets.items()}
    else:
        one = as_evalset(sets)
        named = {one.name or "set": one}
    found_setups, notes = units.find_setups(named, scores)
    draw, resample = stream.spawn(2)
    found = _measure(found_setups, plan, draw, workers or Workers())
    curves = [_group_curve("scores", "score", found, resample)]
    tables = {"overall": _overall(found, top, resample), "scores": _groups(found, "score", top)}
    if len(named) > 1:
        curves.append(_group_curve("sets", "set", found, resample))
        tables["sets"] = _groups(found, "set", top)
    if found.by_size:
        curves.append(_size_curve(found.by_size, plan.sampled, resample))
        tables["sizes"] = _sizes(curves[-1], draws)
    if plan.tests:
        tables["tests"] = _tests(found.significant, plan)
    n_segments = sum(es.n_segments for es in named.values())
    facts = {
        "n_setups": len(found.setups),
        "n_pairs": found.significant.shape[1],
        "n_segments": n_segments,
    }
    warnings = (*(note for es in named.values() for note in es.notes), *notes, *found.warnings)
    return Study(
        "disagreement",
        tables,
        tuple(curves),
        facts,
        tuple(dict.fromkeys(warnings)),
        _provenance(plan, named, rng),
    )


def _provenance(plan: Plan, sets: Mapping[str, EvalSet], rng: Rng) -> Provenance:
    settings: dict[str, Any] = {
        "by": ",".join(plan.by), "ties": plan.rules.options.ties, "top": plan.rules.top,
        "sizes": ",".join(map(str, plan.sizes)), "draws": plan.draws,
        "tests": ",".join(plan.tests), "alpha": plan.alpha,
    }  # fmt: skip
    if set(plan.by) - set(SAMPLED):
        settings["orders"] = plan.rules.options.orders or "file"
    inputs = tuple(dict.fromkeys(i for es in sets.values() for i in es.inputs))
    return Provenance.of("study disagreement", settings, inputs, rng)


def measure_setup(task: tuple[Setup, Plan], rng: np.random.Generator) -> dict[str, Any]:
    """Measure one setup: disagreement of all its segments, of samples, and verdicts of tests."""
    setup, plan = task
    options = plan.rules.options
    whole, *streams = rng.spawn(1 + len(plan.sizes))
    rankings, warned = units.rank_whole(setup, plan.by, options, whole)
    by_size: dict[str, Floats] = {}
    for size, own in zip(plan.sizes, streams, strict=True):
        if size < setup.n_segments and len(plan.sampled) > 1:
            counts = units.draw_segments(setup.n_segments, size, plan.draws, own)
            ranked = units.rank_samples(setup, plan.sampled, options, counts)
            by_size[str(size)] = row_means(units.measure(ranked, plan.rules)[:, :, 0].T)
    return {
        "values": units.measure(rankings, plan.rules)[0],
        "by_size": by_size,
        "significant": units.significant_pairs(setup.scores, plan.tests, plan.alpha),
        "warnings": [f"{setup.set}, {setup.score}: {text}" for text in warned],
    }


def _measure(
    setups: Sequence[Setup], plan: Plan, rng: np.random.Generator, workers: Workers
) -> _Found:
    about = {} if workers.resume is None else _about(setups, plan, rng)
    # Files hold arrays row by row, and the order of sums may depend on that.
    tasks = [(replace(setup, scores=np.ascontiguousarray(setup.scores)), plan) for setup in setups]
    found = workers.run(measure_setup, tasks, rng=rng, step="disagreement", about=about)
    warnings = [text for own in found for text in own["warnings"]]
    values = [own["values"] for own in found]
    sampled = {
        size: np.stack([own["by_size"][str(size)] for own in found if str(size) in own["by_size"]])
        for size in plan.sizes
        if any(str(size) in own["by_size"] for own in found)
    }
    stacked = np.stack(values)
    undefined = int(np.isnan(stacked[:, :, 0]).sum())
    if undefined:
        warnings.append(
            f"{undefined} of {stacked[:, :, 0].size} comparisons have a ranking of nothing but "
            "ties, which orders no pair: left out of 'pairs'"
        )
    significant = np.concatenate([own["significant"] for own in found], axis=1)
    return _Found(tuple(setups), plan.by, stacked, sampled, significant, tuple(warnings))


def _about(setups: Sequence[Setup], plan: Plan, rng: np.random.Generator) -> dict[str, Any]:
    """Say what the results depend on."""
    total = hashlib.sha256()
    for setup in setups:
        total.update(repr((setup.set, setup.score, setup.systems, setup.scores.shape)).encode())
        total.update(np.ascontiguousarray(setup.scores).data)
    state = str(rng.bit_generator.state)
    return {"plan": repr(plan), "rng": state, "data": total.hexdigest()}


def _check(plan: Plan) -> None:
    for name in plan.by:
        if name not in AGGREGATIONS:
            raise UsageError(f"no aggregation '{name}'; {hint(name, AGGREGATIONS)}")
    if len(plan.by) < 2:
        raise UsageError("expected at least two rankings to compare")
    for name in plan.tests:
        if name not in TESTS:
            raise UsageError(f"no test '{name}'; {hint(name, TESTS)}")


def _label(pair: tuple[str, str]) -> str:
    return ", ".join(pair)


def _overall(found: _Found, top: int, rng: np.random.Generator) -> Table:
    columns = [Column("rankings")]
    for name in _headings(top):
        columns += _with_interval(name)
    lines = [
        line_of("", [found.values[:, p, m]], rng)
        for p in range(found.values.shape[1])
        for m in range(len(MEASURES))
    ]
    rows: list[tuple[Cell, ...]] = []
    for p, pair in enumerate(name_pairs(found.by)):
        own = lines[3 * p : 3 * p + 3]
        cells = [float(v[0]) for line in own for v in (line.y, line.low, line.high)]
        rows.append((_label(pair), *cells))
    size = f"mean over {plural(len(found.setups), 'setup')} (a score of a set)"
    notes = (
        f"{size}; low, high: 95 % interval over resampled setups",
        f"pairs: pairs of systems in different order; best, top {top}: setups where they differ",
    )
    return Table("Disagreement of rankings, as shares", tuple(columns), tuple(rows), notes)


def _with_interval(name: str) -> list[Column]:
    return [Column(f"{name}{part}", digits=3) for part in ("", " low", " high")]


def _headings(top: int) -> tuple[str, str, str]:
    return "pairs", "best", f"top {top}"


def _groups(found: _Found, key: str, top: int) -> Table:
    """Show a row per score or set; all measures of each pair of rankings, if there are few."""
    pairs = name_pairs(found.by)
    measures = _headings(top) if len(pairs) <= _WIDE else _headings(top)[:1]
    columns = [Column(key), Column("setups")]
    for pair in pairs:
        columns += [
            Column(f"{'/'.join(pair)} {name}" if k else "/".join(pair), digits=3)
            for k, name in enumerate(measures)
        ]
    rows: list[tuple[Cell, ...]] = []
    for name, values in found.group(key).items():
        cells = row_means(values[:, :, : len(measures)].reshape(len(values), -1).T)
        rows.append((name, len(values), *cells.tolist()))
    return Table(f"By {key}", tuple(columns), tuple(rows))


def _group_curve(name: str, key: str, found: _Found, rng: np.random.Generator) -> Curve:
    groups = found.group(key)
    lines = tuple(
        line_of(_label(pair), [values[:, p, 0] for values in groups.values()], rng)
        for p, pair in enumerate(name_pairs(found.by))
    )
    return Curve(name, f"by {key}", key, "share of pairs of systems", tuple(groups), lines)


def _size_curve(
    by_size: Mapping[int, Floats], names: Sequence[str], rng: np.random.Generator
) -> Curve:
    """Disagreement against the number of segments, a mean over setups of means over samples."""
    lines = tuple(
        line_of(_label(pair), [rows[:, p] for rows in by_size.values()], rng)
        for p, pair in enumerate(name_pairs(names))
    )
    label = "share of pairs of systems"
    return Curve("sizes", "by number of segments", "segments", label, tuple(by_size), lines)


def _sizes(curve: Curve, draws: int) -> Table:
    columns = [Column("segments"), Column("setups")]
    for line in curve.lines:
        columns += _with_interval(line.name)
    rows: list[tuple[Cell, ...]] = []
    for k, size in enumerate(curve.x):
        cells = [float(v[k]) for x in curve.lines for v in (x.y, x.low, x.high)]
        rows.append((size, max(line.n[k] for line in curve.lines), *cells))
    note = f"pairs in different order; {plural(draws, 'sample')} of each size without replacement"
    return Table("By number of segments", tuple(columns), tuple(rows), (note,))


def _tests(significant: Bools, plan: Plan) -> Table:
    shares = joint_shares(significant)
    columns = (Column("test"), *(Column(name, digits=3) for name in plan.tests))
    rows = tuple((name, *row.tolist()) for name, row in zip(plan.tests, shares, strict=True))
    size = f"of {significant.shape[1]:,} pairs of systems, at level {plan.alpha:g}, uncorrected"
    notes = (
        f"{size}; diagonal: the share that a test finds different",
        "elsewhere: of the pairs that the row's test finds, the share that the column's finds, too",
    )
    return Table("Tests", columns, rows, notes)
