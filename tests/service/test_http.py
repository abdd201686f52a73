"""Every path of the service, asked as a client does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.service.serving import SECONDS, Service, made, own_env, serving
from tests.story import Claude
from wakebook.store.hits import Found
from wakebook.verbs import SESSIONS, VERBS, Verb

PATIENT = "[hooks]\nseconds = 60\n"  # a slow machine is not what these tests are about
SESSION = "5e551011-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose home has read a conversation."""
    folder = tmp_path_factory.mktemp("told")
    env = own_env(folder)
    projects = folder / "user" / ".claude" / "projects" / "-home-mira-tidepool"
    projects.mkdir(parents=True)
    claude = Claude(projects)
    claude.user("We decided to use Postgres for the kiosk's ledger, because of the reports.")
    claude.agent("Noted: Postgres for the ledger.")
    home = made(folder)
    (home / "config.toml").write_text(PATIENT)
    with serving(home, env) as found:
        done = found.ask("/v1/catch-up", {"closing": True})
        assert done.status == 200, done.body
        yield found


ASKED: dict[str, dict[str, Any]] = {  # what a verb needs at least
    "get": {"ref": "log.jsonl"},
    "remember": {"text": "The kiosk is called Heron.", "type": "decision"},
    "handoff": {"text": "The ledger is on Postgres."},
    "forget": {"ids": ["?"]},
    "erase": {"what": "Postgres"},
    "flush": {"session": SESSION},
    "observe": {"output": "I have released it."},
    "fire": {"source": "github", "event": "push"},
    "why": {"place": "memory/MEMORY.md:1"},
    "when": {"text": "Postgres"},
    "trial": {"message": "Which database has the ledger?"},
    "prune": {"messages": [{"role": "user", "content": "hello"}], "window": 1000},
    "slide": {"messages": [{"role": "user", "content": "hello"}], "budget": 1000},
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_every_verb_answers_what_the_facade_answers(told: Service, verb: Verb) -> None:
    body = ASKED.get(verb.name, {})
    if verb.name == "forget":
        body = {"ids": [told.ask("/v1/remember", {"text": "A passing thought."}).json["id"]]}
    if verb.name in ("told", "rate"):
        prompt = "Which database did we choose for the ledger?"
        asked = {"session_id": f"{verb.name} me", "prompt": prompt}
        told.ask("/v1/hooks/claude-code/UserPromptSubmit", asked, unix=True)
        turn = told.ask("/v1/turns", {"limit": 1}).json["turns"][0]
        body = {"turn": turn["id"]}
    if verb.name == "rate":
        look = told.ask("/v1/told", body).json
        found = [one["item"].get("ref") for one in (*look["told"], *look["missed"])]
        body["ref"] = next(ref for ref in found if ref)
    answer = told.ask(f"/v1/{verb.name}", body)
    assert answer.status == 200, answer.body
    key, wrapped, _ = verb.answers.partition(": ")
    kind = verb.answer_type()
    found = answer.json[key] if wrapped else answer.json
    msgspec.convert(found, kind, dec_hook=lambda type_, value: type_(value))


def test_what_was_said_is_found_and_leads_to_its_source(told: Service) -> None:
    found = msgspec.json.decode(
        told.ask("/v1/search", {"text": "which database for the ledger"}).body,
        type=Found,
    )
    assert "Postgres" in found.hits[0].snippet
    entry = told.ask("/v1/log", {"types": ["decision"], "text": "Postgres"}).json["entries"][0]
    shown = told.ask("/v1/get", {"ref": entry["id"]}).json
    assert shown["entry"]["content"] == entry["content"]
    assert any("because of the reports" in text for _, text in shown["lines"])
    assert "Postgres" in told.ask("/v1/wake", {}).json["text"]
    assert "Postgres" in told.ask("/v1/context", {"message": "the ledger?"}).json["text"]


def test_a_filter_narrows_a_search(told: Service) -> None:
    found = told.ask("/v1/search", {"text": "Postgres", "since": "2027-01-01T00:00:00Z"}).json
    assert found["hits"] == []
    assert told.ask("/v1/search", {"text": "Postgres", "limit": 1}).json["hits"].__len__() == 1


def test_forgetting_needs_a_yes(told: Service) -> None:
    name = told.ask("/v1/remember", {"text": "The password is kept in the drawer."}).json["id"]
    going = told.ask("/v1/forget", {"ids": [name]}).json
    assert [one["id"] for one in going["entries"]] == [name]
    assert told.ask("/v1/get", {"ref": name}).status == 200
    assert told.ask("/v1/forget", {"ids": [name], "yes": True}).status == 200
    assert told.ask("/v1/get", {"ref": name}).status == 404


@pytest.mark.parametrize(
    ("path", "body", "status", "kind"),
    [
        ("get", {"ref": "session:nobody"}, 404, "NotFound"),
        ("get", {}, 400, "BadRequest"),
        ("remember", {"text": " "}, 400, "InvalidEntry"),
        ("remember", {"text": "x" * 8_001}, 400, "InvalidEntry"),
        ("why", {"place": "token:1"}, 404, "NotFound"),
        ("remember", {"text": "x", "replaces": ["nothing"]}, 404, "NotFound"),
        ("context", {"have": ["nonsense"]}, 400, "WakebookError"),
        ("flush", {"session": "x", "tokens": 5}, 400, "WakebookError"),
        ("tick", {"names": ["nonsense"]}, 404, "NotFound"),
        ("forget", {"ids": []}, 400, "BadRequest"),
        ("catch-up", {"paths": ["/nowhere/at/all.jsonl"]}, 400, "TranscriptError"),
        ("tools/nonsense", {}, 404, "NotFound"),
        ("tools/memory_search", {"query": "x"}, 400, "BadRequest"),
        ("hooks/claude-code/Nonsense", {}, 400, "WakebookError"),
        ("hooks/emacs/Stop", {}, 400, "WakebookError"),
        ("hooks/claude-code/Stop", [], 400, "WakebookError"),
    ],
)
def test_errors_have_a_status_a_kind_and_a_message(
    told: Service, path: str, body: Any, status: int, kind: str
) -> None:
    answer = told.ask(f"/v1/{path}", body)
    assert (answer.status, answer.kind) == (status, kind), answer.body
    assert answer.json["error"]["message"]


def test_a_config_that_is_wrong_and_then_right_again(told: Service) -> None:
    config = told.home / "config.toml"
    before = config.read_text()
    try:
        config.write_text("[search]\nmax_results = 'many'\n")
        answer = told.ask("/v1/search", {"text": "Postgres"})
        assert (answer.status, answer.kind) == (409, "ConfigError")
        config.write_text("[search]\nmax_results = 1\n")
        assert len(told.ask("/v1/search", {"text": "kiosk Postgres Heron"}).json["hits"]) == 1
    finally:
        config.write_text(before)
    assert told.ask("/v1/search", {"text": "Postgres"}).status == 200


def test_tools_answer_as_they_do_everywhere(told: Service) -> None:
    asked = {"arguments": {"query": "database for the ledger"}}
    done = told.ask("/v1/tools/memory_search", asked).json
    assert done["failed"] is False
    assert "Postgres" in done["text"]
    assert done["data"]["results"][0]["path"]
    wrong = told.ask("/v1/tools/memory_search", {"arguments": {"query": 5}}).json
    assert wrong["failed"] is True
    assert "query must be a string" in wrong["text"]


def test_a_prompt_gets_what_fits_it(told: Service) -> None:
    payload = {"session_id": "new", "prompt": "Which database did we choose for the ledger?"}
    answer = told.ask("/v1/hooks/claude-code/UserPromptSubmit", payload, unix=True)
    assert answer.status == 200
    spoken = answer.json["hookSpecificOutput"]
    assert spoken["hookEventName"] == "UserPromptSubmit"
    assert "Postgres" in spoken["additionalContext"]


def test_an_event_with_nothing_to_say_gets_an_empty_answer(told: Service) -> None:
    answer = told.ask("/v1/hooks/claude-code/PostToolUse", {"session_id": "new"}, unix=True)
    assert (answer.status, answer.body) == (200, b"")


def test_an_answer_that_comes_too_late_is_none_and_the_work_goes_on(told: Service) -> None:
    config = told.home / "config.toml"
    before = config.read_text()
    try:
        config.write_text("[hooks]\nseconds = 0.1\n")
        payload = {"session_id": "late", "prompt": "Which database did we choose?"}
        answer = told.ask("/v1/hooks/claude-code/UserPromptSubmit", payload, unix=True)
        assert (answer.status, answer.body) == (200, b"")
    finally:
        config.write_text(before)
    text = told.ask("/metrics").body.decode()
    labels = 'host="claude-code",event="UserPromptSubmit",outcome="late"'
    assert f"wakebook_hooks_total{{{labels}}} " in text
    until = time.monotonic() + SECONDS
    while "too long" not in (told.home / "trace.jsonl").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_conversation_of_your_own_agent(told: Service) -> None:
    path = "/v1/sessions/support-42"
    said = [
        {"role": "user", "content": "We decided that the lantern is called Wren."},
        {"role": "assistant", "content": "Noted."},
    ]
    ids = told.ask(f"{path}/messages", {"messages": said}).json["ids"]
    assert len(ids) == len(set(ids)) == 2
    again = told.ask(f"{path}/messages", {"messages": [said[0] | {"id": "m1"}]})
    twice = told.ask(f"{path}/messages", {"messages": [said[0] | {"id": "m1"}]})
    assert again.json == twice.json == {"ids": ["m1"]}
    done = told.ask(f"{path}/end", {})
    assert done.status == 200, done.body
    assert told.ask("/v1/log", {"text": "Wren"}).json["entries"]
    assert told.ask("/v1/get", {"ref": "session:support-42"}).json["transcripts"]
    assert "Wren" in told.ask(f"{path}/context", {"message": "the lantern?"}).json["text"]


@pytest.mark.parametrize("name", ["%2e%2e", "..%2f..%2fx", "manual", "%00", "x" * 300])
def test_a_session_cannot_be_called_anything(told: Service, name: str) -> None:
    said = {"messages": [{"role": "user", "content": "hello"}]}
    answer = told.ask(f"/v1/sessions/{name}/messages", said)
    assert answer.status in (400, 404), answer.body
    assert not list(Path(told.home.parent).glob("*.jsonl"))


def test_all_session_verbs_are_there(told: Service) -> None:
    for name in SESSIONS:
        body = {"messages": [{"role": "user", "content": "hi"}]} if name == "messages" else {}
        assert told.ask(f"/v1/sessions/all/{name}", body).status == 200


def test_metrics_tell_what_was_done_and_what_is_there(told: Service) -> None:
    told.ask("/v1/nonsense/made/up", {})
    told.ask("/v1/sessions/secret-name/keep", {})
    text = told.ask("/metrics").body.decode()
    rows = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(rows['wakebook_requests_total{path="/v1/catch-up",status="200"}']) >= 1
    assert float(rows['wakebook_requests_total{path="other",status="404"}']) >= 1
    assert float(rows["wakebook_transcripts"]) >= 1
    assert float(rows["wakebook_entries"]) >= 1
    assert float(rows["wakebook_sessions_behind"]) >= 0
    assert float(rows["wakebook_queue_length"]) >= 0
    assert "secret-name" not in text
    for name in {line.partition("{")[0].partition(" ")[0] for line in rows}:
        stem = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
        assert f"# TYPE {stem} " in text
