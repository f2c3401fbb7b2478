"""The KoBE paper (Gekhman et al. 2020): its tables beside ours.

All rows of other metrics follow from the scores of the WMT19 metrics task. KoBE itself, both
variants, and the counts of entities follow from the authors' entity links, direction by direction:
from their release where it is at hand, of ru-en else from a sample of an earlier run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.provenance import InputFile
from steelyard.core.rng import Rng
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats import entities, tables
from steelyard.formats.entities import SIDES, EntityAnnotations
from steelyard.formats.rawtable import RawTable
from steelyard.kobe.annotations import entity_counts, linked, read_annotations
from steelyard.kobe.matching import Kobe, match, statistics
from steelyard.reproduction.reproduction import (
    COUNTED,
    Paper,
    Reproduction,
    Row,
    printed,
)
from steelyard.reproduction.search import Data, Places
from steelyard.stats.arrays import Floats
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


# -- what of its data is at hand: scores of WMT19, and entity links


#: The direction of which a sample of an earlier run is public, too.
SAMPLE = "ru-en"
#: Where system scores of the metrics task stand, and what the human score is called there.
SCORES = {
    "wmt19-metrics/sys-scores.csv.gz": "human_z",
    "wmt19_metric_task_results/sys-level_scores_metrics.csv": "DA",
    "data/wmt19_metric_task_results/sys-level_scores_metrics.csv": "DA",
    "KoBE/data/wmt19_metric_task_results/sys-level_scores_metrics.csv": "DA",
}
#: Where the authors' entity links stand.
RELEASES = ("annotations", "data/annotations", "KoBE/data/annotations", "wmt19-submitted-data",
            "newstest2019")  # fmt: skip
_GONE = {"gu-en": ("online-B.0",)}  # for want of scores, as the authors do
_NO_SCORES = ("lp", "system", "segid", "testset")


def none_of(side: str) -> str:
    """Say that source or reference have no links."""
    name = {"src": "source", "ref": "reference"}[side]
    return f"the entity links at hand have none of the {name}"


@dataclass(frozen=True, slots=True)
class Direction:
    """What the entity links of a direction give.

    ``scores`` are those of systems, by what they are compared with: ``src``, ``ref`` or both;
    ``sample`` tells whether the links are of the earlier run.
    """

    scores: Mapping[str, Mapping[str, float]]
    counts: tuple[int | None, ...]
    inputs: tuple[InputFile, ...]
    sample: bool = False

    @classmethod
    def of(cls, links: EntityAnnotations, *, sample: bool = False) -> Direction:
        """Score all systems as the authors' script does, and count entities."""
        mentions = linked(links)
        sides = {side: mentions.pop(side) for side in SIDES if side in mentions}
        scores = {}
        for side, wanted in sides.items():
            found = match(wanted, mentions)
            values = statistics(found, Kobe(rounded=True)).corpus_scores()
            scores[side] = dict(zip(found.systems, values.tolist(), strict=True))
        counts = entity_counts(sides.get("src"), sides.get("ref"))
        return cls(scores, counts, links.inputs, sample)

    def correlation(self, side: str, people: Mapping[str, float]) -> float | str:
        """Pearson's r with the scores of people, on systems that have both; or why there is none.

        Examples
        --------
        >>> one = Direction({"src": {"A": 1.0, "B": 2.0, "C": 4.0}}, (), ())
        >>> round(one.correlation("src", {"A": 1, "B": 2, "D": 9, "C": 3}), 3)
        0.982
        >>> one.correlation("ref", {})
        'the entity links at hand have none of the reference'
        """
        if side not in self.scores:
            return none_of(side)
        own = self.scores[side]
        pairs = np.array([[people[name], own[name]] for name in people if name in own])
        pairs = pairs.reshape(-1, 2)
        return float(pearson(pairs[:, :1], pairs[:, 1:])[0])

    def detail(self, people: Mapping[str, float]) -> str | None:
        """Say how many of the systems that people scored have links, unless all have."""
        own = next(iter(self.scores.values()))
        n = sum(name in own for name in people)
        return None if n == len(people) else f"{n} of {len(people)} systems have links"


