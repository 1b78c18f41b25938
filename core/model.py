"""The words Moot thinks in: frozen values without behaviour, shared by every room.

Sizes are characters (Unicode code points), times are UTC seconds since the epoch, ids of chat
platforms are opaque strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

# --- places and people ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Where a conversation lives. ``root`` is the id of the thread's first message.

    ``root`` is empty for a direct-message channel without a thread, and for a slash command
    typed at channel level until the first post has opened the thread.
    """

    chat: str
    space: str
    channel: str
    root: str


AuthorKind = Literal["human", "agent", "bot"]


@dataclass(frozen=True, slots=True)
class Author:
    """Who acts or speaks.

    ``grants`` are the names this person answers to in ``[access] allow``, most specific first:
    ``slack:U123``, ``discord:42``, ``discord:GUILD:role:ROLE``. ``trusted`` is False for guests,
    people of other workspaces and anybody whose standing could not be looked up: those pass only
    when a grant names them, never by ``"*"``.
    """

    id: str
    name: str
    kind: AuthorKind = "human"
    grants: tuple[str, ...] = ()
    trusted: bool = True


EventKind = Literal["message", "command", "button", "edit", "delete"]


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """One thing that happened on a platform, translated and nothing more.

    Attributes:
        key: the conversation. A message at channel level has its own id as ``root``.
        event_id: unique per happening; the same for every delivery of it. For a message this is
            derived from (space, channel, message id), so that two event types for one message meet.
        message_id: the platform's id of the message (of the clicked message for a button).
        text: what was written, entities decoded once, our own mention taken out, other mentions
            as ``@name (id)``. For a command the text after the command's name; for a button its
            ``action`` value, such as ``stop:12``.
        command: ``ask``, ``roundtable``, ``stop``, ``status``, ``context`` or ``help`` for a
            platform command, otherwise empty. Options the platform has of its own are put into
            ``text`` in the typed form (``--rounds 2``).
        mentions_us / mentions_others: who is addressed by name.
        direct: a direct message, where everything is addressed to us.
        in_thread: the message was written inside a thread (not at channel level).
    """

    key: ConversationKey
    event_id: str
    message_id: str
    author: Author
    text: str
    kind: EventKind
    sent_at: float
    command: str = ""
    mentions_us: bool = False
    mentions_others: bool = False
    direct: bool = False
    in_thread: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a thread as the platform's history tells it (a thread Moot has not seen)."""

    message_id: str
    author: Author
    text: str
    sent_at: float


# --- posts ---------------------------------------------------------------------------------

ButtonStyle = Literal["plain", "primary", "danger"]


@dataclass(frozen=True, slots=True)
class Button:
    """``action`` is ``verb:argument`` (at most 80 characters) and comes back as a button event."""

    action: str
    label: str
    style: ButtonStyle = "plain"


@dataclass(frozen=True, slots=True)
class Reply:
    """The immediate answer to a command or a button, for the one who acted only. Markdown."""

    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Post:
    """One message to be sent.

    Attributes:
        nonce: at most 25 ASCII characters; the same on every attempt, different for every post.
        text: rendered by the same chat's ``render`` and within its limit.
        opens: there is no thread yet (``key.root`` is empty, not a DM): this post opens it.
        title: a name for the thread where the platform wants one; plain text, one line.
        tried_at: when an earlier attempt was made that may have taken effect, else ``None``: then
            the chat must look before it sends.
        known_ids: messages of this thread that are known to be other posts of ours, so that a
            look-up by text does not take one of them for this post.
    """

    nonce: str
    text: str
    buttons: tuple[Button, ...] = ()
    opens: bool = False
    title: str = ""
    tried_at: float | None = None
    known_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Posted:
    """What a post became: its id, and the root of the thread it is in (new if it opened one)."""

    message_id: str
    root: str


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """``post_units`` counts as the platform counts (see each adapter's ``render``)."""

    post_units: int
    edit_interval_s: float


