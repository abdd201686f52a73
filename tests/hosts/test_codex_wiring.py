"""What `init --host codex` does to hooks.json and config.toml, and how it is taken back."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command import run, run_json
from wakebook import Memory
from wakebook.base.errors import WakebookError
from wakebook.hosts import codex, wiring

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
THEIRS: dict[str, Any] = {
    "description": "mine",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say stopped", "timeout": 5}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
    },
}
CONFIG = """\
# mine
model = "gpt"   # a remark

[mcp_servers.docs]
command = "docs"
"""


@pytest.fixture
def folder() -> Path:
    found = Path.home() / ".codex"
    found.mkdir()
    return found


@pytest.fixture(autouse=True)
def _nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # no codex on it


def wire(memory: Memory) -> tuple[str, ...]:
    plan = codex.plan(wiring.where(memory, "codex"))
    wiring.wire(memory, "codex", plan)
    return plan.notes


def commands(path: Path, event: str) -> list[str]:
    groups = json.loads(path.read_bytes())["hooks"][event]
    return [hook["command"] for group in groups for hook in group["hooks"]]


def states(memory: Memory) -> dict[str, str]:
    found = codex.checks(wiring.where(memory, "codex"), memory)
    return {check.name: check.state for check in found}


# --- hooks.json ---------------------------------------------------------------------------


def test_new_files(memory: Memory) -> None:
    notes = wire(memory)
    folder, place = Path.home() / ".codex", wiring.where(memory, "codex")
    for event in EVENTS:
        [command] = commands(folder / "hooks.json", event)
        wanted = [*place.hook, "codex", event, "--home", str(memory.home.root)]
        assert shlex.split(command) == wanted
    assert "Trust all and continue" in notes[0]
    server = tomllib.loads((folder / "config.toml").read_text())["mcp_servers"]["wakebook"]
    words = [server["command"], *server["args"]]
    assert words == [*place.command, "mcp", "--home", str(memory.home.root)]
    assert server["default_tools_approval_mode"] == "approve"
    assert server["tools"]["forget"]["approval_mode"] == "prompt"
    wiring.unwire(memory, "codex")
    assert not folder.exists()


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_others_hooks_stay_where_they_are(
    memory: Memory, folder: Path, indent: int | str | None
) -> None:
    path = folder / "hooks.json"
    path.write_text(json.dumps(THEIRS, indent=indent))
    before = path.read_bytes()
    wire(memory)
    after = json.loads(path.read_bytes())
    assert list(after)[:2] == ["description", "hooks"]
    assert after["hooks"]["PreToolUse"] == THEIRS["hooks"]["PreToolUse"]
    assert after["hooks"]["Stop"][0] == THEIRS["hooks"]["Stop"][0]  # first: it keeps its name
    assert len(after["hooks"]["Stop"]) == 2
    assert path.read_text() == json.dumps(after, indent=indent)
    wiring.unwire(memory, "codex")
    assert path.read_bytes() == before


def test_hooks_added_since_stay(memory: Memory, folder: Path) -> None:
    path = folder / "hooks.json"
    path.write_text(json.dumps(THEIRS))
    wire(memory)
    changed = json.loads(path.read_bytes())
    changed["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    changed["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "too"})
    path.write_text(json.dumps(changed))
    wiring.unwire(memory, "codex")
    assert commands(path, "Stop") == ["say stopped", "later"]
    assert commands(path, "SessionStart") == ["too"]
    assert "wakebook" not in path.read_text()


def test_again_changes_nothing(memory: Memory, folder: Path) -> None:
    (folder / "hooks.json").write_text(json.dumps(THEIRS))
    (folder / "config.toml").write_text(CONFIG)
    wire(memory)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    plan = codex.plan(wiring.where(memory, "codex"))
    assert plan.changes == () and plan.notes == ()
    run("init", "--home", str(memory.home.root), "--host", "codex", "--yes")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    run("init", "--home", str(memory.home.root), "--host", "codex", "--undo")
    assert (folder / "config.toml").read_text() == CONFIG
    assert json.loads((folder / "hooks.json").read_text()) == THEIRS


def test_another_home_takes_its_place(memory: Memory, folder: Path, tmp_path: Path) -> None:
    wire(memory)
    before = (folder / "hooks.json").read_bytes()
    other = Memory(tmp_path / "other")
    other.init()
    assert states(other)["codex hooks"] == "fail"
    plan = codex.plan(wiring.where(other, "codex"))
    for change in plan.changes:
        assert change.after and str(other.home.root) in change.after.decode()
        assert str(memory.home.root) not in change.after.decode()
    assert (folder / "hooks.json").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": ["x"]}}',
        '{"hooks": {"Stop": [{"hooks": {}}]}}',
        '{"hooks": {}, "hooks": {"Stop": []}}',
        '{"hooks": {} /* mine */}',
        "\xff",
    ],
)
def test_a_hooks_file_that_nobody_understands(memory: Memory, folder: Path, text: str) -> None:
    path = folder / "hooks.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(WakebookError, match=r"hooks\.json cannot be understood.*Nothing was"):
        codex.plan(wiring.where(memory, "codex"))
    assert path.read_bytes() == text.encode("latin-1")


def test_whose_hook_it_is() -> None:
    ours = [
        "/v/bin/python -m wakebook hook codex Stop --home /h",
        "'/my apps/wakebook' hook codex Stop --home '/my home'",
    ]
    theirs = [
        "wakebook-like hook codex Stop",
        "echo wakebook",
        "wakebook hook claude-code Stop",
        "'",
    ]
    assert all(codex.is_ours({"command": line}) for line in ours)
    assert not any(codex.is_ours({"command": line}) for line in theirs)
    assert not any(codex.is_ours(each) for each in ({}, {"command": 3}, "x", None))


# --- config.toml --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", CONFIG, CONFIG.rstrip("\n"), CONFIG + "\n\n", CONFIG.replace("\n", "\r\n")]
)
def test_a_block_at_the_end(memory: Memory, folder: Path, text: str) -> None:
    path = folder / "config.toml"
    path.write_bytes(text.encode())
    path.chmod(0o640)
    wire(memory)
    assert path.read_bytes().startswith(text.encode())
    values = tomllib.loads(path.read_bytes().decode())
    assert values["mcp_servers"].pop("wakebook")["command"] == sys.executable
    assert values == tomllib.loads(text) | {"mcp_servers": values["mcp_servers"]}
    wiring.unwire(memory, "codex")
    assert path.read_bytes() == text.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.wakebook]\ncommand = "mine"\n',
        '[mcp_servers]\nwakebook.command = "mine"\n',
        'mcp_servers.wakebook.command = "mine"\n',
        'mcp_servers = {wakebook = {command = "mine"}}\n',
        '[mcp_servers]\nwakebook = {command = "mine"}\n',
        'mcp_servers = {docs = {command = "docs"}}\n',
        "model = \n",
        "[a]\n[a]\n",
    ],
)
def test_a_config_that_is_left_alone(memory: Memory, folder: Path, text: str) -> None:
    path = folder / "config.toml"
    path.write_text(text)
    with pytest.raises(WakebookError, match=r"config\.toml .*Nothing was changed\. "):
        codex.plan(wiring.where(memory, "codex"))
    assert path.read_text() == text and not (folder / "hooks.json").exists()


def trusted(hooks: Path, *places: str) -> str:
    lines = [f'\n[hooks.state."{hooks}:{place}"]\ntrusted_hash = "sha256:0"\n' for place in places]
    return "\n[hooks.state]\n" + "".join(lines)


OURS = ("session_start:0:0", "user_prompt_submit:0:0", "pre_compact:0:0", "session_end:0:0")


def test_what_codex_remembers_of_ours_goes_too(memory: Memory, folder: Path) -> None:
    path, hooks = folder / "config.toml", folder / "hooks.json"
    path.write_text(CONFIG)
    hooks.write_text(json.dumps(THEIRS))
    wire(memory)
    path.write_text(path.read_text() + trusted(hooks, "stop:1:0", *OURS))
    wiring.unwire(memory, "codex")
    assert path.read_text() == CONFIG


def test_what_codex_remembers_of_others_stays(memory: Memory, folder: Path) -> None:
    path, hooks = folder / "config.toml", folder / "hooks.json"
    path.write_text(CONFIG + trusted(hooks, "stop:0:0"))
    hooks.write_text(json.dumps(THEIRS))
    wire(memory)
    more = f'\n[hooks.state."{hooks}:stop:1:0"]\ntrusted_hash = "sha256:1"\n\n[tui]\nbell = true\n'
    path.write_text(path.read_text() + more)
    wiring.unwire(memory, "codex")
    assert path.read_text() == CONFIG + trusted(hooks, "stop:0:0") + "\n[tui]\nbell = true\n"


def test_changes_around_the_block_stay(memory: Memory, folder: Path) -> None:
    path = folder / "config.toml"
    path.write_text(CONFIG)
    wire(memory)
    text = path.read_text().replace('model = "gpt"', 'model = "other"')
    path.write_text(
        text.replace("startup_timeout_sec = 20", "startup_timeout_sec = 5") + "\n[tui]\n"
    )
    wiring.unwire(memory, "codex")
    assert path.read_text() == CONFIG.replace("gpt", "other") + "\n[tui]\n"


def test_remarks_of_the_owner_stay(memory: Memory, folder: Path) -> None:
    path = folder / "config.toml"
    path.write_bytes(CONFIG.replace("\n", "\r\n").encode())
    wire(memory)
    after = '\n# the bell\n[tui]  # mine\nbell = true\n\n[mcp_servers.late]\ncommand = "late"\n'
    text = path.read_bytes().decode().replace("startup_timeout_sec = 20", "# slow\nx = 1") + after
    path.write_bytes(text.encode())
    wiring.unwire(memory, "codex")
    left = CONFIG.replace("\n", "\r\n") + "\n# slow\n" + after
    assert path.read_bytes().decode() == left


def test_text_that_only_looks_like_ours(folder: Path) -> None:
    path = folder / "config.toml"
    text = f"note = '''\n{codex.MARK}\n[mcp_servers.wakebook]\n'''\n"
    wired = codex.with_server(path, text.encode(), ("wakebook",), Path("/h"))
    assert wired.startswith(text.encode()) and wired.decode().count(codex.MARK) == 2
    assert codex.without_server(path, wired, ()) == text.encode()


def test_odd_paths(folder: Path) -> None:
    command = ('/a "b"\\c/é\x7f/python', "-m", "wakebook")
    home = Path("/my 'home'\n$x")
    data = codex.with_server(folder / "config.toml", None, command, home)
    server = tomllib.loads(data.decode())["mcp_servers"]["wakebook"]
    assert [server["command"], *server["args"]] == [*command, "mcp", "--home", str(home)]
    data = codex.with_hooks(folder / "hooks.json", None, (*command, "hook"), home)
    line = json.loads(data)["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert shlex.split(line) == [*command, "hook", "codex", "Stop", "--home", str(home)]


# --- where, and checks --------------------------------------------------------------------


def test_a_folder_of_the_users_choice(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    home = str(memory.home.root)
    run("init", "--home", home, "--host", "codex", "--yes")
    assert (tmp_path / "elsewhere" / "hooks.json").exists()
    assert not (Path.home() / ".codex").exists()
    sessions = str(tmp_path / "elsewhere" / "sessions")
    assert Memory(home).config.hosts.codex == ("~/.codex/sessions", sessions)
    run("init", "--home", home, "--host", "codex", "--undo")
    assert Memory(home).config.hosts.codex == ("~/.codex/sessions",)
    assert not (tmp_path / "elsewhere").exists()


def test_checks_without_codex(memory: Memory, folder: Path) -> None:
    assert states(memory) == {"codex": "note"}
    wire(memory)
    wanted = {"codex hooks": "ok", "codex tools": "ok", "codex": "note", "codex sessions": "ok"}
    assert states(memory) == wanted
    (folder / "config.toml").write_text("[features]\nhooks = false\n")
    assert states(memory)["codex tools"] == "fail"
    assert states(memory)["codex hooks"] == "warn"
    (folder / "hooks.json").write_text("{")
    assert states(memory) == {"codex": "fail"}


def test_checks_find_a_command_that_is_gone(memory: Memory, folder: Path) -> None:
    wire(memory)
    for path in (folder / "hooks.json", folder / "config.toml"):
        path.write_text(path.read_text().replace(sys.executable, "/no/python"))
    found = states(memory)
    assert found["codex hooks"] == found["codex tools"] == "fail"


def stand_in(tmp_path: Path, hooks: list[dict[str, Any]], servers: list[dict[str, Any]]) -> str:
    """A `codex` that answers as the real one was seen to."""
    answers = {
        "hooks/list": {"data": [{"hooks": hooks}]},
        "mcpServerStatus/list": {"data": servers},
    }
    path = tmp_path / "bin" / "codex"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "if sys.argv[1] == '--version': print('codex-cli 0.100.0'); sys.exit()\n"
        f"answers = {answers!r}\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'method': 'noise', 'id': 1}), flush=True)\n"
        "    if 'id' in asked:\n"
        "        found = answers.get(asked['method'], {})\n"
        "        print(json.dumps({'id': asked['id'], 'result': found}), flush=True)\n"
    )
    path.chmod(0o755)
    return str(path.parent)


@pytest.mark.parametrize(
    ("status", "enabled", "state"),
    [
        ("trusted", True, "ok"),
        ("managed", True, "ok"),
        ("untrusted", True, "fail"),
        ("modified", True, "fail"),
        ("trusted", False, "warn"),
    ],
)
def test_checks_ask_codex(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, enabled: bool,
    state: str,
) -> None:  # fmt: skip
    wire(memory)
    [line] = commands(Path.home() / ".codex" / "hooks.json", "Stop")
    hook = {"eventName": "stop", "command": line, "trustStatus": status, "enabled": enabled}
    theirs = {"eventName": "stop", "command": "x", "trustStatus": "untrusted", "enabled": True}
    servers = [{"name": "wakebook", "tools": {"memory_search": {}}}]
    place = stand_in(tmp_path, [theirs, hook], servers)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}/usr/bin:/bin")
    found = states(memory)
    assert found["codex trust"] == state
    assert found["codex version"] == "note"  # an old one
    assert found["codex tools"] == "ok"


def test_checks_find_another_memory(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire(memory)
    servers = [{"name": "other", "tools": {"memory_search": {}}}, {"name": "docs", "tools": {}}]
    place = stand_in(tmp_path, [], servers)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}/usr/bin:/bin")
    found = codex.checks(wiring.where(memory, "codex"), memory)
    bad = {(check.name, check.state, check.run) for check in found if check.state != "ok"}
    assert ("codex tools", "warn", "codex mcp remove other") in bad
    assert ("codex trust", "fail", "wakebook init --host codex") in bad  # it sees none of ours
    assert "gets no tools" in " ".join(check.said for check in found)


def test_dry_run_and_json(memory: Memory) -> None:
    home = str(memory.home.root)
    shown = run("init", "--home", home, "--host", "codex", "--dry-run")
    assert "[mcp_servers.wakebook]" in shown and "SessionStart" in shown
    assert not (Path.home() / ".codex").exists()
    found = run_json("init", "--home", home, "--host", "codex", "--dry-run")
    assert found["done"] is False and len(found["changes"]) == 2


def test_undo_leaves_another_home_alone(memory: Memory, tmp_path: Path) -> None:
    other = Memory(tmp_path / "other")
    other.init()
    wire(memory)
    wire(other)
    files = [Path.home() / ".codex" / name for name in ("hooks.json", "config.toml")]
    before = [path.read_bytes() for path in files]
    notes = wiring.unwire(memory, "codex")
    assert [path.read_bytes() for path in files] == before
    assert "another home" in notes[0]
    assert wiring.wired(memory, "codex") is None
