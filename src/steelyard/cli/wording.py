"""What the library says of its arguments, in the words of the command line.

The library speaks Python: ``keep_references=True``, ``by="bt"``, ``score=NAME``, fewer ```jobs```.
Where the command that runs has an option for the argument, people read ``--keep-references``,
``--by bt``, ``--score NAME``, fewer ``--jobs`` instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

_ARGUMENT = re.compile(
    r"""(?<![\w'"=.-])([a-z]\w*)=(True|"[^"]*"|\["[^]]*\]|[A-Z][A-Z0-9.,]*\b|\.\.\.)"""
)
_NAME = re.compile(r"`(\w+)`")


def spoken(text: str, flags: Mapping[str, str] | None = None) -> str:
    """Put flags in the place of arguments.

    Examples
    --------
    >>> flags = {"by": "--by", "score": "--score", "keep_references": "--keep-references"}
    >>> spoken('left out (keep_references=True, by="bt", score=NAME, tests=...)', flags)
    'left out (--keep-references, --by bt, --score NAME, tests=...)'
    >>> spoken('needs two (by=["mean", "bt"])', flags)
    'needs two (--by mean,bt)'
    >>> spoken("fewer `jobs` need less", {"jobs": "--jobs"})
    'fewer --jobs need less'
    """
    known = _flags() if flags is None else flags
    text = _NAME.sub(lambda found: known.get(found[1], found[0]), text)

    def flag(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in known:
            return found.group()
        if value in ("True", "..."):
            return known[name]
        return f"{known[name]} {','.join(value.strip('[]').split(', '))}".replace('"', "")

    return _ARGUMENT.sub(flag, text)


def _flags() -> dict[str, str]:
    """Give the options of the command that runs by their names in Python."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    return {
        param.name: max(param.opts, key=len)
        for param in context.command.params
        if isinstance(param, click.Option) and param.name is not None
    }