@dataclass(frozen=True, slots=True)
class Check:
    """One line of ``moot doctor``: a failing one ends with ``fix``, something a person can do."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


# --- turns and runs ------------------------------------------------------------------------

Permission = Literal["plan", "edit", "full"]


@dataclass(frozen=True, slots=True)
class Participant:
    """A named speaker: an engine, and optionally a persona and a model ("" = the default)."""

    engine: str
    persona: str = ""
    model: str = ""

    @property
    def name(self) -> str:
        """The name in the thread: the persona's, else the engine's."""
        return self.persona or self.engine


@dataclass(frozen=True, slots=True)
class Conversation:
    """The durable dialogue behind one thread.

    ``opened`` is False while the first post has still to open the thread (``key.root`` is empty);
    ``engaged`` says that Moot opened it or was mentioned in it; ``caught_up`` is False while the
    thread's earlier messages have not been read.
    """

    id: int
    key: ConversationKey
    direct: bool
    opened: bool
    engaged: bool
    caught_up: bool


TurnKind = Literal["ask", "roundtable"]
TurnState = Literal["queued", "running", "done", "failed", "cancelled"]
RunState = Literal["open", "answered", "failed", "cancelled", "cut"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One question put to a table. A mention is a table of one seat and one round."""

    id: int
    conversation_id: int
    kind: TurnKind
    prompt: str
    prompt_message_id: int
    asker: str
    seats: tuple[Participant, ...]
    rounds: int
    state: TurnState
    mode: str = ""
    queued_at: float = 0.0
    header: int | None = None  # outbox id of a roundtable's header message


@dataclass(frozen=True, slots=True)
class Step:
    """Which seat speaks next. ``hop`` > 0 answers the seat's own pulls of hop - 1."""

    round: int
    seat: int
    hop: int = 0


@dataclass(frozen=True, slots=True)
class Pull:
    """What an agent asked for in its answer."""

    kind: str
    query: str


@dataclass(frozen=True, slots=True)
class PulledResult:
    """What a pull brought: ``hits`` are texts of others (data); ``note`` says why there are none."""

    pull: Pull
    hits: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One process started for one step.

    ``attempt`` counts from 1; ``cut`` means that a crash of Moot ended it. ``can_write`` says
    whether it was allowed to change files (then it is never repeated without being asked).
    """

    id: str
    turn_id: int
    step: Step
    state: RunState
    attempt: int = 1
    can_write: bool = False
    session: str = ""
    answer: str = ""
    error: str = ""
    pulls: tuple[Pull, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that somebody said, kept whole.

    ``author_key`` tells speakers apart ("slack:U1", "agent:architect"); ``engine`` and ``persona``
    are set for agents. ``interrupted`` marks the partial text of a stopped run.
    """

    id: int
    platform_id: str
    author_key: str
    author_name: str
    author_kind: AuthorKind
    text: str
    sent_at: float
    engine: str = ""
    persona: str = ""
    turn_id: int | None = None
    interrupted: bool = False


