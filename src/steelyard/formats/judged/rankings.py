"""Relative rankings: a row per judge and segment, columns ``systemKId`` and ``systemKrank``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from steelyard.data.judgements import BattleLog, Rankings, encode
from steelyard.formats import tables
from steelyard.formats.tables import RawTable, one_of

SEGMENT = ("segmentId", "segment", "seg")
JUDGE = ("judgeId", "judge", "rater")
_PLACE = re.compile(r"system([1-9][0-9]*)Id")
_RANK = re.compile(r"system([1-9][0-9]*)rank")


def is_text(name: str) -> bool:
    """Tell whether a column of rankings holds names, even where they look like numbers."""
    return name in (*SEGMENT, *JUDGE) or _PLACE.fullmatch(name) is not None


def is_rank(name: str) -> bool:
    """Tell whether a column of rankings holds ranks."""
    return _RANK.fullmatch(name) is not None


def recognise(table: RawTable) -> bool:
    """Tell whether a table ranks two systems or more per row."""
    return len(_places(table)) >= 2


def _places(table: RawTable) -> list[int]:
    found = [int(match[1]) for name in table.columns if (match := _PLACE.fullmatch(name))]
    return sorted(place for place in found if f"system{place}rank" in table)


def read(table: RawTable) -> Rankings:
    """Read all rankings; rank -1 or an empty cell means that a place was not ranked."""
    places = _places(table)
    segment = one_of(table, SEGMENT, "segment")
    judge = one_of(table, JUDGE, "judge")
    if segment is None:
        table.fail(f"no segment column (one of {', '.join(SEGMENT)})")
    segments, segment_codes = encode(table.labels(segment))
    unknown = ["unknown"] * table.n_rows
    raters, rater = encode(unknown if judge is None else table.labels(judge))
    names = [table.texts(f"system{place}Id") for place in places]
    systems, _ = encode([name for column in names for name in column if name])
    code = {name: i for i, name in enumerate(systems)} | {None: -1, "": -1}
    system = np.array([[code[name] for name in column] for column in names], dtype=np.int32).T
    rank = np.array([table.numbers(f"system{place}rank") for place in places]).T
    rank = np.where((rank == -1) | (system == -1), np.nan, rank)
    for row, column in np.argwhere(~np.isnan(rank) & ((rank < 1) | (rank != np.floor(rank))))[:1]:
        message = f"rank {rank[row, column]:g} of system {places[column]}, expected 1, 2, ..."
        table.fail(message, int(row))
    return Rankings(systems, segments, raters, segment_codes, rater, system.copy(), rank.copy())


def unfolded(rankings: Rankings) -> BattleLog:
    """Let every two systems that a judge ranked meet: a five-way ranking is ten battles.

    What the battles share, and what a bootstrap draws, is the segment. A system that stands twice
    in a ranking does not meet itself.

    Examples
    --------
    >>> one = np.zeros(1, dtype=np.int32)
    >>> made = Rankings(("A", "B", "C"), ("1",), ("x",), one, one,
    ...                 np.array([[2, 0, 1]], dtype=np.int32), np.array([[1.0, 1.0, 3.0]]))
    >>> log = unfolded(made)
    >>> log.left.tolist(), log.right.tolist(), log.outcome.tolist()
    ([2, 2, 0], [0, 1, 1], [0.5, 1.0, 1.0])
    """
    first, second = np.triu_indices(rankings.system.shape[1], 1)
    left, right = rankings.system[:, first].ravel(), rankings.system[:, second].ravel()
    ahead = (rankings.rank[:, second] - rankings.rank[:, first]).ravel()
    unit = np.repeat(rankings.segment, len(first))
    meet = ~np.isnan(ahead) & (left != right)
    outcome = (1 + np.sign(ahead[meet])) / 2
    return BattleLog(
        rankings.systems,
        left[meet],
        right[meet],
        outcome,
        units=rankings.segments,
        unit=unit[meet],
    )


def write(rankings: Rankings, path: Path) -> None:
    """Write the columns that :func:`read` reads."""
    columns: dict[str, object] = {
        "segmentId": [rankings.segments[code] for code in rankings.segment],
        "judgeId": [rankings.raters[code] for code in rankings.rater],
    }
    for k in range(rankings.system.shape[1]):
        codes = rankings.system[:, k]
        columns[f"system{k + 1}Id"] = [rankings.systems[c] if c >= 0 else None for c in codes]
        columns[f"system{k + 1}rank"] = [
            None if np.isnan(r) else int(r) for r in rankings.rank[:, k]
        ]
    tables.write(path, columns)
