"""How inputs become one EvalSet: what ``load`` and the options of commands share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from steelyard.core.options import Options, names, option, text


@dataclass(frozen=True, kw_only=True)
class LoadOptions(Options):
    """What the user said of inputs: which rows, columns, systems, and what scores are."""

    human: str | None = text(None, "The human score.", metavar="NAME")
    kind: tuple[tuple[str, Collection[str]], ...] = option(
        "kinds", (), "Which scores are human or metrics, as human:A,B (repeatable)."
    )
    lp: str | None = text(None, "Language pair, of several in a folder.", metavar="SRC-TGT")
    systems: Collection[str] | None = names(None, "Keep only these systems.")
    drop_systems: Collection[str] = names((), "Leave out these systems.")
    drop_metrics: Collection[str] = names((), "Leave out these metrics, or those like '*-src'.")
    sees: Collection[str] | None = names(
        None, "Keep only metrics that see src, ref, both, none, or a reference of this name."
    )
    lower_is_better: Collection[str] = names((), "Scores where less is better.")
    higher_is_better: Collection[str] = names((), "Scores where more is better, as is assumed.")
    domain: str | None = text(None, "Keep only the segments of this domain.", metavar="NAME")
    where: tuple[tuple[str, str], ...] = option(
        "pairs", (), "Keep only rows with this value, before anything is aligned (repeatable)."
    )
    ignore: Collection[str] = names((), "Skip these columns.")
    columns: tuple[tuple[str, str], ...] = option(
        "roles", (), "What columns are, where names do not say it: system=model,segment=id."
    )
    format: str | None = text(None, "Format of the inputs (data formats).", metavar="NAME")

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
