"""What intake goes by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bridge.commands import Names
from bridge.languages import Languages
from bridge.line import Line
from bridge.often import Counter
from bridge.recalls import Recalls
from bridge.rights import RightsRules
from bridge.shortcuts import Targets
from bridge.tables import Tables
from bridge.team_acts import Ground
from bridge.terminals import Terminals
from bridge.usage_acts import Counting
from core.model import Participant


@dataclass(frozen=True, slots=True)
class IntakePolicy:
    """What intake needs of the settings."""

    names: Names
    default_seat: Participant
    tables: Tables
    ground: Ground
    mode: str
    queue_limit: int
    terminals: Terminals
    counting: Counting = field(default_factory=Counting)
    line: Callable[[], Line] = Line
    rights: RightsRules = field(default_factory=RightsRules)
    recalls: Recalls = field(default_factory=Recalls)
    languages: Languages = field(default_factory=Languages)
    targets: Targets = field(default_factory=Targets)
    own_engines: frozenset[str] = frozenset()
    reactions: bool = False
    often: Counter = field(default_factory=Counter)
    whispers: frozenset[str] = frozenset()  # chats that can answer a message's author alone
    memory: Callable[[], str] = str  # what is wrong with it, in a line; "": nothing
