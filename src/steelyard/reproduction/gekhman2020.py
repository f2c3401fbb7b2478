"""The KoBE paper (Gekhman et al. 2020): its tables beside ours.

All rows of other metrics follow from the scores of the WMT19 metrics task. KoBE itself, both
variants, and the counts of entities follow from the authors' entity links, direction by direction:
from their release where it is at hand, of ru-en else from a sample of an earlier run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.rng import Rng
from steelyard.data.evalset import EvalSet
from steelyard.kobe.annotations import read_annotations
from steelyard.reproduction.reproduction import (
    COUNTED,
    Paper,
    Reproduction,
    Row,
    printed,
)
from steelyard.reproduction.search import Data, Places
from steelyard.reproduction.wmt19links import SAMPLE, AtHand, Direction, none_of, sample_of
from steelyard.stats.correlation import pearson
from steelyard.studies.study import Progress

PAPER = Paper("kobe", "KoBE: Knowledge-Based Machine Translation Evaluation (2020)", "gekhman2020")
TABLES = {"table1": "Table 1", "table2": "Table 2", "table3": "Table 3"}
COUNTS = {"table5": "Table 5", "table6": "Table 6", "table7": "Table 7"}
_WITHIN = printed(3)
_EARLIER = (
    "the sample of entity links is an earlier run of the authors' linker, of 8 of the 14 systems"
)
_OTHERS = "other links, or scores of people, than those of the paper"
Cells = Mapping[str, Mapping[str, float]]  # by direction, then by metric


def reproduce_kobe(
    data: Places | Data,
    *,
    rng: Rng = 0,  # noqa: ARG001
    progress: Progress | None = None,
) -> Reproduction:
    """Compare the paper's figures with ours.

    ``data`` may hold the scores of the WMT19 metrics task and the release of entity links: every
    direction that is there is used, none is needed.
    """
    published, places = PAPER.figures(), Places.of(data)
    pairs = [lp for key in TABLES for lp in published[key]["columns"]]
    there = AtHand.of(places, pairs, progress)
    # A metric that the scores lack is as undefined as one that is the same for all systems.
    ours = {
        lp: defaultdict(lambda: math.nan, correlations(es, there.human))
        for lp, es in there.sets.items()
    }
    rows = [
        *_table_rows(published, ours, there),
        *_table4_rows(published["table4"], ours, there),
        *_claim_rows(published, ours, there),
        *_sign_rows(published, ours, there.lacks(*pairs)),
        *_sample_rows(published["sample"], places, there),
        *_count_rows(published, there),
        *_not_comparable(),
    ]
    read = [file for one in there.links.values() for file in one.inputs]
    return PAPER.reproduced(rows, [there.scores, *read], [there.no_scores, there.no_links])


def correlations(es: EvalSet, gold: str = "human_z") -> dict[str, float]:
    """Pearson's r of every metric with the human scores of systems, with its sign."""
    human = es[gold].system_means()[:, None]
    return {
        name: float(pearson(human, es[name].system_means()[:, None])[0])
        for name in es.scores
        if name != gold
    }


