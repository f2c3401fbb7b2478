"""The pages that are made while the site is built: every command's help, and every format."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "reference"


def commands(group: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, groups first."""
    for name in group.list_commands(None):
        yield (*names, name)
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*names, name))


def commands_page() -> str:
    """Return the page with the help of every command at 80 columns."""
    from click.testing import CliRunner

    from steelyard.cli.main import cli

    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"})
    parts = ["# Commands\n"]
    for names in [(), *commands(cli)]:
        words = " ".join(("steelyard", *names))
        result = runner.invoke(cli, [*names, "--help"], prog_name="steelyard")
        if result.exit_code:
            raise RuntimeError(f"{words} --help: {result.output}")
        parts.append(f"## {words}\n\n```text\n{result.output.rstrip()}\n```\n")
    return "\n".join(parts)


def formats_page() -> str:
    """Return the page with every format of the registry: how it is recognised, and an example."""
    import json

    output = subprocess.check_output(
        [sys.executable, "-m", "steelyard", "data", "formats", "--json"], text=True
    )
    parts = ["# List of formats\n", "[](../formats.md) explains them.\n"]
    for entry in json.loads(output)["formats"]:
        fence = "`" * 4
        name = entry["example_file"]
        parts += [
            f"## {entry['format']}\n",
            f"Recognised by: {entry['recognised_by']}. Read by: {', '.join(entry['commands'])}.\n",
            f"{fence}text\n{entry['example'].rstrip()}\n{fence}\n" if entry["example"] else "",
            f"The example is a file such as `{name}`.\n" if name else "",
        ]
    return "\n".join(part for part in parts if part)


def write() -> None:
    """Write the pages, each only if it changed."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in (("commands", commands_page), ("formats", formats_page)):
        path = FOLDER / f"{name}.md"
        text = make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
