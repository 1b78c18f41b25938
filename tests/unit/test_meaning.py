"""What each recording means, said by hand from what was recorded, beside what is made of it.

``expected.json`` pins texts and tokens; this table says from the case's name what must come of it,
whatever the engine: a case that is named nowhere is an ordinary question with an answer.
"""

from __future__ import annotations

import re

import pytest

from core.streams import explain
from tests.unit.test_transcripts import CASES, replay

# What was recorded -> what it is; the first pattern that matches the case's name counts.
MEANING: tuple[tuple[str, str, str], ...] = (
    # engine, case, kind
    # A loopback service that never answers, or says nothing of why: all that shows is silence.
    (
        "opencode",
        (
            r"(err429|err500|err503_overloaded|err529_overloaded|err_in_stream|quota"
            r"|malformed_(cut|empty|html)|refused_connection|hang|resume_other_cwd|stdin_left_open)"
        ),
        "stalled",
    ),
    ("claude", r"(refused_connection|malformed_cut)", "stalled"),
    (".*", r"hang", "stalled"),
    # It failed some times, and then it worked.
    ("codex", r"err429_retry_after", "rate"),  # its app server does not wait for it
    (".*", r"err429_(retry_after|passes)|err500_passes", "answered"),
    ("claude|opencode", r"err429_times2", "answered"),
    # What the model service says.
    (".*", r"err40[13](_fast)?|missing_key", "auth"),
    (".*", r"err404_model", "bad-model"),
    # The same while people can be asked.
    ("gemini|opencode", r"ask_401", "auth"),
    ("gemini|opencode", r"ask_(404|bad_model)", "bad-model"),
    ("gemini|opencode", r"ask_context", "context-too-long"),
    ("gemini|opencode", r"ask_lost", "session-lost"),
    ("opencode", r"ask_refusal", "refused"),
    (".*", r"err429(_\w+)?", "rate"),
    ("claude", r"quota", "rate"),  # its last word was a retry after a 429; then it was ended
    (".*", r"quota(_fast)?", "quota"),
    ("gemini", r"err_in_stream", "crashed"),  # "Model stream ended without a finish reason"
    (".*", r"err(500|503|529|_in_stream)\w*|idle_timeout|refused_connection\w*", "overloaded"),
    (".*", r"context_length", "context-too-long"),
    ("codex|gemini", r"refusal", "answered"),  # the model's own words
    (".*", r"refusal", "refused"),
    # Limits of the model and of the engine.
    ("gemini", r"length", "answered"),  # it does not tell that it was cut
    (".*", r"length", "crashed"),
    ("codex|opencode", r"max_turns", "answered"),  # the loopback's own end of the loop
    (".*", r"max_turns", "crashed"),
    ("gemini", r"long_line_in|argv_120k", "crashed"),  # "Loop detected" in mid-answer
    ("gemini", r"long_line_out", "empty"),  # the same before any word
    ("codex", r"loop", "answered"),
    # Bytes that are no stream of events.
    ("claude", r"malformed_cut_fast", "answered"),  # it tried again, and the text was whole
    ("gemini", r"malformed_(empty|html|json)", "crashed"),
    ("claude", r"malformed_(empty|html|json)\w*", "crashed"),
    ("ollama", r"malformed_json", "bad-config"),  # what answers there is no Ollama
    ("opencode|ollama", r"malformed_\w+", "crashed"),
    (".*", r"malformed_\w+", "overloaded"),
    ("gemini", r"long_tool_out_pipe64k", "crashed"),  # the output broke off at 64 KiB, exit 0
    # How it was started.
    (".*", r"huge_argv|notgit_refused|bad_config", "bad-config"),
    ("opencode", r"bad_flag", "crashed"),  # it prints its help and names no fault
    (".*", r"bad_flag", "bad-config"),
    ("opencode", r"model_flag", "crashed"),  # "Unexpected server error"
    (".*", r"empty_prompt", "bad-config"),
    (".*", r"missing_native", "missing-binary"),
    # Sessions.
    (".*", r"resume_(unknown|nonsense)", "session-lost"),
    ("gemini", r"resume_other_cwd", "session-lost"),
    ("codex", r"resume_in_use", "crashed"),  # another writer: ours wait for each other before
    # People.
    (".*", r"cancel\w*|codemode_cancel|ask_withdrawn", "cancelled"),
    ("claude", r"slash_builtin", "empty"),  # a command of its own: nobody was asked
    ("opencode", r"add_dir|perm_default_(shell|write)|perm_edit_outside", "refused"),
    (".*", r"silent", "empty"),
)


def meaning(case: str) -> str:
    engine, _, name = case.partition("/")
    for engines, names, kind in MEANING:
        if re.fullmatch(engines, engine) and re.fullmatch(names, name):
            return kind
    return "answered"


@pytest.mark.parametrize("case", CASES)
def test_a_recording_comes_to_what_it_means(case: str) -> None:
    _, outcome = replay(case)
    assert outcome.kind == meaning(case).lstrip("")
    if outcome.kind != "answered":
        said = explain(case.partition("/")[0], outcome)
        assert len(said) > 20
        assert said.endswith((".", "`", "…", "”"))
    if outcome.kind == "answered":
        assert outcome.text
