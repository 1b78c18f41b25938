"""Real CLIs' sessions through Slack: two questions in one thread, and a session that is lost."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.e2e.test_clis import moot_with, standing
from tests.peers.npm import NAMES

pytestmark = [pytest.mark.clis, pytest.mark.peers, pytest.mark.timeout(300)]

# Where each CLI keeps its sessions, below its folder of the homes.
KEPT = {
    "claude": ["projects"],
    "codex": ["sessions"],
    "gemini": [".gemini/tmp", ".gemini/history"],
    "opencode": ["data/opencode"],
}
NOTED = '@@rehearse text="Noted."@@'  # the rehearsal engine would quote the question
GONE = "session was gone"


def asked(models, word: str) -> list[str]:
    """The requests for an answer to the question with this word, each as JSON text."""
    bodies = [json.dumps(s.body, ensure_ascii=False) for s in models.seen if s.body and not s.side]
    return [body for body in bodies if word in body]


def told(body: str) -> dict[str, int]:
    """How often some words stand in a request."""
    words = (
        "# Platform rules",
        "Quetzal-7",
        "# What is new",
        "Friday",
        "FIRST question",
        "SECOND question",
    )
    return {word: body.count(word) for word in words}


@pytest.mark.parametrize("name", NAMES)
async def test_the_second_question_carries_only_what_is_new(name):
    async with moot_with(name) as (_, slack, models):
        root = await slack.mention(f"Our code word is Quetzal-7. {NOTED}")
        await standing(slack, root, 1)
        await slack.say(f"FIRST question --engine {name}", thread=root)
        await standing(slack, root, 2)
        before = len(models.seen)
        await slack.say(
            f"Remember, it is Friday. SECOND question {NOTED} --engine rehearsal", thread=root
        )
        await standing(slack, root, 3)
        await slack.say(f"THIRD question --engine {name}", thread=root)
        await standing(slack, root, 4)

        first, third = asked(models, "FIRST")[0], asked(models, "THIRD")[-1]
        assert told(first)["Quetzal-7"] == 1
        # The session went on: the model is shown its first turn again, and what is new once.
        assert models.seen[before:]
        assert told(third) == {
            "# Platform rules": 1, "Quetzal-7": 1, "# What is new": 1, "Friday": 1,
            "FIRST question": 1, "SECOND question": 1,
        }  # fmt: skip
        await slack.say("!context", thread=root)
        receipt = await slack.wait_for_answer(root, containing="platform-rules")
        assert "delta: its session knew" in receipt.text


# OpenCode, which takes 5 s of a core for each start, tells this in tests/contract/test_clis.py.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "opencode"])
async def test_a_session_whose_files_are_gone_starts_anew_and_says_so(name):
    async with moot_with(name) as (moot, slack, models):
        root = await slack.mention(f"Our code word is Quetzal-7. FIRST question --engine {name}")
        await standing(slack, root, 1)
        for kept in KEPT[name]:
            shutil.rmtree(moot.folder / name / kept, ignore_errors=True)
        await slack.say(f"SECOND question --engine {name}", thread=root)
        _, notice, answer = await standing(slack, root, 3)
        assert GONE in notice
        assert name in answer.split("\n")[0]
        last = asked(models, "SECOND")[-1]
        assert told(last)["# Platform rules"] == 1
        assert told(last)["# What is new"] == 0
        assert told(last)["Quetzal-7"] == 1
        await slack.say(f"THIRD question --engine {name}", thread=root)
        *_, third = await standing(slack, root, 4)
        assert GONE not in third
        assert told(asked(models, "THIRD")[-1])["# What is new"] == 1
