"""The doors between rooms: protocols that adapters and edges implement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from core.model import (
    Attachment,
    ChatEvent,
    ChatLimits,
    Check,
    ConversationKey,
    EngineEvent,
    EngineTask,
    EngineTraits,
    Exit,
    HttpCall,
    Missed,
    Near,
    Outcome,
    Post,
    Posted,
    Pull,
    PullAccess,
    Reply,
    Said,
    Scene,
    Secret,
    Spawn,
    TerminalSession,
    Verdict,
)

Accept = Callable[[ChatEvent], Awaitable[Reply | None]]
"""Takes an event in durably: when it returns, the event is a row. An exception means: not taken,
so the platform must deliver it again (do not acknowledge)."""


class Chat(Protocol):
    """A chat platform. An implementation only translates: it holds no routing and no policy."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> ChatLimits: ...

    async def run(self, accept: Accept, ready: Callable[[], None]) -> None:
        """Receive until cancelled; call ``ready`` each time the adapter can (again) receive.

        Raises:
            BadSettings: a token is refused or of the wrong kind; says which and the fix.
        """
        ...

    def render(self, markdown: str, label: str = "") -> tuple[str, ...]:
        """Turn an agent's Markdown into platform texts, each within ``limits.post_units``.

        ``label`` (plain text) names the speaker on every piece. Empty when nothing visible is
        left. Pure.
        """
        ...

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        """Send one message, never twice for the same nonce.

        Raises:
            ChatBusy: nothing took effect, wait.
            ChatUnsure: it may have taken effect; a later call has ``post.tried_at`` set.
            ChatRefused: it will never work.
        """
        ...

    async def edit(self, key: ConversationKey, message_id: str, post: Post) -> None:
        """Replace a message of ours (text and buttons). Raises as ``post`` does."""
        ...

    async def delete(self, key: ConversationKey, message_id: str) -> None:
        """Remove a message of ours; one that is gone already is no error. Raises as ``post``."""
        ...

    async def react(
        self, key: ConversationKey, message_id: str, name: str, *, on: bool = True
    ) -> None:
        """Put one of our reactions under a message, or take it away; doing it twice is no error.

        ``name`` is one of ``core.words.REACTIONS``. Raises as ``post`` does; a platform without
        reactions does nothing.
        """
        ...

    async def thread(self, key: ConversationKey, limit: int) -> tuple[Said, ...]:
        """The newest ``limit`` messages of the thread, its root included, oldest first.

        Our own posts are those of an author of kind ``agent``; see ``Said`` for what is missing.
        Whoever asks has a deadline: a platform's wish to wait may be heeded here. Raises as
        ``post`` does.
        """
        ...

    async def download(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """The bytes of a file that was attached to a message here.

        Raises:
            ChatBusy: wait and ask again.
            ChatRefused: it is gone, too large, or may not be read; says why, for people.
        """
        ...

    async def heard(self, attachment: Attachment) -> str:
        """What the platform itself says is spoken in a voice message; "" where it says nothing.

        Waits some seconds where it is still at it. Never raises.
        """
        ...

    async def direct(self, person: str) -> ConversationKey | None:
        """Where to write to a person (``Author.id``) alone; ``None`` if this platform cannot.

        Raises as ``post`` does.
        """
        ...

    def address(self, key: ConversationKey, message_id: str = "") -> str:
        """Where people open a thread, or one message of it, in their own client: a link.

        "" where the platform has none, or while it is not known yet. No I/O.
        """
        ...

    async def checks(self, channels: Sequence[str] = (), people: Sequence[str] = ()) -> list[Check]:
        """What ``moot doctor`` asks of this platform: tokens, kinds, scopes, intents.

        ``channels`` are ids that the settings name: Moot must be able to hear and speak in each.
        ``people`` are those whom the settings give anything, as they name them (``slack:U123``,
        ``"*"``; those of other chats too): a slip in an id would go unnoticed.
        """
        ...


@runtime_checkable
class Streams(Protocol):
    """What a chat has beside ``Chat`` whose platform lets a message grow in a way of its own.

    Such a message begins as a ``Post`` with ``stream`` set. It can be edited and deleted as any
    other, also once the platform has ended its growing.
    """

    @property
    def stream_s(self) -> float:
        """How long one may grow, in seconds; a little less than the platform's own limit."""
        ...

    @property
    def stream_chars(self) -> int:
        """How much Markdown one may hold, in characters."""
        ...

    def streams_in(self, key: ConversationKey) -> bool:
        """Whether a message may grow there, as far as is known: a refusal is remembered."""
        ...

    async def append(self, key: ConversationKey, message_id: str, markdown: str) -> None:
        """Let a message grow; the agent's own Markdown. Raises as ``Chat.post`` does.

        The code of ``ChatRefused`` is "over" where the message does not grow any more, "stopped"
        where a reader has stopped it.
        """
        ...

    async def finish(self, key: ConversationKey, message_id: str) -> None:
        """The message grows no more; one that does not is no error. Raises as ``Chat.post``."""
        ...


class Onboarding(Protocol):
    """How a person makes what a platform needs, step by step; texts are Markdown, in English."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def secrets(self) -> Sequence[Secret]:
        """The tokens, in the order in which they are asked for."""
        ...

    @property
    def invite(self) -> str:
        """What to do so that a channel has the bot."""
        ...

    @property
    def unheard(self) -> str:
        """What to look at while no mention arrives."""
        ...

    @property
    def unheard_reply(self) -> str:
        """What to look at while mentions arrive and other messages do not."""
        ...

    def opening(self) -> str:
        """How the app is made, before there is any token."""
        ...

    def recognise(self, text: str) -> tuple[str, str]:
        """Which secret a pasted text is (its ``key``), else "" and what it is instead. Pure."""
        ...

    def fits(self, secrets: Mapping[str, str]) -> str:
        """What is wrong with these together, judging by their form; "" when nothing is. Pure."""
        ...

    def chat(self, secrets: Mapping[str, str], addresses: Mapping[str, str]) -> Chat:
        """The platform with these secrets; ``addresses`` are its settings for other servers."""
        ...


@runtime_checkable
class WithHistory(Protocol):
    """What a platform tells beside ``Chat`` whose history can be read for what nobody heard."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> ChatLimits: ...

    def hears(self) -> frozenset[str]:
        """The spaces (``ConversationKey.space``) whose events reach us now. No I/O."""
        ...

    async def places(
        self, space: str, since: float, known: tuple[ConversationKey, ...]
    ) -> tuple[ConversationKey, ...]:
        """Where in a space something may have been written since then that nobody heard.

        Channels (and direct messages) that we are in, threads, and what is ``known`` (threads and
        direct messages that we take part in); what the platform brings by itself is left out.
        Raises as ``Chat.post`` does.
        """
        ...

    async def missed(self, key: ConversationKey, since: float, limit: int) -> Missed:
        """What was written at a place since then: its newest ``limit`` messages.

        Without a root: at the channel's level, or directly. Raises as ``Chat.post`` does.
        """
        ...


AnswerPull = Callable[[Pull], Awaitable[str]]
"""Resolves a Pull within one run's scope: the text for the agent, framed. Never raises."""


class PullServer(Protocol):
    """Answers Pulls while a run works (in-run Pull): one door, a token for each run."""

    async def ready(self) -> bool:
        """Whether it can let anybody in; opens it first if need be, within a deadline."""
        ...

    def admit(self, run_id: str, kinds: Mapping[str, str], answer: AnswerPull) -> PullAccess | None:
        """Let this run in, for these kinds (each with a line of help for the agent).

        ``None`` when it does not listen: then the run Pulls by markers.
        """
        ...

    def dismiss(self, run_id: str) -> None:
        """The run is over: its token is worth nothing from now on. Harmless when not admitted."""
        ...


class Recollect(Protocol):
    """Asks memory what is near a text by meaning."""

    async def __call__(self, scene: Scene, text: str, *, within_s: float) -> Near | None:
        """What was said that is near ``text``, of what ``scene`` may draw from.

        ``None`` when there is no answer within ``within_s`` seconds: it is off, still begins, or is
        slow. Never raises. Whoever uses it asks the rows again (``core.records.search.fetch``).
        """
        ...


async def no_memory(scene: Scene, text: str, *, within_s: float) -> None:
    """A ``Recollect`` that finds nothing: keywords only."""
    del scene, text, within_s


class Reader(Protocol):
    """The receiving half of an engine: bytes in, events out; no I/O, no clock."""

    def receive(self, data: bytes) -> Sequence[EngineEvent]:
        """Take bytes as they arrive, cut anywhere; never raises for what they hold."""
        ...

    def to_send(self) -> bytes:
        """Bytes to write to the process now; empty outside of dialogues (``Spawn.dialogue``).

        Asked for at the start, after every ``receive`` and after every ``decide``; what was
        returned is not returned again.
        """
        ...

    def decide(self, verdict: Verdict) -> None:
        """A request (an event of that kind) was decided; one that is not open is ignored."""
        ...

    def settled(self) -> bool:
        """True once nothing that may still come could change the verdict.

        The closing event was seen, or the failure is final although the engine goes on trying.
        The process then gets a short while to end by itself before it is ended.
        """
        ...

    def finish(self, end: Exit) -> Outcome:
        """Judge the run from how it ended and all that was received. Called once, last."""
        ...


class Engine(Protocol):
    """A coding CLI (or model API) as a sans-I/O protocol."""

    @property
    def name(self) -> str:
        """What people ask it by.

        A class gives it a name of its own, as a plain attribute; where the settings call it
        otherwise, Moot sets theirs on the instance and keeps the class's as ``kind``.
        """
        ...

    @property
    def traits(self) -> EngineTraits: ...

    @property
    def env_names(self) -> tuple[str, ...]:
        """Environment variables this engine may see beside the common allow-list.

        A trailing ``*`` matches a prefix (``ANTHROPIC_*``). ``NAME?OTHER`` lets ``NAME`` through
        only where ``OTHER`` is set too (``AWS_*?CLAUDE_CODE_USE_BEDROCK``).
        """
        ...

    def start(self, task: EngineTask) -> Spawn | HttpCall:
        """What to spawn, or to request, for a task.

        Raises:
            BadInput: the task cannot be given to this engine; says why.
        """
        ...

    def reader(self, task: EngineTask) -> Reader: ...


def kind_of(engine: Any) -> str:
    """Which CLI (or API) an engine is, whatever the settings call it: two accounts are of one kind.

    Its versions, its login and the ids of its sessions go by it; all else goes by ``name``.
    """
    kind: str = getattr(engine, "kind", "") or engine.name
    return kind


@runtime_checkable
class InTerminal(Protocol):
    """What an engine tells beside ``Engine`` whose sessions people can work with in a terminal."""

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> Sequence[TerminalSession]:
        """The sessions that belong to the folder ``cwd``, newest first, at most 20.

        Reads the engine's own files (or asks its program), in a thread of its own: it may block,
        for some seconds at most. ``environ`` is Moot's environment, which says where they are.
        Nothing is changed; what cannot be read is left out, and none is an empty list.
        """
        ...

    def resume_command(self, session: str, cwd: str) -> str:
        """The line for a shell that goes on with a session: ``cd /path && claude --resume UUID``.

        Everything in it is quoted for a POSIX shell. "" where that cannot be done. No I/O.
        """
        ...
