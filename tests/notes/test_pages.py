"""What stands on which page: pure functions of entries, subjects and the day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from wakebook.base import markdown
from wakebook.base.config import Config
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.entry import RETRACTED, Entry, derived_id
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import page as pages
from wakebook.notes.book import NOTHING, Book, NoteBlock
from wakebook.notes.condensed import Condensed
from wakebook.notes.page import LONG, People
from wakebook.store.catalogue import Catalogue

NOW = datetime(2026, 11, 9, 8, tzinfo=UTC)
AUTH = Subject("auth", "Auth")


class Shelf:
    """A log in the making, and the book that it gives."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.registry = Registry({"auth": AUTH})
        self.condensed: dict[str, Condensed] = {}
        self.now = NOW
        self._opened: list[Catalogue] = []

    def say(self, content: str, at: str = "", **fields: Any) -> Entry:
        number = len(log.read(self.home).entries)
        moment = datetime.fromisoformat(at) if at else NOW - timedelta(hours=1)
        moment += timedelta(seconds=0 if at else number)
        base: dict[str, Any] = {"type": "fact", "session": "s1", "subject": "auth"}
        entry = Entry(
            id=derived_id("test", str(number), content),
            timestamp=moment.astimezone(UTC),
            content=content,
            **(base | fields),
        )
        log.append(self.home, [entry])
        return entry

    def task(self, content: str, status: str = "open", **fields: Any) -> Entry:
        return self.say(content, type="task", status=status, **fields)

    @property
    def book(self) -> Book:
        catalogue = Catalogue(self.home)
        catalogue.sync()
        self._opened.append(catalogue)
        return Book(catalogue, self.registry, self.condensed, Config(), self.now)

    def block(self, page: str, name: str = "") -> NoteBlock:
        [found] = [one for one in self.book.blocks(page) if name in ("", one.name)]
        return found

    def lines(self, page: str, name: str = "") -> list[str]:
        return self.block(page, name).text

    def close(self) -> None:
        for one in self._opened:
            one.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    home = Home(tmp_path / "home")
    home.folder(home.root)
    with closing(Shelf(home)) as shelf:
        yield shelf


def below(lines: Sequence[str], heading: str) -> list[str]:
    """The items under a heading."""
    start = list(lines).index(f"## {heading}") + 1
    rest = list(lines)[start:]
    return rest[: rest.index("")] if "" in rest else rest


# --- pages --------------------------------------------------------------------------------


def of(entry: Entry, registry: Registry | None = None) -> set[str]:
    known = registry or Registry({"auth": AUTH})
    return set(pages.of(entry, known, People(known), UTC))


def entry(content: str = "x", **fields: Any) -> Entry:
    base: dict[str, Any] = {"type": "fact", "session": "s", "subject": "", "timestamp": NOW}
    return Entry(id=derived_id("t", "", content), content=content, **(base | fields))


def test_an_entry_is_told_on_its_day_and_on_its_subjects_page() -> None:
    assert of(entry(subject="auth")) == {"journal/2026-11-09", "project/auth"}
    assert of(entry(subject="unheard-of")) == {"journal/2026-11-09", "project/unheard-of"}


@pytest.mark.parametrize(
    ("type_", "page"),
    [
        ("project", "project/x"),
        ("person", "person/x"),
        ("system", "reference/x"),
        ("tool", "reference/x"),
        ("place", "reference/x"),
        ("other", "reference/x"),
    ],
)
def test_the_type_of_a_subject_says_which_page_it_has(type_: str, page: str) -> None:
    assert page in of(entry(subject="x"), Registry({"x": Subject("x", "X", type_)}))


def test_what_is_about_nothing_in_particular_has_its_shelves() -> None:
    assert "reference/_general" in of(entry())
    assert "reference/_general" in of(entry(type="task", status="open"))
    assert "reference/_preferences" in of(entry(kind="preference"))
    assert "reference/_lessons" in of(entry(kind="lesson"))
    assert of(entry(type="handoff")) == {"journal/2026-11-09"}
    assert "procedure/_general" in of(entry(kind="procedure"))
    assert "reference/_general" not in of(entry(kind="procedure"))


def test_an_alias_leads_to_the_page_of_its_subject() -> None:
    aliased = Registry({"auth": Subject("auth", "Auth", aliases=("login",))})
    assert "project/auth" in of(entry(subject="login"), aliased)


