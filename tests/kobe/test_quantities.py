"""Values: the same number in every way of writing it."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.kobe.linking.cjk import chinese_number
from steelyard.kobe.linking.numbers import (
    LANGUAGES,
    POINT_LANGUAGES,
    canonical,
    find_values,
    number_words,
    shifted,
)
from steelyard.kobe.linking.wordforms import fold_text

WORD = re.compile(r"\w+(?:'\w+)*")


def ids(text: str, lang: str, month: str | None = None) -> list[str]:
    folded = fold_text(text, lang).text
    tokens = [(m[0], *m.span()) for m in WORD.finditer(folded)]
    months = [m.span() for m in re.finditer(month, folded)] if month else []
    return [v.id for v in find_values(folded, tokens, lang, months)]


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("1.234,5", "de", "num:1234.5"),
        ("1,234.5", "en", "num:1234.5"),
        ("1 234,5", "fr", "num:1234.5"),
        ("1\u00a0234,5", "cs", "num:1234.5"),
        ("1’234.5", "de", "num:1234.5"),
        ("1.234.567", "de", "num:1234567"),
        ("1,234,567", "en", "num:1234567"),
        ("1.234", "de", "num:1234"),
        ("1.234", "en", "num:1.234"),
        ("0.500", "de", "num:0.5"),
        ("49,90", "de", "num:49.9"),
        ("4,990", "en", "num:4990"),
        ("12億", "ja", "num:1200000000"),
        ("12亿", "zh", "num:1200000000"),
        ("1.2 billion", "en", "num:1200000000"),
        ("1,2 Mrd.", "de", "num:1200000000"),
        ("1,2 Milliarden", "de", "num:1200000000"),
        ("1,2 млрд", "ru", "num:1200000000"),
        ("1,2 miliardy", "cs", "num:1200000000"),
        ("3万", "ja", "num:30000"),
        ("3万5000", "ja", "num:35000"),
        ("3億5000万", "ja", "num:350000000"),
        ("1.5万", "zh", "num:15000"),
        ("三万", "zh", "num:30000"),
        ("二十五", "zh", "num:25"),
        ("30 000", "ru", "num:30000"),
        ("30 тысяч", "ru", "num:30000"),
        ("тридцать тысяч", "ru", "num:30000"),
        ("thirty thousand", "en", "num:30000"),
        ("dreißigtausend", "de", "num:30000"),
        ("vierundzwanzig", "de", "num:24"),
        ("twenty-four", "en", "num:24"),
        ("двадцать четыре", "ru", "num:24"),
        ("dvacet čtyři", "cs", "num:24"),
        ("quatre-vingt-dix-sept", "fr", "num:97"),
        ("ninety-seven", "en", "num:97"),
        ("treinta y tres", "es", "num:33"),
        ("two hundred and fifty", "en", "num:250"),
        ("zweihundertfünfzig", "de", "num:250"),
        ("dvě stě padesát", "cs", "num:250"),
        ("двести пятьдесят", "ru", "num:250"),
        ("eine Million", "de", "num:1000000"),
        ("one million", "en", "num:1000000"),
        ("a million", "en", "num:1000000"),
        ("двух", "ru", "num:2"),
        ("п’ять", "uk", "num:5"),
        ("25 %", "de", "pct:25"),
        ("25%", "en", "pct:25"),
        ("25 percent", "en", "pct:25"),
        ("25 Prozent", "de", "pct:25"),
        ("25 процентов", "ru", "pct:25"),
        ("25％", "zh", "pct:25"),
        ("百分之二十五", "zh", "pct:25"),
        ("百分之25", "zh", "pct:25"),
        ("twenty-five percent", "en", "pct:25"),
        ("2,5 %", "cs", "pct:2.5"),
        ("2.5 per cent", "en", "pct:2.5"),
        ("17:00", "de", "time:17:00"),
        ("17 Uhr", "de", "time:17:00"),
        ("17.30 Uhr", "de", "time:17:30"),
        ("5 pm", "en", "time:17:00"),
        ("5 p.m.", "en", "time:17:00"),
        ("5:30 p.m.", "en", "time:17:30"),
        ("12 am", "en", "time:00:00"),
        ("12:15 pm", "en", "time:12:15"),
        ("17h30", "fr", "time:17:30"),
        ("下午5点", "zh", "time:17:00"),
        ("午後5時30分", "ja", "time:17:30"),
        ("5. Platz", "de", "num:5"),
        ("fifth", "en", "num:5"),
        ("5th", "en", "num:5"),
        ("fünften", "de", "num:5"),
        ("пятого", "ru", "num:5"),
        ("5-го", "ru", "num:5"),
        ("pátého", "cs", "num:5"),
        ("第五", "zh", "num:5"),
        ("5e", "fr", "num:5"),
        ("٣٥", "ar", "num:35"),
    ],
)
def test_same_value(text: str, lang: str, expected: str):
    assert ids(text, lang) == [expected]


@pytest.mark.parametrize(
    ("text", "lang", "month", "expected"),
    [
        ("am 3. März 2024", "de", "märz", ["num:3", "num:2024"]),
        ("on March 3, 2024", "en", "march", ["num:3", "num:2024"]),
        ("the 3rd of March 2024", "en", "march", ["num:3", "num:2024"]),
        ("1st March", "en", "march", ["num:1"]),
        ("3 марта", "ru", "марта", ["num:3"]),
        ("3月3日", "ja", "3月", ["month:3", "num:3"]),
        ("03.04.2024", "de", None, ["num:3", "month:4", "num:2024"]),
        ("04/03/2024", "en", None, ["num:3", "month:4", "num:2024"]),
        ("2024-04-03", "en", None, ["num:3", "month:4", "num:2024"]),
        ("3. 4. 2024", "cs", None, ["num:3", "month:4", "num:2024"]),
    ],
)
def test_dates(text: str, lang: str, month: str | None, expected: list[str]):
    assert sorted(ids(text, lang, month)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("$5m", "en", ["cur:USD", "num:5000000"]),
        ("5 m", "en", ["num:5"]),
        ("€1.2 billion", "en", ["cur:EUR", "num:1200000000"]),
        ("49,90 €", "de", ["cur:EUR", "num:49.9"]),
        ("HK$20", "en", ["cur:HKD", "num:20"]),
        ("¥300", "zh", ["cur:CNY", "num:300"]),
        ("¥300", "en", ["cur:JPY", "num:300"]),
        ("300円", "ja", ["cur:JPY", "num:300"]),
        ("500 Kč", "cs", ["cur:CZK", "num:500"]),
        ("from 10 to 20 %", "en", ["pct:10", "pct:20"]),
        ("10-20%", "en", ["pct:10", "pct:20"]),
        ("von 10 bis 20 Prozent", "de", ["pct:10", "pct:20"]),
        ("between 5 and 7 people", "en", ["num:5", "num:7"]),
        ("two or three", "en", ["num:2", "num:3"]),
        ("one of them, first of all", "en", []),
        ("ein Mann, zuerst", "de", []),
        ("thousands of people", "en", []),
        ("Tausende", "de", []),
        ("一点也不, 十分好, 万一, 一起", "zh", []),
        ("三分之一", "zh", []),
        ("三个人", "zh", ["num:3"]),
        ("数百万人", "zh", []),
        ("COVID-19, F16, 4x4", "en", ["num:16", "num:19", "num:4", "num:4"]),
        ("version 3.14.1", "en", ["num:3.14.1"]),
        ("Am Ende 5.", "de", ["num:5"]),
        ("", "en", []),
        ("5時間", "ja", ["num:5"]),
    ],
)
def test_lists(text: str, lang: str, expected: list[str]):
    assert sorted(ids(text, lang)) == expected


@given(st.integers(0, 10**9), st.sampled_from(["en", "de", "ru", "fr", "ja"]))
def test_grouped_digits(number: int, lang: str):
    mark = "," if lang in POINT_LANGUAGES else "."
    assert canonical(f"{number:,}".replace(",", mark), lang) == str(number)
    if lang in ("ru", "fr"):
        assert canonical(f"{number:,}".replace(",", " "), lang) == str(number)


@given(st.decimals(0, 10**6, places=4, allow_nan=False), st.integers(0, 12))
def test_shifted(number, power: int):
    text = canonical(f"{number:f}", "en")
    whole = number.scaleb(power)
    assert shifted(text, power) == canonical(f"{whole:f}", "en")


@given(st.integers(1, 10**12))
def test_chinese_numerals(number: int):
    digits = "零一二三四五六七八九"

    def four(n: int) -> str:
        out = ""
        for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
            d, n = divmod(n, unit)
            out += digits[d] + name if d else ("零" if out and n and out[-1] != "零" else "")
        return out

    written, rest = "", number
    for unit, name in ((10**12, "兆"), (10**8, "亿"), (10**4, "万"), (1, "")):
        part, rest = divmod(rest, unit)
        written += four(part) + name if part else ""
    if len(written) > 2 or number < 10:
        assert chinese_number(written) == number


@pytest.mark.parametrize("written", ["1,5万", "1.2.3亿"])
def test_odd_marks_make_no_number(written: str):
    assert chinese_number(written) is None
    assert find_values(f"{written}人", [], "zh") is not None  # and nothing breaks


@pytest.mark.parametrize("lang", LANGUAGES)
def test_word_tables(lang: str):
    words = number_words(lang)
    composed = lang in ("ar", "tr")  # ten three
    assert set(words.cardinals.values()) >= set(range(2, 11 if composed else 17))
    assert {3, 4, 5, 6, 7, 8, 9, 10} <= set(words.ordinals.values())
    assert {6} <= set(words.magnitudes.values()) <= {3, 4, 5, 6, 7, 8, 9, 12, 18}
    assert not set(words.magnitudes) & set(words.plurals)
    folded = {fold_text(w, lang).text for w in words.first}
    assert folded == words.first  # tables are read as texts are


def test_every_language_has_its_file_and_every_file_is_read():
    folder = files("steelyard.kobe.linking").joinpath("words")
    found = [file.name.removesuffix(".toml") for file in folder.iterdir()]
    assert sorted(found) == list(LANGUAGES)
    assert all(number_words(lang).cardinals for lang in found)
