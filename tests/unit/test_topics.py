"""Compressed memory, the pure part: nothing is told that nobody said, and no “not” is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.memory.signs import MAX_SENTENCE_CHARS, kind_of, sentences
from core.memory.topics import (
    MAX_LINE_CHARS,
    MAX_STATEMENTS,
    WORD_FOR_WORD,
    BadSummary,
    extract,
    merge,
    parse,
    parse_lines,
    restored,
)
from core.model import EXTRACT, Message, Statement, Topic

# Each: who says it, the sentence that forbids or denies, and what stands around it.
DIALOGUES = {
    "en": [
        ("Kim", "Morning, I looked at the release."),
        ("Lee", "The tests are green, 412 passed."),
        ("Kim", "Do not deploy on Friday, the gateway team is away."),
        ("claude", "Understood. The rollout takes about 20 minutes."),
        ("Lee", "Who tells the customer?"),
    ],
    "ko": [
        ("민지", "배포 일정 얘기를 해 봅시다."),
        ("지훈", "테스트는 모두 통과했습니다."),
        ("민지", "금요일에는 절대 배포하지 마세요."),
        ("claude", "알겠습니다. 롤아웃은 20분 걸립니다."),
    ],
    "id": [
        ("Dewi", "Kita bicara soal rilis dulu."),
        ("Budi", "Semua tes sudah lulus."),
        ("Dewi", "Jangan deploy hari Jumat, tim gateway libur."),
        ("codex", "Baik, rollout sekitar 20 menit."),
    ],
    "ja": [
        ("田中", "リリースの話をしましょう。"),
        ("佐藤", "テストは全部通りました。"),
        ("田中", "金曜日のデプロイは禁止です。"),
        ("claude", "了解しました。"),
    ],
    "zh": [
        ("王", "我们谈谈发布。"),
        ("李", "测试都通过了。"),
        ("王", "星期五禁止部署。"),
        ("claude", "明白。"),
    ],
    "de": [
        ("Zoë", "Die Tests sind grün."),
        ("Lukas", "Bitte freitags nicht ausrollen."),
        ("Zoë", "Gut, dann Montag um 9."),
    ],
    "fr": [
        ("Ana", "Les tests passent."),
        ("Luc", "On ne déploie jamais le vendredi."),
        ("Ana", "D'accord, lundi."),
    ],
    "es": [
        ("Ana", "Las pruebas pasan."),
        ("Luis", "El viernes no se despliega."),
        ("Ana", "De acuerdo, el lunes."),
    ],
    "pt": [("Ana", "Os testes passam."), ("Rui", "Não implante na sexta."), ("Ana", "Certo.")],
    "ru": [("Олег", "Тесты прошли."), ("Ира", "В пятницу выкатывать нельзя."), ("Олег", "Ясно.")],
    "ar": [("نور", "الاختبارات ناجحة."), ("علي", "لا تنشر يوم الجمعة."), ("نور", "حسنا.")],
    "hi": [("आशा", "परीक्षण ठीक हैं।"), ("रवि", "शुक्रवार को तैनात मत करो।"), ("आशा", "ठीक है।")],
    "vi": [("Lan", "Kiểm thử đã qua."), ("Minh", "Không triển khai vào thứ Sáu."), ("Lan", "Ừ.")],
    "th": [("นก", "ทดสอบผ่านแล้ว"), ("ต้น", "ห้ามดีพลอยวันศุกร์"), ("นก", "ตกลง")],
    "tr": [("Ece", "Testler geçti."), ("Can", "Cuma günü dağıtmak yasak."), ("Ece", "Tamam.")],
}
FORBIDS = {
    "en": 2, "ko": 2, "id": 2, "ja": 2, "zh": 2, "de": 1, "fr": 1, "es": 1, "pt": 1, "ru": 1,
    "ar": 1, "hi": 1, "vi": 1, "th": 1, "tr": 1,
}  # fmt: skip


def said(lines, first=10):
    """Messages with consecutive numbers; agents are those with an engine's name."""
    agents = ("claude", "codex")
    return [
        Message(
            first + n, "", f"k:{who}", who, "agent" if who in agents else "human", text, float(n)
        )
        for n, (who, text) in enumerate(lines)
    ]


def answer(*topics) -> str:
    """An engine's answer, with some talk around the block."""
    block = {"topics": [{"title": title, "statements": list(said)} for title, said in topics]}
    return f"Here it is:\n\n```json\n{json.dumps(block, ensure_ascii=False)}\n```\nDone."


