"""Options of the questions about judges, and the reading of verdicts that all of them share.

The command line reads this module for ``--help``, so that it imports no NumPy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    Options,
    choice,
    fraction,
    names,
    number,
    text,
    unit,
    whole,
)
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.text import listed

if TYPE_CHECKING:
    from steelyard.data.verdicts import Opinion, Verdicts

AUTO, MEAN, BT = "auto", "mean", "bt"


def _level() -> Any:
    return fraction(0.95, "Of the intervals.")


def checked_pair(names: Collection[str], systems: Sequence[str]) -> tuple[str, ...]:
    """Return the two systems that ``pair`` names, after checking that they exist."""
    if len(names) != 2 or len(set(names)) != 2:
        raise UsageError(f"pair: expected two systems, got {listed(tuple(names)) or 'none'}")
    for name in names:
        if name not in systems:
            raise UsageError(f"pair: no system '{name}'; {hint(name, systems)}")
    return tuple(names)


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """How verdicts are read: which columns are annotators, which are judges, what rows share."""

    human: Collection[str] = names(
        (), "Columns with human labels (patterns such as 'rater*'), or names in a column rater."
    )
    judges: Collection[str] | None = names(
        None, "Columns with verdicts of judges; by default all others that hold verdicts."
    )
    unit: str = unit("auto", "What rows share: prompt or document columns, or items of several "
                     "rows; row: nothing.", metavar="auto|item|row|COLUMN")  # fmt: skip
    covariates: Collection[str] | None = names(
        None, "What could bias a judge: columns of numbers, of pairs named without their side."
    )
    words: Collection[str] = names(
        (), "Words for left, right and tie in verdicts on pairs, such as 1,2,0; names: verdicts "
        "name systems.", metavar="LEFT,RIGHT,TIE",
    )  # fmt: skip
    swapped: str | None = choice(
        None, ("place", "column"), "What A means where the right output was shown first: the one "
        "shown first (place), or the left column; by default place, unless the data contradict it.",
    )  # fmt: skip
    where: Any = ()
    columns: Any = ()
    ignore: Collection[str] = names((), "Skip these columns.")

    def read(
        self, sources: Sequence[Any], *, probability: str | None = None, strata: str | None = None
    ) -> Verdicts:
        """Read verdicts from files or frames, or take them as they are."""
        from steelyard.data.verdicts import Verdicts
        from steelyard.formats.options import selection
        from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

        if len(sources) == 1 and isinstance(sources[0], Verdicts):
            return sources[0]
        names = ("human", "judges", "unit", "covariates", "ignore", "words", "swapped")
        settings = {name: getattr(self, name) for name in names}
        settings |= {name: tuple(settings[name]) for name in ("human", "ignore", "words")}
        columns = selection(self.columns, "columns", "roles and columns, as {'item': 'id'}")
        reading = VerdictReading(
            **settings, columns=columns, where=selection(self.where), probability=probability,
            strata=strata,
        )  # fmt: skip
        return read_verdicts(sources, reading)

    def provenance(self, method: str, sources: Any, rng: Any = None, **unit: str) -> Provenance:
        """Return what was run on which files, with the seed if anything was drawn."""
        from steelyard.formats import files

        paths = [Path(source) for source in sources if isinstance(source, (str, Path))]
        inputs = tuple(
            InputFile(str(path), "verdicts", files.sha256(path))
            for path in paths
            if not files.is_folder(path)
        )
        return Provenance.of(method, unit, inputs=inputs, rng=rng, asked=self)


@dataclass(frozen=True, kw_only=True)
class OneJudgeOptions(ReadOptions):
    """How verdicts are read where one judge is meant."""

    judge: str | None = text(None, "The judge.", metavar="NAME")

    def pick(self, verdicts: Verdicts) -> Opinion:
        """Return the judge that is named, or the only one."""
        judges = [judge.name for judge in verdicts.judges]
        if self.judge is not None and self.judge not in judges:
            raise UsageError(f"no judge '{self.judge}'; {hint(self.judge, judges)}")
        if self.judge is None and len(judges) > 1:
            raise UsageError(f"several judges ({listed(judges, 6)}): name one (judge=NAME)")
        return verdicts.judges[0] if self.judge is None else verdicts.judge(self.judge)


@dataclass(frozen=True, kw_only=True)
class BiasOptions(ReadOptions):
    """What biases judges beyond annotators: ``own`` are patterns of the systems of its family."""

    own: Any = ()  # patterns of systems by judge
    level: float = _level()

    def families(self, verdicts: Verdicts) -> dict[str, str]:
        """Return the patterns of systems by judge, after checking that the judges exist."""
        from steelyard.formats.options import selection

        expected = "judges and patterns of systems, as {'gpt-4': 'gpt-*'}"
        patterns = dict(selection(self.own, "own", expected))
        judges = [judge.name for judge in verdicts.judges]
        for name in patterns:
            if name not in judges:
                raise UsageError(f"own: no judge '{name}'; known: {', '.join(judges)}")
        return patterns


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(BiasOptions):
    """How judges are measured against annotators."""

    unparsed: str = choice(
        "auto", ("auto", "wrong", "drop"),
        "Verdicts that can't be understood: wrong, or left out (drop); auto: empty cells are left "
        "out, words are wrong.",
    )  # fmt: skip
    alt_epsilon: float = fraction(
        0.2, "What an annotator costs, in the alternative annotator test: 0.2 for experts, 0.15 "
        "for skilled annotators, 0.1 for a crowd.", metavar="E",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CorrectOptions(OneJudgeOptions):
    """What annotators would say about all rows, from their labels and the judge's verdicts."""

    labels: str = text(
        "random", "How rows were chosen for labelling: random, by:COLUMN (or by:verdict), "
        "probability:COLUMN, or unknown.", metavar="HOW",
    )  # fmt: skip
    by: str = choice(
        AUTO, (AUTO, MEAN, BT), "Means, or Bradley-Terry strengths of pairs (auto: of pairs)."
    )
    pair: Collection[str] | None = names(None, "Two systems: the first minus the second.")
    level: float = _level()
    draws: int = whole(2000, "Draws behind ranks and tests of all pairs.", least=100, metavar="K")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(OneJudgeOptions):
    """How many labels are needed, and which rows to label next."""

    half_width: float | None = number(
        None, "Half-width of the interval of the mean.", least=0, strict=True, metavar="H"
    )
    kappa: float | None = number(
        None, "Half-width of the interval of kappa.", least=0, strict=True, metavar="H"
    )
    budget: int | None = whole(None, "How many rows to label next.", least=1, metavar="N")
    level: float = _level()


@dataclass(frozen=True, kw_only=True)
class DriftOptions(ReadOptions):
    """How two versions of a judge are compared."""

    level: float = _level()
