"""MQM: from marked errors to scores, with a table of weights that can be replaced."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.data.judgements import ErrorSpan, Floats, Ratings
from steelyard.formats import toml
from steelyard.formats.judged import errors as errorlists
from steelyard.formats.toml import Section
from steelyard.human.ranking import Averages, average, outputs

FOLDER = Path(__file__).parent / "weights"
NAMED = ("wmt", "wmt21")
MAX_CATEGORIES = 8  # columns of the error profile; the rest are added up
_BLANK = "(no category)"


@dataclass(frozen=True, slots=True)
class WeightRule:
    """A weight for a category and all below it, at one severity or at any (None)."""

    category: tuple[str, ...]
    severity: str | None
    weight: Fraction

    def fits(self, category: tuple[str, ...], severity: str) -> bool:
        """Tell whether an error falls under the rule."""
        same = category[: len(self.category)] == self.category
        return same and self.severity in (None, severity)


@dataclass(frozen=True, slots=True)
class Weights:
    """What errors cost: a weight per severity, and rules for categories that differ."""

    severities: dict[str, Fraction]
    rules: tuple[WeightRule, ...] = ()
    name: str = "wmt"

    def weight(self, error: ErrorSpan) -> Fraction:
        """Return the cost of an error; the most specific rule decides."""
        severity = errorlists.severity(error.severity)
        if severity not in self.severities:
            raise UsageError(errorlists.no_weight({error.severity: 1}, self.severities))
        category = _parts(error.category)
        fitting = [rule for rule in self.rules if rule.fits(category, severity)]
        if not fitting:
            return self.severities[severity]
        return max(fitting, key=lambda r: (len(r.category), r.severity is not None)).weight

    def cover(self, errors: Iterable[ErrorSpan]) -> bool:
        """Tell whether every error has a weight."""
        return all(errorlists.severity(error.severity) in self.severities for error in errors)

    def unknown(self, ratings: Ratings) -> dict[str, int]:
        """Count the errors of outputs whose severity has no weight, by severity."""
        if ratings.errors is None:
            return {}
        counts: Counter[str] = Counter()
        for row in np.flatnonzero(ratings.is_item("system", "repeat")):
            counts.update(error.severity for error in ratings.errors[row] or ())
        return {
            name: n
            for name, n in sorted(counts.items())
            if errorlists.severity(name) not in self.severities
        }

    def widened(self, more: Mapping[str, float]) -> Weights:
        """Add weights of severities."""
        added = {errorlists.severity(name): Fraction(repr(float(x))) for name, x in more.items()}
        return replace(self, severities={**self.severities, **added})

    @property
    def scale(self) -> int:
        """The smallest number that makes every weight whole."""
        every = [*self.severities.values(), *(rule.weight for rule in self.rules)]
        return math.lcm(*(weight.denominator for weight in every))


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
    """Read a table of weights: ``wmt``, ``wmt21``, or a TOML file.

    >>> weights = read_weights()
    >>> float(weights.weight(ErrorSpan("Fluency/Punctuation", "Minor")))
    0.1
    >>> float(weights.weight(ErrorSpan("Non-translation!", "Major")))
    25.0
    """
    file = toml.read(FOLDER / f"{path}.toml" if path in NAMED else Path(path))
    file.only(("severity", "rule"))
    listed = file.keys.get("severity")
    if not isinstance(listed, dict) or not listed:
        raise file.error("expected a table [severity] with a weight for each severity")
    severities = {name.casefold(): _weight(value, name, file) for name, value in listed.items()}
    severities.setdefault("no-error", Fraction(0))  # what raters write where nothing is wrong
    rules = [rule for section in file.sections("rule") for rule in _rules(section, severities)]
    seen = Counter((rule.category, rule.severity) for rule in rules)
    for (category, severity), count in seen.items():
        if count > 1:
            named = f"category '{'/'.join(category)}', severity {severity or 'any'}"
            raise file.error(f"{count} rules for {named}")
    return Weights(severities, tuple(rules), str(path) if path in NAMED else file.path.name)


def _weight(value: Any, name: str, section: Section) -> Fraction:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise section.error(f"weight of '{name}': {value!r}, expected a number of at least 0")
    return Fraction(repr(value))


def _rules(rule: Section, severities: Collection[str]) -> Iterator[WeightRule]:
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
        yield WeightRule(_parts(name), folded, _weight(rule.keys["weight"], name, rule))


@dataclass(frozen=True, slots=True)
class Penalties:
    """The cost of each rating in whole units of 1 / ``scale``, NaN where no errors were asked for.

    ``heaviest`` is the cost of the worst error of each rating. Whole numbers add up without
    rounding, so equal costs stay equal whatever the order of the errors.
    """

    units: Floats
    heaviest: Floats
    scale: int


def penalties(ratings: Ratings, weights: Weights, cap: float | None = None) -> Penalties:
    """Add up the weights of the errors of each rating, at most ``cap``.

    Control items need no weights: where one is unknown, so is their cost.
    """
    limit = None if cap is None else Fraction(repr(float(cap)))
    scale = math.lcm(weights.scale, 1 if limit is None else limit.denominator)
    known: dict[tuple[str, str], int] = {}
    units, heaviest = np.full(len(ratings), np.nan), np.full(len(ratings), np.nan)
    judged = ratings.is_item("system", "repeat")
    for row, errors in enumerate(ratings.errors or ()):
        if errors is None or not (judged[row] or weights.cover(errors)):
            continue
        costs = []
        for error in errors:
            key = (error.category, error.severity)
            if key not in known:
                known[key] = int(weights.weight(error) * scale)
            costs.append(known[key])
        units[row], heaviest[row] = sum(costs), max(costs, default=0)
    if limit is not None:
        units = np.minimum(units, int(limit * scale))
    return Penalties(units, heaviest, scale)


def mqm_averages(ratings: Ratings, costs: Penalties, name: str = "mqm") -> Averages:
    """Return minus the mean cost over the ratings of each output; control items are excluded."""
    rows = ratings.is_item("system", "repeat") & ~np.isnan(costs.units)
    whole = average(ratings, {name: -costs.units}, rows)
    scaled = whole.values[name] / costs.scale + 0.0  # no error is 0, not -0
    return replace(whole, values={name: scaled})


def error_rows(ratings: Ratings, weights: Weights) -> list[dict[str, Any]]:
    """Count errors by system, category and severity, with their cost per rated output.

    Outputs with several ratings share their weight among them, so the costs of a system add up to
    minus its score (before a cap).
    """
    if ratings.errors is None:
        return []
    asked = np.array([errors is not None for errors in ratings.errors])
    rows = np.flatnonzero(ratings.is_item("system", "repeat") & asked)
    cells, cell, n = np.unique(outputs(ratings)[rows], return_inverse=True, return_counts=True)
    sizes = np.bincount(cells // max(1, len(ratings.segments)), minlength=len(ratings.systems))
    number: Counter[tuple[int, str, str]] = Counter()
    cost: defaultdict[tuple[int, str, str], Fraction] = defaultdict(Fraction)
    share: defaultdict[tuple[int, str, str], Fraction] = defaultdict(Fraction)
    for row, size in zip(rows.tolist(), n[cell].tolist(), strict=True):
        for error in ratings.errors[row] or ():
            category = "/".join(_parts(error.category)) or _BLANK
            key = (int(ratings.system[row]), category, errorlists.severity(error.severity))
            number[key] += 1
            share[key] += Fraction(1, size)
            cost[key] += weights.weight(error) / size
    return [
        {
            "system": ratings.systems[system],
            "category": category,
            "severity": severity,
            "n_errors": number[key],
            "errors_per_output": float(share[key] / int(sizes[system])),
            "cost_per_output": float(cost[key] / int(sizes[system])),
        }
        for key in sorted(number)
        for system, category, severity in [key]
    ]


def profile(rows: list[dict[str, Any]], systems: Collection[str]) -> Table:
    """Show what the errors of each system cost per output, by the first part of the category."""
    cost: dict[str, dict[str, float]] = {}
    errors: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        top = row["category"].partition("/")[0]
        of_top = cost.setdefault(top, {})
        of_top[row["system"]] = of_top.get(row["system"], 0.0) + row["cost_per_output"]
        errors[row["system"]] += row["errors_per_output"]
    heaviest = sorted(cost, key=lambda top: (-sum(cost[top].values()), top))
    shown = [top for top in heaviest if any(cost[top].values())][:MAX_CATEGORIES]
    rest = [top for top in heaviest if top not in shown and any(cost[top].values())]
    columns = [Column("system"), Column("errors", digits=2)]
    columns += [Column(top, digits=3) for top in shown]
    columns += [Column("others", digits=3)] if rest else []
    body: list[tuple[Cell, ...]] = []
    for name in systems:
        cells: list[Cell] = [name, errors[name]]
        cells += [cost[top].get(name, 0.0) for top in shown]
        cells += [sum(cost[top].get(name, 0.0) for top in rest)] if rest else []
        body.append(tuple(cells))
    notes = ("errors per output, and what they cost per output by category",)
    return Table("Error profile", tuple(columns), tuple(body), notes)


def values_of(ratings: Ratings) -> tuple[Floats, list[str]]:
    """Return what each rating is worth, and a note where that is minus the cost of its errors.

    Whether a rater passed an attention test is no rating.
    """
    value = np.where(ratings.is_item("attention"), np.nan, ratings.value)
    if ratings.errors is None or not np.isnan(value).all():
        return value, []
    weights = fitting_weights(ratings)
    unknown = weights.unknown(ratings)
    if unknown:
        raise UsageError(errorlists.no_weight(unknown, weights.severities))
    costs = penalties(ratings, weights)
    note = "ratings are lists of errors: a value is minus their cost, as for MQM"
    return np.asarray(-costs.units / costs.scale + 0.0), [note]
