"""The section "Changes": what is new since an earlier report, and what of it is more than noise.

Where both reports hold the scores of the same segments, changes are paired: what a system gained on
each segment, by t-tests over units. Else the two 95 % intervals tell how far a score may have
moved by chance, as if the test sets were independent: that is said, and it is careful where they
share segments. Holm's correction is over all systems, all pairs, or all metrics that are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.comparison.diagnosis import units_behind
from steelyard.comparison.results import LEVEL, Comparison
from steelyard.core.display import Statement
from steelyard.core.table import Cell, Column, Table, decimals
from steelyard.core.text import all_of, listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import counted
from steelyard.report.memory import Memory, Standing, source_hash
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.distributions import ndtr, stdtrit
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.paired.tests import mean_error, t_tails
from steelyard.stats.permutation.pvalues import pair_index

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_Z = 1.959964  # standard errors to either end of a 95 % interval
_FEWEST = 10  # shared segments by which changes are paired
_OTHER_SET = ", so a change may come from the test set as well as from the system"
_NAMED = 6  # changes that a sentence names


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Changes of some numbers, now less before, with 95 % intervals and corrected p-values."""

    names: tuple[str, ...]
    change: Floats
    low: Floats
    high: Floats
    p: Floats

    def beyond(self, alpha: float) -> list[int]:
        """Give those that are more than noise, the largest first."""
        found = [k for k, p in enumerate(self.p) if p < alpha]
        return sorted(found, key=lambda k: -abs(self.change[k]))


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What changed between an earlier report and this one."""

    before: Memory
    now: Memory
    systems: Moves | None  # None where the scores are not the same one
    overtakings: tuple[tuple[str, str, float], ...]  # now ahead, now behind, corrected p
    metrics: Mapping[str, Moves]
    how: str
    alpha: float

    @property
    def common(self) -> list[str]:
        """Systems of both reports, as they rank now."""
        both = [name for name in self.now.systems if name in self.before.systems]
        return sorted(both, key=lambda name: (self.now.systems[name].rank or math.inf, name))

    def told(self) -> list[Statement]:
        """Say in sentences what changed, and how sure that is."""
        return [*self._members(), *self._scores(), *self._places(), *self._agreement()]

    def _members(self) -> Iterator[Statement]:
        named = f" '{self.before.title}'" if self.before.title else ""
        both, all_now = len(self.common), len(self.now.systems)
        new = [name for name in self.now.systems if name not in self.before.systems]
        gone = [name for name in self.before.systems if name not in self.now.systems]
        text = f"Compared with the earlier report{named}: {both} of {plural(all_now, 'system')} "
        text += "was there, too" if both == 1 else "were there, too"
        text += f"; new: {listed(new)}" if new else ""
        text += f"; gone: {listed(gone)}" if gone else ""
        yield "settled", f"{text}."
        if both or self.metrics:
            yield "sureness", self.how

    def _scores(self) -> Iterator[Statement]:
        moves = self.systems
        if moves is None or not moves.names:
            return
        found = moves.beyond(self.alpha)
        known = [k for k, p in enumerate(moves.p) if not np.isnan(p)]
        of = plural(len(moves.names), "system")
        if found:
            shown = [f"{moves.names[k]} {_signed(moves.change[k])}" for k in found]
            text = f"{len(found)} of {of} changed in {self.now.score} by more than noise"
            yield "settled", f"{text}: {listed(shown, _NAMED)}."
        same = sum(moves.change[k] == 0 for k in range(len(moves.names)))
        if same == len(moves.names):
            yield "settled", f"No score of {of} changed ({self.now.score})."
        elif not found and known:
            text = f"None of {of} changed in {self.now.score} by more than noise explains"
            yield "undecided", f"{text} ({same} of them not at all)."
        elif not known:
            text = "Whether scores changed by more than noise can't be said"
            yield "undecided", f"{text}: intervals are not known of both reports."

    def _places(self) -> Iterator[Statement]:
        firsts = [_first(memory.systems) for memory in (self.before, self.now)]
        if all(firsts):
            before, now = (all_of(first) for first in firsts)
            verb = "ranks" if len(firsts[1]) == 1 else "rank"
            same = firsts[0] == firsts[1]
            text = f"{now} {verb} first now"
            yield "settled", f"{text} as before." if same else f"{text}; before it was {before}."
        if not self.overtakings:
            return
        sure = [(a, b) for a, b, p in self.overtakings if p < self.alpha]
        n = plural(len(self.overtakings), "pair")
        text = f"{n} of systems changed places since the earlier report"
        if sure:
            shown = [f"{a} overtook {b}" for a, b in sure]
            yield "settled", f"{text}; {len(sure)} by more than noise ({listed(shown, _NAMED)})."
        else:
            yield "undecided", f"{text}; none by more than noise explains."

    def _agreement(self) -> Iterator[Statement]:
        for by, moves in self.metrics.items():
            found = moves.beyond(self.alpha)
            of = plural(len(moves.names), "metric")
            if found:
                shown = [f"{moves.names[k]} {_signed(moves.change[k])}" for k in found]
                text = f"Agreement with {self.now.human} by {by} changed by more than noise for "
                yield "settled", f"{text}{len(found)} of {of}: {listed(shown, _NAMED)}."
            elif not (np.isnan(moves.p).all() or (moves.change == 0).all()):
                text = f"Agreement with {self.now.human} by {by} changed for no metric by more than"
                yield "undecided", f"{text} noise explains ({of})."

    def system_table(self, *, exact: bool = False) -> Table:
        """Give a row per system: places and scores before and now, and the change.

        p-values are as people read them, or ``exact``.
        """
        moves = {} if self.systems is None else {n: k for k, n in enumerate(self.systems.names)}
        rows: list[tuple[Cell, ...]] = []
        every = dict.fromkeys([*self.common, *self.now.systems, *self.before.systems])
        for name in every:
            old, new = self.before.systems.get(name), self.now.systems.get(name)
            cells: list[Cell] = [name, _rank(old), _rank(new), _value(old), _value(new)]
            if name in moves and self.systems is not None:
                own, k = self.systems, moves[name]
                cells += [_known(x[k]) for x in (own.change, own.low, own.high)]
                cells.append(_shown_p(own.p[k], exact=exact))
                cells.append(_verdict(own.change[k], own.p[k], self.alpha))
            else:
                what = "new" if old is None else "gone" if new is None else "another score"
                cells += [None, None, None, None, what]
            rows.append(tuple(cells))
        numbers = [x.value for m in (self.before, self.now) for x in m.systems.values()]
        digits = decimals([x for x in numbers if not math.isnan(x)])
        columns = (
            Column("system"), Column("rank before"), Column("rank now"),
            *(Column(name, digits=digits) for name in ("before", "now", "change", "low", "high")),
            Column("p", digits=3), Column("verdict"),
        )  # fmt: skip
        note = "low, high: 95 % interval of the change; p: Holm's correction"
        return Table("", columns, tuple(rows), (note,))

    def metric_table(self, *, exact: bool = False) -> Table:
        """Give a row per metric of both reports: agreement before and now."""
        rows: list[tuple[Cell, ...]] = []
        for by, moves in self.metrics.items():
            for k, name in enumerate(moves.names):
                old, new = (m.metas[by][name] for m in (self.before, self.now))
                numbers = (_known(x[k]) for x in (moves.change, moves.low, moves.high))
                p = _shown_p(moves.p[k], exact=exact)
                verdict = _verdict(moves.change[k], moves.p[k], self.alpha)
                rows.append((name, by, _value(old), _value(new), *numbers, p, verdict))
        columns = (
            Column("metric"), Column("by"),
            *(Column(n, digits=3) for n in ("before", "now", "change", "low", "high", "p")),
            Column("verdict"),
        )  # fmt: skip
        note = "by the two 95 % intervals, as if the reports were independent; p: Holm's correction"
        return Table("", columns, tuple(rows), (note,))

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "earlier": {"title": self.before.title, "version": self.before.version},
            "how": self.how,
            "told": [text for _, text in self.told()],
            "systems": self.system_table(exact=True).records(),
            "overtakings": [
                {"ahead": a, "behind": b, "p": _known(p)} for a, b, p in self.overtakings
            ],
            "metrics": self.metric_table(exact=True).records(),
        }


def find_changes(
    es: EvalSet, found: Comparison | None, before: Memory, now: Memory, alpha: float = 0.05
) -> Changes:
    """Compare this report with an earlier one."""
    same = before.score is not None and (before.score, before.higher_is_better, before.by) == (
        now.score, now.higher_is_better, now.by)  # fmt: skip
    names = [name for name in now.systems if name in before.systems]
    moves: Moves | None = None
    turned: tuple[tuple[str, str, float], ...] = ()
    if not same:
        how = (
            f"The earlier report compares by {before.score or 'no score'}, this one by "
            f"{now.score or 'none'}: ranks can be put side by side, scores can't."
        )
    else:
        assert found is not None
        pairing, why = _pairing(es, found, before)
        if pairing is not None:
            moves, turned = _paired(es, found, before, names, *pairing)
            unit = counted(len(np.unique(pairing[2])), units_behind(es, found).name)
            how = (
                f"Changes are those on {plural(len(pairing[0]), 'segment')} that both reports "
                f"hold, paired (t-tests, {unit} taken as independent, Holm's correction)."
            )
        else:
            moves, turned = _apart(before, now, names)
            how = (
                f"{why}. Changes are weighed by the two 95 % intervals, as if the two test sets "
                "were independent (Holm's correction)."
            )
    metas = _metas(before, now)
    if metas and now.human == before.human:
        how += " Agreement of metrics is weighed by the two intervals."
    return Changes(before, now, moves, turned, metas, how, alpha)


_Pairing = tuple[Counts, Counts, Counts]  # places of segments now, before, and their units


def _pairing(es: EvalSet, found: Comparison, before: Memory) -> tuple[_Pairing | None, str]:
    """Find the segments that both reports scored; or say why changes can't be paired."""
    kept = before.kept
    if kept is None:
        return None, "The earlier report holds no scores of segments"
    place = {name: k for k, name in enumerate(es.segments.ids)}
    scored = np.asarray(~np.isnan(es[found.score].values).all(axis=0))
    both = [(place[name], k) for k, name in enumerate(kept.segments)
            if name in place and scored[place[name]]]  # fmt: skip
    if len(both) < max(_FEWEST, len(kept.segments) / 2):
        return None, f"The two reports share too few segments{_OTHER_SET}"
    here, there = (np.array(column, dtype=np.int64) for column in zip(*both, strict=True))
    if len(both) == len(kept.segments) and kept.sources is not None:
        sources = source_hash(es, here)
        if sources is not None and sources != kept.sources:
            return None, f"Segments have the same names but other sources{_OTHER_SET}"
    codes = units_behind(es, found).codes
    units = np.arange(es.n_segments) if codes is None else codes
    return (here, there, units[here]), ""


