"""What the items of a note are."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wakebook.base import clock
from wakebook.imports import markdown
from wakebook.imports.export import Bad, Memo, Passed, Thread
from wakebook.imports.markdown import items


def found(text: str) -> list[tuple[str, str]]:
    return [(" / ".join(one.headings), one.text) for one in items(text)[0]]


def test_bullets_paragraphs_and_what_they_stand_under() -> None:
    text = """\
Tidepool shows tide tables.
It has 300 users.

# Memory #

## Decisions
- Everything is UTC
  - also in the API

  and in the logs
- Postgres
not MySQL
1. First
2) Second

## **Open** questions
* Which `map` tiles?
"""
    assert found(text) == [
        ("", "Tidepool shows tide tables.\nIt has 300 users."),
        ("Memory / Decisions", "- Everything is UTC\n  - also in the API\n\n  and in the logs"),
        ("Memory / Decisions", "- Postgres\nnot MySQL"),
        ("Memory / Decisions", "1. First"),
        ("Memory / Decisions", "2) Second"),
        ("Memory / Open questions", "* Which `map` tiles?"),
    ]


def test_underlined_headings_rules_and_quotes() -> None:
    text = (
        "Title\n=====\none\n\nPart\n----\ntwo\n\n---\n\n> three\n> lines\n\n***\n[ref]: http://x\n"
    )
    assert found(text) == [
        ("Title", "one"),
        ("Title / Part", "two"),
        ("Title / Part", "three\nlines"),
    ]


def test_a_line_with_a_colon_is_the_heading_of_the_list_below_it() -> None:
    text = "Ana likes:\n\n- tea\n- rain\n\nPlain words.\n- [x] done\nNext:\n- more\n"
    assert found(text) == [
        ("Ana likes", "- tea"),
        ("Ana likes", "- rain"),
        ("", "Plain words."),
        ("", "- [x] done"),
        ("Next", "- more"),
    ]


def test_code_belongs_to_what_stands_before_it() -> None:
    text = "# Deploy\nRun this:\n\n```sh\n# no heading\n- no bullet\n```\n\n"
    text += "# Alone\n~~~\nx\n~~~\n- a\n  ```\n  y\n  ```\n- b\n"
    assert found(text) == [
        ("Deploy", "Run this:\n\n```sh\n# no heading\n- no bullet\n```"),
        ("Alone", "~~~\nx\n~~~"),
        ("Alone", "- a\n  ```\n  y\n  ```"),
        ("Alone", "- b"),
    ]


def test_rows_of_a_table() -> None:
    text = "# Team\n| Who | What |\n|:--|---|\n| Ana | design |\n| Jonas | |\n\nAfter.\n"
    assert found(text) == [
        ("Team", "Who: Ana; What: design"),
        ("Team", "Who: Jonas"),
        ("Team", "After."),
    ]


def test_what_programs_write_is_no_item() -> None:
    text = """\
