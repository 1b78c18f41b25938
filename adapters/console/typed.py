"""What a person typed into the room: words, a slash command, or a new channel. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# What may be typed with a slash of its own; everything else is typed after ``/moot``.
COMMANDS = {
    "ask": "ask",
    "roundtable": "roundtable",
    "rt": "roundtable",
    "stop": "stop",
    "status": "status",
    "usage": "usage",
    "context": "context",
    "help": "help",
    "moot": "moot",
}


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
    """What ``text`` means. Only known names are commands: ``/etc/hosts is odd`` is a message."""
    stripped = text.strip()
    if not stripped.startswith("/"):
        return Words(stripped)
    name, _, rest = stripped[1:].partition(" ")
    if "\n" in name:
        name, _, rest = stripped[1:].partition("\n")
    name, rest = name.casefold(), rest.strip()
    if name == "moot" and rest.partition(" ")[0].casefold() in COMMANDS:
        name, _, rest = rest.partition(" ")  # its own name says whether a thread is opened
        name, rest = name.casefold(), rest.strip()
    if name in COMMANDS:
        return Command(COMMANDS[name], rest)
    match name:
        case "channel":
            return NewChannel(rest)
        case "quit" | "exit":
            return Leave()
        case _:
            return Words(stripped)
