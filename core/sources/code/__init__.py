"""Code search: whether a question is about code, and where in the project its subject stands."""

from core.sources.code.asking import asks_about_code
from core.sources.code.finder import source

__all__ = ["asks_about_code", "source"]
