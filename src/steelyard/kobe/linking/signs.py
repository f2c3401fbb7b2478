"""Names in Chinese and Japanese, which have no capitals: by the signs around and inside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from steelyard.kobe.linking.nameparts import people

_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}(?:[・･＝=·][\u30a1-\u30fa\u30fc]+)+")
_DOTTED = re.compile(r"[\u3400-\u9fff]{1,5}(?:[·・•‧][\u3400-\u9fff]{1,6})+")
_QUOTED = re.compile(r"《([^《》]{1,40})》|『([^『』]{1,40})』")
#: Characters that begin a word after a name.
_AFTER_NAMES = frozenset("说称表在是的了和与及对将由为到等以而也被从向认指先女教总医部博主")
#: Names before what only people are called; in Kanji, an office may be that of anybody.
_HONOURED = re.compile(
    "([\u3400-\u9fff]{2,5})(?:さん|氏(?!名)|選手|容疑者|被告|投手|くん|ちゃん)"
    "|([\u30a1-\u30fa\u30fc]{2,})"
    "(?:さん|氏(?!名)|選手|監督|容疑者|被告|首相|大統領|投手|議員|知事|教授|くん|ちゃん)"
)
_NOT_HONOURED = frozenset("医者 看護師 日本人 外国 有力 女性 男性 代表 新人 日本 両国".split())
#: Characters by which Chinese writes the sounds of foreign names.
_SOUND_SIGNS = frozenset(
    "阿埃艾爱安昂奥巴拜班邦保鲍贝本比彼宾波伯博布查达大戴丹德登邓迪蒂丁杜多顿厄恩尔法范菲费芬丰冯弗夫福盖甘"
    "高戈格葛根古哈海汉豪赫亨洪胡华怀惠霍基吉加贾简杰金卡凯坎康考科克肯库夸拉莱赖兰朗劳勒雷里理利莉丽连廉林琳隆"
    "卢鲁露伦罗洛马玛迈麦曼芒毛梅门蒙孟米密明摩莫默姆穆纳娜奈南内尼妮宁纽农努诺欧帕潘庞佩彭皮匹平珀普奇齐恰钱乔"
    "琴丘邱让热仁荣茹瑞若萨塞赛桑瑟森沙莎山尚绍舍申圣施史什斯丝舒顺司松苏孙索塔泰坦汤唐陶昆蓬特滕提铁廷图托脱瓦万旺威"
    "韦维温翁沃乌武伍西希锡席夏肖谢辛欣休许雪逊雅亚延扬耶叶伊因英雍尤于约宰赞泽扎詹张章哲珍芝治朱兹卓佐翠蕾茨涅娅莲洁凡罕宗藏帝京柯珊婷娇湛迦伽"
)

_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈"
    "姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
#: A surname alone, and a Chinese surname with a given name before a word that only people have.
_SURNAME = re.compile(f"([{_SURNAMES}])(?=先生|女士|小姐|某某)")
_CHINESE = re.compile(
    rf"(?<![\u3400-\u9fff])((?:[{_SURNAMES}]|欧阳|司马|上官|诸葛)"
    "(?!先生|女士|小姐|教授|医生|博士)[\u3400-\u9fff]{1,2}?)"
    "(?=先生|女士|教授|医生|博士|表示|指出|认为|介绍|透露|强调|坦言|告诉|说[，：:“]|称[，：:“])"
)
#: The same after an office; surnames that are common words as well are left out.
_IN_OFFICE = re.compile(
    "(?:记者|教授|院士|主任|局长|书记|市长|省长|部长|董事长|总经理|队长|民警|律师|导演|演员|歌手|主席|总理|院长|校长|会长|秘书长"
    f"|发言人|作家|选手|博士|研究员)((?![于任向方万金白石付曾何范]|周[一二三四五六日末])[{_SURNAMES}][\u3400-\u9fff]{{1,2}}?)"
    "(?=[，。、：；！？\\s“”（）]|表示|说|称|介绍|指出|认为|告诉|和|与|的|在|是|等|也|将|从|$)"
)
#: What a body or a building is called, at the end of its name; Katakana before it are its name.
_JAPANESE_BODIES = re.compile(
    "(?<![\u30a1-\u30fa\u30fc・])[\u30a1-\u30fa\u30fc]{3,}"
    "(?:(?:空港|大学|銀行|航空|新聞|病院|自治区|城|橋|湖|川|島|郡)(?![\u3400-\u9fff])"
    "|(?=社(?![\u3400-\u9fff])))"
)
#: Chinese ones at the start of a clause: inside it, nobody can tell where a name begins.
_CHINESE_BODIES = re.compile(
    "(?<![\u3400-\u9fff])(?!该|本|这|那|某|各|两|几|一|某)(?:(?![的是和与对向于在了过从我你不让把被及或])[\u3400-\u9fff]){2,8}?"
    "(?:集团|有限公司|日报|晚报|新闻网|出版社|公安局)(?![\u3400-\u9fff]?[员生们])"
)
_TOWN = re.compile(
    "(?![个全各多])[\u3400-\u9fff]{2}(?:[镇县乡村]|街道)(?![\u3400-\u9fff]?[民委政])"
)
#: Words of office before a name, and words that end one.
_OFFICES = {
    "hi": """श्री श्रीमती डॉ डॉक्टर प्रधानमंत्री राष्ट्रपति मुख्यमंत्री गृहमंत्री अभिनेता अभिनेत्री क्रिकेटर
    गायक निर्देशक कप्तान सांसद विधायक राज्यपाल""",
    "ar": """الرئيس السيد السيدة الدكتور الدكتورة الأمير الأميرة الملك الوزير الوزيرة المدرب اللاعب
    الفنان الفنانة الكاتب المخرج الشيخ الممثل الممثلة النائب""",
}
_ENDS = {
    "hi": "ने को के की का से में पर और तक भी ही हैं है था थे थी द्वारा",
    "ar": """في من على إلى أن إن عن مع قال قالت الذي التي كان كانت هو هي أو ثم قد لم لن بعد قبل خلال
    بين""",
}
_SPACED = re.compile(r"[^\s.,;:!?()\"'«»“”।،؛؟\-–—/]+")


class Name(NamedTuple):
    """A name in a text: its span, how it is written, and its words."""

    start: int
    end: int
    kind: str
    words: tuple[str, ...]


def signed_names(text: str, lang: str) -> Iterator[Name]:
    """Find what is between the signs for titles, names with dots, and those beside an office."""
    if lang not in ("zh", "yue", "ja"):
        yield from names_after_offices(text, lang)
        for start, end, words in people(text, lang):
            yield Name(start, end, "honoured", words)
        return
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] else 2
        inner = match[group].strip()
        if inner:
            start = match.start(group) + match[group].index(inner)
            yield Name(start, start + len(inner), "quoted", (inner,))
    for match in _KATAKANA.finditer(text):
        yield Name(*match.span(), "kana", tuple(re.split("[・･＝=·]", match[0])))
    yield from _honoured(text) if lang == "ja" else _chinese(text)
    yield from _called(text, lang)


def _called(text: str, lang: str) -> Iterator[Name]:
    """Find what is said to be a company, a school, an airport by the word at its end."""
    for match in (_JAPANESE_BODIES if lang == "ja" else _CHINESE_BODIES).finditer(text):
        yield Name(*match.span(), "titled", (match[0],))


def towns(text: str, lang: str, ends: Sequence[int]) -> Iterator[Name]:
    """Find small places by the word at their end, right after a known name: 余姚丈亭镇.

    Examples
    --------
    >>> [name.words for name in towns("浙江余姚丈亭镇的厂房", "zh", [4])]
    [('丈亭镇',)]
    """
    if lang in ("zh", "yue"):
        for end in ends:
            if match := _TOWN.match(text, end):
                yield Name(*match.span(), "titled", (match[0],))


def _honoured(text: str) -> Iterator[Name]:
    for match in _HONOURED.finditer(text):
        kind, group = ("honoured", 1) if match[1] else ("kana", 2)
        if match[group] not in _NOT_HONOURED:
            yield Name(*match.span(group), kind, (match[group],))


def _chinese(text: str) -> Iterator[Name]:
    for pattern in (_CHINESE, _SURNAME, _IN_OFFICE):
        for match in pattern.finditer(text):
            yield Name(*match.span(1), "honoured", (match[1],))
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


def names_after_offices(text: str, lang: str) -> Iterator[Name]:
    """Find names of two words after a word of office, in scripts without capitals.

    Examples
    --------
    >>> text = "प्रधानमंत्री नरेंद्र मोदी ने कहा"
    >>> [text[name.start : name.end] for name in names_after_offices(text, "hi")]
    ['नरेंद्र मोदी']
    """
    if lang not in _OFFICES:
        return
    offices, ends = (frozenset(table[lang].split()) for table in (_OFFICES, _ENDS))
    if not any(office in text for office in offices):
        return
    words = [(match[0], *match.span()) for match in _SPACED.finditer(text)]
    for at, (word, _, _) in enumerate(words):
        if word not in offices:
            continue
        rest = words[at + 1 : at + 5]
        while rest and lang == "ar" and rest[0][0].startswith("ال"):  # of which country
            rest = rest[1:]
        # Two words, and no more: what is longer may be anything.
        if len(rest) < 2 or any(own in ends or len(own) < 2 for own, _, _ in rest[:2]):
            continue
        (first, start, stop), (second, onwards, end) = rest[:2]
        after = rest[2] if len(rest) > 2 else None
        closed = after is None or after[0] in ends or text[end : after[1]] != " "
        if onwards - stop == 1 and closed:
            yield Name(start, end, "honoured", (first, second))
