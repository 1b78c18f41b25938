"""The tokeniser of keyword index and queries; what it makes is run on a real FTS5 table."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.keywords import (
    MAX_QUERY_TERMS,
    STOP_WORDS,
    also,
    context_text,
    index_text,
    query_terms,
    tokens,
)
from core.records.fulltext import match_any


class Index:
    """A keyword index as the records have it, without them."""

    def __init__(self) -> None:
        self.rows = sqlite3.connect(":memory:")
        self.rows.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter ascii')")

    def finds(self, text: str, query: str) -> bool:
        """Whether a query finds a text that is the only one."""
        self.rows.execute("DELETE FROM t")
        self.rows.execute("INSERT INTO t VALUES(?)", (index_text(text),))
        match = match_any((*query_terms(query), *also(query)))
        return bool(match) and bool(
            self.rows.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)).fetchall()
        )


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    made = Index()
    yield made
    made.rows.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Deploy THE Queue", ["deploy", "the", "queue"]),
        ("인증을 바꿨다", ["인증", "증을", "바꿨", "꿨다"]),
        ("認証の方式。次", ["認証", "証の", "の方", "方式", "次"]),
        ("猫", ["猫"]),
        ("인증API를", ["인증", "api", "를"]),
        ("ＡＢＣ ﾊﾝｶｸ", ["abc", "ハン", "ンカ", "カク"]),
        ("Émile Straße İstanbul Йод", ["emile", "strasse", "istanbul", "иод"]),
        ("phiên bản đồng", ["phien", "ban", "dong"]),
        ("ไทยที่", ["ไท", "ทย", "ยที่"]),
        ("ភាសាខ្មែរ", ["ភាសា", "សាខ្មែ", "ខ្មែរ"]),
        ("हिन्दी में। क्या", ["हिन्दी", "में", "क्या"]),
        ("الخادم خادم", ["خادم", "خادم"]),
        ("מַדְרִיךְ", ["מדריך"]),
        ("don't we've Kim's l’API", ["dont", "we", "kim", "l", "api"]),
        ("1,234 and 5", ["1234", "and", "5"]),
        ("a\u200bb soft\u00adhyphen", ["ab", "softhyphen"]),
        ("\x00\ud800 🚀 !", []),
    ],
)  # fmt: skip
def test_the_words_of_a_text(text, words):
    assert list(tokens(text)) == words


def test_syllables_that_were_taken_apart_are_the_same_words():
    taken_apart = unicodedata.normalize("NFD", "인증 방식 café が")
    assert list(tokens(taken_apart)) == list(tokens("인증 방식 café が"))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        # Identifiers: in the other styles, by a part, by the whole.
        ("set retry_budget to 3", "retryBudget"),
        ("set retryBudget to 3", "retry-budget"),
        ("set retry-budget to 3", "retrybudget"),
        ("HTTPServerError in the gateway", "server"),
        ("see core/records/search.py", "search.py"),
        ("see core.records.search", "records"),
        ("it says ERR_CONN_RESET again", "err_conn_reset"),
        ("oauth2 is on", "oauth"),
        ("http500 from the proxy", "500"),
        ("written in C++", "c++"),
        ("written in C#", "C#"),
        ("mail kim@example.org", "kim@example.org"),
        # One character at any place; emoji; flags.
        ("黒猫が", "猫"),
        ("猫が好き", "猫"),
        ("앱이 죽어요", "앱"),
        ("done 🚀", "🚀"),
        ("🇰🇷 region", "🇰🇷"),
        # Particles, endings, spaces.
        ("인증이 안 돼요", "인증을 어떻게 하나요"),
        ("코드리뷰 규칙", "코드 리뷰 규칙이 뭐죠"),
        # Other scripts for the same word.
        ("Kafka 파티션", "카프카"),
        ("카프카를 늘렸다", "kafka"),
        ("レディスが落ちた", "Redis 장애"),
        # Dates by any name.
        ("3월 5일에 배포", "March 5th"),
        ("on 5 March 2024", "2024-03-05"),
        ("2024年3月5日", "5 mars"),
        ("ngày 5 tháng 3", "3月5日"),
        # Stop words only.
        ("to be or not to be", "to be"),
        ("이거 뭐야", "이거"),
    ],
)
def test_what_is_found(index, text, query):
    assert index.finds(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("we may deploy", "in May"),
        ("march on", "5 March"),
        ("sent in May", "may we"),
        ("v1.2.3 of 10.0.0.1", "3 January"),
    ],
)
def test_a_date_is_one_only_where_it_can_be_nothing_else(text, query):
    said = [word for word in index_text(text).split() if word.startswith("m0")]
    asked = [word for word in query_terms(query) if word.startswith("m0")]
    assert not set(said) & set(asked)


def test_a_syllable_is_a_loanword_only_where_it_stands_as_one():
    assert "key" in set(also("키를 눌러요"))
    assert set(also("키보드 목요일")) == set()


def test_a_message_is_found_by_its_day_and_what_was_said_before():
    around = context_text(1_709_600_000.0, "the gateway").split()
    assert set(query_terms("what was said on 2024-03-05?")) & set(around)
    assert set(query_terms("3월 5일")) & set(around)
    assert "gateway" in around
    assert context_text(1e300, "x") == "x"


def test_a_query_leaves_out_what_says_nothing():
    assert query_terms("What should we not do with the cache?") == ("not", "cache")
    assert query_terms("인증을 어떻게 바꿨어?") == ("인증", "바꿨", "꿨어")
    assert query_terms("認証の方式は") == ("認証", "証の", "方式", "式は")
    assert query_terms("what is it?") == ("what", "is", "it")
    assert query_terms("하지 마") == ("하지", "마")
    assert query_terms(" .,!? \x00") == ()
    assert not STOP_WORDS & {
        "not",
        "no",
        "안",
        "못",
        "마",
        "ない",
        "不",
        "没",
        "không",
        "khong",
        "ai",
        "die",
    }


def test_of_a_long_text_the_telling_terms_are_looked_for():
    log = " ".join(f"{n:08x} 12:{n % 60:02}:07 ok" for n in range(900))
    text = f"why does it say {log} PoolExhausted {log} PoolExhausted in checkout_service?"
    assert len(text) > 10_000
    terms = query_terms(text)
    assert len(terms) == MAX_QUERY_TERMS
    assert {"poolexhausted", "checkoutservice"} <= set(terms)


ANY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\"'*()-+:^{}[]~@#/\\.,_ \x00\ud800\udfff 인증가힣ㅋ認の猫ﾊ゙ไที្่មहि्अلاאָ🚀🇰🇷👍🏽éİßſ①½३٣Ａ"
        ),
        st.sampled_from("AND OR NOT NEAR "),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=300)
@given(ANY)
def test_any_query_is_one_that_fts5_takes_and_finds_its_own_text(text):
    rows = sqlite3.connect(":memory:")
    try:
        rows.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter ascii')")
        stored = index_text(text)
        rows.execute("INSERT INTO t VALUES(?)", (stored,))
        terms = query_terms(text)
        match = match_any((*terms, *also(text)))
        if not terms:
            return
        found = rows.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)).fetchall()
        assert found == [(1,)]
    finally:
        rows.close()


@settings(deadline=None)
@given(ANY)
def test_folding_is_done_once_and_for_all(text):
    once = list(tokens(text))
    assert list(tokens(" ".join(once))) == once


@given(st.text(max_size=20))
def test_an_expression_is_valid_whatever_a_term_holds(term):
    rows = sqlite3.connect(":memory:")
    try:
        rows.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter ascii')")
        rows.execute("SELECT rowid FROM t WHERE t MATCH ?", (match_any([term]),)).fetchall()
    finally:
        rows.close()
