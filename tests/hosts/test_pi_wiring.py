"""What `init --host pi` puts into the extensions folder, and how that is taken back."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command import run
from wakebook import Memory
from wakebook.base.errors import WakebookError
from wakebook.hosts import pi, wiring
from wakebook.hosts.plan import Wires
from wakebook.service import tools


@pytest.fixture(autouse=True)
def _nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # no pi on it


@pytest.fixture
def path() -> Path:
    return Path.home() / ".pi" / "agent" / "extensions" / "wakebook.js"


def wire(memory: Memory) -> tuple[str, ...]:
    plan = pi.plan(wiring.where(memory, "pi"))
    wiring.wire(memory, "pi", plan)
    return plan.notes


def states(memory: Memory) -> dict[str, str]:
    found = pi.checks(wiring.where(memory, "pi"), memory)
    return {check.name: check.state for check in found}


def value(text: str, name: str) -> Any:
    found = re.search(rf"(?m)^const {name} = (.*);$", text)
    assert found
    return json.loads(found[1])


def test_one_file(memory: Memory, path: Path) -> None:
    assert "/reload" in wire(memory)[0]
    text = path.read_text()
    assert value(text, "COMMAND") == list(wiring.where(memory, "pi").command)
    assert value(text, "HOME") == str(memory.home.root)
    assert [tool["name"] for tool in value(text, "TOOLS")] == list(tools.NAMES)
    shipped = pi.SHIPPED.read_text()
    assert len(shipped.splitlines()) <= 130
    assert text.split("\n")[4:] == shipped.split("\n")[4:]  # only the first lines are filled in
    wiring.unwire(memory, "pi")
    assert not (Path.home() / ".pi").exists()


def test_again_changes_nothing(memory: Memory, path: Path) -> None:
    wire(memory)
    before = path.read_bytes()
    assert pi.plan(wiring.where(memory, "pi")) == Wires()
    run("init", "--home", str(memory.home.root), "--host", "pi", "--yes")
    assert path.read_bytes() == before
    run("init", "--home", str(memory.home.root), "--host", "pi", "--undo")
    assert not path.exists()


def test_somebody_elses_file_stays(memory: Memory, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("export default () => {};\n")
    with pytest.raises(WakebookError, match=r"is not ours\. Nothing was changed"):
        pi.plan(wiring.where(memory, "pi"))
    assert pi.without(wiring.where(memory, "pi"), path, path.read_bytes()) == path.read_bytes()


def test_an_edited_file_goes(memory: Memory, path: Path) -> None:
    (path.parent).mkdir(parents=True)
    (path.parent / "mine.js").write_text("export default () => {};\n")
    wire(memory)
    path.write_text(path.read_text() + "\n// a remark\n")
    wiring.unwire(memory, "pi")
    assert [found.name for found in path.parent.iterdir()] == ["mine.js"]


def test_checks(memory: Memory, path: Path) -> None:
    assert states(memory) == {"pi": "note"}
    wire(memory)
    assert states(memory) == {"pi extension": "ok", "pi version": "note", "pi sessions": "ok"}
    text = path.read_text()
    path.write_text(text + "// older\n")
    assert states(memory)["pi extension"] == "note"
    path.write_text(text.replace(sys.executable, "/no/python"))
    assert states(memory)["pi extension"] == "fail"
    path.write_text(text.replace("const HOME = ", 'const HOME = "/other"; // '))
    assert states(memory)["pi extension"] == "fail"


def test_checks_find_another_memory(memory: Memory, path: Path) -> None:
    wire(memory)
    other = path.parent / "other" / "index.ts"
    other.parent.mkdir()
    other.write_text('pi.registerTool({ name: "memory_search" });')
    assert states(memory)["pi tools"] == "warn"


def test_a_folder_of_the_users_choice(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    wire(memory)
    assert (tmp_path / "agent" / "extensions" / "wakebook.js").exists()
    assert not (Path.home() / ".pi").exists()
    found = Memory(memory.home.root).config.hosts.pi
    assert found == ("~/.pi/agent/sessions", str(tmp_path / "agent" / "sessions"))
