from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from wakebook import Memory
from wakebook.base import config, markdown
from wakebook.base.errors import ConfigError, Locked, NotInitialised, WakebookError
from wakebook.base.home import FOLDERS, Home, locate
from wakebook.capture.hosts.plain_file import PlainFile
from wakebook.log import log


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_init_makes_the_home_of_the_documentation(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "home")
    made = memory.init()
    root = memory.home.root
    assert all((root / name).is_dir() for name in FOLDERS)
    for name in ("SOUL", "USER", "AGENTS", "TOOLS"):
        front, _ = markdown.split((root / f"knowledge/identity/{name}.md").read_text())
        assert front["type"] == "identity"
    front, _ = markdown.split((root / "topics/release-day.md").read_text())
    assert front["type"] == "topic" and front["triggers"]
    block = markdown.block((root / "knowledge/memory/MEMORY.md").read_text(), "briefing")
    assert block and not block.lines
    assert made.commit
    assert (root / ".git").is_dir()
    assert "state.json" in (root / ".gitignore").read_text()
    assert "merge=union" in (root / ".gitattributes").read_text()


def test_permissions(memory: Memory) -> None:
    assert mode(memory.home.root) == 0o700
    for path in memory.home.root.rglob("*"):
        if ".git" not in path.relative_to(memory.home.root).parts:
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_init_again_leaves_everything_alone(memory: Memory) -> None:
    soul = memory.home.root / "knowledge/identity/SOUL.md"
    soul.write_text("I am Silas.")
    (memory.home.root / "topics/release-day.md").unlink()
    made = memory.init()
    assert made.created == ("topics/release-day.md",)
    assert "knowledge/identity/SOUL.md" in made.kept
    assert soul.read_text() == "I am Silas."


def test_a_memory_file_that_was_there_gets_markers_and_keeps_its_text(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.memory.parent.mkdir(parents=True)
    home.memory.write_text("# Mine\n\n- a goal")
    Memory(home.root).init()
    text = home.memory.read_text()
    assert text.startswith("# Mine\n\n- a goal")
    block = markdown.block(text, "briefing")
    assert block and not block.lines


def test_a_home_is_found_by_option_then_environment_then_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locate() == Path.home() / ".wakebook"
    monkeypatch.setenv("WAKEBOOK_HOME", str(tmp_path / "env"))
    assert locate() == tmp_path / "env"
    assert locate("~/x") == Path.home() / "x"


def test_without_a_home_every_verb_says_what_to_do(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "nowhere")
    for verb in (memory.wake, memory.notes.brief, memory.audit, memory.status, memory.catch_up):
        with pytest.raises(NotInitialised, match="wakebook setup"):
            verb()
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WakebookError, match="is a file"):
        Memory(tmp_path / "file").init()


