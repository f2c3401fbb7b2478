"""The groups of the page: the answer, then systems, metrics, judges, ratings and segments.

Every number is of a result of another room; here it gets its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from steelyard.comparison.card import ByScore, Card
from steelyard.comparison.results import (
    Comparison,
    called_rankings,
    decision_words,
    system_name,
)
from steelyard.comparison.suites import Suite
from steelyard.core.display import Summary
from steelyard.core.errors import DegenerateError, printable
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.table import Column, Table
from steelyard.core.text import plural
from steelyard.core.warnings import brief
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.data.linting import Finding
from steelyard.data.overview import Overview
from steelyard.formats.judged.builder import HUMAN
from steelyard.formats.judged.wmt26 import CAMPAIGN
from steelyard.human.ranking import UNKNOWN
from steelyard.human.raters import agreements, rater_scale, rater_table
from steelyard.human.results import defined_coefficients
from steelyard.human.run import human_scores
from steelyard.judging.report import JudgeReport, worst_disagreements
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult
from steelyard.report import glossary, grids, methods
from steelyard.report.explorer import Explorer, Mistake
from steelyard.report.figures import comparison as systems_figures
from steelyard.report.figures import human as human_figures
from steelyard.report.figures import judges as judge_figures
from steelyard.report.figures import meta as metric_figures
from steelyard.report.figures import pair as pair_figures
from steelyard.report.figures.vega import Chart, finish
from steelyard.report.strips import Estimate, Strips, forest, stacked
from steelyard.report.writer import Writer, without_figures
from steelyard.scoring.check import Check
from steelyard.stats.arrays import SAME

if TYPE_CHECKING:
    from markupsafe import Markup

_FIRST = 16  # systems or metrics in a picture; the table has them all
_LISTED = 12  # findings and mistakes that are listed, the surest ones
_READ = 2  # judges whose worst rows are listed
_LONG = 60  # characters of a text that are shown
_RESAMPLES = 200  # for intervals of agreement between raters


@dataclass(frozen=True, slots=True)
class Content:
    """All that the page is made of."""

    es: EvalSet
    view: Overview
    comparison: Comparison | None
    card: Card | None
    meta: MetaEvaluation | None
    many: ByScore | None
    judges: JudgeReport | None
    checks: Check | None
    findings: tuple[Finding, ...]
    explorer: Explorer | None
    sentences: Summary
    signed: Provenance
    speak: Callable[[str], str]
    mistakes: tuple[Mistake, ...] = ()

    @property
    def references(self) -> tuple[str, ...]:
        """Names of human references."""
        return tuple(self.es.segments.references)

    def remark(self, system: str) -> str:
        """Return what stands beside the name of a system that is no system."""
        is_reference = system_name(system, self.references) != system
        return "human reference" if is_reference else ""

    def hidden(self, lines: Sequence[str]) -> list[str]:
        """Return lines in the words of the reader, without folders of the disk."""
        hide = without_folders(self.signed.inputs)
        return [printable(hide(self.speak(line))) for line in lines]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the page under one heading; blocks are finished HTML."""

    name: str
    title: str
    blocks: tuple[Markup, ...]


def groups(content: Content, writer: Writer) -> list[Group]:
    """Write all groups that the content has something for, the answer first."""
    makers = {
        "Answer": _answer,
        "Systems": _systems,
        "Metrics": _metrics,
        "Judges": _judges,
        "Ratings": _ratings,
        "Segments": _segments,
    }
    made = [
        Group(title.lower(), title, tuple(make(content, writer))) for title, make in makers.items()
    ]
    return [group for group in made if group.blocks]


# -- the answer


