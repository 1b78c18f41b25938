"""In which language Moot speaks.

Texts are written in English where they are used and looked up by that English text, as gettext
does; agents are always told in English (``core.context``). One language is one file of this
package (``core.tongue.catalogue``); English has none.

The language is of the place where a text will be read, so whoever handles an event, a turn or a
delivery sets it around that work with ``speaking``. Tasks and ``Records.do`` take it along.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from core.tongue.catalogue import ENGLISH, LANGUAGES, catalogue
from core.tongue.filling import fill

__all__ = (
    "ENGLISH",
    "LANGUAGES",
    "in_english",
    "language_at",
    "say",
    "say_later",
    "say_many",
    "say_now",
    "speaking",
    "speaking_at",
    "spoken",
    "to_say",
    "where_spoken",
)

P = ParamSpec("P")
T = TypeVar("T")
LanguageAt = Callable[[str, str, str], str]
"""Which language is spoken at a place: chat, space and channel in, one of ``LANGUAGES`` out."""


def _everywhere_english(_chat: str, _space: str, _channel: str) -> str:
    return ENGLISH


_spoken: ContextVar[str] = ContextVar("language", default=ENGLISH)
_where: ContextVar[LanguageAt] = ContextVar("where", default=_everywhere_english)


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


def where_spoken(languages: LanguageAt) -> None:
    """From now on, in this task and those that it starts, ``language_at`` asks ``languages``."""
    _where.set(languages)


def language_at(chat: str, space: str, channel: str) -> str:
    """The language of a place, for ``speaking``: a channel's own, else its workspace's, else all's.

    ``space`` and ``channel`` may be "": a person's own pages belong to no channel.
    """
    return _where.get()(chat, space, channel)


def in_english(function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """What a coroutine function brings about is for agents, wherever they work."""

    @wraps(function)
    async def told(*args: P.args, **kwargs: P.kwargs) -> T:
        with speaking(ENGLISH):
            return await function(*args, **kwargs)

    return told


class Place(Protocol):
    """Where something is read, such as a ``core.model.ConversationKey``."""

    @property
    def chat(self) -> str: ...
    @property
    def space(self) -> str: ...
    @property
    def channel(self) -> str: ...


def speaking_at(place: Place) -> AbstractContextManager[None]:
    """Within this, ``say`` speaks the language of ``place``."""
    return speaking(language_at(place.chat, place.space, place.channel))


def to_say(text: str, /) -> str:
    """Mark a literal that is said later, and only then in a language: ``say(THE_CONSTANT)``."""
    return text


def say(text: str, /, **values: Any) -> str:
    """``text`` in the language that is spoken now, its ``{names}`` filled in.

    ``text`` is a literal, or one that was marked with ``to_say``: it is what the catalogue is
    looked up by, and braces in it are doubled.
    """
    language = _spoken.get()
    if language == ENGLISH or not text:
        return text.format(**values)
    return fill(language, catalogue(language).gettext(text), values)


def say_many(one: str, many: str, count: int, /, **values: Any) -> str:
    """``one`` or ``many`` by ``count``, which is there as ``{count}``."""
    language = _spoken.get()
    if language == ENGLISH:
        return (one if count == 1 else many).format(count=count, **values)
    return fill(language, catalogue(language).ngettext(one, many, count), values | {"count": count})


class Later(str):
    """A text that is English wherever it goes, and that ``say_now`` says in a language."""

    __slots__ = ("_key", "_values")

    def __new__(cls, key: str, values: dict[str, Any]) -> Later:
        later = super().__new__(cls, key.format(**values))
        later._key, later._values = key, values
        return later

    def __reduce__(self) -> tuple[type[Later], tuple[str, dict[str, Any]]]:
        return Later, (self._key, self._values)

    def said(self) -> str:
        """It, in the language that is spoken now."""
        return say(self._key, **self._values)


def say_later(text: str, /, **values: Any) -> str:
    """For what agents and people are told: English, and ``say_now`` translates it for people.

    That lasts as long as it is this very object: what comes back from a row is English only.
    """
    return Later(text, values)


def say_now(text: str) -> str:
    """What ``say_later`` made in the language that is spoken now; other texts as they are."""
    return text.said() if isinstance(text, Later) else text
