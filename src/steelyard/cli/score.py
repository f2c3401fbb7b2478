"""``steelyard score``: how good translations are, by metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.engine import READING, Answer, Call, command
from steelyard.cli.group import TEXTS
from steelyard.cli.params import (
    SUFFIXES,
    TABLES,
    InputOptions,
    TextOptions,
    output_file,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, flag, text
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.kobe.report import KobeReport
    from steelyard.scoring.run import Scores

PLOTS = ("categories", "values")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Options):
    """The languages, which alarms are shown, and what is written beside scores."""

    src_lang: str | None = text(None, "Language of the source, as de.", metavar="CODE")
    tgt_lang: str | None = text(
        None, "Language of the outputs, which decides how texts are split.", metavar="CODE"
    )
    explain: Path | None = output_file("Write what became of each entity (kobe) as JSON lines.")
    details: bool = flag("Print all tables: what kobe counts, by system and by group.")
    system_scores: Path | None = output_file(
        "Write the scores of systems (.csv .tsv .jsonl .parquet), which meta --level sys reads."
    )


@command(
    TextOptions,
    ScoreOptions,
    InputOptions,
    suffixes=(*SUFFIXES, *TABLES),
    plots=" ".join(PLOTS),
    hidden="seed jobs",
    headings={
        "Further files to write": "explain system_scores",
    },
    shape=TEXTS,
    examples=(
        "steelyard score new.en old.en --ref ref.en --metrics bleu,chrf",
        "steelyard score texts.jsonl --metrics bleu,chrf --ref refA --out scores.csv",
        "steelyard score --src src.de new.en --metrics kobe --src-lang de --tgt-lang en",
        "steelyard score new.en --src src.de --ref ref.en --command 'mine=my-metric {src} {out}'",
    ),
)
def score(call: Call) -> Answer:
    """Score translations: a table of systems and metrics, with the signature of each metric.

    INPUT is a text file (JSON lines), an mt-metrics-eval folder or, with --src or --ref, a plain
    text file for each system; for kobe also entity annotations: JSON lines, or a folder of the KoBE
    release (with --lp). --out with .csv, .tsv, .jsonl or .parquet writes the scores of
    segments, which compare and meta read; otherwise the table.
    """
    from steelyard.formats.save import save

    texts, how, reading = call.take(TextOptions), call.take(ScoreOptions), call.reading
    if how.explain is not None and not texts.kobe:
        raise UsageError("--explain is for kobe, which --metrics does not name")
    if how.system_scores is not None and files.suffix(how.system_scores) not in TABLES:
        kinds = " ".join(f".{kind}" for kind in TABLES)
        raise UsageError(f"--system-scores {how.system_scores}: expected one of {kinds}")
    figures = call.figures(PLOTS if texts.kobe else PLOTS[1:])
    es, links = texts.joined(texts.read(call.inputs, reading), reading)
    with call.progress("scoring"):
        scores = texts.score(es, reading, links)
        shown = scores.tables() if how.details else None
    return Answer(
        result=scores,
        words=scores.words().sentences() if how.details else None,
        shown=shown,
        figures=figures,
        draw=partial(_draw, scores),
        writes=(
            (how.explain, lambda path: files.write_text(path, _lines(_entities(scores)))),
            (how.system_scores, lambda path: save(scores.segments(), path, to="system")),
            (call.out(TABLES), partial(_write, scores)),
        ),
        then=_next(call, scores),
    )


def _next(call: Call, scores: Scores) -> str | None:
    """Propose to test whether systems differ, on the same texts and metrics."""
    if scores.evalset.n_systems < 2:
        return None
    languages = ("--lp", str(scores.evalset.language_pair)) if call.given("src_lang") else ()
    return call.another("compare", *languages, keep={*TextOptions.declared(), *READING})


def _draw(scores: Scores, name: str) -> Any:
    if name == "values":
        return scores.plot(name)
    from steelyard.report.figures.comparison import categories

    return categories(*_entities(scores).category_counts())


def _entities(scores: Scores) -> KobeReport:
    """Return the first report on entities: that of the source, where there is one."""
    from steelyard.kobe.report import KobeReport

    return next(one for one in scores.reports.values() if isinstance(one, KobeReport))


def _lines(report: KobeReport) -> str:
    return "".join(f"{line}\n" for line in report.jsonl())


def _write(scores: Scores, path: Path) -> str:
    """Write segment scores; return what to say of the file."""
    from steelyard.formats.save import save

    es = scores.segments()
    lost = save(es, path)
    lower = [name for name in scores.metrics if not es[name].higher_is_better]
    if lower and "which scores are better when lower" in lost:
        return f"{path}; whoever reads it needs --lower-is-better {','.join(lower)}"
    return str(path)
