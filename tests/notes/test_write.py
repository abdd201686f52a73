"""Notes on disk: kept up with the log, whatever people, processes and disks do meanwhile."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.history.test_git import git, subjects
from tests.store.making import lose_derived
from wakebook import Memory
from wakebook.base import markdown
from wakebook.log import log
from wakebook.log import subjects as registries
from wakebook.log.entry import Entry, derived_id
from wakebook.notes import condensed
from wakebook.notes.book import NOTHING
from wakebook.notes.condensed import Condensed, CondensedLine

NOW = datetime(2026, 11, 9, 8, tzinfo=UTC)


def quiet(root: Path, *settings: str) -> Memory:
    """A home without git: most of what is shown here does not need it."""
    memory = homes.made(root)
    memory.home.config.write_text("\n".join(["[git]", "enabled = false", *settings]) + "\n")
    return Memory(root)


@pytest.fixture
def plain(tmp_path: Path) -> Memory:
    return quiet(tmp_path / "plain")


def tell(memory: Memory, *contents: str, at: str = "", **fields: Any) -> list[Entry]:
    """Entries as an extractor adds them, without the notes."""
    base: dict[str, Any] = {"type": "fact", "session": "s1", "subject": "auth"}
    fields = base | fields
    found: list[Entry] = []
    with memory.home.locked():
        count = len(log.read(memory.home).entries)
        for number, content in enumerate(contents, count):
            moment = datetime.fromisoformat(at) if at else NOW - timedelta(hours=1)
            moment = moment + timedelta(seconds=number)
            identity = derived_id("test", str(number), content)
            found.append(Entry(id=identity, timestamp=moment, content=content, **fields))
        log.append(memory.home, found)
        known = registries.load(memory.home)
        registries.save(memory.home, known.ensure([fields["subject"]]))
    return found


def note(memory: Memory, path: str) -> Path:
    return memory.home.root / "knowledge" / path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text, text
    path.write_bytes(text.replace(old, new, 1).encode())


def tree(memory: Memory) -> dict[str, str]:
    """Every note with its text."""
    return {
        path.relative_to(memory.home.root).as_posix(): path.read_bytes().decode()
        for top in ("knowledge", "archive")
        for path in sorted((memory.home.root / top).rglob("*.md"))
    }


def blocks(notes: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Every block that says something."""
    found: dict[str, tuple[str, ...]] = {}
    for path, text in notes.items():
        for name in markdown.names(text):
            there = markdown.block(text, name)
            if there and there.lines not in ((), (NOTHING,)):
                found[f"{path}#{name}"] = there.lines
    return found


def from_nothing(memory: Memory, folder: Path) -> dict[str, str]:
    """What the notes of this log are, in a home that never had any."""
    shutil.rmtree(folder, ignore_errors=True)
    other = quiet(folder)
    for name in ("log.jsonl", "subjects.json", "condensed.json", "config.toml"):
        if (memory.home.root / name).exists():
            shutil.copy(memory.home.root / name, other.home.root / name)
    other = Memory(folder)
    other.notes.update()
    return tree(other)


# --- written ------------------------------------------------------------------------------


