"""What comes beside messages, commands and buttons: shortcuts on a message, a person's own page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge import home, shortcuts
from bridge.often import TooMuch
from core.errors import BadInput, NotAllowed
from core.model import Reply
from core.records import messages

if TYPE_CHECKING:
    from bridge.acts import Acts
    from bridge.gate import Gate


def shortcut(acts: Acts, gate: Gate) -> Reply | None:
    """A shortcut was used on a message."""
    try:
        gate.let_in(f"shortcut {acts.event.command}")
        return shortcuts.used(acts)
    except (NotAllowed, BadInput) as error:
        return gate.denied(error)


def own_page(acts: Acts, gate: Gate) -> Reply | None:
    """Somebody opened their page, or (``event.text``) pressed a button on it."""
    event = acts.event
    try:
        gate.let_in("home")
    except TooMuch as error:
        gate.denied(error)
        return Reply(str(error))
    except NotAllowed as error:
        gate.denied(error)
        return home.stranger()
    verb, _, argument = event.text.partition(":")
    try:
        if verb == home.VERB and messages.first_time(event.event_id, acts.now):
            return home.press(acts, argument)
    except (NotAllowed, BadInput) as error:
        gate.denied(error)
        return home.page(acts, str(error))
    return home.page(acts)


def about(acts: Acts, gate: Gate) -> Reply | None:
    """The question about a message came; who sends it was let in already."""
    try:
        return shortcuts.asked(acts)
    except (NotAllowed, BadInput) as error:
        gate.denied(error)
        return Reply(str(error), errors={shortcuts.QUESTION: str(error)})
