"""Raw ratings among inputs of scores: what a protocol makes of them takes their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.rng import Rng
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.formats.options import LoadOptions
from steelyard.formats.reading import Reading, read_all
from steelyard.human.mqm import values_of
from steelyard.human.run import human_scores


def scored_inputs(
    sources: Sequence[Any], protocol: str, options: LoadOptions, rng: Rng = 0
) -> tuple[list[Any], str, tuple[str, ...]]:
    """Give the inputs with raw ratings scored, the name of their score, and what is to be said.

    The set that takes their place keeps the ratings, so that raters can be drawn from it.
    """
    reading = Reading(options.where, tuple(options.ignore), options.lp, columns=options.columns,
                      form=options.format)  # fmt: skip
    rated: list[Any] = []
    others: list[Any] = []
    for source in sources:
        found = read_all([source], reading)
        judged = found and all(isinstance(one.value, Ratings) for one in found)
        (rated if judged else others).append(source)
    if not rated:
        raise UsageError(f'protocol="{protocol}": no input holds raw ratings')
    result = human_scores(
        *rated,
        protocol=protocol,
        where=options.where,
        ignore=options.ignore,
        columns=options.columns,
        format=options.format,
        lp=options.lp,
        clusters="none",
        n_bootstrap=0,
        rng=rng,
    )
    es = result.rated_set
    assert es is not None  # protocols of single outputs have scores of them
    return [es, *others], options.human or result.score, result.warnings


def with_costs(es: EvalSet, human: str | None) -> EvalSet:
    """Give ratings that are lists of errors the value that errors cost."""
    ratings = es.ratings.get(human or "")
    if ratings is None or ratings.errors is None or not np.isnan(ratings.value).all():
        return es
    costed = replace(ratings, value=values_of(ratings)[0])
    return replace(es, ratings={**es.ratings, str(human): costed})
