"""Protocols whose ratings are numbers: direct assessment, MQM and ESA, from ratings to results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, UsageError, hint
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
from steelyard.human import mqm, official, raters
from steelyard.human.judgedunits import named_column
from steelyard.human.options import HumanOptions
from steelyard.human.ordering import Averages, Rule, average
from steelyard.human.placing import place
from steelyard.human.presets import PRESETS
from steelyard.human.protocol import Inputs, Protocol
from steelyard.human.results import HumanScores, place_systems
from steelyard.human.segmentfacts import describe
from steelyard.stats import agreement
from steelyard.stats.ranks import ranks, whole


@dataclass(frozen=True, slots=True)
class _Scored:
    """Ratings with the values that count: raw ones, and z (NaN where a rater has none)."""

    ratings: Ratings
    scale: raters.RaterScale
    z: Floats
    averages: Averages
    penalties: mqm.Penalties | None
    notes: tuple[str, ...] = ()


class _DirectAssessment(Protocol):
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
        """Give the score that systems are ordered by, and the raw one."""
        return (f"{self.raw.removesuffix('_raw')}_z" if self.z(options) else self.raw), self.raw

    def rule(self, options: HumanOptions) -> Rule:
        """Give the rule for clusters, with the test that fits the protocol."""
        test = options.test or self.test
        return Rule(options.clusters, test, options.alpha, options.correction)

    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        (inputs,) = read.values()
        if not isinstance(inputs.judgements, Ratings):
            raise self.missing("no raw ratings")
        return self.rate(inputs.judgements, options, rng, about=inputs.about)

    def takes(self, found: TableFormat, table: RawTable) -> bool:
        """Take ratings, and beside them what tells documents or domains of segments."""
        named = set(table.columns) & {*roles.DOCUMENT, *roles.DOMAIN}
        return found in self.rated or (found.gives is EvalSet and bool(named))

    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        preset = {} if options.preset is None else {"preset": options.preset}
        used = self.rule(options) if result.rule is None else result.rule
        return {
            **preset,
            **({"clusters": options.preset} if preset else {}),
            "test": used.test,
            "unit": None if result.unit is None else result.unit.name,
            "correction": options.correction,
            **result.more.get("weights", {}),
            "score": "z" if self.z(options) else "raw",
        }

    def costs(
        self, ratings: Ratings, options: HumanOptions, weights: mqm.Weights | None
    ) -> mqm.Penalties | None:
        """Give what the errors of each rating cost, where that is its value."""
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
        """Run the protocol: scores, places, raters, agreement; and quality control if asked for."""
        if not len(ratings):
            raise DegenerateError("there is no rating")
        preset = None if options.preset is None else PRESETS[options.preset]
        first: list[str] = []
        if preset is not None:
            ratings, first = official.counted(ratings, preset)
        scale = raters.rater_scale(ratings)
        checks = raters.quality_control(ratings, scale, min_seconds=options.min_seconds)
        found = kept = self._scored(ratings, options, weights, about)
        warnings = [*first, *found.notes, *self._left_out(ratings, scale, options)]
        warnings += checks.notes(ratings.raters)
        comparable = found.z if self.z(options) else found.ratings.value
        shown = checks if self.controlled else None
        tables = {"raters": raters.rater_table(found.ratings, found.scale, comparable, shown)}
        name, raw = self.names(options)
        removed: tuple[str, ...] = ()
        if options.quality_control and checks.failed:
            removed = tuple(ratings.raters[code] for code in checks.failed)
            if len(removed) == len(ratings.raters):
                raise DegenerateError("no rater passes the quality control")
            left = ratings.take(~np.isin(ratings.rater, checks.failed))
            kept = self._scored(left, options, weights, about)
            lost = plural(len(removed), "rater")
            warnings.append(f"removed {lost} that failed the quality control")
            tables["changes"] = _changes(found.averages, kept.averages, name)
        averages = kept.averages
        rated = self._rated(kept, options)
        used = rated.get(name, kept.ratings)  # what the scores are means of, where raters are known
        placed = place(used, averages, name, self.rule(options), options)
        warnings += placed.warnings
        tables |= placed.tables
        columns: dict[str, Any] = {"score": placed.overall, "raw": averages.means(raw)}
        columns["n_segments"], columns["n_ratings"] = averages.counts()
        more = dict(placed.more)
        systems = place_systems(averages.systems, columns, placed.ordering)
        if weights is not None and kept.ratings.errors is not None:
            names = [system.system for system in systems]
            rows = mqm.error_rows(kept.ratings, weights)
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
            agreement=self._agreement(kept, options, rng),
            removed_raters=removed,
            unit=placed.unit,
            errors=placed.errors,
            warnings=tuple(warnings),
            more=more,
            notes=placed.notes,
            rated=rated,
        )

    def _rated(self, found: _Scored, options: HumanOptions) -> dict[str, Ratings]:
        """Give the ratings that scores of outputs are means of, by the name of the score."""
        ratings = found.ratings
        if ratings.raters == (raters.UNKNOWN,):
            return {}
        name, raw = self.names(options)
        values = {raw: ratings.value} | ({name: found.z} if self.z(options) else {})
        # What has no z has no part in the raw means beside it, either.
        every = np.logical_and.reduce([~np.isnan(value) for value in values.values()])
        rows = every & ratings.is_item("system", "repeat")
        kept = {one: replace(ratings, value=value).take(rows) for one, value in values.items()}
        return {one: own.select(systems=found.averages.systems) for one, own in kept.items()}

    def _scored(
        self,
        ratings: Ratings,
        options: HumanOptions,
        weights: mqm.Weights | None,
        about: Segments | None,
    ) -> _Scored:
        """Turn ratings into averages per output."""
        name, raw = self.names(options)
        found = self.costs(ratings, options, weights)
        if found is not None:
            cost = -found.units / found.scale + 0.0
            tests = ratings.is_item("attention")
            ratings = replace(ratings, value=np.where(tests, ratings.value, cost))
        scale = raters.rater_scale(ratings)
        z = raters.standardise(ratings, scale)
        rows = ratings.is_item("system", "repeat") & ~np.isnan(ratings.value)
        if self.z(options):
            averages = average(ratings, {name: z, raw: ratings.value}, rows & ~np.isnan(z))
        elif found is not None:
            averages = mqm.mqm_averages(ratings, found)
        else:
            averages = average(ratings, {raw: ratings.value}, rows)
        averages = self.widened(averages, ratings, weights)
        if not len(averages.n):
            why = (
                "no rater has a deviation to standardise by"
                if self.z(options)
                else "none has a score"
            )
            raise DegenerateError(f"no rating can be used: {why}")
        named = named_column(options.unit) is not None
        chosen, notes = describe(_chosen(averages, options), ratings, about, named_unit=named)
        return _Scored(ratings, scale, z, chosen, found, tuple(notes))

    def _left_out(
        self, ratings: Ratings, scale: raters.RaterScale, options: HumanOptions
    ) -> list[str]:
        """Say which rows take no part, and why; and which are there twice."""
        notes = []
        if self.scaled:
            blank = int(np.isnan(ratings.value).sum())
            if blank:
                notes.append(f"{plural(blank, 'row')} without a score left out")
            out = np.flatnonzero(~scale.usable & (scale.n > 0))
            if self.z(options) and len(out):
                lost = int(np.isin(ratings.rater, out).sum())
                names = listed([ratings.raters[code] for code in out], 5)
                notes.append(
                    f"{plural(len(out), 'rater')} without a z (one row only, or the same score "
                    f"everywhere) left out with {plural(lost, 'row')}: {names}"
                )
        return [*notes, *duplicate_notes(ratings)]

    def _agreement(
        self, found: _Scored, options: HumanOptions, rng: np.random.Generator
    ) -> dict[str, Any]:
        ratings, k = found.ratings, options.n_bootstrap
        name, raw = self.names(options)
        rows = ratings.is_item("system", "repeat")
        scores = {raw: ratings.value} | ({name: found.z} if self.z(options) else {})
        values, classes = rng.spawn(2)
        result = raters.agreements(ratings, scores, rows, n_resamples=k, rng=values)
        if not result or found.penalties is None:
            return result
        heaviest = raters.opinions(ratings, found.penalties.heaviest, rows)
        unit, value = heaviest.unit, heaviest.value
        one, other = classes.spawn(2)
        alpha = agreement.krippendorff_alpha(unit, value, "nominal", n_resamples=k, rng=one)
        kappa = agreement.fleiss_kappa(unit, value, n_resamples=k, rng=other)
        entry = {"alpha_nominal": alpha.to_dict(), "fleiss_kappa": kappa.to_dict()}
        if len(ratings.raters) == 2:
            pair = raters.two_raters(heaviest)
            entry["cohen_kappa"] = agreement.cohen_kappa(*pair).to_dict()
        return {**result, "heaviest error": entry}


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
        notes: tuple[str, ...] = ()
        if options.weights is not None:
            weights = mqm.read_weights(options.weights)
        else:
            weights = mqm.fitting_weights(ratings)
            if weights.name != "wmt":
                today = 'weights="wmt" for today\'s'
                notes = (f"categories of 2020-21: weights {weights.name} ({today})",)
        further = dict(options.severity)
        weights = weights.widened(further)
        notes += _absent(further, ratings)
        unknown = weights.unknown(ratings)
        if unknown:
            notes = (*notes, self.unweighed(unknown, weights))
        result = super().rate(ratings, options, rng, None if unknown else weights, about)
        used: dict[str, Any] = {"weights": weights.name, "cap": options.cap}
        used |= {"severity": further} if further else {}
        more = {**result.more, "weights": used}
        return replace(result, warnings=(*notes, *result.warnings), more=more)


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
        found = super().signed(options, result)
        del found["score"]
        return found


class _Esa(_Weighted):
    """A score and marked errors, of which the score counts."""

    name = "esa"
    expected = "rater, system, segment, errors and value"
    rated = (errorlists.FORMAT, directassessment.FORMAT)
    raw = "esa"

    def unweighed(self, counts: Mapping[str, int], weights: mqm.Weights) -> str:
        lacking = errorlists.no_weight(counts, weights.severities)
        return f"esa_spans and the error profile are left out: {lacking}"

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


def _absent(weighed: Collection[str], ratings: Ratings) -> tuple[str, ...]:
    """Say which severities have a weight, and no error has them: a name may be misspelt."""
    found = {errorlists.severity(e.severity) for own in ratings.errors or () for e in own or ()}
    absent = [name for name in weighed if errorlists.severity(name) not in found]
    if not absent:
        return ()
    shown = f"{listed(absent, 6)} (found: {listed(sorted(found), 6) or 'none'})"
    return (f"severity sets weights that no error has: {shown}",)


def check_systems(options: HumanOptions, known: Any) -> None:
    """Refuse to keep or drop a system that nobody judged."""
    for name in (*(options.systems or ()), *options.drop_systems):
        if name not in known:
            raise UsageError(f"unknown system '{name}'; {hint(name, known)}")


def _chosen(averages: Averages, options: HumanOptions) -> Averages:
    """Keep the wanted systems, after standardisation: all rows of a rater count for that."""
    known = averages.systems
    check_systems(options, known)
    rated = {known[code] for code in np.unique(averages.system)}
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
    if ratings.raters == (raters.UNKNOWN,):
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
    """Compare scores and places before and after raters were removed."""

    def placed(found: Averages) -> dict[str, tuple[float, int | None]]:
        means = found.means(name)
        both = zip(means.tolist(), whole(ranks(means)), strict=True)
        return dict(zip(found.systems, both, strict=True))

    old, new, gone = placed(before), placed(after), (None, None)
    digits = {"system": None, "score_before": 3, "score_after": 3, "rank_before": None,
              "rank_after": None}  # fmt: skip
    rows = []
    for system in sorted(old, key=lambda s: (old[s][1] or len(old) + 1, s)):
        cells = zip(old[system], new.get(system, gone), strict=True)
        rows.append((system, *(cell for pair in cells for cell in pair)))
    columns = tuple(Column(name, digits=n) for name, n in digits.items())
    return Table("What the quality control changed", columns, tuple(rows))
