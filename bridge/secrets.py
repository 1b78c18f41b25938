"""What this house must never show: learnt once from its settings and its environment."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pydantic import BaseModel, SecretStr

from config.settings import Settings
from core.redact import learn, secret_values


def learn_secrets(settings: Settings) -> None:
    """Look for the tokens of the settings and the keys of the environment from now on.

    ``core.redact`` knows them then, for every door of this process; they are told to nobody else.
    """
    learn(_secrets_of(settings))
    learn(secret_values(os.environ.items()))


def _secrets_of(model: BaseModel) -> Iterator[str]:
    for value in dict(model).values():
        if isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, BaseModel):
            yield from _secrets_of(value)
