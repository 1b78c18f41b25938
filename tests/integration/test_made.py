"""Files that an agent made for people: what is taken from its folder, and what never is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from core.model import ConversationKey, OutFile
from core.records import messages, out_files, outbox, outbox_texts
from core.records.tables import OutboxRow, RunRow
from core.records.thread import Records
from core.redact import learn
from core.turns.made import MAX_LOOKED_AT, OUT, Made, OutTerms, gather_made, left_text
from core.turns.shelf import Shelf
from tests.integration.parlour import parlour

MB = 1_000_000
NOW = 2e9


class Run:
    """A run's folder, and what is gathered from it."""

    def __init__(self, folder: Path) -> None:
        self.scratch, self.store = folder / "scratch", folder / "store"
        self.out = self.scratch / OUT
        self.out.mkdir(parents=True)
        self.beside = folder / "beside.txt"
        self.beside.write_text("not for people")

    def gather(self, text: str = "", file_bytes: int = MB, **terms: int) -> Made:
        limits = OutTerms(self.store, **terms)
        return gather_made(text, self.scratch, "run1", limits, file_bytes)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def why(made: Made) -> dict[str, str]:
    return {one.name: one.why for one in made.left}


def test_plain_files_are_taken_with_safe_names_and_for_us_alone(run) -> None:
    (run.out / "sub").mkdir()
    (run.out / "chart.svg").write_text("<svg/>")
    (run.out / "sub" / "Chart.svg").write_text("<svg>2</svg>")
    (run.out / "a\nb`c.txt").write_text("text")
    (run.out / "보고서.pdf").write_bytes(b"%PDF\0")
    made = run.gather()
    assert sorted(f.name for f in made.files) == [
        "Chart-2.svg",
        "a_b_c.txt",
        "chart.svg",
        "보고서.pdf",
    ]
    assert made.left == ()
    for file in made.files:
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
        assert file.path.parent == run.store / "run1"
        assert file.size == file.path.stat().st_size


def test_no_link_leads_out_of_the_folder_and_no_special_file_holds_anybody_up(run) -> None:
    (run.out / "symlink.txt").symlink_to(run.beside)
    os.link(run.beside, run.out / "hardlink.txt")
    os.mkfifo(run.out / "pipe.txt")
    (run.out / "folder").symlink_to(run.beside.parent)
    (run.out / "empty.txt").touch()
    made = run.gather()
    assert made.files == ()
    assert why(made) == {
        "empty.txt": "it is empty",
        "folder": "it is no plain file",
        "hardlink.txt": "it is linked from elsewhere",
        "pipe.txt": "it is no plain file",
        "symlink.txt": "it is no plain file",
    }


def test_a_link_in_place_of_the_folder_is_not_followed(run) -> None:
    run.out.rmdir()
    run.out.symlink_to(run.beside.parent)
    assert run.gather("hello") == Made("hello")


@pytest.mark.parametrize(
    "name",
    [".env", "prod.env", ".netrc", "id_rsa", "id_ed25519.pub", "server.pem", "tls.key",
     "credentials.json", "aws_credentials", "secrets.yaml", ".git-credentials", "wallet.kdbx"],
)  # fmt: skip
def test_files_that_hold_secrets_by_their_name_stay(run, name: str) -> None:
    (run.out / name).write_text("x")
    made = run.gather()
    assert made.files == ()
    assert set(why(made).values()) == {"files of this name may hold secrets"}


@pytest.mark.parametrize("name", ["environment.md", "keys.csv", "secret-santa.txt", "pem.txt"])
def test_honest_names_go(run, name: str) -> None:
    (run.out / name).write_text("x")
    assert [file.name for file in run.gather().files] == [name]


def test_secrets_are_taken_out_of_texts_and_hold_back_other_files(run) -> None:
    learn(["hunter2-hunter2-hunter2"])
    (run.out / "log.txt").write_text("token hunter2-hunter2-hunter2 end\n" * 3)
    (run.out / "dump.bin").write_bytes(b"\0\xffhunter2-hunter2-hunter2\0")
    made = run.gather()
    (text,) = made.files
    assert "hunter2" not in text.path.read_text()
    assert text.path.read_text().count("end\n") == 3
    assert why(made) == {"dump.bin": "it holds a secret of this host"}


def test_number_size_and_total_are_bounded_and_said(run) -> None:
    for name, size in (("a", 50), ("b", 101), ("c", 60), ("d", 70), ("e", 10), ("f", 1)):
        (run.out / name).write_bytes(b"\xff" * size)
    made = run.gather(max_file_bytes=100, max_files=3, max_total_bytes=150)
    assert [file.name for file in made.files] == ["a", "c", "e"]
    assert why(made) == {
        "b": "it is larger than 100 bytes",
        "d": "the files are larger than 150 bytes together",
        "f": "only 3 files are taken",
    }


def test_a_flood_of_files_is_not_looked_through(run) -> None:
    for number in range(MAX_LOOKED_AT + 20):
        (run.out / f"{number:04}").touch()
    made = run.gather()
    assert len(made.left) == MAX_LOOKED_AT + 1
    assert "and 481 more" in left_text(made.left)


