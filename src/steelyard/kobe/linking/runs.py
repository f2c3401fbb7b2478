"""Mentions inside a longer name or a title: "9" in "Symphony No. 9", "Isabella" of Aragon.

Words with capitals, numbers and Roman numerals that stand together, or are joined by little words,
are one name. Who translates it may translate all of it, so that a mention which is only a part of
it, whatever it is, need not be found again. People behind their office keep their names, and so
do countries before it; rulers, saints and titles of works do not.
"""

# ruff: noqa: PLR0911 - each way of writing has its own answer

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from steelyard.kobe.linking.doubt import is_initial
from steelyard.kobe.linking.nouns import WITH_CAPITALS, known
from steelyard.kobe.linking.wordforms import lemmatised, stop_words
from steelyard.kobe.linking.wordshapes import CASELESS, shape
from steelyard.kobe.mention import Mention, Mentions

#: Words behind which people are named as they are, and before which countries are.
_OFFICES = frozenset(
    "president vice minister premier chancellor secretary senator congressman congresswoman "
    "representative governor mayor ambassador judge justice attorney prosecutor commissioner "
    "chairman chairwoman chair chief ceo cfo cto coo director manager officer editor leader "
    "speaker spokesman spokeswoman spokesperson general colonel major sergeant lieutenant admiral "
    "professor prof dr doctor mr mrs ms miss sir madam madame dame rep sen gov gen col lt sgt "
    "coach judge pastor reverend rev detective inspector agent officer democrat republican "
    "foreign prime deputy interior defense defence finance former acting jr sr herr frau monsieur "
    "señor señora don doña pan paní г-н г-жа президент премьер министр канцлер губернатор "
    "сенатор мэр директор депутат генерал профессор prezident ministr premiér kancléř senátor "
    "président ministre chancelier sénateur maire presidente ministro canciller alcalde "
    "senador prezydent kanclerz burmistrz".split()
)
#: Behind these is a surname, or a given name.
_ADDRESSES = frozenset(
    "mr mrs ms mx madam madame monsieur mme mlle herr frau herrn señor señora señorita signor "
    "signora senhor senhora pan paní pana pánem panu г-н г-жа г-ну господин господина господину "
    "госпожа госпожи пан пані meneer mevrouw".split()
)
#: What countries have: translators name the country with it.
_OF_STATES = frozenset(
    "government ministry embassy consulate parliament senate congress army navy armed force forces "
    "police republic federation federal constitution supreme central state national people house "
    "military coast guard border intelligence security department court customs air open grand "
    "prix league cup championship team embassies troops treasury government's".split()
)
#: Names behind these are translated as well: Pope John, Queen Anne, Saint George.
_RULERS = frozenset(
    "king queen prince princess duke duchess count countess earl baron baroness lord lady emperor "
    "empress tsar tsarina sultan pope saint st archduke marquess marquis captain bishop archbishop "
    "caliph emir shah pharaoh khan viscount holy apostle".split()
)
#: What a name is of; behind a name they tell that it is one of a building, a river ...
_HEADS = frozenset(
    "abbey academy airport archabbey arena avenue basilica bay beach bridge building castle "
    "cathedral cave caves cemetery center centre channel chapel church circuit club college "
    "convent council county desert district falls festival forest foundation fort "
    "fortress garden gardens "
    "gate gulf hall harbour hill hills hospital hotel house institute island islands lake library "
    "line lighthouse mall manor market masjid mausoleum memorial metro monastery monument mosque "
    "mount mountain mountains museum oblast observatory ocean opera palace park pass peninsula "
    "plaza port prison province railway reserve river road ruins school sea shrine square "
    "stadium station street studio synagogue temple theater theatre tomb tower town trail tunnel "
    "university valley village wall waterfall wat woods zoo".split()
)
#: Before and behind these stand titles, which are translated.
_WORKS = frozenset(
    "film movie series sitcom show book novel novella song album opera operetta musical ballet "
    "play poem game painting sculpture artwork manga anime comic comics story tale episode single "
    "franchise cartoon documentary symphony soundtrack character trilogy saga magazine".split()
)
_ORDINAL_MARKS = frozenset({"no", "nr", "nos", "op", "opus", "vol", "pt", "n°", "nº", "№"})
#: Given names: one by itself is nobody that a base could know.
_GIVEN = frozenset(
    "william charles henry john james george robert thomas david michael joseph paul peter mark "
    "daniel richard edward philip andrew stephen steven anthony christopher matthew luke simon "
    "martin nicholas alexander benjamin samuel jonathan patrick kevin brian jack harry oliver "
    "oscar max leo adam noah ethan lucas anna maria mary elizabeth sarah emma julia laura sophie "
    "alice jane kate catherine helen margaret victoria charlotte diana isabella olivia mia emily "
    "jessica jennifer lisa susan nancy barbara ruth rachel rebecca hannah eva ella lucy grace "
    "jean pierre jacques louis françois antoine marie claire camille chloé léa juan josé carlos "
    "luis miguel pedro pablo diego carmen ana lucía sofía hans klaus peter heinrich karl fritz "
    "greta heidi giovanni marco luca giulia chiara ivan igor sergei oleg dmitri olga natasha "
    "jan petr pavel tomáš jiří josef jana hana eva иван сергей андрей алексей дмитрий олег анна "
    "мария ольга наталья елена татьяна саша маша".split()
)
#: Little words that join the words of a name, as patterns.
_LINKS = {
    "en": "of|of the|to|to the|on|on the|from|from the|for|for the|the|&",
    "fr": "de|du|des|de la|de l['’]|d['’]|à|au|aux",
    "es": "de|del|de la|de los|de las",
    "pt": "de|do|da|dos|das",
    "it": "di|del|della|dei|delle|dell['’]|d['’]",
    "ca": "de|del|de la|d['’]",
    "ro": "de|al|a",
    "nl": "van|van de|van der|van het",
}
_FEW = frozenset({"to", "to the", "on", "on the", "from", "from the", "for", "for the", "the"})
_WORD = r"[^\W_][\w½]*(?:[.](?= )|(?:['’&-][^\W_]\w*)*)"
_ADJECTIVE = re.compile(r"(?:[aei]ans?|sh|ese|ch|[sz]?i|ss|ic|ks?|es)$")
_ROMAN = re.compile(r"[IVX]+\.?")
#: Of X: what is a work. X a popular song: so it is one.
_ABOUT = re.compile(
    r"(?:seasons?|episodes?|plot|author|genre|cast|premise|chapters|pages|lyrics|sequel|writer|"
    r"characters?|director|composer|adaptation|version|soundtrack) (?:of|in|to) (?:the )?$|"
    r"(?:composed|portrays|portrayed|starred in|starring in|premiere of|episode of) (?:the )?$"
)
_CALLED = re.compile(
    rf",? an? (?:[\w-]+ ){{0,3}}(?:{'|'.join(sorted(_WORKS))})\b"
    r"| (?:was |is |been )?(?:first |originally )?(?:aired|air|released|premiered|broadcast)\b"
)
_TITLE_GOES_ON = re.compile(r" \d+ ([a-z]+)\b")
_SUBTITLE = re.compile(r": [^\W\d_a-z][\w'’-]* (?:(?:of|the|and|in|de|du) )*[^\W\d_a-z]")
_BUILDING = re.compile(r"([A-Z]\w+), $")
_GAPS = " -'’"
_GAPS_AFTER = (" ", "-", "'", "’", ",")
_AROUND = 32  # characters
_SHOUTED = 0.6  # of letters
_HEADLINE = 0.7  # of words with a capital
_SHORT = 10  # words of a text of which all must have a capital
#: Words without a capital in headlines.
_UNPRINTED = frozenset(
    "a an the of and or in on to for from with at by as vs de la le du el y".split()
)
_NAMES = frozenset({"person", "organisation", "work", "product", "event", "name", "demonym"})
_NAMED = frozenset({"organisation", "person", "product", "event"})
_PLACES = frozenset({"city", "place", "airport", "state", "region", "subdivision", "geo"})
_NUMBERS = frozenset({"number", "ordinal"})
_CHECKED = _NAMES | _PLACES | _NUMBERS | {"month", "country", "language"}
#: What other mentions beside one are not a part of the same name.
_APART = frozenset({"country", "weekday", "unit", "currency", "percent", "date", "time", "number"})


