"""The decision card of two systems: how far apart they are, how sure that is, and a verdict.

Differences are the first system minus the second, in the score's own numbers; inside this module
scores are oriented so that more is better.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steelyard.comparison.options import CardOptions
from steelyard.comparison.rankings import (
    Sample,
    check_segments,
    compared,
    is_binary,
    mean_warnings,
    means,
    permutation,
    the_score,
)
from steelyard.comparison.results import (
    ACCURACY,
    CORPUS,
    LEVEL,
    PROPORTION,
    SENTENCES,
    Comparison,
    decision_table,
    decision_words,
    spoken,
)
from steelyard.comparison.suites import TASK, Part, Suite, by_part, item_noun, part_of, suites_of
from steelyard.core.decision import Decision, shown_interval
from steelyard.core.display import (
    RankingRow,
    Result,
    Statement,
    Summary,
    named,
    one_line,
    ranked,
    ranking,
)
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import check_choice, check_pair, keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import (
    Column,
    Table,
    interval_decimals,
    plain,
    shown_number,
    shown_p_value,
)
from steelyard.core.text import all_of, plural, sentence
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings
from steelyard.data.units import UnitEffect, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Counts, Floats, beyond_rounding
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import adjust_pairs
from steelyard.stats.paired.power import MOST, permutation_needed
from steelyard.stats.permutation.pvalues import block_sums
from steelyard.stats.resampling import bootstrap

if TYPE_CHECKING:
    from steelyard.stats.curves import AgreementCurve

_REGRESSIONS = 5  # segments that are listed, and of these on a terminal
_SHOWN_REGRESSIONS = 3
_MOST_CORRECTED = 30  # systems up to which the p-value is corrected for all pairs of the set
_NAN = math.nan
_FEWEST_POWER = 8  # units from which on a pilot says how many it would take
POWER = 0.8  # at which the segments needed are counted
_UNCLEAR = 5  # scores of up to 1 end there, or are of systems of no use on a scale up to 100
_SEES = re.compile(r"-(ref[^-]*|src|all)$")  # what a metric's name says it compares with
_SAME_IN_JSON = (
    "score", "pair", "n_segments", "higher_is_better", "of", "means", "difference", "ci",
    "wins", "ties", "losses", "unit", "verdict", "warnings",
)  # fmt: skip
#: Three readings of one difference, of which none implies another (Peyrard et al., Proposition 1).
_READINGS = ("difference_of_means", "difference_of_medians", "median_of_differences")
_DRAWS, _CELLS = 2_000, 4_000_000  # resamples behind medians, cells of them held at a time


class Reading(NamedTuple):
    """A difference with its 95% interval; NaN where there is none."""

    value: float
    ci: tuple[float, float] = (_NAN, _NAN)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "undefined"
        shown, interval = shown_interval(self.value, *self.ci)
        plus = "+" if self.value > 0 else ""
        return f"{plus}{shown} ({'no interval' if np.isnan(self.ci).any() else interval})"


class Regression(NamedTuple):
    """A segment on which the system that is ahead loses."""

    segment: str
    scores: tuple[float, float]
    source: str | None = None
    outputs: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True, repr=False)
class Card(Result):
    """The difference of two systems by one score: ``difference`` is the first minus the second.

    Numbers are those of the score itself, also where less is better. ``means`` are corpus scores
    where the score is one (``of``), and proportions where all scores are 0 or 1. ``needed``
    segments show a difference this large (None: over 10 million).
    """

    score: str
    pair: tuple[str, str]
    n_segments: int  # that both have
    means: tuple[float, float]
    difference: float
    ci: tuple[float, float]
    p: float  # of the pair alone
    decision: Decision  # of several tasks by their macro average
    part: Part  # the whole set, or that macro average
    pooled: Decision  # by all segments together
    suites: Mapping[str, Suite]
    wins: int
    ties: int
    losses: int
    p_sign: float
    needed: int | None
    unit: UnitEffect
    readings: tuple[Reading, ...]  # of means, of medians, median of differences
    noun: str  # what segments are called: ``item`` in LLM evaluations
    source: EvalSet = field(compare=False)  # what figures show
    regressions: tuple[Regression, ...] = ()
    worth: AgreementCurve | None = None  # of differences by the score, to human raters
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    higher_is_better: bool = True
    of: str | None = None

    @property
    def verdict(self) -> str:
        """Which system is better, or that it is too close to call."""
        if not (self.wins or self.losses):
            return f"{self.pair[0]} and {self.pair[1]} tie on every {self.noun}."
        return decision_words(self.decision, tuple(self.source.segments.references))

    def lead(self) -> Decision:
        """Return the decision, as comparisons of all systems do."""
        return self.decision

    @property
    def tally(self) -> str:
        """Wins, ties and losses in words."""
        return f"{self.wins:,}, {self.ties:,}, {self.losses:,}"

    def words(self) -> Summary:
        """Return which system is better, what stays open, how sure that is."""
        return Summary.of(self._statements())

    def answer(self) -> tuple[str, ...]:
        """Return the verdict, and the sentence that says most beside it."""
        return self.words().sentences()[: 3 if TASK in self.suites else 2]

    def _statements(self) -> Iterator[Statement]:
        if TASK in self.suites:
            yield from self.suites[TASK].statements(self.pooled, spoken(self.unit, self.noun))
            return
        open_question = not self.decision.significant
        yield "undecided" if open_question else "settled", self.verdict
        if open_question and self._powered:
            count = f"more than {MOST:,}" if self.needed is None else f"about {self.needed:,}"
            text = f"A difference this large would take {count} {self.noun}s ({POWER:.0%} power; "
            text += f"there are {self.n_segments:,})."
            if self.needed is not None and self.needed <= self.n_segments:
                text = f"The power for a difference this large is {POWER:.0%} or more already."
            yield "undecided", text
        if self.worth is not None:
            at = self.worth.at(self.difference)
            if not any(math.isnan(at[name]) for name in ("agree", "low", "high")):
                yield "sureness", sentence(self.worth.sentence(self.difference))
        yield "sureness", spoken(self.unit, self.noun).summary()

    @property
    def _powered(self) -> bool:
        return bool(self.difference) and not math.isnan(self.p) and self.unit.n >= _FEWEST_POWER

    def __repr__(self) -> str:
        a, b = (named([name]) for name in self.pair)
        size = plural(self.n_segments, "segment")
        apart = Reading(self.difference, self.ci)
        return one_line(self, f"by {self.score}: {a} minus {b} {apart}, {size}")

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints; of several tasks, the numbers are of the macro average."""
        ranks = ranked(self.means, higher_is_better=self.higher_is_better)
        rows = sorted(map(RankingRow, self.pair, ranks, self.means), key=lambda r: r.rank or 2)
        test = "macro" if TASK in self.suites else "permutation"
        return {
            **{name: plain(getattr(self, name)) for name in _SAME_IN_JSON},
            "systems": list(self.pair),
            "ranking": ranking("system", rows),
            "p": {test: self.p, "sign": self.p_sign},
            "p_adjusted": self.decision.p_adjusted,
            "n_pairs": self.decision.n_pairs,
            "segments_needed": self.needed,
            "power": POWER,
            "readings": {k: r._asdict() for k, r in zip(_READINGS, self.readings, strict=True)},
            "worth": None if self.worth is None else _worth_facts(self.worth, self.difference),
            "regressions": [regression._asdict() for regression in self.regressions],
            **by_part(self.suites),
            **origin(self.provenance),
        }

    def table(self) -> Table:
        """Return the card with all rows; of several tasks, a row for each."""
        return self.suites[TASK].table() if TASK in self.suites else self._rows(brief=False)

    def pieces(self) -> list[Table | str]:
        """Return the card, or the table by task, as a terminal shows it, and those of slices."""
        suites = [suite.table() for suite in self.suites.values()]
        return [*([] if TASK in self.suites else [self._rows(brief=True)]), *suites]

    def _rows(self, *, brief: bool) -> Table:
        lower = "" if self.higher_is_better else ", lower is better"
        by = "" if self.unit.design_effect == 1 else f" by {self.unit.name}"
        corpus = self.of == CORPUS
        name = f"{CORPUS} {self.score}" if corpus else self.score
        digits = interval_decimals([self.difference], *([end] for end in self.ci))
        means = ", ".join(shown_number(mean, digits) for mean in self.means)
        evidence = replace(self.decision, low=_NAN, high=_NAN).evidence()
        rows = [
            (", ".join(self.pair), f"{means} ({name}{lower})"),
            ("difference", str(Reading(self.difference, self.ci))),
            (f"p (permutation{by})", evidence.removeprefix("p = ") or "undefined"),
            ("wins, ties, losses", self.tally),
        ]
        if not brief and self.of != PROPORTION:  # medians of scores that are 0 or 1 say nothing
            of = f" ({SENTENCES})" if corpus else ""
            rows.append((f"difference of medians{of}", str(self.readings[1])))
            rows.append((f"median of differences{of}", str(self.readings[2])))
        if not brief:
            shown = "undefined" if math.isnan(self.p_sign) else shown_p_value(self.p_sign)
            rows.append((f"p of wins (sign{by})", shown))
        if self._powered:
            count = f"more than {MOST:,}" if self.needed is None else f"{self.needed:,}"
            text = f"{count} (there are {self.n_segments:,})"
            rows.append((f"{self.noun}s for {POWER:.0%} power", text))
        for regression in self.regressions[: _SHOWN_REGRESSIONS if brief else None]:
            scores = "{:.4g}, {:.4g}".format(*regression.scores)
            rows.append((f"{self.decision.leader} loses most: {regression.segment}", scores))
        notes = [self.unit.sentence()]
        if self.worth is not None:
            notes.append(self.worth.sentence(self.difference))
        columns = (Column("decision"), Column("value"))
        return Table("", columns, tuple(rows), () if brief else tuple(filter(None, notes)))


