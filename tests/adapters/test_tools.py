"""The tools of an agent: what they answer, what they refuse, and what they keep to themselves."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.hooking import contents
from tests.lend import entry, known
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.adapters import tools
from wakebook.adapters.tools import Answer

SECRETS = ("config.toml", "state.json", "token", "trace.jsonl", "index.db", ".gitignore")


def ask(memory: Memory, name: str, **arguments: Any) -> Any:
    """What a tool answers that has not failed."""
    done = tools.call(memory, name, arguments)
    assert not done.failed, done.text
    if name != "context":
        assert json.loads(done.text) == json.loads(json.dumps(done.data, default=str)), name
    return done.data


def refused(memory: Memory, name: str, arguments: object) -> str:
    done = tools.call(memory, name, arguments)
    assert done.failed, done.text
    assert isinstance(done.text, str) and done.data["error"]
    return done.text


@pytest.fixture
def claude(projects: Path) -> Claude:
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def full(memory: Memory, claude: Claude) -> Memory:
    memory.add_subject("auth-migration")
    memory.add_subject("kiosk", display="The Kiosk")
    memory.catch_up(closing=True)
    known(
        memory,
        entry(3, "The webhook retries five times", subject="auth-migration"),
        entry(2, "We use RS256 for the webhook tokens", "decision", subject="auth-migration"),
        entry(1, "Rotate the webhook secret", "task", subject="auth-migration"),
        entry(1, "Paint the kiosk's webhook sign", "task", subject="kiosk", status="done"),
        entry(1, "Who owns the webhook relay?", "question", subject="kiosk"),
    )
    return memory


def by_content(memory: Memory, words: str) -> str:
    (found,) = [one.id for one in memory.chains().entries if words in one.content]
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
    }  # fmt: skip
    assert shapes["memory_get"] == {"path": "string", "from": "integer", "lines": "integer"}
    assert set(shapes) == {"memory_search", "memory_get", "remember", "forget", "context"}
    reading = {tool["name"] for tool in tools.LIST if tool["readOnly"]}
    assert reading == {"memory_search", "memory_get", "context"}
    for tool in tools.LIST:
        assert tool["description"] and tool["label"]
        assert tool["parameters"]["additionalProperties"] is False


@pytest.mark.parametrize("tool", tools.LIST, ids=lambda tool: tool["name"])
def test_everything_that_the_schema_allows_is_done(full: Memory, tool: dict[str, Any]) -> None:
    """Each parameter at its limits, and each of its values."""
    one = next(iter(full.chains().entries)).id
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
    texts = {"subject": "kiosk", "confirm": "nothing", "path": "log.jsonl"}
    kinds = {"string": [texts.get(name, "webhook")], "boolean": [True, False], "integer": [1]}
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
    base = {"memory_search": {"query": "x"}, "remember": {"text": "x"}}.get(name, {})
    base = {"ids": [next(iter(full.chains().entries)).id]} if name == "forget" else base
    done = tools.call(full, name, base | {key: text})
    assert isinstance(done, Answer)
    json.dumps(done.data, default=str).encode("utf-8", "replace")
    assert len(done.text) < 1_000_000
    Memory(full.home.root).chains()  # which can still be read


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
        ({"subject": "KIOSK", "type": "question"}, {"Who owns the webhook relay?"}),
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
    full.index()
    full._index.store.close()
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


# --- memory_get --------------------------------------------------------------------------


def test_an_entry_comes_with_all_its_fields(full: Memory) -> None:
    identity = by_content(full, "Rotate the webhook")
    data = ask(full, "memory_get", path=identity)
    assert data["entry"]["content"] == "Rotate the webhook secret"
    assert data["entry"]["status"] == "open"
    assert ask(full, "memory_get", path=f"  {identity}\n")["entry"]["id"] == identity
    assert ask(full, "memory_get", path=identity, **{"from": 3, "lines": 1})["entry"]


def test_a_session_comes_as_it_was_said(full: Memory, claude: Claude) -> None:
    data = ask(full, "memory_get", path=f"session:{claude.session}")
    assert "Let's go with Postgres" in data["text"]
    assert "uv it is" in data["text"]
    assert data["from"] == 1
    assert len(data["transcripts"]) == 1
    assert "more" not in data
    whole = data["text"].split("\n")
    part = ask(full, "memory_get", path=f"session:{claude.session}", **{"from": 3, "lines": 2})
    assert part["text"].split("\n") == whole[2:4]
    assert "from = 5" in part["more"]


def test_lines_of_a_file_and_whether_there_are_more(full: Memory) -> None:
    note = full.home.root / "knowledge" / "reference" / "long.md"
    lines = [f"line {number}" for number in range(1, 1_502)]
    note.write_text("\n".join(lines) + "\n")
    path, read, first = "knowledge/reference/long.md", [], 1
    for _ in range(9):
        data = ask(full, "memory_get", path=path, **{"from": first})
        assert data["from"] == first
        read += data["text"].split("\n")
        if "more" not in data:
            break
        first += data["lines"]
        assert f"from = {first}." in data["more"]
    assert read == lines
    assert ask(full, "memory_get", path=f"{path}#1501")["text"] == "line 1501"
    assert "more" not in ask(full, "memory_get", path=f"{path}#3-7")
    assert ask(full, "memory_get", path=f"{path}#3-7")["text"].split("\n") == lines[2:7]
    assert ask(full, "memory_get", path=path, lines=10**9)["lines"] <= 600
    assert "more" in ask(full, "memory_get", path=f"{path}#1-1400")


def test_a_line_without_an_end_is_cut(full: Memory) -> None:
    note = full.home.root / "knowledge" / "reference" / "wide.md"
    note.write_text("x" * 3_000_000 + "\nsecond\n")
    data = ask(full, "memory_get", path="knowledge/reference/wide.md")
    assert len(data["text"]) < 70_000
    assert "from = 2" in data["more"]
    assert ask(full, "memory_get", path="knowledge/reference/wide.md#2")["text"] == "second"


def test_an_empty_file_is_empty(full: Memory) -> None:
    (full.home.root / "knowledge" / "reference" / "none.md").write_text("")
    assert ask(full, "memory_get", path="knowledge/reference/none.md")["text"] == ""


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.md", "knowledge/memory/MEMORY.md"])
def test_memory_md_by_its_name(full: Memory, name: str) -> None:
    assert "# Core Memory" in ask(full, "memory_get", path=name)["text"]
    part = ask(full, "memory_get", path=name, **{"from": 2, "lines": 1})
    assert part["lines"] == 1


@pytest.mark.parametrize("spelled", ["absolute", "~", "../"])
def test_memory_md_may_live_elsewhere(full: Memory, tmp_path: Path, spelled: str) -> None:
    """In OpenClaw's workspace, say. Its neighbours stay private."""
    place = tmp_path / "user" / "workspace" / "MEMORY.md"
    place.parent.mkdir()
    place.write_text("# In the workspace\n\nsecond\n")
    (place.parent / "diary.md").write_text("dear diary")
    chosen = {
        "absolute": str(place),
        "~": "~/workspace/MEMORY.md",
        "../": "../user/workspace/MEMORY.md",
    }[spelled]
    full.home.config.write_text(f"[briefing]\nmemory_file = {json.dumps(chosen)}\n")
    memory = Memory(full.home.root)
    assert "# In the workspace" in ask(memory, "memory_get", path="MEMORY.md")["text"]
    assert ask(memory, "memory_get", path="MEMORY.md#3")["text"] == "second"
    assert "# In the workspace" in ask(memory, "memory_get", path=str(place))["text"]
    for path in (f"{place.parent}/diary.md", f"{place}/../diary.md", f"{place}#/../diary.md#1"):
        assert "dear diary" not in refused(memory, "memory_get", {"path": path})


