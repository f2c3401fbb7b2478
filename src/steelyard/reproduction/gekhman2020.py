"""The KoBE paper (Gekhman et al. 2020): its tables beside ours.

All rows of other metrics follow from the scores of the WMT19 metrics task. KoBE itself, both
variants, and the counts of entities follow from the authors' entity links, direction by direction:
from their release where it is at hand, of ru-en else from a sample of an earlier run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.progress import each
from steelyard.core.provenance import InputFile
from steelyard.core.rng import Rng
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats import entities
from steelyard.formats.entities import SIDES, EntityAnnotations
from steelyard.formats.load import column_values, load
from steelyard.kobe.annotations import entity_counts, linked, read_annotations
from steelyard.kobe.matching import Kobe, match, statistics
from steelyard.reproduction.places import Data, Places
from steelyard.reproduction.reproduction import Ours, Paper, Reproduction, Row, cells, compare
from steelyard.stats.correlation import pearson

PAPER = Paper("kobe", "KoBE: Knowledge-Based Machine Translation Evaluation (2020)", "gekhman2020")
TABLES = ("table1", "table2", "table3")
COUNTS = ("table5", "table6", "table7")
_EARLIER = (
    "the sample of entity links is an earlier run of the authors' linker, of 8 of the 14 systems"
)
_OTHERS = "other links, or scores of people, than those of the paper"
#: The direction of which a sample of an earlier run is public, too.
SAMPLE = "ru-en"
#: Where system scores of the metrics task stand, what the human score is called there, and columns
#: that are no scores.
_AUTHORS = "wmt19_metric_task_results/sys-level_scores_metrics.csv"
SCORES = {
    "wmt19-metrics/sys-scores.csv.gz": ("human_z", ()),
    **{
        f"{folder}{_AUTHORS}": ("DA", ("segid", "testset"))
        for folder in ("", "data/", "KoBE/data/")
    },
}
#: Where the authors' entity links stand.
RELEASES = ("annotations", "data/annotations", "KoBE/data/annotations", "wmt19-submitted-data",
            "newstest2019")  # fmt: skip
_GONE = {"gu-en": ("online-B.0",)}  # for want of scores, as the authors do
Correlations = Mapping[str, Mapping[str, Any]]  # by direction, then by metric


def reproduce_kobe(
    data: Places | Data,
    *,
    rng: Rng = 0,  # noqa: ARG001
) -> Reproduction:
    """Compare the paper's figures with ours.

    ``data`` may hold the scores of the WMT19 metrics task and the release of entity links: every
    direction that is there is used, none is needed.
    """
    published, places = PAPER.figures(), Places.of(data)
    printed: dict[str, dict[str, float]] = {}
    for key in TABLES:
        for _, metric, lp, value in cells(published[key]):
            printed.setdefault(lp, {})[metric] = value
    there = AtHand(places, [lp for key in TABLES for lp in published[key]["columns"]])
    kinds = [*published["table5"]["rows"]]
    rows = [
        *(row for key in TABLES for row in compare(published[key], there.cell)),
        *_table4_rows(published, there),
        *_claim_rows(published, printed, there),
        *_sign_rows(printed, there),
        *_sample_rows(published, places, there),
        *(
            row
            for key in COUNTS
            for row in compare(published[key], lambda what, lp: there.count(kinds.index(what), lp))
        ),
        *PAPER.absent(),
    ]
    read = [file for direction in there.links.values() for file in direction.inputs]
    return PAPER.reproduced(rows, [there.scores, *read], [there.no_scores, there.no_links])


def correlations(es: EvalSet, gold: str = "human_z") -> dict[str, float]:
    """Pearson's r of every metric with the human scores of systems, with its sign."""
    human = es[gold].system_means()[:, None]
    return {
        name: float(pearson(human, es[name].system_means()[:, None])[0])
        for name in es.scores
        if name != gold
    }


def _table4_rows(published: Mapping[str, Any], there: AtHand) -> Iterator[Row]:
    """BLEU again, and KoBE with the reference in place of the source, with their means."""
    table = published["table4"]
    *directions, _ = table["columns"]

    def cell(metric: str, lp: str) -> Ours | float | str:
        if lp == "mean":
            return _mean([there.metric("BLEU", lp) for lp in directions])
        return there.cell(metric, lp, "ref")

    yield from compare(table, cell)
    means = {
        "from the printed cells": float(np.mean(table["rows"]["KoBE"][:-1])),
        "from our cells": _mean([there.kobe(lp, "ref").figure for lp in directions]),
    }
    yield from compare(published["mean"], lambda row, _: Ours(means[row], _OTHERS))


