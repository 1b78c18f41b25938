"""What an agent is told, and where it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.model.memory import Near
from core.model.places import ConversationKey
from core.model.work import Conversation, Message, Missing, Order, Participant, Permission

Mode = Literal["lite", "standard", "full"]
Recall = Literal["project", "channel", "conversation"]
"""What a question draws from at most: its project's public channels, its channel, or itself."""
Variant = Literal["hosted", "light"]
"""Which of the two packs of a round: engines that run a small local model get the light one."""
DeliveryMode = Literal["hybrid", "push"]
"""Whether what can be pulled (tier 2) is only announced, or told."""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled block of a pack, as granted.

    ``granted`` and ``used`` are characters; ``cut`` says what was left out and why ("" = whole).
    ``shared`` sections are byte-identical for all participants of a round. ``hash`` is of the whole
    section as it is for this step; of it, ``known`` characters are not in ``text`` since the
    engine's session was told them before (delta delivery).
    """

    name: str
    tier: int
    text: str
    granted: int
    used: int
    hash: str
    cut: str = ""
    shared: bool = True
    known: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """A piece of the conversation as a pack holds it; by it a session's knowledge is compared.

    Attributes:
        id: the message's record id; 0 for what is no message (a mark of ours at the end).
        section: ``recent`` or ``latest``; ``prompt`` for the message being answered, whose text
            is the pack's prompt.
        text: as it stands in the section ("" for the prompt).
        whole / shown: digests of the message as it is and of what is shown of it; equal when
            nothing is left out.
        gap: the mark that stands before it, for messages left out there ("" = none).
    """

    id: int
    section: str
    text: str
    whole: str = ""
    shown: str = ""
    gap: str = ""


@dataclass(frozen=True, slots=True)
class ContextPack:
    """What one run is told, and why; explains itself (``dropped``, ``notes``, ``reason``).

    Attributes:
        prompt: never cut.
        message_ids: record ids of the messages whose text is told.
        announced: sections that are not told since the engine can Pull them.
        conversation: the pieces of ``recent`` and ``latest``, in order, and the prompt's message.
        budget_from: whose budget it is: ``request``, ``channel``, ``engine``, ``light``, ``tokens``
            ``reduced`` or ``default``.
        token_factor: what estimated tokens are corrected by for this engine.
        delta: only what the engine's session does not know yet (``known_ids``: messages of the
            whole pack that are withheld; ``gone``: sections that it was told before and that are
            no more).
        resumed: it goes to a session that goes on.
    """

    mode: Mode
    reason: str
    budget_chars: int
    sections: tuple[Section, ...]
    prompt: str
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    message_ids: tuple[int, ...] = ()
    delivery: DeliveryMode = "hybrid"
    variant: Variant = "hosted"
    announced: tuple[str, ...] = ()
    conversation: tuple[Told, ...] = ()
    budget_from: str = "default"
    token_factor: float = 1.0
    delta: bool = False
    known_ids: tuple[int, ...] = ()
    gone: tuple[str, ...] = ()
    resumed: bool = False

    @property
    def context(self) -> str:
        """The sections' texts, in order, one blank line between."""
        return "\n\n".join(s.text for s in self.sections if s.text)

    @property
    def chars(self) -> int:
        """Characters sent in all, the prompt included."""
        return len(self.context) + len(self.prompt)


@dataclass(frozen=True, slots=True)
class ParitySeat:
    """A participant in one round of a roundtable: sizes in characters.

    ``chars`` were sent; ``known`` is what it was not sent again, since its session had it.
    """

    name: str
    run: str
    variant: str
    mode: str
    budget: int
    chars: int
    known: int
    delta: bool


@dataclass(frozen=True, slots=True)
class ParityPart:
    """A section as ``who`` (numbers of seats) know it: its whole size and digest ("" = none)."""

    name: str
    size: int
    hash: str
    who: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parity:
    """What the participants of one round were told, side by side.

    ``shared`` sections should be one part each; those that are not are in ``differed``, and
    ``reasons`` names what is not the same for all of them (variant, mode, delivery, budget).
    ``synthesis``: it is the one who sums up, after the last round.
    """

    round: int
    seats: tuple[ParitySeat, ...]
    shared: tuple[ParityPart, ...]
    own: tuple[ParityPart, ...]
    differed: tuple[str, ...]
    reasons: tuple[str, ...]
    synthesis: bool = False


