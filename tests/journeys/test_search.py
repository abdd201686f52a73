"""Journeys through `wakebook search`, `index` and `show`, each a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.store.making import append, entry, fresh, name, note, python, transcript, wakebook
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory

DAY = "knowledge/procedures/release-day.md"


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    memory = fresh(tmp_path / "home")
    append(
        memory,
        entry(1, "The launch is on 14 November", subject="tidepool", days=4),
        entry(2, "The launch is on 21 November", subject="tidepool", replaces=(name(1),), days=2),
        entry(3, "Send the insurance form", type="task"),
        entry(4, "Mira sold her bicycle", detail="to Jonas, for 90 euros"),
    )
    text = "# Before\n\nCheck the launch list\n\n# After\n\nCelebrate\n"
    note(memory, DAY, text, modified=1_770_000_000)
    transcript(memory, "5e55-one", [("user", "When is the launch?"), ("agent", "On the 21st.")])
    return memory


def run_json(memory: Memory, *arguments: str, code: int = 0) -> Any:
    return json.loads(wakebook(memory, *arguments, "--json", code=code))


def test_search_in_words_for_people(home: Memory) -> None:
    out = wakebook(home, "search", "launch", "on", "which", "day", "of", "November")
    first = out.splitlines()[0]
    assert "tidepool" in first and "fact" in first and "2026-11-07" in first
    assert name(2) in "".join(out.splitlines()[:4])
    assert "21 November" in out and "words: launch, november" in out
    assert name(1) not in "".join(out.splitlines()[:4]).replace(f"corrects {name(1)}", "")
    assert "**" not in out


def test_search_for_machines(home: Memory) -> None:
    found = run_json(home, "search", "launch in November")
    assert found["notes"] == []
    first = found["hits"][0]
    assert first["ref"] == name(2) and first["type"] == "fact" and first["subject"] == "tidepool"
    assert "**launch**" in first["snippet"]
    assert first["timestamp"] == "2026-11-07T08:00:00Z"
    assert first["provenance"] == "by hand" and first["why"] and 0 < first["score"] <= 1
    places = [hit["ref"] for hit in found["hits"]]
    assert any(place.startswith("raw/conversations/") for place in places)
    for place in places:  # whatever is found can be shown
        wakebook(home, "show", place)


def test_the_same_twice(home: Memory) -> None:
    one, other = (run_json(home, "search", "launch form bicycle") for _ in range(2))
    assert one["hits"] == other["hits"]


def test_explain(home: Memory) -> None:
    out = wakebook(home, "search", "launch", "--explain")
    assert "candidates by words and builtin vectors" in out
    assert "bm25" in out and "cosine" in out and "recency" in out and " ms:" in out
    assert "from by hand" in out


def test_nothing_found(home: Memory) -> None:
    out = wakebook(home, "search", "--type", "decision", "launch", code=1)
    assert "Nothing found" in out and "--everywhere, --min-score 0" in out
    assert run_json(home, "search", "--subject", "nothing", code=1)["hits"] == []
    assert "Give some words, or a filter" in wakebook(home, "search", code=2)


def test_filters_limit_and_least_score(home: Memory) -> None:
    assert len(run_json(home, "search", "launch", "--limit", "1")["hits"]) == 1
    every = run_json(home, "search", "launch", "--min-score", "0", "-n", "50")["hits"]
    best = [hit for hit in every if hit["score"] >= 0.5]
    assert len(run_json(home, "search", "launch", "--min-score", "0.5", "-n", "50")["hits"]) == len(
        best
    )
    [task] = run_json(home, "search", "--type", "task", "--status", "open")["hits"]
    assert task["ref"] == name(3) and task["why"] == "within the filters"
    replaced = run_json(home, "search", "launch", "--all", "--subject", "tidepool")["hits"]
    assert [hit["ref"] for hit in replaced[:2]] == [name(2), name(1)]
    assert replaced[1]["replaced_by"] == name(2)
    talk = run_json(home, "search", "launch", "--category", "conversation")["hits"]
    assert {hit["session"] for hit in talk} == {"5e55-one"}
    assert run_json(home, "search", "--host", "claude-code")["hits"]
    assert run_json(home, "search", "--session", "5e55", "launch")["hits"]
    assert run_json(home, "search", "--since", "3d", "--type", "fact", "--all")["hits"]
    for wrong in (["--limit", "0"], ["--min-score", "2"], ["--category", "x"], ["--type", "x"]):
        wakebook(home, "search", "launch", *wrong, code=2)


def test_whole_conversations(home: Memory) -> None:
    [found] = run_json(home, "search", "--sessions", "launch")["hits"]
    assert found["ref"] == "session:5e55-one"
    assert "session:5e55-one" in wakebook(home, "search", "--sessions", "launch")


def test_notes_go_to_standard_error(home: Memory) -> None:
    home.home.index.mkdir()
    assert "! Found by reading the files" in wakebook(home, "search", "launch")
    found = run_json(home, "search", "launch")
    assert len(found["notes"]) == 1 and found["hits"]


def test_words_that_look_like_syntax(home: Memory) -> None:
    for question in ("launch*", '"launch', "launch AND", "'; DROP TABLE launch; --", "NEAR(launch"):
        assert name(2) in wakebook(home, "search", "--", question)


def test_index(home: Memory) -> None:
    out = wakebook(home, "index")
    assert "8 chunks added, 0 removed, 8 embedded" in out
    assert "builtin" in out and "problem" not in out
    assert "0 chunks added" in wakebook(home, "index")
    again = run_json(home, "index", "--full")
    assert again["done"]["added"] == 8
    assert again["status"]["chunks"] == {"conversation": 2, "memory": 4, "procedure": 2}
    append(home, entry(9, "more"))
    status = run_json(home, "index", "--status")
    assert status["done"] is None and status["status"]["behind"] > 0
    assert "behind" in wakebook(home, "index", "--status")
    assert "exclude each other" in wakebook(home, "index", "--status", "--full", code=2)


def test_index_before_there_is_one(home: Memory) -> None:
    assert "none yet" in wakebook(home, "index", "--status")
    assert not home.home.index.exists()


def test_what_cannot_be_indexed_is_said(home: Memory) -> None:
    note(home, "topics/picture.md", b"\x89PNG\0\0")
    assert "topics/picture.md is not indexed" in wakebook(home, "index", code=1)
    assert run_json(home, "index", "--status", code=1)["status"]["problems"]
    assert "topics/picture.md is not indexed" in wakebook(home, "status", code=1)
    wakebook(home, "search", "launch")


def test_status_shows_the_index(home: Memory) -> None:
    wakebook(home, "index")
    out = wakebook(home, "status")
    assert "8 chunks indexed" in out and "builtin" in out


def test_show(home: Memory) -> None:
    out = wakebook(home, "show", name(4)[:12])
    assert "Mira sold her bicycle" in out and "90 euros" in out
    out = wakebook(home, "show", name(2))
    assert "How it came to this" in out and "14 November" in out
    lines = run_json(home, "show", DAY, "--from", "3", "--lines", "2")["lines"]
    assert lines == [{"line": 3, "text": "Check the launch list"}, {"line": 4, "text": ""}]
    assert run_json(home, "show", f"{DAY}#7")["lines"][0]["text"] == "Celebrate"
    assert len(run_json(home, "show", DAY, "--from", "6")["lines"]) == 2
    assert len(run_json(home, "show", DAY, "--lines", "1")["lines"]) == 1


def test_show_a_session(home: Memory) -> None:
    append(home, entry(8, "launch on the 21st", session="5e55-one"))
    shown = run_json(home, "show", "session:5e55")
    assert shown["name"] == "5e55-one" and len(shown["transcripts"]) == 1
    assert [item["id"] for item in shown["entries"]] == [name(8)]
    assert shown["lines"] == []
    talk = run_json(home, "show", "session:5e55", "--lines", "2")["lines"]
    assert [line["text"] for line in talk] == ["2026-11-07 08:00 user:", "When is the launch?"]
    rest = run_json(home, "show", "session:5e55", "--from", "4", "--lines", "9")["lines"]
    assert [line["text"] for line in rest] == ["On the 21st."]


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("entr", "give more of it"),
        ("zzzz", "`wakebook log` shows the ids"),
        ("session:zzz", "`wakebook status --sessions` lists all"),
        ("session:", "`wakebook status --sessions` lists all"),
        ("topics/none.md", "There is no file"),
        ("../config.toml", "There is no file"),
        ("/etc/passwd.md", "There is no file"),
        (f"{DAY}#x", "path#12"),
        (f"{DAY}#99", "has 7 lines"),
        (" ", "An empty reference"),
    ],
)
def test_show_says_what_to_do(home: Memory, ref: str, said: str) -> None:
    assert said in wakebook(home, "show", ref, code=9)


_IMPORTED = """
import json, sys
from wakebook import cli
sys.argv = ["wakebook", *sys.argv[1:]]
try:
    cli.main()
