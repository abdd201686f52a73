"""`doctor --secrets`: a home that was written before the rules knew all of this."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from tests.history.test_git import git
from tests.journeys.command import run, run_json
from tests.upkeep.erasing import holding
from wakebook import Memory
from wakebook.log import log
from wakebook.upkeep import leaks

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR2uLo"
QUOTED = "pä/ss-77-Quagga"
WEAK = "tiger7"
OLD = "glpat-" + "x7Kq2Lm9Zr4Tb8Wd1NvY"


@pytest.fixture
def old(memory: Memory) -> Memory:
    """With secrets in the log, a transcript, a note, the archive, and in git's past alone."""
    root = memory.home.root
    new = memory.remember("The lamp is green.")
    said, detail = f"We use {TOKEN} there.", f'{{"password": {json.dumps(QUOTED)}}}'
    log.append(memory.home, [replace(new, id="oldoldoldold", content=said, detail=detail)])
    talk = root / "raw" / "conversations" / "2025" / "01" / "02" / "0800-x-old.md"
    talk.parent.mkdir(parents=True)
    talk.write_text(f"---\nsession_id: x\n---\n\n## 1. User\n\nThe token: {TOKEN}\n")
    (root / "archive" / "old.md").write_text(f"DB_PASS={WEAK}\nMy {WEAK}s are fed at noon.\n")
    note = root / "knowledge" / "reference" / "ci.md"
    note.write_text(f"The job uses {OLD} for it.\n")
    git(root, "add", "-A", "-f", "archive", "raw", "knowledge", "log.jsonl")
    git(root, "commit", "-q", "--no-verify", "-m", f"keep\n\nwith {OLD}")
    note.write_text("The job has a token of its own.\n")
    (root / ".env").write_text(f"GITHUB_TOKEN={TOKEN}\n")
    memory.history.commit()
    memory.close()
    return Memory(root)


def test_they_are_listed_by_kind_place_and_hint_alone(old: Memory) -> None:
    at = ("--home", str(old.home.root))
    said = run("doctor", *at, "--secrets", code=1)
    for secret in (TOKEN, QUOTED, WEAK, OLD):
        assert secret not in said
    assert "ghp_… (40 characters)" in said and "log.jsonl" in said and "archive/old.md" in said
    assert "cannot be redacted everywhere" in said and "redacts the others." in said
    told = run_json("doctor", *at, "--secrets", code=1)
    past = next(one for one in told["found"] if one["hint"].startswith("glpa"))
    assert all(place.startswith("git: ") for place in past["places"])
    assert any(place.startswith("git: commit") for place in past["places"])
    assert not any(TOKEN in line or WEAK in line for line in json.dumps(told).splitlines())
    assert not any(".env" in one["places"] for one in told["found"])


def test_they_are_redacted_on_request_and_short_ones_stay(old: Memory) -> None:
    root = old.home.root
    at = ("--home", str(root))
    run("doctor", *at, "--secrets", "--fix", "--json", code=2)
    assert holding(root, OLD)
    done = run("doctor", *at, "--secrets", "--fix", "--yes", code=1)  # one is left
    assert "will change" in done and "nothing is left" in done.replace("\n", " ")
    assert holding(root, OLD, "77-Quagga") == []
    assert holding(root, TOKEN) == [".env"]  # where it belongs
    entry = old.log.entry("oldoldoldold")
    assert entry.content == "We use [redacted] there."
    assert f"My {WEAK}s are fed" in (root / "archive" / "old.md").read_text()
    left = Memory(root).eraser.leaks()
    assert [one.common for one in left.found] == [True] and left.strings == ()


def test_a_home_without_any_is_well(memory: Memory) -> None:
    memory.remember("The lamp is green.")
    memory.history.commit()
    at = ("--home", str(memory.home.root))
    assert "No secrets" in run("doctor", *at, "--secrets")
    assert run_json("doctor", *at, "--secrets", "--fix", "--yes")["found"] == []
    run("doctor", *at, "--fix", code=2)


def test_the_hint_names_as_many_as_there_are(memory: Memory) -> None:
    at = ("--home", str(memory.home.root))
    (memory.home.root / "archive" / "old.md").write_text(f"The token: {TOKEN}\n")
    assert "--secrets --fix` redacts it." in run("doctor", *at, "--secrets", code=1)
    (memory.home.root / "archive" / "old.md").write_text(f"The tokens: {TOKEN}, {OLD}\n")
    assert "--secrets --fix` redacts them." in run("doctor", *at, "--secrets", code=1)


@pytest.mark.parametrize(
    ("text", "common"),
    [
        ("tiger7", True),
        ("sunshine", True),
        ("Sunshine", True),
        ("4711471147", True),
        ("hunter2-prod", False),
        ("kXmPqRsTvWzAbD", False),
        ("correcthorsebatterystaple", False),
    ],
)
def test_what_may_be_ordinary_text_is_common(text: str, common: bool) -> None:
    assert leaks.is_common(text) is common
