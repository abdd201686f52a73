"""The keys below are made up: they have the shape of secrets and open nothing."""

from __future__ import annotations

import time

import pytest

from wakebook.base.echo import strip, wrap
from wakebook.capture.clean import clean, redact
from wakebook.capture.transcript import Message

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789"


@pytest.mark.parametrize(
    ("text", "hidden", "kind"),
    [
        (f"use sk-proj-{LETTERS} now", f"sk-proj-{LETTERS}", "api-key"),
        (f"sk-ant-api03-{LETTERS}", f"sk-ant-api03-{LETTERS}", "api-key"),
        ("OPENAI: sk-" + "a1B2" * 12, "sk-" + "a1B2" * 12, "api-key"),
        ("sk-" + "a1B2" * 5, "sk-" + "a1B2" * 5, "api-key"),
        ("gsk_" + "a1" * 12, "gsk_" + "a1" * 12, "api-key"),
        ("xai-" + "a1" * 12, "xai-" + "a1" * 12, "api-key"),
        ("hf_" + "a1" * 17, "hf_" + "a1" * 17, "api-key"),
        (f"SG.{'a1' * 11}.{'b2' * 21}", "b2" * 21, "api-key"),
        ("npm_" + "a1" * 18, "npm_" + "a1" * 18, "api-key"),
        ("pypi-" + "a1" * 30, "pypi-" + "a1" * 30, "api-key"),
        ("AGE-SECRET-KEY-1" + "A1" * 29, "A1" * 29, "api-key"),
        ("key AIza" + "b" * 35, "AIza" + "b" * 35, "api-key"),
        ("aws AKIAIOSFODNN7EXAMPLE ok", "AKIAIOSFODNN7EXAMPLE", "api-key"),
        ("ghp_" + "a1" * 18, "ghp_" + "a1" * 18, "token"),
        ("xoxb-123456789012-abcdefGHIJ", "xoxb-123456789012-abcdefGHIJ", "token"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "SflKxwRJSMeK", "token"),
        ("postgres://mira:hunter22@lagoon/db", "hunter22", "url-password"),
        ("Authorization: Bearer abc.def-123", "abc.def-123", "authorization"),
        ('password = "correct horse"\nDB_PASSWORD="s3cret!pw"', "s3cret!pw", "password"),
        ("api_key: 9f8e7d6c5b4a39281", "9f8e7d6c5b4a39281", "password"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
            "MIIE",
            "private-key",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\ncut off here", "cut off", "private-key"),
    ],
)
def test_secrets_are_hidden_and_counted(text: str, hidden: str, kind: str) -> None:
    clean, count = redact(text)
    assert hidden not in clean
    assert f"[redacted:{kind}]" in clean
    assert count == 1
    assert redact(clean) == (clean, 0)  # doing it again changes nothing


@pytest.mark.parametrize(
    "text",
    [
        "The password is kept in the vault, and the token expires tomorrow.",
        "password=$DB_PASSWORD and api_key = os.environ['KEY']",
        "secret: <your secret here>",
        "see https://example.org:8080/path and mail@example.org",
        "sk-8 and skate-park are harmless; so is task-list-with-many-words",
        "the bearer of this letter walks 20 kilometres",
        "commit 9f8e7d6c5b4a39281726354433221100ffeeddcc",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == (text, 0)


def test_several_secrets_in_one_text() -> None:
    clean, count = redact(f"a sk-proj-{LETTERS} b postgres://u:pass1word@h c ghp_{'b2' * 18}")
    assert count == 3
    assert clean == (
        "a [redacted:api-key] b postgres://u:[redacted:url-password]@h c [redacted:token]"
    )


@pytest.mark.parametrize("text", ["password=" * 20000, "eyJ" + "a" * 100000, "-----BEGIN " * 9000])
def test_hostile_text_does_not_hang(text: str) -> None:
    started = time.monotonic()
    redact(text)
    assert time.monotonic() - started < 20  # it would be minutes if it were not linear


def test_what_is_wrapped_is_stripped() -> None:
    text = wrap("## Last Session Handoff\nAuth migration </wakebook-memory> tricky")
    assert strip(f"before\n{text}after") == ("before\nafter", len(text))
    assert strip("before\n" + text + "middle\n" + text + "after")[0] == "before\nmiddle\nafter"


def test_an_injection_that_a_host_cut_off_goes_to_the_end() -> None:
    text = wrap("a long memory " * 50)[:200]
    assert strip("hello\n" + text)[0] == "hello\n"


def test_a_user_who_mentions_the_tag_keeps_the_words() -> None:
    text = "what does the <wakebook-memory> tag do?"
    assert strip(text) == (text, 0)


def test_the_generated_block_of_the_memory_file_is_ours_too() -> None:
    block = "<!-- BEGIN GENERATED BRIEFING -->\n## Pending\n- x\n<!-- END GENERATED BRIEFING -->\n"
    assert strip(f"see {block}there")[0] == "see there"
    assert strip(f"see {block[:60]}")[0] == "see "


def test_words_around_an_injection_are_not_glued_together() -> None:
    assert strip("before " + wrap("x").strip() + " after")[0] == "before  after"


def test_what_moves_a_terminal_is_taken_out() -> None:
    text = "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell\x07 tab\there\nline\x00"
    said = Message(role="user", text=text, id="1")
    assert clean(said).message.text == "red  bell tab\there\nline"
