"""The report: one HTML file that holds everything, opens anywhere, and can be mailed."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.card import ByScore, Card, decide
from steelyard.comparison.options import CardOptions, CompareOptions
from steelyard.comparison.rankings import check_segments
from steelyard.comparison.results import Comparison
from steelyard.comparison.run import compare, compare_each
from steelyard.comparison.suites import TASK
from steelyard.core.display import Result, Summary, one_line
from steelyard.core.errors import MissingDependencyError, UsageError, need_extra, printable
from steelyard.core.options import as_list, check_instance
from steelyard.core.progress import report_progress
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, check_rng
from steelyard.core.table import Table
from steelyard.core.text import all_of, listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.linting import check
from steelyard.data.overview import direction_warnings, overview
from steelyard.data.selection import chosen_metrics
from steelyard.formats import files
from steelyard.formats.load import Source, as_evalset
from steelyard.judging.report import JudgeReport
from steelyard.metaevaluation.data import the_human
from steelyard.metaevaluation.options import MetricTest
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.report import sections
from steelyard.report import writer as writing
from steelyard.report.explorer import (
    Explorer,
    Mistake,
    RatingsLike,
    add_ratings,
    explore,
    rated_mistakes,
)
from steelyard.report.methods import summarise
from steelyard.report.options import ReportOptions
from steelyard.report.writer import without_figures
from steelyard.scoring.check import Check
from steelyard.scoring.check import check as check_texts


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """A report: the page, and the results that it shows."""

    html: str
    sentences: Summary
    comparison: Comparison | None = None
    meta: MetaEvaluation | None = None
    many: ByScore | None = None
    judges: JudgeReport | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "summary": list(self.sentences.sentences()),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "meta": None if self.meta is None else self.meta.to_dict(),
            "judges": None if self.judges is None else self.judges.to_dict(),
            "bytes": len(self.html.encode("utf-8")),
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }

    def words(self) -> Summary:
        """Say what the page says first."""
        return self.sentences

    def __repr__(self) -> str:
        results = {"comparison": self.comparison, "meta": self.meta, "judges": self.judges}
        parts = listed([n for n, result in results.items() if result is not None]) or "no results"
        return one_line(self, f"of {len(self.html.encode('utf-8')):,} bytes: {parts}; save(path)")

    def table(self) -> Table:
        """Give the table of the first result that it shows."""
        results = (self.comparison, self.meta, self.judges)
        first = next((result for result in results if result is not None), None)
        return Table("", (), ()) if first is None else first.table()

    def save(self, path: str | Path) -> None:
        """Write the page; a file is whole or not there."""
        files.write_text(Path(path), self.html)


def make_report(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    options: ReportOptions | None = None,
    rng: Rng = 0,
    comparison: Comparison | None = None,
    meta: MetaEvaluation | None = None,
    judges: JudgeReport | None = None,
    checks: Check | None = None,
    mistakes: Iterable[Mistake] = (),
    ratings: RatingsLike | Sequence[RatingsLike] = (),
    speak: Callable[[str], str] = str,
) -> Report:
    """Make a report of one test set.

    Parameters
    ----------
    es
        Systems, segments, scores and, for reading segments, texts.
    human
        The human score; metrics are weighed against it. May be left out if there is one or none.
    options
        Which scores the page shows, and how surely: ``sy.report_options(alpha=0.01)``.
    rng
        Seed of the draws.
    comparison, meta
        Results of this set that are at hand, to be shown instead of new ones.
    judges
        What :func:`steelyard.judge` found, for a section of its own.
    checks
        What :func:`steelyard.check` found; by default the first segments of the best two systems
        are checked, where the languages are known.
    mistakes
        Spans of outputs to mark, besides those that raters marked.
    ratings
        Raw judgements behind human scores, for a section on raters and the errors they marked:
        files or :class:`~steelyard.data.judgements.Ratings`, one or several.
    speak
        Puts what notes say of arguments into the words of the reader.

    Returns
    -------
    Report
        The page and its results; ``save(path)`` writes it.

    See Also
    --------
    steelyard.compare : The comparison of systems that a report shows.
    steelyard.meta_evaluate : The meta-evaluation of metrics that a report shows.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set().select(systems=["Amber", "Basalt", "Cobalt"], scores=["mqm"])
    >>> report = make_report(es, "mqm", options=sy.report_options(n_bootstrap=50))
    >>> report.words().settled[0]
    'Amber ranks first of 3 systems by mean mqm over 450 segments in 52 documents.'
    """
    marked = tuple(as_list(Mistake, mistakes=mistakes))
    check_instance(Comparison, "a Comparison", optional=True, comparison=comparison)
    check_instance(MetaEvaluation, "a MetaEvaluation", optional=True, meta=meta)
    check_instance(JudgeReport, "a JudgeReport", optional=True, judges=judges)
    check_instance(Check, "a Check", optional=True, checks=checks)
    check_instance(ReportOptions, "a sy.report_options(...)", optional=True, options=options)
    options = options or ReportOptions()
    es = add_ratings(as_evalset(es, human), ratings)
    check_rng(rng)
    gold = the_human(es, human) if human is not None or len(es.human) == 1 else None
    compared, alpha = comparison, options.alpha
    main = _main_score(es, options.score if compared is None else compared.score, gold)
    _check_results(es, gold, options.score, compared, meta)
    asked = es.metrics if options.metrics is None else options.metrics
    rivals = chosen_metrics(es, asked, human=gold)
    chosen = None if options.metrics is None else rivals
    settings: dict[str, Any] = {"score": main, "human": gold, "alpha": alpha}
    report_progress(0, 100)  # per cent, about what the parts of the work take
    if compared is None and main is not None and es[main].has_segments:
        compared = compare(es, main, alpha=alpha, n_bootstrap=options.n_bootstrap, rng=rng)
        settings["bootstrap"] = options.n_bootstrap
    report_progress(5, 100)
    if meta is None and gold is not None and rivals:
        settings |= {"bootstrap": options.n_bootstrap, "resamples": options.n_resamples}
        meta = meta_evaluate(
            es,
            gold,
            metrics=chosen,
            significance=len(rivals) > 1
            and MetricTest(alpha=alpha, n_resamples=options.n_resamples),
            n_bootstrap=options.n_bootstrap,
            rng=rng,
            **_levels(es, gold),
        )
    report_progress(65, 100)
    card = _card(es, compared, options, rng)
    many = _many(
        es if compared is None else es.select(systems=compared.systems), main, rivals, alpha
    )
    first = [*options.explored, *(name for name in (gold, main) if name is not None)]
    names = _explored(es, first, meta, rivals)
    marks, pair = [*marked, *rated_mistakes(es)], _pair(compared)
    packed = explore(es, names, pair=pair, mistakes=marks) if es.n_segments else None
    warnings = [*(compared.warnings if compared else es.notes), *(meta.warnings if meta else ())]
    warnings += [text for name in rivals for text in direction_warnings(name, es[name])]
    warnings += without_figures()
    known = {name: value for name, value in settings.items() if value is not None}
    content = sections.Content(
        es=es,
        view=overview(es, gold),
        comparison=compared,
        card=card,
        meta=meta,
        many=many,
        judges=judges,
        checks=checks or _checked(es, pair, options.checked),
        findings=tuple(check(es)),
        explorer=packed,
        sentences=summarise(card or compared, meta),
        signed=Provenance.of("report", known, es.inputs, rng),
        speak=speak,
        mistakes=marked,
    )
    report_progress(80, 100)
    return Report(
        html=_page(content, options.title or title_of(es, compared)),
        sentences=content.sentences,
        comparison=compared,
        meta=meta,
        many=many,
        judges=judges,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=content.signed,
    )


def _check_results(
    es: EvalSet,
    gold: str | None,
    score: str | None,
    compared: Comparison | None,
    meta: MetaEvaluation | None,
) -> None:
    """Refuse results that can't be of this set."""
    if compared is not None:
        if score not in (None, compared.score):
            raise UsageError(f"the comparison is by '{compared.score}', not by '{score}'")
        if not set(compared.systems) <= set(es.systems):
            raise UsageError("the comparison names systems that the set does not have")
    if meta is not None:
        if meta.human != gold:
            raise UsageError(f"the meta-evaluation is against '{meta.human}', not '{gold}'")
        for result in meta.results:
            es[result.metric]