def test_every_page_leads_to_its_files_and_back() -> None:
    every = ("project/a", "person/a", "reference/a", "reference/_general", "procedure/a")
    for page in (*every, "journal/2026-11-09", *pages.OVERVIEWS):
        files = pages.files(page)
        assert files
        assert {pages.at(path) for path in files} == {page}
    assert pages.at("identity/SOUL.md") == ""
    assert pages.at("projects/a/mine.md") == ""
    assert pages.at("people/deep/er.md") == ""


@pytest.mark.parametrize("name", ["ideas", "2026-13-40", "2026-02-30", "2026-1-1"])
def test_a_journal_of_no_day_is_nobodys_page(name: str) -> None:
    assert pages.at(f"journal/{name}.md") == ""


# --- a project ----------------------------------------------------------------------------


def test_a_projects_notes_each_have_their_sections_in_order_newest_first(shelf: Shelf) -> None:
    for number in (1, 2):
        shelf.say(f"fact {number}")
        shelf.say(f"lesson {number}", kind="lesson")
        shelf.say(f"event {number}", kind="event")
        shelf.say(f"decision {number}", type="decision")
        shelf.say(f"preference {number}", kind="preference")
        shelf.say(f"relationship {number}", kind="relationship")
        shelf.say(f"question {number}", type="question")
        shelf.task(f"task {number}")
        shelf.task(f"done {number}", status="done")
    shelf.say("stopped here", type="handoff")
    day = "[[2026-11-09]]"
    assert shelf.lines("project/auth", "context") == [
        "## Current State",
        f"- {day}: stopped here",
        "",
        "## Key Decisions",
        f"- {day}: decision 2",
        f"- {day}: decision 1",
        "",
        "## Preferences",
        f"- preference 2 ({day})",
        f"- preference 1 ({day})",
        "",
        "## People",
        f"- relationship 2 ({day})",
        f"- relationship 1 ({day})",
    ]
    assert shelf.lines("project/auth", "progress") == [
        "## Next",
        f"- [ ] task 2 (since {day})",
        f"- [ ] task 1 (since {day})",
        "",
        "## Open Questions",
        f"- question 2 ({day})",
        f"- question 1 ({day})",
        "",
        "## Done",
        f"- [x] {day}: done 2",
        f"- [x] {day}: done 1",
        "",
        "## Sessions",
        f"- {day}: stopped here",
    ]
    assert shelf.lines("project/auth", "notes") == [
        "## Facts",
        f"- fact 2 ({day})",
        f"- fact 1 ({day})",
        "",
        "## Lessons",
        f"- lesson 2 ({day})",
        f"- lesson 1 ({day})",
        "",
        "## Events",
        f"- {day}: event 2",
        f"- {day}: event 1",
    ]


def test_the_frontmatter_says_what_a_note_is_and_when_it_had_news(shelf: Shelf) -> None:
    shelf.say("old", at="2026-11-01T10:00:00+00:00")
    shelf.say("new", at="2026-11-03T10:00:00+00:00")
    block = shelf.block("project/auth", "notes")
    assert (block.path, block.title) == ("projects/auth/notes.md", "Auth — notes")
    assert block.front == {
        "type": "project_notes",
        "project": "auth",
        "updated": "2026-11-03T10:00:00Z",
    }
    shelf.registry = shelf.registry.with_(Subject("jane", "Jane Doe", "person"))
    shelf.say("lives in Porto", subject="jane", at="2026-11-02T10:00:00+00:00")
    person = shelf.block("person/jane").front
    assert person == {"type": "person", "name": "Jane Doe", "updated": "2026-11-02T10:00:00Z"}
    journal = shelf.block("journal/2026-11-03").front
    assert journal["type"] == "journal"
    assert journal["date"] == "2026-11-03"
    assert journal["sessions"] == ["s1"]
    types = {page: shelf.block(page).front["type"] for page in ("active", "people", "observations")}
    assert types == {
        "active": "project_index",
        "people": "people_index",
        "observations": "observations",
    }
    assert markdown.front_problem(markdown.front(block.front)) == ""


