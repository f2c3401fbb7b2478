"""The texts of a set with their mentions: by our linker, another one, or annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import bad_value
from steelyard.core.progress import each
from steelyard.data.evalset import EvalSet, need_outputs
from steelyard.data.segments import Texts
from steelyard.formats.entities import SIDES
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.languages import LanguageFilter, normalise
from steelyard.kobe.linking.foreign import named_linker
from steelyard.kobe.linking.names import UNKNOWN, NameTier
from steelyard.kobe.mention import Id, LinkedTexts, Linker, Mention, Mentions
from steelyard.kobe.options import KobeOptions, LinkOptions

if TYPE_CHECKING:
    from steelyard.kobe.linking.linker import DictionaryLinker

Pair = tuple[str | None, str | None]
Outputs = dict[str, tuple[Mentions | None, ...]]


def make_linker(kb: object, options: LinkOptions) -> DictionaryLinker:
    """Link by a knowledge base: an open one, the folder of one, or None for the embedded one."""
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.linking.linker import DictionaryLinker

    if isinstance(kb, (str, Path)):
        kb = KnowledgeBase.open(kb)
    if not (kb is None or isinstance(kb, KnowledgeBase)):
        raise UsageError(f"can't link with a {type(kb).__name__}: expected a knowledge base")
    return DictionaryLinker(kb, options)


def chosen_linker(
    options: KobeOptions, kb: object = None, linker: Linker | None = None, lp: str | None = None
) -> Linker:
    """Give the linker of the caller, or the one that options name, or else that of this package.

    ``lp`` chooses a language pair of the links of a folder.
    """
    if linker is not None:
        if not callable(getattr(linker, "link", None)):
            raise bad_value("linker", "an object with a method 'link'", linker)
        if options.links is not None or options.linker is not None:
            raise UsageError("a linker, and another one in options: expected one of them")
        return linker
    if options.links is not None:
        return AnnotatedLinker.of(options.links, lp)
    if options.linker is not None:
        return named_linker(options.linker)
    return make_linker(kb, options.link)


def link_set(es: EvalSet, pair: Pair, options: KobeOptions, linker: Linker) -> LinkedTexts:
    """Find the mentions of what outputs are compared with, of the outputs, and of references.

    The languages may be unknown where the linker has no use for them. Outputs with nothing to be
    compared with have no mentions, not even none: they take no part.
    """
    src, tgt = (code or "" for code in pair)
    source_based = options.against == "src"
    # Texts of one language are compared with a reference as they are with a source.
    wanted, other = (src, tgt) if source_based else (tgt, tgt)
    texts = _compared(es, options.against)
    _check_outputs(es)
    rows = {name: es.outputs[name] for name in es.systems if name in es.outputs}
    named = {row: name for name, row in reference_rows(es).items() if name != options.against}
    references = {row: es.segments.references[name] for row, name in named.items()}
    keep = LanguageFilter(src, tgt, options.language_filter)
    compared = beside(texts, rows | references)
    mentions, foreign = link_outputs(
        linker, keep, compared, tgt, src if source_based else tgt, named
    )
    human = () if source_based else SIDES[1:]
    sources = link_texts(linker, texts, wanted, other, options.against, *human)
    sources, mentions = with_names(
        linker, keep, (wanted, tgt), (texts, sources), (compared, mentions)
    )
    if options.counted == "entities":
        sources, mentions = each_once(sources, mentions)
    return LinkedTexts(
        ids=es.segments.ids,
        sources=texts,
        source_mentions=sources,
        outputs=rows | references,
        output_mentions=mentions,
        foreign=foreign,
        references=tuple(references),
    )


def name_tier(linker: Linker, lang: str, other: str) -> NameTier | None:
    """Give what finds names that no base knows, None where a linker goes without.

    Other linkers and annotations find what they find.
    """
    chosen = getattr(linker, "options", None)
    if not isinstance(chosen, LinkOptions):
        return None
    if chosen.names == "off" or "core" not in chosen.tiers:
        return None
    return NameTier(normalise(lang), normalise(other), chosen.names)


def with_names(
    linker: Linker,
    keep: LanguageFilter,
    pair: tuple[str, str],
    compared: tuple[Sequence[str | None], tuple[Mentions, ...]],
    outputs: tuple[Mapping[str, Texts], Outputs],
) -> tuple[tuple[Mentions, ...], Outputs]:
    """Add names that no base knows to the mentions of sources, and to those of outputs with them.

    ``pair`` are the languages of what outputs are compared with, and of the outputs; ``compared``
    and ``outputs`` are texts with their mentions. Outputs in another language keep nothing.
    """
    tier = name_tier(linker, *pair)
    if tier is None:
        return compared[1], outputs[1]
    sources = tuple(
        mentions if text is None else tier.mentions(text, mentions)
        for text, mentions in zip(*compared, strict=True)
    )
    rows, linked = outputs
    return sources, {
        name: tuple(
            found
            if text is None or found is None or not source or not keep.is_target(text)
            else tier.kept(source, text, found)
            for source, text, found in zip(sources, rows[name], own, strict=True)
        )
        for name, own in linked.items()
    }


def reference_rows(es: EvalSet) -> dict[str, str]:
    """Give references a name among outputs that neither a system nor another reference has.

    Examples
    --------
    >>> from steelyard import EvalSet, Segments
    >>> segments = Segments((), references={"A": (), "B": (), "A (reference)": ()})
    >>> reference_rows(EvalSet(("A",), segments))
    {'A': 'A (reference) (reference)', 'A (reference)': 'A (reference)', 'B': 'B'}
    """
    found: dict[str, str] = {}
    for name in es.references:
        row = name
        while row in es.systems or (row != name and row in es.references):
            row += " (reference)"
        found[name] = row
    return found


def beside(texts: Sequence[str | None], rows: Mapping[str, Texts]) -> dict[str, Texts]:
    """Take outputs for missing where there is no text to compare them with.

    Examples
    --------
    >>> beside(["Wien", None], {"A": ("Vienna", "Rome")})
    {'A': ('Vienna', None)}
    """
    return {
        name: tuple(None if text is None else one for text, one in zip(texts, own, strict=True))
        for name, own in rows.items()
    }


def each_once(
    sources: tuple[Mentions, ...], outputs: Outputs
) -> tuple[tuple[Mentions, ...], Outputs]:
    """Count each entity once per text, on both sides."""
    return tuple(map(once, sources)), {
        name: tuple(None if one is None else once(one) for one in own)
        for name, own in outputs.items()
    }


def that_count(
    sources: tuple[Mentions, ...], outputs: Outputs, options: LinkOptions
) -> tuple[tuple[Mentions, ...], Outputs]:
    """Give the mentions that a score counts: entities of the base, and values.

    A name that no base knows is kept by copying it, which says nothing of a translation, and would
    reward whoever copies titles. Alarms look at all mentions.

    Examples
    --------
    >>> name = Mention(0, 5, "Weber", "name:weber", "name", "name", rule="unknown")
    >>> that_count(((name,),), {"A": ((name,),)}, LinkOptions())[0]
    ((),)
    """
    if options.names == "on":
        return sources, outputs

    def counted(mentions: Mentions) -> Mentions:
        return tuple(filter(of_base, mentions))

    return tuple(map(counted, sources)), {
        name: tuple(None if own is None else counted(own) for own in row)
        for name, row in outputs.items()
    }


def of_base(mention: Mention) -> bool:
    """Tell whether a mention is no name that no base knows."""
    return not str(mention.id).startswith(UNKNOWN)


def once(mentions: Mentions) -> Mentions:
    """Keep the first mention of each entity, before it one that is not doubtful.

    Examples
    --------
    >>> a, b = Mention(0, 1, "a", "a"), Mention(2, 3, "b", "b")
    >>> [m.text for m in once((a, b, a))]
    ['a', 'b']
    """
    found: dict[Id, Mention] = {}
    for mention in mentions:
        if found.setdefault(mention.id, mention).doubtful and not mention.doubtful:
            found[mention.id] = mention
    return tuple(found.values())


def _compared(es: EvalSet, against: str) -> Texts:
    if against == "src":
        texts = es.segments.sources
        if texts is None or all(text is None for text in texts):
            raise UsageError("the set has no sources to find entities in; give a text file")
        return texts
    if against not in es.references:
        raise UsageError(f"no reference named '{against}'; {hint(against, es.references)}")
    texts = es.segments.references[against]
    if all(text is None for text in texts):
        raise UsageError(f"reference '{against}' has no texts to find entities in")
    return texts


def _check_outputs(es: EvalSet) -> None:
    need_outputs(es)
    for system, texts in es.outputs.items():
        if not any((text or "").strip() for text in texts):
            raise UsageError(f"all outputs of system '{system}' are empty")


def link_texts(
    linker: Linker, texts: Sequence[str | None], lang: str, other: str, *names: str
) -> tuple[Mentions, ...]:
    """Find the mentions of a row of texts, which annotations have under one of these names.

    A missing text has none.
    """
    if isinstance(linker, AnnotatedLinker):
        return tuple(linker.link_row(names, texts))
    found = iter(linker.link([text for text in texts if text is not None], lang, other))
    return tuple(() if text is None else next(found) for text in texts)


def link_outputs(
    linker: Linker,
    keep: LanguageFilter,
    rows: Mapping[str, Texts],
    lang: str,
    other: str,
    references: Mapping[str, str] | None = None,
) -> tuple[Outputs, dict[str, frozenset[int]]]:
    """Link outputs, drop what is not in their language, and say which sentences are not.

    ``references`` are the rows that are no system's, with the names that they have in the set.
    """
    human = references or {}
    linked: Outputs = {}
    foreign = {}
    for name, texts in each(rows.items()):
        names = (human[name], *SIDES[1:]) if name in human else (name,)
        found = keep.apply(texts, link_texts(linker, texts, lang, other, *names))
        linked[name] = tuple(
            None if text is None else own for text, own in zip(texts, found, strict=True)
        )
        foreign[name] = frozenset(
            at for at, text in enumerate(texts) if text is not None and not keep.is_target(text)
        )
    return linked, foreign
