"""The demo as a story: a question in each part, the command that answers it, and what it says.

The results are those of the commands as they stand, on the files that ``--files`` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.comparison.results import Comparison
from steelyard.comparison.run import compare
from steelyard.core.display import Result
from steelyard.core.errors import MissingDependencyError
from steelyard.core.progress import report_progress
from steelyard.core.table import Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.data.overview import Overview, overview
from steelyard.demo import embedded
from steelyard.judging.report import JudgeReport, judge
from steelyard.kobe.report import KobeReport
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.metaevaluation.run import meta_evaluate

OPENING = (
    "Twelve systems translated 500 German sentences into English. Experts marked their errors, "
    "people and judges compared outputs, twelve metrics scored them. Who is best, and whom may "
    "one believe? All of it is invented, systems, sentences and people, so what is true in it is "
    "known. Under each question stands the command that answers it, which prints a little more."
)
CLOSING = (
    "Your own file is a table with the columns system, segment, and one for each score:",
    "    system,segment,quality",
    "    A,1,0.71",
    "    B,1,0.64",
    "Then ask:",
    "    steelyard compare FILE.csv              who is better?",
    "    steelyard meta FILE.csv --human COLUMN  which score agrees with people's?",
    "    steelyard data formats                  which other files can be read?",
)

_DECLARED = "--human mqm --kind human:da --lower-is-better edit-rate-refA"
_NAMED = ("Kaolin", "Dolomite", "Basalt")  # systems whose names and numbers are looked at
_ALARMS = 4  # of these that are told
_DOCUMENT = "news-017"  # where they are looked up
_EXAMPLE = ("Basalt", "38")  # an output with a few errors, to be read


@dataclass(frozen=True, slots=True)
class Part:
    """A question, the command that answers it, and the answer: words, then a table."""

    question: str
    command: str
    words: tuple[str, ...]
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """The parts, with the set and the results that they show."""

    es: EvalSet
    parts: tuple[Part, ...]
    view: Overview
    comparison: Comparison
    meta: MetaEvaluation
    judges: JudgeReport
    kobe: KobeReport | None

    def to_dict(self) -> dict[str, Any]:
        """Give the results by their commands."""
        return {
            "data": self.view.to_dict(),
            "compare": self.comparison.to_dict(),
            "meta": self.meta.to_dict(),
            "judge": self.judges.to_dict(),
            **({} if self.kobe is None else {"kobe": self.kobe.to_dict()}),
            "warnings": list(self.warnings),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be minded."""
        return (*self.view.warnings, *self.meta.warnings)


REPORT = (
    f"steelyard report scores.csv.gz system-scores.csv texts.jsonl.gz {_DECLARED} --lp de-en "
    "--ratings errors.jsonl.gz --verdicts verdicts.csv.gz --verdict-raters ann,bo,cy "
    "--out report.html"
)


def tell_story(es: EvalSet, ratings: Ratings, seed: int = 0) -> Story:
    """Ask all questions of the set and of what was said about it."""
    report_progress(0, 5)
    view = overview(es, "mqm")
    compared = compare(es, "mqm", by=["mean", "bt"], rng=seed)
    report_progress(1, 5)
    weighed = meta_evaluate(es, "mqm", significance=True, rng=seed)
    report_progress(3, 5)
    judged = judge(embedded.VERDICTS, human=embedded.RATERS)
    report_progress(4, 5)
    linked, names = _names(es)
    parts = (
        Part(
            "What is in the data?",
            f"steelyard data info scores.csv.gz system-scores.csv texts.jsonl.gz {_DECLARED} "
            "--lp de-en",
            (_counted(es),),
            view.table(),
        ),
        Part(
            "What did people mark?",
            "steelyard human errors.jsonl.gz --protocol mqm",
            _marked(es, ratings),
        ),
        Part(
            "Which system is better, as people judged?",
            "steelyard compare scores.csv.gz --score mqm --by mean,bt",
            compared.words().brief(),
            compared.table(),
        ),
        Part(
            "Which metric agrees with people?",
            f"steelyard meta scores.csv.gz system-scores.csv {_DECLARED} --significance",
            weighed.words().brief(),
            weighed.table(),
        ),
        Part(
            "Which judge can be trusted?",
            "steelyard judge verdicts.csv.gz --human ann,bo,cy",
            tuple(judged.answer()),
        ),
        Part(
            f"Which names and numbers went wrong, in document {_DOCUMENT}?",
            f"steelyard score texts.jsonl.gz --lp de-en --metrics kobe --where doc={_DOCUMENT} "
            f"--systems {','.join(_NAMED)}",
            names,
            None if linked is None else linked.table(),
        ),
    )
    report_progress(5, 5)
    return Story(es, parts, view, compared, weighed, judged, linked)


