"""Topics of a conversation's older part: asking for them, reading them, merging them. PURE.

A topic is a list of statements, each with the messages it comes from. What no message says is no
statement (C131), who said it is told by the messages and not by the summary (C133), and a “not” is
never lost (C132): where an engine's summary cites a message but not its negation, the negation is
added word for word.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from core.keywords import query_terms
from core.memory.signs import kind_of, sentences
from core.model import EXTRACT, Message, Statement, StatementKind, Topic

MAX_TOPICS = 12  # of one answer
MAX_STATEMENTS = 40  # of one topic; what is merely said or stated goes first, the oldest first
MAX_TITLE_CHARS = 100
MAX_STATEMENT_CHARS = 600
PER_MESSAGE = 3  # sentences of one message in an extract; every negation besides
WORD_FOR_WORD = "Word for word"

TASK = """\
This is work in the background: your answer goes to Moot's memory, not to the thread.

Sum up all messages under “Recent conversation” by topic, for colleagues who cannot read them any \
more. Answer with one JSON block and nothing else:

```json
{"topics": [{"title": "Sign-in tokens", "statements": [
  {"messages": [12, 14], "kind": "decision", "text": "JWT it is, signed by the gateway."}
]}]}
```

- Every statement names the numbers of the messages that say it (`[#12]` is 12). What no message \
says is left out.
- `kind` is one of: decision, not (something is denied, forbidden or must not be done), objection, \
question (one that is still open), fact, said.
- Keep every “not” as it was said: what must not be done matters most. Where somebody corrects \
what was said before, tell both, in their order.
- Do not say who said something: the numbers tell.
- Keep numbers, names, paths and commands exactly. Write in the language of the messages.
- Short sentences, few of them; small talk is left out; `{"topics": []}` if nothing matters.
- If there is a list of titles that exist already, use such a title again for what belongs to it."""

CONTEXT_TASK = """

Beside "topics", the JSON has "context": for each message that is hard to understand by itself, \
one line of at most 20 words, in its language: what it is about, and what it answers or refers to. \
By its number, and without repeating its words: {"topics": [...], "context": {"14": "which library \
signs the sign-in tokens; answers Mina's question"}}."""
"""What is added to the task where such lines are wanted (Contextual Retrieval, Anthropic 2024)."""

MAX_LINE_CHARS = 200

_MENTION = re.compile(r"@[^@()\n]{1,80} \(\w{1,40}\)|@\w+")  # as the chats write whom one calls
_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_KINDS: Mapping[str, StatementKind] = {kind: kind for kind in get_args(StatementKind)}
_PASSING: frozenset[StatementKind] = frozenset(("said", "fact"))


class BadSummary(ValueError):
    """The engine's answer holds no summary; the message says why, without any of its text."""


# --- reading an engine's answer ------------------------------------------------------------


