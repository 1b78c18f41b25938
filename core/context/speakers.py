"""Who is who in a conversation: one label per speaker, which no name can forge."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from core.context.frame import one_line
from core.model import Message, Participant

OUTSIDER = "may not use Moot"


@lru_cache(maxsize=256)  # of the same few agents, once a message
def agent_label(name: str, engine: str) -> str:
    """``architect (claude)``."""
    return f"{one_line(name)} ({one_line(engine) or 'agent'})"


def participant_label(seat: Participant) -> str:
    """The label of a seat; the same as its messages have."""
    return agent_label(seat.name, seat.engine)


def agent_key(message: Message) -> str:
    """Which agent spoke: by persona, else by engine."""
    return message.persona or message.engine or message.author_key


def message_label(message: Message) -> str:
    """Who said a message that stands alone: ``Kim (human)``, ``architect (claude)``."""
    if message.author_kind == "agent":
        return agent_label(message.author_name or agent_key(message), message.engine)
    return _other_label(message, named=False)


class Speakers:
    """Labels for all who spoke: ``Kim (human)``, ``ci (bot)``, ``architect (claude)``.

    The bracket is always ours, since brackets in names are escaped. Two people whose names look
    alike have their ids in it: ``Kim (human, slack:U1)``. Somebody who might not use Moot when
    they spoke is marked: ``Eve (human, may not use Moot)``.

    Made from a round's shared messages only, so that labels do not change while it goes on.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self._others: dict[str, Message] = {}
        for message in messages:
            if message.author_kind != "agent":
                self._others[message.author_key] = message  # the newest name counts
        looks = Counter(_look(m) for m in self._others.values())
        self._labels: Mapping[str, str] = {
            key: _other_label(m, named=looks[_look(m)] > 1) for key, m in self._others.items()
        }
        self._alike = frozenset(key for key, m in self._others.items() if looks[_look(m)] > 1)

    def label(self, message: Message) -> str:
        """The label of who said ``message``."""
        if message.author_kind == "agent":
            return agent_label(message.author_name or agent_key(message), message.engine)
        if message.author_key in self._labels:
            last = replace(self._others[message.author_key], admitted=message.admitted)
            return _other_label(last, named=message.author_key in self._alike)
        look = _look(message)
        alike = any(_look(other) == look for other in self._others.values())
        return _other_label(message, named=alike)

    def others(self, names: Iterable[str] = ()) -> tuple[str, ...]:
        """Labels of the people and bots, those in ``names`` who have not spoken last."""
        spoken = {m.author_name for m in self._others.values()}
        silent = (f"{one_line(n)} (human)" for n in names if n not in spoken)
        return tuple(dict.fromkeys((*self._labels.values(), *silent)))


def _other_label(message: Message, *, named: bool) -> str:
    key = re.sub(r"[^\w:.@-]", "_", message.author_key) if named else ""
    what = ["bot" if message.author_kind == "bot" else "human"]
    what += [OUTSIDER] if message.author_kind == "human" and not message.admitted else []
    what += [key] if key else []
    return f"{one_line(message.author_name) or 'someone'} ({', '.join(what)})"


def _look(message: Message) -> tuple[str, str]:
    """Kind and name as the eye takes it: width, case, spaces and what is invisible do not count."""
    name = unicodedata.normalize("NFKC", message.author_name).casefold()
    seen = "".join(c for c in name if unicodedata.category(c)[0] not in "CZM")
    return message.author_kind, seen
