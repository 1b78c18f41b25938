"""The one door: who may act. Rights come from who acts, never from what is written."""

from __future__ import annotations

from core.errors import NotAllowed
from core.model import Author
from core.words import literal


class Door:
    """Decides by ``[access] allow``; closed by default."""

    def __init__(self, allow: tuple[str, ...]) -> None:
        self._allow = frozenset(allow)

    def allows(self, author: Author) -> bool:
        """Whether this person may start, stop and read; bots and agents never may."""
        if author.kind != "human":
            return False
        if self._allow.intersection(author.grants):
            return True
        return "*" in self._allow and author.trusted

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