class _Beside(NamedTuple):
    """The word before or behind a mention, where it stands, and what is between."""

    word: str
    start: int
    gap: str


def undecided_parts(text: str, lang: str, mentions: Mentions) -> Mentions:
    """Mark mentions as doubtful that are a part of a longer name or a title.

    Places that are somebody's surname are left out.

    Examples
    --------
    >>> nine = Mention(13, 14, "9", "num:9", "number")
    >>> [m.doubtful for m in undecided_parts("I heard Symphony No. 9.", "en", (nine,))]
    [False]
    >>> nine = Mention(21, 22, "9", "num:9", "number")
    >>> [m.doubtful for m in undecided_parts("I heard Symphony No. 9.", "en", (nine,))]
    [True]
    """
    if lang in CASELESS or not any(mention.category in _CHECKED for mention in mentions):
        return mentions
    runs = _Runs(text, lang, mentions)
    return tuple(
        mention._replace(doubtful=True) if _asked(mention) and runs.doubts(mention) else mention
        for mention in mentions
        if mention.category not in _PLACES or not runs.is_addressed(mention)
    )


def _asked(mention: Mention) -> bool:
    return not mention.doubtful and mention.category in _CHECKED


class _Runs:
    """Words with capitals around mentions of one text."""

    def __init__(self, text: str, lang: str, mentions: Mentions) -> None:
        self.text, self.lang = text, lang
        self.apart = {m.start: m for m in mentions if m.category in _APART}
        self.ends = {m.end: m for m in mentions if m.category in _APART}
        self._printed: bool | None = None
        self.nouns = lang in WITH_CAPITALS

    def is_addressed(self, mention: Mention) -> bool:
        """Whether a place is a surname: Madame Roseau."""
        before = self._before(mention)
        if before is None or before.gap != " " or " " in mention.text:
            return False
        return before.word.lower().rstrip(".") in _ADDRESSES

    @property
    def printed(self) -> bool:
        """Whether capitals say nothing: in headlines, and where all is in capitals."""
        if self._printed is None:
            letters = [c for c in self.text if c.isalpha()]
            loud = sum(c.isupper() for c in letters) > _SHOUTED * len(letters)
            words = [w for w in self.text.split() if w[0].isalpha() and w not in _UNPRINTED]
            capital = sum(w[0].isupper() for w in words)
            share = 1 if len(words) < _SHORT else _HEADLINE
            self._printed = loud or (len(words) > 3 and capital >= share * len(words))
        return self._printed

    def doubts(self, mention: Mention) -> bool:
        """Whether a mention may be a part of something else."""
        category = mention.category
        if category == "work" or (category in _NAMED and mention.text.lower() in _GIVEN):
            return True
        return self._is_inside(mention) and not self.printed

    def _is_inside(self, mention: Mention) -> bool:
        category = mention.category
        before, after = self._before(mention), self._after(mention)
        if category in _NUMBERS:
            return self._is_numbered(mention, before, after)
        if category in ("country", "language"):
            return self._of_country(mention, before, after)
        if category == "month":
            return self._of_month(mention, before, after)
        if category in _PLACES:
            own = _is_ruler(mention) or _head_of(mention.text) in _HEADS or self._placed(mention)
        elif category == "organisation":
            own = _is_ruler(mention) or self._is_described(mention, before)
        else:
            unknown = mention.rule == "unknown"
            own = unknown and (_is_ruler(mention) or self._is_titled(mention, before, after))
        return own or self._continues(mention, after) or self._continued(mention, before)

    def _is_described(self, mention: Mention, before: _Beside | None) -> bool:
        """Whether a name says what it is of, which is translated in many ways."""
        if self.lang == "en" and (" of " in mention.text or " for " in mention.text):
            return True
        if before is None or before.gap != " " or _head_of(mention.text) not in _HEADS:
            return False
        # A Catholic University that is Ukrainian is another one.
        return before.start + len(before.word) in self.ends

    def _placed(self, mention: Mention) -> bool:
        """Whether a place tells where a building is, which belongs to its name or not."""
        match = _BUILDING.search(self.text, max(0, mention.start - _AROUND), mention.start)
        return match is not None and match[1].lower() in _HEADS

    # -- what is beside

    def _before(self, mention: Mention) -> _Beside | None:
        text, start = self.text, mention.start
        if not start or text[start - 1] not in _GAPS:
            return None
        from_ = max(0, start - _AROUND)
        match = _previous(self.lang).search(text, from_, start)
        if match is None or (match.start() == from_ and from_ and text[from_ - 1].isalnum()):
            return None
        return _Beside(match["word"], match.start("word"), match["gap"])

    def _after(self, mention: Mention) -> _Beside | None:
        if self.text[mention.end : mention.end + 1] not in _GAPS_AFTER:
            return None
        match = _following(self.lang).match(self.text, mention.end)
        return match and _Beside(match["word"], match.start("word"), match["gap"])

    def _is_part(self, beside: _Beside) -> bool:
        """Whether a word has a capital because it is a part of a name."""
        word, start, _ = beside
        if not word[0].isupper():
            return False
        low = word.lower().rstrip(".")
        if low in stop_words(self.lang) and not _ROMAN.fullmatch(word):
            return False
        if self.nouns:
            return known(word, self.lang) == "no"
        return not (is_initial(self.text, start) and _ordinary(word, self.lang))

    # -- kinds of mentions

    def _is_numbered(self, mention: Mention, before: _Beside | None, after: _Beside | None) -> bool:
        """Whether a number is one of a name: Windows 11, 7 Little Johnstons, Woman Times Seven."""
        if self.nouns:
            return False
        if before and before.gap != "-" and before.start + len(before.word) not in self.ends:
            low = before.word.lower().rstrip(".")
            capital = before.word[0].isupper()
            if (low in _ORDINAL_MARKS and capital) or (low in _WORKS and before.gap == " "):
                return True
            if after and after.gap == " " and capital and self._is_foreign(after.word):
                return True
            if before.gap == " " or mention.text[0].isupper():
                named = capital and not is_initial(self.text, before.start)
                named = named and low not in stop_words(self.lang)
                if named and shape(before.word) == "cap" and _ordinary(before.word, self.lang):
                    return True
        if after and after.gap == "-" and mention.category == "ordinal":
            return True  # 20th-century music
        if after is None or after.gap != " " or after.start in self.apart:
            return False
        if not after.word[0].isupper() or shape(after.word) != "cap" or len(after.word) < 4:
            return False
        return after.word.lower() not in stop_words(self.lang)

    def _of_country(self, mention: Mention, before: _Beside | None, after: _Beside | None) -> bool:
        """Whether a country is named in a title: American Restoration, Bank of America."""
        if after and after.gap == " " and after.start not in self.apart and not self.nouns:
            word, low = after.word, after.word.lower()
            plain = shape(word) == "cap" and word[0].isupper() and _ordinary(word, self.lang)
            other = low not in _OFFICES and low not in _OF_STATES and low not in _RULERS
            if plain and other:
                return low not in stop_words(self.lang)
            if other and self._is_unlike(mention) and self._is_part(after):
                return True
        if before is None or before.start + len(before.word) in self.ends:
            return False
        low = before.word.lower()
        if before.gap == "-":
            return self._is_part(before) and not self.nouns
        if before.gap == " ":
            # Countries beside a name: see doubt.py.
            return mention.category == "language" and self._is_part(before) and not self.nouns
        if low in _OFFICES | _OF_STATES or not self._is_part(before):
            return False
        return before.gap.strip() not in _FEW or _ordinary(before.word, self.lang)

    def _is_unlike(self, mention: Mention) -> bool:
        """Whether a country is no adjective, behind which names stand as well: French Renault."""
        noun = self.lang == "en" and not _ADJECTIVE.search(mention.text)
        return noun and shape(mention.text) == "cap"

    def _of_month(self, mention: Mention, before: _Beside | None, after: _Beside | None) -> bool:
        """Whether a month is another word of a name: Turkish March, March of the Living."""
        if self.lang != "en" or any(c.isdigit() for c in self._around(mention)):
            return False
        if before and before.gap == " " and self._is_part(before):
            return True
        return bool(after and after.word[0].isupper() and after.gap.strip() in ("", "of", "of the"))

    def _around(self, mention: Mention) -> str:
        return self.text[max(0, mention.start - 4) : mention.end + 6]

    def _is_titled(self, mention: Mention, before: _Beside | None, after: _Beside | None) -> bool:
        """Whether a name that no base knows is one of a building, a work ..."""
        words = mention.text.lower().split()
        if len(words) > 1 and not _HEADS.isdisjoint(words):
            return True
        if _SUBTITLE.match(self.text, mention.end) or _CALLED.match(self.text, mention.end):
            return True
        if _ABOUT.search(self.text, max(0, mention.start - _AROUND), mention.start):
            return True
        if before and before.gap == " " and before.word.lower() in _WORKS:
            return True
        further = _TITLE_GOES_ON.match(self.text, mention.end)
        if further is not None and self._is_foreign(further[1]):
            return True
        if after is None or after.gap != " ":
            return False
        low = after.word.lower()
        if after.word in _HEADS or low in _WORKS or low in ("tv", "television"):
            return True
        return self._is_foreign(after.word)

    def _is_foreign(self, word: str) -> bool:
        """Whether a small word is none of the language, so that a name goes on with it."""
        if self.lang != "en" or not word.isalpha() or not word.islower():
            return False
        return known(word, "en") == "no"

    def _continues(self, mention: Mention, after: _Beside | None) -> bool:
        """Whether a name goes on behind a mention."""
        if after is None or after.start in self.apart:
            return False
        word, low, gap = after.word, after.word.lower().rstrip("."), after.gap
        if gap == ", ":
            return word[0].isupper() and (low in _RULERS or low in ("op", "duke"))
        if not word[0].isupper() or low in _OFFICES or low in stop_words(self.lang):
            if not (_ROMAN.fullmatch(word) and gap == " " and mention.category in _NAMES):
                return False
            return word != "I" or self.text[after.start + 1 : after.start + 4] == " of"
        if gap in ("'s ", "’s "):
            return _ordinary(word, self.lang) and low not in _OF_STATES and not self.nouns
        if gap in (" ", "-"):
            if self.nouns:
                return False
            if mention.rule == "unknown" and " " not in mention.text:
                return True
            return low not in _RULERS and _ordinary(word, self.lang)
        if gap == " and the ":
            return mention.rule == "unknown" and _ordinary(word, self.lang)
        return gap.strip() not in _FEW and " " not in mention.text

    def _continued(self, mention: Mention, before: _Beside | None) -> bool:
        """Whether a mention is what a name goes on with."""
        if before is None:
            return False
        beside = self.ends.get(before.start + len(before.word))
        if beside is not None:
            country = beside.category == "country" and before.gap == " "
            single = mention.rule == "unknown" and " " not in mention.text
            return country and single and self._is_unlike(beside)
        low, gap = before.word.lower().rstrip("."), before.gap
        if low in _RULERS and before.word[0].isupper() and mention.rule != "name":
            return True
        if low in _OFFICES:
            return self._in_title(before)
        if not self._is_part(before):
            return False
        if gap.strip() in _FEW:
            return _ordinary(before.word, self.lang)
        if gap in (" ", "-"):
            if shape(before.word) == "caps":
                return False
            several = mention.rule == "unknown" and " " in mention.text
            if mention.category == "person" or several:
                return low in _HEADS or low in _RULERS
            if mention.rule == "unknown":
                return not self.nouns and _ordinary(before.word, self.lang)
            return mention.category != "organisation"
        return low not in _OF_STATES

    def _in_title(self, office: _Beside) -> bool:
        """Whether an office is named in a title: Quotations from Chairman Mao."""
        match = _previous(self.lang).search(self.text, max(0, office.start - _AROUND), office.start)
        if match is None or match["gap"].strip() not in _FEW:
            return False
        earlier = _Beside(match["word"], match.start("word"), match["gap"])
        return self._is_part(earlier) and _ordinary(earlier.word, self.lang)