def headline(content: Content) -> str:
    """Return the answer of the page in one sentence, with its number."""
    result, summary = content.comparison, content.sentences
    if result is not None and result.suite is None:
        if content.card is not None:
            return content.card.verdict
        lead = result.lead()
        if lead is not None and not np.isnan(lead.difference):
            words = decision_words(lead, content.references)
            ranked = next(iter(result.aggregations.values()))
            leader, other = (result.systems.index(name) for name in (lead.leader, lead.other))
            # The ranking is by all outputs, the test may be of those that both systems have.
            of_all = abs(ranked.scores[leader] - ranked.scores[other])
            shared = ranked.average and abs(of_all - abs(lead.difference)) > SAME * of_all
            return words.removesuffix(".") + ", on common segments." if shared else words
    lines = summary.sentences()
    return lines[0] if lines else "This page shows texts: no score compares the systems."


def _answer(content: Content, writer: Writer) -> Iterator[Markup]:
    answer, result = headline(content), content.comparison
    # A number stays on the line of what it is.
    yield writer.made("headline", printable(answer).replace("p = ", "p\u00a0=\u00a0"))
    if content.card is not None:
        yield from _decision(content.card, writer)
    elif result is not None and result.suite is not None and len(result.systems) == 2:
        yield writer.strips(_tasks(result.suite))
    elif result is not None and result.aggregations:
        yield writer.strips(_ranking(content, result, "chart-forest"))
    elif content.meta is not None and content.meta.results:
        yield writer.strips(_metric_forest(content.meta, "chart-forest"))
    summary = content.sentences
    rest = [text for text in (*summary.settled, *summary.undecided) if not _is_in(text, answer)]
    if rest:
        yield writer.findings(content.hidden(rest))
    sure = [text for text in summary.sureness if not _is_in(text, answer)]
    if sure:
        yield writer.folded("rests", "How sure this is", writer.findings(content.hidden(sure)))
    about = [*without_figures(), *content.es.notes]
    results = (content.comparison, content.card, content.meta, content.judges)
    about += [text for result_ in results if result_ is not None for text in result_.warnings]
    about += [f"{finding.severity}: {finding.message}" for finding in content.findings
              if finding.message not in about]  # fmt: skip
    lines = content.hidden(brief(about))
    if lines:
        title = plural(len(lines), "warning")
        yield writer.folded("warnings", title, writer.findings(lines))


def _is_in(text: str, answer: str) -> bool:
    """Tell whether a sentence says what the answer says."""
    core = text.removesuffix(".").removeprefix("Too close to call: ")
    return core.casefold() in answer.casefold()


def _decision(card: Card, writer: Writer) -> Iterator[Markup]:
    """Write the difference of two systems with its interval, and who wins how often."""
    rows = [Estimate(" minus ".join(card.pair), card.difference, card.ci)]
    arrow = "" if card.higher_is_better else " (lower is better)"
    heads = ("difference", f"{card.score}{arrow}")
    yield writer.strips(forest("chart-forest", "Difference of the two systems", rows, heads,
                               zero=True))  # fmt: skip
    n = card.wins + card.ties + card.losses
    counts = {"wins": card.wins, "ties": card.ties, "losses": card.losses}
    shares = {kind: (count, count / (n or 1)) for kind, count in counts.items()}
    label = f"{card.pair[0]} against {card.pair[1]} on {plural(n, card.noun)}, in per cent"
    yield writer.strips(stacked("chart-wins", label, [(card.pair[0], shares)], "system"))


def _tasks(suite: Suite) -> Strips:
    """Write the difference of two systems on every task, and their macro average."""
    rows = []
    for part in (*suite.ordered(), suite.macro):
        low, high = sorted((suite.sign * part.low, suite.sign * part.high))
        size = f"{part.n:,}"
        rows.append(Estimate(part.name, suite.sign * part.lead, (low, high), more=(size,)))
    label = f"Difference by {suite.column}: {' minus '.join(suite.systems)}"
    heads = (suite.column, "difference", suite.noun + "s")
    return forest("chart-forest", label, rows, heads, zero=True)


