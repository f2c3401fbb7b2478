"""Words for numbers in the main languages: what ``vierundzwanzig`` or ``pěti`` is worth.

Words are folded. A cardinal is worth less than 1000 by itself, ``hundred`` multiplies what stands
before it, and so do magnitudes; a magnitude in the plural says nothing alone ("thousands came").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import product


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The number words of a language; magnitudes are powers of ten."""

    cardinals: dict[str, int] = field(default_factory=dict)
    hundreds: frozenset[str] = frozenset()
    magnitudes: dict[str, int] = field(default_factory=dict)
    plurals: dict[str, int] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)
    joiners: frozenset[str] = frozenset()
    percent: tuple[str, ...] = ()
    by_twenties: bool = False  # quatre-vingt-dix is 4 x 20 + 10


def _numbered(text: str, first: int = 1, step: int = 1) -> dict[str, int]:
    """Read ``one two three/third-form ...``: forms of a number stand between slashes."""
    return {
        form: first + i * step
        for i, forms in enumerate(text.split())
        for form in forms.split("/")
        if form != "-"
    }


def _powers(text: str) -> dict[str, int]:
    """Read ``3:thousand 6:million/mio``."""
    return {
        form: int(power)
        for power, _, forms in (word.partition(":") for word in text.split())
        for form in forms.split("/")
    }


def _endings(stems: str, endings: str, first: int = 1) -> dict[str, int]:
    """Read stems of consecutive numbers, each with every ending."""
    ends = ["" if e == "-" else e for e in endings.split()]
    return {
        stem + end: first + i
        for i, forms in enumerate(stems.split())
        for stem, end in product(forms.split("/"), ends)
        if stem != "-"
    }


