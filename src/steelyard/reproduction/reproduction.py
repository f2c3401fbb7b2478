"""Published figures beside ours, one row per figure."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.core.display import Field, Layout, Record, Result, Statement, Summary, keys, one_line
from steelyard.core.provenance import InputFile, Provenance, sha256
from steelyard.core.rng import Rng
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.core.warnings import TypedWarning
from steelyard.stats.distributions import ndtri

Figure = float | int | str | None
_UNDEFINED = "undefined on the data at hand"
_NO_REASON = "no reason is known"
#: What a figure turns out to be; ``match`` is True for two, then False for two, then None.
VERDICTS = ("equal", "within sampling error", "paper at fault", "differs", "not at hand")
EQUAL, SAMPLED, FAULT, DIFFERS, ABSENT = VERDICTS
_MATCH = {EQUAL: True, SAMPLED: True, FAULT: False, DIFFERS: False, ABSENT: None}
#: Standard errors of the difference that chance is given: 95% of single figures lie within.
ERRORS = 2.0
_BAND = "standard errors of the difference (95%)"


class Ours(NamedTuple):
    """Our figure, or words that say why there is none, and what to say of it if it differs.

    ``reason`` replaces the note of the table, ``detail`` is of this figure alone. ``other_data``
    says that the figure is of other data than the paper's, so that it is shown but not compared.
    ``error`` is the standard error of the difference, where a figure comes from samples. Of a table
    whose cells are judged ``together``, chance alone puts no cell beyond what is let pass in 95% of
    reproductions (Bonferroni).
    """

    figure: float | str
    reason: str | None = None
    detail: str | None = None
    other_data: bool = False
    error: float | None = None
    together: int = 1


def printed(decimals: int) -> float:
    """Return half a unit of the last decimal that is printed."""
    return float(f"5e-{decimals + 1}")


@dataclass(frozen=True, slots=True)
class Row(Record):
    """One figure; ``what`` starts with the part of the paper that it stands in, then a comma.

    ``verdict`` is one of :data:`VERDICTS`: unless it is a match, ``note`` says why. A figure is not
    at hand if its data are not (``ours`` is None), or if ours is of other data than the paper's.
    ``tolerance`` is the difference that is let pass, None for words.
    """

    json_keys = keys("what published ours match note=explanation verdict tolerance error")
    what: str
    published: Figure
    ours: Figure
    verdict: str
    note: str | None = None
    detail: str | None = None
    tolerance: float | None = None
    error: float | None = None

    @property
    def part(self) -> str:
        """The part of the paper."""
        return self.what.partition(",")[0]

    @property
    def match(self) -> bool | None:
        """Whether the figures are equal or within sampling error; None if they are not compared."""
        return _MATCH[self.verdict]

    @property
    def explanation(self) -> str | None:
        """The note with its detail."""
        return "; ".join(text for text in (self.note, self.detail) if text) or None

    @classmethod
    def absent(cls, what: str, published: Figure, reason: str) -> Row:
        """Make a row of a figure that has no partner here."""
        return cls(what, published, None, ABSENT, reason)

    def blame_paper(self, reason: str, corrected: float | None = None) -> Row:
        """Say that the paper is at fault if this row differs.

        With a ``corrected`` figure that is so only if ours agrees with it.
        """
        if self.verdict != DIFFERS:
            return self
        if corrected is not None:
            assert isinstance(self.ours, int | float)
            if abs(corrected - self.ours) > (self.tolerance or 0.0) + 1e-9:
                return self
        return replace(self, verdict=FAULT, note=reason)

    @classmethod
    def judge(
        cls,
        what: str,
        published: float | str,
        ours: Ours | float | str,
        tolerance: float = 0.0,
        note: str | None = None,
    ) -> Row:
        """Make a row of two words, or of two numbers, where words in the place of ours say why not.

        Numbers are equal if they differ by no more than the ``tolerance``, and within sampling
        error if standard errors of the difference make up for the rest.
        """
        figure, reason, detail, other_data, error, together = (
            ours if isinstance(ours, Ours) else Ours(ours)
        )
        reason = reason or note or _NO_REASON
        if isinstance(published, str):
            verdict = EQUAL if published == figure else DIFFERS
            return cls(what, published, figure, verdict, None if verdict == EQUAL else reason)
        if isinstance(figure, str) or math.isnan(figure):
            return cls.absent(what, published, figure if isinstance(figure, str) else _UNDEFINED)
        if other_data:
            return cls(what, published, figure, ABSENT, reason, detail)
        gap = abs(published - figure) - 1e-9
        verdict = EQUAL if gap <= tolerance else SAMPLED
        if error is not None:
            tolerance += max(ERRORS, float(-ndtri(0.025 / together))) * error
        if gap > tolerance:
            return cls(what, published, figure, DIFFERS, reason, detail, tolerance, error)
        return cls(what, published, figure, verdict, tolerance=tolerance, error=error)

    @classmethod
    def claim(
        cls,
        what: str,
        *,
        holds: bool | None,
        reason: str,
        detail: str | None = None,
        interval: tuple[float, float] | None = None,
        other_data: bool = False,
    ) -> Row:
        """Make a row of something that the paper says, and that holds here or does not.

        None says that the data can't tell. If it is that a difference is above zero, ``interval``
        is its 95% interval: what holds, but with zero in the interval, holds within sampling error
        only. ``other_data`` is that of :class:`Ours`.
        """
        if holds is None:
            return cls.absent(what, "yes", _UNDEFINED)
        ours = "yes" if holds else "no"
        if other_data:
            return cls(what, "yes", ours, ABSENT, reason, detail)
        low, high = interval or (math.inf, math.inf)
        error = None if interval is None else (high - low) / (2 * 1.96)
        verdict = DIFFERS if not holds else EQUAL if low > 0 else SAMPLED
        row = cls(what, "yes", ours, verdict, None if holds else reason, detail, error=error)
        return replace(row, detail=None) if verdict == EQUAL else row


def compare(
    table: Mapping[str, Any], ours: Callable[[str, str], Ours | float | str], **names: str
) -> Iterator[Row]:
    """Compare every cell of a published table, by row and column, with what ``ours`` gives of it.

    A table has ``rows`` (a figure each, or as many as it has ``columns``; nan is a cell without a
    figure), says in ``what`` how its figures are called, and may have a ``tolerance`` and a
    ``note``, which is the reason why figures differ. ``names`` are further words of ``what``.
    """
    for what, row, column, value in cells(table, **names):
        figure = ours(row, column)
        yield Row.judge(what, value, figure, table.get("tolerance", 0.0), table.get("note"))


def cells(table: Mapping[str, Any], **names: str) -> Iterator[tuple[str, str, str, Any]]:
    """List what a published table prints: what it is, row, column, value."""
    for row, values in table["rows"].items():
        listed = values if isinstance(values, list) else [values]
        for column, value in zip(table.get("columns", [""]), listed, strict=False):
            if value == value:  # noqa: PLR0124 - words, or not nan
                yield table["what"].format(row=row, column=column, **names), row, column, value


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction(Result):
    """All figures of a paper: published, ours, how they compare, and why not equal."""

    json_keys = keys("paper title counts rows provenance warnings")
    layout = Layout(
        "rows",
        (
            Field("what"),
            Field("published", digits=3, mixed=True),
            Field("ours", digits=3, mixed=True),
            Field("match"),
            Field("explanation", "note"),
            Field("verdict"),
            Field("tolerance", digits=3, mixed=True),
            Field("error", digits=3, mixed=True),
        ),
    )
    paper: str
    title: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def words(self) -> Summary:
        """Say how many of the published figures are found here, and which are not."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        n, compared = self.counts, sum(row.match is not None for row in self.rows)
        if not compared:
            yield "undecided", f"None of {plural(len(self.rows), 'figure')} can be compared here."
            return
        alike = f"{n[EQUAL]:,} are equal and {n[SAMPLED]:,} within sampling error"
        yield "settled", f"Of {plural(compared, 'figure')} of {self.paper}, {alike}."
        for verdict, because in ((FAULT, " because the paper is at fault"), (DIFFERS, "")):
            where = list(dict.fromkeys(r.part for r in self.rows if r.verdict == verdict))
            if where:
                differ = "differs" if n[verdict] == 1 else "differ"
                figures = f"{plural(n[verdict], 'figure')} {differ}{because}"
                yield "undecided", f"{figures} ({all_of(where)}); the notes say why."
        if n[ABSENT]:
            be = "is" if n[ABSENT] == 1 else "are"
            yield "undecided", f"{plural(n[ABSENT], 'figure')} {be} not at hand."
        if n[SAMPLED]:
            more = ", or more where many cells are judged together"
            yield "sureness", f"Within sampling error is within {ERRORS:g} {_BAND}{more}."

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {verdict}" for verdict, n in self.counts.items())
        return one_line(self, f"of {self.paper}: {counts}")

    @property
    def counts(self) -> dict[str, int]:
        """Count the figures by verdict."""
        counts = Counter(row.verdict for row in self.rows)
        return {verdict: counts[verdict] for verdict in VERDICTS}

    def counted(self) -> Table:
        """Count the figures of each part, and of all, by verdict."""
        counts: dict[str, Counter[str]] = {}
        for row in self.rows:
            counts.setdefault(row.part, Counter())[row.verdict] += 1
        everything = {**counts, "all": Counter(self.counts)}
        columns = tuple(map(Column, ("part", "figures", *VERDICTS)))
        rows: list[tuple[Cell, ...]] = [
            (part, sum(numbers.values()), *(numbers[verdict] for verdict in VERDICTS))
            for part, numbers in everything.items()
        ]
        return Table(self.title, columns, tuple(rows))

    def pieces(self) -> list[Table | str]:
        """Give the counts, and below them what does not match or is not at hand, by reason."""
        parts: list[Table | str] = [self.counted()]
        reasons: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            if row.match is not True:
                reasons.setdefault((row.verdict, row.note or _NO_REASON), []).append(row)
        for (verdict, note), rows in reasons.items():
            if all(row.ours is None for row in rows):
                where = ", ".join(dict.fromkeys(row.part for row in rows))
                parts.append(f"{verdict}: {note}\n{plural(len(rows), 'figure')} of {where}")
            else:
                parts.append(_beside(f"{verdict}: {note}", rows))
        return parts


