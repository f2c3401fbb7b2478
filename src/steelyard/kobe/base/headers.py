"""What columns of glossaries are called: languages by code or name, with words around them."""

from __future__ import annotations

import re

from steelyard.core.errors import UsageError
from steelyard.kobe.languages import normalise

_NAMES = {
    name: code
    for code, names in (
        line.split(" ", 1)
        for line in """\
ar arabic العربية
bg bulgarian български
bn bengali
ca catalan català
cs czech čeština česky
da danish dansk
de german deutsch allemand
el greek ελληνικά
en english englisch anglais inglés
es spanish castilian español espagnol spanisch
et estonian eesti
eu basque euskara
fa persian farsi فارسی
fi finnish suomi
fil filipino tagalog
fr french français französisch francés
ga irish gaeilge
gl galician galego
he hebrew עברית
hi hindi हिन्दी
hr croatian hrvatski
hu hungarian magyar
hy armenian
id indonesian
is icelandic íslenska
it italian italiano italienisch
ja japanese 日本語
ka georgian
kk kazakh
ko korean 한국어
lt lithuanian lietuvių
lv latvian latviešu
mk macedonian
ms malay
mt maltese
nb norwegian bokmål norsk
nl dutch flemish nederlands
pl polish polski
pt portuguese português
ro romanian română
ru russian русский
sk slovak slovenčina
sl slovenian slovene slovenščina
sq albanian
sr serbian српски
sv swedish svenska
sw swahili
ta tamil
te telugu
th thai ไทย
tr turkish türkçe
uk ukrainian українська
ur urdu
vi vietnamese
zh chinese mandarin 中文"""
        .splitlines()
    )
    for name in names.split(" ")
}  # fmt: skip
_AROUND = frozenset(
    "term terms name names alias label text source target src tgt trg translation preferred main "
    "language lang locale simplified traditional".split()
)
_BETWEEN = re.compile(r"[\s_:()\[\]/.,|-]+")


def language_of(header: str) -> str | None:
    """Give the language that the header of a column names, or None.

    Examples
    --------
    >>> [language_of(h) for h in ("de-AT", "English (US)", "term_de", "Source [fr]", "Deutsch")]
    ['de', 'en', 'de', 'fr', 'de']
    >>> language_of("colour"), language_of("term"), language_of("Chinese (Simplified)")
    (None, None, 'zh')
    """
    words = [word for word in _BETWEEN.split(header.lower()) if word and word not in _AROUND]
    if not words:
        return None
    if words[0] in _NAMES and all(len(word) < 14 for word in words[1:]):
        return _NAMES[words[0]]
    try:
        # A tag in a longer text ends it: 'term (de-AT)'; 'part of speech' is none.
        return normalise("-".join(words)) if len(words) < 3 and len(words[0]) < 4 else None
    except UsageError:
        return None
