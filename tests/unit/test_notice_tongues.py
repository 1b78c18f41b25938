"""Notices in other languages, honest answers about them, and what the run's usage says of both."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.streams import posing_as_answer

NOTICES = [
    ("quota", "Sie haben Ihr Nutzungslimit erreicht. Es wird um 15:00 Uhr zurückgesetzt."),
    ("quota", "⚠️ **Du hast dein Fable Wochenlimit erreicht.** Versuche es in 2 Stunden erneut."),
    ("rate", "Zu viele Anfragen. Bitte versuchen Sie es später erneut."),
    ("auth", "Sie sind nicht angemeldet. Bitte melden Sie sich erneut an."),
    ("quota", "Vous avez atteint votre limite d'utilisation. Réinitialisation à 15h."),
    ("quota", "Vous avez atteint votre limite hebdomadaire. Veuillez réessayer demain à 9h00."),
    ("rate", "Trop de requêtes. Réessayez plus tard."),
    ("auth", "Votre session a expiré. Veuillez vous reconnecter."),
    ("quota", "Has alcanzado tu límite de uso. Se restablece a las 15:00."),
    ("quota", "Ha superado su cuota diaria. Inténtelo de nuevo mañana."),
    ("rate", "Demasiadas solicitudes. Espera 30 segundos."),
    ("auth", "No has iniciado sesión. Inicia sesión de nuevo."),
    ("quota", "Você atingiu seu limite de uso. Será redefinido às 15:00."),
    ("quota", "Você excedeu a cota diária. Tente novamente em 2 horas."),
    ("auth", "Sua sessão expirou. Faça login novamente."),
    ("quota", "Hai raggiunto il tuo limite di utilizzo. Si ripristina alle 15:00."),
    ("rate", "Troppe richieste. Riprova più tardi."),
    ("auth", "Sessione scaduta. Accedi di nuovo."),
    ("quota", "Вы достигли лимита использования. Лимит сбросится в 15:00."),
    ("quota", "Вы исчерпали свой лимит сообщений. Попробуйте через 2 часа."),
    ("rate", "Слишком много запросов. Повторите попытку позже."),
    ("auth", "Вы не авторизованы. Войдите снова."),
    ("quota", "利用制限に達しました。15:00にリセットされます。"),
    ("quota", "メッセージの上限に達しました。2時間後にもう一度お試しください。"),
    ("rate", "リクエストが多すぎます。しばらくしてから再度お試しください。"),
    ("auth", "ログインしていません。再度ログインしてください。"),
    ("quota", "您已达到使用限额，将于15:00重置。"),
    ("quota", "您已達到使用上限，請於2小時後再試。"),
    ("rate", "请求过于频繁，请稍后再试。"),
    ("auth", "登录已过期，请重新登录。"),
]
HONEST = [
    "Sie haben das Limit in limits.py auf 5 gesetzt.",
    "Sie haben Ihr Nutzungslimit erreicht, wenn der Zähler auf 0 steht.",
    "Das Nutzungslimit wird um 15:00 Uhr zurückgesetzt.",
    "Zu viele Anfragen.",
    "Nicht angemeldet.",
    "Vous avez atteint votre limite d'utilisation quand le compteur vaut 0.",
    "La limite est réinitialisée à minuit par cron.py.",
    "Trop de requêtes.",
    "Has alcanzado tu límite de uso: ese es el texto que verá el usuario.",
    "La cuota se restablece a las 15:00.",
    "Você atingiu seu limite de uso é a mensagem em erros.py.",
    "Tente novamente em 2 horas.",
    "Hai raggiunto il limite di 5 richieste aperte, quindi ne ho chiusa una.",
    "Riprova più tardi.",
    "Вы достигли лимита использования, если счётчик равен 0.",
    "Лимит сбросится в 15:00.",
    "利用制限に達しましたというメッセージを表示します。",
    "15:00にリセットされます。",
    "ログインしていません。",
    "您已达到使用限额是服务器返回的提示。",
    "请求过多时服务器返回429。",
    "请稍后再试。",
]


@pytest.mark.parametrize(("kind", "text"), NOTICES)
def test_a_notice_is_recognised(kind: str, text: str) -> None:
    assert posing_as_answer(text) == kind


@pytest.mark.parametrize("text", HONEST)
def test_an_answer_about_it_is_an_answer(text: str) -> None:
    assert posing_as_answer(text) is None


@given(
    notice=st.sampled_from([text for _, text in NOTICES]),
    more=st.sampled_from(
        [
            "limits.py",
            "Das steht im Log.",
            "C'est le texte.",
            "Eso dice el registro.",
            "isso",
            "because",
            "Это текст из журнала.",
            "これはログです。",
            "这是日志。",
            "quota_test",
        ]
    ),
)
def test_one_sentence_more_makes_it_an_answer(notice: str, more: str) -> None:
    assert posing_as_answer(f"{notice} {more}") is None
    assert posing_as_answer(f"{more} {notice}") is None


@pytest.mark.parametrize(
    ("text", "unknown", "by_a_model", "by_none"),
    [
        ("No API key found.", None, None, "auth"),
        ("Not logged in.", None, None, "auth"),
        ("Not logged in · Please run /login", "auth", "auth", "auth"),
        ("Invalid API key · Fix external API key", "auth", "auth", "auth"),
        ("Missing environment variable: DATABASE_TOKEN", None, None, "auth"),
        ("Missing environment variable: OPENAI_API_KEY.", "auth", None, "auth"),
        ("Input is too long.", None, None, "context-too-long"),
        ("Prompt is too long", *["context-too-long"] * 3),  # the CLI's own words
        ("Credit balance is too low", *["quota"] * 3),
        ("Quota exceeded.", "quota", None, "quota"),
        ("Usage limit reached. Resets at 3pm.", "quota", "quota", "quota"),
        ("Rate limit exceeded. Please try again later.", "rate", None, "rate"),
        ("Error: 429 Too Many Requests", "rate", None, "rate"),
        ("API Error: 529 Overloaded", "overloaded", "overloaded", "overloaded"),
        ("You've hit your limit · resets 3pm", "quota", "quota", "quota"),
        ("Zu viele Anfragen.", None, None, "rate"),
        ("Sie haben Ihr Nutzungslimit erreicht.", "quota", None, "quota"),
        ("It is not logged in.", None, None, None),
    ],
)
def test_who_wrote_it_decides_what_may_be_either(
    text: str, unknown: str | None, by_a_model: str | None, by_none: str | None
) -> None:
    assert posing_as_answer(text) == unknown
    assert posing_as_answer(text, wrote=True) == by_a_model
    assert posing_as_answer(text, wrote=False) == by_none


@pytest.mark.parametrize(
    "text",
    [
        "您已达到使用限额" + "1" * 280,
        "利用制限に達しました。" + "1 " * 130 + "x",
        "Sie haben Ihr " + "um 15 " * 45,
        "Vous avez atteint la limite" + " , " * 90 + "x",
        "Has alcanzado tu límite " + "se renueva a las 15 " * 12 + "x",
    ],
)
def test_an_odd_text_is_read_at_once(text: str) -> None:
    began = time.process_time()
    posing_as_answer(text)
    assert time.process_time() - began < 0.5
