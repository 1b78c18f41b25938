"""When a prompt asks about code: by evidence in it, in any language; not by its length."""

import pytest

from core.sources.code import asks_about_code
from core.sources.code.asking import identifiers, paths

CODE = {
    "a path": "what does src/billing/charge.py do?",
    "a path with a line": "core/pull.py:120 에서 왜 None이 나오나요?",
    "a file alone": "why is settings.toml read twice",
    "a file of no suffix": "the Dockerfile copies too much",
    "a Windows habit": "look at ./lib/auth.ts please",
    "a particle after a path": "src/pay.py를 고쳐줘",
    "camelCase": "getUserName returns undefined sometimes",
    "snake_case": "who calls max_retries?",
    "SCREAMING_SNAKE": "what is MAX_BODY_BYTES set to",
    "a class by its kind": "is PaymentService thread safe?",
    "three humps": "where is AbstractUserCache made",
    "an exception": "we see NullPointerException in prod",
    "a call": "charge() 가 두 번 불려요",
    "a call with arguments": "open('x', mode=3) hangs",
    "a member": "self.client is None here",
    "dotted": "os.path.join drops the first part",
    "scoped": "does std::move help here",
    "an operator": "if (a && b) never runs",
    "a particle after an identifier": "getUserName이 안 돼요, max_retries를 보세요",
    "an arrow": "x => x + 1 is slow",
    "backticks": "what is `staging` for?",
    "Korean with backticks": "`retry` 값을 얼마로 둘까요",
    "a fence": "why?\n```\nx = 1\n```",
    "an open fence": "보세요\n```python\nprint(1)",
    "a Python trace": 'Traceback (most recent call last):\n  File "a", line 3, in <module>\nboom',
    "a Python frame": '  File "app/main.py", line 3, in run',
    "a JavaScript trace": "it says\n    at charge (/srv/app/pay:10:5)\n",
    "a Java trace": "    at com.acme.Pay.run(Pay.java:33)",
    "a Go trace": "goroutine 1 [running]:\nmain.main()",
    "a Rust trace": "thread 'main' panicked at 'oops'",
    "a Ruby trace": "app/pay.rb:3:in `charge'",
    "a C# trace": "   at Acme.Pay.Run() in C:\\src\\Pay:line 33",
    "a PHP trace": "#0 /srv/pay(12): charge()",
    "a native trace": "#3 0x00007f in pay () from libpay",
    "a crash": "Segmentation fault (core dumped)",
    "a link to a file": "see https://git.example.test/acme/app/blob/main/src/pay.go",
    "one strong word": "can we refactor this?",
    "strong, Korean": "이 부분 리팩터링 해 주세요",
    "strong, Korean with a particle": "어느 함수에서 호출되나요?",
    "two weak words": "the build fails with an error",
    "two weak words, Korean": "빌드 에러가 나요",
    "Korean, what is returned": "로그인 API가 왜 빈 목록을 반환하나요",
    "a statement": "SELECT id FROM users is slow",
    "a route": "GET /api/users gives 404",
    "Korean code words": "결제 코드에 버그가 있나요?",
    "Japanese": "この関数はどこで呼ばれていますか",
    "Japanese, two weak": "コードのエラーを直して",
    "Chinese": "这个函数在哪里调用",
    "Spanish": "¿dónde está el código fuente de pagos?",
    "French": "peux-tu refactoriser le paiement",
    "German": "wo im Quellcode steht das?",
    "Portuguese": "quero depurar o pagamento",
    "Russian": "нужен рефакторинг оплаты",
    "Turkish": "kaynak kodu nerede",
}

CHAT = {
    "lunch": "what is for lunch today?",
    "Korean lunch": "오늘 점심 뭐 먹을까요?",
    "Korean long": "내일 회의는 3시로 옮기고, 참석자에게 알려 주세요. 자료는 제가 준비하겠습니다. "
    * 20,
    "English long": "Please tell everybody that the party moves to Friday at six. " * 60,
    "brands": "is it on GitHub, YouTube, PayPal or LinkedIn? my iPhone has eBay",
    "brands, Korean": "맥북이랑 iPad 중에 뭐가 좋아요? macOS는 써봤어요",
    "a library": "should we learn Node.js or Vue.js next year?",
    "a site": "see https://shop.example.test/items/a_b_c?id=3 and www.example.test/a/b",
    "a domain": "docs.rs is down, so is example.com",
    "an address": "write to first_last@example.com",
    "somebody": "@kim_min_su can you join? also @lee.ji",
    "an emoji": "great :thumbs_up: :white_check_mark:",
    "a channel": "ask in #team_design_2",
    "a fraction": "and/or, 24/7, 1/2, w/o, km/h",
    "a date": "2024/05/01 or 01.05.2024?",
    "initials": "Mr. J. R. Smith, e.g. at 10 a.m., i.e. now",
    "a version": "we go live with v1.2.3 tomorrow",
    "a dress code": "what is the dress code?",
    "a zip code": "우편번호랑 할인 코드 알려줘",
    "a class": "my yoga class is at six",
    "a class, Korean": "요가 클래스 같이 들어요",
    "a test": "the blood test came back fine",
    "a function": "the company function is on Friday",
    "a bug": "a bug is going around, stay home",
    "a plural": "please bring the file(s) and photo(s)",
    "brackets": "환불(Refund) 정책(Policy)을 알려줘",
    "a document": "please read meeting-notes.md and budget.xlsx",
    "emphasis": "*really* _important_ thing, and __this__ too",
    "shrug": "¯\\_(ツ)_/¯",
    "a smiley": "see you :) && have fun",
    "a price": "it costs $3.50 == cheap",
    "weather": "오늘 날씨가 변수네요",
    "signing in": "로그인 오류가 나면 알려 주세요, ログインできません",
    "a command": "type /moot help or and/or/not",
    "one weak word": "API 팀 회식은 금요일입니다",
    "a review": "my performance review is tomorrow",
    "German": "Wir treffen uns um acht in der Klasse 4b",
    "Japanese": "明日の会議は何時ですか",
    "Chinese": "今天天气很好",
    "nothing": "",
    "spaces": "  \n ",
}


@pytest.mark.parametrize("prompt", CODE.values(), ids=CODE.keys())
def test_evidence(prompt):
    assert asks_about_code(prompt)


@pytest.mark.parametrize("prompt", CHAT.values(), ids=CHAT.keys())
def test_no_evidence(prompt):
    assert not asks_about_code(prompt)


def test_evidence_at_the_end_of_a_long_prompt_counts():
    assert asks_about_code("The party moves to Friday. " * 500 + "And who calls max_retries?")


def test_paths_are_named_once_without_their_lines():
    text = "core/pull.py:12 and core/pull.py:40-50, ./web/app.tsx, Node.js, notes.md"
    assert paths(text) == ("core/pull.py", "./web/app.tsx")


def test_identifiers_come_in_order():
    found = identifiers("first get_user, then PaymentService.charge() and getUser")
    assert found[0] == "get_user"
    assert "PaymentService" in found
    assert found[-1] == "getUser"


def test_a_hostile_prompt_takes_no_time():
    for hostile in ("a/" * 30_000, "a_" * 30_000, "aA" * 30_000, "`" * 60_000, "(" * 60_000):
        asks_about_code(hostile)
