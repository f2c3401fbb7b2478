"""Whether a judge favours its own kin: systems of the family that its name says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

_FAMILIES = (
    ("gpt", "chatgpt", "openai", "o1", "o3", "o4", "davinci"), ("claude", "anthropic"),
    ("gemini", "palm", "bard", "gemma", "google"), ("llama", "meta"),
    ("mistral", "mixtral", "ministral"), ("qwen", "qwq"), ("deepseek",), ("command", "cohere"),
    ("grok", "xai"), ("phi", "microsoft"), ("yi",), ("nova", "titan", "amazon"),
)  # fmt: skip


def family(name: str) -> tuple[str, ...]:
    """Give the words that the names of a model's kin begin with; none if it is not known.

    Only the beginning says it: cerebras-gpt is no kin of gpt-4.

    Examples
    --------
    >>> family("gpt-4-0125-preview")[:2], family("anthropic/claude-v1"), family("cerebras-gpt")
    (('gpt', 'chatgpt'), ('claude', 'anthropic'), ())
    >>> family("gpt4all-13b"), family("gpt4o")[0], family("Llama-2-7b")[0]
    ((), 'gpt', 'llama')
    """
    parts = [re.match(r"[a-z0-9]*", part) for part in name.casefold().split("/")]
    words = {found[0] for found in parts if found is not None}
    # A number, and a letter after it, is a version: gpt4o, llama31; gpt4all is somebody else.
    words |= {own[1] for word in words if (own := re.fullmatch(r"([a-z]+)[0-9]*[a-z]?", word))}
    return next((own for own in _FAMILIES if not words.isdisjoint(own)), ())


def kin(judge: str, systems: Iterable[str], given: Mapping[str, str]) -> list[str]:
    """Give the systems that are of a judge's family: by the patterns given, or by names.

    Examples
    --------
    >>> kin("claude-3-opus", ["claude-v1", "gpt-4"], {}), kin("x", ["x-7b", "y"], {"x": "x-*"})
    (['claude-v1'], ['x-7b'])
    """
    if judge in given:
        patterns = given[judge].split("|")
        return [own for own in systems if any(fnmatchcase(own, part) for part in patterns)]
    words = family(judge)
    return [own for own in systems if words and family(own) == words]
