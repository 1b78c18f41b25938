"""Reactions under a question. They are a courtesy: the scope for them may be missing."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from adapters.slack.api import Api
from core.errors import ChatRefused
from core.model import ConversationKey

log = structlog.get_logger()

EMOJI: Mapping[str, str] = {
    "seen": "eyes",
    "working": "hourglass_flowing_sand",
    "waiting": "raised_hand",
    "done": "white_check_mark",
    "failed": "warning",
}
# It is as it should be already.
SETTLED = frozenset(("already_reacted", "no_reaction"))
TIMEOUT_S = 10.0


class Reactions:
    """Puts reactions; without the scope reactions:write it does nothing, and says so once."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._off = False

    async def react(self, key: ConversationKey, message_id: str, name: str, *, on: bool) -> None:
        """See :meth:`core.ports.Chat.react`."""
        if self._off:
            return
        method = "reactions.add" if on else "reactions.remove"
        place = {"channel": key.channel, "timestamp": message_id, "name": EMOJI[name]}
        try:
            await self._api.call(method, timeout_s=TIMEOUT_S, **place)
        except ChatRefused as error:
            if error.code in SETTLED:
                return
            if error.code != "missing_scope":
                raise
            self._off = True
            log.warning("slack.no_reactions", why=str(error))
