"""The button under a roundtable without a topic: what it carries, and what is read from it."""

from __future__ import annotations

import re

from bridge.commands import Convene, Names, NoTopic, parse, parse_table, typed_command
from bridge.forms import typed_options
from bridge.here import is_here
from core.errors import BadInput
from core.model import Button, ConversationKey
from core.records import messages
from core.tongue import say

MAX_ACTION_CHARS = 80
_MESSAGE = re.compile(r"#([0-9]{1,18})")


def form_button(said: Convene, message_id: int) -> Button:
    """Opens the form of a roundtable, with what was said already.

    What is longer than a button can carry is read again from the message that said it.
    """
    action = f"form:{typed_options(said, all_of_them=True)}"
    action = action if len(action) <= MAX_ACTION_CHARS else f"form:#{message_id}"
    return Button(action, say("Fill in a form"), "primary")


def wanted_by(argument: str, key: ConversationKey, names: Names) -> Convene:
    """What the form of a pressed button in ``key``'s channel is to hold.

    Raises:
        BadInput: the message is gone, of another place, or asks for no roundtable any more.
    """
    found = _MESSAGE.fullmatch(argument)
    if found is None:
        return parse_table(argument, names)
    said = messages.find_message(int(found[1]))
    if said is None or not is_here(said[1], key):
        raise BadInput(
            say("The message with these options is gone. Type `!rt` and the options again.")
        )
    try:
        wanted = parse(*(typed_command(said[0].text) or ("ask", "")), names)
    except NoTopic as untold:
        return untold.said
    if not isinstance(wanted, Convene):
        raise BadInput(say("That message was edited and asks for no roundtable any more."))
    return wanted
