"""The one door: who may act. Rights come from who acts, never from what is written."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import NotAllowed
from core.model import Author, Permission
from core.permissions import ceiling
from core.words import literal


class Door:
    """Decides by ``[access] allow``; closed by default.

    ``approvers`` may decide what agents ask leave for (empty: every member who may use Moot and may
    have more than files read); ``at_most`` is what a person's own questions may lead to
    (``core.permissions.ceiling``).
    """

    def __init__(
        self,
        allow: tuple[str, ...],
        approvers: tuple[str, ...] = (),
        at_most: Mapping[str, Permission] | None = None,
    ) -> None:
        self._allow = frozenset(allow)
        self._approvers = frozenset(approvers)
        self._at_most = dict(at_most or {})

    def allows(self, author: Author) -> bool:
        """Whether this person may start, stop and read; bots and agents never may."""
        if author.kind != "human":
            return False
        if self._allow.intersection(author.grants):
            return True
        return "*" in self._allow and author.trusted

    def ceiling(self, author: Author) -> Permission | None:
        """What this person's questions may lead to at most; ``None``: what the channel allows."""
        return ceiling(self._at_most, author.grants, trusted=author.trusted)

    def why_ceiling(self, author: Author) -> str:
        """Which entry sets that ceiling; "" where there is none."""
        most = self.ceiling(author)
        names = (*author.grants, *(("*",) if author.trusted else ()))
        entry = next((name for name in names if self._at_most.get(name) == most), "")
        if most is None or entry:
            return f'`[permissions.at_most] "{entry}"`' if entry else ""
        return "as a guest whom `[permissions.at_most]` does not name"

    def check_decides(self, author: Author) -> None:
        """Let through who may decide what an agent asks leave for, or raise.

        Raises:
            NotAllowed: says whom to add where.
        """
        self.check(author)
        name, grant = literal(author.name), author.grants[0] if author.grants else author.id
        if self._approvers:
            named = self._approvers.intersection(author.grants)
            if named or ("*" in self._approvers and author.trusted):
                return
            raise NotAllowed(
                f"{name} may not decide this: [permissions] approvers in moot.toml names who may. "
                f'To let them, add "{grant}" there and restart Moot.'
            )
        if self.ceiling(author) == "plan":
            raise NotAllowed(
                f"{name} may not decide this: guests, and whoever may only have files read, do "
                f'not. To let them, add "{grant}" to [permissions] approvers in moot.toml and '
                "restart Moot."
            )

    def erases(self, author: Author) -> bool:
        """Whether this person may have forgotten what others said: only who is named for deciding.

        Unlike for ``check_decides`` an empty list names nobody.
        """
        named = self._approvers.intersection(author.grants)
        return self.allows(author) and bool(named or ("*" in self._approvers and author.trusted))

    def check(self, author: Author) -> None:
        """Let through or raise.

        Raises:
            NotAllowed: says whom to add where.
        """
        if self.allows(author):
            return
        name = literal(author.name)
        grant = author.grants[0] if author.grants else author.id
        if "*" in self._allow and not author.trusted:
            raise NotAllowed(
                f"{name} is a guest, from another workspace, or could not be looked up, so "
                f'"*" does not cover them. To let them in, add "{grant}" to [access] allow in '
                "moot.toml and restart Moot."
            )
        nobody = " Nobody is on the list yet." if not self._allow else ""
        raise NotAllowed(
            f"{name} may not use Moot here.{nobody} "
            f'To let them in, add "{grant}" to [access] allow in moot.toml and restart Moot.'
        )
