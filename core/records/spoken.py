"""In which language Moot speaks where, as it was chosen in the chat."""

from __future__ import annotations

from core.model import ConversationKey
from core.records.tables import SpokenRow

Place = tuple[str, str, str]
"""Chat, space and channel."""


def choose(key: ConversationKey, language: str, *, by: str, now: float) -> None:
    """Speak ``language`` in this channel from now on; "": as the settings say."""
    here = (
        (SpokenRow.chat == key.chat)
        & (SpokenRow.space == key.space)
        & (SpokenRow.channel == key.channel)
    )
    SpokenRow.delete().where(here).execute()
    if language:
        SpokenRow.create(
            chat=key.chat,
            space=key.space,
            channel=key.channel,
            language=language,
            by_key=by,
            at=now,
        )


def chosen() -> dict[Place, str]:
    """The languages of all channels where one was chosen."""
    return {(row.chat, row.space, row.channel): row.language for row in SpokenRow.select()}