TRAVERSALS = [
    "../{}", "../../{}", "raw/../{}", "./{}", "{}", "/{}", "//{}", "{}#1", "./{}#1", "raw/./../{}",
    "raw//..//{}", "knowledge/memory/../../{}", "raw/x#/../../{}", "raw/x#1/../../{}#1",
    "MEMORY.md#/../../../{}", "MEMORY.md#/../../../{}#1", "memory.md#1/../../../{}#1-3",
    "a#/../{}", "a#/../{}#1", "log.jsonl#/../{}#1", "log.jsonl/../{}", "%2e%2e/{}",
    "raw/%2e%2e/{}", "..%2f{}", "raw\\..\\{}", "raw/..\u2215{}", "raw/../{}\x00",
    "raw/../{}\x00.md",
    "file://{}", "session:../{}", "session:{}", "~/{}", "$HOME/{}", "topics/../{}#L1-L9", " ./{} ",
]  # fmt: skip


@pytest.mark.parametrize("pattern", TRAVERSALS)
def test_memory_get_keeps_to_the_memory(full: Memory, pattern: str) -> None:
    outside = full.home.root.parent / "outside.md"
    outside.write_text("SECRET outside")
    for name in (*SECRETS, ".cache/service.json", ".git/config", "hosts/pi/wired.json"):
        path = full.home.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or name != "index.db":
            path.write_text('"SECRET inside"' if name != "config.toml" else "# SECRET inside\n")
    full = Memory(full.home.root)
    names = [*SECRETS, ".cache/service.json", ".git/config", "hosts/pi/wired.json", "outside.md"]
    for name in (*names, str(outside), str(full.home.root / "token"), "/etc/passwd"):
        path = pattern.format(name)
        done = tools.call(full, "memory_get", {"path": path})
        assert done.failed, path
        assert "SECRET" not in done.text
        assert "root:" not in done.text


@pytest.mark.parametrize("target", ["token", "config.toml", "../outside.md", "..", ".", ".cache"])
@pytest.mark.parametrize("place", ["raw/link.md", "knowledge/reference/link.md", "topics/link.md"])
def test_a_link_leads_nowhere_else(full: Memory, place: str, target: str) -> None:
    root = full.home.root
    (root / "token").write_text("SECRET")
    (root.parent / "outside.md").write_text("SECRET")
    with (root / "config.toml").open("a") as stream:
        stream.write("# SECRET\n")
    (root / place).symlink_to(os.path.relpath(root / target, (root / place).parent))
    below = f"{place}/token" if target in ("..", ".") else place
    for path in (place, below, f"{place}#1", f"{place}/../../token", f"{place}/outside.md"):
        done = tools.call(full, "memory_get", {"path": path})
        assert done.failed, path
        assert "SECRET" not in done.text


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
        assert "wakebook init" in refused(Memory(tmp_path / "none"), name, arguments)
    assert not (tmp_path / "none").exists()
