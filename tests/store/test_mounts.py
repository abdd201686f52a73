"""Other homes, read and never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import homes
from tests.journeys.command import run
from wakebook import Memory, WakebookError


@pytest.fixture
def team(tmp_path: Path) -> Memory:
    memory = homes.made(tmp_path / "team")
    memory.remember("Herr Quill is our tax adviser", subject="office")
    memory.remember("Invoices go out on the fifth", type_="decision", subject="office")
    return memory


@pytest.fixture
def mine(tmp_path: Path, team: Memory) -> Memory:
    home = tmp_path / "mine"
    Memory(home).init()
    hosts = "\n".join(f"{name} = []" for name in ("claude_code", "codex", "pi", "openclaw"))
    (home / "config.toml").write_text(f'[mounts]\nhomes = ["../team"]\n[hosts]\n{hosts}\n')
    return Memory(home)


def _files(root: Path) -> dict[str, tuple[int, int]]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


def test_what_another_home_knows_is_found_and_shown(mine: Memory, team: Memory) -> None:
    hits = mine.search("when do invoices go out").hits
    assert "fifth" in hits[0].snippet
    assert str(team.home.root) in hits[0].ref
    assert any("fifth" in text for _, text in mine.get(hits[0].ref).lines)


def test_a_mounted_home_is_only_ever_read(mine: Memory, team: Memory) -> None:
    before = _files(team.home.root)
    mine.search("invoices")
    mine.catch_up()
    mine.notes.update(full=True)
    mine.status()
    assert _files(team.home.root) == before


def test_what_is_learned_there_later_is_found_here(mine: Memory, team: Memory) -> None:
    mine.search("invoices")
    team.remember("The stapler lives in the blue drawer", subject="office")
    fresh = Memory(mine.home.root)
    assert "blue drawer" in fresh.search("where is the stapler").hits[0].snippet


def test_its_log_and_its_conversations_stay_its_own(mine: Memory, team: Memory) -> None:
    for name in ("log.jsonl", "config.toml", ".git/config", "knowledge/memory/MEMORY.md"):
        with pytest.raises(WakebookError, match="no file"):
            mine.get(str(team.home.root / name))
    assert mine.log.chains().by_id == {}


def test_a_link_out_of_a_mounted_home_is_not_followed(
    mine: Memory, team: Memory, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("the crown jewels are in the cellar\n")
    (team.home.root / "knowledge/reference/jewels.md").symlink_to(tmp_path / "secret.md")
    assert not any("cellar" in hit.snippet for hit in mine.search("crown jewels cellar").hits)


def test_a_mount_that_is_not_there_is_told_and_nothing_breaks(mine: Memory) -> None:
    config = mine.home.config
    config.write_text(config.read_text().replace('"../team"', '"../team", "../nobody", "."'))
    done = run("--home", str(mine.home.root), "status", code=1)
    assert "there is no Wakebook home in ../nobody" in done
    assert "is this home itself" in done
    assert Memory(mine.home.root).search("invoices").hits


def test_a_folder_of_notes_is_found_where_it_lies(mine: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "workspace" / "memory"
    text = mine.home.config.read_text().replace(
        '["../team"]', '[]\nnotes = ["../workspace/memory"]'
    )
    mine.home.config.write_text(text)
    fresh = Memory(mine.home.root)
    assert fresh.search("lighthouse keeper").hits == ()
    folder.mkdir(parents=True)  # OpenClaw makes it when it has something to write
    (folder / "2026-11-10.md").write_text("# Tuesday\n\nThe lighthouse keeper is called Orla.\n")
    fresh = Memory(mine.home.root)
    (hit, *_) = fresh.search("who is the lighthouse keeper").hits
    assert "Orla" in hit.snippet and hit.ref.startswith(str(folder))
    assert any("Orla" in line for _, line in fresh.get(hit.ref).lines)
    before = _files(folder)
    (folder / "2026-11-10.md").write_text("# Tuesday\n\nThe lighthouse keeper is called Bram.\n")
    assert "Bram" in Memory(mine.home.root).search("who is the lighthouse keeper").hits[0].snippet
    assert set(_files(folder)) == set(before)
