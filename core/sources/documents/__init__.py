"""Documents: what the project wrote down in Markdown and plain text, told by its sections."""

from core.sources.documents.finder import source

__all__ = ["source"]
