"""Code found by meaning, over real checkouts and with a real model: what is embedded, and when."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from core.memory.embed.port import EmbedderError
from core.memory.embed.use import Use
from core.model import Pull
from core.sources.code import vectors
from core.sources.code.files import is_document, tracked
from core.sources.code.finder import CodeSearch
from core.sources.code.index import Index
from core.sources.code.meaning import Meaning
from tests.integration.checkout import checkout, git, put, scene

TOKENS = '''"""Who is signed in: sessions and how long they hold."""


def renew(session):
    """Give a new access token when the old one has expired."""
    return sign(session.user, expires_in=3600)
'''
STOCK = '''"""The warehouse: what lies on which shelf."""


def count_boxes(shelf):
    """How many boxes stand on a shelf."""
    return len(shelf.boxes)
'''
ROWS = "SELECT chunk.symbol FROM chunk JOIN vector ON vector.key = chunk.key"


class Counted:
    """The real model, and the texts it was given."""

    inner = Use()

    def __init__(self, wait: threading.Event | None = None, name: str = "use") -> None:
        self.name, self.dim = name, self.inner.dim
        self.told: list[str] = []
        self._wait = wait

    def passages(self, texts):
        if self._wait is not None:
            self._wait.wait(30)
        self.told += texts
        return self.inner.passages(texts)

    def query(self, text):
        return self.inner.query(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = checkout(tmp_path / "shop")
    put(folder, "src/session.py", TOKENS)
    put(folder, "src/stock.py", STOCK)
    commit(folder)
    return folder


@pytest.fixture
def model():
    return Counted()


@pytest.fixture
def meaning(model):
    made = Meaning(lambda: model)
    yield made
    made.end()


@pytest.fixture
def search(tmp_path, meaning):
    return CodeSearch(tmp_path / "index", meaning=meaning)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "more")


def pulled(search, project, query) -> tuple[str, ...]:
    return search.answer(Pull("code", query), scene(project, "")).hits


def rows(tmp_path: Path) -> list[str]:
    """What has a vector."""
    [file] = (tmp_path / "index").glob("code-*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as db:
        return [symbol for (symbol,) in db.execute(ROWS)]


def kept(tmp_path: Path) -> int:
    [file] = (tmp_path / "index").glob("code-*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT count(*) FROM vector").fetchone()[0]


def until(true) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def all_known(search, project, tmp_path, meaning) -> None:
    """Ask, and wait until all that is there now has its vector."""
    pulled(search, project, "zzzz")
    index = Index(tmp_path / "index", project)
    until(lambda: not meaning.lacks(index) and not meaning.works)


# --- what is found -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("로그인 토큰 만료는 어디서 처리하나", "src/session.py"),
        ("where do logins run out", "src/session.py"),
        ("창고 선반에 상자가 몇 개인지", "src/stock.py"),
        ("카드로 돈을 받는 함수", "src/pay.py"),
    ],
)
def test_other_words_in_another_language_find_it(
    search, project, tmp_path, meaning, question, place
):
    before = pulled(search, project, question)
    assert not before or place not in before[0]  # words alone do not
    all_known(search, project, tmp_path, meaning)
    assert pulled(search, project, question)[0].startswith(place)


def test_a_name_in_the_question_still_comes_first(search, project, tmp_path, meaning):
    all_known(search, project, tmp_path, meaning)
    [first, *_] = pulled(search, project, "does count_boxes care about logins that run out?")
    assert first.startswith("src/stock.py")


# --- what is embedded --------------------------------------------------------------------


def test_what_changes_is_embedded_and_nothing_else(search, project, tmp_path, meaning, model):
    all_known(search, project, tmp_path, meaning)
    assert len(model.told) == len(rows(tmp_path))
    model.told.clear()
    put(project, "src/session.py", TOKENS + "\n\ndef leave(session):\n    session.close()\n")
    all_known(search, project, tmp_path, meaning)
    assert len(model.told) == 1
    assert "leave" in model.told[0]
    assert "sessions and how long they hold" in model.told[0]  # what its file is about
    model.told.clear()
    git(project, "mv", "src/session.py", "src/signed_in.py")
    os.utime(project / "src/stock.py")
    all_known(search, project, tmp_path, meaning)
    assert model.told == []
    assert pulled(search, project, "where do logins run out")[0].startswith("src/signed_in.py")


def test_vectors_of_what_is_gone_go(search, project, tmp_path, meaning):
    all_known(search, project, tmp_path, meaning)
    before = kept(tmp_path)
    git(project, "rm", "-q", "src/stock.py")
    pulled(search, project, "창고 선반에 상자가 몇 개인지")
    assert kept(tmp_path) < before
    assert "count_boxes" not in rows(tmp_path)
    assert not any("stock" in hit for hit in pulled(search, project, "boxes on a shelf"))


def test_another_model_makes_its_own(search, project, tmp_path, meaning):
    all_known(search, project, tmp_path, meaning)
    other = Counted(name="other")
    second = Meaning(lambda: other)
    later = CodeSearch(tmp_path / "index", meaning=second)
    all_known(later, project, tmp_path, second)
    second.end()
    assert len(other.told) == len(rows(tmp_path))
    # The first one's questions are not compared with these.
    index = Index(tmp_path / "index", project)
    assert meaning.question(index, "logins") is None
    assert second.question(index, "logins") is not None


def test_a_broken_index_is_made_anew_with_its_vectors(search, project, tmp_path, meaning):
    all_known(search, project, tmp_path, meaning)
    [file] = (tmp_path / "index").glob("code-*.sqlite")
    file.write_bytes(b"no database at all" * 500)
    all_known(search, project, tmp_path, meaning)
    assert pulled(search, project, "where do logins run out")[0].startswith("src/session.py")


# --- while it is not there ---------------------------------------------------------------


def test_words_answer_while_vectors_are_made(project, tmp_path):
    gate = threading.Event()
    meaning = Meaning(lambda: Counted(gate))
    search = CodeSearch(tmp_path / "index", meaning=meaning)
    began = time.monotonic()
    assert pulled(search, project, "count_boxes")[0].startswith("src/stock.py")
    assert pulled(search, project, "count_boxes")[0].startswith("src/stock.py")
    assert time.monotonic() - began < 20
    assert rows(tmp_path) == []
    gate.set()
    all_known(search, project, tmp_path, meaning)
    assert rows(tmp_path)
    meaning.end()


def test_words_answer_where_there_is_no_embedder_or_it_fails(project, tmp_path):
    class Fails(Counted):
        def passages(self, texts):
            raise EmbedderError("out of order")

    class Breaks(Counted):
        def passages(self, texts):
            raise RuntimeError("of its package")

    for load in (lambda: None, Fails, Breaks):
        meaning = Meaning(load)
        search = CodeSearch(tmp_path / "index", meaning=meaning)
        assert pulled(search, project, "count_boxes")[0].startswith("src/stock.py")
        until(lambda: not meaning.works)  # noqa: B023 - of this turn
        assert rows(tmp_path) == []
        assert pulled(search, project, "count_boxes")[0].startswith("src/stock.py")
        meaning.end()


def test_words_answer_where_the_question_gets_no_vector(project, tmp_path):
    class Mute(Counted):
        def query(self, text):
            raise RuntimeError("of its package")

    meaning = Meaning(Mute)
    search = CodeSearch(tmp_path / "index", meaning=meaning)
    all_known(search, project, tmp_path, meaning)
    assert rows(tmp_path)
    assert pulled(search, project, "count_boxes")[0].startswith("src/stock.py")
    meaning.end()


# --- several, and kill -9 ----------------------------------------------------------------

ANOTHER = """
import sys, time
from pathlib import Path
from core.memory.embed.use import Use
from core.model import Pull
from core.sources.code.finder import CodeSearch
from core.sources.code.index import Index
from core.sources.code.meaning import Meaning
from tests.integration.checkout import scene

