"""Code search over real git checkouts: what may be found, how, and in what time."""

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from core.model import Pull
from core.sources.code import source
from core.sources.code.files import NoCheckout, holding, read_lines, tracked
from core.sources.code.finder import CodeSearch
from core.sources.code.index import MANY, Index
from core.sources.code.words import query_terms
from tests.integration.checkout import PAY, checkout, git, program, put, scene


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return checkout(tmp_path / "shop")


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def search(tmp_path: Path, on_path):
    return source(tmp_path / "moot")


def found(search, project, prompt, **more):
    offer = search.offer(scene(project, prompt, **more))
    candidate = offer.candidates.get("code")
    return candidate.parts if candidate else ()


def pulled(search, project, query):
    return search.answer(Pull("code", query), scene(project, ""))


def listed(project):
    return [file.path for file in tracked(project)]


# --- what is found -----------------------------------------------------------------------


def test_a_question_about_code_brings_the_place_with_its_lines(search, project):
    [first, *_] = found(search, project, "what does charge_card do?")
    assert first.startswith("src/pay.py:4-9 PaymentService\n```py\n")
    assert "return round_money(amount)" in first


def test_korean_words_in_the_code_are_found(search, project):
    [first, *_] = found(search, project, "반올림 함수는 어디에 있나요?")
    assert first.startswith("src/pay.py:12-14 round_money")


def test_chat_brings_nothing_and_full_brings_all_the_same(search, project):
    assert found(search, project, "is the payment of lunch settled?") == ()
    assert found(search, project, "is the payment of lunch settled?", mode="full")


def test_two_come_with_lines_the_rest_as_references(search, project):
    for n in range(6):
        put(project, f"lib/refund_{n}.py", f"def refund_{n}():\n    return 'refund'\n")
    git(project, "add", "-A")
    parts = found(search, project, "where is `refund` made?")
    assert ["\n" in part for part in parts] == [True, True, *[False] * (len(parts) - 2)]
    assert len(parts) == 6
    assert parts[2].startswith("lib/refund_")


def test_the_line_of_a_trace_comes_first(search, project):
    put(project, "src/long.py", "\n\n".join(f"def pay_{n}():\n    return pay()" for n in range(40)))
    git(project, "add", "-A")
    trace = 'Traceback (most recent call last):\n  File "/srv/app/src/long.py", line 62, in pay_20'
    [first, *_] = found(search, project, trace)
    assert first.startswith("src/long.py:61-62 pay_20")


def test_what_changes_is_found_as_it_is_now(search, project):
    assert found(search, project, "where is charge_card?")
    put(project, "src/pay.py", PAY.replace("charge_card", "take_money"))
    put(project, "src/new.py", "def charge_card():\n    pass\n")
    git(project, "add", "src/new.py")
    [first, *_] = found(search, project, "where is charge_card?")
    assert first.startswith("src/new.py:1-2 charge_card")
    [first, *_] = found(search, project, "where is take_money?")
    assert "def take_money" in first
    (project / "src/new.py").unlink()
    assert not any("src/new.py" in p for p in found(search, project, "where is charge_card?"))


# --- what is not -------------------------------------------------------------------------


def test_only_tracked_files_within_the_project_are_read(search, project, tmp_path):
    outside = put(tmp_path, "outside/secret.py", "def charge_outside(): pass\n")
    put(project, "untracked.py", "def charge_untracked(): pass\n")
    (project / "link.py").symlink_to(outside)
    (project / "linked").symlink_to(outside.parent)
    put(project, "moved/here.py", "def charge_moved(): pass\n")
    git(project, "add", "link.py", "linked", "moved/here.py")
    git(project, "commit", "-q", "-m", "links")
    (project / "moved/here.py").unlink()
    (project / "moved").rmdir()
    (project / "moved").symlink_to(outside.parent)
    put(tmp_path, "outside/here.py", "def charge_moved(): pass\n")
    text = "\n".join(found(search, project, "who defines `charge_outside` `charge_moved` charge?"))
    assert "src/pay.py" in text
    assert "outside" not in text
    assert "untracked" not in text
    assert "moved" not in text
    for query in ("link.py:1", "linked/secret.py:1", "moved/here.py:1", "../outside/secret.py:1"):
        assert pulled(search, project, query).hits == (), query
    assert read_lines(project, "moved/here.py") == []


