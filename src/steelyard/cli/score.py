"""``steelyard score``: how good translations are, by metrics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.group import TEXTS, command
from steelyard.cli.output import emit, plot_option, shown_progress, wanted_figures, write_figures
from steelyard.cli.params import (
    FIGURES,
    SUFFIXES,
    TABLES,
    InputOptions,
    OutputOptions,
    TextOptions,
    arguments,
    as_object,
    given,
    input_options,
    settled_options,
    text_options,
    with_languages,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, flag, option, text
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.kobe.report import KobeReport
    from steelyard.scoring.run import Scores

PLOTS = ("categories", "values")
_WRITTEN = tuple(dict.fromkeys((*SUFFIXES, *TABLES, *FIGURES)))


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Options):
    """The languages, which alarms are shown, and what is written beside scores."""

    src_lang: str | None = text(None, "Language of the source, as de.", metavar="CODE")
    tgt_lang: str | None = text(
        None,
        "Language of the outputs; it decides how texts are split into words.",
        metavar="CODE",
    )
    explain: Path | None = option(
        "path",
        None,
        "Write what became of each entity (kobe) as JSON lines: alarms that are sure enough, the "
        "surest first, and all that was found.",
        metavar="FILE",
    )
    details: bool = flag("Print all tables: what kobe counts, by system and by group.")
    system_scores: Path | None = option(
        "file",
        None,
        "Write the scores of systems as a table (.csv .tsv .jsonl .parquet), which meta --level "
        "sys reads.",
        metavar="FILE",
    )

    def check(self, texts: TextOptions) -> None:
        """Refuse what does not go together."""
        if self.explain is not None and not texts.kobe:
            raise UsageError("--explain is for kobe, which --metrics does not name")
        if self.system_scores is not None and files.suffix(self.system_scores) not in TABLES:
            kinds = " ".join(f".{kind}" for kind in TABLES)
            raise UsageError(f"--system-scores {self.system_scores}: expected one of {kinds}")


@command(
    headings={
        "Texts and metrics": "metric src ref src_lang tgt_lang allow_empty settings",
        "Metrics from elsewhere": "score_files commands",
        "Names and numbers (kobe)": "kb links explain",
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
@arguments()
@text_options
@as_object("how", ScoreOptions)
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
    how.check(texts)
    options = with_languages(options, how.src_lang, how.tgt_lang)
    plots = wanted_figures(plot, output, PLOTS if texts.kobe else PLOTS[1:])
    es, links = texts.load(inputs, options)
    with shown_progress("scoring", output):
        scores = texts.score(es, options, links)
        shown = scores.tables() if how.details else scores.pieces()
    output = write_figures(plots, partial(_draw, scores), output)
    wrote: list[str] = []
    if how.explain is not None:
        lines = _entities(scores).jsonl()
        files.write_text(how.explain, "".join(f"{line}\n" for line in lines))
        wrote.append(str(how.explain))
    if how.system_scores is not None:
        from steelyard.formats.save import save

        save(scores.segments(), how.system_scores, to="system")
        wrote.append(str(how.system_scores))
    if output.out is not None and files.suffix(output.out) in TABLES:
        wrote.append(_write(scores, output.out))
        output = replace(output, out=None)
    words = scores.words().sentences() if how.details else None
    then = _next(scores)
    emit(
        scores,
        [scores.table()],
        output,
        words=words,
        shown=shown,
        wrote=wrote,
        then=then,
        table_file="FILE.md",
    )


def _next(scores: Scores) -> str | None:
    """Propose to test whether systems differ, on the same texts and metrics."""
    from steelyard.cli.compare import compare

    params = click.get_current_context().command.params
    typed = {param.name for param in params if param.name and given(param.name)}
    typed -= {"inputs", "plot", *OutputOptions.declared(), *ScoreOptions.declared()}
    if scores.evalset.n_systems < 2 or not typed <= {param.name for param in compare.params}:
        return None
    languages = ("--lp", str(scores.evalset.language_pair)) if given("src_lang") else ()
    return proposals.another("compare", *languages, keep=typed)


def _draw(scores: Scores, name: str) -> Any:
    if name == "values":
        return scores.plot(name)
    from steelyard.report.figures.comparison import categories

    return categories(*_entities(scores).category_counts())


def _entities(scores: Scores) -> KobeReport:
    """Return the first report on entities: that of the source, where there is one."""
    from steelyard.kobe.report import KobeReport

    return next(one for one in scores.reports.values() if isinstance(one, KobeReport))


def _write(scores: Scores, path: Path) -> str:
    """Write segment scores; return what to say of the file."""
    from steelyard.formats.save import save

    es = scores.segments()
    lost = save(es, path)
    lower = [name for name in scores.metrics if not es[name].higher_is_better]
    if lower and "which scores are better when lower" in lost:
        return f"{path}; whoever reads it needs --lower-is-better {','.join(lower)}"
    return str(path)
