"""The tools of an agent: what they answer, what they refuse, and what they keep to themselves."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.hosts.hooking import contents
from tests.lend import entry, known
from tests.service.asking import ask, refused
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.service import tools
from wakebook.service.tools import Answer


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return homes.emptied(tmp_path_factory.getbasetemp() / "tools")


@pytest.fixture
def claude(projects: Path) -> Claude:
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def full(tmp_path: Path, memory: Memory, claude: Claude) -> Memory:
    return homes.again(tmp_path, memory, lambda: fill(memory))


def fill(memory: Memory) -> None:
    memory.log.add_subject("auth-migration")
    memory.log.add_subject("stall")
    memory.log.rename_subject("stall", "kiosk")
    memory.catch_up(closing=True)
    known(
        memory,
        entry(3, "The webhook retries five times", subject="auth-migration"),
        entry(2, "We use RS256 for the webhook tokens", "decision", subject="auth-migration"),
        entry(1, "Rotate the webhook secret", "task", subject="auth-migration"),
        entry(1, "Paint the kiosk's webhook sign", "task", subject="kiosk", status="done"),
        entry(1, "Who owns the webhook relay?", "question", subject="kiosk"),
    )


def by_content(memory: Memory, words: str) -> str:
    (found,) = [one.id for one in memory.log.chains().entries if words in one.content]
    return found


# --- what they are called ----------------------------------------------------------------


def test_names_and_parameters_are_those_that_were_agreed() -> None:
    shapes = {
        tool["name"]: {
            key: value["type"] for key, value in tool["parameters"]["properties"].items()
        }
        for tool in tools.LIST
    }
    assert shapes["memory_search"] == {
        "query": "string", "maxResults": "integer", "minScore": "number", "type": "string",
        "subject": "string", "status": "string", "includeReplaced": "boolean",
        "project": "string", "everywhere": "boolean",
    }  # fmt: skip
    assert shapes["memory_get"] == {"path": "string", "from": "integer", "lines": "integer"}
    assert set(shapes) == {
        "memory_search",
        "memory_get",
        "remember",
        "handoff",
        "forget",
        "context",
    }
    reading = {tool["name"] for tool in tools.LIST if tool["readOnly"]}
    assert reading == {"memory_search", "memory_get", "context"}
    for tool in tools.LIST:
        assert tool["description"] and tool["label"]
        assert tool["parameters"]["additionalProperties"] is False


@pytest.mark.parametrize("tool", tools.LIST, ids=lambda tool: tool["name"])
def test_everything_that_the_schema_allows_is_done(full: Memory, tool: dict[str, Any]) -> None:
    """Each parameter at its limits, and each of its values."""
    one = next(iter(full.log.chains().entries)).id
    least = {"query": "webhook", "path": "MEMORY.md", "text": "A thought.", "ids": [one]}
    properties = tool["parameters"]["properties"]
    base = {key: least[key] for key in tool["parameters"].get("required", ())}
    for name, schema in properties.items():
        for value in _allowed(name, schema, one):
            done = tools.call(full, tool["name"], base | {name: value})
            assert not done.failed, (name, value, done.text)
        assert not tools.call(full, tool["name"], base | {name: None}).failed or name in base


def _allowed(name: str, schema: dict[str, Any], identity: str) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    if name in ("ids", "replaces"):
        return [[identity]]
    found = [schema[key] for key in ("minimum", "maximum") if key in schema]
    texts = {
        "project": "/home/mira/tidepool",
        "subject": "kiosk",
        "confirm": "nothing",
        "path": "log.jsonl",
    }
    kinds: dict[str, list[Any]] = {
        "string": [texts.get(name, "webhook")],
        "boolean": [True, False],
        "integer": [1],
    }
    return found or kinds[schema["type"]]


WRONG: list[tuple[str, Any]] = [
    ("memory_search", None),
    ("memory_search", []),
    ("memory_search", "webhook"),
    ("memory_search", {}),
    ("memory_search", {"query": None}),
    ("memory_search", {"query": ""}),
    ("memory_search", {"query": "  \n"}),
    ("memory_search", {"query": 7}),
    ("memory_search", {"query": ["webhook"]}),
    ("memory_search", {"query": "x", "maxResults": 0}),
    ("memory_search", {"query": "x", "maxResults": -1}),
    ("memory_search", {"query": "x", "maxResults": 101}),
    ("memory_search", {"query": "x", "maxResults": 1.5}),
    ("memory_search", {"query": "x", "maxResults": "6"}),
    ("memory_search", {"query": "x", "maxResults": True}),
    ("memory_search", {"query": "x", "minScore": -0.1}),
    ("memory_search", {"query": "x", "minScore": 1.1}),
    ("memory_search", {"query": "x", "minScore": float("nan")}),
    ("memory_search", {"query": "x", "minScore": float("inf")}),
    ("memory_search", {"query": "x", "minScore": False}),
    ("memory_search", {"query": "x", "type": "rumour"}),
    ("memory_search", {"query": "x", "type": ""}),
    ("memory_search", {"query": "x", "type": ["fact"]}),
    ("memory_search", {"query": "x", "subject": 7}),
    ("memory_search", {"query": "x", "status": "doing"}),
    ("memory_search", {"query": "x", "includeReplaced": "yes"}),
    ("memory_search", {"query": "x", "includeReplaced": 1}),
    ("memory_search", {"query": "x", "limit": 3}),
    ("memory_get", {}),
    ("memory_get", {"path": ""}),
    ("memory_get", {"path": "  "}),
    ("memory_get", {"path": 12}),
    ("memory_get", {"path": "MEMORY.md", "from": 0}),
    ("memory_get", {"path": "MEMORY.md", "from": "1"}),
    ("memory_get", {"path": "MEMORY.md", "from": 1.0}),
    ("memory_get", {"path": "MEMORY.md", "lines": 0}),
    ("memory_get", {"path": "MEMORY.md", "lines": -5}),
    ("memory_get", {"path": "MEMORY.md", "from": 10**30}),
    ("memory_get", {"path": "session:nobody"}),
    ("memory_get", {"path": "session:"}),
    ("memory_get", {"path": "zzzzzzzzzzzz"}),
    ("memory_get", {"path": "knowledge/none.md"}),
    ("remember", {}),
    ("remember", {"text": ""}),
    ("remember", {"text": " \n "}),
    ("remember", {"text": "x", "type": "handoff"}),
    ("remember", {"text": "x", "type": "rumour"}),
    ("remember", {"text": "x", "replaces": "abc"}),
    ("remember", {"text": "x", "replaces": [7]}),
    ("remember", {"text": "x", "replaces": ["nobody-at-all"]}),
    ("remember", {"text": "x", "pinned": "true"}),
    ("remember", {"text": "x", "subject": ["a"]}),
    ("forget", {}),
    ("forget", {"ids": []}),
    ("forget", {"ids": "abc"}),
    ("forget", {"ids": [None]}),
    ("forget", {"ids": ["nobody-at-all"]}),
    ("forget", {"ids": [""]}),
    ("forget", {"ids": ["x"] * 51}),
    ("forget", {"ids": ["x"], "confirm": 7}),
    ("forget", {"query": "webhook"}),
    ("context", {"budget": 1}),
    ("context", {"budget": 10**9}),
    ("context", {"budget": "all"}),
    ("context", {"message": 7}),
    ("context", {"session": "x"}),
    ("no_such_tool", {}),
    ("", {}),
    ("__init__", {}),
]


@pytest.mark.parametrize(
    ("name", "arguments"), WRONG, ids=[f"{name} {given!r}"[:70] for name, given in WRONG]
)
def test_wrong_arguments_are_told_and_change_nothing(
    full: Memory, name: str, arguments: Any
) -> None:
    before = full.home.log.read_bytes()
    said = refused(full, name, arguments)
    assert 5 < len(said) < 700
    assert "Traceback" not in said
    assert full.home.log.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["a\x00b", "\ud800", "x" * 200_000, "\u202e", "🎣" * 99, "<b>%s{}"]
)
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("memory_search", "query"),
        ("memory_search", "subject"),
        ("memory_get", "path"),
        ("remember", "text"),
        ("remember", "subject"),
        ("remember", "detail"),
        ("context", "message"),
        ("forget", "confirm"),
    ],
)
def test_strange_words_are_answered_or_refused(
    full: Memory, name: str, key: str, text: str
) -> None:
    least = {"memory_search": {"query": "x"}, "remember": {"text": "x"}}
    base: dict[str, Any] = dict(least.get(name, {}))
    base = {"ids": [next(iter(full.log.chains().entries)).id]} if name == "forget" else base
    done = tools.call(full, name, base | {key: text})
    assert isinstance(done, Answer)
    json.dumps(done.data, default=str).encode("utf-8", "replace")
    assert len(done.text) < 1_000_000
    Memory(full.home.root).log.chains()  # which can still be read


# --- memory_search -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"type": "fact", "subject": "auth-migration"}, {"The webhook retries five times"}),
        (
            {"type": "decision", "subject": "auth-migration"},
            {"We use RS256 for the webhook tokens"},
        ),
        ({"type": "question"}, {"Who owns the webhook relay?"}),
        ({"status": "open", "subject": "auth-migration"}, {"Rotate the webhook secret"}),
        ({"status": "done"}, {"Paint the kiosk's webhook sign"}),
        (
            {"type": "task", "status": "done", "subject": "kiosk"},
            {"Paint the kiosk's webhook sign"},
        ),
        ({"subject": "stall", "type": "question"}, {"Who owns the webhook relay?"}),
        ({"type": "fact", "status": "open"}, set()),
    ],
    ids=str,
)
@pytest.mark.parametrize("query", ["", "webhook"])
def test_filters_alone_and_with_words(
    full: Memory, query: str, filters: dict[str, str], expected: set[str]
) -> None:
    found = ask(full, "memory_search", query=query, maxResults=50, **filters)["results"]
    assert {one["snippet"].replace("**", "") for one in found} == expected
    for one in found:
        assert all(one[key] == value for key, value in filters.items() if key != "subject")


def test_a_result_says_what_it_is_and_where_it_comes_from(full: Memory) -> None:
    found = ask(full, "memory_search", query="Postgres bookings", type="decision")["results"]
    (one,) = [one for one in found if "Postgres" in one["snippet"]]
    assert one["type"] == "decision"
    assert one["timestamp"].startswith("2026-11-08T")
    assert one["session"] == Claude(Path()).session
    assert one["provenance"]
    assert 0 <= one["score"] <= 1
    assert one["id"] == one["path"]
    got = ask(full, "memory_get", path=one["path"])
    assert got["entry"]["id"] == one["id"]
    assert "Let's go with Postgres" in got["said"]


def test_every_path_that_a_search_tells_can_be_read(full: Memory) -> None:
    paths: set[str] = set()
    for query in ("Postgres", "webhook", "launch November", "Core Memory", "kiosk"):
        paths |= {
            one["path"]
            for one in ask(full, "memory_search", query=query, maxResults=100)["results"]
        }
    assert any("#" in path for path in paths)
    for path in paths:
        ask(full, "memory_get", path=path)


def test_no_more_than_asked_for_and_nothing_that_fits_less(full: Memory) -> None:
    assert len(ask(full, "memory_search", query="webhook", maxResults=2)["results"]) == 2
    best = ask(full, "memory_search", query="webhook", minScore=0)["results"]
    most = max(one["score"] for one in best)
    none = ask(full, "memory_search", query="webhook", minScore=1.0)["results"]
    assert all(one["score"] >= 1.0 for one in none)
    some = ask(full, "memory_search", query="webhook", minScore=most - 0.001)["results"]
    assert some and all(one["score"] >= round(most - 0.001, 3) for one in some)


def test_replaced_entries_stay_out_unless_they_are_asked_for(full: Memory) -> None:
    first = by_content(full, "RS256")
    second = ask(full, "remember", text="We use EdDSA for the webhook tokens", replaces=[first])
    third = ask(
        full,
        "remember",
        text="We use ML-DSA for the webhook tokens",
        replaces=[second["remembered"]["id"]],
    )
    last = third["remembered"]["id"]
    found = ask(full, "memory_search", query="webhook tokens", maxResults=50)
    texts = [one["snippet"] for one in found["results"] if one.get("id")]
    assert not any("RS256" in one or "EdDSA" in one for one in texts)
    everything = ask(
        full, "memory_search", query="webhook tokens", maxResults=50, includeReplaced=True
    )["results"]
    ids = {one.get("id"): one for one in everything}
    assert {first, second["remembered"]["id"], last} <= set(ids)
    assert ids[first]["replacedBy"] in (second["remembered"]["id"], last)
    assert "replacedBy" not in ids[last]
    history = ask(full, "memory_get", path=first)["history"]
    assert [one["id"] for one in history] == [first, second["remembered"]["id"], last]
    only = ask(full, "memory_search", query="", subject="auth-migration", includeReplaced=True)
    assert first in {one.get("id") for one in only["results"]}


@pytest.mark.parametrize("how", ["rubbish", "folder", "locked", "empty"])
def test_without_the_index_it_says_so_and_finds_all_the_same(full: Memory, how: str) -> None:
    full.index.sync()
    full.opened.index.store.close()
    path = full.home.index
    for one in path.parent.glob("index.db*"):
        if how != "locked":
            one.unlink()
    holder: sqlite3.Connection | None = None
    if how == "rubbish":
        path.write_bytes(b"this is no database at all" * 999)
    elif how == "folder":
        path.mkdir()
    elif how == "empty":
        path.write_bytes(b"")
    else:
        holder = sqlite3.connect(path)
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
    try:
        found = ask(Memory(full.home.root), "memory_search", query="RS256 webhook", type="decision")
    finally:
        if holder:
            holder.close()
    assert any("RS256" in one["snippet"].replace("**", "") for one in found["results"])
    if how in ("folder", "locked"):
        assert any("index" in note for note in found["notes"])


# --- remember, forget, context -----------------------------------------------------------


def test_what_is_remembered_is_found(full: Memory) -> None:
    data = ask(
        full,
        "remember",
        text="The ferry leaves at 07:40",
        type="decision",
        subject="kiosk",
        detail="Only on weekdays.",
        pinned=True,
    )["remembered"]
    assert data["type"] == "decision"
    assert data["subject"] == "kiosk"
    entry = ask(full, "memory_get", path=data["id"])["entry"]
    assert (entry["detail"], entry["pinned"]) == ("Only on weekdays.", True)
    (found,) = ask(full, "memory_search", query="", subject="kiosk", type="decision")["results"]
    assert found["id"] == data["id"]


def test_forget_asks_first_and_only_then_forgets(full: Memory) -> None:
    one, two = by_content(full, "Rotate the webhook"), by_content(full, "retries five")
    before = full.home.log.read_bytes()
    asked = ask(full, "forget", ids=[one])
    code = asked["asks"].split('"')[1]
    assert [row["id"] for row in asked["wouldForget"]["entries"]] == [one]
    for confirm in ("yes", "", code.upper() + "0", "true", code[:-1], f" {code}"):
        again = ask(full, "forget", ids=[one], confirm=confirm)
        assert "forgotten" not in again
        assert "does not fit" in again["asks"]
    for ids in ([two], [one, two], [two, one]):
        assert "forgotten" not in ask(full, "forget", ids=ids, confirm=code)
    assert full.home.log.read_bytes() == before
    done = ask(full, "forget", ids=[one], confirm=code)
    assert [row["id"] for row in done["forgotten"]] == [one]
    assert "Rotate the webhook secret" not in contents(full)
    assert "The webhook retries five times" in contents(full)
    refused(full, "forget", {"ids": [one], "confirm": code})


def test_a_code_stays_good_in_another_order_and_process(full: Memory) -> None:
    one, two = by_content(full, "Rotate the webhook"), by_content(full, "retries five")
    code = ask(full, "forget", ids=[one, two])["asks"].split('"')[1]
    other = Memory(full.home.root)
    done = ask(other, "forget", ids=[two, one, one], confirm=code)
    assert {row["id"] for row in done["forgotten"]} == {one, two}


def test_a_yes_to_less_is_no_yes_to_more(full: Memory) -> None:
    """A unique beginning of an id means one entry when asked, and another one later."""
    one = ask(full, "remember", text="The tide table is on the door")["remembered"]["id"]
    code = ask(full, "forget", ids=[one[:6]])["asks"].split('"')[1]
    ask(full, "remember", text="The tide table is on the fridge", replaces=[one])
    later = tools.call(full, "forget", {"ids": [one[:6]], "confirm": code})
    if later.failed or "forgotten" not in later.data:
        return
    assert [row["id"] for row in later.data["forgotten"]] == [one]


def test_what_a_forgotten_entry_had_replaced_is_shown_first(full: Memory) -> None:
    first = by_content(full, "RS256")
    second = ask(full, "remember", text="We use EdDSA for the tokens", replaces=[first])
    asked = ask(full, "forget", ids=[second["remembered"]["id"]])
    assert [row["id"] for row in asked["wouldForget"]["holdAgain"]] == [first]


@pytest.mark.parametrize("budget", [400, 800, 8_192])
def test_a_context_keeps_its_budget(full: Memory, budget: int) -> None:
    done = tools.call(full, "context", {"message": "Which database?", "budget": budget})
    assert not done.failed, done.text
    assert done.text == done.data["text"]
    assert 0 < done.data["tokens"] <= budget
    assert "Postgres" in done.text


def test_a_group_is_told_nothing_private(full: Memory) -> None:
    full.home.memory.write_text("# Core Memory\n\n- The alarm code is 4711\n")
    arguments = {"message": "What is the alarm code?"}
    alone = tools.call(full, "context", arguments, "agent:main:main")
    group = tools.call(full, "context", arguments, "agent:main:telegram:group:77")
    assert "4711" in alone.text
    assert "4711" not in group.text


def test_a_home_that_is_not_there_is_told(tmp_path: Path) -> None:
    for name, arguments in (
        ("memory_search", {"query": "x"}),
        ("memory_get", {"path": "MEMORY.md"}),
        ("remember", {"text": "x"}),
        ("forget", {"ids": ["x"]}),
        ("context", {}),
    ):
        assert "wakebook setup" in refused(Memory(tmp_path / "none"), name, arguments)
    assert not (tmp_path / "none").exists()
