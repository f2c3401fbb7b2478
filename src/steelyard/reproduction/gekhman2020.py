"""The KoBE paper (Gekhman et al. 2020): its tables beside ours.

All rows of other metrics follow from the scores of the WMT19 metrics task. Of the authors' entity
links a sample is at hand: reference and eight systems of ru-en, by an earlier run of their linker.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.rng import Rng
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import load
from steelyard.kobe.annotations import linked, read_annotations
from steelyard.kobe.matching import Kobe, match, statistics
from steelyard.reproduction.reproduction import (
    COUNTED,
    Paper,
    Reproduction,
    Row,
    printed,
)
from steelyard.reproduction.search import Data, Places
from steelyard.stats.correlation import pearson
from steelyard.studies.results import Progress

PAPER = Paper("kobe", "KoBE: Knowledge-Based Machine Translation Evaluation (2020)", "gekhman2020")
TABLES = {"table1": "Table 1", "table2": "Table 2", "table3": "Table 3"}
SAMPLE = "ru-en"
_WITHIN = printed(3)
_LINKS = "the entity links of the paper are not at hand"
_EARLIER = (
    "the sample of entity links is an earlier run of the authors' linker, of 8 of the 14 systems"
)
Cells = Mapping[str, Mapping[str, float]]  # by direction, then by metric


def reproduce_kobe(
    data: Places | Data,
    *,
    rng: Rng = 0,  # noqa: ARG001
    progress: Progress | None = None,
) -> Reproduction:
    """Compare the paper's figures with ours, as far as ``data`` holds ``wmt19-metrics/``."""
    published, places = PAPER.figures(), Places.of(data)
    wanted = "wmt19-metrics/sys-scores.csv.gz", f"wmt19-metrics/kobe-entities.{SAMPLE}.jsonl.gz"
    scores, links = map(places.file, wanted)
    sets, missing = {}, places.without(*(name for name in wanted if places.file(name) is None))
    if scores is not None and links is not None:
        missing = ""
        names = [lp for key in TABLES for lp in published[key]["columns"]]
        for done, lp in enumerate(names):
            sets[lp] = load(scores, where={"lp": lp}, human="human_z")
            if progress is not None:
                progress(done + 1, len(names))
    ours = {lp: correlations(es) for lp, es in sets.items()}
    rows = [
        *_table_rows(published, ours, missing),
        *_table4_rows(published["table4"], ours, missing),
        *_claim_rows(published),
        *_sign_rows(published, ours, missing),
        *_sample_rows(published, links, sets.get(SAMPLE), missing),
        *_not_comparable(published),
    ]
    return PAPER.reproduced(rows, (scores, links), [missing])


def correlations(es: EvalSet) -> dict[str, float]:
    """Pearson's r of every metric with the human scores of systems, with its sign."""
    human = es["human_z"].system_means()[:, None]
    return {
        name: float(pearson(human, es[name].system_means()[:, None])[0])
        for name in es.scores
        if name != "human_z"
    }


