"""Protocols whose ratings are numbers: direct assessment, MQM and ESA, from ratings to results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.errors import DegenerateError, UsageError, hint
from steelyard.core.table import Column, Table
from steelyard.core.words import plural
from steelyard.data.judgements import Floats, Ratings
from steelyard.human import da, mqm, ordering, quality, raters
from steelyard.human.averages import Averages, average
from steelyard.human.ordering import Rule
from steelyard.human.ratertable import rater_table
from steelyard.human.results import HumanScores, place_systems
from steelyard.stats import agreement
from steelyard.stats.ranks import ranks, whole


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of the protocols that rate single outputs."""

    protocol: str
    standardised: bool
    rule: Rule
    quality_control: bool = False
    min_seconds: float = quality.MIN_SECONDS
    weights: mqm.Weights | None = None
    cap: float | None = None
    systems: tuple[str, ...] | None = None
    drop_systems: tuple[str, ...] = ()
    n_resamples: int = 1000

    def __post_init__(self) -> None:
        bounds.flag(standardised=self.standardised, quality_control=self.quality_control)
        bounds.number(0, min_seconds=self.min_seconds)
        bounds.number(0, strict=True, optional=True, cap=self.cap)
        bounds.names(optional=True, systems=self.systems)
        bounds.names(drop_systems=self.drop_systems)
        bounds.whole(n_bootstrap=self.n_resamples)

    @property
    def names(self) -> tuple[str, str]:
        """The score that systems are ordered by, and the raw one."""
        raw = {"da": "da_raw", "esa": "esa", "mqm": "mqm"}[self.protocol]
        return (f"{raw.removesuffix('_raw')}_z" if self.standardised else raw), raw


@dataclass(frozen=True, slots=True)
class Scored:
    """Ratings with the values that count: raw ones, and z (NaN where a rater has none)."""

    ratings: Ratings
    scale: da.RaterScale
    z: Floats
    averages: Averages
    penalties: mqm.Penalties | None = None


def score(ratings: Ratings, settings: Settings) -> Scored:
    """Turn ratings into averages per output."""
    name, raw = settings.names
    found = None
    if settings.protocol == "mqm":
        if ratings.errors is None:
            raise UsageError("protocol mqm: the ratings hold no errors")
        assert settings.weights is not None  # human_scores chooses one
        found = mqm.penalties(ratings, settings.weights, settings.cap)
        ratings = replace(ratings, value=-found.units / found.scale + 0.0)
    scale = da.rater_scale(ratings)
    z = da.standardise(ratings, scale)
    rows = ratings.is_item("system", "repeat") & ~np.isnan(ratings.value)
    if settings.standardised:
        rows &= ~np.isnan(z)
        averages = average(ratings, {name: z, raw: ratings.value}, rows)
    elif found is not None:
        averages = mqm.mqm_averages(ratings, found)
    else:
        averages = average(ratings, {raw: ratings.value}, rows)
    if settings.protocol == "esa" and ratings.errors is not None and settings.weights is not None:
        averages = _with_spans(averages, ratings, settings.weights)
    if not len(averages.n):
        reason = "no rater has a deviation to standardise by" if settings.standardised else "empty"
        raise DegenerateError(f"no rating can be used: {reason}")
    return Scored(ratings, scale, z, _chosen(averages, settings), found)


def _with_spans(averages: Averages, ratings: Ratings, weights: mqm.Weights) -> Averages:
    """Add what the marked spans alone would give, as in MQM; NaN where there are none."""
    spans = mqm.mqm_averages(ratings, mqm.penalties(ratings, weights), "esa_spans")
    width = len(averages.segments)
    keys = spans.system.astype(np.int64) * width + spans.segment
    wanted = averages.system.astype(np.int64) * width + averages.segment
    at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    column = np.full(len(wanted), np.nan)
    if len(keys):
        column = np.where(keys[at] == wanted, spans.values["esa_spans"][at], np.nan)
    return replace(averages, values={**averages.values, "esa_spans": column})


def _chosen(averages: Averages, settings: Settings) -> Averages:
    """Keep the wanted systems, after standardisation: all rows of a rater count for that."""
    known = averages.systems
    for name in (*(settings.systems or ()), *settings.drop_systems):
        if name not in known:
            raise UsageError(f"unknown system '{name}'; {hint(name, known)}")
    rated = {known[code] for code in np.unique(averages.system)}
    wanted = rated if settings.systems is None else rated & set(settings.systems)
    wanted -= set(settings.drop_systems)
    if not wanted:
        raise UsageError("no system is left")
    return averages.select(wanted)


