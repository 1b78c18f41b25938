"""PURE: from an engine's bytes to events, outcomes and words about them."""

from core.streams.judge import classify, posing_as_answer, reset_time, telling
from core.streams.lines import (
    MAX_LINE_BYTES,
    JsonLines,
    JsonObject,
    float_of,
    get,
    int_of,
    list_of,
    text_of,
    whole_characters,
)
from core.streams.reader import LineReader
from core.streams.say import (
    MASK,
    explain,
    joined,
    joined_prompt,
    plain,
    redact,
    secret_values,
    tail,
)

__all__ = [
    "MASK",
    "MAX_LINE_BYTES",
    "JsonLines",
    "JsonObject",
    "LineReader",
    "classify",
    "explain",
    "float_of",
    "get",
    "int_of",
    "joined",
    "joined_prompt",
    "list_of",
    "plain",
    "posing_as_answer",
    "redact",
    "reset_time",
    "secret_values",
    "tail",
    "telling",
    "text_of",
    "whole_characters",
]