@dataclass(frozen=True, slots=True)
class AtHand:
    """What of the paper's data is there: sets of scores and directions with links, and what not.

    ``no_scores`` and ``no_links`` say what was looked for; they are empty if all is there.
    """

    scores: Path | None
    sets: Mapping[str, EvalSet]
    human: str
    links: Mapping[str, Direction]
    no_scores: str
    no_links: str

    @classmethod
    def of(cls, places: Places, pairs: Sequence[str], progress: Progress | None = None) -> AtHand:
        """Look for the scores and the links of directions, and read them."""
        name = next((name for name in SCORES if places.file(name) is not None), "")
        scores = places.file(name) if name else None
        links: dict[str, Direction] = {}
        for done, (lp, found) in enumerate(_directions(places, pairs), 1):
            if found is not None:
                links[lp] = found
            if progress is not None:
                progress(done, len(pairs))
        absent = [lp for lp in pairs if lp not in links]
        wanted = (
            f"entity links of {listed(absent, len(pairs))} ({RELEASES[0]}/ of the KoBE release)"
        )
        return cls(
            scores=scores,
            sets={} if scores is None else _sets(scores, SCORES[name]),
            human=SCORES.get(name, ""),
            links=links,
            no_scores="" if scores is not None else places.without(*SCORES),
            no_links=places.without(wanted) if absent else "",
        )

    def people(self, pair: str) -> dict[str, float]:
        """The human scores of systems."""
        es = self.sets[pair]
        return dict(zip(es.systems, es[self.human].system_means().tolist(), strict=True))

    def lacks(self, *pairs: str) -> str:
        """Say why scores of these directions are not at hand; empty if they are."""
        gone = next((pair for pair in pairs if pair not in self.sets), None)
        return self.no_scores or ("" if gone is None else f"no scores of {gone}")

    def kobe(self, pair: str, side: str) -> float | str:
        """KoBE's correlation with people in one direction, or why it is not at hand."""
        if pair not in self.links:
            return self.no_links
        return self.lacks(pair) or self.links[pair].correlation(side, self.people(pair))


def _sets(path: Path, gold: str) -> dict[str, EvalSet]:
    """Read the table of system scores by direction; the authors' has columns that are no scores."""
    table = tables.read(path, is_text=_NO_SCORES.__contains__).without(["Unnamed: 0"])
    for column in ("lp", "system", gold):
        if column not in table:
            known = listed([f"'{name}'" for name in table.columns])
            table.fail(f"no column '{column}' (found {known}): expected lp, system and {gold}")
    names = [name for name in table.columns if name not in _NO_SCORES]
    scores = {name: table.numbers(name, optional=False) for name in names}
    return {pair: _set(own, scores, gold) for pair, own in _rows(table).items()}


def _rows(table: RawTable) -> dict[str, dict[str, int]]:
    """Find the rows of directions and their systems, each of which has one."""
    found: dict[str, dict[str, int]] = {}
    labels = zip(table.labels("lp"), table.labels("system"), strict=True)
    for row, (pair, system) in enumerate(labels):
        if system in _GONE.get(pair, ()):
            continue
        own = found.setdefault(pair, {})
        if system in own:
            stands = f"stands on line {table.line(own[system])} already"
            table.fail(f"system '{system}' of {pair} {stands}", row)
        own[system] = row
    return found


def _set(rows: Mapping[str, int], scores: Mapping[str, Floats], gold: str) -> EvalSet:
    """Make the set of a direction."""
    systems = sorted(rows)
    places = [rows[system] for system in systems]
    columns = {
        name: ScoreTable(
            np.empty((len(systems), 0)),
            kind="human" if name == gold else "metric",
            system_scores=values[places],
        )
        for name, values in scores.items()
    }
    return EvalSet(tuple(systems), Segments(()), columns)


def sample_of(pair: str) -> str:
    """Name the file of a direction's links that are JSON lines."""
    return f"wmt19-metrics/kobe-entities.{pair}.jsonl.gz"


def _directions(places: Places, pairs: Sequence[str]) -> Iterator[tuple[str, Direction | None]]:
    """Score directions one by one, so that the links of one are in memory at a time."""
    released = _released(places)
    for pair in pairs:
        lines = places.file(sample_of(pair))
        if pair in released:
            yield pair, Direction.of(entities.read_released(released[pair]))
        elif lines is not None:
            yield pair, Direction.of(read_annotations(lines), sample=pair == SAMPLE)
        else:
            yield pair, None


def _released(places: Places) -> dict[str, Path]:
    """Find the folders of directions: of the release by its name, or of a folder that is one."""
    held = places.folder(*RELEASES, holds=lambda path: bool(entities.released_pairs(path)))
    folders = [folder for folder in (held, *places.roots) if folder is not None]
    return next((pairs for folder in folders if (pairs := entities.released_pairs(folder))), {})
