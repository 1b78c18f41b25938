"""Files that an agent made for people, and code too long for a chat: taken out of the run's folder.

A run that may write has one folder for files for people. What it left there is data of an agent:
only plain files that lie in it count, no link and nothing that is linked from elsewhere, each
copied through the very descriptor that was looked at. Secrets never leave: files that hold them by
their kind are refused by name, what is known to be one is taken out of texts and holds back all
else.
"""

from __future__ import annotations

import errno
import mimetypes
import os
import re
import shutil
import stat
import unicodedata
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.context.attached import safe_name, size_text
from core.markup.aside import set_aside
from core.markup.files import without_links
from core.model import OutFile
from core.redact import known, redact
from core.tongue import say

OUT = "out"
MAX_DEPTH = 3
MAX_LOOKED_AT = 500  # entries of the folder, with what is below it
CHUNK = 2**16
NAME_CHARS = 80
_PRIVATE = re.compile(
    r"(?ix) \..* | .*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg) | id_(rsa|dsa|ecdsa|ed25519).*"
    r"| (.*[._-])?(credentials?|secrets?)(\.(json|ya?ml|toml|ini|txt|env))? | .*\.env | env"
)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class OutTerms:
    """What of an agent's files is posted; sizes in bytes.

    ``folder`` is where copies lie until they are posted. ``over_lines``: code of an answer that is
    longer becomes a file (0: none does).
    """

    folder: Path
    max_file_bytes: int = 20_000_000
    max_files: int = 10
    max_total_bytes: int = 50_000_000
    over_lines: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """A file that is not posted: what it is called, why, and where it lies ("" = nowhere)."""

    name: str
    why: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """What comes of a run beside its words: the answer as it is posted, and what goes with it."""

    shown: str
    files: tuple[OutFile, ...] = ()
    left: tuple[Left, ...] = ()
    per_post: int = 10

    @property
    def posts(self) -> tuple[tuple[OutFile, ...], ...]:
        """The files by the posts that they go with; the first is the answer's."""
        each = max(self.per_post, 1)
        found = tuple(self.files[at : at + each] for at in range(0, len(self.files), each))
        return found or ((),)


@dataclass(slots=True)
class _Taking:
    """What was taken so far. ``names`` maps paths in the folder to what people see."""

    terms: OutTerms
    place: Path
    file_bytes: int
    files: list[OutFile] = field(default_factory=list[OutFile])
    left: list[Left] = field(default_factory=list[Left])
    names: dict[str, str] = field(default_factory=dict[str, str])
    looked: int = 0
    total: int = 0

    def refuse(self, name: str, why: str) -> None:
        """It stays; its name as it is, on one line and without what turns text around."""
        plain = "".join(c for c in name if c.isprintable() and unicodedata.category(c) != "Cf")
        self.left.append(Left(" ".join(plain.split())[:NAME_CHARS] or "?", why))

    def free_name(self, name: str) -> str:
        """A safe name that no other file of this run has."""
        shown = safe_name(name, 1).partition("-")[2]
        taken = {one.name.casefold() for one in self.files} | {
            one.name.casefold() for one in self.left
        }
        number, stem, ending = 1, *_split(shown)
        while shown.casefold() in taken:
            number += 1
            shown = f"{stem}-{number}{ending}"
        return shown


def gather_made(visible: str, scratch: Path, run_id: str, terms: OutTerms, file_bytes: int) -> Made:
    """Copy what a run left for people, and its long code, into the store; blocking.

    ``file_bytes`` is what its chat takes of one file (0: none, so nothing is posted as one).
    Copies are in ``terms.folder / run_id``; whoever calls sees to it that they are posted or
    removed. What cannot be taken is told in ``Made.left``; nothing is raised.
    """
    taking = _Taking(terms, terms.folder / run_id, file_bytes)
    source = scratch / OUT
    try:
        _walk(source, taking)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            taking.refuse(OUT, say("it could not be read ({why})", why=error.strerror))
    shown = without_links(visible, str(source), taking.names) if taking.names else visible
    shown = shown.replace(f"{source}/", "")
    if terms.over_lines and file_bytes:
        shown = _aside(shown, taking)
    if not taking.files and not taking.left:
        shutil.rmtree(taking.place, ignore_errors=True)
    return Made(shown, tuple(taking.files), tuple(taking.left))


def _aside(shown: str, taking: _Taking) -> str:
    """Long code as files; all of it stays in the text where one cannot be kept."""
    cut, asides = set_aside(shown, taking.terms.over_lines, 0)
    made: list[OutFile] = []
    for number, one in enumerate(asides):
        data = redact(one.text).encode("utf-8", "replace")
        if len(data) > taking.file_bytes or one.name.casefold() in {
            name.casefold() for name in taking.names.values()
        }:
            return shown
        path = taking.place / f"code-{number}-{one.name}"
        try:
            write_private(path, data)
        except OSError:
            return shown
        made.append(OutFile(one.name, path, len(data), "text/plain", aside=True))
    taking.files[:0] = made
    return cut


# --- the folder -----------------------------------------------------------------------------


