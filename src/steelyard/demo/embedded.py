"""The data that comes with Steelyard: a simulated set, its judges, sentences with wrong names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.data.evalset import EvalSet
from steelyard.formats.load import load

FOLDER = Path(__file__).parent
SCORES = FOLDER / "scores.csv.gz"
SYSTEM_SCORES = FOLDER / "system-scores.csv"
ENTITIES = FOLDER / "entities.jsonl"
RATINGS = FOLDER / "ratings.csv.gz"
ERRORS = FOLDER / "errors.jsonl.gz"
VERDICTS = FOLDER / "verdicts.csv.gz"
FILES = (SCORES, SYSTEM_SCORES, ENTITIES, RATINGS, ERRORS, VERDICTS)
RATERS = ("ann", "bo", "cy")  # the people of VERDICTS
HUMAN = ("mqm", "da")
LOWER_IS_BETTER = ("edit-rate-refA",)
ENTITY_PAIRS = ("cs-en", "de-en", "en-de", "ru-en", "zh-en")


def demo_set() -> EvalSet:
    """Load the simulated set: 12 systems, 500 segments, two human scores and twelve metrics.

    Examples
    --------
    >>> es = demo_set()
    >>> es.n_systems, es.n_segments, es.human, len(es.metrics)
    (12, 500, ('da', 'mqm'), 12)
    """
    es = load(SCORES, SYSTEM_SCORES, kind={"human": HUMAN}, lower_is_better=LOWER_IS_BETTER)
    named = tuple(replace(i, path=Path(i.path).name) for i in es.inputs)
    return replace(es, name="demo (simulated)", language_pair="xx-yy", inputs=named)


def demo_texts(lp: str) -> EvalSet:
    """Load the sentences of one language pair, with the outputs of four translators.

    Examples
    --------
    >>> demo_texts("de-en").systems
    ('careful', 'copycat', 'fluent', 'hasty')
    """
    return replace(load(ENTITIES, where={"lp": lp}, lp=lp), name="demo sentences")
