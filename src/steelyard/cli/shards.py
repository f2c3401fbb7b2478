"""``steelyard score --shards``: texts of any size, part after part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import note
from steelyard.cli.options import TABLES, InputOptions, OutputOptions, Pair
from steelyard.cli.progress import workers_with_progress
from steelyard.cli.texts import TextOptions
from steelyard.errors import UsageError
from steelyard.formats import files
from steelyard.parallel import Workers

if TYPE_CHECKING:
    from steelyard.kobe.sharded import ShardedKobe


class Share(Pair):
    """One of several shares, as I/N."""

    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split at the slash."""
        if isinstance(value, tuple):
            return value
        mine, _, of = str(value).partition("/")
        if not (mine.isdecimal() and of.isdecimal() and 1 <= int(mine) <= int(of)):
            self.fail(f"'{value}' is not of the form I/N, with I from 1 to N", param, ctx)
        return int(mine), int(of)


@dataclass(frozen=True)
class ShardOptions:
    """How the texts are split, and which share of the parts is wanted (None: all)."""

    size: int
    share: tuple[int, int] | None


def score_in_shards(
    inputs: tuple[str, ...],
    texts: TextOptions,
    options: InputOptions,
    how: ShardOptions,
    workers: Workers,
    output: OutputOptions,
) -> ShardedKobe | None:
    """Count all shards and add them up, or only some of them (None)."""
    if texts.metric != ("kobe",) or texts.commands or texts.score_files:
        raise UsageError("--shards is for --metric kobe, alone")
    source, _, target = (options.lp or "").partition("-")
    if not (source and target):
        raise UsageError("--shards: name the languages by --src-lang and --tgt-lang")
    unused = {"--human": options.human, "--systems": options.systems, "--where": options.where,
              "--drop-systems": options.drop_systems, "--domain": options.domain,
              "--ignore": options.ignore}  # fmt: skip
    for option, value in unused.items():
        if value:
            raise UsageError(f"{option}: shards are counted as they are")
    if output.out is not None and files.suffix(output.out) in ("jsonl", "parquet"):
        raise UsageError(f"--out {output.out}: shards have no scores of segments; expected a table "
                         f"(.json .csv .md), not {' '.join(TABLES)}")  # fmt: skip
    from steelyard.formats.shards import find_shards
    from steelyard.kobe.sharded import options_of, score_shards

    kb, chosen = options_of(texts._settings().get("kobe", {}))
    found = find_shards([Path(name) for name in inputs], how.size, source=texts.src,
                        references=texts.ref, allow_empty=texts.allow_empty)  # fmt: skip
    with workers_with_progress("linking", workers, output) as shown:
        result = score_shards(found, source, target, kb, chosen, workers=shown, only=how.share)
    if result is None and how.share is not None:
        mine, of = how.share
        n = len(range(mine - 1, len(found), of))
        note(f"share {mine} of {of}: {n} of {len(found)} shards are in {workers.resume}", output)
    return result
