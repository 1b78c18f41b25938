"""What an agent may do here for one person, and why: for people to read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.access import Door
from core.model import PERMISSIONS, Author, Permission, Project
from core.permissions import held_to, lowest
from core.tongue import say, to_say
from core.turns.asked import MEANING
from core.words import literal

HOW = to_say(
    "Set in moot.toml by whoever runs Moot (docs/how-to/permissions.md); "
    "`--permission plan` at a question lowers it for that one, and nothing that is said raises it."
)


@dataclass(frozen=True, slots=True)
class RightsRules:
    """What holds everywhere: the most at a roundtable, and whether people can be asked.

    ``able`` are the modes that each engine can be held to.
    """

    roundtable: Permission = "plan"
    attended: bool = True
    able: Mapping[str, frozenset[Permission]] = field(
        default_factory=dict[str, frozenset[Permission]]
    )


@dataclass(frozen=True, slots=True)
class Rights:
    """What counts for one person in one channel; ``asker`` is their own limit, ``why`` its key."""

    project: Project
    name: str
    asker: Permission | None
    why: str
    engine: str
    rules: RightsRules = field(default_factory=RightsRules)

    def allowed(self, own: Permission | None = None, *, table: bool = False) -> Permission:
        """The lowest of channel, asker, question (``own``) and roundtable."""
        at_table = self.rules.roundtable if table else None
        mode = lowest(self.project.permission, self.asker, own, at_table) or "plan"
        return "plan" if mode == "ask" and not self.rules.attended else mode

    @property
    def in_force(self) -> Permission | None:
        """What the usual engine runs in; ``None``: it cannot be held to so little."""
        able = self.rules.able.get(self.engine)
        return self.allowed() if able is None else held_to(self.allowed(), able)


def rights_of(
    door: Door, project: Project, author: Author, engine: str, rules: RightsRules
) -> Rights:
    """What counts for this person in a channel of that project."""
    own, why = door.ceiling(author), door.why_ceiling(author)
    return Rights(project, author.name, own, why, engine, rules)


def say_short(rights: Rights) -> str:
    """One line for ``!status`` and ``!context``."""
    told = say(
        "🔒 Agents may here, for {name}: {in_force}",
        name=literal(rights.name, 40),
        in_force=_in_force(rights),
    )
    return say("{told} {cause}. `!permission` shows why.", told=told, cause=_cause(rights))


def say_rights(rights: Rights) -> str:
    """What ``!permission`` answers: the mode in force, and each limit with where it is set."""
    project, rules = rights.project, rights.rules
    lines = [
        say(
            "🔒 **In force here for {name}:** {in_force}",
            name=literal(rights.name, 40),
            in_force=_in_force(rights),
        ),
        "",
        say(
            "- this channel: **{permission}**, by {channel_key}",
            permission=project.permission,
            channel_key=channel_key(project),
        ),
        f"- {literal(rights.name, 40)}: {_asker(rights)}",
        say(
            "- at a roundtable: at most **{roundtable}**, by `[permissions] roundtable`",
            roundtable=rules.roundtable,
        ),
        f"- {literal(rights.engine, 40)}: {_engine(rights)}",
    ]
    if not rules.attended:
        lines.append(say("- nobody can be asked here, so **ask** means **plan**"))
    lines += ["", say("The lowest counts. {how}", how=say(HOW))]
    return "\n".join(lines)


def say_lowered(rights: Rights) -> str:
    """What a conversation is told once: somebody's questions may do less than the channel allows.

    Without a name: it is told in front of everybody, and the next one may be held to it as well.
    """
    mode = rights.asker or "plan"
    return say(
        "🔒 This runs in **{mode}** ({meaning}): {whose}, though the channel allows "
        "**{permission}**. `!permission` shows why.",
        mode=mode,
        meaning=say(MEANING[mode]),
        whose=_whose(rights),
        permission=rights.project.permission,
    )


def channel_key(project: Project) -> str:
    """The setting that says what a channel allows."""
    if project.set_by:
        return f"`{project.set_by} permission`"
    return say("default, for no project lists it") if project.own else say("its project")


def _in_force(rights: Rights) -> str:
    mode = rights.in_force
    if mode is None:
        return say(
            "nothing: {engine} cannot be held to **{allowed}**",
            engine=literal(rights.engine, 40),
            allowed=rights.allowed(),
        )
    return f"**{mode}** ({say(MEANING[mode])})"


def _cause(rights: Rights) -> str:
    """Which limit decides."""
    if rights.in_force != rights.allowed():
        return say(
            "since {engine} cannot be held to **{allowed}**",
            engine=literal(rights.engine, 40),
            allowed=rights.allowed(),
        )
    if rights.asker is not None and rights.asker == rights.allowed() != rights.project.permission:
        return say("by {why}", why=rights.why)
    if rights.allowed() != rights.project.permission:
        return say("since nobody can be asked here")
    return say("by {channel_key}", channel_key=channel_key(rights.project))


def _asker(rights: Rights) -> str:
    if rights.asker is None:
        return say("no limit of their own (`[permissions.at_most]` names them in no entry)")
    return say("at most **{asker}**, {why}", asker=rights.asker, why=rights.why)


def _whose(rights: Rights) -> str:
    if rights.why.startswith("`"):
        return say("by {why}", why=rights.why)
    return say("guests are held to it")


def _engine(rights: Rights) -> str:
    able = rights.rules.able.get(rights.engine)
    if able is None or able.issuperset(PERMISSIONS):
        return say("can be held to every mode")
    modes = ", ".join(mode for mode in PERMISSIONS if mode in able)
    return say("can be held to {modes}", modes=modes)