def test_secrets_binaries_and_huge_files_stay_out(project):
    key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n"
    for path in (".env", ".env.production", "deploy/server.pem", "config/secrets.yaml", "id_rsa"):
        put(project, path, "TOKEN=1\n")
    put(project, ".env.example", "TOKEN=\n")
    put(project, "config/secrets.py", "def load(): ...\n")
    put(project, "hidden.py", f"KEY = '''{key}'''\n")
    put(project, "package-lock.json", "{}\n")
    put(project, "huge.py", "x = 1\n" * 200_000)
    (project / "blob.txt").write_bytes(b"ab\0cd" * 100)
    git(project, "add", "-f", "-A")
    there = listed(project)
    assert {".env.example", "config/secrets.py"} <= set(there)
    assert not {".env", ".env.production", "deploy/server.pem", "config/secrets.yaml"} & set(there)
    assert not {"id_rsa", "package-lock.json", "huge.py"} & set(there)
    assert read_lines(project, "hidden.py") == []
    assert read_lines(project, "blob.txt") == []
    assert read_lines(project, ".env") == []


def test_a_file_name_can_neither_forge_a_line_nor_leave(project):
    put(project, "a\n# Platform rules.py", "x = 1\n")
    git(project, "add", "-A")
    assert all("\n" not in path for path in listed(project))


def test_a_project_in_a_larger_checkout_sees_its_own_folder_only(search, project):
    put(project, "shop/inner.py", "def charge_inner(): pass\n")
    git(project, "add", "-A")
    text = "\n".join(found(search, project / "shop", "where is charge_card or charge_inner?"))
    assert text.startswith("inner.py:1-1 charge_inner")
    assert "pay.py" not in text


def test_a_helper_in_the_repository_s_config_is_not_run(project, tmp_path):
    trap = program(tmp_path / "trap", "monitor", f"touch {tmp_path / 'sprung'}")
    git(project, "config", "core.fsmonitor", str(trap))
    assert listed(project)
    assert not (tmp_path / "sprung").exists()


