"""The better-metric-evaluation paper (Stanchev et al. 2020): its tables and examples beside ours.

Matrices and worked examples need no data. The pairs of two directions of WMT19 are at hand, with
texts, so that identical sentences and the ties of EED can be counted; the threshold curve is drawn
on WMT20.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.rng import Rng
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog
from steelyard.formats.load import load
from steelyard.human.darr import DARR
from steelyard.human.options import HumanOptions
from steelyard.human.outputpairs import Pairs, pairs_of_battles, pairs_of_scores
from steelyard.human.protocol import read_inputs
from steelyard.reproduction.reproduction import (
    COMPUTED,
    COUNTED,
    Allowed,
    Paper,
    Reproduction,
    Row,
)
from steelyard.reproduction.search import Data, Places
from steelyard.scoring.metric import make_metric
from steelyard.stats.kendall.counting import PairCounts, TieMatrix, count_pairs, matrix
from steelyard.studies.results import Progress

PAPER = Paper(
    "ties", "Towards a Better Evaluation of Metrics for Machine Translation (2020)", "stanchev2020"
)
SETS = ("gu-en", "kk-en")
CURVE = ("cs-en", "de-en", "en-de", "ru-en", "zh-en")
_ABSENT = "pairs and outputs of this direction are not at hand"
_YISI = "segment scores of YiSi-1 are not at hand"
_OTHER_YEAR = "the paper counts WMT19; here are five directions of WMT20"
_ROUGHLY = {
    "pairs at 1 per pair at 50": Allowed(0.5, "the text gives a whole number"),
    "share kept at 25": Allowed(0.05, "the text says 'almost halves'"),
}
_DRAWN = "drawn only: no figures are printed"


def reproduce_ties(
    data: Places | Data,
    *,
    rng: Rng = 0,  # noqa: ARG001
    progress: Progress | None = None,
) -> Reproduction:
    """Compare the paper's figures with ours, as far as ``data`` holds ``wmt19-metrics/`` and 20."""
    published, places = PAPER.figures(), Places.of(data)
    rows = [*_matrix_rows(published["matrices"]), *_example_rows(published["examples"])]
    files: list[Path | None] = []
    warnings = []
    total = len(published["table3"]) - 1
    for done, (lp, cells) in enumerate(_cells(published["table3"])):
        own = (f"darr/{lp}.pairs.csv.gz", f"darr/{lp}.text.jsonl.gz", "sys-scores.csv.gz")
        wanted = [f"wmt19-metrics/{name}" for name in own]
        pairs, texts, scored = found = [places.file(name) for name in wanted]
        if pairs is None or texts is None or scored is None:
            absent = places.without(*(n for n, p in zip(wanted, found, strict=True) if not p))
            warnings.append(absent)
            rows += [Row.absent(f"Table 3, {lp}, {what}", n, absent) for what, n in cells.items()]
        else:
            files += found
            rows += _table3_rows(lp, cells, counted_pairs(lp, pairs, texts), _systems(scored, lp))
        if progress is not None:
            progress(done + 1, total)
    curves = {lp: f"wmt20-metrics/segments/{lp}.csv.gz" for lp in CURVE}
    drawn = {lp: path for lp, name in curves.items() if (path := places.file(name)) is not None}
    absent = "" if drawn else places.without(*curves.values())
    rows += _figure1_rows(published["figure1"], drawn, absent)
    rows.append(Row.absent("Table 1, identical sentences that people ordered", None, _ABSENT))
    rows.append(Row.absent("Figure 1, the curve itself", None, _DRAWN))
    return PAPER.reproduced(rows, [*files, *drawn.values()], [*warnings, absent])


def _cells(table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, int]]]:
    for lp, row in table.items():
        if lp != "columns":
            yield lp, dict(zip(table["columns"], row, strict=True))


def _matrix_rows(matrices: Mapping[str, Any]) -> Iterator[Row]:
    """Every cell of the matrices: what a single pair is worth."""
    signs, orders = (-1.0, 0.0, 1.0), ("<", "=", ">")
    for title, name in matrices["names"].items():
        for h, people in enumerate(orders):
            for m, metric in enumerate(orders):
                ours = _worth(matrix(name), signs[h], signs[m])
                what = f"{title}, people {people} metric {metric}"
                otherwise = f"the matrix '{name}' says otherwise"
                yield Row.same(what, matrices[title][h][m], ours, otherwise)


