"""What weighing judges found: a card and a verdict for each, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.core.display import Result, Summary, named, one_line
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.verdicts import Verdicts
from steelyard.judging.card import JudgeCard
from steelyard.judging.cardwords import of_all, of_judge, what_to_do
from steelyard.judging.jury import Jury
from steelyard.judging.requirements import FAILS, UNDECIDED, Checked
from steelyard.judging.verdict import Verdict
from steelyard.judging.words import told_of_judges
from steelyard.stats.estimate import Estimate
from steelyard.stats.judged.alt_test import AltTest

EXIT_FAILS, EXIT_UNDECIDED = 3, 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JudgeReport(Result):
    """Judges against people.

    Parameters
    ----------
    verdicts
        What was read.
    cards, decisions
        A card and a verdict for each judge, in the order of their names.
    constant
        The verdict that would do best in the alternative annotator test if it were always given,
        and how well; None without several raters.
    jury
        All judges as one; None with fewer than three.
    requirements
        What was asked of the judges, and what came of it.
    """

    verdicts: Verdicts
    cards: tuple[JudgeCard, ...]
    decisions: tuple[Verdict, ...]
    constant: tuple[str, AltTest] | None = None
    jury: Jury | None = None
    requirements: tuple[Checked, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = zip(self.cards, self.decisions, strict=True)
        judges = listed([f"{named([c.name])}: {d.word}" for c, d in pairs], 3)
        rows = plural(len(self.verdicts), "row")
        labelled = int(self.verdicts.labelled.sum())
        return one_line(self, f"of {rows}, {labelled:,} labelled; {judges}")

    def words(self) -> Summary:
        """Say which judges deserve to be believed, what stays open, how sure that is."""
        return Summary.of(told_of_judges(self))

    def summary(self) -> str:
        """Say what can be concluded, in a few lines of words."""
        lines = [of_judge(card, verdict, self.verdicts)
                 for card, verdict in zip(self.cards, self.decisions, strict=True)]  # fmt: skip
        lines += of_all(self.cards, self.constant, self.jury)
        return "\n".join([*lines, *what_to_do(self.cards, self.decisions, self.verdicts)])

    def table(self) -> Table:
        """Give a row per judge."""
        pairs = self.verdicts.kind == "pairs"
        silent = any(card.abstained.value > 0 for card in self.cards)
        columns = (
            Column("judge"), Column("n", importance=6),
            Column("agreement", "higher", 3, importance=9), Column("low", None, 3, importance=4),
            Column("high", None, 3, importance=4), Column("kappa", "higher", 3, importance=8),
            *((Column("abstained", "lower", 3, importance=7),) if silent else ()),
            Column("people", None, 3, importance=7), Column("sentinel", None, 3, importance=3),
            Column("rho", "higher", 3, importance=2),
            Column("systems alike", "higher", 3, importance=5),
            Column("gap", "lower", mixed=True, importance=3),
            *((Column("position", None, 3, importance=4),) if pairs else ()),
            Column("100 labels are worth", "higher", 0, importance=4),
            Column("verdict", importance=9),
        )  # fmt: skip
        rows = [self._row(card, verdict.word, pairs=pairs, silent=silent)
                for card, verdict in zip(self.cards, self.decisions, strict=True)]  # fmt: skip
        return Table("Judges", columns, tuple(rows))

    def _row(self, card: JudgeCard, verdict: str, *, pairs: bool, silent: bool) -> tuple[Any, ...]:
        ceiling, best = card.ceiling, card.best_sentinel
        gap = card.systems.gap
        place = card.position
        main = card.accuracy if card.agreement is not None else card.rho
        return (
            card.name, card.n, main.value, main.low, main.high, card.kappa.value,
            *((card.abstained.value,) if silent else ()),
            None if ceiling is None else ceiling.people.value,
            None if best is None else best.accuracy, card.rho.value, card.systems.alike,
            None if gap is None else gap.gap.value,
            *((None if place is None else place.bias.value,) if pairs else ()),
            card.worth, verdict,
        )  # fmt: skip

    def pieces(self) -> list[Table | str]:
        """Give the table, the card of each judge in words, and what came of requirements."""
        checked = [f"{own.result}: {own.judge} {own.requirement}: {own.found}"
                   for own in self.requirements]  # fmt: skip
        return [self.table(), self.summary(), "\n".join(checked)]

    @property
    def exit_code(self) -> int:
        """0 if all requirements hold, 3 if one fails, 4 if one is undecided."""
        results = {own.result for own in self.requirements}
        return EXIT_FAILS if FAILS in results else EXIT_UNDECIDED if UNDECIDED in results else 0

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        judges = [
            card.to_dict() | {"verdict": verdict.word, "reasons": list(verdict.reasons),
                              "labels_needed": verdict.labels_needed}
            for card, verdict in zip(self.cards, self.decisions, strict=True)
        ]  # fmt: skip
        constant = None
        if self.constant is not None:
            constant = {"label": self.constant[0], **self.constant[1].to_dict()}
        v = self.verdicts
        return {
            "summary": self.summary().splitlines(),
            "kind": v.kind,
            "n_items": len(v),
            "n_labelled": int(v.labelled.sum()),
            "labels": "random",  # what is said of their worth takes them for a random sample
            "unit": {
                "name": v.unit_name,
                "n": len(v.units) or len(v),
                "design_effect": _design_effect(self.cards),
            },
            "human": {
                "raters": [rater.name for rater in v.raters],
                "ceiling": _ceiling(self.cards),
                "best_constant": constant,
            },
            "judges": judges,
            "jury": None if self.jury is None else self.jury.to_dict(),
            "requirements": [own.to_dict() for own in self.requirements],
            **self.more,
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }


def _design_effect(cards: Sequence[JudgeCard]) -> float:
    """How much noisier agreement is than that of independent rows, of the judge with most rows."""
    known = [card.accuracy for card in cards if card.accuracy.known and card.accuracy.se > 0]
    if not known:
        return float("nan")
    own = max(known, key=lambda one: one.n)
    return own.se**2 * own.n / (own.value * (1 - own.value))


def _ceiling(cards: Sequence[JudgeCard]) -> dict[str, Any] | None:
    """Give how far people agree, of the judge with most rows: the target differs a little."""
    own: list[Estimate] = [card.ceiling.people for card in cards if card.ceiling is not None]
    known = [one for one in own if one.known]
    return max(known, key=lambda one: one.n).to_dict() if known else None
