"""Names in Chinese and Japanese, which have no capitals: by the signs around and inside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}(?:[・･＝=·][\u30a1-\u30fa\u30fc]+)+")
_DOTTED = re.compile(r"[\u3400-\u9fff]{1,5}(?:[·・•‧][\u3400-\u9fff]{1,6})+")
_QUOTED = re.compile(r"《([^《》]{1,40})》|『([^『』]{1,40})』")
#: Characters that begin a word after a name.
_AFTER_NAMES = frozenset("说称表在是的了和与及对将由为到等以而也被从向认指先女教总医部博主")
_HONOURED = re.compile(
    "([\u3400-\u9fff]{2,5}|[\u30a1-\u30fa\u30fc]{2,})"
    "(?:さん|氏(?!名)|選手|監督|容疑者|被告|首相|大統領|投手|議員|知事|教授|さま|くん|ちゃん)"
)
_NOT_HONOURED = frozenset(
    "皆 奥 父 母 兄 姉 客 神 医者 看護師 日本人 外国 前 現 両 全 各 有力 女 男 代表 新人".split()
)
#: Characters by which Chinese writes the sounds of foreign names.
_SOUND_SIGNS = frozenset(
    "阿埃艾爱安昂奥巴拜班邦保鲍贝本比彼宾波伯博布查达大戴丹德登邓迪蒂丁杜多顿厄恩尔法范菲费芬丰冯弗夫福盖甘"
    "高戈格葛根古哈海汉豪赫亨洪胡华怀惠霍基吉加贾简杰金卡凯坎康考科克肯库夸拉莱赖兰朗劳勒雷里理利莉丽连廉林琳隆"
    "卢鲁露伦罗洛马玛迈麦曼芒毛梅门蒙孟米密明摩莫默姆穆纳娜奈南内尼妮宁纽农努诺欧帕潘庞佩彭皮匹平珀普奇齐恰钱乔"
    "琴丘邱让热仁荣茹瑞若萨塞赛桑瑟森沙莎山尚绍舍申圣施史什斯丝舒顺司松苏孙索塔泰坦汤唐陶昆蓬特滕提铁廷图托脱瓦万旺威"
    "韦维温翁沃乌武伍西希锡席夏肖谢辛欣休许雪逊雅亚延扬耶叶伊因英雍尤于约宰赞泽扎詹张章哲珍芝治朱兹卓佐翠蕾茨涅娅莲洁凡罕宗藏帝京柯珊婷娇湛迦伽"
)


class Name(NamedTuple):
    """A name in a text: its span, how it is written, and its words."""

    start: int
    end: int
    kind: str
    words: tuple[str, ...]


def signed_names(text: str, lang: str) -> Iterator[Name]:
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
