"""What a post is made of on Discord: a thread's name, buttons, and a text's identity."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import discord
import structlog

from adapters.discord.wording import one_line
from core.markup.measure import graphemes, utf16_units, visible
from core.model import Button
from core.redact import redact

log = structlog.get_logger(__name__)

TITLE_UNITS = 100
LABEL_CHARS = 80
PLACEHOLDER_CHARS = 150
OPTION_CHARS = 100
OPTIONS = 25
_BLANK = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]+")
_STYLES = {
    "plain": discord.ButtonStyle.secondary,
    "primary": discord.ButtonStyle.primary,
    "danger": discord.ButtonStyle.danger,
}


def thread_title(title: str) -> str:
    """One line of 1 to 100 UTF-16 units, cut between characters and rather between words.

    It stands on when the message that it quotes was deleted, so no secret gets into it.
    """
    line = one_line(redact(title))
    if not visible(line):
        return "Moot"
    if utf16_units(line) <= TITLE_UNITS:
        return line
    kept, room = [], TITLE_UNITS - 1
    for grapheme in graphemes(line):
        room -= utf16_units(grapheme)
        if room < 0:
            break
        kept.append(grapheme)
    cut = "".join(kept)
    head, blank, _ = cut.rpartition(" ")
    return (head if blank and len(head) > len(cut) // 2 else cut).rstrip() + "…"


def stored(text: str) -> str:
    """A text's identity: Discord trims what it stores, and only blanks can differ."""
    return _BLANK.sub("", text)


def view_of(buttons: Iterable[Button]) -> Any:
    """The buttons as components, or ``None``. Clicks come as interactions, also after a restart.

    Five rows are all there is: five buttons fill one, a menu takes one for itself.
    """
    view = discord.ui.View(timeout=None)
    for button in buttons:
        try:
            view.add_item(_item(button))
        except ValueError:  # no row is left
            log.warning("discord.button_left_out", action=button.action.partition(":")[0])
    view.stop()  # finished views are not kept by discord.py: nothing in memory answers clicks
    return view if view.children else None


def _item(button: Button) -> discord.ui.Item[Any]:
    if button.options:
        return discord.ui.Select(
            custom_id=button.action,
            placeholder=_cut(button.label, PLACEHOLDER_CHARS),
            options=[
                discord.SelectOption(value=value, label=_cut(shown, OPTION_CHARS))
                for value, shown in button.options[:OPTIONS]
            ],
            disabled=button.over,
        )
    return discord.ui.Button(
        custom_id=button.action,
        label=_cut(button.label, LABEL_CHARS),
        style=_STYLES[button.style],
        disabled=button.over,
    )


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"
