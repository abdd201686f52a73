"""pi: one extension file in ~/.pi/agent/extensions, which forwards to `wakebook link pi`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base import config
from wakebook.base.errors import WakebookError
from wakebook.hosts.wiring import Change, Plan, Where, behind, read
from wakebook.service import tools
from wakebook.upkeep.doctor import Check

if TYPE_CHECKING:
    from wakebook.memory import Memory

NAME = "pi"
LABEL = "pi"
MEASURED = (0, 87, 1)  # the version that this is tested with
SHIPPED = Path(__file__).parent / "pi_files" / "wakebook.js"
MARK = "// Wakebook for pi: put here by `wakebook init --host pi`"
AGAIN = f"wakebook init --host {NAME}"


def folder(where: Where) -> Path:
    chosen = where.env.get("PI_CODING_AGENT_DIR", "")
    return Path(chosen).expanduser() if chosen else where.user / ".pi" / "agent"


def extension(where: Where) -> Path:
    return folder(where) / "extensions" / "wakebook.js"


def plan(where: Where) -> Plan:
    path = extension(where)
    before, after = read(path), filled(where)
    if before is not None and not before.decode("utf-8", "replace").startswith(MARK):
        raise WakebookError(
            f"{path} is there already and is not ours. Nothing was changed. "
            "Give it another name, then try again."
        )
    changes = (Change(path, before, after),) if before != after else ()
    note = "Start pi anew, or type /reload in one that runs."
    return Plan(changes=changes, settings=_settings(where), notes=(note,) if changes else ())


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """None: the file is ours, whatever was done to it. Somebody else's stays."""
    return None if data.decode("utf-8", "replace").startswith(MARK) else data


def filled(where: Where) -> bytes:
    """The extension, with the command, the home and the tools in its first lines."""
    offered = [
        {name: tool[name] for name in ("name", "label", "description", "parameters")}
        for tool in tools.LIST
    ]
    values = {"COMMAND": list(where.command), "HOME": str(where.home), "TOOLS": offered}
    lines = SHIPPED.read_text(encoding="utf-8").split("\n")
    for name, value in values.items():
        [at] = [at for at, line in enumerate(lines) if line.startswith(f"const {name} = ")]
        lines[at] = f"const {name} = {json.dumps(value, ensure_ascii=False)};"
    return "\n".join(lines).encode()


def checks(where: Where, memory: Memory) -> list[Check]:
    """Is the extension there, for this home and of this version; is anything behind?"""
    path = extension(where)
    text = (read(path) or b"").decode("utf-8", "replace")
    if not text.startswith(MARK):
        return [Check("pi", "note", "not connected", AGAIN)]
    return [
        _extension(where, path, text),
        *_version(where),
        *_shadowed(where),
        behind(memory, NAME),
    ]


def _extension(where: Where, path: Path, text: str) -> Check:
    command, home = _value(text, "COMMAND"), _value(text, "HOME")
    if not isinstance(command, list) or not command or not isinstance(home, str):
        return Check("pi extension", "fail", f"{path} cannot be understood", AGAIN)
    if not shutil.which(str(command[0]), path=where.env.get("PATH", "")):
        return Check("pi extension", "fail", f"{path} runs {command[0]}, which is not there", AGAIN)
    if Path(home).expanduser().resolve() != where.home.resolve():
        return Check("pi extension", "fail", f"{path} is for another home ({home})", AGAIN)
    if text.encode() != filled(where):
        return Check("pi extension", "note", f"{path} is of another version of Wakebook", AGAIN)
    return Check("pi extension", "ok", str(path))


def _value(text: str, name: str) -> Any:
    found = re.search(rf"^const {name} = (.*);$", text, re.M)
    try:
        return json.loads(found[1]) if found else None
    except ValueError:
        return None


def _version(where: Where) -> Iterator[Check]:
    pi = shutil.which("pi", path=where.env.get("PATH", ""))
    if not pi:
        yield Check("pi version", "note", "`pi` is not on the PATH, so it was not asked")
        return
    try:
        done = subprocess.run(
            [pi, "--version"], env=where.env, capture_output=True, text=True, timeout=20
        )
        said = (done.stdout + done.stderr).strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Check("pi version", "warn", f"`pi --version` failed: {error}")
        return
    number = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if number and tuple(map(int, number.groups())) < MEASURED:
        wanted = ".".join(map(str, MEASURED))
        old = f"{said} is older than {wanted}, with which Wakebook was tested"
        yield Check("pi version", "note", old, "pi update")
    else:
        yield Check("pi version", "ok", said)


def _shadowed(where: Where) -> Iterator[Check]:
    """Other extensions of the user's that have a tool of the same name."""
    for path in sorted((folder(where) / "extensions").glob("**/*.[jt]s")):
        if path == extension(where) or "node_modules" in path.parts:
            continue
        text = (read(path) or b"").decode("utf-8", "replace")
        if re.search(r"""["'](?:memory_search|memory_get)["']""", text):
            said = f"{path} has a memory_search too: only one of the two can win"
            yield Check("pi tools", "warn", said, "")


def _settings(where: Where) -> dict[str, Any]:
    """Where its sessions are, if that is not where we look anyway."""
    chosen = where.env.get("PI_CODING_AGENT_SESSION_DIR", "")
    sessions = Path(chosen).expanduser() if chosen else folder(where) / "sessions"
    known = config.load(where.home / "config.toml").hosts.pi
    if sessions in [config.expand(each) for each in known]:
        return {}
    return {"hosts.pi": [*known, str(sessions)]}
