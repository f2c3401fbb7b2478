"""Word forms: dictionary forms of inflected words, ordinary words, and words that name nothing."""

from __future__ import annotations

from functools import cache

#: Endings of names in languages with cases: what stands in a text, what the name may end in.
#: Tried in this order where the lemmatiser does not know the word.
_SLAVIC_CYRILLIC = (
    ("ии", "ия"), ("ию", "ия"), ("ией", "ия"), ("ої", "а"), ("ой", "а"), ("ою", "а"), ("ей", "я"),
    ("ом", ""), ("ем", "ь"), ("ові", ""), ("у", "а"), ("ы", "а"), ("и", "а"), ("і", "а"),
    ("е", "а"), ("ю", "я"), ("а", ""), ("у", ""), ("е", ""), ("і", ""), ("я", "ь"), ("и", "ь"),
)  # fmt: skip
_SLAVIC_LATIN = (
    ("ou", "a"), ("ą", "a"), ("ę", "a"), ("y", "a"), ("i", "a"), ("ě", "a"), ("e", "a"), ("u", "a"),
    ("o", "a"), ("em", ""), ("ie", ""), ("ovi", ""), ("u", ""), ("a", ""), ("ě", ""), ("e", ""),
    ("ím", "í"), ("u", "o"), ("a", "o"), ("ii", "ia"), ("ií", "ie"), ("ii", "ie"), ("y", ""),
)  # fmt: skip
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "sr"), _SLAVIC_CYRILLIC),
    **dict.fromkeys(("cs", "sk", "pl", "hr", "sl", "bs"), _SLAVIC_LATIN),
    "de": (("s", ""), ("er", ""), ("es", "")),
    "nl": (("s", ""),),
    "sv": (("s", ""),),
    "da": (("s", ""),),
    "nb": (("s", ""),),
    "fi": (("ssa", ""), ("ssä", ""), ("sta", ""), ("stä", ""), ("lla", ""), ("llä", ""),
           ("n", ""), ("in", ""), ("iin", "i"), ("an", "a"), ("a", "")),
    "et": (("s", ""), ("st", ""), ("sse", ""), ("i", "")),
    "hu": (("ban", ""), ("ben", ""), ("ból", ""), ("ből", ""), ("ba", ""), ("be", ""), ("nak", ""),
           ("nek", ""), ("t", ""), ("i", "")),
    "lt": (("e", "as"), ("o", "as"), ("ui", "as"), ("ą", "as"), ("oje", "a"), ("os", "a")),
    "lv": (("ā", "a"), ("as", "a"), ("u", "a"), ("ē", "e"), ("es", "e")),
    "tr": (("da", ""), ("de", ""), ("dan", ""), ("den", ""), ("ya", ""), ("ye", ""), ("nın", "")),
    "el": (("ς", ""),),
}  # fmt: skip
#: Endings of nouns and adjectives: without them, the words of a name are the same in every case.
_STEM_ENDINGS = {
    **dict.fromkeys(
        ("ru", "uk", "be", "bg", "mk", "sr"),
        "ыми ими ого его ому ему ами ями ях ах ам ям ов ев ых их ый ий ой ые ие ая яя ое ее ую юю"
        " ою ем ом ей ією ія ії ої ій их ів а я ы и і у ю е є о ь й",
    ),
    **dict.fromkeys(
        ("cs", "sk", "pl", "hr", "sl", "bs"),
        "ých ého ému ými ech ách ích ami emi ové ego emu ych ich ach iej ymi imi ům ou ým ím ie"
        " em ów om ej ą ę ů á é ě í ý y a e i o u",
    ),
    "de": "en er es em e s n",
    "nl": "en e s",
    "fr": "es e s",
    "es": "os as es o a e s",
    "it": "o a e i",
    "pt": "os as es o a e s",
    "fi": "issa issä ista istä ille illa illä ien jen ssa ssä sta stä lla llä lle lta ltä an än en"
    " in n t a ä i e",
}
_STEMS = {
    lang: tuple(sorted(set(ends.split()), key=lambda e: (-len(e), e)))
    for lang, ends in _STEM_ENDINGS.items()
}
#: Letters that are written together with the next word: in, to, from, the, and.
_PREFIXES = {
    "he": ("ב", "ל", "מ", "ה", "ו", "וב", "ול", "כ", "ש"),
    "ar": ("ال", "و", "ب", "ل", "وال", "بال", "لل", "ف", "ك"),
    "fa": ("ب",),
}
#: Words that name nothing by themselves, though wordnets and gazetteers list them. Short on purpose
#: and of the same kind in every language: a longer list on one side would look like losses.
_STOP = {
    "en": "a an the this that these those i you he she it we they me him her us them my your his"
    " its our their who what which whose whom be am is are was were been being have has had having"
    " do does did done doing will would can could may might must shall should ought in on at by of"
    " for from to into out up down off over under with within without about as than then so such"
    " no nor not or and but if else while when where why how all any both each few more most other"
    " some only own same too very just also now here there again once ever never still yet even"
    " back well get got go going make made one ones s t re ve ll d m mr mrs ms no. vs etc",
    "de": "der die das den dem des ein eine einen einem einer eines ich du er sie es wir ihr mich"
    " mir dich dir ihn ihm uns euch mein dein sein unser euer wer was und oder aber wenn als wie"
    " weil dass ob in im an am auf aus bei mit nach von vom zu zum zur für durch gegen ohne um über"
    " unter vor hinter ist sind war waren bin bist sein haben hat hatte werden wird wurde kann"
    " nicht kein keine nur auch noch schon so da hier dort man sich alle mehr sehr ja nein doch",
    "fr": "le la les un une des du de d l et ou mais si que qui quoi dont où je tu il elle on nous"
    " vous ils elles me te se ce cet cette ces mon ton son ma ta sa mes tes ses notre votre leur"
    " à au aux en dans par pour sur sous avec sans est sont était être avoir a ont pas ne plus",
    "es": "el la los las un una unos unas de del y o pero si que quien yo tú él ella nosotros ellos"
    " me te se lo le su sus mi tu es son era ser ha han en por para con sin a al no más ya como",
    "it": "il lo la i gli le un uno una di del della dei e o ma se che chi io tu lui lei noi voi"
    " loro mi ti si è sono era essere ha hanno in per con su da a al non più come",
    "pt": "o a os as um uma uns umas de do da dos das e ou mas se que quem eu tu ele ela nós eles"
    " me te se é são era ser tem em no na por para com sem ao à não mais como",
    "cs": "a i o u k s z v ve ke ze se si na do od po za pro při před pod nad bez ale nebo že když"
    " kdo co který já ty on ona ono my vy oni mě mi tě ti ho mu ji jim ten ta to ti ty je jsou byl"
    " byla bylo být mít má není ne jen už ještě tak jak kde tam tu také i pak doba tomu",
    "pl": "a i o u w we z ze na do od po za dla przy przed pod nad bez ale lub że gdy kto co który"
    " ja ty on ona ono my wy oni mnie mi ci go mu jej im ten ta to te jest są był była było nie",
    "ru": "а и о у в во к ко с со на до от по за для при перед под над без но или что когда кто"
    " который я ты он она оно мы вы они меня мне тебя его ему ее ей их им этот эта это эти тот та"
    " то те есть был была было быть не ни же ли бы уже еще так как где там тут все раз да нет",
    "uk": "а і й о у в з із зі на до від по за для при перед під над без але або що коли хто який я"
    " ти він вона воно ми ви вони мене мені тебе його йому її їй їх їм цей ця це ці той та то ті є"
    " був була було бути не ні ж чи б вже ще так як де там тут все раз",
}


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Give the words of a language that name nothing by themselves."""
    return frozenset(_STOP.get(lang, "").split())


@cache
def lemmatised(lang: str) -> bool:
    """Whether there is a lemmatiser for a language."""
    from steelyard.kobe.base.knowledge import need

    need("simplemma")
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return lang in SUPPORTED_LANGUAGES


def lemma(word: str, lang: str) -> str | None:
    """Give the dictionary form of a word, or None where the lemmatiser does not know the word.

    Examples
    --------
    >>> lemma("Německu", "cs"), lemma("двух", "ru"), lemma("Xyz", "de")
    ('Německo', 'два', None)
    """
    if not lemmatised(lang):
        return None
    import simplemma

    return simplemma.lemmatize(word, lang=lang) if simplemma.is_known(word, lang=lang) else None


def ordinary(word: str, lang: str) -> bool:
    """Whether a folded word is an ordinary one: in the dictionary, and not as a name.

    Examples
    --------
    >>> ordinary("doba", "cs"), ordinary("berlin", "de"), ordinary("mobile", "en")
    (True, False, True)
    """
    if word in stop_words(lang):
        return True
    form = lemma(word, lang)
    # A name is its own dictionary form, with a capital; "Kinder" is a form of another word.
    return form is not None and (form[:1] == form[:1].lower() or form.lower() != word)


def stem(word: str, lang: str) -> str:
    """Cut the ending off a folded word, to compare the words of longer names in any case.

    Examples
    --------
    >>> stem("spojených", "cs") == stem("spojené", "cs"), stem("штатах", "ru")
    (True, 'штат')
    """
    for ending in _STEMS.get(lang, ()):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)]
    return word


def inflects(lang: str) -> bool:
    """Whether words of names change their endings in a language, as far as is known here."""
    return lang in _STEMS


def base_forms(word: str, lang: str) -> list[str]:
    """Give what an inflected word may be a form of, the likeliest first.

    Examples
    --------
    >>> base_forms("Варшаву", "ru")[0], base_forms("Německu", "cs")[0]
    ('Варшава', 'Německo')
    """
    forms = []
    form = lemma(word, lang)
    if form is not None and form != word:
        forms.append(form)
    if len(word) >= 5 and word[:1] != word[:1].lower():
        forms += [
            word[: len(word) - len(ending)] + other
            for ending, other in _ENDINGS.get(lang, ())
            if word.endswith(ending) and len(word) - len(ending) >= 3
        ]
    for prefix in _PREFIXES.get(lang, ()):
        if word.startswith(prefix) and len(word) - len(prefix) >= 3:
            forms.append(word[len(prefix) :])
    return list(dict.fromkeys(forms))
