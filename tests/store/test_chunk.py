"""Chunks: how notes, transcripts and entries are cut."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.making import entry, fresh, transcript
from wakebook.base import markdown
from wakebook.base.text import tokens
from wakebook.capture import archive
from wakebook.store import chunk
from wakebook.store.chunk import OVERLAP, TOKENS, Chunk

MODIFIED = 1_700_000_000


def cut(text: str, path: str = "topics/boats.md") -> list[Chunk]:
    return list(chunk.of_note(path, text, MODIFIED))


def test_a_note_is_cut_at_its_headings() -> None:
    found = cut("intro\n\n# Boats\n\nall of them\n\n## Red\n\nfast\n\n# Cars\n\nslow\n")
    assert [item.text for item in found] == ["intro", "all of them", "fast", "slow"]
    assert [item.title for item in found] == [
        "boats",
        "boats › Boats",
        "boats › Boats › Red",
        "boats › Cars",
    ]


def test_lines_are_those_of_the_file() -> None:
    text = "---\ntitle: Fleet\nupdated: 2026-01-02\n---\n# A\n\none\ntwo\n\n# B\nthree\n"
    first, second = cut(text)
    lines = text.split("\n")
    assert lines[first.line - 1 : first.last_line][:4] == ["# A", "", "one", "two"]
    assert "three" in lines[second.line - 1 : second.last_line]
    assert first.title == "Fleet › A"
    assert first.at == int(datetime(2026, 1, 2, tzinfo=UTC).timestamp())


def test_headings_in_code_are_code() -> None:
    [found] = cut("# Run\n\n```sh\n# not a heading\nmake\n```\nafter\n")
    assert "# not a heading" in found.text and "after" in found.text


def test_managed_blocks_are_left_out() -> None:
    block = f"{markdown.BEGIN}\n## Active\n- a zebra\n{markdown.END}\n"
    own = "<!-- wakebook:begin tasks -->\n- a lion\n<!-- wakebook:end tasks -->\n"
    found = cut(f"# Mine\n\nbefore\n{block}after\n{own}\n# More\n\nlast\n")
    text = "\n".join(item.text for item in found)
    assert "before" in text and "after" in text and "last" in text
    assert "zebra" not in text and "lion" not in text and "GENERATED" not in text
    assert not any("Active" in item.title for item in found)


def test_a_marker_without_its_end_hides_nothing() -> None:
    found = cut(f"{markdown.BEGIN}\nmy own words\n")
    assert "my own words" in found[0].text


KINDS = ["lines", "one line", "long lines", "no spaces", "cjk", "cjk lines", "paragraphs"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_section_is_cut_into_pieces_that_overlap(kind: str) -> None:
    text = {
        "lines": "\n".join(f"line {number} about the boat" for number in range(600)),
        "one line": " ".join(f"word{number}" for number in range(2500)),
        "long lines": "\n".join(
            " ".join(f"w{line}x{number}" for number in range(300)) for line in range(6)
        ),
        "no spaces": "".join(f"x{number}" for number in range(2500)),
        "cjk": "".join(f"数据库{number}保存" for number in range(700)),
        "cjk lines": "\n".join(
            "".join(f"数据库{line}号{number}保存" for number in range(30)) for line in range(30)
        ),
        "paragraphs": "\n\n".join("word " * 90 + f"end{number}." for number in range(20)),
    }[kind]
    found = cut(f"# Long\n\n{text}\n")
    assert len(found) > 3
    sizes = [tokens(item.text) for item in found]
    assert max(sizes) <= TOKENS * 1.02
    assert min(sizes[:-1]) >= TOKENS / 2
    for one, other in pairwise(found if kind != "paragraphs" else []):
        sizes = [n for n in range(1, 1200) if other.text.startswith(one.text[-n:])]
        assert sizes and OVERLAP / 4 <= tokens(one.text[-max(sizes) :]) <= OVERLAP * 1.1
    for part in text.split()[:: max(1, len(text.split()) // 50)]:
        assert any(part[:20] in item.text for item in found)
    assert all(item.title == "boats › Long" for item in found)


def test_a_section_of_400_tokens_stays_whole() -> None:
    [found] = cut("# Short\n\n" + "word " * 380)
    assert found.text.count("word") == 380


def test_entries_and_turns_are_one_chunk_each(tmp_path: Path) -> None:
    long = "word " * 3000
    made = chunk.of_entry(entry(1, "short", detail=long, type="task", subject="boat"))
    assert (made.text, made.detail, made.status) == ("short", long, "open")
    assert chunk.of_entry(entry(2, "why?", type="question")).status == "open"
    memory = fresh(tmp_path / "home")
    path = transcript(memory, "s1", [("user", long), ("agent", "> [tool:Bash] make → ok\n\nDone.")])
    first, second = chunk.of_transcript(archive.read(memory.home, path))
    assert first.text == long.strip() or first.text == long
    assert (first.place, first.speaker, first.session, first.host) == (
        1,
        "user",
        "s1",
        "claude-code",
    )
    assert (second.text, second.detail) == ("Done.", "> [tool:Bash] make → ok")


def test_names_of_speakers_in_a_group(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home")
    turns = [
        ("user", "Mira: hi"),
        ("user", "Jonas: hello"),
        ("user", "Mira: so"),
        ("user", "Jonas: ok"),
    ]
    path = transcript(memory, "s1", turns)
    found = list(chunk.of_transcript(archive.read(memory.home, path)))
    assert [item.speaker for item in found] == ["Mira", "Jonas", "Mira", "Jonas"]


@pytest.mark.parametrize(
    ("path", "category", "archived"),
    [
        ("knowledge/identity/SOUL.md", "identity", False),
        ("knowledge/memory/MEMORY.md", "memory", False),
        ("knowledge/journal/2026-01-02.md", "journal", False),
        ("knowledge/projects/tidepool/notes.md", "project", False),
        ("knowledge/people/mira.md", "person", False),
        ("knowledge/procedures/deploy.md", "procedure", False),
        ("knowledge/reference/x.md", "reference", False),
        ("topics/release-day.md", "topic", False),
        ("raw/conversations/2026/01/02/x.md", "conversation", False),
        ("archive/topics/old.md", "topic", True),
        ("archive/knowledge/projects/tidepool/x.md", "project", True),
        ("archive/projects/tidepool/x.md", "project", True),
        ("archive/whatever.md", "reference", True),
    ],
)
def test_categories(path: str, category: str, archived: bool) -> None:
    assert chunk.category(path) == (category, archived)


def test_subjects_and_dates_of_notes() -> None:
    assert cut("x", "knowledge/projects/tidepool/notes.md")[0].subject == "tidepool"
    assert cut("x", "knowledge/projects/tidepool/deep/notes.md")[0].subject == "tidepool"
    assert cut("x", "knowledge/people/mira.md")[0].subject == "mira"
    assert cut("x", "topics/x.md")[0].subject == ""
    day = int(datetime(2026, 1, 2, tzinfo=UTC).timestamp())
    assert cut("x", "knowledge/journal/2026-01-02.md")[0].at == day
    assert cut("x", "knowledge/journal/2026-99-99.md")[0].at == MODIFIED
    assert cut("---\npinned: true\n---\nx")[0].pinned


def test_nothing_gives_nothing() -> None:
    assert cut("") == cut("\n\n\n") == []


def test_a_heading_with_nothing_below_it_is_found() -> None:
    [found] = cut("# Call the plumber\n")
    assert found.text == "Call the plumber" and found.line == 1
    assert [item.text for item in cut("# A\n\n## B\n\nbody\n\n## C\n")] == ["body", "C"]


_LINE = st.sampled_from(
    ["# A", "## B", "```", "~~~", "text", "", "x" * 1000, "word " * 300, "日" * 900, markdown.BEGIN,
     markdown.END, "---", "####### no", "#nospace", "    # code"]
)  # fmt: skip


@given(st.lists(_LINE, max_size=25))
def test_every_word_outside_of_blocks_is_in_some_chunk(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = cut(text)
    everything = "\n".join(item.text for item in found)
    _, body = markdown.split(text)
    shown = body.split("\n")
    hidden = markdown.generated(shown)
    for number, line in enumerate(shown):
        if number not in hidden and line in ("text", "#nospace"):
            assert line in everything
    assert sum(item.text.count("日") for item in found) >= 900 * sum(
        line.startswith("日") for number, line in enumerate(shown) if number not in hidden
    )
    count = text.count("\n") + 1
    for item in found:
        assert 1 <= item.line <= item.last_line <= count
        assert item.text.strip()


def test_which_words_of_a_chunk_count_how_much() -> None:
    item = Chunk(
        text="zebra zebra stripe",
        category="memory",
        name="entry0000001",
        title="animals",
        detail="zebra hoof",
        subject="old-zoo",
        speaker="Mira",
        at=1_780_000_000,
    )
    counted, length, language = chunk.uses(item)
    assert language == "english"
    assert counted == {
        "zebra": 2.5,  # twice in the text, once in the detail
        "stripe": 1.0,
        "hoof": 0.5,
        "anim": 0.5,  # the title
        "old": 1.5,  # the subject
        "zoo": 1.5,
        "mira": 1.0,  # who said it, and when
        "28": 1.0,
        "may": 1.0,
        "2026": 1.0,
    }
    assert length == 9  # the detail and the title make a chunk no longer
