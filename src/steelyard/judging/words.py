"""What is found of judges, by part: what can be concluded, what stays open, how sure that is.

The sentences are those of the summaries, which each result writes in its own order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.core.display import Statement
from steelyard.core.text import all_of, plural, sentence
from steelyard.judging.cardwords import of_all, of_judge, what_to_do
from steelyard.judging.verdict import BELIEVE, CORRECT, DO_NOT, RANKING, TOO_LITTLE

if TYPE_CHECKING:
    from steelyard.judging.results import JudgeReport

#: What to do with judges of each verdict, from the best on.
_DO = {
    BELIEVE: "believe {}",
    RANKING: "believe {} for ranking, not for levels or single verdicts",
    CORRECT: "use {} only with correction by labels (steelyard judge correct)",
    DO_NOT: "do not use {}",
}


def told_of_judges(found: JudgeReport) -> Iterator[Statement]:
    """Say which judges deserve to be believed, and why."""
    if not found.cards:
        yield "undecided", "There is no judge to weigh."
        return
    lines = {
        card.name: of_judge(card, verdict, found.verdicts).splitlines()
        for card, verdict in zip(found.cards, found.decisions, strict=True)
    }
    words = {card.name: d.word for card, d in zip(found.cards, found.decisions, strict=True)}
    decided = [name for name, word in words.items() if word != TOO_LITTLE]
    if len(decided) == 1:
        yield "settled", lines[decided[0]][0]
    elif decided:
        parts = [
            what.format(all_of(own))
            for word, what in _DO.items()
            if (own := [name for name in decided if words[name] == word])
        ]
        yield "settled", sentence("; ".join(parts))
    for name, word in words.items():
        if word == TOO_LITTLE:
            yield "undecided", lines[name][0]
    order = [*_DO, TOO_LITTLE]
    for name in sorted(lines, key=lambda name: order.index(words[name])):
        for line in lines[name][1:]:
            yield "sureness", _of(name, line.strip())
    for line in of_all(found.cards, found.constant, found.jury):
        yield "sureness", line
    for line in what_to_do(found.cards, found.decisions, found.verdicts):
        yield "sureness", line


def _of(judge: str, line: str) -> str:
    """Name the judge in a line that stands below its name."""
    return f"{judge} {line[3:]}" if line.startswith("It ") else f"{judge}: {line}"


def rows_told(n: int, judges: int) -> Statement:
    """Say how much of people's labels a finding rests on."""
    each = "" if judges == 1 else ", of the judge with most"
    return "sureness", f"This rests on {plural(n, 'row')} that people labelled{each}."
