"""What people may mean: the intentions behind what they type, and the names that they may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.errors import BadInput
from core.model import Order, Participant, Permission
from core.tongue import say


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to one participant ("" = the default one), maybe ``about`` one message."""

    prompt: str
    engine: str = ""
    persona: str = ""
    model: str = ""
    mode: str = ""
    budget_chars: int = 0
    permission: Permission | None = None
    about: int = 0


@dataclass(frozen=True, slots=True)
class Convene:
    """A roundtable; what is empty, 0 or ``None`` stands for the preset's or the settings' own.

    A ``synthesizer`` of ``NOBODY`` means that nobody sums up.
    """

    topic: str
    seats: tuple[Participant, ...] = ()
    rounds: int = 0
    mode: str = ""
    order: Order | None = None
    preset: str = ""
    synthesizer: Participant | None = None
    early_stop: bool | None = None
    budget_chars: int = 0
    permission: Permission | None = None


NOBODY = Participant("")


@dataclass(frozen=True, slots=True)
class Mode:
    """The conversation's own pack mode: shown (``None``), set, or (``""``) given back."""

    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End what runs and waits here."""


@dataclass(frozen=True, slots=True)
class Next:
    """Skip who speaks now at a roundtable; ``name`` one of them ("" = all)."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """What runs and waits here."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a run saw; ``run`` is an id, its beginning, or "" for the newest."""

    run: str = ""


@dataclass(frozen=True, slots=True)
class Home:
    """A person's own page, for their eyes alone."""


@dataclass(frozen=True, slots=True)
class RightsShown:
    """What agents may do here for the one who types it, and why."""


@dataclass(frozen=True, slots=True)
class Help:
    """What can be typed; ``page`` is "" or ``plans``."""

    page: str = ""


class NoTopic(BadInput):
    """A roundtable without a topic: a form can ask for it, with what was ``said`` filled in."""

    def __init__(self, said: Convene) -> None:
        super().__init__(
            say(
                "What is the roundtable about? For example: `!rt SQL or files for the audit log? "
                "--with architect:claude,critic:codex --rounds 2`."
            )
        )
        self.said = said


@dataclass(frozen=True, slots=True)
class Names:
    """What exists, so that a typing error is told at once: engines, personas, presets by name."""

    engines: frozenset[str] = frozenset()
    personas: frozenset[str] = field(default_factory=frozenset[str])
    presets: frozenset[str] = field(default_factory=frozenset[str])
