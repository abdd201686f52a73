from __future__ import annotations

import json
import subprocess

import pytest

from tests.log.test_log import entry
from wakebook import Memory, Query, WakebookError
from wakebook.base.errors import InvalidEntry, NotFound
from wakebook.log import log


def commits(memory: Memory) -> list[str]:
    command = ["git", "-C", str(memory.home.root), "log", "--format=%s"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_add_list_and_the_format_on_disk(memory: Memory) -> None:
    memory.log.add_subject("Auth Migration")
    memory.log.add_subject("max", "person")
    assert json.loads(memory.home.subjects.read_text()) == {
        "auth-migration": {"display": "Auth Migration", "type": "project"},
        "max": {"display": "Max", "type": "person"},
    }
    assert [item.slug for item, _ in memory.log.subjects()] == ["auth-migration", "max"]
    with pytest.raises(WakebookError, match="exists already"):
        memory.log.add_subject("auth migration")
    with pytest.raises(InvalidEntry, match="gives no slug"):
        memory.log.add_subject("日本")


def test_rename_rewrites_the_log_leaves_an_alias_and_commits_before_and_after(
    memory: Memory,
) -> None:
    memory.log.add_subject("whisper")
    log.append(
        memory.home, [entry('says "subject":"whisper" itself', subject="whisper"), entry("b")]
    )
    untouched = memory.home.log.read_bytes().splitlines()[1]
    assert memory.log.rename_subject("whisper", "whisper-stt") == ("whisper-stt", 1)
    found = memory.log.entries(Query(subjects=("whisper",)))  # the alias still finds it
    assert [item.subject for item in found] == ["whisper-stt"]
    assert found[0].content == 'says "subject":"whisper" itself'
    assert memory.home.log.read_bytes().splitlines()[1] == untouched
    rename = commits(memory).index("maintenance: rename subject whisper to whisper-stt")
    assert commits(memory)[rename + 1] == "maintenance: before whisper becomes whisper-stt"


def test_merge_needs_a_target_and_rename_refuses_one(memory: Memory) -> None:
    memory.log.add_subject("a")
    memory.log.add_subject("b")
    log.append(memory.home, [entry("x", subject="a"), entry("y", subject="b")])
    with pytest.raises(WakebookError, match="subjects merge a b"):
        memory.log.rename_subject("a", "b")
    with pytest.raises(NotFound):
        memory.log.rename_subject("a", "c", merge=True)
    memory.log.rename_subject("a", "b", merge=True)
    assert [(item.slug, item.aliases, count) for item, count in memory.log.subjects()] == [
        ("b", ("a",), 2)
    ]


def test_a_deleted_subject_keeps_its_entries_and_gets_no_new_ones(memory: Memory) -> None:
    memory.remember("one", subject="boat")
    memory.log.delete_subject("boat")
    assert memory.log.subjects() == []
    assert [item.subject for item in memory.log.entries(Query())] == ["boat"]
    with pytest.raises(WakebookError, match="was deleted"):
        memory.remember("two", subject="boat")
    assert memory.log.registry().for_entry("boat") == ""
    assert memory.log.add_subject("boat").slug == "boat"


def test_entries_create_their_subjects_by_themselves(memory: Memory) -> None:
    memory.remember("The staging box is called lagoon", subject="staging-box")
    assert memory.log.registry().subjects["staging-box"].display == "Staging Box"


def test_a_broken_registry_is_named(memory: Memory) -> None:
    memory.home.subjects.write_text("{")
    with pytest.raises(WakebookError, match=r"subjects.json.*git .* checkout"):
        memory.log.subjects()


def test_a_name_that_is_in_use_again_is_nobodys_alias(memory: Memory) -> None:
    for name in ("alpha", "beta", "gamma"):
        memory.log.add_subject(name)
    memory.log.rename_subject("alpha", "beta", merge=True)
    memory.log.rename_subject("gamma", "alpha")
    memory.remember("x", subject="alpha")
    assert [item.subject for item in memory.log.entries(Query(subjects=("alpha",)))] == ["alpha"]
    assert memory.log.entries(Query(subjects=("beta",))) == []


def test_renaming_back_and_merging_into_an_alias(memory: Memory) -> None:
    memory.log.add_subject("one")
    memory.log.add_subject("other")
    memory.remember("x", subject="one")
    memory.log.rename_subject("one", "two")
    memory.log.rename_subject("other", "one", merge=True)  # "one" is an alias of "two" by now
    assert [item.slug for item, _ in memory.log.subjects()] == ["two"]
    memory.log.rename_subject("two", "one")
    assert [item.subject for item in memory.log.entries(Query(subjects=("two",)))] == ["one"]


def test_remember_makes_a_slug_of_a_name(memory: Memory) -> None:
    assert memory.remember("x", subject="Auth Migration").subject == "auth-migration"
