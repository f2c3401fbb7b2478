"""Forms of adjectives and nouns that name peoples, by rules that hold for these words.

They are words of a kind: britisch, британский, britský, brytyjski. What fits no rule is left as it
is. Linkers look other forms up in a dictionary, which has few of these words.
"""

from __future__ import annotations

#: Per language: endings that are replaced, the longest first, and what stands in their place.
RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "de": (
        ("isch", "isch ische ischen ischer isches ischem"),
        ("ysch", "ysch ysche yschen yscher ysches yschem"),
        ("deutsch", "deutsch deutsche deutschen deutscher deutsches deutschem"),
    ),
    "en": (
        ("chman", "chman chmen"), ("shman", "shman shmen"), ("ian", "ian ians"), ("an", "an ans"),
        ("ander", "ander anders"), ("i", "i is"),
    ),
    "fr": (
        ("ais", "ais aise aises"), ("ois", "ois oise oises"), ("ain", "ain aine ains aines"),
        ("ien", "ien ienne iens iennes"), ("éen", "éen éenne éens éennes"), ("ique", "ique iques"),
        ("and", "and ande ands andes"), ("gnol", "gnol gnole gnols gnoles"),
        ("in", "in ine ins ines"),
        ("grec", "grec grecque grecs grecques"), ("turc", "turc turque turcs turques"),
        ("sse", "sse sses"), ("ge", "ge ges"), ("èque", "èque èques"), ("aque", "aque aques"),
    ),
    "es": (
        ("ano", "ano ana anos anas"), ("és", "és esa eses esas"), ("án", "án ana anes anas"),
        ("ol", "ol ola oles olas"), ("ense", "ense enses"), ("o", "o a os as"), ("í", "í íes ís"),
    ),
    "it": (
        ("ese", "ese esi"), ("no", "no na ni ne"), ("co", "co ca ci chi che"), ("o", "o a i e"),
    ),
    "pt": (
        ("ês", "ês esa eses esas"), ("ano", "ano ana anos anas"), ("ão", "ão ã ães ões ãos"),
        ("ense", "ense enses"), ("o", "o a os as"),
    ),
    "nl": (("aans", "aans aanse"), ("ees", "ees ese"), ("isch", "isch ische"), ("s", "s se")),
    "nb": (("sk", "sk ske"),),
    "da": (("sk", "sk ske"),),
    "sv": (("sk", "sk skt ska"),),
    "fi": (
        ("lainen", "lainen laisen laiset laisten laisia laista laisille laisella laisissa"),
        ("läinen", "läinen läisen läiset läisten läisiä läistä läisille läisellä läisissä"),
    ),
    "ru": (
        ("ий", "ий ая ое ие ого ой ому ую им ом их ими"),
        ("ый", "ый ая ое ые ого ой ому ую ым ом ых ыми"),
    ),
    "uk": (("ий", "ий а е і ого ої ому ій у им ою ім их ими"),),
    "bg": (("ски", "ски ския ският ска ската ско ското ските"),),
    "cs": (
        ("ský", "ský ská ské ského skému ským skou ském ských skými ští"),
        ("cký", "cký cká cké ckého ckému ckým ckou ckém ckých ckými čtí"),
    ),
    "sk": (
        ("ský", "ský ská ské ského skému ským skej skú skou skom skí ských skými"),
        ("cký", "cký cká cké ckého ckému ckým ckej ckú ckou ckom ckí ckých ckými"),
    ),
    "pl": (
        ("ski", "ski ska skie skiego skiej skiemu ską skim skich skimi scy"),
        ("cki", "cki cka ckie ckiego ckiej ckiemu cką ckim ckich ckimi ccy"),
    ),
}  # fmt: skip
#: Nouns, told from adjectives by their capital or, in Slavic languages, by their ending.
NOUNS: dict[str, tuple[tuple[str, str], ...]] = {
    "de": (("er", "er ers ern erin erinnen"), ("e", "e en in innen")),
    "ru": (
        ("ец", "ец ца цу цем це цы цев цам цами цах"),
        ("янин", "янин янина янину янином яне ян янам янами янах"),
    ),
    "uk": (("ець", "ець ця цю цем ці ців цям цями цях"),),
    "cs": (("an", "an ana anovi anem ané anů anům any anech"),),
    "pl": (("anin", "anin anina aninowi aninem anie anów anom anami anach"),),
}
#: How adjectives end that stand before feminine, neuter or plural nouns, and their first form.
LEMMAS: dict[str, tuple[tuple[str, str], ...]] = {
    "de": (("ischer", "isch"), ("isches", "isch"), ("ischen", "isch"), ("ische", "isch"),
           ("yscher", "ysch"), ("ysches", "ysch"), ("ysche", "ysch")),
    "ru": (
        ("ских", "ский"), ("ская", "ский"), ("ское", "ский"), ("ские", "ский"), ("ского", "ский"),
        ("ской", "ский"), ("цких", "цкий"), ("цкая", "цкий"), ("цкое", "цкий"), ("цкие", "цкий"),
        ("цкого", "цкий"), ("цкой", "цкий"),
    ),
    "uk": (
        ("ських", "ський"), ("ська", "ський"), ("ське", "ський"), ("ські", "ський"),
        ("ського", "ський"), ("ської", "ський"),
    ),
    "bg": (("ска", "ски"), ("ско", "ски")),
    "cs": (
        ("ských", "ský"), ("ská", "ský"), ("ské", "ský"), ("ského", "ský"), ("ckých", "cký"),
        ("cká", "cký"), ("cké", "cký"), ("ckého", "cký"),
    ),
    "sk": (
        ("ských", "ský"), ("ská", "ský"), ("ské", "ský"), ("ského", "ský"), ("skej", "ský"),
        ("ckých", "cký"), ("cká", "cký"), ("cké", "cký"),
    ),
    "pl": (
        ("skich", "ski"), ("skiego", "ski"), ("skiej", "ski"), ("ska", "ski"), ("skie", "ski"),
        ("ckich", "cki"), ("ckiego", "cki"), ("cka", "cki"), ("ckie", "cki"),
    ),
    "es": (("anos", "ano"), ("eses", "és"), ("inos", "ino"), ("ios", "io"), ("ana", "ano")),
    "sv": (("ska", "sk"),),
    "nb": (("ske", "sk"),),
    "da": (("ske", "sk"),),
    "fr": (("aises", "ais"), ("aise", "ais"), ("iens", "ien"), ("ienne", "ien"), ("ains", "ain")),
}  # fmt: skip


