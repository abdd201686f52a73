"""memory_get: entries, sessions and files, and nothing that is not of the memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests import homes
from tests.lend import entry, known
from tests.service.asking import SECRETS, ask, refused
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.service import tools


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return homes.emptied(tmp_path_factory.getbasetemp() / "tools_get")


@pytest.fixture
def claude(projects: Path) -> Claude:
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def full(tmp_path: Path, memory: Memory, claude: Claude) -> Memory:
    return homes.again(tmp_path, memory, lambda: fill(memory))


def fill(memory: Memory) -> None:
    memory.log.add_subject("auth-migration")
    memory.log.add_subject("kiosk")
    memory.catch_up(closing=True)
    known(
        memory,
        entry(3, "The webhook retries five times", subject="auth-migration"),
        entry(2, "We use RS256 for the webhook tokens", "decision", subject="auth-migration"),
        entry(1, "Rotate the webhook secret", "task", subject="auth-migration"),
        entry(1, "Paint the kiosk's webhook sign", "task", subject="kiosk", status="done"),
        entry(1, "Who owns the webhook relay?", "question", subject="kiosk"),
    )


def by_content(memory: Memory, words: str) -> str:
    (found,) = [one.id for one in memory.log.chains().entries if words in one.content]
    return found


# --- memory_get --------------------------------------------------------------------------


def test_an_entry_comes_with_all_its_fields(full: Memory) -> None:
    identity = by_content(full, "Rotate the webhook")
    data = ask(full, "memory_get", path=identity)
    assert data["entry"]["content"] == "Rotate the webhook secret"
    assert data["entry"]["status"] == "open"
    assert ask(full, "memory_get", path=f"  {identity}\n")["entry"]["id"] == identity
    assert ask(full, "memory_get", path=identity, **{"from": 3, "lines": 1})["entry"]


def test_a_session_comes_as_it_was_said(full: Memory, claude: Claude) -> None:
    data = ask(full, "memory_get", path=f"session:{claude.session}")
    assert "Let's go with Postgres" in data["text"]
    assert "uv it is" in data["text"]
    assert data["from"] == 1
    assert len(data["transcripts"]) == 1
    assert "more" not in data
    whole = data["text"].split("\n")
    part = ask(full, "memory_get", path=f"session:{claude.session}", **{"from": 3, "lines": 2})
    assert part["text"].split("\n") == whole[2:4]
    assert "from = 5" in part["more"]


def test_lines_of_a_file_and_whether_there_are_more(full: Memory) -> None:
    note = full.home.root / "knowledge" / "reference" / "long.md"
    lines = [f"line {number}" for number in range(1, 1_502)]
    note.write_text("\n".join(lines) + "\n")
    path, read, first = "knowledge/reference/long.md", [], 1
    for _ in range(9):
        data = ask(full, "memory_get", path=path, **{"from": first})
        assert data["from"] == first
        read += data["text"].split("\n")
        if "more" not in data:
            break
        first += data["lines"]
        assert f"from = {first}." in data["more"]
    assert read == lines
    assert ask(full, "memory_get", path=f"{path}#1501")["text"] == "line 1501"
    assert "more" not in ask(full, "memory_get", path=f"{path}#3-7")
    assert ask(full, "memory_get", path=f"{path}#3-7")["text"].split("\n") == lines[2:7]
    assert ask(full, "memory_get", path=path, lines=10**9)["lines"] <= 600
    assert "more" in ask(full, "memory_get", path=f"{path}#1-1400")


def test_a_line_without_an_end_is_cut(full: Memory) -> None:
    note = full.home.root / "knowledge" / "reference" / "wide.md"
    note.write_text("x" * 3_000_000 + "\nsecond\n")
    data = ask(full, "memory_get", path="knowledge/reference/wide.md")
    assert len(data["text"]) < 70_000
    assert "from = 2" in data["more"]
    assert ask(full, "memory_get", path="knowledge/reference/wide.md#2")["text"] == "second"


def test_an_empty_file_is_empty(full: Memory) -> None:
    (full.home.root / "knowledge" / "reference" / "none.md").write_text("")
    assert ask(full, "memory_get", path="knowledge/reference/none.md")["text"] == ""


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.md", "knowledge/memory/MEMORY.md"])
def test_memory_md_by_its_name(full: Memory, name: str) -> None:
    assert "# Core Memory" in ask(full, "memory_get", path=name)["text"]
    part = ask(full, "memory_get", path=name, **{"from": 2, "lines": 1})
    assert part["lines"] == 1


@pytest.mark.parametrize("spelled", ["absolute", "~", "../"])
def test_memory_md_may_live_elsewhere(full: Memory, tmp_path: Path, spelled: str) -> None:
    """In OpenClaw's workspace, say. Its neighbours stay private."""
    place = tmp_path / "user" / "workspace" / "MEMORY.md"
    place.parent.mkdir()
    place.write_text("# In the workspace\n\nsecond\n")
    (place.parent / "diary.md").write_text("dear diary")
    chosen = {
        "absolute": str(place),
        "~": "~/workspace/MEMORY.md",
        "../": "../user/workspace/MEMORY.md",
    }[spelled]
    full.home.config.write_text(f"[briefing]\nmemory_file = {json.dumps(chosen)}\n")
    memory = Memory(full.home.root)
    assert "# In the workspace" in ask(memory, "memory_get", path="MEMORY.md")["text"]
    assert ask(memory, "memory_get", path="MEMORY.md#3")["text"] == "second"
    assert "# In the workspace" in ask(memory, "memory_get", path=str(place))["text"]
    for path in (f"{place.parent}/diary.md", f"{place}/../diary.md", f"{place}#/../diary.md#1"):
        assert "dear diary" not in refused(memory, "memory_get", {"path": path})


