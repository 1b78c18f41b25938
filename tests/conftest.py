"""Fixtures that several folders of tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import core.memory  # noqa: F401 - first: it says how many threads numpy takes
from tests.peers.models import FakeModels


@pytest.fixture
async def models() -> AsyncIterator[FakeModels]:
    """A loopback server that speaks the model APIs; steered from the prompt."""
    async with FakeModels() as server:
        yield server
