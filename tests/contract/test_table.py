"""Every row of the table with every engine that has a column; see ``tests.contract.table``."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.contract.desk import Desk
from tests.contract.table import ROWS, column

COLUMNS = sorted(
    p.stem for p in (Path(__file__).parent / "columns").glob("*.py") if p.stem != "__init__"
)
CELLS = [
    pytest.param(engine, row, id=f"{engine}-{row}")
    for engine in COLUMNS
    for row in column(engine)[0]
]


@pytest.mark.parametrize("engine", COLUMNS)
def test_a_column_has_every_row_or_says_why_not(engine: str) -> None:
    became, left_out = column(engine)
    assert sorted([*became, *left_out]) == sorted(ROWS)
    assert all(left_out.values())


@pytest.mark.clis
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("desk", "row"), CELLS, indirect=["desk"])
async def test_what_a_fault_comes_to(desk: Desk, row: str) -> None:
    want = column(desk.name)[0][row]
    began = time.monotonic()
    outcome = await desk.ask(
        f"@@fake {ROWS[row]}@@", limits=want.limits, env=dict(want.env), **want.task
    )
    took_s = time.monotonic() - began
    assert outcome.kind == want.kind, outcome
    assert re.search(want.says, outcome.detail), outcome
    assert outcome.text.startswith(want.text) if want.text else outcome.text == "", outcome
    assert took_s < want.within_s
