"""What `init --host claude-code` plans, takes out again and checks; no client is needed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from wakebook import Memory, WakebookError
from wakebook.hosts import claude_code
from wakebook.hosts.plan import Where
from wakebook.upkeep.doctor import Check
from wakebook.version import __version__

PLUGIN = "wakebook@wakebook"
EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"]
INSIDE = "plugins/wakebook"


def _where(memory: Memory, **changes: Any) -> Where:
    home = memory.home.root
    known: dict[str, Any] = {
        "home": home,
        "command": (sys.executable, "-m", "wakebook"),
        "user": Path.home(),
        "env": {"PATH": ""},
        "folder": home / "hosts" / "claude-code",
    }
    return Where(**(known | changes))


def _claude(folder: Path) -> dict[str, str]:
    """An environment in which there is a `claude`."""
    folder.mkdir(exist_ok=True)
    program = folder / "claude"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    return {"PATH": str(folder)}


def _json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


# --- the plan ----------------------------------------------------------------------------


def test_the_plan_installs_with_the_clients_own_commands(memory: Memory, tmp_path: Path) -> None:
    where = _where(memory, env=_claude(tmp_path / "bin"))
    plan = claude_code.plan(where)
    claude = str(tmp_path / "bin" / "claude")
    assert plan.commands == (
        (claude, "plugin", "marketplace", "add", str(where.folder)),
        (claude, "plugin", "install", PLUGIN),
    )
    assert plan.undo_commands == (
        (claude, "plugin", "uninstall", PLUGIN),
        (claude, "plugin", "marketplace", "remove", "wakebook"),
    )
    assert Path.home() / ".claude" / "settings.json" in plan.touched
    assert not plan.changes
    assert not plan.settings


def test_without_the_client_the_notes_say_what_to_run(memory: Memory) -> None:
    plan = claude_code.plan(_where(memory))
    assert not plan.commands
    assert not plan.undo_commands
    folder = memory.home.root / "hosts" / "claude-code"
    assert f"claude plugin marketplace add {folder}" in plan.notes
    assert f"claude plugin install {PLUGIN}" in plan.notes
    assert f"{INSIDE}/hooks/hooks.json" in plan.files


def test_every_hook_names_this_wakebook_and_this_home(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "a home, 'quoted'")
    memory.init()
    where = _where(memory, command=("/opt/my tools/python", "-m", "wakebook"))
    files = claude_code.plan(where).files
    hooks = json.loads(files[f"{INSIDE}/hooks/hooks.json"])["hooks"]
    assert list(hooks) == EVENTS
    for event, groups in hooks.items():
        (hook,) = groups[0]["hooks"]
        assert hook["type"] == "command"
        assert shlex.split(hook["command"]) == [
            "/opt/my tools/python", "-m", "wakebook", "hook", "claude-code", event,
            "--home", str(memory.home.root),
        ]  # fmt: skip
    server = json.loads(files[f"{INSIDE}/.mcp.json"])["mcpServers"]["wakebook"]
    assert server == {
        "command": "/opt/my tools/python",
        "args": ["-m", "wakebook", "mcp", "--home", str(memory.home.root)],
        "alwaysLoad": True,
    }


def test_the_client_waits_longer_than_a_hook_works(memory: Memory) -> None:
    def timeouts() -> set[int]:
        files = claude_code.plan(_where(memory)).files
        hooks = json.loads(files[f"{INSIDE}/hooks/hooks.json"])["hooks"]
        return {hook["timeout"] for groups in hooks.values() for hook in groups[0]["hooks"]}

    assert timeouts() == {5}
    memory.home.config.write_text("[hooks]\nseconds = 7.5\n", encoding="utf-8")
    assert timeouts() == {11}


def test_slash_commands_run_this_wakebook_without_asking(tmp_path: Path) -> None:
    memory = Memory(tmp_path / 'a "home"')
    memory.init()
    where = _where(memory, command=("/opt/python", "-m", "wakebook"))
    files = claude_code.plan(where).files
    text = files[f"{INSIDE}/commands/status.md"].decode()
    line = shlex.join(["/opt/python", "-m", "wakebook", "--home", str(memory.home.root), "status"])
    assert f"!`{line} || true`" in text
    import yaml

    front = yaml.safe_load(text.split("---")[1])
    assert front["allowed-tools"] == [f"Bash({line}:*)"]
    assert "!`wakebook" not in "".join(
        data.decode() for name, data in files.items() if "/commands/" in name
    )


def test_the_shipped_folder_is_whole() -> None:
    names = {p.relative_to(claude_code.FILES).as_posix() for p in claude_code.FILES.rglob("*.*")}
    assert {
        ".claude-plugin/marketplace.json",
        f"{INSIDE}/.claude-plugin/plugin.json",
        f"{INSIDE}/.mcp.json",
        f"{INSIDE}/hooks/hooks.json",
        f"{INSIDE}/skills/wakebook/SKILL.md",
        f"{INSIDE}/commands/remember.md",
        f"{INSIDE}/commands/recall.md",
        f"{INSIDE}/commands/handoff.md",
        f"{INSIDE}/commands/status.md",
        f"{INSIDE}/commands/forget.md",
    } <= names
    manifest = claude_code.FILES / INSIDE / ".claude-plugin" / "plugin.json"
    assert json.loads(manifest.read_text())["version"] == __version__


def test_a_chosen_config_folder_is_used_and_read(memory: Memory, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    plan = claude_code.plan(_where(memory, env={"PATH": "", "CLAUDE_CONFIG_DIR": str(chosen)}))
    assert all(chosen in path.parents for path in plan.touched)
    sessions = str(chosen / "projects")
    assert plan.settings == {"hosts.claude_code": ["~/.claude/projects", sessions]}
    memory.home.config.write_text(f'[hosts]\nclaude_code = ["{sessions}"]\n', encoding="utf-8")
    again = claude_code.plan(_where(memory, env={"PATH": "", "CLAUDE_CONFIG_DIR": str(chosen)}))
    assert not again.settings


@pytest.mark.parametrize("text", ["{broken", "[]", '"text"'])
@pytest.mark.parametrize(
    "name", ["settings.json", "plugins/known_marketplaces.json", "plugins/installed_plugins.json"]
)
def test_a_file_that_nobody_understands_stops_it(memory: Memory, name: str, text: str) -> None:
    path = Path.home() / ".claude" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(WakebookError, match="nothing was changed"):
        claude_code.plan(_where(memory))


def test_switched_off_hooks_are_told_before(memory: Memory) -> None:
    _json(Path.home() / ".claude" / "settings.json", {"disableAllHooks": True})
    assert "disableAllHooks" in claude_code.plan(_where(memory)).notes[0]


# --- taking our part out -----------------------------------------------------------------

MARKET = {"source": {"source": "directory", "path": "/somewhere"}}


@pytest.mark.parametrize(
    ("name", "content", "left"),
    [
        (
            "settings.json",
            {
                "theme": "däm",
                "enabledPlugins": {PLUGIN: True, "other@x": True},
                "extraKnownMarketplaces": {"wakebook": MARKET},
            },
            {"theme": "däm", "enabledPlugins": {"other@x": True}},
        ),
        (
            "settings.json",
            {"enabledPlugins": {PLUGIN: False}, "extraKnownMarketplaces": {"wakebook": MARKET}},
            None,
        ),
        ("settings.json", {"theme": "dark", "enabledPlugins": {}}, {"theme": "dark"}),
        ("plugins/known_marketplaces.json", {"wakebook": MARKET, "x": {}}, {"x": {}}),
        ("plugins/known_marketplaces.json", {"wakebook": MARKET}, None),
        ("plugins/installed_plugins.json", {"version": 2, "plugins": {PLUGIN: [{}]}}, None),
        (
            "plugins/installed_plugins.json",
            {"version": 2, "plugins": {PLUGIN: [{}], "other@x": [{}]}},
            {"version": 2, "plugins": {"other@x": [{}]}},
        ),
    ],
)
def test_only_our_part_is_taken_out(
    memory: Memory, name: str, content: Any, left: dict[str, Any] | None
) -> None:
    data = (json.dumps(content, ensure_ascii=False) + "\n").encode()
    path = Path.home() / ".claude" / name
    found = claude_code.without(_where(memory), path, data)
    assert (json.loads(found) if found else None) == left
    if found:
        assert found.endswith(b"}\n")
        assert "\\u" not in found.decode()


def test_taking_out_of_a_broken_file_says_so(memory: Memory) -> None:
    with pytest.raises(WakebookError, match=r"settings\.json"):
        claude_code.without(_where(memory), Path("settings.json"), b"{broken")


# --- what doctor sees --------------------------------------------------------------------


def _wired(memory: Memory, **changes: Any) -> Where:
    """As `init` and the client leave it."""
    where = _where(memory, **changes)
    for name, data in claude_code.plan(where).files.items():
        path = where.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    folder = Path.home() / ".claude"
    _json(folder / "settings.json", {"enabledPlugins": {PLUGIN: True}})
    market = {"installLocation": str(where.folder)}
    _json(folder / "plugins" / "known_marketplaces.json", {"wakebook": market})
    place = {"scope": "user", "installPath": str(folder / "plugins" / "cache" / "wakebook")}
    plugins = {"version": 2, "plugins": {PLUGIN: [place]}}
    _json(folder / "plugins" / "installed_plugins.json", plugins)
    return where


def _found(where: Where, memory: Memory) -> dict[str, Check]:
    return {one.name.removeprefix("claude-code "): one for one in claude_code.checks(where, memory)}


def test_a_good_wiring_is_all_green(memory: Memory) -> None:
    found = _found(_wired(memory), memory)
    assert {name: one.state for name, one in found.items()} == dict.fromkeys(
        ("plugin", "command", "hooks", "tools", "sessions"), "ok"
    )


def test_nothing_is_said_where_there_is_no_claude(memory: Memory) -> None:
    assert claude_code.checks(_where(memory), memory) == []


def test_a_client_that_is_not_connected(memory: Memory, tmp_path: Path) -> None:
    (one,) = claude_code.checks(_where(memory, env=_claude(tmp_path / "bin")), memory)
    assert (one.state, one.run) == ("note", "wakebook init --host claude-code")


def test_a_plugin_that_was_never_installed(memory: Memory) -> None:
    where = _wired(memory)
    (Path.home() / ".claude" / "plugins" / "installed_plugins.json").unlink()
    assert _found(where, memory)["plugin"].state == "fail"


def test_a_disabled_plugin(memory: Memory) -> None:
    where = _wired(memory)
    _json(Path.home() / ".claude" / "settings.json", {"enabledPlugins": {PLUGIN: False}})
    one = _found(where, memory)["plugin"]
    assert (one.state, one.run) == ("fail", f"claude plugin enable {PLUGIN}")


def test_a_plugin_of_another_home(memory: Memory, tmp_path: Path) -> None:
    where = _wired(memory)
    market = {"installLocation": str(tmp_path / "other")}
    _json(Path.home() / ".claude" / "plugins" / "known_marketplaces.json", {"wakebook": market})
    one = _found(where, memory)["plugin"]
    assert one.state == "warn"
    assert str(tmp_path / "other") in one.said


def test_a_plugin_of_another_version(memory: Memory) -> None:
    where = _wired(memory)
    manifest = where.folder / INSIDE / ".claude-plugin" / "plugin.json"
    _json(manifest, json.loads(manifest.read_text()) | {"version": "0.0.1"})
    assert "0.0.1" in _found(where, memory)["plugin"].said


def test_a_folder_that_is_gone(memory: Memory) -> None:
    import shutil

    where = _wired(memory)
    shutil.rmtree(where.folder)
    one = _found(where, memory)["plugin"]
    assert one.state == "fail"
    assert "gone" in one.said


def test_a_removed_environment(memory: Memory, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "python"
    where = _wired(memory, command=(str(python), "-m", "wakebook"))
    one = _found(where, memory)["command"]
    assert (one.state, one.run) == ("fail", "wakebook init --host claude-code")
    assert str(python) in one.said


def test_an_environment_without_wakebook(memory: Memory, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named wakebook' >&2\nexit 1\n")
    python.chmod(0o755)
    where = _wired(memory, command=(str(python), "-m", "wakebook"))
    assert _found(where, memory)["command"].state == "ok"  # it is the one that asks
    one = _found(_where(memory), memory)["command"]
    assert one.state == "fail"
    assert f"{python} -m wakebook" in one.said


def test_hooks_for_another_home(memory: Memory, tmp_path: Path) -> None:
    where = _wired(memory)
    hooks = where.folder / INSIDE / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text().replace(str(where.home), str(tmp_path / "other")))
    assert _found(where, memory)["command"].state == "warn"


def test_hooks_that_are_switched_off(memory: Memory) -> None:
    where = _wired(memory)
    settings = {"enabledPlugins": {PLUGIN: True}, "disableAllHooks": True}
    _json(Path.home() / ".claude" / "settings.json", settings)
    assert _found(where, memory)["hooks"].state == "fail"


def test_another_plugin_with_the_same_tool(memory: Memory, tmp_path: Path) -> None:
    where = _wired(memory)
    other = tmp_path / "other"
    other.mkdir()
    (other / "server.py").write_text('TOOLS = ["memory_search"]')
    folder = Path.home() / ".claude"
    installed = folder / "plugins" / "installed_plugins.json"
    content = json.loads(installed.read_text())
    content["plugins"]["other@x"] = [{"installPath": str(other)}]
    _json(installed, content)
    assert _found(where, memory)["tools"].state == "ok"  # it is not enabled
    _json(folder / "settings.json", {"enabledPlugins": {PLUGIN: True, "other@x": True}})
    one = _found(where, memory)["tools"]
    assert one.state == "warn"
    assert "other@x" in one.said


@pytest.mark.parametrize("of_a_project", [False, True])
def test_another_server_with_the_same_tool(memory: Memory, of_a_project: bool) -> None:
    where = _wired(memory)
    servers = {"mcpServers": {"mine": {"command": "wakebook", "args": ["mcp"]}}}
    state = {"projects": {"/somewhere": servers}} if of_a_project else servers
    _json(Path.home() / ".claude.json", state)
    one = _found(where, memory)["tools"]
    assert one.state == "warn"
    assert "mine" in one.said


def test_sessions_that_are_behind(memory: Memory, projects: Path) -> None:
    where = _wired(memory)
    line = {
        "type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1", "promptSource": "sdk",
        "timestamp": "2026-11-09T07:00:00Z", "message": {"role": "user", "content": "Hello there."},
    }  # fmt: skip
    (projects / "s1.jsonl").write_text(json.dumps(line) + "\n")
    one = _found(where, memory)["sessions"]
    assert (one.state, one.run) == ("warn", "wakebook catch-up")
    memory.catch_up()
    assert _found(where, memory)["sessions"].state == "ok"


def test_a_broken_settings_file_is_one_failure(memory: Memory) -> None:
    where = _wired(memory)
    (Path.home() / ".claude" / "settings.json").write_text("{broken")
    (one,) = claude_code.checks(where, memory)
    assert one.state == "fail"
    assert "settings.json" in one.said
