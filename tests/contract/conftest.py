"""Fixtures for the tests of real CLIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.desk import CLIS, Desk
from tests.peers.homes import Homes, folder_for
from tests.peers.models import FakeModels
from tests.peers.npm import require_cli


@pytest.fixture(scope="session")
def homes_folder() -> Iterator[Path]:
    """One home per engine for all tests here: a first run in a fresh one is slow."""
    with folder_for("contract") as folder:
        yield folder


@pytest.fixture
def desk(request: pytest.FixtureRequest, homes_folder: Path, models: FakeModels) -> Iterator[Desk]:
    name = request.param
    if name in CLIS:
        require_cli(name)
    with folder_for("project") as folder:
        (folder / "project").mkdir()
        (folder / "project" / "a.txt").write_text("alpha\n")
        yield Desk(name, Homes(homes_folder, models.url), models, folder)
