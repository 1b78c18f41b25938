"""How times are named in each language: where such a span is, and what it says in plain English.

Pieces of regular expressions; ``core.memory.dates`` puts them together. A language that is not here
is searched without a bonus for dates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["day", "week", "month", "year"]

UNITS: tuple[Unit, ...] = ("day", "week", "month", "year")


@dataclass(frozen=True, slots=True)
class Tongue:
    """The words of one language.

    Attributes:
        said: a phrase, and how many of which unit it lies back ("yesterday": 1 day).
        units: words for day, week, month, year, in this order.
        numbers: number words.
        ago: "3 days ago", with ``N`` and ``UNIT``.
        months / weekdays: January and Monday first.
        month: a month by itself, with ``MONTH`` (and ``YEAR``, which may be missing); day: a day of
            a month, with ``DAY``, ``MONTH`` and ``YEAR``; year: with ``YEAR``.
        past_weekday: the last such day, with ``WEEKDAY``; week_weekday: that day of last week.
        ahead: what lies ahead: it names no time at which something was said.
        since / until: a word before (``after_it``: behind) a span that opens its end or beginning.
        spaced: whether words stand apart.
    """

    said: Mapping[str, tuple[Unit, int]]
    units: tuple[str, str, str, str]
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    ago: tuple[str, ...] = ()
    month: tuple[str, ...] = ()
    day: tuple[str, ...] = ()
    year: tuple[str, ...] = ()
    past_weekday: tuple[str, ...] = ()
    week_weekday: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    after_it: bool = False
    spaced: bool = True
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])


_CJK_MONTHS = tuple(f"(?<!\\d)0?{number}" for number in range(1, 13))

_IN_MONTH = (
    "(?:in|of|during|since|until|before|after|by|for|last|this|early|mid|late|from|the)[ -]"
    "(?:early |mid[ -]|late |last )?"
)

_NO_DAY = r"(?!\s\d{1,2}(?!\d))"

ENGLISH = Tongue(
    said={
        "today": ("day", 0),
        "yesterday|last night": ("day", 1),
        "the day before yesterday": ("day", 2),
        "this week": ("week", 0),
        "(?:last|past|previous) week": ("week", 1),
        "the week before last": ("week", 2),
        "this month": ("month", 0),
        "(?:last|previous) month": ("month", 1),
        "this year": ("year", 0),
        "(?:last|previous) year": ("year", 1),
    },
    units=("days?", "weeks?", "months?", "years?"),
    numbers={
        "an?": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6,
        "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
    },
    ago=("N UNIT (?:ago|earlier|back)",),
    months=(
        "january|jan", "february|feb", "march|mar", "april|apr", "may", "june|jun", "july|jul",
        "august|aug", "september|sept?", "october|oct", "november|nov", "december|dec",
    ),
    weekdays=("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    month=(
        f"{_IN_MONTH}MONTH(?:,? YEAR)?{_NO_DAY}",
        "MONTH,? YEAR",
        "MONTH(?= (?:of )?(?:last|this) year)",
    ),
    day=("DAY(?:st|nd|rd|th)?(?: of)? MONTH(?:,? YEAR)?", "MONTH DAY(?:st|nd|rd|th)?(?:,? YEAR)?"),
    year=("(?:in|of|during|since|until|before|after|from) YEAR",),
    past_weekday=("(?:(?:last|past|this|on|since|before|until|by) )?WEEKDAY",),
    week_weekday=("WEEKDAY (?:of )?last week", "last week(?:'s|’s)? (?:on )?WEEKDAY"),
    ahead=("(?:next|coming|every|each) (?:WEEKDAY|MONTH|UNIT)", "tomorrow", "WEEKDAYs"),
    since="since|after|from",
    until="before|until|till|by",
)  # fmt: skip

KOREAN = Tongue(
    said={
        "오늘": ("day", 0),
        "어제|어저께|어젯밤": ("day", 1),
        "그저께|그제|엊그제": ("day", 2),
        "이번 ?주": ("week", 0),
        "(?:지난|저번) ?주|지난 일주일": ("week", 1),
        "지지난 ?주|저저번 ?주": ("week", 2),
        "(?:이번 ?|이 ?|금)달|이번 ?월": ("month", 0),
        "(?:지난|저번) ?달|전월": ("month", 1),
        "지지난 ?달": ("month", 2),
        "올해|금년": ("year", 0),
        "작년|지난 ?해": ("year", 1),
        "재작년": ("year", 2),
    },
    units=("일", "주일?", "개월|달", "년"),
    numbers={
        "하루": 1, "한": 1, "두": 2, "세|석": 3, "네|넉": 4, "다섯": 5, "여섯": 6, "일곱": 7,
        "여덟": 8, "아홉": 9, "열": 10,
    },
    ago=("N ?UNIT ?전",),
    months=tuple(f"{month} ?월" for month in _CJK_MONTHS),
    weekdays=tuple(f"{day}요일" for day in "월화수목금토일"),
    month=("(?:YEAR ?년 ?)?MONTH",),
    day=("(?:YEAR ?년 ?)?MONTH ?DAY ?일",),
    year=("YEAR ?년",),
    past_weekday=("(?:(?:지난|저번|이번 ?주) ?)?WEEKDAY",),
    week_weekday=("(?:지난|저번) ?주 ?WEEKDAY",),
    ahead=("(?:다음|내) ?(?:주|달|해|번)(?: ?WEEKDAY)?", "내일|모레|글피|내년", "매주 ?WEEKDAY"),
    since=r"이후|부터|이래|[뒤후](?:에|로)?(?!\w)",
    until=r"이전|까지|전에?(?!\w)",
    after_it=True,
    spaced=False,
)  # fmt: skip

JAPANESE = Tongue(
    said={
        "今日|本日|きょう": ("day", 0),
        "昨日|昨夜|きのう": ("day", 1),
        "一昨日|おととい": ("day", 2),
        "今週": ("week", 0),
        "先週": ("week", 1),
        "先々週": ("week", 2),
        "今月": ("month", 0),
        "先月": ("month", 1),
        "先々月": ("month", 2),
        "今年": ("year", 0),
        "去年|昨年": ("year", 1),
        "一昨年|おととし": ("year", 2),
    },
    units=("日", "週間", "[かヶカケヵ箇]月", "年"),
    numbers=dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
    ago=("N ?UNIT ?(?:間 ?)?前",),
    months=tuple(f"{month} ?月" for month in _CJK_MONTHS),
    weekdays=tuple(f"{day}曜日?" for day in "月火水木金土日"),
    month=("(?:YEAR ?年 ?)?MONTH",),
    day=("(?:YEAR ?年 ?)?MONTH ?DAY ?日",),
    year=("YEAR ?年",),
    past_weekday=("(?:(?:この前|前回|今週)の ?)?WEEKDAY",),
    week_weekday=("先週の? ?WEEKDAY",),
    ahead=("(?:来週|再来週|毎週)の? ?(?:WEEKDAY)?", "明日|明後日|来月|来年"),
    since="以降|から|以来",
    until="以前|まで|より前",
    after_it=True,
    spaced=False,
)

CHINESE = Tongue(
    said={
        "今天|今日": ("day", 0),
        "昨天|昨晚|昨日": ("day", 1),
        "前天": ("day", 2),
        "(?:本|这|這|这个|這個)(?:周|週|星期|礼拜)": ("week", 0),
        "上(?:个|個)?(?:周|週|星期|礼拜)": ("week", 1),
        "上上(?:个|個)?(?:周|週|星期)": ("week", 2),
        "本月|(?:这个|這個)月": ("month", 0),
        "上(?:个|個)?月": ("month", 1),
        "今年": ("year", 0),
        "去年": ("year", 1),
        "前年": ("year", 2),
    },
    units=("天|日", "(?:个|個)?(?:周|週|星期|礼拜)", "(?:个|個)月", "年"),
    numbers=dict(
        zip("一二两三四五六七八九十兩", [1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2], strict=True)
    ),
    ago=("N ?UNIT(?:之|以)?前",),
    months=tuple(f"{month} ?月" for month in _CJK_MONTHS),
    weekdays=tuple(
        f"(?:周|週|星期|礼拜){day}" for day in ("一", "二", "三", "四", "五", "六", "[日天]")
    ),
    month=("(?:YEAR ?年 ?)?MONTH(?:份)?",),
    day=("(?:YEAR ?年 ?)?MONTH ?DAY ?[日号號]",),
    year=("YEAR ?年",),
    past_weekday=("WEEKDAY",),
    week_weekday=("上(?:个|個)?WEEKDAY",),
    ahead=(
        "下(?:个|個)?(?:周|週|星期|月)[一二三四五六日天]?",
        "明天|后天|明年",
        "每(?:个|個)?WEEKDAY",
    ),
    since="以后|之后|以来|起",
    until="以前|之前|为止",
    after_it=True,
    spaced=False,
)

INDONESIAN = Tongue(
    said={
        "hari ini": ("day", 0),
        "kemarin|semalam|tadi malam": ("day", 1),
        "kemarin lusa|kemarin dulu": ("day", 2),
        "(?:minggu|pekan) ini": ("week", 0),
        "(?:minggu|pekan) (?:yang )?(?:lalu|kemarin|kemaren)": ("week", 1),
        "bulan ini": ("month", 0),
        "bulan (?:yang )?(?:lalu|kemarin)": ("month", 1),
        "tahun ini": ("year", 0),
        "tahun (?:yang )?(?:lalu|kemarin)": ("year", 1),
    },
    units=("hari", "minggu|pekan", "bulan", "tahun"),
    numbers={
        "satu|se": 1, "dua": 2, "tiga": 3, "empat": 4, "lima": 5, "enam": 6, "tujuh": 7,
        "delapan": 8, "sembilan": 9, "sepuluh": 10,
    },
    ago=("N ?UNIT (?:yang )?(?:lalu|silam)",),
    months=(
        "januari|jan", "februari|feb", "maret|mar", "april|apr", "mei", "juni|jun", "juli|jul",
        "agustus|agu", "september|sep", "oktober|okt", "november|nov", "desember|des",
    ),
    weekdays=("senin", "selasa", "rabu", "kamis", "jum'?at", "sabtu", "ahad|hari minggu"),
    month=("(?:bulan|pada|di|sejak|sampai|sebelum|sesudah) MONTH(?: YEAR)?", "MONTH YEAR"),
    day=("DAY MONTH(?: YEAR)?",),
    year=("(?:tahun|pada|sejak|di) YEAR",),
    past_weekday=("(?:hari )?WEEKDAY(?: (?:yang )?(?:lalu|kemarin))?",),
    ahead=("(?:hari )?WEEKDAY depan|(?:minggu|bulan|tahun|pekan) depan|besok|lusa|setiap WEEKDAY",),
    since="sejak|setelah|sesudah",
    until="sebelum|sampai|hingga",
)  # fmt: skip

SPANISH = Tongue(
    said={
        "hoy": ("day", 0),
        "ayer|anoche": ("day", 1),
        "anteayer|antier": ("day", 2),
        "esta semana": ("week", 0),
        "(?:la )?semana pasada": ("week", 1),
        "este mes": ("month", 0),
        "(?:el )?mes pasado": ("month", 1),
        "este año": ("year", 0),
        "(?:el )?año pasado": ("year", 1),
    },
    units=("días?|dias?", "semanas?", "mes(?:es)?", "años?"),
    numbers={
        "una?": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8,
        "nueve": 9, "diez": 10,
    },
    ago=("hace N UNIT",),
    months=(
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "sep?tiembre",
        "octubre", "noviembre", "diciembre",
    ),
    weekdays=("lunes", "martes", "miércoles|miercoles", "jueves", "viernes", "sábado", "domingo"),
    month=("(?:en|de|desde|hasta|antes de) MONTH(?: (?:de |del )?YEAR)?",),
    day=("DAY de MONTH(?: (?:de |del )?YEAR)?",),
    year=("(?:en|desde|hasta) YEAR",),
    past_weekday=("(?:el )?WEEKDAY(?: pasado)?", "(?:el )?pasado WEEKDAY"),
    ahead=("(?:el )?próximo WEEKDAY|(?:el )?WEEKDAY que viene|mañana|cada WEEKDAY|los WEEKDAY",),
    since="desde|después del?",
    until="antes del?|hasta",
)  # fmt: skip

GERMAN = Tongue(
    said={
        "heute": ("day", 0),
        "gestern": ("day", 1),
        "vorgestern": ("day", 2),
        "diese[rn]? woche": ("week", 0),
        "(?:letzte|vergangene|vorige)[rn]? woche": ("week", 1),
        "vorletzte[rn]? woche": ("week", 2),
        "diese[nmrs]{0,2} monat": ("month", 0),
        "(?:letzte|vergangene|vorige)[nmrs] monat": ("month", 1),
        "diese[ms] jahr": ("year", 0),
        "(?:letzte|vergangene|vorige)[nms] jahr": ("year", 1),
    },
    units=("tage?n?", "wochen?", "monate?n?", "jahre?n?"),
    numbers={
        "eine[mnr]?": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7,
        "acht": 8, "neun": 9, "zehn": 10,
    },
    ago=("vor N UNIT",),
    months=(
        "januar|jänner", "februar", "märz", "april", "mai", "juni", "juli", "august", "september",
        "oktober", "november", "dezember",
    ),
    weekdays=("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    month=("(?:im|seit|bis|vor|nach|ab|anfang|mitte|ende) MONTH(?: YEAR)?", "MONTH YEAR"),
    day=(r"DAY\. ?MONTH(?: YEAR)?",),
    year=("(?:in|seit|jahr|jahre) YEAR",),
    past_weekday=("(?:(?:am|(?:letzte|vergangene|vorige)[nmr]) )?WEEKDAY",),
    week_weekday=("WEEKDAY (?:der )?letzte[rn]? woche",),
    ahead=("(?:nächste[nmr]|kommende[nmr]|jede[nmr]) (?:WEEKDAY|UNIT)|übermorgen",),
    since="seit|nach|ab",
    until="vor|bis",
)  # fmt: skip

FRENCH = Tongue(
    said={
        "aujourd['’]hui": ("day", 0),
        "hier": ("day", 1),
        "avant-hier": ("day", 2),
        "cette semaine": ("week", 0),
        "(?:la )?semaine (?:dernière|passée)": ("week", 1),
        "ce mois-ci|ce mois": ("month", 0),
        "(?:le )?mois (?:dernier|passé)": ("month", 1),
        "cette année": ("year", 0),
        "(?:l['’])?(?:année dernière|an dernier)": ("year", 1),
    },
    units=("jours?", "semaines?", "mois", "ans?|années?"),
    numbers={
        "une?": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6, "sept": 7, "huit": 8,
        "neuf": 9, "dix": 10,
    },
    ago=("il y a N UNIT",),
    months=(
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
        "octobre", "novembre", "décembre",
    ),
    weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    month=("(?:en|de|depuis|avant|début|fin|mi-) ?MONTH(?: YEAR)?", "MONTH YEAR"),
    day=("(?:le )?DAY(?:er)? MONTH(?: YEAR)?",),
    year=("(?:en|depuis) YEAR",),
    past_weekday=("WEEKDAY(?: dernier| passé)?",),
    ahead=("WEEKDAY prochain|demain|chaque WEEKDAY",),
    since="depuis|après",
    until="avant|jusqu['’]à|jusqu['’]au",
)  # fmt: skip

PORTUGUESE = Tongue(
    said={
        "hoje": ("day", 0),
        "ontem": ("day", 1),
        "anteontem": ("day", 2),
        "esta semana": ("week", 0),
        "(?:na |a )?semana passada": ("week", 1),
        "este mês": ("month", 0),
        "(?:no |o )?mês passado": ("month", 1),
        "este ano": ("year", 0),
        "(?:no |o )?ano passado": ("year", 1),
    },
    units=("dias?", "semanas?", "m[eê]s(?:es)?", "anos?"),
    numbers={
        "uma?": 1, "dois|duas": 2, "três": 3, "quatro": 4, "cinco": 5, "seis": 6, "sete": 7,
        "oito": 8, "nove": 9, "dez": 10,
    },
    ago=("h[áa] N UNIT", "N UNIT atr[áa]s"),
    months=(
        "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro",
        "outubro", "novembro", "dezembro",
    ),
    weekdays=(
        "segunda(?:-feira)", "terça(?:-feira)?", "quarta-feira", "quinta-feira", "sexta-feira",
        "sábado", "domingo",
    ),
    month=("(?:em|de|desde|até) MONTH(?: de YEAR)?",),
    day=("DAY de MONTH(?: de YEAR)?",),
    year=("(?:em|desde) YEAR",),
    past_weekday=("(?:na |no )?WEEKDAY(?: passad[ao])?",),
    ahead=("próxim[ao] WEEKDAY|WEEKDAY que vem|amanhã",),
    since="desde|depois de",
    until="antes de|até",
)  # fmt: skip

RUSSIAN = Tongue(
    said={
        "сегодня": ("day", 0),
        "вчера": ("day", 1),
        "позавчера": ("day", 2),
        "на этой неделе": ("week", 0),
        "(?:на )?прошл(?:ой|ая) недел[ея]": ("week", 1),
        "в этом месяце": ("month", 0),
        "(?:в )?прошл(?:ом|ый) месяце?": ("month", 1),
        "в этом году": ("year", 0),
        "(?:в )?прошл(?:ом|ый) год[ау]?": ("year", 1),
    },
    units=("дн(?:я|ей)|день", "недел[юиь]|недель", "месяц(?:а|ев)?", "года?|лет"),
    numbers={
        "одн(?:у|ин)": 1, "дв[ае]": 2, "три": 3, "четыре": 4, "пять": 5, "шесть": 6, "семь": 7,
        "восемь": 8, "девять": 9, "десять": 10,
    },
    ago=("N UNIT назад",),
    months=(
        "январ[яеь]", "феврал[яеь]", "март[ае]?", "апрел[яеь]", "ма[йяе]", "июн[яеь]", "июл[яеь]",
        "август[ае]?", "сентябр[яеь]", "октябр[яеь]", "ноябр[яеь]", "декабр[яеь]",
    ),
    weekdays=(
        "понедельник", "вторник", "сред[ау]", "четверг", "пятниц[ау]", "суббот[ау]", "воскресенье",
    ),
    month=("(?:в|с|до|за) MONTH(?: YEAR)?",),
    day=("DAY MONTH(?: YEAR)?",),
    year=("в YEAR(?: году)?",),
    past_weekday=("во? (?:прошл(?:ый|ую|ое) )?WEEKDAY", "прошл(?:ый|ую|ое) WEEKDAY"),
    ahead=("следующ(?:ий|ую|ее) WEEKDAY|завтра|послезавтра",),
    since="с|после",
    until="до",
)  # fmt: skip

TONGUES: tuple[Tongue, ...] = (
    ENGLISH, KOREAN, JAPANESE, CHINESE, INDONESIAN, SPANISH, GERMAN, FRENCH, PORTUGUESE, RUSSIAN,
)  # fmt: skip
