"""In which language Moot speaks.

Texts are written in English where they are used and looked up by that English text, as gettext
does; agents are always told in English (``core.context``).

The language is of the place where a text will be read, so whoever handles an event, a turn or a
delivery sets it around that work with ``speaking``. Tasks and ``Records.do`` take it along.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

ENGLISH = "en"
LANGUAGES = (ENGLISH,)
_spoken: ContextVar[str] = ContextVar("language", default=ENGLISH)


@contextmanager
def speaking(language: str) -> Generator[None]:
    """Within this, ``say`` speaks ``language``; one that is not known is English."""
    before = _spoken.set(language if language in LANGUAGES else ENGLISH)
    try:
        yield
    finally:
        _spoken.reset(before)


def spoken() -> str:
    """The language that is spoken now: one of ``LANGUAGES``."""
    return _spoken.get()


def say(text: str, /, **values: Any) -> str:
    """``text`` in the language that is spoken now, its ``{names}`` filled in.

    ``text`` is a literal: it is what the catalogue is looked up by, and braces in it are doubled.
    """
    return text.format(**values)


def say_many(one: str, many: str, count: int, /, **values: Any) -> str:
    """``one`` or ``many`` by ``count``, which is there as ``{count}``."""
    return say(one if count == 1 else many, count=count, **values)
