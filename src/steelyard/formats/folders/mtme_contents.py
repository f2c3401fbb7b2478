"""What mt-metrics-eval folders hold, told by the names of their files: sets and language pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed
from steelyard.formats import files
from steelyard.formats.folders import mtme

_SHOWN = 6  # names in a cell of the table; the others are counted


@dataclass(frozen=True, slots=True)
class PairContents:
    """One language pair of one set; ``human`` and ``metrics`` have the levels of each score."""

    set: str
    lp: str
    segments: int | None
    documents: int | None
    domains: tuple[str, ...]
    references: tuple[str, ...]
    systems: tuple[str, ...]
    human: dict[str, list[str]]
    metrics: dict[str, list[str]]
    ratings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return asdict(self)


def contents(folder: Path) -> list[PairContents]:
    """List the language pairs of a set's folder, or of all sets in the folder above them."""
    if not folder.is_dir():
        raise InputError("expected a folder", path=folder)
    sets = [folder] if mtme.recognise(folder) else sorted(filter(mtme.recognise, folder.iterdir()))
    found = [_pair(one, lp) for one in sets for lp in mtme.language_pairs(one)]
    if not found:
        expected = "no set in it is laid out like mt-metrics-eval (documents/, human-scores/, ...)"
        raise InputError(expected, path=folder)
    return found


def _pair(folder: Path, lp: str) -> PairContents:
    own = mtme.literal(lp)
    docs = folder / "documents" / f"{lp}.docs"
    rows = [row.split() for row in files.lines(files.read_text(docs))] if docs.is_file() else None
    human = [p.name.removeprefix(f"{lp}.") for p in folder.glob(f"human-scores/{own}.*.score")]
    ratings = (p.name.removeprefix(f"{lp}.") for p in folder.glob(f"human-scores/{own}.*.rating"))
    texts = (p.name.removeprefix(f"{lp}.") for p in folder.glob(f"references/{own}.*"))
    systems = [p.stem for p in folder.glob(f"system-outputs/{own}/*")]
    return PairContents(
        set=folder.resolve().name,
        lp=lp,
        segments=None if rows is None else len(rows),
        documents=None if rows is None else len({row[-1] for row in rows if row}),
        domains=tuple(sorted({row[0] for row in rows or () if len(row) > 1})),
        references=tuple(sorted({name.rpartition(".")[0] for name in texts})),
        systems=tuple(sorted(set(systems))),
        human=_levels(human),
        metrics=_levels([p.name for p in folder.glob(f"metric-scores/{own}/*.score")]),
        ratings=tuple(sorted({name.removesuffix(".seg.rating") for name in ratings})),
    )


def _levels(names: list[str]) -> dict[str, list[str]]:
    """Give the levels of each score, from ``NAME.LEVEL.score``.

    Examples
    --------
    >>> _levels(["mqm.seg.score", "mqm.sys.score", "da.sqm.sys.score"])
    {'da.sqm': ['sys'], 'mqm': ['sys', 'seg']}
    """
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        score, _, level = name.removesuffix(".score").rpartition(".")
        found.setdefault(score, []).append(level)
    order: dict[str, int] = {level: k for k, level in enumerate(mtme.LEVELS)}
    return {name: sorted(own, key=lambda one: order.get(one, 9)) for name, own in found.items()}


def contents_table(found: list[PairContents]) -> Table:
    """Give a row per language pair."""
    columns = ("set", "lp", "segments", "documents", "domains", "systems", "references", "human",
               "metrics")  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (
            one.set,
            one.lp,
            one.segments,
            one.documents,
            listed(one.domains, _SHOWN) or None,
            len(one.systems),
            listed(one.references, _SHOWN) or None,
            listed([f"{name} ({' '.join(own)})" for name, own in one.human.items()], _SHOWN)
            or None,
            len(one.metrics),
        )
        for one in found
    ]
    notes = ("systems: with outputs; metrics: with scores; human: names and levels",)
    return Table("", tuple(map(Column, columns)), tuple(rows), notes)
