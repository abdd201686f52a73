"""Wiring a host and back: byte by byte, whatever happened in between."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.crash import run_and_die
from tests.journeys.command import run, run_json
from wakebook import Memory, WakebookError
from wakebook.base.errors import NotFound
from wakebook.hosts import pi, wiring
from wakebook.hosts.plan import Change, Wires

NAME = "pi"  # whose `without` takes out a whole file that is ours, and nothing else
OURS = f"{pi.MARK}\nours\n".encode()
SETTINGS = {"briefing.memory_file": "~/workspace/MEMORY.md", "hosts.pi": ["~/a", "~/b"]}


class Snapshot:
    """Everything in a folder: bytes, permissions and links."""

    def __init__(self, *folders: Path) -> None:
        self.found = {
            str(path): self._of(path)
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if not {".git", ".cache", ".lock"}.intersection(path.parts)
            and not (path.name == "hosts" and not any(path.iterdir()))
        }

    @staticmethod
    def _of(path: Path) -> tuple[Any, ...]:
        if path.is_symlink():
            return ("link", str(path.readlink()))
        if path.is_dir():
            return ("folder",)
        return (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.found == other.found

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.found.items())


@pytest.fixture
def place() -> Path:
    """The host's folder."""
    folder = Path.home() / ".host"
    folder.mkdir()
    (folder / "settings.json").write_bytes(b'{"a": 1,\r\n  "b": [2]}')
    (folder / "settings.json").chmod(0o640)
    return folder


def plan(place: Path, **more: Any) -> Wires:
    path = place / "settings.json"
    changes = (
        Change(path, path.read_bytes(), b'{"a": 1, "ours": true}'),
        Change(place / "new" / "deep" / "ours.js", None, OURS),
    )
    return Wires(**({"changes": changes, "files": {"plugin/x.js": b"x", "y.json": b"{}"}} | more))


def taken(memory: Memory, place: Path) -> Snapshot:
    return Snapshot(place, memory.home.root)


# --- there and back ----------------------------------------------------------------------


def test_there_and_back_every_byte_is_as_it_was(memory: Memory, place: Path) -> None:
    before = taken(memory, place)
    assert wiring.wire(memory, NAME, plan(place, settings=SETTINGS)) == []
    assert (place / "settings.json").read_bytes() == b'{"a": 1, "ours": true}'
    assert stat.S_IMODE((place / "settings.json").stat().st_mode) == 0o640
    assert (place / "new" / "deep" / "ours.js").read_bytes() == OURS
    assert (memory.home.root / "hosts" / NAME / "plugin" / "x.js").read_bytes() == b"x"
    assert Memory(memory.home.root).config.briefing.memory_file == "~/workspace/MEMORY.md"
    assert wiring.unwire(memory, NAME) == []
    assert taken(memory, place) == before
    with pytest.raises(NotFound):
        wiring.unwire(memory, NAME)


def test_twice_there_and_once_back(memory: Memory, place: Path) -> None:
    before = taken(memory, place)
    wiring.wire(memory, NAME, plan(place, settings=SETTINGS))
    path = place / "settings.json"
    again = Wires(
        changes=(Change(path, path.read_bytes(), b'{"a": 1, "ours": "better"}'),),
        files={"plugin/z.js": b"z"},
        settings=SETTINGS | {"briefing.memory_file": "~/other/MEMORY.md"},
    )
    wiring.wire(memory, NAME, again)
    folder = memory.home.root / "hosts" / NAME
    assert not (folder / "y.json").exists()
    assert (folder / "plugin" / "z.js").exists()
    assert wiring.unwire(memory, NAME) == []
    assert taken(memory, place) == before


def test_what_changed_this_moment_is_left_alone(memory: Memory, place: Path) -> None:
    made = plan(place, settings=SETTINGS)
    (place / "settings.json").write_bytes(b"{}")
    before = taken(memory, place)
    with pytest.raises(WakebookError, match="Try again"):
        wiring.wire(memory, NAME, made)
    assert taken(memory, place) == before


def test_what_the_owner_changed_since_stays(memory: Memory, place: Path) -> None:
    wiring.wire(memory, NAME, plan(place))
    (place / "settings.json").write_bytes(b'{"mine": true}')
    (place / "new" / "deep" / "mine.js").write_bytes(b"mine")
    wiring.unwire(memory, NAME)
    assert (place / "settings.json").read_bytes() == b'{"mine": true}'
    assert (place / "new" / "deep" / "mine.js").read_bytes() == b"mine"
    assert not (place / "new" / "deep" / "ours.js").exists()


