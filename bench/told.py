"""What is an agent actually told? Scenarios, played through the real hook command.

    python bench/told.py [FOLDER] [--only PREFIX] [--way once|together] [-v] [--json]

A scenario (bench/told/*.json) is some sessions of Claude Code (time, folder, messages), then
probes. Each probe is a new session: SessionStart, and for a prompt then UserPromptSubmit.

    must       all are told, at the start or by the prompt; alternatives with |, or re:EXPRESSION
    must_not   none is told, unless the words around it say that it no longer holds (! in front:
               not even then)
    once       told exactly once
    silent     the prompt brings nothing
    max_chars  of what the probe brings

once: each scenario in a home of its own. together: all of them in one home, where only `must` and
`silent` compare. Time is fixed by WAKEBOOK_NOW; no service, and a raised time box, so that a busy
machine does not count. Tokens are characters / 4.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

SCENARIOS = Path(__file__).with_name("told")
COMMAND = [sys.executable, "-m", "wakebook"]
CONFIG = "[git]\nenabled = false\n[hooks]\nseconds = 60\n[service]\nauto = false\n"
AROUND = 110  # characters beside a forbidden text that may excuse it
# what says that something does not hold (any more)
EXCUSE = re.compile(
    r"(?i)no longer|any ?more|any longer|since (?:corrected|replaced|done)|replaced|outdated"
    r"|used to\b|previously|scratch that|instead of|rather than|correct(?:ed|ion)|cancel|dropped"
    r"|\[x\]|\(done|(?:moved|switched) from|not doing|nicht mehr|statt |doch nicht|ya no|en vez de"
)
NOT = re.compile(r"(?i)\b(?:not|no|never|nicht|kein\w*|sin)\s+(?:the |on |in |at |am |en )?$")
Scenario = dict[str, Any]  # as its file has it
Probe = dict[str, Any]


class Check(NamedTuple):
    kind: str
    ok: bool
    wanted: str
    seen: str = ""


class Played(NamedTuple):
    scenario: str
    probe: Probe
    start: str
    own: str  # what the probe itself brought
    checks: tuple[Check, ...]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=SCENARIOS)
    parser.add_argument("--only", default="", metavar="PREFIX", help="of the scenarios' names")
    parser.add_argument("--way", choices=["once", "together"], help="default: both")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what failed")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    wanted = scenarios(asked.folder, asked.only)
    if not wanted:
        raise SystemExit(f"There is no scenario {asked.only}*.json in {asked.folder}.")
    found = {}
    for way in [asked.way] if asked.way else ["once", "together"]:
        played = list((once if way == "once" else together)(wanted))
        found[way] = summary(played)
        if not asked.json:
            print("\n".join(table(way, found[way], failures(played) if asked.verbose else [])))
    if asked.json:
        print(json.dumps(found, indent=1))


def scenarios(folder: Path, only: str = "") -> list[Scenario]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{only}*.json"))]


# --- playing -----------------------------------------------------------------------------
def once(wanted: Sequence[Scenario]) -> Iterator[Played]:
    for one in wanted:
        with _folder() as folder:
            home = _filled(Path(folder), [one])
            yield from _probed(home, one)


def together(wanted: Sequence[Scenario]) -> Iterator[Played]:
    with _folder() as folder:
        home = _filled(Path(folder), wanted)
        for one in wanted:
            yield from _probed(home, one)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a hook may still be at work


def _filled(user: Path, wanted: Sequence[Scenario]) -> Path:
    """A user's folder with the sessions of the scenarios, and a home that has read them."""
    for one in wanted:
        for number, session in enumerate(one["sessions"]):
            _write(user, f"{one['id']}/{number}", session)
    now = max(one["now"] for one in wanted)
    (user / ".wakebook").mkdir()
    (user / ".wakebook" / "config.toml").write_text(CONFIG)
    for words in (["init"], ["catch-up"]):
        _run(user, now, words)
    return user


def _run(user: Path, now: str, words: Sequence[str], payload: Any = None) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WAKEBOOK_")}
    env = kept | {"HOME": str(user), "WAKEBOOK_HOME": str(user / ".wakebook"), "TZ": "UTC"}
    env |= {"WAKEBOOK_NOW": now, "WAKEBOOK_OFFLINE": "1"}
    text = json.dumps(payload) if payload is not None else ""
    command = [*COMMAND, *words]
    done = subprocess.run(command, input=text, text=True, capture_output=True, env=env, cwd=user)
    if done.returncode and words[0] != "catch-up":  # which says 1 if a session has no entry
        raise SystemExit(f"{' '.join(words)} failed: {done.stderr.strip()}")
    return done.stdout


def _probed(user: Path, scenario: Scenario) -> Iterator[Played]:
    for number, probe in enumerate(scenario["probes"]):
        session = str(uuid5(NAMESPACE_URL, f"{scenario['id']}/probe/{number}"))
        common = {"session_id": session, "cwd": probe["cwd"], "source": "startup"}
        common["transcript_path"] = str(_path(user, probe["cwd"], session))
        now = probe.get("now", scenario["now"])
        start = own = _hook(user, now, "SessionStart", common)
        if probe["kind"] == "prompt":
            said = common | {"prompt": probe["message"]}
            own = _hook(user, now, "UserPromptSubmit", said)
        told = start if own == start else f"{start}\n{own}"
        yield Played(scenario["id"], probe, start, own, tuple(checked(probe, told, own)))


