"""Who is named in a question: by a full name, a first name, a handle; in any script.

Pure. In Korean a name carries particles and titles ("민수가", "김민수님"), in Japanese too
("田中さんは"), so that a name there ends where one of those, or another script, begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

_HANGUL = "\uac00-\ud7a3"
_KANA = "\u3041-\u30ff"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_CJK = f"{_HANGUL}{_KANA}{_HAN}"

# What may follow a name: titles first, then particles. Longer ones are tried first.
_KO_TITLES = (
    "님 씨 군 양 선생님 팀장님 과장님 대리님 부장님 이사님 대표님 매니저님 선배님 "
    "팀장 과장 대리 부장 이사 대표 매니저 선배 형 누나 언니 오빠"
)
_KO_PARTICLES = (
    "이가 이는 이의 이를 이도 이랑 이한테 이에게 "
    "은 는 이 가 을 를 의 도 만 와 과 랑 이랑 하고 에게 에게서 한테 한테서 께 께서 께서는 께서도 "
    "이나 나 로 으로 부터 까지 보다 처럼 같이 마다 조차 밖에 라고 이라고 라면 이라면 아 야 이야 "
    "에게는 한테는 에게도 한테도 와는 과는 이었 였 입니다 인가 네 네가"
)
_JA_AFTER = "さん くん ちゃん 様 さま 君 氏 先生 先輩 部長 課長 社長"
_ZH_AFTER = "先生 女士 老师 同学 哥 姐 总 经理"
_SURNAMES = frozenset(
    "김이박최정강조윤장임한오서신권황안송류유홍전고문양손배백허남심노하곽성차주우구민진지엄채원천방공현함변염여추"
    "도소석선설마길연위표명기반라왕금옥육인맹제모탁국어"
)

MIN_LETTERS = 2


def _after() -> str:
    titles = sorted(_KO_TITLES.split(), key=len, reverse=True)
    particles = sorted(_KO_PARTICLES.split(), key=len, reverse=True)
    return rf"(?:{'|'.join(titles)})?(?:{'|'.join(particles)})?"


_KO_AFTER = _after()
_SPLIT = re.compile(r"[\s,()|/·•\[\]]+")


@lru_cache(maxsize=4_096)
def forms(name: str) -> tuple[str, ...]:
    """How somebody of this display name may be called: in full first, then by parts of it."""
    full = " ".join(name.split()).strip("@ ")
    if not full:
        return ()
    words = [word for word in _SPLIT.split(full) if _telling(word)]
    called = [full, *words]
    if "." in full or "_" in full or "-" in full:
        called += [word for word in re.split(r"[\s._\-]+", full) if _telling(word)][:1]
    for word in (full, *words):
        if re.fullmatch(rf"[{_HANGUL}]{{3,4}}", word) and word[0] in _SURNAMES:
            called.append(word[1:])
    return tuple(dict.fromkeys(called))


def _telling(word: str) -> bool:
    letters = [char for char in word if char.isalpha()]
    return len(letters) >= MIN_LETTERS and not word.isdecimal()


@lru_cache(maxsize=8_192)
def _pattern(form: str) -> re.Pattern[str]:
    said = re.escape(form).replace(r"\ ", r"\s+")
    if re.fullmatch(rf"[{_HANGUL} ]+", form):
        return re.compile(rf"(?<![\w])@?{said}{_KO_AFTER}(?![{_HANGUL}])")
    if re.search(rf"[{_KANA}{_HAN}]", form):
        after = "|".join((*_JA_AFTER.split(), *_ZH_AFTER.split()))
        return re.compile(rf"@?{said}(?:{after})?")
    # Latin and other letters: whole words; a possessive, or a Korean particle, may follow.
    return re.compile(
        rf"(?<![^\W{_CJK}])@?{said}(?:['’]s?)?(?:{_KO_AFTER})(?![^\W{_CJK}])", re.IGNORECASE
    )


def named(
    question: str, people: Mapping[str, Sequence[str]], *, doubtful: bool = False
) -> frozenset[str]:
    """The keys of the people whom a question names without doubt.

    ``people`` gives each person's names by key. Where a form fits several people ("Kim" of two
    Kims), it names none of them (``doubtful``: all of them); a longer one that fits one of them
    decides.
    """
    found: dict[tuple[int, int], set[str]] = {}
    for key, names in people.items():
        for form in {form for name in names for form in forms(name)}:
            if not _may_stand(form, question):
                continue
            for match in _pattern(form).finditer(question):
                found.setdefault((match.start(), match.start() + len(form)), set()).add(key)
    spans = list(found)
    longest = [
        span
        for span in spans
        if not any(o != span and o[0] <= span[0] and span[1] <= o[1] for o in spans)
    ]
    return frozenset(
        key for span in longest if doubtful or len(found[span]) == 1 for key in found[span]
    )


def without(question: str, people: Iterable[str]) -> str:
    """The question without these people's names, and what hangs on them."""
    called = {form for name in people for form in forms(name) if _may_stand(form, question)}
    for form in sorted(called, key=lambda form: (-len(form), form)):
        question = _pattern(form).sub(" ", question)
    return " ".join(question.split())


def _may_stand(form: str, question: str) -> bool:
    """A quick look before the exact one."""
    return form.split()[0].casefold() in question.casefold()
