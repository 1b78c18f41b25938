"""Errors that arrive as an answer: notices about limits and sign-in, told from answers about them.

A notice is one from its first word to its last: it begins with a sentence that CLIs and providers
say when they have failed (a *core*), and everything else in it is what such notices go on with:
when it resets, where to upgrade, which command signs in. One word more, and it is an answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import cast

from core.model import OutcomeKind
from core.streams.judge import classify
from core.streams.lines import get, text_of
from core.streams.notice_tongues import foreign_notice
from core.streams.notice_words import (
    CLI_ONLY,
    FILES,
    HELPS,
    KO,
    PREFIX,
    STARTERS,
    STATUS,
    STRONG,
    TERSE,
    TIMES,
    TOKEN,
    VOCABULARY,
    WEAK,
)

_MAX_CHARS = 1_500

# How much a core says by itself: as much as is needed when a model is known to have written, when
# nothing is known, and when none has.
_STRONG, _TERSE, _WEAK = 3, 2, 1
_CORES: tuple[tuple[OutcomeKind, int, re.Pattern[str]], ...] = tuple(
    (kind, weight, re.compile(pattern, re.IGNORECASE))
    for weight, table in ((_STRONG, STRONG), (_TERSE, TERSE), (_WEAK, WEAK))
    for kind, pattern in table
)
_GAP = re.compile(r"[\s.,:;!?·|()\[\]\"'~—–-]*")
_BREAK = re.compile(r"\n|[.!?:;]\s|[·|]|[,(]| - |—|–|\b(?:and|or|then|so)\b")


def posing_as_answer(text: str, *, wrote: bool | None = None) -> OutcomeKind | None:
    """The failure that a whole "answer" really is, or ``None`` for an answer.

    Conservative: only texts that are one of the known notices from beginning to end, whatever their
    Markdown, emoji, quotes of an API's JSON, reset time or web addresses. ``wrote`` is whether a
    model is known to have written (tokens went out), or known not to have: "No API key found." is
    then an answer, or is none. Unknown, such short texts count only with what helps beside them.
    """
    text = text.strip()
    if not text or len(text) > _MAX_CHARS or "```" in text or "~~~" in text:
        return None
    if text[0] in "`\"“'‘«" and text[-1] in "`\"”'’».":  # it quotes one
        return None
    if found := _api_json(text):
        return found
    need = _TERSE if wrote is None else _STRONG if wrote else _WEAK
    said = _plain(text)
    if told := foreign_notice(said):
        kind, helps = told
        return kind if (_TERSE if kind == "quota" else _WEAK) + helps >= need else None
    return _Notice(said).kind(need)


class _Notice:
    """Reads a text from its first word to its last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._low = text.lower()
        self._at = 0
        self._kinds: list[tuple[OutcomeKind, int]] = []
        self._beside: list[str] = []  # what it says besides
        self._api = False
        self._error = False
        self._status = 0

    def kind(self, need: int) -> OutcomeKind | None:
        """What it is; ``None`` when a word is left over, or it says less than is needed."""
        self._skip()
        while self._at < len(self._text):
            before = self._at
            if not (self._prefix() or self._core() or self._tail()):
                return None
            if self._at == before:
                return None
            self._skip()
        certain = self._api or bool(CLI_ONLY.search(self._low))
        helped = bool(HELPS.search("\n".join(self._beside))) or (self._error and self._status > 0)
        for kind, weight in sorted(self._kinds, key=lambda found: -found[1]):
            if certain or weight + helped >= need:
                return kind
        if self._api and self._status:
            kind = classify("", self._status)
            return None if kind == "crashed" else kind
        return None

    def _skip(self) -> None:
        found = _GAP.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _ends(self, end: int) -> bool:
        """Whether what ends here is followed by a break, and not by the rest of a sentence."""
        rest = self._low[end:]
        return not rest.strip(" .!") or bool(
            re.match(
                r"\s*(?:\n|[.!?:;,·|(){\[\]—–-]|(?:and|or|then|so|but)\b)"
                r"|\s+(?:resets?|try|please|until|upgrade|will|available|\d{3}\b|에|오)",
                rest,
            )
        )

    def _prefix(self) -> bool:
        if self._kinds and not self._text[max(0, self._at - 3) : self._at].strip(" "):
            return False
        if found := PREFIX.match(self._low, self._at):
            if self._low[found.end() : found.end() + 1] in (":", " ", ".", ",", "", "]", "(", "\n"):
                self._api = self._api or bool(found["api"])
                self._error = True
                self._at = found.end()
                return True
            return False
        if (found := STATUS.match(self._low, self._at)) and (self._api or not self._kinds):
            self._status = int(found[1])
            self._at = found.end()
            return True
        return False

    def _core(self) -> bool:
        best: tuple[int, OutcomeKind, int] | None = None
        for kind, weight, core in _CORES:
            found = core.match(self._text, self._at)
            if found and self._ends(found.end()) and (best is None or found.end() > best[0]):
                best = (found.end(), kind, weight)
        if best is None:
            return False
        self._at = best[0]
        self._kinds.append((best[1], best[2]))
        return True

    def _tail(self) -> bool:
        """A clause of what notices go on with: it begins as such, and knows no other word."""
        # A request to sign in may stand before the reason; nothing else may.
        first = re.match(r"(?:please )?run /login\b", self._low[self._at :])
        if not (self._kinds or self._api or first):
            return False
        end = self._clause_end()
        clause = self._low[self._at : end]
        tokens = TOKEN.findall(clause)
        first = next((token for token in tokens if token not in ("or", "and", "then")), "")
        if not first or not _begins(first) or not all(map(_known, tokens)):
            return False
        if re.sub(r"[\s.,:;!?·|()\[\]\"'~—–+&%*/-]", "", TOKEN.sub("", clause)):
            return False
        self._beside.append(clause)
        self._at = end
        return True

    def _clause_end(self) -> int:
        for found in re.finditer(r"\n|(?<=[.!?])\s|[·|]", self._low[self._at :]):
            if found.start():
                return self._at + found.start()
        return len(self._low)