# --- engines -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """What an engine can do, as data (never ``isinstance``).

    Attributes:
        system_prompt: takes the context apart from the prompt (a system prompt file).
        resumes: keeps a session that can be gone on with by id.
        local: runs a small local model; gets the light variant of a pack.
        permissions: the modes it can be held to.
    """

    system_prompt: bool = False
    resumes: bool = False
    local: bool = False
    permissions: frozenset[Permission] = frozenset(("plan", "edit", "full"))


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How one engine is set up on this host; all of it optional.

    Attributes:
        path: the program's path ("" = found on PATH by its usual name).
        model: the model to ask for when a participant names none ("" = the engine's own default).
        base_url: where an engine behind an HTTP API listens.
        args: more arguments for every start, after Moot's own.
        env: names of more environment variables this engine may see (``FAKE_API_KEY``,
            ``ACME_*``); never those of chat platforms or Moot itself.
    """

    path: str = ""
    model: str = ""
    base_url: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one run may take, in seconds: without a sign of life, and in all."""

    idle_s: float = 600.0
    total_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class EngineTask:
    """One question to one engine.

    Attributes:
        run_id: the run's mark: reaches every process as ``MOOT_RUN``.
        context: the pack's text without the prompt; may be empty (a follow-up in a session).
        prompt: the person's text (or the follow-up's).
        resume: the engine session to go on with, or empty for a new one.
        cwd: absolute path of the project folder.
        scratch: absolute path of the run's own folder (exists, mode 0700) for files the CLI reads.
    """

    run_id: str
    context: str
    prompt: str
    cwd: str
    scratch: str
    permission: Permission = "plan"
    resume: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Spawn:
    """A process to start. ``argv[0]`` is a program's path; ``stdin`` is written, then closed.

    ``env`` is what the engine adds to the allow-listed environment; ``files`` are written below
    ``scratch`` before the start (relative name -> bytes).
    """

    argv: tuple[str, ...]
    cwd: str
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The same for an engine behind an HTTP API; the response body is fed to the reader.

    With ``then`` the call only prepares: ``then(status, body)`` says what to call next.
    """

    method: str
    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    then: Callable[[int, bytes], HttpCall] | None = None


EngineEventKind = Literal[
    "started", "delta", "message", "thinking", "tool_start", "tool_end", "usage", "retry", "warning"
]


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """What an engine says while it works.

    ``text`` is the words (delta, message, thinking, warning), the session id (started) or a short
    description (tool_start: the command or path). ``name`` is the tool's name.
    """

    kind: EngineEventKind
    text: str = ""
    name: str = ""
    id: str = ""
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one run, as the engine told them; zero where it did not."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0


OutcomeKind = Literal[
    "answered",
    "empty",
    "refused",
    "auth",
    "quota",
    "rate",
    "overloaded",
    "context-too-long",
    "session-lost",
    "bad-model",
    "bad-config",
    "missing-binary",
    "crashed",
    "stalled",
    "cancelled",
]


@dataclass(frozen=True, slots=True)
class Exit:
    """How the process (or HTTP exchange) ended, for the reader to judge.

    ``code`` is the exit status, negative for a signal, ``None`` when it never ran or is HTTP;
    ``status`` the HTTP status; ``stderr`` the bounded tail, decoded; ``why`` is set when Moot
    itself ended it or could not start it.
    """

    code: int | None = None
    status: int | None = None
    stderr: str = ""
    why: Literal["", "cancelled", "stalled", "timeout", "missing-binary", "unreachable"] = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to. ``text`` is the answer, or for another kind the partial text so far.

    ``detail`` is the engine's own explanation, redacted and short; ``unclean`` marks an answer
    that arrived although the stream did not end as it should. ``reset_at`` is free text such as
    "3:40 PM" when a quota error tells it; ``fix`` what helps, where the engine knows it.
    """

    kind: OutcomeKind
    text: str = ""
    detail: str = ""
    session: str = ""
    usage: Usage = Usage()
    unclean: bool = False
    reset_at: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """A line of ``moot engines``. ``signed_in`` is ``None`` when it cannot be told."""

    name: str
    installed: bool
    version: str
    signed_in: bool | None
    path: str
    detail: str = ""


# --- context -------------------------------------------------------------------------------

Mode = Literal["lite", "standard", "full"]


@dataclass(frozen=True, slots=True)
class Section:
    """A titled block of a pack, as granted.

    ``granted`` and ``used`` are characters; ``cut`` says what was left out and why ("" = whole).
    ``shared`` sections are byte-identical for all participants of a round.
    """

    name: str
    tier: int
    text: str
    granted: int
    used: int
    hash: str
    cut: str = ""
    shared: bool = True


@dataclass(frozen=True, slots=True)
class ContextPack:
    """What one run is told, and why; explains itself (``dropped``, ``notes``, ``reason``).

    ``prompt`` is never cut. ``message_ids`` are the record ids of messages shown in the recent
    conversation.
    """

    mode: Mode
    reason: str
    budget_chars: int
    sections: tuple[Section, ...]
    prompt: str
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    message_ids: tuple[int, ...] = ()

    @property
    def context(self) -> str:
        """The sections' texts, in order, one blank line between."""
        return "\n\n".join(s.text for s in self.sections if s.text)

    @property
    def chars(self) -> int:
        """Characters sent in all, the prompt included."""
        return len(self.context) + len(self.prompt)


