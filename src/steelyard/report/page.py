"""The report: one HTML file that holds everything, opens anywhere, and can be mailed."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.card import ByScore
from steelyard.comparison.options import CompareOptions
from steelyard.comparison.rankings import check_segments
from steelyard.comparison.results import Comparison
from steelyard.comparison.run import compare, compare_each
from steelyard.core.display import Result, Summary, one_line
from steelyard.core.errors import UsageError, printable
from steelyard.core.options import as_list, check_instance
from steelyard.core.progress import report_progress
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, check_rng
from steelyard.core.table import Table
from steelyard.core.text import listed, plural
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
from steelyard.report.explorer import (
    Explorer,
    Mistake,
    explore,
    rated_mistakes,
)
from steelyard.report.inlined import script_json
from steelyard.report.judgesection import with_verdicts
from steelyard.report.options import ReportOptions
from steelyard.report.parts.severity import RatingsLike, add_ratings
from steelyard.report.summary import summarise

#: How much is done after each part of the work, of a whole of 100: about what they take.
_COMPARED, _WEIGHED, _PACKED, _WHOLE = 5, 65, 80, 100


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """A report: the page, and the results that it shows."""

    html: str
    said: Summary
    comparison: Comparison | None = None
    meta: MetaEvaluation | None = None
    many: ByScore | None = None
    judges: JudgeReport | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "summary": self.said.to_dict(),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "meta": None if self.meta is None else self.meta.to_dict(),
            "judges": None if self.judges is None else self.judges.to_dict(),
            "bytes": len(self.html.encode("utf-8")),
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }

    def words(self) -> Summary:
        """Say what the page says first."""
        return self.said

    def __repr__(self) -> str:
        held = {"comparison": self.comparison, "meta": self.meta, "judges": self.judges}
        parts = listed([name for name, own in held.items() if own is not None]) or "no results"
        return one_line(self, f"of {len(self.html.encode('utf-8')):,} bytes: {parts}; save(path)")

    def table(self) -> Table:
        """Give the table of the first result that it shows."""
        every = (self.comparison, self.meta, self.judges)
        found = next((own for own in every if own is not None), None)
        return Table("", (), ()) if found is None else found.table()

    def save(self, path: str | Path) -> None:
        """Write the page; a file is whole or not there."""
        files.write_text(Path(path), self.html)


def make_report(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    score: str | None = None,
    metrics: Collection[str] | None = None,
    explored: Sequence[str] = (),
    mistakes: Iterable[Mistake] = (),
    title: str | None = None,
    alpha: float = 0.05,
    n_bootstrap: int = 1000,
    n_resamples: int | None = None,
    rng: Rng = 0,
    comparison: Comparison | None = None,
    meta: MetaEvaluation | None = None,
    judges: JudgeReport | None = None,
    ratings: RatingsLike | Sequence[RatingsLike] | Mapping[str, RatingsLike] | None = None,
) -> Report:
    """Make a report of one test set.

    Parameters
    ----------
    es
        Systems, segments, scores and, for reading segments, texts.
    human
        The human score; metrics are weighed against it. May be left out if there is one or none.
    score
        The score that systems are compared by: by default the human one, else the first.
    metrics
        Metrics to weigh; by default all.
    explored
        Scores that the explorer shall hold, if it can't hold all.
    mistakes
        Spans of outputs to mark, besides those that raters marked.
    title
        Heading of the page; by default the name of the set.
    alpha, n_bootstrap, n_resamples, rng
        Level of the tests, resamples for intervals, draws of the tests between metrics (None: as
        many as take seconds), seed: as :func:`~steelyard.comparison.run.compare` and
        :func:`~steelyard.metaevaluation.run.meta_evaluate` have them.
    comparison, meta
        Results of this set that are at hand, to be shown instead of new ones.
    judges
        What :func:`steelyard.judge` found, for a section of its own.
    ratings
        Raw judgements behind human scores, for a section on raters and the errors they marked:
        files or :class:`~steelyard.data.judgements.Ratings`, one or several, or by name.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set().select(systems=["Amber", "Basalt", "Cobalt"], scores=["mqm"])
    >>> report = make_report(es, "mqm", n_bootstrap=50)
    >>> report.words().settled[0]
    'Amber ranks first of 3 systems by mean mqm over 450 segments in 52 documents.'
    """
    options = ReportOptions.of(locals())
    marks = as_list(Mistake, mistakes=mistakes)
    check_instance(Comparison, "a Comparison", optional=True, comparison=comparison)
    check_instance(MetaEvaluation, "a MetaEvaluation", optional=True, meta=meta)
    check_instance(JudgeReport, "a JudgeReport", optional=True, judges=judges)
    given = Given(tuple(marks), comparison, meta, judges=judges)
    known = es if ratings is None else add_ratings(as_evalset(es, human), ratings)
    return write_report(known, human, options, given, rng)


@dataclass(frozen=True, slots=True)
class Given:
    """What is at hand already: spans to mark, results of the set, and what to say of the spans."""

    mistakes: tuple[Mistake, ...] = ()
    comparison: Comparison | None = None
    meta: MetaEvaluation | None = None
    notes: tuple[str, ...] = ()
    judges: JudgeReport | None = None

    def check(self, es: EvalSet, gold: str | None, score: str | None) -> None:
        """Refuse results that can't be of this set."""
        found, meta = self.comparison, self.meta
        if found is not None:
            if score not in (None, found.score):
                raise UsageError(f"the comparison is by '{found.score}', not by '{score}'")
            if not set(found.systems) <= set(es.systems):
                raise UsageError("the comparison names systems that the set does not have")
        if meta is not None:
            if meta.human != gold:
                raise UsageError(f"the meta-evaluation is against '{meta.human}', not '{gold}'")
            for result in meta.results:
                es[result.metric]