def _mean(figures: Sequence[float | str]) -> float | str:
    """The mean of all figures, or why one of them is not at hand."""
    return _missing(figures) or float(np.mean([float(figure) for figure in figures]))


def _missing(figures: Iterable[float | str]) -> str:
    return next((figure for figure in figures if isinstance(figure, str)), "")


def _claim_rows(
    published: Mapping[str, Any], printed: Correlations, there: AtHand
) -> Iterator[Row]:
    """What the paper says of its tables, counted in the tables as printed, and in ours."""
    table = published["table4"]
    *directions, _ = table["columns"]
    claims = published["claims"]
    against: list[tuple[Any, Any]] = [*zip(*map(table["rows"].get, ("KoBE", "BLEU")), strict=True)]
    counts = dict(zip(claims["rows"], _wins(printed, against[:-1]), strict=True))
    reason = "counted in Tables 1 to 4 as printed"
    yield from compare(claims, lambda row, _: Ours(counts[row], reason), where="the printed")
    kobe = {lp: there.kobe(lp, "src").figure for lp in printed}
    reference = {lp: there.kobe(lp, "ref").figure for lp in directions}
    missing = _missing([*kobe.values(), *reference.values()])
    if not missing:
        ours = {
            lp: {name: there.metric(name, lp) for name in row} | {"KoBE": kobe[lp]}
            for lp, row in printed.items()
        }
        against = [(reference[lp], there.metric("BLEU", lp)) for lp in directions]
        counts = dict(zip(claims["rows"], _wins(ours, against), strict=True))
    yield from compare(claims, lambda row, _: Ours(missing or counts[row], _OTHERS), where="our")


def _wins(tables: Correlations, against: Iterable[tuple[Any, Any]]) -> tuple[float, ...]:
    """Count directions on which KoBE is the best without references, beats BLEU, and with them."""
    best = _above_zero(
        row["KoBE"] - np.max([r for name, r in row.items() if name not in ("KoBE", "BLEU")])
        for row in tables.values()
    )
    over = _above_zero(row["KoBE"] - row["BLEU"] for row in tables.values())
    return best, over, _above_zero(kobe - bleu for kobe, bleu in against)


def _above_zero(numbers: Iterable[float]) -> float:
    every = [*numbers]
    return math.nan if np.isnan(every).any() else int(np.greater(every, 0).sum())


def _sign_rows(printed: Correlations, there: AtHand) -> Iterator[Row]:
    """Metrics that go with people in some directions and against them in others."""
    missing = there.lacks(*printed)
    ours: dict[str, dict[str, Any]] = {
        lp: {name: there.metric(name, lp) for name in row if name != "KoBE"}
        for lp, row in printed.items()
    }
    for name in dict.fromkeys(name for row in ours.values() for name in row):
        shown = [row[name] for row in printed.values() if name in row]
        if min(shown) <= 0 <= max(shown):
            what = f"Section 5, directions in which {name} goes against people, of {len(shown)}"
            count = missing or _above_zero(-row[name] for row in ours.values() if name in row)
            yield Row.judge(what, sum(r < 0 for r in shown), count, note="by rounding")
    if missing:
        yield Row.absent("Section 5, absolute values hide signs", "yes", missing)
        return
    hidden = []
    for lp, row in ours.items():
        del row["BLEU"]
        by_sign, by_size = max(row, key=lambda n: row[n]), max(row, key=lambda n: abs(row[n]))
        if by_sign != by_size:
            hidden.append(f"{lp}: {by_size} instead of {by_sign}")
    what = "absolute values change the best metric without references"
    reason = "no direction has another best metric by absolute values"
    undefined = any(math.isnan(r) for row in ours.values() for r in row.values())
    holds = None if undefined else bool(hidden)
    yield Row.claim(f"Section 5, {what} ({', '.join(hidden)})", holds=holds, reason=reason)


def _sample_rows(published: Mapping[str, Any], places: Places, there: AtHand) -> Iterator[Row]:
    name = sample_of(SAMPLE)
    path = places.file(name)
    scores: Mapping[str, float] = {}
    missing = places.without(name) if path is None else there.lacks(SAMPLE)
    r: float | str = missing
    if path is not None:
        direction = there.links[SAMPLE]
        if not direction.sample:
            direction = Direction.of(read_annotations(path), sample=True)
        scores = direction.scores["ref"]
        r = missing or direction.correlation("ref", there.people[SAMPLE])
    yield from compare(published["sample"], lambda system, _: scores[system] if scores else missing)
    yield from compare(published["correlation"], lambda *_: r)


# -- what of its data is at hand: scores of WMT19, and entity links

