"""PURE: Slack's own notation to plain text, entities decoded exactly once.

``<@U1>`` becomes ``@Name (U1)``, our own mention disappears, ``<#C1>`` becomes ``#general``, a link
``label (url)``. What a person typed, code included, comes out as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(r"<([^<>\n]+)>")
ENTITY = re.compile(r"&(lt|gt|amp);")
USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>\n]*)?>")
CHANNEL = re.compile(r"<#([CGD][A-Z0-9]+)(?:\|([^<>\n]*))?>")
GROUP = re.compile(r"<!(?:subteam\^|here|channel|everyone)")
_DECODED = {"lt": "<", "gt": ">", "amp": "&"}
NAME_MAX_CHARS, FILE_MAX_CHARS = 80, 255
FORWARDED = "[forwarded message"


@dataclass(frozen=True, slots=True)
class Names:
    """What ids are called: user id -> name, channel id -> name. A missing one is shown raw."""

    people: Mapping[str, str] = field(default_factory=dict[str, str])
    channels: Mapping[str, str] = field(default_factory=dict[str, str])


def decode(text: str) -> str:
    """Undo Slack's escaping of ``&``, ``<`` and ``>``, once (``&amp;lt;`` becomes ``&lt;``)."""
    return ENTITY.sub(lambda found: _DECODED[found[1]], text)


LOOKED_UP = 20  # people, and channels, whom one text names


def one_line(name: str, limit: int = NAME_MAX_CHARS) -> str:
    """A name fit to stand in a line: no breaks or control characters, of bounded length."""
    seen = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(seen.split())[:limit]


def mentioned_people(raw: str) -> tuple[str, ...]:
    """User ids mentioned in raw text, in order, each once."""
    return tuple(dict.fromkeys(USER.findall(raw)))


def unnamed_channels(raw: str) -> tuple[str, ...]:
    """Channel ids in raw text that do not bring their name along, to be looked up: a few."""
    return tuple(dict.fromkeys(cid for cid, name in CHANNEL.findall(raw) if not name))[:LOOKED_UP]


def people_to_name(raw: str) -> tuple[str, ...]:
    """User ids in raw text to look up names for; of a text that names very many, the first ones.

    Each is a call, and while Slack refuses those for their number nobody's standing is known.
    """
    return mentioned_people(raw)[:LOOKED_UP]


def plain(raw: str, me: str, names: Names) -> str:
    """Raw message text as a person reads it, without mentions of ``me`` (a user id)."""
    out, end = [], 0
    for found in TOKEN.finditer(raw):
        out.append(decode(raw[end : found.start()]))
        out.append(_token(found[1], me, names))
        end = found.end()
    out.append(decode(raw[end:]))
    return _join(out).strip()


def _join(parts: Iterable[str | None]) -> str:
    """Join; ``None`` stands for our own mention and takes one neighbouring blank along."""
    text = ""
    gone = False
    for part in parts:
        if part is None:
            gone = True
            continue
        if gone and part:
            if not text.strip():  # "<@us>: do it" opens with a form of address
                part = re.sub(r"^\s*[,:]\s*|^[ \t]+", "", part, count=1)
            elif text[-1:].isspace() or not text:
                part = part[1:] if part[:1] in " \t" else part
            gone = False
        text += part
    return text


def _token(inner: str, me: str, names: Names) -> str | None:
    target, _, label = inner.partition("|")
    if target[:1] == "@":
        if target[1:] == me:
            return None
        name = names.people.get(target[1:]) or decode(label).lstrip("@")
        return f"@{name} ({target[1:]})" if name else f"@{target[1:]}"
    if target[:1] == "#":
        return "#" + (decode(label) or names.channels.get(target[1:]) or target[1:])
    if target[:1] == "!":
        return _special(target[1:], decode(label))
    return _link(decode(target), decode(label))