def test_the_written_config_is_valid_and_says_the_defaults(memory: Memory) -> None:
    text = memory.home.config.read_text()
    assert config.load(memory.home.config) == config.Config()
    uncommented = "\n".join(
        line.removeprefix("# ") if " = " in line else line for line in text.splitlines()
    )
    named = {name: list(values) for name, values in tomllib.loads(uncommented).items()}
    defaults = config.Config().values().items()
    assert named == {name: list(section.values()) for name, section in defaults}
    assert all(config.meanings(name).keys() == set(keys) for name, keys in named.items())
    memory.home.config.write_text(uncommented)
    assert config.load(memory.home.config) == config.Config()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[captur]\n", "did you mean 'capture'"),
        ("[capture]\nidle_minuts = 3\n", "did you mean 'idle_minutes'"),
        ("[capture]\nidle_minutes = 'x'\n", "expected int"),
        ("[capture]\nidle_minutes = 0\n", "must be between 1"),
        ("[capture]\nidle_minutes = true\n", "expected int"),
        ("[hosts]\nplain = 'x'\n", "list of strings"),
        ("capture = 3\n", "is a section"),
        ("[capture\n", "not valid TOML"),
        ("[pruning]\nttl_ms = 90000000\n", r"ttl_ms: must be between 1 and 86,400,000, got 9"),
        ("[pruning]\nttl_ms = 0\n", "must be between 1 and 86,400,000"),
        ("[capture]\nidle_minutes = 3600000\n", "must be between 1 and 1,000,000"),
        ("[context]\nbudget = 0\n", r"\[context\] budget: must be between 1 and 1,000,000, got 0"),
        ("[context]\nbudget = 2e3\n", r"\[context\] budget: expected int, got 2000.0"),
        ("[context]\nfixed_share = 1.5\n", r"fixed_share: expected a number from 0 to 1, got 1.5"),
        ("[context]\nhistory_share = '1'\n", r"history_share: expected a number from 0 to 1"),
        ("[context]\nhave = 'memory'\n", r"have: expected a list of strings"),
        ("[context]\nhave = ['memories']\n", r"have: unknown 'memories'; did you mean 'memory'"),
        ("[context]\nhave = ['x']\n", r"unknown 'x'; known: identity, memory, handoff, journal"),
        ("[context]\nbudgets = 1\n", r"unknown setting 'budgets' in \[context\]; did you mean"),
        ("[topics]\nsimilarity_threshold = -0.1\n", r"expected a number from 0 to 1, got -0.1"),
        ("[topics]\nstrict_threshold = true\n", r"strict_threshold: expected a number"),
        ("[topics]\ngate_seconds = 0\n", r"\[topics\] gate_seconds: must be between 1"),
        ("[topics]\nfired_hours = 0.5\n", r"\[topics\] fired_hours: expected int, got 0.5"),
        ("[topic]\n", "did you mean 'topics'"),
    ],
)
def test_a_mistake_in_the_config_is_named(memory: Memory, text: str, complaint: str) -> None:
    memory.home.config.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        memory.config  # noqa: B018


def test_settings_of_contexts_topics_and_pruning_are_taken(memory: Memory) -> None:
    memory.home.config.write_text(
        "[pruning]\nttl_ms = 3600000\n"  # an hour
        '[context]\nbudget = 2000\nfixed_share = 1\nhave = ["identity", "memory"]\n'
        "[topics]\nstrict_threshold = 0\nfired_hours = 48\n"
    )
    found = Memory(memory.home.root).config
    assert found.pruning.ttl_ms == 3_600_000 and found.context.have == ("identity", "memory")
    assert (found.context.budget, found.context.fixed_share) == (2000, 1.0)
    assert (found.topics.strict_threshold, found.topics.fired_hours) == (0.0, 48)
    assert found.topics.similarity_threshold == config.Topics().similarity_threshold


def test_what_a_killed_process_left_is_swept_up_everywhere(memory: Memory) -> None:
    folders = ("", "topics", "topics/deep", "knowledge/people", "raw", "archive", ".cache")
    left = [memory.home.root / folder / ".wakebook-x1.tmp" for folder in folders]
    for path in left:
        memory.home.folder(path.parent)
        path.write_text("half")
    memory.catch_up()
    assert [path for path in left if path.exists()] == []


