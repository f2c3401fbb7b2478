"""Which model of who wins predicts best, with which parameters: of scores, or of a log of battles.

Section 7 and Appendix H of the paired-evaluation paper leave open which of Bradley-Terry, Elo and
TrueSkill to choose, and with which constants. What they predict of battles that they have not seen
says so: see :mod:`steelyard.stats.strength.heldout` for the losses, and
:mod:`steelyard.stats.strength.predictors` for the models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.comparison.logsamples import Log, LogSample, log_unit, read_log, unit_warnings
from steelyard.comparison.options import BattleOptions
from steelyard.comparison.scores import check_segments, compared, the_score
from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.parallel import Workers
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import UnitEffect
from steelyard.data.judgements import BattleLog, Rankings
from steelyard.formats.judged.battlelogs import unfolded
from steelyard.formats.load import JudgementsError, Source, as_evalset, selection
from steelyard.stats.strength.heldout import validate
from steelyard.stats.strength.predictors import (
    Average,
    Elo,
    Family,
    Half,
    Pairs,
    Strength,
    TrueSkill,
)
from steelyard.stats.strength.splits import (
    Split,
    SplitLog,
    SplitScores,
    canonical,
    random_folds,
    time_folds,
)
from steelyard.stats.strength.trueskill import TrueSkillOptions
from steelyard.studies.results import Study
from steelyard.studies.systems.modelviews import Facts, model_curves, model_tables, weighed
from steelyard.studies.systems.options import MODELS, ModelsOptions

_FEWEST = 10  # units below which intervals are rough


@dataclass(frozen=True, slots=True)
class _Data:
    """What is predicted: battles in folds, and what there is to say of them."""

    split: Split
    unit: UnitEffect
    inputs: tuple[InputFile, ...]
    warnings: tuple[str, ...]
    of: str  # scores of what, or battles


@keywords(ModelsOptions)
def weigh_models(
    source: Source | Log,
    score: str | None = None,
    *,
    options: ModelsOptions,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> Study:
    """See which model predicts best who wins, and which are not told apart from it.

    ``source`` is a set with segment scores (``score`` names one), or what
    :func:`steelyard.load` takes, or a log of battles as of :func:`steelyard.compare_battles`. Whole
    units are held out, in random folds; of a log with ``order="time"``, what came later is
    predicted from what came before. A model with several parameters is weighed by those that are
    best on the other folds. See :class:`ModelsOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = weigh_models(sy.demo_set(), "learned-refA", models=["half", "mean", "bt"])
    >>> study.facts["best"], study.facts["worse"]
    ('bt', ['mean', 'half'])
    """
    bounds.text(optional=True, score=score)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    folding, fitting = generator(rng).spawn(2)
    data = _data(source, score, options, folding, workers)
    pairs = data.split.whole()
    families, left_out = _families(options, data.split)
    found = weighed(validate(data.split, families, fitting), options.loss)
    facts = Facts(
        n_systems=data.split.n,
        n_battles=data.split.n_battles,
        n_ties=float(pairs.ties.sum()),
        n_folds=data.split.folds.n,
        in_time=data.split.folds.in_time,
        unit=data.unit,
    )
    warnings = [*data.warnings, *left_out]
    if data.split.folds.n < options.folds:
        warnings.append(f"{data.split.folds.n} folds: there are no more units")
    if data.unit.n < _FEWEST:
        warnings.append(f"{data.unit.counted()}: intervals of differences are rough")
    settings = {
        "of": data.of,
        "models": ",".join(family.name for family in families),
        "loss": options.loss,
        "folds": data.split.folds.n,
        "order": options.order,
        "unit": data.unit.name,
    }
    return Study(
        name="models",
        parts=model_tables(found, facts),
        curves=model_curves(found),
        facts={**facts.to_dict(), **found.to_dict()},
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study models", settings, data.inputs, rng, options),
    )


def _data(
    source: Source | Log,
    score: str | None,
    options: ModelsOptions,
    rng: np.random.Generator,
    workers: Workers | None,
) -> _Data:
    """Take scores or a log, whatever the source holds."""
    options = replace(options, where=selection(options.where))
    named = any((options.left, options.right, options.outcome))
    if isinstance(source, (BattleLog, list, tuple)) or named:
        return _log(source, options, rng, workers)
    try:
        es = as_evalset(source, unit=options.unit)
    except JudgementsError as error:
        log = error.value
        if not isinstance(log, (BattleLog, Rankings)):
            raise
        if isinstance(source, (str, Path)):
            log = source
        elif isinstance(log, Rankings):
            log = unfolded(log)
        return _log(log, options, rng, workers)
    return _scores(es, score, options, rng)


def _scores(
    es: EvalSet, score: str | None, options: ModelsOptions, rng: np.random.Generator
) -> _Data:
    if options.order == "time":
        raise UsageError('order="time" is of a log of battles: segments have no order of time')
    if options.where or options.ignore or options.format:
        raise UsageError("`where`, `ignore` and `format` are of a log: load scores with them first")
    chosen = the_score(es, score)
    check_segments(es, chosen)
    data = compared(es, chosen, options.unit)
    _several(len(data.systems))
    known = ~np.isnan(data.scores)
    some = known.sum(axis=0) > 1  # where two systems meet
    if not some.any():
        raise UsageError(f"'{chosen}': no segment has a score of two systems")
    if np.nanmin(data.scores) == np.nanmax(data.scores):
        raise UsageError(f"all scores of '{chosen}' are the same: nobody wins")
    unit = np.arange(len(some)) if data.blocks is None else data.blocks
    folds, units = random_folds(unit[some], options.folds, rng)
    warnings = list(data.warnings)
    if data.statistics is not None:
        warnings.append(f"'{chosen}' is a corpus score: who wins a segment is by sentence scores")
    return _Data(
        SplitScores(data.scores[:, some], units, folds, options.tolerance),
        data.units.effect(data.additive()),
        es.inputs,
        tuple(warnings),
        chosen,
    )


def _log(
    source: Log, options: ModelsOptions, rng: np.random.Generator, workers: Workers | None
) -> _Data:
    settings = {name: getattr(options, name) for name in ("unit", "left", "right", "outcome")}
    how = BattleOptions(
        **settings,
        where=options.where,
        ignore=options.ignore,
        format=options.format,
    )
    read = read_log(source, how, in_order=True, held=True, workers=workers)
    counted = read.counted
    battles = counted.played
    assert battles is not None
    _several(len(counted.systems))
    unit = log_unit(counted, how.unit, read.inputs)
    sample = LogSample(counted, 0, unit.name)
    warnings = [*counted.notes, *unit_warnings(sample, unit, read.shared, how.unit)]
    codes = None if counted.unit is None else counted.unit.astype(np.int64)
    if options.order == "time":
        if not counted.timed:
            warnings.append("the log has no times: its order is taken for that of time")
        each = np.arange(len(battles))
        units = each if codes is None else np.unique(codes, return_inverse=True)[1]
        split = SplitLog(battles, units, time_folds(each, options.folds))
    else:
        battles, codes = canonical(battles, codes)
        folds, units = random_folds(codes, options.folds, rng)
        split = SplitLog(battles, units, folds)
    return _Data(split, unit, read.inputs, tuple(warnings), "battles")


def _several(n: int) -> None:
    if n < 2:
        raise UsageError("one system: there is nothing to predict")


def _families(options: ModelsOptions, split: Split) -> tuple[list[Family], list[str]]:
    """Make the models that are asked for; and say which these data have no place for."""
    draws: tuple[float | None, ...] = tuple(options.trueskill_draw) or (0.1, None)
    points = tuple(
        (beta, tau, draw)
        for draw in draws
        for tau in options.trueskill_tau
        for beta in options.trueskill_beta
    )
    known: dict[str, Family] = {
        "half": Half(),
        "mean": Average("mean"),
        "median": Average("median"),
        "pairs": Pairs(),
        **{name: Strength(name, tuple(options.prior)) for name in MODELS[4:7]},
        "elo": Elo(tuple(options.k), options.orders),
        "trueskill": TrueSkill(points, options.orders),
    }
    unfit: dict[str, str] = {}
    if "median" not in split.averages(0):
        unfit["median"] = ""  # which a log never has
    try:
        split.check(TrueSkillOptions(draw_probability=min(x or 1.0 for x in draws)))
    except UsageError as error:
        unfit["trueskill"] = str(error)
    found = [known[name] for name in options.models if name not in unfit]
    if not found:
        raise UsageError(f"no model of {', '.join(options.models)} fits these data")
    told = [f"{name} is left out: {why}" for name, why in unfit.items() if why]
    return found, [text for text in told if text.split()[0] in options.models]
