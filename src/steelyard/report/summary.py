"""The report in words: what can be concluded, what can't, and how sure that is.

A test that does not reject says that the data do not decide; no sentence here calls systems or
metrics equal because of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from steelyard.comparison.results import CORPUS, PROPORTION, Comparison
from steelyard.core.errors import printable
from steelyard.core.provenance import installed_version
from steelyard.core.words import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import UnitEffect, many
from steelyard.metaevaluation.leftout import outlier_warnings
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult

_RANKINGS = {
    "mean": "mean",
    "median": "median",
    "bt": "Bradley-Terry strength",
    "elo": "Elo rating",
    "trueskill": "TrueSkill",
    "sentence-mean": "mean of sentence scores",
}
_TESTS = {
    "t": "paired t-test",
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "mood": "Mood's median test",
    "sign": "sign test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "mcnemar": "McNemar's exact test",
    "bt-gap": "test of Bradley-Terry strengths",
}
_CORRECTIONS = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "benjamini-hochberg": "the Benjamini-Hochberg correction",
    "none": "no correction for their number",
}
_Told = Iterator[tuple[str, str]]  # sentences, each after the part of the summary that it stands in
_and = partial(listed, last=" and ")  # names in a sentence
#: What a paper cites for each method.
CITATIONS = {
    "bt": "Bradley and Terry (1952), Rank analysis of incomplete block designs; "
    "Peyrard et al. (2021), Better than Average: Paired Evaluation of NLP Systems",
    "elo": "Elo (1978), The Rating of Chessplayers, Past and Present",
    "trueskill": "Herbrich et al. (2006), TrueSkill: A Bayesian Skill Rating System",
    "spa": "Thompson et al. (2024), Improving Statistical Significance in Human Evaluation of "
    "Automatic Metrics via Soft Pairwise Accuracy",
    "pa": "Kocmi et al. (2021), To Ship or Not to Ship",
    "acc-eq": "Deutsch et al. (2023), Ties Matter: Meta-Evaluating Modern Metrics with Pairwise "
    "Accuracy and Tie Calibration",
    "bootstrap": "Koehn (2004), Statistical Significance Tests for Machine Translation Evaluation",
    "inputs": "Deutsch et al. (2021), A Statistical Analysis of Summarization Evaluation Metrics "
    "Using Resampling Methods",
    "holm": "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure",
    "benjamini-hochberg": "Benjamini and Hochberg (1995), Controlling the False Discovery Rate",
    "outliers": "Mathur et al. (2020), Tangled up in BLEU: Reevaluating the Evaluation of "
    "Automatic Machine Translation Evaluation Metrics",
    "mqm": "Freitag et al. (2021), Experts, Errors, and Context",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences of the summary: what is settled, what is open, and how sure it is."""

    settled: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    sureness: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """Give the sentences by heading."""
        return {name: list(getattr(self, name)) for name in ("settled", "undecided", "sureness")}

    def headed(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give the sentences under the headings that people read."""
        headings = ("What can be concluded", "What stays open", "How sure that is")
        parts = (self.settled, self.undecided, self.sureness)
        return [(head, lines) for head, lines in zip(headings, parts, strict=True) if lines]

    def text(self) -> str:
        """Write the summary for a terminal."""
        return "\n".join(
            "\n".join([f"{heading}:", *(f"  {printable(line)}" for line in lines)])
            for heading, lines in self.headed()
        )


def summarise(
    es: EvalSet, comparison: Comparison | None, meta: MetaEvaluation | None = None
) -> Summary:
    """Say in sentences what a comparison and a meta-evaluation found."""
    told: list[tuple[str, str]] = []
    if comparison is not None and len(comparison.systems) > 1:
        told += [*_systems(comparison), *_pairs(comparison), *_orders(comparison)]
    if meta is not None:
        told += [*_best_metric(meta), *_leaders(meta), *_swayed(meta)]
    if comparison is not None:
        score = comparison.score
        missing = float(np.isnan(es[score].values).mean()) if es.n_segments else 0.0
        if missing:
            share = f"{100 * missing:.1f} % of the cells have no {score} score"
            told.append(("sureness", f"{share}; what is said rests on the others."))
    parts = ("settled", "undecided", "sureness")
    return Summary(*(tuple(text for own, text in told if own == part) for part in parts))


def _systems(found: Comparison) -> _Told:
    """Say who is best, and whether the others may be as good."""
    first = next(iter(found.aggregations))
    ranking, tiers = found.ranking(first), found.tiers.get(first)
    best, n = ranking[0], plural(len(ranking), "system")
    by = f"{_named(found, first)} {found.score} over {plural(found.n_segments, 'segment')}"
    if tiers is None:
        yield "settled", f"{best} ranks first by {by}."
        return
    place = {system: i for i, system in enumerate(found.systems)}
    top = [s for s in ranking if tiers.clusters[place[s]] == 1] or ranking[:1]
    level = f"{100 * found.alpha:g} %"
    if len(top) == 1:
        text, i = f"{top[0]} is the best of {n} by {by}", place[top[0]]
        if (np.delete(found.tests[tiers.test].p_adjusted[i], i) < found.alpha).all():
            text += f": its lead over every other one is significant at {level}"
        yield "settled", f"{text} ({_TESTS[tiers.test]})."
        return
    yield "settled", f"{best} ranks first of {n} by {by}, in a first tier of {len(top)}."
    text = (
        f"Which of {_and(top)} is best is not decided: not every difference among them is "
        f"significant at {level}. That does not make them equally good; a larger test set "
        "could order them."
    )
    yield "undecided", text


def _pairs(found: Comparison) -> _Told:
    """Say how many pairs are decided, and where the best system may rank."""
    first = next(iter(found.aggregations))
    tiers, ranked, best = found.tiers.get(first), found.aggregations[first], found.ranking(first)[0]
    test = found.tests.get(tiers.test) if tiers is not None else None
    if tiers is not None and test is not None:
        upper = np.triu_indices(len(found.systems), 1)
        p = np.fmin(test.p_adjusted, test.p_adjusted.T)[upper]
        known = p[~np.isnan(p)]
        decided = int((known < found.alpha).sum())
        text = (
            f"Of {plural(len(known), 'pair')} of systems, {decided:,} "
            f"{'is' if decided == 1 else 'are'} decided "
            f"({_TESTS[tiers.test]}, {_CORRECTIONS[test.correction]})."
        )
        yield "settled", text
        if len(known) > decided:
            rest = plural(len(known) - decided, "pair")
            yield "undecided", f"For {rest} of systems the test leaves open which one is better."
    if ranked.best_rank is not None and ranked.worst_rank is not None:
        i = found.systems.index(best)
        span = _span("rank", int(ranked.best_rank[i]), int(ranked.worst_rank[i]))
        text = f"In 95 % of the resampled test sets, {best} takes {span} by {found.shown(first)}."
        yield "sureness", text
    yield "sureness", independence(found.unit)


def _span(noun: str, low: int, high: int) -> str:
    return f"{noun} {low}" if low == high else f"{noun}s {low} to {high}"


def _named(found: Comparison, by: str) -> str:
    """Name a ranking in a sentence: the mean of 0 and 1 is a proportion, that of BLEU no mean."""
    of = found.aggregations[by].of
    return of if of in (CORPUS, PROPORTION) else _RANKINGS[by]


def rankings(found: Comparison) -> str:
    """List the rankings of a comparison."""
    return _and([_named(found, name) for name in found.aggregations])


def _orders(found: Comparison) -> _Told:
    """Say whether the rankings name the same best system, and how many pairs they turn round."""
    if len(found.aggregations) < 2:
        return
    ranking = found.ranking(next(iter(found.aggregations)))
    best = {name: tuple(own) for name, own in found.diagnosis.get("best", {}).items() if own}
    names = rankings(found)
    common = [s for s in ranking if best and all(s in own for own in best.values())]
    if common:
        beside = [
            f"by {_named(found, name)} together with {_and([s for s in own if s not in common])}"
            for name, own in best.items()
            if set(own) != set(common)
        ]
        rank = "ranks" if len(common) == 1 else "rank"
        tail = f" ({'; '.join(beside)})" if beside else ""
        yield "settled", f"{_and(common)} {rank} first by {names}{tail}."
    elif best:
        shown = "; ".join(f"{_named(found, name)}: {_and(own)}" for name, own in best.items())
        yield "undecided", f"The rankings do not agree on the best system ({shown})."
    n = len(found.diagnosis.get("disagreements", []))
    if n:
        text = (
            f"{plural(n, 'pair')} of systems {'changes' if n == 1 else 'change'} order between "
            f"{names}: what is read from the scores matters there."
        )
        yield "sureness", text


def _by_metas(meta: MetaEvaluation) -> dict[str, list[MetaResult]]:
    """Give the defined results of every meta-metric, best first."""
    found: dict[str, list[MetaResult]] = {result.by: [] for result in meta.results}
    known = [result for result in meta.results if not np.isnan(result.value)]
    for result in sorted(known, key=lambda r: (-r.value, r.metric)):
        found[result.by].append(result)
    return found


def _best_metric(meta: MetaEvaluation) -> _Told:
    """Say which metric agrees most with people by the first meta-metric, and how surely."""
    by, own = next(iter(_by_metas(meta).items()), ("", []))
    if not own:
        if by:
            yield "undecided", f"{by} is not defined for any metric."
        return
    best = own[0]
    shown = f"{best.value:.3f}"
    if best.ci is not None and not np.isnan(best.ci).any():
        shown += f", 95 % interval {best.ci[0]:.3f} to {best.ci[1]:.3f}"
    size = f"{plural(meta.n_systems, 'system')}, {plural(meta.n_segments, 'segment')}"
    most = f"{best.metric} agrees most with {meta.human} by {by} ({shown}; {size})"
    yield "settled", f"Of {plural(len(own), 'metric')}, {most}."
    others = [r.metric for r in own if r.rank == 1 and r.metric != best.metric]
    if others:
        open_ = "the tests leave open which of them agrees more with people."
        yield "undecided", f"{by} does not tell {best.metric} from {_and(others)}: {open_}"
    if best.rank_ci is not None:
        place = f"{_span('place', *best.rank_ci)} by {by} in 95 % of the draws."
        yield "sureness", f"Over resampled {meta.resampled_units}, {best.metric} takes {place}"


def _leaders(meta: MetaEvaluation) -> _Told:
    """Say whether the best metric depends on the meta-metric."""
    leaders = {
        by: max(own, key=lambda r: (r.value, r.metric)).metric
        for by, own in _by_metas(meta).items()
        if own
    }
    if len(set(leaders.values())) > 1:
        shown = "; ".join(f"{by}: {metric}" for by, metric in leaders.items())
        yield "undecided", f"The best metric depends on the meta-metric ({shown})."


def _swayed(meta: MetaEvaluation) -> _Told:
    """Say which systems are outliers, and what agreement is without them."""
    if meta.outliers is not None:
        for text in outlier_warnings(meta.outliers, meta.results):
            yield "sureness", f"{text}."


def disagreements(found: Comparison) -> list[str]:
    """Explain, pair by pair, where rankings order two systems differently."""
    lines = []
    for one in found.diagnosis.get("disagreements", []):
        a, b = one["pair"]
        ahead = one["ahead"]
        for_a = [_named(found, name) for name, own in ahead.items() if own == a]
        for_b = [_named(found, name) for name, own in ahead.items() if own == b]
        level = [_named(found, name) for name, own in ahead.items() if own is None]
        text = f"{a} is ahead of {b} by {_and(for_a)}, behind by {_and(for_b)}"
        text += f", level by {_and(level)}." if level else "."
        text += (
            f" {a} wins {plural(one['wins'], 'segment')}, loses {one['losses']:,} and ties "
            f"{one['ties']:,}."
        )
        n = one["n_swaying"]
        if n:
            of = found.aggregations["mean"].of if "mean" in found.aggregations else None
            what = "corpus scores" if of == CORPUS else "means"
            text += f" Without {plural(n, 'segment')} ({_and(one['swaying_segments'])}) the "
            text += f"{what} would change places."
        if one["modes"] > 1:
            text += (
                f" The differences have {one['modes']} peaks: there may be two kinds of segments."
            )
        lines.append(text)
    return lines


def methods(
    es: EvalSet, comparison: Comparison | None, meta: MetaEvaluation | None
) -> tuple[str, list[str]]:
    """Give a paragraph to paste into a paper, and the works that it cites."""
    parts: list[str] = []
    cited: list[str] = []
    for found, told in ((comparison, _comparison_methods), (meta, _meta_methods)):
        lines, works = ([], []) if found is None else told(found)
        parts += lines
        cited += works
    cited += ["mqm" for name in es.human if "mqm" in name.lower()]
    parts.append(f"All numbers were computed with Steelyard {installed_version()}.")
    return " ".join(parts), list(dict.fromkeys(CITATIONS[n] for n in cited if n in CITATIONS))


def _comparison_methods(found: Any) -> tuple[list[str], list[str]]:
    """Give sentences, and the names of what they cite."""
    cited = [*found.aggregations]
    size = f"{plural(len(found.systems), 'system')} on {plural(found.n_segments, 'segment')}"
    lower = "" if found.higher_is_better else " (lower is better)"
    parts = [f"We compared {size} by {found.score}{lower}, ranked by {rankings(found)}."]
    options, seed = _run(found)
    if found.tests:
        test = next(iter(found.tests.values()))
        shown = _and([_TESTS[name] for name in found.tests])
        shown += "" if found.unit.design_effect == 1 else f", each by {found.unit.name}"
        parts.append(
            f"All pairs were tested {test.alternative} at {100 * found.alpha:g} % with the "
            f"{shown}, with {_CORRECTIONS[test.correction]}."
        )
        cited.append(test.correction)
    parts.append(independence(found.unit))
    if "bootstrap" in options:
        parts.append(
            f"Intervals are 95 % percentile bootstrap intervals over {options['bootstrap']:,} "
            f"resamples of {many(found.unit.name)} (seed {seed})."
        )
        proportions = PROPORTION in {own.of for own in found.aggregations.values()}
        if proportions and found.unit.design_effect == 1:
            parts.append("Intervals of proportions are Wilson's.")
        cited.append("bootstrap")
    if "bt" in found.aggregations:
        parts.append(f"Ties were treated as '{options.get('ties')}' by the Bradley-Terry model.")
    return parts, cited


def independence(unit: UnitEffect) -> str:
    """Say in a sentence what was taken as independent."""
    told = f"Tests and intervals take {unit.counted()} as independent"
    known = unit.coarser
    if known is not None:
        return f"{told}, although these are of {known.counted()} ({known.shown()})."
    return f"{told}." if unit.design_effect == 1 else f"{told}, {unit.shown()}."


def _meta_methods(meta: Any) -> tuple[list[str], list[str]]:
    """Give sentences, and the names of what they cite."""
    names = list(dict.fromkeys(result.by for result in meta.results))
    cited = [*names]
    metrics = {result.metric for result in meta.results}
    size = f"{plural(meta.n_systems, 'system')} and {plural(meta.n_segments, 'segment')}"
    weighed = f"{plural(len(metrics), 'metric')} against {meta.human} by {_and(names)}"
    parts = [f"We weighed {weighed} on {size}.", independence(meta.unit)]
    options, seed = _run(meta)
    if meta.significance:
        test = next(iter(meta.significance.values()))
        parts.append(
            f"Pairs of metrics were tested by permutation (scheme '{test.scheme}', "
            f"{test.n_resamples:,} resamples, alternative '{test.alternative}', "
            f"{_CORRECTIONS[test.correction]}, seed {seed}); metrics in one cluster are not told "
            f"apart at {options.get('alpha')}."
        )
        cited += ["inputs", test.correction]
    if "acc-eq" in names:
        parts.append("Ties of acc-eq were calibrated on the same data.")
    far = meta.outliers
    if far is not None and far.systems and far.handling != "keep":
        what = "left out" if far.handling == "drop" else "also left out, for comparison"
        rule = f"human scores beyond {far.cutoff:g} times 1.483 MAD from the median"
        parts.append(f"Systems with {rule} were {what} ({_and(far.systems)}).")
        cited.append("outliers")
    return parts, cited


def _run(found: Comparison | MetaEvaluation) -> tuple[Mapping[str, Any], int | None]:
    """Give the options and the seed of a result, where they are known."""
    signed = found.provenance
    return ({}, None) if signed is None else (signed.options, signed.seed)
