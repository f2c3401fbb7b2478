"""The next useful command, in the words that the user typed: names of files as they were given.

Nothing is proposed where it could not work: standard input can't be read twice, and a name that has
to be escaped to be shown can't be typed as it is shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence

import click

from steelyard.cli.options import InputOptions, OutputOptions
from steelyard.core.errors import STDIN, printable

#: How inputs are read; of a command that follows it, too.
READING = frozenset(InputOptions.__dataclass_fields__)
_OUTPUT = frozenset(OutputOptions.__dataclass_fields__) - {"seed"}
_Typed = tuple[str | None, tuple[str, ...]]  # the option (None: an argument), and its words


def again(*more: str, without: Collection[str] = ()) -> str | None:
    """Give the command that runs once more, without these options and with something more.

    Where results go and how they are shown is not repeated.
    """
    found = _typed()
    if found is None:
        return None
    names, typed = found
    left = {*without, *_OUTPUT}
    kept = [word for option, words in typed if option not in left for word in words]
    return command(*names, *kept, *more)


def another(name: str, *more: str, keep: Collection[str] = READING) -> str | None:
    """Give another command on the same inputs, with the options of reading them.

    None if the user said something of the inputs that it could not repeat.
    """
    found = _typed()
    if found is None:
        return None
    kept = [
        word for option, words in found[1] if option is None or option in keep for word in words
    ]
    return command(*name.split(), *kept, *more)


def command(*words: str) -> str | None:
    """Write a command as it is typed into a shell; None if it can't be."""
    if any(printable(word) != word for word in words) or STDIN in words:
        return None
    return shlex.join(("steelyard", *words))


def names(*given: str) -> str:
    """Write names as one option takes them, those with a comma in quotes."""
    return ",".join(
        '"' + name.replace('"', '""') + '"'
        if set(name) & set(',"') or name != name.strip()
        else name
        for name in given
    )


def option(flag: str, value: str) -> tuple[str, ...]:
    """Write an option and its value; one that begins with a hyphen is no other option."""
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def _typed() -> tuple[list[str], list[_Typed]] | None:
    """Take apart what was typed: the names of the command, then options and arguments."""
    context = click.get_current_context(silent=True)
    words = None if context is None else context.find_root().obj
    if context is None or not isinstance(words, tuple):
        return None
    path = context.command_path.split(" ")[1:]
    path = [name for name, word in zip(path, words, strict=False) if name == word]  # not "card"
    left = words[len(path) :]
    taken = list(_options(left, context.command))
    return None if "--" in left else (path, taken)


def _options(words: Sequence[str], of: click.Command) -> Iterator[_Typed]:
    known = {flag: param for param in of.params for flag in (*param.opts, *param.secondary_opts)}
    at = iter(words)
    for word in at:
        flag, equals, _ = word.partition("=")
        param = known.get(flag) if word.startswith("-") else None
        if not isinstance(param, click.Option):
            yield None, (word,)
        elif param.is_flag or equals:
            yield param.name, (word,)
        else:
            yield param.name, (word, next(at, ""))
