"""KoBE on WMT data: correlation with people, what the language filter does, and speed.

    python benchmarks/kobe.py DATA [--full KB] [--only quality|speed] [--pairs "22 de-en,..."]

DATA is the folder with wmt22-text, wmt22-da, wmt23-metrics and wmt24-esa. Cells of the second table
are Pearson's r, r without outliers, and SPA (not of WMT22: whose segments can't be told).
COMET of WMT24 is CometKiwi. --full names a knowledge base with a
concept tier, made by: steelyard kb build table aliases.tsv.gz --onto default --out KB
The speed is given in sentences per CPU second; bench.py has the ratio to spaCy's PhraseMatcher.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import steelyard as sy
from quality.ablation import without
from quality.linkspeed import TIMED, link_rates, texts_of
from steelyard.core.table import Column, Table
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.formats import files
from steelyard.kobe.base.knowledge import KnowledgeBase, default
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.options import KobeOptions
from steelyard.scoring.surface import surface_table

PAIRS = (
    "22 cs-en", "22 de-en", "22 ru-en", "22 zh-en", "23 zh-en", "23 en-de",
    "23 zh-en MQM", "23 en-de MQM", "24 en-cs", "24 en-hi", "24 en-ja",
)  # fmt: skip
#: Rules of the linker were chosen on the texts of WMT22 and WMT23, and on those of 24 en-cs.
UNSEEN = ("24 en-hi", "24 en-ja")
#: Families of rules that decide which mentions are doubtful, and names that no base knows.
DOUBT = ("small places", "parts of names", "Chinese names with dots", "given names",
         "names that are words", "names no base knows")  # fmt: skip
COPY = "(copy of the source)"
PEOPLE = ("HUMAN", "ref", "synthetic")
NEURAL = "COMET"
HUMAN = "people"


class Official(NamedTuple):
    """Scores of systems by people, and by a neural metric; higher is better."""

    human: dict[str, float]
    neural: dict[str, float]
    segments: Path | None = None  # scores of segments by people, where they go with the texts
    column: str = ""


def load(data: Path, name: str) -> tuple[EvalSet, str]:
    """Texts, official human scores (DA z, DA+SQM, MQM, ESA) and COMET; no human translations."""
    year, pair, *kind = name.split()
    place = {"22": "wmt22-text", "23": "wmt23-metrics", "24": "wmt24-esa"}[year]
    es = sy.load(data / place / f"{pair}.text.jsonl.gz", lp=pair)
    reference = "refB" if name == "22 cs-en" else "refA"
    official = {"22": _of_2022, "23": _of_2023, "24": _of_2024}[year](data, pair, *kind)
    keep = [s for s in es.systems if s in official.human and not s.startswith(PEOPLE)]
    es = es.select(systems=keep)
    values = np.full((len(keep), es.n_segments), np.nan)
    if official.segments is not None:
        own = sy.load(official.segments, ignore=_others(official)).select(systems=keep)
        place_of = {segment: i for i, segment in enumerate(own.segments.ids)}
        there = [place_of.get(segment) for segment in es.segments.ids]
        known = [i for i, at in enumerate(there) if at is not None]
        values[:, known] = own[official.column].values[:, [at for at in there if at is not None]]
    scores = np.array([official.human[s] for s in keep])
    es = es.with_scores(HUMAN, ScoreTable(values, kind="human", system_scores=scores))
    if official.neural:
        neural = np.array([official.neural.get(s, np.nan) for s in keep])
        empty = np.full_like(values, np.nan)
        es = es.with_scores(NEURAL, ScoreTable(empty, system_scores=neural))
    return es, reference


def _others(official: Official) -> tuple[str, ...]:
    assert official.segments is not None
    columns = files.read_text(official.segments).partition("\n")[0].split(",")
    return tuple(
        c for c in columns if c not in ("system", "seg", "segment", "sid", official.column)
    )


def _table(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def _of_2022(data: Path, pair: str) -> Official:
    human = {r["name"]: float(r["z"]) for r in _table(data / f"wmt22-da/{pair}.systems.csv")}
    metric = "COMET-B" if pair == "cs-en" else "COMET-A"
    rows = _table(data / "wmt22-text/automatic-scores.csv")
    return Official(human, {r["system"]: float(r["score"]) for r in rows
                            if (r["pair"], r["metric"]) == (pair, metric)})  # fmt: skip


def _of_2023(data: Path, pair: str, kind: str = "DA") -> Official:
    rows = _table(data / f"wmt23-metrics/{pair}.metrics.sys.csv")
    column = {"DA": "da_sqm", "MQM": "mqm"}[kind]
    human = {r["system"]: float(r[column]) for r in rows if r[column]}
    neural = {r["system"]: float(r["COMET-refA"]) for r in rows if r["COMET-refA"]}
    return Official(human, neural, data / f"wmt23-metrics/{pair}.human.csv.gz", column)


def _of_2024(data: Path, pair: str) -> Official:
    rows = _table(data / f"wmt24-esa/{pair}.expected.ranking.micro.csv")
    human = {r["system"]: float(r["overall"]) for r in rows}
    rows = _table(data / f"wmt24-esa/{pair}.autorank.csv")
    neural = {r["system"]: -float(r["cometkiwi"]) for r in rows if r["cometkiwi"]}
    return Official(human, neural, data / f"wmt24-esa/{pair}.expected.segments.csv.gz", "esa")


def with_copy(es: EvalSet) -> EvalSet:
    """Add a system that copies the source."""
    assert es.segments.sources is not None
    outputs = {**es.outputs, COPY: es.segments.sources}
    return EvalSet(
        (*es.systems, COPY), es.segments, outputs=outputs, language_pair=es.language_pair
    )


def quality(
    data: Path, bases: dict[str, KnowledgeBase], pairs: tuple[str, ...]
) -> tuple[Table, Table]:
    """What is found and what the filter does; agreement with people, of entities and others."""
    counts: list[dict[str, Any]] = []
    agreement: list[dict[str, Any]] = []
    for name in pairs:
        es, reference = load(data, name)
        src, tgt = name.split()[1].split("-")
        count: dict[str, Any] = {"pair": name, "systems": es.n_systems}
        for base, kb in bases.items():
            linker = DictionaryLinker(kb)

            def run(options: KobeOptions, texts: EvalSet = es, linker: Any = linker) -> Any:
                return kobe_metric(texts, src, tgt, options=options, linker=linker)  # noqa: B023

            table, report = run(KobeOptions())
            count[f"{base} ent."] = report.n_source_entities / report.n_segments
            count[f"{base} cov."] = 100 * report.coverage
            copied = with_copy(es)
            count[f"{base} copy"] = run(KobeOptions(), copied)[1].scores[COPY]
            off = run(KobeOptions(language_filter="off"), copied)
            count[f"{base} copy, off"] = off[1].scores[COPY]
            es = es.with_scores(base, table)
            es = es.with_scores(f"{base} ref", run(KobeOptions(against=reference))[0])
            with without(*DOUBT):  # the plain idea of the paper, on the same base
                plain = DictionaryLinker(kb)
                es = es.with_scores(f"{base} plain", run(KobeOptions(), es, plain)[0])
        for metric in (
            ("chrf",) if tgt == "ja" else ("bleu", "chrf")
        ):  # BLEU needs a tokenizer there
            es = es.with_scores(metric, surface_table(es, metric, [reference], target=tgt))
        counts.append(count)
        agreement.append({"pair": name, **_agreement(es)})
        print(json.dumps(agreement[-1]), flush=True)
    return _as_table(counts), _as_table(agreement)


def _agreement(es: EvalSet) -> dict[str, str]:
    """Pearson's r, r without outliers, and SPA where people's segments go with the texts."""
    by = ["pearson"]
    if not np.isnan(es[HUMAN].values).all():
        by.append("spa")
    cells = {}
    for metric in es.metrics:
        official = metric == NEURAL  # there are no scores of segments
        told = sy.meta_evaluate(es, human=HUMAN, metrics=[metric], by=by[: 1 if official else 2],
                                rules=sy.meta_rules(keep_references=True))  # fmt: skip
        found = {row.by: row for row in told.results}
        r = found["pearson"]
        without = r.value if r.without_outliers is None else r.without_outliers.value
        spa = f"/{found['spa'].value:.2f}" if "spa" in found else ""
        cells[metric] = f"{r.value:.2f}/{without:.2f}{spa}"
    return cells


def _as_table(rows: list[dict[str, Any]]) -> Table:
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = tuple(
        Column(k, digits=0 if k.endswith("cov.") or k == "systems" else 1 if "copy" in k else 2)
        for k in names
    )
    return Table("", columns, tuple(tuple(row.get(c.name) for c in columns) for row in rows))


def speed(data: Path, bases: dict[str, KnowledgeBase]) -> None:
    rows = {}
    for pair in TIMED:
        lines = files.read_text(data / "wmt22-text" / f"{pair}.text.jsonl.gz").splitlines()
        rows[pair] = [json.loads(line) for line in lines]
    texts = texts_of(rows)
    n = sum(map(len, texts.values()))
    for name, kb in bases.items():
        found = link_rates(texts, kb)
        print(f"{name}: mention detection {found.detection:,.0f} sentences per CPU second (15,000 "
              f"wanted), whole link step {found.linking:,.0f} (4,000 wanted), {found.first:,.0f} "
              f"with everything read for the first time; {n} sentences")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--full", type=Path)
    parser.add_argument("--only", choices=["quality", "speed"])
    parser.add_argument("--pairs", default=",".join(PAIRS))
    given = parser.parse_args()
    bases = {"core": default()}
    if given.full:
        bases["full"] = KnowledgeBase.open(given.full)
    if given.only != "speed":
        for table in quality(given.data, bases, tuple(given.pairs.split(","))):
            print(table.markdown())
    if given.only != "quality":
        speed(given.data, bases)


if __name__ == "__main__":
    main()
