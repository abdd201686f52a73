from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.journeys.command import call, run_json
from wakebook import Memory, WakebookError
from wakebook.base import markdown
from wakebook.base.config import Briefing
from wakebook.base.errors import NotFound
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry, new_id
from wakebook.log.subjects import Registry
from wakebook.notes.briefing import briefing
from wakebook.notes.contradictions import contradictions

NOW = datetime(2026, 11, 9, 8, 0, tzinfo=UTC)


def said(days_ago: float, content: str, type_: str = "fact", **fields: object) -> Entry:
    base = {
        "id": new_id(),
        "timestamp": NOW - timedelta(days=days_ago),
        "type": type_,
        "session": "s",
        "status": "open" if type_ == "task" else None,
    }
    return Entry(content=content, **(base | fields))  # type: ignore[arg-type]


def lines(*entries: Entry, **settings: int) -> list[str]:
    made = briefing(resolve(entries), Registry(), NOW, Briefing(**settings))
    return [line.text for line in made]


def section(text: list[str], name: str) -> list[str]:
    start = text.index(f"## {name}") + 1
    rest = text[start:]
    return rest[: rest.index("")] if "" in rest else rest


def test_the_sections() -> None:
    question = said(12, "Is the retry strategy enough?", "question")
    text = lines(
        said(1, "Queue-based retries work in staging", subject="auth-migration"),
        said(3, "Backfill is not started", subject="auth-migration"),
        said(20, "An old matter", subject="old-matter"),
        said(2, "Queue-based retries for webhooks", "decision", detail="they cascade"),
        said(9, "Too old a decision", "decision"),
        said(20, "Backfill the 47 failed jobs", "task"),
        said(100, "Already finished", "task", status="done"),
        question,
        said(60, "Whisper runs on the old box", subject="whisper-stt"),
        said(2, "Whisper came up again", subject="whisper-stt"),
        said(12, "Staging is called lagoon", subject="auth-migration"),
        said(50, "Max two retries for webhooks", subject="auth-migration"),
        said(1, "Five retries for webhooks", subject="auth-migration"),
    )
    assert section(text, "Active") == [
        "- auth-migration — Five retries for webhooks",
        "- whisper-stt — Whisper came up again",
    ]
    assert section(text, "Recent Decisions") == [
        "- 2026-11-07: Queue-based retries for webhooks — they cascade"
    ]
    assert section(text, "Pending") == ["- Backfill the 47 failed jobs"]
    assert section(text, "Open Questions") == ["- Is the retry strategy enough?"]
    assert section(text, "Stale") == [
        "- whisper-stt — before, on 2026-09-10: Whisper runs on the old box"
    ]
    assert section(text, "Contradictions") == [
        '- auth-migration: "Max two retries for webhooks" (2026-09-20) may conflict with '
        '"Five retries for webhooks" (2026-11-08)'
    ]


def test_what_cannot_be_read_alone_is_no_line() -> None:
    by = {"by": "rules"}
    text = lines(
        said(1, "I'm a nurse.", **by),
        said(1, "I need to grab them before I head out.", "task", **by),
        said(1, "I've looked around, and I think I've decided on a lodge.", "decision", **by),
        said(1, "We decided to grab them with curl.", "decision", subject="heron", **by),
        said(1, "I need to renew my passport.", "task", **by),
    )
    assert section(text, "Recent Decisions") == ["- 2026-11-08: We decided to grab them with curl."]
    assert section(text, "Pending") == ["- I need to renew my passport."]


def test_a_new_memory_md_has_no_empty_headings(memory: Memory) -> None:
    text = memory.home.memory.read_text()
    assert "# Core Memory" in text and "## " not in text


def test_tasks_and_questions_age_unless_mentioned_or_pinned() -> None:
    entries = (
        said(30, "Renew the passport before the trip", "task"),
        said(22, "Is the retry strategy enough?", "question"),
        said(30, "Order the oak shelves for the study", "task"),
        said(2, "The oak shelves for the study come in two widths"),
        said(90, "Back up the photo archive", "task", pinned=True),
        said(90, "Pay the deposit", "task", pinned=True, status="done"),
        said(3, "Call the plumber on Wednesday", "task"),
    )
    text = lines(*entries)
    assert section(text, "Pending") == [
        "- Back up the photo archive",
        "- Call the plumber on Wednesday (11 November 2026)",
        "- Order the oak shelves for the study",
    ]
    assert "## Open Questions" not in text
    assert "- Renew the passport before the trip" in lines(*entries, open_days=60)


def test_a_task_that_is_done_does_not_read_as_one_to_do() -> None:
    task = said(3, "I need to rotate the keys", "task", subject="auth")
    done = said(1, task.content, "task", status="done", replaces=(task.id,), subject="auth")
    text = lines(task, done)
    assert section(text, "Active") == ["- auth — Done: I need to rotate the keys"]
    assert "## Pending" not in text


