"""Values put into a text, and what a language changes in the words around them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter
from typing import Any

_FORMATTER = Formatter()

# A particle as Korean texts write it where the word before is not known: after a consonant, and
# (in brackets or first) after a vowel. "(으)로" is the one that counts ㄹ as a vowel.
_PAIRS = {
    "은(는)": ("은", "는"),
    "이(가)": ("이", "가"),
    "을(를)": ("을", "를"),
    "과(와)": ("과", "와"),
    "(으)로": ("으로", "로"),
    "(이)라": ("이라", "라"),
    "(이)나": ("이나", "나"),
}
# What stands between a word and its particle: quotes, brackets and marks of emphasis.
_PARTICLE = re.compile(rf"""([”’"'`*_)\]]*)({"|".join(map(re.escape, _PAIRS))})""")
_SOUND = re.compile(r"[0-9A-Za-z가-힣]")
_DIGITS = {"0": "m", "1": "l", "3": "m", "6": "k", "7": "l", "8": "l"}  # how they end when read
_LETTERS = {"l": "l", "m": "m", "n": "n"} | dict.fromkeys("aiouy", "")
# How names end that Moot itself uses; of other words that end in these letters nobody can tell.
_NAMES = {
    "claude": "",
    "codex": "",
    "opencode": "",
    "architect": "",
    "critic": "k",
    "developer": "",
    "reviewer": "",
    "synthesizer": "",
    "slack": "k",
    "discord": "",
}


def fill(language: str, text: str, values: Mapping[str, Any]) -> str:
    """``text`` with its ``{names}`` filled in; in Korean also with the particles that fit them."""
    if language != "ko":
        return text.format(**values)
    done: list[str] = []
    filled = False
    for literal, name, spec, conversion in _FORMATTER.parse(text):
        done.append(_with_particle("".join(done), literal) if filled else literal)
        filled = name is not None
        if name is not None:
            field, _ = _FORMATTER.get_field(name, (), values)
            shown = _FORMATTER.convert_field(field, conversion)
            done.append(_FORMATTER.format_field(shown, spec or ""))
    return "".join(done)


def _with_particle(before: str, literal: str) -> str:
    """What follows a value, beginning with the form of the particle that fits it."""
    match = _PARTICLE.match(literal)
    if match is None:
        return literal
    ending = last_sound(before)
    if ending is None:
        return literal
    after_consonant, after_vowel = _PAIRS[match[2]]
    vowel = not ending or (match[2] == "(으)로" and ending == "l")
    return match[1] + (after_vowel if vowel else after_consonant) + literal[match.end() :]


def last_sound(text: str) -> str | None:
    """How the last word of ``text`` ends when read: "" in a vowel, ``l`` in ㄹ, else a consonant.

    ``None`` where nobody can tell: of a foreign word most endings are heard, not seen.
    """
    heard = _SOUND.findall(text[-40:])
    if not heard:
        return None
    last = heard[-1]
    if "가" <= last <= "힣":
        final = (ord(last) - ord("가")) % 28
        return "" if not final else "l" if final == 8 else "k"
    if last.isdigit():
        return _DIGITS.get(last, "")
    words = re.findall(r"[A-Za-z]+", text[-40:])
    return _NAMES.get(words[-1].lower(), _LETTERS.get(last.lower()))
