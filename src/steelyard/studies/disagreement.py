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

from steelyard.core import bounds
from steelyard.core.options import keywords
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares
from steelyard.studies import setups as units
from steelyard.studies.options import DisagreementOptions
from steelyard.studies.results import Curve, Study, line_of
from steelyard.studies.setups import MEASURES, SAMPLED, Bools, Rules, Setup, name_pairs

_WIDE = 3  # pairs of rankings up to which a table shows all measures of each


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


@keywords(DisagreementOptions)
def disagree(
    sets: Source | Mapping[str, Source],
    scores: Sequence[str] | None = None,
    *,
    options: DisagreementOptions,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> Study:
    """Measure how much rankings of the same systems disagree.

    ``sets`` is one set, or several by name; ``scores`` are all that have segment scores if None.
    Samples of segments are drawn without replacement, for mean, median and Bradley-Terry; sets with
    no more segments take no part. See :class:`DisagreementOptions`; results do not depend on the
    workers.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = disagree(sy.demo_set(), ["learned-refA", "overlap-refA"], sizes=[10])
    >>> [row["rankings"] for row in study.table().records()]
    ['mean, median', 'mean, bt', 'median, bt']
    """
    bounds.names(optional=True, scores=scores)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    stream = generator(rng)
    if isinstance(sets, Mapping):
        named = {name: as_evalset(one) for name, one in sets.items()}
    else:
        one = as_evalset(sets)
        named = {one.name or "set": one}
    found_setups, notes = units.find_setups(named, scores)
    draw, resample = stream.spawn(2)
    found = _measure(found_setups, options, draw, workers or Workers())
    curves = [_group_curve("scores", "score", found, resample)]
    top = options.top
    tables = {"overall": _overall(found, top, resample), "scores": _groups(found, "score", top)}
    if len(named) > 1:
        curves.append(_group_curve("sets", "set", found, resample))
        tables["sets"] = _groups(found, "set", top)
    if found.by_size:
        curves.append(_size_curve(found.by_size, _sampled(options), resample))
        tables["sizes"] = _sizes(curves[-1], options.draws)
    if options.tests:
        tables["tests"] = _tests(found.significant, options)
    warnings = (*(note for es in named.values() for note in es.notes), *notes, *found.warnings)
    inputs = tuple(dict.fromkeys(i for es in named.values() for i in es.inputs))
    return Study(
        name="disagreement",
        tables=tables,
        curves=tuple(curves),
        facts={
            "n_setups": len(found.setups),
            "n_pairs": found.significant.shape[1],
            "n_segments": sum(es.n_segments for es in named.values()),
        },
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study disagreement", _settings(options), inputs, rng),
    )


def _sampled(options: DisagreementOptions) -> tuple[str, ...]:
    """Name the rankings that samples have, too."""
    return tuple(name for name in options.by if name in SAMPLED)


def _settings(options: DisagreementOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "by": ",".join(options.by),
        "ties": options.ties,
        "top": options.top,
        "sizes": ",".join(map(str, options.sizes)),
        "draws": options.draws,
        "tests": ",".join(options.tests),
        "alpha": options.alpha,
    }
    if set(options.by) - set(SAMPLED):
        settings["orders"] = options.orders or "file"
    return settings


def measure_setup(
    task: tuple[Setup, DisagreementOptions], rng: np.random.Generator
) -> dict[str, Any]:
    """Measure one setup: disagreement of all its segments, of samples, and verdicts of tests."""
    setup, options = task
    rules, names = Rules(options, options.top), _sampled(options)
    whole, *streams = rng.spawn(1 + len(options.sizes))
    rankings, warned = units.rank_whole(setup, options.by, options, whole)
    by_size: dict[str, Floats] = {}
    for size, own in zip(options.sizes, streams, strict=True):
        if size < setup.n_segments and len(names) > 1:
            counts = units.draw_segments(setup.n_segments, size, options.draws, own)
            ranked = units.rank_samples(setup, names, options, counts)
            by_size[str(size)] = row_means(units.measure(ranked, rules)[:, :, 0].T)
    return {
        "values": units.measure(rankings, rules)[0],
        "by_size": by_size,
        "significant": units.significant_pairs(setup.scores, options.tests, options.alpha),
        "warnings": [f"{setup.set}, {setup.score}: {text}" for text in warned],
    }


def _measure(
    setups: Sequence[Setup],
    options: DisagreementOptions,
    rng: np.random.Generator,
    workers: Workers,
) -> _Found:
    about = {} if workers.resume is None else _about(setups, options, rng)
    # Files hold arrays row by row, and the order of sums may depend on that.
    tasks = [
        (replace(setup, scores=np.ascontiguousarray(setup.scores)), options) for setup in setups
    ]
    found = workers.run(measure_setup, tasks, rng=rng, step="disagreement", about=about)
    warnings = [text for own in found for text in own["warnings"]]
    values = [own["values"] for own in found]
    sampled = {
        size: np.stack([own["by_size"][str(size)] for own in found if str(size) in own["by_size"]])
        for size in options.sizes
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
    return _Found(
        setups=tuple(setups),
        by=tuple(options.by),
        values=stacked,
        by_size=sampled,
        significant=significant,
        warnings=tuple(warnings),
    )


def _about(
    setups: Sequence[Setup], options: DisagreementOptions, rng: np.random.Generator
) -> dict[str, Any]:
    """Say what the results depend on."""
    total = hashlib.sha256()
    for setup in setups:
        total.update(repr((setup.set, setup.score, setup.systems, setup.scores.shape)).encode())
        total.update(np.ascontiguousarray(setup.scores).data)
    state = str(rng.bit_generator.state)
    return {"options": repr(options), "rng": state, "data": total.hexdigest()}


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
        cells = [number for line in own for number in line.at(0)]
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
        cells = [number for line in curve.lines for number in line.at(k)]
        rows.append((size, max(line.n[k] for line in curve.lines), *cells))
    note = f"pairs in different order; {plural(draws, 'sample')} of each size without replacement"
    return Table("By number of segments", tuple(columns), tuple(rows), (note,))


def _tests(significant: Bools, options: DisagreementOptions) -> Table:
    shares = joint_shares(significant)
    columns = (Column("test"), *(Column(name, digits=3) for name in options.tests))
    rows = tuple((name, *row.tolist()) for name, row in zip(options.tests, shares, strict=True))
    size = f"of {significant.shape[1]:,} pairs of systems, at level {options.alpha:g}, uncorrected"
    notes = (
        f"{size}; diagonal: the share that a test finds different",
        "elsewhere: of the pairs that the row's test finds, the share that the column's finds, too",
    )
    return Table("Tests", columns, rows, notes)
