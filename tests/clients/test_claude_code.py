"""Wakebook in the real Claude Code, against a scripted model on loopback."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import clients
from tests.clients.anthropic import Anthropic, Asked, Hang, Text, Use
from tests.clients.wired import end_service
from tests.journeys.command import run, run_json
from wakebook import Memory
from wakebook.hosts.claude_code import FILES

QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
)
TOOL = "mcp__plugin_wakebook_wakebook__"
OPEN = "<wakebook-memory>"
FIRST = "We decided to use Postgres for the ledger."
SECOND = "Actually, let's use SQLite for the ledger instead of Postgres."
WIKI = "We decided to host the wiki in Oslo."
# What the client writes by itself when it runs (session-env: for each session with a start hook).
ITS_OWN = (
    ".cache/", ".claude.json", ".claude/.last-cleanup", ".claude/backups/",
    ".claude/mcp-needs-auth-cache.json", ".claude/plugins/store/", ".claude/projects/",
    ".claude/session-env/", ".claude/sessions/",
)  # fmt: skip


class Desk:
    """A user with Claude Code, a project and a Wakebook home; nothing is connected yet."""

    def __init__(self, folder: Path, server: Anthropic) -> None:
        self.server = server
        self.user = Path.home()
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()

    def connect(self) -> None:
        self.wakebook("init")
        self.wakebook("init", "--host", "claude-code", "--yes")

    def wakebook(self, *arguments: str, code: int = 0) -> str:
        return run("--home", str(self.home), *arguments, code=code)

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["claude", *arguments],
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def claude(self, *arguments: str) -> str:
        process = self.command(*arguments)
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, out + error
        return out

    def say(self, prompt: str, *options: str) -> dict[str, Any]:
        """One turn, with the model's requests in server.asked."""
        self.server.forget()
        found = json.loads(self.claude("-p", prompt, "--output-format", "json", *options))
        assert isinstance(found, dict)
        self.settle()
        return found

    def settle(self) -> None:
        """Until nothing is done behind the host's back."""
        (self.home / ".cache").mkdir(parents=True, exist_ok=True)
        lock = os.open(self.home / ".cache" / "behind.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.close(lock)

    def told(self, asked: Asked | None = None) -> str:
        """What Wakebook has put into a request."""
        text = (asked or self.server.asked[0]).text
        parts = text.split(OPEN)[1:]
        return "\n".join(part.partition("</wakebook-memory>")[0] for part in parts)

    def entries(self) -> list[dict[str, Any]]:
        lines = (self.home / "log.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def contents(self, kind: str) -> list[str]:
        return [one["content"] for one in self.entries() if one["type"] == kind]

    def audit(self) -> dict[str, Any]:
        found = run_json("--home", str(self.home), "audit")
        assert isinstance(found, dict)
        return found

    def hook(self, event: str, **payload: Any) -> str:
        known = {"session_id": "s-1", "transcript_path": "", "cwd": str(self.project)}
        text = json.dumps(known | {"hook_event_name": event} | payload)
        return run("hook", "claude-code", event, "--home", str(self.home), stdin=text)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "claude").symlink_to(clients.claude())
    for name in [name for name in os.environ if name.startswith("CLAUDE")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("WAKEBOOK_NOW")  # the client writes real times
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    for name in QUIET:
        monkeypatch.setenv(name, "1")
    with Anthropic() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        yield (found := Desk(tmp_path, server))
        end_service(found.home)


@pytest.fixture
def wired(desk: Desk) -> Desk:
    desk.connect()
    return desk


# --- one session after the other ---------------------------------------------------------


def test_a_third_session_knows_the_correction_of_the_second(wired: Desk) -> None:
    wired.server.script(Text("Good: the ledger goes to Postgres."))
    first = wired.say(FIRST)
    assert wired.contents("decision") == [FIRST]
    wired.server.script(Text("Understood, SQLite it is."))
    second = wired.say(SECOND)
    assert FIRST in wired.told()  # it knew the first
    wired.say("Where were we?")
    told = wired.told()
    assert f"Session: {second['session_id']}" in told
    assert first["session_id"] not in told
    assert SECOND in told
    for line in told.splitlines():  # the replaced one only as such
        marked = any(mark in line for mark in ("instead of Postgres", "Was:", "since replaced"))
        assert marked or "Postgres" not in line, line
    assert wired.audit()["unaccounted"] == 0


def test_a_resumed_session_is_not_told_again(wired: Desk) -> None:
    wired.say(FIRST)
    session = wired.say("How are you today?")["session_id"]
    assert wired.told()
    wired.say("And now?", "--resume", session)
    requests = wired.server.asked[0].text
    assert requests.count("## Last Session Handoff") == 1


def test_the_model_can_search(wired: Desk) -> None:
    wired.say(FIRST)
    wired.server.script(
        Use(f"{TOOL}memory_search", {"query": "which database for the ledger"}), Text("Postgres.")
    )
    found = wired.say("What did we choose?", "--allowedTools", f"{TOOL}memory_search")
    assert f"{TOOL}memory_search" in wired.server.asked[0].tools  # not deferred
    assert FIRST in _snippets(wired.server.asked[1])
    assert found["result"] == "Postgres."
    assert not found["permission_denials"]


def test_what_was_remembered_by_tool_is_there_next_time(wired: Desk) -> None:
    kept = {"text": "The staging server is called heron", "type": "fact"}
    wired.server.script(Use(f"{TOOL}remember", kept), Text("Kept."))
    wired.say("Please keep the server's name.", "--allowedTools", f"{TOOL}remember")
    assert "heron" in "\n".join(wired.contents("fact"))
    wired.say("What is the staging server called?")
    assert "heron" in wired.told()


def _snippets(asked: Asked) -> list[str]:
    """What the model reads of a search, without the marks of what fits."""
    (result,) = asked.results
    return [one["snippet"].replace("**", "") for one in json.loads(result)["results"]]


# --- compaction, forks, machines ---------------------------------------------------------


def test_a_compaction_loses_nothing(wired: Desk) -> None:
    session = wired.say(FIRST)["session_id"]
    wired.say(WIKI, "--resume", session)
    summary = "<analysis>a</analysis><summary>They talked about databases.</summary>"
    wired.server.script(Text(summary))
    wired.say("/compact keep it short", "--resume", session)
    decided = wired.contents("decision")
    assert {FIRST, WIKI} <= set(decided)
    assert len(decided) == len(set(decided))
    wired.say("We decided to name the ledger service Otter.", "--resume", session)
    assert FIRST in wired.told()  # it was told anew
    assert wired.audit()["unaccounted"] == 0
    flushed = Memory(wired.home).home.traces("flushed")
    assert [one["session"] for one in flushed if session in str(one["session"])]
    assert "databases" not in json.dumps(wired.entries())  # the summary is nobody's words


def test_a_fork_doubles_nothing(wired: Desk) -> None:
    session = wired.say(FIRST)["session_id"]
    forked = wired.say(WIKI, "--resume", session, "--fork-session")
    assert forked["session_id"] != session
    assert sorted(wired.contents("decision")) == [WIKI, FIRST]
    assert wired.audit()["unaccounted"] == 0


def test_what_nobody_typed_gets_no_context(wired: Desk) -> None:
    wired.say(FIRST)
    asked = "Which database does the ledger use?"
    assert "Postgres" in wired.hook("UserPromptSubmit", prompt=asked)
    note = f"<task-notification>\n<summary>{asked}</summary>\n</task-notification>"
    assert wired.hook("UserPromptSubmit", prompt=note) == ""
    assert wired.hook("UserPromptSubmit", prompt=asked, agent_id="a6eaee12a1a815c92") == ""
    assert wired.hook("SessionStart", source="resume") == ""
    assert wired.hook("SubagentStop", agent_id="a6eaee12a1a815c92", agent_type="") == ""


def test_a_subagent_is_told_nothing_and_says_nothing(wired: Desk) -> None:
    wired.say(FIRST)
    job = "We decided to use Postgres for the ledger. Which rivers flow through Oslo?"
    task = {"description": "rivers", "prompt": job, "subagent_type": "general-purpose"}
    wired.server.script(Use("Agent", task))
    wired.say("Ask somebody about rivers.")
    own = [one for one in wired.server.asked if "Ask somebody" not in one.text]
    assert len(own) == 1  # the subagent's
    assert OPEN not in own[0].text
    last = [one for one in wired.server.asked if "Ask somebody" in one.text][-1]
    assert "<task-notification>" in last.text
    assert last.text.count(OPEN) == wired.server.asked[0].text.count(OPEN) > 0
    assert wired.contents("decision") == [FIRST]
    assert wired.audit()["unaccounted"] == 0


def test_a_big_memory_arrives_whole(wired: Desk) -> None:
    memory = Memory(wired.home)
    for number in range(150):
        text = f"The gauge {number} of the ledger stands in hall {number % 7}, behind the pump"
        memory.remember(text, type_="decision" if number % 2 else "fact", pinned=number % 3 == 0)
    notes = wired.home / "knowledge" / "memory" / "MEMORY.md"
    own = "\n".join(f"- The user likes note {number} about lighthouses" for number in range(900))
    notes.write_text(f"# Memory\n\n{own}\n\n{notes.read_text()}", encoding="utf-8")
    wired.say("Where does gauge 42 of the ledger stand?")
    asked = wired.server.asked[0].text
    blocks = [OPEN + part for part in asked.split(OPEN)[1:]]
    assert len(blocks) == 2  # of the start and of the prompt
    for block in blocks:
        inside, closing, _ = block.partition("</wakebook-memory>")
        assert closing  # not cut
        assert len(inside + closing) <= 9_900
    assert "gauge 42 " in blocks[1]
    assert "lighthouses" in blocks[0]
    assert "tool-results" not in asked  # where the client puts what is too long


# --- crashes -----------------------------------------------------------------------------


def test_a_client_that_is_killed_loses_nothing(wired: Desk) -> None:
    session = wired.say(FIRST)["session_id"]
    wired.server.forget()
    wired.server.script(Hang())
    process = wired.command("-p", WIKI, "--resume", session)
    wired.server.wait(1)
    (file,) = (wired.user / ".claude" / "projects").rglob(f"{session}.jsonl")
    _until(lambda: _said("wiki in Oslo", file))  # the client writes late
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    wired.settle()
    wired.say("Hello again.")
    _until(lambda: WIKI in wired.contents("decision"))  # swept up at its start
    assert wired.audit()["unaccounted"] == 0


def test_a_service_that_is_killed_is_not_missed(wired: Desk) -> None:
    service = subprocess.Popen(
        [sys.executable, "-m", "wakebook", "--home", str(wired.home), "serve", "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        _until((wired.home / ".cache" / "service.json").exists, service)
        session = wired.say(FIRST)["session_id"]
        _until(lambda: FIRST in wired.contents("decision"), service)
    finally:
        service.kill()
        service.wait()
    assert (wired.home / ".cache" / "service.json").exists()  # it could not clean up
    wired.say(WIKI, "--resume", session)
    wired.say("What is the ledger on?")
    assert FIRST in wired.told()
    assert WIKI in wired.contents("decision")
    assert wired.audit()["unaccounted"] == 0


@pytest.mark.parametrize("program", ["sleep 60", "exit 1", "echo '{broken'; exit 3", "nowhere"])
def test_hooks_that_fail_never_block_the_client(wired: Desk, program: str) -> None:
    """Whatever stands where Wakebook should be: the turn goes on."""
    hooks = wired.home / "hosts" / "claude-code" / "plugins" / "wakebook" / "hooks" / "hooks.json"
    content = json.loads(hooks.read_text(encoding="utf-8"))
    for groups in content["hooks"].values():
        for hook in groups[0]["hooks"]:
            hook |= {"command": program, "timeout": 1}
    hooks.write_text(json.dumps(content), encoding="utf-8")
    wired.server.script(Text("Here I am."))
    assert wired.say("Are you there?")["result"] == "Here I am."
    assert "{broken" not in wired.server.asked[0].text


def test_a_home_that_is_gone_never_blocks_the_client(wired: Desk) -> None:
    shutil.move(wired.home / "config.toml", wired.home / "elsewhere.toml")
    assert wired.say("Are you there?")["result"] == "Noted."


def test_a_project_cannot_get_between(wired: Desk) -> None:
    """Hooks and tools are started in the project's folder; its modules are not Wakebook's."""
    for name in ("json", "select", "msgspec", "wakebook"):
        (wired.project / f"{name}.py").write_text("raise SystemExit('not this one')")
    wired.say(FIRST)
    wired.server.script(Use(f"{TOOL}memory_search", {"query": "ledger"}), Text("Postgres."))
    wired.say("What is the ledger on?", "--allowedTools", f"{TOOL}memory_search")
    assert FIRST in wired.told()
    assert FIRST in _snippets(wired.server.asked[1])


# --- the plugin itself -------------------------------------------------------------------


def test_the_client_finds_the_shipped_folder_valid(desk: Desk) -> None:
    assert "Validation passed" in desk.claude("plugin", "validate", str(FILES))
    plugin = str(FILES / "plugins" / "wakebook")
    assert "Validation passed" in desk.claude("plugin", "validate", "--strict", plugin)


def test_the_client_finds_the_written_folder_valid(wired: Desk) -> None:
    folder = wired.home / "hosts" / "claude-code"
    assert "Validation passed" in wired.claude("plugin", "validate", str(folder))
    plugin = str(folder / "plugins" / "wakebook")
    assert "Validation passed" in wired.claude("plugin", "validate", "--strict", plugin)
    (listed,) = json.loads(wired.claude("plugin", "list", "--json"))
    assert listed["id"] == "wakebook@wakebook"
    assert listed["enabled"] is True
    assert listed["readFromFolder"] == plugin


def test_slash_commands(wired: Desk) -> None:
    session = wired.say(FIRST)["session_id"]
    wired.say("/wakebook:status")
    assert str(wired.home) in wired.server.asked[0].text  # what the command printed
    wired.say("/wakebook:handoff the ledger", "--resume", session)
    assert "!`" not in wired.server.asked[0].text
    assert "Now get the next session ready. the ledger" in wired.server.asked[0].text
    for name in ("recall", "forget"):
        wired.say(f"/wakebook:{name} the colour of the boat")
        assert "the colour of the boat" in wired.server.asked[0].text
    wired.server.script(Use(f"{TOOL}remember", {"text": "The boat is painted green"}))
    kept = wired.say("/wakebook:remember the boat is painted green")
    assert not kept["permission_denials"]  # the command allows its tools
    assert "The boat is painted green" in wired.contents("fact")
    assert wired.contents("decision") == [FIRST]


# --- in and out --------------------------------------------------------------------------


def _tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, and every folder."""
    return {
        path.relative_to(folder).as_posix() + ("/" if path.is_dir() else ""): (
            None if path.is_dir() else path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
    }


def _ours(tree: dict[str, bytes | None]) -> dict[str, bytes | None]:
    return {name: data for name, data in tree.items() if not name.startswith(ITS_OWN)}


def _undo(desk: Desk) -> None:
    desk.wakebook("init", "--host", "claude-code", "--undo", "--yes")


def test_undo_leaves_every_byte_as_it_was(desk: Desk) -> None:
    desk.say("Hello.")  # a client that was used before: it has written what it writes
    settings = desk.user / ".claude" / "settings.json"
    settings.write_text('{"theme":   "dark",\n"permissions": {"allow": ["Read"]}}')
    before = _tree(desk.user)
    desk.connect()
    assert "wakebook@wakebook" in settings.read_text()
    _undo(desk)
    assert _tree(desk.user) == before


def test_undo_after_connecting_twice(desk: Desk) -> None:
    desk.say("Hello.")
    settings = desk.user / ".claude" / "settings.json"
    settings.write_text('{"theme":   "dark"}')
    before = _tree(desk.user)
    desk.connect()
    desk.wakebook("init", "--host", "claude-code", "--yes")
    (listed,) = json.loads(desk.claude("plugin", "list", "--json"))
    assert listed["enabled"] is True
    _undo(desk)
    assert _tree(desk.user) == before
    desk.wakebook("init", "--host", "claude-code", "--undo", code=9)  # there is nothing left


def test_doctor_finds_nothing_wrong(wired: Desk) -> None:
    wired.say(FIRST)
    found = run_json("--home", str(wired.home), "doctor", "--host", "claude-code")
    mine = [one for one in found["checks"] if one["group"] == "claude-code"]
    assert {one["state"] for one in mine} == {"ok"}
    assert len(mine) == 5


def test_undo_in_a_new_place(desk: Desk) -> None:
    """The client has never run: its state file is all that is left."""
    before = _tree(desk.user)
    desk.connect()
    _undo(desk)
    assert _ours(_tree(desk.user)).keys() - before.keys() <= {".claude/"}


def test_undo_after_sessions(desk: Desk) -> None:
    desk.say("Hello.")
    settings = desk.user / ".claude" / "settings.json"
    settings.write_text('{"theme":   "dark"}')
    before = _ours(_tree(desk.user))
    desk.connect()
    desk.say(FIRST)
    _undo(desk)
    assert _ours(_tree(desk.user)) == before
    state = json.loads((desk.user / ".claude.json").read_text())
    assert "wakebook@wakebook" not in state.get("pluginUsage", {})
    desk.say("Hello.")
    assert OPEN not in desk.server.asked[0].text
    assert FIRST.rstrip(".") not in desk.server.asked[0].text


def test_undo_keeps_what_the_user_changed_meanwhile(desk: Desk) -> None:
    settings = desk.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"theme": "dark"}')
    desk.connect()
    changed = json.loads(settings.read_text()) | {"theme": "light", "model": "opus"}
    settings.write_text(json.dumps(changed))
    _undo(desk)
    assert json.loads(settings.read_text()) == {"theme": "light", "model": "opus"}


def test_a_chosen_config_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = desk.user / "elsewhere"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(chosen))
    desk.connect()
    assert not (desk.user / ".claude").exists()
    desk.say(FIRST)
    assert desk.contents("decision") == [FIRST]
    assert desk.audit()["unaccounted"] == 0
    _undo(desk)
    assert not (chosen / "settings.json").exists()
    assert not (chosen / "plugins" / "cache").exists()


def _said(words: str, file: Path) -> bool:
    """Whether somebody's words stand in a transcript as a message; not only in its queue."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return any(words in line and '"type":"user"' in line for line in lines)


def _until(done: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    for _ in range(1200):
        if done():
            return
        assert process is None or process.poll() is None
        time.sleep(0.05)
    raise AssertionError("it never came")
