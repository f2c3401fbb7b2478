"""``steelyard demo``: everything there is, on the data that comes with Steelyard."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, note, shown_progress
from steelyard.cli.helping import command
from steelyard.cli.options import OutputOptions, output_options

if TYPE_CHECKING:
    from steelyard.cli.demostory import Part, Story
    from steelyard.core.table import Table

_WIDTH = 79  # of commands, which are pasted and can't be broken anywhere


@command(
    examples=("steelyard demo", "steelyard demo --files steelyard-demo"),
)
@click.option("--files", "folder", type=click.Path(path_type=Path, file_okay=False),
              metavar="DIR",
              help="Also write the demo's files there, for the commands of README.")  # fmt: skip
@click.option("--report", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              default="steelyard-demo.html", show_default=True,
              help="Where the report goes, to be opened in a browser.")  # fmt: skip
@click.option("--no-report", is_flag=True, help="Write no report.")
@partial(output_options, unused=("seed", "out"))
def demo(folder: Path | None, page: Path, no_report: bool, output: OutputOptions) -> None:  # noqa: FBT001
    """Show what Steelyard does, in a story: invented systems, texts, people and judges."""
    from steelyard.cli.demostory import tell_story
    from steelyard.demo import embedded
    from steelyard.report.explorer import with_ratings

    es = with_ratings(embedded.demo_set(texts=True), embedded.ERRORS)
    with shown_progress("weighing, comparing, linking", output):
        # One computation for the terminal and for the page, with the draws that the commands make.
        story = tell_story(es, next(iter(es.ratings.values())), output.seed)
    result: dict[str, Any] = {"warnings": list(story.warnings)}
    if output.json or output.out is not None:
        result = story.to_dict() | {"sentences": embedded.entity_counts()}
    if not no_report:
        from steelyard.report.page import make_report

        with shown_progress("making the report", output):
            made = make_report(
                story.es,
                "mqm",
                title="Demo: twelve invented systems, German to English",
                comparison=story.comparison,
                meta=story.meta,
                judges=story.judges,
                rng=output.seed,
            )
        made.save(page)
        result["report"] = str(page)
    from steelyard.cli.demostory import OPENING

    shown = _blocks(story, None if no_report else page, folder)
    emit(result, [story.view.table()], output, words=[OPENING], shown=shown)
    if folder is not None:
        from steelyard.demo.folder import write_files

        write_files(folder)
        note(f"wrote the demo's files to {folder}: README.txt there says what they are", output)
        note(f"to paste the commands above: cd {folder}", output)


def _blocks(story: Story, page: Path | None, folder: Path | None) -> list[Table | str]:
    """Tell the story: its parts, and what to do next."""
    from steelyard.cli.demostory import CLOSING, REPORT

    told: list[Table | str] = [block for part in story.parts for block in _told(part)]
    if page is not None:
        told.append(
            "All of it on one page, with the texts and the errors marked in them:\n"
            f"{_command(REPORT)}\n\nIt is made: open {page} in a browser"
        )
    last = ["What next?", *CLOSING]
    if folder is None:
        last.append("To paste the commands above: steelyard demo --files DIR, then cd DIR")
    return [*told, "\n".join(last)]


def _told(part: Part) -> list[Table | str]:
    told: list[Table | str] = [f"{part.question}\n{_command(part.command)}"]
    told += ["\n".join(part.words)] if part.words else []
    # What tests were made, and how: the command itself says it.
    return told if part.table is None else [*told, replace(part.table, notes=())]


def _command(command: str) -> str:
    """Show a command that can be pasted, over several lines if it is long."""
    whole = re.sub(r"(--\S+) (?!-)", r"\1~", command)  # an option stays with its value
    lines = textwrap.wrap(whole, _WIDTH - 8, break_on_hyphens=False, break_long_words=False)
    return "  $ " + " \\\n      ".join(lines).replace("~", " ")
