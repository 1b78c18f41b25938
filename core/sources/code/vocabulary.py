"""Words that tell code from other talk, in many languages, and names that only look like code."""

from __future__ import annotations

import re


def listed(words: str) -> frozenset[str]:
    """The words of a list that is written as one text, since so it can be read."""
    return frozenset(words.split())


# A word of these is hardly said of anything but code.
_STRONG_SPACED = (
    # English
    r"refactor(?:s|ed|ing)?|stack ?trace|backtrace|source code|codebase|code base|unit tests?|"
    r"integration tests?|regex(?:es|p)?|null pointer|segfault|deadlock|race condition|"
    r"memory leak|off[- ]by[- ]one|compil(?:e|er|ers|es|ed|ing) (?:error|warning|the|this|it|fail)|"
    r"type ?hints?|type error|syntax error|pull request|merge conflict|code review|"
    r"review (?:the|this|my|our) (?:diff|pr|patch|code|commit)|monkey ?patch|linter|lint error|"
    r"docstrings?|boilerplate code|call ?sites?|dead code|endpoints?|middleware|subclass(?:es)?|"
    r"constructors?|getters?|setters?|decorators?|async(?:/await)?|mutex|"
    r"where (?:in (?:the|our) (?:repo|code)|is it implemented)|"
    r"(?:implemented|defined|called) in (?:the|our|which) (?:code|repo|file|module)|"
    # Spanish, Portuguese, French, Italian
    r"código[- ]fonte|código fuente|code source|codice sorgente|refactori[sz]\w+|"
    r"compila(?:r|ción|ção|zione|dor)\b|depura(?:r|ción|ção)|débogu\w+|pruebas? unitarias?|"
    r"tests? unitaires?|testes? unitários?|"
    # German, Dutch, Swedish
    r"quell(?:code|text)\w*|refaktori\w+|kompilier\w+|komponententests?|broncode|källkod\w*|"
    # Russian, Ukrainian
    r"рефактор\w+|исходн\w+ код\w*|компил\w+|юнит-?тест\w*|переменн(?:ая|ую|ой|ые|ых)|"
    # Turkish, Polish, Vietnamese, Indonesian
    r"kaynak kod\w*|kod źródłow\w*|refaktor\w+|mã nguồn|kode sumber"
)
# Written without spaces, or with particles that stick to them.
_STRONG_CJK = (
    r"리팩터링|리팩토링|컴파일|스택 ?트레이스|소스 ?코드|테스트 ?코드|단위 ?테스트|엔드포인트|"
    r"널 ?포인터|"
    r"디버깅|디버그|코드 ?리뷰|코드 ?베이스|정규식|정규 ?표현식|메서드|메소드|함수|생성자|상속받|"
    r"미들웨어|파싱|풀 ?리퀘스트|머지 ?충돌|호출부|인스턴스화|비동기 처리|구현체|린트|타입 ?에러|"
    r"リファクタ|スタックトレース|ソースコード|コンパイル|関数|メソッド|単体テスト|ユニットテスト|"
    r"プルリクエスト|コードレビュー|エンドポイント|デバッグ|正規表現|コンストラクタ|"
    r"函数|重构|重構|源码|源代码|原始碼|编译|編譯|单元测试|單元測試|报错|堆栈|堆疊|代码审查|调试|除錯|"
    r"变量|變數|正则表达式"
)

# Letters of scripts with spaces: what sticks to a word in others is a particle (API가).
_LETTER = "[a-z0-9_\u00df-\u024f\u0400-\u04ff]"
_EDGE = rf"(?:(?<!{_LETTER})(?={_LETTER})|(?<={_LETTER})(?!{_LETTER}))"


def _edged(words: str) -> str:
    return words.replace(r"\b", _EDGE)


STRONG = re.compile(_edged(rf"\b(?:{_STRONG_SPACED})(?!{_LETTER})|{_STRONG_CJK}"))