def test_detail_follows_its_content_and_what_is_pinned_says_so(shelf: Shelf) -> None:
    shelf.say("Use Postgres.", type="decision", detail="SQLite locks up", pinned=True)
    assert "- [[2026-11-09]]: 📌 Use Postgres — SQLite locks up" in shelf.lines(
        "project/auth", "context"
    )


def test_what_was_replaced_or_taken_back_is_gone(shelf: Shelf) -> None:
    old = shelf.say("The launch is on the 14th")
    shelf.say("The launch is on the 21st", replaces=(old.id,))
    wrong = shelf.say("We use Oracle")
    shelf.say("No longer holds: We use Oracle", replaces=(wrong.id,), extra={RETRACTED: True})
    assert below(shelf.lines("project/auth", "notes"), "Facts") == [
        "- The launch is on the 21st ([[2026-11-09]])"
    ]


def test_only_the_newest_handoff_is_the_state_and_ten_are_told(shelf: Shelf) -> None:
    for number in range(15):
        shelf.say(f"session {number}", type="handoff")
    state = below(shelf.lines("project/auth", "context"), "Current State")
    assert state == ["- [[2026-11-09]]: session 14"]
    told = below(shelf.lines("project/auth", "progress"), "Sessions")
    assert len(told) == 11
    assert told[-1] == "- … and 5 older"


def test_what_is_beyond_the_limit_is_counted_and_still_behind_its_line(shelf: Shelf) -> None:
    entries = [shelf.task(f"done {number}", status="done") for number in range(25)]
    block = shelf.block("project/auth", "progress")
    last = block.lines[-1]
    assert last.text == "- … and 5 older"
    assert set(last.ids) == {one.id for one in entries[:5]}


def test_open_tasks_are_never_cut(shelf: Shelf) -> None:
    for number in range(60):
        shelf.task(f"task {number}")
    assert len(below(shelf.lines("project/auth", "progress"), "Next")) == 60


def test_a_section_ends_where_nobody_reads_on(shelf: Shelf) -> None:
    first = shelf.task("task 0")
    for number in range(1, LONG + 5):
        shelf.task(f"task {number}")
        shelf.say(f"fact {number}")
    told = below(shelf.lines("project/auth", "progress"), "Next")
    assert told[0].startswith(f"- [ ] task {LONG + 4}")
    assert told[LONG:] == ["- … and 5 older"]
    assert first.id in shelf.block("project/auth", "progress").lines[-1].ids
    facts = below(shelf.lines("project/auth", "notes"), "Facts")
    assert facts[LONG:] == ["- … and 4 older"]


def test_procedures_have_a_note_of_their_own_and_a_link_to_it(shelf: Shelf) -> None:
    ids = [shelf.say(f"Deploy with make {n}", kind="procedure").id for n in range(2)]
    block = shelf.block("project/auth", "context")
    assert below(block.text, "Procedures") == ["- 2 in [[procedures/auth]]"]
    assert set(block.lines[-1].ids) == set(ids)
    own = shelf.block("procedure/auth")
    assert (own.path, own.front["type"]) == ("procedures/auth.md", "procedure")
    assert own.text == [
        "## Procedures",
        "- Deploy with make 1 ([[2026-11-09]])",
        "- Deploy with make 0 ([[2026-11-09]])",
    ]
    shelf.say("In general: read the manual", kind="procedure", subject="")
    assert shelf.lines("procedure/_general")[1].startswith("- In general: read the manual")


def test_a_page_without_entries_says_so_where_it_exists(shelf: Shelf) -> None:
    block = shelf.block("reference/nothing")
    assert block.text == [NOTHING]
    assert not block.items


# --- people and references ----------------------------------------------------------------


def test_a_fact_about_somebody_introduces_them_and_links_lead_there(shelf: Shelf) -> None:
    fact = shelf.say("Ylva is the photographer", kind="relationship")
    assert "person/ylva" in shelf.book.all_pages()
    block = shelf.block("person/ylva")
    assert (block.path, block.front["name"]) == ("people/ylva.md", "Ylva")
    assert below(block.text, "Context") == ["- Ylva is the photographer ([[2026-11-09]])"]
    index = shelf.block("people")
    assert index.text == ["## People", "- **[[people/ylva|Ylva]]** — Ylva is the photographer"]
    assert index.lines[1].ids == (fact.id,)


