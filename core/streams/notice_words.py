"""The words of notices about limits and sign-in, as CLIs and providers say them. PURE; data only."""

# ruff: noqa: E501, ISC004 - a notice a line is easier to compare with what a CLI says
from __future__ import annotations

import re

from core.model import OutcomeKind

# --- the words of notices --------------------------------------------------------------------

_MOD = (  # what stands before "limit": whose it is, and of what
    r"(?:(?:claude|chatgpt|codex|gemini|copilot|opencode|cursor|ollama|opus|sonnet|haiku|flash"
    r"|openai|anthropic|google|ai|code|cli|pro|max|plus|team|free|paid|current|own|account(?:'s)?"
    r"|org(?:anization)?(?:'s)?|workspace(?:'s)?|plan(?:'s)?|project|api|usage|included|premium"
    r"|messages?|requests?|tokens?|sessions?|hourly|daily|weekly|monthly|annual|spend|spending"
    r"|credits?|extra|tier|subscription|models?|inference|five-hour|\d+[- ]?(?:h|hr|hour|day)s?"
    r"|quota|[a-z]+-[\d.]+(?:[\w.:-]*\w)?)\s+)*"
)
_LIMIT = r"(?:usage )?(?:limits?|quotas?|allowances?|capacity|caps?|credits?)\b"
_GONE = r"(?:hit|reached|exceeded|exhausted|used up|depleted|consumed)"
_FOR = (
    r"(?: (?:for|on|in|with|by) (?:the |this |your |all )?(?:[a-z]+-[\d.]+(?:[\w.:-]*\w)?|models?|account"
    r"|org(?:anization)?|project|plan|day|week|month|hour|today|now|\d+[- ]?hours?"
    r"|(?:claude(?: code)?|chatgpt|codex) (?:messages|requests)|messages|requests"
    r"|claude(?: code)?|codex|gemini(?: code assist)?|chatgpt|opus|sonnet|inference providers"
    r"|[\w.-]*\d(?:[\w.:-]*\w)?))*"
)
_WHOSE = r"(?:your|this|the|our) (?:organization|organisation|team|workspace|account|plan|project|company|subscription)"
STRONG: tuple[tuple[OutcomeKind, str], ...] = (
    (
        "rate",
        r"rate limit reached for \S+(?: \S+){0,12}? on [\w ]+\([A-Z]+\): limit [\d.,k]+"
        r"(?:,? (?:used|requested):? [\d.,k]+)*",
    ),
    ("rate", r"exceeded retry limit, last status: 429(?: too many requests)?"),
    ("rate", r"this request would exceed (?:your|the) [\w' ]*rate limit(?: of [\d.,]+ [\w ]+)?"),
    ("rate", r"server is temporarily limiting requests(?: \(not your usage limit\))?"),
    ("rate", r"request rejected \(429\)"),
    (
        "quota",
        rf"(?:sorry, )?you(?:'ve| have)?(?: \([^)]{{1,40}}\) have)? (?:already )?"
        rf"(?:hit|reached|exceeded|exhausted|used up|used|run out of|consumed) (?:all )?(?:of )?"
        rf"(?:your|the|this) {_MOD}(?:{_LIMIT}|usage)(?: \([\w ]+\))?{_FOR}",
    ),
    ("quota", rf"you(?:'ve| have) run out of {_MOD}(?:credits?|usage|quota)"),
    ("quota", rf"you(?:'re| are)(?: currently)? out of {_MOD}(?:credits?|usage|quota)"),
    (
        "quota",
        r"quota exceeded for (?:quota )?metric:? [^\n]{1,300}?(?=\n|\. |\.?$)",
    ),
    ("quota", r"(?:your )?credit balance is too low(?: to access the (?:anthropic|claude) api)?"),
    ("context-too-long", r"(?:prompt is too long|(?:input|conversation) is too long"
     r" for (?:the |this )?requested model)(?: for (?:the |this )?requested model)?"
     r"(?:: [\d,]+ tokens > [\d,]+ maximum)?"),
    ("quota", r"this request requires more credits, or fewer max_tokens"),
    (
        "auth",
        r"please set an auth method in your \S+ or specify one of the following environment"
        r" variables before running: [\w, ]+",
    ),
    ("bad-model", r"there's an issue with the selected model \([^)]{1,80}\)"),
)  # fmt: skip
# These may be an answer of few words: where a model has written, they need what helps beside them.
TERSE: tuple[tuple[OutcomeKind, str], ...] = (
    (
        "quota",
        rf"(?:your |this |you )?(?:{_MOD}(?:usage|quota|credit|message|session|weekly|daily|monthly"
        rf"|hourly|spend|spending|opus|sonnet|hour|day|plan(?:'s)?|account's)s? )"
        rf"{_LIMIT} (?:(?:was|has been|is|have been) (?:already )?)?{_GONE}{_FOR}",
    ),
    ("quota", rf"\d+[- ]?(?:h|hr|hour|day)s? limit {_GONE}{_FOR}"),
    (
        "quota",
        rf"{_WHOSE} (?:has|have) (?:already )?{_GONE} (?:its|the|your|their) {_MOD}"
        rf"(?:{_LIMIT}|usage){_FOR}",
    ),
    ("quota", rf"(?:your )?{_MOD}(?:quota|usage|allowance|credits) (?:has been |is |are )?{_GONE}{_FOR}"),
    ("quota", r"insufficient[_ ](?:quota|credits?|balance|funds)"),
    ("quota", r"resource has been exhausted(?: \(e\.g\.? check quota\))?|resource_exhausted"),
    ("quota", rf"(?:{_MOD}|all )?(?:credits?|tokens) (?:are |have been )?(?:used up|exhausted)"),
    ("quota", r"(?:이번 )?(?:\S+ )?(?:사용량?|이용|메시지|요청|토큰|일일|주간|월간)(?: ?(?:사용|이용))?"
     r" ?한도(?:에|를|가)? ?(?:모두 |다 )?(?:도달|초과|소진|사용|썼)[가-힣]*"),
    ("quota", r"(?:\S+ )?(?:할당량|쿼터|크레딧)(?:을|를|이|가)? ?(?:모두 |다 )?(?:사용|소진|초과)[가-힣]*"),
    ("auth", r"you(?:'ve| have) been (?:logged|signed) out"),
    ("auth", r"(?:your |the )?api[ -]key (?:is |has )?(?:not valid|invalid|expired|been revoked)"),
    (
        "auth",
        r"(?:your )?(?:oauth (?:access )?token|oauth session|login|claude login) (?:has |is |was )?"
        r"(?:been )?(?:expired|revoked|invalid)(?: and could not be refreshed)?",
    ),
    (
        "auth",
        r"your (?:access|authentication|refresh|oauth) token (?:could not be refreshed|has expired"
        r"|has been invalidated|was revoked)(?: because your refresh token (?:was already used"
        r"|has expired|was revoked))?",
    ),
    ("auth", r"provided authentication token is expired"),
    ("auth", r"failed to (?:authenticate|refresh (?:oauth |access )?token)"),
    ("auth", r"(?:your|this) organization (?:has been|is) disabled"),
    ("auth", r"your account does not have access to (?:claude(?: code)?|codex|gemini)"),
    ("auth", r"(?:unexpected status )?401 unauthorized|invalid authentication credentials"),
    ("auth", r"missing bearer or basic authentication in header"),
    ("auth", r"missing environment variable:? (?:openai|anthropic|claude|codex|gemini|google|openrouter"
     r"|azure_openai|mistral|groq|xai|deepseek)\w*(?:API_KEY|AUTH|TOKEN)\w*"),
    ("auth", r"로그인(?:이 필요|되어 있지 않|되지 않|이 만료|해 주|하세요)[가-힣]*"),
    ("auth", r"인증(?:에 실패|이 만료|이 필요)[가-힣]*"),
    ("context-too-long", r"conversation too long|context limit reached"),
    ("overloaded", r"(?:the |selected )?model is (?:overloaded|at capacity)"),
    ("overloaded", r"no capacity available for model \S+(?: on the server)?"),
)  # fmt: skip
# These are said of many things: they count after "API Error", with what helps beside them, or where
# no model has written.
WEAK: tuple[tuple[OutcomeKind, str], ...] = (
    ("auth", r"(?:you(?:'re| are) )?not (?:logged|signed) in(?: to (?:claude(?: code)?|codex|gemini))?"),
    (
        "auth",
        r"(?:invalid|incorrect|missing|no|expired) (?:anthropic |openai |gemini )?(?:api[ -]key"
        r"|x-api-key|bearer token|authentication credentials?|oauth token)"
        r"(?: (?:found|provided|set))?(?:: \S+)?",
    ),
    ("quota", rf"(?:your )?{_MOD}limit (?:was |has been |is )?{_GONE}{_FOR}"),
    ("rate", rf"(?:your |this )?{_MOD}rate[ -]limit (?:was |has been |is )?{_GONE}{_FOR}"),
    # models come and go: any name may stand before "limit"
    ("quota", rf"you(?:'ve| have) (?:already )?{_GONE} (?:your|the) (?:[\w.'-]+ ){{1,4}}{_LIMIT}{_FOR}"),
    ("quota", rf"(?:[\w.'-]+ ){{1,3}}(?:limit|quota|cap|allowance) (?:was |has been |is )?{_GONE}{_FOR}"),
    (
        "quota",
        rf"you(?:'ve| have) (?:already )?{_GONE} the maximum (?:number|amount) of"
        rf" (?:messages|requests|prompts|tokens|chats)(?: allowed)?{_FOR}",
    ),
    ("quota", r"한도(?:에|를|가)? ?(?:모두 |다 )?(?:도달|초과|소진|사용|썼)[가-힣]*"),
    ("rate", r"(?:429 )?too many requests"),
    ("quota", r"no payment method"),
    ("auth", r"missing environment variable:? \w*(?:API_KEY|AUTH|TOKEN)\w*"),
    ("context-too-long", r"(?:input|conversation) is too long(?:: [\d,]+ tokens > [\d,]+ maximum)?"),
    ("auth", r"(?:your |cloud |the )*(?:session|token|credentials?) (?:has |have |is |are )?(?:been )?"
     r"(?:expired|revoked|invalid)"),
    ("auth", r"(?:authentication|authorization) (?:failed|required|error)|unauthorized|forbidden"),
    ("overloaded", r"(?:repeated 529 )?overloaded(?: errors?)?|internal server error|bad gateway"),
    ("overloaded", r"service (?:is )?(?:temporarily )?unavailable|connection error|connection (?:reset|refused)"),
    ("overloaded", r"request timed out|unable to connect to (?:the )?api(?: \([A-Z_]+\))?"),
    ("overloaded", r"api returned an empty or malformed response[^\n]*"),
    ("rate", r"rate limit(?:ed)?"),
    (
        "refused",
        r"claude code is unable to respond to this request, which appears to violate our usage"
        r" policy(?: \(\S+\))?",
    ),
    (
        "crashed",
        r"claude's response exceeded the [\d,]+ output token maximum"
        r"(?:\. to configure this behavior, set the \w+ environment variable)?",
    ),
)  # fmt: skip
PREFIX = re.compile(
    r"(?P<api>api error(?: \([\w.:@-]{1,60}\))?)|(?:codex |claude |gemini |stream |request |fatal )?"
    r"(?:error|warning|오류|에러)|sorry|oops|request failed|unexpected status"
)
STATUS = re.compile(r"\(?(?:(?:http|status) ?(?:code)? ?)?([45]\d\d)\)?(?![\d%])")

