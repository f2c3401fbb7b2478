"""Protocols whose ratings are numbers: direct assessment, MQM and ESA, from ratings to results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, InputError, UsageError, hint
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.data.segments import Segments, Texts, positions
from steelyard.formats import columns as roles
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import errors as errorlists
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.human import mqm, official, raters
from steelyard.human.options import PRESETS, HumanOptions
from steelyard.human.ranking import (
    MAX_SYSTEMS,
    UNKNOWN,
    Averages,
    Placement,
    Remark,
    Rule,
    average,
    by_rater,
    independent,
    named_column,
    order_systems,
    rank_systems,
)
from steelyard.human.results import HumanScores, place_systems
from steelyard.human.run import Inputs, Scorer
from steelyard.stats.arrays import group_sums
from steelyard.stats.ranks import ranks, whole

ENOUGH = 15  # ratings of an output that direct assessment asks for, to use scores of segments


@dataclass(frozen=True, slots=True)
class _Scored:
    """Ratings with what they are worth by the name of each score (z is NaN without deviation)."""

    ratings: Ratings
    scale: raters.RaterScale
    values: Mapping[str, Floats]
    averages: Averages
    penalties: mqm.Penalties | None
    warnings: tuple[str, ...]


class _DirectAssessment(Scorer):
    """A score for each output, by default standardised by rater."""

    name = "da"
    expected = "rater (or worker), system, segment and raw, one row per judgement"
    rated: tuple[TableFormat, ...] = (directassessment.FORMAT,)
    of_sets = True
    controlled = True  # raters are checked
    raw = "da_raw"  # the score that is not standardised
    standardises = True  # unless the options say otherwise
    test = "rank-sum"
    weighs = False  # marked errors have weights
    costs = False  # and a rating is worth minus what its errors cost

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        """Take ratings, and beside them tables with documents or domains of segments."""
        named = set(table.columns) & {*roles.DOCUMENT, *roles.DOMAIN}
        return form in self.rated or (form.gives is EvalSet and bool(named))

    def severities(self, options: HumanOptions) -> Collection[str] | None:
        """Return the severities that errors may have, where each must have a weight."""
        if not self.costs:
            return None
        weights = mqm.read_weights(options.weights or "wmt")
        return weights.widened(dict(options.severity)).severities

    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        """Run the protocol on the ratings that were read."""
        (inputs,) = read.values()
        if not isinstance(inputs.judgements, Ratings):
            raise self.missing("no raw ratings")
        return self.rate(inputs.judgements, options, rng, inputs.about)

    def rate(
        self,
        ratings: Ratings,
        options: HumanOptions,
        rng: np.random.Generator,
        about: Segments | None = None,
    ) -> HumanScores:
        """Run the protocol: scores, ranks, raters, agreement; and quality control if asked for."""
        if not len(ratings):
            raise DegenerateError("there is no rating")
        weights, more, warnings = self._weights(ratings, options)
        if options.preset is not None:
            ratings, remarks = official.counted(ratings, PRESETS[options.preset])
            warnings += remarks
        scale = raters.rater_scale(ratings)
        checks: raters.QualityControl | None = None
        if self.controlled:
            checks = raters.quality_control(ratings, scale, min_seconds=options.min_seconds)
        every = scored = self._scored(ratings, options, weights, about)
        name, raw = list(every.values)[-1], self.raw
        warnings += [*every.warnings, *self._excluded(ratings, scale, z=name != raw)]
        table = raters.rater_table(every.ratings, every.scale, every.values[name], checks)
        tables = {"raters": table}
        codes = [] if checks is None else checks.failed
        failed = tuple(ratings.raters[code] for code in codes)
        removed = failed if options.quality_control else ()
        warnings += [] if checks is None else checks.warnings(ratings.raters)
        if removed:
            if len(removed) == len(ratings.raters):
                raise DegenerateError("no rater passes the quality control")
            left = ratings.take(~np.isin(ratings.rater, codes))
            scored = self._scored(left, options, weights, about)
            tables["changes"] = _changes(every.averages, scored.averages, name)
        averages, rated = scored.averages, _rated(scored)
        # The ratings that scores are means of, where raters are known.
        placed = self._placed(rated.get(name, scored.ratings), averages, name, options)
        tables |= placed.tables
        size = len(averages.systems)
        columns = {
            "score": placed.overall,
            "raw": averages.means(raw),
            "n_segments": np.bincount(averages.system, minlength=size),
            "n_ratings": group_sums(averages.system, averages.n, size).astype(np.int64),
        }
        systems = place_systems(averages.systems, columns, placed.ordering)
        more = {**placed.more, **more}
        if weights is not None and scored.ratings.errors is not None:
            names = [system.system for system in systems]
            rows = mqm.error_rows(scored.ratings, weights)
            more["errors"] = [row for row in rows if row["system"] in set(names)]
            tables["profile"] = mqm.profile(more["errors"], names)
        settings = {
            **({} if options.preset is None else dict.fromkeys(("preset", "clusters"),
                                                               options.preset)),
            "test": options.test or self.test if placed.rule is None else placed.rule.test,
            "unit": None if placed.unit is None else placed.unit.name,
            "correction": options.correction,
            **more.get("weights", {}),
            **({} if self.costs else {"score": "raw" if name == raw else "z"}),
        }  # fmt: skip
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
            agreement=_agreement(scored, options.n_bootstrap, rng),
            failed_raters=failed,
            removed_raters=removed,
            unit=placed.unit,
            errors=placed.errors,
            warnings=(*warnings, *placed.warnings),
            more=more,
            settings=settings,
            notes=(*placed.notes, _rated_once(averages, single=self.name == "da")),
            rated=rated,
        )

    def _weights(
        self, ratings: Ratings, options: HumanOptions
    ) -> tuple[mqm.Weights | None, dict[str, Any], list[str]]:
        """Return what errors cost, the facts on it, and warnings; None where some have no weight.

        Weights that nobody fixed are those that fit the categories.
        """
        if not self.weighs:
            return None, {}, []
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
        spans = (span for row in ratings.errors or () for span in row or ())
        marked = {errorlists.severity(span.severity) for span in spans}
        absent = [name for name in further if errorlists.severity(name) not in marked]
        if absent:  # a name may be misspelt
            shown = f"{listed(absent, 6)} (found: {listed(sorted(marked), 6) or 'none'})"
            warnings.append(f"severity sets weights that no error has: {shown}")
        facts: dict[str, Any] = {"weights": weights.name, "cap": options.cap}
        facts |= {"severity": further} if further else {}
        unknown = weights.unknown(ratings)
        if not unknown:
            return weights, {"weights": facts}, warnings
        lacking = errorlists.no_weight(unknown, weights.severities)
        if self.costs:
            raise UsageError(lacking)
        warnings.append(Remark(f"esa_spans and the error profile are left out: {lacking}"))
        return None, {"weights": facts}, warnings

    def _scored(
        self,
        ratings: Ratings,
        options: HumanOptions,
        weights: mqm.Weights | None,
        about: Segments | None,
    ) -> _Scored:
        """Turn ratings into averages per output."""
        costs: mqm.Penalties | None = None
        if self.costs:
            if ratings.errors is None:
                raise UsageError("protocol mqm: the ratings hold no errors")
            assert weights is not None
            costs = mqm.penalties(ratings, weights, options.cap)
            tests = ratings.is_item("attention")
            ratings = replace(ratings, value=np.where(tests, ratings.value, costs.values))
        scale = raters.rater_scale(ratings)
        values = {self.raw: ratings.value}
        standardised = options.standardised
        if self.standardises if standardised is None else standardised:
            values[f"{self.raw.removesuffix('_raw')}_z"] = raters.standardise(ratings, scale)
        rows = ratings.is_item("system", "repeat") & _complete(values)
        if costs is not None and len(values) == 1:
            averages = mqm.mqm_averages(ratings, costs)
        else:
            averages = average(ratings, dict(reversed(values.items())), rows)
        if self.weighs and not self.costs and ratings.errors is not None and weights is not None:
            # What the marked spans alone would give, as in MQM.
            spans = mqm.mqm_averages(ratings, mqm.penalties(ratings, weights), "esa_spans")
            column = spans.matrix("esa_spans")[averages.system, averages.segment]
            averages = replace(averages, values={**averages.values, "esa_spans": column})
        if not len(averages.n):
            no_z = "no rater has a deviation to standardise by"
            why = no_z if len(values) > 1 else "none has a score"
            raise DegenerateError(f"no rating can be used: {why}")
        check_systems(options, averages.systems)
        # Systems are chosen after standardisation: all rows of a rater count for that.
        rated = {averages.systems[code] for code in np.unique(averages.system)}
        wanted = rated if options.systems is None else rated & set(options.systems)
        wanted -= set(options.drop_systems)
        if not wanted:
            raise UsageError("no system is left")
        named_unit = named_column(options.unit) is not None
        averages, warnings = describe(
            averages.select(wanted), ratings, about, named_unit=named_unit
        )
        return _Scored(ratings, scale, values, averages, costs, tuple(warnings))

    def _placed(
        self, ratings: Ratings, averages: Averages, name: str, options: HumanOptions
    ) -> Placement:
        """Rank systems by the mean of a score, or as a preset says."""
        units, warnings = independent(averages, ratings, options.unit)
        test = units.test(options.test, self.test)
        rule = Rule(options.clusters, test, options.alpha, options.correction)
        if len(averages.systems) > MAX_SYSTEMS and rule.clusters != "none":
            most = f"more than {MAX_SYSTEMS} systems"
            warnings.append(f"{most}: pairs are not tested, and there are no clusters")
        if options.preset is None:
            return replace(rank_systems(averages, name, rule, units), warnings=tuple(warnings))
        plain = order_systems(averages, name, rule, units)
        beside = f"{test} test by {units.name}"
        beside += "" if averages.documents else " (documents are not known)"
        return official.rank_systems(
            ratings, averages, name, PRESETS[options.preset], plain, beside
        )

    def _excluded(self, ratings: Ratings, scale: raters.RaterScale, *, z: bool) -> list[str]:
        """Say which rows are excluded, and which are there twice."""
        warnings: list[str] = []
        blank = int(np.isnan(ratings.value).sum())
        if self.scaled and blank:
            warnings.append(Remark(f"{plural(blank, 'row')} without a score excluded"))
        constant = np.flatnonzero(~scale.usable & (scale.n > 0))
        if self.scaled and z and len(constant):
            lost = int(np.isin(ratings.rater, constant).sum())
            names = listed([ratings.raters[code] for code in constant], 5)
            warnings.append(
                f"{plural(len(constant), 'rater')} without a z (one row only, or the same "
                f"score everywhere) excluded with {plural(lost, 'row')}: {names}"
            )
        return [*warnings, *duplicate_notes(ratings)]


class _Mqm(_DirectAssessment):
    """Marked errors alone: an output is worth minus what its errors cost."""

    name = "mqm"
    expected = "rater, system, segment, and errors (or category and severity)"
    rated = (errorlists.FORMAT,)
    controlled = scaled = standardises = False
    raw = "mqm"
    test = "permutation"
    weighs = costs = True


class _Esa(_DirectAssessment):
    """A score and marked errors, of which the score counts."""

    name = "esa"
    expected = "rater, system, segment, errors and value"
    rated = (errorlists.FORMAT, directassessment.FORMAT)
    standardises = False
    raw = "esa"
    test = "permutation"
    weighs = True


DA, MQM, ESA = _DirectAssessment(), _Mqm(), _Esa()


def _complete(values: Mapping[str, Floats]) -> NDArray[np.bool_]:
    """Tell which ratings have every score: what has no z is excluded from raw means, too."""
    complete: NDArray[np.bool_] = ~np.isnan(sum(values.values()))
    return complete


def _rated(scored: _Scored) -> dict[str, Ratings]:
    """Return the ratings that scores of outputs are means of, by the name of the score."""
    ratings = scored.ratings
    if ratings.raters == (UNKNOWN,):
        return {}
    rows = ratings.is_item("system", "repeat") & _complete(scored.values)
    return {
        name: replace(ratings, value=value).take(rows).select(systems=scored.averages.systems)
        for name, value in scored.values.items()
    }


def _agreement(scored: _Scored, n_resamples: int, rng: np.random.Generator) -> dict[str, Any]:
    ratings, rows = scored.ratings, scored.ratings.is_item("system", "repeat")
    of_values, of_classes = rng.spawn(2)
    result = raters.agreements(ratings, scored.values, rows, n_resamples=n_resamples, rng=of_values)
    if result and scored.penalties is not None:
        heaviest = scored.penalties.heaviest
        result["heaviest error"] = raters.class_agreement(
            ratings, heaviest, rows, n_resamples, of_classes
        )
    return result


def check_systems(options: HumanOptions, judged: Collection[str]) -> None:
    """Refuse to keep or drop a system that nobody judged."""
    for name in (*(options.systems or ()), *options.drop_systems):
        if name not in judged:
            raise UsageError(f"unknown system '{name}'; {hint(name, judged)}")


def duplicate_notes(ratings: Ratings) -> list[str]:
    """Say how many rows repeat the labels of another; unnamed raters may be many people."""
    if ratings.raters == (UNKNOWN,):
        return []
    key = by_rater(ratings)
    for labels in (ratings.item, ratings.unit):
        if labels is not None:
            names, codes = encode(labels)
            key = key * len(names) + codes
    rows = np.flatnonzero(~ratings.is_item("attention"))  # which may be many on one output
    again = np.delete(rows, np.unique(key[rows], return_index=True)[1])
    if not len(again):
        return []
    k = int(again[0])
    rater, system = ratings.raters[ratings.rater[k]], ratings.systems[ratings.system[k]]
    first = ", ".join((rater, system, ratings.segments[ratings.segment[k]]))
    same = f"{plural(len(again), 'row')} with the rater, system, segment, type and batch of another"
    return [f"{same}: counted as further ratings (first: {first})"]


def _changes(before: Averages, after: Averages, name: str) -> Table:
    """Compare scores and ranks before and after raters were removed."""

    def ranked(averages: Averages) -> dict[str, tuple[float, int | None]]:
        means = averages.means(name)
        both = zip(means.tolist(), whole(ranks(means)), strict=True)
        return dict(zip(averages.systems, both, strict=True))

    old, new = ranked(before), ranked(after)
    rows = []
    for system in sorted(old, key=lambda s: (old[s][1] or len(old) + 1, s)):
        score, rank = new.get(system, (None, None))
        rows.append((system, old[system][0], score, old[system][1], rank))
    scores = (Column(name, digits=3) for name in ("score_before", "score_after"))
    columns = (Column("system"), *scores, Column("rank_before"), Column("rank_after"))
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

    What the texts do not know is taken from the ratings; documents the other way round where the
    ratings hold the column that the user named as the unit.
    """
    segments = averages.segments
    documents, warnings = _of_ratings(ratings, "document")
    if named_unit and warnings:
        raise UsageError(f"unit=...: {warnings[0]}")
    domains, torn = _of_ratings(ratings, "domain")
    warnings += torn
    at = positions(segments, () if about is None else about.ids)
    absent = [segments[k] for k in np.flatnonzero(at < 0)]
    if about is not None and len(absent) == len(segments):
        both = f"{listed(about.ids, 3)} against {listed(absent, 3)}"
        raise InputError(f"the texts share no segment with the ratings: {both}")
    if about is not None and absent:
        verb = "is" if len(absent) == 1 else "are"
        count = f"{plural(len(absent), 'segment')} of the ratings {verb} not in the texts"
        warnings.append(f"{count}: {listed(absent, 5)}")

    def in_texts(name: str) -> list[str | None]:
        column: Texts | None = getattr(about, name, None)
        return [None if column is None or k < 0 else column[k] for k in at]

    def either(first: Sequence[str | None], second: Sequence[str | None]) -> Texts | None:
        column = tuple(a or b for a, b in zip(first, second, strict=True))
        return column if any(column) else None

    of_texts, of_ratings = in_texts("documents"), [documents.get(name) for name in segments]
    rows = zip(segments, of_texts, of_ratings, strict=True)
    differ = [row for row in rows if row[1] and row[2] and row[1] != row[2]]
    if named_unit and documents:
        of_texts = of_ratings
    elif differ:
        first = "{} ('{}' and '{}')".format(*differ[0])
        count = f"{plural(len(differ), 'segment')} with another document in the ratings"
        warnings.append(f"{count}, first {first}: those of the texts count")
    return replace(
        averages,
        documents=either(of_texts, of_ratings),
        domains=either(in_texts("domains"), [domains.get(name) for name in segments]),
        sources=either(in_texts("sources"), [None] * len(segments)),
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
