"""pi: one extension file in ~/.pi/agent/extensions, which forwards to `wakebook link pi`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.hosts.plan import Change, Where, Wires, behind, check, read, sessions_in, tested
from wakebook.memory import Memory
from wakebook.service import tools
from wakebook.upkeep.doctor import Check

NAME = "pi"
MEASURED = (0, 87, 1)  # the version that this is tested with
SHIPPED = Path(__file__).parent / "pi_files" / "wakebook.js"
MARK = "// Wakebook for pi: put here by `wakebook init --host pi`"


def folder(where: Where) -> Path:
    chosen = where.env.get("PI_CODING_AGENT_DIR", "")
    return Path(chosen).expanduser() if chosen else where.user / ".pi" / "agent"


def extension(where: Where) -> Path:
    return folder(where) / "extensions" / "wakebook.js"


def plan(where: Where) -> Wires:
    path = extension(where)
    before, after = read(path), filled(where)
    if before is not None and not before.decode("utf-8", "replace").startswith(MARK):
        said = f"{path} is there already and is not ours. Nothing was changed."
        raise WakebookError(f"{said} Give it another name, then try again.")
    changes = (Change(path, before, after),) if before != after else ()
    note = "Start pi anew, or type /reload in one that runs."
    chosen = where.env.get("PI_CODING_AGENT_SESSION_DIR", "")
    sessions = Path(chosen).expanduser() if chosen else folder(where) / "sessions"
    own = sessions_in(where, NAME, sessions)
    return Wires(changes=changes, settings=own, notes=(note,) if changes else ())


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """None: the file is ours, whatever was done to it. Another one stays."""
    return None if data.decode("utf-8", "replace").startswith(MARK) else data


def filled(where: Where) -> bytes:
    """The extension, with the command, the home and the tools in its first lines."""
    told = ("name", "label", "description", "parameters")
    offered = [{name: tool[name] for name in told} for tool in tools.LIST]
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
        return [check(NAME, "", "note", "not connected")]
    asked = tested(where, NAME, MEASURED) if where.which(NAME) else None
    asked = asked or Check("pi version", "note", "`pi` is not on the PATH, so it was not asked")
    return [_extension(where, path, text), asked, *_shadowed(where), behind(memory, NAME)]


def _extension(where: Where, path: Path, text: str) -> Check:
    command, home = _value(text, "COMMAND"), _value(text, "HOME")
    state: Any = "fail"
    if not isinstance(command, list) or not command or not isinstance(home, str):
        said = "cannot be understood"
    elif not where.which(str(command[0])):
        said = f"runs {command[0]}, which is not there"
    elif Path(home).expanduser().resolve() != where.home.resolve():
        said = f"is for another home ({home})"
    elif text.encode() != filled(where):
        state, said = "note", "is of another version of Wakebook"
    else:
        state, said = "ok", ""
    return check(NAME, "extension", state, f"{path} {said}".rstrip())


def _value(text: str, name: str) -> Any:
    found = re.search(rf"^const {name} = (.*);$", text, re.M)
    try:
        return json.loads(found[1]) if found else None
    except ValueError:
        return None


def _shadowed(where: Where) -> Iterator[Check]:
    """Other extensions of the user's that have a tool of the same name."""
    for path in sorted((folder(where) / "extensions").glob("**/*.[jt]s")):
        if path == extension(where) or "node_modules" in path.parts:
            continue
        text = (read(path) or b"").decode("utf-8", "replace")
        if re.search(r"""["'](?:memory_search|memory_get)["']""", text):
            said = f"{path} has a memory_search too: only one of the two can win"
            yield Check("pi tools", "warn", said, "")