@dataclass(frozen=True, slots=True, repr=False)
class ByScore(Result):
    """One result for each of several scores: comparisons of all systems, or cards of a pair."""

    results: Mapping[str, Comparison | Card]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @classmethod
    def of(cls, results: Mapping[str, Comparison | Card]) -> ByScore:
        """Gather results, made in the same way from the same inputs, with all their warnings."""
        warnings = (text for result in results.values() for text in result.warnings)
        first = next(iter(results.values()))
        return cls(results, tuple(dict.fromkeys(warnings)), first.provenance)

    @property
    def first(self) -> Comparison | Card:
        """The result by the first score."""
        return next(iter(self.results.values()))

    def leads(self) -> dict[str, Decision]:
        """Return, by score, the decision on the pair, or on the first two systems."""
        leads = {name: result.lead() for name, result in self.results.items()}
        return {name: decision for name, decision in leads.items() if decision is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "systems": self.first.to_dict()["systems"],
            "scores": {name: result.to_dict() for name, result in self.results.items()},
            "unit": self.first.unit.to_dict(),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def __repr__(self) -> str:
        return one_line(self, f"by {named(list(self.results))}")

    def words(self) -> Summary:
        """Return whether the scores agree on the leader, and the verdict by each."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        leads = self.leads()
        by_leader: dict[str, list[str]] = {}
        for name, decision in leads.items():
            by_leader.setdefault(decision.leader, []).append(name)
        if len(by_leader) > 1:
            sides = "; ".join(f"{leader} by {all_of(by)}" for leader, by in by_leader.items())
            yield "undecided", f"The scores disagree on the best system: {sides}."
        for name, decision in leads.items():
            yield (
                "settled" if decision.significant else "undecided",
                f"{name}: {decision_words(decision)}",
            )

    def answer(self) -> tuple[str, ...]:
        """Return the first sentences; the table has all verdicts."""
        return tuple(text for _, text in self._statements())[:3]

    def table(self) -> Table:
        """Return a row per score: who leads whom by how much, and how sure that is."""
        leads = self.leads()
        table = decision_table(leads.values())
        rows = tuple((name, *row) for name, row in zip(leads, table.rows, strict=True))
        notes = (self.first.unit.sentence(),)
        return Table("", (Column("score"), *table.columns), rows, notes)

    def pieces(self) -> list[Table | str]:
        """Return the table as a terminal shows it; of a pair with its wins, ties and losses."""
        names = ["score", "leader", "other", "lead (95% CI)", "p", "p adjusted"]
        rows = [[name, d.leader, d.other, *d.cells()] for name, d in self.leads().items()]
        if isinstance(self.first, Card):
            names = [*names[:2], *names[3:], "wins, ties, losses"]
            cards = (card for card in self.results.values() if isinstance(card, Card))
            rows = [[*row[:2], *row[3:], c.tally] for row, c in zip(rows, cards, strict=True)]
        return [Table("", tuple(map(Column, names)), tuple(map(tuple, rows)))]


@keywords(CardOptions)
def decide(
    es: Source,
    pair: tuple[str, str],
    score: str | None = None,
    *,
    options: CardOptions,
    rng: Rng = 0,
) -> Card:
    """Weigh one system against another.

    Parameters
    ----------
    es
        Systems, segments and scores.
    pair
        The two systems; the difference is the first minus the second.
    score
        Which score; may be left out if there is only one.
    human
        A human score that says what a difference is worth, where eight systems or more have it;
        else a reference does for BLEU, chrF, TER (of the corpus), EED and CharacTER.
    alpha, slices
        Level of the tests; columns by each of whose values the two are compared, too.
    unit
        What is independent, as in :func:`steelyard.compare`.
    n_bootstrap, rng
        Number of resamples, seed of the draws.

    Returns
    -------
    Card
        The difference with its interval and p-values; ``decision`` is the verdict.

    See Also
    --------
    compare : Compare all systems.

    Examples
    --------
    >>> import steelyard as sy
    >>> card = decide(sy.demo_set(), ("Dolomite", "Granite"), "learned-refA")
    >>> card.verdict
    'Dolomite is better than Granite by 0.04...'
    """
    es = as_evalset(es, options.human, options.unit)
    check_choice(es.scores, optional=True, human=options.human)
    two, at = pair_sample(es, pair, score, options.unit)
    stream, stats, sign = generator(rng), two.statistics, two.sign
    table, gap, added = es[two.name], two.scores[0] - two.scores[1], np.subtract(*two.additive())
    counts = bootstrap.segment_counts(
        options.n_bootstrap, len(gap), stream, two.blocks, compact=True
    )
    scores, drawn = means(replace(two, counts=counts))
    assert drawn is not None
    lead = float(gap.mean() if stats is None else scores[0] - scores[1])
    tested, error = permutation(two, stream)
    level = two.units.level(LEVEL, np.arange(len(gap))) if two.units.n > 1 else _NAN
    # Scores that are 0 and -1 are as good as 0 and 1.
    binary = stats is None and is_binary(np.abs(two.scores))
    whole = part_of("all", sign * scores + 0.0, added, two.blocks, float(tested[0, 1]), lead=lead,
                    ends=percentiles(drawn[:, 0] - drawn[:, 1], level), binary=binary)  # fmt: skip
    needed = _needed(added, two, options, stream)
    adjusted, n_pairs = _corrected(es, two, whole.p, options.unit, stream)
    pooled = replace(whole, p_adjusted=adjusted).decision(
        pair,
        n_pairs=n_pairs,
        test="paired permutation test",
        unit="run" if two.units.name[0].isdecimal() else two.units.name,
        alpha=options.alpha,
    )
    of = CORPUS if stats is not None else PROPORTION if is_binary(table.values) else None
    settings = {"unit": options.unit, "alpha": options.alpha}
    settings["of"] = ACCURACY if of == PROPORTION and item_noun(es) == "item" else two.name
    suites = {
        column: suite if column == TASK else replace(suite, macro=whole)
        for column, suite in suites_of(es, two.name, pair, options.slices, **settings).items()
    }
    wins, losses = int((gap > 0).sum()), int((gap < 0).sum())
    warnings = [*two.warnings, *paired.error_note(error)]
    warnings += [text for suite in suites.values() for text in suite.warnings()]
    if whole.p < options.alpha and (wins - losses) * lead < 0:
        warnings.append("the mean and the number of wins point in different directions")
    part, decision, test = whole, pooled, "permutation"
    if TASK in suites:
        part, decision, test = suites[TASK].macro, suites[TASK].decision(), "t"
    settings = {"score": two.name, "pair": ",".join(pair), "by": "mean", "unit": two.units.name,
                "tests": test, "correction": "holm", "bootstrap": options.n_bootstrap}  # fmt: skip
    reading = Reading(whole.difference(sign), whole.ends(sign))
    first, second = map(float, part.scores)
    return Card(
        score=two.name,
        pair=pair,
        n_segments=part.n,
        means=(first, second),
        difference=part.difference(sign),
        ci=part.ends(sign),
        p=part.p,
        decision=decision,
        part=part,
        pooled=pooled,
        suites=suites,
        wins=wins,
        ties=int((gap == 0).sum()),
        losses=losses,
        p_sign=float(paired.sign_test(two.scores, two.blocks).p[0, 1]),
        needed=needed,
        unit=two.units.effect(np.stack([added, 0 * added])),
        readings=(reading, *_medians(two, counts, level)),
        noun=item_noun(es),
        source=es,
        regressions=tuple(regressions(es, two, at, part.lead)),
        worth=_worth(es, two, options.human, stream.spawn(1)[0]) if lead else None,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", settings, es.inputs, rng, options),
        higher_is_better=two.higher_is_better,
        of=of,
    )


def pair_sample(
    es: EvalSet, pair: tuple[str, str], score: str | None, unit: str
) -> tuple[Sample, Counts]:
    """Take two systems on the segments that both have; return also which these are."""
    check_pair(pair=pair)
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
    if pair[0] == pair[1]:
        raise UsageError(f"a pair needs two systems, got '{pair[0]}' twice")
    chosen = the_score(es, score)
    check_segments(es, chosen)
    table, rows = es[chosen], [es.systems.index(name) for name in pair]
    values, stats = table.oriented[rows], table.statistics
    stats = None if stats is None else stats.select(systems=rows)
    known = ~np.isnan(values) if stats is None else stats.known
    shared = np.asarray(known.all(axis=0))
    at = np.flatnonzero(shared)
    if not len(at):
        raise UsageError(f"{pair[0]} and {pair[1]} share no segment with a '{chosen}' score")
    units = units_of(es.segments, unit, shared).of(shared)
    warnings = [*es.notes, *direction_warnings(chosen, table), *mean_warnings(chosen, table)]
    warnings += units.warnings
    if units.n < 2:
        warnings.append(f"{units.counted()}: there is nothing to resample, and no interval")
    alone = int((~np.isnan(values).all(axis=0) & ~shared).sum())
    if alone:
        warnings.append(f"{alone:,} segments that only one of the two has were excluded")
    sample = Sample(
        scores=values[:, at],
        systems=pair,
        name=chosen,
        higher_is_better=table.higher_is_better,
        statistics=None if stats is None else stats.select(segments=at),
        warnings=tuple(warnings),
        units=units,
        n_segments=len(at),
    )
    return sample, at


def percentiles(drawn: Floats, level: float) -> tuple[float, float]:
    """Return the percentile interval of resamples; NaN at no level."""
    if math.isnan(level):
        return _NAN, _NAN
    low, high = bootstrap.interval(drawn[:, None], level)
    return float(low[0]), float(high[0])


def _corrected(
    es: EvalSet, two: Sample, p: float, unit: str, rng: np.random.Generator
) -> tuple[float, int]:
    """Correct the p-value for all pairs of the set; return also how many these are."""
    every = compared(es, two.name, unit)
    if not 2 < len(every.systems) <= _MOST_CORRECTED:
        return p, 1
    tested = permutation(every, rng).p.copy()
    i, j = (every.systems.index(name) for name in two.systems)
    tested[i, j] = tested[j, i] = p
    n_pairs = int(np.triu(~np.isnan(tested), 1).sum())
    return float(adjust_pairs(tested, "holm", symmetric=True)[i, j]), n_pairs


def _medians(two: Sample, counts: Floats, level: float) -> Iterator[Reading]:
    """Yield the difference of medians and the median of differences, from 2,000 resamples."""
    rows = np.stack([*two.scores, two.scores[0] - two.scores[1]])
    a, b, of_gap = bootstrap.row_medians(rows)
    # Rounding prefers nobody.
    values = beyond_rounding(np.array([a - b, of_gap]), float(np.abs(two.scores).max()))
    drawn = np.full((1, 3), _NAN)
    if not math.isnan(level):
        step, some = max(1, _CELLS // rows.shape[1]), counts[:_DRAWS]
        parts = [some[k : k + step] for k in range(0, len(some), step)]
        drawn = np.concatenate([bootstrap.bootstrap_medians(rows, part) for part in parts])
    for value, of_draws in zip(values, (drawn[:, 0] - drawn[:, 1], drawn[:, 2]), strict=True):
        low, high = sorted(two.sign * end + 0.0 for end in percentiles(of_draws, level))
        yield Reading(two.sign * float(value) + 0.0, (low, high))


def _needed(
    added: Floats, two: Sample, options: CardOptions, rng: np.random.Generator
) -> int | None:
    """Return the segments at which the permutation test would see a difference this large.

    Where documents are permuted, as many of them as it takes, of the length they have on average.
    """
    if two.units.n < 2 or not float(added.mean()) or len(added) < 2:
        return None
    sums = block_sums(added[None, :], two.blocks)[0]
    needed = permutation_needed(sums, options.alpha, POWER, rng)
    return None if needed is None else int(np.ceil(needed * len(added) / len(sums)))


def regressions(es: EvalSet, two: Sample, at: Counts, lead: float) -> Iterator[Regression]:
    """Yield the segments on which the system that is ahead loses most."""
    loss = np.subtract(*two.scores) * (1 if lead >= 0 else -1)
    for k in np.argsort(loss, kind="stable")[:_REGRESSIONS]:
        if not loss[k] < 0:
            return
        s = int(at[k])
        first, second = (float(two.sign * x + 0.0) for x in two.scores[:, k])
        source = None if es.segments.sources is None else es.segments.sources[s]
        a, b = (es.outputs[name][s] if name in es.outputs else None for name in two.systems)
        yield Regression(es.segments.ids[s], (first, second), source, (a, b))


def _worth(
    es: EvalSet, two: Sample, human: str | None, rng: np.random.Generator
) -> AgreementCurve | None:
    """Return what differences are worth to human raters: measured here, or by a reference."""
    table = es[two.name]
    if table.kind == "human":
        return None
    human = human or (es.human[0] if len(es.human) == 1 else None)
    curve = None
    if human not in (None, two.name):
        from steelyard.metaevaluation.data import curve_of_set  # which takes long to load

        curve = curve_of_set(es, str(human), two.name, rng)
    scores = table.system_means()[[es.systems.index(name) for name in two.systems]]
    return curve or reference_worth(two.name, scores, corpus=two.statistics is not None)


def reference_worth(score: str, scores: Floats, *, corpus: bool) -> AgreementCurve | None:
    """Return what differences of a well-known metric are worth, None where that is unknown.

    ``scores`` show the scale: up to 1, or up to 100; ``corpus``: they are of a whole test set, as
    those of BLEU, chrF and TER must be. ``tools/make_worth.py`` made the reference.
    """
    bare = _SEES.sub("", score).casefold()
    present = scores[~np.isnan(scores)]
    reference = tomllib.loads(files("steelyard.comparison").joinpath("worth.toml").read_text())
    for metric in reference["metric"]:
        if bare not in metric["names"] or (metric["corpus"] and not corpus) or not present.size:
            continue
        most = float(present.max())
        if present.min() < 0 or 1 < most <= _UNCLEAR or most > metric["most"]:
            return None
        from steelyard.stats.curves import CURVES, AgreementCurve  # which loads SciPy

        curves: dict[str, Any] = {name: np.array(metric[name]) for name in CURVES}
        counts = {name: metric[name] for name in ("n_pairs", "n_systems", "n_sets", "accuracy")}
        x = np.array(metric["x"]) / (100 if most <= 1 else 1)
        return AgreementCurve(
            metric=score, x=x, **curves, needed={}, **counts, origin=reference["origin"]
        )
    return None


def _worth_facts(curve: AgreementCurve, difference: float) -> dict[str, Any]:
    same = ("metric", "alpha", "n_pairs", "n_systems", "n_sets")
    return {
        **{name: getattr(curve, name) for name in same},
        **curve.at(difference),
        "difference": abs(difference),
        "beyond": bool(abs(difference) > curve.x[-1]),
        "origin": curve.origin or None,
        "sentence": curve.sentence(difference),
    }