# Each group is one idea: two different ones make a question about code.
_WEAK = {
    "function": r"\bfunctions?\b|función|funciones|fonctions?\b|funktion(?:en)?\b|função|функци\w+",
    "class": r"\bclass(?:es)?\b|\bclases?\b|\bklassen?\b|\bclasses? abstrai\w+|класс\w*|"
    r"클래스|クラス",
    "method": r"\bmethods?\b|\bmétodos?\b|\bméthodes?\b|\bmethoden?\b|метод\w*",
    "code": r"\bcode\b|\bcódigo\b|\bкод\w*|코드|コード|代码|代碼|程式碼",
    "bug": r"\bbugs?\b|\bbuggy\b|버그|バグ|\bбаг\w*",
    "error": r"\berrors?\b|\bcrash(?:es|ed|ing)?\b|\bexceptions?\b|에러|오류|예외|エラー|例外|异常|"
    r"\bexcepción|\bfehler\b|\bошибк\w+",
    "test": r"\btests?\b|\bci\b|테스트|テスト|测试|測試",
    "variable": r"\bvariables?\b|\bparameters?\b|\barguments?\b|변수|파라미터|인자|"
    r"変数|引数|参数|參數",
    "module": r"\bmodules?\b|\bpackages?\b|\blibrar(?:y|ies)\b|\bdependenc(?:y|ies)\b|모듈|패키지|"
    r"라이브러리|의존성|モジュール|ライブラリ|模块|模組|依赖",
    "build": r"\bbuilds?\b|\bdeploy(?:s|ed|ment)?\b|빌드|배포|ビルド|デプロイ|构建|部署",
    "repo": r"\brepo(?:s|sitory|sitories)?\b|\bcommits?\b|\bbranch(?:es)?\b|\bmerge\b|\bdiff\b|"
    r"레포|저장소|커밋|브랜치|머지|コミット|ブランチ|マージ|仓库|提交|分支",
    "api": r"\bapis?\b|\bsdk\b|\bqueries\b|\bquery\b|\bschema\b|\bmigrations?\b|쿼리|스키마|"
    r"마이그레이션|クエリ|スキーマ|接口|查询",
    "implement": r"\bimplement(?:s|ed|ation|ing)?\b|구현|実装|实现|\bimplementa\w*|\bimplémente\w*",
    "script": r"\bscripts?\b|\bfiles?\b|\bfolders?\b|스크립트|파일|ファイル|スクリプト|脚本|文件",
    "type": r"\btypes?\b|\binterfaces?\b|\bstructs?\b|\benums?\b|인터페이스|インターフェース",
    "log": r"\blogs?\b|\blogging\b|로그(?!인|아웃)|ログ(?!イン|アウト)|日志",
    "call": r"반환|호출|戻り値|呼び出|返回|调用",
}
WEAK = re.compile(_edged("|".join(f"(?P<{name}>{words})" for name, words in _WEAK.items())))

# Looks like an identifier or a file name, and is a name that people say in chat. Lower case.
BRANDS = listed(
    "iphone ipad ipod imac imessage ibook icloud itune ebay etrade esport evite macos ios ipados "
    "watchos youtube github gitlab bitbucket javascript typescript powerpoint onedrive sharepoint "
    "linkedin whatsapp wechat tiktok paypal openai chatgpt deepmind postgresql mysql nosql graphql "
    "devops devsecops mlops mongodb clickhouse rabbitmq newrelic hubspot salesforce doordash "
    "mcdonald mcdonalds macbook playstation xbox airpod facetime kakaotalk kakaopay navermap "
    "airbnb wifi wordpress photoshop quickbook youtuber phd "
    "node next vue react express nuxt nest chart moment ember backbone alpine discord socket d3 "
    "three ext p5 jquery handlebars require underscore "
    "docs.rs crates.io asp.net e.g i.e"
)

# What a file of code or of its configuration ends in. No Markdown: that is about anything.
SOURCE_SUFFIXES = listed(
    "py pyi js jsx ts tsx mjs cjs go rs java kt kts c h cc cpp cxx hpp hh cs rb php swift scala sc "
    "clj ex exs erl hs ml mli fs fsx lua pl pm sh bash zsh ps1 sql vue svelte css scss sass less "
    "html htm xml json jsonc yaml yml toml ini cfg conf proto graphql gql tf gradle cmake dart zig "
    "nim jl r m mm asm s ipynb lock properties"
)
