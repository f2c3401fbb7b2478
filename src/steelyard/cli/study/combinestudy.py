"""``steelyard study combine`` and ``hybrids``: metrics made into one, systems mixed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import click

from steelyard.cli.emit import emit, progress_of, wants_figure
from steelyard.cli.fields import from_fields
from steelyard.cli.helping import JUDGED, command
from steelyard.cli.options import (
    SUFFIXES,
    TABLES,
    InputOptions,
    OutputOptions,
    figure_options,
    input_options,
    need_inputs,
    output_options,
)
from steelyard.cli.study.shared import INPUTS, PLOT, emit_study
from steelyard.cli.values import Names
from steelyard.formats import files
from steelyard.studies.metrics.options import (
    COMBINE_META,
    HYBRID_META,
    CombineOptions,
    HybridOptions,
)


@command(
    shape=JUDGED,
    examples=(
        "steelyard study combine scores.csv --human mqm --metrics chrF,COMET --out combined.csv",
        "steelyard study combine scores.csv --human mqm --metrics chrF,COMET --by spa,acc-eq",
    ),
)
@INPUTS
@click.option("--by", type=Names(), default=",".join(COMBINE_META), show_default=True,
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
    tables = list(found.study.parts.values())
    if output.out is None or files.suffix(output.out) not in TABLES:
        emit(found.study, tables, output, table_file="FILE.md")
        return
    save(found.scores, output.out, overwrite=True)
    emit(found.study, tables, replace(output, out=None), wrote=[output.out], table_file="FILE.md")


@command(
    shape=JUDGED,
    examples=(
        "steelyard study hybrids scores.csv --human mqm --metrics chrF,COMET",
        "steelyard study hybrids scores.csv texts.jsonl --human mqm --corpus bleu --ref refA",
    ),
)
@INPUTS
@click.option("--by", type=Names(), default=",".join(HYBRID_META), show_default=True,
              help="Meta-metrics of systems: pearson spearman pa and variants of Kendall's."
              )  # fmt: skip
@from_fields(HybridOptions)
@click.option("--corpus", type=Names(), default=(), help="Weigh these metrics, too, scored "
              "on the texts: bleu chrf chrf++ ter kobe kobe-ref and others of score.")  # fmt: skip
@click.option("--ref", "refs", type=Names(), help="References that --corpus compares with.")
@PLOT
@input_options
@figure_options
def hybrids(
    inputs: tuple[str, ...],
    by: tuple[str, ...],
    corpus: tuple[str, ...],
    refs: tuple[str, ...] | None,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Mix outputs of systems segment by segment, and weigh metrics on thousands of mixtures.

    Their number is no evidence: intervals are over the systems and segments that they are made of.
    """
    from steelyard.studies.metrics.mixtures import mix_systems

    need_inputs(inputs)
    wants_figure(output)
    asked = HybridOptions(**settings)
    es = options.load(inputs)
    if corpus:
        from steelyard.scoring.run import with_corpus_metrics

        before = es.scores.keys()
        es = with_corpus_metrics(es, corpus, refs)
        if asked.metrics is not None:  # what was computed for this is shown
            asked = replace(asked, metrics=(*asked.metrics, *sorted(es.scores.keys() - before)))
    with progress_of("mixing", output) as progress:
        found = mix_systems(
            es, options.human, by=by, options=asked, rng=output.seed, progress=progress
        )
    emit_study(found, plot, output)
