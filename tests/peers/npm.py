"""Fetches the real agent CLIs and the loopback Slack by npm, and finds them.

``python -m tests.peers.npm`` (or ``make clis``) installs what ``package.json`` and its lock file
pin into ``.cache/clis``. Install scripts are not run: the packages for one platform hold the
programs themselves, and ``bin/`` gets links to those. ``MOOT_REQUIRE_CLIS=1`` makes an absence an
error, here and in the tests.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / ".cache" / "clis"
BIN = PLACE / "bin"
INSTALL_S = 900

# Where each program is inside node_modules; the first that exists is taken.
PROGRAMS = {
    "claude": ("@anthropic-ai/claude-code-*/claude",),
    "codex": ("@openai/codex-*/vendor/*/bin/codex",),
    "gemini": (".bin/gemini",),
    "opencode": ("opencode-{system}-{arch}{level}/bin/opencode",),
    "local-slack": ("local-slack-*/bin/local-slack",),
}
NAMES = ("claude", "codex", "gemini", "opencode")


def required() -> bool:
    """Whether an absent CLI is an error (CI) or a reason to skip (a laptop)."""
    return os.environ.get("MOOT_REQUIRE_CLIS") == "1"


def locate(name: str) -> Path | None:
    """The program ``name`` (claude, codex, gemini, opencode, local-slack), or ``None``."""
    link = BIN / name
    return link if link.exists() else None


def require_cli(name: str) -> Path:
    """The program ``name``; without it the test is skipped, or fails where it is required."""
    found = locate(name)
    if found is None:
        why = f"{name} is not there; `make clis` fetches it by npm"
        if required():
            pytest.fail(why)
        pytest.skip(why)
    return found


def _stamp() -> str:
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json", "npm.py"):
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()


def _native(name: str) -> Path | None:
    machine = os.uname().machine
    words = {
        "system": "darwin" if sys.platform == "darwin" else "linux",
        "arch": "arm64" if machine in ("arm64", "aarch64") else "x64",
    }
    for level in ("", "-baseline") if _has_avx2() else ("-baseline", ""):
        for pattern in PROGRAMS[name]:
            for path in sorted((PLACE / "node_modules").glob(pattern.format(level=level, **words))):
                if os.access(path, os.X_OK):
                    return path
    return None


def _has_avx2() -> bool:
    info = Path("/proc/cpuinfo")
    return not info.exists() or "avx2" in info.read_text(errors="replace")


def _install(npm: str) -> str:
    """Run npm; returns why it failed, or ""."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, PLACE / name)
    # Not "npm ci": it refuses a lock file that lacks packages for other platforms.
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    command.append("--omit-lockfile-registry-resolved")
    try:
        done = subprocess.run(
            command, cwd=PLACE, timeout=INSTALL_S, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"npm did not finish within {INSTALL_S} s"
    return "" if done.returncode == 0 else f"npm failed:\n{done.stderr[-2000:]}"


def _link() -> list[str]:
    """Fill ``bin/``; returns the names that are missing."""
    BIN.mkdir(exist_ok=True)
    missing = []
    for name in PROGRAMS:
        link, program = BIN / name, _native(name)
        link.unlink(missing_ok=True)
        if program is not None:
            link.symlink_to(os.path.relpath(program, BIN))
        elif name in NAMES:
            missing.append(name)
    return missing


def fetch() -> str:
    """Install what is pinned unless it is there already; returns why not, or ""."""
    stamp = PLACE / ".stamp"
    if stamp.exists() and stamp.read_text() == _stamp() and all(map(locate, NAMES)):
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed, so the real agent CLIs cannot be fetched"
    if why := _install(npm):
        return why
    if missing := _link():
        return f"npm installed no program for: {', '.join(missing)}"
    stamp.write_text(_stamp())
    return ""


def main() -> int:
    """Fetch, and say plainly what came of it."""
    if why := fetch():
        print(why, file=sys.stderr)
        if not required():
            print("The tests that need them will be skipped.", file=sys.stderr)
        return 1 if required() else 0
    print("agent CLIs: " + ", ".join(name for name in PROGRAMS if locate(name)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
