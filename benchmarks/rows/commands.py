"""Whole commands, as a user waits for them; and what a start costs."""

from __future__ import annotations

from collections.abc import Iterator

from beds import GOLD, wmt_files
from harness.row import Row
from harness.setting import Setting
from harness.work import Command, Script, Slowest

PAIR = "zh-en"


def rows(setting: Setting) -> Iterator[Row]:
    """All rows of commands."""
    yield Row(
        key="import",
        work="`import steelyard`",
        ours=Script("import steelyard"),
        most=0.06,
        rounds=10,
        watched=False,
    )
    yield Row(
        key="help",
        work="every `COMMAND --help`, the slowest",
        ours=Slowest(tuple(Command((*words, "--help")) for words in every_command())),
        most=0.2,
        rounds=1,
        check=lambda slowest, _: f"slowest: {slowest}",
        watched=False,
    )
    names = wmt_files(PAIR)
    lacking = setting.lacks(*names)
    paths = tuple(str(setting.data / name) for name in names) if setting.data else ()
    out = str(setting.cache / "report.html")
    page = str(setting.cache / "demo.html")
    for key, work, words, most in (
        ("report", f"`report`, WMT23 {PAIR}",
         ("report", *paths, "--human", GOLD, "--out", out), 8.0),
        ("meta", f"`meta`, WMT23 {PAIR}", ("meta", *paths[:2], "--human", GOLD), 2.0),
        ("meta-significance", f"`meta --significance`, WMT23 {PAIR}",
         ("meta", *paths[:2], "--human", GOLD, "--significance"), None),
        ("demo", "`demo`", ("demo", "--report", page), 5.0),
    ):  # fmt: skip
        yield Row(
            key=key,
            work=work,
            ours=Command(words),
            most=most,
            rounds=1 if key in ("report", "meta-significance") else 2,
            skip="" if key == "demo" else lacking,
        )


def every_command() -> list[tuple[str, ...]]:
    """All commands, and those of their groups."""
    import click

    from steelyard.cli.main import cli

    found: list[tuple[str, ...]] = []
    groups: list[tuple[tuple[str, ...], click.Group]] = [((), cli)]
    while groups:
        words, group = groups.pop(0)
        context = click.Context(group)
        found.append(words)
        for name in group.list_commands(context):
            command, own = group.get_command(context, name), (*words, name)
            if isinstance(command, click.Group):
                groups.append((own, command))
            else:
                found.append(own)
    return found
