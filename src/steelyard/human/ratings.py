"""Protocols whose ratings are numbers: direct assessment, MQM and ESA, from ratings to results."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import DegenerateError, InputError, UsageError, hint
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan, Floats, Ratings, encode
from steelyard.data.segments import Segments, Texts, positions
from steelyard.formats import columns as roles
from steelyard.formats import toml
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import errors as errorlists
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.formats.toml import Section
from steelyard.human import official, raters
from steelyard.human.options import PRESETS, HumanOptions
from steelyard.human.ranking import (
    EXACT,
    UNKNOWN,
    Averages,
    Placement,
    Remark,
    Rule,
    average,
    by_rater,
    choose_test,
    fitting_test,
    independent,
    outputs,
    rank_systems,
)
from steelyard.human.results import HumanScores, place_systems
from steelyard.human.run import Inputs, Scorer
from steelyard.stats.arrays import group_sums

FOLDER = Path(__file__).parent / "weights"
NAMED = ("wmt", "wmt21")
ENOUGH = 15  # ratings of an output that direct assessment asks for, to use scores of segments


# What marked errors cost.


@dataclass(frozen=True, slots=True)
class Weights:
    """What errors cost: a weight per severity, and rules for categories that differ.

    A rule is a category with all below it and a severity, or None for any, with its weight.
    """

    severities: dict[str, Fraction]
    rules: Mapping[tuple[tuple[str, ...], str | None], Fraction]
    name: str = "wmt"

    def weight(self, error: ErrorSpan) -> Fraction:
        """Return the cost of an error; the most specific rule decides."""
        severity = errorlists.severity(error.severity)
        if severity not in self.severities:
            raise UsageError(errorlists.no_weight({error.severity: 1}, self.severities))
        category = _parts(error.category)
        for depth in range(len(category), 0, -1):
            for of_severity in (severity, None):
                if (category[:depth], of_severity) in self.rules:
                    return self.rules[category[:depth], of_severity]
        return self.severities[severity]

    def unknown(self, ratings: Ratings) -> dict[str, int]:
        """Count the errors of outputs whose severity has no weight, by severity."""
        if ratings.errors is None:
            return {}
        counts: Counter[str] = Counter()
        for row in np.flatnonzero(ratings.is_item("system", "repeat")):
            counts.update(error.severity for error in ratings.errors[row] or ())
        weighed = self.severities
        return {s: n for s, n in sorted(counts.items()) if errorlists.severity(s) not in weighed}


def _parts(category: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in category.casefold().split("/"))


#: Names that the category list of 2020 and 2021 has and later ones do not.
_OLD_NAMES = {"style/awkward", "accuracy/untranslated text",
              "terminology/inconsistent use of terminology"}  # fmt: skip


def fitting_weights(ratings: Ratings) -> Weights:
    """Choose between the tables that come with Steelyard by the categories that occur.

    Until 2021, errors of the source cost as much as others; they have been free since. A file with
    ``source error`` among the categories of those years gets the weights of those years.
    """
    names = {error.category for errors in ratings.errors or () for error in errors or ()}
    categories = {"/".join(_parts(name)) for name in names}
    old = "source error" in categories and categories & _OLD_NAMES
    return read_weights("wmt21" if old else "wmt")


def read_weights(path: str | Path = "wmt") -> Weights:
    """Read a table of weights: ``wmt``, ``wmt21``, or a TOML file."""
    file = toml.read(FOLDER / f"{path}.toml" if path in NAMED else Path(path))
    file.only(("severity", "rule"))
    listed = file.keys.get("severity")
    if not isinstance(listed, dict) or not listed:
        raise file.error("expected a table [severity] with a weight for each severity")
    severities = {name.casefold(): _weight(value, name, file) for name, value in listed.items()}
    severities.setdefault("no-error", Fraction(0))  # what raters write where nothing is wrong
    rules = [rule for section in file.sections("rule") for rule in _rules(section, severities)]
    repeated = [rule for rule, count in Counter(rule for rule, _ in rules).items() if count > 1]
    for category, severity in repeated:
        named = f"category '{'/'.join(category)}', severity {severity or 'any'}"
        raise file.error(f"several rules for {named}")
    return Weights(severities, dict(rules), str(path) if path in NAMED else file.path.name)


def _weight(value: Any, name: str, section: Section) -> Fraction:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise section.error(f"weight of '{name}': {value!r}, expected a number of at least 0")
    return Fraction(repr(value))


def _rules(
    rule: Section, severities: Collection[str]
) -> Iterator[tuple[tuple[tuple[str, ...], str | None], Fraction]]:
    rule.only(("category", "severity", "weight"))
    if not {"category", "weight"} <= rule.keys.keys():
        raise rule.error("a rule needs category and weight")
    severity = rule.text("severity")
    folded = None if severity is None else severity.casefold()
    if folded is not None and folded not in severities:
        raise rule.error(f"rule for severity '{severity}', which [severity] does not list")
    categories = rule.keys["category"]
    for name in categories if isinstance(categories, list) else [categories]:
        if not isinstance(name, str) or not name.strip():
            raise rule.error(f"category {name!r}, expected a name")
        yield (_parts(name), folded), _weight(rule.keys["weight"], name, rule)


@dataclass(frozen=True, slots=True)
class Penalties:
    """The cost of each rating, in whole units of 1 / ``scale``.

    NaN where no errors were asked for. Whole numbers add up without rounding, so that equal costs
    stay equal whatever the order of the errors.
    """

    units: Floats
    scale: int

    @property
    def values(self) -> Floats:
        """What each rating is worth: minus its cost."""
        return np.asarray(-self.units / self.scale + 0.0)  # no error is 0, not -0


def penalties(ratings: Ratings, weights: Weights, cap: float | None = None) -> Penalties:
    """Add up the weights of the errors of each rating, at most ``cap``."""
    limit = Fraction(0 if cap is None else repr(float(cap)))
    fractions = (limit, *weights.severities.values(), *weights.rules.values())
    scale = math.lcm(*(weight.denominator for weight in fractions))
    prices: dict[tuple[str, str], int] = {}
    units = np.full(len(ratings), np.nan)
    judged = ratings.is_item("system", "repeat")
    for row, errors in enumerate(ratings.errors or ()):
        if errors is None:
            continue
        costs = []
        for error in errors:
            key = (error.category, error.severity)
            if key not in prices:
                known = errorlists.severity(error.severity) in weights.severities
                if not known and not judged[row]:
                    break  # a control item needs no weights
                prices[key] = int(weights.weight(error) * scale)
            costs.append(prices[key])
        else:
            units[row] = sum(costs)
    if cap is not None:
        units = np.minimum(units, int(limit * scale))
    return Penalties(units, scale)


def profile(ratings: Ratings, weights: Weights, systems: Sequence[str]) -> Table:
    """Show what the errors of each system cost per output, by the first part of the category.

    Outputs with several ratings share their weight among them, so the costs of a system add up to
    minus its score (before a cap).
    """
    marked = ratings.errors or ()
    asked = np.array([errors is not None for errors in marked])
    rows = np.flatnonzero(ratings.is_item("system", "repeat") & asked)
    cells, cell, n = np.unique(outputs(ratings)[rows], return_inverse=True, return_counts=True)
    sizes = np.bincount(cells // max(1, len(ratings.segments)), minlength=len(ratings.systems))
    shares = 1 / (n[cell] * sizes[ratings.system[rows]])
    cost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counts: defaultdict[str, float] = defaultdict(float)
    for row, share in zip(rows.tolist(), shares.tolist(), strict=True):
        system = ratings.systems[ratings.system[row]]
        for error in marked[row] or ():
            top = _parts(error.category)[0] or "(no category)"
            counts[system] += share
            cost[top][system] += float(weights.weight(error)) * share
    heaviest = sorted(cost, key=lambda top: (-cost[top].total(), top))
    heaviest = [top for top in heaviest if cost[top].total()]
    columns = (Column("system"), Column("errors", digits=2),
               *(Column(name, digits=3) for name in heaviest))  # fmt: skip
    body: list[tuple[Cell, ...]] = [
        (name, counts[name], *(float(cost[top][name]) for top in heaviest)) for name in systems
    ]
    notes = ("errors per output, and what they cost per output by category",)
    return Table("Error profile", columns, tuple(body), notes)


def values_of(ratings: Ratings) -> tuple[Floats, list[str]]:
    """Return what each rating is worth, and a note where that is minus the cost of its errors."""
    value = np.where(ratings.is_item("attention"), np.nan, ratings.value)  # a test is no rating
    if ratings.errors is None or not np.isnan(value).all():
        return value, []
    weights = fitting_weights(ratings)
    unknown = weights.unknown(ratings)
    if unknown:
        raise UsageError(errorlists.no_weight(unknown, weights.severities))
    note = "ratings are lists of errors: a value is minus their cost, as for MQM"
    return penalties(ratings, weights).values, [note]


# From ratings to results.


@dataclass(frozen=True, slots=True)
class _Scored:
    """Ratings with what they are worth by the name of each score (z is NaN without deviation)."""

    ratings: Ratings
    scale: raters.RaterScale
    values: Mapping[str, Floats]
    averages: Averages
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
    costs = False  # a rating is worth minus what its marked errors cost

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        """Take ratings, and beside them tables with documents or domains of segments."""
        named = set(table.columns) & {*roles.DOCUMENT, *roles.DOMAIN}
        return form in self.rated or (form.gives is EvalSet and bool(named))

    def inspect(self, form: TableFormat, table: RawTable, options: HumanOptions) -> None:
        """Refuse errors without a weight where they count, too."""
        super().inspect(form, table, options)
        if self.costs and form is errorlists.FORMAT:
            errorlists.check_severities(table, read_weights(options.weights or "wmt").severities)

    def score(self, inputs: Inputs, options: HumanOptions, rng: np.random.Generator) -> HumanScores:
        """Run the protocol on the ratings that were read."""
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
        averages = scored.averages
        for_agreement, for_ranking = rng.spawn(2)
        placed = self._placed(scored.ratings, averages, name, options, for_ranking)
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
            tables["profile"] = profile(scored.ratings, weights, names)
        settings = {
            **({} if options.preset is None else dict.fromkeys(("preset", "clusters"),
                                                               options.preset)),
            "test": options.test or self.test if placed.rule is None else placed.rule.test,
            "unit": placed.unit.name,
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
            agreement=raters.agreements(
                scored.ratings, scored.values, n_resamples=options.n_bootstrap, rng=for_agreement
            ),
            failed_raters=failed,
            removed_raters=removed,
            unit=placed.unit,
            errors=placed.errors,
            warnings=(*warnings, *placed.warnings),
            more=more,
            settings=settings,
            notes=(*placed.notes, _rated_once(averages, single=self.name == "da")),
        )

    def _weights(
        self, ratings: Ratings, options: HumanOptions
    ) -> tuple[Weights | None, dict[str, Any], list[str]]:
        """Return what errors cost, the facts on it, and warnings.

        Weights that nobody fixed are those that fit the categories.
        """
        if not self.costs:
            return None, {}, []
        warnings: list[str] = []
        if options.weights is not None:
            weights = read_weights(options.weights)
        else:
            weights = fitting_weights(ratings)
            if weights.name != "wmt":
                today = 'weights="wmt" for today\'s'
                warnings.append(f"categories of 2020-21: weights {weights.name} ({today})")
        facts: dict[str, Any] = {"weights": weights.name, "cap": options.cap}
        if unknown := weights.unknown(ratings):
            raise UsageError(errorlists.no_weight(unknown, weights.severities))
        return weights, {"weights": facts}, warnings

    def _scored(
        self,
        ratings: Ratings,
        options: HumanOptions,
        weights: Weights | None,
        about: Segments | None,
    ) -> _Scored:
        costs: Penalties | None = None
        if self.costs:
            if ratings.errors is None:
                raise UsageError("protocol mqm: the ratings hold no errors")
            assert weights is not None
            costs = penalties(ratings, weights, options.cap)
            tests = ratings.is_item("attention")
            ratings = replace(ratings, value=np.where(tests, ratings.value, costs.values))
        scale = raters.rater_scale(ratings)
        values = {self.raw: ratings.value}
        standardised = options.standardised
        if self.standardises if standardised is None else standardised:
            values[f"{self.raw.removesuffix('_raw')}_z"] = raters.standardise(ratings, scale)
        rows = ratings.is_item("system", "repeat") & ~np.isnan(sum(values.values()))
        rated = {ratings.systems[code] for code in np.unique(ratings.system[rows])}
        if not rated:
            no_z = "no rater has a deviation to standardise by"
            why = no_z if len(values) > 1 else "none has a score"
            raise DegenerateError(f"no rating can be used: {why}")
        check_systems(options, ratings.systems)
        # Systems are chosen after standardisation: all rows of a rater count for that.
        wanted = rated if options.systems is None else rated & set(options.systems)
        wanted -= set(options.drop_systems)
        if not wanted:
            raise UsageError("no system is left")
        rows &= np.isin(ratings.system, positions(tuple(wanted), ratings.systems))
        if costs is not None and len(values) == 1:
            whole = average(ratings, {"mqm": -costs.units}, rows)
            averages = replace(whole, values={"mqm": whole.values["mqm"] / costs.scale + 0.0})
        else:
            averages = average(ratings, dict(reversed(values.items())), rows)
        averages, warnings = describe(averages, ratings, about)
        return _Scored(ratings, scale, values, averages, tuple(warnings))

    def _placed(
        self,
        ratings: Ratings,
        averages: Averages,
        name: str,
        options: HumanOptions,
        rng: np.random.Generator,
    ) -> Placement:
        units = independent(averages, options.unit)
        warnings = list(units.warnings)
        test = choose_test(units, options.test, self.test)
        if options.test is None and test == EXACT and options.clusters != "none":
            test = fitting_test(averages, name)
        rule = Rule(options.clusters, test, options.alpha, options.correction)
        if options.preset is None:
            return replace(rank_systems(averages, name, rule, units), warnings=tuple(warnings))
        plain = rank_systems(averages, name, rule, units)
        beside = f"{test} test by {units.name}"
        beside += "" if averages.documents else " (documents are not known)"
        return official.rank_systems(
            ratings, averages, name, PRESETS[options.preset], plain, beside, rng
        )

    def _excluded(self, ratings: Ratings, scale: raters.RaterScale, *, z: bool) -> list[str]:
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
    costs = True


class _Esa(_DirectAssessment):
    """A score and marked errors, of which the score counts."""

    name = "esa"
    expected = "rater, system, segment, errors and value"
    rated = (errorlists.FORMAT, directassessment.FORMAT)
    standardises = False
    raw = "esa"
    test = "permutation"


DA, MQM, ESA = _DirectAssessment(), _Mqm(), _Esa()


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


def _rated_once(averages: Averages, *, single: bool) -> str:
    n_once = int((averages.n == 1).sum())
    text = f"{n_once:,} of {plural(len(averages.n), 'output')} rated once"
    if single and averages.n.min() < ENOUGH:
        text += f" ({averages.n.mean():.3g} ratings on average): enough to rank systems, not to "
        text += "score single outputs"
    return text


def describe(
    averages: Averages, ratings: Ratings, about: Segments | None
) -> tuple[Averages, list[str]]:
    """Add document, domain and source of segments, with warnings where inputs do not agree.

    What the ratings do not know is taken from the texts.
    """
    segments, warnings = averages.segments, []
    at = positions(segments, () if about is None else about.ids)
    absent = [segments[k] for k in np.flatnonzero(at < 0)]
    if about is not None and len(absent) == len(segments):
        both = f"{listed(about.ids, 3)} against {listed(absent, 3)}"
        raise InputError(f"the texts share no segment with the ratings: {both}")
    if about is not None and absent:
        verb = "is" if len(absent) == 1 else "are"
        count = f"{plural(len(absent), 'segment')} of the ratings {verb} not in the texts"
        warnings.append(f"{count}: {listed(absent, 5)}")
    columns: dict[str, Any] = {}
    for kind in ("documents", "domains", "sources"):
        column: Texts | None = getattr(about, kind, None)
        of_texts = [None if column is None or k < 0 else column[k] for k in at]
        names, torn = _of_ratings(ratings, kind[:-1])
        of_ratings = [names.get(name) for name in segments]
        rows = list(zip(segments, of_ratings, of_texts, strict=True))
        differ = [row for row in rows if row[1] and row[2] and row[1] != row[2]]
        if kind == "documents" and differ:
            first = "{} ('{}' and '{}')".format(*differ[0])
            count = f"{plural(len(differ), 'segment')} with another document in the texts"
            torn.append(f"{count}, first {first}: those of the ratings count")
        warnings += torn
        merged = tuple(a or b for _, a, b in rows)
        columns[kind] = merged if any(merged) else None
    return replace(averages, **columns), warnings


def _of_ratings(ratings: Ratings, what: str) -> tuple[dict[str, str], list[str]]:
    """Return the document or domain of each segment that the ratings name; none where two."""
    first: dict[int, str] = {}
    torn: dict[int, str] = {}
    column: tuple[str, ...] | None = getattr(ratings, what, None)
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