project, folder = Path(sys.argv[1]), Path(sys.argv[2])
meaning = Meaning(Use)
search = CodeSearch(folder, meaning=meaning)
search.answer(Pull("code", "zzzz"), scene(project, ""))
print("begun", flush=True)
while meaning.lacks(Index(folder, project)) or meaning.works:
    search.answer(Pull("code", "zzzz"), scene(project, ""))
    time.sleep(0.05)
"""


def another(project: Path, tmp_path: Path) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    argv = (sys.executable, "-c", ANOTHER, str(project), str(tmp_path / "index"))
    return subprocess.Popen(argv, cwd=root, stdout=subprocess.PIPE, text=True)


def many(project: Path) -> None:
    for n in range(60):
        text = f'"""Part {n} of the machine."""\n\n\ndef turn_{n}():\n    """Wheel {n}."""\n'
        put(project, f"lib/part_{n}.py", text + f"    return {n}\n")
    commit(project)


def test_after_a_kill_it_goes_on_where_it_was(project, tmp_path, search, meaning, model):
    many(project)
    process = another(project, tmp_path)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        until(lambda: kept(tmp_path) > 0)
        os.kill(process.pid, signal.SIGKILL)
    there = kept(tmp_path)
    all_known(search, project, tmp_path, meaning)
    assert len(model.told) == len(rows(tmp_path)) - there  # none twice


def test_two_processes_make_each_vector_once(project, tmp_path):
    many(project)
    processes = [another(project, tmp_path) for _ in range(2)]
    for process in processes:
        with process:
            process.communicate(timeout=100)
        assert process.returncode == 0
    index = Index(tmp_path / "index", project)
    files = [file for file in tracked(project) if not is_document(file.path)]
    assert index.refresh(files, time.monotonic() + 30) == 0
    with index.open() as db:
        pieces, left = vectors.count(db)
        assert (pieces > 60, left) == (True, 0)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
