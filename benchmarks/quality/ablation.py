"""What each family of KoBE's rules gains: the measures with all rules, and without each family."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from quality import measuring
from quality.gold import linking, pairs
from quality.measuring import Context, table
from quality.planting import planted
from steelyard.core.table import Table
from steelyard.kobe import explaining
from steelyard.kobe.linking import detection, lexicon, linker, names, numbers
from steelyard.kobe.linking.money_units import Units

SEGMENTS = 60  # planted errors of a set
GAIN = 1.0  # points: a family that gains less on every measure is listed
_NEVER = re.compile("(?!)")


def _nothing(*_: Any, **__: Any) -> tuple[()]:
    return ()


def _none(*_: Any, **__: Any) -> None:
    return None


def _false(*_: Any, **__: Any) -> bool:
    return False


def _plain_similarity(word: str, other: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(names.romanise(word), names.romanise(other))


def _first(names_: Any, *_: Any, **__: Any) -> Any:
    return names_


#: Per family what stands in the place of a function: (where, name, what).
FAMILIES: Mapping[str, tuple[tuple[Any, str, Any], ...]] = {
    "values": ((linker, "find_values", lambda *_: []),),
    "number words": ((numbers, "_word_values", _nothing),),
    "telephone numbers": ((numbers, "_PHONE", _NEVER),),
    "addresses are no numbers": ((numbers, "_MASK_HINT", _NEVER),),
    "ranges": ((numbers, "_ranges", lambda _text, values, _lang: sorted(values)),),
    "decades": ((numbers, "decade_at", _none),),
    "Roman numerals": ((numbers, "has_roman", _false),),
    "letters and digits in one": ((numbers, "_GLUED", _NEVER),),
    "list numbers": ((numbers, "_LISTED", _NEVER),),
    "fractions and halves": (
        (numbers, "_FRACTION", _NEVER),
        (numbers, "_half_after", lambda *_: 0),
    ),
    "dates": ((numbers, "dates", _nothing),),
    "clock times": ((numbers, "clocks", _nothing),),
    "March and May": ((numbers, "_english_months", _nothing),),
    "Chinese and Japanese numbers": ((numbers.cjk, "cjk_values", _nothing),),
    "money": ((numbers, "currencies", _nothing),),
    "units": ((Units, "after", _none),),
    "repeated units": ((linker, "_repeated", tuple),),
    "inflected names": ((linker, "inflected", lambda *_: []),),
    "names with hyphens": ((detection, "_hyphenated", _none),),
    "weekdays in compounds": ((lexicon.Phrases, "compound", _none),),
    "inflected phrases": ((linker, "phrases", lambda *_: []),),
    "small places": ((detection, "_is_small_place", _false),),
    "parts of names": ((detection, "_is_part", _false),),
    "Chinese names with dots": ((detection, "_in_chinese_name", _false),),
    "given names": ((lexicon.Lexicon, "_is_given", _false),),
    "names that are words": ((lexicon.Lexicon, "_unsure", _false),),
    "spellings of labels": ((lexicon.Lexicon, "_resembles", lambda *_: True),),
    "languages as countries": ((lexicon.Lexicon, "_national", lambda _: {}),),
    "names no base knows": ((linker, "name_tier", _none),),
    "names by sound": ((names, "similarity", _plain_similarity),),
    "names cut otherwise": ((names, "_together", _none),),
    "replaced parts of names": ((names, "_replaced", _false),),
    "new names in the output": ((explaining._Segment, "_strangers", lambda *_: []),),
    "same name in the output": ((explaining, "_nearly_same", _false),),
    "surnames, names of currencies": ((explaining, "_last_words", _nothing),),
    "derived words": ((explaining, "_find_derived", _none),),
    "digits in words": ((explaining, "_find_digits", _none),),
    "doubtful replaced": ((explaining, "_sole_replacements", lambda *_: {}),),
}
#: A measure: its name, its part, the row and the column, and 1 if more is better, else -1.
MEASURES = (
    ("linked", "linking", ("all",), "recall", 1),
    ("links right", "linking", ("all",), "precision", 1),
    ("sure links right", "linking", ("all",), "sure precision", 1),
    ("pairs", "pairs", ("all",), "detected %", 1),
    ("pairs, false", "pairs", ("all",), "false alarms %", -1),
    ("planted", "planted", ("all", "alone"), "recall %", 1),
    ("planted, false", "planted", ("all", "alone"), "segments %", -1),
)  # fmt: skip
_PARTS: Mapping[str, Callable[[Context], Table | None]] = {
    "linking": linking, "pairs": pairs, "planted": planted,
}  # fmt: skip


@contextmanager
def without(*families: str) -> Iterator[None]:
    """Switch families of rules off."""
    with ExitStack() as stack:
        for where, name, what in (change for family in families for change in FAMILIES[family]):
            stack.enter_context(patch.object(where, name, what))
        yield


def measures(context: Context) -> tuple[float, ...]:
    """Return all measures."""
    measuring.linker.cache_clear()
    names.alike.cache_clear()
    tables = {name: part(context) for name, part in _PARTS.items()}
    values = []
    for _, part, row_names, column, _ in MEASURES:
        rows = tables[part]
        assert rows is not None
        at = [c.name for c in rows.columns].index(column)
        row = next(row for row in rows.rows if row[: len(row_names)] == row_names)
        values.append(float(row[at] or 0))  # type: ignore[arg-type]
    return tuple(values)


def ablation(context: Context) -> Table:
    """Print the measures without each family, and which families gain less than a point."""
    light = replace(context, segments=SEGMENTS, light=True)
    everything = measures(light)
    rows: list[tuple[Any, ...]] = [("(all rules)", *everything, None)]
    small = []
    for family in FAMILIES:
        with without(family):
            values = measures(light)
        signs = [sign for *_, sign in MEASURES]
        gain = max(s * (a - b) for s, a, b in zip(signs, everything, values, strict=True))
        rows.append((family, *values, gain))
        print(family, *(f"{v:.1f}" for v in values), f"{gain:.1f}", sep=" | ", flush=True)
        if gain < GAIN:
            small.append(family)
    measuring.linker.cache_clear()
    note = f"Gain less than a point on every measure: {', '.join(small) or 'none'}."
    names_ = ("without", *(f"{name} %" for name, *_ in MEASURES), "gain %")
    return table("Without each family of rules", names_, rows, note)
