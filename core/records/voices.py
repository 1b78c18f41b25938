"""What was said in voice messages. Every function is part of its caller's transaction."""

from __future__ import annotations

from core.records import changes, derived, indexing
from core.records.tables import AttachmentRow, MessageRow, TurnRow


def told_of_voices(conversation_id: int) -> bool:
    """Whether the thread was told before that nobody writes voice messages down."""
    told = (AttachmentRow.conversation == conversation_id) & (AttachmentRow.heard == "-")
    return AttachmentRow.select().where(told).exists()


def note_unheard(attachment_id: int) -> None:
    """Nobody wrote down what is said in it, and the thread knows."""
    AttachmentRow.change(attachment_id, heard="-")


def note_heard(turn_id: int, message_id: int, attachment_id: int, text: str) -> bool:
    """A voice message says ``text``: from now on that is what its speaker said, and asked.

    False, and nothing is written, when it was deleted or written down before.
    """
    row = MessageRow.get_by_id(message_id)
    sound = AttachmentRow.get_or_none(AttachmentRow.id == attachment_id)
    if row.deleted_at is not None or sound is None or sound.heard not in ("", "-"):
        return False
    AttachmentRow.change(attachment_id, heard=text)
    said = _with(row.text, sound.name, text)
    MessageRow.change(message_id, text=said)
    TurnRow.change(turn_id, prompt=_with(TurnRow.get_by_id(turn_id).prompt, sound.name, text))
    indexing.drop_vectors("message", message_id)  # of the words without it
    indexing.put(message_id)
    derived.forget([message_id])
    changes.note_edit(row.conversation_id)
    return True


def _with(words: str, name: str, heard: str) -> str:
    """Words with what was heard in place of the line that names the sound."""
    line, told = f"[attached file: {name}]", f"[voice message] {heard}"
    lines = words.split("\n")
    if line in lines:
        lines[lines.index(line)] = told
        return "\n".join(lines)
    return f"{words}\n{told}".strip()