def _begins(token: str) -> bool:
    if token in STARTERS or token in TIMES or not token.isascii():
        return True
    return token[0] in "/+-" or token[0].isdigit() or "/" in token


def _known(token: str) -> bool:
    if token in VOCABULARY or token.startswith(("http://", "https://", "/")):
        return True
    if FILES.search(token):
        return False
    if token[0].isdigit() or token[0] in "+-":
        return True
    if not token.isascii():
        return bool(KO.fullmatch(token))
    # A zone (asia/seoul), a host (status.example.com), a model (gpt-5).
    return "/" in token or "." in token or any(c.isdigit() for c in token)


def _plain(text: str) -> str:
    """``text`` without Markdown, emoji and typographer's quotes."""
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = "".join(c for c in text if unicodedata.category(c) not in ("So", "Sk", "Cf", "Mn", "Cc")
                   or c == "\n")  # fmt: skip
    text = re.sub(r"[∙•●▪‣]", "·", text)
    text = re.sub(r"!?\[([^\]\n]*)\]\(([^)\s]*)\)", r"\1 \2", text)
    text = re.sub(r"<(https?://[^>\s]+)>", r"\1", text)
    text = re.sub(r"^\s*(?:>|#{1,6}\s|[-*+]\s|\[!\w+\]\s*$)+", "", text, flags=re.MULTILINE)
    text = re.sub(r"\*+|(?<!\w)_+|_+(?!\w)|`", "", text)
    text = re.sub(r"\b([ap])\. ?m\.?(?![a-z])", r"\1m", text, flags=re.IGNORECASE)
    text = re.sub(
        r"\b(jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.", r"\1", text, flags=re.IGNORECASE
    )
    text = re.sub(r"(\d)\.(?=\s?\d+\.|\s+(?:오전|오후))", r"\1-", text)  # 2025. 10. 9. 오후
    return "\n".join(line for line in (" ".join(part.split()) for part in text.split("\n")) if line)


_BEFORE_JSON = re.compile(
    r"\W*(?:(?:please run /login|failed to authenticate|api error|error|request failed|fatal"
    r"|\(?(?:http |status )?[45]\d\d\)?|too many requests|unauthorized|overloaded)[\s.:·∙•|-]*)*",
    re.IGNORECASE,
)
_AFTER_JSON = re.compile(r"[\s.:·∙•|-]*(?:please run /login|try again later|\W)*", re.IGNORECASE)


def _api_json(text: str) -> OutcomeKind | None:
    """An API's error object, with nothing but words of the CLI around it."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start or not _BEFORE_JSON.fullmatch(text[:start]):
        return None
    if not _AFTER_JSON.fullmatch(text[end + 1 :]):
        return None
    try:
        value = json.loads(text[start : end + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    error = get(value, "error")
    inner = text_of(value, "error", "message") or (error if isinstance(error, str) else "")
    kinds = " ".join(
        str(v) for v in (text_of(value, "error", "type"), get(value, "error", "code"),
                         text_of(value, "error", "status")) if v
    )  # fmt: skip
    if not inner or not (kinds or text_of(value, "type") == "error" or text[:start].strip()):
        return None
    status = re.search(r"\b([45]\d\d)\b", f"{text[:start]} {kinds}")
    kind = classify(f"{kinds} {inner}", int(status[1]) if status else None)
    return None if kind == "crashed" else cast("OutcomeKind", kind)