def test_replaced_entries_do_not_appear() -> None:
    old = said(2, "Use SQLite", "decision")
    text = lines(old, said(1, "Use Postgres", "decision", replaces=(old.id,)))
    assert section(text, "Recent Decisions") == ["- 2026-11-08: Use Postgres"]


def test_an_empty_log_says_so() -> None:
    assert lines() == ["Nothing yet: the log holds no entries."]


@given(st.lists(st.sampled_from(["fact", "task", "decision", "question"]), max_size=300))
def test_never_more_than_the_limit_and_the_rest_is_counted(types: list[str]) -> None:
    entries = [
        said(n % 5, f"Entry number {n}", kind, subject=f"s{n}") for n, kind in enumerate(types)
    ]
    text = lines(*entries)
    assert len(text) <= 80
    shown = sum(line.startswith("- ") and "more" not in line for line in text)
    if len(text) == 80:
        assert any("more" in line for line in text) or shown <= 80


def test_the_block_changes_and_every_byte_outside_stays(memory: Memory) -> None:
    before = "# Mine\r\n\ttabs  \n\n- ünïcode — dash\n"
    after = "\n\nbelow the block, without an end of line"
    block = f"{markdown.BEGIN}\nold\n{markdown.END}"
    memory.home.memory.write_bytes((before + block + after).encode())
    memory.remember("Deploy to lagoon", type_="task")
    done = memory.notes.brief()
    text = memory.home.memory.read_bytes().decode()
    assert done.changed
    assert text.startswith(before + markdown.BEGIN)
    assert text.endswith(markdown.END + after)
    assert "- Deploy to lagoon" in text and "old\n" not in text
    assert not memory.notes.brief().changed


@pytest.mark.parametrize(
    "text",
    [
        f"{markdown.END}\n{markdown.BEGIN}\n",
        f"{markdown.BEGIN}\nno end",
        f"{markdown.BEGIN}\n{markdown.BEGIN}\n{markdown.END}",
    ],
)
def test_markers_that_do_not_pair_up_are_refused(memory: Memory, text: str) -> None:
    memory.home.memory.write_text(text)
    with pytest.raises(markdown.BrokenBlock, match="do not pair up"):
        memory.notes.brief()
    assert memory.home.memory.read_text() == text


def test_the_memory_file_may_live_elsewhere(memory: Memory) -> None:
    from pathlib import Path

    elsewhere = Path.home() / "workspace" / "MEMORY.md"
    elsewhere.parent.mkdir()
    elsewhere.write_text("# Hello\n")
    memory.home.config.write_text('[briefing]\nmemory_file = "~/workspace/MEMORY.md"\n')
    memory.remember("Deploy to lagoon", type_="task")
    assert memory.notes.brief().path == elsewhere
    assert elsewhere.read_text().startswith("# Hello\n\n" + markdown.BEGIN)


def test_a_folder_elsewhere_that_is_not_there_is_said_and_not_made(memory: Memory) -> None:
    folder = memory.home.root.parent / "gone"
    memory.home.config.write_text(f'[briefing]\nmemory_file = "{folder}/MEMORY.md"\n')
    memory.remember("Deploy to lagoon", type_="task")
    done = memory.notes.brief()
    assert done.missing and not done.changed and any("lagoon" in line for line in done.lines)
    home = ("--home", str(memory.home.root))
    said = call("notes", "brief", *home).err
    assert b"the folder is not there ([briefing] memory_file)" in said
    assert f"there is no folder {folder}" in call("jobs", "run", "briefing", *home).text
    assert not folder.exists()


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("Max two retries for webhooks", "Five retries for webhooks", True),
        ("Synchronous retries for webhooks", "Queue based retries for webhooks", True),
        ("The launch is on 14 November", "The launch is on 21 November", True),
        ("We use Redis for the job queue", "We do not use Redis for the job queue", True),
        ("Petra works Tuesdays", "The berth has 10 A", False),
        ("Prices are 189 euros on weekdays", "The berth is fused at 10 A", False),
        ("Five retries for webhooks", "Five retries for webhooks", False),
        ("Postgres holds the bookings", "Postgres holds the bookings and the jobs", False),
    ],
)
def test_contradictions(old: str, new: str, found: bool) -> None:
    pair = [said(30, old, subject="x"), said(1, new, subject="x")]
    assert bool(contradictions(pair, NOW - timedelta(days=14))) is found
    pair[1] = pair[1].with_(subject="y")
    assert not contradictions(pair, NOW - timedelta(days=14))