def test_the_lock_keeps_a_second_writer_out_and_dies_with_its_holder(memory: Memory) -> None:
    script = (
        "import sys; from wakebook.base.home import Home; home = Home(sys.argv[1])\n"
        "with home.locked():\n print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(memory.home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout and holder.stdin
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(Locked, match="Another process"), memory.home.locked(seconds=0.05):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    holder.stdin.close()
    with memory.home.locked(seconds=5):
        pass


def test_the_lock_is_re_entrant(memory: Memory) -> None:
    with memory.home.locked(), memory.home.locked(seconds=0.05):
        pass


def test_replace_is_whole_or_not_at_all(memory: Memory) -> None:
    path = memory.home.root / "x.txt"
    memory.home.replace(path, "old")
    seen: set[str] = set()
    stop = threading.Event()

    def reader() -> None:
        while not stop.is_set():
            seen.add(path.read_text())

    thread = threading.Thread(target=reader)
    thread.start()
    for _ in range(50):
        memory.home.replace(path, "new" * 10000)
        memory.home.replace(path, "old")
    stop.set()
    thread.join()
    assert seen <= {"old", "new" * 10000}
    assert not list(memory.home.root.glob(".*.tmp"))


class Synced:
    """Notes what is forced to the disk, and what a reader of `path` sees at that moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls: list[tuple[str, bytes, bytes]] = []

    def __call__(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        seen = self.path.read_bytes() if self.path.exists() else b""
        if stat.S_ISDIR(found.st_mode):
            assert found.st_ino == self.path.parent.stat().st_ino
            self.calls.append(("folder", b"", seen))
        else:
            written = next(
                one.read_bytes()
                for one in self.path.parent.iterdir()
                if one.stat().st_ino == found.st_ino
            )
            self.calls.append(("file", written, seen))
        os.fsync(descriptor)


def test_a_replaced_file_is_on_the_disk_before_its_name_and_its_name_after(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"old")
    synced = Synced(path)
    Home(tmp_path, sync=synced).replace(path, "new")
    assert synced.calls == [("file", b"new", b"old"), ("folder", b"", b"new")]


def test_an_appended_line_is_on_the_disk_unless_it_need_not_be(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"one\n")
    synced = Synced(path)
    home = Home(tmp_path, sync=synced)
    home.append(path, b"two\n")
    home.append(path, b"three\n", durable=False)
    assert synced.calls == [("file", b"one\ntwo\n", b"one\ntwo\n")]
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_what_is_cut_off_a_torn_file_is_cut_off_on_the_disk(tmp_path: Path) -> None:
    synced = Synced(tmp_path / "log.jsonl")
    synced.path.write_bytes(b'{"id": "half')
    assert log.set_torn_aside(Home(tmp_path, sync=synced))
    assert synced.calls[-1] == ("file", b"", b"")
    synced = Synced(tmp_path / "chat.jsonl")
    synced.path.write_bytes(b'{"wakebook":1}\n{"id": "ha')
    home = Home(tmp_path, sync=synced)
    home.state.write_text("{}")
    PlainFile(home, synced.path, {}).append([{"id": "1", "role": "user", "content": "Hello"}])
    cut, added = synced.calls
    assert cut[1] == b'{"wakebook":1}\n' and added[1].startswith(cut[1] + b'{"id":"1"')


def test_a_home_forces_its_files_to_the_disk_unless_a_test_looks_on(memory: Memory) -> None:
    assert memory.home.sync is os.fsync and Home(memory.home.root).sync is os.fsync


READ_ONLY = """
import sys
from wakebook import Memory
memory = Memory(sys.argv[1])
print("lagoon" in memory.wake())
try:
    memory.remember("x")
except OSError as error:
    print(error.strerror)
"""


def test_a_read_only_home_wakes_and_says_why_it_cannot_write(memory: Memory) -> None:
    memory.remember("Deploy to lagoon", type_="task")
    root = str(memory.home.root)
    command = [sys.executable, "-c", READ_ONLY, root]
    if os.geteuid() == 0:  # root ignores permissions: mount it read-only for the child alone
        mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", mount, "sh", root, *command]
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            pytest.skip("root without the right to mount: a read-only home cannot be made here")
    else:
        for path in memory.home.root.rglob("*"):
            path.chmod(0o500 if path.is_dir() else 0o400)
        memory.home.root.chmod(0o500)
    done = subprocess.run(command, capture_output=True, text=True)
    memory.home.root.chmod(0o700)
    shown, refused = done.stdout.splitlines()
    assert shown == "True"
    assert refused in ("Read-only file system", "Permission denied")
