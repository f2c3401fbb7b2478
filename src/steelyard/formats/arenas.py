"""Verdicts of FastChat, Arena-Hard, Chatbot Arena and AlpacaEval.

The outcome of a battle is a :class:`Verdict` until all files are together and rows are chosen:
only then can what was left out be counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from steelyard.core.text import plural
from steelyard.formats import reshape, tables
from steelyard.formats.foreign import BETTER_HIGH, Log, Row, foreign
from steelyard.formats.judged import battles
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reshape import spread
from steelyard.formats.scoretables import LONG
from steelyard.formats.verdicts.judges import GAMES
from steelyard.formats.view import Record

JUDGE, OUTCOME = "judge", "outcome"
ITEM = "item"
#: Columns for tables of verdicts, in which both orders of a pair stay apart.
OF_VERDICTS = (ITEM, *GAMES)
WORDS: dict[Any, str] = {1.0: "left", 0.5: "tie", 0.0: "right"}


class Verdict(NamedTuple):
    """The outcome of a battle, None if it is left out; a noun and a remark to count it under."""

    outcome: float | None
    remark: tuple[str, str] | None = None


def judge_of(record: Record) -> str:
    """Return the judge, which some tools name together with the template of its prompt."""
    judge = record.get(JUDGE)
    if isinstance(judge, list) and judge and isinstance(judge[0], str) and judge[0].strip():
        return judge[0]
    return record.name(JUDGE)


def _battle(log: Log, record: Record, verdict: Verdict, **cells: Any) -> Row:
    if cells["left"] == cells["right"]:
        verdict = Verdict(None, ("battle", "of a system with itself"))
    return log.row(record, outcome=verdict, **cells)


def _counted(table: RawTable, *, judged: bool = True) -> RawTable:
    """Leave out battles without an outcome and count them; note if judges are several."""
    verdicts: Any = table.columns[OUTCOME]
    counts = Counter((v.remark, v.outcome is None) for v in verdicts if v.remark is not None)
    notes = [
        f"{table.places}: {plural(count, noun)} {remark}{': left out' if gone else ''}"
        for ((noun, remark), gone), count in counts.items()
    ]
    rows = [row for row, verdict in enumerate(verdicts) if verdict.outcome is not None]
    if not rows:
        table.fail(f"no battle is left ({'; '.join(notes)})")
    kept = table.take(rows).without(OF_VERDICTS)
    judges = sorted(set(kept.labels(JUDGE))) if judged and JUDGE in kept else []
    if len(judges) > 1:
        notes.append(
            f"{table.place}: verdicts of {plural(len(judges), 'judge')} are taken together "
            f'(where={{"{JUDGE}": "{judges[0]}"}} chooses one)'
        )
    columns = {**kept.columns, OUTCOME: [verdicts[row].outcome for row in rows]}
    counted = replace(kept, columns=columns, notes=(*table.notes, *notes))
    return battles.noted(counted)


_BATTLES = replace(battles.FORMAT, prepare=_counted)
_VOTES = replace(battles.FORMAT, prepare=partial(_counted, judged=False))  # of people
_SCORES = replace(
    LONG, prepare=lambda table: reshape.folded(spread(table, JUDGE, "score", repeated=True))
)


@foreign(
    "FastChat scores",
    _SCORES,
    names={"system": "model", "segment": "question_id/turn", "doc": "question_id",
           "domain": "turn", JUDGE: "judge[0]"},
    keys=("question_id", "model", "judge", "score", "turn"),
    files=("*_single.jsonl",),
    known_by="JUDGE_single.jsonl with question_id, model, judge, score, turn",
    example='{"question_id": 81, "model": "A", "judge": ["gpt-4", "single-v1"], '
    '"score": 7, "turn": 1}\n',
    example_name="model_judgment/gpt-4_single.jsonl",
)  # fmt: skip
def fastchat_scores(log: Log) -> Iterator[Row]:
    """Yield a row per answer; the item is the question and the turn, and -1 is no rating."""
    log.notes.append("FastChat: items are QUESTION/TURN, the turns of a question are a document")
    log.facts["score"] = BETTER_HIGH
    n_unrated = 0
    for record in log.records():
        question, turn = record.name("question_id"), record.name("turn")
        score = record.number("score")
        n_unrated += score == -1
        yield log.row(
            record,
            system=record.name("model"),
            segment=f"{question}/{turn}",
            doc=question,
            domain=f"turn {turn}",
            judge=judge_of(record),
            score=None if score == -1 else score,
        )
    log.note("verdicts without a rating (-1)", n_unrated)


@foreign(
    "FastChat pairs",
    _BATTLES,
    empty="holds no battle",
    names={"left": "model_1", "right": "model_2", OUTCOME: "g1_winner, g2_winner",
           "unit": "question_id", "time": "tstamp"},
    keys=("question_id", "model_1", "model_2", "g1_winner", "g2_winner"),
    files=("*_pair.jsonl",),
    known_by="JUDGE_pair.jsonl with model_1, model_2, g1_winner, g2_winner",
    example='{"question_id": 81, "model_1": "A", "model_2": "B", "g1_winner": "model_1", '
    '"g2_winner": "model_1", "judge": ["gpt-4", "pair-v2"], "turn": 1}\n',
    example_name="model_judgment/gpt-4_pair.jsonl",
)  # fmt: skip
def fastchat_pairs(log: Log) -> Iterator[Row]:
    """Yield a row per pair: won by the winner of both games, else tied, as FastChat counts."""
    log.notes.append("FastChat's rule: a pair is won by who wins it in both orders")
    words = {"model_1": "left", "model_2": "right", "tie": "tie", "error": "error"}
    points = {word: outcome for outcome, word in WORDS.items()}
    for record in log.records():
        question, turn = record.name("question_id"), record.name("turn", 1)
        games = [words[record.choice(key, words)] for key in ("g1_winner", "g2_winner")]
        verdict = Verdict(points.get(games[0]))
        if "error" in games:
            verdict = Verdict(None, ("pair", "with a game that failed"))
        elif games[0] != games[1]:
            verdict = Verdict(0.5, ("pair", "on which the orders differ: a tie"))
        yield _battle(
            log,
            record,
            verdict,
            left=record.name("model_1"),
            right=record.name("model_2"),
            unit=question,
            judge=judge_of(record),
            turn=record.get("turn"),
            time=record.number("tstamp"),
            **dict(zip(OF_VERDICTS, (f"{question}/{turn}", *games), strict=True)),
        )


BASELINE = "baseline"  # what version 0.1 of Arena-Hard compares with, and does not name
_CLEAR = 3.0  # what a clear win counts
_LABELS = {"A>>B": (1.0, _CLEAR), "A>B": (1.0, 1.0), "A=B": (0.5, 1.0), "B>A": (0.0, 1.0),
           "B>>A": (0.0, _CLEAR), "A<<B": (0.0, _CLEAR), "A<B": (0.0, 1.0), "B=A": (0.5, 1.0),
           "B<A": (1.0, 1.0), "B<<A": (1.0, _CLEAR)}  # fmt: skip


def _games(record: Record) -> list[tuple[float | None, float]]:
    """Return the model's outcome and weight in both games; in the first the baseline is A."""
    games = record.list("games")
    if len(games) != 2:
        record.fail(f"'games' has {plural(len(games), 'game')}, expected 2")
    outcomes: list[tuple[float | None, float]] = []
    for index, game in enumerate(games):
        if not isinstance(game, dict | None):
            record.wrong(f"games[{index}]", "an object or null", game)
        fields = replace(record, values=game or {}, place=f"games[{index}].")
        if fields.get("score") is None:
            outcomes.append((None, 1.0))
            continue
        outcome, weight = _LABELS[fields.choice("score", _LABELS)]
        outcomes.append((outcome if index else 1 - outcome, weight))
    return outcomes