_MONTHS = "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september october november december"
_DAYS = "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday saturday sunday"
_TIME = (
    "am pm at on in after by until about around approximately and tomorrow today midnight noon"
    " day days hour hours hr hrs minute minutes min mins second seconds sec secs week weeks month"
    " months d h m s t z utc gmt kst jst cet cest est edt cst cdt mst mdt pst pdt pt et ct mt bst ist"
    " pacific eastern central mountain time standard local timezone later soon shortly again next"
    f" a an few moment now then {_MONTHS} {_DAYS}"
)
TIMES = frozenset(_TIME.split())
VOCABULARY = frozenset(
    (
        f"{_TIME} please you your you'll we the this that it its to for or of our more another other"
        " different higher any via with from up can will may be been is are has have if not need want"
        " try trying retry reset resets resetting renew renews refresh refreshes available access"
        " upgrade upgrading plan plans pro max plus team business enterprise paid free tier"
        " subscription subscribe limit limits usage quota quotas rate credit credits balance billing"
        " payment details pricing settings console dashboard account workspace organization admin"
        " administrator owner contact ask visit see read check review go head manage add purchase buy"
        " get increase raise switch turn enable extra continue using use keep working wait request"
        " requests send model models run type log logged login sign signed signing out in again key"
        " api token tokens external fix obtain new existing existing docs documentation information"
        " error errors learn here status page codex claude code gemini chatgpt opencode opus sonnet"
        " haiku flash openai anthropic google auth authenticate session details monitor current stats"
        " compact clear press esc twice messages back exist different pick set pass valid renew"
        " provided find issue temporary capacity proxy gateway on per purchased requested afford only"
        " but fewer max_tokens id request_id req last into edit automatically switched rest used"
        " remaining command first seconds come back select choose option options support"
    ).split()
)
STARTERS = frozenset(
    [
        "please",
        "you",
        "your",
        "it",
        "this",
        "access",
        "try",
        "retry",
        "resets",
        "reset",
        "resetting",
        "renews",
        "refreshes",
        "available",
        "upgrade",
        "upgrading",
        "contact",
        "ask",
        "visit",
        "see",
        "read",
        "check",
        "review",
        "go",
        "head",
        "manage",
        "add",
        "purchase",
        "buy",
        "get",
        "increase",
        "raise",
        "switch",
        "turn",
        "enable",
        "use",
        "wait",
        "request",
        "send",
        "run",
        "type",
        "log",
        "login",
        "sign",
        "to",
        "for",
        "if",
        "fix",
        "obtain",
        "limit",
        "limits",
        "usage",
        "quota",
        "will",
        "until",
        "in",
        "at",
        "on",
        "after",
        "again",
        "press",
        "pick",
        "set",
        "come",
        "monitor",
        "learn",
        "start",
        "select",
        "choose",
    ]
)
HELPS = re.compile(  # beside a weak core: what only such a notice says
    r"\b(?:resets?|reset|upgrade|(?:try|come back|retry)[\w ]* (?:again|later|in|at|after)"
    r"|please wait|wait \d|/log(?:in|out)|fix external api key|log ?in again|(?:log|sign) (?:in|out)|signing in|billing|credits?"
    r"|try again|login|extra-usage)\b|초기화|재설정|다시|\b1\d{9}(?:\d{3})?\b"
)
CLI_ONLY = re.compile(  # said by a CLI of itself, and by no model that answers
    r"run /login\b|fix external api key|(?:^|\s)/(?:upgrade|extra-usage)\b|[·|] ?resets\b|\|1\d{9}"
)
KO = re.compile(
    r"(?:[가-힣]*(?:오전|오후|내일|오늘|초기화|재설정|리셋|다시|시도|로그인|업그레이드|이후|후에|뒤에"
    r"|나중에|잠시|한도|사용량|이용|해|주세요|하세요|해주세요|요금제|관리자|문의|합니다|됩니다|시간|기준"
    r"|실행|명령|한국|표준시|인증|가능|있습니다|필요)[가-힣]*"
    r"|\d*[년월일시분초](?:에|부터|까지|이후|후|뒤)?|\d+시간|\d+[년월일시분초]\S{0,3}|[에후뒤수을를로]|으로)"
)
TOKEN = re.compile(
    r"https?://\S+|[\w-]+(?:\.[\w-]+)+(?:/\S*)?|/[a-z][\w-]*|[+-]?\d[\d:.,/-]*(?:st|nd|rd|th)?[a-z]{0,3}"
    r"(?:\d+[a-z])*|[a-z]+/[a-z_]+(?:/[a-z_]+)?|[a-z_']+(?:-[a-z\d.]+)*|[가-힣\d]+"
)
FILES = re.compile(
    r"\.(?:py|js|ts|tsx|go|rs|java|rb|md|toml|ya?ml|json|txt|sh|c|cc|cpp|h|lock|html|sql)\b"
)
