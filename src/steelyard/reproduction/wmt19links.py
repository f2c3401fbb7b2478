"""The data of the KoBE paper, as far as they are at hand: scores of WMT19, and entity links.

Every direction stands by itself: one whose links are there is scored as the authors' script does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.core.provenance import InputFile
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats import entities, tables
from steelyard.formats.entities import SIDES, EntityAnnotations
from steelyard.formats.rawtable import RawTable
from steelyard.kobe.annotations import entity_counts, linked, read_annotations
from steelyard.kobe.matching import Kobe, match, statistics
from steelyard.reproduction.search import Places
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson
from steelyard.studies.study import Progress

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
