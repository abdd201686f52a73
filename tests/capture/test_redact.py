"""The keys below are made up: they have the shape of secrets and open nothing."""

from __future__ import annotations

import random
import time

import pytest
from bench.redaction import SEED, made, positives, tally

from wakebook.base.echo import strip, wrap
from wakebook.capture.read import clean
from wakebook.capture.secrets import Rule, _of, redact, table
from wakebook.capture.transcript import Message


@pytest.mark.parametrize("rule", table().rules, ids=lambda rule: rule.name)
def test_every_rule_finds_its_examples(rule: Rule) -> None:
    assert rule.examples
    for shape in rule.examples:
        data = f"see\n{made(shape, random.Random(SEED))}\nthere".encode()
        assert rule.name in [one.name for one in _rules(data)], shape


def _rules(data: bytes) -> list[Rule]:
    return [one.rule for number in range(len(table().rules)) for one in _of(number, data)]


def test_secrets_are_found_and_ordinary_text_is_left_alone() -> None:
    """The figures of docs/security.md, with a margin."""
    done = tally()
    assert done.asked >= 5 * 250
    assert done.harmless >= 500
    assert done.found >= 0.98, [(one.kind, one.place) for one in done.missed]
    assert done.mistaken <= 0.01, [one.text for one in done.wrong]


def test_redacting_twice_changes_nothing() -> None:
    for case in positives():
        once, count = redact(case.text)
        assert count
        assert redact(once) == (once, 0), case.kind


def test_several_secrets_in_one_text() -> None:
    chance = random.Random(3)
    first, word, last = (made(shape, chance) for shape in ("sk-proj-{url60}", "{pw}", "ghp_{an36}"))
    clean, count = redact(f"a {first} b postgres://u:{word}@h c {last}")
    assert count == 3
    assert clean == (
        "a [redacted:api-key] b postgres://u:[redacted:url-password]@h c [redacted:token]"
    )


def test_a_secret_beside_other_scripts_and_halves_of_characters() -> None:
    key = made("ghp_{an36}", random.Random(1))
    said = f"ключ — «{key}» 日本語 \ud83d"
    assert redact(said) == ("ключ — «[redacted:token]» 日本語 \ud83d", 1)


def test_a_key_that_was_cut_off_is_hidden_to_the_end() -> None:
    assert (
        redact("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl cut off")[0] == "[redacted:private-key]"
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