class _Shape(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore", str_strip_whitespace=True)


class _Statement(_Shape):
    text: Annotated[str, Field(min_length=1)]
    messages: list[int]
    kind: str = ""


class _Topic(_Shape):
    title: Annotated[str, Field(min_length=1)]
    statements: list[Any]


class _Summary(_Shape):
    topics: list[Any]
    context: Any = None


def parse(answer: str, span: Sequence[Message], engine: str) -> tuple[Topic, ...]:
    """The topics of an engine's answer about the messages of ``span``.

    Statements that name no message of the span are dropped; so is what has not the asked shape.

    Raises:
        BadSummary: there is no JSON block, or nothing in it could be used though it is not empty.
    """
    by_id = {message.id: message for message in span}
    offered = [_read(_Topic, item) for item in _load(answer).topics[:MAX_TOPICS]]
    topics: list[Topic] = []
    for topic in offered:
        said = [_read(_Statement, item) for item in topic.statements] if topic else []
        statements = [made for one in said if one and (made := _sourced(one, by_id))]
        if topic and statements:
            title = " ".join(topic.title.split())[:MAX_TITLE_CHARS]
            topics.append(Topic(title, _ordered(statements), engine))
    if offered and not topics:
        raise BadSummary("no statement names a message that it comes from")
    return merge((), restored(topics, span))


def parse_lines(answer: str, span: Sequence[Message]) -> dict[int, str]:
    """The lines of context in an engine's answer, by the messages of ``span`` they are about.

    Raises:
        BadSummary: there is no JSON block.
    """
    given = _load(answer).context
    by_number = {str(message.id): message.id for message in span}
    return {
        by_number[number]: said[:MAX_LINE_CHARS]
        for number, line in (given.items() if isinstance(given, dict) else ())
        if number in by_number and isinstance(line, str) and (said := " ".join(line.split()))
    }


def _load(answer: str) -> _Summary:
    blocks = [match[1] for match in _BLOCK.finditer(answer)] or [answer]
    for block in reversed(blocks):
        begin = block.find("{")
        if begin < 0:
            continue
        try:
            data, _ = json.JSONDecoder().raw_decode(block[begin:])
            return TypeAdapter(_Summary).validate_python(data)
        except (ValueError, RecursionError):  # pydantic's error is a ValueError too
            continue
    raise BadSummary("the answer has no JSON block of topics")


def _read(shape: type[Any], item: Any) -> Any:
    try:
        return shape.model_validate(item)
    except ValidationError:
        return None


def _sourced(one: _Statement, by_id: Mapping[int, Message]) -> Statement | None:
    ids = tuple(sorted({number for number in one.messages if number in by_id}))
    if not ids:
        return None
    text = " ".join(one.text.split())[:MAX_STATEMENT_CHARS]
    seen = kind_of(text)
    kind: StatementKind = seen if seen == "not" else _KINDS.get(one.kind, seen)
    return Statement(text, kind, ids, _who(by_id[number] for number in ids))


def restored(topics: Iterable[Topic], span: Sequence[Message]) -> tuple[Topic, ...]:
    """``topics`` with every negation of the span's messages that no statement about them keeps."""
    kept = list(topics)
    denied: dict[int, set[str]] = {}
    for statement in (one for topic in kept for one in topic.statements):
        if kind_of(statement.text) == "not":
            for number in statement.ids:
                denied.setdefault(number, set()).update(_about(statement.text))
    lost = [
        Statement(sentence, "not", (message.id,), _who([message]))
        for message in span
        for sentence in sentences(message.text)
        if kind_of(sentence) == "not" and not _about(sentence) & denied.get(message.id, set())
    ]
    for statement in lost:
        home = next((n for n, t in enumerate(kept) if _cites(t, statement.ids[0])), None)
        if home is None:
            kept.append(Topic(WORD_FOR_WORD, (statement,), EXTRACT))
        else:
            topic = kept[home]
            kept[home] = replace(topic, statements=_ordered([*topic.statements, statement]))
    return tuple(kept)


def _about(sentence: str) -> set[str]:
    """What a sentence is about: its words without those that deny."""
    return {term for term in query_terms(sentence) if kind_of(term) != "not"}


def _cites(topic: Topic, number: int) -> bool:
    return any(number in statement.ids for statement in topic.statements)


# --- without an engine ---------------------------------------------------------------------


def extract(span: Sequence[Message]) -> tuple[Topic, ...]:
    """What stands in for a summary: the sentences that matter, word for word, under one title.

    Every sentence with a negation; of the others the strongest few of each message: decisions,
    questions, objections, then what holds numbers or names of code. Empty when there are none.
    """
    statements = [statement for message in span for statement in _telling(message)]
    if not statements:
        return ()
    return (Topic(_named(span), tuple(statements), EXTRACT),)


def _telling(message: Message) -> list[Statement]:
    order = get_args(StatementKind)
    said = dict.fromkeys(sentences(message.text))
    found: list[tuple[StatementKind, str]] = [(kind_of(sentence), sentence) for sentence in said]
    telling = [(kind, sentence) for kind, sentence in found if kind not in ("said", "not")]
    telling.sort(key=lambda one: order.index(one[0]))
    chosen = set(telling[:PER_MESSAGE]) | {one for one in found if one[0] == "not"}
    who = _who([message])
    return [
        Statement(sentence, kind, (message.id,), who)
        for kind, sentence in found
        if (kind, sentence) in chosen
    ]


def _named(span: Sequence[Message]) -> str:
    """A title of the words that most messages share, the earliest first among equals."""
    texts = (_MENTION.sub(" ", message.text) for message in span)
    words = (term for text in texts for term in query_terms(text))
    counts = Counter(word for word in words if len(word) > 1 and kind_of(word) != "not")
    shared = [word for word, count in counts.most_common(4) if count > 1]
    return ", ".join(shared) or f"Messages #{span[0].id} to #{span[-1].id}"


def _who(messages: Iterable[Message]) -> str:
    names = dict.fromkeys(" ".join(message.author_name.split()) for message in messages)
    return ", ".join(names)


# --- merging and telling ---------------------------------------------------------------------


def merge(existing: Sequence[Topic], new: Sequence[Topic]) -> tuple[Topic, ...]:
    """``existing`` with ``new`` taken in: statements of one title stand together, oldest first.

    Only the very same statement about the very same messages is a duplicate: what differs by a
    “not”, or was said again later, stays, and its place tells the order.
    """
    merged: dict[str, Topic] = {}
    for topic in (*existing, *new):
        known = merged.get(topic.title.casefold())
        if known is None:
            merged[topic.title.casefold()] = replace(topic, statements=_ordered(topic.statements))
            continue
        makers = dict.fromkeys((*known.made_by.split(", "), *topic.made_by.split(", ")))
        merged[topic.title.casefold()] = Topic(
            known.title, _ordered((*known.statements, *topic.statements)), ", ".join(makers)
        )
    return tuple(merged.values())


def _ordered(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    kept = sorted(dict.fromkeys(statements), key=lambda one: (one.ids[-1], one.ids[0]))
    over = len(kept) - MAX_STATEMENTS
    passing = [one for one in kept if one.kind in _PASSING][: max(0, over)]
    return tuple(one for one in kept if one not in passing)