def _ranking(content: Content, result: Comparison, id_: str) -> Strips:
    """Write the first ranking with its intervals and tiers."""
    by, ranked = next(iter(result.aggregations.items()))
    order = result.ranking(by)
    tiers = result.tiers.get(by)
    rows = []
    for system in order[:_FIRST]:
        i = result.systems.index(system)
        ends = (np.nan, np.nan)
        if ranked.ci is not None:
            ends = (float(ranked.ci[0][i]), float(ranked.ci[1][i]))
        tier = None if tiers is None else tiers.clusters[i]
        remark = content.remark(system)
        rows.append(Estimate(system, float(ranked.scores[i]), ends, tier, remark))
    arrow = "" if ranked.higher_is_better else " ↓"
    label = f"{result.called(by)} {result.score} with 95% intervals"
    notes = [] if len(order) <= _FIRST else [f"{len(order) - _FIRST} more are in the table below"]
    return forest(id_, label[0].upper() + label[1:], rows, ("system", result.shown(by) + arrow),
                  notes=notes)  # fmt: skip


# -- systems


def _systems(content: Content, writer: Writer) -> Iterator[Markup]:
    result = content.comparison
    if result is None or not result.aggregations:
        return
    if content.card is not None:
        yield writer.table(content.card.table(), "Decision")
    for column, suite in result.suites.items():
        yield writer.made("heading", printable(f"By {column}"))
        yield writer.table(suite.table(), f"Systems by {column}")
    lower = "" if result.higher_is_better else " (lower is better)"
    text = "Tests can't tell systems of one tier apart, which does not make them equally good."
    table = result.table()
    ranking = [
        writer.words(f"Ranked by {called_rankings(result)} of {result.score}{lower}. {text}"),
        writer.table(_without_ends(table), "Ranking of systems", table),
        writer.made("terms", glossary.explained((*result.aggregations, "tier", *result.tests))),
    ]
    if content.card is not None or result.suites:
        yield writer.folded("rankings", "All rankings", *ranking)
    else:
        yield from ranking
    scores = systems_figures.scores_of(content.es, result)
    order = result.ranking(next(iter(result.aggregations)))
    if len(order) > 1:
        density = partial(systems_figures.draw, "density", result, scores)
        yield writer.folded(
            "pair", "The best two, segment by segment", writer.charts(("chart-density", density))
        )
    if len(order) > 2:
        better = 1.0 if result.higher_is_better else -1.0
        rows = [result.systems.index(system) for system in order]
        shares = pair_figures.win_shares(better * scores[rows])
        wins = stacked("chart-wins", "Comparisons with all other systems, segment by segment",
                       list(zip(order[:_FIRST], shares, strict=False)), "system")  # fmt: skip
        yield writer.folded("wins", "Wins, ties and losses", writer.strips(wins))
        places: list[tuple[str, Callable[[], Chart]]] = [
            ("chart-ranks", lambda: systems_figures.ranks(result, first_only=True)),
            ("chart-disagreement", lambda: systems_figures.disagreement(result)),
        ]
        title = "Places in resampled test sets, and by other rankings"
        yield writer.folded("places", title, writer.charts(*places))
    if content.many is not None:
        yield writer.folded("scores", "What other scores say",
                            writer.table(content.many.table(), "What each score says"))  # fmt: skip
    if result.tests:
        note = "A cell is the p-value of row against column; choose it to read that pair."
        matrices = grids.system_grids(result, content.es.systems)
        yield writer.folded("significance", "P-values of all pairs", writer.words(note),
                            *map(writer.matrix, matrices))  # fmt: skip


def _without_ends(table: Table) -> Table:
    """Leave out the ends of intervals, which pictures show and the download has."""
    kept = [j for j, column in enumerate(table.columns) if column.name not in ("low", "high")]
    rows = tuple(tuple(row[j] for j in kept) for row in table.rows)
    bold = frozenset((i, kept.index(j)) for i, j in table.bold)
    return replace(table, columns=tuple(table.columns[j] for j in kept), rows=rows, bold=bold)