def _cells(published: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """List what Tables 1 to 3 print: table, direction, metric, value."""
    for key, title in TABLES.items():
        directions = published[key]["columns"]
        for metric, cells in published[key].items():
            for lp, value in zip(directions, cells, strict=True) if metric != "columns" else ():
                if not math.isnan(value):
                    yield title, lp, metric, value


def _kobe_row(what: str, value: float, pair: str, side: str, there: AtHand) -> Row:
    """Judge a cell of KoBE."""
    found = there.links.get(pair)
    detail = None if found is None or there.lacks(pair) else found.detail(there.people(pair))
    earlier = found is not None and found.sample
    reason, ours = _EARLIER if earlier else _OTHERS, there.kobe(pair, side)
    return Row.judge(what, value, ours, _WITHIN, reason, detail, other_data=earlier)


def _table_rows(published: Mapping[str, Any], ours: Cells, there: AtHand) -> Iterator[Row]:
    for title, lp, metric, value in _cells(published):
        what = f"{title}, {lp}, {metric}"
        if metric == "KoBE":
            yield _kobe_row(what, value, lp, "src", there)
        else:
            found = there.lacks(lp) or ours[lp][metric]
            yield Row.judge(what, value, found, _WITHIN, "by rounding")


def _table4_rows(table: Mapping[str, Any], ours: Cells, there: AtHand) -> Iterator[Row]:
    """BLEU again, and KoBE with the reference in place of the source, with their means."""
    *directions, _ = table["columns"]
    bleu: dict[str, float | str] = {lp: there.lacks(lp) or ours[lp]["BLEU"] for lp in directions}
    bleu["mean"] = _mean(tuple(bleu.values()))
    for lp, value in zip(table["columns"], table["BLEU"], strict=True):
        yield Row.judge(f"Table 4, {lp}, BLEU", value, bleu[lp], _WITHIN, "rounding")
    *cells, mean = table["KoBE"]
    for lp, value in zip(directions, cells, strict=True):
        yield _kobe_row(f"Table 4, {lp}, KoBE", value, lp, "ref", there)
    what = "Table 4, mean, KoBE, from the printed cells"
    yield Row.judge(what, mean, float(np.mean(cells)), _WITHIN, "by rounding")
    own = _mean([there.kobe(lp, "ref") for lp in directions])
    yield Row.judge("Table 4, mean, KoBE, from our cells", mean, own, _WITHIN, _OTHERS)


def _mean(cells: Sequence[float | str]) -> float | str:
    """The mean of all cells, or why one of them is not at hand."""
    absent = next((cell for cell in cells if isinstance(cell, str)), None)
    return absent or float(np.mean([float(cell) for cell in cells]))


def _printed(published: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Printed cells by direction."""
    found: dict[str, dict[str, float]] = {}
    for _, lp, metric, value in _cells(published):
        found.setdefault(lp, {})[metric] = value
    return found


def _claim_rows(published: Mapping[str, Any], ours: Cells, there: AtHand) -> Iterator[Row]:
    """What the paper says of its tables, counted in the tables as printed, and in ours."""
    table = published["table4"]
    printed = _printed(published)
    *directions, _ = table["columns"]
    with_references = {
        lp: (one, other)
        for lp, one, other in zip(directions, table["KoBE"], table["BLEU"], strict=False)
    }
    reason = "counted in Tables 1 to 4 as printed"
    counted = _wins(printed, with_references)
    for (what, value), own in zip(published["claims"].items(), counted, strict=True):
        yield Row.judge(f"Section 4, {what}, in the printed cells", value, own, COUNTED, reason)
    kobe = {lp: there.kobe(lp, "src") for lp in printed}
    reference = {lp: there.kobe(lp, "ref") for lp in directions}
    cells = [*kobe.values(), *reference.values()]
    missing = next((one for one in cells if isinstance(one, str)), "")
    found: Sequence[float] = (0, 0, 0)
    if not missing:
        table123: dict[str, dict[str, Any]] = {
            lp: {name: ours[lp][name] for name in own if name != "KoBE"} | {"KoBE": kobe[lp]}
            for lp, own in printed.items()
        }
        against = {lp: (reference[lp], ours[lp]["BLEU"]) for lp in directions}
        found = _wins(table123, against)
    for (what, value), own in zip(published["claims"].items(), found, strict=True):
        told = f"Section 4, {what}, in our cells"
        yield Row.judge(told, value, missing or own, COUNTED, _OTHERS)


def _wins(cells: Mapping[str, Mapping[str, Any]], against: Mapping[str, Any]) -> tuple[float, ...]:
    """Count directions on which KoBE is the best without references, beats BLEU, and with them."""
    best = _above_zero(
        own["KoBE"] - np.max([r for name, r in own.items() if name not in ("KoBE", "BLEU")])
        for own in cells.values()
    )
    over = _above_zero(own["KoBE"] - own["BLEU"] for own in cells.values())
    return best, over, _above_zero(one - other for one, other in against.values())


def _above_zero(numbers: Iterable[float]) -> float:
    """Count what is above zero; NaN if one of the numbers is undefined."""
    every = [*numbers]
    return math.nan if np.isnan(every).any() else int(np.greater(every, 0).sum())


def _sign_rows(published: Mapping[str, Any], ours: Cells, missing: str) -> Iterator[Row]:
    """Metrics that go with people in some directions and against them in others."""
    printed = _printed(published)
    names = dict.fromkeys(name for own in printed.values() for name in own if name != "KoBE")
    for name in names:
        shown = [own[name] for own in printed.values() if name in own]
        if min(shown) > 0 or max(shown) < 0:
            continue
        negative = sum(r < 0 for r in shown)
        what = f"Section 5, directions in which {name} goes against people, of {len(shown)}"
        found = () if missing else (ours[lp][name] for lp, own in printed.items() if name in own)
        count = _above_zero(-r for r in found)
        yield Row.judge(what, negative, missing or count, COUNTED, "by rounding")
    if missing:
        yield Row.absent("Section 5, absolute values hide signs", "yes", missing)
        return
    own = {
        lp: {name: ours[lp][name] for name in cells if name not in ("KoBE", "BLEU")}
        for lp, cells in printed.items()
    }
    hidden = list(_hidden(own))
    what = "absolute values change the best metric without references"
    reason = "no direction has another best metric by absolute values"
    undefined = any(math.isnan(r) for cells in own.values() for r in cells.values())
    holds = None if undefined else bool(hidden)
    yield Row.claim(f"Section 5, {what} ({', '.join(hidden)})", holds=holds, reason=reason)


def _hidden(cells: Cells) -> Iterator[str]:
    """Directions whose best metric by absolute value is not the best by signed value."""
    for lp, found in cells.items():
        by_sign = max(found, key=lambda name: found[name])
        by_size = max(found, key=lambda name: abs(found[name]))
        if by_sign != by_size:
            yield f"{lp}: {by_size} instead of {by_sign}"


def _sample_rows(sample: Mapping[str, Any], places: Places, there: AtHand) -> Iterator[Row]:
    """What the authors' code gives on the sample that stands in their repository."""
    name = sample_of(SAMPLE)
    path = places.file(name)
    missing = places.without(name) if path is None else there.lacks(SAMPLE)
    found = None if path is None else there.links[SAMPLE]
    if path is not None and found is not None and not found.sample:
        found = Direction.of(read_annotations(path), sample=True)
    for system, value in sample["scores"].items():
        own = missing if found is None else found.scores["ref"][system]
        yield Row.judge(f"Authors' code, KoBE of {system}", value, own, printed(2), "by rounding")
    r = missing if missing or found is None else found.correlation("ref", there.people(SAMPLE))
    yield Row.judge(f"Authors' code, r of {SAMPLE}", sample["r"], r, _WITHIN)


def _count_rows(published: Mapping[str, Any], there: AtHand) -> Iterator[Row]:
    """Entities of sources and references, direction by direction."""
    for key, title in COUNTS.items():
        for k, lp in enumerate(published[key]["columns"]):
            direction = there.links.get(lp)
            counts = (None,) * 7 if direction is None else direction.counts
            named = [name for name in published[key] if name != "columns"]
            for name, own in zip(named, counts, strict=True):
                absent = there.no_links
                if direction is not None and own is None:
                    absent = none_of("src" if direction.counts[2] is None else "ref")
                found = absent if own is None else own
                what, value = f"{title}, {lp}, {name}", published[key][name][k]
                earlier = direction is not None and direction.sample
                reason = _EARLIER if earlier else _OTHERS
                yield Row.judge(what, value, found, COUNTED, reason, other_data=earlier)


def _not_comparable() -> Iterator[Row]:
    for what in (
        "Figure 2, scores of ru-en",
        "Figure 3, entity categories of zh-en",
        "Figure 4, entities per sentence of ru-en",
    ):
        yield Row.absent(what, None, "drawn only: no figures are printed")
