"""How inputs become one EvalSet: what ``load`` and the options of commands share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from steelyard.core.options import Options, names, text


@dataclass(frozen=True, kw_only=True)
class LoadOptions(Options):
    """What the user said of inputs: which rows, columns, systems, and what scores are.

    ``kind`` holds kinds with the names of their scores, ``where`` columns with the value to keep,
    ``columns`` roles with the column that has each.
    """

    human: str | None = text(None)
    kind: tuple[tuple[str, Collection[str]], ...] = ()
    lp: str | None = text(None)
    systems: Collection[str] | None = names(None)
    drop_systems: Collection[str] = names(())
    drop_metrics: Collection[str] = names(())
    sees: Collection[str] | None = names(None)
    lower_is_better: Collection[str] = names(())
    higher_is_better: Collection[str] = names(())
    domain: str | None = text(None)
    where: tuple[tuple[str, str], ...] = ()
    ignore: Collection[str] = names(())
    columns: tuple[tuple[str, str], ...] = ()
    format: str | None = text(None)

    @property
    def people(self) -> set[str]:
        """Names of scores that are said to be human."""
        return {*dict(self.kind).get("human", ()), *([self.human] if self.human else ())}

    @property
    def machines(self) -> set[str]:
        """Names of scores that are said to be metrics."""
        return set(dict(self.kind).get("metric", ()))

    @property
    def directions(self) -> set[str]:
        """Names of scores whose direction was given."""
        return {*self.lower_is_better, *self.higher_is_better}