@dataclass(frozen=True, slots=True)
class Project:
    """Where a channel's engines work: an absolute path, and what they may do there.

    ``own`` folders belong to Moot and are made on demand; others must exist.
    """

    name: str
    path: str
    permission: Permission = "plan"
    own: bool = False


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The project a channel belongs to. ``stack`` is one line per manifest found."""

    name: str
    path: str
    stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a source offers for a section: ``parts`` are its own units (a hit, a bullet, a block).

    Parts are kept in order and dropped from the end; ``pull`` is the marker text that would bring
    the rest ("" = none).
    """

    parts: tuple[str, ...]
    pull: str = ""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What is asked of ``build_context_pack``.

    Attributes:
        prompt: the text being answered, sent whole.
        prompt_message_id: its record id; it is never repeated in the history.
        participant: who will answer.
        persona_text: the persona's role document ("" = none).
        mode: an explicit override, or "".
        topic / round / rounds: for a roundtable (rounds > 0); round counts from 0.
        can_pull / pull_kinds: whether the engine may ask for more, and for what.
        asker: the name of the one whose prompt it is ("" = not told).
    """

    prompt: str
    prompt_message_id: int
    participant: Participant
    persona_text: str = ""
    mode: str = ""
    budget_chars: int = 60_000
    max_per_message_chars: int = 4_000
    topic: str = ""
    round: int = 0
    rounds: int = 0
    permission: Permission = "plan"
    can_pull: bool = True
    pull_kinds: tuple[str, ...] = ("messages", "memory")
    asker: str = ""


@dataclass(frozen=True, slots=True)
class PackFacts:
    """What was loaded for a round: the same object serves every participant of it.

    ``messages`` are oldest first and hold what may be shown; ``message_count`` is how many the
    conversation has in all. ``sources`` maps a section's name to what its source found. ``fresh``
    are messages that came after the shared facts of the round were loaded (this round's earlier
    answers, people who spoke up): they are shown in the participant's own part, so that the shared
    part stays the same for everybody. ``absent`` names participants who gave no answer to this
    turn and why, in a few words of ours ("quota", "timed out"); their error text is nobody's
    opinion and is not shown.
    """

    project: ProjectFacts
    messages: tuple[Message, ...]
    message_count: int
    people: tuple[str, ...] = ()
    seats: tuple[Participant, ...] = ()
    sources: Mapping[str, Candidate] = field(default_factory=dict[str, Candidate])
    notes: tuple[str, ...] = ()
    fresh: tuple[Message, ...] = ()
    absent: tuple[tuple[Participant, str], ...] = ()


# --- the outbox ----------------------------------------------------------------------------

OutgoingOp = Literal["post", "edit", "delete"]
OutgoingKind = Literal["answer", "notice", "header", "pull", "status"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Something owed to a platform. ``target_message`` is the message an edit or deletion means."""

    id: int
    conversation: Conversation
    op: OutgoingOp
    kind: OutgoingKind
    nonce: str
    text: str
    buttons: tuple[Button, ...]
    title: str
    attempts: int
    tried_at: float | None
    target_message: str = ""
    run_id: str = ""
    known_ids: frozenset[str] = frozenset()
