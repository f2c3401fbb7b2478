"""What the parts of kobe_quality.py share: texts, reports, the alarms that are shown, tables."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.core.errors import DegenerateError
from steelyard.core.table import Column, Table
from steelyard.formats import files
from steelyard.kobe.explaining import Finding
from steelyard.kobe.linking.linker import DictionaryLinker, make_linker
from steelyard.kobe.report import KobeReport

GOLD = Path(__file__).resolve().parents[2] / "tests" / "kobe" / "gold"
ALARMS = ("lost", "changed", "copied")
Row = dict[str, Any]
Span = tuple[int, int]


@dataclass
class Context:
    """Where data lie, and what the parts write besides their tables."""

    data: Path
    gold: Path
    segments: int
    kinds: tuple[str, ...] = ALARMS
    light: bool = False  # only what an ablation compares
    details: list[Row] = field(default_factory=list)

    def absent(self, path: Path) -> bool:
        if path.exists():
            return False
        print(f"absent: {path}", file=sys.stderr)
        return True


@cache
def linker() -> DictionaryLinker:
    """Link by the embedded base, with one memory for all parts."""
    return make_linker()


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in files.read_text(path).splitlines() if line.strip()]


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def overlap(a: Span, b: Span) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


# -- alarms as a user sees them


def shown(
    report: KobeReport, system: str, kinds: Sequence[str] = ALARMS
) -> Iterator[tuple[int, Finding]]:
    """Give the alarms of a system that are shown by default: (segment, finding)."""
    for _, at, finding in report.findings([system]):
        if finding.sureness >= report.cut and finding.kind in kinds:
            yield at, finding


def scored(
    sources: Sequence[str],
    outputs: Mapping[str, Sequence[str]],
    pair: tuple[str, str],
    *,
    references: Mapping[str, Sequence[str]] | None = None,
    by: DictionaryLinker | None = None,
) -> KobeReport | None:
    """Score outputs; None where no source has an entity."""
    try:
        return sy.kobe.score(
            sources,
            outputs,
            src=pair[0],
            tgt=pair[1],
            references=references,
            linker=by or linker(),
        )
    except DegenerateError:
        return None


def by_segment(
    report: KobeReport | None, system: str, kinds: Sequence[str] = ALARMS
) -> dict[int, list[Finding]]:
    found: dict[int, list[Finding]] = defaultdict(list)
    for at, finding in shown(report, system, kinds) if report is not None else ():
        found[at].append(finding)
    return found


def told(finding: Finding) -> Row:
    """Say what an alarm says, for --details."""
    source, output = finding.source, finding.output
    return {
        "alarm": finding.kind,
        "category": finding.mention.category,
        "source": source.text if source else None,
        "output": output.text if output else None,
    }


# -- texts and tables

PEOPLE = ("ref", "HUMAN", "synthetic")


def text_rows(context: Context, folder: str, pair: str) -> list[Row] | None:
    """Give the segments of a WMT set, each with its id as `seg`, human outputs left out."""
    path = context.data / folder / f"{pair}.text.jsonl.gz"
    if context.absent(path):
        return None
    rows = lines(path)
    for row in rows:
        row["seg"] = str(row.get("seg", row.get("sid")))
        row["out"] = {s: t for s, t in row["out"].items() if not s.startswith(PEOPLE)}
    return rows


def columns(rows: Sequence[Row], key: str) -> dict[str, list[str]]:
    """Turn the texts of rows into those of each system or reference."""
    return {name: [row[key].get(name) or "" for row in rows] for name in rows[0][key]}


_RATES = ("recall", "precision", "KoBE", "per 100 entities", "value")
_EXACT = ("M-ETA", "expected")


def table(title: str, names: Sequence[str], rows: Iterable[tuple[Any, ...]], *notes: str) -> Table:
    heads = tuple(Column(name, digits=_decimals(name)) for name in names)
    return Table(title, heads, tuple(rows), notes)


def _decimals(name: str) -> int:
    if name in _EXACT:
        return 2
    return 1 if "%" in name or name in _RATES else 0