def _main_score(es: EvalSet, score: str | None, gold: str | None) -> str | None:
    if score is not None:
        check_segments(es, score)
        return score
    if gold is not None and es[gold].has_segments:
        return gold
    return next((name for name, table in es.scores.items() if table.has_segments), None)


def _levels(es: EvalSet, gold: str) -> dict[str, Any]:
    """Choose what can be asked of a human score that exists for whole systems only."""
    if es[gold].has_segments:
        return {}
    return {"by": ("pa", "pearson", "kendall-b"), "level": "sys", "intervals": None}


def _many(es: EvalSet, main: str | None, rivals: Sequence[str], alpha: float) -> ByScore | None:
    names = [main] if main is not None else []
    names += [n for n in (*es.human, *rivals) if n != main and es[n].has_segments]
    if len(names) < 2 or es.n_systems < 2:
        return None
    return compare_each(es, names, CompareOptions(intervals=None, alpha=alpha))


def _explored(
    es: EvalSet, first: Sequence[str], meta: MetaEvaluation | None, rivals: Sequence[str]
) -> list[str]:
    """Order scores by how much a reader wants them: asked for, human, good metrics, the rest."""
    for name in first:
        es[name]
    best: list[str] = []
    if meta is not None:
        values = meta.values(meta.results[0].by if meta.results else "")
        known = {metric: value for metric, value in values.items() if not np.isnan(value)}
        best = sorted(known, key=lambda metric: (-known[metric], metric))
    return list(dict.fromkeys([*first, *es.human, *best, *rivals]))