# -- metrics


def _metrics(content: Content, writer: Writer) -> Iterator[Markup]:
    meta = content.meta
    if meta is None or not meta.results:
        return
    by = meta.results[0].by
    words = f"How well each metric agrees with {meta.human}, by {by}. "
    if any(result.rank is not None for result in meta.results):
        words += "The tests can't tell metrics of one rank apart."
    yield writer.words(words)
    if content.comparison is not None:
        yield writer.strips(_metric_forest(meta, "chart-metrics"))
    table = writer.table(meta.table(), "Leaderboard of metrics")
    names = (*(result.by for result in meta.results), "alike")
    terms = writer.made("terms", glossary.explained(names))
    yield writer.folded("leaderboard", "All numbers", table, terms)
    inputs = metric_figures.MetaInput(meta, content.es)
    if inputs.best and content.es.n_segments:
        names_ = ("chart-systems", "chart-translations")
        charts = [(name, partial(_scatter, inputs, k)) for k, name in enumerate(names_)]
        title = f"{inputs.best[0]} against {meta.human}"
        yield writer.folded("scatter", title, writer.charts(*charts))
    alpha = 0.05
    if meta.provenance is not None:
        alpha = float(meta.provenance.options.get("alpha", alpha))
    grid = grids.metric_grid(meta, alpha)
    if grid is not None:
        yield writer.folded("metric-pairs", "P-values of all pairs of metrics", writer.matrix(grid))


def _scatter(inputs: metric_figures.MetaInput, k: int) -> Chart:
    panel = metric_figures.scatter_panels(inputs)[k]
    return finish({**panel, "title": None}, str(panel["title"]["text"]))


def _metric_forest(meta: MetaEvaluation, id_: str) -> Strips:
    """Write metrics by the first meta-metric, with their values by two others."""
    names = list(dict.fromkeys(result.by for result in meta.results))[:3]
    of: dict[str, dict[str, MetaResult]] = {by: {} for by in names}
    for result in meta.results:
        if result.by in of:
            of[result.by][result.metric] = result
    rows = []
    for metric, result in list(of[names[0]].items())[:_FIRST]:
        more = []
        for by in names[1:]:
            other = of[by].get(metric)
            more.append("--" if other is None or np.isnan(other.value) else f"{other.value:.3f}")
        ends = result.ci or (np.nan, np.nan)
        rows.append(Estimate(metric, result.value, ends, result.rank, more=tuple(more)))
    left = len(of[names[0]]) - len(rows)
    notes = [f"{left} more are in the table below"] if left else []
    label = f"Agreement with {meta.human} by {names[0]}, with 95% intervals"
    return forest(id_, label, rows, ("metric", *names), called="rank", notes=notes)


# -- judges


def _judges(content: Content, writer: Writer) -> Iterator[Markup]:
    report = content.judges
    if report is None:
        return
    first, *more = report.sentences
    yield writer.words(first)
    yield writer.table(report.table(short=True), "How far judges agree with people",
                       report.table())  # fmt: skip
    yield writer.folded("evidence", "What this rests on", writer.findings(more))
    charts = [
        (f"chart-judges-{name}", partial(judge_figures.draw, name, report))
        for name in judge_figures.FIGURES
    ]
    yield writer.folded("judge-charts", "Gaps, confusion, bias, labels", writer.charts(*charts))
    for card in report.cards[:_READ]:
        table = worst_disagreements(report.verdicts, report.verdicts.judge(card.name))
        if table.rows:
            yield writer.folded("", table.title,
                                writer.table(replace(table, title=""), table.title))  # fmt: skip


# -- ratings


