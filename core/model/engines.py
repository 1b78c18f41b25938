"""What an engine is asked, what it says, and what a run came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.model.work import Permission


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """What an engine can do, as data (never ``isinstance``).

    Attributes:
        system_prompt: takes the context apart from the prompt (a system prompt file).
        resumes: keeps a session that can be gone on with by id.
        local: runs a small local model; gets the light variant of a pack.
        in_run_pull: takes an MCP server by URL and bearer token for one run (``EngineTask.pulls``).
        permissions: the modes it can be held to.
        small_model: a small fast model of it, for work in the background ("" = not known).
        rests: has a quota: where it is used up, the engine is not asked before it comes back.
        memory_mb: what the processes of one run hold at their peak (0: none on this host).
        cores: how many cores one run keeps busy by itself (0: it mostly waits for its model).
        reads_files: it has tools to read files with; else what they hold stands in its pack.
    """

    system_prompt: bool = False
    resumes: bool = False
    local: bool = False
    in_run_pull: bool = False
    permissions: frozenset[Permission] = frozenset(("plan", "edit", "full"))
    small_model: str = ""
    rests: bool = True
    memory_mb: int = 250
    cores: float = 0.0
    reads_files: bool = True


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
    """How long one run may take, in seconds: without a sign of life, and in all.

    ``linger_s`` is what an engine gets from its closing event to its exit before it is ended;
    ``trouble_s`` takes the place of ``idle_s`` once it complained on its error output that it was
    refused (rate, quota, sign-in) and has said nothing since: some try again without end.
    """

    idle_s: float = 600.0
    total_s: float = 3600.0
    linger_s: float = 5.0
    trouble_s: float = 120.0


@dataclass(frozen=True, slots=True)
class PullAccess:
    """Where a run may Pull while it works: our loopback MCP server, and a token for this run."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EngineTask:
    """One question to one engine.

    Attributes:
        run_id: the run's mark: reaches every process as ``MOOT_RUN``.
        context: the pack's text without the prompt; may be empty (a follow-up in a session). What
            goes to a session that goes on must reach it with the prompt: a system text may be kept.
        prompt: the person's text (or the follow-up's).
        resume: the engine session to go on with, or empty for a new one.
        cwd: absolute path of the project folder.
        scratch: absolute path of the run's own folder (mode 0700) for files the CLI reads.
        pulls: where it may Pull in the run, for an engine with that trait; ``None``: by markers.
        passing: a job that needs no tools, and whose session nobody goes on with: an engine that
            can gives it none, and keeps nothing of it on disk.
        attempt: how often this was tried before in this run: each attempt is a session of its own.
        trusted_settings: what the project's folder holds of the engine's own settings (hooks, MCP
            servers, helpers, environment) may count. Where it is not, that is data of others.
        files: absolute paths of what people attached, all in one folder below ``scratch``: the
            run may read them, whatever its permission.
        out: absolute path of the folder where the run may put files for people, below ``scratch``;
            it reaches every process as ``MOOT_FILES``. "" where it may write nothing.
        asks: people can be asked while it works (``EngineRequest``). In the mode ``ask`` it always
            is so; in another one it is about the agent's questions only. Where it is not, tools
            that would wait for a person are switched off.
    """

    run_id: str
    context: str
    prompt: str
    cwd: str
    scratch: str
    permission: Permission = "plan"
    resume: str = ""
    model: str = ""
    pulls: PullAccess | None = None
    passing: bool = False
    asks: bool = False
    attempt: int = 0
    trusted_settings: bool = False
    files: tuple[str, ...] = ()
    out: str = ""

    @property
    def files_folder(self) -> str:
        """The absolute path of the folder that ``files`` are in; "" where there are none."""
        return self.files[0].rpartition("/")[0] if self.files else ""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders outside of the project: of files it was brought, and of those it makes."""
        return tuple(folder for folder in (self.files_folder, self.out) if folder)

    @property
    def mark(self) -> str:
        """Names this attempt: what a session's id may be made of."""
        return f"{self.run_id}-{self.attempt}" if self.attempt else self.run_id