- mine
<!-- BEGIN GENERATED BRIEFING -->
- not mine
<!-- END GENERATED BRIEFING -->
<!-- wakebook:begin notes -->
- nor this
<!-- wakebook:end notes -->
## Light Sleep
<!-- openclaw:dreaming:light:start -->
- Candidate: a dream
<!-- openclaw:dreaming:light:end -->
## Kept <!-- a note to self -->
<!-- over
two lines --> - still mine
<!-- openclaw:open:start -->
- mine, too
"""
    assert found(text) == [
        ("", "- mine"),
        ("Kept", "- still mine"),
        ("Kept", "- mine, too"),
    ]
    assert items(text)[1] == {"generated": 1}


def test_empty_fields_and_pictures_are_no_items() -> None:
    text = "- **Name:** Mira\n- **Pronouns:** _(optional)_\n- **Timezone:**\n- [ ]\n\n"
    text += "![x](y.png)\n\n_Learn about them._\n\nA ![b](c) d\n"
    names = [one for _, one in found(text)]
    assert names == ["- **Name:** Mira", "- **Pronouns:** _(optional)_", "A [image] d"]
    assert items(text)[1]["hint"] == 1


def test_an_item_is_told_and_read_again() -> None:
    for item in (Memo((), "- one\n  two"), Memo(("A", "B c"), "```\n# x\n```")):
        assert Memo.parse(item.told()) == item


def test_hostile_notes_take_no_time() -> None:
    """Each of these would take hours if a pattern went over it again and again."""
    for piece in (
        "<!--",
        "<!-- a:start -->\n",
        "# a" + " " * 50,
        "[",
        "| ",
        "**a ",
        "  - x\n",
        "> ",
    ):
        text = piece * (60_000 // len(piece))
        assert len(items(text)[0]) < 60_001


# --- files -------------------------------------------------------------------------------


def write(path: Path, text: str, at: str = "2026-05-05T05:00:00Z") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    moment = clock.parse(at)
    assert moment
    os.utime(path, (moment.timestamp(), moment.timestamp()))
    return path


def note(path: Path, root: Path | None = None) -> Thread:
    part = markdown.note(path, root or path)
    assert isinstance(part, Thread), part
    return part


def test_when_an_item_was_written(tmp_path: Path) -> None:
    def times(path: Path) -> list[str]:
        return [clock.iso(line.at) for line in note(path).pieces if line.at]

    text = "- plain\n- 2026-01-02: said\n## 2026-01-03 Standup\n- below\n- 2026-02-31 is no day\n"
    assert times(write(tmp_path / "a.md", text)) == [
        "2026-05-05T05:00:00Z",
        "2026-01-02T12:00:00Z",
        "2026-01-03T12:00:00Z",
        "2026-01-03T12:00:00Z",
    ]
    assert times(write(tmp_path / "2026-02-16-planning.md", "- x")) == ["2026-02-16T12:00:00Z"]
    assert times(write(tmp_path / "2026" / "02" / "17.md", "- x")) == ["2026-02-17T12:00:00Z"]
    assert times(write(tmp_path / "b.md", "---\ndate: 2026-02-18\n---\n- x")) == [
        "2026-02-18T12:00:00Z"
    ]
    assert times(write(tmp_path / "c.md", "---\ncreated: 2026-02-18T09:30:00Z\n---\n- x")) == [
        "2026-02-18T09:30:00Z"
    ]


def test_what_a_note_is_about(tmp_path: Path) -> None:
    write(tmp_path / "projects" / "tide-pool" / "log.md", "- x")
    write(tmp_path / "people" / "ana.md", "# Ana\n- y")
    write(tmp_path / "a.md", "---\nproject: Tide Pool\n---\n- z")
    texts = {
        one.name: [piece.text for piece in one.pieces]
        for one in markdown.read(tmp_path).parts
        if isinstance(one, Thread)
    }
    assert texts == {
        "a.md": ["# Project: Tide Pool\n\n- z"],
        "people/ana.md": ["# Person: ana › Ana\n\n- y"],
        "projects/tide-pool/log.md": ["# Project: tide pool\n\n- x"],
    }


def test_files_that_are_no_notes(tmp_path: Path) -> None:
    write(tmp_path / ".obsidian" / "x.md", "- hidden")
    write(tmp_path / "node_modules" / "README.md", "- not ours")
    write(tmp_path / "t.md", "---\nformat: 1\nsession_id: abc\n---\n# T\n")
    (tmp_path / "b.md").write_bytes(b"\x00\x01\x02")
    (tmp_path / "u.md").write_bytes("- Größe".encode("utf-16"))
    parts = list(markdown.read(tmp_path).parts)
    assert [type(part) for part in parts] == [Bad, Passed, Thread]
    assert isinstance(parts[2], Thread) and parts[2].pieces[0].text == "- Größe"


def test_the_same_file_has_the_same_id_whatever_it_is_reached_by(tmp_path: Path) -> None:
    path = write(tmp_path / "notes" / "a.md", "- x")
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    assert note(path).id == note(tmp_path / "link" / "a.md").id
    assert note(path).id != note(write(tmp_path / "other" / "a.md", "- x")).id


# --- OpenClaw ----------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    promoted = "<!-- openclaw-memory-promotion:memory:x -->\n- Uses UTC [score=0.8 recalls=3]\n"
    write(top / "MEMORY.md", f"# Memory\n- Lives in Porto\n\n## Promoted\n{promoted}")
    write(top / "USER.md", "# USER.md\n\n_Learn about them._\n\n- **Name:** Mira\n- **Notes:**\n")
    write(top / "SOUL.md", "Be kind.")
    write(top / "todo.md", "- not a memory")
    write(top / "memory" / "2026-02-16.md", "# 2026-02-16\n\n## Decisions\n- UTC everywhere\n")
    session = (
        "# Session: 2026-02-17 12:26:45 UTC\n\n- **Session Key**: agent:main:main\n\nuser: hi\n"
    )
    write(top / "memory" / "2026-02-17-greeting.md", session)
    write(top / "memory" / "DREAMS.md", "- a dream")
    write(top / "memory" / ".dreams" / "x.md", "- a dream")
    return top


def test_a_workspace_of_openclaw(workspace: Path) -> None:
    parts = list(markdown.read_workspace(workspace).parts)
    told = {
        one.name: [piece.text for piece in one.pieces] for one in parts if isinstance(one, Thread)
    }
    assert told == {
        "MEMORY.md": ["# Memory\n\n- Lives in Porto", "# Memory › Promoted\n\n- Uses UTC"],
        "USER.md": ["# USER.md\n\n- **Name:** Mira"],
        "memory/2026-02-16.md": ["# 2026-02-16 › Decisions\n\n- UTC everywhere"],
    }
    passed = {one.name: one.why for one in parts if isinstance(one, Passed)}
    assert set(passed) == {"SOUL.md", "memory/2026-02-17-greeting.md", "memory/DREAMS.md"}
    assert "catch-up" in passed["memory/2026-02-17-greeting.md"]


def test_the_memory_folder_alone_gives_the_same_sessions(workspace: Path) -> None:
    def ids(path: Path) -> dict[str, datetime | None]:
        parts = markdown.read_workspace(path).parts
        return {one.id: one.pieces[0].at for one in parts if isinstance(one, Thread)}

    whole, folder = ids(workspace), ids(workspace / "memory")
    assert list(folder.values()) == [datetime(2026, 2, 16, 12, tzinfo=UTC)]
    assert folder.items() <= whole.items() and len(whole) == 3
