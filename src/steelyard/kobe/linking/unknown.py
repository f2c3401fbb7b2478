"""Names that no base knows, found by how they are written.

Capitals, digits inside words, letters of another script, dots between the parts of a name: what is
written so is a name in most languages. What begins a sentence, stands in a headline or is an
ordinary word is not, and in German, where every noun has a capital, only words that no dictionary
knows and that are not made of words that it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from steelyard.kobe.languages import script, scripts
from steelyard.kobe.linking.wordforms import lemma, lemmatised, ordinary, stop_words
from steelyard.kobe.mention import Mentions

#: Ways in which names are written; each is kept to a degree of its own by people who translate.
CLASSES = (
    "address", "code", "acronym", "mixed", "person", "titled", "single", "foreign", "kana",
    "dotted", "quoted", "listed", "honoured", "first",
)  # fmt: skip

_ADDRESS = r"(?:https?://|www\.)[^\s<>\"”）)]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w@])@\w{2,}"
_LETTERS = r"[^\W\d_][\w\u0300-\u036f]*"
_LATIN_LETTERS = (
    r"[A-Za-z\u00c0-\u024f\uff21-\uff3a\uff41-\uff5a][0-9A-Za-z\u00c0-\u024f\uff10-\uff5a]*"
)
_TOKEN = re.compile(
    rf"(?P<address>{_ADDRESS})"
    r"|(?:[^\W\d_]\.){2,}"  # U.S.
    rf"|(?:\d+(?=[^\W\d_]))?{_LETTERS}(?:[-‑'’&·]\w[\w\u0300-\u036f]*)*"
)
_LATIN_TOKEN = re.compile(
    r"(?P<address>(?:https?://|www\.)[!-~]+|[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
    rf"|(?<![\w@])@[A-Za-z0-9_]{{2,}})|{_LATIN_LETTERS}(?:[-‑'’&.][0-9]*{_LATIN_LETTERS}|-\d+)*"
)
_PARTICLES = frozenset(
    "de da do dos das del della di du des la le van von der den vom zu zum zur af av bin ibn ben al "
    "el abu e y i ter ten te d' l' фон де ван дер да ди бин аль эль ибн".split()
)
_ROMANCE = frozenset("es fr it pt ca gl ro nl".split())
_LINKS = {"en": frozenset("of and the for &".split())}
_ROLES = frozenset(
    "minister president secretary chancellor director officer manager chief chairman chairwoman "
    "leader king queen prince princess duke bishop pope judge justice attorney general governor "
    "mayor senator professor doctor captain sergeant spokesman spokeswoman editor commissioner "
    "ambassador executive mr mrs ms dr sir lord lady god".split()
)
_BEGINS = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|/\n¿¡‚‹›")
_HEADLINE = 0.6  # of the longer words with a capital: no sentence, but a title
_CASELESS = frozenset("ar fa ur ps ckb he yi hi mr ne bn gu pa ta te kn ml si th lo my km am ti "
                      "ka zh yue ja ko".split())  # fmt: skip
_WELL_KNOWN = frozenset({"en"})  # languages whose dictionary has nearly all words
_NOUNS = frozenset({"de", "lb"})  # languages in which all nouns have capitals
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}(?:[・･＝=·][\u30a1-\u30fa\u30fc]+)+")
_DOTTED = re.compile(r"[\u3400-\u9fff]{1,5}(?:[·・•‧][\u3400-\u9fff]{1,6})+")
_QUOTED = re.compile(r"《([^《》]{1,40})》|『([^『』]{1,40})』")
#: Characters by which Chinese writes the sounds of foreign names.
_AFTER_NAMES = frozenset("说称表在是的了和与及对将由为到等以而也被从向认指先女教总医部博主")
_HONOURED = re.compile(
    "([\u3400-\u9fff]{2,5}|[\u30a1-\u30fa\u30fc]{2,})"
    "(?:さん|氏(?!名)|選手|監督|容疑者|被告|首相|大統領|投手|議員|知事|教授|さま|くん|ちゃん)"
)
_NOT_HONOURED = frozenset(
    "皆 奥 父 母 兄 姉 客 神 医者 看護師 日本人 外国 前 現 両 全 各 有力 女 男 代表 新人".split()
)
_SOUND_SIGNS = frozenset(
    "阿埃艾爱安昂奥巴拜班邦保鲍贝本比彼宾波伯博布查达大戴丹德登邓迪蒂丁杜多顿厄恩尔法范菲费芬丰冯弗夫福盖甘"
    "高戈格葛根古哈海汉豪赫亨洪胡华怀惠霍基吉加贾简杰金卡凯坎康考科克肯库夸拉莱赖兰朗劳勒雷里理利莉丽连廉林琳隆"
    "卢鲁露伦罗洛马玛迈麦曼芒毛梅门蒙孟米密明摩莫默姆穆纳娜奈南内尼妮宁纽农努诺欧帕潘庞佩彭皮匹平珀普奇齐恰钱乔"
    "琴丘邱让热仁荣茹瑞若萨塞赛桑瑟森沙莎山尚绍舍申圣施史什斯丝舒顺司松苏孙索塔泰坦汤唐陶昆蓬特滕提铁廷图托脱瓦万旺威"
    "韦维温翁沃乌武伍西希锡席夏肖谢辛欣休许雪逊雅亚延扬耶叶伊因英雍尤于约宰赞泽扎詹张章哲珍芝治朱兹卓佐翠蕾"
)


_INFLECTED_CAPITALS = re.compile(r"[A-ZА-ЯČŠŽŘ]{2,}(?:['’]?s|[а-я]{1,2}|['’-]?[a-z]{1,2})")
_ROMAN = re.compile("[IVXLC]+")


class Name(NamedTuple):
    """A name in a text: its span, how it is written, and its words."""

    start: int
    end: int
    kind: str
    words: tuple[str, ...]


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    shape: str  # cap, caps, mixed, code, initial, small, address
    begins: bool  # a sentence, or what may be one


def find_names(text: str, lang: str, mentions: Mentions = ()) -> tuple[Name, ...]:
    """Find names beside the mentions that are known, in order of their place.

    Examples
    --------
    >>> text = "Yesterday Olaf Tschentscher met Ms Kowalska in the iHub."
    >>> [text[name.start : name.end] for name in find_names(text, "en")]
    ['Olaf Tschentscher', 'Kowalska', 'iHub']
    """
    # A doubtful mention may be a part of the name.
    taken = [(m.start, m.end) for m in mentions if not m.doubtful]
    same = {(m.start, m.end) for m in mentions if m.doubtful}
    found: list[Name] = []
    for name in _candidates(text, lang, taken):
        if not any(s < name.end and name.start < e for s, e in taken):
            if name[:2] not in same:
                found.append(name)
            taken.append((name.start, name.end))
    return tuple(sorted(found))


def _candidates(text: str, lang: str, taken: Sequence[tuple[int, int]]) -> Iterator[Name]:
    if lang in ("zh", "yue", "ja"):
        yield from _by_signs(text, lang)
    words = list(_words(text, lang))
    if lang in _CASELESS or "LATIN" not in scripts(lang):
        yield from _foreign(text, words, lang)
    if lang not in _CASELESS:
        yield from _cased(text, words, lang, taken)
    elif scripts(lang) != {"LATIN"}:
        yield from (
            Name(w.start, w.end, "address", (w.text,)) for w in words if w.shape == "address"
        )


def _by_signs(text: str, lang: str) -> Iterator[Name]:
    """Find what is between the signs for titles, names with dots, and those before an honorific."""
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] else 2
        inner = match[group].strip()
        if inner:
            start = match.start(group) + match[group].index(inner)
            yield Name(start, start + len(inner), "quoted", (inner,))
    for match in _KATAKANA.finditer(text):
        yield Name(*match.span(), "kana", tuple(re.split("[・･＝=·]", match[0])))
    if lang == "ja":
        for match in _HONOURED.finditer(text):
            if match[1] not in _NOT_HONOURED:
                kind = "kana" if match[1][0] <= "\u30ff" else "honoured"
                yield Name(*match.span(1), kind, (match[1],))
        return
    for match in _DOTTED.finditer(text):
        parts = re.split("[·・•‧]", match[0])
        before = len(parts[0])
        while before and parts[0][before - 1] in _SOUND_SIGNS:
            before -= 1
        own = (parts[0][before:], *parts[1:-1], _sounding(parts[-1]))
        if all(own):
            start = match.start() + before
            yield Name(start, start + sum(map(len, own)) + len(own) - 1, "dotted", own)


def _sounding(part: str) -> str:
    """Cut what follows a name: 马斯克表示."""
    end = 0
    while end < len(part) and (
        part[end] in _SOUND_SIGNS
        or (part[end] not in _AFTER_NAMES and part[end + 1 : end + 2] in _SOUND_SIGNS)
    ):
        end += 1
    return part[:end]


# -- words and their shapes


def _words(text: str, lang: str) -> Iterator[_Word]:
    # Where words are written together, only those of another script are told apart.
    pattern = _LATIN_TOKEN if lang in _CASELESS else _TOKEN
    for match in pattern.finditer(text):
        start, end = match.span()
        own = match[0]
        if match["address"]:
            own = own.rstrip(".,;:!?")
            yield _Word(own, start, start + len(own), "address", begins=False)
            continue
        if own.endswith(("'s", "’s")):
            own, end = own[:-2], end - 2
        shape = _shape(own) if text[start - 1 : start] not in ("#", "\\") else "part"
        begins = False
        if shape != "small":
            at = start
            while at and text[at - 1] == " ":
                at -= 1
            begins = not at or text[at - 1] in _BEGINS
            if shape == "initial":
                shape = "initial" if text[end : end + 1] == "." else "part"
                end += shape == "initial"
        yield _Word(own, start, end, shape, begins)


@lru_cache(maxsize=1 << 16)
def _shape(word: str) -> str:
    capitals = sum(c.isupper() for c in word)
    if not capitals:
        return "small"
    if len({script(c) for c in word if c.isalpha()}) > 1 and not word.isupper():
        return "part"
    if any(c.isdigit() for c in word):
        return "code"
    letters = sum(c.isalpha() for c in word)
    if letters == 1:
        return "initial"
    if capitals == letters:
        return "caps"
    if "." in word:
        return "part"  # z.B.
    if _INFLECTED_CAPITALS.fullmatch(word):
        return "caps"
    parts = re.split("[-‑'’&·]", word)
    if any(any(c.isupper() for c in part[1:]) and any(c.islower() for c in part) for part in parts):
        return "mixed" if letters >= 4 else "part"
    return "cap" if word[0].isupper() else "part"


# -- scripts without capitals


def _foreign(text: str, words: list[_Word], lang: str) -> Iterator[Name]:
    """Find words of another script with capitals, several together as one name."""
    own = scripts(lang)
    run: list[_Word] = []
    for word in words:
        latin = script(word.text[0]) == "LATIN" or word.shape == "code"
        if run and (not latin or word.shape == "address" or text[run[-1].end : word.start] != " "):
            yield from _foreign_run(run)
            run = []
        if latin and "LATIN" not in own and word.shape != "address" and len(word.text) > 1:
            run.append(word)
    if run:
        yield from _foreign_run(run)


def _foreign_run(run: list[_Word]) -> Iterator[Name]:
    while run and run[0].shape == "small":
        run = run[1:]
    while run and run[-1].shape == "small":
        run = run[:-1]
    if not run:
        return
    kind = "foreign"
    if len(run) == 1 and run[0].shape in ("caps", "code", "mixed"):
        kind = {"caps": "acronym"}.get(run[0].shape, run[0].shape)
    yield Name(run[0].start, run[-1].end, kind, tuple(w.text for w in run))


# -- scripts with capitals


def _cased(
    text: str, words: list[_Word], lang: str, taken: Sequence[tuple[int, int]]
) -> Iterator[Name]:
    long = [w for w in words if len(w.text) > 3 and w.shape != "address"]
    capital = sum(w.shape != "small" for w in long)
    headline = len(long) >= 3 and lang not in _NOUNS and capital >= _HEADLINE * len(long)
    loud = sum(w.shape == "caps" for w in long) > 0.5 * len(long) and len(long) > 1
    for word in words:
        if word.shape == "address":
            yield Name(word.start, word.end, "address", (word.text,))
        elif word.shape == "code" and not loud and _is_code(word.text):
            yield Name(word.start, word.end, "code", (word.text,))
    if loud:
        return
    for run in _runs(text, words, lang, taken):
        yield from _named(run, lang, headline=headline)


def _is_code(word: str) -> bool:
    return len(word) >= 2 and not re.fullmatch(r"\d+[^\W\d_]+|.*\d+[-‑][^\W\d_]*[a-zа-я]{4,}", word)


def _runs(
    text: str, words: list[_Word], lang: str, taken: Sequence[tuple[int, int]]
) -> Iterator[list[_Word]]:
    """Give words with capitals that stand together, with the small words of names inside."""
    run: list[_Word] = []
    small: list[_Word] = []
    links = _LINKS.get(lang, frozenset())
    for word in words:
        near = text[(small or run)[-1].end : word.start] in (" ", " & ") if run or small else False
        covered = any(s < word.end and word.start < e for s, e in taken)
        if run and (not near or covered or (word.begins and word.shape != "initial")):
            yield run
            run, small = [], []
        if covered or word.shape in ("address", "code", "part"):
            if run:
                yield run
            run, small = [], []
            continue
        if word.shape == "small":
            if run and len(small) < 3 and (word.text in links or _particle(word.text, lang)):
                small.append(word)
            elif run:
                yield run
                run, small = [], []
            continue
        run += [*small, word]
        small = []
    if run:
        yield run


def _particle(word: str, lang: str) -> bool:
    """Whether a small word may stand inside a name; in other languages it means other things."""
    if word not in _PARTICLES:
        return False
    return lang in _ROMANCE or word in ("von", "van", "de") or word not in stop_words(lang)


def _named(run: list[_Word], lang: str, *, headline: bool) -> Iterator[Name]:
    """Give the name that a run of words with capitals holds, if it does."""
    known = {w.text: _known(w.text, lang) for w in run}
    if run[0].begins and run[0].shape == "cap":
        told = known[run[0].text]
        # Dictionaries of most languages lack too many words for "unknown" to mean a name.
        if told == "yes" or (told == "no" and len(run) == 1 and lang not in _WELL_KNOWN):
            run = _trim(run[1:])
    if len(run) >= 3 and run[0].shape == "caps" and all(w.shape == "cap" for w in run[1:]):
        yield from _named(run[:1], lang, headline=headline)
        run = run[1:]
    if lang in _NOUNS:
        yield from _nouns(run, known, lang)
        return
    # Titles and the like before a name: President Joe Biden.
    plain = [known[w.text] == "yes" and w.shape == "cap" for w in run]
    while run and plain[0] and not any(plain[1:]) and len(run) > 1:
        run, plain = _trim(run[1:]), plain[1:]
        plain = plain[len(plain) - len(run) :]
    if not run:
        return
    kind = _kind(run, known, lang)
    if kind is None or (
        headline
        and kind in ("titled", "person", "listed")
        and any(known[w.text] != "no" for w in run if w.shape == "cap")
    ):
        return
    yield Name(run[0].start, run[-1].end, kind, tuple(w.text for w in run))


def _trim(run: list[_Word]) -> list[_Word]:
    while run and run[0].shape == "small":
        run = run[1:]
    return run


def _kind(run: list[_Word], known: dict[str, str], lang: str) -> str | None:
    main = [w for w in run if w.shape != "small"]
    if len(main) == 1:
        word = main[0]
        if word.shape == "initial":
            return None
        if word.shape == "caps":
            return "acronym" if _is_acronym(word.text, lang) else None
        if word.shape == "mixed":
            return "mixed"
        if known[word.text] == "yes" or len(word.text) < 3 + (lang in _NOUNS):
            return None
        if known[word.text] == "name":
            return "listed"
        return "first" if word.begins else "single"
    if main[-1].text.lower() in _ROLES:
        return None
    if all(w.shape == "caps" for w in main) and any(known[w.text] == "yes" for w in main):
        return None  # emphasis
    links = _LINKS.get(lang, frozenset())
    if any(w.shape == "small" and w.text in links - _PARTICLES for w in run):
        return "titled"
    if any(known[w.text] == "yes" for w in main if w.shape == "cap"):
        return "titled"
    return "person" if any(w.shape in ("cap", "mixed") for w in main) else "titled"


def _is_acronym(word: str, lang: str) -> bool:
    """Whether capitals are no emphasis: few letters, and no word that the dictionary has."""
    plain = word.replace(".", "")
    low = plain.lower()
    if not 2 <= len(plain) <= 7 or _ROMAN.fullmatch(plain) or low in stop_words(lang):
        return False
    return len(plain) <= 3 or not (lemmatised(lang) and ordinary(low, lang))


@lru_cache(maxsize=1 << 17)
def _known(word: str, lang: str) -> str:
    """Say whether a word is an ordinary one: yes, no, or a name that dictionaries have."""
    plain = re.sub("['’]s?$", "", word)
    low = plain.lower()
    if low in stop_words(lang) or not plain:
        return "yes"
    if not lemmatised(lang):
        return "name"
    form = lemma(low, lang)
    if form is not None and (lang in _NOUNS or form[:1] == form[:1].lower()):
        return "yes" if lang not in _NOUNS or ordinary(low, lang) else "name"
    parts = re.split("[-‑'’]", low)
    if len(parts) > 1 and any(part and ordinary(part, lang) for part in parts):
        return "yes" if all(ordinary(part, lang) for part in parts if part) else "name"
    return "no" if form is None and lemma(plain, lang) is None else "name"


# -- German


def _nouns(run: list[_Word], known: dict[str, str], lang: str) -> Iterator[Name]:
    """Find names among nouns, all of which have capitals."""
    good: list[_Word] = []
    for word in [*run, None]:
        if word is not None and (
            (word.shape == "small" and good)
            or word.shape in ("caps", "mixed", "initial")
            or (word.shape == "cap" and not _noun(word.text, lang))
            or (word.shape == "cap" and not good and word is not run[-1] and _given(word.text))
        ):
            good.append(word)
            continue
        while good and good[-1].shape in ("small", "initial"):
            good.pop()
        while good and good[0].shape == "small":
            good.pop(0)
        caps = [w.text for w in good if w.shape == "cap"]
        if good and not (caps and all(_noun(own, lang) for own in caps)):
            told = {w.text: "no" if w.shape == "cap" else known[w.text] for w in good}
            kind = _kind(good, told, lang)
            if kind is not None:
                yield Name(good[0].start, good[-1].end, kind, tuple(w.text for w in good))
        good = []


@lru_cache(maxsize=1 << 16)
def _noun(word: str, lang: str) -> bool:
    """Whether a word may be a noun like any other: known, or made of words that are."""
    if _known(word, lang) != "no":
        return True
    # Of words with a hyphen, the last says what they are: Trump-Anhänger.
    last = re.split("[-‑]", word)[-1].lower()
    forms = {last, last.replace("ss", "ß"), last.removesuffix("in"), last.removesuffix("innen")}
    forms.add(last.removesuffix("er") + "en" if last.endswith("er") else last)
    return any(_in_dictionary(one, lang) or _compound(one, lang) for one in sorted(forms))


def _given(word: str) -> bool:
    """Whether it is a name in English: German can't tell one from another noun."""
    form = lemma(word.lower(), "en")
    return form is not None and form == word


