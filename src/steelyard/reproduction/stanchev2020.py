"""The better-metric-evaluation paper (Stanchev et al. 2020): its tables and examples beside ours.

Matrices and worked examples need no data. Its counts are of WMT19: pairs of outputs whose direct
assessment differs by 25 or more. Where the mt-metrics-eval folder of WMT19 is there, all
directions are counted on it; else two on lists of pairs with texts, and the threshold curve on
WMT20.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.progress import each
from steelyard.core.provenance import InputFile
from steelyard.core.rng import Rng
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog
from steelyard.formats.folders import mtme
from steelyard.formats.load import load
from steelyard.human.darr import DARR, Pairs, pairs_of_battles, pairs_of_scores
from steelyard.human.options import HumanOptions
from steelyard.human.run import read_inputs
from steelyard.reproduction.places import PACKAGE, Data, Places, pair_name
from steelyard.reproduction.reproduction import Ours, Paper, Reproduction, Row, compare
from steelyard.scoring.metric import make_metric
from steelyard.stats.kendall.counting import PairCounts, TieMatrix, count_pairs, matrix

PAPER = Paper(
    "ties", "Towards a Better Evaluation of Metrics for Machine Translation (2020)", "stanchev2020"
)
YEAR, OTHER = "wmt19", "wmt20"
#: Tables of all pairs, for the curve.
TABLES = [
    f"{OTHER}-metrics/segments/{lp}.csv.gz" for lp in ("cs-en", "de-en", "en-de", "ru-en", "zh-en")
]
THRESHOLD = 25.0
_CURVE = (1.0, THRESHOLD, 50.0)  # thresholds that the text speaks of
RAW = ("wmt-raw", "da_raw", "wmt")  # what scores on the scale from 0 to 100 are called
#: Metrics whose ties are counted, and what their columns begin with.
METRICS = {"ties of YiSi-1": "YiSi-1-", "ties of EED": "EED-"}
_YISI = "segment scores of YiSi-1 are not at hand"
_TEXTS = "texts of this direction are not at hand"
_PEOPLE = re.compile(r"ref.*|Human.*|HUMAN.*")  # systems that are no machines


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counts of one direction, why they may differ from the paper's, and what they were made of."""

    ours: Mapping[str, int]
    reason: str
    detail: str
    inputs: tuple[Path | InputFile, ...]
    fewer: bool = False


def reproduce_ties(
    data: Places | Data,
    *,
    rng: Rng = 0,  # noqa: ARG001
) -> Reproduction:
    """Compare the paper's figures with ours, as far as ``data`` holds WMT19 and WMT20."""
    published, places = PAPER.figures(), Places.of(data)
    rows = [*_matrix_rows(published["matrices"]), *_example_rows(published["examples"])]
    files: list[Path | InputFile] = []
    counts: dict[str, _Counted | str] = {}
    for lp in each(published["table3"]["rows"]):
        counts[lp] = counted = _count(places, lp)
        files += () if isinstance(counted, str) else counted.inputs
    rows += compare(published["table3"], lambda lp, what: _table3_cell(counts[lp], what))
    figures, inputs, no_curve = _curve_figures(places)
    for section, figure in zip(("figure1-ratio", "figure1-share"), figures, strict=True):
        rows += compare(published[section], lambda *_, figure=figure: figure)
    rows += PAPER.absent()
    missing = [counted for counted in counts.values() if isinstance(counted, str)]
    return PAPER.reproduced(rows, [*files, *inputs], [*missing, no_curve])


def _count(places: Places, lp: str) -> _Counted | str:
    folder = places.test_set(YEAR, lp)
    if folder is not None:
        es = load(folder, lp=lp)
        human = raw_scores(es)
        if human is None:
            return f"no scores of segments from 0 to 100 ({', '.join(RAW)}) in {folder} ({lp})"
        return _count_scores(machines(es), human, f"{folder} ({lp})")
    names = (f"darr/{lp}.pairs.csv.gz", f"darr/{lp}.text.jsonl.gz", "sys-scores.csv.gz")
    paths = {f"{YEAR}-metrics/{name}": places.file(f"{YEAR}-metrics/{name}") for name in names}
    lacking = [name for name, path in paths.items() if path is None]
    if lacking:
        return places.without(pair_name(YEAR, lp), *lacking)
    pairs, texts, scored = (path for path in paths.values() if path is not None)
    return _count_list(lp, pairs, texts, scored)


def _count_scores(es: EvalSet, human: str, where: str) -> _Counted:
    """Count pairs of all machine translations whose scores differ by 25 or more."""
    names = {
        what: next((n for n in es.metrics if n.startswith(start) and es[n].has_segments), None)
        for what, start in METRICS.items()
    }
    if names["ties of EED"] is None and es.outputs and es.references:
        es, names["ties of EED"] = with_eed(es), "eed"
    metrics = {what: name for what, name in names.items() if name is not None}
    pairs = pairs_of_scores(es, human, [*metrics.values()])
    kept = pairs.at_least(THRESHOLD)
    ours = {"pairs, in thousands": round(int(kept.sum()) / 1000)}
    if pairs.identical is not None:
        ours["identical sentences"] = int((pairs.identical & kept).sum())
    for what, name in metrics.items():
        ours[what] = int(((pairs.metric_gap[name] == 0) & kept).sum())
    reason = f"all {es.n_systems} machine translations of {where} take part"
    return _Counted(ours, reason, f"{int(kept.sum()):,} pairs", es.inputs)


