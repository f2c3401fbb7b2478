"""Names behind letters that are written together with them, in Arabic and Hebrew.

"For the United Nations" is one word less in Arabic: للأمم المتحدة. Of single words the dictionary
forms do the same (`wordforms.base_forms`); here are names of several.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from steelyard.kobe.linking.doubt import Found
from steelyard.kobe.linking.lexicon import Lexicon
from steelyard.kobe.linking.tokens import in_word
from steelyard.kobe.linking.wordforms import prefixes, without_prefix
from steelyard.kobe.linking.written import Token

_WINDOW = 60  # characters of the longest name that is looked for


@lru_cache(maxsize=1 << 15)
def _rests(word: str, lang: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(without_prefix(word, lang)))


def prefixed(folded: str, tokens: list[Token], lexicon: Lexicon) -> list[Found]:
    """Find names of several words whose first one has a prefix, the longest at each place."""
    found: list[Found] = []
    lang = lexicon.lang
    if not prefixes(lang):
        return found
    taken = 0
    for at in range(len(tokens) - 1):
        word, start, stop = tokens[at]
        if start < taken or len(word) < 4 or folded[stop : stop + 1] != " ":
            continue
        hit = next(_hits(word, folded[stop : stop + _WINDOW], lexicon), None)
        if hit is not None:
            length, one = hit
            found.append(one._replace(start=start, end=stop + length))
            taken = stop + length
    return found


def _hits(word: str, after: str, lexicon: Lexicon) -> Iterator[tuple[int, Found]]:
    """Give names that begin with what a prefix leaves of a word, and how far they go on."""
    next_word = after[1:].partition(" ")[0]
    for rest in _rests(word, lexicon.lang):
        if not lexicon.begins[f"{rest} {next_word[:2]}"]:
            continue
        text = rest + after
        for length, key in lexicon.names(text):
            if length <= len(rest) or (length < len(text) and in_word(text, length)):
                continue
            entry = lexicon.entry(key, text[:length])
            if entry is not None and not entry.after_number:
                yield length - len(rest), Found(0, 0, key, entry, inflected=True)