def lemma(word: str, lang: str) -> str:
    """Give the first form of an adjective.

    Examples
    --------
    >>> lemma("чешская", "ru"), lemma("libysche", "de"), lemma("brytyjskich", "pl")
    ('чешский', 'libysch', 'brytyjski')
    """
    for ending, first in LEMMAS.get(lang, ()):
        if word.endswith(ending):
            return word.removesuffix(ending) + first
    return word


def forms(word: str, lang: str) -> list[str]:
    """Give the forms of a word that names a people, its first one first.

    Examples
    --------
    >>> forms("britisch", "de")
    ['britisch', 'britische', 'britischen', 'britischer', 'britisches', 'britischem']
    >>> forms("Brite", "de"), forms("Libyan", "en"), forms("Swiss", "en")
    (['Brite', 'Briten', 'Britin', 'Britinnen'], ['Libyan', 'Libyans'], ['Swiss'])
    """
    capital = word[:1].isupper()
    nouns = NOUNS.get(lang, ()) if capital or lang in ("ru", "uk", "cs", "pl") else ()
    adjectives = () if capital and lang == "de" else RULES.get(lang, ())
    for ending, others in (*nouns, *adjectives):
        if word.endswith(ending) and len(word) > len(ending):
            stem = word.removesuffix(ending)
            return list(dict.fromkeys([word, *(stem + other for other in others.split())]))
    for ending, others in adjectives:
        if word == ending:
            return others.split()
    return [word]
