"""How well a text fits a prompt, by the words they share: any language, no model."""

from __future__ import annotations

import re
from functools import cached_property

from core.keywords import tokens

# Words that say nothing of the subject: English, Korean and Japanese (as 2-grams).
_EMPTY_WORDS = """
a about above after all also an and any are as at be been before being but by can could did do does
doing done each etc for from get gets give given had has have help her here him his how i if in
into is it its just know let like look make makes may me more most must my need needs new no not
now of on one only or other our out over own please same see should show so some such take tell
than that the their them then there these they this those through time to too two under up us use
used user users uses using very want was way we well were what when where whether which while who
why will with within without work works would write you your
하는 합니 니다 습니 는지 에서 으로 해줘 주세 세요 어디 있나 나요 인가 무엇 어떻 떻게 있는 없는
하고 하기 하면 이다 에는 에게 부터 까지 이나 거나 라고 다고 면서 지만 해서 할때 경우 대한 위한 사용
です ます する して した いる ある こと ため
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
_SKILL = r"(?:skills?|스킬|スキル|技能)"


class Fit:
    """The words of a prompt, to which texts are compared."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words that say something, each in one form."""
        return _useful(self._prompt)

    @cached_property
    def run(self) -> str:
        """Its tokens in order, a space around each: for phrases."""
        return f" {' '.join(_plain(token) for token in tokens(self._prompt))} "

    def names(self, name: str) -> bool:
        """Whether the prompt says this name as a name.

        ``postgres-queue`` counts wherever it stands whole; one that could be any word only as
        ``/review``, ``$review``, in backticks or beside the word "skill".
        """
        whole = rf"(?<![\w-]){re.escape(name)}(?![A-Za-z0-9_]|-\w)"
        if name.isalpha():
            whole = rf"[/$`]{whole}|{_SKILL}\W{{1,3}}{whole}|{whole}\W{{0,3}}{_SKILL}"
        return bool(re.search(whole, self._prompt, re.IGNORECASE))


def says(prompt: Fit, phrase: str) -> bool:
    """Whether the prompt holds the phrase: its words one after the other, plural or not.

    Where words carry particles (결제를 취소) they count wherever they stand.
    """
    words = [_plain(token) for token in tokens(phrase)]
    if not phrase.isascii():
        return bool(words) and all(f" {word} " in prompt.run for word in words)
    return bool(words) and f" {' '.join(words)} " in prompt.run


def fits(prompt: Fit, text: str, *, least: int, of: float) -> float:
    """How well ``text`` fits, 0.0 (not at all) to 1.0 (all that the prompt says is in it).

    Args:
        prompt: what is asked.
        text: what may fit.
        least: so many words must be shared.
        of: and this share of the words of ``text``.
    """
    words = _useful(text)
    shared = len(words & prompt.words)
    if not words or shared < least or shared / len(words) < of:
        return 0.0
    return shared / len(prompt.words)


def _useful(text: str) -> frozenset[str]:
    kept = (word for word in tokens(text) if word not in _EMPTY)
    return frozenset(_plain(word) for word in kept if len(word) > 1)


def _plain(word: str) -> str:
    """English plurals and verb forms in one form, roughly; other words as they are."""
    if not word.isascii() or len(word) < 5:
        return word
    for ending, put in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss"):
            return word[: -len(ending)] + put
    return word