@dataclass(frozen=True, slots=True)
class Project:
    """Where a channel's engines work: an absolute path, and what they may do there.

    ``own`` folders belong to Moot and are made on demand; others must exist. ``set_by`` is the
    table of the settings that says what they may do ("": none does). ``trust_settings``: what the
    folder holds of an engine's own settings (hooks, servers, helpers, environment) counts.
    ``half_life_days``: the age at which what was said counts half as much when it is looked for
    (0: age does not count).
    """

    name: str
    path: str
    permission: Permission = "plan"
    own: bool = False
    trust_settings: bool = False
    set_by: str = field(default="", compare=False)
    half_life_days: float = field(default=0.0, compare=False)


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
    the rest ("" = none). ``available`` is what hybrid delivery says instead of the parts, one line
    of ours: what is there and how much (``214 messages of this channel``). The first ``always``
    parts are told in every mode (what a roundtable settled), the others in the section's own.
    ``unread``: what is there was only counted, since no pack was to tell it (``Scene.pushes``).
    """

    parts: tuple[str, ...]
    pull: str = ""
    available: str = ""
    always: int = 0
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """What a source found for one round: a candidate per section it feeds, and notes."""

    candidates: Mapping[str, Candidate] = field(default_factory=dict[str, Candidate])
    notes: tuple[str, ...] = ()


def no_address(_key: ConversationKey, _message_id: str) -> str:
    """Nothing can be opened."""
    return ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What sources are asked about, and whose eyes they look with.

    What they find must be something that both the asker and everybody in the conversation's
    channel may see (``core.records.scope``); nothing in ``prompt`` or a query widens that.

    Attributes:
        prompt: the question (or a roundtable's topic).
        mode: the mode that was asked for, or "".
        project_channels: ``chat:channel`` of the channels that belong to the project; with ``"*"``
            all others belong to it too, but for those that stand here as ``!chat:channel``.
        recall: what the settings of the channel open at most.
        asker_key / asker_trusted: as on the turn.
        turn_id / prompt_message_id: what is being answered; ``rounds`` > 0 for a roundtable.
        personas: who sits at the table (``reviewer`` makes it a review).
        shown: ids of the messages that the recent conversation may hold.
        near: what memory found by meaning for ``prompt`` or for the Pull that is answered; ``None``
            where it was not asked or did not answer in time (keywords only).
        pushes: whether a pack may tell what is offered of tier 2, and not only announce it.
        address: where a thread, or a message of it, is opened on its platform; "" for nowhere.
    """

    conversation: Conversation
    project: Project
    prompt: str
    turn_id: int
    prompt_message_id: int
    rounds: int = 0
    mode: str = ""
    project_channels: tuple[str, ...] = ()
    recall: Recall = "project"
    asker_key: str = ""
    asker_trusted: bool = False
    personas: tuple[str, ...] = ()
    shown: frozenset[int] = frozenset()
    near: Near | None = None
    pushes: bool = True
    address: Callable[[ConversationKey, str], str] = field(default=no_address, compare=False)


@dataclass(frozen=True, slots=True)
class Brought:
    """A file of a message, as one run has it.

    Attributes:
        message_id: the record id of the message that it was attached to.
        name: what whoever sent it called it (data).
        size: in bytes, as far as it is known.
        file: its name in the run's folder for files ("" = it is not there).
        why: why it is not there, in words of ours.
        text: what stands in it, or its beginning, for an engine that reads no files.
        left_chars: how much of that is left out.
        note: what is to be known of it beside its name, in words of ours.
    """

    message_id: int
    name: str
    size: int = 0
    file: str = ""
    why: str = ""
    text: str = ""
    left_chars: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What is asked of ``build_context_pack``.

    Attributes:
        prompt: the text being answered, sent whole.
        prompt_message_id: its record id; it is never repeated in the history.
        participant: who will answer.
        persona_text: the persona's role document ("" = none).
        mode: an explicit override, or "".
        topic / round / rounds: for a roundtable (rounds > 0); round counts from 0, and the one
            after the last is the synthesis.
        order / positions: how the roundtable goes; where its participants stood in the end.
        can_pull / pull_kinds: whether the engine may ask for more by markers, and for what.
        in_run: it may ask for the same kinds while it works, by a tool.
        asker: the name of the one whose prompt it is ("" = not told).
        delivery: whether tier 2 is told, or only announced where it can be pulled.
        variant: ``light`` for engines that run a small local model.
        budget_tokens: a cap in estimated tokens beside ``budget_chars`` (0 = none); the smaller
            of the two wins.
        budget_from: whose budget it is, for the receipt.
        token_factor: what the estimate is corrected by for this engine.
        ruled: what people decided, while no process was there to hear it, of what the agent had
            asked for in an earlier attempt; a line each, safe to be shown.
        about: the message that the question is about, where it is one in particular.
        files / files_folder: what people attached to the messages told, and the absolute path of
            the folder that they are in for this run.
        out_folder: the absolute path of the folder for files that are to reach people ("": none).
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
    delivery: DeliveryMode = "hybrid"
    variant: Variant = "hosted"
    budget_tokens: int = 0
    budget_from: str = "default"
    token_factor: float = 1.0
    in_run: bool = False
    order: Order = "sequential"
    positions: tuple[str, ...] = ()
    ruled: tuple[str, ...] = ()
    files: tuple[Brought, ...] = ()
    about: Message | None = None
    files_folder: str = ""
    out_folder: str = ""


@dataclass(frozen=True, slots=True)
class PackFacts:
    """What was loaded for a round: the same object serves every participant of it.

    ``messages`` are oldest first and hold what may be shown; ``message_count`` is how many the
    conversation has in all. ``sources`` maps a section's name to what its source found. ``fresh``
    are messages that came after the shared facts of the round were loaded (this round's earlier
    answers, people who spoke up): they are shown in the participant's own part, so that the shared
    part stays the same for everybody. ``absent`` names participants who gave no answer to this
    turn and why, in a few words of ours ("quota", "timed out"); their error text is nobody's
    opinion and is not shown. ``missing`` is what of the thread was never read.
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
    missing: tuple[Missing, ...] = ()
