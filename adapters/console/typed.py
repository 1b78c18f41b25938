"""What a person typed into the room: words, a slash command, or a new channel. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What has a name of its own on every platform; everything else goes on as ``/moot WORD``.
COMMANDS = {
    "ask": "ask",
    "roundtable": "roundtable",
    "rt": "roundtable",
    "stop": "stop",
    "status": "status",
    "usage": "usage",
    "recall": "recall",
    "context": "context",
    "help": "help",
    "moot": "moot",
}
_COMMAND = re.compile(r"/([^\W\d_][\w-]*)(?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Words:
    """A message to the channel or the open thread."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command that leaves no message of its own."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class NewChannel:
    """Make a channel, or go to it."""

    name: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Close the room."""


Typed = Words | Command | NewChannel | Leave


def read_line(text: str) -> Typed:
    """What ``text`` means. A slash and a word is a command; ``/etc/hosts is odd`` is a message.

    Which commands there are is not known here: one that does not exist is answered, not asked.
    """
    stripped = text.strip()
    match = _COMMAND.match(stripped)
    if match is None:
        return Words(stripped)
    name, rest = match[1].casefold(), stripped[match.end() :].strip()
    match name:
        case "channel":
            return NewChannel(rest)
        case "quit" | "exit":
            return Leave()
        case "moot" if (inner := _COMMAND.match(f"/{rest}")) and inner[1].casefold() in COMMANDS:
            return Command(COMMANDS[inner[1].casefold()], rest[len(inner[1]) :].strip())
        case _ if name in COMMANDS:
            return Command(COMMANDS[name], rest)
        case _:
            return Command("moot", stripped[1:])
