"""How inputs become one EvalSet: what ``load`` and the options of commands share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.options import (
    Options,
    bad_value,
    check_choice,
    check_instance,
    check_names,
    names,
    option,
    text,
)

_ROLES = "roles and columns, as {'system': 'model'}"


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

    def __post_init__(self) -> None:
        check_instance((Mapping, tuple), "scores by kind, as {'human': ['mqm']}", kind=self.kind)
        kinds = dict(self.kind)
        for name, scores in kinds.items():
            check_choice(("human", "metric"), kind=name)
            check_names(kind=scores)
        object.__setattr__(self, "kind", tuple(kinds.items()))
        object.__setattr__(self, "where", selection(self.where))
        object.__setattr__(self, "columns", selection(self.columns, "columns", _ROLES))
        super().__post_init__()

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


def selection(
    where: Any, name: str = "where", expected: str = "columns and values, as {'year': '2023'}"
) -> tuple[tuple[str, str], ...]:
    """Give the columns and values that select rows as pairs; or roles and columns, likewise."""
    pairs = where.items() if isinstance(where, Mapping) else where
    chosen = () if isinstance(pairs, str) or not isinstance(pairs, Iterable) else tuple(pairs)
    texts = all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(word, str) for word in pair)
        for pair in chosen
    )
    if not texts or (not chosen and where not in ((), [], {})):
        raise bad_value(name, expected, where)
    return chosen
