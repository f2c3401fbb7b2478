"""``steelyard score``: what metrics say of translations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from steelyard.cli.emit import emit, note
from steelyard.cli.options import (
    FIGURES,
    SUFFIXES,
    TABLES,
    InputOptions,
    OutputOptions,
    input_options,
    need_inputs,
    output_options,
)
from steelyard.cli.plots import plot_option, wanted_figures, write_figures
from steelyard.cli.shards import ShardOptions, score_in_shards, shard_options
from steelyard.cli.texts import TextOptions, text_options
from steelyard.core.errors import UsageError
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.scoring.run import Scores

PLOTS = ("categories", "people")


@click.command(
    epilog="Examples: steelyard score texts.jsonl --metric bleu,chrf --refs refA; "
    "steelyard score --src src.de a.en b.en --metric kobe --src-lang de --tgt-lang en"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@text_options
@click.option("--src-lang", metavar="CODE", help="Language of the source, as de.")
@click.option("--tgt-lang", metavar="CODE", help="Language of the outputs; it decides how texts "
              "are split into words.")  # fmt: skip
@click.option("--explain", type=click.Path(path_type=Path), metavar="FILE", help="Write what "
              "became of each entity (kobe) as JSON lines.")  # fmt: skip
@shard_options
@plot_option(PLOTS)
@input_options
@partial(output_options, suffixes=tuple(dict.fromkeys((*SUFFIXES, *TABLES, *FIGURES))))
def score(
    inputs: tuple[str, ...],
    texts: TextOptions,
    *,
    src_lang: str | None,
    tgt_lang: str | None,
    explain: Path | None,
    shards: ShardOptions,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
) -> None:
    """Score translations: a table of systems and metrics, with the signature of each metric.

    INPUT is a text file (JSON lines) or an mt-metrics-eval folder or, with --src or --ref, a plain
    text file for each system. --out with .csv, .tsv, .jsonl or .parquet writes the scores of
    segments, which compare and meta read; otherwise the table.
    """
    need_inputs(inputs, "steelyard score --ref ref.en a.en b.en --metric bleu,chrf")
    if src_lang or tgt_lang:
        if not (src_lang and tgt_lang):
            raise UsageError("--src-lang and --tgt-lang: expected both")
        options = replace(options, lp=f"{src_lang}-{tgt_lang}")
    if explain is not None and "kobe" not in texts.metric:
        raise UsageError("--explain is for kobe, which --metric does not name")
    if shards.asked:
        if plot is not None:
            raise UsageError("--plot: shards keep counts, there is nothing to draw from")
        if explain is not None:
            raise UsageError("--explain: shards keep counts, not what became of each entity")
        sharded = score_in_shards(inputs, texts, options, shards, output)
        if sharded is not None:
            emit(sharded.to_dict(), sharded.tables(), output)
        return
    plots = wanted_figures(plot, output, PLOTS if "kobe" in texts.metric else PLOTS[1:])
    found = texts.score(texts.load(inputs, options), options)
    output = write_figures(plots, partial(_draw, found, options.human), output)
    if explain is not None:
        lines = (f"{line}\n" for line in found.reports["kobe"].jsonl())
        files.write_text(explain, "".join(lines))
        note(f"wrote {explain}", output)
    written = output.out is not None and _write(found, output)
    shown = replace(output, out=None) if written else output
    emit(found.to_dict(), found.tables(), shown)


def _draw(found: Scores, human: str | None, name: str) -> Any:
    from steelyard.kobe.report import KobeReport
    from steelyard.report.figures import recall

    if name == "people":
        if human is None:
            raise UsageError("--plot people: name the human score by --human")
        return recall.beside_people(_standardised(found.evalset, found.metrics, human), human)
    report = found.reports["kobe"]
    assert isinstance(report, KobeReport)
    counts, kept = report.category_counts()
    return recall.categories(counts, kept)


def _standardised(es: EvalSet, metrics: tuple[str, ...], human: str) -> dict[str, dict[str, float]]:
    """Put system scores on one scale: deviations from the mean of those that people scored.

    A reference that metrics compare outputs with is no system.
    """
    used = {text for name in metrics for text in es[name].uses}
    kept = ~np.isnan(es[human].system_means()) & [system not in used for system in es.systems]
    scores = {}
    for name in (human, *metrics):
        values = es[name].system_means()[kept]
        values = values if es[name].higher_is_better else -values
        spread = np.nanstd(values)
        scores[name] = (values - np.nanmean(values)) / (spread if spread > 0 else 1.0)
    systems = [system for system, known in zip(es.systems, kept, strict=True) if known]
    return {n: dict(zip(systems, own.tolist(), strict=True)) for n, own in scores.items()}


def _write(found: Scores, output: OutputOptions) -> bool:
    """Write segment scores; False if the suffix asks for the table of systems."""
    from steelyard.formats.save import guess, save

    assert output.out is not None
    if files.suffix(output.out) not in TABLES:
        return False
    es = found.segments()
    form = guess(es, output.out)
    save(es, output.out, to=form)
    note(f"wrote {output.out}", output)
    lower = [name for name in found.metrics if not es[name].higher_is_better]
    if lower and form != "native":
        note(f"whoever reads it needs --lower-is-better {','.join(lower)}", output)
    return True
