"""What studies found in words, each by what its tables show.

A study is a question of its own, so that each has a function of its own here, found by its name.
Cells are quoted as the table shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from steelyard.core.display import Statement
from steelyard.core.table import MISSING, Table
from steelyard.core.text import all_of, plural, sentence

if TYPE_CHECKING:
    from steelyard.studies.results import Study

Row = dict[str, str]


def _rows(table: Table) -> list[Row]:
    """Give the cells as they are shown, by the names of columns."""
    return [dict(zip(table.keys(), row, strict=True)) for row in table.shown()]


def _power(found: Study) -> Iterator[Statement]:
    needed = found.parts["needed"]
    unit, target = found.parts["power"].columns[0].name, needed.title.rpartition(" ")[2]
    what = needed.title.partition(":")[0]
    rows = _rows(needed)
    known = [f"{row['needed']} {unit} by {row['what']}" for row in rows if row["needed"] != MISSING]
    if known:
        yield "settled", f"{what} is {target} or more with {all_of(known)}."
    for row in rows:
        if row["needed"] == MISSING:
            yield "undecided", f"By {row['what']} it takes {row['note']} {unit}."


def _subsets(found: Study) -> Iterator[Statement]:
    table = next(iter(found.parts.values()))
    rows = _rows(table)
    if not rows:
        return
    by, most, least = table.keys()[1], rows[-1], rows[0]
    text = f"Values of {by} with {most['systems']} systems correlate at {most[by]}"
    rest = f"with {least['systems']} systems at {least[by]}"
    yield "settled", f"{text} with those of all, {rest}."


def _segments(found: Study) -> Iterator[Statement]:
    table = found.parts["widths"]
    rows, by = _rows(table), table.keys()[2]
    if not rows:
        return
    own = [row for row in rows if row["metric"] == rows[0]["metric"] and row[by] != MISSING]
    if own:
        few, many = own[0], own[-1]
        text = f"The 95 % interval of {by} of {own[0]['metric']} is {few[by]} wide with"
        text += f" {few['segments']} segments, {many[by]} with {many['segments']}"
        yield "settled", f"{text}."


def _distinct(found: Study) -> Iterator[Statement]:
    for row in _rows(found.parts["counts"]):
        text = f"{row['with']} tells {row['significant']} of {row['pairs']} pairs of metrics apart"
        yield "settled", f"{text}, in {row['clusters']} clusters."


def _sentinels(found: Study) -> Iterator[Statement]:
    table = found.parts["metrics"]
    shown = table.shown()
    names = [column.name for column in table.columns]
    for j in range(1, len(names) - 1, 2):
        above = [row[j + 1] == "yes" for row in shown if row[j] != MISSING]
        below = [row[0] for row in shown if row[j + 1] == "no"]
        text = f"By {names[j]}, {sum(above)} of {plural(len(above), 'metric')} do better"
        yield "settled", f"{text} than scores that know nothing of quality."
        if below:
            does = "does" if len(below) == 1 else "do"
            yield "undecided", f"By {names[j]}, {all_of(below)} {does} not."


def _worth(found: Study) -> Iterator[Statement]:
    rows = _rows(found.parts["needed"])
    key = "80 %"
    if not rows or key not in rows[0]:
        return
    known = [row for row in rows if row[key] != MISSING]
    if known:
        best = max(known, key=lambda row: (row["agree"], row["metric"]))
        text = f"People agree with a difference of {best[key]} {best['metric']} in 80 % of pairs"
        yield "settled", f"{text}; it has {best['agree']} of all pairs in people's order."
    lost = [row["metric"] for row in rows if row[key] == MISSING]
    if lost:
        text = f"No difference of {all_of(lost)} that was seen is agreed with so often"
        yield "undecided", f"{text}."


def _ties(found: Study) -> Iterator[Statement]:
    rows = _rows(found.parts["flips"])
    best = Counter(row["best"] for row in rows if row["best"] != MISSING)
    if not best:
        return
    first, n = best.most_common(1)[0]
    total = plural(sum(best.values()), "treatment")
    if len(best) == 1:
        yield "settled", f"{first} is the best metric under all {total} of ties."
        return
    others = all_of([f"{name} under {k}" for name, k in best.most_common()[1:]])
    depends = f"The best metric depends on what a tie is: {first} under {n} of {total}"
    yield "undecided", f"{depends}, {others}."


def _disagreement(found: Study) -> Iterator[Statement]:
    for row in _rows(found.parts["overall"]):
        if row["pairs"] == MISSING:
            continue
        both = row["rankings"].replace(", ", " and ")
        told = f"{both} order {_percent(row['pairs'])} of pairs differently"
        if row["best"] != MISSING:
            told += f", and name another best system in {_percent(row['best'])} of setups"
        yield "settled", sentence(told)


def _percent(share: str) -> str:
    return f"{100 * float(share):.1f} %"


def _simulation(found: Study) -> Iterator[Statement]:
    rows = [row for row in _rows(found.parts["overall"]) if row["tau"] != MISSING]
    if not rows:
        return
    order = sorted(rows, key=lambda row: -float(row["tau"]))
    shown = all_of([f"{row['ranking']} {row['tau']}" for row in order])
    first = f"By Kendall's tau with the true order, {order[0]['ranking']} is first"
    yield "settled", f"{first}: {shown}."
    claims = _rows(found.parts["claims"])
    hold = sum(row["holds"] == "yes" for row in claims)
    yield "sureness", f"{hold} of {plural(len(claims), 'claim')} of the paper hold here."


def _threshold(found: Study) -> Iterator[Statement]:
    for row in _rows(found.parts["thresholds"]):
        if row["threshold"] != MISSING:
            text = f"Differences under {row['threshold']} may be a tie of people"
            yield "settled", f"{text} ({row['equal']}: {row['pairs']} pairs of equal outputs)."


#: What each study says, by its name.
SAID: Mapping[str, Callable[[Study], Iterator[Statement]]] = {
    "disagreement": _disagreement,
    "distinct": _distinct,
    "power": _power,
    "segments": _segments,
    "sentinels": _sentinels,
    "simulation": _simulation,
    "systems": _subsets,
    "threshold": _threshold,
    "ties": _ties,
    "worth": _worth,
}