def _paired(
    es: EvalSet,
    found: Comparison,
    before: Memory,
    names: Sequence[str],
    here: Counts,
    there: Counts,
    units: Counts,
) -> tuple[Moves, tuple[tuple[str, str, float], ...]]:
    kept = before.kept
    assert kept is not None
    own = [name for name in names if name in kept.systems]
    rows = np.array([es.systems.index(name) for name in own], dtype=np.int64)
    old_rows = np.array([kept.systems.index(name) for name in own], dtype=np.int64)
    new = kept.rounded(es[found.score].values[rows][:, here])
    old = kept.values()[old_rows][:, there]
    gained = new - old
    moves = _weighed(tuple(own), gained, units)
    i, j = pair_index(len(own))
    lead = _weighed(tuple(map(str, range(len(i)))), gained[i] - gained[j], units)
    now = dict(_both(before, found, own))
    return moves, _overtaken(own, now, lead.p, higher=found.higher_is_better)


def _both(
    before: Memory, found: Comparison, names: Sequence[str]
) -> Iterator[tuple[str, tuple[float, float]]]:
    scores = found.aggregations[next(iter(found.aggregations))].scores
    for name in names:
        yield name, (before.systems[name].value, float(scores[found.systems.index(name)]))


def _weighed(names: tuple[str, ...], gained: Floats, units: Counts) -> Moves:
    """Test means of rows against 0, by unit."""
    if not len(gained):
        none = np.empty(0)
        return Moves(names, none, none, none, none)
    mean, error, freedom, n = mean_error(gained, units)
    upper, lower = t_tails(mean, error, freedom, n)
    p = np.where(np.isnan(error), np.nan, np.minimum(1.0, 2 * np.minimum(upper, lower)))
    reach = error * stdtrit(freedom, (1 + LEVEL) / 2)
    return Moves(names, mean, mean - reach, mean + reach, adjust(p, "holm"))