def _beside(title: str, rows: Sequence[Row]) -> Table:
    names = ("figure", "published", "ours", "standard error", "detail")
    shown = (True, True, True, any(r.error is not None for r in rows), any(r.detail for r in rows))
    cells = (
        (r.what, _rounded(r.published), _rounded(r.ours), _rounded(r.error), r.detail or "")
        for r in rows
    )
    table = tuple(tuple(compress(row, shown)) for row in cells)
    return Table(title, tuple(map(Column, compress(names, shown))), table)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its name on the command line, its title, and the file of its published figures."""

    name: str
    title: str
    file: str

    def figures(self) -> dict[str, Any]:
        """Read the published figures, table by table."""
        path = Path(__file__).with_name(f"{self.file}.toml")
        return tomllib.loads(path.read_text(encoding="utf-8"))

    def absent(self) -> Iterator[Row]:
        """List the figures of which nothing is printed or nothing can be at hand."""
        for what in self.figures()["absent"]:
            yield Row.absent(what["what"], what.get("published"), what["note"])

    def reproduced(
        self,
        rows: Iterable[Row],
        files: Iterable[Path | InputFile | None],
        missing: Iterable[str] = (),
        options: Mapping[str, Any] | None = None,
        rng: Rng = None,
    ) -> Reproduction:
        """Put the rows together.

        ``files`` are what was read, None where nothing was found; ``missing`` says what is not
        there, in words or an empty text.
        """
        inputs = [
            InputFile(str(file), "long table", sha256([file])) if isinstance(file, Path) else file
            for file in files
            if file is not None
        ]
        return Reproduction(
            self.name,
            self.title,
            tuple(rows),
            warnings=tuple(
                TypedWarning(f"{m}: figures that need it are not compared", "missing-data")
                for m in dict.fromkeys(missing)
                if m
            ),
            provenance=Provenance.of(
                f"reproduce {self.name}", options or {}, tuple(dict.fromkeys(inputs)), rng
            ),
        )


def _rounded(value: Figure) -> Figure:
    return f"{value:.3f}" if isinstance(value, float) else value
