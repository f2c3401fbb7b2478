"""MQM: from marked errors to scores, with a table of weights that can be replaced."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Column, Table
from steelyard.data.judgements import ErrorSpan, Floats, Ratings
from steelyard.formats import toml
from steelyard.formats.judged import errors as errorlists
from steelyard.formats.toml import Section
from steelyard.human.ranking import Averages, average, outputs

FOLDER = Path(__file__).parent / "weights"
NAMED = ("wmt", "wmt21")
MAX_CATEGORIES = 8  # columns of the error profile; the rest are added up


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

    def widened(self, more: Mapping[str, float]) -> Weights:
        """Add weights of severities."""
        added = {errorlists.severity(name): Fraction(repr(float(x))) for name, x in more.items()}
        return replace(self, severities={**self.severities, **added})


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
    """The cost of each rating, and of its worst error, in whole units of 1 / ``scale``.

    NaN where no errors were asked for. Whole numbers add up without rounding, so that equal costs
    stay equal whatever the order of the errors.
    """

    units: Floats
    heaviest: Floats
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
    units, heaviest = np.full(len(ratings), np.nan), np.full(len(ratings), np.nan)
    judged = ratings.is_item("system", "repeat")
    for row, errors in enumerate(ratings.errors or ()):
        if errors is None:
            continue
        costs = []
        for error in errors:
            key = (error.category, error.severity)
            if key not in prices:
                if (
                    not judged[row]
                    and errorlists.severity(error.severity) not in weights.severities
                ):
                    break  # a control item needs no weights
                prices[key] = int(weights.weight(error) * scale)
            costs.append(prices[key])
        else:
            units[row], heaviest[row] = sum(costs), max(costs, default=0)
    if cap is not None:
        units = np.minimum(units, int(limit * scale))
    return Penalties(units, heaviest, scale)


def mqm_averages(ratings: Ratings, costs: Penalties, name: str = "mqm") -> Averages:
    """Return minus the mean cost over the ratings of each output; control items are excluded."""
    rows = ratings.is_item("system", "repeat") & ~np.isnan(costs.units)
    whole = average(ratings, {name: -costs.units}, rows)
    return replace(whole, values={name: whole.values[name] / costs.scale + 0.0})


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
    counts: Counter[tuple[int, str, str]] = Counter()
    cost: defaultdict[tuple[int, str, str], Fraction] = defaultdict(Fraction)
    share: defaultdict[tuple[int, str, str], Fraction] = defaultdict(Fraction)
    for row, size in zip(rows.tolist(), n[cell].tolist(), strict=True):
        for error in ratings.errors[row] or ():
            category = "/".join(_parts(error.category)) or "(no category)"
            key = (int(ratings.system[row]), category, errorlists.severity(error.severity))
            counts[key] += 1
            share[key] += Fraction(1, size)
            cost[key] += weights.weight(error) / size
    return [
        {
            "system": ratings.systems[key[0]],
            "category": key[1],
            "severity": key[2],
            "n_errors": counts[key],
            "errors_per_output": float(share[key] / int(sizes[key[0]])),
            "cost_per_output": float(cost[key] / int(sizes[key[0]])),
        }
        for key in sorted(counts)
    ]


def profile(rows: list[dict[str, Any]], systems: Collection[str]) -> Table:
    """Show what the errors of each system cost per output, by the first part of the category."""
    cost: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    errors: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        cost[row["category"].partition("/")[0]][row["system"]] += row["cost_per_output"]
        errors[row["system"]] += row["errors_per_output"]
    heaviest = sorted(cost, key=lambda top: (-sum(cost[top].values()), top))
    heaviest = [top for top in heaviest if any(cost[top].values())]
    groups = {top: [top] for top in heaviest[:MAX_CATEGORIES]}
    groups |= {"others": heaviest[MAX_CATEGORIES:]} if heaviest[MAX_CATEGORIES:] else {}
    columns = (Column("system"), Column("errors", digits=2),
               *(Column(name, digits=3) for name in groups))  # fmt: skip
    body = tuple(
        (name, errors[name],
         *(sum(cost[top][name] for top in tops) for tops in groups.values()))
        for name in systems
    )  # fmt: skip
    notes = ("errors per output, and what they cost per output by category",)
    return Table("Error profile", columns, body, notes)


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