def write_report(
    source: Source,
    human: str | None,
    options: ReportOptions,
    given: Given,
    rng: Rng,
    speak: Callable[[str], str] = str,
) -> Report:
    """Make a report; ``speak`` puts what notes say of arguments into the words of the reader."""
    es = as_evalset(source, human)
    check_rng(rng)
    gold = the_human(es, human) if human is not None or len(es.human) == 1 else None
    found, meta, alpha = given.comparison, given.meta, options.alpha
    main = _main_score(es, options.score if found is None else found.score, gold)
    given.check(es, gold, options.score)
    asked = es.metrics if options.metrics is None else options.metrics
    rivals = chosen_metrics(es, asked, human=gold)
    chosen = None if options.metrics is None else rivals
    settings: dict[str, Any] = {"score": main, "human": gold, "alpha": alpha}
    report_progress(0, _WHOLE)
    if found is None and main is not None and es[main].has_segments:
        found = compare(es, main, alpha=alpha, n_bootstrap=options.n_bootstrap, rng=rng)
        settings["bootstrap"] = options.n_bootstrap
    report_progress(_COMPARED, _WHOLE)
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
    report_progress(_WEIGHED, _WHOLE)
    many = _many(es if found is None else es.select(systems=found.systems), main, rivals, alpha)
    first = [*options.explored, *(name for name in (gold, main) if name is not None)]
    names = _explored(es, first, meta, rivals)
    marks = [*given.mistakes, *rated_mistakes(es)]
    read, judged = (es, ()) if given.judges is None else with_verdicts(es, given.judges.verdicts)
    names = [*names, *judged]
    packed = explore(read, names, pair=_pair(found), mistakes=marks) if es.n_segments else None
    if packed is not None:
        packed = replace(packed, notes=(*packed.notes, *given.notes))
    warnings = [*(found.warnings if found else es.notes), *(meta.warnings if meta else ())]
    warnings += [text for name in rivals for text in direction_warnings(name, es[name])]
    warnings += sections.without_figures()
    known = {name: value for name, value in settings.items() if value is not None}
    title = options.title or _named(es)
    content = sections.Content(
        es=es,
        view=overview(es, gold),
        comparison=found,
        meta=meta,
        many=many,
        findings=tuple(check(es)),
        explorer=packed,
        mistakes=given.mistakes,
        mistake_notes=given.notes,
        signed=Provenance.of("report", known, es.inputs, rng),
        speak=speak,
        judges=given.judges,
    )
    told = summarise(es, found, meta)
    report_progress(_PACKED, _WHOLE)
    return Report(
        html=_page(content, told, title),
        said=told,
        comparison=found,
        meta=meta,
        many=many,
        judges=given.judges,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=content.signed,
    )


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


def _pair(found: Comparison | None) -> tuple[str, str] | None:
    """Give the best two systems, which is where a reader wants to look first."""
    if found is None or len(found.systems) < 2:
        return None
    ranking = found.ranking(next(iter(found.aggregations)))
    return ranking[0], ranking[1]


def _named(es: EvalSet) -> str:
    """Give a heading: the name of the set, else that of its file."""
    stem = Path(es.inputs[0].path).name.split(".")[0] if es.inputs else ""
    return " ".join(n for n in (es.name, es.language_pair) if n) or stem or "Test set"


def _page(content: sections.Content, told: Summary, title: str) -> str:
    from markupsafe import Markup

    es, signed = content.es, content.signed
    environment = sections.environment()
    style = sections.template_text("page.css") + sections.template_text("strips.css")
    script = sections.script_text()
    kinds = [plural(es.n_systems, "system"), plural(es.n_segments, "segment")]
    kinds += [plural(len(es.human), "human score")] if es.human else []
    kinds.append(plural(len(es.metrics), "metric"))
    shown = [(head, [printable(line) for line in lines]) for head, lines in told.headed()]
    return environment.get_template("page.html.j2").render(
        policy=Markup(_policy(script, style)),  # noqa: S704 - hashes only
        version=signed.version,
        title=printable(title),
        subtitle=", ".join(kinds),
        style=Markup(style),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - a file of ours
        summary=shown,
        sections=sections.sections(content, environment),
        signature=printable(signed.line()),
        explorer=None if content.explorer is None else _inlined(content.explorer, es),
    )


def _inlined(explorer: Explorer, es: EvalSet) -> dict[str, Any]:
    from markupsafe import Markup

    languages = (es.language_pair or "").split("-")
    facts = {**explorer.facts, "languages": languages if len(languages) == 2 else None}
    return {
        "facts": Markup(script_json(facts)),  # noqa: S704 - no markup can stand in it
        "texts": explorer.texts,
        "scores": explorer.scores,
    }


def _policy(script: str, style: str) -> str:
    """Give a content security policy that forbids everything but this script and this style."""
    code, look = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        for text in (script, style)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{look}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