def test_two_halves_of_a_correction_are_no_contradiction() -> None:
    old = said(9, "The first issue goes out on 4 January", subject="paper")
    for new in (
        said(1, "It goes out on 11 January", detail=f"Was: {old.content}", subject="paper"),
        said(1, f"{old.content} No, on the 11th.", subject="paper"),
        said(1, "The first issue goes out on 11 January, not 4 January", subject="paper"),
    ):
        assert contradictions([old, new], NOW - timedelta(days=14)) == []


def test_a_dismissed_contradiction_stays_dismissed(memory: Memory) -> None:
    memory.remember("The launch is on 21 November", subject="shop")
    memory.remember("The launch is on 28 November", subject="shop")
    memory.remember("The shop closes at 6", subject="shop")
    memory.remember("The shop closes at 8", subject="shop")
    assert len(memory.notes.conflicts()) == 2
    told = run_json("--home", str(memory.home.root), "notes", "review")["contradictions"]
    assert [pair["newer"]["content"] for pair in told] == [
        new.content for _, new in memory.notes.conflicts()
    ]
    with pytest.raises(NotFound, match="No contradiction '3'"):
        memory.notes.dismiss("3")
    [(old, new)] = memory.notes.dismiss("1")
    assert (old, new) not in memory.notes.conflicts()
    assert len(memory.notes.conflicts()) == 1
    memory.notes.dismiss()
    assert memory.notes.conflicts() == []
    assert "may conflict" not in memory.home.memory.read_text()
    memory.remember("The launch is on 30 November", subject="shop")
    assert memory.notes.conflicts()  # another pair


def test_at_most_three_contradictions() -> None:
    entries = [said(30 + n, f"Max {n} retries for webhooks", subject="x") for n in range(2, 9)]
    text = lines(*entries, said(1, "Ninety retries or 90 for webhooks", subject="x"))
    assert len(section(text, "Contradictions")) == 3


def test_a_handoff_that_names_a_finished_task_does_not_read_as_one_to_do() -> None:
    task = said(3, "Deploy to lagoon", "task", status="open", subject="tidepool")
    handoff = said(2.9, "Deploy to lagoon", "handoff", subject="tidepool")
    assert section(lines(task, handoff), "Active") == ["- tidepool — Deploy to lagoon"]
    done = said(1, "Deploy to lagoon", "task", status="done", replaces=(task.id,))
    assert section(lines(task, handoff, done), "Active") == ["- tidepool — Done: Deploy to lagoon"]


def test_what_is_pinned_stays_and_what_was_noted_is_told(memory: Memory) -> None:
    text = lines(
        said(400, "Never commit for her", pinned=True),
        said(2, "Ylva has the key", session="manual"),
        said(30, "An old note", session="manual"),
    )
    assert section(text, "Active") == [
        "- pinned — Never commit for her",
        "- Ylva has the key",
    ]


def test_a_log_without_anything_recent_does_not_claim_to_be_empty() -> None:
    assert lines(said(90, "Long ago")) == ["Nothing recent, and nothing open."]


def test_a_linked_memory_file_stays_a_link_and_keeps_its_mode(memory: Memory) -> None:
    from pathlib import Path

    real = Path.home() / "MEMORY.md"
    real.write_text("# Mine\n")
    real.chmod(0o644)
    memory.home.memory.unlink()
    memory.home.memory.symlink_to(real)
    memory.remember("Deploy to lagoon", type_="task")
    memory.notes.brief()
    assert memory.home.memory.is_symlink()
    assert "- Deploy to lagoon" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o644


def test_a_read_only_memory_file_is_refused_and_catch_up_goes_on(memory: Memory) -> None:
    memory.home.memory.chmod(0o400)
    memory.remember("Deploy to lagoon", type_="task")
    with pytest.raises(WakebookError, match="read-only"):
        memory.notes.brief()
    assert memory.catch_up().failed == {}


def test_markers_in_a_code_fence_are_an_example() -> None:
    example = f"```\n{markdown.BEGIN}\n{markdown.END}\n```\n"
    text = markdown.put(example, "briefing", ["new"])
    assert text.startswith(example)
    block = markdown.block(text, "briefing")
    assert block and block.lines == ("new",)


@pytest.mark.parametrize(
    "example",
    [
        f"````md\n```\n{markdown.BEGIN}\nkeep me\n{markdown.END}\n```\n````\n",
        f"~~~\n```\n{markdown.BEGIN}\nkeep me\n{markdown.END}\n~~~\n",
        f"    {markdown.BEGIN}\n    keep me\n    {markdown.END}\n",
    ],
)
def test_markers_in_nested_fences_and_indented_code_are_examples_too(example: str) -> None:
    assert markdown.put(example, "briefing", ["new"]).startswith(example)