#: Why source or reference have no figures.
_NO_LINKS = {
    "src": "the entity links at hand have none of the source",
    "ref": "the entity links at hand have none of the reference",
}


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
            matches = match(wanted, mentions)
            values = statistics(matches, Kobe(rounded=True)).corpus_scores()
            scores[side] = dict(zip(matches.systems, values.tolist(), strict=True))
        counts = entity_counts(sides.get("src"), sides.get("ref"))
        return cls(scores, counts, links.inputs, sample)

    def correlation(self, side: str, people: Mapping[str, float]) -> float | str:
        """Pearson's r with the scores of people, where systems have both; or why there is none."""
        if side not in self.scores:
            return _NO_LINKS[side]
        scores = self.scores[side]
        pairs = np.array([[people[name], scores[name]] for name in people if name in scores])
        pairs = pairs.reshape(-1, 2)
        return float(pearson(pairs[:, :1], pairs[:, 1:])[0])


class AtHand:
    """What of the paper's data is there: scores by direction, and directions with links.

    ``no_scores`` and ``no_links`` say what was looked for; they are empty if all is there.
    """

    def __init__(self, places: Places, pairs: Sequence[str]) -> None:
        name = next((name for name in SCORES if places.file(name) is not None), None)
        self.scores = None if name is None else places.file(name)
        self.no_scores = places.without(*SCORES) if name is None else ""
        self.people: dict[str, dict[str, float]] = {}
        self.metrics: dict[str, dict[str, float]] = {}  # their correlations
        if self.scores is not None and name is not None:
            human, ignore = SCORES[name]
            for lp in column_values(self.scores, column="lp"):
                es = load(self.scores, where={"lp": lp}, human=human, ignore=ignore)
                es = es.drop(systems=[s for s in _GONE.get(lp, ()) if s in es.systems])
                means = es[human].system_means().tolist()
                self.people[lp] = dict(zip(es.systems, means, strict=True))
                self.metrics[lp] = correlations(es, human)
        self.links: dict[str, Direction] = {}
        released = _released(places)
        for pair in each(pairs):  # one by one: links are large
            lines = places.file(sample_of(pair))
            if pair in released:
                self.links[pair] = Direction.of(entities.read_released(released[pair]))
            elif lines is not None:
                sample = pair == SAMPLE
                self.links[pair] = Direction.of(read_annotations(lines), sample=sample)
        absent = listed([pair for pair in pairs if pair not in self.links], len(pairs))
        wanted = f"entity links of {absent} ({RELEASES[0]}/ of the KoBE release)"
        self.no_links = places.without(wanted) if absent else ""

    def lacks(self, *pairs: str) -> str:
        """Say why scores of these directions are not at hand; empty if they are."""
        gone = next((pair for pair in pairs if pair not in self.metrics), None)
        return self.no_scores or ("" if gone is None else f"no scores of {gone}")

    def cell(self, metric: str, pair: str, side: str = "src") -> Ours | float | str:
        """A cell of Tables 1 to 4."""
        return self.kobe(pair, side) if metric == "KoBE" else self.metric(metric, pair)

    def metric(self, name: str, pair: str) -> float | str:
        """The correlation of another metric; one that the scores lack is undefined."""
        return self.lacks(pair) or self.metrics[pair].get(name, math.nan)

    def kobe(self, pair: str, side: str) -> Ours:
        """KoBE's correlation with people in one direction, or why it is not at hand."""
        direction, missing = self.links.get(pair), self.lacks(pair)
        if direction is None or missing:
            return Ours(self.no_links if direction is None else missing)
        people, scores = self.people[pair], next(iter(direction.scores.values()))
        n = sum(name in scores for name in people)
        detail = None if n == len(people) else f"{n} of {len(people)} systems have links"
        reason = _EARLIER if direction.sample else _OTHERS
        return Ours(direction.correlation(side, people), reason, detail, direction.sample)

    def count(self, place: int, pair: str) -> Ours:
        """A count of entities, by its place in the tables."""
        direction = self.links.get(pair)
        if direction is None:
            return Ours(self.no_links)
        count = direction.counts[place]
        if count is None:
            return Ours(_NO_LINKS["src" if direction.counts[2] is None else "ref"])
        return Ours(count, _EARLIER if direction.sample else _OTHERS, other_data=direction.sample)


def sample_of(pair: str) -> str:
    """Name the file of a direction's links that are JSON lines."""
    return f"wmt19-metrics/kobe-entities.{pair}.jsonl.gz"


def _released(places: Places) -> dict[str, Path]:
    release = places.folder(*RELEASES, holds=lambda path: bool(entities.released_pairs(path)))
    folders = [folder for folder in (release, *places.roots) if folder is not None]
    return next((pairs for folder in folders if (pairs := entities.released_pairs(folder))), {})
