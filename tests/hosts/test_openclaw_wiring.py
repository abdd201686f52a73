"""What `init --host openclaw` plans, takes out again and checks; no gateway is needed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from wakebook import Memory, WakebookError
from wakebook.hosts import json5, openclaw, wiring
from wakebook.hosts.plan import Where, Wires

PLAIN = {
    "gateway": {"mode": "local", "port": 18789},
    "agents": {"defaults": {"model": {"primary": "fake/fake-1"}}},
    "plugins": {"entries": {"browser": {"enabled": True}}},
}
COMMENTED = """// my own settings
{
  gateway: { mode: 'local', port: 18789 }, // do not change
  "agents": {
    "defaults": {
      "workspace": "~/.openclaw/workspace",
      /* the good one */
      "model": {"primary": "fake/fake-1"},
    },
  },
  "plugins": {
    "allow": ["browser"],
    "load": {"paths": ["/opt/other"]},
    "entries": {
      "browser": {"enabled": true}, // I like it
      "memory-core": {"config": {"dreaming": {"enabled": true}}},
    },
    // the end
  },
}
"""


def _where(memory: Memory, **env: str) -> Where:
    home = memory.home.root
    return Where(
        home=home,
        command=(sys.executable, "-m", "wakebook"),
        user=Path.home(),
        env={"PATH": ""} | env,
        folder=home / "hosts" / "openclaw",
    )


def _config(text: str) -> Path:
    path = Path.home() / ".openclaw" / "openclaw.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return path


def _planned(memory: Memory, text: str, **env: str) -> dict[str, Any]:
    """The values of openclaw.json, as they will be."""
    path = _config(text)
    change = openclaw.plan(_where(memory, **env)).changes[0]
    assert (change.path, change.before) == (path, text.encode())
    assert change.after is not None
    values: dict[str, Any] = json5.read(change.after.decode())
    return values


# --- the plan ----------------------------------------------------------------------------


def test_the_plan_takes_the_slot_and_switches_off_what_remembers_twice(memory: Memory) -> None:
    values = _planned(memory, json.dumps(PLAIN, indent=2))
    plugins = values["plugins"]
    folder = str(memory.home.root / "hosts" / "openclaw")
    assert plugins["load"] == {"paths": [folder]}
    assert plugins["slots"] == {"memory": "wakebook"}
    assert plugins["entries"]["memory-core"] == {"enabled": False}
    assert plugins["entries"]["browser"] == {"enabled": True}
    assert plugins["entries"]["wakebook"] == {
        "enabled": True,
        "hooks": {"allowConversationAccess": True, "allowPromptInjection": True},
        "config": {
            "command": [sys.executable, "-m", "wakebook"],
            "home": str(memory.home.root),
            "lend": True,
        },
    }
    assert values["agents"]["defaults"]["compaction"] == {"memoryFlush": {"enabled": False}}
    assert values["agents"]["defaults"]["model"] == {"primary": "fake/fake-1"}
    assert "hooks" not in values
    assert "allow" not in plugins


def test_a_model_of_its_own_is_not_lent_another(memory: Memory) -> None:
    memory.home.config.write_text('[models]\nmain = "ollama/qwen3:8b"\n')
    values = _planned(memory, json.dumps(PLAIN))
    assert values["plugins"]["entries"]["wakebook"]["config"]["lend"] is False


def test_only_what_is_ours_changes_in_a_file_with_comments(memory: Memory) -> None:
    path = _config(COMMENTED)
    change = openclaw.plan(_where(memory)).changes[0]
    assert change.after is not None
    after = change.after.decode()
    ours = ("allow", "paths", "memory-core")
    kept = [line for line in COMMENTED.splitlines() if not any(one in line for one in ours)]
    rest = iter(after.splitlines())
    assert [line for line in kept if line not in rest] == []  # all there, and in this order
    values = json5.read(after)
    assert values["plugins"]["allow"] == ["browser", "wakebook"]
    assert values["plugins"]["load"]["paths"] == ["/opt/other", str(_where(memory).folder)]
    core = values["plugins"]["entries"]["memory-core"]
    assert core == {"config": {"dreaming": {"enabled": True}}, "enabled": False}
    notes = " ".join(openclaw.plan(_where(memory)).notes)
    assert "comments" in notes
    assert path.read_bytes() == COMMENTED.encode()  # a plan changes nothing


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}\n",
        "{\n}\n",
        '{"gateway":{"mode":"local"}}',
        '{\r\n\t"gateway": {\r\n\t\t"mode": "local"\r\n\t}\r\n}\r\n',
        '\ufeff{\n    "gateway": {"mode": "local"}\n}',
        '{"agents": {"defaults": {"compaction": {}}},\n "plugins": {"entries": {}}}',
        COMMENTED,
    ],
)
def test_unusual_formatting_is_kept(memory: Memory, text: str) -> None:
    before = json5.read(text)
    values = _planned(memory, text)
    assert values["plugins"]["slots"]["memory"] == "wakebook"
    assert values.get("gateway") == before.get("gateway")
    after = (openclaw.plan(_where(memory)).changes[0].after or b"").decode()
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in after) == ("\r\n" in text)
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in text
    assert json5.commented(text.removeprefix("\ufeff")) or json.loads(after.removeprefix("\ufeff"))


def test_the_hook_that_saves_sessions_is_switched_off_where_it_is_on(memory: Memory) -> None:
    entries = {"session-memory": {"enabled": True, "messages": 20}, "command-logger": {}}
    values = _planned(memory, json.dumps({"hooks": {"internal": {"entries": entries}}}))
    after = values["hooks"]["internal"]["entries"]
    assert after["session-memory"] == {"enabled": False, "messages": 20}
    assert after["command-logger"] == {}


def test_planned_twice_is_planned_once(memory: Memory) -> None:
    path = _config(json.dumps(PLAIN, indent=2))
    (Path.home() / ".openclaw" / "workspace").mkdir()
    wiring.wire(memory, "openclaw", _plan(memory))
    once = path.read_bytes()
    assert openclaw.plan(_place(memory)).changes == ()
    wiring.wire(memory, "openclaw", _plan(memory))
    assert path.read_bytes() == once


def _place(memory: Memory) -> Where:
    return wiring.where(memory, "openclaw")


def _plan(memory: Memory) -> Wires:
    """As `init` makes it, without the commands: no gateway runs here."""
    plan = openclaw.plan(_place(memory))
    return Wires(changes=plan.changes, files=plan.files, settings=plan.settings, notes=plan.notes)


# --- where things are --------------------------------------------------------------------


def test_openclaw_is_found_where_its_environment_says(memory: Memory, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "openclaw.json").write_text("{}")
    plan = openclaw.plan(_where(memory, OPENCLAW_STATE_DIR=str(state)))
    assert plan.changes[0].path == state / "openclaw.json"
    assert plan.settings["hosts.openclaw"] == ["~/.openclaw", str(state)]
    assert plan.settings["briefing.memory_file"] == str(state / "workspace" / "MEMORY.md")
    elsewhere = tmp_path / "mine.json5"
    elsewhere.write_text("{agents: {defaults: {workspace: '${DESK}/claw'}}}")
    env = {"OPENCLAW_CONFIG_PATH": str(elsewhere), "DESK": str(tmp_path)}
    plan = openclaw.plan(_where(memory, **env))
    assert plan.changes[0].path == elsewhere
    assert plan.settings == {
        "briefing.memory_file": str(tmp_path / "claw" / "MEMORY.md"),
        "mounts.notes": [str(tmp_path / "claw" / "memory")],
    }
    (tmp_path / "service" / ".openclaw").mkdir(parents=True)
    moved = tmp_path / "service" / ".openclaw" / "openclaw.json"
    moved.write_text("{}")
    plan = openclaw.plan(_where(memory, OPENCLAW_HOME=str(tmp_path / "service")))
    assert plan.changes[0].path == moved


def test_openclaw_prunes_by_our_settings_unless_it_has_its_own(memory: Memory) -> None:
    with memory.home.config.open("a") as stream:
        stream.write('\n[pruning]\nttl_ms = 600000\ntools_deny = ["read"]\n')
    text = memory.home.config.read_text()
    memory.home.config.write_text(text.replace("[pruning]\n#", "#", 1))
    where = _where(Memory(memory.home.root))
    path = _config("{}")
    values = json5.read((openclaw.plan(where).changes[0].after or b"").decode())
    placeholder = "[Old tool result content cleared]"
    assert values["agents"]["defaults"]["contextPruning"] == {
        "mode": "cache-ttl",
        "ttl": "10m",
        "hardClear": {"enabled": True, "placeholder": placeholder},
        "tools": {"deny": ["read"]},
    }
    wiring.wire(memory, "openclaw", openclaw.plan(where))
    path.write_text(path.read_text().replace("{", '{"mine": 1,', 1))  # changed since
    wiring.unwire(memory, "openclaw")
    assert json5.read(path.read_text()) == {"mine": 1}
    own = '{"agents": {"defaults": {"contextPruning": {"mode": "off"}}}}'
    values = _planned(memory, own)
    assert values["agents"]["defaults"]["contextPruning"] == {"mode": "off"}


def test_a_memory_in_small_letters_is_taken_along(memory: Memory) -> None:
    _config("{}")
    workspace = Path.home() / ".openclaw" / "workspace"
    workspace.mkdir()
    (workspace / "memory.md").write_text("# Mine\n\nThe user is called Ada Quill.\n")
    plan = openclaw.plan(_where(memory))
    wiring.wire(memory, "openclaw", plan)
    text = (workspace / "MEMORY.md").read_text()
    assert text.startswith("# Mine\n\nThe user is called Ada Quill.\n")
    assert "BRIEFING" in text and not (workspace / "memory.md").exists()
    assert openclaw.plan(_where(memory)).changes == ()
    wiring.unwire(memory, "openclaw")
    assert [path.name for path in workspace.iterdir()] == ["memory.md"]
    assert "Ada Quill" in (workspace / "memory.md").read_text()


def test_a_single_agent_that_was_chosen_stays_the_only_one(memory: Memory) -> None:
    _config("{}")
    memory.home.config.write_text('[hosts]\nopenclaw = ["~/.openclaw/agents/main"]\n')
    assert "hosts.openclaw" not in openclaw.plan(_where(memory)).settings


def test_memory_md_gets_the_place_of_the_briefing_at_its_end(memory: Memory) -> None:
    _config("{}")
    desk = Path.home() / ".openclaw" / "workspace"
    assert len(openclaw.plan(_where(memory)).changes) == 1  # OpenClaw has not made it yet
    assert any(f"no workspace {desk} yet" in note for note in openclaw.plan(_where(memory)).notes)
    desk.mkdir()
    assert not any("no workspace" in note for note in openclaw.plan(_where(memory)).notes)
    (desk / "MEMORY.md").write_text("# Mine\n\nThe user is called Ada.\n")
    change = openclaw.plan(_where(memory)).changes[1]
    assert change.path == desk / "MEMORY.md"
    assert change.after is not None
    assert change.after.decode().startswith("# Mine\n\nThe user is called Ada.\n\n<!-- BEGIN")
    (desk / "MEMORY.md").write_bytes(change.after)
    assert len(openclaw.plan(_where(memory)).changes) == 1


def test_the_briefing_job_is_added_by_the_hosts_own_command(memory: Memory, tmp_path: Path) -> None:
    _config("{}")
    program = tmp_path / "openclaw"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    plan = openclaw.plan(_where(memory, PATH=str(tmp_path)))
    (command,) = plan.commands
    assert command[:3] == (str(program), "cron", "add")
    argv = json.loads(command[command.index("--command-argv") + 1])
    assert argv[-3:] == ["--home", str(memory.home.root), "brief"]
    assert command[command.index("--declaration-key") + 1] == "wakebook-briefing"
    assert len(plan.undo_commands) == 1
    bare = openclaw.plan(_where(memory))
    assert bare.commands == ()
    assert any(note.startswith("openclaw cron add") for note in bare.notes)
    assert any('"atHour": 5' in note for note in bare.notes)  # suggested, and only that


def test_the_briefing_job_goes_with_the_wiring(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _config("{}")
    jobs = {"jobs": [{"id": "7", "declarationKey": "wakebook-briefing"}, {"id": "8"}]}
    program, log = tmp_path / "openclaw", tmp_path / "log"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {log}\necho '{json.dumps(jobs)}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    wiring.wire(memory, "openclaw", openclaw.plan(_place(memory)))
    record = _place(memory).folder / "wired.json"  # as an earlier version wrote it
    moved = '"wakebook.hosts.openclaw"', '"wakebook.adapters.hosts.openclaw_cron"'
    assert moved[0] in record.read_text()
    record.write_text(record.read_text().replace(*moved))
    assert wiring.unwire(memory, "openclaw") == []
    assert log.read_text().splitlines()[1:] == ["cron list --all --json", "cron rm 7"]


# --- what is wrong -----------------------------------------------------------------------


def test_no_configuration_is_said_and_none_is_made(memory: Memory) -> None:
    with pytest.raises(WakebookError, match="openclaw onboard"):
        openclaw.plan(_where(memory))
    assert not (Path.home() / ".openclaw").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "gateway": {\n', "line 3"),
        ('{"a": 1 "b": 2}', "a comma or }"),
        ("[1, 2]", "an object is expected"),
        ("", "a value is missing"),
        ('{"plugins": []}', "plugins is no object"),
        ('{"plugins": {"slots": "x"}}', "plugins.slots is no object"),
        ("{" * 500, "line 1"),
    ],
)
def test_a_broken_file_is_left_alone(memory: Memory, text: str, said: str) -> None:
    path = _config(text)
    with pytest.raises(WakebookError) as refused:
        openclaw.plan(_where(memory))
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_text() == text


# --- and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [json.dumps(PLAIN, indent=2), COMMENTED, '{"a":1}', "{}\n"])
def test_undo_gives_the_very_bytes_back(memory: Memory, text: str) -> None:
    path = _config(text)
    settings = memory.home.config.read_bytes()
    note = Path.home() / ".openclaw" / "workspace" / "MEMORY.md"
    note.parent.mkdir()
    note.write_text("# Mine\n")
    wiring.wire(memory, "openclaw", _plan(memory))
    assert path.read_bytes() != text.encode()
    assert b"BEGIN GENERATED BRIEFING" in note.read_bytes()
    assert b"workspace/MEMORY.md" in memory.home.config.read_bytes()
    assert wiring.unwire(memory, "openclaw") == []
    assert path.read_bytes() == text.encode()
    assert note.read_bytes() == b"# Mine\n"
    assert memory.home.config.read_bytes() == settings
    assert not _place(memory).folder.exists()


@pytest.mark.parametrize("text", [json.dumps(PLAIN, indent=2), COMMENTED])
def test_undo_keeps_what_the_user_has_changed_since(memory: Memory, text: str) -> None:
    path = _config(text)
    wiring.wire(memory, "openclaw", _plan(memory))
    mine = json5.put(path.read_text(), ("gateway", "port"), 19001)
    mine = json5.put(mine, ("plugins", "entries", "telegram"), {"enabled": True})
    mine = json5.put(mine, ("plugins", "entries", "wakebook", "llm"), {"allowModelOverride": True})
    path.write_text(mine)
    notes = wiring.unwire(memory, "openclaw")
    assert any("only our part was taken out" in note for note in notes)
    wanted = json5.put(text, ("gateway", "port"), 19001)
    wanted = json5.put(wanted, ("plugins", "entries", "telegram"), {"enabled": True})
    assert json5.read(path.read_text()) == json5.read(wanted)
    if text == COMMENTED:
        for words in ("// my own settings", "/* the good one */", "// I like it", "// the end"):
            assert words in path.read_text()


def test_undo_leaves_a_slot_that_somebody_else_has_now(memory: Memory) -> None:
    path = _config(json.dumps(PLAIN, indent=2))
    wiring.wire(memory, "openclaw", _plan(memory))
    mine = json5.put(path.read_text(), ("plugins", "slots", "memory"), "memory-lancedb")
    path.write_text(json5.put(mine, ("plugins", "entries", "memory-core", "enabled"), True))
    wiring.unwire(memory, "openclaw")
    plugins = json5.read(path.read_text())["plugins"]
    assert plugins["slots"] == {"memory": "memory-lancedb"}
    assert plugins["entries"] == {"browser": {"enabled": True}, "memory-core": {"enabled": True}}


def test_undo_takes_a_briefing_out_of_memory_md(memory: Memory) -> None:
    _config("{}")
    note = Path.home() / ".openclaw" / "workspace" / "MEMORY.md"
    note.parent.mkdir()
    note.write_text("# Mine\n\nThe user is called Ada.\n")
    wiring.wire(memory, "openclaw", _plan(memory))
    memory = Memory(memory.home.root)
    memory.remember("The launch is on 21 November")
    memory.notes.brief()
    assert "21 November" in note.read_text()
    note.write_text(note.read_text() + "And she likes tea.\n")
    wiring.unwire(memory, "openclaw")
    assert note.read_text() == "# Mine\n\nThe user is called Ada.\nAnd she likes tea.\n"


# --- doctor ------------------------------------------------------------------------------


def _states(memory: Memory, where: Where | None = None) -> dict[str, str]:
    found = openclaw.checks(where or _place(memory), memory)
    return {check.name.removeprefix("openclaw "): check.state for check in found}


def test_doctor_says_nothing_where_openclaw_is_not(memory: Memory) -> None:
    assert _states(memory) == {}


def test_doctor_sees_an_openclaw_that_is_not_connected(memory: Memory) -> None:
    _config("{}")
    assert _states(memory) == {"plugin": "note"}


def test_doctor_is_content_with_what_init_did(memory: Memory) -> None:
    _config(json.dumps(PLAIN, indent=2))
    wiring.wire(memory, "openclaw", _plan(memory))
    wanted = dict.fromkeys(("plugin", "memory slot", "hooks", "sessions"), "ok")
    assert _states(Memory(memory.home.root)) == wanted | {"workspace": "note"}
    (Path.home() / ".openclaw" / "workspace").mkdir()
    assert _states(Memory(memory.home.root)) == wanted


@pytest.mark.parametrize(
    ("place", "value", "check", "state"),
    [
        (("plugins", "slots", "memory"), "memory-core", "memory slot", "fail"),
        (("plugins", "entries", "wakebook", "enabled"), False, "plugin", "fail"),
        (("plugins", "entries", "wakebook", "hooks"), {}, "hooks", "fail"),
        (("plugins", "entries", "wakebook", "config", "home"), "/elsewhere", "plugin", "warn"),
        (("plugins", "entries", "memory-core", "enabled"), True, "memory-core", "warn"),
        (("plugins", "load", "paths"), [], "plugin", "fail"),
        (("plugins", "deny"), ["wakebook"], "plugin", "fail"),
        (("plugins", "allow"), ["browser"], "plugin", "fail"),
        (("plugins", "enabled"), False, "plugin", "fail"),
        (("agents", "defaults", "compaction", "memoryFlush", "enabled"), True, "memory flush",
         "note"),
        (("hooks", "internal", "entries", "session-memory"), {}, "session-memory", "note"),
    ],
)  # fmt: skip
def test_doctor_sees(
    memory: Memory, place: tuple[str, ...], value: Any, check: str, state: str
) -> None:
    path = _config(json.dumps(PLAIN, indent=2))
    wiring.wire(memory, "openclaw", _plan(memory))
    path.write_text(json5.put(path.read_text(), place, value))
    found = {
        one.name.removeprefix("openclaw "): one for one in openclaw.checks(_place(memory), memory)
    }
    assert found[check].state == state
    assert found[check].run.startswith("wakebook init --host openclaw") or place[1] == "deny"


def test_doctor_sees_another_version_and_a_broken_file(memory: Memory) -> None:
    path = _config(json.dumps(PLAIN, indent=2))
    wiring.wire(memory, "openclaw", _plan(memory))
    index = _place(memory).folder / "index.js"
    index.write_bytes(index.read_bytes() + b"// changed\n")
    assert _states(memory)["plugin"] == "warn"
    index.unlink()
    assert _states(memory)["plugin"] == "warn"
    path.write_text("{")
    assert _states(memory) == {"settings": "fail"}


def test_doctor_sees_a_plugin_with_tools_of_the_same_name(memory: Memory) -> None:
    path = _config(json.dumps(PLAIN, indent=2))
    wiring.wire(memory, "openclaw", _plan(memory))
    other = Path.home() / ".openclaw" / "extensions" / "other"
    other.mkdir(parents=True)
    manifest = {"id": "other", "contracts": {"tools": ["memory_search", "weather"]}}
    (other / "openclaw.plugin.json").write_text(json.dumps(manifest))
    assert _states(memory)["tools"] == "warn"
    off = json5.put(path.read_text(), ("plugins", "entries", "other"), {"enabled": False})
    path.write_text(off)
    assert "tools" not in _states(memory)


def test_doctor_counts_sessions_that_are_behind(memory: Memory) -> None:
    _config(json.dumps(PLAIN, indent=2))
    wiring.wire(memory, "openclaw", _plan(memory))
    sessions = Path.home() / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    said = {"role": "user", "content": [{"type": "text", "text": "The launch is on 14 November."}]}
    head = {"type": "session", "version": 3, "id": "abc", "timestamp": "2026-11-08T10:00:00Z"}
    line = {"type": "message", "id": "m1", "timestamp": "2026-11-08T10:00:01Z", "message": said}
    (sessions / "abc.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(line)}\n")
    memory = Memory(memory.home.root)
    assert _states(memory)["sessions"] == "warn"
    memory.catch_up(closing=True)
    assert _states(memory)["sessions"] == "ok"


def test_session_settings_are_suggested_and_not_applied(memory: Memory) -> None:
    path = _config(json.dumps(PLAIN, indent=2))
    plan = _plan(memory)
    suggested = next(note for note in plan.notes if "not applied" in note)
    for words in ('"mode": "daily"', '"atHour": 5', '"idleMinutes": 360', '"idleMinutes": 180'):
        assert words in suggested, words
    wiring.wire(memory, "openclaw", plan)
    assert "session" not in json.loads(path.read_text())
