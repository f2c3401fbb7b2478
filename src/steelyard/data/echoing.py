"""Texts of a set, line by line: what a segment, its document and its translations are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.core.errors import UsageError, hint
from steelyard.core.table import Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Texts

_BREAKS = str.maketrans({"\t": " ", "\n": " ", "\r": " "})  # which would look like columns and rows


def echoed(es: EvalSet, what: Sequence[str]) -> Table:
    """Give a row per segment, or per output if ``output`` is among the columns.

    Columns are ``segment``, ``domain``, ``doc``, ``src``, names of references and of systems.

    Examples
    --------
    >>> from steelyard.data.segments import Segments
    >>> es = EvalSet(("A",), Segments(("1",), sources=("Wien",)), outputs={"A": ("Vienna",)})
    >>> echoed(es, ["segment", "src", "A"]).rows
    (('1', 'Wien', 'Vienna'),)
    """
    segments, blank = es.segments, (None,) * es.n_segments
    known: Mapping[str, Texts | None] = {
        "segment": segments.ids,
        "domain": segments.domains,
        "doc": segments.documents,
        "src": segments.sources,
        **es.outputs,
        **segments.references,
    }
    for name in what:
        if name not in (*known, "system", "output"):
            raise UsageError(f"no column '{name}'; {hint(name, [*known, 'system', 'output'])}")
        if name in known and known[name] is None:
            raise UsageError(f"column '{name}': the input has none")
    each: list[str | None] = [None]
    if {"system", "output"} & set(what):
        if not es.outputs:
            raise UsageError("column 'output': the input has no outputs of systems")
        each = list(es.outputs)
        what = what if "system" in what else ("system", *what)
    rows: list[tuple[str | None, ...]] = []
    for system in each:
        own = {**known, "system": (system,) * es.n_segments}
        own["output"] = blank if system is None else es.outputs[system]
        rows += zip(*(own[name] or blank for name in what), strict=True)
    cells = tuple(
        tuple(None if cell is None else cell.translate(_BREAKS) for cell in row) for row in rows
    )
    return Table("", tuple(map(Column, what)), cells)
