"""Topic files: every key, every mistake with its line, and changes that are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.recall.topics.making import equip, good, names, problems, text, write
from wakebook.recall.topics.topic import (
    ACTIVATIONS,
    LARGEST,
    PRIORITIES,
    SCOPES,
    TYPES,
    Topic,
    Trigger,
    parse,
)

LISTED = "triggers:\n  - type: {kind}\n    {key}: {value}\n"


# --- what a file can say -----------------------------------------------------------------


def test_what_stands_in_no_file() -> None:
    assert good() == Topic(
        name="x",
        path="topics/x.md",
        title="Release",
        description="",
        triggers=(),
        subscriptions=(),
        activation="gated",
        priority="medium",
        threshold=None,
        max_context_kb=4.0,
        body="Tag the version, then publish the changelog.",
    )


def test_every_key() -> None:
    found = good(
        "description: >\n  What a release\n  takes.\n"
        "triggers:\n"
        "  - type: pattern\n    match: 'v\\d+'\n    scope: both\n    hint: Say which version.\n"
        "  - type: webhook\n    source: ci\n    event: green\n"
        "  - type: cron\n    schedule: 0 8 * * 1\n"
        "subscriptions: [knowledge/procedures/release.md, knowledge/reference/hosts.md]\n"
        "activation: auto\npriority: critical\nsimilarity_threshold: 0.25\nmax_context_kb: 2.5\n"
    )
    assert found == Topic(
        name="x",
        path="topics/x.md",
        title="Release",
        description="What a release takes.",
        triggers=(
            Trigger(type="pattern", match=(r"v\d+",), scope="both", hint="Say which version."),
            Trigger(type="webhook", source="ci", event="green"),
            Trigger(type="cron", schedule="0 8 * * 1"),
        ),
        subscriptions=("knowledge/procedures/release.md", "knowledge/reference/hosts.md"),
        activation="auto",
        priority="critical",
        threshold=0.25,
        max_context_kb=2.5,
        body="Tag the version, then publish the changelog.",
    )


@pytest.mark.parametrize("kind", [one for one in TYPES if one not in ("webhook", "cron")])
def test_every_type_of_trigger(kind: str) -> None:
    value = {"language": "de", "code": "python"}.get(kind, "abc")
    (one,) = good(LISTED.format(kind=kind, key="match", value=value)).triggers
    assert (one.type, one.match, one.scope) == (kind, (value,), "input")


@pytest.mark.parametrize(
    ("key", "known"), [("activation", ACTIVATIONS), ("priority", PRIORITIES)], ids=str
)
def test_enumerations(key: str, known: tuple[str, ...]) -> None:
    assert [getattr(good(f"{key}: {value}\n"), key) for value in known] == list(known)
    assert [one.rank for one in (good(f"priority: {value}\n") for value in PRIORITIES)] == [
        0,
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("scope", SCOPES)
def test_scopes(scope: str) -> None:
    (one,) = good(f"triggers:\n  - type: urgency\n    scope: {scope}\n").triggers
    assert one.scope == scope
    assert (one.sees("input"), one.sees("output")) == (scope != "output", scope != "input")


@pytest.mark.parametrize("value", ["deploy", "[deploy]", "\n      - deploy"])
def test_one_text_is_a_list_of_one(value: str) -> None:
    (one,) = good(LISTED.format(kind="keyword", key="match", value=value)).triggers
    assert one.match == ("deploy",)


def test_the_seed_calls_a_hint_a_correction_hint() -> None:
    (one,) = good(LISTED.format(kind="urgency", key="correction_hint", value="Slow down.")).triggers
    assert one.hint == "Slow down."


def test_keys_of_others_are_left_alone() -> None:
    assert good("tags: [a]\ncreated: 2026-11-01\nowner: Mira\n1: 2\n").priority == "medium"


@pytest.mark.parametrize(
    ("front", "body", "about"),
    [
        ("description: Ships it.\n", "# R\n\nTag it.\n", "Ships it."),
        ("", "# R\n\n## How\n\nTag it.\nThen wait.\n", "Tag it."),
        ("subscriptions: a.md\n", "# Release day\n", "Release day"),
        ("subscriptions: a.md\n", "", "x"),
    ],
)
def test_what_a_topic_is_about(front: str, body: str, about: str) -> None:
    assert good(front, body).about == about


def test_a_body_without_a_title_is_all_body() -> None:
    found = good(body="\n\n## Steps\n\n1. Tag it.\n")
    assert (found.title, found.body) == ("", "## Steps\n\n1. Tag it.")


@pytest.mark.parametrize(
    ("trigger", "label"),
    [
        (Trigger(type="keyword", match=("a", "b")), "keyword a, b"),
        (Trigger(type="urgency"), "urgency"),
        (Trigger(type="cron", schedule="0 8 * * *"), "cron 0 8 * * *"),
        (Trigger(type="webhook", source="ci", event="red"), "webhook ci:red"),
        (Trigger(type="webhook", source="ci"), "webhook ci"),
    ],
)
def test_labels(trigger: Trigger, label: str) -> None:
    assert trigger.label == label


# --- files -------------------------------------------------------------------------------


def test_one_bad_file_takes_nothing_with_it(tmp_path: Path) -> None:
    memory = equip(
        tmp_path / "h", {"good": text("activation: auto\n"), "wrong": text("priority: 1\n")}
    )
    folder = memory.home.root / "topics"
    (folder / "latin.md").write_bytes(text("description: caf\u00e9\n").encode("latin-1"))
    (folder / "large.md").write_text(text(body="x" * LARGEST))
    (folder / "folder.md").mkdir()
    (folder / "readme.txt").write_text("not ours")
    assert names(memory) == ["good"]
    assert problems(memory) == {
        "topics/wrong.md": (3, problems(memory)["topics/wrong.md"][1]),
        "topics/latin.md": (1, "not UTF-8. Save it as UTF-8."),
        "topics/large.md": (1, "larger than 256 KB. Shorten it."),
    }
    context = memory.context("tag the version and publish the changelog")
    assert "Tag the version, then publish the changelog." in context.text
    left_out = [note for note in context.notes if note.startswith("topics/")]
    assert len(left_out) == 3
    assert any(note.startswith("topics/wrong.md:3: ") for note in left_out)


def test_a_file_as_large_as_may_be(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text(body="x" * (LARGEST - len(text(body=""))))})
    assert names(memory) == ["x"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_what_cannot_be_read(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text(), "y": text()})
    (memory.home.root / "topics" / "x.md").chmod(0)
    assert names(memory) == ["y"]
    assert problems(memory)["topics/x.md"] == (1, "cannot be read: Permission denied.")


def test_a_home_without_topics(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {})
    (memory.home.root / "topics").rmdir()
    assert (memory.topics.read().topics, memory.topics.read().bad) == ((), ())
    assert memory.topics.test("tag the version") == []
    assert memory.context("tag the version").decisions == ()


# read, or reported; not passed over
def test_a_symlink_is_not_passed_over(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text()})
    elsewhere = tmp_path / "mine.md"
    elsewhere.write_text(text())
    (memory.home.root / "topics" / "linked.md").symlink_to(elsewhere)
    (memory.home.root / "topics" / "dangling.md").symlink_to(tmp_path / "nowhere")
    (memory.home.root / "topics" / "loop.md").symlink_to("loop.md")
    assert "x" in names(memory)
    assert "linked" in names(memory) or "topics/linked.md" in problems(memory)
    assert "topics/dangling.md" in problems(memory)
    assert "topics/loop.md" in problems(memory)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text("activation: auto\n")})
    (memory.home.root / "topics" / os.fsdecode(b"\xff.md")).write_text(text())
    assert "x" in names(memory)
    assert "Tag the version" in memory.context("tag the version and publish the changelog").text


def test_folders(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"b": text(), "a/c": text(), "a/b/d": text()})
    write(memory.home.root, "_draft", text())
    write(memory.home.root, ".hidden", text())
    write(memory.home.root, "_drafts/e", text())
    write(memory.home.root, "a/b/f", text("priority: 1\n"))
    assert names(memory) == ["a/b/d", "a/c", "b"]
    assert list(problems(memory)) == ["topics/a/b/f.md"]
    found = memory.topics.read().get("a/b/d")
    assert found is not None and found.path == "topics/a/b/d.md"
    assert memory.topics.read().get("a/b/f") is None


def test_changes_are_seen(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text(), "y": text()})
    first = memory.topics.read()
    assert memory.topics.read() is first  # nothing has changed
    write(memory.home.root, "x", text("priority: high\n"))
    second = memory.topics.read()
    assert [one.priority for one in second.topics] == ["high", "medium"]
    assert second.topics[1] is first.topics[1]  # and was not read again
    assert second is not first
    write(memory.home.root, "sub/z", text())
    assert names(memory) == ["sub/z", "x", "y"]
    (memory.home.root / "topics" / "x.md").unlink()
    assert names(memory) == ["sub/z", "y"]
    write(memory.home.root, "y", "broken")
    assert (names(memory), list(problems(memory))) == (["sub/z"], ["topics/y.md"])
    write(memory.home.root, "y", text())
    assert (names(memory), problems(memory)) == (["sub/z", "y"], {})


def test_a_change_of_the_same_size_is_seen(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text("priority: low\n")})
    assert memory.topics.read().topics[0].priority == "low"
    path = write(memory.home.root, "x", text("priority: lox\n"))
    os.utime(path, ns=(1, 1))
    assert names(memory) == []


def test_what_is_matched_changes_with_the_files(tmp_path: Path) -> None:
    front = "activation: auto\npriority: critical\ntriggers:\n  - type: keyword\n    match: {}\n"
    memory = equip(tmp_path / "h", {"x": text(front.format("otter"))})

    def told(message: str) -> list[str]:
        return [one.topic.name for one in memory.topics.test(message) if one.decision.activated]

    assert (told("an otter"), told("a badger")) == (["x"], [])
    write(memory.home.root, "x", text(front.format("badger")))
    assert (told("an otter"), told("a badger")) == ([], ["x"])


def test_no_frontmatter_is_nobodys_topic() -> None:
    assert str(parse("topics/a.md", "hello")) == (
        "topics/a.md:1: no frontmatter. A topic begins with --- and `type: topic`."
    )
