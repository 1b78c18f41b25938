"""An agent's answer as the messages of one platform. Pure."""

from __future__ import annotations

from core.markup.flow import Dialect, to_atoms
from core.markup.measure import graphemes, visible, well_formed
from core.markup.parse import parse
from core.markup.split import Limit, Piece, pieces
from core.markup.tree import Block, Rule

_LONGEST_LABEL = 80


def render(markdown: str, label: str, dialect: Dialect, limit: Limit) -> tuple[str, ...]:
    """The texts of ``render_pieces``."""
    return tuple(piece.text for piece in render_pieces(markdown, label, dialect, limit))


def render_pieces(markdown: str, label: str, dialect: Dialect, limit: Limit) -> tuple[Piece, ...]:
    """The messages, in order, each within ``limit`` with all that is put around the text.

    ``label`` (plain text) stands in bold on a line of its own above every message, with ``(2/5)``
    behind it when there are several; without a label nothing is added. Empty when nothing visible
    is left of the text. Their marks are the tables that stand by themselves.
    """
    blocks = _trimmed(parse(markdown))
    if not blocks:
        return ()
    atoms = list(to_atoms(blocks, dialect))
    if not atoms:
        return ()
    name = _name(label, dialect, limit)
    if not name:
        return tuple(pieces(atoms, limit))
    size = limit.unit.size
    digits = len(str(sum(size(atom.text) for atom in atoms) // limit.size))
    while True:
        # The longest head any message will have, so that numbering cannot push one over the limit.
        made = pieces(atoms, limit, size(_head(name, "9" * digits, "9" * digits, dialect)))
        if len(str(len(made))) <= digits:
            break
        digits += 1
    if len(made) == 1:
        return (_below(_head(name, "", "", dialect), made[0]),)
    count = str(len(made))
    return tuple(
        _below(_head(name, str(at), count, dialect), piece) for at, piece in enumerate(made, 1)
    )


def _below(head: str, piece: Piece) -> Piece:
    by = len(head)
    marks = (mark._replace(start=mark.start + by, end=mark.end + by) for mark in piece.marks)
    return Piece(head + piece.text, tuple(marks))


def _head(name: str, number: str, count: str, dialect: Dialect) -> str:
    part = f" ({number}/{count})" if count else ""
    mark = dialect.marks["bold"]
    return f"{mark}{name}{part}{mark}\n"


def _name(label: str, dialect: Dialect, limit: Limit) -> str:
    """The label as one escaped line that leaves most of a message to the text."""
    text = " ".join(well_formed(label).split())
    if not visible(text):
        return ""
    letters = graphemes(text)
    for length in range(min(len(letters), _LONGEST_LABEL), 0, -1):
        shown = "".join(letters[:length]) + ("…" if length < len(letters) else "")
        name = dialect.literal(shown)
        if limit.unit.size(name) <= limit.size // 4:
            return name
    return ""


def _trimmed(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without lines across at the ends: they divide nothing."""
    while blocks and isinstance(blocks[0], Rule):
        blocks = blocks[1:]
    while blocks and isinstance(blocks[-1], Rule):
        blocks = blocks[:-1]
    return blocks