def _ratings(content: Content, writer: Writer) -> Iterator[Markup]:
    for name, ratings in content.es.ratings.items():
        if np.isnan(ratings.value).all():
            continue
        known = int((~np.isnan(ratings.value)).sum())
        if ratings.raters == (UNKNOWN,):
            text = f"{name}: {plural(known, 'judgement')}; who gave them is not known."
            yield writer.words(text)
            continue
        raters = plural(len(ratings.raters), "rater")
        yield writer.words(f"{name}: {raters} gave {plural(known, 'judgement')}.")
        coefficients = agreements(
            ratings, {"score": ratings.value}, n_resamples=_RESAMPLES, rng=np.random.default_rng(0)
        )
        rows = []
        for label, value in defined_coefficients(coefficients):
            ends = value["ci"] or (np.nan, np.nan)
            units = f"{value['n_units']:,}"
            text = label.removeprefix("score: ")
            rows.append(Estimate(text, value["value"], ends, more=(units,)))
        if rows:
            heads = ("Agreement of raters", "value", "units")
            yield writer.strips(forest("", f"Agreement of raters of {name}", rows, heads))
        table = rater_table(ratings, rater_scale(ratings), ratings.value, None)
        yield writer.folded("", "Each rater", writer.table(table, f"Raters of {name}"))
        if name in _campaigns(content.es) and len(ratings.systems) > 1:
            yield from _both_rankings(ratings, writer)


def _campaigns(es: EvalSet) -> list[str]:
    """Return the ratings that are of a log of WMT26, which has an official ranking."""
    logs = {Path(f.path).name.split(".gz")[0] for f in es.inputs if f.format == CAMPAIGN.name}
    return [name for name in es.ratings if name in logs] or ([HUMAN] if logs else [])


def _both_rankings(ratings: Ratings, writer: Writer) -> Iterator[Markup]:
    """Set the ranks and lines of the organisers beside ours, and say which lines survive."""
    try:
        result = human_scores(ratings, protocol="esa", preset="wmt26", n_bootstrap=0)
    except DegenerateError as error:
        yield writer.words(f"No official ranking: {error}.")
        return
    yield writer.made("heading", "The official ranking and ours")
    yield writer.words(result.both_rankings() or result.answer()[0])
    variants = result.parts["variants"].to_columns()
    lines = {
        line["after"]: f"{line['kind']}, {'survives' if line['survives'] else 'falls'}"
        for line in result.more["preset"].get("lines", ())
    }
    columns = (Column("system"), Column(result.score, "higher", digits=1), Column("official rank"),
               Column("our rank"), Column("official line below"))  # fmt: skip
    ours = zip(result.systems, variants["wmt26 range"], variants["default range"], strict=True)
    rows = tuple((row.system, row.score, *spans, lines.get(row.system, "")) for row, *spans in ours)
    yield writer.table(Table("", columns, rows), "The official ranking of WMT26 and ours")
    figure = ("chart-rankings", partial(human_figures.draw, "rankings", result))
    yield writer.folded("both-rankings", "Ranks that both rules leave open", writer.charts(figure))


# -- segments


def _segments(content: Content, writer: Writer) -> Iterator[Markup]:
    checks = content.checks
    if checks is not None and checks.findings:
        yield writer.made("heading", "Numbers, names and terms")
        texts = [*checks.words().settled, *checks.words().sureness, *checks.warnings]
        yield writer.words(" ".join(texts))
        rows = [
            (segment_link(f.system, f.segment),
             (f.segment, f.system, f.kind, *(_cut(text or "--") for text in
                                             (f.source, f.output, f.expected)),
              f"{f.confidence} ({f.precision:.0%})"))
            for f in checks.findings[:_LISTED]
        ]  # fmt: skip
        heads = ("segment", "system", "kind", "source", "output", "expected", "confidence")
        label = "Findings, the surest first, with links to their segments"
        yield writer.linked(label, heads, rows)
    if content.mistakes:
        yield from _mistakes(content, writer)
    if content.explorer is not None:
        notes = content.hidden(content.explorer.notes)
        if not content.explorer.facts["has"]["outputs"]:
            notes.append("The input holds no outputs: scores only")
        yield writer.made("explorer", notes)
    if content.view.scores:
        table = writer.table(content.view.table(), "What the scores hold")
        yield writer.folded("missing", "Missing data and ties, by score", table)