def _count_list(lp: str, listed: Path, texts: Path, scored: Path) -> _Counted:
    """Count the pairs of an official list, which may lack systems."""
    pairs = counted_pairs(lp, listed, texts)
    n, systems = len(pairs.systems), load(scored, where={"lp": lp}).n_systems
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
    return _Counted(ours, fewer, detail, (listed, texts, scored), fewer=n < systems)


def raw_scores(es: EvalSet) -> str | None:
    """Name the human score of segments that is on the scale from 0 to 100, if there is one."""
    for name in RAW:
        if name in es.scores and es[name].has_segments and np.nanmax(es[name].values) > 20:
            return name
    return None


def machines(es: EvalSet) -> EvalSet:
    """Leave out human translations."""
    people = [n for n in es.systems if n in es.references or _PEOPLE.fullmatch(n)]
    return es.drop(systems=people) if people else es


def _matrix_rows(matrices: Mapping[str, Any]) -> Iterator[Row]:
    signs = {"<": -1.0, "=": 0.0, ">": 1.0}
    for table in matrices["tables"]:
        points = matrix(table["matrix"])

        def worth(human: str, metric: str, points: TieMatrix = points) -> str:
            return _worth(points, signs[human], signs[metric])

        yield from compare({**matrices, **table}, worth, title=table["title"])


def _worth(points: TieMatrix, human: float, metric: float) -> str:
    counts = count_pairs(np.array([[0.0], [human]]), np.array([[0.0], [metric]]))
    value = float(points.value(counts)[0])
    return "X" if np.isnan(value) else f"{value:g}"


def _example_rows(examples: list[dict[str, Any]]) -> Iterator[Row]:
    for example in examples:
        concordant, discordant, tied = (np.array([n]) for n in example["pairs"])
        none = np.array([0])
        counts = PairCounts(concordant, discordant, none, tied, none)
        ours = float(matrix(example["matrix"]).value(counts)[0])
        same, opposite, ties = example["pairs"]
        what = f"{example['matrix']} of {same} concordant, {opposite} discordant, {ties} ties"
        yield Row.judge(f"Section 3, {what}", example["value"], ours, 1e-9)


def counted_pairs(lp: str, pairs: Path, texts: Path) -> Pairs:
    """Read a list of pairs with its texts, scored by EED."""
    read = read_inputs((pairs, texts), DARR, HumanOptions(protocol="darr", lp=lp))
    assert isinstance(read.judgements, BattleLog)
    assert read.scores is not None
    return pairs_of_battles(read.judgements, with_eed(read.scores), ["eed"], lp)


def with_eed(es: EvalSet) -> EvalSet:
    """Add the scores of EED."""
    scored = make_metric("eed").score(es, es.references)
    return es.with_scores("eed", scored.table)


def _table3_cell(counted: _Counted | str, what: str) -> Ours | str:
    if isinstance(counted, str):
        return counted
    ours = counted.ours.get(what, _YISI if "YiSi" in what else _TEXTS)
    detail = counted.detail if what.startswith("pairs") else None
    return Ours(ours, counted.reason, detail, counted.fewer)


def _curve_figures(places: Places) -> tuple[list[Ours], list[Path | InputFile], str]:
    """Return the figures of the threshold curve, what they are made of, and what is missing.

    All directions of one year are counted: of WMT19, as in the paper, or else of WMT20.
    """
    for year in (YEAR, OTHER):
        counts: list[list[int]] = []
        inputs: list[Path | InputFile] = []
        for pairs, files in _pairs_of_year(places, year):
            counts.append([int(pairs.at_least(threshold).sum()) for threshold in _CURVE])
            inputs += files
        if counts:
            one, some, most = means = np.mean(counts, axis=0).tolist()
            kept = zip(means, _CURVE, strict=True)
            detail = ", ".join(f"{n:,.0f} pairs at {threshold:g}" for n, threshold in kept)
            which = f"{plural(len(counts), 'direction')} of {year.upper()}"
            reason = f"the paper counts the directions of WMT19; here are {which}"
            shares = (one / most if most else np.nan, some / one if one else np.nan)
            return [Ours(share, reason, detail, year != YEAR) for share in shares], inputs, ""
    wanted = [f"{year}/ (mt-metrics-eval)" for year in (YEAR, OTHER)]
    missing = places.without(*wanted, *TABLES)
    return [Ours(missing), Ours(missing)], [], missing


def _pairs_of_year(
    places: Places, year: str
) -> Iterator[tuple[Pairs, tuple[Path | InputFile, ...]]]:
    """Yield the pairs of tables, else of every direction from or into English with raw scores."""
    names = TABLES if year == OTHER else ()
    tables = [path for name in names if (path := places.file(name)) is not None]
    yield from ((machine_pairs(path), (path,)) for path in tables)
    folder = places.folder(year, f"{PACKAGE}/{year}", holds=mtme.recognise)
    for lp in () if tables or folder is None else mtme.language_pairs(folder):
        if "en" in lp.split("-"):
            es = load(folder, lp=lp)
            human = raw_scores(es)
            if human is not None:
                yield pairs_of_scores(machines(es), human), es.inputs


def machine_pairs(path: Path) -> Pairs:
    """Read all pairs of machine translations of a set of WMT20."""
    es = load(path, human="da_raw", ignore=("doc_seg",))
    return pairs_of_scores(machines(es), "da_raw")
