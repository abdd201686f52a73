"""Clients as models: Claude Code, Codex and pi, as small programs that behave as they may."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.models.chatting import calls, chatting, failures, lines, outcomes, question, served
from tests.models.programs import gone, logged_out, on_path, prints, program, says, until
from wakebook.base import config, echo
from wakebook.base.config import CLIENTS
from wakebook.base.errors import BadModelOutput, LeftAlone, ModelError, ModelUnavailable, NotAsked
from wakebook.models.client import NEEDED, PROGRAMS, Client
from wakebook.models.model import make
from wakebook.models.transport import Patience
from wakebook.models.wire import ChatAsk, Reply

HASTY = Patience(attempts=1, seconds=0.3)
PATIENT = Patience(attempts=1, seconds=60.0)
KEEP = 'cat > "$here/prompt"; printf "%s\\0" "$@" > "$here/words"'
LOOK = 'env > "$here/env"; pwd > "$here/cwd"; ls -A > "$here/files"'
SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}  # which sh sets by itself


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    on_path(monkeypatch, tmp_path / "bin")
    return tmp_path / "bin"


def client(name: str, patience: Patience = PATIENT) -> Client:
    found = served(None, name, os.environ, patience)
    assert isinstance(found, Client)
    return found


def ask(name: str, patience: Patience = PATIENT, asked: ChatAsk | None = None) -> Reply:
    return client(name, patience).ask(asked or question())


def test_every_client_has_its_program() -> None:
    assert tuple(PROGRAMS) == CLIENTS


def test_claude_code_is_called_as_a_plain_model(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "CLAUDECODE", "WAKEBOOK_HOME", "MY_SECRET"):
        monkeypatch.setenv(name, "x")
    program(bin, "claude", KEEP, LOOK, says("Hi."))
    asked = question("One </wakebook-memory> two", "(nothing)", "Again")
    assert ask("claude-code/haiku", asked=asked) == Reply(
        "Hi.", tokens_in=1600, tokens_out=20, cached=600, cost=0.0123
    )
    words = (bin / "words").read_text().split("\0")
    assert words[words.index("--system-prompt") + 1] == "Be brief."
    assert words[words.index("--model") + 1] == "haiku" and words[words.index("--tools") + 1] == ""
    plain = {"-p", "--safe-mode", "--no-session-persistence", "--strict-mcp-config"}
    assert plain < set(words)
    prompt = (bin / "prompt").read_text()
    assert "Again" in prompt and echo.strip(prompt)[0] == ""
    env = dict(line.partition("=")[::2] for line in (bin / "env").read_text().splitlines())
    assert env["ANTHROPIC_API_KEY"] == "x" and env[echo.READS] == "1"
    ours = {*PROGRAMS["claude-code"].quiet, echo.READS, "TERM", "NO_COLOR"}
    allowed = (*NEEDED, *PROGRAMS["claude-code"].variables)
    assert {name for name in env.keys() - ours - SHELL if not name.startswith(allowed)} == set()
    cwd = Path((bin / "cwd").read_text().strip())
    assert (bin / "files").read_text() == "" and cwd.parent.name.startswith(echo.READING)
    assert not cwd.parent.exists()


def test_codex_and_pi_are_read_as_they_print(bin: Path) -> None:
    item = {"type": "item.completed", "item": {"type": "agent_message", "text": "Hi."}}
    usage = {"input_tokens": 900, "cached_input_tokens": 400, "output_tokens": 7}
    done = {"type": "turn.completed", "usage": usage}
    read = 'sed -n \'s/.*model_instructions_file="\\([^"]*\\)".*/\\1/p\' "$here/lines"'
    program(
        bin, "codex", 'cat > "$here/prompt"; for one; do echo "$one"; done > "$here/lines"',
        f'cat "$({read})" > "$here/system"', *(prints(json.dumps(one)) for one in (item, done)),
    )  # fmt: skip
    assert ask("codex/default") == Reply("Hi.", tokens_in=900, tokens_out=7, cached=400)
    assert (bin / "system").read_text() == "Be brief."
    words = (bin / "lines").read_text().splitlines()
    assert words[0] == "exec" and words[-1] == "-" and "-m" not in words
    assert {"--ephemeral", "--ignore-user-config", "read-only", "features.hooks=false"} < set(words)
    ask("codex/gpt-6-luna")
    assert "-m\ngpt-6-luna\n" in (bin / "lines").read_text()

    spent = {"input": 80, "output": 5, "cacheRead": 20, "cacheWrite": 0, "cost": {"total": 0.5}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}], "usage": spent}
    ended = {"type": "message_end", "message": message | {"stopReason": "length"}}
    program(bin, "pi", KEEP, prints(json.dumps(ended)))
    assert ask("pi/openai/gpt-6-luna") == Reply(
        "Hi.", cut=True, tokens_in=100, tokens_out=5, cached=20, cost=0.5
    )
    words = (bin / "words").read_text().split("\0")
    assert {"-p", "--no-tools", "--no-session", "--no-extensions"} < set(words)
    assert words[words.index("--model") + 1] == "openai/gpt-6-luna"


@pytest.mark.parametrize(
    ("name", "script", "kind", "said"),
    [
        ("claude-code/haiku", [logged_out()], ModelUnavailable, r"Not logged in.*Run `claude` in"),
        ("claude-code/haiku", ["kill -9 $$"], ModelUnavailable, "does not answer"),
        ("claude-code/haiku", ["echo Sure, here it is."], BadModelOutput, "Sure, here it is"),
        ("claude-code/haiku", [], BadModelOutput, "form that we do not know"),
        ("claude-code/haiku", ["echo '{\"type\": \"result\"'"], BadModelOutput, "do not know"),
        (  # it asks a question: there is no one to answer, and nothing to wait for
            "claude-code/haiku",
            ["cat > /dev/null", "printf 'Trust this folder? '", "read answer || exit 1"],
            ModelUnavailable,
            r"Trust this folder\?",
        ),
        (
            "codex/default",
            [prints('{"type":"error","message":"You have hit your usage limit."}'), "exit 1"],
            ModelUnavailable,
            "usage limit.*codex login",
        ),
        ("codex/default", [prints('{"type":"turn.started"}')], ModelUnavailable, "did not finish"),
        ("pi/default", ["echo No API key found. >&2", "exit 1"], ModelUnavailable, "No API key"),
    ],
)  # fmt: skip
def test_a_client_that_does_not_answer_says_why(
    bin: Path, name: str, script: list[str], kind: type[ModelError], said: str
) -> None:
    program(bin, PROGRAMS[name.partition("/")[0]].command, *script)
    with pytest.raises(kind, match=said) as caught:
        ask(name)
    assert str(caught.value).startswith(f"{name} ")


def test_banners_and_wrong_numbers_do_not_matter(bin: Path) -> None:
    wrong = {"usage": {"input_tokens": "many", "output_tokens": -1}, "total_cost_usd": "free"}
    program(bin, "claude", "echo A new version is there!", says("Hi.", usage=wrong["usage"]))
    with pytest.raises(BadModelOutput):
        ask("claude-code/haiku")
    usage = {"input_tokens": 5, "output_tokens": -1}
    script = says("Hi.", usage=usage, total_cost_usd="free")
    program(bin, "claude", "echo A new version is there!", script, "echo '{ Bye }'")
    assert ask("claude-code/haiku") == Reply("Hi.")


def test_a_missing_client_and_a_machine_without_network_are_not_asked(
    bin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(bin))
    with pytest.raises(ModelUnavailable, match=r"no command claude on the PATH.*wakebook models"):
        client("claude-code/haiku").ready()
    program(bin, "claude", says("Hi."))
    client("claude-code/haiku").ready()
    monkeypatch.setenv("WAKEBOOK_OFFLINE", "1")
    with pytest.raises(ModelUnavailable, match="WAKEBOOK_OFFLINE is set"):
        client("claude-code/haiku").ready()


def test_a_service_with_another_path_finds_the_program(
    bin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(bin, "claude", "tool", says("Hi."))
    program(bin, "tool", 'touch "$here/used"')  # as node lies beside a script of its own
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    settings = config.Config(models=config.ModelSettings(program=str(bin / "claude")))
    found = make("claude-code/haiku", settings, os.environ, None, PATIENT)
    found.ready()
    assert found.ask(question()).text == "Hi." and (bin / "used").exists()


# --- it ends, and all that it has started --------------------------------------------------
HANGS = ('sleep 1000 & echo $! > "$here/child"', 'echo $$ > "$here/own"', "echo Loading ... >&2")


def pids(bin: Path) -> list[int]:
    return [int((bin / name).read_text()) for name in ("own", "child")]


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_client_that_hangs_is_ended_with_its_children(bin: Path, stubborn: bool) -> None:
    trap = ["trap '' TERM"] if stubborn else []
    program(bin, "claude", *trap, *HANGS, 'touch "$here/late"; while :; do sleep 1000; done')
    with pytest.raises(ModelUnavailable, match=r'within 0\.3 s: "Loading \.\.\."'):
        ask("claude-code/haiku", HASTY)
    until(lambda: all(map(gone, pids(bin))))


def test_what_a_client_leaves_running_is_ended(bin: Path) -> None:
    program(bin, "claude", *HANGS, says("Hi."))
    assert ask("claude-code/haiku").text == "Hi."
    until(lambda: all(map(gone, pids(bin))))


def test_a_client_that_never_stops_printing_is_ended(bin: Path) -> None:
    program(bin, "claude", "exec yes 'I am updating myself, please wait'")
    with pytest.raises(ModelUnavailable, match=r"printed more than 8 MB.*I am updating myself"):
        ask("claude-code/haiku")


def test_a_client_does_not_outlive_wakebook(bin: Path, tmp_path: Path) -> None:
    program(bin, "claude", *HANGS, "sleep 1000")
    code = (
        "import os; from pathlib import Path\n"
        "from wakebook.models.client import Client\n"
        "from wakebook.models.transport import Patience\n"
        "from wakebook.models.wire import ChatAsk\n"
        "client = Client('claude-code/haiku', os.environ, Patience(1, 600.0))\n"
        "client.ask(ChatAsk('', 'Be brief.', ('Hello?',), 50))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: (bin / "own").exists() and (bin / "own").read_text().endswith("\n"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: all(map(gone, pids(bin))))
    left = Path(tempfile.gettempdir()).glob(f"{echo.READING}*")
    until(lambda: not any((one / "instructions.md").exists() for one in left))


# --- one at a time, within limits ---------------------------------------------------------
def test_a_client_is_asked_by_one_process_of_a_home_at_a_time(bin: Path, tmp_path: Path) -> None:
    program(bin, "claude", says('{"n": 1}'))
    models = chatting(
        None, tmp_path / "home", "claude-code/haiku", environ=os.environ, patience=HASTY
    )
    (tmp_path / "home" / ".cache").mkdir(parents=True)
    with (tmp_path / "home" / ".cache" / "client.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LeftAlone, match="busy with another question"):
            lines(models)
        assert outcomes(tmp_path / "home") == []
        other = chatting(None, tmp_path, "claude-code/haiku", environ=os.environ, patience=PATIENT)
        assert lines(other).kept == [{"n": 1}]  # another home has a lock of its own


def test_threads_wait_for_their_turn(bin: Path, tmp_path: Path) -> None:
    busy = 'mkdir "$here/busy" || touch "$here/twice"; sleep 0.1; rmdir "$here/busy"'
    program(bin, "claude", busy, says('{"n": 1}'))
    models = chatting(
        None, tmp_path, "claude-code/haiku", environ=os.environ, patience=PATIENT, concurrency=8
    )
    assert models.concurrency == 1
    with ThreadPoolExecutor(3) as pool:
        assert [one.kept for one in pool.map(lambda _: lines(models), range(3))] == [[{"n": 1}]] * 3
    assert not (bin / "twice").exists()


def test_what_a_client_costs_is_what_it_says(bin: Path, tmp_path: Path) -> None:
    """Thousands of times more than the table would have had it."""
    program(bin, "claude", says('{"n": 1}', total_cost_usd=4.5))
    models = chatting(
        None, tmp_path, "claude-code/haiku", environ=os.environ, patience=PATIENT, daily_budget=4.0
    )
    assert models.price("claude-code/haiku") == models.price("anthropic/claude-haiku-5-5")
    lines(models)
    (call,) = calls(tmp_path)
    assert (call.cost, call.tokens_in, call.cached) == (4.5, 1600, 600)
    with pytest.raises(NotAsked, match=r"daily budget of \$4\.00 is used up \(\$4\.50 spent\)"):
        lines(models)
    assert outcomes(tmp_path) == ["ok"] and failures(tmp_path)[-1].endswith("to go on.")
    assert any("daily_budget" in one for one in models.problems())


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"daily_calls": 2}, r"daily limit of 2 calls is used up \(2 calls used\).*until tomorrow"),
        ({"monthly_calls": 2}, "monthly limit of 2 calls is used up.*until the next month"),
        ({"daily_tokens": 3300}, "daily limit of 3,300 tokens does not reach .*Raise daily_tokens"),
        ({"monthly_tokens": 3000}, "monthly limit of 3,000 tokens is used up"),
    ],
)
def test_a_subscription_is_limited_by_calls_and_tokens(
    bin: Path, tmp_path: Path, limit: dict[str, Any], said: str
) -> None:
    program(bin, "claude", says('{"n": 1}', total_cost_usd=0))
    models = chatting(
        None, tmp_path, "claude-code/haiku", environ=os.environ, patience=PATIENT, **limit
    )
    lines(models)
    lines(models)
    with pytest.raises(NotAsked, match=said):
        lines(models)
    assert len(calls(tmp_path)) == 2


def test_a_client_is_not_started_for_small_things(bin: Path, tmp_path: Path) -> None:
    models = chatting(None, tmp_path, "claude-code/haiku", environ=os.environ)
    assert models.has("extract") and not models.has("gate")
    with pytest.raises(NotAsked, match="claude-code/haiku is not started for so little"):
        models.ask("commit", files="log.jsonl", diff="+ x")


def test_no_model_is_asked_where_one_is_reading(bin: Path, tmp_path: Path) -> None:
    program(bin, "claude", says('{"n": 1}'))
    for main in ("claude-code/haiku", "ollama/m"):
        models = chatting(None, tmp_path, main, environ={**os.environ, echo.READS: "1"})
        with pytest.raises(NotAsked, match="one is reading for us"):
            lines(models)