@dataclass(frozen=True, slots=True)
class Spawn:
    """A process to start. ``argv[0]`` is a program's path; ``stdin`` is written, then closed.

    In a ``dialogue`` it stays open: what the reader has to send (``Reader.to_send``) is written
    after ``stdin`` and after everything that is read, until the reader has settled.

    ``env`` is what the engine adds to the allow-listed environment; ``unset`` are variables that
    are empty where the host sets none, so that no file of the project gives them a value;
    ``files`` are written below ``scratch`` before the start (relative name -> bytes).
    """

    argv: tuple[str, ...]
    cwd: str
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    dialogue: bool = False
    unset: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One thing an agent wants to know of people; ``options`` are (label, description) pairs.

    ``several``: more than one may be picked. An answer in one's own words is always possible.
    """

    text: str
    header: str = ""
    options: tuple[tuple[str, str], ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What an engine asks people for while it works; its run waits until it is decided.

    Attributes:
        id: the engine's own id of the request; unique within the run.
        kind: leave to do something, or the agent's own question (ask-user).
        tool: the tool's name, as the engine calls it.
        about: the command or path that says best what it is about, one line.
        detail: what to look at before deciding (input, diff, the engine's reason), plain text.
        scope: a stable key of what "for this session" would allow: a later request that falls
            under it has the same key. "" where this cannot be allowed for a session.
        scope_label: the same in words for people.
        questions: of a ``question``; else empty.
        same: a key of what would be done, without the words around it (a description, a reason):
            the same request, asked again after a restart, has the same. "": all that is shown.
    """

    id: str
    kind: Literal["permission", "question"] = "permission"
    tool: str = ""
    about: str = ""
    detail: str = ""
    scope: str = ""
    scope_label: str = ""
    questions: tuple[AskedQuestion, ...] = ()
    same: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person (or a setting) decided of an ``EngineRequest``.

    ``answers`` are, for each question in order, what was picked or written; with ``deny`` nobody
    answers. ``note`` is a word to the agent ("nobody answered in time", a person's reason).
    """

    request_id: str
    choice: Literal["once", "session", "deny", "answer"]
    answers: tuple[tuple[str, ...], ...] = ()
    by: str = ""
    note: str = ""


EngineEventKind = Literal[
    "started",
    "delta",
    "message",
    "thinking",
    "tool_start",
    "tool_end",
    "usage",
    "retry",
    "warning",
    "compacted",
    "request",
    "withdrawn",
]


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """What an engine says while it works.

    ``text`` is the words (delta, message, thinking, warning; a delta without any and named "anew"
    says that the text is begun once more), the session id (started), a short
    description (tool_start: the command or path) or what set it off (compacted: the engine has
    replaced the older part of its session by a summary). ``name`` is the tool's name. A
    ``request`` waits for a person's ``Verdict``; one that is ``withdrawn`` (by its ``id``) waits no
    more.
    """

    kind: EngineEventKind
    text: str = ""
    name: str = ""
    id: str = ""
    ok: bool = True
    request: EngineRequest | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one run, as the engine told them; zero where it did not.

    ``session_cost_usd`` is what the engine session came to so far, this run included, where an
    engine tells that: of a run that goes on with a session ``cost_usd`` is then worked out when it
    is settled, and 0 before.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    session_cost_usd: float = 0.0


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
    "3:40 PM" when a quota error tells it, ``reset_s`` the same in UTC seconds where that can be
    computed (0.0: not); ``fix`` what helps, where the engine knows it; ``ours`` says that it is no
    matter of the engine's, and ``fix`` all there is to say. ``in_use``: another process
    has the session that was to be gone on with, so nothing was asked.
    """

    kind: OutcomeKind
    text: str = ""
    detail: str = ""
    session: str = ""
    usage: Usage = Usage()
    unclean: bool = False
    reset_at: str = ""
    fix: str = ""
    in_use: bool = False
    reset_s: float = 0.0
    ours: bool = False


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """A line of ``moot engines``. ``signed_in`` is ``None`` when it cannot be told.

    ``kind`` is which CLI it is, where the settings call it otherwise ("": as ``name`` says).
    """

    name: str
    installed: bool
    version: str
    signed_in: bool | None
    path: str
    detail: str = ""
    kind: str = ""

    @property
    def command(self) -> str:
        """What to start in a terminal to sign in to it: this very account's program."""
        return self.path if self.kind and self.path else self.name


@dataclass(frozen=True, slots=True)
class TerminalSession:
    """A session that the engine keeps on this host, whoever began it.

    ``at`` is when it was last used, in seconds since the epoch; ``about`` the first words that a
    person said in it, as they were written ("" when they cannot be told): what others wrote, to be
    framed wherever it is shown. At most 4,000 characters, so that secrets in it are whole when
    they are taken out, which is before it is cut to be shown.
    """

    id: str
    at: float
    about: str = ""
