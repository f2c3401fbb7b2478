"""Linkers of other packages: loaded by name, and held to what a linker promises.

Whatever goes wrong in foreign code is told in one line with the linker's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.formats.cells import brief
from steelyard.kobe.mention import Id, Linker, Mention, Mentions

#: The group of entry points by which packages add linkers.
GROUP = "steelyard.linkers"
_OBJECT = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def named_linker(name: str) -> Linker:
    """Load a linker that a package has added to :data:`GROUP`, or ``module:object``.

    What is loaded is a linker, or a function or class without arguments that gives one.

    Examples
    --------
    >>> named_linker("nobody")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: no linker 'nobody': expected the name of one that a package...
    """
    added = {point.name: point for point in entry_points(group=GROUP)}
    if name not in added and ":" not in name:
        expected = "expected the name of one that a package adds, or MODULE:OBJECT"
        raise UsageError(f"no linker '{name}': {expected}; {hint(name, added)}")
    if name not in added and not _OBJECT.fullmatch(name):
        raise UsageError(f"linker '{name}': expected MODULE:OBJECT")
    point = added.get(name) or EntryPoint(name, name, GROUP)
    with _told(name, f"can't be loaded from {point.value}"):
        found = point.load()
        made = found if isinstance(found, Linker) and not isinstance(found, type) else found()
    if not isinstance(made, Linker):
        kind = type(made).__name__
        raise UsageError(f"linker '{name}': a {kind} has no signature, link and name")
    return ForeignLinker(name, made)


@contextmanager
def _told(name: str, what: str) -> Iterator[None]:
    """Turn whatever foreign code raises into one line; it may even try to end the process."""
    try:
        yield
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        raise UsageError(f"linker '{name}': {what}: {type(error).__name__} {words}") from error


def _is_sound(one: Mention) -> bool:
    """Tell whether the parts of a mention are what they should be."""
    ids = (one.id, *one.candidates) if isinstance(one.candidates, tuple) else (None,)
    words = (one.text, one.category, one.tier, one.rule)
    known = all(isinstance(id_, (int, np.integer, str)) for id_ in ids)
    return known and all(isinstance(word, str) for word in words)


class ForeignLinker:
    """A linker of another package, whose answers are checked.

    Examples
    --------
    >>> class Forgetful:
    ...     signature, link, name = "x", lambda self, texts, lang, other: [], str
    >>> ForeignLinker("mine:Forgetful", Forgetful()).link(["Wien"], "de", "en")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: linker 'mine:Forgetful': link gives 0 lists for 1 text...
    """

    def __init__(self, name: str, linker: Linker) -> None:
        self._name, self._linker = name, linker
        with _told(name, "has no signature"):
            signature: Any = linker.signature
        if not isinstance(signature, str):
            self._fail(f"signature is {brief(signature)}, expected text")
        self.signature = signature

    def _fail(self, message: str) -> NoReturn:
        raise UsageError(f"linker '{self._name}': {message}")

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:
        """Let it find the mentions, and see that they are some."""
        with _told(self._name, "link fails"):
            given: Any = self._linker.link(texts, lang, other)
            lists = list(given)
        if len(lists) != len(texts):
            told = f"link gives {plural(len(lists), 'list')} for {plural(len(texts), 'text')}"
            self._fail(f"{told}, expected one of each")
        return [self._checked(own, text) for own, text in zip(lists, texts, strict=True)]

    def _checked(self, own: Any, text: str) -> Mentions:
        if not isinstance(own, (list, tuple)) or isinstance(own, Mention):
            self._fail(f"link gives {brief(own)} for a text, expected a list of mentions")
        for one in own:
            if not isinstance(one, Mention):
                self._fail(f"link gives {brief(one)}, expected a Mention")
            whole = all(isinstance(value, (int, np.integer)) for value in (one.start, one.end))
            if not whole or not 0 <= one.start <= one.end <= len(text):
                place = f"start {brief(one.start)} and end {brief(one.end)}"
                told = f"a mention with {place} in {plural(len(text), 'character')}"
                self._fail(f"{told}, expected a part of the text")
            if not _is_sound(one):
                self._fail(
                    f"{brief(tuple(one))}, expected a Mention whose ids are texts or numbers"
                )
        return tuple(one._replace(start=int(one.start), end=int(one.end)) for one in own)

    def name(self, entity: Id) -> str:
        """Ask it what the outside calls an entity."""
        with _told(self._name, "name fails"):
            found: Any = self._linker.name(entity)
        if not isinstance(found, str):
            self._fail(f"name gives {brief(found)} for {brief(entity)}, expected text")
        return str(found)
