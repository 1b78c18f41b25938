"""What this house must never show: learnt from its settings, taken out of what people write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from pydantic import BaseModel, SecretStr

from config.settings import Settings
from core.model import Button, ChatEvent, Form, Reply
from core.redact import learn, redact, secret_values


def learn_secrets(settings: Settings) -> None:
    """Look for the tokens of the settings and the keys of the environment from now on.

    ``core.redact`` knows them then, for every door of this process; they are told to nobody else.
    """
    learn(_secrets_of(settings))
    learn(secret_values(os.environ.items()))


def without_secrets(event: ChatEvent) -> ChatEvent:
    """The event without secrets that somebody pasted: they are kept and told to nobody.

    What a button carries is ours, and no text.
    """
    if event.kind == "button":
        return event
    values = {name: tuple(map(redact, given)) for name, given in event.values.items()}
    files = tuple(replace(one, name=redact(one.name)) for one in event.attachments)
    return replace(event, text=redact(event.text), values=values, attachments=files)


def reply_without_secrets(reply: Reply) -> Reply:
    """What is told to the one who acted, as a post would tell it; actions and names stay."""
    return replace(
        reply,
        text=redact(reply.text),
        buttons=tuple(map(_button, reply.buttons)),
        form=reply.form and _form(reply.form),
        errors={name: redact(why) for name, why in reply.errors.items()},
    )


def _button(button: Button) -> Button:
    return replace(button, label=redact(button.label))


def _form(form: Form) -> Form:
    return replace(
        form,
        context=redact(form.context),
        fields=tuple(
            replace(
                one,
                label=redact(one.label),
                hint=redact(one.hint),
                # What is chosen has to be one of the options.
                value=redact(one.value) if one.kind in ("line", "paragraph") else one.value,
                options=tuple((value, redact(label)) for value, label in one.options),
            )
            for one in form.fields
        ),
    )


def _secrets_of(model: BaseModel) -> Iterator[str]:
    for value in dict(model).values():
        if isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, BaseModel):
            yield from _secrets_of(value)
