"""What a sentence does, told from its words: forbids, decides, asks, objects, states. PURE.

Used where no engine can summarise, and to see that an engine's summary lost no “not”. A sign too
many keeps a sentence too many; a sign missing may turn a meaning round, so the lists are generous.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.model import StatementKind
from core.pull import Ground

MAX_SENTENCE_CHARS = 300

_NOT_WORDS = """
not no never cannot nobody none neither nor without don't doesn't didn't won't can't mustn't
shouldn't isn't aren't wasn't weren't wouldn't couldn't shan't haven't hasn't hadn't ain't dont cant
wont forbid forbids forbidden prohibit prohibited avoid unless except stop
jangan tidak bukan tak dilarang belum tanpa nggak ngga gak enggak ga usah
nicht kein keine keinen keinem keiner nie niemals nirgends verboten ohne weder
ne n pas jamais interdit interdite sans aucun aucune ni rien
nunca jamás jamas prohibido prohibida sin ningún ninguna ninguno tampoco nada
não nao nem proibido proibida sem jamais nenhum nenhuma
non mai senza vietato vietata nessuno nessuna
niet geen nooit verboden zonder
nie nigdy zakaz zakazane bez
не ни нельзя никогда нет без запрещено запрещён запрещена
ні ніколи немає заборонено
değil yok asla hayır yasak sakın olmasın
không đừng chưa cấm chớ
لا لن لم ليس ليست ممنوع بدون غير كلا
नहीं मत ना न मना बिना वर्जित
"""
_NOT_PIECES = """
하지마,지마,지 마,말자,지 말,지말,지 맙,말 것,말것,말아,말고,마세요,마십시오
않,없,못,안돼,안 돼,안됩,안 됩,금지,불가,아니,절대
ない,ません,なく,禁止,不可,ダメ,だめ,駄目,するな,やめ,ずに,決して
不,没,沒,别,別,勿,禁,无,無,未,莫
ไม่,อย่า,ห้าม
"""
_DECISION = r"""
decid|agree|settled|chose|choose|chosen|approv|confirm|let'?s|we(?:'ll| will| use| go with)|must
|shall|has to|have to|from now on|instead
|sepakat|putus|setuju|harus|wajib|pakai saja
|entschied|beschlossen|beschluss|einigen|muss|wir nehmen
|décid|decid|d'accord|choisi|doit|on prend|acord|elegi|hay que|debe
|combinado|escolh|deve|решили|решено|договор|должн|соглас
|결정|합의|하기로|확정|정했|합시다|해야|로 하자
|決定|決め|合意|べき|こととする|决定|同意|必须|應該|应该|确定|就用
|قرر|اتفق|يجب|तय|फैसला|सहमत|चाहिए|quyết định|thống nhất|ตกลง|ตัดสินใจ
"""
_OBJECTION = r"""
\bbut\b|however|disagree|object|against|risk|concern|rather
|\btapi\b|keberatan|risiko|\baber\b|dagegen|bedenken|\bmais\b|contre|\bpero\b|contra|\bmas\b
|\bно\b|против|반대|그러나|하지만|우려|しかし|反対|懸念|但是|反对|风险|لكن|ضد|लेकिन|nhưng|แต่
"""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join(text.split("\n")), re.IGNORECASE)


def _any_of(pieces: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, pieces), key=len, reverse=True))


_WORDS = _any_of(_NOT_WORDS.split())
_PIECES = _any_of(_NOT_PIECES.replace("\n", ",").strip(",").split(","))
_NOT = re.compile(
    rf"(?<![^\W_])(?:{_WORDS})(?![^\W_])|\w+n['’]t\b|{_PIECES}|(?<!\w)안 (?=\S)", re.IGNORECASE
)
_DECIDES, _OBJECTS = _pattern(_DECISION), _pattern(_OBJECTION)
_ASKS = re.compile(r"[?？؟]|(?:까|나요|ですか|ますか|吗|呢)\s*$")
_STATES = re.compile(r"\d|`[^`]+`|\w[./_-]\w")
_END = re.compile(r"(?<=[.!?؟।])\s+|(?<=[。！？])")
_QUOTE = re.compile(r" {0,3}>")


def kind_of(sentence: str) -> StatementKind:
    """What a sentence does; the strongest sign counts, a negation before all others."""
    text = sentence.replace("’", "'")
    if _NOT.search(text):
        return "not"
    if _DECIDES.search(text):
        return "decision"
    if _ASKS.search(text):
        return "question"
    if _OBJECTS.search(text):
        return "objection"
    return "fact" if _STATES.search(text) else "said"


def sentences(text: str) -> tuple[str, ...]:
    """The sentences that the author wrote, one line each; no code blocks, no quoted lines.

    A long one is cut around its negation, if it has one, else after its beginning.
    """
    found: list[str] = []
    ground = Ground()
    for line in text.splitlines():
        before = ground.fence
        ground.step(f"{line}\n")
        if before or ground.fence or _QUOTE.match(line):
            continue
        found += (" ".join(piece.split()) for piece in _END.split(line))
    return tuple(_short(sentence) for sentence in found if sentence)


def _short(sentence: str) -> str:
    if len(sentence) <= MAX_SENTENCE_CHARS:
        return sentence
    sign = _NOT.search(sentence.replace("’", "'"))
    begin = max(0, sign.start() - MAX_SENTENCE_CHARS // 2) if sign else 0
    piece = sentence[begin : begin + MAX_SENTENCE_CHARS].strip()
    end = begin + MAX_SENTENCE_CHARS < len(sentence)
    return f"{'… ' if begin else ''}{piece}{' …' if end else ''}"
