"""What several files here stand on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.records.thread import Records
from tests.integration.supervised import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[Records]:
    opened = Records(tmp_path / "moot.sqlite")
    await opened.open()
    yield opened
    await opened.close()
