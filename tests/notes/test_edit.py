"""What somebody has changed in a generated block, as entries that say so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.log.entry import Entry, derived_id
from wakebook.notes.page import NoteLine, told
from wakebook.notes.review import (
    ADDED,
    CHANGED,
    DONE,
    REMOVED,
    Change,
    Words,
    changes,
    draft,
    words,
)

NOW = datetime(2026, 11, 9, tzinfo=UTC)


def entry(content: str, **fields: Any) -> Entry:
    base: dict[str, Any] = {"type": "fact", "session": "s", "subject": "auth", "timestamp": NOW}
    return Entry(id=derived_id("t", "", content), content=content, **(base | fields))


def line(text: str, *entries: Entry) -> NoteLine:
    return NoteLine(text, tuple(one.id for one in entries), tells=True)


def kinds(found: list[Change]) -> list[str]:
    return [change.kind for change in found]


ONE, TWO, THREE = entry("Tokens live 15 min"), entry("The office is upstairs"), entry("Uses RS256")
BLOCK = [
    NoteLine("## Facts", (ONE.id, TWO.id, THREE.id)),
    line("- Tokens live 15 min ([[2026-11-09]])", ONE),
    line("- The office is upstairs ([[2026-11-09]])", TWO),
    line("- Uses RS256 ([[2026-11-09]])", THREE),
]
TEXT = [one.text for one in BLOCK]


# --- what has become of the lines -----------------------------------------------------------


def test_a_changed_line_is_found_with_its_entry() -> None:
    after = [text.replace("15 min", "20 min") for text in TEXT]
    [change] = changes(BLOCK, after)
    assert (change.kind, change.ids, change.section) == (CHANGED, (ONE.id,), "Facts")
    assert change.new == after[1]


def test_a_line_that_was_taken_out() -> None:
    [change] = changes(BLOCK, [TEXT[0], TEXT[1], TEXT[3]])
    assert (change.kind, change.ids) == (REMOVED, (TWO.id,))


def test_a_new_line_with_the_heading_above_it() -> None:
    [change] = changes(BLOCK, [*TEXT, "", "## Lessons", "- Never on a Friday"])
    assert (change.kind, change.new, change.section) == (ADDED, "- Never on a Friday", "Lessons")


def test_a_ticked_task_and_one_that_was_ticked_and_reworded() -> None:
    task = entry("Send the form", type="task", status="open")
    before = [line("- [ ] Send the form (since [[2026-11-09]])", task)]
    assert kinds(changes(before, ["- [x] Send the form (since [[2026-11-09]])"])) == [DONE]
    assert kinds(changes(before, ["- [X] Send the form"])) == [DONE]
    [change] = changes(before, ["- [x] Send the long form (since [[2026-11-09]])"])
    fields = draft(change, "auth", [task])
    assert fields is not None
    assert (fields["content"], fields["status"]) == ("Send the long form", "done")


def test_all_at_once() -> None:
    after = [TEXT[0], "- Brand new and unlike", TEXT[1].replace("15", "20"), TEXT[3]]
    assert sorted(kinds(changes(BLOCK, after))) == [ADDED, CHANGED, REMOVED]


def test_headings_empty_lines_order_of_marks_and_what_was_counted_do_not_count() -> None:
    after = [
        "",
        "## Renamed",
        "",
        *(f"{text}  " for text in TEXT[1:]),
        "- … and 4 older",
        "<!-- x -->",
    ]
    assert changes(BLOCK, after) == []


def test_what_stands_in_place_of_a_line_of_nobodys_is_new() -> None:
    [change] = changes([NoteLine("Nothing at the moment.")], ["- A brand new fact"])
    assert change.kind == ADDED


@given(st.permutations(TEXT[1:]))
def test_nothing_is_added_or_lost_by_moving_lines(order: list[str]) -> None:
    drafts = [
        draft(change, "auth", [one for one in (ONE, TWO, THREE) if one.id in change.ids])
        for change in changes(BLOCK, ["## Facts", *order])
    ]
    contents = [str(fields["content"]) for fields in drafts if fields]
    assert contents == []


# --- what a line says ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said", "box"),
    [
        ("- a fact ([[2026-11-09]])", "a fact", ""),
        ("* a fact", "a fact", ""),
        ("1. a fact", "a fact", ""),
        ("- [ ] 📌 a task (since [[2026-11-09]])", "a task", " "),
        ("- [X] [[2026-11-09]]: a task", "a task", "x"),
        ("- [[2026-11-09]]: 📌 a decision — why", "a decision — why", ""),
        ("- 🔴 2026-11-09 To do: it (auth)", "it (auth)", ""),
        ("- 🟡 2026-11-09 Open: why? (auth)", "why? (auth)", ""),
        ("- **Decided:** 📌 so be it", "so be it", ""),
        ("- pinned — always", "always", ""),
        ("no bullet at all", "no bullet at all", ""),
        ("- 📌", "📌", ""),
    ],
)
def test_the_words_of_a_line_without_what_the_note_says_about_them(
    text: str, said: str, box: str
) -> None:
    assert words(text) == Words(said, box)


# --- as entries -----------------------------------------------------------------------------------


def changed(old: str, new: str, one: Entry) -> dict[str, object] | None:
    [change] = changes([line(old, one)], [new])
    return draft(change, "", [one])


@pytest.mark.parametrize(
    "frame",
    [
        "- {} ([[2026-11-09]])",
        "- [[2026-11-09]]: {}",
        "- 📌 {} ([[2026-11-09]])",
        "- **Decided:** {}",
        "- 🟢 2026-11-09 {} (auth)",
        "- 2026-11-09: {}",
        "- auth — {}",
        "- {} (auth)",
        "- **[[projects/auth/context|Auth]]** — {}",
        "- noted — {}",
    ],
)
@pytest.mark.parametrize(
    "content",
    [
        "Tokens live 15 min",
        "2026-11-14 is the launch, 15 min late",
        "Open: 15 min or more",
        "15 min — not more (auth)",
        "noted — 15 min",
    ],
)
def test_a_changed_line_gives_its_own_words_whatever_stands_around_them(
    frame: str, content: str
) -> None:
    one = entry(content, pinned=True, kind="lesson")
    new = content.replace("15 min", "20 min")
    fields = changed(frame.format(content), frame.format(new), one)
    assert fields is not None
    assert (fields["content"], fields["detail"]) == (new, "")
    assert fields["replaces"] == (one.id,)
    assert (fields["type"], fields["kind"], fields["subject"]) == ("fact", "lesson", "auth")
    assert fields["pinned"] is True


@pytest.mark.parametrize(
    ("old", "new", "content", "detail"),
    [
        ("much", "very much", "Use A — not B", "because very much"),
        ("Use A", "Use C", "Use C — not B", "because much"),
        (" — because much", "", "Use A — not B", ""),
    ],
    ids=["detail", "content", "detail taken out"],
)
def test_content_and_detail_are_told_apart(old: str, new: str, content: str, detail: str) -> None:
    one = entry("Use A — not B", detail="because much", type="decision")
    text = f"- [[2026-11-09]]: {told(one)}"
    fields = changed(text, text.replace(old, new), one)
    assert fields is not None
    assert (fields["content"], fields["detail"]) == (content, detail)


@pytest.mark.parametrize("size", [700, 3000])
def test_what_the_note_had_cut_off_is_kept(size: int) -> None:
    long = "The deploy " + " ".join(f"step{number}" for number in range(size // 7)) + " ends"
    one = entry(long)
    text = f"- {told(one)} ([[2026-11-09]])"
    assert "…" in text
    fields = changed(text, text.replace("The deploy", "The release"), one)
    assert fields is not None
    assert fields["content"] == long.replace("The deploy", "The release")


def test_a_detail_that_was_cut_off_is_kept_where_only_the_content_changed() -> None:
    detail = "because " + " ".join(f"reason{number}" for number in range(200))
    one = entry("Use A", detail=detail)
    text = f"- {told(one)} ([[2026-11-09]])"
    fields = changed(text, text.replace("Use A", "Use B"), one)
    assert fields is not None
    assert fields["content"] == "Use B"
    assert fields["detail"] == detail


def test_only_a_mark_or_a_date_is_nothing_to_say() -> None:
    one = entry("Tokens live 15 min")
    text = "- Tokens live 15 min ([[2026-11-09]])"
    assert changed(text, "- Tokens live 15 min ([[2026-11-10]])", one) is None
    pinned = changed(text, f"- 📌 {text[2:]}", one)
    assert pinned is None or (pinned["content"], pinned["pinned"]) == (one.content, True)


def test_a_done_task_and_an_open_one_again() -> None:
    task = entry("Send the form", type="task", status="open", pinned=True)
    [ticked] = changes([line("- [ ] Send the form", task)], ["- [x] Send the form"])
    fields = draft(ticked, "", [task])
    assert fields is not None
    assert (fields["status"], fields["pinned"], fields["replaces"]) == ("done", False, (task.id,))
    done = entry("Send the form", type="task", status="done")
    [back] = changes([line("- [x] Send the form", done)], ["- [ ] Send the form"])
    fields = draft(back, "", [done])
    assert fields is not None
    assert fields["status"] == "open"


def test_what_was_taken_out_holds_no_longer_and_a_task_is_off_the_list() -> None:
    [gone] = changes([line("- Tokens live 15 min", ONE)], [])
    fields = draft(gone, "", [ONE])
    assert fields is not None
    assert fields["extra"] == {"retracted": True}
    assert fields["content"] == "No longer holds: Tokens live 15 min"
    assert fields["replaces"] == (ONE.id,)
    task = entry("Send the form", type="task", status="open")
    [off] = changes([line("- [ ] Send the form", task)], [])
    fields = draft(off, "", [task])
    assert fields is not None
    assert (fields["type"], fields["status"]) == ("task", "done")


@pytest.mark.parametrize("kind", [CHANGED, REMOVED])
def test_a_line_that_only_refers_to_entries_corrects_none(kind: str) -> None:
    change = Change(kind=kind, old="- 2 in [[procedures/x]]", new="- x", ids=(ONE.id,), tells=False)
    assert draft(change, "", [ONE]) is None
    gone = Change(kind=kind, old="- x", new="- y", ids=(ONE.id,))
    assert draft(gone, "", []) is None  # what it stood for holds no longer


@pytest.mark.parametrize(
    ("section", "text", "type_", "kind", "status"),
    [
        ("Next", "- Send it", "task", None, "open"),
        ("Pending", "- [x] Sent it", "task", None, "done"),
        ("Open Questions", "- Why?", "question", None, None),
        ("Key Decisions", "- So be it", "decision", None, None),
        ("Recent Decisions", "- So be it", "decision", None, None),
        ("Lessons", "- Never", "fact", "lesson", None),
        ("Preferences", "- Tea", "fact", "preference", None),
        ("Communication", "- Short", "fact", "preference", None),
        ("Procedures", "- make", "fact", "procedure", None),
        ("Events", "- Opened", "fact", "event", None),
        ("Facts", "- It is so", "fact", None, None),
        ("Facts", "- [ ] It is to do", "task", None, "open"),
        ("🔴 High", "- whatever", "fact", None, None),
    ],
)
def test_a_new_line_is_what_its_heading_says(
    section: str, text: str, type_: str, kind: str | None, status: str | None
) -> None:
    [change] = changes([], [f"## {section}", text])
    fields = draft(change, "auth", [])
    assert fields is not None
    assert (fields["type"], fields["kind"], fields["status"]) == (type_, kind, status)
    assert fields["subject"] == "auth"
    assert fields["content"] == words(text).text


@given(st.lists(st.text(max_size=30), max_size=6))
def test_whatever_somebody_writes_no_change_breaks(lines: list[str]) -> None:
    """And every line of theirs is in an entry, or says nothing of its own."""
    found = changes(BLOCK, lines)
    behind = {one.id: one for one in (ONE, TWO, THREE)}
    for change in found:
        fields = draft(change, "", [behind[one] for one in change.ids])
        if change.kind == ADDED and words(change.new).text:
            assert fields is not None
            assert str(fields["content"]) in change.new
