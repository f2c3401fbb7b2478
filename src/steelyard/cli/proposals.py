"""The next useful command, in the words that the user typed.

Nothing is proposed that could not work: standard input can't be read twice, and a name that has to
be escaped to be shown can't be typed as it is shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence

import click

from steelyard.cli.params import InputOptions, OutputOptions
from steelyard.core.errors import STDIN, printable

#: Options of reading inputs, which a command that follows takes, too.
READING = frozenset(InputOptions.declared())
_OUTPUT = frozenset(OutputOptions.declared()) - {"seed"}
_Typed = tuple[str | None, tuple[str, ...]]  # the option (None: an argument), and its words


def again(*more: str, without: Collection[str] = ()) -> str | None:
    """Return the command that runs with other options; where its output goes is not repeated."""
    typed = _typed()
    if typed is None:
        return None
    path, parts = typed
    left_out = {*without, *_OUTPUT}
    kept = [word for option, words in parts if option not in left_out for word in words]
    return command(*path, *kept, *more)


def another(name: str, *more: str, keep: Collection[str] = READING) -> str | None:
    """Return another command on the same inputs, with those options of this one that it keeps."""
    typed = _typed()
    if typed is None:
        return None
    parts = (words for option, words in typed[1] if option is None or option in keep)
    kept = [word for words in parts for word in words]
    return command(*name.split(), *kept, *more)


def command(*words: str) -> str | None:
    """Write a command as it is typed into a shell; None if it can't be."""
    if any(printable(word) != word for word in words) or STDIN in words:
        return None
    return shlex.join(("steelyard", *words))


def names(*values: str) -> str:
    """Write names as one option takes them, those with a comma in quotes."""
    quoted = (
        '"' + name.replace('"', '""') + '"'
        if set(name) & set(',"') or name != name.strip()
        else name
        for name in values
    )
    return ",".join(quoted)


def option(flag: str, value: str) -> tuple[str, ...]:
    """Write an option and its value, which may begin with a hyphen."""
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def _typed() -> tuple[list[str], list[_Typed]] | None:
    """Take apart what was typed: the names of the command, then options and arguments."""
    context = click.get_current_context(silent=True)
    words = None if context is None else context.find_root().obj
    if context is None or not isinstance(words, tuple):
        return None
    path = context.command_path.split(" ")[1:]
    path = [name for name, word in zip(path, words, strict=False) if name == word]  # not "card"
    rest = words[len(path) :]
    return None if "--" in rest else (path, list(_options(rest, context.command)))


def _options(words: Sequence[str], of: click.Command) -> Iterator[_Typed]:
    params = {flag: param for param in of.params for flag in (*param.opts, *param.secondary_opts)}
    remaining = iter(words)
    for word in remaining:
        flag, equals, _ = word.partition("=")
        param = params.get(flag) if word.startswith("-") else None
        if not isinstance(param, click.Option):
            yield None, (word,)
        elif param.is_flag or equals:
            yield param.name, (word,)
        else:
            yield param.name, (word, next(remaining, ""))
