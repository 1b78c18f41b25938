"""One tokeniser for index and query, so that every language is found.

CJK runs become overlapping 2-grams (no analyser needed), other words are lower-cased; measured in
``docs/decisions/0003``. The result is fed to FTS5's ``porter unicode61``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

_CJK = (
    r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    r"\u2e80-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # radicals, kana
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    r"\u0e00-\u0eff\u1780-\u17ff"  # Thai, Lao, Khmer
)
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
MAX_QUERY_TERMS = 40

# Words that say nothing about what a question is about, in the languages that teams asked in; how
# common any other word is, the index tells. Negations are not among them: they are what matters.
_STOP = """
a an and are as at be been but by can could did do does for from had has have how i if in
into is it its me my of on or our out please should so than that the their them then there
these they this to us was we were what when where which who why will with would you your
ada adalah agar akan apa apakah atau bagaimana bisa dan dari dengan di harus ini itu juga
kalau kami kapan ke kenapa kita mana mengapa oleh pada saya siapa tolong untuk yang
aber als am auf aus bei bitte das dass dem den der des die ein eine einem einen einer er es
für hat ich im ist mit sich sie sind und von war warum was wer werden wie wir wo zu zum zur
au aux avec ce ces comment dans des du elle en est et il ils je la le les leur mais nous
ou où par pour pourquoi qu que qui quoi sa se ses son sont sur un une vous
como con cual cuando de del donde e el ella em esta está este es los las na nos o os para
por porque porqué pero que qué quien se si su um uma y
а в и из или к как когда кто мы на о он она они по почему с что это я
니다 습니 입니 합니 세요 에요 어요 해요 나요 는지 인가 까요
です ます した する とは には ので から
"""
STOP_WORDS = frozenset(_STOP.split())


def tokens(text: str) -> Iterator[str]:
    """The tokens of ``text``, in order, repeated ones included."""
    for match in _WORD.finditer(text):
        word = match.group()
        if not _IS_CJK.match(word):
            yield word.lower()
        elif len(word) == 1:
            yield word
        else:
            yield from (word[i : i + 2] for i in range(len(word) - 1))


def index_text(text: str) -> str:
    """What is stored in the keyword index for ``text``."""
    return " ".join(tokens(text))


def context_text(sent_at: float, before: str) -> str:
    """What is stored of a message's surroundings: its date (UTC), and the message before it."""
    when = datetime.fromtimestamp(sent_at, UTC)
    return f"{when:%d %B %Y} {index_text(before)}".lower()


def query_terms(text: str) -> tuple[str, ...]:
    """The words of a query worth looking for, each once; stop words only if there is nothing else.

    Empty when nothing is searchable.
    """
    terms = dict.fromkeys(tokens(text))
    telling = [term for term in terms if term not in STOP_WORDS]
    return tuple(telling or terms)[:MAX_QUERY_TERMS]


def match_any(terms: Iterable[str]) -> str:
    """An FTS5 MATCH expression for texts that hold any of these terms, whatever they are."""
    return " OR ".join(f'"{term}"' for term in terms)