def test_remembering_writes_the_notes_with_frontmatter_and_a_title(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    text = note(memory, "projects/auth/notes.md").read_text()
    front, body = markdown.split(text)
    assert front["type"] == "project_notes"
    assert front["project"] == "auth"
    assert front["updated"] == "2026-11-09T08:00:00Z"
    assert body.startswith("\n# Auth — notes\n\n<!-- wakebook:begin notes -->\n## Facts\n")
    assert memory.notes.missing_links() == []
    assert memory.status().problems == ()
    assert note(memory, "projects/auth/notes.md").stat().st_mode & 0o077 == 0


def test_only_what_has_changed_is_written(plain: Memory) -> None:
    tell(plain, "one", subject="auth")
    tell(plain, "two", subject="shop")
    plain.notes.update()
    assert plain.notes.update().written == ()
    tell(plain, "three", subject="shop")
    written = plain.notes.update().written
    assert "knowledge/projects/shop/notes.md" in written
    assert not [path for path in written if "projects/auth/" in path]


def test_text_outside_the_blocks_stays_and_frontmatter_of_ones_own(plain: Memory) -> None:
    tell(plain, "one")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    edit(path, "type: project_notes\n", "type: project_notes\ntags: [mine]\naliases:\n  - A\n")
    edit(path, "# Auth — notes\n", "# My own title\r\n\r\nAbove — mine\x0c.\n")
    path.write_bytes(path.read_bytes() + b"\nBelow, without an end")
    before = path.read_bytes()
    tell(plain, "two")
    plain.notes.update()
    after = path.read_bytes()
    assert b"- two" in after
    begin, end = b"<!-- wakebook:begin notes -->", b"<!-- wakebook:end notes -->"
    first, now = b"updated: 2026-11-09T07:00:00Z", b"updated: 2026-11-09T07:00:01Z"
    assert after.partition(begin)[0] == before.partition(begin)[0].replace(first, now)
    assert after.partition(end)[2] == before.partition(end)[2] == b"\n\nBelow, without an end"


def test_a_block_that_was_taken_out_comes_back_at_the_end(plain: Memory) -> None:
    tell(plain, "one")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    path.write_text("only mine\n")
    tell(plain, "two")
    plain.notes.update()
    assert path.read_text().startswith(
        "only mine\n\n<!-- wakebook:begin notes -->\n## Facts\n- two"
    )


def test_what_people_wrote_is_committed_before_a_note_changes(memory: Memory) -> None:
    memory.remember("one", subject="auth")
    memory.history.commit()
    path = note(memory, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nmy own words\n")
    memory.remember("two", subject="auth")
    assert subjects(memory.home.root)[0] == "memory: notes.md as it was"
    before = git(memory.home.root, "show", "HEAD:knowledge/projects/auth/notes.md")
    assert "my own words" in before
    assert "two" not in before
    assert "- two" in path.read_text()


def test_a_note_that_nobody_touched_is_not_committed_each_time(memory: Memory) -> None:
    memory.remember("one", subject="auth")
    memory.history.commit()
    count = len(subjects(memory.home.root))
    memory.remember("two", subject="auth")
    memory.remember("three", subject="auth")
    assert len(subjects(memory.home.root)) == count


def test_a_note_that_is_a_link_stays_one(plain: Memory, tmp_path: Path) -> None:
    tell(plain, "one")
    plain.notes.update()
    path, vault = note(plain, "projects/auth/notes.md"), tmp_path / "vault.md"
    vault.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(vault)
    tell(plain, "two")
    plain.notes.update()
    assert path.is_symlink()
    assert "- two" in vault.read_text()


# --- the same as from nothing -------------------------------------------------------------


class Life:
    """Weeks of somebody's memory, at random."""

    def __init__(self, memory: Memory, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = memory.home.root
        self.memory = memory
        self.random = random.Random(seed)
        self.now = NOW - timedelta(days=20)
        self.monkeypatch = monkeypatch

    def live(self, steps: int) -> Iterable[str]:
        weights = {"say": 10, "correct": 6, "drop": 2, "rename": 1, "merge": 1, "delete": 1}
        weights |= {"person": 1, "call": 1, "reborn": 2, "forget_cache": 1}
        for _ in range(steps):
            self.now += timedelta(hours=self.random.choice([0, 1, 5, 13, 30]))
            self.monkeypatch.setenv("WAKEBOOK_NOW", self.now.isoformat())
            [what] = self.random.choices(list(weights), list(weights.values()))
            getattr(self, what)()
            if self.random.random() < 0.7:
                self.memory.notes.update()
            yield what
        self.memory.notes.update()

    def _slug(self) -> str:
        return self.random.choice(["", "auth", "shop", "boat", "jane", "jonas"])

    def say(self, replaces: tuple[str, ...] = (), **fields: Any) -> None:
        type_ = self.random.choice(["fact"] * 4 + ["decision", "task", "question", "handoff"])
        kinds = [None, None, "lesson", "procedure", "preference", "event", "relationship"]
        number = self.random.randrange(10**6)
        who = self.random.choice(["Jane", "Ylva", "Jonas Weber", "The boat"])
        said = fields.pop("content", f"{who} is {number}, says Jane")
        entry = {
            "type": type_,
            "kind": self.random.choice(kinds) if type_ == "fact" else None,
            "status": self.random.choice(["open", "done"]) if type_ == "task" else None,
            "subject": registries.load(self.memory.home).for_entry(self._slug()),
            "pinned": self.random.random() < 0.1,
            "replaces": replaces,
        }
        tell(self.memory, said, at=self.now.isoformat(), **(entry | fields))

    def correct(self) -> None:
        holding = self.memory.log.chains().current()
        olds = self.random.sample(holding, min(len(holding), self.random.choice([1, 1, 1, 2])))
        self.say(tuple(one.id for one in olds))

    def drop(self) -> None:
        holding = self.memory.log.chains().current()
        if holding:
            old = self.random.choice(holding)
            extra = {"retracted": True}
            self.say((old.id,), type="fact", kind=None, status=None, extra=extra)

    def _known(self) -> list[str]:
        return [one.slug for one in self.memory.log.registry().known()]

    def _two(self) -> list[str]:
        known = self._known()
        return self.random.sample(known, 2) if len(known) > 1 else []

    def rename(self) -> None:
        for old in self._two()[:1]:
            self.memory.log.rename_subject(old, f"new-{self.random.randrange(1000)}")

    def merge(self) -> None:
        if two := self._two():
            self.memory.log.rename_subject(*two, merge=True)

    def delete(self) -> None:
        for slug in self._two()[:1]:
            self.memory.log.delete_subject(slug)

    def person(self) -> None:
        if self.memory.log.registry().canonical("jane") == "jane" and "jane" not in self._known():
            self.memory.log.add_subject("jane", "person", "Jane")

    def call(self) -> None:
        """Another display name and type, by hand."""
        raw = json.loads(self.memory.home.subjects.read_text())
        for slug in self._two()[:1]:
            raw[slug]["display"] = f"Called {self.random.randrange(100)}"
            raw[slug]["type"] = self.random.choice(["project", "person", "tool"])
            self.memory.home.subjects.write_text(json.dumps(raw))

    def reborn(self) -> None:
        self.memory = Memory(self.root)

    def forget_cache(self) -> None:
        self.memory.notes.update()  # what has moved is where it belongs
        lose_derived(self.memory)
        self.memory = Memory(self.root)


@pytest.mark.parametrize("seed", range(6))
def test_bit_by_bit_gives_the_same_as_from_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = ["UTC", "Pacific/Auckland", "America/New_York"][seed % 3]
    memory = quiet(tmp_path / "life", "[schedule]", f'time_zone = "{zone}"')
    life = Life(memory, seed, monkeypatch)
    done = list(life.live(60))
    assert len(set(done)) > 5
    incremental = tree(life.memory)
    assert life.memory.notes.update(full=True).written == (), "in place"
    said = {name: lines for name, lines in blocks(incremental).items() if "/merged/" not in name}
    gone = {one.slug for one in memory.log.registry().subjects.values() if one.deleted}
    said = {name: lines for name, lines in said.items() if not gone & set(_parts(name))}
    fresh = from_nothing(life.memory, tmp_path / "fresh")
    assert said == blocks(fresh)
    assert life.memory.status().knowledge.problems == ()


def _parts(name: str) -> list[str]:
    return name.partition("#")[0].removesuffix(".md").split("/")


def test_a_correction_of_a_correction_reaches_the_first_day(
    plain: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    last: tuple[str, ...] = ()
    for number, day in enumerate(("2026-11-05", "2026-11-06", "2026-11-07")):
        [entry] = tell(plain, f"truth {number}", at=f"{day}T10:00:00+00:00", replaces=last)
        last = (entry.id,)
        plain.notes.update()
    journal = note(plain, "journal/2026-11-05.md").read_text()
    assert "- ~~truth 0~~ → [[2026-11-07]]: truth 2" in journal


def test_all_notes_are_written_again_when_somebody_else_had_read_the_log(plain: Memory) -> None:
    """`why` and `review` bring the catalogue up to date, too."""
    tell(plain, "forget me", subject="auth")
    tell(plain, "keep me", subject="shop")
    plain.notes.update()
    lines = plain.home.log.read_bytes().splitlines(keepends=True)
    with plain.home.locked():
        log.rewrite(plain.home, lines[1:])
    number = note(plain, "projects/shop/notes.md").read_text().split("\n").index("## Facts") + 1
    assert plain.notes.why(f"projects/shop/notes.md:{number}").entries
    plain.notes.update()
    assert "forget me" not in "".join(tree(plain).values())


def test_another_time_zone_moves_the_days(plain: Memory) -> None:
    tell(plain, "late in the evening", at="2026-11-08T22:00:00+00:00")
    plain.notes.update()
    assert "late in" in note(plain, "journal/2026-11-08.md").read_text()
    plain.home.config.write_text(
        '[git]\nenabled = false\n[schedule]\ntime_zone = "Europe/Berlin"\n'
    )
    Memory(plain.home.root).notes.update()
    assert "late in" in note(plain, "journal/2026-11-08.md").read_text()
    plain.home.config.write_text('[git]\nenabled = false\n[schedule]\ntime_zone = "Asia/Tokyo"\n')
    Memory(plain.home.root).notes.update()
    assert "late in" in note(plain, "journal/2026-11-09.md").read_text()
    assert "late in" not in note(plain, "journal/2026-11-08.md").read_text()


def test_the_rollup_in_memory_md_follows_what_holds(plain: Memory) -> None:
    [old] = tell(plain, "We use uv", type="decision")
    rewrite = Condensed(at=NOW, by="rules", lines=(CondensedLine((old.id,)),))
    condensed.save(plain.home, {"memory/MEMORY.md#memory": rewrite})
    plain.notes.update()
    assert "We use uv" in plain.home.memory.read_text()
    tell(plain, "We use pixi", type="decision", replaces=(old.id,))
    plain.notes.update()
    text = plain.home.memory.read_text()
    assert "We use pixi" in text
    assert "We use uv" not in text
    plain.forget([entry.id for entry in plain.log.chains().entries])
    plain.notes.update()
    assert "We use" not in plain.home.memory.read_text()


def test_memory_md_may_live_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "workspace" / "AGENT.md"
    elsewhere.parent.mkdir()
    elsewhere.write_text("# Mine\n")
    memory = quiet(tmp_path / "home", "[briefing]", f'memory_file = "{elsewhere}"')
    inside = memory.home.memory.read_bytes()
    [old] = tell(memory, "We use uv", type="decision")
    rewrite = Condensed(at=NOW, by="rules", lines=(CondensedLine((old.id,)),))
    condensed.save(memory.home, {"memory/MEMORY.md#memory": rewrite})
    memory.notes.update()
    memory.notes.brief()
    text = elsewhere.read_text()
    assert text.startswith("# Mine\n")
    assert markdown.names(text) == ["briefing", "memory"]
    assert text.count("We use uv") >= 2
    assert memory.home.memory.read_bytes() == inside


# --- subjects change ----------------------------------------------------------------------


def test_a_renamed_subjects_notes_move_with_what_people_wrote(memory: Memory) -> None:
    memory.remember("one", subject="auth")
    memory.remember("two", type_="decision", subject="auth")
    path = note(memory, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nmine\n")
    memory.log.rename_subject("auth", "login")
    memory.notes.update()
    text = note(memory, "projects/login/notes.md").read_text()
    assert text.endswith("\nmine\n")
    assert markdown.split(text)[0]["project"] == "login"
    assert not note(memory, "projects/auth").exists()
    assert "[[projects/login/context|Login]]" in note(memory, "journal/2026-11-09.md").read_text()
    assert memory.notes.missing_links() == []
    assert "mine" in git(memory.home.root, "log", "-p", "--all", "--", "knowledge/projects/auth")


def test_a_merged_subjects_note_goes_to_the_archive_with_what_people_wrote(memory: Memory) -> None:
    memory.remember("one", subject="auth")
    memory.remember("two", subject="login")
    path = note(memory, "projects/login/notes.md")
    path.write_text(path.read_text() + "\nmine\n")
    memory.log.rename_subject("login", "auth", merge=True)
    memory.notes.update()
    text = note(memory, "projects/auth/notes.md").read_text()
    assert "- one" in text
    assert "- two" in text
    kept = memory.home.root / "archive/merged/projects/login/notes.md"
    assert kept.read_text().endswith("\nmine\n")
    assert not note(memory, "projects/login").exists()


def test_a_rename_is_followed_although_the_cache_is_gone(plain: Memory) -> None:
    tell(plain, "one")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nmine\n")
    plain.log.rename_subject("auth", "login")
    lose_derived(plain)
    Memory(plain.home.root).notes.update()
    assert note(plain, "projects/login/notes.md").read_text().endswith("\nmine\n")
    assert not path.exists()


@pytest.mark.parametrize(("old", "new"), list(permutations(["project", "person", "tool"], 2)))
def test_a_subject_of_another_type_takes_its_note_along(plain: Memory, old: str, new: str) -> None:
    plain.log.add_subject("ylva", old)
    tell(plain, "Ylva decided", type="decision", subject="ylva")
    tell(plain, "Deploy so", kind="procedure", subject="ylva")
    plain.notes.update()
    files = {"project": "projects/ylva/context.md", "person": "people/ylva.md"}
    before = note(plain, files.get(old, "reference/ylva.md"))
    before.write_text(before.read_text() + "\nmine\n")
    raw = json.loads(plain.home.subjects.read_text())
    raw["ylva"]["type"] = new
    plain.home.subjects.write_text(json.dumps(raw))
    plain.notes.update()
    after = note(plain, files.get(new, "reference/ylva.md")).read_text()
    assert after.endswith("mine\n") or "\nmine\n" in after
    assert not before.exists()
    assert len(markdown.names(after)) == 1, after
    assert "Ylva decided" in after
    assert plain.notes.missing_links() == []
    assert plain.notes.update(full=True).written == ()


def test_a_deleted_subjects_note_stays_and_no_new_one_is_made(plain: Memory) -> None:
    tell(plain, "one", subject="auth")
    plain.notes.update()
    plain.log.delete_subject("auth")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    assert "- one" in path.read_text()
    assert "## Other\n- one" in note(plain, "journal/2026-11-09.md").read_text()
    shutil.rmtree(path.parent)
    plain.notes.update(full=True)
    assert not path.exists()


def test_somebody_who_becomes_a_subject_is_found_in_what_was_said_before(plain: Memory) -> None:
    tell(plain, "The photographer is Ylva", kind="relationship", subject="shop")
    plain.notes.update()
    plain.log.add_subject("Ylva", "person")
    plain.notes.update()
    assert "The photographer is Ylva" in note(plain, "people/ylva.md").read_text()


def test_someone_who_was_introduced_is_known_in_what_is_said_later(plain: Memory) -> None:
    tell(plain, "My sister Marta lives in Porto.", subject="")
    plain.notes.update()
    tell(plain, "Marta has started at the zoo.", "We need a March date.", subject="")
    plain.notes.update()
    text = note(plain, "people/marta.md").read_text()
    assert "lives in Porto" in text and "at the zoo" in text and "March" not in text
    assert "people/marta|Marta" in note(plain, "people/_index.md").read_text()
    assert plain.notes.update(full=True).written == ()


def test_lessons_and_procedures_reach_their_notes(plain: Memory) -> None:
    tell(plain, "Lesson learned: always test the restore.", kind="lesson", subject="")
    tell(plain, "To deploy Heron, first run make tag.", kind="procedure", subject="heron")
    plain.notes.update()
    assert "always test the restore" in note(plain, "reference/_lessons.md").read_text()
    assert "first run make tag" in note(plain, "procedures/heron.md").read_text()


def test_the_first_subject_of_all_is_followed(plain: Memory) -> None:
    tell(plain, "The photographer is Ylva", kind="relationship", subject="")
    plain.notes.update()
    assert plain.log.registry().subjects == {}
    plain.log.add_subject("Ylva", "person")
    plain.notes.update()
    assert "The photographer is Ylva" in note(plain, "people/ylva.md").read_text()


def test_somebody_who_was_mentioned_and_becomes_a_project_has_one_note(plain: Memory) -> None:
    tell(plain, "Ylva is the photographer", kind="relationship", subject="shop")
    plain.notes.update()
    mine = note(plain, "people/ylva.md")
    mine.write_text(mine.read_text() + "\nmine\n")
    tell(plain, "Two rooms", subject="ylva")
    plain.notes.update()
    tell(plain, "Three rooms", subject="ylva")
    plain.notes.update()
    assert plain.notes.update(full=True).written == ()
    assert sum("Three rooms" in text for path, text in tree(plain).items() if "ylva" in path) == 1
    assert "\nmine\n" in "".join(tree(plain).values())
