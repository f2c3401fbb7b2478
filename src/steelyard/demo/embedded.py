"""The data that comes with Steelyard: twelve systems that translate, and all who judged them.

One story: scores, the texts behind them, the errors that experts marked there, direct assessment,
verdicts of judges and battles, all about the same outputs. Everything in it is invented
(``tools/make_demo``). The sentences with wrong names, in five language pairs, stand for themselves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from steelyard.core.options import check_flag
from steelyard.data.evalset import EvalSet
from steelyard.formats.files import json_lines
from steelyard.formats.load import load

FOLDER = Path(__file__).parent
SCORES = FOLDER / "scores.csv.gz"
SYSTEM_SCORES = FOLDER / "system-scores.csv"
TEXTS = FOLDER / "texts.jsonl.gz"
RATINGS = FOLDER / "ratings.csv.gz"
ERRORS = FOLDER / "errors.jsonl.gz"
VERDICTS = FOLDER / "verdicts.csv.gz"
BATTLES = FOLDER / "battles.csv.gz"
ENTITIES = FOLDER / "entities.jsonl"
FILES = (SCORES, SYSTEM_SCORES, TEXTS, ERRORS, RATINGS, VERDICTS, BATTLES, ENTITIES)
RATERS = ("ann", "bo", "cy")  # the people of VERDICTS
HUMAN = ("mqm", "da")
LOWER_IS_BETTER = ("edit-rate-refA",)
LANGUAGES = "de-en"
ENTITY_PAIRS = ("cs-en", "de-en", "en-de", "ru-en", "zh-en")


def demo_set(*, texts: bool = False) -> EvalSet:
    """Load the simulated set: 12 systems, 500 segments, two human scores and twelve metrics.

    Parameters
    ----------
    texts
        Whether to load the sources, references and outputs, too.

    Examples
    --------
    >>> es = demo_set()
    >>> es.n_systems, es.n_segments, es.human, len(es.metrics)
    (12, 500, ('da', 'mqm'), 12)
    >>> demo_set(texts=True).segments.sources[5]
    'Die Züge zwischen München und Prag fahren ab Donnerstag wieder täglich.'
    """
    check_flag(texts=texts)
    inputs = (SCORES, SYSTEM_SCORES, *((TEXTS,) if texts else ()))
    es = load(*inputs, kind={"human": HUMAN}, lower_is_better=LOWER_IS_BETTER)
    named = tuple(replace(i, path=Path(i.path).name) for i in es.inputs)
    return replace(es, name="demo (simulated)", language_pair=LANGUAGES, inputs=named)


def demo_texts(lp: str) -> EvalSet:
    """Load the sentences with wrong names of one language pair, by four translators.

    Examples
    --------
    >>> demo_texts("de-en").systems
    ('careful', 'copycat', 'fluent', 'hasty')
    """
    return replace(load(ENTITIES, where={"lp": lp}, lp=lp), name="demo sentences")


def entity_counts() -> dict[str, int]:
    """Count the sentences with wrong names by language pair.

    Examples
    --------
    >>> entity_counts()["de-en"]
    8
    """
    return dict(sorted(Counter(row["lp"] for _, row in json_lines(ENTITIES)).items()))
