"""What studies of rankings are asked: one object each, checked when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from steelyard.comparison.options import RANKINGS, RankOptions, check_named
from steelyard.core.errors import UsageError
from steelyard.core.options import (
    Options,
    choice,
    fraction,
    names,
    number,
    numbers,
    whole,
    wholes,
)

VERDICTS = ("t", "mood", "sign", "wilcoxon")  # tests whose verdicts can be compared
SIMULATED = ("mean", "median", "bt", "elo", "trueskill")  # rankings of simulated scores


@dataclass(frozen=True, kw_only=True)
class DisagreementOptions(RankOptions):
    """Which rankings and tests are compared, on which samples of segments."""

    by: Sequence[str] = names(("mean", "median", "bt"), "Rankings: mean median bt elo trueskill.")
    top: int = whole(3, "How many systems are the top.", least=1, metavar="N")
    sizes: Sequence[int] = wholes(
        (10, 50, 100, 500, 1000, 5000),
        "Numbers of segments to sample, as far as a set has more.",
        least=1,
        empty=True,
    )
    draws: int = whole(20, "Samples of each size.", least=1, metavar="N")
    tolerance: float = number(0.0, "Differences of at most this are ties.", least=0, metavar="X")
    prior: float = number(
        0.0,
        "Wins and losses against an imaginary opponent, for Bradley-Terry.",
        least=0,
        metavar="X",
    )
    tests: Sequence[str] = names(VERDICTS, "Tests whose verdicts are compared.")
    alpha: float = fraction(0.05, "Level of the tests.", metavar="X")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("by", "sizes", "tests"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
        check_named("ranking", self.by, RANKINGS)
        if len(self.by) < 2:
            raise UsageError("expected at least two rankings to compare")
        check_named("test", self.tests, VERDICTS)


@dataclass(frozen=True)
class Design(Options):
    """The settings whose combinations are simulated, ``repeats`` data sets of each."""

    types: tuple[int, ...] = wholes((1, 3, 5, 10), "Numbers of types of segments.", least=1)
    outliers: tuple[float, ...] = numbers((0.0, 0.01, 0.025), "Shares of outliers.", least=0)
    systems: tuple[int, ...] = wholes((2, 3, 5, 10, 25, 50), "Numbers of systems.", least=2)
    segments: tuple[int, ...] = wholes((10, 30, 100, 200), "Numbers of segments.", least=1)
    repeats: int = whole(10, "Data sets of each combination.", least=1, metavar="N")
    noise: float = number(1.0, "Deviation of the noise.", least=0, metavar="X")
    outlier_kind: str = choice(
        "reversed",
        ("reversed", "permuted"),
        "Outliers: ordered against the strengths, or scores swapped among systems.",
    )
    by: tuple[str, ...] = names(SIMULATED[:3], "Rankings: mean median bt elo trueskill.")
    orders: int = whole(
        10, "Random orders that Elo and TrueSkill are averaged over.", least=1, metavar="N"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "by", tuple(dict.fromkeys(self.by)))
        check_named("ranking", self.by, SIMULATED)
        if not self.by:
            raise UsageError("expected at least one ranking to judge")
        if max(self.types) > min(self.segments):
            raise UsageError("types of segments are from 1 to the smallest number of segments")
        if max(self.outliers) >= 1:
            raise UsageError("shares of outliers are at least 0 and below 1")

    def settings(self) -> list[tuple[int, float, int, int]]:
        """List the combinations: types, share of outliers, systems, segments."""
        return list(product(self.types, self.outliers, self.systems, self.segments))
