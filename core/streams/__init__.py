"""PURE: from an engine's bytes to events, outcomes and words about them."""

from core.redact import MASK, redact, secret_values
from core.streams.judge import classify, telling
from core.streams.lines import (
    MAX_LINE_BYTES,
    JsonLines,
    JsonObject,
    float_of,
    get,
    int_of,
    list_of,
    part_of,
    text_of,
    texts_of,
    whole_characters,
)
from core.streams.notices import posing_as_answer
from core.streams.reader import LineReader
from core.streams.resets import reset_moment, reset_time
from core.streams.say import explain, joined, joined_prompt, plain, tail

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
    "part_of",
    "plain",
    "posing_as_answer",
    "redact",
    "reset_moment",
    "reset_time",
    "secret_values",
    "tail",
    "telling",
    "text_of",
    "texts_of",
    "whole_characters",
]