@foreign(
    "Arena-Hard judgments",
    _BATTLES,
    empty="holds no battle",
    names={"left": "model", "right": "baseline", OUTCOME: "games[].score", "unit": "uid"},
    keys=("model", "judge", "games"),
    recognise=lambda view: view.has("uid") or view.has("question_id"),
    files=("*.jsonl",),
    known_by="model_judgment/JUDGE/MODEL.jsonl with model, judge, games",
    example='{"uid": "a1", "judge": "J", "model": "A", "baseline": "B", "games": '
    '[{"score": "B>A"}, {"score": "A>>B"}]}\n',
    example_name="model_judgment/J/A.jsonl",
)
def arena_hard_judgments(log: Log) -> Iterator[Row]:
    """Yield a row per game, two of an item with the sides swapped.

    A clear win counts three times. Where a game has no verdict, version 0.1 leaves out the game and
    2.0 the whole item: all as in the benchmark's own tables.
    """
    log.notes.append(
        "Arena-Hard's rule: both games of an item are battles, a clear win (>>) counts thrice"
    )
    for record in log.records():
        is_new, games = "uid" in record.values, _games(record)
        item = record.name("uid" if is_new else "question_id")
        baseline = BASELINE if record.get("baseline") is None else record.name("baseline")
        if record.get("baseline") is None and len(log.notes) == 1:
            log.notes.append(f"the files do not name the baseline: it is called '{BASELINE}'")
        remark = "of items of which a game has no verdict" if is_new else "without a verdict"
        is_incomplete = any(outcome is None for outcome, _ in games)
        words = [
            WORDS[outcome] if outcome is not None else None if game is None else "no verdict"
            for game, (outcome, _) in zip(record.list("games"), games, strict=True)
        ]
        for (outcome, weight), shown in zip(games, (words[::-1], (None, None)), strict=True):
            is_void = is_incomplete if is_new else outcome is None
            yield _battle(
                log,
                record,
                Verdict(None, ("game", remark)) if is_void else Verdict(outcome),
                left=record.name("model"),
                right=baseline,
                weight=weight,
                unit=item,
                judge=judge_of(record),
                category=record.text("category"),
                **dict(zip(OF_VERDICTS, (item, *shown), strict=True)),  # in the first row
            )