def test_what_the_chat_does_not_take_lies_where_the_thread_is_told(run) -> None:
    (run.out / "big.bin").write_bytes(b"\xff" * 200)
    for file_bytes, reason in ((100, "at most 100 bytes"), (0, "takes no files")):
        made = run.gather(file_bytes=file_bytes)
        (left,) = made.left
        assert made.files == ()
        assert reason in left.why
        assert Path(left.path).read_bytes() == b"\xff" * 200
        assert left.path in left_text(made.left)
        Path(left.path).unlink()


TEXTS = {
    "![the chart](chart.png)": "the chart (`chart.png`)",
    "![](chart.png)": "`chart.png`",
    "see [chart.png](./chart.png).": "see `chart.png`.",
    "![x](FOLDER/chart.png 'title')": "x (`chart.png`)",
    "![x](<sub dir/b.png>)": "x (`b.png`)",
    "![x](sub%20dir/b.png)": "x (`b.png`)",
    "[it]($MOOT_FILES/chart.png)": "it (`chart.png`)",
    "[web](https://example.com/chart.png)": "[web](https://example.com/chart.png)",
    "![other](other.png)": "![other](other.png)",
    "`![code](chart.png)`": "`![code](chart.png)`",
    "```\n![code](chart.png)\n```": "```\n![code](chart.png)\n```",
    "It is FOLDER/chart.png now.": "It is chart.png now.",
}


@pytest.mark.parametrize(("text", "shown"), TEXTS.items())
def test_links_to_the_files_are_their_names_outside_code(run, text: str, shown: str) -> None:
    (run.out / "chart.png").write_bytes(b"\x89PNG")
    (run.out / "sub dir").mkdir()
    (run.out / "sub dir" / "b.png").write_bytes(b"\x89PNG2")
    assert run.gather(text.replace("FOLDER", str(run.out))).shown == shown


def test_long_code_is_a_file_where_the_chat_takes_one(run) -> None:
    (run.out / "other.py").write_text("x")
    code = "```python made.py\n" + "x = 1\n" * 30 + "```\n"
    made = run.gather(code, over_lines=20)
    assert [(f.name, f.aside) for f in made.files] == [("made.py", True), ("other.py", False)]
    assert made.files[0].path.read_text() == "x = 1\n" * 30
    assert made.shown.count("x = 1") == 12
    assert run_again(run).gather(code, file_bytes=0, over_lines=20).shown == code
    assert run_again(run).gather(code, file_bytes=50, over_lines=20).shown == code


def run_again(run: Run) -> Run:
    for path in (run.store / "run1").iterdir():
        path.unlink()
    return run


async def test_the_store_keeps_what_posts_need_and_nothing_else(tmp_path) -> None:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    try:
        shelf = Shelf(records, tmp_path / "out")
        for name in ("due/a", "kept/b", "sent/c", "dead/d", "old/e", "gone/f", "filling/g"):
            path = shelf.folder / name
            path.parent.mkdir(parents=True)
            path.write_text("x")

        def rows() -> None:
            key = ConversationKey("slack", "T1", "C1", "1.0")
            here = messages.open_conversation(key, direct=False, in_thread=False, now=NOW)
            long_ago = NOW - out_files.KEPT_S - 1
            for state, name, at in (
                ("due", "due/a", NOW),
                ("kept", "kept/b", NOW),
                ("sent", "sent/c", NOW),
                ("dead", "dead/d", NOW),
                ("dead", "old/e", long_ago),
            ):
                files = [OutFile("x", shelf.folder / name, 1)]
                row = outbox.add_post(here.id, "answer", ["text"], files=files, now=at)
                OutboxRow.change(row, state=state)

        await records.do(rows)
        with shelf.filling("filling"):
            await shelf.sweep(NOW)
        there = [str(p.relative_to(shelf.folder)) for p in shelf.folder.rglob("*") if p.is_file()]
        assert sorted(there) == ["dead/d", "due/a", "filling/g", "kept/b", "sent/c"]
        await records.do(lambda: out_files.note_sent(OutboxRow.get(OutboxRow.state == "sent").id))
        await shelf.sweep(NOW)
        assert not (shelf.folder / "sent").exists()
        assert not (shelf.folder / "filling").exists()
    finally:
        await records.close()


async def test_an_answer_that_is_erased_takes_its_files_along(tmp_path) -> None:
    async with parlour(tmp_path) as here:
        records, store = here.house.records, tmp_path / "out"
        await here.ask('@@rehearse text="The chart."@@')
        run = await records.do(lambda: RunRow.get().id)
        copy, staying = store / run / "file-1", store / run / "file-2"

        def write() -> None:
            files = [OutFile("chart.svg", copy, 1)]
            outbox.add_post(
                here.conversation.id,
                "answer",
                ["text"],
                files=files,
                staying=[OutFile("big.bin", staying, 1)],
                run_id=run,
                keep=True,
                now=NOW,
            )
            outbox.release(run)

        await records.do(write)
        needed = await records.do(out_files.needed, NOW)
        assert needed == {f"{run}/file-1", f"{run}/file-2"}
        row = await records.do(lambda: RunRow.get_by_id(run))
        await records.do(outbox_texts.forget_run, row, here.conversation.id)
        assert await records.do(out_files.needed, NOW) == frozenset()


def test_files_are_shared_out_among_posts() -> None:
    files = tuple(OutFile(str(n), Path(str(n)), 1) for n in range(5))
    assert [len(part) for part in Made("", files, per_post=2).posts] == [2, 2, 1]
    assert Made("", ()).posts == ((),)
