"""``!recall``: what was said, found with evidence, and what people say of it (``!mark``).

What is found is shown to the one who asks and kept nowhere: a post would be a copy of other
people's words that no deletion reaches. So typed in a thread it is answered by a button, and what
the button brings only its presser sees. Whose eyes count is asked of the rows each time.
"""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from bridge.commands import parse, typed_command
from bridge.here import is_here
from bridge.recall_commands import MarkIt, Recall, RecallIntention
from bridge.recall_words import MARKED, Page, Shown, mark_buttons, say_page
from core.errors import BadInput, NotAllowed
from core.memory.find import Hit, find
from core.model import Actor, Button, ChatEvent, Conversation, MarkKind, Near, Reply, Scene
from core.ports import Recollect, no_memory
from core.records import marks, messages, places, pointed, scope, search
from core.records.thread import Records
from core.sources.recall import is_about_memory
from core.tongue import say, to_say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

PAGE = 5
MOST = 50  # hits that can be paged through
COUNTED = 20_000
FAINT = 0.2  # of the best score: what is below is not shown
NEAR_S = 1.2  # Slack wants an answer within three seconds
MAX_REMEMBERED = 200
VERBS = ("recall", "more", "mark")
EVERY_TURN = 2**62  # what waits for an answer was said, too
ALONE = to_say("What is found is shown to you alone: press the button.")
GONE = to_say(
    "There is no message #{number} that may be seen from here: it was deleted, or is not for this "
    "place. `!recall` shows the numbers of what is."
)
OTHER = to_say("This button is from another version of Moot.")
_MARK = re.compile(r"([0-9]{1,18}):([0-9]{1,18}):(wrong|stale|none)(?::([0-9a-f]{12}):([0-9]+))?")
_PAGE = re.compile(r"([0-9a-f]{12}):([0-9]{1,3})")
_ASKED = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Look:
    """What is to be found once the event is a row: memory is asked outside of the transaction."""

    scene: Scene
    question: str
    first: int = 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question whose pages can be turned, until Moot ends or many others were asked."""

    person: str
    conversation: int
    question: str


class Recalls:
    """What people recall and mark. ``near`` asks memory by meaning."""

    def __init__(self, near: Recollect = no_memory) -> None:
        self._near = near
        self._asked: OrderedDict[str, _Asked] = OrderedDict()

    # --- inside intake's transaction -------------------------------------------------------

    def act(
        self,
        acts: Acts,
        wanted: RecallIntention,
        conversation: Conversation | None,
        message_id: int,
    ) -> Reply | None:
        """What was typed.

        Raises:
            BadInput, NotAllowed: it cannot be; says why.
        """
        if isinstance(wanted, MarkIt):
            return _mark(acts, wanted, conversation, said=message_id)
        if acts.event.kind == "message" and conversation is not None:
            action = f"recall:{conversation.id}:{message_id}"
            return Reply(say(ALONE), (Button(action, say("Show me"), "primary"),))
        acts.look = Look(scene_of(acts, conversation), wanted.question)
        return None

    def press(self, acts: Acts, verb: str, argument: str) -> Reply | None:
        """A button of ours was pressed; its value alone is no authority. Raises as ``act``."""
        if verb == "recall" and (match := _ASKED.fullmatch(argument)):
            here = _place(acts, int(match[1]))
            assert here is not None
            number = int(match[2])
            question = _typed(acts, number, here)
            acts.look = Look(scene_of(acts, here, number), question)
            return None
        if verb == "more" and (match := _PAGE.fullmatch(argument)):
            asked = self._asked.get(match[1])
            if asked is None or asked.person != _person(acts):
                raise BadInput(say("That list is not kept any more: ask again with `!recall`."))
            here = _place(acts, asked.conversation)
            acts.look = Look(scene_of(acts, here), asked.question, int(match[2]))
            return None
        if verb == "mark" and (match := _MARK.fullmatch(argument)):
            kind = cast("MarkKind | None", None if match[3] == "none" else match[3])
            here = _place(acts, int(match[1]))
            back = f"{match[4]}:{match[5]}" if match[4] else ""
            return _mark(acts, MarkIt(int(match[2]), kind), here, back)
        raise BadInput(say(OTHER))

    # --- outside of it ---------------------------------------------------------------------

    async def look(self, acts: Acts, look: Look, records: Records) -> Reply:
        """What is found now."""
        near = await self._near(look.scene, look.question, within_s=NEAR_S)
        count = await records.do(search.count_visible, look.scene, COUNTED + 1)
        return await records.do(self._found, acts, look, near, count)

    def _found(self, acts: Acts, look: Look, near: Near | None, count: int) -> Reply:
        scene, first = look.scene, look.first
        found = find(scene, look.question, MOST * 2, near, now=acts.now)
        hits = [hit for hit in _clear(found) if not is_about_memory(hit.message.text)][:MOST]
        trusted = acts.event.author.trusted
        shown = _shown(acts, hits[first : first + PAGE])
        page = Page(
            look.question,
            shown,
            min(count, COUNTED),
            count > COUNTED,
            _where(scene),
            near is not None,
            trusted,
            first,
        )
        text = say_page(page, scene.conversation, acts.now, acts.policy.counting.purse.zone)
        if not shown:
            return Reply(text)
        token = self._remember(acts, look)
        buttons = mark_buttons(scene.conversation.id, shown, f"{token}:{first}") if trusted else ()
        if len(hits) > first + PAGE:
            buttons = (*buttons, Button(f"more:{token}:{first + PAGE}", say("More"), "primary"))
        return Reply(text, buttons)

    def _remember(self, acts: Acts, look: Look) -> str:
        asked = _Asked(_person(acts), look.scene.conversation.id, look.question)
        token = next((known for known, one in self._asked.items() if one == asked), "")
        token = token or secrets.token_hex(6)
        self._asked[token] = asked
        self._asked.move_to_end(token)
        while len(self._asked) > MAX_REMEMBERED:
            self._asked.popitem(last=False)
        return token


def scene_of(acts: Acts, conversation: Conversation | None, message_id: int = 0) -> Scene:
    """Whose eyes: those of whoever acts and of the conversation (``None``: the channel's)."""
    event, ground = acts.event, acts.policy.ground
    here = conversation or Conversation(
        0, event.key, event.direct, opened=False, engaged=False, caught_up=True
    )
    shared = event.shared or (event.shared is None and messages.is_shared(event.key))
    project = ground.project_of(event.key)
    return Scene(
        replace(here, shared=shared),
        project,
        prompt="",
        turn_id=EVERY_TURN,
        prompt_message_id=message_id,
        project_channels=ground.channels_of(project),
        recall=ground.recall_of(event.key),
        asker_key=_person(acts),
        asker_trusted=event.author.trusted,
        address=ground.address,
    )


def _mark(
    acts: Acts,
    wanted: MarkIt,
    conversation: Conversation | None,
    back: str = "",
    said: int = 0,
) -> Reply:
    """Set or take a mark of what whoever acts may see from here. Whoever finds it sees that."""
    author = acts.event.author
    if not author.trusted:
        raise NotAllowed(
            say(
                "Marks are for members: guests and people of other workspaces may recall, but not "
                "say that something is wrong or outdated."
            )
        )
    scene = scene_of(acts, conversation)
    number = wanted.number
    found = messages.find_message(number)
    if found is None or not scope.may_see(scene, found[1].id):
        raise BadInput(say(GONE, number=number))
    there, project = found[1], scene.project.name
    by = Actor(_person(acts), author.name)
    more = (Button(f"more:{back}", say("Back to the list")),) if back else ()
    if wanted.kind is None:
        taken = marks.take(number, there, by=by, now=acts.now, project=project)
        told = say("Your mark is taken back.") if taken else say("You have no mark there.")
        return Reply(f"**#{number}**: {told}", more)
    private = bool(wanted.note) and _told_wider(acts.event, conversation, there)
    note = "" if private else wanted.note
    marks.put(
        number, there, wanted.kind, by=by, note=note, now=acts.now, project=project, said=said
    )
    told = say(
        "**#{number}** is marked as {marked} by {name}: it comes later in what is found, "
        "and agents are told. `!unmark {number}` takes it back.",
        number=number,
        marked=say(MARKED[wanted.kind]),
        name=literal(author.name),
    )
    if private:
        told += say(
            " Why is not kept: you said it in a private place, and whoever finds #{number} "
            "would read it. Say it where #{number} was said.",
            number=number,
        )
    if acts.event.kind == "message":
        return Reply(told)
    if not wanted.note:
        told += say(
            " `!mark {number} {marked} why` says why.", number=number, marked=MARKED[wanted.kind]
        )
    undo = f"mark:{scene.conversation.id}:{number}:none" + (f":{back}" if back else "")
    return Reply(told, (Button(undo, say("Take it back")), *more))


def _told_wider(event: ChatEvent, here: Conversation | None, there: Conversation) -> bool:
    """Whether some who may read ``there`` may not read where the event happened."""
    apart = event.apart or (here is not None and here.apart)
    if replace(there.key, root="") == replace(event.key, root=""):
        return apart and (here is None or here.id != there.id)
    closed = event.direct or event.public is False or not places.is_public(event.key)
    return apart or closed


def _place(acts: Acts, conversation_id: int) -> Conversation | None:
    """The conversation that a button belongs to, if that is where it was pressed; 0: the channel.

    Raises:
        BadInput: it is another place.
    """
    if not conversation_id:
        return None
    conversation = places.by_id(conversation_id)
    if conversation is None or not is_here(conversation, acts.event.key):
        raise BadInput(say("This button belongs to another channel."))
    return conversation


def _typed(acts: Acts, message_id: int, here: Conversation) -> str:
    """The question of a typed ``!recall``, as it reads now."""
    said = messages.get_message(message_id, here.id)
    if said is None:
        raise BadInput(say("The question was deleted."))
    command, text = typed_command(said.text) or ("", "")
    wanted = parse(command, text, acts.policy.names) if command == "recall" else None
    if not isinstance(wanted, Recall):
        raise BadInput(say("The question was changed: ask again with `!recall`."))
    return wanted.question


def _clear(found: Sequence[Hit]) -> list[Hit]:
    """Without the faint ones: everything is near to something. A mark lowers, and hides nothing."""
    scores = [
        hit.score / (hit.why.get("wrong", 1.0) * hit.why.get("stale", 1.0) or 1.0) for hit in found
    ]
    least = max(scores, default=0.0) * FAINT
    return [hit for hit, score in zip(found, scores, strict=True) if score >= least]


def _shown(acts: Acts, hits: list[Hit]) -> list[Shown]:
    posts = pointed.posts_of([hit.message for hit in hits])
    address = acts.policy.ground.address
    return [
        Shown(
            hit.message,
            hit.conversation,
            hit.marks,
            address(hit.conversation.key, posts.get(hit.message.id, "")),
        )
        for hit in hits
    ]


def _where(scene: Scene) -> str:
    """What a scene draws from, in words."""
    if scene.conversation.direct:
        return say("this direct message")
    if scene.recall == "conversation":
        return say("this thread")
    return say("this channel") + (
        say(" and the project's public channels") if scope.is_wide(scene) else ""
    )


def _person(acts: Acts) -> str:
    return f"{acts.event.key.chat}:{acts.event.author.id}"
