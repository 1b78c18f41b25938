"""The grammar of a team's records: plans, findings, artifacts, decisions, links, branches. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, cast, get_args

from bridge.options import ALIKE
from core.errors import BadInput
from core.model import SEVERITIES, Severity
from core.tongue import say, to_say

Topic = Literal["plan", "finding", "artifact", "decisions", "link", "unlink", "branch"]
TOPICS: tuple[Topic, ...] = get_args(Topic)
WORDS: dict[str, Topic] = {
    "plan": "plan",
    "plans": "plan",
    "finding": "finding",
    "findings": "finding",
    "artifact": "artifact",
    "artifacts": "artifact",
    "decision": "decisions",
    "decisions": "decisions",
    "link": "link",
    "links": "link",
    "unlink": "unlink",
    "branch": "branch",
}
VERBS: dict[Topic, tuple[str, ...]] = {
    "plan": ("new", "show", "approve", "reject", "done", "start"),
    "finding": ("add", "show", "close", "reopen"),
    "artifact": ("add", "show"),
    "decisions": ("show",),
    "branch": ("adopt", "discard"),
}
USAGE: dict[Topic, str] = {
    "plan": to_say(
        "`!plan`, `!plan new TITLE` (subtasks on further lines), `!plan show 3`, "
        "`!plan approve 3`, `!plan reject 3`, `!plan start 3.1`, `!plan done 3.1`, `!plan done 3`"
    ),
    "finding": to_say(
        "`!findings`, `!finding add [security/high] text`, `!finding show 4`, "
        "`!finding close 4`, `!finding reopen 4`"
    ),
    "artifact": to_say(
        "`!artifacts`, `!artifact add TITLE` (text on further lines), `!artifact show 2`"
    ),
    "decisions": to_say("`!decisions`, `!decisions show 5`"),
    "link": to_say("`!link`, `!link LINK-TO-A-THREAD`, `!link 12`"),
    "unlink": to_say("`!unlink LINK-TO-A-THREAD`, `!unlink 12`"),
    "branch": to_say(
        "`!branch`, `!branch #12 title`, `!branch LINK-TO-A-MESSAGE title`, "
        "`!branch adopt`, `!branch discard`"
    ),
}
MAX_TITLE_CHARS = 200
MAX_SUBTASKS = 50
MAX_CATEGORY_CHARS = 40

_NUMBER = re.compile(r"#?([0-9]{1,9})")
_STEP = re.compile(r"#?([0-9]{1,9})\.([0-9]{1,3})")
_BULLET = re.compile(r"(?:[-*•]|[0-9]{1,3}[.)])\s+(?:\[[ xX]?\]\s+)?")
_MARKED = re.compile(r"\[([^\]\n]{1,60})\]\s*(?=\S)")
_BARE = re.compile(rf"([\w-]+/(?:{'|'.join(SEVERITIES)}))\s+(?=\S)", re.IGNORECASE)
_WORD = re.compile(r"[\w][\w .-]*")
_LINK = re.compile(r"<?(https?://[^\s<>|]+)(?:\|[^>]*)?>?")


@dataclass(frozen=True, slots=True)
class Team:
    """Something about a team's records.

    ``verb`` is "" for the list (of a branch: to fork). ``number`` and ``step`` are 0 where none was
    said; ``link`` is an address. ``title`` is one line, ``lines`` what stood below it.
    """

    topic: Topic
    verb: str = ""
    number: int = 0
    step: int = 0
    link: str = ""
    title: str = ""
    category: str = ""
    severity: Severity = "medium"
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What stood below the first line, as it was written."""
        return "\n".join(self.lines).strip("\n")


def parse_team(topic: Topic, text: str) -> Team:
    """What is meant by the text after one of ``WORDS``.

    Raises:
        BadInput: something is missing or unknown; says what would work.
    """
    first, *below = text.strip().split("\n")
    word, _, rest = first.strip().partition(" ")
    verb, rest = word.lower(), rest.strip()
    if topic in ("link", "unlink"):
        return _pointed(topic, "", first.strip())
    if not verb:
        return Team(topic)
    if verb == "list":
        return Team(topic)
    if verb not in VERBS[topic]:
        return _without_verb(topic, first.strip(), verb)
    if topic == "branch":
        return Team(topic, verb)
    if verb == "new":
        return _plan(rest, below)
    if verb == "add":
        return _finding(rest, below) if topic == "finding" else _artifact(rest, below)
    return _numbered(topic, verb, rest)


def _without_verb(topic: Topic, first: str, verb: str) -> Team:
    if topic == "branch":
        return _pointed(topic, "", first)
    if _NUMBER.fullmatch(verb):
        return _numbered(topic, "show", verb)
    alike = get_close_matches(verb, VERBS[topic], 1, ALIKE)
    meant = say("Did you mean `!{topic} {alike}`? ", topic=topic, alike=alike[0]) if alike else ""
    raise BadInput(say("{meant}It goes like this: {usage}.", meant=meant, usage=say(USAGE[topic])))


