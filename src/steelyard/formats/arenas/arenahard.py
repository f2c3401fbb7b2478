"""Verdicts of Arena-Hard: a model against the baseline, twice, with the sides swapped.

The first game has the baseline as A, the second the model. A clear win (``>>``) counts three times,
as in the benchmark's own tables. What a game without a verdict costs is also settled there: version
0.1 leaves out the game, 2.0 the whole item.
"""

from __future__ import annotations

from steelyard.core.text import plural
from steelyard.data.judgements import BattleLog
from steelyard.formats.arenas.arenabattles import BATTLES, Battles, Verdict, judge_of
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.record import Record, records
from steelyard.formats.view import FileView

_CLEAR = 3.0  # what a clear win counts
BASELINE = "baseline"  # what version 0.1 compares with, and does not name
_GAME_GONE = ("game", "without a verdict")
_ITEM_GONE = ("game", "of items of which a game has no verdict")
#: What A gets by each verdict, and how much it counts.
_VERDICTS = {
    "A>>B": (1.0, _CLEAR),
    "A>B": (1.0, 1.0),
    "A=B": (0.5, 1.0),
    "B>A": (0.0, 1.0),
    "B>>A": (0.0, _CLEAR),
    "A<<B": (0.0, _CLEAR),
    "A<B": (0.0, 1.0),
    "B=A": (0.5, 1.0),
    "B<A": (1.0, 1.0),
    "B<<A": (1.0, _CLEAR),
}


def _game(record: Record, place: int, game: object) -> tuple[float, float] | None:
    """Give the model's outcome of a game and its weight; None without a verdict."""
    if game is None:
        return None
    if not isinstance(game, dict):
        record.wrong(f"games[{place}]", "an object or null", game)
    own = Record(record.view, record.start, game, f"games[{place}].")
    if own.get("score") is None:
        return None
    outcome, weight = _VERDICTS[own.choice("score", _VERDICTS)]
    return (outcome if place else 1 - outcome), weight


def outcome_of(record: Record, place: int, game: object) -> float | str | None:
    """Give the model's outcome of a game; None if it was not judged, a word if no verdict came."""
    found = _game(record, place, game)
    return found[0] if found is not None else None if game is None else "no verdict"


def _unfold(view: FileView) -> RawTable:
    found = Battles(view)
    notes = ["Arena-Hard's rule: both games of an item are battles, a clear win (>>) counts thrice"]
    for record in records(view):
        newer = "uid" in record.values
        games = record.list("games")
        if len(games) != 2:
            record.fail(f"'games' has {plural(len(games), 'game')}, expected 2")
        verdicts = [_game(record, place, game) for place, game in enumerate(games)]
        named = record.get("baseline") is not None
        if not named and len(notes) == 1:
            notes.append(f"the files do not name the baseline: it is called '{BASELINE}'")
        whole = None not in verdicts or not newer
        for verdict in verdicts:
            outcome, weight = verdict or (None, 1.0)
            gone = Verdict(None, _ITEM_GONE if newer else _GAME_GONE)
            found.add(
                record,
                gone if outcome is None or not whole else Verdict(outcome),
                left=record.name("model"),
                right=record.name("baseline") if named else BASELINE,
                weight=weight,
                unit=record.name("uid" if newer else "question_id"),
                judge=judge_of(record),
                category=record.text("category"),
            )
    given = {"left": "model", "right": "baseline", "outcome": "games[].score", "unit": "uid"}
    return found.table(given, *notes)


FORMAT = ForeignFormat(
    name="Arena-Hard judgments",
    gives=BattleLog,
    known_by="model_judgment/JUDGE/MODEL.jsonl with model, judge, games",
    example='{"uid": "a1", "judge": "J", "model": "A", "baseline": "B", "games": '
    '[{"score": "B>A"}, {"score": "A>>B"}]}\n',
    example_name="model_judgment/J/A.jsonl",
    keys=("model", "judge", "games"),
    recognise=lambda view: view.has("uid") or view.has("question_id"),
    files=("*.jsonl",),
    unfold=_unfold,
    becomes=BATTLES,
)
