"""A database of many messages in our own schema, made fast and the same each time.

Plain ``executemany`` into the tables that ``core.records`` has created, the keyword index
included. It is made in pieces, each one transaction with a seed of its own: what was interrupted
goes on where it stopped, and what is there already is used again.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from core.keywords import index_text
from core.memory.summarise import AT_LEAST, AT_MOST, FROM_MESSAGES
from core.memory.topics import extract, merge
from core.model import EXTRACT, Actor, Origin, Usage
from core.records import findings, ledger, plans, topics
from core.records.prepared import insert_sql, meta_of
from core.records.tables import ConversationRow, MessageRow, Table
from core.records.thread import Records

VERSION = 7  # of what is generated; another one makes the database anew
PIECE = 20_000
CHANNELS = 200
ACTIVE = 50  # threads in which people talk at the same time
SPAN = 2_000  # messages until the next ones open
EPOCH = 1_700_000_000.0
SENTENCES = 6_000  # a language
TAIL = 4_000  # rare words a language: identifiers, names, ticket numbers
CHAT, SPACE, HOME, PROJECT = "paper", "T1", "C7", "acme"
"""The platform, its space, the channel of the measured conversations, and its project."""

WORDS = {
    "en": "the of to and in we is it that for on this with not be as are have from by or "
    "an will can but one deploy retry queue index branch review test merge release "
    "token cache schema invoice customer payment channel thread message server "
    "worker because should before after",
    "de": "der die das und ist nicht wir ein zu mit auf für es im dem den von sie werden "
    "haben noch aber auch nach bei einer um am sind oder Warteschlange Rechnung "
    "Kunde Zahlung Prüfung Zweig Veröffentlichung Änderung morgen gestern bitte "
    "danke warum weil deshalb vorher nachher",
    "fr": "le la les de des et est pas nous un une que pour dans ce il qui sur avec au "
    "plus par mais ou si tout comme être avoir file facture client paiement revue "
    "branche livraison changement demain hier merci pourquoi parce donc avant après "
    "déjà toujours jamais",
    "es": "el la los de que y en un una no es por con para se lo como más pero sus le ya o "
    "este sí porque cuando muy sin sobre cola factura cliente pago revisión rama "
    "entrega cambio mañana ayer gracias antes después siempre nunca también entonces",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya kami ke "
    "bisa ada sudah atau karena seperti tapi kalau antrean faktur pelanggan "
    "pembayaran cabang rilis perubahan besok kemarin terima kasih kenapa jadi "
    "sebelum sesudah selalu belum",
    "pt": "o a os de que e em um uma não é por com para se mais mas como seu ou já quando "
    "muito sem sobre fila fatura cliente pagamento revisão ramo entrega mudança "
    "amanhã ontem obrigado porque então antes depois sempre nunca também",
    "ru": "и в не на что с по как это мы он она но для из за от так же все уже или если "
    "быть очередь счёт клиент платёж проверка ветка выпуск изменение завтра вчера "
    "спасибо почему потому сначала потом всегда никогда тоже",
    "ar": "في من على أن إلى هذا لا ما مع كان هذه التي عن أو قد كل بعد قبل نحن هو هي لكن "
    "الطابور الفاتورة العميل الدفع المراجعة الفرع الإصدار التغيير غدا أمس شكرا لماذا "
    "لأن دائما أبدا أيضا",
    "hi": "और में है के की को से यह नहीं हम पर का एक भी तो कि था लिए वह लेकिन कतार चालान "
    "ग्राहक भुगतान समीक्षा शाखा बदलाव कल धन्यवाद क्यों क्योंकि पहले बाद हमेशा कभी",
    "ko": "그리고 우리는 이것은 합니다 아닙니다 있습니다 없습니다 지금 먼저 다음 왜냐하면 "
    "하지만 그래서 대기열을 청구서를 고객이 결제가 검토를 브랜치에서 배포를 변경은 "
    "내일 어제 감사합니다 항상 절대로 확인했습니다 재시도하면 서버에서 메시지를 "
    "테스트가 필요합니다",
    "ja": "これは それは です ます ません しました 私たちは 今日 明日 昨日 なぜなら しかし "
    "そして キューを 請求書を 顧客が 支払いが レビューを ブランチで リリースを "
    "変更は 必要です 確認しました 再試行すると サーバーで メッセージを テストが 先に "
    "後で いつも 決して",
    "zh": "我们 这个 不是 可以 需要 现在 然后 因为 但是 所以 队列 发票 客户 付款 评审 分支 "
    "发布 变更 明天 昨天 谢谢 为什么 之前 之后 总是 从不 已经确认 重试的时候 "
    "服务器上 消息 测试 数据库",
}
SHARES = {"en": 8, "ko": 3, "de": 1, "fr": 1, "es": 1, "id": 1, "pt": 1, "ru": 1, "ar": 1, "hi": 1}
SHARES |= {"ja": 1, "zh": 1}
UNSPACED = ("ja", "zh")

PEOPLE = ("Kim", "Minji", "Robin", "Dewi", "Zoë", "Олег", "田中", "Noor", "Ana", "Lukas")
AGENTS = (("claude", "architect"), ("codex", "developer"), ("opencode", "reviewer"))


@dataclass(frozen=True)
class Made:
    """A database that is there: its file, and how long it took to make (0: it was there)."""

    path: Path
    seconds: float
    conversations: dict[int, int]
    """Messages -> the id of the measured conversation that has so many."""


FINDINGS, ARTIFACTS, DECISIONS, PASSES = (
    60,
    20,
    30,
    5,
)  # of each measured conversation, all in one project


async def make(folder: Path, messages: int, sizes: Sequence[int]) -> Made:
    """The database with ``messages`` messages, among them a conversation of each of ``sizes``.

    Raises:
        SystemExit: the measured conversations are too large a part of it.
    """
    if messages < 4 * max(sizes) or len(set(sizes)) != len(sizes):
        raise SystemExit("--messages must be at least four times the largest of --sizes")
    plan = {"version": VERSION, "messages": messages, "sizes": list(sizes)}
    path = await asyncio.to_thread(_begun, folder, plan)
    records = Records(path)  # makes the tables, and what newer columns an older file lacks
    await records.open()
    conversations = {size: number for number, size in enumerate(sizes, 1)}
    began = time.monotonic()
    try:
        made = await asyncio.to_thread(_fill, path, messages, sizes)
        for number in conversations.values():
            await records.do(_put_on_record, number)
    finally:
        await records.close()
    return Made(path, round(time.monotonic() - began, 1) if made else 0.0, conversations)


def _begun(folder: Path, plan: dict[str, Any]) -> Path:
    """The database's file, in a folder that holds nothing of another plan."""
    note = folder / "made.json"
    if not note.exists() or json.loads(note.read_text("utf-8")) != plan:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        note.write_text(json.dumps(plan), "utf-8")
    return folder / "moot.sqlite"


