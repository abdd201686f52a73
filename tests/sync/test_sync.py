"""Several homes and a remote, as they would lie on several machines: real git, real files."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bench import converge
from tests import homes
from tests.journeys.command import run, run_json
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import GitError, NotFound, WakebookError
from wakebook.store.catalogue import Catalogue
from wakebook.sync import together, went

Machine = Callable[[str], Memory]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True)
    return path


@pytest.fixture
def machine(tmp_path: Path, remote: Path) -> Machine:
    """A machine with a home that is synced with the remote, but never by itself."""

    def made(name: str) -> Memory:
        root = tmp_path / name
        if not root.exists():
            homes.made(root)
            (root / "machine.toml").write_text('[schedule]\nsync = ""\n')
            Memory(root).sync.add(str(remote), name=name)
        return Memory(root)

    return made


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _contents(memory: Memory) -> list[str]:
    return [one.content for one in memory.log.chains().entries]


def _agree(*memories: Memory) -> bool:
    tops = ("log.jsonl", "subjects.json", "forgotten.jsonl", "knowledge", "raw", "topics")
    found = []
    for memory in memories:
        root = memory.home.root
        paths = [one for top in tops for one in (root / top, *(root / top).rglob("*"))]
        found.append({p.relative_to(root): p.read_bytes() for p in paths if p.is_file()})
    return all(one == found[0] for one in found)


def test_two_homes_that_knew_nothing_of_each_other_become_one(machine: Machine) -> None:
    desk = machine("desk")
    desk.remember("The staging server is heron-2", subject="heron")
    desk.sync()
    laptop = machine("laptop")  # has an own first commit, and nothing in common
    assert _contents(laptop) == ["The staging server is heron-2"]
    laptop.remember("Deploys happen on Tuesdays", subject="heron")
    assert laptop.sync().sent == 1
    done = desk.sync()
    assert done.received == 1
    assert _contents(desk) == ["The staging server is heron-2", "Deploys happen on Tuesdays"]
    note = (desk.home.root / "knowledge/projects/heron/notes.md").read_text()
    assert "heron-2" in note and "Tuesdays" in note
    assert _agree(desk, laptop)
    assert not (again := desk.sync()).changed and not again.received and not again.sent
    assert "Tuesdays" in desk.search("When are deploys?").hits[0].snippet


def test_only_the_notes_of_what_came_are_written_after_a_merge(machine: Machine) -> None:
    desk = machine("desk")
    for name in ("heron", "buoy", "lantern", "anchor"):
        desk.remember(f"The {name} is blue", subject=name)
    desk.sync()
    laptop = machine("laptop")
    desk.sync()
    desk.remember("The buoy is red now", subject="buoy")
    laptop.remember("The heron is green now", subject="heron")
    desk.sync()
    notes = laptop.home.root / "knowledge/projects"
    left = notes / "lantern/notes.md"
    left.chmod(0o400)  # it would be said of one that is looked at and cannot be written
    before = left.stat().st_ino
    laptop.sync()
    assert "red" in (notes / "buoy/notes.md").read_text()
    assert "green" in (notes / "heron/notes.md").read_text()
    assert left.stat().st_ino == before
    with closing(Catalogue(laptop.home)) as catalogue:
        assert not catalogue.anew
    assert laptop.sync().received == 0
    desk.sync()
    assert _agree(desk, laptop)


def test_what_is_forgotten_on_one_machine_does_not_come_back_from_another(
    machine: Machine,
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    kept = desk.remember("The gauge is calibrated in May")
    gone = desk.remember("The safe opens with four sevens")
    desk.sync(), laptop.sync()
    desk.forget([gone.id])
    laptop.remember("The buoy is red")  # away meanwhile, with the old line in its log
    desk.sync()
    laptop.sync(), desk.sync()
    for memory in (desk, laptop):
        assert sorted(_contents(memory)) == ["The buoy is red", kept.content]
        every = (one for one in memory.home.root.rglob("*") if ".git" not in one.parts)
        files = [one for one in every if one.is_file() and not one.name.startswith("index.db")]
        assert not [one for one in files if b"four sevens" in one.read_bytes()]
    assert _agree(desk, laptop)


def _bytes(folder: Path) -> bytes:
    """Every byte of a repository, unpacked."""
    every = ["git", "-C", str(folder), "cat-file", "--batch", "--batch-all-objects"]
    return subprocess.run(every, check=True, capture_output=True).stdout


@pytest.mark.parametrize("away", [False, True])
def test_what_is_erased_goes_from_the_remote_and_the_other_machine(
    machine: Machine, remote: Path, away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    kept = desk.remember("The gauge is calibrated in May")
    desk.remember("The safe opens with four sevens")
    desk.sync(), laptop.sync()
    laptop.remember("The buoy is red")  # it knows nothing of the erasure
    if away:
        laptop.sync()  # and has pushed since
    monkeypatch.setenv("WAKEBOOK_NOW", "2027-01-01T00:00:00Z")
    desk.eraser.erase("four sevens")
    desk.sync()
    assert b"four sevens" not in _bytes(desk.home.root)  # nothing was fetched back
    subprocess.run(["git", "-C", remote, "gc", "-q", "--prune=now"], check=True)
    assert b"four sevens" not in _bytes(remote)
    laptop.sync()
    desk.sync()
    for memory in (desk, laptop):
        assert {"The buoy is red", kept.content} <= set(_contents(memory))
        assert b"four sevens" not in _bytes(memory.home.root)
        every = (one for one in memory.home.root.rglob("*") if one.is_file())
        assert not [one for one in every if b"four sevens" in one.read_bytes()]
    assert _agree(desk, laptop)


def test_two_people_in_one_note_are_both_kept(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    name = "knowledge/identity/USER.md"
    for memory, word in ((desk, "Tea."), (laptop, "Coffee.")):
        path = memory.home.root / name
        path.write_text(path.read_text() + f"\n{word}\n")
    desk.sync()
    done = laptop.sync()
    text = (laptop.home.root / name).read_text()
    assert "Tea." in text and "Coffee." in text and "<<<" not in text
    assert done.notes == (f"{name}: two machines changed the same lines; both versions are in it.",)
    assert laptop.sync.standing().went.notes == done.notes
    here = ("--home", str(laptop.home.root))
    assert run_json(*here, "review")["clashes"] == [*done.notes]
    assert "both versions are in it" in run(*here, "review")
    run(*here, "review", "dismiss", "knowledge/none.md", code=9)
    assert run_json(*here, "review", "dismiss", name)["settled"] == [*done.notes]
    assert "Nothing to review." in run(*here, "review")
    desk.sync()
    assert _agree(desk, laptop)


def test_the_same_conversation_read_on_two_machines_is_one(
    machine: Machine, tmp_path: Path
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    for memory in (desk, laptop):
        folder = tmp_path / f"sessions-{memory.home.root.name}"
        folder.mkdir()
        chat(Claude(folder), WORKDAY)
        memory.catch_up([folder], closing=True)
    raw = [sorted(m.home.conversations.rglob("*.md"))[0].read_bytes() for m in (desk, laptop)]
    assert raw[0] == raw[1]  # nothing of the machine in it
    before = _contents(desk)
    desk.sync(), laptop.sync(), desk.sync()
    assert _contents(desk) == before
    assert _agree(desk, laptop)


def test_a_conversation_that_another_machine_has_read_is_not_read_again(
    machine: Machine, tmp_path: Path
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    folder = tmp_path / "sessions"
    folder.mkdir()
    chat(Claude(folder), WORKDAY)
    desk.catch_up([folder], closing=True)
    desk.sync(), laptop.sync()
    path = next(laptop.home.conversations.rglob("*.md"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    before = path.stat().st_mtime_ns
    laptop.catch_up([folder], closing=True)
    assert path.stat().st_mtime_ns == before
    assert _contents(laptop) == _contents(desk)


def test_a_new_machine_has_everything_at_once(
    machine: Machine, remote: Path, tmp_path: Path
) -> None:
    desk = machine("desk")
    desk.remember("The staging server is heron-2", subject="heron")
    desk.sync()
    home = ("--home", str(tmp_path / "new"))
    assert "has 1 entry" in run(*home, "sync", "clone", str(remote), "--name", "new")
    new = Memory(tmp_path / "new")
    assert "heron-2" in new.search("Which staging server?").hits[0].snippet
    assert stat.S_IMODE(new.home.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(new.home.log.stat().st_mode) == 0o600
    assert (new.home.root / ".git/hooks/pre-commit").exists()
    found = run_json(*home, "sync", "status")
    assert [one["name"] for one in found["machines"]].count("new") == 1 and found["agree"]
    assert "is there already" in run(*home, "sync", "clone", str(remote), code=1)


def test_a_clone_made_with_plain_git_and_without_attributes_syncs(
    machine: Machine, remote: Path, tmp_path: Path
) -> None:
    desk = machine("desk")
    desk.remember("The staging server is heron-2", subject="heron")
    desk.sync()
    plain = tmp_path / "plain"
    subprocess.run(["git", "clone", "-q", remote, plain], check=True)
    (plain / ".gitattributes").unlink()
    laptop = Memory(plain)
    laptop.init()
    (plain / "machine.toml").write_text('[schedule]\nsync = ""\n')
    laptop.remember("Deploys happen on Tuesdays", subject="heron")
    desk.remember("The buoy is red", subject="heron")
    desk.sync()
    laptop.sync.add(str(remote), name="plain")
    desk.sync()
    laptop.sync()
    assert len(_contents(desk)) == 3
    assert _agree(desk, laptop)
    log = (plain / "log.jsonl").read_bytes()
    assert b"<<<" not in log and log.count(b"\n") == 3


def test_a_sync_can_be_taken_back_and_takes_nothing_from_others(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    laptop.remember("The buoy is red")
    laptop.sync()
    desk.remember("The gauge is calibrated in May")
    desk.sync()
    assert len(_contents(desk)) == 2
    done = desk.undo()
    assert done.rewrite.name.startswith("sync with ")
    assert _contents(desk) == ["The gauge is calibrated in May"]
    assert "paused" in str(desk.status().problems)
    with pytest.raises(NotFound):
        desk.sync.undo()
    laptop.sync()
    assert len(_contents(laptop)) == 2  # it loses nothing
    desk.sync()
    assert len(_contents(desk)) == 2 and not desk.status().problems


def test_what_would_come_and_go_is_shown_without_a_change(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    laptop.remember("The buoy is red")
    laptop.sync()
    desk.remember("The gauge is calibrated in May")
    home = ("--home", str(desk.home.root))
    said = run(*home, "sync", "--dry-run")
    assert "1 entry and" in said and "would come" in said and "1 entry would go" in said
    assert _contents(desk) == ["The gauge is calibrated in May"]
    assert "came from other machines" in run(*home, "sync")
    assert "agree" in run(*home, "sync")


def test_a_machine_that_lost_its_log_does_not_take_it_from_the_others(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    for number in range(30):
        desk.remember(f"Entry number {number}")
    desk.sync(), laptop.sync()
    laptop.home.log.write_bytes(b"")
    laptop.sync()  # it has committed the loss
    with pytest.raises(together.TooMuch, match="30 of 30 entries would go"):
        desk.sync()
    assert len(_contents(desk)) == 30
    assert "would go" in str(desk.status().problems)
    desk.sync(even_so=True)
    assert not _contents(desk)


def test_a_remote_of_something_else_is_refused(machine: Machine, tmp_path: Path) -> None:
    desk = machine("desk")
    other = tmp_path / "project"
    subprocess.run(["git", "init", "-q", "-b", "main", other], check=True)
    (other / "main.py").write_text("print()\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "-C", other, "add", "."], check=True)
    subprocess.run(["git", "-C", other, *who, "commit", "-qm", "x"], check=True)
    home, before = ("--home", str(desk.home.root)), desk.sync.remote
    assert "something else than a Wakebook memory" in run(*home, "sync", "add", str(other), code=8)
    assert desk.sync.remote == before
    for wrong in ("/nowhere/at/all", "-x", ""):
        with pytest.raises(GitError):
            desk.sync.add(wrong)


def test_a_remote_in_trouble_is_said_and_nothing_changes(
    machine: Machine, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = machine("desk")
    desk.remember("The gauge is calibrated in May")
    desk.history.commit("a gauge")
    root = desk.home.root
    before = {
        path: path.read_bytes() for path in root.glob("*.json*") if path.name != "trace.jsonl"
    }

    def refused(*words: str) -> None:
        with pytest.raises(GitError) as error:
            desk.sync()
        assert all(word in str(error.value) for word in words), error.value
        for path, data in before.items():
            assert path.read_bytes() == data, path

    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'fatal: No space left on device' >&2\nexit 1\n")
    hook.chmod(0o755)
    refused("Pushing", "No space left")
    hook.unlink()
    moved = remote.rename(remote.with_name("elsewhere.git"))
    refused("no git repository", "Nothing was changed")
    moved.rename(remote)
    _git(root, "checkout", "-q", "--detach")
    refused("detached HEAD", "switch main")
    _git(root, "switch", "-q", "main")
    laptop = machine("laptop")
    with monkeypatch.context() as newer:
        newer.setattr("wakebook.sync.machine.FORMAT", 2)
        laptop.remember("The buoy is red")
        laptop.sync()
    refused("newer Wakebook", "laptop", "Upgrade")


def test_a_history_that_was_pushed_over_takes_nothing_from_us(
    machine: Machine, remote: Path
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    desk.remember("The gauge is calibrated in May")
    desk.sync()
    old = _git(remote, "rev-parse", "main~1")
    _git(remote, "update-ref", "refs/heads/main", old)  # as a push by force does
    assert desk.sync().sent == 1
    laptop.sync()
    assert _contents(laptop) == _contents(desk) == ["The gauge is calibrated in May"]


def test_a_remote_that_wants_a_password_is_not_asked_twice(machine: Machine) -> None:
    class Closed(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic realm=memory")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with _serving_at_502(Closed) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(GitError, match="wants a password"):
            machine("desk").sync(f"http://127.0.0.1:{server.server_port}/memory.git")
        server.shutdown()


def _serving_at_502(handler: type[BaseHTTPRequestHandler]) -> HTTPServer:
    """At a port whose number could be taken for an error of a server that is not there."""
    for port in (*range(35020, 35030), *range(45020, 45030), 0):
        with suppress(OSError):
            return HTTPServer(("127.0.0.1", port), handler)
    raise AssertionError("no port is free")


def test_offline_is_no_failure(machine: Machine) -> None:
    desk = machine("desk")
    home = ("--home", str(desk.home.root))
    assert "Offline" in run(*home, "sync", "http://127.0.0.1:9/memory.git")
    assert not [one for one in desk.status().problems if "sync" in one]


def test_a_lock_that_a_killed_sync_has_left_is_removed(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    desk.remember("The lamp is green.")
    desk.sync()
    git = laptop.home.root / ".git"
    left = [git / "refs" / "wakebook" / "theirs.lock", git / "wakebook-sync.1"]
    for path in left:
        path.write_text("")
    with pytest.raises(GitError, match="has left a lock"):
        laptop.sync()
    for path in left:
        os.utime(path, (0, 0))  # as if some time had passed
    laptop.sync()
    assert "The lamp is green." in _contents(laptop)
    assert not any(path.exists() for path in left)


def test_a_person_in_the_middle_of_a_merge_is_left_alone(machine: Machine) -> None:
    desk = machine("desk")
    (desk.home.root / ".git/MERGE_HEAD").write_text(desk.history.git().required().head())
    with pytest.raises(GitError, match="in the middle of a merge"):
        desk.sync()


def test_a_note_that_is_broken_stays_as_it_is(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    name = "knowledge/identity/USER.md"
    (desk.home.root / name).write_text("---\ntype: [\n---\nHalf-written\n")
    path = laptop.home.root / name
    path.write_text(path.read_text() + "\nTea.\n")
    laptop.sync()
    desk.sync()
    assert (desk.home.root / name).read_text().endswith("Half-written\n")


def test_settings_of_one_machine_stay_there(machine: Machine) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    own = desk.home.root / "machine.toml"
    own.write_text('[schedule]\nsync = ""\n[briefing]\nmax_lines = 33\n')
    desk.sync(), laptop.sync()
    assert Memory(desk.home.root).config.briefing.max_lines == 33
    assert Memory(laptop.home.root).config.briefing.max_lines == 80
    own.write_text("[briefing]\nmax_linse = 33\n")
    with pytest.raises(WakebookError, match=r"machine\.toml"):
        _ = Memory(desk.home.root).config


def test_a_remote_that_is_sealed_can_read_nothing(remote: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyrage")
    desk = homes.made(tmp_path / "desk")
    (desk.home.root / "machine.toml").write_text('[schedule]\nsync = ""\n')
    desk = Memory(desk.home.root)
    desk.remember("The safe opens with four sevens")
    desk.sync.add(str(remote), name="desk", sealed=True)
    key = desk.sync.key()
    every = ["cat-file", "--batch", "--batch-all-objects"]
    seen = subprocess.run(["git", "-C", remote, *every], check=True, capture_output=True).stdout
    assert b"age-encryption.org" in seen and b"sevens" not in seen and b"log.jsonl" not in seen
    other = Memory(tmp_path / "other")
    with pytest.raises(GitError, match="is sealed"):
        other.sync.clone(str(remote))
    wrong = "AGE-SECRET-KEY-1QGJM7ZFJZRA78S2DMV6SQKMJEX63M7ET0RATDFDPG8TCHPEDHJCQDK4QY8"
    with pytest.raises(GitError, match="cannot be opened with this home's key"):
        other.sync.clone(str(remote), key=wrong)
    assert not other.home.root.exists()
    other.sync.clone(str(remote), key=key, name="other")
    (other.home.root / "machine.toml").write_text('[schedule]\nsync = ""\n')
    other = Memory(other.home.root)
    other.remember("The buoy is red")
    desk.remember("The gauge is calibrated in May")
    desk.sync(), other.sync(), desk.sync(), other.sync()
    assert _agree(desk, other) and len(_contents(desk)) == 3
    assert {one.name for one in desk.sync.standing().machines} == {"desk", "other"}
    with pytest.raises(WakebookError, match="That is no key"):
        desk.sync.key("sesame")


def test_a_subject_is_shared_with_another_person_who_accepts_it(
    machine: Machine, remote: Path, tmp_path: Path
) -> None:
    ada, between = machine("ada"), tmp_path / "between.git"
    subprocess.run(["git", "init", "-q", "--bare", between], check=True)
    ada.remember("The heron deploys on Tuesdays", subject="heron")
    ada.remember("My doctor is in Elm Street")
    assert ada.sync.share(str(between), subject="heron").entries == 1
    bob = homes.made(tmp_path / "bob")
    assert [one.entries for one in bob.sync.take(str(between))] == [1]
    assert not _contents(bob) and not bob.search("When does the heron deploy?").hits
    (waits,) = bob.log.waiting()
    assert waits.by == "shared by ada" and "Elm" not in str(bob.log.waiting())
    bob.log.accept("all")
    assert _contents(bob) == ["The heron deploys on Tuesdays"]
    bob.sync.take(str(between))
    assert not bob.log.waiting()  # once


def test_what_other_ways_of_syncing_have_left_is_healed(machine: Machine) -> None:
    desk = machine("desk")
    first = desk.remember("The gauge is calibrated in May", subject="gauge")
    root, line = desk.home.root, desk.home.log.read_bytes()
    other = line.replace(first.id.encode(), b"abcdefghijkl").replace(b"May", b"June")
    (root / "log (Ada's conflicted copy 2026-03-02).jsonl").write_bytes(other)
    (root / "subjects.json").write_text(
        '<<<<<<< HEAD\n{"gauge": {"display": "Gauge", "type": "tool"}}\n=======\n'
        '{"heron": {"display": "Heron", "type": "project"}}\n>>>>>>> theirs\n'
    )
    desk.home.log.write_bytes(line + line)
    checks = {one.said: one.run for one in desk.doctor(quick=True) if one.name == "git: sync"}
    assert (
        len([said for said in checks if "second copy" in said or "marks of a merge" in said]) == 2
    )
    run("--home", str(root), "sync", "heal")
    desk = Memory(root)
    assert sorted(_contents(desk)) == [
        "The gauge is calibrated in June",
        "The gauge is calibrated in May",
    ]
    assert {one.slug for one, _ in desk.log.subjects()} == {"gauge", "heron"}
    assert "Nothing to heal" in run("--home", str(root), "sync", "heal")


def test_a_session_that_begins_knows_what_another_machine_has_learned(
    machine: Machine, tmp_path: Path
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    laptop.remember("The buoy is red")
    laptop.sync()
    (desk.home.root / "machine.toml").unlink()
    (desk.home.cache / went.FILE).unlink()  # the last one is a while ago
    desk = Memory(desk.home.root)
    desk.sync_soon(60)  # what the first hook of a session does, which waits a second
    assert _contents(desk) == ["The buoy is red"]


def test_three_machines_agree_after_anything_that_people_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKEBOOK_NOW", os.environ.get("WAKEBOOK_NOW", "2026-03-02T09:00:00Z"))
    fleet = converge.play(tmp_path, 3, 45, kills=0.3)
    assert not fleet.differences()


def test_a_folder_gets_what_is_new_as_one_file(machine: Machine, remote: Path) -> None:
    desk = machine("desk")
    desk.remember("The lantern hangs over the stairs")
    desk.sync()
    assert len(list(remote.glob("objects/pack/*.pack"))) > 1
    loose = subprocess.run(["git", "-C", remote, "count-objects"], check=True, capture_output=True)
    assert loose.stdout.startswith(b"0 objects")
