"""A person's own page: what runs, what they used, what is set for them. For their eyes alone.

Inside intake's transaction. It shows what this person asked, wherever that was, and what runs in
channels that everybody in the workspace can read; of everything else not even that it exists.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.duties import Role
from bridge.usage_acts import act_usage
from bridge.usage_commands import Usage
from core.errors import BadInput
from core.model import Button, Conversation, Reply, Turn
from core.records import messages
from core.records.under_way import under_way
from core.tongue import say, spoken
from core.words import DELETED, ago, literal, seat_name

if TYPE_CHECKING:
    from bridge.acts import Acts

VERB = "home"
MAX_SHOWN = 15
_NUMBER = re.compile(r"[0-9]{1,18}")
_LANGUAGES = {"en": "English", "ko": "한국어"}


def stranger() -> Reply:
    """All that somebody sees who may not use Moot."""
    return Reply(
        say("Moot works here for the people it was set up for. Ask whoever runs it to let you in.")
    )


def page(acts: Acts, told: str = "") -> Reply:
    """The page as it is now; ``told`` is said first."""
    shown = _shown(acts)
    parts = [told, _running(acts, shown), _usage(acts), _settings(acts)]
    stops = [
        Button(f"{VERB}:stop:{turn.id}", say("Stop {number}", number=n), "danger")
        for n, (turn, place) in enumerate(shown, 1)
        if _may_stop(acts, turn, place)
    ]
    refresh = Button(f"{VERB}:refresh", say("Refresh"))
    return Reply("\n\n".join(filter(None, parts)), (refresh, *stops))


def asked(acts: Acts) -> Reply:
    """The page by a command, which only the one who gives it sees.

    Raises:
        BadInput: it was typed where everybody would read it.
    """
    if acts.event.kind != "command":
        raise BadInput(
            say(
                "That page is for your eyes alone: `/home` on Discord, `/moot home` or my Home tab "
                "on Slack."
            )
        )
    return page(acts)


def press(acts: Acts, argument: str) -> Reply:
    """A button of the page; the page as it is then comes back.

    Raises:
        BadInput: it is from another version, or what it stops is not for this person.
    """
    verb, _, number = argument.partition(":")
    if verb == "refresh":
        return page(acts)
    if verb != "stop" or not _NUMBER.fullmatch(number):
        raise BadInput(say("This button is from another version of Moot."))
    found = [(turn, place) for turn, place in _shown(acts) if turn.id == int(number)]
    if not found:
        return page(acts, say("That one is over."))
    turn, place = found[0]
    event = acts.event
    # Rights are those of the channel that it runs in, not of where the button was.
    acts.door.check(event.author, place.key, "stop")
    acts.event = replace(event, key=place.key)
    try:
        reply = acts.stop(place, [turn])
    finally:  # what is told of a refusal is told on the page
        acts.event = event
    return page(acts, reply.text if reply else say("Stopped."))


def _shown(acts: Acts) -> list[tuple[Turn, Conversation]]:
    event = acts.event
    found = under_way(
        event.key.chat,
        event.key.space,
        acts.person,
        everybodys=event.author.trusted,
        limit=10 * MAX_SHOWN,
    )
    seen = [
        (turn, place)
        for turn, place in found
        if turn.asker_key == acts.person or acts.door.allows(event.author, place.key, Role.VIEWER)
    ]
    seen.sort(key=lambda one: (one[0].asker_key != acts.person, one[0].id))
    return seen[:MAX_SHOWN]


def _may_stop(acts: Acts, turn: Turn, place: Conversation) -> bool:
    role = acts.door.role(acts.event.author, place.key)
    return role >= (Role.RUNNER if turn.asker_key == acts.person else Role.APPROVER)


def _running(acts: Acts, shown: list[tuple[Turn, Conversation]]) -> str:
    head = say("**Running and waiting**")
    if not shown:
        return f"{head}\n\n" + say("Nothing of yours, and nothing in public channels.")
    lines = [f"{n}. {_line(acts, turn, place)}" for n, (turn, place) in enumerate(shown, 1)]
    return head + "\n\n" + "\n".join(lines)


def _line(acts: Acts, turn: Turn, place: Conversation) -> str:
    deleted = not turn.prompt or messages.is_deleted(turn.prompt_message_id)
    what = f"*{say(DELETED)}*" if deleted else literal(turn.prompt, 80)
    address = acts.policy.ground.address(place.key, "") if place.opened else ""
    thread = say("thread")
    where = f" · [{thread}]({address})" if address else ""
    seats = literal(", ".join(seat_name(seat) for seat in turn.seats), 120)
    state = {
        "queued": say("waits"),
        "running": say("runs"),
        "held": say("waits for your word"),
        "parked": say("waits for people"),
    }.get(turn.state, turn.state)
    mine = turn.asker_key == acts.person
    who = "" if mine else " · " + say("asked by {name}", name=literal(turn.asker, 60))
    return f"{what} → {seats} · {state}, {ago(turn.queued_at, acts.now)}{who}{where}"


def _usage(acts: Acts) -> str:
    return act_usage(acts, Usage("week"), acts.policy.counting).text


def _settings(acts: Acts) -> str:
    event, policy = acts.event, acts.policy
    role = acts.door.role(event.author, event.key)
    default = policy.default_seat.engine
    others = [name for name in policy.tables.engines if name != default]
    named = ", ".join((say("{engine} (usual)", engine=literal(default, 40)), *map(literal, others)))
    lines = [
        say("You are {role} here.", role=role.called),
        say("Engines: {engines}.", engines=named),
        say("Moot speaks {language}.", language=_LANGUAGES.get(spoken(), spoken())),
        say("`help` in a direct message to me shows what can be typed."),
    ]
    return say("**Settings**") + "\n\n" + "\n".join(f"- {line}" for line in lines)
