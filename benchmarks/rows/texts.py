"""Texts: names found against spaCy's PhraseMatcher, BLEU and chrF against sacreBLEU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import steelyard as sy
from harness.row import Row
from harness.setting import Setting, package
from harness.work import Call

NAMES = "wmt22-text/ru-en.text.jsonl.gz"  # whose English outputs are looked through
TEXTS = "wmt22-text/de-en.text.jsonl.gz"
SYSTEMS = 4


def rows(setting: Setting) -> Iterator[Row]:
    """All rows of texts."""
    yield detection(setting)
    lacking = setting.lacks(TEXTS)
    for metric, name in (("bleu", "BLEU"), ("chrf", "chrF")):
        row: dict[str, Any] = {"key": metric, "peer": "sacrebleu", "least": 1, "rounds": 2}
        work = f"{name} of {SYSTEMS} systems of WMT22 de-en, systems and segments"
        if lacking:
            yield Row(work=work, skip=lacking, **row)
            continue
        es = _texts(setting)
        yield Row(
            work=work,
            ours=Call(partial(sy.score, es, metric, references=["refA"])),
            theirs=Call(partial(_sacrebleu, es, name.upper())),
            check=partial(same_scores, metric),
            **row,
        )

    if lacking:
        yield Row(key="corpus-test", work="BLEU of WMT22 de-en, pairs tested", skip=lacking)
        return
    scored = sy.score(_texts(setting), "bleu", references=["refA"]).evalset
    yield Row(
        key="corpus-test",
        work=f"BLEU of {SYSTEMS} systems of WMT22 de-en: all pairs tested, 1,000 resamples",
        ours=Call(partial(sy.compare, scored, "bleu", by="mean")),
        rounds=2,
    )


@cache
def _texts(setting: Setting) -> sy.EvalSet:
    assert setting.data is not None
    es = sy.load(setting.data / TEXTS, lp="de-en")
    names = [name for name in es.systems if not name.startswith("ref")][:SYSTEMS]
    return es.select(systems=names)


def _sacrebleu(es: sy.EvalSet, name: str) -> dict[str, float]:
    """Scores of systems, and of segments one by one, as its API gives them."""
    from sacrebleu.metrics import BLEU, CHRF

    reference = list(es.segments.references["refA"])
    found = {}
    for system in es.systems:
        whole, one = (BLEU(), BLEU(effective_order=True)) if name == "BLEU" else (CHRF(), CHRF())
        outputs = list(es.outputs[system])
        found[system] = whole.corpus_score(outputs, [reference]).score
        for output, own in zip(outputs, reference, strict=True):
            one.sentence_score(output, [own])
    return found


def same_scores(metric: str, ours: Any, theirs: dict[str, float] | None) -> str | None:
    if theirs is not None:
        es = ours.evalset
        name = next(n for n in es.metrics if n.lower().startswith(metric))
        found = dict(zip(es.systems, es[name].system_means(), strict=True))
        off = max(abs(found[system] - value) for system, value in theirs.items())
        if off > 1e-6:
            raise ValueError(f"scores differ by {off:g}")
    return None


def detection(setting: Setting) -> Row:
    """The same English texts and the same names, tokenised and matched."""
    lacking = setting.lacks(NAMES)
    spacy = package("spacy")
    if spacy is None:
        lacking = lacking or "spacy is not installed"
    row: dict[str, Any] = {"key": "mentions", "peer": "spaCy's PhraseMatcher", "least": 5}
    if lacking:
        return Row(work="names found in English texts", skip=lacking, **row)
    texts = _english(setting)
    lexicon, names = _lexicon()
    return Row(
        work=f"names found in {len(texts):,} English texts, of {len(names):,}",
        ours=Call(partial(_detect_all, texts, lexicon)),
        theirs=Call(partial(_match_all, texts, _Matcher.of(spacy, tuple(names)))),
        rounds=2,
        **row,
    )


def _english(setting: Setting) -> list[str]:
    assert setting.data is not None
    es = sy.load(setting.data / NAMES, lp="ru-en")
    return [text for text in next(iter(es.outputs.values())) if text]


@cache
def _lexicon() -> tuple[Any, list[str]]:
    """The dictionary of the embedded base; there is no public name for it."""
    from steelyard.kobe.base.knowledge import default
    from steelyard.kobe.linking.lexicon import Lexicon

    kb = default()
    names = {
        name.text
        for entity in np.flatnonzero(kb.shared("en", "ru")).tolist()
        for name in kb.names(entity)
        if name.lang in ("en", "mul") and name.text.isascii()
    }
    return Lexicon(kb, "en", "ru"), sorted(names)


def _detect_all(texts: list[str], lexicon: Any) -> int:
    from quality.linkspeed import detected

    return sum(len(detected(text, lexicon)) for text in texts)


class _Matcher:
    """spaCy's tokenizer and its matcher of phrases."""

    def __init__(self, spacy: Any, names: tuple[str, ...]) -> None:
        from spacy.matcher import PhraseMatcher

        self.nlp = spacy.blank("en")
        self.matcher = PhraseMatcher(self.nlp.vocab, attr="LOWER")
        self.matcher.add("name", list(self.nlp.tokenizer.pipe(names)))

    @staticmethod
    @cache
    def of(spacy: Any, names: tuple[str, ...]) -> _Matcher:
        return _Matcher(spacy, names)


def _match_all(texts: list[str], matcher: _Matcher) -> int:
    return sum(len(matcher.matcher(matcher.nlp.make_doc(text))) for text in texts)