def _fill(path: Path, messages: int, sizes: Sequence[int]) -> bool:
    """Write what is not there yet; whether that was anything."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = off")
        database.execute("PRAGMA cache_size = -200000")
        done = database.execute("SELECT max(id) FROM message").fetchone()[0] or 0
        if done >= messages:
            return False
        talk = Talk()
        if not done:
            _conversations(database, messages, len(sizes))
        insert, rest = insertion(MessageRow, MESSAGE)
        while done < messages:
            rows = _piece(talk, done, min(PIECE, messages - done), messages, sizes)
            with database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(insert, [(*row, *rest) for row, _ in rows])
                database.executemany(
                    "INSERT INTO message_fts (rowid, body) VALUES (?, ?)",
                    [(row[0], body) for row, body in rows],
                )
            done += len(rows)
            print(f"\r{done:,} of {messages:,} messages", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        # No ANALYZE and no tidying of the index: Moot does neither to a database it works on.
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True
    finally:
        database.close()


MESSAGE = [
    *("id", "conversation", "platform_id", "event_id", "author_key", "author_name"),
    *("author_kind", "engine", "persona", "text", "sent_at"),
]
CONVERSATION = ["id", "chat", "space", "channel", "root", "engaged", "public", "created_at"]


def insertion(row: type[Table], names: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
    """An INSERT of these fields and then all others, and the defaults of those."""
    others = {f.name: f for f in meta_of(row).sorted_fields if f.name not in names}
    sql = insert_sql(row, (*names, *others))
    return sql, tuple(field.db_value(field.default) for field in others.values())


def _conversations(database: sqlite3.Connection, messages: int, measured: int) -> None:
    """All threads: the measured ones in the channel ``HOME``, the others anywhere."""
    dice = random.Random(1)
    total = measured + (messages // SPAN + 1) * ACTIVE
    rows = []
    for number in range(1, total + 1):
        channel = HOME if number <= measured else f"C{dice.randrange(CHANNELS)}"
        rows.append((number, CHAT, SPACE, channel, f"t{number}", True, True, EPOCH))
    insert, rest = insertion(ConversationRow, CONVERSATION)
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany(insert, [(*row, *rest) for row in rows])


def _piece(
    talk: Talk, done: int, count: int, messages: int, sizes: Sequence[int]
) -> list[tuple[tuple[Any, ...], str]]:
    """The next rows, each with what the keyword index holds for it."""
    dice = random.Random(1_000_003 * (done + 1))
    # A measured conversation gets every n-th message of the newest ones, so that its rows lie as
    # far apart in the file as those of any other, whatever its size.
    stride = messages // max(sizes)
    rows = []
    for number in range(done + 1, done + count + 1):
        age = messages - number
        place, lane = divmod(age, stride)
        if lane < len(sizes) and place < sizes[lane]:
            conversation = lane + 1
        else:
            conversation = len(sizes) + 1 + number // SPAN * ACTIVE + dice.randrange(ACTIVE)
        rows.append(talk.row(dice, number, conversation))
    return rows


def _put_on_record(conversation_id: int) -> None:
    """A plan with its document, findings, artifacts, decisions, topics, unless they are there."""
    if plans.active_plan(conversation_id) is not None:
        return
    _sum_up(conversation_id)
    origin, by = Origin(PROJECT, conversation_id), Actor(f"{CHAT}:Kim", "Kim")
    steps = [f"Step {n}: move part {n} of the queue, and measure it" for n in range(1, 9)]
    document = "\n\n".join(
        f"## Part {n}\n\n" + f"The retry of part {n} repeats its key and never the charge. " * 6
        for n in range(1, 15)
    )
    plan = plans.propose(
        origin,
        "Move the queue",
        phase="2 of 5",
        document=document,
        subtasks=steps,
        by=by,
        now=EPOCH,
    )
    plans.set_plan_state(plan, "active", by=by, now=EPOCH)
    for n in range(FINDINGS):
        text = f"worker {n} marks a row as done before the broker has said so; wait, then mark"
        findings.add_finding(origin, text, by=by, now=EPOCH + n)
    for n in range(ARTIFACTS):
        title = f"Measurements, week {n}"
        findings.add_artifact(
            origin, title, document, line="Runs and overlaps", by=by, now=EPOCH + n
        )
    for n in range(DECISIONS):
        ledger.decide(
            origin,
            f"question {n} of {conversation_id}",
            "as it is",
            stances=(("architect", "agree"), ("developer", "disagree")),
            confidence=0.8,
            by=by,
            now=EPOCH + n,
        )


def _sum_up(conversation_id: int) -> None:
    """Some older messages as topics, word for word, as a Moot without a summary engine has them."""
    for number in range(PASSES):
        span = topics.unsummarised(
            conversation_id, keep=FROM_MESSAGES, at_least=AT_LEAST, limit=AT_MOST, redo=False
        )
        if not span:
            return
        made = extract(span)
        pass_id = f"{conversation_id}-{number}"
        topics.open_pass(pass_id, conversation_id, EXTRACT, "", {}, EPOCH)
        topics.close_pass(
            pass_id, span, lambda before, made=made: merge(before, made), Usage(), EPOCH
        )


class Talk:
    """What is said: sentences of many languages, made once and put together."""

    def __init__(self) -> None:
        dice = random.Random(7)
        self._languages = list(SHARES)
        self._shares = list(SHARES.values())
        self._sentences = {name: _sentences(dice, name) for name in self._languages}

    def row(
        self, dice: random.Random, number: int, conversation: int
    ) -> tuple[tuple[Any, ...], str]:
        """One message as a row, and its words for the index."""
        [language] = dice.choices(self._languages, self._shares)
        agent = dice.random() < 0.3
        count = dice.randrange(3, 9) if agent else dice.randrange(1, 4)
        said = dice.choices(self._sentences[language], k=count)
        joint = "\n\n" if agent else " "
        text = f"{joint.join(text for text, _ in said)} (ticket {number})"
        body = f"{' '.join(words for _, words in said)} ticket {number}"
        if agent:
            engine, persona = dice.choice(AGENTS)
            author = (f"agent:{persona}", persona, "agent", engine, persona)
        else:
            name = dice.choice(PEOPLE)
            author = (f"{CHAT}:{name}", name, "human", "", "")
        platform = (f"m{number}", f"e{number}")
        return (number, conversation, *platform, *author, text, EPOCH + number), body


def _sentences(dice: random.Random, language: str) -> list[tuple[str, str]]:
    """Sentences of words as common as words are (Zipf), each with its words for the index."""
    common = WORDS[language].split()
    rare = [f"{dice.choice(common)}{dice.randrange(10_000)}" for _ in range(TAIL)]
    words = [*common, *rare]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    joint = "" if language in UNSPACED else " "
    sentences = []
    for _ in range(SENTENCES):
        picked = dice.choices(words, cum_weights=weights, k=dice.randrange(6, 20))
        text = f"{joint.join(picked)}."
        sentences.append((text, index_text(text)))
    return sentences