def stated(topics):
    return [statement for topic in topics for statement in topic.statements]


@pytest.mark.parametrize("language", DIALOGUES)
@pytest.mark.parametrize("way", ["extract", "a summary that loses it", "a summary that inverts it"])
def test_a_negation_and_its_speaker_outlive_compression_and_two_merges(language, way):
    span = said(DIALOGUES[language])
    forbidding = span[FORBIDS[language]]
    if way == "extract":
        topics = extract(span)
    else:
        text = "Tests are green." if "loses" in way else "Deploy on Friday."
        ids = [m.id for m in span] if "loses" in way else [forbidding.id]
        topics = parse(answer(("Release", [{"text": text, "messages": ids}])), span, "claude")
    for start, filler in ((100, "We chose the blue logo."), (200, "It costs 12 EUR.")):
        later = said([("Kim", filler)], start)
        new = [Topic(topic.title, extract(later)[0].statements, EXTRACT) for topic in topics]
        topics = merge(topics, new)
    kept = [one for one in stated(topics) if one.text == forbidding.text]
    assert [(one.who, one.ids, one.kind) for one in kept] == [
        (forbidding.author_name, (forbidding.id,), "not")
    ]


def test_c131_what_no_message_says_is_dropped():
    span = said([("Kim", "The build takes 4 minutes."), ("Lee", "Fine.")])
    told = parse(
        answer(
            (
                "Build",
                [
                    {"text": "The build takes 4 minutes.", "messages": [10]},
                    {"text": "Releases are on Tuesdays only.", "messages": []},
                    {"text": "Only Kim may release.", "messages": [9, 12, 4711]},
                    {"text": "Everybody must write tests."},
                    {"messages": [10]},
                    "no object",
                ],
            ),
            ("Rules", [{"text": "Always ask Kim.", "messages": [99]}]),
        ),
        span,
        "claude",
    )
    assert [(t.title, [s.text for s in t.statements]) for t in told] == [
        ("Build", ["The build takes 4 minutes."])
    ]


def test_c133_who_said_it_is_told_by_the_messages():
    span = said([("Kim", "ship it"), ("Lee", "no, wait")])
    told = parse(
        answer(("Release", [{"text": "Kim says: no, wait", "messages": [11], "by": "Kim"}])),
        span,
        "claude",
    )
    assert [(s.who, s.ids) for s in stated(told)] == [("Lee", (11,))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("guests may post", "guests may not post"),
        ("배포 가능", "배포 불가"),
        ("boleh deploy", "tidak boleh deploy"),
        ("guests may not post", "guests may post"),
    ],
)
def test_c132_a_correction_is_no_duplicate_and_the_order_is_told(first, second):
    old, new = said([("Kim", first)], 10), said([("Kim", second)], 20)
    topics: tuple[Topic, ...] = ()
    for message in (*old, *new, *said([("Kim", first)], 30)):
        statement = Statement(message.text, kind_of(message.text), (message.id,), "Kim")
        topics = merge(topics, [Topic("Guests", (statement,), "claude")])
    assert [s.text for s in stated(topics)] == [first, second, first]


def test_a_second_negation_of_one_message_is_kept_too():
    span = said([("Kim", "Do not deploy on Friday. Never touch the billing tables.")])
    told = parse(
        answer(("Rules", [{"text": "Do not deploy on Friday.", "messages": [10]}])), span, "claude"
    )
    assert [s.text for s in stated(told)] == [
        "Do not deploy on Friday.",
        "Never touch the billing tables.",
    ]


def test_a_negation_of_a_message_that_no_topic_tells_of_stands_on_its_own():
    span = said([("Kim", "Do not deploy."), ("Lee", "The logo is blue, RGB 12.")])
    told = parse(
        answer(("Logo", [{"text": "The logo is blue.", "messages": [11]}])), span, "claude"
    )
    assert {t.title: t.made_by for t in told} == {"Logo": "claude", WORD_FOR_WORD: EXTRACT}


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "I would rather not.",
        "```json\n{not json}\n```",
        '```json\n{"themes": []}\n```',
        '```json\n{"topics": "none"}\n```',
        "```json\n" + "[" * 100_000 + "\n```",
        '```json\n{"topics": ' + "[" * 100_000 + "\n```",
        answer(("Rules", [{"text": "Always ask Kim.", "messages": [99]}])),
    ],
)
def test_an_answer_without_a_summary_is_told_apart(bad):
    with pytest.raises(BadSummary):
        parse(bad, said([("Kim", "hello")]), "claude")


