"""How much of the variance units share, with intervals: from scores, or from raw ratings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from steelyard.core.words import plural
from steelyard.data.independence import FEWEST
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio
from steelyard.stats.components import (
    crossed_components,
    cube_root_interval,
    jackknife_errors,
    leave_out,
    nested_components,
)
from steelyard.studies.planning.gains import Plan, Shape
from steelyard.studies.planning.unitsets import Rated, Scored, without

_GROUPS = 40  # of documents, and of raters, that jackknives of ratings leave out
_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Component:
    """One component: its estimate as it is, which may be below 0, and the interval of the truth."""

    name: str
    estimate: float
    low: float = _NAN
    high: float = _NAN

    @property
    def variance(self) -> float:
        """The estimate, 0 where it is below."""
        return self.estimate if np.isnan(self.estimate) else max(self.estimate, 0.0)


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """Components of differences, of scores, and the plan that follows.

    ``correlation`` is that of two segments of a document, in the differences of two systems;
    ``effect`` the design effect now.
    """

    components: tuple[Component, ...]
    correlation: Value
    effect: Value
    plan: Plan
    scores: tuple[Component, ...]
    n_systems: int
    n_pairs: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Fit:
    """Variances of a difference: whether each was found, with what follows from them."""

    shape: Shape
    spread: float = 0.0  # how unevenly raters judge two systems
    rated: bool = False
    apart: float = 1.0  # share of segments on which two systems have different raters

    def plan(self, document: float, segment: float, severity: float, noise: float = _NAN) -> Plan:
        """Make the plan of components that are not below 0."""
        document, segment, severity = (max(x, 0.0) for x in (document, segment, severity))
        return Plan(
            document=document,
            total=document + segment,
            shape=self.shape,
            rater=severity * self.spread,
            noise=noise,
            severity=severity if self.rated else None,
            apart=self.apart,
        )

    def derived(self, found: Floats) -> Floats:
        """Add correlation and design effect to rows of (document, segment, severity)."""
        rows = []
        for document, segment, severity in found:
            rater = 2 * self.apart * severity
            total = document + segment + rater
            shared = (document + rater) / total if total > 0 else _NAN
            plan = Plan(document, document + segment, self.shape, severity * self.spread, _NAN,
                        severity if self.rated else None, self.apart)  # fmt: skip
            rows.append((document, segment, severity, shared, plan.design_effect))
        return np.array(rows).reshape(-1, 5)


def share_scores(data: Scored) -> Sharing:
    """Find what documents and domains share of the differences of two systems.

    Components are means over all pairs of systems, before anything is cut off at 0.
    """
    n_documents = int(data.documents.max()) + 1
    domains = _useful_domains(data)
    tops = _domain_of_documents(data.documents, domains)
    n_domains = 0 if tops is None else int(tops.max()) + 1
    by_domain = n_domains >= FEWEST
    groups = tops if by_domain and tops is not None else leave_out(n_documents)
    n_groups = int(groups.max()) + 1
    weights = np.ones((n_groups + 1, n_documents))
    weights[1 + groups, np.arange(n_documents)] = 0.0
    sums, counts, total = _over_pairs(data, domains, weights)
    means = ratio(sums, counts)
    shape = _shape(data)
    warnings = _few(n_documents, "document")
    if n_documents == data.values.shape[1]:
        warnings.append(
            "every document is one segment: what documents share can't be told from the rest"
        )
    fit = _Fit(shape)
    document, segment = means[0, 0, 1], means[0, 0, 2]
    found = fit.derived(np.column_stack([means[0, :, 1:], np.zeros(n_groups + 1)]))
    freedom = n_groups - 1
    errors = jackknife_errors(found[1:])
    nested = means[1 if domains is not None else 0]
    own = jackknife_errors(nested[1:])
    components = [
        Component(name, float(nested[0, k]), *cube_root_interval(nested[0, k], own[k], freedom))
        for k, name in enumerate(("domain", "document", "segment"))
        if name != "domain" or domains is not None
    ]
    if domains is not None and not by_domain:
        components[0] = Component("domain", components[0].estimate)
        warnings.append(
            f"{plural(n_domains, 'domain')}: too few for an interval of what domains share"
        )
    plan = Plan(_NAN, total, shape) if np.isnan(document) else fit.plan(document, segment, 0.0)
    n_systems = len(data.values)
    return Sharing(
        components=tuple(components),
        correlation=_linear(found[0, 3], errors[3], freedom, 0.0, 1.0),
        effect=_linear(found[0, 4], errors[4], freedom, 1.0),
        plan=plan,
        scores=_of_scores(data),
        n_systems=n_systems,
        n_pairs=int(counts[0, 0, 2]) or n_systems * (n_systems - 1) // 2,
        warnings=tuple(warnings),
    )


def _over_pairs(
    data: Scored, domains: Counts | None, weights: Floats
) -> tuple[Floats, Floats, float]:
    """Add up components over pairs: without and with domains x weightings x 3; mean variance."""
    ways = [None] if domains is None else [None, domains]
    sums = np.zeros((len(ways), len(weights), 3))
    counts = np.zeros_like(sums)
    totals: list[Floats] = []
    for i in range(len(data.values) - 1):
        gaps = data.values[i + 1 :] - data.values[i]
        for k, own in enumerate(ways):
            found = nested_components(gaps, data.documents, own, weights)
            sums[k] += np.nansum(found, axis=0)
            counts[k] += (~np.isnan(found)).sum(axis=0)
        n = (~np.isnan(gaps)).sum(axis=1)
        middle = ratio(np.nansum(gaps, axis=1), n)
        totals.append(ratio(np.nansum((gaps - middle[:, None]) ** 2, axis=1), n - 1))
    every = np.concatenate(totals)
    known = every[~np.isnan(every)]
    return sums, counts, float(known.mean()) if known.size else _NAN


def _useful_domains(data: Scored) -> Counts | None:
    """Give the domains if there are two, each document is in one, and they are not documents."""
    if data.domains is None or data.domains.max() < 1:
        return None
    pairs = len(np.unique(data.documents * (data.domains.max() + 1) + data.domains))
    n_documents = int(data.documents.max()) + 1
    if pairs > n_documents or data.domains.max() + 1 == n_documents:
        return None
    return data.domains


def _domain_of_documents(documents: Counts, domains: Counts | None) -> Counts | None:
    if domains is None:
        return None
    return np.asarray(domains[np.unique(documents, return_index=True)[1]])


def _shape(data: Scored) -> Shape:
    """Count documents and segments that two systems share, on average over pairs."""
    known = ~np.isnan(data.values)
    n_documents = int(data.documents.max()) + 1
    both = known[:1] if known.all() else [a & b for a, b in combinations(known, 2)]
    sizes = np.stack([group_sums(data.documents, 1.0 * row, n_documents) for row in both])
    sizes = sizes[sizes.sum(axis=1) > 0]
    segments = sizes.sum(axis=1)
    effective = ratio((sizes**2).sum(axis=1), segments)
    documents = (sizes > 0).sum(axis=1).mean()
    return Shape(round(float(documents)), float(segments.mean()), float(effective.mean()))


def _of_scores(data: Scored) -> tuple[Component, ...]:
    """Components of the scores themselves."""
    rows, columns = np.nonzero(~np.isnan(data.values))
    document = data.documents[columns]
    own = rows * (int(data.documents.max()) + 1) + document
    factors = {"system": rows, "document": document, "segment": columns,
               "system in a document": own}  # fmt: skip
    return _crossed(data.values[rows, columns], np.zeros_like(rows), factors)


def _crossed(y: Floats, fixed: Counts, factors: dict[str, Counts]) -> tuple[Component, ...]:
    used = _apart(factors, len(y))
    found = crossed_components(y, fixed, [factors[name] for name in used])
    by_name = dict(zip((*used, "rest"), found.tolist(), strict=True))
    return tuple(Component(name, by_name.get(name, _NAN)) for name in (*factors, "rest"))


def _apart(factors: dict[str, Counts], n: int) -> list[str]:
    """Name the effects that differ: two levels, not one per row, no other that splits alike."""
    used: list[str] = []
    sizes: dict[str, int] = {}
    for name, code in factors.items():
        size = len(np.unique(code))
        alike = any(
            sizes[other] == size
            and len(np.unique(factors[other] * (int(code.max()) + 1) + code)) == size
            for other in used
        )
        if 1 < size < n and not alike:
            used.append(name)
            sizes[name] = size
    return used


def share_ratings(data: Rated) -> Sharing:
    """Find what documents and raters share of the differences of two systems.

    A rating is its system's mean, and effects of the document, the segment, the rater, the system
    in this document, the output (where any was rated twice), and a rest. In a difference of two
    systems what both share is gone, and every other effect is there twice.
    """
    factors = _effects(data)
    used = _apart(factors, len(data.value))
    warnings: list[str] = []
    n_documents, n_raters = (len(np.unique(code)) for code in (data.document, data.rater))
    warnings += _few(n_documents, "document") + _few(n_raters, "rater")
    if "session" not in used:
        warnings.append(
            "every document is one segment: what documents share can't be told from the rest"
        )
    if "rater" not in used:
        warnings.append("raters can't be told from documents, or there is only one: no component")

    fit = _Fit(_rated_shape(data), _spread(data), rated=True, apart=_apart_raters(data))
    if not fit.apart:
        warnings.append("two systems have the same rater on every segment: raters cancel out")

    def estimate(own: Rated) -> Floats:
        """Document, output, noise, severity of a difference; then correlation and design effect."""
        every = _effects(own)
        found = crossed_components(own.value, own.system, [every[name] for name in used])
        known = dict(zip((*used, "noise"), found.tolist(), strict=True))
        pieces = [known.get(name, _NAN) for name in ("session", "output", "noise", "rater")]
        document, output, noise, rater = np.array(pieces) * [2.0, 2.0, 2.0, 1.0]
        segment = noise + (output if "output" in used else 0.0)
        row = np.array([[document, segment, rater if "rater" in used else 0.0]])
        return np.array([document, output, noise, rater, *fit.derived(row)[0, 3:]])

    whole = estimate(data)
    errors, freedom = _two_ways(data, estimate)
    document, output, noise, severity = whole[:4].tolist()
    twice = 2 * fit.apart
    named = {"document": (document, errors[0]), "rater": (twice * severity, twice * errors[3])}
    if "output" in used:
        named |= {"segment": (output, errors[1]), "noise": (noise, errors[2])}
    else:
        named |= {"segment": (noise, errors[2])}
    components = tuple(
        Component(name, float(value), *cube_root_interval(value, error, freedom))
        for name, (value, error) in named.items()
    )
    segment = (0.0 if np.isnan(output) else max(output, 0.0)) + max(noise, 0.0)
    severity = 0.0 if np.isnan(severity) else severity
    known_noise = max(noise, 0.0) if "output" in used else _NAN
    plan = (
        Plan(_NAN, segment, fit.shape, max(severity, 0.0) * fit.spread, known_noise,
             max(severity, 0.0), fit.apart)
        if np.isnan(document)
        else fit.plan(document, segment, severity, known_noise)
    )  # fmt: skip
    n = len(np.unique(data.system))
    return Sharing(
        components=components,
        correlation=_linear(whole[4], errors[4], freedom, 0.0, 1.0),
        effect=_linear(whole[5], errors[5], freedom, 1.0),
        plan=plan,
        scores=_rating_scores(data, factors),
        n_systems=n,
        n_pairs=n * (n - 1) // 2,
        warnings=tuple(warnings),
    )


def _effects(data: Rated) -> dict[str, Counts]:
    """Give the effects of a rating, in the order in which one of two that split alike is kept."""
    width = int(data.system.max()) + 1
    return {
        "document": data.document,
        "segment": data.segment,
        "session": data.document * width + data.system,
        "rater": data.rater,
        "output": data.segment * width + data.system,
    }


def _rating_scores(data: Rated, factors: dict[str, Counts]) -> tuple[Component, ...]:
    names = {"document": "document", "segment": "segment", "rater": "rater",
             "session": "system in a document", "output": "system on a segment"}  # fmt: skip
    every = {"system": data.system} | {names[name]: code for name, code in factors.items()}
    found = _crossed(data.value, np.zeros_like(data.system), every)
    return tuple(c for c in found if c.name != "system on a segment" or not np.isnan(c.estimate))


def _two_ways(data: Rated, estimate: Callable[[Rated], Floats]) -> tuple[Floats, int]:
    """Leave out documents, then raters; either varies by itself, so that variances add up."""
    squares: list[Floats] = []
    least = 0
    for code in (data.document, data.rater):
        names, places = np.unique(code, return_inverse=True)
        if len(names) < 2:
            continue
        groups = leave_out(len(names), _GROUPS)[places]
        found = [estimate(without(data, groups != k)) for k in range(int(groups.max()) + 1)]
        squares.append(jackknife_errors(np.array(found)) ** 2)
        least = min(least or len(found), len(found))
    if not squares:
        return np.full(len(estimate(data)), np.nan), 0
    return np.sqrt(np.sum(squares, axis=0)), least - 1


def _rated_shape(data: Rated) -> Shape:
    """Documents, and ratings of a system, on average over systems."""
    sizes = _table(data.system, data.document)
    n = sizes.sum(axis=1)
    documents = round(float((sizes > 0).sum(axis=1).mean()))
    return Shape(documents, float(n.mean()), float(((sizes**2).sum(axis=1) / n).mean()))


def _spread(data: Rated) -> float:
    """Squared differences of the shares that raters have in two systems, mean over pairs.

    0 if raters judge all systems alike: how severe they are is then gone from every difference.
    """
    shares = _table(data.system, data.rater)
    shares /= shares.sum(axis=1, keepdims=True)
    n = len(shares)
    gap = n * (shares**2).sum() - (shares.sum(axis=0) ** 2).sum()
    return float(2 * gap / (n * (n - 1)))


def _apart_raters(data: Rated) -> float:
    """Share of segments on which two systems have different raters, mean over pairs."""
    systems, i = np.unique(data.system, return_inverse=True)
    segments, j = np.unique(data.segment, return_inverse=True)
    rater = np.full((len(systems), len(segments)), -1)
    rater[i, j] = data.rater
    shares = []
    for one, two in combinations(rater, 2):
        both = (one >= 0) & (two >= 0)
        if both.any():
            shares.append(float((one != two)[both].mean()))
    return float(np.mean(shares)) if shares else 1.0


def _table(one: Counts, two: Counts) -> Floats:
    (rows, i), (columns, j) = (np.unique(code, return_inverse=True) for code in (one, two))
    found = group_sums(i * len(columns) + j, None, len(rows) * len(columns))
    return found.reshape(len(rows), len(columns))


def _linear(value: float, error: float, freedom: int, low: float, high: float = np.inf) -> Value:
    """Give the interval of a number that lies between bounds, by Student's t."""
    if np.isnan(value) or np.isnan(error) or freedom < 1:
        return Value(float(np.clip(value, low, high)), _NAN, _NAN)
    half = float(stdtrit(freedom, 0.975)) * error
    ends = np.clip([value, value - half, value + half], low, high)
    return Value(*map(float, ends))


def _few(n: int, noun: str) -> list[str]:
    return [f"{plural(n, noun)}: intervals are rough"] if n < FEWEST else []


def below_zero(components: Sequence[Component]) -> list[str]:
    """Say which estimates are below 0, and shown as 0."""
    return [
        f"{c.name}: estimated at {c.estimate:.4g}, which no variance is: shown as 0"
        for c in components
        if c.estimate < 0
    ]