_VOTE_WORDS = {
    **dict.fromkeys(("left", "model_a"), 1.0),
    **dict.fromkeys(("right", "model_b"), 0.0),
    **dict.fromkeys(("tie", "tie (bothbad)", "both_bad", "bothbad"), 0.5),
}


@foreign(
    "Chatbot Arena votes",
    _VOTES,
    empty="holds no battle",
    names={"left": "model_a", "right": "model_b", OUTCOME: "winner", "time": "tstamp",
           "unit": "question_id"},
    keys=("model_a", "model_b", "winner", "anony"),
    files=("clean_battle*.json", "*.jsonl"),
    known_by="JSON with model_a, model_b, winner, anony",
    example='[{"model_a": "A", "model_b": "B", "winner": "model_a", "anony": true, '
    '"tstamp": 1700000000.5}]\n',
    example_name="clean_battle_20261117.json",
)  # fmt: skip
def chatbot_arena_votes(log: Log) -> Iterator[Row]:
    """Yield a row per vote; the files say whether the models were hidden."""
    shown = ("battle", 'with names shown: the arena\'s ranking is of those where={"anony": "true"}')
    for record in log.records():
        hidden = record.flag("anony")
        outcome = _VOTE_WORDS[record.choice("winner", _VOTE_WORDS)]
        has_question = record.get("question_id") is not None
        yield _battle(
            log,
            record,
            Verdict(outcome, shown if hidden is False else None),
            left=record.name("model_a"),
            right=record.name("model_b"),
            time=record.number("tstamp"),
            unit=record.name("question_id") if has_question else None,
            anony=None if hidden is None else str(hidden).lower(),
            judge=record.get("judge"),
            turn=record.get("turn"),
            language=record.get("language"),
        )


_WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")


@foreign(
    "Chatbot Arena Kaggle votes",
    _VOTES,
    empty="holds no battle",
    names={"left": "model_a", "right": "model_b", OUTCOME: ", ".join(_WINNERS)},
    looks=("text",),
    recognise=lambda view: {"model_a", "model_b", *_WINNERS} <= set(view.names),
    files=("*.csv",),
    known_by="columns model_a, model_b, winner_model_a, winner_model_b, winner_tie",
    example="id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie\n"
    "1,A,B,What is 1+1?,1,0,0\n",
    example_name="train.csv",
)
def kaggle_votes(log: Log) -> Iterator[Row]:
    """Yield a row per vote; the prompt is the unit."""
    table = tables.read(log.view.path, is_text=lambda _: True)
    log.names["unit"] = unit = "prompt" if "prompt" in table else "id"
    for row, cells in enumerate(zip(*table.columns.values(), strict=True)):
        record = Record(log.view, table.line(row), dict(zip(table.columns, cells, strict=True)))
        winners = [record.number(name, words=True) for name in _WINNERS]
        if sorted(winners, key=bool) != [0, 0, 1]:
            record.fail(f"expected 1 in one of {', '.join(_WINNERS)}, and 0 in the others")
        yield _battle(
            log,
            record,
            Verdict((1.0, 0.0, 0.5)[winners.index(1)]),
            left=record.name("model_a"),
            right=record.name("model_b"),
            unit=record.optional_name(unit),
        )


@foreign(
    "AlpacaEval annotations",
    _BATTLES,
    empty="holds no battle",
    names={"left": "generator_2", "right": "generator_1", OUTCOME: "preference",
           "unit": "instruction", JUDGE: "annotator"},
    keys=("instruction", "generator_1", "generator_2", "preference"),
    files=("annotations.json",),
    known_by="annotations.json with instruction, generator_1, generator_2, preference",
    example='[{"instruction": "Say hello.", "generator_1": "B", "generator_2": "A", '
    '"preference": 2.0}]\n',
    example_name="results/A/annotations.json",
)  # fmt: skip
def alpaca_eval_annotations(log: Log) -> Iterator[Row]:
    """Yield a row per annotation: less one, a preference from 1 (baseline) to 2 is the outcome."""
    for record in log.records():
        preference = record.number("preference")
        if preference is None:
            verdict = Verdict(None, ("annotation", "without a preference"))
        elif preference == 0:
            verdict = Verdict(0.5, ("annotation", "with preference 0: a draw"))
        elif 1 <= preference <= 2:
            verdict = Verdict(preference - 1)
        else:
            record.wrong("preference", "a number in 1..2, or 0 for a draw")
        yield _battle(
            log,
            record,
            verdict,
            left=record.name("generator_2"),
            right=record.name("generator_1"),
            unit=record.name("instruction"),
            judge=record.name("annotator", "unknown"),
            dataset=record.text("dataset"),
        )


FORMATS = (fastchat_scores, fastchat_pairs, arena_hard_judgments, chatbot_arena_votes,
           kaggle_votes, alpaca_eval_annotations)  # fmt: skip