def test_what_the_owner_changed_between_two_wirings_stays(memory: Memory, place: Path) -> None:
    wiring.wire(memory, NAME, plan(place))
    path = place / "settings.json"
    path.write_bytes(b'{"mine": true, "ours": true}')
    after = b'{"mine": true, "ours": "better"}'
    wiring.wire(memory, NAME, Wires(changes=(Change(path, path.read_bytes(), after),)))
    wiring.unwire(memory, NAME)
    assert json.loads(path.read_bytes())["mine"] is True


def test_what_the_owner_removed_stays_away(memory: Memory, place: Path) -> None:
    wiring.wire(memory, NAME, plan(place))
    (place / "settings.json").unlink()
    (place / "new" / "deep" / "ours.js").unlink()
    wiring.unwire(memory, NAME)
    assert not (place / "settings.json").exists()
    assert not (place / "new").exists()


def test_a_link_stays_a_link(memory: Memory, place: Path) -> None:
    """Dotfiles in a repository of their own."""
    real = Path.home() / "dotfiles" / "settings.json"
    real.parent.mkdir()
    (place / "settings.json").rename(real)
    (place / "settings.json").symlink_to(real)
    before = Snapshot(place, real.parent)
    wiring.wire(memory, NAME, plan(place))
    assert (place / "settings.json").is_symlink()
    assert b"ours" in real.read_bytes()
    wiring.unwire(memory, NAME)
    assert Snapshot(place, real.parent) == before


def test_a_file_that_a_plan_removes_comes_back_as_it_was(memory: Memory, place: Path) -> None:
    path = place / "settings.json"
    before = Snapshot(place)
    wiring.wire(memory, NAME, Wires(changes=(Change(path, path.read_bytes(), None),)))
    assert not path.exists()
    wiring.unwire(memory, NAME)
    assert Snapshot(place) == before


def test_an_empty_file_is_not_a_missing_one(memory: Memory, place: Path) -> None:
    (place / "settings.json").write_bytes(b"")
    before = Snapshot(place)
    wiring.wire(memory, NAME, plan(place))
    wiring.unwire(memory, NAME)
    assert Snapshot(place) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_told(memory: Memory, place: Path) -> None:
    place.chmod(0o500)
    with pytest.raises(WakebookError, match="cannot be written"):
        wiring.wire(memory, NAME, plan(place))
    place.chmod(0o700)
    wiring.unwire(memory, NAME)


def test_a_broken_list_of_what_was_done_is_told(memory: Memory, place: Path) -> None:
    wiring.wire(memory, NAME, plan(place))
    (memory.home.root / "hosts" / NAME / "wired.json").write_text("{")
    with pytest.raises(WakebookError, match="backups lie beside it"):
        wiring.unwire(memory, NAME)


# --- commands ----------------------------------------------------------------------------


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_what_a_command_touches_comes_back(memory: Memory, place: Path) -> None:
    path, folder = place / "state.json", place / "cache"
    before = taken(memory, place)
    code = f"import os; open({str(path)!r}, 'w').write('x'); os.mkdir({str(folder)!r})"
    made = plan(place, commands=(python(code),), touched=(path, folder))
    told: list[str] = []
    assert wiring.wire(memory, NAME, made, told.append) == []
    assert path.read_text() == "x"
    assert len(told) == 1
    assert wiring.unwire(memory, NAME) == []
    assert taken(memory, place) == before


def test_commands_that_fail_are_told_and_can_be_undone(memory: Memory, place: Path) -> None:
    before = taken(memory, place)
    made = plan(
        place,
        commands=(python("raise SystemExit('no network')"), ("/nowhere/claude", "plugin")),
        undo_commands=(python("import sys; print('odd'); sys.exit(3)"), ("/nowhere/claude",)),
    )
    notes = wiring.wire(memory, NAME, made)
    assert len(notes) == 2
    assert "no network" in notes[0]
    assert "by hand" in notes[0] and "by hand" in notes[1]
    undone = wiring.unwire(memory, NAME)
    assert len(undone) == 2
    assert "odd" in undone[0]
    assert taken(memory, place) == before


def test_a_command_that_says_no_utf8_is_told_all_the_same(memory: Memory, place: Path) -> None:
    code = r"import sys; sys.stderr.buffer.write(b'\xff\xfe broken'); sys.exit(1)"
    (note,) = wiring.wire(memory, NAME, plan(place, commands=(python(code),)))
    assert "broken" in note
    wiring.unwire(memory, NAME)


# --- our own settings --------------------------------------------------------------------

