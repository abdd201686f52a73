"""Wakebook in the real OpenClaw gateway, against a scripted model on loopback.

One life of the gateway, because it takes its time to start: three sessions with a correction, a
tool call, a group, a compaction, the command line and the scheduler; then it is killed in the
middle of a turn and comes back.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.clients.models import Asked, Completions, Hang, Text, Use
from tests.clients.openclaw_home import MAIN, Claw
from tests.lend import listened

MINE = "# About me\n\nThe user is called Ada Quill.\n"
RULES = '[models]\noff = ["extract", "briefing", "contradictions", "commit", "condense", "gate"]\n'
GROUP = "agent:main:telegram:group:-100200"
READS = "You keep the memory"  # how a request begins that reads a conversation


def _reply(asked: Asked) -> str:
    return listened(asked.user) if asked.system.startswith(READS) else "Noted."


def _turns(model: Completions) -> list[Asked]:
    """What the agent asked; not what was asked for us, nor for a summary."""
    return [one for one in model.asked if one.tools]


def _outdated(text: str) -> list[str]:
    """Lines that tell the replaced fact as if it held."""
    lines = [line for line in text.splitlines() if "14 November" in line]
    return [line for line in lines if not re.search(r"no longer holds|Was: ", line)]


def test_a_life_with_openclaw(tmp_path: Path) -> None:
    with Completions(_reply) as model, Claw(tmp_path, model.url) as claw:
        before = claw.config.read_bytes()
        (claw.workspace / "MEMORY.md").write_text(MINE)
        claw.wakebook("init", "--host", "openclaw", "--yes")
        settings = (claw.home / "config.toml").read_text()
        (claw.home / "config.toml").write_text(RULES + settings.replace("[models]\n", "", 1))
        claw.start()
        _three_sessions(claw, model)
        _a_tool_call(claw, model)
        _a_group(claw, model)
        _a_compaction(claw, model)
        _the_command_line_and_the_scheduler(claw)
        _killed_in_the_middle_of_a_turn(claw, model)
        claw.stop()
        assert _is_accounted_for(claw)
        (claw.home / "config.toml").write_text(settings)
        claw.start()
        _its_own_model_reads(claw, model)
        claw.wakebook("init", "--host", "openclaw", "--undo")
        assert claw.config.read_bytes() == before
        assert (claw.workspace / "MEMORY.md").read_text() == MINE
        assert "wakebook-briefing" not in claw.openclaw("cron", "list", "--all", "--json")
        claw.stop()


def _three_sessions(claw: Claw, model: Completions) -> None:
    claw.say("The launch is on 14 November. Remind me to book the pier.")
    claw.reset()
    claw.until(lambda: len(claw.contents("handoff")) == 1)
    claw.say("No, actually the launch is on 21 November. We decided to use SQLite for the ledger.")
    claw.reset()
    claw.until(lambda: len(claw.contents("handoff")) == 2)
    claw.say("Good morning! Where were we with the launch?")
    first = _turns(model)[-1]
    assert "Last Session Handoff" in first.user
    assert "21 November" in first.user
    assert _outdated(first.text) == []
    assert first.text.count("The user is called Ada Quill.") == 1  # by OpenClaw, and only by it
    assert {"memory_search", "memory_get", "remember", "forget"} <= set(first.tools)
    sessions = {entry.session for entry in claw.memory.log.chains().entries}
    assert len(sessions) == 1  # OpenClaw keeps the session's id; we told the windows apart


def _a_tool_call(claw: Claw, model: Completions) -> None:
    model.script(Use("memory_search", {"query": "launch date", "type": "fact"}), Text("The 21st."))
    claw.say("Please look it up.")
    (result,) = _turns(model)[-1].results
    found = json.loads(result)["results"]
    assert [one["type"] for one in found] == ["fact"]
    assert "21" in found[0]["snippet"]
    assert _outdated(found[0]["snippet"]) == []


def _a_group(claw: Claw, model: Completions) -> None:
    model.script(Use("memory_search", {"query": "launch date"}), Text("I may not say."))
    claw.say("When is the launch?", GROUP)
    last = _turns(model)[-1]
    assert "Ada Quill" not in last.text
    assert "21 November" not in last.text
    (result,) = last.results
    assert "21" not in result


def _a_compaction(claw: Claw, model: Completions) -> None:
    claw.say("I prefer uv over pip.")
    done = claw.call("sessions.compact", key=MAIN)
    assert '"compacted": true' in done
    assert any("uv" in content for content in claw.contents())  # before it was compacted
    claw.say("What did I prefer?")
    assert "uv" in _turns(model)[-1].user
    claw.until(lambda: _is_accounted_for(claw))


def _the_command_line_and_the_scheduler(claw: Claw) -> None:
    assert "21 November" in claw.openclaw("wakebook", "search", "launch", "date", "--json")
    claw.wakebook("init", "--host", "openclaw", "--yes")  # again, now that the gateway runs
    jobs = json.loads(claw.openclaw("cron", "list", "--all", "--json"))["jobs"]
    (job,) = [one for one in jobs if one.get("declarationKey") == "wakebook-briefing"]
    claw.openclaw("cron", "run", job["id"])
    note = claw.workspace / "MEMORY.md"
    claw.until(lambda: "SQLite" in note.read_text())
    assert note.read_text().startswith(MINE)


def _killed_in_the_middle_of_a_turn(claw: Claw, model: Completions) -> None:
    claw.say("The office is in Lisbon.")
    model.script(Hang())
    asked = len(model.asked)
    turn = claw.begin("And the warehouse is in Porto.")
    model.wait(asked + 1)
    claw.kill()
    turn.kill()
    turn.wait()
    claw.start()
    claw.until(lambda: any("Lisbon" in content for content in claw.contents()))
    claw.until(lambda: _is_accounted_for(claw))
    claw.wakebook("audit")  # exit code 0: nothing is behind
    said = [path.read_text() for path in claw.memory.home.conversations.rglob("*.md")]
    assert sum(text.count("The office is in Lisbon.") for text in said) == 1
    assert not any("[System]" in text for text in said)  # what the gateway says in her place


def _is_accounted_for(claw: Claw) -> bool:
    bad = ("behind", "failed", "lost", "missing")
    return not [one for one in claw.memory.audit() if one.status in bad]


def _its_own_model_reads(claw: Claw, model: Completions) -> None:
    claw.say("The harbour office answers on Tuesdays.")
    claw.reset()
    claw.until(lambda: any(one.system.startswith(READS) for one in model.asked), 120)
    claw.until(lambda: any("harbour" in content for content in claw.contents()))


def test_openclaw_takes_the_package(tmp_path: Path) -> None:
    with Completions() as model, Claw(tmp_path, model.url) as claw:
        claw.wakebook("init", "--host", "openclaw", "--yes")
        folder = claw.home / "hosts" / "openclaw"
        claw.config.write_text('{"gateway": {"mode": "local"}}\n')
        claw.openclaw("plugins", "install", str(folder), "--force", "--accept-capabilities")
        assert (claw.state / "extensions" / "wakebook" / "tools.json").is_file()
        plugins = json.loads(claw.config.read_text())["plugins"]
        assert plugins["slots"] == {"memory": "wakebook"}
        shown = claw.openclaw("plugins", "inspect", "wakebook")
        assert "Status: enabled" in shown
