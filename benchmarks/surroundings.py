"""Where the given discussion takes place: a chat of paper, a project's folder, other threads."""

from __future__ import annotations

import json
import subprocess
import textwrap
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.model import (
    Actor,
    Author,
    ChatEvent,
    ChatLimits,
    Conversation,
    ConversationKey,
    Participant,
    Post,
    Posted,
    Project,
    Said,
    Scene,
)
from core.records import links, messages, places

DATA = Path(__file__).parent / "data" / "discussion.json"
CHAT, SPACE, CHANNEL, ROOT = "paper", "acme", "billing", "thread"
KEY = ConversationKey(CHAT, SPACE, CHANNEL, ROOT)
ELSEWHERE = datetime(2025, 4, 10, tzinfo=UTC).timestamp()
"""When the linked threads talked: after all that the memory holds."""


def discussion() -> dict[str, Any]:
    """The data as given."""
    return json.loads(DATA.read_text("utf-8"))


def seats_of(data: Mapping[str, Any]) -> dict[str, Participant]:
    """Who sits at the table, by name."""
    return {p["name"]: Participant(p["engine"], p["persona"]) for p in data["participants"]}


class Paper:
    """A chat platform of paper; see ``core.ports.Chat``."""

    name = CHAT
    limits = ChatLimits(post_units=100_000, edit_interval_s=3600.0)

    def __init__(self) -> None:
        self.posts: list[Post] = []

    def render(self, markdown: str, label: str = "") -> tuple[str, ...]:
        """See ``Chat.render``."""
        return (f"{label}\n{markdown}" if label else markdown,) if markdown.strip() else ()

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        """See ``Chat.post``."""
        del key
        self.posts.append(post)
        return Posted(f"p{len(self.posts)}", "")

    async def edit(self, key: ConversationKey, message_id: str, post: Post) -> None:
        """See ``Chat.edit``."""

    async def delete(self, key: ConversationKey, message_id: str) -> None:
        """See ``Chat.delete``."""

    async def thread(self, key: ConversationKey, limit: int) -> tuple[Said, ...]:
        """See ``Chat.thread``."""
        del key, limit
        return ()

    def address(self, key: ConversationKey, message_id: str = "") -> str:
        """See ``Chat.address``."""
        del key, message_id
        return ""

    async def direct(self, person: str) -> ConversationKey | None:
        """See ``Chat.direct``."""
        del person
        return None


def say(
    conversation: Conversation, key: ConversationKey, message: Mapping[str, Any], now: float
) -> int:
    """A person's message as it comes from the platform; its record id."""
    author = Author(message["author"], message["author"])
    event = ChatEvent(
        key, f"e:{message['id']}", message["id"], author, message["text"], "message", now
    )
    return messages.add_event(conversation.id, event, addressed=True)[0]


# --- other conversations -------------------------------------------------------------------


def write_elsewhere(data: Mapping[str, Any], here: Conversation) -> None:
    """What was said in other threads of the project's channels, and the links to two of them."""
    seats = seats_of(data)
    for item in data["memory"]:
        thread = ConversationKey(CHAT, SPACE, item["channel"], f"t-{item['id']}")
        _thread(thread, [item], seats, datetime.fromisoformat(item["when"]).timestamp())
    for entry in data["cross"]:
        thread = ConversationKey(CHAT, SPACE, entry["channel"], f"t-{entry['id']}")
        other = _thread(thread, entry["messages"], seats, ELSEWHERE)
        scene = Scene(
            conversation=messages.get_conversation(here.id),
            project=Project("acme-billing", "/"),
            prompt="",
            turn_id=0,
            prompt_message_id=0,
            project_channels=channels(data),
            asker_trusted=True,
        )
        links.link(scene, other.id, by=Actor(f"{CHAT}:Robin", "Robin"), now=time.time())


def _thread(
    key: ConversationKey,
    said: Sequence[Mapping[str, Any]],
    seats: Mapping[str, Participant],
    at: float,
) -> Conversation:
    made = messages.open_conversation(key, direct=False, in_thread=False, now=at)
    places.set_public(key, public=True)
    for number, message in enumerate(said):
        seat = seats.get(message["author"])
        if seat is None:
            say(made, key, message, at + number)
        else:
            messages.add_answer(made.id, seat, message["text"], turn_id=0, now=at + number)
    return made


def channels(data: Mapping[str, Any]) -> tuple[str, ...]:
    """All channels of the discussion; they belong to its project."""
    named = {
        CHANNEL,
        *(i["channel"] for i in data["memory"]),
        *(c["channel"] for c in data["cross"]),
    }
    return tuple(f"{CHAT}:{name}" for name in sorted(named))


# --- the project's folder --------------------------------------------------------------------


def write_project(data: Mapping[str, Any], folder: Path) -> Path:
    """The project under git: manifests, the skills as SKILL.md files, the code that was quoted."""
    files = {
        "pyproject.toml": "\n".join(
            (
                "[project]",
                f'name = "{data["project"]["name"]}"',
                'requires-python = ">=3.12"',
                'dependencies = ["fastapi", "sqlalchemy>=2", "alembic", "psycopg", "nats-py"]',
                "",
            )
        ),
        "Dockerfile": "FROM python:3.12-slim\n",
        "docker-compose.yml": "services:\n  postgres:\n    image: postgres:16\n",
    }
    for skill in data["skills"]:
        about = json.dumps(skill["description"])  # YAML reads it, colons and all
        head = f"---\nname: {skill['name']}\ndescription: {about}\n---\n"
        parts = (f"## {part['heading']}\n\n{part['text']}\n" for part in skill["sections"])
        files[f".moot/skills/{skill['name']}/SKILL.md"] = "\n".join((head, *parts))
    for hit in data["code_hits"]:
        files[hit["path"]] = _source(hit)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    who = ("-c", "user.name=Robin", "-c", "user.email=robin@acme.example")
    for command in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "As it is")):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


def _source(hit: Mapping[str, Any]) -> str:
    """A file that holds the snippet at its lines."""
    first = int(hit["lines"].split("-")[0])
    owner, _, method = hit["symbol"].rpartition(".")
    snippet = hit["snippet"]
    lead = [f'"""{Path(hit["path"]).stem} of the billing service."""', ""]
    lead += [""] * (first - 1 - len(lead) - bool(owner))
    if owner:
        lead.append(f"class {owner}:")
        snippet = textwrap.indent(textwrap.dedent(snippet), "    ")
    assert method in snippet
    return "\n".join((*lead, snippet, ""))
