"""The loopback platforms that the product is driven through."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import LoopbackSlack


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    """A Slack of one's own."""
    async with LoopbackSlack() as loopback:
        yield loopback


@pytest.fixture
async def world() -> AsyncIterator[LoopbackDiscord]:
    """A Discord of one's own."""
    async with LoopbackDiscord() as loopback:
        yield loopback
