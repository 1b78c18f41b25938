"""What Korean and Japanese words end on, left out of a query: it says how a thing is asked for.

``인증을``, ``인증이`` and ``인증 방식`` share ``인증``; the pair ``증을`` only finds who happened
to use the same particle. The index has all pairs, so a wrong guess here loses a place, no message.
"""

from __future__ import annotations

import re

_PARTICLES = (
    "에서는|에서도|에서|에게는|에게|한테|으로는|으로도|으로|로는|까지는|까지|부터는|부터|이라고|라고|이라는|라는|"
    "이랑|처럼|보다|마다|밖에|조차|이나|이든|에는|에도|은|는|이|가|을|를|의|에|로|도|만|과|와|랑|나"
)
_VERBS = (
    "했(?:었)?(?:어요|습니다|는데|는지|던|나요|나|지|죠|더라|다|어)?|하(?:는지|는데|는|기로|기|면|려면|려고|지|게|나요|나)?|"
    "할|한|해서|해야|해요|해|합니다|됐(?:어요|습니다|는데|는지|던|나요|나|지|죠|더라|다|어)?|되(?:는지|는데|는|면|지|나요|나)|"
    "된다|된|돼서|돼요|돼|됩니다|입니다|인가요|인가|였나요|였나|였지|였죠|였더라|이에요|예요|이야|이죠|이지|"
    "었(?:어요|습니다|는데|는지|던|나요|나|지|죠|더라|다|어)|았(?:어요|습니다|는데|는지|던|나요|나|지|죠|더라|다|어)|"
    "나요|는지|던데|더라|까요|습니다"
)
_KOREAN = re.compile(rf"(?<=[가-힣]{{2}})(?:{_VERBS}|{_PARTICLES})$")
_HANGUL = re.compile(r"[가-힣]+")
_NEXT_WORD = re.compile(r"[\u3041-\u309f][^\u3041-\u309f]")


def bare(run: str) -> str:
    """A Korean run of at least three syllables without its ending; others as they are."""
    return _KOREAN.sub("", run) if _HANGUL.fullmatch(run) else run


def between(pair: str) -> bool:
    """Whether a pair is the end of one Japanese word and the beginning of the next."""
    return bool(_NEXT_WORD.fullmatch(pair))
