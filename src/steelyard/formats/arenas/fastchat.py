"""Verdicts of FastChat's LLM judge: a score per answer, or who wins in both orders of a pair.

The question and the turn are the item of a score. A pair is won by who wins both games, and tied
otherwise, as in FastChat's own tables; a pair with a game that failed is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog
from steelyard.formats.arenas.arenabattles import BATTLES, JUDGE, SCORES, Battles, Verdict, judge_of
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable, Stated, from_rows
from steelyard.formats.record import records
from steelyard.formats.view import FileView

_NO_RATING = -1  # what stands for a verdict without a score
_WINNERS = ("model_1", "model_2", "tie", "error")


def _single(view: FileView) -> RawTable:
    rows: list[dict[str, object]] = []
    lines: list[int] = []
    unrated = 0
    for record in records(view):
        question, turn = record.name("question_id"), record.name("turn")
        score = record.number("score")
        if score == _NO_RATING:
            score, unrated = None, unrated + 1
        rows.append({"system": record.name("model"), "segment": f"{question}/{turn}",
                     "doc": question, "domain": f"turn {turn}", JUDGE: judge_of(record),
                     "score": score})  # fmt: skip
        lines.append(record.line)
    notes = ["FastChat: items are QUESTION/TURN, the turns of a question are a document"]
    if unrated:
        notes.append(view.note(f"{unrated} of {len(lines)} verdicts without a rating (-1)"))
    given = {"system": "model", "segment": "question_id/turn", "doc": "question_id",
             "domain": "turn", JUDGE: "judge[0]"}  # fmt: skip
    facts = {"score": Stated(higher_is_better=True)}
    return from_rows(
        view.path, rows, lines.__getitem__, given=given, facts=facts, notes=tuple(notes)
    )


def _verdict(games: Sequence[str]) -> Verdict:
    if "error" in games:
        return Verdict(None, ("pair", "with a game that failed"))
    if games[0] != games[1]:
        return Verdict(0.5, ("pair", "on which the orders differ: a tie"))
    return Verdict({"model_1": 1.0, "model_2": 0.0, "tie": 0.5}[games[0]])


def _pairs(view: FileView) -> RawTable:
    found = Battles(view)
    for record in records(view):
        found.add(
            record,
            _verdict([record.choice(key, _WINNERS) for key in ("g1_winner", "g2_winner")]),
            left=record.name("model_1"),
            right=record.name("model_2"),
            unit=record.name("question_id"),
            judge=judge_of(record),
            turn=record.get("turn"),
            time=record.number("tstamp"),
        )
    given = {"left": "model_1", "right": "model_2", "outcome": "g1_winner, g2_winner",
             "unit": "question_id", "time": "tstamp"}  # fmt: skip
    return found.table(given, "FastChat's rule: a pair is won by who wins it in both orders")


FORMAT = ForeignFormat(
    name="FastChat scores",
    gives=EvalSet,
    known_by="JUDGE_single.jsonl with question_id, model, judge, score, turn",
    example='{"question_id": 81, "model": "A", "judge": ["gpt-4", "single-v1"], '
    '"score": 7, "turn": 1}\n',
    example_name="model_judgment/gpt-4_single.jsonl",
    keys=("question_id", "model", "judge", "score", "turn"),
    files=("*_single.jsonl",),
    unfold=_single,
    becomes=SCORES,
)
PAIRS = ForeignFormat(
    name="FastChat pairs",
    gives=BattleLog,
    known_by="JUDGE_pair.jsonl with model_1, model_2, g1_winner, g2_winner",
    example='{"question_id": 81, "model_1": "A", "model_2": "B", "g1_winner": "model_1", '
    '"g2_winner": "model_1", "judge": ["gpt-4", "pair-v2"], "turn": 1}\n',
    example_name="model_judgment/gpt-4_pair.jsonl",
    keys=("question_id", "model_1", "model_2", "g1_winner", "g2_winner"),
    files=("*_pair.jsonl",),
    unfold=_pairs,
    becomes=BATTLES,
)
