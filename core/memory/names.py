"""Who is named in a question: by a full name, a first name, a handle; in any script.

Pure. In Korean a name carries particles and titles ("민수가", "김민수님"), in Japanese too
("田中さんは"), so that a name there ends where one of those, or another script, begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from core.keywords import STOP_WORDS

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
_BEGUN = 2  # characters of a form by which it is looked up
MAX_CHARS = 2_000  # of a question that are looked at for names: what is pasted behind it names none


def _either(words: str) -> str:
    return "|".join(sorted(words.split(), key=len, reverse=True))


_KO_TITLE = re.compile(rf"\s?(?:{_either(_KO_TITLES)})(?![{_HANGUL}]{{3}})")
_KO_AFTER = re.compile(rf"(?:{_either(_KO_TITLES)})?(?:{_either(_KO_PARTICLES)})?")
_EAST_AFTER = re.compile(rf"(?:{_either(_JA_AFTER)}|{_either(_ZH_AFTER)})?")
_POSSESSIVE = re.compile(r"(?:['’]s?(?!\w))?")
_HAS_CJK = re.compile(f"[{_CJK}]")
_HAS_HANGUL = re.compile(f"[{_HANGUL}]")
_HAN_OR_KANA = re.compile(f"[{_KANA}{_HAN}]")
_SPLIT = re.compile(r"[\s,·•]+")
_ASIDE = re.compile(r"[(\[（【].*?[)\]）】]|\s[|/–—-]\s.*|[|/].*")  # a team, a role, a pronoun
# Names that are words first, and words that stand in the names of bots: small, they name nobody.
_COMMON = """
will mark may june april august rose grace hope joy art bill rob sue jack drew grant frank chase
dean max ray sky dawn iris ivy faith guy pat penny page wade miles bob summer autumn brook cliff
dale glen heath lane reed rusty sandy sterling violet ruby jade pearl amber crystal daisy lily
olive sunny star king prince duke earl major bishop hunter mason carter cook baker porter potter
cooper fisher gardener taylor smith young long short white black brown green gray grey day west
north field wood woods stone rice price bush lake hill park parks banks rivers love best little
bot app deploy build ci cd release alert alerts monitor monitoring team support admin service
system test tests dev ops info news help staff manager lead backend frontend design data mobile
web api docs security infra platform github gitlab jira slack discord notion status report error
"""
# First names that are words, too: only with a title behind them, or after @.
_COMMON_KO = """
하나 두나 가을 여름 겨울 보라 우리 나라 사랑 바다 하늘 구름 이슬 소리 미래 다운 아라 고은 슬기 지혜
은혜 보람 나무 다음 모두 사람 한국 서울 세상 마음 시간 이유 정도 정리 사유 하루 조금 오늘 내일 어제
"""
_WORDS = frozenset((*_COMMON.split(), *_COMMON_KO.split())) | STOP_WORDS


@lru_cache(maxsize=8)
def _called(names: tuple[str, ...]) -> dict[str, list[tuple[str, str]]]:
    """(form, name) of all these people by how the form begins: of thousands a question has few."""
    called: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        for form in forms(name):
            called.setdefault(_head(form)[:_BEGUN], []).append((form, name))
    return called


@lru_cache(maxsize=8_192)
def forms(name: str) -> tuple[str, ...]:
    """How somebody of this display name may be called: in full first, then by parts of it."""
    full = " ".join(name.split()).strip("@ ")
    alone = _ASIDE.sub(" ", full).strip() or full
    words = [word for word in _SPLIT.split(alone) if _telling(word)]
    called = [name for name in (full, alone) if _telling(name)] + words
    called += [word for word in re.split(r"[\s._\-]+", alone) if _telling(word)][:1]
    # The same name in another script often stands beside it: "김민수 (Minsu Kim)".
    aside = " ".join(re.findall(r"[(\[（【](.*?)[)\]）】]", full))
    if bool(_HAS_CJK.search(aside)) != bool(_HAS_CJK.search(alone)):
        called += [word for word in _SPLIT.split(aside) if _telling(word)]
    for word in tuple(called):
        if re.fullmatch(rf"[{_HANGUL}]{{3,4}}", word) and word[0] in _SURNAMES:
            called.append(word[1:])
    return tuple(dict.fromkeys(form for form in called if form))


def _telling(word: str) -> bool:
    letters = [char for char in word if char.isalpha()]
    return len(letters) >= MIN_LETTERS and not word.isdecimal()


@lru_cache(maxsize=8_192)
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(rf"@?(?P<name>{re.escape(form)})".replace("\\ ", r"\s+"), re.IGNORECASE)


def _end(match: re.Match[str], question: str) -> int | None:
    """Where a name ends with what hangs on it; ``None`` where it is a piece of another word."""
    begin, end = match.span()
    name = match["name"]
    before = question[begin - 1 : begin]
    if _HAN_OR_KANA.search(name):
        return _EAST_AFTER.match(question, end).end()  # pyright: ignore[reportOptionalMemberAccess]
    hangul = bool(_HAS_CJK.search(name))
    if re.match(r"\w", before) and (hangul or not _HAS_CJK.match(before)):
        return None
    if not hangul:
        end = _POSSESSIVE.match(question, end).end()  # pyright: ignore[reportOptionalMemberAccess]
    end = _KO_AFTER.match(question, end).end()  # pyright: ignore[reportOptionalMemberAccess]
    after = question[end : end + 1]
    if re.match(r"\w", after) and (
        _HAS_HANGUL.match(after) or (not hangul and not _HAS_CJK.match(after))
    ):
        return None
    return end


def named(
    question: str, people: Mapping[str, Sequence[str]], *, doubtful: bool = False
) -> frozenset[str]:
    """The keys of the people whom a question names without doubt.

    ``people`` gives each person's names by key. Where a form fits several people ("Kim" of two
    Kims), it names none of them (``doubtful``: all of them); a longer one that fits one of them
    decides.
    """
    found: dict[tuple[int, int], set[str]] = {}
    question = question[:MAX_CHARS]
    low = question.casefold()
    keys: dict[str, set[str]] = {}
    for key, names in people.items():
        for name in names:
            keys.setdefault(name, set()).add(key)
    called = _called(tuple(keys))
    begun = {low[at : at + size] for at in range(len(low)) for size in (1, _BEGUN)}
    for form, name in (one for begin in begun & called.keys() for one in called[begin]):
        for at in _places(form, question, low):
            found.setdefault(at, set()).update(keys[name])
    longest: list[tuple[int, int]] = []
    for span in sorted(found, key=lambda span: (span[0], -span[1])):
        if not longest or span[1] > longest[-1][1]:  # else it lies within that one
            longest.append(span)
    return frozenset(
        key for span in longest if doubtful or len(found[span]) == 1 for key in found[span]
    )


def without(question: str, people: Iterable[str]) -> str:
    """The question without these people's names, and what hangs on them."""
    question, rest = question[:MAX_CHARS], question[MAX_CHARS:]
    called = {form for name in people for form in forms(name)}
    for form in sorted(called, key=lambda form: (-len(form), form)):
        for begin, end in reversed(_places(form, question, question.casefold(), whole=True)):
            question = f"{question[:begin]} {question[end:]}"
    return " ".join(f"{question}{rest}".split())


def _places(form: str, question: str, low: str, *, whole: bool = False) -> list[tuple[int, int]]:
    """Where a form stands as a name; ``whole``: with the particles and titles behind it."""
    if _head(form) not in low:  # a quick look before the exact one
        return []
    found: list[tuple[int, int]] = []
    for match in _pattern(form).finditer(question):
        if form.casefold() in _WORDS and not _as_name(match, question):
            continue
        end = _end(match, question)
        if end is not None:
            found.append((match.start(), end) if whole else match.span("name"))
    return found


@lru_cache(maxsize=16_384)
def _head(form: str) -> str:
    return form.split()[0].casefold()


def _as_name(match: re.Match[str], question: str) -> bool:
    """Whether what could be any word stands as a name.

    After @, before a title ("하나님", "하나 씨"), or with a capital within a sentence.
    """
    if match[0].startswith("@") or _KO_TITLE.match(question, match.end()):
        return True
    before = question[: match.start()].rstrip()
    return match["name"][:1].isupper() and bool(before) and before[-1] not in ".?!:\n"
