"""The one door: who may act, and where. Rights come from who acts, never from what is written.

Roles are given by ``[access]`` and, in place of these, by a channel's own ``access`` table.
``bridge.duties`` says what each act needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.bots import BotTerms, named
from bridge.duties import SETTINGS, Role, needed
from core.errors import NotAllowed
from core.model import Author, ConversationKey, Permission
from core.permissions import ceiling
from core.tongue import say
from core.words import literal

EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class Lists:
    """Who is what, by the names people answer to (``Author.grants``); ``"*"``: every member.

    ``"*"`` covers no guest and nobody from elsewhere. Among ``approvers`` it is whoever may ask
    there and is not held to ``plan``: it lets nobody in.
    """

    viewers: frozenset[str] = frozenset()
    allow: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset((EVERYBODY,))
    admins: frozenset[str] = frozenset()

    def named(self, role: Role) -> frozenset[str]:
        """The list that gives a role."""
        lists = (self.viewers, self.allow, self.approvers, self.admins)
        return lists[role - 1] if role else frozenset()


@dataclass(frozen=True, slots=True)
class Standing:
    """What somebody is in a place, and by which entry of which list.

    ``named``: by a name of theirs, not by ``"*"``.
    """

    role: Role
    entry: str = ""
    where: str = ""

    @property
    def named(self) -> bool:
        """Whether somebody wrote down this very person, a role or a group of theirs."""
        return self.entry not in ("", EVERYBODY)


_KEYS = {
    Role.VIEWER: "viewers",
    Role.RUNNER: "allow",
    Role.APPROVER: "approvers",
    Role.ADMIN: "admins",
}


@dataclass(frozen=True, slots=True)
class Place:
    """The lists that count in a place; ``own``: those that the channel gives itself."""

    lists: Lists
    channel: str = ""
    own: frozenset[str] = field(default_factory=frozenset[str])

    def where(self, role: Role) -> str:
        """The setting that holds the list of a role, as it is written in moot.toml."""
        key = _KEYS[role]
        return f'[channels."{self.channel}".access] {key}' if key in self.own else f"[access] {key}"


class Door:
    """Decides by the settings; closed by default.

    ``channels``: the lists that a channel has in place of the house's, by ``chat:channel``. The
    house's admins are admins everywhere. ``at_most`` is what a person's own questions may lead to
    (``core.permissions.ceiling``).
    """

    def __init__(
        self,
        allow: tuple[str, ...],
        approvers: tuple[str, ...] = (EVERYBODY,),
        at_most: Mapping[str, Permission] | None = None,
        *,
        viewers: tuple[str, ...] = (),
        admins: tuple[str, ...] = (),
        channels: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
        bots: Mapping[str, BotTerms] | None = None,
    ) -> None:
        self._house = Lists(*map(frozenset, (viewers, allow, approvers, admins)))
        self._channels = {
            name: _place(name, own, self._house) for name, own in (channels or {}).items()
        }
        self._at_most = dict(at_most or {})
        self._bots = dict(bots or {})

    # --- what somebody is --------------------------------------------------------------------

    def standing(self, author: Author, key: ConversationKey) -> Standing:
        """What this person is in the channel of ``key``; bots and agents are nobody."""
        if author.kind != "human":
            return Standing(Role.NOBODY)
        place = self.place(key)
        for role in (Role.ADMIN, Role.APPROVER, Role.RUNNER, Role.VIEWER):
            entry = self._entry(author, place.lists, role)
            if entry:
                return Standing(role, entry, place.where(role))
        return Standing(Role.NOBODY)

    def place(self, key: ConversationKey) -> Place:
        """The lists that count in the channel of ``key``."""
        return self._channels.get(f"{key.chat}:{key.channel}", Place(self._house))

    def _entry(self, author: Author, lists: Lists, role: Role) -> str:
        """The entry that gives ``role`` to somebody; "" for none."""
        there = lists.named(role)
        if found := next((name for name in author.grants if name in there), ""):
            return found
        if EVERYBODY not in there or not author.trusted:
            return ""
        if role is Role.APPROVER:
            runs = self._entry(author, lists, Role.RUNNER)
            return EVERYBODY if runs and self.ceiling(author) != "plan" else ""
        return EVERYBODY if role is not Role.ADMIN else ""

    def role(self, author: Author, key: ConversationKey) -> Role:
        """What this person may be in the channel of ``key``."""
        return self.standing(author, key).role

    # --- what they may do --------------------------------------------------------------------

    def allows(self, author: Author, key: ConversationKey, least: Role = Role.RUNNER) -> bool:
        """Whether this person has a role there (to ask, unless another one is named)."""
        return self.role(author, key) >= least

    def is_admin_everywhere(self, author: Author) -> bool:
        """Whether the house names this person as an admin, and not only some channel."""
        return author.kind == "human" and bool(self._house.admins.intersection(author.grants))

    def erases(self, author: Author, key: ConversationKey) -> bool:
        """Whether this person may have forgotten what others said there.

        Only an approver who is named: ``"*"`` lets members give leave, and erase nothing.
        """
        found = self.standing(author, key)
        return found.role is Role.ADMIN or (found.role is Role.APPROVER and found.named)

    def check(self, author: Author, key: ConversationKey, verb: str) -> None:
        """Let through who may do this here (a name of ``bridge.duties.NEEDS``), or raise.

        Raises:
            NotAllowed: says whom to add where. Also for what the table does not name.
        """
        least = needed(verb)
        if least is None:
            raise NotAllowed(say("Nobody may do this: Moot has no rule for “{verb}”.", verb=verb))
        if verb in SETTINGS and not self.place(key).lists.admins:
            least = Role.APPROVER
        self.check_role(author, key, least)

    def check_role(self, author: Author, key: ConversationKey, least: Role) -> None:
        """The same for a role. Raises as ``check``."""
        held = self.role(author, key)
        if held < least:
            raise NotAllowed(self._refusal(author, key, held, least))

    def check_decides(self, author: Author, key: ConversationKey) -> None:
        """Let through who may decide what an agent asks leave for. Raises as ``check``."""
        held = self.role(author, key)
        if held in (Role.VIEWER, Role.RUNNER):
            why = say(
                "{name} may not decide this: that needs the role approver, and theirs here is "
                "{held}.",
                name=literal(author.name, 60),
                held=held.called,
            )
            raise NotAllowed(f"{why} {self._how(author, key, Role.APPROVER)}")
        self.check_role(author, key, Role.APPROVER)

    def _refusal(self, author: Author, key: ConversationKey, held: Role, least: Role) -> str:
        place, name = self.place(key), literal(author.name, 60)
        if author.kind != "human":
            return say("{name} is no person, so it may not do this.", name=name)
        if held:
            why = say(
                "{name} may not do this: it needs the role {least}, and theirs here is {held}.",
                name=name,
                least=least.called,
                held=held.called,
            )
        elif not author.trusted and EVERYBODY in place.lists.allow | place.lists.viewers:
            why = say(
                "{name} is a guest, from another workspace, or could not be looked up, so "
                '"*" does not cover them.',
                name=name,
            )
        else:
            why = say("{name} may not use Moot here.", name=name)
        everyone = place.lists.viewers | place.lists.allow | place.lists.admins
        if not held and not everyone | (place.lists.approvers - {EVERYBODY}):
            why += " " + say("Nobody is on the list yet.")
        return f"{why} {self._how(author, key, max(least, Role.RUNNER))}"

    def _how(self, author: Author, key: ConversationKey, wanted: Role) -> str:
        return say(
            'To change that, whoever runs Moot adds "{grant}" to {list} in moot.toml and '
            "restarts it.",
            grant=author.grants[0] if author.grants else author.id,
            list=self.place(key).where(wanted),
        )

    # --- how far -----------------------------------------------------------------------------

    def bot(self, author: Author) -> BotTerms | None:
        """What another bot may ask, if ``[bots]`` names it; it may do nothing else."""
        return named(self._bots, author)

    def ceiling(self, author: Author) -> Permission | None:
        """What this person's questions may lead to at most; ``None``: what the channel allows."""
        if author.kind != "human":
            terms = self.bot(author)
            return terms.at_most if terms else "plan"
        return ceiling(self._at_most, author.grants, trusted=author.trusted)

    def why_ceiling(self, author: Author) -> str:
        """Which entry sets that ceiling; "" where there is none."""
        most = self.ceiling(author)
        names = (*author.grants, *((EVERYBODY,) if author.trusted else ()))
        entry = next((name for name in names if self._at_most.get(name) == most), "")
        if most is None or entry:
            return f'`[permissions.at_most] "{entry}"`' if entry else ""
        return say("as a guest whom `[permissions.at_most]` does not name")


def _place(name: str, own: Mapping[str, tuple[str, ...]], house: Lists) -> Place:
    """A channel's lists: its own where it has one, else the house's; the house's admins stay."""
    lists = Lists(
        viewers=frozenset(own.get("viewers", house.viewers)),
        allow=frozenset(own.get("allow", house.allow)),
        approvers=frozenset(own.get("approvers", house.approvers)),
        admins=house.admins | frozenset(own.get("admins", ())),
    )
    return Place(lists, name, frozenset(own))
