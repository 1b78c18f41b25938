"""Notices about limits and sign-in that arrive as an answer, and honest answers about them."""

# ruff: noqa: E501 - the notices stand as the CLIs and providers say them
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.streams import posing_as_answer, reset_moment, reset_time

NOTICES = [
    ("quota", "usage limit reached|1760000400"),
    ("quota", "Claude AI usage limit reached|1760000400"),
    ("quota", "limit hit, try again at 3:40 PM"),
    ("quota", "You've hit your limit · resets 3pm (Asia/Seoul)"),
    ("quota", "You’ve hit your limit · resets 3pm (Asia/Seoul)"),
    ("quota", "**You've hit your weekly limit** · resets Oct 9, 10am (America/New_York)"),
    ("quota", "⚠️ 5-hour limit reached ∙ resets 3am"),
    ("quota", "Session limit reached ∙ resets 9pm (UTC)\n/upgrade to increase your usage limit"),
    ("quota", "Opus weekly limit reached ∙ resets Mon 9am"),
    ("quota", "Claude usage limit reached. Your limit will reset at 3pm (Asia/Seoul)."),
    ("quota", "You're out of extra usage · resets 3pm (UTC)"),
    (
        "quota",
        "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Mar 3rd, 2027 3:40 PM.",
    ),
    (
        "quota",
        "You've hit your usage limit. To get more access now, send a request to your admin or try again at 3:40 PM.",
    ),
    (
        "quota",
        "You've hit your usage limit. Upgrade to Plus to continue using Codex (https://openai.com/chatgpt/pricing).",
    ),
    ("quota", "You've hit your usage limit. Upgrade to Pro or try again in 3 hours 5 minutes."),
    ("quota", "You've hit your usage limit. Try again in 2 hours 5 minutes."),
    (
        "quota",
        "You've hit your usage limit for GPT-5.3-Codex-Spark. Switch to another model now, or try again at 3:40 PM.",
    ),
    ("quota", "Quota exceeded. Check your plan and billing details."),
    (
        "quota",
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    ),
    (
        "quota",
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/usage?tab=rate-limit. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20, model: gemini-2.5-flash\nPlease retry in 28.4s.",
    ),
    ("quota", "You have exhausted your daily quota on this model."),
    (
        "quota",
        "You have exhausted your capacity on this model. Your quota will reset after 18h24m12s.",
    ),
    ("quota", "Resource has been exhausted (e.g. check quota)."),
    (
        "quota",
        "Usage limit reached for gemini-2.5-pro. Access resets at 3:40 PM GMT+9. /stats for usage details. /model to switch models. /auth to switch to API key.",
    ),
    ("quota", "Insufficient credits. Add more using https://openrouter.ai/settings/credits"),
    ("quota", "Free usage exceeded, add credits https://opencode.ai/zen"),
    ("quota", "Usage limit reached for 5 hour. Your limit will reset at 2026-12-01 12:00:00"),
    (
        "quota",
        "you (xyz) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade",
    ),
    (
        "quota",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    ("quota", "Credit balance is too low"),
    ("quota", "You have hit your ChatGPT usage limit (plus plan). Try again in ~120 min."),
    ("quota", "You've hit your limit · resets 오후 3시 (Asia/Seoul)"),
    ("quota", "You've hit your limit · resets 10월 9일 오후 3:40 (Asia/Seoul)"),
    (
        "quota",
        "Claude usage limit reached. Your limit will reset at 2026. 12. 1. 오후 3:40 (Asia/Seoul).",
    ),
    ("quota", "사용 한도에 도달했습니다. 오후 3시에 초기화됩니다."),
    ("quota", "일일 할당량을 모두 사용했습니다. 내일 오전 9시 이후 다시 시도해 주세요."),
    ("quota", "🚫 **사용량 한도를 초과했습니다.** 2시간 5분 후에 다시 시도하세요."),
    ("quota", "# Usage limit reached\n\nTry again in 2 hours 5 minutes."),
    ("quota", "> ⏳ **Usage limit reached** — resets at 3 p.m. (Asia/Seoul)"),
    ("quota", "- You've reached your usage limit.\n- Resets at 15:00 UTC."),
    ("quota", "Error: You've reached your monthly usage limit."),
    ("quota", "Your account's usage limit was reached. Please wait until 6pm."),
    ("auth", "Not logged in · Please run /login"),
    ("auth", "Invalid API key · Fix external API key"),
    ("auth", "Invalid API key · Please run `/login`"),
    ("auth", "OAuth token revoked · Please run /login"),
    ("auth", "OAuth token has expired. Please obtain a new token or refresh your existing token."),
    (
        "auth",
        'Failed to authenticate. API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired."},"request_id":"req_1"}',
    ),
    (
        "auth",
        'Please run /login · API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"Invalid authentication credentials"}}',
    ),
    ("auth", "Failed to authenticate: OAuth session expired and could not be refreshed"),
    ("auth", "Login expired · Please run /login"),
    ("auth", "🔒 You are not logged in. Run `codex login` to sign in."),
    (
        "auth",
        "Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.",
    ),
    ("auth", "Session expired. Please log in again."),
    ("auth", "Your session has expired. Please sign in again."),
    ("auth", "로그인이 필요합니다. `/login`을 실행하세요."),
    ("auth", "Missing environment variable: `OPENAI_API_KEY`."),
    ("auth", "API key not valid. Please pass a valid API key."),
    ("auth", "Your account does not have access to Claude Code. Please run /login"),
    ("context-too-long", "Prompt is too long"),
    (
        "context-too-long",
        "Conversation too long. Press esc twice to go up a few messages and try again.",
    ),
    ("overloaded", "API Error: 529 Overloaded. Try later."),
    (
        "overloaded",
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    ),
    ("overloaded", "API Error: Repeated 529 Overloaded errors"),
    ("overloaded", "API Error: Connection error."),
    ("overloaded", "Selected model is at capacity. Please try a different model."),
    (
        "rate",
        'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account\'s rate limit. Please try again later."},"request_id":"req_1"}',
    ),
    ("rate", "API Error: Rate limit reached"),
    ("rate", "Rate limit exceeded. Please try again later."),
    ("rate", "Too many requests, please try again later."),
    (
        "rate",
        "Rate limit reached for gpt-5 in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1.2s. Visit https://platform.openai.com/account/rate-limits to learn more.",
    ),
    (
        "bad-model",
        "There's an issue with the selected model (xyz). It may not exist or you may not have access to it. Run /model to pick a different model.",
    ),
    ("quota", "Monthly Limit Exhausted. Your limit will reset at 2026-12-10 12:00:00"),
    ("quota", "You have exceeded your monthly included credits for Inference Providers."),
    (
        "quota",
        "Subscription quota exceeded. Retry in 3hr 20min. You can continue using free models.",
    ),
    ("quota", "⚡ You have reached your daily gemini-2.5-pro quota limit."),
    ("quota", "You've reached your Fable limit · resets 3pm"),
    ("quota", "You've reached your Fable 6 weekly limit. Try again at 3pm."),
    ("quota", "Fable limit reached ∙ resets 9am"),
    ("quota", "Spending cap reached resets 9am"),
    ("quota", "Your organization has reached its usage limit. Contact your admin."),
    ("quota", "You've hit your limit for Claude messages. Limits will reset at 8:00 PM."),
    ("quota", "You have reached the maximum number of messages. Try again at 3pm."),
    ("rate", "Rate limit reached. Please wait 30s"),
    ("rate", "Error: 429 Too Many Requests"),
    ("quota", "이용 한도를 모두 사용했습니다. 오후 3시에 다시 시도해 주세요."),
    ("quota", "한도에 도달했습니다. 오후 3시에 초기화됩니다."),
    (
        "quota",
        '{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}',
    ),
]
HONEST = [
    "No API key found.",
    "No API key.",
    "Not logged in.",
    "Missing environment variable: DATABASE_TOKEN",
    "Input is too long.",
    "Fable limit reached.",
    "한도에 도달했습니다.",
    "Error: the server said 429 Too Many Requests twice.",
    "",
    "The usage limit reached by most clients is 100 requests a minute.",
    "When the rate limit is reached, the client waits and tries again at 3:40 PM.",
    "If you are not logged in, run `claude login`. That is what the guide says.",
    "limit reached\n\nThat is the message you will see; handle it like this.",
    "Your prompt is too long for this form: split it.",
    "I would raise the quota.",
    "Quota exceeded errors come from quota.py, line 3.",
    "Not logged in users see the landing page.",
    "Prompt is too long only when the window is below 8k.",
    "```\nusage limit reached\n```",
    "Quota handling is in quota.py; API errors are in errors.py.",
    "usage limit reached and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more",
    "Run `/login`.",
    "Please run /login",
    "Log in again.",
    "Try again later.",
    "Please try again in 2 hours.",
    "Upgrade your plan.",
    "It resets at 3pm (Asia/Seoul).",
    "The limit resets at 3pm.",
    "Limits reset at midnight UTC.",
    "API Error: 429 means too many requests.",
    "API Error handling for quota is in quota.py.",
    "API Error: 429 is what the client gets when the limit is reached.",
    "API errors: 401, 429 and 529.",
    "429 Too Many Requests means the client has to wait.",
    "Too many requests were sent by the crawler; I added a delay.",
    "You've hit your limit of 5 open pull requests, so I closed one.",
    "You've hit your usage limit when the header says 0 remaining.",
    'The message is "You\'ve hit your limit · resets 3pm".',
    '"Usage limit reached"',
    "`usage limit reached|1760000400`",
    "Claude says `usage limit reached` and a time.",
    "Not logged in. That is what the CLI prints when the token is missing; I would catch it in auth.py.",
    "Invalid API key errors are mapped to 401.",
    "Invalid API key is returned by verify_key() when the hash differs.",
    "Session expired is thrown in session.ts.",
    "Token expired.",
    "The access token has expired because the clock is off by an hour.",
    "Session expired",
    "Limit reached.",
    "Unauthorized",
    "Forbidden",
    "Rate limit exceeded is logged in limiter.go; try again later is the text for people.",
    "Quota exceeded. Check quota.py, line 3: it raises that.",
    "Quota exceeded. I freed 2 GB in /var/tmp and the build works again.",
    "Yes, the quota is exceeded.",
    "No, you have not reached your limit.",
    "You have reached your limit three times this week, see the log.",
    "You have exceeded your quota twice; the job at 3 pm uses most of it.",
    "The daily quota was exhausted by the nightly job.",
    "Insufficient quota is an error of the OpenAI API; handle it in client.py.",
    "Insufficient balance: the test account has 3 EUR, the order costs 5 EUR.",
    "Credit balance is too low is what the API says when nobody paid.",
    "To sign in, run `codex login`, then try again.",
    "Use the /usage command to see your limits; they reset at 3 PM.",
    "You are not logged in as root, so sudo is needed.",
    "You are not logged in when the cookie is missing.",
    "Prompt is too long: I would cut section 3.",
    "Context limit reached in test 4; the others pass.",
    "The model is overloaded with parameters; drop the last layer.",
    "사용 한도는 하루 100건입니다.",
    "로그인이 필요합니다라는 문구는 auth.py에 있습니다.",
    "사용 한도에 도달했습니다라는 메시지를 보여 주면 됩니다.",
    "한도를 초과하면 오류가 납니다.",
    "오후 3시에 초기화됩니다.",
    "로그인 화면은 오후에 고쳤습니다.",
    '{"error": "not found"}',
    '{"limit": 5, "reset": "3pm"}',
    '{"type":"error","message":"quota"}',
    "1760000400",
    "|1760000400",
    "3pm",
    "resets 3pm (Asia/Seoul)",
    "Usage limit reached: the dashboard shows it in red since commit 4f3a.",
    "Usage limit reached -> 402. Session expired -> 401.",
    "Your session has expired cookies; clear them.",
    "Login expired tokens are removed by the nightly job.",
    "Weekly limit reached by 3 of 10 users.",
    "Missing API key: the loader reads it from config.yaml, which is empty.",
    "Missing environment variable: DATABASE_URL. I added it to .env.example.",
    "Missing environment variable: DATABASE_URL.",
    "Too many requests",
    "We're out of credits for the staging SMS provider; buy 500 more or switch it off.",
    "The error says: Rate limit exceeded. Please try again later.",
    "Error: the quota table has no row for this tenant.",
    "Connection error.",
    "Overloaded",
    "Internal server error",
    "You can upgrade to Pro or wait until 3pm.",
    *(f"The {word} is told in the log." for word in ("limit", "quota", "key", "token")),
    *(f"{text} That is what it said." for _, text in NOTICES[:8]),
]

CORES = (
    "Usage limit reached",
    "You've hit your limit",
    "Quota exceeded",
    "Not logged in",
    "Invalid API key",
    "Prompt is too long",
    "You have exhausted your daily quota on this model",
    "사용 한도에 도달했습니다",
    "로그인이 필요합니다",
)
# Words that no notice has: of code, of people, of an explanation.
WORDS = st.sampled_from(
    [
        "because",
        "errors",
        "function",
        "I",
        "quota.py",
        "said",
        "tests",
        "handler",
        "we",
        "should",
        "raises",
        "when",
        "which",
        "users",
        "means",
        "appears",
        "branch",
        "column",
        "module",
        "thinks",
        "patch",
        "called",
        "merge",
        "테스트",
        "함수",
        "사용자",
    ]
)


@pytest.mark.parametrize(("kind", "text"), NOTICES)
def test_a_notice_is_recognised(kind: str, text: str) -> None:
    assert posing_as_answer(text) == kind


@pytest.mark.parametrize("text", HONEST)
def test_an_answer_about_it_is_an_answer(text: str) -> None:
    assert posing_as_answer(text) is None


@pytest.mark.parametrize(
    "mark", ["**{}**", "_{}_", "# {}", "> {}", "⚠️ {}", "❌ **{}**", "- {}", "\n{}\n"]
)
def test_markdown_and_emoji_do_not_hide_a_notice(mark: str) -> None:
    text = "You've hit your usage limit. Try again in 2 hours 5 minutes."
    assert posing_as_answer(mark.format(text)) == "quota"


@given(core=st.sampled_from(CORES), words=st.lists(WORDS, min_size=2, max_size=12))
def test_one_sentence_more_makes_it_an_answer(core: str, words: list[str]) -> None:
    said = " ".join(words)
    assert posing_as_answer(f"{core} {said}.") is None
    assert posing_as_answer(f"{core}. {said}.") is None
    assert posing_as_answer(f"{said}: {core}") is None


@given(text=st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    posing_as_answer(text)
    reset_moment(reset_time(text), 1_790_000_000.0)
    reset_moment(text, 1_790_000_000.0)
