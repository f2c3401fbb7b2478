"""``steelyard score``: what metrics say of translations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import following
from steelyard.cli.emit import (
    emit,
    plot_option,
    shown_progress,
    wanted_figures,
    write_figures,
)
from steelyard.cli.helping import TEXTS, command
from steelyard.cli.options import (
    FIGURES,
    SUFFIXES,
    TABLES,
    InputOptions,
    OutputOptions,
    as_object,
    given,
    input_options,
    need_inputs,
    settled_options,
    with_languages,
)
from steelyard.cli.texts import TextOptions, text_options
from steelyard.cli.values import FileName
from steelyard.core.errors import UsageError
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.kobe.report import KobeReport
    from steelyard.scoring.run import Scores

PLOTS = ("categories", "people")
_BESIDE = frozenset(("explain", "every", "min_confidence", "system_scores", "plot"))
_WRITTEN = tuple(dict.fromkeys((*SUFFIXES, *TABLES, *FIGURES)))


@dataclass(frozen=True)
class ScoreOptions:
    """The languages, and what is written beside scores.

    ``every`` alarm is shown, or those from ``min_confidence`` on; by default those that are sure
    enough.
    """

    src_lang: str | None
    tgt_lang: str | None
    explain: Path | None
    every: bool
    min_confidence: float | None
    system_scores: Path | None

    def check(self, texts: TextOptions) -> None:
        """Refuse what does not go together."""
        of_kobe = {"--explain": self.explain is not None, "--all": self.every,
                   "--min-confidence": self.min_confidence is not None}  # fmt: skip
        for option in (option for option, asked in of_kobe.items() if asked):
            if not texts.kobe:
                raise UsageError(f"{option} is for kobe, which --metrics does not name")
        if self.every and self.min_confidence is not None:
            raise UsageError("--all and --min-confidence: expected one of them")
        if self.system_scores is not None and files.suffix(self.system_scores) not in TABLES:
            kinds = " ".join(f".{kind}" for kind in TABLES)
            raise UsageError(f"--system-scores {self.system_scores}: expected one of {kinds}")


_SCORE = (
    click.option("--src-lang", metavar="CODE", help="Language of the source, as de."),
    click.option("--tgt-lang", metavar="CODE", help="Language of the outputs; it decides how texts "
                 "are split into words."),
    click.option("--explain", type=click.Path(path_type=Path), metavar="FILE", help="Write what "
                 "became of each entity (kobe) as JSON lines: alarms that are sure enough, the "
                 "surest first, and all that was found."),
    click.option("--all", "every", is_flag=True, help="Show all alarms of kobe, also those that "
                 "are most likely the linker's fault."),
    click.option("--min-confidence", type=click.FloatRange(0, 1), metavar="X", help="Show alarms "
                 "of kobe from this confidence on; by default it depends on what there is to "
                 "compare with (a reference, other systems)."),
    click.option("--system-scores", type=click.Path(path_type=Path, dir_okay=False),
                 metavar="FILE", help="Write the scores of systems as a table (.csv .tsv .jsonl "
                 ".parquet), which meta --level sys reads."),
)  # fmt: skip


@command(
    headings={
        "Texts and metrics": "metric src ref src_lang tgt_lang allow_empty settings",
        "Metrics from elsewhere": "score_files commands cache",
        "Names and numbers (kobe)": "kb links explain every min_confidence",
        "Further files to write": "system_scores",
    },
    shape=TEXTS,
    examples=(
        "steelyard score new.en old.en --ref ref.en --metrics bleu,chrf",
        "steelyard score texts.jsonl --metrics bleu,chrf --ref refA --out scores.csv",
        "steelyard score --src src.de new.en --metrics kobe --src-lang de --tgt-lang en",
        "steelyard score --src src.de --ref ref.en new.en --command 'my-metric {src} {out} {ref}'",
        "steelyard score new.en old.en --ref ref.en --score-file comet=comet.json",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@text_options
@as_object("how", ScoreOptions, _SCORE)
@plot_option(PLOTS)
@input_options
@partial(settled_options, suffixes=_WRITTEN)
def score(
    inputs: tuple[str, ...],
    texts: TextOptions,
    *,
    how: ScoreOptions,
    plot: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
) -> None:
    """Score translations: a table of systems and metrics, with the signature of each metric.

    INPUT is a text file (JSON lines) or an mt-metrics-eval folder or, with --src or --ref, a plain
    text file for each system; for kobe also entity annotations: JSON lines, or a folder of the KoBE
    release (with --lp). --out with .csv, .tsv, .jsonl or .parquet writes the scores of
    segments, which compare and meta read; otherwise the table.
    """
    need_inputs(inputs, "steelyard score --ref ref.en a.en b.en --metrics bleu,chrf")
    how.check(texts)
    options = with_languages(options, how.src_lang, how.tgt_lang)
    plots = wanted_figures(plot, output, PLOTS if texts.kobe else PLOTS[1:])
    es, links = texts.load(inputs, options)
    with shown_progress("scoring", output):
        found = texts.score(es, options, links)
        found.tables()  # alarms are looked into when they are first asked for
    least = 0.0 if how.every else how.min_confidence
    if least is not None:
        found = _cut_at(found, least)
    output = write_figures(plots, partial(_draw, found, options.human), output)
    wrote: list[str] = []
    if how.explain is not None:
        entities = _entities(found)
        files.write_text(how.explain, "".join(f"{line}\n" for line in entities.jsonl()))
        told = f"; {entities.cut_note()[:-1]}" if entities.n_below else ""
        wrote.append(f"{how.explain}{told}")
    if how.system_scores is not None:
        _write_systems(found, how.system_scores)
        wrote.append(str(how.system_scores))
    if output.out is not None and files.suffix(output.out) in TABLES:
        wrote.append(_write(found, output.out))
        output = replace(output, out=None)
    then = _next(found)
    emit(found, found.tables(), output, wrote=wrote, then=then, table_file="FILE.md")


def _next(found: Scores) -> str | None:
    """Ask whether systems differ by more than chance, of the same texts and metrics."""
    from steelyard.cli.compare import compare

    known = {param.name for param in compare.params}
    command = click.get_current_context().command
    own = {param.name for param in command.params if param.name and given(param.name)}
    own -= {"inputs", *OutputOptions.__dataclass_fields__, *_BESIDE}
    if found.evalset.n_systems < 2 or not own <= known:
        return None
    return following.another("compare", keep=own)


def _draw(found: Scores, human: str | None, name: str) -> Any:
    from steelyard.report.figures import recall

    if name == "people":
        if human is None:
            raise UsageError("--plot people: name the human score by --human")
        return recall.beside_people(_standardised(found.evalset, found.metrics, human), human)
    counts, kept = _entities(found).category_counts()
    return recall.categories(counts, kept)


def _entities(found: Scores) -> KobeReport:
    """Give the first report on entities: that of the source, where there is one."""
    from steelyard.kobe.report import KobeReport

    return next(one for one in found.reports.values() if isinstance(one, KobeReport))


def _cut_at(found: Scores, least: float) -> Scores:
    """Show alarms from this confidence on, in all reports on entities."""
    from steelyard.kobe.report import KobeReport

    reports = {
        name: one.cut_at(least) if isinstance(one, KobeReport) else one
        for name, one in found.reports.items()
    }
    return replace(found, reports=reports)


def _standardised(es: EvalSet, metrics: tuple[str, ...], human: str) -> dict[str, dict[str, float]]:
    """Put system scores on one scale: deviations from the mean of those that people scored.

    A reference that metrics compare outputs with is no system.
    """
    import numpy as np

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


def _write_systems(found: Scores, path: Path) -> None:
    from steelyard.formats.save import save

    save(found.segments(), path, to="system")


def _write(found: Scores, path: Path) -> str:
    """Write segment scores; give what is to be said of the file."""
    from steelyard.formats.save import save

    es = found.segments()
    lost = save(es, path)
    lower = [name for name in found.metrics if not es[name].higher_is_better]
    if lower and "which scores are better when lower" in lost:
        return f"{path}; whoever reads it needs --lower-is-better {','.join(lower)}"
    return str(path)