def _pair(compared: Comparison | None) -> tuple[str, str] | None:
    """Return the best two systems, which is where a reader wants to look first."""
    if compared is None or len(compared.systems) < 2:
        return None
    ranking = compared.ranking(next(iter(compared.aggregations)))
    return ranking[0], ranking[1]


def _card(
    es: EvalSet, compared: Comparison | None, options: ReportOptions, rng: Rng
) -> Card | None:
    """Return the decision on two systems, where there are no more; suites decide by task."""
    pair = _pair(compared)
    if compared is None or pair is None or len(compared.systems) > 2 or compared.suite is not None:
        return None
    asked = CardOptions(alpha=options.alpha, n_bootstrap=max(10, options.n_bootstrap))
    return decide(es, pair, compared.score, options=asked, rng=rng)


def _checked(es: EvalSet, pair: tuple[str, str] | None, n: int) -> Check | None:
    """Check the first texts of the best two systems, where the languages are known."""
    first, _, second = (es.language_pair or "").partition("-")
    systems = [name for name in pair or es.systems[:2] if name in es.outputs]
    if not (n and first and second and systems) or es.segments.sources is None:
        return None
    try:
        need_extra("kobe", "checks of texts")
    except MissingDependencyError:
        return None
    part = es.select(systems=systems, segments=es.segments.ids[:n])
    result = check_texts(replace(part, notes=()), src=first, tgt=second)
    of = f", the first {n:,} of {es.n_segments:,} segments" if n < es.n_segments else ""
    return replace(result, warnings=(f"Checked: {all_of(systems)}{of}.",))


def title_of(es: EvalSet, compared: Comparison | None) -> str:
    """Return a heading: the task or the name of the set, and its systems."""
    tasks = sorted({task for task in es.segments.metadata.get(TASK, ()) if task})
    named = " ".join(name for name in (es.name, es.language_pair) if name)
    what = listed(tasks, 3, last=" and ") if tasks else named
    few = len(es.systems) <= 3
    systems = all_of(es.systems) if few else plural(es.n_systems, "system")
    if what:
        return f"{what}: {systems}"
    return systems if compared is None else f"{systems} by {compared.score}"


def _page(content: sections.Content, title: str) -> str:
    from markupsafe import Markup

    es = content.es
    environment = writing.environment()
    writer = writing.Writer(environment)
    style, script = writing.template_text("page.css"), writing.script_text()
    facts = [plural(es.n_systems, "system"), plural(es.n_segments, "segment")]
    facts += [plural(len(es.human), "human score")] if es.human else []
    facts.append(plural(len(es.metrics), "metric"))
    return environment.get_template("page.html.j2").render(
        policy=Markup(_policy(script, style)),  # noqa: S704 - hashes only
        version=content.signed.version,
        title=printable(title),
        subtitle=", ".join(facts),
        style=Markup(style),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - a file of ours
        groups=sections.groups(content, writer),
        colophon=sections.colophon(content, writer),
        signature=printable(content.signed.line()),
        explorer=None if content.explorer is None else _inlined(content.explorer, es),
    )


def _inlined(explorer: Explorer, es: EvalSet) -> dict[str, Any]:
    from markupsafe import Markup

    languages = (es.language_pair or "").split("-")
    facts = {**explorer.facts, "languages": languages if len(languages) == 2 else None}
    return {
        "facts": Markup(writing.script_json(facts)),  # noqa: S704 - no markup can stand in it
        "texts": explorer.texts,
        "scores": explorer.scores,
    }


def _policy(script: str, style: str) -> str:
    """Return a content security policy that forbids everything but this script and this style."""
    code, look = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        for text in (script, style)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{look}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
