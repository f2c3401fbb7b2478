"""Warnings that know their kind: people read those of a kind as one, JSON has every sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from steelyard.core.text import listed

_KEPT, _LONGEST = 3, 5  # names that stay of a list that is longer


class TypedWarning(str):
    """A sentence with the ``code`` of its kind, and the ``names`` in it, with commas between."""

    __slots__ = ("code", "names")
    code: str
    names: tuple[str, ...]

    def __new__(cls, text: str, code: str = "", names: Iterable[str] = ()) -> Self:
        """Make a warning; a code is a short word that callers may rely on."""
        warning = super().__new__(cls, text)
        warning.code, warning.names = code, tuple(names)
        return warning


def code_of(warning: str) -> str:
    """Return the code of a warning's kind, empty for a plain string."""
    return warning.code if isinstance(warning, TypedWarning) else ""


def reworded(warning: str, change: Callable[[str], str]) -> str:
    """Change the sentence of a warning; its kind and its names stay."""
    names = warning.names if isinstance(warning, TypedWarning) else ()
    return TypedWarning(change(warning), code_of(warning), names)


def brief(warnings: Iterable[str], every: str = "") -> list[str]:
    """Keep the first warning of a kind with few of its names; ``every`` says where all are."""
    kinds: dict[str, list[str]] = {}
    for warning in dict.fromkeys(warnings):
        kinds.setdefault(code_of(warning) or warning, []).append(warning)
    where = f": {every}" if every else ""
    shown: list[str] = []
    for first, *more in kinds.values():
        names = first.names if isinstance(first, TypedWarning) else ()
        text = str(first)
        if len(names) > _LONGEST:
            text = text.replace(", ".join(names), listed(names, _KEPT))
        text += f" (and {len(more):,} more like this{where})" if more else ""
        shown.append(TypedWarning(text, code_of(first)))
    return shown
