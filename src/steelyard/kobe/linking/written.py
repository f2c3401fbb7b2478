"""Numbers that are written out: ``vierundzwanzig``, ``pěti``, ``two and a half million``.

A cardinal is worth less than 1000 by itself, ``hundred`` multiplies what stands before it, and so
do magnitudes; a magnitude in the plural says nothing alone ("thousands came").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from steelyard.kobe.linking.numberwords import NumberWords, compound, first_words, number_words


class Value(NamedTuple):
    """A value and its span in the folded text.

    ``others`` are further readings. A ``doubtful`` one may mean something else, or is one that
    translators are free to say in another way: nobody is blamed for its loss.
    """

    start: int
    end: int
    id: str
    category: str
    others: tuple[str, ...] = ()
    doubtful: bool = False


#: A word in a pattern; the vowel signs of Indian scripts are no letters to it.
LETTERS = r"[^\W\d_](?:[^\W\d_]|[\u0900-\u0963\u0981-\u0dff])*"
#: A word of the folded text: itself, its start and its end.
Token = tuple[str, int, int]

_RUN = re.compile(r"\d+")
_ONE = 1  # "one" and "ein" are articles and pronouns far too often
_SECOND = 2  # and "second" is a figure of speech
_HUNDRED, _THOUSAND = 100, 1000


class _Spoken(NamedTuple):
    """A number in words: its value, the token after it, whether it is an ordinal or doubtful."""

    value: float
    end: int
    ordinal: bool = False
    doubtful: bool = False


def text_of(value: float) -> str:
    """Write a number as ids have it.

    Examples
    --------
    >>> text_of(2500000.0), text_of(1.5), text_of(12)
    ('2500000', '1.5', '12')
    """
    return str(int(value)) if value == int(value) else str(value)


def digit_runs(text: str) -> list[int]:
    """Give the places where digits begin.

    Examples
    --------
    >>> digit_runs("5 bis 10,5")
    [0, 6, 9]
    """
    return [run.start() for run in _RUN.finditer(text)]


def at_runs(pattern: re.Pattern[str], text: str, runs: Sequence[int]) -> Iterator[re.Match[str]]:
    """Find what begins where digits begin, as ``finditer`` does, without a look at other places."""
    end = 0
    for start in runs:
        if start >= end and (found := pattern.match(text, start)):
            end = found.end()
            yield found


def word_values(text: str, tokens: Sequence[Token], lang: str) -> list[Value]:
    """Find numbers in words, among the words of a folded text."""
    words, begin = number_words(lang), first_words(lang)
    inside = [part for part, _ in words.inside if part in text]
    found = []
    end = 0
    for at, (word, start, stop) in enumerate(tokens):
        if at < end or not (word in begin or (inside and any(part in word for part in inside))):
            continue
        if word in words.loose:
            id_ = f"num:{text_of(words.loose[word])}"
            found.append(Value(start, stop, id_, "number", doubtful=True))
            continue
        spoken = _spoken(text, tokens, at, words)
        end = max(spoken.end, at + 1)
        value = spoken.value
        if spoken.end == at or value == _ONE:
            continue
        before = tokens[at - 1][0] if at else ""
        if word in words.magnitudes and before[-1:].isdigit() and not before.isdigit():
            continue  # N585 million: the name has the digits
        alone = spoken.end == at + 1 and before not in words.sure_after
        unsure = alone and (word in words.unsure or _is_verb(text, tokens, at, words))
        doubtful = spoken.doubtful or unsure or value == 0 or (spoken.ordinal and value == _SECOND)
        last = tokens[spoken.end - 1][2]
        id_ = text_of(value)
        if tail := _percent_word(text, last, words):
            found.append(Value(start, tail, f"pct:{id_}", "percent"))
        elif before and before in words.percent_before:
            found.append(Value(tokens[at - 1][1], last, f"pct:{id_}", "percent"))
        else:
            category = "ordinal" if spoken.ordinal else "number"
            found.append(Value(start, last, f"num:{id_}", category, doubtful=doubtful))
    return found


def _is_verb(text: str, tokens: Sequence[Token], at: int, words: NumberWords) -> bool:
    """Tell whether a number word rather is a verb, which ends its clause: it counts nothing."""
    word, _, stop = tokens[at]
    if word not in words.verbs or not at:
        return False
    last = at + 1 == len(tokens) or bool(text[stop : tokens[at + 1][1]].strip())
    return last or tokens[at - 1][0].endswith(words.verb_after)


def adjective_values(text: str, words: NumberWords) -> Iterator[Value]:
    """Find numbers at the front of adjectives: zweijährig, пятилетний.

    Other languages say them as two words, or not at all.
    """
    if words.adjective is not None:
        for found in words.adjective.finditer(text):
            number = text_of(words.prefixes[found[1]])
            yield Value(*found.span(1), f"num:{number}", "number", doubtful=True)


def _percent_word(text: str, at: int, words: NumberWords) -> int:
    """Give the end of a word for percent after a place; 0 where there is none."""
    if text[at : at + 1] not in (" ", "-"):
        return 0
    for word in words.percent:
        stem = word.removesuffix("*")
        end = at + 1 + len(stem)
        if text.startswith(stem, at + 1):
            while stem != word and text[end : end + 1].isalpha():
                end += 1
            if not text[end : end + 1].isalnum():
                return end
    return 0


def half_after(text: str, at: int, words: NumberWords) -> int:
    """Give the end of "and a half" after a place; 0 where it does not follow."""
    for phrase in words.and_half:
        end = at + 1 + len(phrase)
        if text.startswith(phrase, at + 1) and not text[end : end + 1].isalnum():
            return end if text[at] in " -" else 0
    return 0


def _spoken(  # noqa: C901, PLR0912, PLR0915 - the grammar of numbers, in one place
    text: str, tokens: Sequence[Token], at: int, words: NumberWords
) -> _Spoken:
    """Read a number in words from a token on."""
    total = current = 0.0
    end, seen, halved, doubtful = at, False, False, False
    last = 18  # the power of ten of the last magnitude
    skip = 0
    for i in range(at, len(tokens)):
        word, _, stop = tokens[i]
        if i > at and text[tokens[i - 1][2] : tokens[i][1]] not in (" ", "-"):
            break
        if skip:
            skip -= 1
            continue
        if word in words.joiners and seen:
            continue
        if words.joined and seen and word not in words.cardinals:
            word = word.removeprefix(words.joined)
        value = words.cardinals.get(word)
        if value is None and words.inside:
            value = compound(word, words) or None
        power = words.magnitudes.get(word) or (words.plurals.get(word) if seen else None)
        if value is not None and not (power and seen):
            if value == 20 and current == 4 and words.by_twenties:
                current = 80
            elif value >= _THOUSAND or value != int(value) or value == 0:
                if seen:
                    break
                current = value
                if value >= _THOUSAND:
                    total, current, last = value, 0, 3
            elif words.year_pairs and current in (18, 19, 20) and value >= 10 and not total:
                current = current * 100 + value
            elif not _fits(current, value, words):
                break
            else:
                current += value
        elif word in words.hundreds:
            if current > 99 or (seen and not current):
                break
            current = max(current, 1) * 100
            doubtful = not seen
        elif power:
            if seen and not current:
                if power <= last or not total:
                    break
                total, last = total * 10**power, power  # mil millones
            elif power >= last:
                if (total + current) * 10**power > 10**18 or not total:
                    break
                total, current, last = (total + current) * 10**power, 0, power
            else:
                doubtful = not seen and power < 5
                total += (current or 1) * 10**power
                last, current = power, 0
        elif word in words.groups:
            total, current = (current or 1) * words.groups[word], 0
            return _Spoken(total, i + 1, doubtful=True)
        elif not seen and word in (words.half | words.plus_half):
            ahead = i + 1 + (i + 1 < len(tokens) and tokens[i + 1][0] in words.articles)
            following = tokens[ahead][0] if ahead < len(tokens) else ""
            if word in words.plus_half and following in words.cardinals:
                halved = True
                continue
            if not {following} & {*words.magnitudes, *words.plurals, *words.groups}:
                break
            current, skip = 0.5, ahead - i - 1
        elif seen and word in words.ordinals and _fits(current, words.ordinals[word], words):
            if i > at and words.ordinals[word] < 10 and current % 10 == 0 and current:
                return _Spoken(total + current + words.ordinals[word], i + 1, ordinal=True)
            break
        elif not seen and word in words.ordinals:
            value, ahead = words.ordinals[word], i + 1
            if value >= 20 and value % 10 == 0 and ahead < len(tokens):  # dvacátý první
                more = words.ordinals.get(tokens[ahead][0], 10)
                if more < 10 and text[stop : tokens[ahead][1]] in (" ", "-"):
                    return _Spoken(value + more, ahead + 1, ordinal=True)
            return _Spoken(value, ahead, ordinal=True)
        elif i == at + 1 and not seen:
            break
        else:
            if seen and word in words.half:  # eine halbe Million
                following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
                big = {*words.magnitudes, *words.plurals, *words.groups}
                if current == 1 and not total and following in big:
                    current, seen = 0.5, True
                    continue
            break
        seen, end = True, i + 1
        if halved and current and current == int(current):
            current += 0.5
            halved = False
        elif words.and_half and (after := half_after(text, stop, words)):
            if current:
                current += 0.5
            else:
                total += 0.5 * 10**last
            while end < len(tokens) and tokens[end][2] <= after:
                end += 1
                skip += 1
    return _Spoken(total + current, end, doubtful=doubtful)


def _fits(current: float, value: float, words: NumberWords) -> bool:
    """Whether a smaller number may follow: twenty-five, but not five twenty."""
    if current == 0:
        return True
    if words.by_twenties and 10 <= value < 20:  # soixante-dix, quatre-vingt-quinze
        return current % 100 in (0, 60, 80)
    if words.joined and value % 10 == 0 and value < _HUNDRED:  # five and twenty, three ten
        return 0 < current % 100 < 10 or (current % 100 == 0 and value > 10)
    if value < 10:
        joins = current % 10 == 0 and (current % 100 != 10 or words.ten_joins)
        return joins or (words.by_twenties and value > 6 and current % 100 in (10, 70, 90))
    return value < _HUNDRED and current % 100 == 0
