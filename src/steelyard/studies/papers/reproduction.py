"""Published figures beside ours, one row per figure."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.provenance import InputFile, Provenance, sha256
from steelyard.table import Column, Table, plural

Figure = float | int | str | None


def read_figures(paper: str) -> dict[str, Any]:
    """Read the published figures of a paper.

    Examples
    --------
    >>> read_figures("paired")["table1"]["mean, bt"]
    [0.09, 0.4, 0.49]
    """
    path = Path(__file__).with_name(f"{paper}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def input_files(paths: Iterable[Path], kind: str = "long table") -> tuple[InputFile, ...]:
    """Name and hash those files that are there."""
    return tuple(InputFile(str(p), kind, sha256([p])) for p in paths if p.is_file())


@dataclass(frozen=True, slots=True)
class Row:
    """One figure; ``what`` starts with the part of the paper that it stands in, then a comma.

    ``match`` is True, False (then ``note`` says why), or None where there is nothing to compare
    (then ``ours`` is None, and ``note`` says why). ``detail`` is what a note has to say of this
    figure alone.
    """

    what: str
    published: Figure
    ours: Figure
    match: bool | None
    note: str | None = None
    detail: str | None = None

    @property
    def part(self) -> str:
        """The part of the paper."""
        return self.what.partition(",")[0]

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "what": self.what,
            "published": self.published,
            "ours": self.ours,
            "match": self.match,
            "note": self.explanation,
        }

    @property
    def explanation(self) -> str | None:
        """The note with its detail."""
        return "; ".join(text for text in (self.note, self.detail) if text) or None


def judge(
    what: str,
    published: float,
    ours: float,
    *,
    within: float,
    reason: str | None = None,
    detail: str | None = None,
) -> Row:
    """Make a row of two numbers that match if they differ by no more than ``within``.

    Examples
    --------
    >>> judge("Table 1, x", 0.40, 0.404, within=0.005).match
    True
    >>> judge("Table 1, x", 0.40, 0.41, within=0.005, reason="other data").note
    'other data'
    """
    match = bool(abs(published - ours) <= within + 1e-9)
    why = (None, None) if match else (reason, detail)
    return Row(what, published, ours, match, *why)


def claim(what: str, *, holds: bool, reason: str, detail: str | None = None) -> Row:
    """Make a row of something that the paper says, and that holds here or does not.

    Examples
    --------
    >>> claim("Figure 2, it rises", holds=False, reason="it falls").ours
    'no'
    """
    why = (None, None) if holds else (reason, detail)
    return Row(what, "yes", "yes" if holds else "no", holds, *why)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All figures of a paper: published, ours, whether they match, and why not."""

    paper: str
    title: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "paper": self.paper,
            "title": self.title,
            "rows": [row.to_dict() for row in self.rows],
            "provenance": None if self.provenance is None else self.provenance.to_dict(),
            "warnings": list(self.warnings),
        }

    def table(self) -> Table:
        """Give a row per figure."""
        names = ("what", "published", "ours", "match", "note")
        columns = tuple(
            Column(name, mixed=name in ("published", "ours"), digits=3) for name in names
        )
        rows = tuple((r.what, r.published, r.ours, r.match, r.explanation) for r in self.rows)
        return Table(self.title, columns, rows)

    def summary(self) -> Table:
        """Count the figures of each part that match, that differ, and that have no partner."""
        counts: dict[str, Counter[bool | None]] = {}
        for row in self.rows:
            counts.setdefault(row.part, Counter())[row.match] += 1
        columns = (Column("part"), Column("figures"), Column("match"), Column("differ"),
                   Column("not compared"))  # fmt: skip
        rows = tuple(
            (part, sum(own.values()), own[True], own[False], own[None])
            for part, own in counts.items()
        )
        return Table(self.title, columns, rows)

    def text(self) -> str:
        """Give the summary, and below it what differs or is missing, under its reason."""
        parts = [self.summary().text()]
        reasons: dict[tuple[bool | None, str], list[Row]] = {}
        for row in self.rows:
            if row.match is not True:
                reasons.setdefault((row.match, row.note or "no reason given"), []).append(row)
        columns = tuple(Column(name) for name in ("figure", "published", "ours", "detail"))
        for (match, note), rows in reasons.items():
            head = "differs" if match is False else "not compared"
            if all(row.ours is None for row in rows):
                where = ", ".join(dict.fromkeys(row.part for row in rows))
                parts.append(f"{head}: {note}\n{plural(len(rows), 'figure')} of {where}")
                continue
            detailed = any(row.detail for row in rows)
            shown = tuple(
                (r.what, _rounded(r.published), _rounded(r.ours), r.detail or "")[: 3 + detailed]
                for r in rows
            )
            parts.append(Table(f"{head}: {note}", columns[: 3 + detailed], shown).text())
        return "\n\n".join(parts)


def _rounded(value: Figure) -> Figure:
    return f"{value:.3f}" if isinstance(value, float) else value