def _english() -> NumberWords:
    return NumberWords(
        _numbered(
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
            " fifteen sixteen seventeen eighteen nineteen"
        )
        | _numbered("twenty thirty forty/fourty fifty sixty seventy eighty ninety", 20, 10),
        frozenset({"hundred"}),
        _powers("3:thousand 6:million/mn/mln 9:billion/bn/bln 12:trillion/tn"),
        _powers("3:thousands/k 6:millions/m/mio 9:billions/b 12:trillions"),
        _numbered(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
            " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        frozenset({"and"}),
        ("percent", "per cent", "pct"),
    )


def _german() -> NumberWords:
    units = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
    tens = ["zwanzig", "dreissig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
    words = _numbered(
        "eins/ein/eine/einen/einer/einem zwei/zwo drei vier fünf sechs sieben acht neun zehn elf"
        " zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
    )
    for t, ten in enumerate(tens, 2):
        words[ten] = 10 * t
        words |= {f"{unit}und{ten}": 10 * t + u for u, unit in enumerate(units, 1)}
    words |= {f"{unit}hundert": 100 * u for u, unit in enumerate(units, 1)}
    small = {w: n for w, n in words.items() if n < 100 and not w.startswith("eine") and w != "eins"}
    words |= {f"{unit}hundert{w}": 100 * u + n for u, unit in enumerate(units, 1)
              for w, n in small.items()}  # fmt: skip
    ordinals = _endings(
        "erst zweit dritt viert fünft sechst siebt/siebent acht neunt zehnt elft zwölft dreizehnt"
        " vierzehnt fünfzehnt sechzehnt siebzehnt achtzehnt neunzehnt zwanzigst",
        "e en er es em",
    )
    thousands = {f"{w}tausend": n for w, n in small.items()}
    # "zwanzigtausend" is worth its number of thousands: kept as a cardinal above 1000.
    words |= {w: 1000 * n for w, n in thousands.items()}
    return NumberWords(
        words,
        frozenset({"hundert"}),
        _powers("3:tausend/tsd 6:million/mio 9:milliarde/mrd 12:billion/bio"),
        _powers("3:tausende/tausenden 6:millionen 9:milliarden 12:billionen"),
        ordinals,
        frozenset({"und"}),
        ("prozent", "v. h."),
    )


def _dutch() -> NumberWords:
    units = ["een", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen"]
    tens = ["twintig", "dertig", "veertig", "vijftig", "zestig", "zeventig", "tachtig", "negentig"]
    words = _numbered(
        "een/één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien"
        " vijftien zestien zeventien achttien negentien"
    )
    for t, ten in enumerate(tens, 2):
        words[ten] = 10 * t
        words |= {
            f"{unit}{'ën' if unit in ('twee', 'drie') else 'en'}{ten}": 10 * t + u
            for u, unit in enumerate(units, 1)
        }
    words |= {f"{unit}honderd": 100 * u for u, unit in enumerate(units, 1)}
    return NumberWords(
        words,
        frozenset({"honderd"}),
        _powers("3:duizend 6:miljoen/mln 9:miljard/mld 12:biljoen"),
        _powers("3:duizenden 6:miljoenen 9:miljarden"),
        _numbered(
            "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde"
        ),
        frozenset({"en"}),
        ("procent",),
    )


def _swedish() -> NumberWords:
    units = ["ett", "två", "tre", "fyra", "fem", "sex", "sju", "åtta", "nio"]
    tens = ["tjugo", "trettio", "fyrtio", "femtio", "sextio", "sjuttio", "åttio", "nittio"]
    words = _numbered(
        "ett/en två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton"
        " sjutton arton nitton"
    )
    for t, ten in enumerate(tens, 2):
        words[ten] = 10 * t
        words |= {ten + unit: 10 * t + u for u, unit in enumerate(units, 1)}
    return NumberWords(
        words,
        frozenset({"hundra"}),
        _powers("3:tusen 6:miljon/mn/milj 9:miljard/md"),
        _powers("3:tusentals 6:miljoner 9:miljarder"),
        _numbered("första andra tredje fjärde femte sjätte sjunde åttonde nionde tionde"),
        frozenset({"och"}),
        ("procent",),
    )


def _french() -> NumberWords:
    return NumberWords(
        _numbered(
            "un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze"
            " quinze seize"
        )
        | _numbered("vingt/vingts trente quarante cinquante soixante septante octante/huitante"
                    " nonante", 20, 10),
        frozenset({"cent", "cents"}),
        _powers("3:mille/millier 6:million 9:milliard/md/mds 12:billion"),
        _powers("3:milliers 6:millions 9:milliards"),
        _numbered(
            "premier/première deuxième/seconde/second troisième quatrième cinquième sixième"
            " septième huitième neuvième dixième onzième douzième"
        ),
        frozenset({"et"}),
        ("pour cent", "pour-cent", "pourcent"),
        by_twenties=True,
    )  # fmt: skip


def _spanish() -> NumberWords:
    return NumberWords(
        _numbered(
            "uno/un/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce"
            " quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno/veintiún/veintiuna"
            " veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho"
            " veintinueve"
        )
        | _numbered("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 30, 10)
        | _numbered(
            "cien/ciento doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas"
            " quinientos/quinientas seiscientos/seiscientas setecientos/setecientas"
            " ochocientos/ochocientas novecientos/novecientas", 100, 100),
        frozenset(),
        _powers("3:mil 6:millón 12:billón"),
        _powers("3:miles 6:millones 12:billones"),
        _numbered(
            "primero/primera/primer segundo/segunda tercero/tercera/tercer cuarto/cuarta"
            " quinto/quinta sexto/sexta séptimo/séptima octavo/octava noveno/novena décimo/décima"
        ),
        frozenset({"y"}),
        ("por ciento",),
    )  # fmt: skip


def _italian() -> NumberWords:
    units = ["uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove"]
    tens = [
        "venti",
        "trenta",
        "quaranta",
        "cinquanta",
        "sessanta",
        "settanta",
        "ottanta",
        "novanta",
    ]
    words = _numbered(
        "uno/un/una due tre quattro cinque sei sette otto nove dieci undici dodici tredici"
        " quattordici quindici sedici diciassette diciotto diciannove"
    )
    for t, ten in enumerate(tens, 2):
        words[ten] = 10 * t
        for u, unit in enumerate(units, 1):
            stem = ten[:-1] if u in (1, 8) else ten
            words[stem + ("tré" if u == 3 else unit)] = 10 * t + u
    words["cento"] = 100
    words |= {f"{unit}cento": 100 * u for u, unit in enumerate(units, 1) if u > 1}
    words |= {f"{w}mila": 1000 * n for w, n in list(words.items()) if n < 1000}
    return NumberWords(
        words,
        frozenset(),
        _powers("3:mille 6:milione/mln 9:miliardo/mld"),
        _powers("3:migliaia/mila 6:milioni 9:miliardi"),
        _endings("prim second terz quart quint sest settim ottav non decim", "o a i e"),
        frozenset({"e"}),
        ("per cento", "percento"),
    )


def _portuguese() -> NumberWords:
    return NumberWords(
        _numbered(
            "um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze treze"
            " catorze/quatorze quinze dezesseis/dezasseis dezessete/dezassete dezoito"
            " dezenove/dezanove"
        )
        | _numbered("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa", 20, 10)
        | _numbered(
            "cem/cento duzentos/duzentas trezentos/trezentas quatrocentos/quatrocentas"
            " quinhentos/quinhentas seiscentos/seiscentas setecentos/setecentas"
            " oitocentos/oitocentas novecentos/novecentas", 100, 100),
        frozenset(),
        _powers("3:mil 6:milhão/mi 9:bilhão 12:trilhão"),
        _powers("3:milhares 6:milhões 9:bilhões 12:trilhões"),
        _endings("primeir segund terceir quart quint sext sétim oitav non décim", "o a os as"),
        frozenset({"e"}),
        ("por cento",),
    )  # fmt: skip


def _czech() -> NumberWords:
    return NumberWords(
        _numbered(
            "jeden/jedna/jedno/jednoho/jedné/jednu/jedním dva/dvě/dvou/dvěma tři/tří/třem/třemi"
            " čtyři/čtyř/čtyřem/čtyřmi pět/pěti šest/šesti sedm/sedmi osm/osmi devět/devíti"
            " deset/deseti/desíti jedenáct/jedenácti dvanáct/dvanácti třináct/třinácti"
            " čtrnáct/čtrnácti patnáct/patnácti šestnáct/šestnácti sedmnáct/sedmnácti"
            " osmnáct/osmnácti devatenáct/devatenácti"
        )
        | _numbered(
            "dvacet/dvaceti třicet/třiceti čtyřicet/čtyřiceti padesát/padesáti šedesát/šedesáti"
            " sedmdesát/sedmdesáti osmdesát/osmdesáti devadesát/devadesáti", 20, 10),
        frozenset({"sto", "stě", "sta", "set"}),
        _powers("3:tisíc/tis 6:milion/milionu/mil/mio 9:miliarda/miliardu/mld 12:bilion"),
        _powers("3:tisíce/tisíců/tisíci 6:miliony/milionů/milióny/miliónů 9:miliardy/miliard"
                " 12:biliony/bilionů"),
        _endings(
            "prvn druh třet čtvrt pát šest sedm osm devát desát jedenáct dvanáct třináct čtrnáct"
            " patnáct šestnáct sedmnáct osmnáct devatenáct dvacát",
            "ý ého ému ém ým á é ou í ího ímu ím",
        ),
        frozenset({"a"}),
        ("procento", "procenta", "procent", "procentech", "procentům", "procenty"),
    )  # fmt: skip


def _polish() -> NumberWords:
    return NumberWords(
        _numbered(
            "jeden/jedna/jedno/jednego/jednej dwa/dwie/dwóch/dwaj/dwoma/dwu trzy/trzech/trzej/trzem"
            " cztery/czterech/czterej/czterem pięć/pięciu sześć/sześciu siedem/siedmiu osiem/ośmiu"
            " dziewięć/dziewięciu dziesięć/dziesięciu jedenaście/jedenastu dwanaście/dwunastu"
            " trzynaście/trzynastu czternaście/czternastu piętnaście/piętnastu szesnaście/szesnastu"
            " siedemnaście/siedemnastu osiemnaście/osiemnastu dziewiętnaście/dziewiętnastu"
        )
        | _numbered(
            "dwadzieścia/dwudziestu trzydzieści/trzydziestu czterdzieści/czterdziestu"
            " pięćdziesiąt/pięćdziesięciu sześćdziesiąt/sześćdziesięciu"
            " siedemdziesiąt/siedemdziesięciu osiemdziesiąt/osiemdziesięciu"
            " dziewięćdziesiąt/dziewięćdziesięciu", 20, 10)
        | _numbered("sto/stu dwieście/dwustu trzysta/trzystu czterysta/czterystu pięćset/pięciuset"
                    " sześćset/sześciuset siedemset osiemset dziewięćset", 100, 100),
        frozenset(),
        _powers("3:tysiąc/tys 6:milion/mln 9:miliard/mld 12:bilion/bln"),
        _powers("3:tysiące/tysięcy/tysiącach 6:miliony/milionów 9:miliardy/miliardów"
                " 12:biliony/bilionów"),
        _endings(
            "pierwsz drug trzec czwart piąt szóst siódm ósm dziewiąt dziesiąt jedenast dwunast",
            "y ego emu ym a ej ą e ych i iego iemu im ia iej ią",
        ),
        frozenset(),
        ("procent", "procenta", "procentu", "proc."),
    )  # fmt: skip


_RUSSIAN_ENDINGS = (
    "ый ий ой ого его ому ему ым им ом ем ая яя ей ую юю ое ее ье ые ие ых их ья ьего ью ьей ьем"
)


def _russian() -> NumberWords:
    return NumberWords(
        _numbered(
            "один/одна/одно/одного/одной/одну/одному два/две/двух/двум/двумя/двое/двоих"
            " три/трех/трем/тремя/трое/троих четыре/четырех/четырем/четырьмя/четверо"
            " пять/пяти/пятью шесть/шести/шестью семь/семи/семью восемь/восьми девять/девяти"
            " десять/десяти одиннадцать/одиннадцати двенадцать/двенадцати тринадцать/тринадцати"
            " четырнадцать/четырнадцати пятнадцать/пятнадцати шестнадцать/шестнадцати"
            " семнадцать/семнадцати восемнадцать/восемнадцати девятнадцать/девятнадцати"
        )
        | _numbered(
            "двадцать/двадцати тридцать/тридцати сорок/сорока пятьдесят/пятидесяти"
            " шестьдесят/шестидесяти семьдесят/семидесяти восемьдесят/восьмидесяти"
            " девяносто/девяноста", 20, 10)
        | _numbered("сто/ста двести/двухсот триста/трехсот четыреста/четырехсот пятьсот/пятисот"
                    " шестьсот/шестисот семьсот/семисот восемьсот/восьмисот девятьсот/девятисот",
                    100, 100),
        frozenset(),
        _powers("3:тысяча/тысячу/тыс 6:миллион/миллиона/млн 9:миллиард/миллиарда/млрд"
                " 12:триллион/триллиона/трлн"),
        _powers("3:тысячи/тысяч/тысячам/тысячами/тысячах 6:миллионы/миллионов/миллионам/миллионами"
                " 9:миллиарды/миллиардов 12:триллионы/триллионов"),
        _endings(
            "перв втор трет четверт пят шест седьм восьм девят десят одиннадцат двенадцат тринадцат"
            " четырнадцат пятнадцат шестнадцат семнадцат восемнадцат девятнадцат двадцат",
            _RUSSIAN_ENDINGS,
        ),
        frozenset(),
        ("процент", "процента", "процентов", "процентам", "процентами", "процентах"),
    )  # fmt: skip


def _ukrainian() -> NumberWords:
    return NumberWords(
        _numbered(
            "один/одна/одне/одного/однієї/одну два/дві/двох/двом/двома/двоє три/трьох/трьом/троє"
            " чотири/чотирьох/чотирьом/четверо п'ять/п'яти/п'ятьох шість/шести/шістьох"
            " сім/семи/сімох вісім/восьми/вісьмох дев'ять/дев'яти/дев'ятьох"
            " десять/десяти/десятьох одинадцять/одинадцяти дванадцять/дванадцяти"
            " тринадцять/тринадцяти чотирнадцять/чотирнадцяти п'ятнадцять/п'ятнадцяти"
            " шістнадцять/шістнадцяти сімнадцять/сімнадцяти вісімнадцять/вісімнадцяти"
            " дев'ятнадцять/дев'ятнадцяти"
        )
        | _numbered(
            "двадцять/двадцяти тридцять/тридцяти сорок/сорока п'ятдесят/п'ятдесяти"
            " шістдесят/шістдесяти сімдесят/сімдесяти вісімдесят/вісімдесяти дев'яносто/дев'яноста",
            20, 10)
        | _numbered("сто/ста двісті/двохсот триста/трьохсот чотириста/чотирьохсот п'ятсот/п'ятисот"
                    " шістсот/шестисот сімсот/семисот вісімсот/восьмисот дев'ятсот/дев'ятисот",
                    100, 100),
        frozenset(),
        _powers("3:тисяча/тисячу/тис 6:мільйон/мільйона/млн 9:мільярд/мільярда/млрд"
                " 12:трильйон/трильйона/трлн"),
        _powers("3:тисячі/тисяч/тисячам 6:мільйони/мільйонів 9:мільярди/мільярдів"
                " 12:трильйони/трильйонів"),
        _endings("перш друг трет четверт п'ят шост сьом восьм дев'ят десят",
                 "ий ій ого ього ому ьому им ім а я ої ьої у ю е є і их іх"),
        frozenset(),
        ("відсоток", "відсотка", "відсотки", "відсотків", "відсоткам", "процент", "процентів"),
    )  # fmt: skip


_MAKERS = {
    "en": _english, "de": _german, "nl": _dutch, "sv": _swedish, "fr": _french, "es": _spanish,
    "it": _italian, "pt": _portuguese, "cs": _czech, "pl": _polish, "ru": _russian,
    "uk": _ukrainian,
}  # fmt: skip
LANGUAGES = tuple(sorted(_MAKERS))


@cache
def number_words(lang: str) -> NumberWords:
    """Give the number words of a language; none for one that is not covered.

    Examples
    --------
    >>> number_words("de").cardinals["vierundzwanzig"], number_words("pl").cardinals["pięciu"]
    (24, 5)
    """
    return _MAKERS[lang]() if lang in _MAKERS else NumberWords()


@cache
def first_words(lang: str) -> frozenset[str]:
    """Give all words that can begin a number in a language."""
    words = number_words(lang)
    return frozenset({*words.cardinals, *words.hundreds, *words.magnitudes, *words.ordinals})