def human_values(ratings: Ratings, settings: Settings, rng: np.random.Generator) -> HumanScores:
    """Run a protocol: scores, places, raters, agreement; and quality control where asked for."""
    if not len(ratings):
        raise DegenerateError("there is no rating")
    checks = quality.quality_control(
        ratings, da.rater_scale(ratings), alpha=0.05, min_seconds=settings.min_seconds
    )
    warnings = [*_left_out(ratings, settings), *quality.notes(checks, ratings.raters)]
    found = score(ratings, settings)
    kept = found
    removed: tuple[str, ...] = ()
    tables: dict[str, Table] = {}
    controlled = settings.protocol != "mqm"
    tables["raters"] = rater_table(
        found.ratings,
        found.scale,
        found.ratings.is_item("system", "repeat"),
        found.z if settings.standardised else found.ratings.value,
        checks if controlled else None,
    )
    if settings.quality_control and checks.failed:
        removed = tuple(ratings.raters[code] for code in checks.failed)
        if len(removed) == len(ratings.raters):
            raise DegenerateError("no rater passes the quality control")
        kept = score(ratings.take(~np.isin(ratings.rater, checks.failed)), settings)
        warnings.append(f"removed {plural(len(removed), 'rater')} that failed the quality control")
        tables["changes"] = changes(found.averages, kept.averages, settings.names[0])
    name, raw = settings.names
    placed = ordering.order(kept.averages, name, settings.rule)
    if placed.p is None and settings.rule.clusters != "none" and len(kept.averages.systems) > 1:
        most = ordering.MAX_SYSTEMS
        warnings.append(
            f"more than {most} systems: pairs are not tested, and there are no clusters"
        )
    more: dict[str, Any] = {}
    systems = place_systems(kept.averages, name, raw, placed)
    if settings.weights is not None and kept.ratings.errors is not None:
        rows = mqm.error_rows(kept.ratings, settings.weights)
        names = [system.system for system in systems]
        more["errors"] = [row for row in rows if row["system"] in set(names)]
        tables["profile"] = mqm.profile(more["errors"], names)
    return HumanScores(
        settings.protocol,
        systems,
        name,
        kept.averages,
        tables,
        settings.rule if placed.p is not None else None,
        placed.p,
        _agreement(kept, settings, rng),
        removed_raters=removed,
        warnings=tuple(warnings),
        more=more,
    )


def _left_out(ratings: Ratings, settings: Settings) -> list[str]:
    """Say which rows take no part, and why; and which are there twice."""
    notes = []
    if settings.protocol != "mqm":
        blank = int(np.isnan(ratings.value).sum())
        if blank:
            notes.append(f"{plural(blank, 'row')} without a score left out")
        scale = da.rater_scale(ratings)
        out = np.flatnonzero(~scale.usable & (scale.n > 0))
        if settings.standardised and len(out):
            lost = int(np.isin(ratings.rater, out).sum())
            names = ", ".join(ratings.raters[code] for code in out[:5])
            more = f" and {len(out) - 5} more" if len(out) > 5 else ""
            notes.append(
                f"{plural(len(out), 'rater')} without a z (one row only, or the same score "
                f"everywhere) left out with {plural(lost, 'row')}: {names}{more}"
            )
    again = _duplicates(ratings)
    if len(again):
        row = int(again[0])
        first = (
            ratings.raters[ratings.rater[row]],
            ratings.systems[ratings.system[row]],
            ratings.segments[ratings.segment[row]],
        )
        notes.append(
            f"{plural(len(again), 'row')} with the rater, system, segment, type and batch of "
            f"another: counted as further ratings (first: {', '.join(first)})"
        )
    return notes


def _duplicates(ratings: Ratings) -> NDArray[np.int64]:
    """Find rows that repeat the labels of an earlier one; unnamed raters may be many people."""
    if ratings.raters == (raters.UNKNOWN,):
        return np.empty(0, dtype=np.int64)
    items = np.unique(np.array(ratings.item or ("",)), return_inverse=True)[1]
    units = np.unique(np.array(ratings.unit or ("",)), return_inverse=True)[1]
    columns = [ratings.rater, ratings.system, ratings.segment]
    columns += [np.broadcast_to(x, len(ratings)) for x in (items, units)]
    order = np.lexsort(columns)
    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    return np.sort(order[1:][same])


def changes(before: Averages, after: Averages, name: str) -> Table:
    """Compare scores and places before and after raters were removed."""
    old, new = before.means(name), after.means(name)
    old_rank = dict(zip(before.systems, whole(ranks(old)), strict=True))
    new_rank = dict(zip(after.systems, whole(ranks(new)), strict=True))
    old_score = dict(zip(before.systems, old.tolist(), strict=True))
    new_score = dict(zip(after.systems, new.tolist(), strict=True))
    columns = (
        Column("system"),
        Column("score_before", digits=3),
        Column("score_after", digits=3),
        Column("rank_before"),
        Column("rank_after"),
    )
    rows = tuple(
        (s, old_score[s], new_score.get(s), old_rank[s], new_rank.get(s))
        for s in sorted(before.systems, key=lambda s: (old_rank[s] or len(old) + 1, s))
    )
    return Table("What the quality control changed", columns, rows)


def _agreement(found: Scored, settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
    ratings = found.ratings
    rows = ratings.is_item("system", "repeat")
    scores = {settings.names[1]: ratings.value}
    if settings.standardised:
        scores[settings.names[0]] = found.z
    values, classes = rng.spawn(2)
    result = raters.agreements(ratings, scores, rows, n_resamples=settings.n_resamples, rng=values)
    if result and found.penalties is not None:
        heaviest = raters.opinions(ratings, found.penalties.heaviest, rows)
        one, other, third = classes.spawn(3)
        k = settings.n_resamples
        entry: dict[str, Any] = {
            "alpha_nominal": agreement.krippendorff_alpha(
                heaviest.unit, heaviest.value, "nominal", n_resamples=k, rng=one
            ).to_dict(),
            "fleiss_kappa": agreement.fleiss_kappa(
                heaviest.unit, heaviest.value, n_resamples=k, rng=other
            ).to_dict(),
        }
        if len(ratings.raters) == 2:
            pair = raters.two_raters(heaviest)
            entry["cohen_kappa"] = agreement.cohen_kappa(*pair, n_resamples=k, rng=third).to_dict()
        result["heaviest error"] = entry
    return result
