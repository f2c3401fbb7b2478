"""``steelyard score --shards``: texts of any size, part after part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.emit import note
from steelyard.cli.options import (
    CLUSTER,
    TABLES,
    InputOptions,
    OutputOptions,
    Parsed,
    as_object,
)
from steelyard.cli.progress import workers_with_progress
from steelyard.cli.texts import TextOptions
from steelyard.core.errors import UsageError
from steelyard.core.parallel import Workers
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.kobe.scale import ShardedKobe


class Share(Parsed):
    """One of several shares, as I/N."""

    name = "I/N"

    def parse(self, text: str) -> tuple[int, int]:
        """Split at the slash."""
        mine, _, of = text.partition("/")
        if not (mine.isdecimal() and of.isdecimal() and 1 <= int(mine) <= int(of)):
            raise ValueError(f"'{text}' is not of the form I/N, with I from 1 to N")
        return int(mine), int(of)


@dataclass(frozen=True)
class ShardOptions:
    """Where counts of shards are kept, how texts are split, and which share of them is wanted."""

    shards: Path | None
    shard: tuple[int, int] | None
    shard_size: int
    cluster: str | None

    @property
    def asked(self) -> bool:
        """Whether texts are to be counted in shards."""
        for option, value in (("--shard", self.shard), ("--cluster", self.cluster)):
            if self.shards is None and value is not None:
                raise UsageError(f"{option}: expected --shards DIR, too")
        return self.shards is not None


_SHARDS = (
    click.option("--shards", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                 help="For texts of any size (kobe): count part after part, keep the counts in "
                 "this folder, go on from there."),
    click.option("--shard", type=Share(), help="Count only this share of the parts, as one of an "
                 "array of jobs; when all are there, the command without it adds them up."),
    click.option("--shard-size", type=click.IntRange(min=1), default=50_000, show_default=True,
                 metavar="N", help="Lines of a shard."),
    CLUSTER,
)  # fmt: skip


#: Adds the options of shards; the command receives them as one ``shards``.
shard_options = as_object("shards", ShardOptions, _SHARDS)


def score_in_shards(
    inputs: tuple[str, ...],
    texts: TextOptions,
    options: InputOptions,
    how: ShardOptions,
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
    from steelyard.formats.textshards import find_shards
    from steelyard.kobe.scale import score_shards
    from steelyard.scoring.entities import Kobe

    metric = Kobe(**texts.options_of("kobe"))
    found = find_shards([Path(name) for name in inputs], how.shard_size, source=texts.src,
                        references=texts.ref, allow_empty=texts.allow_empty)  # fmt: skip
    workers = Workers(output.jobs, how.cluster, how.shards)
    with workers_with_progress("linking", workers, output) as shown:
        result = score_shards(
            found, source, target, texts.kb, metric.options, workers=shown, only=how.shard
        )
    if result is None and how.shard is not None:
        mine, of = how.shard
        n = len(range(mine - 1, len(found), of))
        note(f"share {mine} of {of}: {n} of {len(found)} shards are in {workers.resume}", output)
    return result
