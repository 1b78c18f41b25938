"""Real git checkouts and stand-in programs for the tests of the sources."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

from core.model import Conversation, ConversationKey, Project, Scene

PAY = '''"""Payments."""


class PaymentService:
    """Charges cards."""

    def charge_card(self, amount):
        """Take the money, once."""
        return round_money(amount)


def round_money(amount):
    """Half even: 은행가 반올림."""
    return round(amount, 2)
'''


def git(folder: Path, *args: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.test")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


def put(folder: Path, path: str, text: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def checkout(folder: Path) -> Path:
    """A git checkout with one commit."""
    put(folder, "src/pay.py", PAY)
    put(folder, "README.md", "# Shop\n\nPayments go through charge_card.\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def scene(project: Path, prompt: str, **more) -> Scene:
    key = ConversationKey("slack", "T", "C", "1")
    there = Conversation(1, key, direct=False, opened=True, engaged=True, caught_up=True)
    own = more.pop("own", False)
    return Scene(there, Project("shop", str(project), own=own), prompt, 1, 1, **more)


def program(folder: Path, name: str, script: str) -> Path:
    """A program of that name in ``folder``, to be put on PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
