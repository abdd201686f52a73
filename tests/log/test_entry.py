from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.base.errors import InvalidEntry
from wakebook.log.entry import (
    ID,
    WAS,
    Entry,
    decode,
    derived_id,
    encode,
    from_dict,
    new_id,
    news_first,
    present,
    slugify,
    validate,
)

BASE: dict[str, Any] = {
    "id": "r7Wp3nKx_mZe",
    "timestamp": "2026-02-20T14:35:00Z",
    "type": "fact",
    "content": "Backoff caps at 3 retries",
    "session": "abc12345",
}


def test_an_entry_survives_a_read_and_a_write_with_fields_nobody_knows() -> None:
    raw = BASE | {
        "evidence": [3, 5],
        "replaces": ["a3k9x_BmQ2yT", "b3k9x_BmQ2yT"],
        "mood": {"x": 1},
    }
    assert json.loads(encode(from_dict(raw))) == raw


def test_one_replaced_id_is_written_as_text() -> None:
    raw = BASE | {"replaces": "a3k9x_BmQ2yT"}
    assert from_dict(raw).replaces == ("a3k9x_BmQ2yT",)
    assert json.loads(encode(from_dict(raw)))["replaces"] == "a3k9x_BmQ2yT"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"id": "short"}, "12 characters"),
        ({"type": "observation"}, "type must be one of"),
        ({"content": "  "}, "content is empty"),
        ({"content": 5}, "content must be text"),
        ({"timestamp": "yesterday"}, "ISO 8601"),
        ({"type": "task"}, "needs a status"),
        ({"status": "open"}, "only a task"),
        ({"subject": "Auth_Migration"}, "kebab-case"),
        ({"session": ""}, "session is missing"),
        ({"replaces": "r7Wp3nKx_mZe"}, "replace itself"),
        ({"evidence": [0]}, "from 1"),
        ({"kind": "mood"}, "kind must be"),
    ],
)
def test_the_schema_says_what_is_wrong(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidEntry, match=complaint):
        from_dict(BASE | change)


@pytest.mark.parametrize("line", [b"{", b"[1]", b'"text"', b"\xff\xfe", b"null"])
def test_a_line_that_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidEntry):
        decode(line)


def test_ids_are_nanoids() -> None:
    ids = {new_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert all(ID.fullmatch(identity) and identity[0].isalnum() for identity in ids)


def test_the_same_words_give_the_same_id_and_others_do_not() -> None:
    first = derived_id("s/1/3", "fact", "The launch is on 14 November")
    assert first == derived_id("s/1/3", "fact", "The launch is on 14 November")
    assert ID.fullmatch(first)
    assert first != derived_id("s/1/4", "fact", "The launch is on 14 November")
    assert first != derived_id("s/1/3", "decision", "The launch is on 14 November")


@given(content=st.text(min_size=1), detail=st.text(), subject=st.sampled_from(["", "a-b", "x1"]))
def test_any_text_round_trips(content: str, detail: str, subject: str) -> None:
    entry = Entry(
        id="r7Wp3nKx_mZe",
        timestamp=datetime(2026, 2, 20, tzinfo=UTC),
        type="decision",
        content=content.encode("utf-8", "replace").decode() + "x",
        detail=detail.encode("utf-8", "replace").decode(),
        subject=subject,
        session="s",
    )
    line = encode(validate(entry))
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode(line) == entry


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Auth Migration", "auth-migration"),
        ("  Über_Straße!", "uber-strae"),
        ("日本", ""),
        ("a", "a"),
    ],
)
def test_slugs(text: str, slug: str) -> None:
    assert slugify(text) == slug


def test_a_correction_comes_before_what_it_corrects() -> None:
    old, new = "Greta fires on Tuesdays.", "she's on Thursdays now"
    told = f"{new} (was: Greta fires on Tuesdays)"
    assert news_first(f"{old} {new}", f"{WAS}{old}") == told
    assert present(f"{old} {new} — {WAS}{old}") == told
    assert news_first(new, f"{WAS}{old}") == new and news_first(new, "") == new
    assert present(f"{new} — {WAS}{old}") == new