def _is_ruler(mention: Mention) -> bool:
    words = mention.text.split()
    if words[0].lower().rstrip(".") in _RULERS:
        return True
    return len(words) > 1 and _ROMAN.fullmatch(words[-1]) is not None


def _head_of(name: str) -> str:
    """Give the last word of a name of several."""
    first, _, last = name.lower().rpartition(" ")
    return last if first else ""


@lru_cache(maxsize=1 << 15)
def _ordinary(word: str, lang: str) -> bool:
    """Whether a word is one of the dictionary, be it a name as well."""
    if not lemmatised(lang):
        return False
    return known(word.rstrip("."), lang) in ("yes", "both")


@cache
def _previous(lang: str) -> re.Pattern[str]:
    links = _LINKS.get(lang)
    gap = "[ -]" if links is None else f"[ -]| (?:{links})(?:(?<=['’])| )"
    return re.compile(rf"(?<![\w'’-])(?P<word>{_WORD})(?P<gap>{gap})\Z".replace(r"\Z", "$"))


@cache
def _following(lang: str) -> re.Pattern[str]:
    links = _LINKS.get(lang)
    gap = " |-|['’]s |, " if links is None else f" (?:{links})(?:(?<=['’])| )| |-|['’]s |, "
    if lang == "en":
        gap = f" and the |{gap}"
    return re.compile(rf"(?P<gap>{gap})(?P<word>{_WORD})")
