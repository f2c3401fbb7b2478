"""What the library says of its arguments, in the words of the command line.

The library speaks Python: ``keep_references=True``, ``by="bt"``, ``score=NAME``, ``ignore=["id"]``,
``where={"lp": "en-de"}``, fewer ```jobs```. Where the command that runs has an option for the
argument, people read ``--keep-references``, ``--by bt``, ``--score NAME``, ``--ignore id``,
``--where lp=en-de``, fewer ``--jobs`` instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

_ARGUMENT = re.compile(
    r"""(?<![\w'"=.-])([a-z]\w*)="""
    r"""(True|"[^"]*"|\["[^]]*\]|\{[^{}]+\}|[A-Z][A-Z0-9.,-]*\b|\.\.\.)"""
)
_NAME = re.compile(r"`(\w+)`")
_SCORE_COLUMN = re.compile(r'columns=\{"score": ("[^"]*")\}')  # which an option of its own names
#: What only Python has, and what commands have in its place.
_MADE = (
    (re.compile(r'ScoreFile\("([^"]+)", (\w+)\)'), r"--score-file \1=\2"),
    (
        re.compile(r'Command\.parse\("([^"]+)", (\w+)\) of steelyard\.scoring\.external'),
        r"--command '\1=\2'",
    ),
)
#: Functions that messages send people to, and the commands that do the same.
_FUNCTION = re.compile(r"\bsy\.(\w+)")
_COMMANDS = {
    "compare_battles": "steelyard compare",
    "human_scores": "steelyard human",
    "score": "steelyard score",
}
_ALSO = {"overwrite": "force", "source": "src"}  # arguments whose option has another name


def spoken(text: str, flags: Mapping[str, str] | None = None) -> str:
    """Put flags in the place of arguments.

    Examples
    --------
    >>> flags = {"by": "--by", "score": "--score", "keep_references": "--keep-references"}
    >>> spoken('left out (keep_references=True, by="bt", score=NAME, tests=...)', flags)
    'left out (--keep-references, --by bt, --score NAME, tests=...)'
    >>> spoken('needs two (by=["mean", "bt"])', flags)
    'needs two (--by mean,bt)'
    >>> spoken('columns={"score": "Adequacy (1-5)"} picks one', flags)
    "--score 'Adequacy (1-5)' picks one"
    >>> spoken("fewer `jobs` need less", {"jobs": "--jobs"})
    'fewer --jobs need less'
    >>> spoken("sy.human_scores takes them", {"jobs": "--jobs"})
    'steelyard human takes them'
    >>> flags = {"ignore": "--ignore", "where": "--where", "kind": "--kind"}
    >>> spoken('ignore=["row no", ...], where={"lp": "en-de"}, kind={"metric": ["x"]}', flags)
    "--ignore 'row no',..., --where lp=en-de, --kind metric:x"
    """
    known = flags_here() if flags is None else flags
    if "score_files" in known:
        for made, option in _MADE:
            text = made.sub(option, text)
    if "score" in known:
        text = _SCORE_COLUMN.sub(r"score=\1", text)
    if known:
        text = _FUNCTION.sub(lambda found: _COMMANDS.get(found[1], found[0]), text)
    text = _NAME.sub(lambda found: known.get(found[1], found[0]), text)

    def flag(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in known:
            return found.group()
        typed = "" if value in ("True", "...") else _typed(value)
        return f"{known[name]} {typed}" if typed else known[name]

    return _ARGUMENT.sub(flag, text)


def _typed(value: str) -> str:
    """Give a value as one types it: a list by commas, a column or a kind before what it has."""
    if value[0] == "[":
        names = value[1:-1].split(", ")
        return ",".join("..." if name == "..." else _shell(name.strip('"')) for name in names)
    if value[0] == "{":
        key, _, rest = value[1:-1].partition(": ")
        typed = "" if rest == "..." else _typed(rest)
        return f"{key.strip(chr(34))}{':' if rest[0] == '[' else '='}{typed}"
    plain = value.strip(chr(34))
    return f"'{plain}'" if " " in plain else plain


def _shell(name: str) -> str:
    """Give a name as one types it into a shell."""
    return name if re.fullmatch(r"[\w.+-]+", name) else f"'{name}'"


def flags_here() -> dict[str, str]:
    """Give the options of the command that runs by their names in Python."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    flags = {
        param.name: max(param.opts, key=len)
        for param in context.command.params
        if isinstance(param, click.Option) and param.name is not None
    }
    return {name: flags[option] for name, option in _ALSO.items() if option in flags} | flags
