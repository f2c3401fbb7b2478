"""Texts to scores: run metrics on a set, keep what exactly each was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.display import (
    RankingRow,
    Result,
    Statement,
    Summary,
    named,
    one_line,
    ranked,
    ranking,
)
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import as_tuple, check_instance, check_names
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Frame, Table, decimals
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.load import Source, as_evalset, read
from steelyard.scoring.metric import Metric, Report, make_metric


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores(Result):
    """Scores of all systems by some metrics; ``evalset`` holds them and all that was known."""

    evalset: EvalSet
    metrics: tuple[str, ...]
    signatures: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=lambda: Provenance("score"))
    reports: Mapping[str, Report] = field(default_factory=dict)

    def system_scores(self) -> dict[str, dict[str, float]]:
        """Give the score of each system by each metric."""
        es = self.evalset
        columns = {name: es[name].system_means().tolist() for name in self.metrics}
        return {
            system: {name: column[i] for name, column in columns.items()}
            for i, system in enumerate(es.systems)
        }

    def words(self) -> Summary:
        """Say which system is first, whether metrics agree on it, and that nothing was tested."""
        return Summary.of(_statements(self))

    def __repr__(self) -> str:
        es = self.evalset
        size = f"{plural(es.n_systems, 'system')}, {plural(es.n_segments, 'segment')}"
        return one_line(self, f"by {named(self.metrics)}: {size}")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        es = self.evalset
        return {
            "systems": self.system_scores(),
            "ranking": ranking("system", self._places()),
            "signatures": dict(self.signatures),
            "n_segments": es.n_segments,
            "uses": {name: list(es[name].uses) for name in self.metrics},
            "lower_is_better": [n for n in self.metrics if not es[n].higher_is_better],
            "notes": list(self.notes),
            "reports": {name: report.to_dict() for name, report in self.reports.items()},
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def _places(self) -> list[RankingRow]:
        """Give who is where by the first metric, best first."""
        es = self.evalset
        first = es[self.metrics[0]]
        means = first.system_means().tolist()
        ranks = ranked(means, higher_is_better=first.higher_is_better)
        places = map(RankingRow, es.systems, ranks, means)
        return sorted(places, key=lambda own: (own.rank or len(means) + 1, own.name))

    def segments(self) -> EvalSet:
        """Give the set with these scores alone, without texts: what ``--out`` writes."""
        es = self.evalset.select(scores=self.metrics)
        bare = replace(es.segments, sources=None, references={})
        return replace(es, segments=bare, outputs={}, ratings={})

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give the segment scores as a pandas or polars frame."""
        return self.segments().to_frame(backend)

    def tables(self) -> list[Table]:
        """Give the scores, then whatever metrics have to tell beside them."""
        return [self.table(), *(t for report in self.reports.values() for t in report.details())]

    def answer(self) -> tuple[str, ...]:
        """Give who ranks first, what speaks against or for it, and that nothing was tested."""
        words = self.words()
        return (*words.settled[:1], *(*words.undecided, *words.settled[1:])[:1], *words.sureness)

    def pieces(self) -> list[Table | str]:
        """Give the scores with their signatures in a line."""
        signatures = "; ".join(f"{name} {self.signatures[name]}" for name in self.metrics)
        table = replace(self.table(), notes=(f"Signatures: {signatures}",))
        return [table]

    def table(self) -> Table:
        """Give the systems, best first by the first metric, with the signatures below."""
        es = self.evalset
        first = es[self.metrics[0]]
        means = first.system_means()
        keys = np.where(np.isnan(means), np.inf, -means if first.higher_is_better else means)
        scores = self.system_scores()
        order = sorted(range(es.n_systems), key=lambda i: (keys[i], es.systems[i]))
        columns = [
            Column(name, "higher" if es[name].higher_is_better else "lower")
            for name in self.metrics
        ]
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (es.systems[i], *scores[es.systems[i]].values()) for i in order
        )
        title = f"{plural(es.n_systems, 'system')} on {plural(es.n_segments, 'segment')}"
        signatures = (f"{name}: {self.signatures[name]}" for name in self.metrics)
        return Table(title, (Column("system"), *columns), rows, notes=(*signatures, *self.notes))


