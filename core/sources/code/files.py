"""Which files of a project may be read for a search, and their lines; nothing outside of it.

Only what git tracks, within the project's folder; no links, no binary or huge files, and nothing
that looks like it holds secrets (by its name, or a private key within).
"""

from __future__ import annotations

import math
import os
import re
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from core.errors import MootError
from core.sources.code.vocabulary import listed
from core.sources.programs import Ran, find_program, run_program

MAX_FILE_BYTES = 400_000
MAX_FILES = 30_000
GIT_S = 3.0
MAX_LIST_BYTES = 64_000_000  # what git may say: a list of some 500,000 files

_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ENV = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}

_SECRET_NAMES = re.compile(
    r"""(?:^|/)(?:
      \.env(?:\.(?!example$|sample$|template$|dist$|defaults$)[^/]*)?
    | [^/]*\.(?:pem|key|p12|pfx|kdbx?|keystore|jks|ovpn|gpg|asc|tfstate(?:\.backup)?|tfvars)
    | id_(?:rsa|dsa|ecdsa|ed25519)[^/]*
    | \.(?:npmrc|netrc|pypirc|htpasswd|pgpass|git-credentials|dockercfg)
    | [^/]*(?:secret|credential|password|passwd|token|service[-_]?account)s?[^/]*
      \.(?:json|ya?ml|toml|ini|txt|env|properties|xml|csv|cfg|conf)
    | (?:secrets?|credentials?)
    )$ | (?:^|/)\.(?:ssh|aws|gnupg|kube|docker)/""",
    re.IGNORECASE | re.VERBOSE,
)
_DULL_NAMES = re.compile(
    r"""(?:^|/)(?:[^/]*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|
    [^/]*\.min\.(?:js|css)|[^/]*\.(?:map|snap))$""",
    re.IGNORECASE | re.VERBOSE,
)
_BINARY_SUFFIXES = listed(
    "png jpg jpeg gif webp bmp ico icns svg pdf zip gz bz2 xz zst tar tgz jar war whl so dylib dll "
    "exe a o bin dat db sqlite sqlite3 woff woff2 ttf otf eot mp3 mp4 mov avi wav ogg flac webm "
    "class pyc parquet npy npz pt onnx safetensors"
)
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|fixtures?|examples?|benchmarks?|vendor|third_party|"
    r"node_modules|dist|build|generated|migrations|locales?)/|(?:^|/)test_|[._](?:test|spec)\.|"
    r"\.(?:json|ya?ml|csv|svg|html?|css|lock|txt)$",
    re.IGNORECASE,
)
_WRITTEN = re.compile(r"\.(?:md|mdx|markdown|rst)$", re.IGNORECASE)
# Plain text is data more often than not: it counts by its name, or where documents lie.
_TEXTS = re.compile(
    r"(?:^|/)(?:docs?|documentation|adrs?|rfcs?|wiki|notes)/(?:.*/)?[^/]+\.txt$"
    r"|(?:^|/)(?:readme|changelog|changes|history|contributing|install|notes|news|todo|faq|"
    r"architecture|design|hacking|roadmap|security)(?:\.txt)?$",
    re.IGNORECASE,
)
_NOT_OURS = re.compile(
    r"(?:^|/)(?:node_modules|bower_components|vendor|third_party|site-packages|dist|build|target|"
    r"__pycache__|\.[^/]+)/",
    re.IGNORECASE,
)
_FOR_AGENTS = re.compile(r"^\.(?:moot|claude)/(?:skills|personas)/")
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")


class NoCheckout(MootError):
    """The project's folder is not a git checkout that can be read; the message says why.

    ``plain``: it is a folder like any other, only that git does not track it.
    """

    def __init__(self, why: str, *, plain: bool = False) -> None:
        super().__init__(why)
        self.plain = plain


@dataclass(frozen=True, slots=True)
class File:
    """A tracked file that may be read: its path within the project, and what it was like."""

    path: str
    mtime_ns: int
    size: int