def _hook(user: Path, now: str, event: str, payload: dict[str, Any]) -> str:
    answer = _run(user, now, ["hook", "claude-code", event], {"hook_event_name": event, **payload})
    found = json.loads(answer).get("hookSpecificOutput", {}) if answer.strip() else {}
    return str(found.get("additionalContext", ""))


# --- sessions, as Claude Code writes them ------------------------------------------------
def _path(user: Path, cwd: str, session: str) -> Path:
    folder = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    return user / ".claude" / "projects" / folder / f"{session}.jsonl"


def _write(user: Path, name: str, session: dict[str, Any]) -> None:
    identity = uuid5(NAMESPACE_URL, name)
    at, lines, last = datetime.fromisoformat(session["time"]), list[str](), None
    base = {"isSidechain": False, "userType": "external", "cwd": session["cwd"]}
    base |= {"sessionId": str(identity), "version": "2.1.38"}
    base["gitBranch"] = session.get("branch", "main")
    for number, message in enumerate(session["messages"]):
        for part, (kind, content) in enumerate(_contents(message, f"{identity}{number}")):
            at += timedelta(seconds=40 if kind == "user" else 20)
            own = str(uuid5(identity, f"{number}/{part}"))
            stamp = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            said: dict[str, Any] = {"role": kind, "content": content}
            said |= {"model": "claude-opus-4-6", "id": f"msg_{own[:20]}"} if kind != "user" else {}
            record = base | {"parentUuid": last, "uuid": own, "timestamp": stamp, "type": kind}
            lines.append(json.dumps(record | {"message": said}, ensure_ascii=False))
            last = own
    path = _path(user, session["cwd"], str(identity))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(path, (at.timestamp(), at.timestamp()))


def _contents(message: dict[str, Any], call: str) -> list[tuple[str, Any]]:
    role, text = message["role"], message["text"]
    if role == "agent":
        return [("assistant", [{"type": "text", "text": text}])]
    if role != "tool":
        return [("user", text)]
    use = {"type": "tool_use", "id": call, "name": message.get("name", "Bash")}
    use["input"] = {"command": message.get("command", "ls")}
    return [
        ("assistant", [use]),
        ("user", [{"type": "tool_result", "tool_use_id": call, "content": text}]),
    ]


# --- judging -----------------------------------------------------------------------------
def checked(probe: Probe, told: str, own: str) -> Iterator[Check]:
    for wanted in probe.get("must", []):
        yield Check("must", any(True for _ in _places(told, wanted)), wanted)
    for word in probe.get("must_not", []):
        bare, hard = word.removeprefix("!"), word.startswith("!")
        places = (
            before + rest for before, rest in _places(told, bare) if hard or _says(before, rest)
        )
        seen = next(places, "")
        yield Check("must not", not seen, bare, seen)
    for wanted in probe.get("once", []):
        times = len(list(_places(told, wanted)))
        yield Check("once", times == 1, wanted, f"told {times} times")
    if probe.get("silent"):
        yield Check("silent", not own.strip(), "", " / ".join(own.split("\n")[3:])[:260])
    if "max_chars" in probe:
        most = probe["max_chars"]
        yield Check("size", len(own) <= most, str(most), f"{len(own)} characters")


def _places(told: str, wanted: str) -> Iterator[tuple[str, str]]:
    """Where it stands: the words before it, and it with the words behind it."""
    if wanted.startswith("re:"):
        expression = wanted[3:]
    else:
        parts = [re.escape(one.strip()).replace(r"\ ", r"\s+") for one in wanted.split("|")]
        expression = "|".join(rf"(?<![A-Za-z0-9]){one}(?![0-9])" for one in parts)
    for line in told.split("\n"):
        for match in re.finditer(expression, line, re.IGNORECASE):
            at = match.start()
            yield line[max(0, at - AROUND) : at], line[at : match.end() + AROUND]


def _says(before: str, rest: str) -> bool:
    """Whether a text says something, and not that it is otherwise."""
    return not (NOT.search(before) or EXCUSE.search(before + rest))


def summary(played: Sequence[Played]) -> dict[str, Any]:
    checks = [check for one in played for check in one.checks]
    counts = {
        kind: (sum(one.ok for one in checks if one.kind == kind), total)
        for kind in ("must", "must not", "once", "silent", "size")
        if (total := sum(one.kind == kind for one in checks))
    }
    for way in ("start", "prompt"):
        mine = [c for one in played if one.probe["kind"] == way for c in one.checks]
        told = [check.ok for check in mine if check.kind == "must"]
        counts |= {f"must, {way}": (sum(told), len(told))} if told else {}
    starts = [len(one.start) // 4 for one in played]
    prompts = [len(one.own) // 4 for one in played if one.probe["kind"] == "prompt"] or [0]
    return {
        "probes": (sum(all(c.ok for c in one.checks) for one in played), len(played)),
        **counts,
        "start tokens": (median(starts), max(starts)),
        "prompt tokens": (median(prompts), max(prompts)),
    }


def failures(played: Sequence[Played]) -> list[str]:
    return [
        f"  {one.scenario} {one.probe['kind']} {one.probe.get('message', '')!r}: {check.kind} "
        f"{check.wanted!r} {check.seen}"
        for one in played
        for check in one.checks
        if not check.ok
    ]


def table(way: str, found: dict[str, Any], failed: Sequence[str]) -> Iterator[str]:
    yield f"{way}:"
    for name, (one, other) in found.items():
        if name.endswith("tokens"):
            yield f"  {name:14} median {one:.0f}, most {other:.0f}"
        else:
            yield f"  {name:14} {one} of {other} ({one / other:.0%})"
    yield from failed


if __name__ == "__main__":
    main()
