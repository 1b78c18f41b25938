"""A form as a Discord modal, and what was filled in when it comes back. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import discord
from discord import ui

from adapters.discord.events import CHAT, Place, command_event
from core.markup.measure import well_formed
from core.model import Author, ChatEvent, Field, Form

PREFIX = "form"
ID_CHARS = 100
TEXT_CHARS = 4_000


def modal_of(form: Form, opened_by: int) -> ui.Modal | None:
    """The modal that answers interaction ``opened_by``; ``None`` when its context does not fit.

    Its custom id holds all there is to know when it comes back, also after a restart. The opening
    interaction's id is in it, so that a modal that is sent twice is one event.
    """
    custom_id = f"{PREFIX}:{form.command}:{opened_by}:{form.context}"
    if len(custom_id) > ID_CHARS:
        return None
    modal = ui.Modal(title=form.title, custom_id=custom_id)
    for field in form.fields:
        modal.add_item(
            ui.Label(text=field.label, description=field.hint or None, component=_component(field))
        )
    modal.stop()  # a finished modal is not kept by discord.py: nothing in memory answers it
    return modal


def _component(field: Field) -> ui.Item[Any]:
    if field.kind in ("line", "paragraph"):
        long = field.kind == "paragraph"
        return ui.TextInput(
            custom_id=field.name,
            style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
            default=field.value[:TEXT_CHARS] or None,
            required=not field.optional,
            max_length=TEXT_CHARS,
        )
    several = field.kind == "choices"
    chosen = field.value.split("\n")
    options = [
        discord.SelectOption(label=label, value=value, default=value in chosen)
        for value, label in field.options
    ]
    return ui.Select(
        custom_id=field.name,
        options=options,
        required=not field.optional,
        min_values=min(field.at_least, len(options)) if several else 1,
        max_values=min(field.at_most, len(options)) if several else 1,
    )


def form_event(interaction: Any, place: Place, author: Author) -> ChatEvent | None:
    """A modal that was sent; ``None`` for one that is not ours."""
    prefix, command, opened_by, context = (interaction.data["custom_id"].split(":", 3) + [""] * 3)[
        :4
    ]
    if prefix != PREFIX:
        return None
    sent = command_event(interaction, place, command, context, author)
    return replace(
        sent,
        event_id=f"{CHAT}:form:{opened_by}:{author.id}",
        kind="form",
        values=dict(_values(interaction.data.get("components") or ())),
    )


def _values(components: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Fields and their values; a label holds one component, an old-style row holds several."""
    for component in components:
        inner = component.get("components") or component.get("component")
        if inner:
            yield from _values(inner if isinstance(inner, list) else [inner])
        elif "custom_id" in component:
            yield str(component["custom_id"]), _value(component)


def _value(component: Mapping[str, Any]) -> tuple[str, ...]:
    if "values" in component:
        return tuple(str(value) for value in component["values"])
    typed = well_formed(str(component.get("value") or ""))
    return (typed,) if typed else ()
