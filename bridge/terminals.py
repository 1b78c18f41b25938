"""Sessions between chat and terminal: ``!resume`` shows a command line, ``!continue`` takes one in.

What is shown (paths of the host, first words of somebody's work) is for one person alone: typed in
a thread, a command is answered by a button, and what the button brings only its presser sees.
What was said in a terminal is others' words: it stands in replies literally, and in no post.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bridge.here import is_here
from bridge.replies import kept as kept_seat
from bridge.terminal_commands import SHOWN, Continue, TerminalIntention
from core.engines.process import Writers
from core.errors import BadInput, NotAllowed
from core.model import Author, Button, Conversation, ConversationKey, Participant, Project, Reply
from core.model import TerminalSession as Kept
from core.ports import Engine, InTerminal, kind_of
from core.records import places, sessions, turns
from core.records.thread import Records
from core.tongue import say, to_say
from core.words import ago, literal, seat_name

if TYPE_CHECKING:
    from bridge.acts import Acts

log = structlog.get_logger()

LOOK_S = 2.0  # Slack wants an answer to a click within three seconds
MAX_ACTION_CHARS = 80
MAX_REMEMBERED = 200
FRESH_S = 600.0  # used so lately that it may still be open
VERBS = ("resume", "continue", "pick")
_MAY = {
    "plan": to_say("may only read"),
    "ask": to_say("asks before it acts"),
    "edit": to_say("may change files"),
    "full": to_say("may run anything"),
}
_TICKS = re.compile("`+")
ALONE = to_say("What runs on the host is shown to you alone: press the button.")
GONE = to_say(
    "That session is not there any more, or a thread goes on with it already. "
    "`!continue` shows what there is."
)


@dataclass(frozen=True, slots=True)
class Look:
    """What is to be looked for once the event is a row: the host's files, not ours."""

    conversation: Conversation
    project: Project
    engine: str = ""
    number: int = 0
    session: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A session of an engine that no Moot has used."""

    engine: str
    kept: Kept


class Terminals:
    """What this host's terminals and this Moot's threads can take over from each other."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        writers: Writers,
        project_of: Callable[[ConversationKey], Project],
        *,
        kept: bool = True,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._engines = {n: e for n, e in engines.items() if isinstance(e, InTerminal)}
        self._kinds = {name: kind_of(engine) for name, engine in engines.items()}
        self._writers = writers
        self._project_of = project_of
        self._kept = kept
        self._environ = environ
        self._looking: dict[tuple[str, str], asyncio.Task[tuple[Found, ...]]] = {}
        self._shown: OrderedDict[tuple[str, int], tuple[Found, ...]] = OrderedDict()

    # --- inside intake's transaction -------------------------------------------------------

    def act(
        self, acts: Acts, wanted: TerminalIntention, conversation: Conversation
    ) -> Reply | None:
        """What a command leads to; typed in a thread, it is a button.

        Raises:
            BadInput, NotAllowed: it cannot be; says why.
        """
        event = acts.event
        project = self._check(event.author, conversation)
        verb = "continue" if isinstance(wanted, Continue) else "resume"
        engine, number = (wanted.engine, wanted.number) if isinstance(wanted, Continue) else ("", 0)
        if engine and engine not in self._engines:
            raise BadInput(say("Moot knows no sessions of {engine} in terminals.", engine=engine))
        known = (_person(acts), conversation.id) in self._shown
        if event.kind == "message" and not event.direct and not (number and known):
            action = f"{verb}:{conversation.id}:{engine}".rstrip(":")
            return Reply(say(ALONE), (Button(action, say("Show me"), "primary"),))
        if verb == "resume":
            return Reply(self._resumed(conversation, project, acts.now))
        acts.look = Look(conversation, project, engine, number)
        return None

    def press(self, acts: Acts, verb: str, argument: str) -> Reply | None:
        """A button of ours was pressed; its value alone is no authority.

        Raises:
            BadInput, NotAllowed: it cannot be; says why.
        """
        where, _, rest = argument.partition(":")
        engine, _, session = rest.partition(":")
        if not re.fullmatch(r"[0-9]{1,18}", where):
            raise BadInput(say("This button is from another version of Moot."))
        conversation = places.by_id(int(where))
        if conversation is None or not is_here(conversation, acts.event.key):
            raise BadInput(say("This button belongs to another channel."))
        project = self._check(acts.event.author, conversation)
        if verb == "resume":
            return Reply(self._resumed(conversation, project, acts.now))
        acts.look = Look(conversation, project, engine, session=session)
        return None

    def _check(self, author: Author, conversation: Conversation) -> Project:
        if not author.trusted:
            raise NotAllowed(
                say(
                    "Sessions on the host are for members: guests and people of other workspaces "
                    "neither see them nor bring any in."
                )
            )
        if not self._kept:
            raise BadInput(say("Sessions do not go on here: [context] sessions is off."))
        project = self._project_of(conversation.key)
        if project.own:
            raise BadInput(
                say(
                    "This channel belongs to no project, so there is no folder of yours in which "
                    "a terminal could go on. Whoever runs Moot can list it in [projects] of "
                    "moot.toml."
                )
            )
        return project

    def _resumed(self, conversation: Conversation, project: Project, now: float) -> str:
        """The shell lines, for one person's eyes. Each session is told everything next time."""
        parts: list[str] = []
        for live in sessions.live_in(conversation.id):
            engine = self._engines.get(live.seat.engine)
            line = engine.resume_command(live.session, live.cwd) if engine else ""
            if not line or live.cwd != project.path:
                continue
            # Who works in a terminal may compact the session, or go back in it.
            sessions.unsure(live.id, live.known.compacted())
            who = literal(seat_name(live.seat))
            may = say(_MAY[live.permission]) if live.permission in _MAY else say("not asked yet")
            parts.append(
                say(
                    "**{who}** ({may} here), used {ago}:\n\n{fenced}",
                    who=who,
                    may=may,
                    ago=ago(live.used_at, now),
                    fenced=fenced(line),
                )
            )
        if not parts:
            return say(
                "No session of this thread can be gone on with in a terminal yet: ask first."
            )
        head = say("On the host, as the user that Moot runs as:")
        if any(turn.state == "running" for turn in turns.waiting(conversation.id)):
            head = say(
                "An agent works here just now: wait for its end, or `!stop` it. {head}", head=head
            )
        return "\n\n".join((head, *parts, say(HOW)))

    # --- outside of it ---------------------------------------------------------------------

    async def look(self, acts: Acts, look: Look, records: Records) -> Reply | None:
        """What an act that needed a look at the host comes to."""
        found, late = await self._find(look, records)
        person = (_person(acts), look.conversation.id)
        picked: Found | None = None
        if look.number and not found and not late:
            return _listed(look, found, late, acts.now)
        if look.session:
            picked = next((f for f in found if (f.engine, f.kept.id) == _wanted(look)), None)
        elif look.number:
            shown = self._shown.get(person, ())[look.number - 1 : look.number]
            picked = next((f for f in shown if f in found), None)
        else:
            self._shown[person] = found[:SHOWN]
            self._shown.move_to_end(person)
            while len(self._shown) > MAX_REMEMBERED:
                self._shown.popitem(last=False)
            return _listed(look, found, late, acts.now)
        if picked is None:
            return Reply(_late(late) or say(GONE))
        try:
            return await records.do(self._adopt, acts, look, picked)
        except BadInput as error:
            return Reply(str(error))

    async def _find(self, look: Look, records: Records) -> tuple[tuple[Found, ...], list[str]]:
        """The sessions that no Moot has used, newest first, and whose engines were late."""
        asked = [name for name in self._engines if look.engine in ("", name)]
        first = {self._kinds[name]: name for name in reversed(asked)}  # one of each CLI
        tasks = {name: self._start(name, look.project.path) for name in first.values()}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=LOOK_S)
        late = [name for name, task in tasks.items() if not task.done()]
        for name, task in tasks.items():
            if task.done():
                self._looking.pop((name, look.project.path), None)
        found = [f for task in tasks.values() if task.done() for f in task.result()]
        ours = await records.do(sessions.of_ours, [f.kept.id for f in found])
        free = [f for f in found if f.kept.id not in ours]
        return tuple(sorted(free, key=lambda f: -f.kept.at)), late

    def _start(self, name: str, cwd: str) -> asyncio.Task[tuple[Found, ...]]:
        """Look for an engine's sessions; one that was late is waited for again."""
        task = self._looking.get((name, cwd))
        if task is None:
            task = asyncio.create_task(self._read(name, cwd))
            self._looking[name, cwd] = task
        return task

    async def _read(self, name: str, cwd: str) -> tuple[Found, ...]:
        engine = self._engines[name]

        def read() -> tuple[Found, ...]:
            kept = engine.terminal_sessions(cwd, self._environ)
            used = self._writers.used(self._kinds[name], [one.id for one in kept])
            return tuple(Found(name, one) for one in kept if one.id not in used)

        try:
            return await asyncio.to_thread(read)
        except Exception as error:  # noqa: BLE001 - whatever an engine has: none are shown
            log.warning("terminals.failed", engine=name, error=type(error).__name__)
            return ()

    def _adopt(self, acts: Acts, look: Look, picked: Found) -> Reply | None:
        """The thread goes on with that session. On the records' thread."""
        here = look.conversation
        last = turns.latest(here.id)
        policy = acts.policy
        asked = kept_seat(last, policy.default_seat, policy.names)  # by a plain reply
        seat = asked if asked.engine == picked.engine else Participant(picked.engine)
        sessions.adopt(here.id, seat, look.project.path, picked.kept.id, acts.now)
        when = ago(picked.kept.at, acts.now)
        name = literal(acts.event.author.name)
        text = say(
            "{name} continues a session of {engine} from a terminal here (last used {when}): "
            "the next question{to} goes on in it.",
            name=name,
            engine=picked.engine,
            when=when,
            to=_to(seat, asked),
        )
        acts.notice(here, Reply(text))
        if acts.event.kind == "message":
            return None
        return Reply(say("Taken in: the thread's next question goes on in that session."))