def _by_intervals(
    names: Sequence[str], before: Sequence[Standing], now: Sequence[Standing]
) -> Moves:
    """Weigh changes by two intervals each, as if they were independent."""
    change = np.array([b.value - a.value for a, b in zip(before, now, strict=True)])
    error = np.array([math.hypot(a.error, b.error) for a, b in zip(before, now, strict=True)])
    with np.errstate(invalid="ignore"):
        p = np.where(change == 0, 1.0, 2 * ndtr(-np.abs(ratio(change, error))))
    p = np.where(np.isnan(error) | np.isnan(change), np.nan, p)
    return Moves(tuple(names), change, change - _Z * error, change + _Z * error, adjust(p, "holm"))


def _apart(
    before: Memory, now: Memory, names: Sequence[str]
) -> tuple[Moves, tuple[tuple[str, str, float], ...]]:
    old, new = ([memory.systems[name] for name in names] for memory in (before, now))
    moves = _by_intervals(names, old, new)
    i, j = pair_index(len(names))

    def leads(side: Sequence[Standing]) -> list[Standing]:
        gaps = []
        for a, b in zip(i, j, strict=True):
            reach = _Z * math.hypot(side[a].error, side[b].error)
            gap = side[a].value - side[b].value
            gaps.append(Standing(gap, gap - reach, gap + reach))
        return gaps

    lead = _by_intervals([str(k) for k in range(len(i))], leads(old), leads(new))
    both = {name: (a.value, b.value) for name, a, b in zip(names, old, new, strict=True)}
    return moves, _overtaken(names, both, lead.p, higher=now.higher_is_better)


