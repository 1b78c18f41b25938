"""Notices about limits and sign-in in other languages than English and Korean. PURE.

A modest table: per language the sentences that say it, and what such a notice goes on with. A text
counts only when it is nothing else, from its first word to its last.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from core.model import OutcomeKind

# Groups give nothing back (the "+" and "?>" below): a long text is read in one go.
_ZONE = r"\(?(?:[a-z]+/[a-z_]+|utc|gmt|mez|mesz|cet|cest|kst|jst)(?:[+-]\d{1,2})?\)?"
_CLOCK = r"\d[\d:.,/-]*(?: ?(?:uhr|h\d{0,2}|ч|[ap]m)(?!\w))?"
_GAP = r"[\s.,;:!·|()–—。、，！；：-]*+"
_WORD = r"(?:[\w.-]+ )"


class _Tongue(NamedTuple):
    """``WHEN`` in a tail stands for a time, a day or a span, made of ``when``'s words."""

    cores: Mapping[OutcomeKind, str]
    tails: str
    when: str


def _when(words: str) -> str:
    names = "|".join(words.split())
    word = rf"(?:(?:{names})(?!\w)|{_CLOCK}|{_ZONE})"
    return rf"(?>{word}(?:[\s,]*{word}){{0,8}})"


_EAST = (
    r"(?>(?:[\d:/-]++|午前|午後|上午|下午|今日|今天|明日|明天|小时|小時|時間|时间|分钟|分鐘"
    rf"|[年月日号號時时点點分秒]|星期[一二三四五六日天]|[一二三四五六日月火水木金土]曜日?|\s|{_ZONE}){{1,12}})"
)