def _cells(published: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """List what Tables 1 to 3 print: table, direction, metric, value."""
    for key, title in TABLES.items():
        directions = published[key]["columns"]
        for metric, cells in published[key].items():
            for lp, value in zip(directions, cells, strict=True) if metric != "columns" else ():
                if not math.isnan(value):
                    yield title, lp, metric, value


def _table_rows(published: Mapping[str, Any], ours: Cells, missing: str) -> Iterator[Row]:
    for title, lp, metric, value in _cells(published):
        found = _LINKS if metric == "KoBE" else missing or ours[lp][metric]
        yield Row.judge(f"{title}, {lp}, {metric}", value, found, _WITHIN, "by rounding")


def _table4_rows(table: Mapping[str, Any], ours: Cells, missing: str) -> Iterator[Row]:
    """BLEU again, with its mean; KoBE of ru-en stands with the sample."""
    *directions, _ = table["columns"]
    bleu = [] if missing else [ours[lp]["BLEU"] for lp in directions]
    bleu.append(float(np.mean(bleu)) if bleu else math.nan)
    for k, (lp, value) in enumerate(zip(table["columns"], table["BLEU"], strict=True)):
        yield Row.judge(f"Table 4, {lp}, BLEU", value, missing or bleu[k], _WITHIN, "rounding")
    *cells, mean = table["KoBE"]
    for lp, value in zip(directions, cells, strict=True):
        if lp != SAMPLE:
            yield Row.absent(f"Table 4, {lp}, KoBE", value, _LINKS)
    what = "Table 4, mean, KoBE, from the printed cells"
    yield Row.judge(what, mean, float(np.mean(cells)), _WITHIN, "by rounding")


def _printed(published: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Printed cells by direction."""
    found: dict[str, dict[str, float]] = {}
    for _, lp, metric, value in _cells(published):
        found.setdefault(lp, {})[metric] = value
    return found


def _claim_rows(published: Mapping[str, Any]) -> Iterator[Row]:
    """What the paper says of its tables, counted in the tables as printed."""
    printed = _printed(published)
    best = sum(
        own["KoBE"] > max(r for name, r in own.items() if name not in ("KoBE", "BLEU"))
        for own in printed.values()
    )
    over = sum(own["KoBE"] > own["BLEU"] for own in printed.values())
    table = published["table4"]
    cells = zip(table["KoBE"][:-1], table["BLEU"][:-1], strict=True)
    with_references = sum(one > other for one, other in cells)
    counted = (best, over, with_references)
    reason = "counted in Tables 1 to 4 as printed"
    for (what, value), ours in zip(published["claims"].items(), counted, strict=True):
        yield Row.judge(f"Section 4, {what}, in the printed cells", value, ours, COUNTED, reason)


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
        count = sum(r < 0 for r in found)
        yield Row.judge(what, negative, missing or count, COUNTED, "by rounding")
    if missing:
        yield Row.absent("Section 5, absolute values hide signs", "yes", missing)
        return
    hidden = list(_hidden(printed, ours))
    what = "absolute values change the best metric without references"
    reason = "no direction has another best metric by absolute values"
    yield Row.claim(f"Section 5, {what} ({', '.join(hidden)})", holds=bool(hidden), reason=reason)


def _hidden(printed: Cells, ours: Cells) -> Iterator[str]:
    """Directions whose best metric by absolute value is not the best by signed value."""
    for lp, own in printed.items():
        found = {name: ours[lp][name] for name in own if name not in ("KoBE", "BLEU")}
        by_sign = max(found, key=lambda name: found[name])
        by_size = max(found, key=lambda name: abs(found[name]))
        if by_sign != by_size:
            yield f"{lp}: {by_size} instead of {by_sign}"


def _sample_rows(
    published: Mapping[str, Any], path: Path | None, es: EvalSet | None, missing: str
) -> Iterator[Row]:
    """The variant with references, on the sample."""
    sample = published["sample"]
    table5 = {f"Table 5, {SAMPLE}, {what}": value for what, value in published["table5"].items()}
    place = published["table4"]["columns"].index(SAMPLE)
    in_paper = published["table4"]["KoBE"][place]
    if es is None or path is None:
        for what, value in sample["scores"].items():
            yield Row.absent(f"Authors' code, KoBE of {what}", value, missing)
        yield Row.absent(f"Authors' code, r of {SAMPLE}", sample["r"], missing)
        for what, value in ((f"Table 4, {SAMPLE}, KoBE", in_paper), *table5.items()):
            yield Row.absent(what, value, missing)
        return
    annotated = linked(read_annotations(path))
    reference = annotated.pop("ref")
    found = match(reference, annotated)
    scores = statistics(found, Kobe(rounded=True)).corpus_scores()
    for system, score in zip(found.systems, scores.tolist(), strict=True):
        what = f"Authors' code, KoBE of {system}"
        yield Row.judge(what, sample["scores"][system], score, printed(2), "by rounding")
    people = dict(zip(es.systems, es["human_z"].system_means().tolist(), strict=True))
    human = np.array([people[system] for system in found.systems])
    r = float(pearson(human[:, None], scores[:, None])[0])
    yield Row.judge(f"Authors' code, r of {SAMPLE}", sample["r"], r, _WITHIN)
    yield Row.judge(f"Table 4, {SAMPLE}, KoBE", in_paper, r, _WITHIN, _EARLIER)
    ids = [mention.id for mentions in reference for mention in mentions]
    ours = {
        "sentence count": len(reference),
        "reference entities count": len(ids),
        "reference distinct entities count": len(set(ids)),
    }
    for what, value in table5.items():
        own = ours.get(what.rpartition(", ")[2], "the sample has no links of the source")
        yield Row.judge(what, value, own, COUNTED, _EARLIER)


def _not_comparable(published: Mapping[str, Any]) -> Iterator[Row]:
    cells = published["tables567"]["cells"]
    yield Row.absent(f"Tables 5 to 7, {cells} cells of the other directions", None, _LINKS)
    for what in (
        "Figure 2, scores of ru-en",
        "Figure 3, entity categories of zh-en",
        "Figure 4, entities per sentence of ru-en",
    ):
        yield Row.absent(what, None, f"drawn only: no figures are printed, and {_LINKS}")
