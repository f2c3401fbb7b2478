"""WMT metrics-task submissions: tab-separated lines without a header.

Segment scores have nine columns: metric, language pair, test set, domain, document, reference,
system, segment number (from 1) and score; system scores have seven, without document and segment.
Segments become the ids of mt-metrics-eval folders (numbered from 0), so that a submission joins
such a folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from steelyard.core.errors import InputError
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.formats import files
from steelyard.formats.cells import parse_number
from steelyard.formats.format import SetFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.scoretables import read_long, read_system

SEGMENT_COLUMNS = (
    "metric", "lp", "testset", "domain", "doc", "ref", "system", "segment", "score",
)  # fmt: skip
SYSTEM_COLUMNS = ("metric", "lp", "testset", "domain", "ref", "system", "score")


def recognise(path: Path) -> bool:
    """Tell from the first line: seven or nine fields, the last a number."""
    fields = files.first_line(path).split("\t")
    widths = (len(SEGMENT_COLUMNS), len(SYSTEM_COLUMNS))
    return len(fields) in widths and parse_number(fields[-1]) is not None


def read(path: Path, *, lp: str | None = None, where: Iterable[tuple[str, str]] = ()) -> EvalSet:
    """Read one language pair of one test set; a file that holds several needs them named.

    ``where`` selects lines by the names in :data:`SEGMENT_COLUMNS`.
    """
    table = _read_lines(path)
    chosen = dict(where)
    for column in ("metric", "domain", "doc", "ref", "system", "segment"):
        if column in chosen and column in table:
            kept = table.where(column, chosen[column])
            same = [chosen[column]] * kept.n_rows  # the column is needed further down
            table = replace(kept, columns={**kept.columns, column: same})
    languages, table = _narrow(table, "lp", lp or chosen.get("lp"), "lp=...")
    testset, table = _narrow(table, "testset", chosen.get("testset"), 'where={"testset": ...}')
    if "segment" in table:
        table = _from_zero(table)
    elif "all" in table.labels("domain"):
        table = table.where("domain", "all")
    else:
        table.fail("no line of domain 'all': scores of single domains only")
    scorers = sorted(set(zip(table.labels("metric"), table.labels("ref"), strict=True)))
    sets = [_one_metric(table, metric, ref) for metric, ref in scorers]
    return replace(join(sets), name=testset, language_pair=languages)


def _read_lines(path: Path) -> RawTable:
    rows = [line.split("\t") for line in files.lines(files.read_text(path))]
    names = SEGMENT_COLUMNS if len(rows[0]) == len(SEGMENT_COLUMNS) else SYSTEM_COLUMNS
    for line, fields in enumerate(rows, 1):
        if len(fields) != len(names):
            expected = f"{len(fields)} fields, expected {len(names)}: {', '.join(names)}"
            raise InputError(expected, path=path, line=line)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return RawTable(path, columns, len(rows))


def _narrow(table: RawTable, column: str, wanted: str | None, option: str) -> tuple[str, RawTable]:
    values = sorted(set(table.labels(column)))
    if wanted is None and len(values) > 1:
        table.fail(f"holds several {column}s ({', '.join(values[:8])}); choose with {option}")
    chosen = wanted or values[0]
    return chosen, table.where(column, chosen)


def _from_zero(table: RawTable) -> RawTable:
    numbers = table.labels("segment")
    for row, number in enumerate(numbers):
        if not re.fullmatch("0*[1-9][0-9]{0,17}", number):
            table.fail(f"segment number '{number}', expected 1, 2, ...", row)
    columns = {**table.columns, "segment": [str(int(number) - 1) for number in numbers]}
    return replace(table, columns=columns)


def _one_metric(table: RawTable, metric: str, ref: str) -> EvalSet:
    rows = table.where("metric", metric).where("ref", ref)
    name = f"{metric}-{ref}"
    renamed = {name if column == "score" else column: c for column, c in rows.columns.items()}
    reader = read_long if "segment" in rows else read_system
    es = reader(replace(rows, columns=renamed))
    scores = {name: replace(es.scores[name], uses=tuple(ref.split(".")))}
    return replace(es, scores=scores, name=f"{table.path}: '{name}'")  # what a warning calls it


FORMAT = SetFormat(
    name="submission",
    gives=EvalSet,
    known_by="no header, nine columns between tabs (seven for systems), the last a number",
    example="chrF\ten-de\twmt23\tnews\tdoc1\trefA\tA\t1\t61.2\n",
    example_name="chrF.seg.score",
    looks=("text",),
    recognise=lambda view: recognise(view.path),
    read=lambda view, lp, where: read(view.path, lp=lp, where=where),
    columns=frozenset(SEGMENT_COLUMNS),
)
