"""OpenClaw's sessions and files, with the real gateway: it runs before Wakebook is connected.

One life again: `init` while the gateway runs, its own model, a topic that a tool call brings, two
idle rollovers under one key, a typed /new, notes that were there before; and back.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.clients.models import Asked, Completions, Text, Use
from tests.clients.openclaw_home import MAIN, Claw
from tests.clients.test_openclaw import READS, _reply, _turns
from tests.clients.test_steering import HINT, WROTE
from tests.story import STYLE

MINE = "# About me\n\nThe user is called Ada Quill.\n"
NOTE = "# Tuesday\n\nThe lighthouse keeper is called Orla.\n"
IDLE = 66  # seconds: an idle session ends after a minute


def test_a_gateway_that_runs_during_init(tmp_path: Path) -> None:
    with Completions(_reply) as model, Claw(tmp_path, model.url) as claw:
        settings = json.loads(claw.config.read_text())
        settings["session"] = {"reset": {"mode": "idle", "idleMinutes": 1}}
        claw.config.write_text(json.dumps(settings, indent=2) + "\n")
        (claw.workspace / "memory").mkdir()
        (claw.workspace / "memory" / "2026-11-10.md").write_text(NOTE)
        (claw.workspace / "memory.md").write_text(MINE)
        claw.start()
        before = claw.config.read_bytes()
        claw.wakebook("init", "--host", "openclaw", "--yes")
        assert (claw.workspace / "MEMORY.md").read_text().startswith(MINE)
        (claw.home / "topics" / "style.md").write_text(STYLE)
        _is_connected(claw)
        assert "Ada Quill" in _turns(model)[-1].text
        _is_steered(claw, model)
        _rolls_over_twice(claw, model)
        _is_told_new(claw)
        assert "Orla" in claw.wakebook("search", "lighthouse", "keeper")
        claw.wakebook("init", "--host", "openclaw", "--undo")
        assert claw.config.read_bytes() == before
        claw.until(lambda: b"hot reload applied" in claw.said.rpartition(b"wakebook")[0])
        claw.stop()
        said = claw.output.read_text(errors="replace")
        assert "Traceback" not in said and "SQLite objects" not in said


def _is_connected(claw: Claw) -> None:
    """The gateway loads the plugin by itself."""
    for _ in range(10):
        claw.say("The ferry leaves at nine on weekdays.")
        if claw.memory.opened.state().sessions:
            return
    raise AssertionError(claw.output.read_text(errors="replace")[-3000:])


def _is_steered(claw: Claw, model: Completions) -> None:
    model.script(Use("write", {"path": "db/schema.sql", "content": "x"}), Text(WROTE))
    claw.say("Write the schema.")
    (result, *_) = _turns(model)[-1].results
    assert "House style" in result  # below it, while the agent was at work
    claw.say("Go on with the schema.")
    assert HINT in _turns(model)[-1].user


def _open(claw: Claw) -> list[bool]:
    """Whether each session of the key is open, in the order in which they began."""
    return [one.window is not None for one in claw.memory.opened.state().sessions.values()]


def _rolls_over_twice(claw: Claw, model: Completions) -> None:
    for number, colour in enumerate(("red", "blue"), 1):
        time.sleep(IDLE)
        claw.say(f"We decided to paint the boat {colour}.")
        claw.until(lambda number=number: _open(claw) == [*[False] * number, True])  # type: ignore[misc]
        handoffs = claw.contents("handoff")
        assert len(handoffs) == number, handoffs  # at once, and not after six hours
    assert any(_reads(one) for one in model.asked)  # by the gateway's own model
    model.script(Use("memory_search", {"query": "boat colour"}), Text("Blue."))
    claw.say("Which colour has the boat?")  # every hook and tool knows whose key it is
    last = _turns(model)[-1]
    assert "red" in last.results[-1] and "fits" not in last.results[-1]
    assert "Last Session Handoff" in last.user or "boat" in last.user
    trace = claw.home / "trace.jsonl"
    assert not trace.exists() or "fits 2 sessions" not in trace.read_text()


def _reads(asked: Asked) -> bool:
    return asked.system.startswith(READS)


def _is_told_new(claw: Claw) -> None:
    before = len(claw.contents("handoff"))
    claw.type("/new")
    claw.until(lambda: len(claw.contents("handoff")) == before + 1)
    assert claw.memory.turns.kind_of(MAIN) == "main"