def _walk(source: Path, taking: _Taking) -> None:
    with _folder(str(source), None) as top:
        device = os.fstat(top).st_dev
        _take_all(top, "", device, taking, MAX_DEPTH)


@contextmanager
def _folder(name: str, parent: int | None) -> Generator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(name, flags, dir_fd=parent)
    try:
        yield opened
    finally:
        os.close(opened)


def _take_all(folder: int, below: str, device: int, taking: _Taking, depth: int) -> None:
    for name in sorted(os.listdir(folder)):
        taking.looked += 1
        if taking.looked > MAX_LOOKED_AT:
            if taking.looked == MAX_LOOKED_AT + 1:
                taking.refuse("…", say("there are more files than I look at"))
            return
        inside = f"{below}{name}"
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and found.st_dev == device:
                if depth:
                    with _folder(name, folder) as deeper:
                        _take_all(deeper, f"{inside}/", device, taking, depth - 1)
                else:
                    taking.refuse(name, say("it lies too deep"))
                continue
            if why := _not_taken(name, found, device, taking):
                taking.refuse(name, why)
                continue
            _take(folder, name, inside, found, taking)
        except OSError as error:
            why = say("it could not be read ({why})", why=error.strerror)
            taking.refuse(name, why)


def _not_taken(name: str, found: os.stat_result, device: int, taking: _Taking) -> str:
    """Why a file is not taken, by what it is; "" = it is."""
    terms = taking.terms
    if not stat.S_ISREG(found.st_mode) or found.st_dev != device:
        return say("it is no plain file")
    if found.st_nlink != 1:
        return say("it is linked from elsewhere")
    if _PRIVATE.fullmatch(name):
        return say("files of this name may hold secrets")
    if not found.st_size:
        return say("it is empty")
    if found.st_size > terms.max_file_bytes:
        return say("it is larger than {size}", size=size_text(terms.max_file_bytes))
    if len(taking.files) >= terms.max_files:
        return say("only {count} files are taken", count=terms.max_files)
    if taking.total + found.st_size > terms.max_total_bytes:
        size = size_text(terms.max_total_bytes)
        return say("the files are larger than {size} together", size=size)
    return ""


def _take(folder: int, name: str, inside: str, found: os.stat_result, taking: _Taking) -> None:
    """Copy the file that was looked at; one put in its place since is refused."""
    shown = taking.free_name(name)
    descriptor = os.open(name, _READ, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        now = os.fstat(descriptor)
        same = (now.st_ino, now.st_dev, now.st_nlink) == (found.st_ino, found.st_dev, 1)
        if not same or not stat.S_ISREG(now.st_mode):
            taking.refuse(shown, say("it changed while it was read"))
            return
        data = file.read(found.st_size + 1)
    if len(data) != found.st_size:
        taking.refuse(shown, say("it changed while it was read"))
        return
    safe = without_secrets(data)
    if safe is None:
        taking.refuse(shown, say("it holds a secret of this host"))
        return
    path = taking.place / f"{taking.looked}-{shown}"
    write_private(path, safe)
    taking.total += len(safe)
    mime = mimetypes.guess_type(shown)[0] or ""
    if not taking.file_bytes or len(safe) > taking.file_bytes:
        why = (
            say("this chat takes files of at most {size}", size=size_text(taking.file_bytes))
            if taking.file_bytes
            else say("this chat takes no files")
        )
        taking.left.append(Left(shown, why, str(path)))
    else:
        taking.files.append(OutFile(shown, path, len(safe), mime))
    taking.names[inside] = shown


def without_secrets(data: bytes) -> bytes | None:
    """``data`` as it may be shown: a text without secrets; ``None`` for another file with one."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text or "\0" in text:
        held = any(value.encode() in data for value in known().values)
        return None if held else data
    pieces = [redact(piece) for piece in _pieces(text)]
    return "".join(pieces).encode()


def _pieces(text: str) -> Iterator[str]:
    """Of some 60,000 characters, cut between lines: one look holds up nobody for long."""
    at = 0
    while at < len(text):
        end = text.find("\n", at + CHUNK)
        end = len(text) if end < 0 else end + 1
        yield text[at:end]
        at = end


def _split(name: str) -> tuple[str, str]:
    stem, dot, ending = name.rpartition(".")
    return (stem, f".{ending}") if dot and stem else (name, "")


def write_private(path: Path, data: bytes) -> None:
    """A new file that only we may read, in a folder that only we may look into."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
        out.write(data)


def left_text(left: Sequence[Left], most: int = 20) -> str:
    """Markdown for the thread: which files are not here, why, and where they lie; "" for none."""
    if not left:
        return ""
    lines = [_left_line(one) for one in left[:most]]
    if len(left) > most:
        lines.append(say("- and {count} more", count=len(left) - most))
    return "\n".join((say("📎 Not posted:"), *lines))


def _left_line(one: Left) -> str:
    name = "`" + " ".join(one.name.replace("`", "'").split()) + "`"
    if not one.path:
        return f"- {name}: {one.why}"
    where = say("on Moot's host: {path}", path="`" + one.path.replace("`", "'") + "`")
    return f"- {name}: {one.why}; {where}"
