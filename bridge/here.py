"""Where a button or form may be used: its value names a conversation and is no authority. Pure."""

from __future__ import annotations

from dataclasses import replace

from core.model import Conversation, ConversationKey


def is_here(conversation: Conversation, key: ConversationKey) -> bool:
    """Whether what belongs to ``conversation`` may be used in ``key``'s place.

    That is its channel; for a private thread, which not everybody there can read, the thread.
    """
    same = replace(conversation.key, root="") == replace(key, root="")
    return same and (not conversation.apart or conversation.key.root == key.root)
