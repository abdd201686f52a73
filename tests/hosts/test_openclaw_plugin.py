"""The OpenClaw plugin's JavaScript under a real node, with the real `wakebook link` behind it.

Only OpenClaw itself is not real here (openclaw_api.mjs); tests/hosts/test_openclaw.py has that.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.clients.install import WHEEL
from tests.lend import lines
from tests.story import STYLE
from wakebook import Memory
from wakebook.hosts import openclaw
from wakebook.version import __version__

MAIN = "agent:main:main"
ENTRY = "export const definePluginEntry = (entry) => entry;\n"
SESSIONS = ("one", "two", "three")


class Gateway:
    """The process in which the plugin runs."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        script = Path(__file__).with_name("openclaw_api.mjs")
        command = [_node(), str(script), str(folder), json.dumps(config)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.printed: list[str] = []

    def order(self, what: str, **more: Any) -> Any:
        self.send(what, **more)
        return self.answer()

    def send(self, what: str, **more: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": what} | more) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("@"):
                found = json.loads(line[1:])
                assert "thrown" not in found, found
                return found["result"]
            self.printed.append(line.rstrip("\n"))
        raise AssertionError("the plugin's process has ended")

    def hook(self, name: str, session: str = "one", key: str = MAIN, **event: Any) -> Any:
        ctx = {"sessionId": session, "sessionKey": key, "agentId": "main", "trigger": "user"}
        return self.order("hook", name=name, event=event, ctx=ctx)

    def told(self, **more: Any) -> str:
        """What a prompt is told; a busy machine may need more than one time box to begin."""
        for _ in range(20):
            found = self.hook("before_prompt_build", **more)
            if found:
                assert list(found) == ["prependContext"]
                return str(found["prependContext"])
        raise AssertionError(self.order("warned"))

    def tool(self, name: str, ctx: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
        context = {"sessionId": "one", "sessionKey": MAIN} | (ctx or {})
        found: dict[str, Any] = self.order("tool", name=name, given=given, ctx=context)
        return found

    def close(self) -> int:
        """The gateway goes without a word; its exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(30)


Start = Callable[..., Gateway]


def _node() -> str:
    own = WHEEL / "bin" / "node"
    found = str(own) if own.exists() else shutil.which("node")
    if not found:
        pytest.skip("there is no node here: run `make test-hosts`")
    return found


@pytest.fixture
def start(memory: Memory, tmp_path: Path) -> Iterator[Start]:
    """The plugin as `init` puts it into a home, running."""
    folder = tmp_path / "plugin"
    for name, data in openclaw.files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    host = folder / "node_modules" / "openclaw"
    (host / "plugin-sdk").mkdir(parents=True)
    exports = {"./plugin-sdk/*": "./plugin-sdk/*.js"}
    (host / "package.json").write_text(json.dumps({"type": "module", "exports": exports}))
    (host / "plugin-sdk" / "plugin-entry.js").write_text(ENTRY)
    running: list[Gateway] = []

    def started(**config: Any) -> Gateway:
        usual = {"command": [sys.executable, "-m", "wakebook"], "home": str(memory.home.root)}
        running.append(Gateway(folder, usual | config))
        return running[-1]

    yield started
    for gateway in running:
        gateway.process.kill()
        gateway.process.wait()
        for pipe in (gateway.process.stdin, gateway.process.stdout):
            with suppress(BrokenPipeError):
                pipe.close() if pipe else None


def _wrapper(tmp_path: Path, before: str = "") -> tuple[list[str], Path]:
    """A command that notes its process id and becomes wakebook."""
    pids = tmp_path / "pids"
    program = tmp_path / "wrapped"
    command = f'{sys.executable} -m wakebook "$@"'
    program.write_text(f'#!/bin/sh\necho $$ >> "{pids}"\n{before}\nexec {command}\n')
    program.chmod(0o755)
    return [str(program)], pids


def _said(session: str, *texts: str) -> Path:
    """A session as OpenClaw wrote it before it had a database; each call adds to it."""
    folder = Path.home() / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    hour = 8 + SESSIONS.index(session)
    head = {"type": "session", "version": 3, "id": session, "cwd": "/home/ada"}
    written = path.read_text().splitlines() if path.exists() else []
    written = written or [json.dumps(head | {"timestamp": f"2026-11-08T{hour:02}:00:00Z"})]
    for text in texts:
        for role, content in (("user", text), ("assistant", "Understood.")):
            number = len(written)
            stamp = f"2026-11-08T{hour:02}:{number:02}:00Z"
            message = {"role": role, "content": [{"type": "text", "text": content}]}
            line = {"type": "message", "id": f"m{number}", "timestamp": stamp, "message": message}
            written.append(json.dumps(line))
    path.write_text("\n".join(written) + "\n")
    return path


def _until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)


def _contents(memory: Memory) -> list[str]:
    return [entry.content for entry in Memory(memory.home.root).log.chains().entries]


# --- memory from session to session ------------------------------------------------------


def test_the_third_session_knows_what_was_corrected_in_the_second(start: Start) -> None:
    gateway = start()
    gateway.hook("gateway_start")
    _said("one", "The launch is on 14 November.", "I prefer uv over pip.")
    gateway.hook("agent_end", "one")
    gateway.hook("session_end", "one", reason="new")  # in this order when somebody types /new
    gateway.hook("before_reset", "one", reason="new", sessionFile="sqlite:main:one:/nowhere")
    _said("two", "No, actually the launch is on 21 November.")
    gateway.hook("agent_end", "two")
    gateway.hook("before_reset", "two", reason="new")
    gateway.hook("session_end", "two", reason="new")
    gateway.order("stop")  # everything is done then; the next call starts another child
    told = gateway.told(session="three", prompt="When is the launch?")
    assert "21 November" in told
    old = [line for line in told.splitlines() if "14 November" in line]
    assert [line for line in old if "no longer holds" not in line and "Was: " not in line] == []


def test_a_group_is_told_nothing_private(memory: Memory, start: Start) -> None:
    memory.remember("The safe opens with 4217")
    gateway = start()
    assert "4217" in gateway.told(prompt="How does the safe open?")
    group = "agent:main:telegram:group:-100"
    told = gateway.hook("before_prompt_build", key=group, prompt="How does the safe open?")
    assert told is None or "4217" not in told["prependContext"]
    found = gateway.tool("memory_search", {"sessionKey": group}, query="how does the safe open?")
    assert "4217" not in found["content"][0]["text"]
    assert (
        "4217"
        in gateway.tool("memory_search", query="how does the safe open?")["content"][0]["text"]
    )


def test_the_words_of_the_user_are_what_context_is_made_for(memory: Memory, start: Start) -> None:
    memory.remember("The safe opens with 4217")
    whole = "Earlier talk about boats, long since over.\n\nHow does the safe open?"
    gateway = start()
    assert "4217" in gateway.told(prompt=whole, currentUserMessage="The safe?")


# --- tools -------------------------------------------------------------------------------


def test_the_tools_are_those_of_every_host(memory: Memory, start: Start) -> None:
    gateway = start()
    tools = gateway.order("tools")
    defined = {one["name"]: one for one in json.loads(openclaw.TOOLS.read_text())}
    assert [one["name"] for one in tools] == gateway.order("names")
    for tool in tools:
        for part in ("label", "description", "parameters"):
            assert tool[part] == defined[tool["name"]][part]
        assert tool["catalogMode"] == "direct-only"  # or tool search hides it
    kept = gateway.tool("remember", text="The ledger is in SQLite", type="decision")
    assert "SQLite" in "\n".join(_contents(memory)), kept
    found = gateway.tool("memory_search", query="which database has the ledger?")
    assert "SQLite" in found["content"][0]["text"]
    first = found["details"]["results"][0]
    got = gateway.tool("memory_get", path=first["id"])
    assert first["id"] in got["content"][0]["text"]


def test_a_stranger_can_ask_but_change_nothing(start: Start) -> None:
    gateway = start()
    names = [one["name"] for one in gateway.order("tools", ctx={"senderIsOwner": False})]
    assert names == ["memory_search", "memory_get"]


def test_a_tool_that_fails_says_so_and_throws_nothing(start: Start) -> None:
    gateway = start()
    found = gateway.tool("memory_get", path="../../etc/passwd")
    assert "root:" not in found["content"][0]["text"]
    assert found["content"][0]["text"]


# --- the child ---------------------------------------------------------------------------


def test_there_is_one_child_however_often_it_is_registered(start: Start, tmp_path: Path) -> None:
    command, pids = _wrapper(tmp_path)
    gateway = start(command=command)
    assert not pids.exists()  # none before it is needed: other commands of openclaw load us too
    gateway.hook("gateway_start")
    gateway.hook("agent_end")
    gateway.tool("memory_search", query="anything")
    assert len(pids.read_text().split()) == 1


def test_a_child_that_is_killed_is_started_again(
    memory: Memory, start: Start, tmp_path: Path
) -> None:
    memory.remember("The ledger is in SQLite")
    command, pids = _wrapper(tmp_path)
    gateway = start(command=command)
    assert "SQLite" in str(gateway.tool("memory_search", query="ledger"))
    pid = int(pids.read_text().split()[0])
    os.kill(pid, signal.SIGSTOP)  # so that a call is pending when it dies
    gateway.send("tool", name="memory_search", given={"query": "ledger"}, later="first")
    os.kill(pid, signal.SIGKILL)
    assert "The memory did not answer" in gateway.answer()["content"][0]["text"]
    _until(lambda: len(pids.read_text().split()) == 2)
    assert "SQLite" in str(gateway.tool("memory_search", query="ledger"))
    assert any("started again" in line for line in gateway.order("warned"))


def test_without_wakebook_a_turn_goes_on(start: Start, tmp_path: Path) -> None:
    gateway = start(command=[str(tmp_path / "nowhere")])
    assert gateway.hook("before_prompt_build", prompt="hello") is None
    assert gateway.hook("session_end", reason="new") is None
    assert (
        "The memory did not answer"
        in gateway.tool("memory_search", query="x")["content"][0]["text"]
    )


def test_a_child_that_only_waits_is_not_waited_for(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "asleep"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    gateway = start(command=[str(program)])
    assert gateway.hook("before_prompt_build", prompt="hello") is None
    assert any("no answer in time" in line for line in gateway.order("warned"))


def test_noise_of_the_child_harms_nothing(memory: Memory, start: Start, tmp_path: Path) -> None:
    memory.remember("The ledger is in SQLite")
    noise = "echo 'not JSON'; echo '{\"id\": 99, \"result\": {}}'; echo 'a word' >&2; echo null"
    command, _ = _wrapper(tmp_path, noise)
    gateway = start(command=command)
    assert "SQLite" in str(gateway.tool("memory_search", query="ledger"))


def test_no_home_is_said_and_harms_nothing(start: Start, tmp_path: Path) -> None:
    gateway = start(home=str(tmp_path / "nowhere"))
    assert gateway.hook("before_prompt_build", prompt="hello") is None
    _until(lambda: any("wakebook setup" in line for line in gateway.order("warned")))


def test_what_was_said_last_is_kept_when_the_gateway_stops(memory: Memory, start: Start) -> None:
    gateway = start()
    gateway.hook("gateway_start")
    _said("one", "The launch is on 14 November.")
    gateway.hook("session_end", "one", reason="shutdown")
    gateway.order("stop")
    assert "The launch is on 14 November." in _contents(memory)
    assert gateway.close() == 0


def test_a_gateway_that_just_ends_is_not_held_up(memory: Memory, start: Start) -> None:
    _said("one", "The launch is on 14 November.")
    gateway = start()
    gateway.hook("agent_end", "one")
    assert gateway.close() == 0
    _until(lambda: "The launch is on 14 November." in _contents(memory))


def test_compaction_waits_until_everything_is_saved(memory: Memory, start: Start) -> None:
    _said("one", "The launch is on 14 November.")
    gateway = start()
    gateway.hook("before_compaction", "one", messageCount=2)
    assert "The launch is on 14 November." in _contents(memory)
    assert gateway.order("warned") == []


# --- the host's own model, its command line ----------------------------------------------


def test_the_hosts_model_reads_when_there_is_no_other(memory: Memory, start: Start) -> None:
    said = {"type": "fact", "content": "Ada launches on 14 November", "evidence": [1]}
    gateway = start(lend=True)
    gateway.order("model", text=lines(said, {"type": "handoff", "content": "The launch is set"}))
    _said("one", "The launch is on 14 November.")
    gateway.hook("session_end", "one", reason="new")
    _until(lambda: "Ada launches on 14 November" in _contents(memory))
    (asked, *_) = gateway.order("asked")
    assert asked["purpose"] == "wakebook"
    assert asked["maxTokens"] > 0
    assert "14 November" in asked["messages"][0]["content"]


def test_a_model_that_refuses_loses_nothing(memory: Memory, start: Start) -> None:
    gateway = start(lend=True)
    _said("one", "The launch is on 14 November.")
    gateway.hook("session_end", "one", reason="new")
    _until(lambda: bool(gateway.order("asked")))
    gateway.order("stop")
    assert list(memory.home.conversations.rglob("*.md"))  # archived, and read later


def test_every_command_is_one_of_openclaw(memory: Memory, start: Start) -> None:
    memory.remember("The ledger is in SQLite")
    gateway = start()
    assert gateway.order("cli", args=["log", "-n", "1", "--json"]) == 0
    assert "The ledger is in SQLite" in "\n".join(gateway.printed)
    assert gateway.order("cli", args=["show", "nothing-like-it"]) == 9


# --- the files ---------------------------------------------------------------------------


def test_the_package_says_what_the_plugin_does() -> None:
    folder = openclaw.FILES
    manifest = json.loads((folder / "openclaw.plugin.json").read_text())
    package = json.loads((folder / "package.json").read_text())
    code = (folder / "index.js").read_text()
    assert manifest["version"] == package["version"] == __version__
    assert manifest["kind"] == "memory"
    assert package["openclaw"]["extensions"] == ["./index.js"]
    defined = {one["name"] for one in json.loads(openclaw.TOOLS.read_text())}
    assert set(manifest["contracts"]["tools"]) <= defined
    for name in manifest["contracts"]["tools"]:
        assert f'"{name}"' in code
    for skills in manifest["skills"]:
        assert (folder / skills / "wakebook" / "SKILL.md").read_text().startswith("---\nname:")
    assert len(code.splitlines()) <= 160
    assert "tools.json" in package["files"]
    with suppress(FileNotFoundError):  # one definition, in one place: `init` puts it beside
        assert (folder / "tools.json").read_bytes() == openclaw.TOOLS.read_bytes()


# --- steering ----------------------------------------------------------------------------


def _result(gateway: Gateway, session: str = "one", **arguments: Any) -> Any:
    text = {"type": "text", "text": "done"}
    event = {"toolName": "write", "args": arguments, "result": {"content": [text], "details": 7}}
    ctx = {"sessionId": session, "sessionKey": MAIN, "runtime": "openclaw"}
    return gateway.order("result", event=event, ctx=ctx)


def test_a_tool_call_brings_a_topic_below_its_result(memory: Memory, start: Start) -> None:
    (memory.home.root / "topics" / "style.md").write_text(STYLE)
    gateway = start()
    gateway.tool("memory_search", query="anything")  # the child is up
    assert _result(gateway, path="notes.txt", content="all is well") is None
    found = _result(gateway, path="schema.sql", content="x")["result"]
    assert found["details"] == 7
    first, told = found["content"]
    assert first["text"] == "done"
    assert "House style" in told["text"] and told["text"].startswith("<wakebook-memory>")
    assert _result(gateway, path="other.sql", content="x") is None  # it sees that already


def test_what_the_agent_said_is_corrected_in_its_next_turn(memory: Memory, start: Start) -> None:
    (memory.home.root / "topics" / "style.md").write_text(STYLE)
    gateway = start()
    said = {"role": "assistant", "content": [{"type": "text", "text": "print 'hello'"}]}
    gateway.hook("agent_end", messages=[{"role": "user", "content": "Hi"}, said])
    assert "Use Python 3 syntax." not in str(
        gateway.hook("before_prompt_build", session="two", prompt="Go on.")
    )
    assert "About your last words: Use Python 3 syntax." in gateway.told(prompt="Go on.")


def test_the_model_is_asked_through_whoever_called_last(memory: Memory, start: Start) -> None:
    said = {"type": "fact", "content": "Ada launches on 14 November", "evidence": [1]}
    gateway = start(lend=True)
    gateway.order("retire")  # the api that was registered last
    gateway.order("model", text=lines(said, {"type": "handoff", "content": "The launch is set"}))
    _said("one", "The launch is on 14 November.")
    gateway.hook("session_end", "one", reason="new")
    _until(lambda: "Ada launches on 14 November" in _contents(memory))


def test_a_question_waits_for_the_next_call_after_a_reload(memory: Memory, start: Start) -> None:
    said = {"type": "fact", "content": "Ada launches on 14 November", "evidence": [1]}
    gateway = start(lend=True)
    gateway.order("retire", both=True)
    gateway.order("model", text=lines(said, {"type": "handoff", "content": "The launch is set"}))
    _said("one", "The launch is on 14 November.")
    gateway.hook("session_end", "one", reason="new")
    _until(lambda: bool(list(memory.home.conversations.rglob("*.md"))))
    time.sleep(1)  # it has asked, and was refused
    gateway.order("reload")
    _until(lambda: gateway.hook("agent_end", "two") is None and bool(gateway.order("asked")))
    _until(lambda: "Ada launches on 14 November" in _contents(memory))