@pytest.mark.parametrize(
    ("said", "slug", "shown"),
    [
        ("Dr. Ana Lima runs the clinic", "dr-ana-lima", "Dr. Ana Lima"),
        ("Jonas Weber works on the boats", "jonas-weber", "Jonas Weber"),
        ("Zoë handles the books", "zoe", "Zoë"),
    ],
)
def test_names_of_several_words_and_with_titles(
    shelf: Shelf, said: str, slug: str, shown: str
) -> None:
    shelf.say(said, kind="relationship")
    assert shelf.block(f"person/{slug}").title == shown


@pytest.mark.parametrize("said", ["The launch is on Friday", "He is the boss", "it is fine"])
def test_nobody_is_made_of_other_words(shelf: Shelf, said: str) -> None:
    shelf.say(said, kind="relationship")
    assert not [page for page in shelf.book.all_pages() if page.startswith("person/")]


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("My sister Marta lives in Porto.", "marta"),
        ("I'm off to a reading of my old college friend Rachel Osei's novel.", "rachel-osei"),
        ("Ida is my new boss.", "ida"),
        ("I'm reading it with my friend Emily, and it's fun.", "emily"),
        ("Marek, my brother, repairs organs.", "marek"),
        ("User's sister Marta lives in Porto", "marta"),
        ("Meine Schwester Svenja wohnt in Bremen.", "svenja"),
    ],
)
def test_someone_introduced_in_the_first_person_has_a_note(
    shelf: Shelf, said: str, slug: str
) -> None:
    shelf.say(said)
    assert f"person/{slug}" in shelf.book.all_pages()
    assert below(shelf.lines(f"person/{slug}"), "Context") == [f"- {said} ([[2026-11-09]])"]


@pytest.mark.parametrize(
    "said", ["My dog Max is old.", "My friends Monday and I met.", "My client Borealis pays late."]
)
def test_pets_days_and_companies_are_nobody(shelf: Shelf, said: str) -> None:
    shelf.say(said)
    assert not [page for page in shelf.book.all_pages() if page.startswith("person/")]


def test_a_plain_fact_introduces_nobody(shelf: Shelf) -> None:
    shelf.say("Ylva is the photographer")
    assert "person/ylva" not in shelf.book.all_pages()


def test_a_subject_of_type_person_is_found_by_every_name_in_the_middle(shelf: Shelf) -> None:
    jane = Subject("jane-doe", "Jane Doe", "person", ("jd",))
    shelf.registry = shelf.registry.with_(jane)
    for said in ("The boats belong to Jane Doe", "Ask JD about the boats", "nothing of Jane's"):
        shelf.say(said, kind="relationship")
    shelf.say("Jane Doe lives in Porto", subject="jane-doe")
    told = below(shelf.lines("person/jane-doe"), "Context")
    assert len(told) == 3
    assert not any("nothing of" in line for line in told)


def test_somebody_who_is_a_project_or_deleted_gets_no_note(shelf: Shelf) -> None:
    shelf.registry = Registry(
        {
            "auth": AUTH,
            "ylva": Subject("ylva", "Ylva"),
            "ana": Subject("ana", "Ana", "person", deleted=True),
        }
    )
    shelf.say("Ylva is the photographer", kind="relationship")
    shelf.say("Ana is the dentist", kind="relationship")
    assert not [page for page in shelf.book.all_pages() if page.startswith("person/")]


def test_a_person_has_sections_of_their_own(shelf: Shelf) -> None:
    shelf.registry = shelf.registry.with_(Subject("jane", "Jane", "person"))
    shelf.say("Likes short mails", subject="jane", kind="preference")
    shelf.say("Lives in Porto", subject="jane")
    shelf.task("Call her", subject="jane")
    assert [line for line in shelf.lines("person/jane") if line.startswith("#")] == [
        "## Communication",
        "## Context",
        "## Next",
    ]