def _numbered(topic: Topic, verb: str, rest: str) -> Team:
    step = _STEP.fullmatch(rest)
    if step and topic == "plan" and verb in ("done", "start"):
        return Team(topic, verb, int(step[1]), int(step[2]))
    number = _NUMBER.fullmatch(rest)
    if number is None or verb == "start":
        example = f"!{topic} {verb} 3" + (".1" if verb == "start" else "")
        raise BadInput(
            say(
                "Which one? Say its number: `{example}`. `!{topic}` lists them.",
                example=example,
                topic=topic,
            )
        )
    return Team(topic, verb, int(number[1]))


def _plan(title: str, below: Sequence[str]) -> Team:
    tasks = [_BULLET.sub("", line.strip(), count=1).strip() for line in below]
    tasks = [task for task in tasks if task]
    if len(tasks) > MAX_SUBTASKS:
        raise BadInput(
            say(
                "A plan has at most {max_subtasks} subtasks; these are {count}.",
                max_subtasks=MAX_SUBTASKS,
                count=len(tasks),
            )
        )
    return Team("plan", "new", title=_title(title, "plan new"), lines=tuple(tasks))


def _artifact(title: str, below: Sequence[str]) -> Team:
    made = Team("artifact", "add", title=_title(title, "artifact add"), lines=tuple(below))
    if not made.text.strip():
        raise BadInput(say("Write the artifact's text on the lines below its title."))
    return made


def _title(title: str, command: str) -> str:
    if not title:
        raise BadInput(
            say("It needs a title on the same line: `!{command} TITLE`.", command=command)
        )
    if len(title) > MAX_TITLE_CHARS:
        raise BadInput(
            say(
                "A title has at most {max_title_chars} characters; put the rest on further lines.",
                max_title_chars=MAX_TITLE_CHARS,
            )
        )
    return title


def _finding(rest: str, below: Sequence[str]) -> Team:
    marked = _MARKED.match(rest) or _BARE.match(rest)
    category, severity = "general", "medium"
    if marked:
        rest = rest[marked.end() :]
        category, severity = _about(marked[1])
    text = "\n".join((rest, *below)).strip()
    if not text:
        raise BadInput(
            say("What was found? For example: {split}.", split=say(USAGE["finding"]).split(", ")[1])
        )
    return Team(
        "finding",
        "add",
        category=category,
        severity=cast("Severity", severity),
        lines=tuple(text.split("\n")),
    )


def _about(mark: str) -> tuple[str, str]:
    """``security/high``, ``security`` or ``high``."""
    category, _, severity = (part.strip().lower() for part in mark.partition("/"))
    if not severity and category in SEVERITIES:
        category, severity = "general", category
    if (severity or "medium") not in SEVERITIES:
        raise BadInput(say("How grave a finding is, is one of {all}.", all=", ".join(SEVERITIES)))
    if not _WORD.fullmatch(category) or len(category) > MAX_CATEGORY_CHARS:
        raise BadInput(say("A finding's category is one short word: `[security/high]`."))
    return category, severity or "medium"


def _pointed(topic: Topic, verb: str, text: str) -> Team:
    """A number or an address, and (for a branch) a title after it."""
    target, _, rest = text.partition(" ")
    number, address = _NUMBER.fullmatch(target), _LINK.fullmatch(target)
    if number and (topic != "branch" or target.startswith("#")):
        return Team(topic, verb, number=int(number[1]), title=rest.strip()[:MAX_TITLE_CHARS])
    if address:
        return Team(topic, verb, link=address[1], title=rest.strip()[:MAX_TITLE_CHARS])
    if topic == "branch" or not text:
        return Team(topic, verb, title=text[:MAX_TITLE_CHARS])
    raise BadInput(say("It goes like this: {usage}.", usage=say(USAGE[topic])))


# --- addresses -------------------------------------------------------------------------------

_PACKED = re.compile(r"/p([0-9]{10})([0-9]{6})(?=[/?#]|$)")
_ROOT = re.compile(r"[?&]thread_ts=([0-9]+\.[0-9]+)")
_PATH_ID = re.compile(r"/([0-9]{15,20})(?=[/?#]|$)")


def ids_in(address: str) -> tuple[str, ...]:
    """Ids of messages and threads that an address may mean, the most telling first.

    Both shapes are known: ``…/archives/C1/p1700000000123456?thread_ts=1700000000.000100`` and
    ``…/channels/1/2/3``.
    """
    found = [match[1] for match in _ROOT.finditer(address)]
    found += [message_in(address), *_paths(address)]
    return tuple(one for one in dict.fromkeys(found) if one)


def message_in(address: str) -> str:
    """The id of the one message that an address means; "" when it is none of a message."""
    packed = _PACKED.search(address)
    if packed:
        return f"{packed[1]}.{packed[2]}"
    return next(iter(_paths(address)), "")


def _paths(address: str) -> list[str]:
    return list(reversed(_PATH_ID.findall(address)))