def _special(what: str, label: str) -> str:
    kind, _, rest = what.partition("^")
    if kind == "subteam":
        return f"@{label.lstrip('@')} ({rest})" if label else f"@{rest}"
    if kind == "date":
        return label or rest
    return label or f"@{kind}"


def _link(url: str, label: str) -> str:
    bare = re.sub(r"^(mailto:|tel:|https?://)", "", url)
    if url.startswith(("mailto:", "tel:")) and label in ("", bare):
        return bare
    same = label.rstrip("/") in ("", url.rstrip("/"), bare.rstrip("/"))
    return url if same else f"{label} ({url})"


def own_text(message: Mapping[str, Any]) -> str:
    """What the author of a message wrote, in Slack's notation: nothing of what hangs below it.

    Blocks are read only when ``text`` is empty, and of an app, which may write there, attachments
    when both are.
    """
    text = str(message.get("text") or _blocks(message.get("blocks") or ()))
    if text or not message.get("bot_id"):
        return text
    own = (a for a in message.get("attachments") or () if not a.get("is_share"))
    return "\n".join(filter(None, map(_attachment, own)))


def raw_text(message: Mapping[str, Any]) -> str:
    """A message's text in Slack's notation, what it forwards, and a line for each attached file.

    Where there is no text, what hangs below stands in its place.
    """
    text = own_text(message)
    below = [a for a in message.get("attachments") or () if not text or a.get("is_share")]
    names = [str(f.get("name") or f.get("title") or "unnamed") for f in files_of(message)]
    files = [f"[attached file: {_escape(one_line(name, FILE_MAX_CHARS))}]" for name in names]
    return "\n".join(p for p in (text, *map(_attachment, below), *files) if p)


def files_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What Slack tells of the files of a message and of what it shares, each once."""
    found: dict[str, Mapping[str, Any]] = {}
    shared = [a for a in message.get("attachments") or () if a.get("is_share")]
    for one in (message, *shared):
        for file in one.get("files") or ():
            found.setdefault(str(file.get("id") or file.get("name")), file)
    return list(found.values())


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attachment(attachment: Mapping[str, Any]) -> str:
    parts = [attachment.get(k) for k in ("pretext", "title", "text")]
    said = "\n".join(p for p in parts if p) or str(attachment.get("fallback") or "")
    if not attachment.get("is_share"):
        return said
    name = one_line(str(attachment.get("author_name") or ""))
    return f"{FORWARDED}{f' by {_escape(name)}' if name else ''}] {said}"


def _blocks(blocks: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(line for block in blocks if (line := _block(block)))


def _block(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "rich_text":
        return "\n".join(_rich(e) for e in block.get("elements") or ())
    if kind in ("section", "header"):
        fields = [block.get("text"), *(block.get("fields") or ())]
        return "\n".join(str(f["text"]) for f in fields if f and f.get("text"))
    if kind == "context":
        return " ".join(str(e["text"]) for e in block.get("elements") or () if e.get("text"))
    return ""


def _rich(element: Mapping[str, Any]) -> str:
    kind = element.get("type")
    inner = element.get("elements") or ()
    if kind == "rich_text_list":
        return "\n".join(f"- {_rich(item)}" for item in inner)
    if kind == "rich_text_preformatted":
        return "```\n" + "".join(_rich(e) for e in inner) + "\n```"
    if inner:
        return "".join(_rich(e) for e in inner)
    if kind == "user":
        return f"<@{element.get('user_id', '')}>"
    if kind == "channel":
        return f"<#{element.get('channel_id', '')}>"
    if kind == "usergroup":
        return f"<!subteam^{element.get('usergroup_id', '')}>"
    if kind == "broadcast":
        return f"<!{element.get('range', 'here')}>"
    if kind == "link":
        label = element.get("text")
        url = _escape(str(element.get("url", "")))
        return f"<{url}|{_escape(label)}>" if label else f"<{url}>"
    if kind == "emoji":
        return f":{element.get('name', '')}:"
    return _escape(str(element.get("text", "")))