def _counted(es: EvalSet) -> str:
    domains = ", ".join(es.domains)
    return (
        f"{plural(es.n_systems, 'system')}, {plural(es.n_segments, 'segment')} in "
        f"{plural(len(es.documents), 'document')} ({domains}), {len(es.human)} scores of people "
        f"({', '.join(es.human)}), {plural(len(es.metrics), 'metric')}."
    )


def _marked(es: EvalSet, ratings: Ratings) -> tuple[str, ...]:
    """Say how many errors there are, and show an output with its own."""
    lists = [errors or () for errors in ratings.errors or ()]
    places = list(zip(ratings.system.tolist(), ratings.segment.tolist(), strict=True))
    # What several raters marked is one error, and major if one of them says so.
    marks = [
        ((where, one.start, one.end, one.in_source), one.severity)
        for where, errors in zip(places, lists, strict=True)
        for one in errors
    ]
    count = len({mark for mark, _ in marks})
    severe = len({mark for mark, severity in marks if severity == "major"})
    system, segment = _EXAMPLE
    row = places.index((ratings.systems.index(system), ratings.segments.index(segment)))
    place = es.segments.ids.index(segment)
    source, output = (es.segments.sources or ())[place], es.outputs[system][place]
    score = es["mqm"].values[es.systems.index(system), place]
    found = (
        f"{len(ratings.raters)} experts read {len(set(places)):,} outputs and marked {count:,} "
        f"errors, {severe:,} of them major. A major error costs 5, a minor one 1, a wrong comma "
        "0.1; minus the cost is the score mqm."
    )
    return (
        found,
        f"For example {system}, segment {segment}, mqm {score:g} ([[major]], [minor]):",
        f"    {source}",
        f"    {_bracketed(output or '', lists[row])}",
    )


def _bracketed(text: str, errors: Sequence[ErrorSpan]) -> str:
    """Put what is marked into brackets, from the last one on."""
    spans = [(one.start, one.end, one.severity) for one in errors
             if not one.in_source and one.start is not None]  # fmt: skip
    for start, end, severity in sorted(spans, reverse=True):
        shown = f"[[{text[start:end]}]]" if severity == "major" else f"[{text[start:end]}]"
        text = text[:start] + shown + text[end:]
    return text


def _names(es: EvalSet) -> tuple[KobeReport | None, tuple[str, ...]]:
    """Look up names and numbers in the embedded knowledge, if what reads it is installed."""
    from steelyard.kobe.base.packaged import default
    from steelyard.kobe.metric import kobe_metric

    named = zip(es.segments.ids, es.segments.documents or (), strict=True)
    few = es.select(systems=_NAMED, segments=[one for one, own in named if own == _DOCUMENT])
    try:
        found = kobe_metric(few, "de", "en", default())[1]
    except MissingDependencyError as error:
        return None, (f"({error})",)
    kept = (f"{own.system} keeps {own.matched}" for own in found.systems if not own.is_reference)
    plain = f"Of {found.n_source_entities} names and numbers in the source, {', '.join(kept)}."
    return found, (*_brief(found, plain), *_surest(found))


def _surest(found: KobeReport) -> tuple[str, ...]:
    """Tell the alarms that are surest, where one name or number stands for another."""
    told = [
        f"{alarm.system} writes {one.output.text} for {one.source.text}"
        for alarm in found.alarms
        for one in alarm.findings
        if one.source is not None and one.output is not None
    ]
    return (f"The surest: {'; '.join(told[:_ALARMS])}.",) if told else ()


def _brief(found: object, *otherwise: str) -> tuple[str, ...]:
    """Give what a result says in a few sentences, or what is said where it has no words."""
    return found.words().brief() if isinstance(found, Result) else otherwise