def test_references_and_shelves(shelf: Shelf) -> None:
    shelf.registry = shelf.registry.with_(Subject("postgres", "Postgres", "system"))
    shelf.say("Runs on lagoon", subject="postgres")
    shelf.say("Prefer uv", subject="", kind="preference")
    shelf.say("Never deploy on Friday", subject="", kind="lesson")
    shelf.say("The office is upstairs", subject="")
    shelf.say("Where we stopped", subject="", type="handoff")
    assert shelf.lines("reference/postgres")[0] == "## Facts"
    assert shelf.lines("reference/_preferences") == [
        "## Preferences",
        "- Prefer uv ([[2026-11-09]])",
    ]
    assert shelf.lines("reference/_lessons")[1] == "- Never deploy on Friday ([[2026-11-09]])"
    assert shelf.lines("reference/_general") == [
        "## Facts",
        "- The office is upstairs ([[2026-11-09]])",
    ]


def test_entries_under_an_earlier_name_stand_in_the_note_of_the_subject(shelf: Shelf) -> None:
    shelf.registry = Registry({"auth": Subject("auth", "Auth", aliases=("login",))})
    shelf.say("under the old name", subject="login")
    assert "under the old name" in shelf.lines("project/auth", "notes")[1]


# --- journal ------------------------------------------------------------------------------


def test_a_day_by_subject_with_what_each_entry_is_and_where_sessions_stopped(shelf: Shelf) -> None:
    shelf.say("about nothing", subject="")
    shelf.say("a fact")
    shelf.say("we go with Postgres", type="decision", pinned=True)
    shelf.say("is it enough?", type="question")
    shelf.task("send the form")
    shelf.task("sent it", status="done")
    shelf.say("stopped there", type="handoff", at="2026-11-09T07:30:00+00:00")
    assert shelf.lines("journal/2026-11-09") == [
        "## [[projects/auth/context|Auth]]",
        "- a fact",
        "- **Decided:** 📌 we go with Postgres",
        "- **Open:** is it enough?",
        "- [ ] send the form",
        "- [x] sent it",
        "",
        "## Other",
        "- about nothing",
        "",
        "## Sessions",
        "- 07:30 stopped there",
    ]


def test_a_journal_strikes_through_what_was_corrected_on_a_later_day(shelf: Shelf) -> None:
    old = shelf.say("The launch is on ~~the~~ 14th", at="2026-11-01T10:00:00+00:00")
    middle = shelf.say("On the 17th", at="2026-11-02T10:00:00+00:00", replaces=(old.id,))
    new = shelf.say("On the 21st", at="2026-11-03T10:00:00+00:00", replaces=(middle.id,))
    block = shelf.block("journal/2026-11-01")
    assert block.text[1] == "- ~~The launch is on ~ ~the~ ~ 14th~~ → [[2026-11-03]]: On the 21st"
    assert block.lines[1].ids == (old.id, new.id)
    assert shelf.lines("journal/2026-11-02")[1] == "- ~~On the 17th~~ → [[2026-11-03]]: On the 21st"
    assert shelf.lines("journal/2026-11-03")[1] == "- On the 21st"


def test_what_was_corrected_on_the_same_day_is_told_once(shelf: Shelf) -> None:
    old = shelf.say("On the 14th", at="2026-11-01T10:00:00+00:00")
    shelf.say("On the 21st", at="2026-11-01T11:00:00+00:00", replaces=(old.id,))
    assert shelf.lines("journal/2026-11-01")[1:] == ["- On the 21st"]


def test_a_done_task_and_what_was_taken_back_say_so_on_their_day(shelf: Shelf) -> None:
    task = shelf.task("Send the form", at="2026-11-01T10:00:00+00:00")
    later = "2026-11-02T10:00:00+00:00"
    shelf.task("Send the form", status="done", at=later, replaces=(task.id,))
    fact = shelf.say("We use Oracle", at="2026-11-01T11:00:00+00:00")
    extra = {RETRACTED: True}
    shelf.say("No longer holds", at=later, replaces=(fact.id,), extra=extra)
    lines = shelf.lines("journal/2026-11-01")
    assert lines[1] == "- ~~Send the form~~ → done, [[2026-11-02]]"
    assert lines[2].startswith("- ~~We use Oracle~~ → no longer so, ")
    assert shelf.lines("journal/2026-11-02")[1:] == ["- [x] Send the form"]


def test_a_deleted_subject_has_no_link_in_the_journal(shelf: Shelf) -> None:
    shelf.registry = Registry({"auth": Subject("auth", "Auth", deleted=True)})
    shelf.say("a fact")
    assert shelf.lines("journal/2026-11-09") == ["## Other", "- a fact"]
