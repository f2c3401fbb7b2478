"""Values across languages: a good translation shares all that are wanted, a bad one does not."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.kobe.linking.cjk import chinese_number
from steelyard.kobe.linking.dates import Value
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.numbers import (
    LANGUAGES,
    POINT_LANGUAGES,
    canonical,
    find_values,
    number_words,
    shifted,
)
from steelyard.kobe.linking.wordforms import fold_text, tokenise
from steelyard.kobe.matching import pair_candidates
from steelyard.kobe.mention import Mention


def values(text: str, lang: str) -> list[Value]:
    folded = fold_text(text, lang)
    places = folded.places
    written = text if places is None else "".join([text[p] for p in places[:-1]])
    return find_values(folded.text, tokenise(folded.text, lang), lang, (), written)


def sure(text: str, lang: str) -> list[str]:
    return [value.id for value in values(text, lang) if not value.doubtful]


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        # numbers in words, with halves and dozens
        ("en", "half a million people", ["num:500000"]),
        ("en", "one and a half million", ["num:1500000"]),
        ("en", "2½ cups", ["num:2.5"]),
        ("en", "nineteen eighty-four", ["num:1984"]),
        ("en", "two hundred thousand", ["num:200000"]),
        ("de", "eine halbe Million", ["num:500000"]),
        ("de", "anderthalb Jahre", ["num:1.5"]),
        ("de", "zweieinhalb Millionen", ["num:2500000"]),
        ("de", "neunzehnhundertvierundachtzig", ["num:1984"]),
        ("de", "zweitausendeinundzwanzig", ["num:2021"]),
        ("it", "duecentocinque", ["num:205"]),
        ("it", "due milioni e mezzo", ["num:2500000"]),
        ("nl", "tweehonderdvijf", ["num:205"]),
        ("nl", "anderhalf miljoen", ["num:1500000"]),
        ("ru", "полмиллиона", ["num:500000"]),
        ("ru", "два с половиной миллиона", ["num:2500000"]),
        ("uk", "півтора мільйона", ["num:1500000"]),
        ("cs", "dva a půl milionu", ["num:2500000"]),
        ("fr", "deux millions et demi", ["num:2500000"]),
        ("es", "medio millón", ["num:500000"]),
        ("pt", "dois milhões e meio", ["num:2500000"]),
        ("fi", "viisisataa", ["num:500"]),
        ("fi", "puoli miljoonaa", ["num:500000"]),
        ("hu", "huszonöt", ["num:25"]),
        ("hu", "kétszázötven", ["num:250"]),
        ("tr", "yirmi beş", ["num:25"]),
        ("ar", "خمسة وعشرون", ["num:25"]),
        ("ar", "ثلاثة ملايين", ["num:3000000"]),
        ("ar", "ثلاثة عشر", ["num:13"]),
        ("hi", "पच्चीस", ["num:25"]),
        ("hi", "डेढ़ करोड़", ["num:15000000"]),
        ("hi", "साढ़े तीन हज़ार", ["num:3500"]),
        ("ko", "다섯 명", ["num:5"]),
        ("ko", "50억 원", ["num:5000000000", "cur:KRW"]),
        ("zh", "2.1万亿", ["num:2100000000000"]),
        ("zh", "30余万", ["num:300000"]),
        ("ja", "四回", ["num:4"]),
        # digits
        ("hi", "१२,३४,५६७", ["num:1234567"]),
        ("en", "1,00,000", ["num:100000"]),
        ("ar", "٣٥ مليون", ["num:35000000"]),
        ("en", "$44m", ["cur:USD", "num:44000000"]),
        ("en", "10K", ["num:10000"]),
        ("de", "NEKTON-Bio", []),
        ("de", "1,2 Bio. Euro", ["num:1200000000000", "cur:EUR"]),
        ("cs", "v roce 2024 milion metrů", ["num:2024", "num:1000000"]),
        # ones, lists, approximations and words that mean other things say nothing
        ("zh", "1家研究机构", []),
        ("en", "1. Start. 2 apples", ["num:2"]),
        ("zh", "十几个人", []),
        ("zh", "几十名病人", []),
        ("zh", "三四五六年级", []),
        ("de", "Achten Sie darauf", []),
        ("de", "der achte Mann", ["num:8"]),
        ("ru", "на семью", []),
        ("fr", "un vélo neuf", []),
        ("en", "both, twice, a couple", []),
        ("en", "about a dozen", []),
        # ordinals are their numbers
        ("de", "im 5. Stock", ["num:5"]),
        ("de", "Er kam 2021. Dann ging er.", ["num:2021"]),
        ("cs", "je to 95. To je", ["num:95"]),
        ("en", "the twenty-first", ["num:21"]),
        ("de", "der einundzwanzigste", ["num:21"]),
        ("cs", "dvacátý první", ["num:21"]),
        ("zh", "第十九届", ["num:19"]),
        ("ru", "XX век", ["num:20"]),
        ("es", "siglo XX", ["num:20"]),
        ("en", "Elizabeth II", []),
        # percentages
        ("zh", "提高2.5个百分点", ["pct:2.5"]),
        ("en", "2.5 percentage points", ["pct:2.5"]),
        ("de", "eine 30-prozentige Lösung", ["pct:30"]),
        ("tr", "%30", ["pct:30"]),
        ("tr", "yüzde 30", ["pct:30"]),
        ("ar", "٣٠٪", ["pct:30"]),
        ("ko", "30퍼센트", ["pct:30"]),
        # no fragments of addresses, names of files, phone numbers, versions
        ("en", "see https://a.org/2021/12/x5 or me12@mail3.com", []),
        ("en", "#top10 and report_2021.pdf", []),
        ("en", "Python 3.11.2", ["num:3.11.2"]),
        ("en", "call +49 30 1234567", []),
        ("en", "open 24/7", []),
        ("en", "MP3, B-52, COVID-19", []),
        ("en", "Windows 10, Boeing 737", ["num:10", "num:737"]),
        ("ru", "60×100", ["num:60", "num:100"]),
        # ways of writing digits
        ("fr", "1 234,5", ["num:1234.5"]),
        ("de", "1’234.5", ["num:1234.5"]),
        ("en", "1.234", ["num:1.234"]),
        ("de", "0.500", ["num:0.5"]),
        ("de", "1,2 Mrd.", ["num:1200000000"]),
        ("ja", "3万5000", ["num:35000"]),
        ("es", "treinta y tres", ["num:33"]),
        ("cs", "dvě stě padesát", ["num:250"]),
        ("uk", "п’ять", ["num:5"]),
        ("en", "twenty-five percent", ["pct:25"]),
        ("en", "12 am", ["time:00:00"]),
        ("ru", "5-го", ["num:5"]),
        ("fr", "5e", ["num:5"]),
        ("en", "5 m", ["num:5"]),
        ("zh", "¥300", ["cur:CNY", "num:300"]),
        ("en", "from $10 to $20 million", ["cur:USD", "num:10", "cur:USD", "num:20000000"]),
        ("en", "10-20%", ["pct:10", "pct:20"]),
        ("de", "Tausende", []),
        ("zh", "一点也不, 十分好, 万一, 一起, 数百万人", []),
        # shares in words may be said in other ways
        ("en", "two thirds of them, a third of us", []),
        ("de", "drei Viertel der Leute", []),
        ("ru", "две трети", []),
        ("zh", "三分之一", []),
        # the first three, and centuries of decades
        ("zh", "前三季度", ["num:3"]),
        ("en", "the first three months", ["num:3"]),
        ("pl", "w latach 80. XX wieku", ["num:1980"]),
        ("ru", "80-е годы XX века", ["num:1980"]),
        ("uk", "у 80-х роках ХХ століття", ["num:1980"]),
        ("fr", "les années quatre-vingt", ["num:1980"]),
        ("fr", "les 80 employés", ["num:80"]),
    ],
)
def test_numbers(lang: str, text: str, expected: list[str]):
    assert sure(text, lang) == expected


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("de", "am 12.12.19", ["num:12", "month:12", "num:2019"]),
        ("de", "ab dem 18.01. wieder", ["num:18", "month:1"]),
        ("de", "am 26.12 kam", ["num:26", "month:12"]),
        ("fr", "le 18/01/21", ["num:18", "month:1", "num:2021"]),
        ("en", "01/18/2021", ["month:1", "num:18", "num:2021"]),
        ("ja", "2021/01/18", ["num:2021", "month:1", "num:18"]),
        ("hu", "2021. 01. 18.", ["num:2021", "month:1", "num:18"]),
        ("zh", "2021 年 9 月 10 日", ["num:2021", "month:9", "num:10"]),
        ("en", "May 5, 2021", ["month:5", "num:5", "num:2021"]),
        ("en", "March 3 was cold", ["month:3", "num:3"]),
        ("en", "in the 1980s", ["num:1980"]),
        ("en", "the '80s", ["num:1980"]),
        ("de", "die 80er Jahre", ["num:1980"]),
        ("ru", "в 80-х годах", ["num:1980"]),
        ("fr", "les années 80", ["num:1980"]),
        ("fi", "1980-luvulla", ["num:1980"]),
        ("en", "2021/22", ["num:2021", "num:2022"]),
        ("en", "1986-88", ["num:1986", "num:1988"]),
        ("en", "9/11", ["num:9", "num:11"]),
        ("en", "2:30 pm", ["time:14:30"]),
        ("fr", "14h30", ["time:14:30"]),
        ("de", "14.30 Uhr", ["time:14:30"]),
        ("fi", "klo 14.30", ["time:14:30"]),
        ("zh", "下午2点半", ["time:14:30"]),
        ("ko", "오후 2시 30분", ["time:14:30"]),
        ("de", "beim 3:10 nach", []),
        ("de", "um 3:10 nachts", ["time:03:10"]),
    ],
)
def test_dates_and_times(lang: str, text: str, expected: list[str]):
    assert sure(text, lang) == expected


def test_a_day_may_be_a_month_elsewhere():
    first, second, _ = values("3/4/2021", "en")
    assert (first.id, second.id) == ("month:3", "num:4")
    assert "month:4" in first.others
    assert second.others == ("num:3",)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "CZK 500", ["cur:CZK", "num:500"]),
        ("en", "3 billion USD", ["num:3000000000", "cur:USD"]),
        ("zh", "5,000元", ["num:5000", "cur:CNY"]),
        ("hi", "₹500", ["cur:INR", "num:500"]),
        ("ru", "500 евро", ["num:500", "cur:EUR"]),
        ("en", "20 bucks", ["num:20", "cur:USD"]),
        ("ko", "300달러", ["num:300", "cur:USD"]),
        ("en", "$ and € are signs", []),
        ("en", "the USD fell", []),
    ],
)
def test_money(lang: str, text: str, expected: list[str]):
    assert sure(text, lang) == expected


#: A source, a good translation and a bad one: (languages, texts).
PAIRS = [
    # numbers
    ("de en", "Er lief 1.234,5 Meter.", "He ran 1,234.5 m.", "He ran 1,243.5 m."),
    ("ru en", "полтора миллиона", "1.5 million", "1 million"),
    ("cs en", "půl milionu lidí", "500,000 people", "5 million people"),
    ("hi en", "१२ लाख लोग", "1.2 million people", "12 million people"),
    ("ar en", "٢٥ مليون", "25 million", "52 million"),
    ("ko en", "3만 5천 명", "35,000 people", "3,500 people"),
    ("fi en", "kaksikymmentäviisi autoa", "25 cars", "52 cars"),
    ("fr de", "quatre-vingt-dix-sept", "siebenundneunzig", "siebenundachtzig"),
    ("es en", "dos mil millones", "two billion", "two million"),
    ("ja en", "3億5000万人", "350 million people", "35 million people"),
    ("zh en", "第24条", "Article 24", "Article 42"),
    ("en de", "the 12th biggest", "der zwölftgrößte, Platz 12", "Platz 20"),
    ("ru en", "3 этаж", "3rd floor", "4th floor"),
    ("en ru", "the 20th century", "XX век", "XIX век"),
    ("de en", "E 94 und E 95", "E94 and E95", "E94 and E96"),
    ("en fi", "205 people", "kaksisataaviisi ihmistä", "kaksisataa ihmistä"),
    ("hu en", "másfél millió", "1.5 million", "15 million"),
    ("tr en", "iki buçuk milyon", "2.5 million", "2 million"),
    ("en de", "5 to 10 million", "5 bis 10 Millionen", "5 bis 100 Millionen"),
    # percentages
    ("zh en", "百分之三十", "30%", "13%"),
    ("de en", "10 bis 20 Prozent", "10% to 20%", "10 to 30%"),
    ("en zh", "10, 20 and 30 percent", "10%、20%和30%", "10%、20%和40%"),
    ("tr en", "%30 arttı", "rose by 30%", "rose by 3%"),
    ("hi en", "30 प्रतिशत", "thirty percent", "three percent"),
    ("ar en", "30 في المئة", "30 percent", "30 people"),
    ("ko en", "2.5%포인트", "2.5 percentage points", "25 percentage points"),
    # dates and times
    ("de en", "am 12.12.19", "on 12/12/2019", "on 12/12/2018"),
    ("en de", "the 1980s", "die 80er Jahre", "die 90er Jahre"),
    ("zh en", "20世纪80年代", "the 1980s", "the 1880s"),
    ("ru en", "в 1970-х", "in the 1970s", "in the 1960s"),
    ("fr en", "les années 80", "the 80s", "the 60s"),
    ("en fr", "2:30 pm", "14h30", "12h30"),
    ("zh en", "下午2点半", "2:30 p.m.", "2:30 a.m."),
    ("ja de", "午後5時30分", "17.30 Uhr", "15.30 Uhr"),
    ("ko en", "오후 5시", "5 pm", "6 pm"),
    ("fi en", "klo 17.30", "5:30 pm", "5:20 pm"),
    ("de en", "zwischen 12 und 14 Uhr", "between 12 and 2 pm", "between 11 and 2 pm"),
    ("en hi", "5:30 pm", "शाम 5:30 बजे", "शाम 5:20 बजे"),
    ("zh en", "3至6月", "3/6", "3/7"),
    # money
    ("cs en", "69 Kč", "CZK 69", "EUR 69"),
    ("cs en", "200 korun", "200 crowns", "200 euros"),
    ("zh en", "50万美元", "$500,000", "€500,000"),
    ("en de", "US$5m", "5 Millionen $", "5 Millionen €"),
    ("en ja", "A$20", "20ドル", "20ユーロ"),
    ("ru en", "500 руб.", "₽500", "$500"),
    ("en hi", "Rs 500", "500 रुपये", "500 डॉलर"),
    ("en ko", "€20", "20유로", "20달러"),
    ("en ar", "20 euros", "20 يورو", "20 دولار"),
]


def kept(source: str, output: str, langs: str) -> bool:
    one, other = langs.split()
    first, second = (
        [Mention(v.start, v.end, "", v.id, v.category, "core", (v.id, *v.others), "", v.doubtful)
         for v in values(text, lang)]
        for text, lang in ((source, one), (output, other))
    )  # fmt: skip
    wanted = [m for m in first if not m.doubtful]
    assert wanted
    return len(pair_candidates(wanted, second)) == len(wanted)


@pytest.mark.parametrize(("langs", "source", "good", "bad"), PAIRS)
def test_pairs(langs: str, source: str, good: str, bad: str):
    assert kept(source, good, langs)
    assert not kept(source, bad, langs)


# -- with the names of a base: months and units


UNIT_PAIRS = [
    ("en de", "gusts of 85mph", "Böen von 85 mph", "Böen von 85 km/h"),
    ("ru en", "толщина 2 см", "2cm thick", "2mm thick"),
    ("en ru", "5kg of rice", "5 килограммов риса", "5 граммов риса"),
    ("en zh", "10km away", "10公里外", "10米外"),
    ("zh en", "3千米", "3 kilometers", "3 miles"),
    ("en cs", "27 miles away", "27 mil daleko", "27 kilometrů daleko"),
    ("de en", "nach drei Kilometern", "after 3 km", "after 3 miles"),
    ("en ja", "16GB of memory", "16ギガバイト", "16メガバイト"),
    ("ru en", "500 мл воды", "500ml of water", "500 litres of water"),
    ("en fi", "20 °C", "20 °C", "20 °F"),
    ("en fr", "1.35 million tonnes", "1,35 million de tonnes", "1,35 million de kilogrammes"),
    ("de en", "60 Quadratmeter", "60 m²", "60 m³"),
    ("en de", "a 5-kilometre run", "ein 5-Kilometer-Lauf", "ein 5-Meilen-Lauf"),
    ("ru de", "90 км/ч", "90 km/h", "90 m/s"),
    ("ru en", "весит 8,5 г.", "weighs 8.5 g", "weighs 8.5 kg"),
    ("ru en", "до 3 тыс. м.", "up to 3 thousand m", "up to 3 thousand km"),
    ("cs en", "se třemi sty miliony eur", "with 300 million euros", "with 3 million euros"),
    ("ru en", "с двумястами рублями", "with 200 roubles", "with 300 roubles"),
    ("en ja", "81,000 feet", "81,000フィート", "81,000メートル"),
    ("en ru", "220 V", "220 В или 220 V", "220 ватт"),
    # months
    ("en de", "December 9 to 10", "9. bis 10. Dezember", "9. bis 11. Dezember"),
    ("ru en", "с 9 по 10 декабря", "December 9–10", "December 9–12"),
    ("en zh", "March 3, 2021", "2021 年 3 月 3 日", "2021 年 5 月 3 日"),
    ("en de", "May 5 was cold.", "Am 5. Mai war es kalt.", "Am 5. Juni war es kalt."),
    ("zh en", "9 月 10 日", "September 10", "October 9"),
    ("ru en", "14.02.2021 г.", "February 14, 2021", "January 14, 2021"),
    ("ru en", "в 2021 году", "in 2021", "in 2012"),
    ("en fr", "9/11", "le 11 septembre", "le 12 septembre"),
    ("zh en", "每年的3至6月", "from March to June", "from April to June"),
    ("de cs", "am 18.01.", "18. ledna", "18. února"),
]


@pytest.mark.parametrize(("langs", "source", "good", "bad"), UNIT_PAIRS)
def test_pairs_with_names(linker: DictionaryLinker, langs: str, source: str, good: str, bad: str):
    one, other = langs.split()
    wanted = [m for m in linker.link([source], one, other)[0] if not m.doubtful]
    assert wanted
    found = linker.link([good, bad], other, one)
    assert len(pair_candidates(wanted, found[0])) == len(wanted), (wanted, found[0])
    assert len(pair_candidates(wanted, found[1])) < len(wanted), (wanted, found[1])


@pytest.mark.parametrize(
    ("lang", "text", "doubtful"),
    [
        ("de", "drei Jahren", {"Jahren"}),
        ("en", "He has 5 pounds.", {"pounds"}),
        ("en", "The dollar fell.", {"dollar"}),
        ("en", "from 5 km to 10 km", {"km"}),
        ("ru", "с семью фунтами", {"семью", "фунтами"}),
        ("ru", "с семью рублями", {"семью"}),
        ("ru", "с семью львами", {"семью"}),
        ("en", "5 in total, 3 st", set()),
        ("zh", "14日比特币", set()),
    ],
)
def test_doubtful_names(linker: DictionaryLinker, lang: str, text: str, doubtful: set[str]):
    other = "en" if lang != "en" else "de"
    mentions = linker.link([text], lang, other)[0]
    assert {m.text for m in mentions if m.doubtful} == doubtful


def test_a_currency_that_is_an_animal_needs_its_country(linker: DictionaryLinker):
    # лев alone is a lion, or Leo: wanting Bulgaria's money of every lion costs more than it finds.
    texts = ["5 львов", "5 левов", "5 болгарских левов", "BGN 5"]
    found = linker.link(texts, "ru", "en")
    assert [any(m.category == "currency" for m in own) for own in found] == [False] * 2 + [True] * 2


@pytest.mark.parametrize(
    ("lang", "text", "sure", "doubtful"),
    [
        ("hi", "मुझे कहने दो कि यह सच है", [], ["2"]),  # let me say
        ("hi", "इसे छोड़ दो।", [], ["2"]),
        ("hi", "दो दिन पहले", ["2"], []),
        ("hi", "चार में से दो।", ["4", "2"], []),
        ("hi", "पहाड़ के चारों ओर", [], ["4"]),  # all around
        ("ja", "八百長の疑い", [], ["800"]),  # match-fixing
        ("ja", "八百円の本", ["800"], []),
        ("ja", "1日に二百人", ["200"], ["1"]),
    ],
)
def test_numbers_that_may_be_no_numbers(lang, text, sure, doubtful):
    numbers = [v for v in values(text, lang) if v.id.startswith("num:")]
    found = [[v.id[4:] for v in numbers if v.doubtful is own] for own in (False, True)]
    assert found == [sure, doubtful]


# -- laws


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
