"""What a topic subscribes to comes with it, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recall.topics.making import equip, names, problems, text
from wakebook import Memory


def subscribed(tmp_path: Path, *several: str) -> Memory:
    front = f"activation: auto\nsubscriptions: [{', '.join(several)}]\n"
    memory = equip(tmp_path / "h", {"x": text(front)})
    (memory.home.root / "knowledge").mkdir()
    return memory


def test_what_it_subscribes_to_comes_with_it(tmp_path: Path) -> None:
    memory = subscribed(tmp_path, "knowledge/hosts.md", "knowledge/nowhere.md")
    (memory.home.root / "knowledge" / "hosts.md").write_text("The build machine is lagoon.\n")
    told = memory.context("tag the version and publish the changelog").text
    assert "Tag the version, then" in told
    assert "The build machine is lagoon." in told


def test_a_subscription_does_not_leave_the_home(tmp_path: Path) -> None:
    memory = subscribed(tmp_path, "knowledge/out.md")
    (tmp_path / "out.md").write_text("The neighbour's diary.\n")
    (memory.home.root / "knowledge" / "out.md").symlink_to(tmp_path / "out.md")
    told = memory.context("tag the version and publish the changelog").text
    assert "Tag the version, then" in told
    assert "diary" not in told


def test_a_subscription_that_leads_nowhere(tmp_path: Path) -> None:
    memory = subscribed(tmp_path, "knowledge/loop.md", "knowledge/folder.md", "knowledge/bytes.md")
    (memory.home.root / "knowledge" / "loop.md").symlink_to("loop.md")
    (memory.home.root / "knowledge" / "folder.md").mkdir()
    (memory.home.root / "knowledge" / "bytes.md").write_bytes(b"\xff\xfe\x00 lagoon \x00")
    told = memory.context("tag the version and publish the changelog").text
    assert "Tag the version, then" in told


@pytest.mark.parametrize("name", ['"a\\0b.md"', '"' + "x" * 5000 + '.md"'])
def test_a_subscription_that_is_no_path(tmp_path: Path, name: str) -> None:
    memory = subscribed(tmp_path, name)
    memory.context("tag the version and publish the changelog")
    assert names(memory) == ["x"] or list(problems(memory)) == ["topics/x.md"]
