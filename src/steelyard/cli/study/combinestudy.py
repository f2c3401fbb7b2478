"""``steelyard study combine``: metrics made into one score, weighed and written."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import click

from steelyard.cli.emit import emit, note, progress_of
from steelyard.cli.fields import from_fields
from steelyard.cli.options import (
    SUFFIXES,
    TABLES,
    InputOptions,
    Names,
    OutputOptions,
    input_options,
    need_inputs,
    output_options,
)
from steelyard.cli.study.shared import INPUTS
from steelyard.formats import files
from steelyard.studies.metrics.options import COMBINE_META, CombineOptions


@click.command(
    epilog="Example: steelyard study combine scores.csv --human mqm --metrics chrF,COMET,kobe "
    "--out combined.csv"
)
@INPUTS
@click.option("--with", "by", type=Names(), default=",".join(COMBINE_META), show_default=True,
              help="Meta-metrics, as for steelyard meta.")  # fmt: skip
@from_fields(CombineOptions)
@input_options
@partial(output_options, suffixes=tuple(dict.fromkeys((*SUFFIXES, *TABLES))))
def combine(
    inputs: tuple[str, ...],
    by: tuple[str, ...],
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Combine metrics, and see whether a combination is better than its best part.

    Averages of ranks and z-scores, and weights learned from people, held out over systems and
    documents at once. --out FILE.csv (.tsv .jsonl .parquet) writes the combined scores, for
    steelyard meta; other suffixes the result.
    """
    from steelyard.formats.save import save
    from steelyard.studies.metrics.combination import combine_metrics

    need_inputs(inputs)
    asked = CombineOptions(**settings)
    es = options.by_unit(asked.unit).load(inputs)
    with progress_of("combining", output) as progress:
        found = combine_metrics(
            es, options.human, by=by, options=asked, rng=output.seed, progress=progress
        )
    tables = list(found.study.tables.values())
    if output.out is None or files.suffix(output.out) not in TABLES:
        emit(found.study.to_dict(), tables, output)
        return
    save(found.scores, output.out, overwrite=True)
    note(f"wrote {output.out}", output)
    emit(found.study.to_dict(), tables, replace(output, out=None))
