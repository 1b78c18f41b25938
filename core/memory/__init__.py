"""Compressed memory: the older part of a conversation as topics, each statement with its source."""
