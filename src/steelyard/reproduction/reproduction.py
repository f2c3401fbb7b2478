"""Published figures beside ours, one row per figure."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_NOT_COMPARED = "nothing to compare"


#: What a figure turns out to be; ``match`` is True for two, then False for two, then None.
VERDICTS = ("equal", "within sampling error", "paper at fault", "differs", "not at hand")
EQUAL, SAMPLED, FAULT, DIFFERS, ABSENT = VERDICTS
_MATCH = {EQUAL: True, SAMPLED: True, FAULT: False, DIFFERS: False, ABSENT: None}
#: Standard errors of the difference that chance is given: 95% of single figures lie within.
ERRORS = 2.0
_BAND = "standard errors of the difference (95%)"


class Allowed(NamedTuple):
    """How far two figures that are equal may be apart, and why.

    ``error`` is the standard error of the difference, where a figure comes from samples: two of
    them are let pass as chance. Of a table whose cells are judged ``together`` so many are let
    pass that, in 95% of reproductions, chance alone puts no cell beyond (Bonferroni).
    """

    most: float
    why: str
    error: float | None = None
    together: int = 1

    @property
    def errors(self) -> float:
        """Standard errors of the difference that are let pass."""
        return max(ERRORS, float(-ndtri(0.025 / self.together)))


COUNTED = Allowed(0.0, "a count")
COMPUTED = Allowed(1e-9, "nothing is rounded")


def printed(decimals: int) -> Allowed:
    """Give half a unit of the last decimal that is printed.

    Examples
    --------
    >>> printed(2).most, printed(2).why
    (0.005, 'printed with 2 decimals')
    """
    return Allowed(float(f"5e-{decimals + 1}"), f"printed with {decimals} decimals")


@dataclass(frozen=True, slots=True)
class Row(Record):
    """One figure; ``what`` starts with the part of the paper that it stands in, then a comma.

    ``verdict`` is one of :data:`VERDICTS`: unless it is a match, ``note`` says why. A figure is not
    at hand if its data are not (``ours`` is None), or if ours is of other data than the paper's.
    ``detail`` is what a note has to say of this figure alone. ``tolerance`` is the difference that
    is let pass and ``why`` what it is made of; ``error`` is the standard error of the difference,
    where a figure comes from samples.
    """

    json_keys = keys("what published ours match note=explanation verdict tolerance error why")
    what: str
    published: Figure
    ours: Figure
    verdict: str
    note: str | None = None
    detail: str | None = None
    tolerance: float | None = None
    why: str = "words: the same or not"
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
        return cls(what, published, None, ABSENT, reason, why=_NOT_COMPARED)

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
    def same(cls, what: str, published: Figure, ours: Figure, reason: str | None = None) -> Row:
        """Make a row of two words or names."""
        match = published == ours
        return cls(what, published, ours, EQUAL if match else DIFFERS, None if match else reason)

    @classmethod
    def judge(
        cls,
        what: str,
        published: float,
        ours: float | str,
        within: Allowed,
        reason: str | None = None,
        detail: str | None = None,
        *,
        other_data: bool = False,
    ) -> Row:
        """Make a row of two numbers; words in the place of ours say why it is not at hand.

        They are equal if they differ by no more than what is ``within`` print, and within sampling
        error if two standard errors of the difference make up for the rest. If ours is of
        ``other_data`` than the paper's, as the reason says, the two are shown but not compared.

        Examples
        --------
        >>> Row.judge("Table 1, x", 0.40, 0.404, printed(2)).verdict
        'equal'
        >>> Row.judge("Table 1, x", 0.40, 0.41, printed(2)._replace(error=0.01)).verdict
        'within sampling error'
        >>> Row.judge("Table 1, x", 0.40, 0.41, printed(2), reason="other data").note
        'other data'
        >>> Row.judge("Table 1, x", 0.40, "no data", printed(2)).verdict
        'not at hand'
        >>> row = Row.judge("Table 1, x", 0.40, 0.5, printed(2), "of 2020", other_data=True)
        >>> row.verdict, row.ours, row.match
        ('not at hand', 0.5, None)
        """
        if isinstance(ours, str):
            return cls.absent(what, published, ours)
        if math.isnan(ours):
            return cls.absent(what, published, _UNDEFINED)
        note: str | None = reason or "no reason is known"
        if other_data:
            return cls(what, published, ours, ABSENT, note, detail, why=_NOT_COMPARED)
        most, why, error = within[:3]
        tolerance = most
        if error is not None:
            tolerance += within.errors * error
            cells = f" for {within.together} cells together" if within.together > 1 else ""
            why = f"{why}, and {within.errors:.3g} {_BAND}{cells}"
        gap = abs(published - ours) - 1e-9
        verdict = EQUAL if gap <= most else SAMPLED if gap <= tolerance else DIFFERS
        if verdict != DIFFERS:
            note = detail = None
        return cls(what, published, ours, verdict, note, detail, tolerance, why, error)

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
        only. ``other_data`` is that of :meth:`judge`.

        Examples
        --------
        >>> Row.claim("Figure 2, it rises", holds=False, reason="it falls").ours
        'no'
        >>> Row.claim("Figure 2, it rises", holds=True, reason="it falls", interval=(-1, 3)).verdict
        'within sampling error'
        >>> Row.claim("Figure 2, it rises", holds=None, reason="it falls").note
        'undefined on the data at hand'
        """
        if holds is None:
            return cls.absent(what, "yes", _UNDEFINED)
        ours = "yes" if holds else "no"
        if other_data:
            return cls(what, "yes", ours, ABSENT, reason, detail, why=_NOT_COMPARED)
        why, error, unsure = "a statement: it holds or not", None, False
        if interval is not None:
            low, high = interval
            error, unsure = (high - low) / (2 * 1.96), not low > 0
            why = f"{why}; sure if the 95% interval of the difference lies above 0"
        verdict = DIFFERS if not holds else SAMPLED if unsure else EQUAL
        note = None if holds else reason
        told = None if verdict == EQUAL else detail
        return cls(what, "yes", ours, verdict, note, told, None, why, error)


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
            Field("why"),
        ),
    )
    paper: str
    title: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def words(self) -> Summary:
        """Say how many of the published figures are found here, and which are not."""
        return Summary.of(self._told())

    def _told(self) -> Iterator[Statement]:
        n, compared = self.counts, sum(row.match is not None for row in self.rows)
        if not compared:
            yield "undecided", f"None of {plural(len(self.rows), 'figure')} can be compared here."
            return
        alike = f"{n[EQUAL]:,} are equal and {n[SAMPLED]:,} within sampling error"
        yield "settled", f"Of {plural(compared, 'figure')} of {self.paper}, {alike}."
        for verdict, because in ((FAULT, " because the paper is at fault"), (DIFFERS, "")):
            where = list(dict.fromkeys(r.part for r in self.rows if r.verdict == verdict))
            if where:
                differ = plural(n[verdict], "figure") + (
                    " differs" if n[verdict] == 1 else " differ"
                )
                yield "undecided", f"{differ}{because} ({all_of(where)}); the notes say why."
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
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS}

    def counted(self) -> Table:
        """Count the figures of each part, and of all, by verdict."""
        counts: dict[str, Counter[str]] = {}
        for row in self.rows:
            counts.setdefault(row.part, Counter())[row.verdict] += 1
        everything = {**counts, "all": Counter(self.counts)}
        columns = tuple(map(Column, ("part", "figures", *VERDICTS)))
        rows: list[tuple[Cell, ...]] = [
            (part, sum(own.values()), *(own[verdict] for verdict in VERDICTS))
            for part, own in everything.items()
        ]
        return Table(self.title, columns, tuple(rows))

    def pieces(self) -> list[Table | str]:
        """Give the counts, and below them what does not match or is not at hand, by reason."""
        parts: list[Table | str] = [self.counted()]
        reasons: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            if row.match is not True:
                reasons.setdefault((row.verdict, row.note or "no reason is known"), []).append(row)
        for (verdict, note), rows in reasons.items():
            if all(row.ours is None for row in rows):
                where = ", ".join(dict.fromkeys(row.part for row in rows))
                parts.append(f"{verdict}: {note}\n{plural(len(rows), 'figure')} of {where}")
                continue
            parts.append(_beside(f"{verdict}: {note}", rows))
        return parts


def _beside(title: str, rows: Sequence[Row]) -> Table:
    """Show figures beside each other, with what else is known of them."""
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
        read = (f if isinstance(f, InputFile) else _table(f) for f in files if f is not None)
        inputs = tuple(dict.fromkeys(read))
        return Reproduction(
            self.name,
            self.title,
            tuple(rows),
            warnings=tuple(
                TypedWarning(f"{m}: figures that need it are not compared", "missing-data")
                for m in dict.fromkeys(missing)
                if m
            ),
            provenance=Provenance.of(f"reproduce {self.name}", options or {}, inputs, rng),
        )


def _table(path: Path) -> InputFile:
    return InputFile(str(path), "long table", sha256([path]))


def _rounded(value: Figure) -> Figure:
    return f"{value:.3f}" if isinstance(value, float) else value
