from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.history.test_git import git
from tests.upkeep.erasing import CODE, SAID, everywhere, holding, lived
from wakebook import Memory
from wakebook.base.errors import WakebookError


def contents(memory: Memory) -> list[str]:
    return [one.content for one in memory.log.chains().entries]


def test_nothing_is_left_of_an_erased_text(memory: Memory, tmp_path: Path) -> None:
    root = memory.home.root
    chat = lived(memory, tmp_path)
    assert len(holding(root, CODE)) > 30
    kept = {one for one in contents(memory) if CODE not in one}
    before = dict(everywhere(root))
    planned = memory.eraser.plan(CODE)
    assert dict(everywhere(root)) == before  # a plan changes nothing
    assert len(planned.entries) == 2 and len(planned.shorter) == 1
    assert "refs/tags/told" in planned.names and "refs/heads/side" in planned.names
    assert any(str(chat) in one for one in planned.remains)
    done = memory.eraser.erase(CODE)
    assert done.well and done.entries == 2 and done.commits == planned.commits > 3
    assert holding(root, CODE) == []
    assert kept <= set(contents(Memory(root)))
    assert git(root, "fsck", "--full", "--strict") == ""
    assert git(root, "status", "--short") == ""
    assert not [one for one in Memory(root).search("locker code").hits if CODE in one.snippet]
    assert CODE not in Memory(root).wake()


def test_what_is_redacted_leaves_everything_else_as_it_was(memory: Memory, tmp_path: Path) -> None:
    root = memory.home.root
    lived(memory, tmp_path)
    facts = ("log", "--all", "--topo-order", "--format=%an %ae %at %cn %ce %ct")
    told, before = git(root, *facts).split("\n"), dict(everywhere(root))
    held = set(holding(root, CODE))
    done = memory.eraser.erase(strings=[CODE, CODE.upper()], placeholder="[redacted]")
    assert done.well and done.entries == 0
    assert holding(root, CODE) == []
    assert "My locker code at the Harbour gym is [redacted]." in contents(Memory(root))
    assert git(root, *facts).split("\n")[-len(told) :] == told  # who and when
    after = dict(everywhere(root))
    blobs = {name: data for name, data in before.items() if name.startswith("git blob")}
    assert {name for name in blobs if name not in held} <= after.keys()
    new = [data for name, data in after.items() if name.startswith("git blob")]
    for name in held & blobs.keys():
        if b"wakebook:sum" not in blobs[name] and b"\0" not in blobs[name]:  # which say a digest
            assert _redacted(blobs[name]) in new, name


def _redacted(data: bytes) -> bytes:
    for text in (CODE, CODE.upper()):
        data = data.replace(text.encode(), b"[redacted]")
    slug = b"locker-code-harbour-gym-"
    return data.replace(slug + b"4711-quokka", slug + b"redacted-by")


def test_too_short_a_text_is_refused(memory: Memory) -> None:
    with pytest.raises(WakebookError, match="too short"):
        memory.eraser.erase("abc")


def test_the_host_s_own_file_does_not_bring_it_back(memory: Memory, tmp_path: Path) -> None:
    root = memory.home.root
    chat = lived(memory, tmp_path)
    memory.eraser.erase(SAID)
    memory.home.state.unlink()
    for path in memory.home.conversations.rglob("*.md"):
        path.chmod(0o600)
        path.unlink()
    Memory(root).catch_up([chat], closing=True)
    assert SAID in chat.read_text()
    assert holding(root, SAID) == []
    assert any("Postgres for the bookings" in one for one in contents(Memory(root)))


def test_older_receipts_are_sealed_in_history_too(memory: Memory) -> None:
    root = memory.home.root
    receipt = {"id": "aaaaaaaaaaaa", "at": "2026-11-01T00:00:00Z", "type": "fact"}
    term = "0badc0ffee00"
    path = root / "forgotten.jsonl"
    path.write_text(json.dumps(receipt | {"salt": "00ff", "terms": [term]}) + "\n")
    memory.remember(f"The code is {CODE}")
    memory.history.commit("as it was")
    memory.eraser.erase(CODE)
    assert holding(root, term) == []
    assert "aaaaaaaaaaaa" in path.read_text()


def test_a_person_of_whom_nothing_else_is_known_goes_with_the_words(
    memory: Memory, tmp_path: Path
) -> None:
    root = memory.home.root
    memory.remember("Postgres runs on port 5433")
    memory.catch_up([_met(tmp_path, "Isolde"), _met(tmp_path, "Orlaith")], closing=True)
    memory.history.commit("met")
    mine = root / "knowledge" / "people" / "orlaith.md"
    mine.write_text(mine.read_text() + "\nShe likes liquorice.\n")
    for name in ("Isolde", "Orlaith"):
        assert (root / f"knowledge/people/{name.lower()}.md").is_file()
        memory.eraser.erase(f"My sister {name} lives in Bodø and mends nets.")
    assert holding(root, "Isolde") == []
    assert "She likes liquorice." in mine.read_text()  # a line of the user's own


@pytest.mark.parametrize("whole", [False, True])
def test_erasing_what_was_forgotten_leaves_no_name(
    memory: Memory, tmp_path: Path, whole: bool
) -> None:
    root = memory.home.root
    memory.remember("Postgres runs on port 5433")
    memory.catch_up([_met(tmp_path, "Isolde")], closing=True)
    memory.history.commit("met")
    [entry] = [
        one
        for one in memory.log.chains().entries
        if "Isolde" in one.content and one.type != "handoff"
    ]
    memory.forget([entry.id])
    memory.history.commit("forgotten")
    assert any("isolde" in one for one in holding(root, "isolde"))
    if whole:
        memory.eraser.erase(session="met-6")
    else:
        memory.eraser.erase("My sister Isolde lives in Bodø and mends nets.")
    assert holding(root, "isolde") == [] and holding(root, "Isolde") == []
    assert git(root, "fsck", "--full", "--strict") == ""


def _met(folder: Path, name: str) -> Path:
    path = folder / f"met-{len(name)}.jsonl"
    said = f"My sister {name} lives in Bodø and mends nets."
    at = "2026-11-05T18:00:00Z"
    path.write_text(json.dumps({"role": "user", "content": said, "timestamp": at}) + "\n")
    return path
