"""A row of the table: a piece of work, who else does it, and what is to be reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.dominant import dominant
from harness.work import Spent, Work

SECONDS = "s"
_LONG = 60.0  # seconds, beyond which nothing is run once more to be watched
_ENOUGH = 0.3  # seconds after which short work has been measured often enough


@dataclass(frozen=True, kw_only=True)
class Row:
    """A piece of work; what it has no use for is left out.

    Parameters
    ----------
    key, work
        A name to choose it by, and what stands in the table.
    ours, theirs
        What is measured; ``theirs`` is that of the ``peer``, which does ``1/times`` of the work.
    least, most
        The ratio to reach, and the amount not to exceed.
    unit
        What ``most`` and our amount are in.
    rounds
        How often it is measured; the best counts.
    check
        Compares what ours and theirs gave (theirs None without a peer): a remark, or an error.
    skip
        Why it can't be measured here.
    watched
        Whether it is run once more under a profiler.
    """

    key: str
    work: str
    ours: Work | None = None
    peer: str = ""
    theirs: Work | None = None
    times: float = 1.0
    least: float | None = None
    most: float | None = None
    unit: str = SECONDS
    rounds: int = 3
    check: Callable[[Any, Any], str | None] | None = None
    skip: str = ""
    watched: bool = True

    @property
    def target(self) -> str:
        """What is to be reached, in words."""
        ratio = [] if self.least is None else [f">= {self.least:,g}x"]
        return ", ".join(
            [*ratio, *([] if self.most is None else [f"<= {self.most:g} {self.unit}"])]
        )

    def reached(self, ours: float, ratio: float | None) -> bool | None:
        """Whether all of the target is reached; None without one, or without the peer it names."""
        if self.least is not None and ratio is None:
            return None
        goals = [] if self.least is None or ratio is None else [ratio >= self.least]
        goals += [] if self.most is None else [ours <= self.most]
        return all(goals) if goals else None


def measure(
    row: Row, *, rounds: int | None = None, peers: bool = True, watch: bool = True
) -> dict[str, Any]:
    """Measure a row: ours and theirs in turns, so that both see the same machine."""
    told: dict[str, Any] = {
        "key": row.key,
        "work": row.work,
        "peer": row.peer,
        "target": row.target,
    }
    if row.skip or row.ours is None:
        return told | {"skipped": row.skip or "nothing to run"}
    wanted = rounds or row.rounds
    theirs = row.theirs if peers else None
    if wanted > 1:
        row.ours.measure()  # imports and caches
    ours: list[Spent] = []
    others: list[Spent] = []
    for done in range(1, wanted + 1):
        if theirs is not None:
            others.append(theirs.measure())
        ours.append(row.ours.measure())
        while wanted > 1 and sum(one.amount for one in ours) < _ENOUGH * done / wanted:
            ours.append(row.ours.measure())
    best = min(ours, key=lambda one: one.amount)
    peer = min(others, key=lambda one: one.amount) if others else None
    amount = None if peer is None else peer.amount * row.times
    ratio = None if amount is None or not best.amount else amount / best.amount
    remark = None
    if row.check is not None and (peers or row.theirs is None):
        remark = row.check(best.result, None if peer is None else peer.result)
    short = row.unit == SECONDS and best.amount < _LONG
    stats = row.ours.profile() if watch and row.watched and short else None
    return told | {
        "peer_amount": amount,
        "extrapolated": row.times if row.times != 1 and amount is not None else None,
        "ours": best.amount,
        "unit": row.unit,
        "megabytes": best.megabytes,
        "ratio": ratio,
        "reached": row.reached(best.amount, ratio),
        "remark": remark,
        "dominant": None if stats is None else dominant(stats),
    }
