"""The report in words: what can be concluded, what can't, and how sure that is.

A test that does not reject says that the data do not decide; no sentence here calls systems or
metrics equal because of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.comparison.results import CORPUS, PROPORTION, Comparison
from steelyard.core.errors import printable
from steelyard.core.provenance import installed_version
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.metaevaluation.results import UNITS, MetaEvaluation

_NAMED = 4  # names in a list before "and 7 more"
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
}
_CORRECTIONS = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "benjamini-hochberg": "the Benjamini-Hochberg correction",
    "none": "no correction for their number",
}
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
    "mqm": "Freitag et al. (2021), Experts, Errors, and Context",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences of the summary: what is settled, what is open, and how sure it is."""

    settled: tuple[str, ...]
    undecided: tuple[str, ...]
    sureness: tuple[str, ...]

    def to_dict(self) -> dict[str, list[str]]:
        """Give the sentences by heading."""
        return {name: list(getattr(self, name)) for name in ("settled", "undecided", "sureness")}

    def headed(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give the sentences under the headings that people read."""
        found = (
            ("What can be concluded", self.settled),
            ("What stays open", self.undecided),
            ("How sure that is", self.sureness),
        )
        return [(heading, lines) for heading, lines in found if lines]

    def text(self) -> str:
        """Write the summary for a terminal."""
        parts = [
            "\n".join([f"{heading}:", *(f"  {printable(line)}" for line in lines)])
            for heading, lines in self.headed()
        ]
        return "\n".join(parts)


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """Write names as a list in a sentence.

    Examples
    --------
    >>> listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"]), listed(list("ABCDEF"))
    ('A', 'A and B', 'A, B and C', 'A, B, C, D and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def summarise(
    es: EvalSet, comparison: Comparison | None, meta: MetaEvaluation | None = None
) -> Summary:
    """Say in sentences what a comparison and a meta-evaluation found."""
    settled: list[str] = []
    undecided: list[str] = []
    sure: list[str] = []
    if comparison is not None and len(comparison.systems) > 1:
        _systems(comparison, settled, undecided, sure)
    if meta is not None:
        _metrics(meta, settled, undecided, sure)
    score = comparison.score if comparison is not None else None
    if score is not None:
        missing = float(np.isnan(es[score].values).mean()) if es.n_segments else 0.0
        if missing:
            sure.append(
                f"{100 * missing:.1f} % of the cells have no {score} score; what is said rests on "
                "the others."
            )
    return Summary(tuple(settled), tuple(undecided), tuple(sure))


def _systems(found: Comparison, settled: list[str], undecided: list[str], sure: list[str]) -> None:
    first = next(iter(found.aggregations))
    ranking = found.ranking(first)
    ranked = found.aggregations[first]
    place = {system: i for i, system in enumerate(found.systems)}
    by = f"{_named(found, first)} {found.score}"
    tiers = found.tiers.get(first)
    top = ranking[:1]
    if tiers is not None:
        top = [s for s in ranking if tiers.clusters[place[s]] == 1] or top
    level = f"{100 * found.alpha:g} %"
    size = plural(found.n_segments, "segment")
    if tiers is None:
        settled.append(f"{ranking[0]} ranks first by {by} over {size}.")
    elif len(top) == 1:
        text = f"{top[0]} is the best of {plural(len(ranking), 'system')} by {by} over {size}"
        if _beats_all(found, place[top[0]], tiers.test):
            text += f": its lead over every other one is significant at {level}"
        settled.append(f"{text} ({_TESTS[tiers.test]}).")
    else:
        settled.append(
            f"{ranking[0]} ranks first of {plural(len(ranking), 'system')} by {by} over {size}, "
            f"in a first tier of {len(top)}."
        )
        undecided.append(
            f"Which of {listed(top)} is best is not decided: not every difference among them is "
            f"significant at {level}. That does not make them equally good; a larger test set "
            "could order them."
        )
    test = found.tests.get(tiers.test) if tiers is not None else None
    if test is not None:
        n = len(found.systems)
        upper = np.triu_indices(n, 1)
        p = np.fmin(test.p_adjusted, test.p_adjusted.T)[upper]
        known = p[~np.isnan(p)]
        decided = int((known < found.alpha).sum())
        settled.append(
            f"Of {plural(len(known), 'pair')} of systems, {decided:,} {_are(decided)} decided "
            f"({_TESTS[tiers.test] if tiers else ''}, {_CORRECTIONS[test.correction]})."
        )
        rest = len(known) - decided
        if rest:
            undecided.append(
                f"For {plural(rest, 'pair')} of systems the test leaves open which one is better."
            )
    if ranked.best_rank is not None and ranked.worst_rank is not None:
        i = place[ranking[0]]
        low, high = int(ranked.best_rank[i]), int(ranked.worst_rank[i])
        span = f"rank {low}" if low == high else f"ranks {low} to {high}"
        sure.append(
            f"In 95 % of the resampled test sets, {ranking[0]} takes {span} by "
            f"{found.shown(first)}."
        )
    if len(found.aggregations) > 1:
        _agreement_of_rankings(found, ranking, settled, undecided, sure)


def _named(found: Comparison, by: str) -> str:
    """Name a ranking in a sentence: the mean of 0 and 1 is a proportion, that of BLEU no mean."""
    of = found.aggregations[by].of
    return of if of in (CORPUS, PROPORTION) else _RANKINGS[by]


def rankings(found: Comparison) -> str:
    """List the rankings of a comparison."""
    return listed([_named(found, name) for name in found.aggregations])


def _beats_all(found: Comparison, i: int, test: str) -> bool:
    """Tell whether every difference between one system and another is significant."""
    p = np.delete(found.tests[test].p_adjusted[i], i)
    return bool((p < found.alpha).all())


def _agreement_of_rankings(
    found: Comparison,
    ranking: Sequence[str],
    settled: list[str],
    undecided: list[str],
    sure: list[str],
) -> None:
    """Say whether the rankings name the same best system, and how many pairs they turn round."""
    best = {name: tuple(own) for name, own in found.diagnosis.get("best", {}).items() if own}
    names = rankings(found)
    common = [s for s in ranking if best and all(s in own for own in best.values())]
    if common:
        beside = [
            f"by {_named(found, name)} together with {listed([s for s in own if s not in common])}"
            for name, own in best.items()
            if set(own) != set(common)
        ]
        rank = "ranks" if len(common) == 1 else "rank"
        tail = f" ({'; '.join(beside)})" if beside else ""
        settled.append(f"{listed(common)} {rank} first by {names}{tail}.")
    elif best:
        shown = "; ".join(f"{_named(found, name)}: {listed(own)}" for name, own in best.items())
        undecided.append(f"The rankings do not agree on the best system ({shown}).")
    pairs = found.diagnosis.get("disagreements", [])
    if pairs:
        sure.append(
            f"{plural(len(pairs), 'pair')} of systems {_change(len(pairs))} order between {names}: "
            "what is read from the scores matters there."
        )


def _metrics(
    meta: MetaEvaluation, settled: list[str], undecided: list[str], sure: list[str]
) -> None:
    names = list(dict.fromkeys(result.by for result in meta.results))
    for by in names[:1]:
        own = sorted(
            (r for r in meta.results if r.by == by and not np.isnan(r.value)),
            key=lambda r: (-r.value, r.metric),
        )
        if not own:
            undecided.append(f"{by} is not defined for any metric.")
            continue
        best = own[0]
        shown = f"{best.value:.3f}"
        if best.ci is not None and not np.isnan(best.ci).any():
            shown += f", 95 % interval {best.ci[0]:.3f} to {best.ci[1]:.3f}"
        settled.append(
            f"Of {plural(len(own), 'metric')}, {best.metric} agrees most with {meta.human} by {by} "
            f"({shown}; {plural(meta.n_systems, 'system')}, {plural(meta.n_segments, 'segment')})."
        )
        others = [r.metric for r in own if r.rank == 1 and r.metric != best.metric]
        if others:
            undecided.append(
                f"{by} does not tell {best.metric} from {listed(others)}: the tests leave open "
                "which of them agrees more with people."
            )
        if best.rank_ci is not None:
            low, high = best.rank_ci
            span = f"place {low}" if low == high else f"places {low} to {high}"
            sure.append(
                f"Over resampled {meta.resampled_units}, {best.metric} takes "
                f"{span} by {by} in 95 % of the draws."
            )
    leaders = {}
    for by in names:
        own = [r for r in meta.results if r.by == by and not np.isnan(r.value)]
        if own:
            leaders[by] = max(own, key=lambda r: (r.value, r.metric)).metric
    if len(set(leaders.values())) > 1:
        shown = "; ".join(f"{by}: {metric}" for by, metric in leaders.items())
        undecided.append(f"The best metric depends on the meta-metric ({shown}).")


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _change(n: int) -> str:
    return "changes" if n == 1 else "change"


def disagreements(found: Comparison) -> list[str]:
    """Explain, pair by pair, where rankings order two systems differently."""
    lines = []
    for one in found.diagnosis.get("disagreements", []):
        a, b = one["pair"]
        ahead = one["ahead"]
        for_a = [_named(found, name) for name, own in ahead.items() if own == a]
        for_b = [_named(found, name) for name, own in ahead.items() if own == b]
        level = [_named(found, name) for name, own in ahead.items() if own is None]
        text = f"{a} is ahead of {b} by {listed(for_a)}, behind by {listed(for_b)}"
        text += f", level by {listed(level)}." if level else "."
        text += (
            f" {a} wins {plural(one['wins'], 'segment')}, loses {one['losses']:,} and ties "
            f"{one['ties']:,}."
        )
        n = one["n_swaying"]
        if n:
            of = found.aggregations["mean"].of if "mean" in found.aggregations else None
            what = "corpus scores" if of == CORPUS else "means"
            text += f" Without {plural(n, 'segment')} ({listed(one['swaying_segments'])}) the "
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
    if comparison is not None:
        parts += _comparison_methods(comparison, cited)
    if meta is not None:
        parts += _meta_methods(meta, cited)
    for name in es.human:
        if "mqm" in name.lower() and CITATIONS["mqm"] not in cited:
            cited.append(CITATIONS["mqm"])
    parts.append(f"All numbers were computed with Steelyard {installed_version()}.")
    return " ".join(parts), cited


def _cite(cited: list[str], *names: str) -> None:
    cited += [CITATIONS[n] for n in names if n in CITATIONS and CITATIONS[n] not in cited]


def _settings(value: Mapping[str, object] | None) -> Mapping[str, object]:
    return {} if value is None else value


def _comparison_methods(found: Comparison, cited: list[str]) -> list[str]:
    names = [_named(found, name) for name in found.aggregations]
    _cite(cited, *found.aggregations)
    size = f"{plural(len(found.systems), 'system')} on {plural(found.n_segments, 'segment')}"
    lower = "" if found.higher_is_better else " (lower is better)"
    parts = [f"We compared {size} by {found.score}{lower}, ranked by {listed(names)}."]
    options = _settings(None if found.provenance is None else found.provenance.options)
    if found.tests:
        test = next(iter(found.tests.values()))
        shown = listed([_TESTS[name] for name in found.tests])
        parts.append(
            f"All pairs were tested {test.alternative} at {100 * found.alpha:g} % with the "
            f"{shown}, with {_CORRECTIONS[test.correction]}."
        )
        _cite(cited, test.correction)
    if "intervals" in options:
        seed = None if found.provenance is None else found.provenance.seed
        parts.append(
            f"Intervals are 95 % percentile bootstrap intervals over {options['bootstrap']:,} "
            f"resamples of {UNITS[str(options['intervals'])]} (seed {seed})."
        )
        proportions = PROPORTION in {own.of for own in found.aggregations.values()}
        if proportions and options["intervals"] == "segment":
            parts.append("Intervals of proportions are Wilson's.")
        _cite(cited, "bootstrap")
    if "bt" in found.aggregations:
        parts.append(f"Ties were treated as '{options.get('ties')}' by the Bradley-Terry model.")
    return parts


def _meta_methods(meta: MetaEvaluation, cited: list[str]) -> list[str]:
    names = list(dict.fromkeys(result.by for result in meta.results))
    metrics = {result.metric for result in meta.results}
    _cite(cited, *names)
    size = f"{plural(meta.n_systems, 'system')} and {plural(meta.n_segments, 'segment')}"
    weighed = f"{plural(len(metrics), 'metric')} against {meta.human} by {listed(names)}"
    parts = [f"We weighed {weighed} on {size}."]
    options = _settings(None if meta.provenance is None else meta.provenance.options)
    if meta.significance:
        test = next(iter(meta.significance.values()))
        seed = None if meta.provenance is None else meta.provenance.seed
        corrected = _CORRECTIONS[test.correction]
        parts.append(
            f"Pairs of metrics were tested by permutation (scheme '{test.scheme}', "
            f"{test.n_resamples:,} resamples, alternative '{test.alternative}', {corrected}, seed "
            f"{seed}); metrics in one cluster are not told apart at {options.get('alpha')}."
        )
        _cite(cited, "inputs", test.correction)
    if "acc-eq" in names:
        parts.append("Ties of acc-eq were calibrated on the same data.")
    return parts
