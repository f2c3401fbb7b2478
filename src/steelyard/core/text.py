"""Counts and lists in words, the same in every message."""

from __future__ import annotations

from collections.abc import Sequence


def plural(n: int, noun: str) -> str:
    """Return a count with its noun: ``1,976 segments``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def are(n: int, noun: str) -> str:
    """Return a count with its verb: ``are 2 systems``."""
    return f"{'is' if n == 1 else 'are'} {plural(n, noun)}"


def listed(names: Sequence[str], most: int = 4, *, rest: str = "more", last: str = ", ") -> str:
    """Name the first few, and count the ``rest``; ``last`` stands before the last name of all."""
    left = len(names) - most
    if left > 0:
        others = f"{left:,} more" if rest == "more" else plural(left, rest)
        return f"{', '.join(names[:most])} and {others}"
    return ", ".join(names[:-1]) + (last if len(names) > 1 else "") + "".join(names[-1:])


def all_of(names: Sequence[str]) -> str:
    """Name a few in a sentence: ``A, B and C``."""
    return listed(names, last=" and ")


def span(noun: str, low: int, high: int) -> str:
    """Return a range in words: ``rank 1``, ``ranks 1 to 3``."""
    return f"{noun} {low}" if low == high else f"{noun}s {low} to {high}"


def sentence(text: str) -> str:
    """Make a sentence of a note: a capital letter in front, a full stop at the end."""
    return stopped(f"{text[:1].upper()}{text[1:]}")


def stopped(text: str) -> str:
    """End a text with one full stop; what it starts with may be a name, and stays as it is."""
    return f"{text.removesuffix('.')}."
