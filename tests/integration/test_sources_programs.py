"""Programs that sources ask: bounded in time and output, and nothing of them is left."""

import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from core.sources.programs import MAX_OUT_BYTES, end_leftovers, run_program
from tests.integration.checkout import program


def run(tmp_path, script, deadline_s=20.0, **more):
    path = program(tmp_path, "tool", script)
    return run_program((str(path), "a b", "$(c)"), tmp_path, deadline_s=deadline_s, **more)


def test_what_it_says_and_how_it_ended(tmp_path):
    ran = run(tmp_path, 'printf "%s|" "$@"; echo oops >&2; exit 3')
    assert (ran.end, ran.code, ran.out, ran.err) == ("ended", 3, b"a b|$(c)|", "oops")
    assert ran.why == "exit status 3"
    assert run(tmp_path, "exit 0").why == ""


def test_it_gets_no_input(tmp_path):
    assert run(tmp_path, "cat").out == b""


@pytest.mark.parametrize("how", ["", "setsid "])
def test_at_the_deadline_it_and_its_children_are_gone(tmp_path, how):
    if how and not shutil.which("setsid"):
        pytest.skip("there is no setsid")
    begun = time.monotonic()
    ran = run(tmp_path, f"{how}sleep 600 & echo $! > child; {how}sleep 600", deadline_s=1.0)
    assert ran.why == "no answer in time"
    assert time.monotonic() - begun < 10
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_a_child_that_holds_the_output_open_keeps_nobody_waiting(tmp_path):
    begun = time.monotonic()
    ran = run(tmp_path, "sleep 600 & echo $! > child; echo done", deadline_s=30.0)
    assert (ran.end, ran.out) == ("ended", b"done\n")
    assert time.monotonic() - begun < 10
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_a_flood_is_cut(tmp_path):
    ran = run(tmp_path, "yes")
    assert ran.why == "too much output"
    assert len(ran.out) < MAX_OUT_BYTES + 200_000


def test_much_on_stderr_blocks_nothing(tmp_path):
    ran = run(tmp_path, "head -c 3000000 /dev/zero >&2; echo fine")
    assert (ran.out, ran.end) == (b"fine\n", "ended")
    assert len(ran.err) <= 8_000


def test_the_environment_is_an_allow_list(tmp_path, monkeypatch):
    monkeypatch.setenv("MOOT__SLACK__BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("RAWQ_MODEL", "m")
    said = run(tmp_path, "env", names=("RAWQ_*", "MOOT__*"), added={"ADDED": "1"}).out.decode()
    assert "xoxb-1" not in said
    assert "GIT_DIR" not in said
    assert "RAWQ_MODEL=m" in said
    assert "ADDED=1" in said
    assert f"PWD={tmp_path}" in said


def test_one_that_cannot_be_started_raises(tmp_path):
    with pytest.raises(OSError):
        run_program((str(tmp_path / "none"),), tmp_path, deadline_s=1.0)


def test_no_descriptor_is_left_open(tmp_path):
    before = psutil.Process().num_fds()
    for _ in range(3):
        run(tmp_path, "echo hi")
        with pytest.raises(OSError):
            run_program((str(tmp_path / "none"),), tmp_path, deadline_s=1.0)
    assert psutil.Process().num_fds() == before


def test_what_a_killed_moot_was_waiting_for_is_ended_by_the_next(tmp_path):
    tool = program(tmp_path, "tool", f"echo $$ > {tmp_path}/child; exec sleep 600")
    code = (
        "import sys; from pathlib import Path; from core.sources.programs import run_program; "
        "run_program((sys.argv[1],), Path(sys.argv[2]), deadline_s=600)"
    )
    moot = subprocess.Popen([sys.executable, "-c", code, str(tool), str(tmp_path)])
    try:
        deadline = time.monotonic() + 30
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        child = int((tmp_path / "child").read_text())
        assert child not in end_leftovers()  # its Moot is there
        moot.send_signal(signal.SIGKILL)
        moot.wait()
        assert child in end_leftovers()
        assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"
    finally:
        moot.kill()
        moot.wait()