def test_nothing_worth_keeping_is_an_answer():
    assert parse('{"topics": []}', said([("Kim", "hello")]), "claude") == ()


def test_a_bare_object_and_one_among_talk_are_read():
    span = said([("Kim", "JWT it is")])
    bare = json.dumps({"topics": [{"title": "T", "statements": [{"text": "x", "messages": [10]}]}]})
    assert parse(bare, span, "claude") == parse(f"Sure: {bare} ok", span, "claude")


def test_an_extract_keeps_decisions_questions_and_numbers_with_their_source():
    span = said(
        [
            ("Kim", "Hi all! Nice weather today."),
            ("Lee", "We decided to use JWT. It was a long talk. The token lives 15 minutes."),
            ("claude", "Should refresh tokens rotate?"),
            ("Kim", "```\nassert not broken\n```\n> Lee: never mind\nok"),
        ]
    )
    [topic] = extract(span)
    assert [(s.who, s.ids, s.kind, s.text) for s in topic.statements] == [
        ("Lee", (11,), "decision", "We decided to use JWT."),
        ("Lee", (11,), "fact", "The token lives 15 minutes."),
        ("claude", (12,), "question", "Should refresh tokens rotate?"),
    ]
    assert topic.made_by == EXTRACT


def test_an_extract_is_not_named_after_those_who_are_called():
    calls = ("@Bob Lee (U02BOB) the audit log stays", "@Bob Lee (U02BOB) @kim we decided: audit")
    [topic] = extract(said([("Kim", text) for text in calls]))
    assert topic.title == "audit"


def test_small_talk_has_no_extract():
    assert extract(said([("Kim", "hello"), ("Lee", "hi there")])) == ()


def test_a_long_sentence_is_cut_around_its_negation():
    text = f"{'and so on ' * 60}do not drop the table {'and so on ' * 60}"
    [sentence] = sentences(text)
    assert "do not drop the table" in sentence
    assert len(sentence) <= MAX_SENTENCE_CHARS + 4


def test_a_topic_that_grows_loses_what_was_merely_said_first():
    statements = tuple(
        Statement(f"s{n}", "not" if n % 2 else "said", (n,), "Kim")
        for n in range(2 * MAX_STATEMENTS)
    )
    [topic] = merge([Topic("T", statements[:50], "claude")], [Topic("t", statements[50:], EXTRACT)])
    assert topic.title == "T"
    assert topic.made_by == "claude, extract"
    assert [s for s in statements if s.kind == "not"] == list(topic.statements)


texts = st.lists(
    st.sampled_from(
        [
            "Do not deploy.",
            "We use JWT.",
            "하지 마세요.",
            "Jangan hapus tabel.",
            "ok",
            "Why 3 of 5?",
            "禁止。",
            "```\nnot code\n```",
            "> not quoted",
        ]
    ),
    min_size=1,
    max_size=4,
).map("\n".join)


@given(st.lists(st.tuples(st.sampled_from(["Kim", "Lee"]), texts), min_size=1, max_size=8))
def test_every_negation_is_kept_with_its_speaker_whatever_the_summary_says(lines):
    span = said(lines)
    expected = {
        (m.author_name, m.id, s) for m in span for s in sentences(m.text) if kind_of(s) == "not"
    }
    poor = Topic("T", (Statement("All is well.", "said", (span[0].id,), "Kim"),), "claude")
    for made in (extract(span), restored([], span), restored([poor], span)):
        kept = {(s.who, s.ids[0], s.text) for t in merge(made, made) for s in t.statements}
        assert expected <= kept


@given(st.text(max_size=300))
def test_any_text_is_taken(text):
    span = said([("Kim", text)])
    assert all(s.ids == (10,) and s.who == "Kim" for s in stated(extract(span)))


def test_lines_of_context_are_read_whatever_stands_there_beside_them():
    span = said([("Kim", "A"), ("Lee", "B")], first=1)
    given = {"1": "  the sign-in\n tokens ", "2": ["no line"], "3": "of no message", "x": "y"}
    answer = json.dumps({"topics": [], "context": given})
    assert parse_lines(f"Here:\n```json\n{answer}\n```", span) == {1: "the sign-in tokens"}
    assert len(parse_lines(answer.replace("the sign-in", "z" * 5_000), span)[1]) == MAX_LINE_CHARS
    for none in (None, [], "1", 7):
        assert parse_lines(json.dumps({"topics": [], "context": none}), span) == {}
    with pytest.raises(BadSummary):
        parse_lines("nothing to tell", span)
