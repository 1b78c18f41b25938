"""What is sent to a platform, and what is owed to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from core.model.work import Conversation

ButtonStyle = Literal["plain", "primary", "danger"]


@dataclass(frozen=True, slots=True)
class Button:
    """``action`` is ``verb:argument`` (at most 80 characters) and comes back as a button event.

    With ``options``, (value, label) pairs, at most 25, it is a menu with ``label`` as its prompt:
    what is chosen comes back as ``action`` with ``:value`` behind it. A button that is ``over``
    is shown and cannot be pressed (where a platform has no such buttons, it is not shown).
    """

    action: str
    label: str
    style: ButtonStyle = "plain"
    options: tuple[tuple[str, str], ...] = ()
    over: bool = False


@dataclass(frozen=True, slots=True)
class OutFile:
    """A file that goes with a post: ``path`` is our own copy of it, ``name`` what readers see.

    ``aside``: it holds code of the answer itself, which is posted as text where it cannot go.
    """

    name: str
    path: Path
    size: int
    mime: str = ""
    aside: bool = False


FieldKind = Literal["line", "paragraph", "choice", "choices"]


@dataclass(frozen=True, slots=True)
class Field:
    """One thing a form asks for.

    ``options`` (choice, choices) are (value, label) pairs, at most 25, a label and a value of at
    most 75 characters each; ``value`` is what stands there at first (for ``choices``: the values,
    one a line). ``hint`` is one line of help, at most 100 characters; a label has at most 45.
    ``at_least`` and ``at_most`` say how many of ``choices`` may be picked.
    """

    name: str
    label: str
    kind: FieldKind = "line"
    value: str = ""
    options: tuple[tuple[str, str], ...] = ()
    optional: bool = False
    hint: str = ""
    at_least: int = 1
    at_most: int = 25


@dataclass(frozen=True, slots=True)
class Form:
    """What a platform shows as a modal; comes back as a ``form`` event with ``command``.

    Platforms take at most five fields (Discord); names are unique within a form. ``title`` and
    ``submit`` have at most 24 characters. ``context`` comes back as the event's ``text``; where it
    is too long for a platform, the form cannot be shown there.
    """

    command: str
    title: str
    submit: str
    fields: tuple[Field, ...]
    context: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The immediate answer to a command, a button or a form, for the one who acted only. Markdown.

    With a ``form`` the platform opens that instead of showing ``text``; where it cannot, ``text``
    says how to type the same. ``errors`` (to a form; plain text by field name) mean that nothing
    was done: the form stays open with what was filled in, or, where it cannot, ``text`` says what
    is wrong and repeats what was filled in. ``options`` (to a ``complete`` event) are (value,
    label) pairs, at most 25.
    """

    text: str
    buttons: tuple[Button, ...] = ()
    form: Form | None = None
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    options: tuple[tuple[str, str], ...] = ()


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
        files: what goes with it, within ``ChatLimits``; one that the platform refuses is named in
            the error, and the text is posted without it.
        stream: who reads along (``Author.id``), for a message that is to grow (``Streams``);
            ``text`` is what it begins with.
    """

    nonce: str
    text: str
    buttons: tuple[Button, ...] = ()
    opens: bool = False
    title: str = ""
    tried_at: float | None = None
    known_ids: frozenset[str] = frozenset()
    files: tuple[OutFile, ...] = ()
    stream: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """What a post became: its id, and the root of the thread it is in (new if it opened one).

    ``lost`` are (name, why) of files that the platform refused; the text is posted all the same.
    """

    message_id: str
    root: str
    lost: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """``post_units`` counts as the platform counts (see each adapter's ``render``).

    ``edit_interval_s`` lies between two edits in one thread, ``edit_gap_s`` between any two.
    """

    post_units: int
    edit_interval_s: float
    file_bytes: int = 0  # of one file that is posted; 0: no files here
    files: int = 10  # with one post
    edit_gap_s: float = 0.0
    redelivers_s: float = 0.0  # what nobody took for so long is brought again without being asked
    history_pace_s: float = 0.0  # between two looks at the histories of places
    whispers: bool = False  # a reply to a message can be shown to its author alone


@dataclass(frozen=True, slots=True)
class Check:
    """One line of ``moot doctor``: a failing one ends with ``fix``, something a person can do."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Secret:
    """A token that a platform needs: ``key`` in its settings, what it is called there.

    ``begins`` is how every such token begins ("" where that is not so), ``where`` says where to
    find it (Markdown).
    """

    key: str
    name: str
    begins: str
    where: str


OutgoingOp = Literal["post", "edit", "delete"]
OutgoingKind = Literal["answer", "notice", "header", "pull", "status", "live", "request"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Something owed to a platform. ``target_message`` is the message an edit or deletion means.

    A post with ``live`` takes the place of that message, which shows its words already; one with
    ``stream`` begins a message that grows (``Post.stream``).
    """

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
    files: tuple[OutFile, ...] = ()
    live: str = ""
    stream: str = ""
