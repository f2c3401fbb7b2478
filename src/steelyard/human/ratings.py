"""Protocols whose ratings are numbers: direct assessment, MQM and ESA, from ratings to results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, InputError, UsageError, hint
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import Segments
from steelyard.formats import columns as roles
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import errors as errorlists
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.human import mqm, raters
from steelyard.human.options import PRESETS, HumanOptions
from steelyard.human.ranking import (
    UNKNOWN,
    Averages,
    Remark,
    Rule,
    average,
    counted,
    named_column,
    place,
)
from steelyard.human.results import HumanScores, place_systems
from steelyard.human.run import Inputs, Scorer
from steelyard.stats.ranks import ranks, whole

ENOUGH = 15  # ratings of an output that direct assessment asks for, to use scores of segments


@dataclass(frozen=True, slots=True)
class _Scored:
    """Ratings with the values that count: raw ones, and z (NaN where a rater has none)."""

    ratings: Ratings
    scale: raters.RaterScale
    z: Floats
    averages: Averages
    penalties: mqm.Penalties | None
    warnings: tuple[str, ...] = ()


class _DirectAssessment(Scorer):
    """Scores of single outputs; what MQM and ESA do otherwise is overridden there."""

    name = "da"
    expected = "rater (or worker), system, segment and raw, one row per judgement"
    rated: tuple[TableFormat, ...] = (directassessment.FORMAT,)
    controlled = True
    of_sets = True
    raw = "da_raw"  # the score that is not standardised
    standardises = True  # unless the options say otherwise
    test = "rank-sum"

    def z(self, options: HumanOptions) -> bool:
        return self.standardises if options.standardised is None else options.standardised

    def names(self, options: HumanOptions) -> tuple[str, str]:
        """Return the score that systems are ordered by, and the raw one."""
        return (f"{self.raw.removesuffix('_raw')}_z" if self.z(options) else self.raw), self.raw

    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        (inputs,) = read.values()
        if not isinstance(inputs.judgements, Ratings):
            raise self.missing("no raw ratings")
        return self.rate(inputs.judgements, options, rng, about=inputs.about)

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        """Take ratings, and beside them tables with documents or domains of segments."""
        named = set(table.columns) & {*roles.DOCUMENT, *roles.DOMAIN}
        return form in self.rated or (form.gives is EvalSet and bool(named))

    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        preset = {} if options.preset is None else {"preset": options.preset}
        test = options.test or self.test if result.rule is None else result.rule.test
        return {
            **preset,
            **({"clusters": options.preset} if preset else {}),
            "test": test,
            "unit": None if result.unit is None else result.unit.name,
            "correction": options.correction,
            **result.more.get("weights", {}),
            "score": "z" if self.z(options) else "raw",
        }

    def costs(
        self, ratings: Ratings, options: HumanOptions, weights: mqm.Weights | None
    ) -> mqm.Penalties | None:
        """Return what the errors of each rating cost, where that is its value."""
        del ratings, options, weights
        return None

    def widened(
        self, averages: Averages, ratings: Ratings, weights: mqm.Weights | None
    ) -> Averages:
        """Add other scores of the same outputs."""
        del ratings, weights
        return averages

    def rate(
        self,
        ratings: Ratings,
        options: HumanOptions,
        rng: np.random.Generator,
        weights: mqm.Weights | None = None,
        about: Segments | None = None,
    ) -> HumanScores:
        """Run the protocol: scores, ranks, raters, agreement; and quality control if asked for."""
        if not len(ratings):
            raise DegenerateError("there is no rating")
        warnings: list[str] = []
        if options.preset is not None:
            ratings, warnings = counted(ratings, PRESETS[options.preset])
        scale = raters.rater_scale(ratings)
        checks = raters.quality_control(ratings, scale, min_seconds=options.min_seconds)
        every = scored = self._scored(ratings, options, weights, about)
        warnings += [*every.warnings, *self._excluded(ratings, scale, options)]
        warnings += checks.warnings(ratings.raters) if self.controlled else ()
        comparable = every.z if self.z(options) else every.ratings.value
        shown = checks if self.controlled else None
        tables = {"raters": raters.rater_table(every.ratings, every.scale, comparable, shown)}
        name, raw = self.names(options)
        failed = [ratings.raters[code] for code in checks.failed] if self.controlled else []
        removed: tuple[str, ...] = ()
        if options.quality_control and failed:
            removed = tuple(failed)
            if len(removed) == len(ratings.raters):
                raise DegenerateError("no rater passes the quality control")
            left = ratings.take(~np.isin(ratings.rater, checks.failed))
            scored = self._scored(left, options, weights, about)
            tables["changes"] = _changes(every.averages, scored.averages, name)
        averages = scored.averages
        rated = self._rated(scored, options)
        used = rated.get(name, scored.ratings)  # what scores are means of, where raters are known
        rule = Rule(options.clusters, self.test, options.alpha, options.correction)
        placed = place(used, averages, name, rule, options)
        tables |= placed.tables
        columns: dict[str, Any] = {"score": placed.overall, "raw": averages.means(raw)}
        columns["n_segments"], columns["n_ratings"] = averages.counts()
        more = dict(placed.more)
        systems = place_systems(averages.systems, columns, placed.ordering)
        if weights is not None and scored.ratings.errors is not None:
            names = [system.system for system in systems]
            rows = mqm.error_rows(scored.ratings, weights)
            more["errors"] = [row for row in rows if row["system"] in set(names)]
            tables["profile"] = mqm.profile(more["errors"], names)
        return HumanScores(
            protocol=self.name,
            systems=systems,
            score=name,
            averages=averages,
            parts=tables,
            rule=placed.rule,
            p=placed.ordering.p,
            decisions=placed.decisions,
            by_document=placed.by_document,
            agreement=self._agreement(scored, options, rng),
            failed_raters=tuple(failed),
            removed_raters=removed,
            unit=placed.unit,
            errors=placed.errors,
            warnings=(*warnings, *placed.warnings),
            more=more,
            notes=(*placed.notes, _rated_once(averages, single=self.name == "da")),
            rated=rated,
        )

    def _rated(self, scored: _Scored, options: HumanOptions) -> dict[str, Ratings]:
        """Return the ratings that scores of outputs are means of, by the name of the score."""
        ratings = scored.ratings
        if ratings.raters == (UNKNOWN,):
            return {}
        name, raw = self.names(options)
        values = {raw: ratings.value} | ({name: scored.z} if self.z(options) else {})
        # What has no z is excluded from the raw means beside it, too.
        complete = np.logical_and.reduce([~np.isnan(value) for value in values.values()])
        rows = complete & ratings.is_item("system", "repeat")
        systems = scored.averages.systems
        return {
            score: replace(ratings, value=value).take(rows).select(systems=systems)
            for score, value in values.items()
        }

    def _scored(
        self,
        ratings: Ratings,
        options: HumanOptions,
        weights: mqm.Weights | None,
        about: Segments | None,
    ) -> _Scored:
        """Turn ratings into averages per output."""
        name, raw = self.names(options)
        costs = self.costs(ratings, options, weights)
        if costs is not None:
            cost = -costs.units / costs.scale + 0.0
            tests = ratings.is_item("attention")
            ratings = replace(ratings, value=np.where(tests, ratings.value, cost))
        scale = raters.rater_scale(ratings)
        z = raters.standardise(ratings, scale)
        rows = ratings.is_item("system", "repeat") & ~np.isnan(ratings.value)
        if self.z(options):
            averages = average(ratings, {name: z, raw: ratings.value}, rows & ~np.isnan(z))
        elif costs is not None:
            averages = mqm.mqm_averages(ratings, costs)
        else:
            averages = average(ratings, {raw: ratings.value}, rows)
        averages = self.widened(averages, ratings, weights)
        if not len(averages.n):
            no_z = "no rater has a deviation to standardise by"
            why = no_z if self.z(options) else "none has a score"
            raise DegenerateError(f"no rating can be used: {why}")
        named_unit = named_column(options.unit) is not None
        chosen = _chosen(averages, options)
        described, warnings = describe(chosen, ratings, about, named_unit=named_unit)
        return _Scored(ratings, scale, z, described, costs, tuple(warnings))

    def _excluded(
        self, ratings: Ratings, scale: raters.RaterScale, options: HumanOptions
    ) -> list[str]:
        """Say which rows are excluded, and which are there twice."""
        warnings: list[str] = []
        if self.scaled:
            blank = int(np.isnan(ratings.value).sum())
            if blank:
                warnings.append(Remark(f"{plural(blank, 'row')} without a score excluded"))
            constant = np.flatnonzero(~scale.usable & (scale.n > 0))
            if self.z(options) and len(constant):
                lost = int(np.isin(ratings.rater, constant).sum())
                names = listed([ratings.raters[code] for code in constant], 5)
                warnings.append(
                    f"{plural(len(constant), 'rater')} without a z (one row only, or the same "
                    f"score everywhere) excluded with {plural(lost, 'row')}: {names}"
                )
        return [*warnings, *duplicate_notes(ratings)]

    def _agreement(
        self, scored: _Scored, options: HumanOptions, rng: np.random.Generator
    ) -> dict[str, Any]:
        ratings, n = scored.ratings, options.n_bootstrap
        name, raw = self.names(options)
        rows = ratings.is_item("system", "repeat")
        scores = {raw: ratings.value} | ({name: scored.z} if self.z(options) else {})
        values, classes = rng.spawn(2)
        result = raters.agreements(ratings, scores, rows, n_resamples=n, rng=values)
        if result and scored.penalties is not None:
            heaviest = scored.penalties.heaviest
            entry = raters.class_agreement(ratings, heaviest, rows, n, classes)
            result["heaviest error"] = entry
        return result


class _Weighted(_DirectAssessment):
    """Ratings with marked errors, each of which has a weight."""

    standardises = False
    test = "permutation"

    def unweighed(self, counts: Mapping[str, int], weights: mqm.Weights) -> str:
        """Say what is left out because errors have no weight, or refuse to go on without."""
        raise UsageError(errorlists.no_weight(counts, weights.severities))

    def rate(
        self,
        ratings: Ratings,
        options: HumanOptions,
        rng: np.random.Generator,
        weights: mqm.Weights | None = None,
        about: Segments | None = None,
    ) -> HumanScores:
        """Run the protocol; weights that nobody fixed are those that fit the categories."""
        warnings: list[str] = []
        if options.weights is not None:
            weights = mqm.read_weights(options.weights)
        else:
            weights = mqm.fitting_weights(ratings)
            if weights.name != "wmt":
                today = 'weights="wmt" for today\'s'
                warnings.append(f"categories of 2020-21: weights {weights.name} ({today})")
        further = dict(options.severity)
        weights = weights.widened(further)
        warnings += _absent(further, ratings)
        unknown = weights.unknown(ratings)
        if unknown:
            warnings.append(self.unweighed(unknown, weights))
        result = super().rate(ratings, options, rng, None if unknown else weights, about)
        used: dict[str, Any] = {"weights": weights.name, "cap": options.cap}
        used |= {"severity": further} if further else {}
        more = {**result.more, "weights": used}
        return replace(result, warnings=(*warnings, *result.warnings), more=more)


class _Mqm(_Weighted):
    """Marked errors alone: an output is worth minus what its errors cost."""

    name = "mqm"
    expected = "rater, system, segment, and errors (or category and severity)"
    rated = (errorlists.FORMAT,)
    controlled = False
    scaled = False
    raw = "mqm"

    def costs(
        self, ratings: Ratings, options: HumanOptions, weights: mqm.Weights | None
    ) -> mqm.Penalties:
        if ratings.errors is None:
            raise UsageError("protocol mqm: the ratings hold no errors")
        assert weights is not None  # rate chooses some
        return mqm.penalties(ratings, weights, options.cap)

    def severities(self, options: HumanOptions) -> Collection[str]:
        weights = mqm.read_weights(options.weights or "wmt")
        return weights.widened(dict(options.severity)).severities

    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        settings = super().signed(options, result)
        del settings["score"]
        return settings


class _Esa(_Weighted):
    """A score and marked errors, of which the score counts."""

    name = "esa"
    expected = "rater, system, segment, errors and value"
    rated = (errorlists.FORMAT, directassessment.FORMAT)
    raw = "esa"

    def unweighed(self, counts: Mapping[str, int], weights: mqm.Weights) -> str:
        lacking = errorlists.no_weight(counts, weights.severities)
        return Remark(f"esa_spans and the error profile are left out: {lacking}")

    def widened(
        self, averages: Averages, ratings: Ratings, weights: mqm.Weights | None
    ) -> Averages:
        """Add what the marked spans alone would give, as in MQM; NaN where there are none."""
        if ratings.errors is None or weights is None:
            return averages
        spans = mqm.mqm_averages(ratings, mqm.penalties(ratings, weights), "esa_spans")
        column = spans.matrix("esa_spans")[averages.system, averages.segment]
        return replace(averages, values={**averages.values, "esa_spans": column})


DA, MQM, ESA = _DirectAssessment(), _Mqm(), _Esa()


def _absent(weighed: Iterable[str], ratings: Ratings) -> list[str]:
    """Name severities that have a weight, and no error has them: a name may be misspelt."""
    marked = {errorlists.severity(e.severity) for row in ratings.errors or () for e in row or ()}
    absent = [name for name in weighed if errorlists.severity(name) not in marked]
    if not absent:
        return []
    shown = f"{listed(absent, 6)} (found: {listed(sorted(marked), 6) or 'none'})"
    return [f"severity sets weights that no error has: {shown}"]


def check_systems(options: HumanOptions, judged: Collection[str]) -> None:
    """Refuse to keep or drop a system that nobody judged."""
    for name in (*(options.systems or ()), *options.drop_systems):
        if name not in judged:
            raise UsageError(f"unknown system '{name}'; {hint(name, judged)}")


def _chosen(averages: Averages, options: HumanOptions) -> Averages:
    """Keep the wanted systems, after standardisation: all rows of a rater count for that."""
    check_systems(options, averages.systems)
    rated = {averages.systems[code] for code in np.unique(averages.system)}
    wanted = rated if options.systems is None else rated & set(options.systems)
    wanted -= set(options.drop_systems)
    if not wanted:
        raise UsageError("no system is left")
    return averages.select(wanted)


def duplicate_notes(ratings: Ratings) -> list[str]:
    """Say how many rows repeat another, if any."""
    again = _duplicates(ratings)
    if not len(again):
        return []
    k = int(again[0])
    rater, system = ratings.raters[ratings.rater[k]], ratings.systems[ratings.system[k]]
    first = ", ".join((rater, system, ratings.segments[ratings.segment[k]]))
    rows = f"{plural(len(again), 'row')} with the rater, system, segment, type and batch of another"
    return [f"{rows}: counted as further ratings (first: {first})"]


def _duplicates(ratings: Ratings) -> NDArray[np.int64]:
    """Find rows that repeat the labels of an earlier one; unnamed raters may be many people."""
    if ratings.raters == (UNKNOWN,):
        return np.empty(0, dtype=np.int64)
    items = np.unique(np.array(ratings.item or ("",)), return_inverse=True)[1]
    units = np.unique(np.array(ratings.unit or ("",)), return_inverse=True)[1]
    columns = [ratings.rater, ratings.system, ratings.segment]
    columns += [np.broadcast_to(x, len(ratings)) for x in (items, units)]
    order = np.lexsort(columns)
    order = order[~ratings.is_item("attention")[order]]  # which may be many on one output
    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    return np.sort(order[1:][same])


def _changes(before: Averages, after: Averages, name: str) -> Table:
    """Compare scores and ranks before and after raters were removed."""

    def placed(averages: Averages) -> dict[str, tuple[float, int | None]]:
        means = averages.means(name)
        both = zip(means.tolist(), whole(ranks(means)), strict=True)
        return dict(zip(averages.systems, both, strict=True))

    old, new, gone = placed(before), placed(after), (None, None)
    digits = {"system": None, "score_before": 3, "score_after": 3, "rank_before": None,
              "rank_after": None}  # fmt: skip
    rows = []
    for system in sorted(old, key=lambda s: (old[s][1] or len(old) + 1, s)):
        cells = zip(old[system], new.get(system, gone), strict=True)
        rows.append((system, *(cell for pair in cells for cell in pair)))
    columns = tuple(Column(name, digits=n) for name, n in digits.items())
    return Table("What the quality control changed", columns, tuple(rows))


def _rated_once(averages: Averages, *, single: bool) -> str:
    """Say how many outputs have a single rating, and whether single outputs can be scored."""
    n_once = int((averages.n == 1).sum())
    text = f"{n_once:,} of {plural(len(averages.n), 'output')} rated once"
    if single and averages.n.min() < ENOUGH:
        text += f" ({averages.n.mean():.3g} ratings on average): enough to rank systems, not to "
        text += "score single outputs"
    return text


def describe(
    averages: Averages, ratings: Ratings, about: Segments | None, *, named_unit: bool = False
) -> tuple[Averages, list[str]]:
    """Add document, domain and source of segments, with warnings where inputs do not agree.

    Documents are those of the texts, or else those that the ratings name; the other way round where
    these hold the column that the user named as the unit.
    """
    documents, warnings = _of_ratings(ratings, "document")
    if named_unit and warnings:
        raise UsageError(f"unit=...: {warnings[0]}")
    domains, torn = _of_ratings(ratings, "domain")
    warnings += torn
    segments = averages.segments

    def column(names: Iterable[str | None]) -> tuple[str | None, ...] | None:
        column = tuple(names)
        return column if any(column) else None

    if about is None:
        by_document = column(documents.get(segment) for segment in segments)
        by_domain = column(domains.get(segment) for segment in segments)
        return replace(averages, documents=by_document, domains=by_domain), warnings
    position = {segment: k for k, segment in enumerate(about.ids)}
    unknown = [segment for segment in segments if segment not in position]
    if len(unknown) == len(segments):
        raise InputError(
            f"the texts share no segment with the ratings: {_some(about.ids)} against "
            f"{_some(unknown)}"
        )
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        warnings.append(
            f"{plural(len(unknown), 'segment')} of the ratings {verb} not in the texts: "
            f"{listed(unknown, 5)}"
        )

    def of_texts(texts: Sequence[str | None] | None) -> dict[str, str | None]:
        at = {segment: position.get(segment) for segment in segments}
        return {s: None if texts is None or k is None else texts[k] for s, k in at.items()}

    in_texts = of_texts(about.documents)
    other = [s for s, name in in_texts.items() if name and documents.get(s) not in (None, name)]
    if named_unit and documents:
        in_texts = {segment: documents.get(segment) for segment in segments}
    elif other:
        first = other[0]
        warnings.append(
            f"{plural(len(other), 'segment')} with another document in the texts than in the "
            f"ratings (first: {first}, '{in_texts[first]}' and '{documents[first]}'): those of the "
            "texts count"
        )
    # What the texts do not know is taken from the ratings.
    domains_in_texts = of_texts(about.domains)
    return replace(
        averages,
        documents=column(in_texts[s] or documents.get(s) for s in segments),
        domains=column(domains_in_texts[s] or domains.get(s) for s in segments),
        sources=column(of_texts(about.sources).values()),
    ), warnings


def _of_ratings(ratings: Ratings, what: str) -> tuple[dict[str, str], list[str]]:
    """Return the document or domain of each segment that the ratings name; none where two."""
    first: dict[int, str] = {}
    torn: dict[int, str] = {}
    column: tuple[str, ...] | None = getattr(ratings, what)
    for code, name in zip(ratings.segment.tolist(), column or (), strict=column is not None):
        if name and first.setdefault(code, name) != name:
            torn.setdefault(code, name)
    names = {ratings.segments[k]: name for k, name in first.items() if k not in torn}
    if not torn:
        return names, []
    k = min(torn)
    which = f"{ratings.segments[k]}, '{first[k]}' and '{torn[k]}'"
    text = f"{plural(len(torn), 'segment')} with two {what}s (first: {which})"
    return names, [f"{text}: taken as of no {what}"]


def _some(names: Sequence[str]) -> str:
    return listed(list(names), 3)
