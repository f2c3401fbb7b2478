"""Systems against systems by scores: which is better, by what reading, and how sure is that.

Rankings are computed at once; tests, other treatments of ties and explanations when they are first
read. What is random has a stream of its own, so that it makes no difference when that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from steelyard.comparison.card import ByScore
from steelyard.comparison.options import (
    AUTORANK,
    RANKED,
    By,
    CompareOptions,
    Correction,
    TestName,
)
from steelyard.comparison.rankings import (
    AGGREGATIONS,
    AVERAGES,
    TESTS,
    Question,
    Sample,
    check_scores,
    check_segments,
    compared,
    fitting,
    fitting_tests,
    lead,
    mean_gap_intervals,
    means,
    pair_test,
    refuse_unfit,
    resampled,
    the_score,
    tiers_by,
    with_intervals,
)
from steelyard.comparison.results import (
    ACCURACY,
    CORPUS,
    LEVEL,
    MOST_SHOWN,
    PROPORTION,
    SENTENCES,
    Comparison,
    PairTest,
    Ranked,
    Tiers,
    by_name,
)
from steelyard.comparison.suites import board_of, item_noun, repeats_of, suites_of
from steelyard.core.decision import rests_on
from steelyard.core.errors import UsageError
from steelyard.core.options import check, check_names, keywords
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.text import all_of, listed, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.overview import direction_warnings
from steelyard.data.units import SEGMENT, UnitEffect, Units, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.formats.reshape import keeping_runs
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.autorank import EPSILON, autorank, bootstrap_autorank
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import wilson_interval
from steelyard.stats.ranks import ranks

DEFAULT = ("mean", "median", "bt")
_STREAMS = 8  # of random numbers: for resamples, each ranking, and tests
_MOST_STRENGTHS = 60  # systems beyond which resampled strengths take seconds


def compare(  # noqa: PLR0913 - every option has a default
    es: Source,
    score: str | None = None,
    *,
    by: By | None = None,
    tests: TestName | Sequence[str] | None = None,
    tolerance: float = 0.0,
    correction: Correction = "holm",
    alpha: float = 0.05,
    unit: str = "auto",
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
    pass_k: Sequence[int] | None = None,
    rng: Rng = 0,
) -> Comparison:
    """Compare systems by one score.

    Parameters
    ----------
    es
        Systems, segments and scores: a set, or what :func:`steelyard.load` takes.
    score
        Which score; may be left out if there is only one.
    by
        Rankings: ``mean median bt elo trueskill``, by default the first three (no median of scores
        that are 0 or 1, no Bradley-Terry of more than 60 systems); with options as
        ``[sy.bt(ties="davidson"), sy.elo(k=20)]``. The mean of a corpus score, such as BLEU, is the
        score of all segments together.
    tests
        Tests of all pairs: ``t permutation bootstrap mood median sign wilcoxon mcnemar``; by
        default those that fit the rankings, and none for more than 300 systems.
    tolerance
        Differences of at most this are ties of ``bt``, ``elo``, ``trueskill`` and ``sign``.
    correction, alpha
        ``holm``, ``benjamini-hochberg``, ``bonferroni`` or ``none``; the level of the tiers.
    unit
        What is independent, in tests, intervals and tiers: ``segment``, ``document``, ``prompt``
        (segments of one source), a column of the input, or a number of consecutive segments.
        ``auto`` takes documents where ten are known, or prompts that segments share, else segments.
    intervals, n_bootstrap
        Whether whole units are resampled for 95% intervals (None: no intervals), and how often.
    pass_k
        Of files with repeated runs of items: pass@k and pass^k for these k, in ``repeats``.
    rng
        Seed of the draws.

    Returns
    -------
    Comparison
        Rankings, tests, tiers; ``pairs()`` is a frame of pairs with p-values.

    See Also
    --------
    compare_scores : Compare by several scores, or rank by all of them together.
    compare_battles : Compare by a log of battles.
    decide : The decision card of two systems.

    Examples
    --------
    >>> import steelyard as sy
    >>> result = compare(sy.demo_set(), "learned-refA", by=["mean", sy.bt(ties="davidson")])
    >>> result.ranking("bt")[:3]
    ['Dolomite', 'Kaolin', 'Amber']
    """
    options = CompareOptions.of(locals())
    check("wholes", 1, optional=True, pass_k=pass_k)
    with keeping_runs() as runs:
        whole = as_evalset(es, unit=options.unit)
    result = compare_by(whole, score, options, rng)
    repeats = repeats_of(runs, result.systems, result.score, pass_k or ())
    if pass_k and repeats is None:
        raise UsageError("pass_k: no item has several runs (give the file, not a loaded set)")
    return replace(result, repeats=repeats)


def compare_by(es: EvalSet, score: str | None, options: CompareOptions, rng: Rng) -> Comparison:
    """Compare systems by one score, as :func:`compare` does."""
    if options.by == (AUTORANK,):
        raise UsageError('by="autorank" ranks by several scores: compare_scores takes them')
    chosen = the_score(es, score)
    check_segments(es, chosen)
    data = compared(es, chosen, options.unit)
    names, notes = _rankings(options, data)
    facts: dict[str, Any] = {"score": chosen, "over_all": None}
    facts["n_scored"] = by_name(data.systems, (~np.isnan(data.scores)).sum(axis=1))
    common = _common_segments(data, names)
    if common is not None:
        each_has = by_name(data.systems, data.sign * means(data)[0])
        facts["over_all"] = {"n_segments": data.n_segments, "means": each_has}
        shown = ", ".join(f"{system} {mean:.4g}" for system, mean in each_has.items())
        notes.append(
            f"ranked on the {len(common):,} segments that all systems have, of "
            f"{data.n_segments:,}; means over all that each has: {shown}"
        )
        es = es.select(systems=data.systems, segments=[es.segments.ids[k] for k in common])
        data = compared(es, chosen, options.unit)
    stream, *streams, test_stream = generator(rng).spawn(_STREAMS)
    few = len(data.systems) <= MOST_SHOWN
    data = resampled(data, options, stream)
    question = Question(data, options, test_stream)
    asked = fitting_tests(names, data) if options.tests is None else options.tests
    used = asked if len(data.systems) > 1 else ()
    for name in used:
        refuse_unfit(name, question)
    stream_of = dict(zip(AGGREGATIONS, streams, strict=False))
    rankings = {}
    for name in each(names):
        drawn = AGGREGATIONS[name](data, options, stream_of[name])
        rankings[name] = _with_intervals(name, drawn, question, used)
    if few:
        share = paired.superiority(data.wins(options.tolerance))
        rankings = {by: r if r.average else replace(r, alone=share) for by, r in rankings.items()}
    tests = {name: pair_test(name, question) for name in used}
    tiers = _tiers(rankings, tests, question)
    noun = item_noun(es)
    of = ACCURACY if data.binary and noun == "item" else chosen
    settings = {"unit": options.unit, "alpha": options.alpha, "of": of}
    suites = suites_of(es, chosen, data.systems, options.slices, **settings)
    order = "file" if any(ranked.in_order for ranked in rankings.values()) else None
    shown_options = options.settings(names, asked, data.units.name, order)
    warnings = chain(
        data.warnings,
        *(test.warnings for test in tests.values()),
        *(ranked.warnings for ranked in rankings.values()),
        paired.error_note(max((test.error for test in tests.values()), default=0.0)),
        *(tier.warnings for tier in tiers.values()),
        _disagreement(data.systems, rankings),
        *(suite.warnings() for suite in suites.values()),
    )
    size, over, uneven = _sizes(data, noun, facts)
    unit = data.units.effect(data.additive())
    provenance = {"score": chosen, **shown_options}
    result = Comparison(
        systems=data.systems,
        n_segments=data.n_segments,
        unit=unit,
        aggregations=rankings,
        tests=tests,
        tiers=tiers,
        size=f"score {chosen}: {size}",
        over=f"{chosen} over {over}",
        facts=facts | {"higher_is_better": data.higher_is_better},
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", provenance, es.inputs, rng, options),
        alpha=options.alpha,
        noun=noun,
        references=tuple(es.segments.references),
        score=chosen,
        higher_is_better=data.higher_is_better,
        uneven=uneven,
        source=es,
        suites=suites,
    )
    scores = None if data.statistics is not None and names[0] == "mean" else data.scores
    return replace(result, board=board_of(result, None, scores))


def _sizes(data: Sample, noun: str, facts: Mapping[str, Any]) -> tuple[str, str, bool]:
    """Return what was compared, over what, and whether systems lack different segments."""
    segments, each_has = plural(data.n_segments, noun), facts["n_scored"].values()
    size = f"{plural(len(data.systems), 'system')}, {segments}"
    if min(each_has) < data.n_segments:
        ends = dict.fromkeys((f"{min(each_has):,}", f"{max(each_has):,}"))
        counts = " to ".join(ends)
        size += f" ({counts} of each system)"
        return size, f"the {noun}s that each has ({counts})", True
    if facts["over_all"] is not None:
        return size, f"the {segments} that all systems have", False
    name = data.units.name
    if name[0].isdecimal() or name == SEGMENT:
        return size, segments, False
    return size, rests_on(data.n_segments, noun, (data.units.n, name)), False


def _tiers(
    rankings: Mapping[str, Ranked], tests: Mapping[str, PairTest], question: Question
) -> dict[str, Tiers]:
    data, tiers = question.data, {}
    for by, ranked in rankings.items() if tests else ():
        name = fitting(by, data)
        name = name if name in tests else next(iter(tests))
        lead, alpha = TESTS[name].ahead(data), question.options.alpha
        tier = tiers_by(by, ranked.ranks, data.systems, name, tests[name], lead, alpha)
        if tier is not None:
            tiers[by] = tier
    return tiers


def _disagreement(systems: Sequence[str], rankings: Mapping[str, Ranked]) -> list[str]:
    best = {}
    for by, ranked in rankings.items():
        best[by] = [s for s, rank in zip(systems, ranked.ranks, strict=True) if rank == 1]
    tops = [set(top) for top in best.values() if top]
    if not tops or set.intersection(*tops):
        return []
    shown = "; ".join(f"{by}: {listed(top, 3)}" for by, top in best.items() if top)
    return [f"rankings disagree on the best system ({shown})"]


def _common_segments(data: Sample, names: Sequence[str]) -> Counts | None:
    """Return the segments that all systems have, where averages order systems otherwise on them.

    None where the orders agree, and where fewer than half of the segments are left.
    """
    common = np.flatnonzero(~np.isnan(data.scores).any(axis=0))
    averages = [AVERAGES[name] for name in names if name in AVERAGES]
    if not averages or len(common) == data.n_segments or 2 * len(common) < data.n_segments:
        return None
    stats = None if data.statistics is None else data.statistics.select(segments=common)
    shared = replace(data, scores=data.scores[:, common], statistics=stats)
    differ = any((ranks(average(data)) != ranks(average(shared))).any() for average in averages)
    return common if differ else None


def _rankings(options: CompareOptions, data: Sample) -> tuple[tuple[str, ...], list[str]]:
    names, notes = options.by, []
    many = len(data.systems) > MOST_SHOWN
    if names is None:
        crowded = len(data.systems) > _MOST_STRENGTHS
        unfit = {name for name, out in (("median", data.binary), ("bt", crowded)) if out}
        names = tuple(name for name in DEFAULT if name not in unfit)
    if many and (options.by is None or options.tests is None):
        notes.append(
            f"more than {MOST_SHOWN} systems: pairs are neither ranked by bt nor tested unless "
            "by=... and tests=... ask for it"
        )
    return names, notes


def _with_intervals(by: str, drawn: Ranked, question: Question, tests: Sequence[str]) -> Ranked:
    """Add intervals to a ranking, and put it in the numbers of the score itself.

    Means of few units have intervals by t, and their differences those of the test.
    """
    data = question.data
    ranked = with_intervals(drawn, data.level)
    if by == "mean" and ranked.ci is not None and data.units.n < paired.FEW_UNITS:
        if not data.binary and data.statistics is None:
            ends = paired.t_interval(data.scores, data.blocks, LEVEL)
            ranked = replace(ranked, ci=np.array(ends))
        gaps = mean_gap_intervals(tests, question)
        if gaps is not None:
            ranked = replace(ranked, pairwise_ci=gaps)
            if not np.isnan(data.scores).any():  # else scores are means over what each has
                ranked = replace(ranked, gap_ci=gaps)
    if ranked.average and not data.higher_is_better:
        ranked = ranked.turned()
    if data.statistics is not None:
        return replace(ranked, of=CORPUS if by == "mean" else SENTENCES)
    if by != "mean" or not data.binary:
        return ranked
    present = ~np.isnan(data.scores)
    single = data.counts is not None and data.blocks is None
    if single and present.any(axis=0).sum() > 1:  # else there is no interval
        right = np.where(present, np.abs(data.scores), 0.0).sum(axis=1)
        ends = wilson_interval(right, present.sum(axis=1), LEVEL)
        ranked = replace(ranked, ci=np.array(ends))
    return replace(ranked, of=PROPORTION)


@keywords(CompareOptions, hidden=RANKED)
def compare_scores(
    es: Source, scores: Sequence[str], *, options: CompareOptions, rng: Rng = 0
) -> ByScore | Comparison:
    """Compare systems by several scores.

    Parameters
    ----------
    es, scores
        Systems, segments and scores, as in :func:`steelyard.compare`; the scores to compare by.
    by, autorank
        One ranking, by default ``mean``; ``autorank`` makes one of all scores, in a ``form``.

    Returns
    -------
    ByScore or Comparison
        A comparison by each score, or one ranking by all of them.

    See Also
    --------
    compare : Compare by one score; it explains the other options.

    Examples
    --------
    >>> import steelyard as sy
    >>> scores = ["learned-refA", "overlap-refA"]
    >>> result = sy.compare_scores(sy.demo_set(), scores, by="autorank", n_bootstrap=10)
    >>> result.ranking("autorank")[:3]
    ['Kaolin', 'Dolomite', 'Jasper']
    """
    es = as_evalset(es, unit=options.unit)
    check_names(scores=scores)
    if options.by == (AUTORANK,):
        return rank_together(es, scores, options, rng)
    return compare_each(es, scores, options, rng)


def compare_each(
    es: EvalSet, scores: Sequence[str], options: CompareOptions, rng: Rng = 0
) -> ByScore:
    """Compare systems by each of several scores."""
    options = replace(options, by=(options.by or ("mean",))[:1])
    return ByScore.of({name: compare_by(es, name, options, rng) for name in each(scores)})


# -- one ranking by several scores together: WMT's AutoRank


def rank_together(
    es: EvalSet, scores: Sequence[str], options: CompareOptions, rng: Rng = 0
) -> Comparison:
    """Rank systems by several scores together; less is better."""
    names, form = tuple(dict.fromkeys(scores)), options.autorank
    if not names:
        raise UsageError("no score to rank by")
    check_scores(es, names)
    tables = [es[name] for name in names]
    sign = np.array([[1.0 if table.higher_is_better else -1.0] for table in tables])
    of_systems = [t.system_scores if not t.has_segments else row_means(t.values) for t in tables]
    means = sign * np.array(of_systems, dtype=float)
    result = autorank(means, form)
    pairs = np.asarray(result.ranks[None, :] - result.ranks[:, None])
    ranked = Ranked(-result.ranks, ranks(-result.ranks), pairs, against=lead, average=True)
    used = np.asarray(np.any([~np.isnan(table.values).all(axis=0) for table in tables], axis=0))
    units = units_of(es.segments, options.unit, used)
    drawn, notes = _resampled_ranks(tables, options, units, rng)
    if drawn is not None:
        ranked = with_intervals(replace(ranked, replicates=-drawn), units.level(LEVEL, used))
    warnings = chain(
        es.notes,
        _autorank_warnings(es, names, tables, means, result.scaled, form),
        *(direction_warnings(name, es[name]) for name in names),
        units.warnings,
        ["tests=... is ignored in AutoRank"] if options.tests else [],
    )
    settings: dict[str, Any] = {"scores": ",".join(names), "by": AUTORANK, "form": form}
    settings |= {"unit": units.name}
    settings |= {} if drawn is None else {"bootstrap": options.n_bootstrap}
    size, z = plural(es.n_segments, "segment"), "z" if form == "wmt25" else "1 to N"
    size_in_words = f"{plural(es.n_systems, 'system')}, {size}; beside it {z} by score"
    by_score = {
        what: {name: by_name(es.systems, x) for name, x in zip(names, rows, strict=True)}
        for what, rows in (("means", sign * means), ("scaled", result.scaled))
    }
    ranking = Comparison(
        systems=es.systems,
        n_segments=es.n_segments,
        unit=UnitEffect(units.name, units.n, 1.0 if units.codes is None else float("nan")),
        aggregations={AUTORANK: ranked.turned()},
        tests={},
        tiers={},
        size=f"AutoRank {form} of {listed(names, 8)}: {size_in_words}",
        over=f"of {all_of(names)} over {size}",
        facts={"scores": list(names), "form": form, **by_score},
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", settings, es.inputs, rng, options),
        alpha=options.alpha,
    )
    return replace(ranking, board=board_of(ranking, None, None))


def _resampled_ranks(
    tables: Sequence[ScoreTable], options: CompareOptions, units: Units, rng: Rng
) -> tuple[Floats | None, list[str]]:
    if options.intervals is None:
        return None, []
    if not all(table.has_segments for table in tables):
        return None, ["scores of whole systems: nothing to resample, no intervals"]
    if units.n < 2:
        return None, [f"{units.counted()}: there is nothing to resample, and no interval"]
    drawn = bootstrap_autorank(
        np.stack([table.oriented for table in tables]),
        options.autorank,
        n_resamples=options.n_bootstrap,
        rng=generator(rng),
        blocks=units.codes,
    )
    return drawn, [f"intervals: {units.counted()} drawn anew, all scores together"]


def _autorank_warnings(
    es: EvalSet,
    names: Sequence[str],
    tables: Sequence[ScoreTable],
    means: Floats,
    scaled: Floats,
    form: str,
) -> Iterator[str]:
    """Yield what is missing, and which scores tell no systems apart or leave others no say."""
    for name, row in zip(names, means, strict=True):
        lacking = [es.systems[i] for i in np.flatnonzero(np.isnan(row))]
        if lacking:
            without = f"{plural(len(lacking), 'system')} without '{name}', hence without AutoRank"
            yield f"{without}: {listed(lacking, 8)}"
    whole = ~np.isnan(means).any(axis=0)
    if whole.sum() < 2:
        yield "fewer than two systems have all scores: there is no AutoRank"
        return
    means, scaled = means[:, whole], scaled[:, whole]
    same = np.ptp(means, axis=1) <= EPSILON * np.abs(means).max(axis=1)
    if same.any():
        flat = [name for name, alike in zip(names, same, strict=True) if alike]
        none = same.all() or form == "wmt24"
        then = "there is no AutoRank" if none else "counted as 0 for all"
        yield f"all systems have the same {listed(flat, 8)}: {then}"
    gaps = [int(np.isnan(table.values[whole]).sum()) * table.has_segments for table in tables]
    missing = [f"{name} {n:,}" for name, n in zip(names, gaps, strict=True) if n]
    if missing:
        text = f"missing scores are left out of the means: {', '.join(missing)}"
        yield TypedWarning(text, names=missing)
    corpus = [n for n, table in zip(names, tables, strict=True) if table.statistics is not None]
    if corpus:
        yield f"{listed(corpus, 8)}: the mean of sentence scores, not the corpus score"