def tracked(folder: Path) -> tuple[File, ...]:
    """The files of the project that may be searched, in git's order: ``MAX_FILES`` at most. Blocks.

    Raises:
        NoCheckout: there is no git, or the folder is no checkout.
    """
    listed = git(folder, "ls-files", "-z", "-s")
    if listed.why:
        raise NoCheckout(_why_not(listed), plain="not a git repository" in listed.err)
    found: list[File] = []
    for entry in listed.out.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        if not facts.startswith("100") or not may_read(path):  # neither links nor submodules
            continue
        try:
            there = os.stat(folder / path, follow_symlinks=False)  # noqa: PTH116 - thousands
        except OSError:
            continue  # deleted in the working tree
        if stat.S_ISREG(there.st_mode) and 0 < there.st_size <= MAX_FILE_BYTES:
            found.append(File(path, there.st_mtime_ns, there.st_size))
            if len(found) >= MAX_FILES:
                break
    return tuple(dict.fromkeys(found))  # a file in conflict is listed once per side


def holding(folder: Path, words: Sequence[str], until: float) -> dict[str, float]:
    """Which tracked files hold any of ``words``, weighed: of many, and rare ones, counts more.

    By ``git grep``, which reads a large checkout in a fraction of the time that indexing takes.
    Stops at ``until`` (as ``time.monotonic`` counts) with what it has.

    Raises:
        NoCheckout: there is no git.
    """
    weights: dict[str, float] = {}
    for word in words:
        if time.monotonic() >= until:
            break
        ran = git(folder, "grep", "-z", "-l", "-I", "-i", "-F", "-e", word, "--")
        paths = [p for p in ran.out.decode("utf-8", "surrogateescape").split("\0") if p]
        for path in paths:
            weights[path] = weights.get(path, 0.0) + 1 / math.log(2 + len(paths))
    return weights


def git(folder: Path, *args: str) -> Ran:
    """Run git in a project: no hooks, no helpers of the repository's, no locks, no questions.

    Raises:
        NoCheckout: git is not installed, or the folder is not there.
    """
    program = find_program("git")
    if not program:
        raise NoCheckout("git is not installed")
    try:
        argv = (program, *_SAFE, *args)
        return run_program(
            argv, folder, deadline_s=GIT_S, added=_ENV, alone=True, max_bytes=MAX_LIST_BYTES
        )
    except OSError as error:
        raise NoCheckout(f"its folder cannot be used ({type(error).__name__})") from None


def _why_not(ran: Ran) -> str:
    if "not a git repository" in ran.err:
        return "its folder is no git checkout"
    if "dubious ownership" in ran.err:
        return "git refuses it: the folder belongs to another user"
    return f"git could not list its files ({ran.why})"


def may_read(path: str) -> bool:
    """Whether a tracked file of that name may be searched and shown."""
    if not path or not path.isprintable() or path.startswith("/") or "\\" in path:
        return False
    pure = PurePosixPath(path)
    if ".." in pure.parts or pure.suffix[1:].lower() in _BINARY_SUFFIXES:
        return False
    return not looks_secret(path) and not _DULL_NAMES.search(path)


def looks_secret(path: str) -> bool:
    """Whether a file of that name usually holds keys, tokens or passwords."""
    return bool(_SECRET_NAMES.search(path))


def is_document(path: str) -> bool:
    """Whether a file of that name was written for people to read (``core.sources.documents``).

    Personas and skills are not meant: those reach agents by their own way.
    """
    if not (_WRITTEN.search(path) or _TEXTS.search(path)) or _FOR_AGENTS.match(path):
        return False
    return not _NOT_OURS.search(path) or path.startswith(".github/")


def is_aside(path: str) -> bool:
    """Whether a file stands beside what matters most: tests, examples, data, what is generated."""
    return bool(_ASIDE.search(path))


def read_lines(folder: Path, path: str) -> list[str]:
    """The lines of a tracked file; none when it may not or cannot be read as text.

    A link anywhere on the way is not followed, whatever it was when it was listed.
    """
    root = folder.resolve()
    full = root / path
    if not may_read(path) or full.resolve() != full:
        return []
    try:
        handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return []
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return []
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES or b"\0" in data[:8_000]:
        return []
    text = data.decode("utf-8", "replace")
    if _PRIVATE_KEY.search(text):
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    minified = len(text) > 20_000 and len(text) / max(1, len(lines)) > 300
    return [] if minified else lines
