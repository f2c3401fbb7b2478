"""Which segments are hard, which tell systems apart, and how few of them would rank alike.

A model with one parameter for each segment (ease) or two (and discrimination), of scores
(:mod:`steelyard.stats.instances.congeneric`) or of answers that are right or wrong
(:mod:`steelyard.stats.instances.itemresponse`). What it says of a segment rests on as many scores
as there are systems, so everything is also asked of systems that had no part in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.comparison.scores import check_segments, is_binary, the_score
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.words import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import row_means
from steelyard.stats.instances import shortertest
from steelyard.stats.instances.congeneric import FEWEST, SegmentFit, fit_scores
from steelyard.stats.instances.itemresponse import fit_answers
from steelyard.stats.instances.scorespread import win_shares
from steelyard.stats.instances.shortertest import ShorterTest, SplitHalf
from steelyard.studies.results import Study
from steelyard.studies.systems.instanceviews import (
    Looked,
    carried_by,
    carried_curve,
    eases,
    half_agreement,
    information_of,
    information_table,
    reliability_table,
    segment_table,
    segments_differ,
    shorter_curve,
    shorter_table,
)
from steelyard.studies.systems.options import InstanceOptions
from steelyard.studies.systems.spreadviews import spread_facts, spread_tables

_PAIRS, _DRAWS = 200, 50  # pairs that are held out at most; random tests of each length
_ALONE = 0.5  # share of the spread of abilities that one system may have
WINS = "wins"


@keywords(InstanceOptions)
def study_instances(
    es: Source, score: str | None = None, *, options: InstanceOptions, rng: Rng = 0
) -> Study:
    """Find how hard segments are, how well they tell systems apart, and how scores spread.

    Parameters
    ----------
    es
        Systems, segments and scores.
    score
        Which score; may be left out if there is only one.
    on
        What discrimination is of: ``scores``, or ``wins``, the share of the other systems that a
        system beats on a segment, which knows neither outliers nor scale.
    listed
        How many segments each list has.
    splits
        How often systems are split into halves.
    shares, target
        Shares of the segments that shorter tests have, and how many of the pairs of systems these
        should rank as all segments do.
    rng
        Seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> found = study_instances(sy.demo_set(), "learned-refA", splits=5)
    >>> [row["segment"] for row in found.table("segments").records()[:2]]
    ['225', '236']
    """
    asked = as_evalset(es)
    looked, notes = _look(asked, score)
    halves, held = generator(rng).spawn(2)
    fit = _fit(looked, options)
    wins = options.on == WINS
    sizes = tuple(max(1, round(share * looked.scores.shape[1])) for share in options.shares)
    split = shortertest.split_half(looked.scores, splits=options.splits, rng=halves, wins=wins)
    shorter = shortertest.shorter_test(
        looked.scores, sizes, pairs=_PAIRS, draws=_DRAWS, rng=held, wins=wins
    )
    curves = [information_of(looked, fit)]
    if segments_differ(fit):
        curves.append(carried_curve(options.shares, carried_by(fit, sizes)))
    if shorter is not None:
        curves.append(shorter_curve(options.shares, shorter))
    tables = {
        "segments": segment_table(looked, fit, split, options),
        "reliability": reliability_table(fit, split),
        "information": information_table(curves[0], fit),
        "shorter": shorter_table(sizes, fit, shorter, options),
    }
    tables |= spread_tables(looked.systems, looked.scores, fit.ability, looked.sign)
    return Study(
        name="instances",
        parts=tables,
        curves=tuple(curves),
        facts=_facts(looked, fit, split, shorter, options),
        warnings=tuple(dict.fromkeys([*notes, *_warnings(looked, fit)])),
        provenance=Provenance.of(
            "study instances", _settings(looked, options), asked.inputs, rng, options
        ),
    )


def _settings(looked: Looked, options: InstanceOptions) -> dict[str, Any]:
    shares = ",".join(f"{share:g}" for share in options.shares)
    settings = {"score": looked.score, "on": options.on, "splits": options.splits}
    return settings | {"shares": shares, "target": options.target}


def _look(es: EvalSet, score: str | None) -> tuple[Looked, list[str]]:
    """Take the systems and segments that have a score, and say what was left out."""
    chosen = the_score(es, score)
    check_segments(es, chosen)
    table = es[chosen]
    known = ~np.isnan(table.oriented)
    rows, places = np.flatnonzero(known.any(axis=1)), np.flatnonzero(known.any(axis=0))
    notes = [*es.notes, *direction_warnings(chosen, table)]
    lost = [es.systems[i] for i in range(es.n_systems) if i not in set(rows.tolist())]
    if lost:
        notes.append(f"{plural(len(lost), 'system')} without '{chosen}' left out: {listed(lost)}")
    if len(rows) < 2:
        raise UsageError(f"'{chosen}' is known of one system: expected two or more")
    values = table.oriented[rows][:, places]
    missing = int(np.isnan(values).sum())
    if missing:
        notes.append(
            f"{missing:,} of {values.size:,} scores are missing: what is said of a segment rests "
            "on the systems that have it"
        )
    systems = tuple(es.systems[i] for i in rows)
    binary = table.statistics is None and is_binary(table.values)
    sign = 1.0 if table.higher_is_better else -1.0
    return Looked(es, chosen, systems, values, places, binary, sign), notes


def _fit(looked: Looked, options: InstanceOptions) -> SegmentFit:
    if options.on != WINS:
        return fit_answers(looked.answers()) if looked.binary else fit_scores(looked.scores)
    plain = fit_scores(looked.scores, discriminate=False)  # wins have no ease of their own
    return replace(
        fit_scores(win_shares(looked.scores)),
        ease=plain.ease,
        ease_sd=plain.ease_sd,
        spread_ease=plain.spread_ease,
    )


def _facts(
    looked: Looked,
    fit: SegmentFit,
    split: SplitHalf,
    shorter: ShorterTest | None,
    options: InstanceOptions,
) -> dict[str, Any]:
    ease, ease_sd = eases(looked, fit)
    needed = None
    if shorter is not None:
        places = {
            name: ShorterTest.needed(row_means(own.T), options.target)
            for name, own in (("most", shorter.most), ("random", shorter.random))
        }
        needed = {
            name: None if at is None else {"share": options.shares[at], "n": shorter.sizes[at]}
            for name, at in places.items()
        }
    two = not np.isnan(fit.discrimination).all()
    kind = "logistic" if fit.logistic else "linear"
    return {
        "score": looked.score,
        "model": f"{kind} {'2PL' if two else '1PL'}",
        "on": options.on,
        "n_systems": len(looked.systems),
        "n_segments": looked.scores.shape[1],
        "spread": {"ease": fit.spread_ease, "discrimination": fit.spread_discrimination},
        "noise": fit.noise,
        "log_likelihood": None
        if fit.likelihoods is None
        else dict(zip(("1PL", "2PL"), fit.likelihoods, strict=True)),
        "reliability": {
            "ease": {"model": fit.reliability_ease, "halves": half_agreement(split.ease)},
            "discrimination": {
                "model": fit.reliability_discrimination,
                "halves": half_agreement(split.discrimination),
            },
        },
        "abilities": dict(zip(looked.systems, fit.ability, strict=True)),
        "needed": needed,
        "estimates": {
            "segment": [looked.segment(k) for k in range(len(looked.places))],
            "ease": ease,
            "ease_sd": ease_sd,
            "discrimination": fit.discrimination,
            "discrimination_sd": fit.discrimination_sd,
        },
        **spread_facts(looked.systems, looked.scores),
    }


def _warnings(looked: Looked, fit: SegmentFit) -> list[str]:
    """Say where discrimination is not what it seems."""
    n = len(looked.systems)
    if n < FEWEST:
        return ["two systems: discrimination can't be told from noise, and segments have none here"]
    found = [] if fit.converged else ["the fit did not converge: take its numbers as rough"]
    if not fit.separated:
        found.append(
            "the systems do not differ by more than chance: there is nothing that segments could "
            "tell apart, and they have no discrimination"
        )
    squares = np.nan_to_num(fit.ability) ** 2
    far = int(np.argmax(squares))
    if fit.separated and n > FEWEST and squares[far] > _ALONE * squares.sum():
        found.append(
            f"{looked.systems[far]} is so far from the others that discrimination mostly tells it "
            f"from the rest ({squares[far] / squares.sum():.0%} of the spread of abilities); "
            "leave it out to ask about these"
        )
    return found
