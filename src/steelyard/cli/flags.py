"""Messages of the library in the words of the command line: flags in the place of arguments.

The library names Python arguments: ``keep_references=True``, ``by="bt"``, ``score=NAME``,
``where={"lp": "en-de"}``, fewer ```jobs```. The command line prints the flag of the running
command instead. An aside about an argument that this command lacks is dropped, so that no message
of the command line holds Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

_ARGUMENT = re.compile(
    r"--[\w-]+ \S+|"  # a flag with its value, which stays
    r"""(?<![\w'"=.-])(?P<name>[a-z]\w*)="""
    r"""(?P<value>True|"[^"]*"|\[[^]]*\]|\{[^{}]+\}|[A-Z][A-Z0-9.,-]*\b|\.\.\.)"""
)
_ASIDE = re.compile(r" \([^()]*\)|; [^;]*$")
_NAME = re.compile(r"`(\w+)`")
_FUNCTION = re.compile(r"\bsy\.(\w+)")
#: What only Python has; commands have ``--command``.
_PROGRAM = re.compile(r'Command\.parse\("([^"]+)", (\w+)\) of steelyard\.scoring\.external')
_SCORE_COLUMN = re.compile(r'columns=\{"score": ("[^"]*")\}')  # which --score names, too
_COMMANDS = {"compare_battles": "compare", "human_scores": "human"}
_RENAMED = {"overwrite": "force", "source": "src"}  # arguments whose option has another name


def spoken(text: str, flags: Mapping[str, str] | None = None) -> str:
    """Replace arguments by flags; by default those of the command that runs, if one does.

    Examples
    --------
    >>> flags = {"by": "--by", "score": "--score", "where": "--where", "kind": "--kind"}
    >>> spoken('needs two (by=["mean", "bt"], score=NAME)', flags)
    'needs two (--by mean,bt, --score NAME)'
    >>> spoken('columns={"score": "Adequacy (1-5)"}, where={"lp": "en-de"}', flags)
    "--score 'Adequacy (1-5)', --where lp=en-de"
    >>> spoken('kind={"metric": ["x"]}; sy.human_scores takes them', flags)
    '--kind metric:x; steelyard human takes them'
    >>> spoken('"da" lacks 20 (common=True keeps what all have); unit="2" helps', flags)
    '"da" lacks 20'
    """
    flags = flags_here() if flags is None else flags
    if not flags:
        return text
    if "commands" in flags:
        text = _PROGRAM.sub(r"--command '\1=\2'", text)
    if "score" in flags:
        text = _SCORE_COLUMN.sub(r"score=\1", text)
    text = _FUNCTION.sub(lambda match: f"steelyard {_COMMANDS.get(match[1], match[1])}", text)
    text = _NAME.sub(lambda match: flags.get(match[1], match[1]), text)
    text = _ASIDE.sub(lambda match: "" if _lacks_option(match[0], flags) else match[0], text)

    def flag(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if name is None:
            return match[0]
        typed = "" if value in ("True", "...") else _typed(value)
        return f"{flags.get(name, name.replace('_', ' '))} {typed}".rstrip()

    return _ARGUMENT.sub(flag, text)


def _lacks_option(aside: str, flags: Mapping[str, str]) -> bool:
    """Tell whether an aside names an argument for which there is no flag."""
    names = (match["name"] for match in _ARGUMENT.finditer(aside))
    return any(name not in flags for name in names if name is not None)


def _typed(value: str) -> str:
    """Return a value as a user types it: a list by commas, a column or kind before its value."""
    if pairs := re.findall(r'\("([^"]*)", "([^"]*)"\)', value):
        return ",".join(_typed(f'"{role}={name}"') for role, name in pairs)
    if value[0] == "[":
        names = [name.strip('"') for name in value[1:-1].split(", ")]
        return ",".join(
            n if n == "..." or re.fullmatch(r"[\w.+-]+", n) else f"'{n}'" for n in names
        )
    if value[0] == "{":
        key, _, rest = value[1:-1].partition(": ")
        typed = "" if rest == "..." else _typed(rest)
        return f"{key.strip(chr(34))}{':' if rest[0] == '[' else '='}{typed}"
    plain = value.strip('"')
    return f"'{plain}'" if " " in plain else plain


def flags_here() -> dict[str, str]:
    """Return the flags of the command that runs, by the names of their arguments."""
    context = click.get_current_context(silent=True)
    params = [] if context is None else context.command.params
    flags = {p.name: max(p.opts, key=len) for p in params if isinstance(p, click.Option) and p.name}
    return {name: flags[option] for name, option in _RENAMED.items() if option in flags} | flags