TRAVERSALS = [
    "../{}", "../../{}", "raw/../{}", "./{}", "{}", "/{}", "//{}", "{}#1", "./{}#1", "raw/./../{}",
    "raw//..//{}", "knowledge/memory/../../{}", "raw/x#/../../{}", "raw/x#1/../../{}#1",
    "MEMORY.md#/../../../{}", "MEMORY.md#/../../../{}#1", "memory.md#1/../../../{}#1-3",
    "a#/../{}", "a#/../{}#1", "log.jsonl#/../{}#1", "log.jsonl/../{}", "%2e%2e/{}",
    "raw/%2e%2e/{}", "..%2f{}", "raw\\..\\{}", "raw/..\u2215{}", "raw/../{}\x00",
    "raw/../{}\x00.md",
    "file://{}", "session:../{}", "session:{}", "~/{}", "$HOME/{}", "topics/../{}#L1-L9", " ./{} ",
]  # fmt: skip


@pytest.mark.parametrize("wanted", TRAVERSALS)
def test_memory_get_keeps_to_the_memory(full: Memory, wanted: str) -> None:
    outside = full.home.root.parent / "outside.md"
    outside.write_text("SECRET outside")
    for name in (*SECRETS, ".cache/service.json", ".git/config", "hosts/pi/wired.json"):
        path = full.home.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or name != "index.db":
            path.write_text('"SECRET inside"' if name != "config.toml" else "# SECRET inside\n")
    full = Memory(full.home.root)
    names = [*SECRETS, ".cache/service.json", ".git/config", "hosts/pi/wired.json", "outside.md"]
    for name in (*names, str(outside), str(full.home.root / "token"), "/etc/passwd"):
        asked = wanted.format(name)
        done = tools.call(full, "memory_get", {"path": asked})
        assert done.failed, asked
        assert "SECRET" not in done.text
        assert "root:" not in done.text


@pytest.mark.parametrize("target", ["token", "config.toml", "../outside.md", "..", ".", ".cache"])
@pytest.mark.parametrize("place", ["raw/link.md", "knowledge/reference/link.md", "topics/link.md"])
def test_a_link_leads_nowhere_else(full: Memory, place: str, target: str) -> None:
    root = full.home.root
    (root / "token").write_text("SECRET")
    (root.parent / "outside.md").write_text("SECRET")
    with (root / "config.toml").open("a") as stream:
        stream.write("# SECRET\n")
    (root / place).symlink_to(os.path.relpath(root / target, (root / place).parent))
    below = f"{place}/token" if target in ("..", ".") else place
    for path in (place, below, f"{place}#1", f"{place}/../../token", f"{place}/outside.md"):
        done = tools.call(full, "memory_get", {"path": path})
        assert done.failed, path
        assert "SECRET" not in done.text