CONFIGS = {
    "as it comes": "",
    "empty": "\n",
    "none of it": "[search]\nmax_results = 9",
    "comments": "# 1\n[briefing] # 2\n# memory_file = 'x'\nactive_days = 9 # 3\n\n[hosts]\n",
    "there already": '[briefing]\nmemory_file = "~/x.md"  # mine\n[hosts]\npi = ["~/p"]\n',
    "spaces": '[ briefing ]\n  memory_file="~/x.md"\n\n\n[hosts]\t\npi=[]\n',
    "several lines": '[hosts]\npi = [\n  "~/p",  # mine\n  "~/q",\n]\ncodex = ["~/c"]\n',
    "windows": '[briefing]\r\nmemory_file = "~/x.md"\r\n\r\n[hosts]\r\n',
    "dotted": 'briefing.memory_file = "~/x.md"\nhosts.pi = ["~/p"]\n',
    "inline": 'briefing = {memory_file = "~/x.md"}\n',
    "no end": '[hosts]\npi = ["~/p"]\n[briefing]',
    "text": '[briefing]\nmemory_file = """~/x.md"""\n[hosts]\n',
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_settings_are_put_in_and_taken_out(memory: Memory, place: Path, config: str) -> None:
    path = memory.home.config
    if config:
        path.write_bytes(config.encode())
    before = path.read_bytes()
    first = tomllib.loads(before.decode())
    try:
        wiring.wire(memory, NAME, plan(place, settings=SETTINGS))
    except WakebookError:
        assert path.read_bytes() == before  # told, and nothing is half done
        assert json.loads((place / "settings.json").read_bytes()) == {"a": 1, "b": [2]}
        return
    now = tomllib.loads(path.read_text())
    assert now["briefing"]["memory_file"] == "~/workspace/MEMORY.md"
    assert now["hosts"]["pi"] == ["~/a", "~/b"]
    for section, values in first.items():
        for key, value in values.items():
            if f"{section}.{key}" not in SETTINGS:
                assert now[section][key] == value
    for line in before.decode().splitlines():
        if line.lstrip().startswith("#"):
            assert line in path.read_text().splitlines()
    Memory(memory.home.root).config  # noqa: B018 - which reads it
    wiring.unwire(memory, NAME)
    assert path.read_bytes() == before


def test_settings_that_somebody_changed_since(memory: Memory, place: Path) -> None:
    """Only ours go: what else was written stays, and so does a comment."""
    memory.home.config.write_text('[briefing]\nmemory_file = "~/mine.md"\n')
    wiring.wire(memory, NAME, plan(place, settings=SETTINGS))
    with memory.home.config.open("a") as stream:
        stream.write("\n# added later\n[search]\nmax_results = 9\n")
    wiring.unwire(memory, NAME)
    now = tomllib.loads(memory.home.config.read_text())
    assert now["briefing"]["memory_file"] == "~/mine.md"
    assert "pi" not in now.get("hosts", {})
    assert now["search"]["max_results"] == 9
    assert "# added later" in memory.home.config.read_text()


def test_settings_that_cannot_be_understood_any_more(memory: Memory, place: Path) -> None:
    wiring.wire(memory, NAME, plan(place, settings=SETTINGS))
    memory.home.config.write_text("[briefing\n")
    [note] = wiring.unwire(memory, NAME)
    assert "briefing.memory_file, hosts.pi by hand" in note
    assert memory.home.config.read_text() == "[briefing\n"
    assert wiring.wired(memory, NAME) is None


def test_a_remark_beside_a_setting_stays(memory: Memory, place: Path) -> None:
    text = '[briefing]  # mine\nmemory_file   = "~/mine.md"   # that one\n'
    memory.home.config.write_text(text)
    wiring.wire(memory, NAME, plan(place, settings=SETTINGS))
    now = memory.home.config.read_text()
    wanted = text.replace("~/mine.md", "~/workspace/MEMORY.md")
    assert now == f'{wanted}\n[hosts]\npi = ["~/a", "~/b"]\n'
    memory.home.config.write_text(now + "# later\n")
    wiring.unwire(memory, NAME)
    assert memory.home.config.read_text() == f"{text}\n[hosts]\n# later\n"


@pytest.mark.parametrize("value", ['~/a "quoted"/MEMORY.md', "~/back\\slash", "~/ünï/文.md", "~/#"])
def test_a_path_of_any_kind_is_a_setting(memory: Memory, place: Path, value: str) -> None:
    before = memory.home.config.read_bytes()
    wiring.wire(memory, NAME, plan(place, settings={"briefing.memory_file": value}))
    assert Memory(memory.home.root).config.briefing.memory_file == value
    wiring.unwire(memory, NAME)
    assert memory.home.config.read_bytes() == before


# --- a crash in the middle ---------------------------------------------------------------


def _forget_backups(left: Snapshot) -> None:
    """Those that were made before anything was noted, or not yet removed."""
    for path in [
        name for name in left.found if f"/home/hosts/{NAME}" in name or name.endswith("/home/hosts")
    ]:
        left.found.pop(path)


def test_a_wiring_that_was_killed_can_be_undone(memory: Memory, place: Path) -> None:
    made, root = plan(place, settings=SETTINGS), memory.home.root
    before = taken(memory, place)
    died, step = True, 0
    while died:
        step += 3 if step > 3 else 1
        died = run_and_die(lambda: wiring.wire(Memory(root), NAME, made), step)
        if wiring.wired(memory, NAME):
            wiring.unwire(memory, NAME)
        with memory.home.locked():
            memory.home.sweep_temporary()
        left = taken(memory, place)
        _forget_backups(left)
        assert left == before, step
    assert step > 10


def test_an_undoing_that_was_killed_can_be_done_again(memory: Memory, place: Path) -> None:
    root = memory.home.root
    before = taken(memory, place)
    died, step = True, 0
    while died:
        step += 2
        wiring.wire(memory, NAME, plan(place, settings=SETTINGS))
        died = run_and_die(lambda: wiring.unwire(Memory(root), NAME), step)
        if wiring.wired(memory, NAME):
            wiring.unwire(memory, NAME)
        with memory.home.locked():
            memory.home.sweep_temporary()
        left = taken(memory, place)
        _forget_backups(left)
        assert left == before, step
    assert step > 4


# --- the command -------------------------------------------------------------------------


def init(memory: Memory, *words: str, code: int = 0) -> str:
    return run("init", "--home", str(memory.home.root), "--host", NAME, *words, code=code)


def extension() -> Path:
    return Path.home() / ".pi" / "agent" / "extensions" / "wakebook.js"


def test_the_command_there_and_back(memory: Memory) -> None:
    before = Snapshot(Path.home())
    said = init(memory, "--yes")
    assert "wired" in said
    assert extension().read_text().startswith(pi.MARK)
    assert str(memory.home.root) in extension().read_text()
    assert "as it was" in init(memory, "--undo")
    assert Snapshot(Path.home()) == before
    assert "not wired" in init(memory, "--undo", code=NotFound.exit_code)


def test_a_dry_run_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    before = Snapshot(Path.home(), memory.home.root)
    said = init(memory, "--dry-run")
    assert "wakebook.js" in said
    assert Snapshot(Path.home(), memory.home.root) == before
    home = tmp_path / "not-yet"
    run("init", "--home", str(home), "--host", NAME, "--dry-run")
    assert not home.exists()


def test_a_dry_run_of_an_undo_changes_nothing(memory: Memory) -> None:
    init(memory, "--yes")
    before = Snapshot(Path.home(), memory.home.root)
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", "init", "--home", str(memory.home.root), "--host", NAME,
         "--undo", "--dry-run"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert Snapshot(Path.home(), memory.home.root) == before


def test_who_says_no_changes_nothing(memory: Memory) -> None:
    before = Snapshot(Path.home(), memory.home.root)
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", "init", "--home", str(memory.home.root), "--host", NAME],
        input="n\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "wakebook.js" in done.stdout
    assert Snapshot(Path.home(), memory.home.root) == before


def test_json_asks_nobody(memory: Memory) -> None:
    root = str(memory.home.root)
    run("init", "--home", root, "--host", NAME, "--json", code=2)
    assert not extension().exists()
    planned = run_json("init", "--home", root, "--host", NAME, "--dry-run")
    assert planned["done"] is False
    assert not extension().exists()
    done = run_json("init", "--home", root, "--host", NAME, "--yes")
    assert done["done"] is True
    assert [one["path"] for one in done["changes"]] == [str(extension())]
    assert run_json("init", "--home", root, "--host", NAME, "--undo")["undone"] is True
    assert not extension().exists()


@pytest.mark.parametrize("words", [["--undo"], ["--dry-run"], ["--host", "emacs"]])
def test_a_wrong_line_is_told(memory: Memory, words: list[str]) -> None:
    run("init", "--home", str(memory.home.root), *words, code=2)


def test_a_file_of_somebody_else_is_left_alone(memory: Memory) -> None:
    extension().parent.mkdir(parents=True)
    extension().write_text("// mine\n")
    before = Snapshot(Path.home())
    assert "not ours" in init(memory, "--yes", code=1)
    assert Snapshot(Path.home()) == before