HOW = to_say(
    "What is done there is known here by the session itself only: nothing of it stands in the "
    "thread, and the next question here goes on in the same session. Close it in the terminal "
    "first; while it is open there, questions are answered in a new one."
)


def _person(acts: Acts) -> str:
    return f"{acts.event.key.chat}:{acts.event.author.id}"


def _wanted(look: Look) -> tuple[str, str]:
    return look.engine, look.session


def _to(seat: Participant, asked: Participant) -> str:
    """How a question is put to whoever has the session; a plain reply goes to ``asked``."""
    return "" if seat == asked else say(" with `--engine {engine}`", engine=seat.engine)


def _listed(look: Look, found: Sequence[Found], late: Sequence[str], now: float) -> Reply:
    """The sessions by number, with when and first words, and a button for each."""
    name = literal(look.project.name)
    if not found:
        text = _late(late) or (
            say(
                "No terminal on this host has a session in the folder of **{name}** that Moot "
                "does not use already.",
                name=name,
            )
        )
        return Reply(text)
    lines, buttons = list[str](), list[Button]()
    for number, one in enumerate(found[:SHOWN], 1):
        open_ = (
            say(" (perhaps still open: close it there first)")
            if now - one.kept.at < FRESH_S
            else ""
        )
        about = f": “{literal(one.kept.about, 120)}”" if one.kept.about.strip() else ""
        lines.append(
            say(
                "{number}. **{engine}**, used {ago}{open}{about}",
                number=number,
                engine=one.engine,
                ago=ago(one.kept.at, now),
                open=open_,
                about=about,
            )
        )
        action = f"pick:{look.conversation.id}:{one.engine}:{one.kept.id}"
        if len(action) <= MAX_ACTION_CHARS:
            buttons.append(Button(action, f"{number} · {one.engine}"[:75]))
    head = say(
        "Sessions in the folder of **{name}**, the newest first. The thread's agent will "
        "know all that was said in the one you pick, and members here can ask about it.",
        name=name,
    )
    more = (
        [say("The newest {shown} of {count}.", shown=SHOWN, count=len(found))]
        if len(found) > SHOWN
        else []
    )
    return Reply(
        "\n\n".join(filter(None, (head, "\n".join(lines), *more, _late(late)))), tuple(buttons)
    )


def _late(late: Sequence[str]) -> str:
    if not late:
        return ""
    return say(
        "{all} did not tell its sessions in time: ask once more in a moment.", all=", ".join(late)
    )


def fenced(line: str) -> str:
    """A code block that nothing in ``line`` can end."""
    longest = max((len(ticks) for ticks in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{line}\n{fence}"