def _overtaken(
    names: Sequence[str], scores: Mapping[str, tuple[float, float]], p: Floats, *, higher: bool
) -> tuple[tuple[str, str, float], ...]:
    """List the pairs whose order is another one now, with the p-value of the change of the lead."""
    found = []
    for k, (a, b) in enumerate(zip(*pair_index(len(names)), strict=True)):
        before, now = (scores[names[a]][side] - scores[names[b]][side] for side in (0, 1))
        if before * now < 0:
            first = (now > 0) == higher
            pair = (names[a], names[b]) if first else (names[b], names[a])
            found.append((*pair, float(p[k])))
    return tuple(sorted(found, key=lambda one: (math.isnan(one[2]), one[2])))


def _metas(before: Memory, now: Memory) -> dict[str, Moves]:
    """Weigh changes of agreement under the meta-metrics of both reports."""
    if before.human is None or before.human != now.human:
        return {}
    found = {}
    for by, own in now.metas.items():
        names = [name for name in own if name in before.metas.get(by, {})]
        if names:
            old, new = [before.metas[by][name] for name in names], [own[name] for name in names]
            found[by] = _by_intervals(names, old, new)
    return found


def _first(systems: Mapping[str, Standing]) -> tuple[str, ...]:
    return tuple(sorted(name for name, own in systems.items() if own.rank == 1))


def _signed(value: float) -> str:
    return f"{value:+.3g}"


def _rank(own: Standing | None) -> int | None:
    return None if own is None else own.rank


def _value(own: Standing | None) -> float | None:
    return None if own is None else _known(own.value)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _shown_p(p: float, *, exact: bool) -> Cell:
    """Give a p-value, or how people read it."""
    if exact or math.isnan(p):
        return _known(p)
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _verdict(change: float, p: float, alpha: float) -> str:
    if change == 0:
        return "the same"
    if math.isnan(p):
        return "not known"
    return "more than noise" if p < alpha else "noise explains it"


def change_blocks(found: Changes, writer: Writer) -> tuple[Markup, ...]:
    """Write the blocks of the section."""
    blocks = [writer.words(*(text for _, text in found.told()))]
    if found.now.systems and found.before.systems:
        blocks.append(writer.table(found.system_table(), "Systems before and now"))
    if found.metrics:
        inner = writer.table(found.metric_table(), "Metrics before and now")
        blocks.append(writer.folded("Agreement of metrics before and now", inner))
    return tuple(blocks)