def _mistakes(content: Content, writer: Writer) -> Iterator[Markup]:
    """List the mistakes of a file, each with a link to its segment."""
    mistakes = content.mistakes
    marked = plural(len(mistakes), "mistake")
    outputs = len({(mistake.system, mistake.segment) for mistake in mistakes})
    yield writer.made("heading", "Entity mistakes")
    text = f"{marked} in {plural(outputs, 'output')}, marked in the segments below."
    yield writer.words(text)
    rows = []
    for mistake in sorted(mistakes, key=lambda m: -(m.confidence or 0.0))[:_LISTED]:
        sure = "--" if mistake.confidence is None else f"{mistake.confidence:.2f}"
        cells = (mistake.segment, mistake.system, mistake.kind, _cut(mistake.text or ""),
                 mistake.side, sure)  # fmt: skip
        rows.append((segment_link(mistake.system, mistake.segment), cells))
    heads = ("segment", "system", "what", "text", "where", "confidence")
    yield writer.linked("Mistakes, with links to their segments", heads, rows)


def segment_link(system: str, segment: str) -> str:
    """Return the address of a segment in the page, as the explorer reads it.

    Examples
    --------
    >>> segment_link("A & B", "doc 1::2")
    '#segments?a=A+%26+B&segment=doc+1%3A%3A2'
    """
    return "#segments?" + urlencode({"a": printable(system), "segment": printable(segment)})


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


# -- below the groups


def colophon(content: Content, writer: Writer) -> list[Markup]:
    """Write what a paper needs: methods, works to cite, settings and hashes of all inputs."""
    paragraph, cited = methods.methods(content.es, content.comparison, content.meta)
    text = writer.made("methods", printable(paragraph), cited)
    results = (content.comparison, content.meta, content.judges)
    runs = [content.signed, *(result.provenance for result in results if result is not None)]
    lines = [run.line() for run in runs if run is not None]
    lines += [f"{file.path} ({file.format}) sha256 {file.sha256 or 'unknown'}"
              for file in content.signed.inputs]  # fmt: skip
    hide = without_folders(content.signed.inputs)
    source = writer.made("provenance", [printable(hide(line)) for line in lines])
    return [
        writer.folded("methods", "Methods, to paste into a paper", text),
        writer.folded("provenance", "Provenance", source),
    ]


def without_folders(inputs: Sequence[InputFile]) -> Callable[[str], str]:
    """Return what takes the folders of the user's disk out of a text; names of files stay.

    Examples
    --------
    >>> hide = without_folders([InputFile("/home/me/data/a.csv", "table")])
    >>> hide("/home/me/data/a.csv does not have 'B'; see /home/me/data/notes")
    "a.csv does not have 'B'; see notes"
    """
    # Only folders from the root on: the name of a folder alone may be a word, or a system.
    folders: set[Path] = set()
    paths: dict[str, str] = {}
    for file in inputs:
        path = Path(file.path)
        paths[str(path)] = paths[file.path] = path.name
        for spelling in (path, path.absolute(), path.resolve()):
            folders.update(folder for folder in (spelling.parent, spelling.parent.parent)
                           if folder.is_absolute() and folder.name)  # fmt: skip
    paths |= {f"{folder}{os.sep}": "" for folder in folders}
    paths |= {str(folder): folder.name for folder in folders}
    hidden = sorted(paths.items(), key=lambda pair: -len(pair[0]))

    def clean(text: str) -> str:
        for path, name in hidden:
            text = text.replace(path, name)
        return text

    return clean