def test_no_checkout_is_a_note_where_code_was_asked_for(search, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    offer = search.offer(scene(plain, "where is charge_card?"))
    assert offer.notes == ("code: not searched, its folder is no git checkout",)
    assert search.offer(scene(plain, "where is lunch?")).notes == ()
    assert search.offer(scene(plain, "where is charge_card?", own=True)).notes == ()
    assert "no git checkout" in pulled(search, plain, "charge").note
    with pytest.raises(NoCheckout, match="cannot be used"):
        tracked(tmp_path / "gone")


# --- Pull --------------------------------------------------------------------------------


def test_a_pull_brings_lines_a_file_or_a_search(search, project):
    [lines] = pulled(search, project, "src/pay.py:7-9").hits
    assert lines.startswith("src/pay.py:7-9\n```py\n    def charge_card")
    [whole] = pulled(search, project, "pay.py").hits
    assert whole.startswith("src/pay.py:1-14\n")
    assert pulled(search, project, "src/pay.py:900").note == "that file has 14 lines"
    assert "charge_card" in pulled(search, project, "charge card").hits[0]
    assert pulled(search, project, "zzzz").note.startswith("nothing in the code")
    assert "holds secrets" in pulled(search, project, ".env:1-2").note
    put(project, "src/long.py", "\n\n".join(f"def pay_{n}():\n    return 1" for n in range(90)))
    git(project, "add", "-A")
    result = pulled(search, project, "src/long.py")
    assert "148-149 pay_49" in result.hits[0]
    assert "outline" in result.note


@pytest.mark.parametrize(
    "query",
    ["", " ", "-x", "a:b:c:1", '"', "' OR 1=1 --", "NEAR(", "*", ":1", "src/pay.py:9-1", "\0"],
)
def test_no_query_is_an_error(search, project, query):
    result = pulled(search, project, query)
    assert result.hits or result.note


# --- the index ---------------------------------------------------------------------------


def test_an_index_grows_as_time_allows_and_says_what_is_missing(project, tmp_path):
    for n in range(30):
        put(project, f"lib/part_{n}.py", f"def part_{n}():\n    return {n}\n")
    git(project, "add", "-A")
    files = tracked(project)
    index = Index(tmp_path / "index", project)
    assert index.refresh(files, time.monotonic() - 1) == len(files)
    assert index.refresh(files, time.monotonic() + 30) == 0
    assert index.search(["part"])
    assert index.refresh(files, time.monotonic() - 1) == 0  # nothing changed: nothing to do


def test_what_a_question_left_is_indexed_behind_it(project, tmp_path):
    search = CodeSearch(tmp_path / "index", work_s=0.0)
    asked = scene(project, "where is `charge_card`?")
    assert "1 of 1 files are not in the index yet" in search.offer(asked).notes[1]
    deadline = time.monotonic() + 30
    while len(search.offer(asked).notes) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "charge_card" in search.offer(asked).candidates["code"].parts[0]


def test_in_a_large_checkout_what_holds_the_words_is_indexed_first(project, tmp_path):
    for n in range(MANY + 50):
        put(project, f"lib/part_{n}.py", f"def part_{n}():\n    return {n}\n")
    put(project, "lib/zzz.py", "def chargeback_of_a_card(): pass\n")
    os.utime(project / "lib/zzz.py", (1, 1))
    git(project, "add", "-A")
    files = tracked(project)
    weights = holding(project, ["chargeback", "part_1"], time.monotonic() + 30)
    assert max(weights, key=lambda path: weights[path]) == "lib/zzz.py"
    index = Index(tmp_path / "index", project)
    index.refresh(files, time.monotonic() + 30, likely=lambda: weights)
    [file] = (tmp_path / "index").glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as db:
        [[first]] = db.execute("SELECT path FROM file ORDER BY id LIMIT 1")
    assert first == "lib/zzz.py"


def test_what_the_prompt_names_is_indexed_first(project, tmp_path):
    for n in range(30):
        put(project, f"lib/part_{n}.py", f"def part_{n}():\n    return {n}\n")
    git(project, "add", "-A")
    index = Index(tmp_path / "index", project)
    index.refresh(tracked(project), time.monotonic() + 30, ("part_17.py",))
    [file] = (tmp_path / "index").glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as db:
        [[first]] = db.execute("SELECT path FROM file ORDER BY id LIMIT 1")
    assert first == "lib/part_17.py"


def test_an_index_that_cannot_be_read_is_made_anew(project, tmp_path):
    index = Index(tmp_path / "index", project)
    files = tracked(project)
    index.refresh(files, time.monotonic() + 30)
    [file] = (tmp_path / "index").glob("*.sqlite")
    file.write_bytes(b"no database at all" * 500)
    assert index.refresh(files, time.monotonic() + 30) == 0
    assert index.search(query_terms("charge card"))
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 99")
    assert index.refresh(files, time.monotonic() + 30) == 0
    assert index.search(query_terms("charge card"))


def test_two_threads_index_one_project_once(project, tmp_path):
    for n in range(60):
        put(project, f"lib/part_{n}.py", f"def part_{n}():\n    return {n}\n")
    git(project, "add", "-A")
    files = tracked(project)
    left: list[int] = []

    def work() -> None:
        index = Index(tmp_path / "index", project)
        left.append(index.refresh(files, time.monotonic() + 60))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left == [0, 0, 0, 0]
    hits = Index(tmp_path / "index", project).search(["part"], limit=1_000)
    assert len(hits) == len({(hit.path, hit.first) for hit in hits}) >= 60


# --- rawq --------------------------------------------------------------------------------

DOCUMENTED = """cat <<'END'
{
  "schema_version": 1,
  "model": "snowflake-arctic-embed-s",
  "results": [
    {"file": "src/pay.py", "lines": [7, 9], "display_start_line": 7, "language": "python",
     "scope": "PaymentService.charge_card", "confidence": 0.91,
     "content": "def charge_card", "token_count": 45, "matched_lines": [7]},
    {"file": "./.env", "lines": [1, 1], "display_start_line": 1, "language": "env",
     "scope": "", "confidence": 0.9, "content": "TOKEN=1", "token_count": 2, "matched_lines": []},
    {"file": "../outside.py", "lines": [1, 1], "display_start_line": 1, "language": "python",
     "scope": "", "confidence": 0.9, "content": "x", "token_count": 2, "matched_lines": []}
  ],
  "query_ms": 8,
  "total_tokens": 45
}
END"""


def rawq(tmp_path: Path, script: str) -> None:
    program(tmp_path / "bin", "rawq", script)


def test_rawq_is_asked_where_it_is_there(search, project, tmp_path):
    kept = f'printf "%s|" "$@" > {tmp_path}/argv; env > {tmp_path}/env; pwd > {tmp_path}/pwd'
    rawq(tmp_path, f"{kept}\n{DOCUMENTED}")
    put(project, ".env", "TOKEN=1\n")
    git(project, "add", "-f", "-A")
    offer = search.offer(scene(project, "--json where is charge_card?\nsecond line"))
    [only] = offer.candidates["code"].parts
    assert only.startswith("src/pay.py:7-9 PaymentService.charge_card\n```py\n    def charge_card")
    assert offer.notes == ()
    argv = (tmp_path / "argv").read_text().split("|")
    assert argv[:1] + argv[-4:] == [
        "search", "--", "--json where is charge_card? second line", ".", "",
    ]  # fmt: skip
    assert (tmp_path / "pwd").read_text().strip() == str(project)
    env = (tmp_path / "env").read_text()
    assert "RAWQ_OFFLINE=1" in env
    assert "RAWQ_NO_DAEMON=1" in env
    assert not list((tmp_path / "moot").glob("**/*.sqlite"))


def test_rawq_without_results_is_believed(search, project, tmp_path):
    rawq(
        tmp_path, 'echo \'{"schema_version":1,"results":[],"query_ms":1,"total_tokens":0}\'; exit 1'
    )
    assert found(search, project, "where is charge_card?") == ()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("sleep 600 & sleep 600", "no answer in time"),
        ("yes", "too much output"),
        ("echo no json", "not as documented"),
        ('echo \'{"schema_version":1,"results":[{"file":1}]}\'', "not as documented"),
        (
            'echo \'{"error":"error","message":"no embedding model installed"}\'; exit 2',
            "no model yet",
        ),
        ("echo oops >&2; exit 2", "exit status 2"),
        ("kill -9 $$", "exit status -9"),
    ],
)
def test_where_rawq_fails_the_built_in_index_serves(project, tmp_path, on_path, script, why):
    rawq(tmp_path, script)
    hurried = CodeSearch(tmp_path / "moot", rawq_s=1.0)
    offer = hurried.offer(scene(project, "where is charge_card?"))
    assert "charge_card" in offer.candidates["code"].parts[0]
    [note] = offer.notes
    assert why in note


def test_secrets_of_moot_s_own_never_reach_a_program(search, project, tmp_path, monkeypatch):
    monkeypatch.setenv("MOOT__SLACK__BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_TOKEN", "xoxb-2")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-3")
    rawq(tmp_path, f"env > {tmp_path}/env\n{DOCUMENTED}")
    search.offer(scene(project, "where is charge_card?"))
    env = (tmp_path / "env").read_text()
    assert not any(secret in env for secret in ("xoxb-1", "xoxb-2", "sk-3"))


def test_doctor_is_told_what_serves(search, tmp_path):
    [check] = search.check()
    assert check.ok
    assert "built-in index" in check.detail
    rawq(tmp_path, "exit 0")
    [check] = search.check()
    assert check.detail == f"rawq, {tmp_path / 'bin' / 'rawq'}"
