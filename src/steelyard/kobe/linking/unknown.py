"""Names that no base knows, found by how they are written.

Capitals, digits inside words, letters of another script, dots between the parts of a name: what is
written so is a name in most languages. What begins a sentence, stands in a headline or is an
ordinary word is not, and in German, where every noun has a capital, only words that no dictionary
knows and that are not made of words that it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from steelyard.kobe.linking.nouns import WITH_CAPITALS, is_given, is_noun, known, may_be_surname
from steelyard.kobe.linking.signs import Name, signed_names, towns
from steelyard.kobe.linking.wordforms import lemma, lemmatised, ordinary, stop_words
from steelyard.kobe.linking.wordshapes import CASELESS, Word, addresses, capital_words, shape
from steelyard.kobe.mention import Mentions

#: Ways in which names are written; each is kept to a degree of its own by people who translate.
KINDS = (
    "address",  # of a page or a mailbox, @somebody
    "code",  # A380, COVID-19
    "acronym",  # WDR
    "mixed",  # iPhone
    "person",  # several words that are no ordinary ones
    "titled",  # several words, some of them ordinary: Foreign Office
    "single",  # a word that no dictionary knows
    "first",  # such a word at the beginning of a sentence
    "listed",  # a word that dictionaries know as a name
    "foreign",  # Latin letters in a text of another script
    "kana",
    "dotted",
    "quoted",
    "honoured",  # four of Chinese and Japanese: see signs.py
)

_PARTICLES = frozenset(
    "de da do dos das del della di du des la le van von der den vom zu zum zur af av bin ibn ben "
    "al el abu e y i ter ten te фон де ван дер да ди бин аль эль ибн".split()
)
_ROMANCE = frozenset("es fr it pt ca gl ro nl".split())
_LINKS = {"en": frozenset("of and the for &".split())}
_OF = frozenset({"of", "for"})
_ROLES = frozenset(
    "minister president secretary chancellor director officer manager chief chairman chairwoman "
    "leader king queen prince princess duke bishop pope judge justice attorney general governor "
    "mayor senator professor doctor captain sergeant spokesman spokeswoman editor commissioner "
    "ambassador executive speaker pastor representative congressman congresswoman republican "
    "democrat mr mrs ms dr sir lord lady god".split()
)
#: Abbreviations of things, which name nothing.
_GENERIC = frozenset(
    "PC TV CD DVD USB CRM ERP DMS CMS SEO QR HTML CSS PDF ID IT IQ KO OK VAT DIY GPS LED LCD HD "
    "UHD CEO CFO CTO COO PM "
    "MP PR HR ICU FAQ SMS MMS ATM GDP GNP DNA RNA DNS HIV AIDS PIN RAM ROM CPU GPU VPN URL API "
    "AI VR AR UI UX SUV NGO PCR CT MRI EKG BMI ETF IPO B2B B2C RPG FPS NPC CV PS AM UTC GMT CET "
    "BC AD DJ VIP SOS UFO RIP LOL OMG WTF FYI ASAP TBA TBD NFT SIM IP WLAN LAN HDMI SSD HDD "
    "MWST LKW PKW KFZ GMBH AG DPH HDP MHD VŠ SŠ ZŠ ČR СМИ ВИЧ ПК ТВ ВВП ДНК РНК НДС ИИ ЖКХ ДТП "
    "ЧП ЕГЭ МРТ ИП ООО ОАО ПО IVA PIB ADN ONG TVA PME VIH PIL AP MM".split()
)
#: The same with small letters, without hyphens.
_TECHNICAL = frozenset("wifi bluray usbc usba usbs ebook pdfs".split())
_HEADLINE = 0.7  # of the longer words with a capital, half of them ordinary: no sentence
_SHORT = 10  # longer words of a text of which all must have a capital
_LOUD = 0.5  # of them in capitals throughout
_TITLE_CASE = frozenset({"en"})  # languages in which all words of a name have capitals
_WELL_KNOWN = frozenset({"en"})  # languages whose dictionary has nearly all words
_GAP = 12  # characters of small words inside a name
_ROMAN = re.compile("[IVXLC]+")
_NUMBER_FIRST = re.compile(r"\d+[^\W\d_]+|.*\d+[-‑][^\W\d_]*[a-zа-я]{4,}")
_TOP, _FOREIGN_GAP = 7, re.compile(" (?:[a-z]{1,4} )?")  # letters of an abbreviation


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
    small = towns(text, lang, [m.end for m in mentions if m.group == "place"])
    for name in (*small, *_candidates(text, lang, taken)):
        if not _covered(name.start, name.end, taken):
            if (name.start, name.end) not in same:
                found.append(name)
            taken.append((name.start, name.end))
    return tuple(sorted(found))


def _covered(start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    for other_start, other_end in taken:  # noqa: SIM110 - twice as fast as any()
        if other_start < end and start < other_end:
            return True
    return False


def _candidates(text: str, lang: str, taken: list[tuple[int, int]]) -> Iterator[Name]:
    for start, end in addresses(text):
        yield Name(start, end, "address", (text[start:end],))
    if lang in CASELESS:
        yield from signed_names(text, lang)
    words = [
        _head(word, lang) if lang in WITH_CAPITALS else word for word in capital_words(text, lang)
    ]
    if not words:
        return
    headline = loud = False
    if len(words) >= 3 and lang not in CASELESS:
        headline, loud = _printed(text, words, lang)
    if loud:
        return
    for run in _runs(text, words, lang, taken):
        if run[0].foreign or lang in CASELESS:
            yield from _foreign(run)
        elif run[0].shape == "code":
            if len(run[0].text) > 1 and not _NUMBER_FIRST.fullmatch(run[0].text):
                yield _name(run, "code")
        else:
            yield from _named(run, lang, headline=headline)


def _printed(text: str, words: Sequence[Word], lang: str) -> tuple[bool, bool]:
    """Say whether a text is a headline, and whether most of it is in capitals."""
    n = sum(len(word) > 3 for word in text.split())
    capital = [word for word in words if word.end - word.start > 3]
    caps = sum(word.shape == "caps" for word in capital)
    headline = False
    if lang in _TITLE_CASE and len(capital) >= (n if n < _SHORT else _HEADLINE * n):
        plain = sum(known(word.text, lang) in ("yes", "both") for word in capital)
        headline = plain >= _HEADLINE * n / 2
    return headline, caps > 1 and caps > _LOUD * n


def _runs(
    text: str, words: Sequence[Word], lang: str, taken: Sequence[tuple[int, int]]
) -> Iterator[list[Word]]:
    """Give words with capitals that stand together, with the small words of names inside."""
    run: list[Word] = []
    for word in words:
        alone = word.shape == "part" or _covered(word.start, word.end, taken)
        if run:
            small = None
            if not alone and word.foreign == run[0].foreign and _joined(run[-1], word, lang):
                small = _between(text, run[-1].end, word.start, lang, foreign=word.foreign)
                if small and small[0].text == "and" and not any(w.text in _OF for w in run):
                    small = None  # two names, unless it is a Department of Health and Safety
            if small is None:
                yield run
                run = []
            else:
                run += small
        if not alone:
            run.append(word)
    if run:
        yield run


def _joined(before: Word, word: Word, lang: str) -> bool:
    if word.foreign:
        return True
    if "code" in (before.shape, word.shape):
        return False
    # An initial has a full stop, and so has what is no initial: "Series X. I'm here."
    return not word.begins or (before.shape == "initial" and known(word.text, lang) != "yes")


def _between(text: str, start: int, end: int, lang: str, *, foreign: bool) -> list[Word] | None:
    """Give the small words between two of a name; None where these are no part of one."""
    if end - start == 1:
        return [] if text[start] == " " else None
    gap = text[start:end]
    if len(gap) > _GAP or gap[:1] != " " or gap[-1:] != " ":
        return None
    if foreign or lang in CASELESS:
        return [] if _FOREIGN_GAP.fullmatch(gap) else None
    found = []
    for own in gap.split():
        if not _inside(own, lang):
            return None
        start = text.index(own, start)
        found.append(Word(own, start, start + len(own), "small"))
        start += len(own)
    return found


@cache
def _inside(word: str, lang: str) -> bool:
    """Whether a small word may stand inside a name; in other languages it means other things."""
    if word in _LINKS.get(lang, ()):
        return True
    if word not in _PARTICLES:
        return False
    return lang in _ROMANCE or word in ("von", "van", "de") or word not in stop_words(lang)


def _name(run: Sequence[Word], kind: str) -> Name:
    return Name(run[0].start, run[-1].end, kind, tuple(word.text for word in run))


def _foreign(run: list[Word]) -> Iterator[Name]:
    """Give the name that words in Latin letters are in a text of another script."""
    only = run[0].shape if len(run) == 1 else ""
    if only == "caps" and not _is_acronym(run[0].text, ""):
        return
    if only == "code" and _NUMBER_FIRST.fullmatch(run[0].text):
        return
    if only in ("caps", "code", "mixed"):
        yield _name(run, "acronym" if only == "caps" else only)
    elif only not in ("initial", "part"):
        yield _name(run, "foreign")


def _named(run: list[Word], lang: str, *, headline: bool) -> Iterator[Name]:
    """Give the name that a run of words with capitals holds, if it does."""
    first = run[0]
    if first.begins and first.shape == "cap":
        told = known(first.text, lang)
        # Dictionaries of most languages lack too many words for "unknown" to mean a name.
        alone = all(w.shape != "cap" or known(w.text, lang) == "yes" for w in run[1:])
        if told in ("yes", "both") or (told == "no" and alone and lang not in _WELL_KNOWN):
            run = _trim(run[1:])
    if len(run) >= 3 and run[0].shape == "caps" and all(w.shape == "cap" for w in run[1:]):
        yield from _named(run[:1], lang, headline=headline)
        run = run[1:]
    if not run:
        return
    if lang in WITH_CAPITALS:
        yield from _among_nouns(run, lang)
        return
    told_of = {word.text: known(word.text, lang) for word in run}
    while len(run) > 1 and run[0].text.lower() in _ROLES:
        run = _trim(run[1:])
    plain = [w for w in run if w.shape == "cap" and told_of[w.text] == "yes"]
    if len(plain) == 1 and plain[0] is run[0] and len(run) > 1:
        run = _trim(run[1:])  # a title before a name: President Joe Biden
    kind = _kind(run, told_of, lang)
    if kind is None or (
        headline
        and kind in ("titled", "person", "listed")
        and any(told_of[w.text] != "no" for w in run if w.shape == "cap")
    ):
        return
    yield _name(run, kind)


def _trim(run: list[Word]) -> list[Word]:
    while run and run[0].shape == "small":
        run = run[1:]
    return run


def _kind(run: Sequence[Word], told: dict[str, str], lang: str) -> str | None:
    main = [word for word in run if word.shape != "small"]
    while len(main) > 1 and _ROMAN.fullmatch(main[-1].text):
        main = main[:-1]  # Charles III
    if len(main) == 1:
        return _kind_of_one(main[0], told[main[0].text], lang)
    # Where titles have no capitals, an ordinary word after a name is a surname.
    surname = lang not in _TITLE_CASE and main[0].shape == "cap" and told[main[0].text] != "yes"
    ordinary_ones = not surname and any(told[w.text] == "yes" for w in main if w.shape == "cap")
    emphasis = all(w.shape == "caps" for w in main) and any(told[w.text] == "yes" for w in main)
    if main[-1].text.lower() in _ROLES or emphasis:
        return None
    links = _LINKS.get(lang, frozenset()) - _PARTICLES
    if all(told[w.text] == "both" for w in main):
        ordinary_ones = lang in _TITLE_CASE
    if ordinary_ones or any(w.shape == "small" and w.text in links for w in run):
        return "titled"
    return "person" if any(w.shape in ("cap", "mixed") for w in main) else "titled"


def _kind_of_one(word: Word, told: str, lang: str) -> str | None:
    if word.shape == "caps":
        return "acronym" if _is_acronym(word.text, lang) else None
    if word.shape == "mixed":
        return None if _is_technical(word.text, lang) else "mixed"
    least = 3 + (lang in WITH_CAPITALS)  # letters
    if word.shape != "cap" or told == "yes" or len(word.text) < least:
        return None
    if told != "no":
        return "listed"
    return "first" if word.begins else "single"


def _is_technical(word: str, lang: str) -> bool:
    """Whether a word with a capital inside is one of technology that names nothing: eReader."""
    if word.lower().replace("-", "") in _TECHNICAL:
        return True
    return word[0] == "e" and lang in _WELL_KNOWN and known(word[1:], lang) == "yes"


def _is_acronym(word: str, lang: str) -> bool:
    """Whether capitals are no emphasis: few letters, and no word that the dictionary has."""
    plain = word.replace(".", "")
    low = plain.lower()
    if plain.rstrip("sи") in _GENERIC or plain in _GENERIC:
        return False
    if not 1 < len(plain) <= _TOP or _ROMAN.fullmatch(plain) or low in stop_words(lang):
        return False
    return len(plain) <= 3 or not (lemmatised(lang) and ordinary(low, lang))


def _head(word: Word, lang: str) -> Word:
    """Give what a compound with a noun begins with, where that is a name: F1-Fans."""
    if "-" not in word.text:
        return word
    first, _, last = word.text.partition("-")
    if word.shape not in ("mixed", "code", "caps") or not is_noun(last, lang):
        return word
    form = shape(first) if first != first.lower() else "part"
    return word._replace(text=first, end=word.start + len(first), shape=form)


def _among_nouns(run: Sequence[Word], lang: str) -> Iterator[Name]:
    """Find names among nouns, all of which have capitals."""
    good: list[Word] = []
    for word in run:
        if word.shape != "cap":
            fits = word.shape != "small" or bool(good)
        else:
            given = not good and word is not run[-1] and is_given(word.text)
            after = len(good) == 1 and is_given(good[0].text) and may_be_surname(word.text, lang)
            fits = given or after or not is_noun(word.text, lang)
        if fits:
            good.append(word)
        else:
            yield from _noun_run(good, lang)
            good = []
    yield from _noun_run(good, lang)


def _heard(word: str) -> str:
    """Say whether an unknown German word is an English one, which texts are full of."""
    return "name" if lemma(word.lower(), "en") is not None else "no"


def _noun_run(run: list[Word], lang: str) -> Iterator[Name]:
    while run and run[-1].shape in ("small", "initial"):
        run = run[:-1]
    caps = [word.text for word in run if word.shape == "cap"]
    plain = [own for own in caps if is_noun(own, lang)]
    surname = len(caps) == 2 and is_given(caps[0]) and may_be_surname(caps[1], lang)
    if not run or (caps and len(plain) == len(caps) and not surname):
        return
    told = {w.text: _heard(w.text) if w.shape == "cap" else known(w.text, lang) for w in run}
    kind = _kind(run, told, lang)
    if kind is not None:
        yield _name(run, kind)
