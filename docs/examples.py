"""Run every example of the documentation, page by page, and compare with what the page shows.

    python docs/examples.py            # say where a page differs from what commands print now
    python docs/examples.py --update   # rewrite the output of console blocks
    python docs/examples.py kobe.md questions/kb.md   # these pages alone

A page's blocks share a folder that holds the demo's files (``steelyard-demo``): ``code-block`` with
a caption makes a file of that name, ``console`` runs its commands, ``pycon`` is a doctest.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).parent
FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1[ ]*$", re.DOTALL | re.MULTILINE)
_CAPTION = re.compile(r":caption: (\S+)\n+")
_END = "@@end@@"


def pages() -> list[Path]:
    """List the pages that are written by hand."""
    made = {DOCS / "_build", DOCS / "api", DOCS / "reference"}
    return sorted(p for p in DOCS.rglob("*.md") if not made & set(p.parents))


class Shell:
    """A shell on a terminal of 80 columns that runs one command after the other in a folder."""

    def __init__(self, folder: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        environment["XDG_CACHE_HOME"] = str(Path(folder) / ".cache")
        environment.pop("COLUMNS", None)
        master, terminal = os.openpty()
        attributes = termios.tcgetattr(terminal)
        attributes[1] &= ~termios.OPOST  # lines end as they are written
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        termios.tcsetwinsize(terminal, (200, 80))
        self.process = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env=environment,
        )
        os.close(terminal)
        self.output = os.fdopen(master, encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a command; give what it prints, on either stream."""
        assert self.process.stdin is not None
        text = f"{command}\n__code=$?; echo; echo {_END}; (exit $__code)\n"
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()
        lines = []
        for line in self.output:
            if line.rstrip("\n") == _END:
                break
            lines.append(line)
        return "".join(lines).rstrip("\n")

    def close(self) -> None:
        """End the shell."""
        self.process.communicate()
        self.output.close()


@dataclass
class Page:
    """One page while its blocks are run: what differs is collected in ``differences``."""

    path: Path
    folder: str
    shell: Shell
    differences: list[str] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=dict)

    def block(self, match: re.Match[str]) -> str:
        """Run one block; give the block with the output that it has now."""
        ticks, info, body = match.groups()
        if info.startswith("{code-block}"):
            write_file(body, Path(self.folder))
        elif info == "console":
            return f"{ticks}{info}\n{self._console(body)}{ticks}"
        elif info == "pycon":
            self._doctest(body)
        return match.group(0)

    def _console(self, body: str) -> str:
        shown = []
        for command, expected in _commands(body):
            output = self.shell.run("\n".join(command))
            if output != expected:
                message = f"$ {command[0]}\n--- page\n{expected}\n+++ now\n{output}"
                self.differences.append(message)
            prompts = ["$ ", *["> "] * (len(command) - 1)]
            lines = [f"{p}{c}\n" for p, c in zip(prompts, command, strict=True)]
            shown.append("".join(lines) + (f"{output}\n" if output else ""))
        return ("\n" if "\n\n$ " in body else "").join(shown)

    def _doctest(self, body: str) -> None:
        test = doctest.DocTestParser().get_doctest(body, self.names, self.path.name, None, 0)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        runner = doctest.DocTestRunner(optionflags=flags)
        said: list[str] = []
        with contextlib.chdir(self.folder):
            runner.run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        if runner.failures:
            self.differences.append("".join(said))


def write_file(body: str, folder: Path) -> None:
    """Make the file that a ``code-block`` with a caption shows."""
    caption = _CAPTION.match(body)
    if caption:
        path = folder / caption[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body[caption.end() :], encoding="utf-8")


def _commands(body: str) -> Iterator[tuple[list[str], str]]:
    """Split a console block into commands (with continued lines) and their output."""
    command: list[str] = []
    output: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(output).rstrip("\n")
            command, output = [line[2:]], []
        elif line.startswith("> ") and not output and command[-1].endswith("\\"):
            command.append(line[2:])
        else:
            output.append(line)
    if command:
        yield command, "\n".join(output).rstrip("\n")


def copy_demo(folder: Path) -> None:
    """Do what ``steelyard demo --files`` does, without running the demo for every page."""
    from steelyard.demo.folder import write_files

    write_files(folder)


def check(path: Path, *, update: bool = False) -> list[str]:
    """Run a page's examples; give what differs, or rewrite the console output."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(folder)
        copy_demo(Path(folder) / "steelyard-demo")
        page = Page(path, folder, shell)
        now = FENCE.sub(page.block, text)
        shell.close()
    if update and now != text:
        path.write_text(now, encoding="utf-8")
    return page.differences


def main() -> None:
    """Check or update all pages, or those that are named."""
    update = "--update" in sys.argv
    named = [DOCS / name for name in sys.argv[1:] if name != "--update"]
    count = 0
    for path in named or pages():
        for difference in check(path, update=update):
            count += 1
            print(f"{path.relative_to(DOCS)}:\n{difference}\n")  # noqa: T201
    print(f"{count} differences{' (console output rewritten)' if update else ''}")  # noqa: T201
    sys.exit(bool(count) and not update)


if __name__ == "__main__":
    main()
