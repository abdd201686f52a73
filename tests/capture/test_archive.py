from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook import Memory
from wakebook.base import markdown
from wakebook.base.errors import TranscriptError
from wakebook.capture import archive
from wakebook.capture.archive import Tail, parse, render
from wakebook.capture.read import clean
from wakebook.capture.transcript import Message, Tool

NOON = datetime(2026, 2, 16, 18, 45, tzinfo=UTC)


def message(role: str, text: str, minutes: int = 0, **fields: object) -> Message:
    return Message(
        role=role,  # type: ignore[arg-type]
        text=text,
        id=f"m{minutes}",
        at=NOON + timedelta(minutes=minutes),
        **fields,  # type: ignore[arg-type]
    )


def test_the_format() -> None:
    text, tail = render(
        [
            message("user", "Read all open issues."),
            message("agent", "", 0, tools=(Tool("exec", "gh issue list", "12 results"),)),
            message("agent", "Here are all 12:\n\n1. One", 1),
            message("agent", "", 2, tools=(Tool("read", "notes.md", "no such file", True),)),
            message("user", "Thanks", 400, attachments=("image/png 12 KB",)),
        ],
        Tail(),
    )
    assert text == (
        "\n<!-- date: 2026-02-16 -->\n"
        "\n## 18:45 — user\nRead all open issues.\n"
        "\n## 18:45 — agent\n> [tool:exec] gh issue list → 12 results\n"
        "\nHere are all 12:\n\n1. One\n"
        "\n> [tool:read] notes.md → error: no such file\n"
        "\n<!-- date: 2026-02-17 -->\n"
        "\n## 01:25 — user\nThanks\n"
        "\n> [attachment:image/png 12 KB]\n"
    )
    assert tail.turns == 3
    turns = parse(text, first_line=10)
    assert [(turn.number, turn.role, turn.line, turn.last_line) for turn in turns] == [
        (1, "user", 13, 14),
        (2, "agent", 16, 23),
        (3, "user", 27, 30),
    ]
    assert turns[2].at == datetime(2026, 2, 17, 1, 25, tzinfo=UTC)
    assert turns[1].text == "Here are all 12:\n\n1. One"
    assert turns[1].quotes == (
        "> [tool:exec] gh issue list → 12 results",
        "> [tool:read] notes.md → error: no such file",
    )


def test_an_abandoned_branch_is_marked() -> None:
    text, _ = render([message("user", "a", branch=True), message("user", "b")], Tail())
    assert "— user [branch]\na\n" in text
    assert [turn.branch for turn in parse(text)] == [True, False]


nasty = st.sampled_from(
    [
        "## 18:45 — user",
        "\\## 18:45 — agent",
        "> [tool:x] y",
        "<!-- date: 2026-01-01 -->",
        "---",
        "# T",
    ]
)
texts = st.lists(st.one_of(nasty, st.text(max_size=30)), max_size=4).map("\n".join)
messages = st.lists(
    st.builds(
        lambda role, text, minutes, tool: (
            clean(
                message(role, text, minutes, tools=(Tool("t", "s", "r"),) if tool else ())
            ).message
        ),
        st.sampled_from(["user", "agent", "system"]),
        texts,
        st.integers(0, 3000),
        st.booleans(),
    ),
    max_size=8,
)


def squeezed(text: str) -> str:
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip("\n")


@given(messages)
def test_an_archived_transcript_round_trips(said: list[Message]) -> None:
    said = [item for item in said if item.text or item.tools]
    text, tail = render(said, Tail())
    turns = parse(text)
    assert len(turns) == tail.turns
    expected: list[tuple[str, list[str]]] = []
    for item in said:
        if expected and expected[-1][0] == item.role == "agent":
            expected[-1][1].append(item.text)
        else:
            expected.append((item.role, [item.text]))
    assert [(turn.role, turn.text) for turn in turns] == [
        (role, squeezed("\n\n".join(part for part in parts if part))) for role, parts in expected
    ]


@given(messages, st.data())
def test_portions_leave_no_trace(said: list[Message], data: st.DataObject) -> None:
    said = [item for item in said if item.text or item.tools]
    whole, whole_tail = render(said, Tail())
    cut = data.draw(st.integers(0, len(said)))
    first, tail = render(said[:cut], Tail())
    second, tail = render(said[cut:], tail)
    assert first + second == whole
    assert tail == whole_tail


def test_a_window_gets_the_same_path_again_and_another_one_does_not(memory: Memory) -> None:
    path = archive.path_for(memory.home, "ses_1", 1, NOON, "hello")
    assert path == "raw/conversations/2026/02/16/1845-ses_1-hello.md"
    front = {"session_id": "ses_1", "window": 1}
    memory.home.replace(memory.home.root / path, markdown.join(front, "\n# T\n"))
    assert archive.path_for(memory.home, "ses_1", 1, NOON, "hello") == path
    assert archive.path_for(memory.home, "ses_1", 2, NOON, "hello").endswith("-hello-2.md")


def test_ids_that_no_file_name_can_hold_stay_apart(memory: Memory) -> None:
    paths = {archive.path_for(memory.home, name, 1, NOON, "x") for name in ("ä", "ö", "a/b", "a-b")}
    assert len(paths) == 4


@pytest.mark.parametrize(
    ("text", "slug", "title"),
    [
        ("Can you fix the build on CI?\nmore", "fix-build-ci", "Can you fix the build on CI?"),
        ("日本語", "untitled", "日本語"),
        ("", "untitled", "Untitled"),
        ("## Heading", "heading", "Heading"),
    ],
)
def test_names(text: str, slug: str, title: str) -> None:
    assert archive.slug_and_title(text) == (slug, title)


def test_a_file_that_is_no_transcript_is_refused(memory: Memory) -> None:
    (memory.home.root / "x.md").write_text("hello")
    with pytest.raises(TranscriptError, match="no frontmatter"):
        archive.read(memory.home, "x.md")
    with pytest.raises(TranscriptError, match="No such file"):
        archive.read(memory.home, "y.md")


def test_frontmatter_round_trips(tmp_path: Path) -> None:
    front = {"topic": "a: b # c\n'", "started": "2026-02-16T18:45:00Z", "tags": ["x"], "n": 3}
    text = markdown.join(front, "\n# Title\nbody\n---\nmore\n")
    assert markdown.split(text) == (front, "\n# Title\nbody\n---\nmore\n")
    assert markdown.split("no front") == ({}, "no front")
    assert markdown.split("---\n: [broken\n---\nx") == ({}, "---\n: [broken\n---\nx")