_JOINTS = ("", "s", "n", "en", "es", "er", "e")
_NOUN_ENDINGS = ("ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "tion",
                 "tionen", "tät", "täten", "ismus", "isten", "innen", "ierung", "chen", "lein",
                 "nis", "nisse", "ologe", "ologie", "graf", "grafie", "ieren", "barkeit",
                 "losigkeit")  # fmt: skip
_VERB_PREFIXES = ("auf", "aus", "ab", "an", "ein", "vor", "über", "unter", "um", "zu", "ver", "be",
                  "ent", "nach", "mit", "durch", "zer", "er", "ge", "her", "hin", "los", "weg")  # fmt: skip


def _in_dictionary(low: str, lang: str) -> bool:
    return lemma(low, lang) is not None or lemma(low.capitalize(), lang) is not None


@lru_cache(maxsize=1 << 16)
def _compound(low: str, lang: str) -> bool:
    """Whether a German word is made of others, as far as the dictionary can tell."""
    if low.endswith(_NOUN_ENDINGS):
        return True
    for cut in range(3, len(low) - 2):
        first, last = low[:cut], low[cut:]
        if not _in_dictionary(last, lang):
            continue
        if len(last) >= 5:  # a noun with anything before it
            return True
        if first in _VERB_PREFIXES or any(
            len(part := first.removesuffix(joint)) >= 3 and _in_dictionary(part, lang)
            for joint in _JOINTS
        ):
            return True
        if len(first) >= 6 and len(last) >= 4 and _compound(first, lang):
            return True
    return False