def score(
    source: Source,
    metrics: str | Sequence[str | Metric],
    *,
    references: Sequence[str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    annotations: EntityAnnotations | None = None,
) -> Scores:
    """Score the outputs of a set.

    Parameters
    ----------
    source
        Whatever :func:`steelyard.load` takes, with outputs; or entity annotations, whose links
        KoBE takes then: both variants, as far as source and reference are annotated.
    metrics
        Names (see :func:`steelyard.scoring.metric.metric_names`), or metrics that are made already.
    references
        Names of the references to use; a set with one needs none named.
    options
        Options of metrics by name, as ``{"bleu": {"tokenize": "intl"}}``.
    annotations
        The annotations that the texts of the set come from, where they are known.

    Examples
    --------
    >>> from steelyard import EvalSet, Segments
    >>> segments = Segments(("1", "2"), references={"refA": ("a cat", "two dogs")})
    >>> es = EvalSet(("A", "B"), segments, outputs={"A": ("a cat", "dogs"), "B": ("cat", "a dog")})
    >>> result = score(es, ["chrf", "character"])
    >>> print(result.table().text())
    2 systems on 2 segments
    system  chrf ↑  character ↓
    ------  ------  -----------
    A        64.40       0.5000
    B        35.05       0.7333
    chrf: nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:...
    character: nrefs:1|norm:output|match:equal|version:steelyard-...
    """
    check_instance(EntityAnnotations, "annotations", optional=True, annotations=annotations)
    es, links = _with_links(source) if annotations is None else (as_evalset(source), annotations)
    wanted: Sequence[Any] = as_tuple((str, Metric), metrics=metrics)
    check_names(optional=True, references=references)
    check_instance(Mapping, "options by metric", optional=True, options=options)
    given: dict[str, Any] = dict(options or {})
    for own in given.values():
        check_instance(Mapping, "dictionaries by metric", options=own)
    said: list[str] = []
    if links is not None:
        from steelyard.scoring.fidelity import of_annotations

        wanted, given, said = of_annotations(links, wanted, given)
    made = [make_metric(m, given.pop(m, None)) if isinstance(m, str) else m for m in wanted]
    for name in given:
        raise UsageError(f"options of '{name}', which is not asked for; {hint(name, _names(made))}")
    signatures: dict[str, str] = {}
    reports: dict[str, Report] = {}
    notes: list[str] = []
    warnings: list[str] = list(said)
    inputs = {file.path: file for file in es.inputs}
    for metric in made:
        if metric.name in es.scores:
            raise UsageError(f"there is a score '{metric.name}' already")
        scored = metric.score(es, references)
        es = es.with_scores(metric.name, scored.table)
        signatures[metric.name] = scored.signature
        notes += scored.notes
        warnings += scored.warnings
        inputs |= {file.path: file for file in scored.inputs if file.path not in inputs}
        if scored.report is not None:
            reports[metric.name] = scored.report
    settings = {"metrics": ",".join(_names(made))}
    if references is not None:
        settings["references"] = ",".join(references)
    return Scores(
        evalset=es,
        metrics=tuple(signatures),
        signatures=signatures,
        warnings=tuple(dict.fromkeys((*es.notes, *_warnings(es, tuple(signatures)), *warnings))),
        notes=tuple(notes),
        provenance=Provenance("score", settings, tuple(inputs.values())),
        reports=reports,
    )


def with_corpus_metrics(
    es: EvalSet, names: Sequence[str], references: Sequence[str] | None = None
) -> EvalSet:
    """Score the outputs of a set by several metrics, which get names like ``bleu-refA``.

    The name says what a metric compares outputs with, as those of official scores do; both
    variants of KoBE are ``kobe``.
    """
    for name in each(names):
        table = make_metric(name).score(es, references).table
        full = "-".join(filter(None, (name.removesuffix("-ref"), ".".join(table.uses))))
        if full in es.scores:
            raise UsageError(f"there is a score '{full}' already")
        es = es.with_scores(full, table)
    return es


def _with_links(source: Source) -> tuple[EvalSet, EntityAnnotations | None]:
    """Give a set as it is or as it is loaded, with its links if it is annotations."""
    if isinstance(source, EntityAnnotations):
        return source.evalset(), source
    if isinstance(source, EvalSet):
        return as_evalset(source), None
    held = read(source if isinstance(source, (list, tuple)) else (source,))
    part = held.only
    if part is None or not isinstance(part.value, EntityAnnotations):
        return held.evalset(), None
    links = replace(part.value, inputs=part.files, notes=part.notes)
    return links.evalset(), links


def _names(metrics: Sequence[Metric]) -> list[str]:
    return [metric.name for metric in metrics]


def _warnings(es: EvalSet, names: Sequence[str]) -> list[str]:
    """Say which outputs are empty or missing: that moves every score."""
    gaps = []
    for system in es.systems:
        texts = es.outputs.get(system, (None,) * es.n_segments)
        empty = sum(text is not None and not text.strip() for text in texts)
        missing = sum(text is None for text in texts)
        if empty:
            gaps.append(f"'{system}' has {plural(empty, 'empty output')}")
        if missing:
            scored = "is" if missing == 1 else "are"
            gaps.append(f"'{system}' lacks {plural(missing, 'output')}, which {scored} not scored")
    unscored = [name for name in names if np.isnan(es[name].system_means()).all()]
    return gaps + [f"{name}: no output could be scored" for name in unscored]


# -- scores in words


def _statements(scores: Scores) -> Iterator[Statement]:
    """Say which system is first; nothing is tested, so that none is called better."""
    es = scores.evalset
    if not scores.metrics or not es.systems:
        yield "undecided", "There is nothing to score."
        return
    tops = {name: _first(scores, name) for name in scores.metrics}
    leaders = {name: top for name, top in tops.items() if top}
    unscored = [name for name in tops if name not in leaders]
    if unscored:
        yield "undecided", f"No output has a score by {all_of(unscored)}."
    if not leaders:
        return
    name, top = next(iter(leaders.items()))
    size = f"{plural(es.n_systems, 'system')} on {plural(es.n_segments, 'segment')}"
    lower = "" if es[name].higher_is_better else ", lower is better"
    value = f"{_shown(scores, name, top[0])}{lower}"
    if es.n_systems == 1:
        each = all_of([f"{_shown(scores, metric, top[0])} by {metric}" for metric in leaders])
        yield "settled", f"{top[0]} has {each} on {plural(es.n_segments, 'segment')}."
        yield from _kept(scores)
        yield "undecided", f"{top[0]} is the only system: there is nothing to compare."
        return
    rest = list(leaders)[1:]
    agree = all(leaders[other] == top for other in rest)
    by = all_of([f"{name} ({value})", *(rest if agree else ())])
    ranks = "ranks first" if len(top) == 1 else "share the first place"
    yield "settled", f"{all_of(top)} {ranks} of {size} by {by}."
    yield from _kept(scores)
    if not agree:
        shown = "; ".join(f"{name}: {all_of(first)}" for name, first in leaders.items())
        yield "undecided", f"The metrics do not agree on the first place ({shown})."
    text = "No test was made: steelyard compare says whether a lead is more than chance."
    yield "sureness", text


def _kept(scores: Scores) -> Iterator[Statement]:
    sentences = (report.sentence() for report in scores.reports.values())
    yield from (("settled", text) for text in sentences if text)


def _first(scores: Scores, name: str) -> list[str]:
    """Give the systems with the best score by a metric; none where there is no score."""
    table = scores.evalset[name]
    means = table.system_means()
    means = means if table.higher_is_better else -means
    if np.isnan(means).all():
        return []
    best = np.nanmax(means)
    return [s for s, value in zip(scores.evalset.systems, means, strict=True) if value == best]


def _shown(scores: Scores, name: str, system: str) -> str:
    """Write the score of a system with the digits that the table has."""
    means = [float(x) for x in scores.evalset[name].system_means()]
    value = means[scores.evalset.systems.index(system)]
    return "undefined" if np.isnan(value) else f"{value:.{decimals(means)}f}"