def _worth(own: TieMatrix, human: float, metric: float) -> str:
    counts = count_pairs(np.array([[0.0], [human]]), np.array([[0.0], [metric]]))
    value = float(own.value(counts)[0])
    return "X" if np.isnan(value) else f"{value:g}"


def _example_rows(examples: list[dict[str, Any]]) -> Iterator[Row]:
    for example in examples:
        concordant, discordant, tied = (np.array([n]) for n in example["pairs"])
        none = np.array([0])
        counts = PairCounts(concordant, discordant, none, tied, none)
        ours = float(matrix(example["matrix"]).value(counts)[0])
        same, opposite, ties = example["pairs"]
        what = f"{example['matrix']} of {same} concordant, {opposite} discordant, {ties} ties"
        yield Row.judge(f"Section 3, {what}", example["value"], ours, COMPUTED)


def counted_pairs(lp: str, pairs: Path, texts: Path, *, scored: bool = True) -> Pairs:
    """Read a list of pairs with its texts, scored by EED."""
    read = read_inputs((pairs, texts), DARR, HumanOptions(protocol="darr", lp=lp))
    assert isinstance(read.judgements, BattleLog)
    assert read.scores is not None
    if not scored:
        return pairs_of_battles(read.judgements, read.scores, (), lp)
    return pairs_of_battles(read.judgements, with_eed(read.scores), ["eed"], lp)


def with_eed(es: EvalSet) -> EvalSet:
    """Add the scores of EED."""
    scored = make_metric("eed").score(es, es.references)
    return es.with_scores("eed", scored.table)


def _systems(path: Path, lp: str) -> int:
    """Count the systems of a direction that took part."""
    return load(path, where={"lp": lp}).n_systems


def _table3_rows(lp: str, cells: Mapping[str, int], pairs: Pairs, systems: int) -> Iterator[Row]:
    n = len(pairs.systems)
    share = n * (n - 1) / (systems * (systems - 1))
    fewer = (
        f"the list at hand has {n} of the {systems} systems, that is {share:.0%} of the pairs of "
        "systems"
    )
    detail = f"{len(pairs):,} pairs; {len(pairs) / share:,.0f} if all systems met as often"
    assert pairs.identical is not None
    ours = {
        "pairs, in thousands": round(len(pairs) / 1000),
        "identical sentences": int(pairs.identical.sum()),
        "ties of EED": int((pairs.metric_gap["eed"] == 0).sum()),
    }
    for what, value in cells.items():
        own = detail if what.startswith("pairs") else None
        yield Row.judge(f"Table 3, {lp}, {what}", value, ours.get(what, _YISI), COUNTED, fewer, own)


def _figure1_rows(
    published: Mapping[str, float], paths: Mapping[str, Path], absent: str
) -> Iterator[Row]:
    """What thresholds keep of the pairs of WMT20."""
    kept = dict.fromkeys((1.0, 25.0, 50.0), 0.0)
    for path in paths.values():
        pairs = machine_pairs(path)
        for threshold in kept:
            kept[threshold] += int(pairs.at_least(threshold).sum()) / len(paths)
    ours = (
        {}
        if absent
        else {
            "pairs at 1 per pair at 50": kept[1.0] / kept[50.0],
            "share kept at 25": kept[25.0] / kept[1.0],
        }
    )
    detail = ", ".join(f"{n:,.0f} pairs at {t:g}" for t, n in kept.items())
    for what, value in published.items():
        own = absent or ours[what]
        yield Row.judge(f"Figure 1, {what}", value, own, _ROUGHLY[what], _OTHER_YEAR, detail)


def machine_pairs(path: Path) -> Pairs:
    """Read all pairs of machine translations of a set of WMT20."""
    es = load(path, human="da_raw", ignore=("doc_seg",))
    people = [name for name in es.systems if name.startswith("Human")]
    kept = es.drop(systems=people) if people else es
    return pairs_of_scores(kept, "da_raw")