except SystemExit as done:
    assert not done.code, done.code
heavy = ("numpy", "msgspec", "rich", "yaml")
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules} & set(heavy))))
"""


def imported(*arguments: str) -> list[str]:
    found: list[str] = json.loads(python(_IMPORTED, *arguments).splitlines()[-1])
    return found


def test_a_search_imports_no_more_than_it_needs(home: Memory) -> None:
    root = str(home.home.root)
    wakebook(home, "index")
    for arguments in (
        ["launch"],
        ["launch", "--json"],
        ["--type", "task"],
        ["--sessions", "launch"],
    ):
        assert imported("--home", root, "search", *arguments) == ["numpy"], arguments
    append(home, entry(10, "something new"))
    assert set(imported("--home", root, "search", "launch")) <= {"msgspec", "numpy"}


def test_from_a_conversation_to_an_answer(projects: Path, tmp_path: Path) -> None:
    chat(Claude(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=12), NEXT_DAY)
    memory = fresh(tmp_path / "home")
    wakebook(memory, "catch-up")
    assert wakebook(memory, "index").startswith("● 0 chunks added")  # catch-up did it
    found = run_json(memory, "search", "which database did we take for the bookings")["hits"]
    assert "Postgres" in found[0]["snippet"].replace("**", "")
    launch = run_json(memory, "search", "when is the launch")["hits"]
    assert "21 November" in launch[0]["snippet"].replace("**", "")
    stale = [hit for hit in launch[1:] if "14 November" in hit["snippet"]]
    assert stale
    assert all(hit["score"] < launch[0]["score"] and hit["replaced_by"] for hit in stale)
    assert launch[0]["provenance"].startswith("claude-code session:5e551011")
    where = launch[0]["provenance"].split()[-1]
    assert "21 November" in wakebook(memory, "show", where)