_GERMAN = _Tongue(
    {
        "quota": (
            rf"(?:sie haben|du hast) (?:ihr|dein|das|die)e?n? {_WORD}{{0,2}}?[\w-]*"
            r"(?:limit|kontingent|guthaben|obergrenze) (?:für [\w.-]+ )?"
            r"(?:erreicht|überschritten|aufgebraucht|ausgeschöpft|verbraucht)"
            r"|(?:ihr |dein |das )?(?:nutzungs|tages|wochen|monats|sitzungs|anfrage|nachrichten)-?"
            r"(?:limit|kontingent) (?:ist |wurde )?"
            r"(?:erreicht|überschritten|aufgebraucht|ausgeschöpft)"
        ),
        "rate": r"zu viele anfragen",
        "auth": (
            r"(?:(?:sie sind|du bist) )?nicht (?:angemeldet|eingeloggt)"
            r"|(?:ihre |deine )?(?:sitzung|anmeldung) ist abgelaufen|ungültiger api-schlüssel"
        ),
    },
    (
        r"(?:(?:es|er|das limit|das kontingent|(?:ihr|dein) [\w-]*limit) )?wird WHEN zurückgesetzt"
        r"|(?:zurücksetzung|zurückgesetzt|wieder verfügbar) WHEN"
        r"|(?:bitte )?(?:versuchen sie es|versuche? es)(?: bitte)? (?:WHEN )?"
        r"(?:erneut|wieder|noch einmal|nochmal)(?: WHEN)?|(?:bitte )?(?:warten sie|warte) WHEN"
        r"|(?:bitte )?(?:melden sie sich|melde dich) (?:erneut |wieder )?an"
        r"|(?:bitte )?wenden sie sich an ihren administrator"
    ),
    "um am in ab gegen bis nach uhr etwa morgen heute später früh stunden? minuten? sekunden?"
    " tage?n? wochen? monate?n?"
    " und montag dienstag mittwoch donnerstag freitag samstag sonntag januar"
    " februar märz april mai juni juli august september oktober november dezember",
)
_FRENCH_LIMIT = (
    r"(?:limites?|quotas?)(?: (?:d'utilisation|de messages|de requêtes|quotidienne?|journalière?"
    r"|hebdomadaire|mensuelle?))*"
)
_FRENCH = _Tongue(
    {
        "quota": (
            r"(?:vous avez|tu as) (?:atteint|dépassé|épuisé) (?:votre|ta|ton|la|le) "
            rf"{_WORD}{{0,2}}?{_FRENCH_LIMIT}|(?:votre )?{_FRENCH_LIMIT} (?:est )?"
            r"(?:atteinte?|dépassée?|épuisée?)"
        ),
        "rate": r"trop de requêtes",
        "auth": (
            r"vous n'êtes pas (?:connecté|authentifié)e?|(?:votre )?session (?:a )?expirée?"
            r"|clé (?:d')?api (?:invalide|non valide)"
        ),
    },
    (
        r"(?:(?:elle|il|la limite|votre limite|le quota) )?(?:(?:sera|est) réinitialisée?"
        r"|se réinitialise(?:ra)?|réinitialisation|de nouveau disponible) WHEN"
        r"|(?:veuillez |merci de )?(?:réessaye[rz]?|patiente[rz]?)(?: WHEN)?"
        r"|(?:veuillez vous (?:re)?connecter|reconnectez-vous)"
    ),
    "à vers dans le la les d'ici demain aujourd'hui plus tard après heures? minutes? secondes?"
    " jours? semaines? mois midi"
    " minuit et lundi mardi mercredi jeudi vendredi samedi dimanche janvier"
    " février mars avril mai juin juillet août septembre octobre novembre décembre",
)
_SPANISH_LIMIT = (
    r"(?:límite|cuota|cupo)(?: (?:de (?:uso|mensajes|solicitudes|peticiones)|diari[oa]|semanal"
    r"|mensual))*"
)
_SPANISH = _Tongue(
    {
        "quota": (
            r"(?:usted )?(?:has|ha|se ha) (?:alcanzado|superado|agotado|excedido) (?:tu|su|el|la) "
            rf"{_WORD}{{0,2}}?{_SPANISH_LIMIT}|{_SPANISH_LIMIT} (?:alcanzad|superad|agotad)[oa]"
        ),
        "rate": r"demasiadas (?:solicitudes|peticiones)",
        "auth": (
            r"no (?:has|ha) iniciado sesión|(?:tu |su |la )?sesión (?:ha )?(?:caducad|expirad)[oa]"
            r"|clave (?:de )?api (?:no válida|inválida)"
        ),
    },
    (
        r"(?:(?:el|tu|su) (?:límite|cuota) )?se (?:restablecer?á?|reiniciar?á?|renovará|renueva)"
        r" WHEN|(?:por favor,? )?(?:inténta[ln]o|inténtelo|vuelv[ea] a intentarlo)"
        r"(?: de nuevo| otra vez)?(?: WHEN)?|(?:por favor,? )?(?:espera|espere) WHEN"
        r"|(?:por favor,? )?inici[ae] sesión(?: de nuevo)?"
    ),
    "a las? los el en de mañana hoy más tarde horas? minutos? segundos? días? semanas? mes(?:es)? y"
    " lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio"
    " julio agosto septiembre octubre noviembre diciembre",
)
_PORTUGUESE_LIMIT = (
    r"(?:limite|cota)(?: (?:de (?:uso|mensagens|solicitações|requisições)|diári[oa]|semanal"
    r"|mensal))*"
)
_PORTUGUESE = _Tongue(
    {
        "quota": (
            r"você (?:já )?(?:atingiu|excedeu|ultrapassou|esgotou) (?:[oa] )?(?:seu |sua )?"
            rf"{_WORD}{{0,2}}?{_PORTUGUESE_LIMIT}"
            rf"|{_PORTUGUESE_LIMIT} (?:(?:foi )?(?:atingid|excedid|esgotad)[oa])"
        ),
        "rate": r"(?:muitas|excesso de) (?:solicitações|requisições)",
        "auth": (
            r"você não está (?:conectad|logad|autenticad)[oa]|(?:sua )?sessão (?:expirou|expirada)"
            r"|chave (?:de |da )?api inválida"
        ),
    },
    (
        r"(?:(?:ele|ela|o limite|a cota|seu limite) )?(?:(?:será|é) (?:redefinid|renovad)[oa]"
        r"|redefine|renova|reinicia) WHEN|(?:por favor,? )?tente (?:novamente|de novo)(?: WHEN)?"
        r"|(?:por favor,? )?(?:aguarde|espere) WHEN|(?:por favor,? )?faça login(?: novamente)?"
    ),
    "às à as a o em de na no amanhã hoje mais tarde horas? minutos? segundos? dias? semanas? mês"
    " meses e segunda(?:-feira)? terça(?:-feira)? quarta(?:-feira)? quinta(?:-feira)?"
    " sexta(?:-feira)? sábado domingo janeiro fevereiro março abril maio junho julho agosto"
    " setembro outubro novembro dezembro",
)
_ITALIAN_LIMIT = (
    r"(?:limite|quota)(?: (?:di (?:utilizzo|messaggi|richieste)|d'uso|giornalier[oa]|settimanale"
    r"|mensile))*"
)
_ITALIAN = _Tongue(
    {
        "quota": (
            rf"hai (?:raggiunto|superato|esaurito) (?:il|la) (?:tuo |tua )?{_WORD}{{0,2}}?"
            rf"{_ITALIAN_LIMIT}|{_ITALIAN_LIMIT} (?:raggiunt|superat|esaurit)[oa]"
        ),
        "rate": r"troppe richieste",
        "auth": (
            r"non (?:sei connesso|hai effettuato l'accesso)|(?:la tua )?sessione (?:è )?scaduta"
            r"|chiave api non valida"
        ),
    },
    (
        r"(?:(?:il limite|la quota) )?(?:si (?:ripristina|azzera|reimposta|rinnova)"
        r"|(?:verrà|sarà) (?:ripristinat|reimpostat|azzerat|rinnovat)[oa]) WHEN"
        r"|(?:riprova|riprovare|si prega di riprovare)(?: WHEN)?|(?:attendi|attendere) WHEN"
        r"|accedi (?:di nuovo|nuovamente)"
    ),
    "alle? all' il la tra fra in di domani oggi più tardi or[ae] minut[oi] second[oi] giorn[oi]"
    " settiman[ae] mes[ei] e mezzogiorno mezzanotte lunedì martedì mercoledì giovedì venerdì sabato"
    " domenica gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre"
    " novembre dicembre",
)
_RUSSIAN_LIMIT = (
    r"(?:лимита?|квот[аыу])(?: (?:использования|сообщений|запросов|на (?:сегодня|неделю|месяц)))*"
)
_RUSSIAN = _Tongue(
    {
        "quota": (
            r"вы (?:достигли|исчерпали|превысили) (?:свой |свою |свое[йг]о? |ваш )?"
            rf"{_WORD}{{0,2}}?{_RUSSIAN_LIMIT}"
            rf"|{_RUSSIAN_LIMIT} (?:исчерпан|достигнут|превышен)а?"
        ),
        "rate": r"слишком много запросов",
        "auth": (
            r"вы не (?:вошли(?: в (?:систему|аккаунт|учётную запись))?|авторизованы)"
            r"|(?:ваша )?сессия истекла|(?:недействительный|неверный) (?:api[- ]ключ|ключ api)"
        ),
    },
    (
        r"(?:(?:лимит|он|квота|она) )?(?:сбросится|обновится|будет (?:сброшен|обновл[её]н)а?|сброс)"
        r" WHEN|(?:пожалуйста,? )?(?:повторите(?: попытку)?|попробуйте(?: снова| ещё раз)?)"
        r"(?: WHEN)?(?: снова| ещё раз)?|(?:пожалуйста,? )?подождите WHEN"
        r"|(?:пожалуйста,? )?войдите (?:снова|заново|в систему)"
    ),
    "в во через после до завтра сегодня позже час(?:а|ов)? минуты? минут секунды? секунд день дня"
    " дней недел[юиь] месяц(?:а|ев)? и утра вечера по мск понедельник вторник среду четверг пятницу"
    " субботу воскресенье января февраля марта апреля мая июня июля августа сентября октября"
    " ноября декабря",
)
_JAPANESE = _Tongue(
    {
        "quota": (
            r"(?:[\w.-]{1,16}の)?(?:ご?利用|使用量?|メッセージ|リクエスト|1日|一日|週間)の?(?:回数)?の?"
            r"(?:制限|上限|枠|限度)(?:に(?:達しました|到達しました|達しています)"
            r"|を(?:超えました|超過しました|使い切りました))"
        ),
        "rate": r"リクエスト(?:数)?が多すぎます",
        "auth": (
            r"ログイン(?:していません|されていません|が必要です)|セッションの(?:有効)?期限が切れ(?:ました|ています)"
            r"|apiキーが(?:無効です|正しくありません)"
        ),
    },
    (
        r"(?:制限は|上限は)?WHEN後?に(?:リセット|更新|解除)(?:されます|します)?"
        r"|(?:WHEN(?:以降|後)?に?|しばらく(?:して|待って)から|後ほど)?(?:もう一度|再度)?(?:お試し|試して)ください"
        r"|(?:もう一度|再度)?ログインしてください"
    ),
    "",
)
_LIMIT_ZH = (
    r"(?:使用|用量|消息|訊息|请求|請求|每日|每周|每週|每月|今日)?(?:量|次数|次數)?(?:的)?"
    r"(?:限额|限額|上限|限制|额度|額度|配额|配額)"
)
_CHINESE = _Tongue(
    {
        "quota": (
            r"(?:您|你)?(?:已经|已經|已)?(?:达到|達到|超过|超過|超出|用完|用尽|用盡)了?(?:您|你)?的?"
            rf"(?:[\w.-]{{1,12}}的)?{_LIMIT_ZH}"
            rf"|(?:您的|你的)?{_LIMIT_ZH}(?:已经|已經|已)(?:用完|用尽|用盡|达到|達到|耗尽|耗盡|超出)"
        ),
        "rate": r"请求(?:过多|过于频繁)|請求(?:過多|過於頻繁)",
        "auth": (
            r"(?:您|你)?(?:尚未|还没有|還沒有|未)(?:登录|登錄|登入)|(?:会话|會話|登录|登入)已(?:过期|過期)"
            r"|api ?(?:密钥无效|金鑰無效)"
        ),
    },
    (
        r"(?:它|限额|额度)?(?:将|將|会|會)?(?:于|於|在)?WHEN(?:之?[后後])?(?:重置|刷新|恢复|恢復)"
        r"|(?:请|請)?(?:于|於|在)?(?:稍[后後]|WHEN)(?:之?[后後])?再?(?:重试|重試|试|試)"
        r"|(?:请|請)(?:重新|先)?(?:登录|登錄|登入)"
    ),
    "",
)


def _shapes(tongue: _Tongue) -> list[tuple[OutcomeKind, re.Pattern[str]]]:
    tails = tongue.tails.replace("WHEN", _when(tongue.when) if tongue.when else _EAST)
    return [
        (kind, re.compile(rf"{_GAP}(?:{core})(?P<tails>(?:{_GAP}(?>{tails}))*+){_GAP}"))
        for kind, core in tongue.cores.items()
    ]


_SHAPES = tuple(
    shape
    for tongue in (
        _GERMAN, _FRENCH, _SPANISH, _PORTUGUESE, _ITALIAN, _RUSSIAN, _JAPANESE, _CHINESE,
    )
    for shape in _shapes(tongue)
)  # fmt: skip
_MAX_CHARS = 300


def foreign_notice(text: str) -> tuple[OutcomeKind, bool] | None:
    """The failure that the whole of ``text`` tells of, and whether it says what helps as well."""
    if len(text) > _MAX_CHARS:
        return None
    low = unicodedata.normalize("NFC", text).lower()
    for kind, shape in _SHAPES:
        if found := shape.fullmatch(low):
            return kind, bool(found["tails"])
    return None
