from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.crash import run_and_die
from tests.history.test_git import git, subjects
from tests.journeys.command import run
from tests.lend import entry, known
from tests.notes.condensing import day_of
from tests.rebuild.test_rebuild import MORE, entries, remembering, session, site, whole
from tests.story import chat
from tests.upkeep.erasing import CHAT, SAID, told
from wakebook import Memory
from wakebook.base import words
from wakebook.base.errors import NotFound, WakebookError
from wakebook.capture import archive, withheld
from wakebook.log import forgotten, keyed
from wakebook.log.entry import Entry
from wakebook.notes import condensed

OPEN = "Whether our retries are enough"  # a handoff quotes it, too


def about(memory: Memory, words_: str) -> Entry:
    every = (one for one in memory.log.chains().entries if one.type != "handoff")
    [found] = [one for one in every if words_ in one.content]
    return found


def knowledge(memory: Memory) -> str:
    files = (memory.home.root / "knowledge").rglob("*.md")
    return "\n".join(path.read_text() for path in files)


def test_a_forgotten_entry_leaves_log_notes_briefing_and_index(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    memory.notes.update()
    memory.notes.brief()
    gone = about(memory, OPEN)
    assert OPEN in knowledge(memory)
    done = memory.forget([gone.id[:6]])
    assert [one.type for one in done.shorter] == ["handoff"]
    assert done.entries == (gone,) and done.transcripts == (gone.transcript,)
    memory = Memory(memory.home.root)
    assert gone.id not in memory.log.chains().by_id
    assert OPEN not in knowledge(memory)
    assert OPEN not in memory.wake() and "call the notary" in memory.wake()
    assert gone.id not in {hit.ref for hit in memory.search(OPEN).hits}
    assert "maintenance: forget 1 entry" in subjects(memory.home.root)
    assert OPEN in git(memory.home.root, "log", "-p", "--", "log.jsonl")  # and it says so


def test_the_receipt_tells_nobody_what_it_was(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    memory.forget([gone.id])
    text = (memory.home.root / forgotten.FILE).read_text()
    receipt = json.loads(text)
    assert receipt["evidence"] == list(gone.evidence)
    assert len(receipt["terms"]) == len(words.terms(gone.content))
    assert not [term for term in words.terms(gone.content) if term in text.lower()]
    assert gone.transcript not in text and gone.session not in text
    assert "forgotten.jsonl" in git(memory.home.root, "ls-files")
    for term in words.terms(gone.content):  # even who knows the words cannot find them in it
        salted = blake2b(term.encode(), digest_size=6, key=bytes.fromhex(receipt["salt"]))
        assert salted.hexdigest() not in text
    key = memory.home.root / keyed.FILE
    assert key.stat().st_mode & 0o777 == 0o600
    assert keyed.FILE not in git(memory.home.root, "ls-files")
    assert git(memory.home.root, "check-ignore", keyed.FILE).strip() == keyed.FILE


def test_neither_a_sweep_nor_a_rebuild_brings_it_back(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    memory.forget([gone.id])
    memory.rebuilds.build(branch="again")
    assert gone.id not in {one.id for one in entries(site(memory, "again"))}
    for marks in (True, False):  # the sentence is not read again; if it were, the receipt knows it
        memory.home.state.unlink()
        for path in memory.home.conversations.glob("*/*/*/*.md"):
            path.chmod(0o600)
            path.unlink()  # everything is read anew
        if not marks:
            (memory.home.root / withheld.FILE).unlink()
        memory = Memory(memory.home.root)
        memory.catch_up()
        assert gone.id not in memory.log.chains().by_id
        assert bool(memory.home.traces("forgotten")) is not marks


def everything_told(memory: Memory) -> str:
    """All that an agent or a person can be told of the locker, in any way."""
    asked = "locker code at the Harbour gym Quokka"
    hits = memory.search(asked).hits
    sessions = memory.search(asked, sessions=True).hits
    paths = [memory.home.relative(one) for one in memory.home.conversations.rglob("*.md")]
    refs = {hit.ref for hit in (*hits, *sessions)} | {f"session:{CHAT}", *paths}
    found = [
        *(repr(one) for one in (*hits, *sessions)),
        memory.wake(),
        memory.context(f"what is my {asked}?").text,
        repr(memory.history.when("Quokka")).replace("text='Quokka'", ""),
        *(repr(memory.get(ref)) for ref in refs),
        repr(memory.get(f"session:{CHAT}", first=1, lines=100)),
        knowledge(memory),
    ]
    return "\n".join(found)


def test_the_sentence_behind_it_is_told_no_more(memory: Memory, tmp_path: Path) -> None:
    chat = told(tmp_path)
    memory.catch_up([chat], closing=True)
    memory.history.commit("as it was")
    root = memory.home.root
    (root / ".cache" / "handoffs.json").write_text(SAID)
    [path] = memory.home.conversations.rglob("*.md")
    before = path.read_bytes()
    assert everything_told(memory).lower().count("quokka") > 10
    [gone] = [one for one in memory.log.chains().entries if one.content == SAID]
    done = memory.forget([gone.id])
    assert done.withheld == 2  # the user's sentence, and the agent's that repeats it
    memory = Memory(root)
    text = everything_told(memory)
    assert [line for line in text.split("\n") if "quokka" in line.lower()] == []
    assert "Postgres for the bookings" in text and "Runa lives in Bergen" in text
    assert not [one for one in (root / ".cache").rglob("*") if "Quokka" in _text(one)]
    [path] = memory.home.conversations.rglob("*.md")
    assert path.read_bytes() == before and "quokka" not in path.name  # which is not changed
    assert "raw" not in git(root, "status", "--short")
    for record in ("withheld.jsonl", "forgotten.jsonl"):  # which know how the file was called
        assert (root / record).exists()
        with pytest.raises(NotFound):
            memory.get(record)
        assert "There is no note" in run("why", f"{record}:1", "--home", str(root), code=9)
    assert not memory.status().problems
    assert [one.status for one in memory.audit([chat])] == ["ok"]


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def test_an_older_receipt_counts_and_is_sealed(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    salt = "00112233aabbccdd"
    terms = [
        blake2b(term.encode(), digest_size=6, key=bytes.fromhex(salt)).hexdigest()
        for term in words.terms(gone.content)
    ]
    old: dict[str, object] = {
        "id": gone.id,
        "at": "",
        "type": gone.type,
        "transcript": gone.transcript,
    }
    old |= {"evidence": gone.evidence, "salt": salt, "terms": terms}
    path = memory.home.root / forgotten.FILE
    path.write_text(json.dumps(old) + "\n")
    for _ in ("as it was", "sealed"):
        known = forgotten.load(memory.home)
        assert gone.id in known and "another" not in known
        assert known.without(gone.with_(id="otherReading"), words.terms) is None
        assert known.of(gone.session, archive.paths_of(memory.home, gone.session)) == 1
        entry = memory.remember("one thing")
        Memory(memory.home.root).forget([entry.id])
        text = path.read_text()
        assert gone.transcript not in text and not [term for term in terms if term in text]


def test_a_home_that_lost_its_key_says_so(memory: Memory) -> None:
    memory.forget([memory.remember("one thing").id])
    (memory.home.root / keyed.FILE).unlink()
    found = {check.name: check for check in Memory(memory.home.root).doctor(quick=True)}
    assert found["home: forget.key"].state == "warn"


def test_what_replaced_it_does_not_point_nowhere(memory: Memory) -> None:
    first = memory.remember("The launch is on 14 November")
    memory.remember("The launch is on 21 November", replaces=[first.id])
    memory.forget([first.id])
    assert not Memory(memory.home.root).status().problems


def test_other_words_at_the_same_turn_are_known_again(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    memory.forget([gone.id])
    known = forgotten.load(memory.home)

    def kept(**changes: object) -> bool:
        return known.without(gone.with_(id="otherReading", **changes), words.terms) is not None

    assert not kept(content="The billing service is owned by colleague Petra")
    assert kept(content="Redis is used for the queue")
    assert kept(content="The billing service is owned by colleague Petra", evidence=(1,))
    assert kept(content="The billing service is owned by colleague Petra", transcript="raw/x.md")


def test_a_handoff_loses_the_lines_that_say_it(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    memory.forget([gone.id])
    handoff = gone.with_(
        type="handoff",
        id="otherReading",
        content="The queue is up",
        detail=f"User last: {gone.content}\nNext: call the notary",
    )
    left = forgotten.load(memory.home).without(handoff, words.terms)
    assert left is not None
    assert left.content == "The queue is up" and left.detail == "Next: call the notary"


def test_a_conversation_that_goes_on_does_not_tell_it_to_the_next_one(
    memory: Memory, projects: Path
) -> None:
    claude = session(projects, 1, datetime(2026, 11, 9, 7, 30, tzinfo=UTC))
    chat(claude, MORE[:4])
    memory.catch_up()
    memory = Memory(memory.home.root)
    gone = about(memory, "Petra owns")
    assert "Petra owns" in memory.wake()
    memory.forget([gone.id])
    assert "Petra owns" not in Memory(memory.home.root).wake()
    claude.user("And what about the tides?").agent("They come and go.")
    memory = Memory(memory.home.root)
    memory.catch_up()
    text = memory.wake()
    assert "Petra owns" not in text
    assert "They come and go" in text


def test_what_it_had_replaced_holds_again_and_that_is_said(memory: Memory) -> None:
    first = memory.remember("The launch is on 14 November")
    second = memory.remember("The launch is on 21 November", replaces=[first.id])
    third = memory.remember("The launch is on 28 November", replaces=[second.id])
    assert [one.id for one in memory.plan_forget([third.id]).again] == [second.id]
    assert [one.id for one in memory.plan_forget([second.id]).again] == [first.id]
    going = memory.plan_forget([third.id], chain=True)
    assert [one.id for one in going.entries] == [first.id, second.id, third.id]
    assert going.again == ()
    memory.forget([third.id])
    assert [one.id for one in Memory(memory.home.root).log.chains().current()] == [second.id]
    memory = Memory(memory.home.root)
    memory.forget([second.id], chain=True)
    assert not Memory(memory.home.root).log.chains().by_id


def test_others_that_say_it_are_named(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    twin = gone.with_(id="twinTwinTwin", content=f"{gone.content}, she said")
    with memory.home.locked():
        from wakebook.log import log

        log.append(memory.home, [twin])
    assert twin in Memory(memory.home.root).plan_forget([gone.id]).also


def test_a_persons_own_text_stays_and_is_named(memory: Memory) -> None:
    entry = memory.remember("The safe is behind the blue boat")
    note = memory.home.root / "knowledge" / "reference" / "mine.md"
    note.write_text("The safe is behind the blue boat, I think.\n")
    assert memory.forget([entry.id]).notes == ("knowledge/reference/mine.md",)
    assert note.read_text() == "The safe is behind the blue boat, I think.\n"


def test_other_lines_stay_byte_for_byte_and_bad_ones_too(memory: Memory) -> None:
    one, two = memory.remember("one thing"), memory.remember("another thing")
    with memory.home.log.open("ab") as stream:
        stream.write(b"not json\n")
    lines = memory.home.log.read_bytes().splitlines(keepends=True)
    Memory(memory.home.root).forget([one.id])
    assert memory.home.log.read_bytes() == lines[1] + lines[2]
    assert two.id.encode() in lines[1]


def test_an_entry_that_is_not_there(memory: Memory) -> None:
    memory.remember("one thing")
    with pytest.raises(NotFound):
        memory.forget(["nothingthere"])


def test_killed_on_the_way_it_is_forgotten_or_not_and_never_half(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    gone = about(memory, "Petra owns")
    before = memory.home.log.read_bytes()
    step = 1
    while run_and_die(lambda: Memory(memory.home.root).forget([gone.id]), step):
        after = memory.home.log.read_bytes()
        assert after == before or gone.id.encode() not in after
        if gone.id.encode() not in after:
            break
        step += 2
    assert step > 3
    assert whole(memory)
    assert gone.id in forgotten.load(memory.home)


def test_a_broken_receipt_stops_the_work(memory: Memory, projects: Path) -> None:
    (memory.home.root / forgotten.FILE).write_text("{}\n")
    entry = memory.remember("one thing")
    with pytest.raises(WakebookError, match="line 1: not a receipt"):
        memory.forget([entry.id])
    assert entry.id in Memory(memory.home.root).log.chains().by_id


def test_without_git_it_is_forgotten_all_the_same(memory: Memory) -> None:
    memory.home.config.write_text("[git]\nenabled = false\n")
    memory = Memory(memory.home.root)
    entry = memory.remember("one thing")
    memory.forget([entry.id])
    assert entry.id not in Memory(memory.home.root).log.chains().by_id


def test_the_words_leave_what_was_condensed_and_its_last_commit(memory: Memory) -> None:
    said = "The secret harbour code of the boathouse door is 4711 blue"
    one, other = entry(0.002, said), entry(0.001, said)
    known(memory, *day_of(60), one, other)
    memory.notes.update()
    memory.notes.daily(memory.opened.now())
    record = memory.home.root / condensed.NAME
    assert "4711 blue" in record.read_text()
    done = memory.forget([one.id, other.id])
    assert "4711" not in record.read_text() and one.id not in record.read_text()
    assert "4711" not in git(memory.home.root, "show", f"HEAD:{condensed.NAME}")
    assert condensed.NAME not in git(memory.home.root, "status", "--porcelain")
    assert done.notes == () and "4711" not in knowledge(memory)


def test_a_condensed_line_that_says_it_for_something_else_is_told_of(memory: Memory) -> None:
    gone, stays = memory.remember("The code is 4711 blue"), memory.remember("Doors have codes")
    line = condensed.CondensedLine((stays.id,), "Doors have codes: The code is 4711 blue")
    rewrite = condensed.Condensed(at=memory.opened.now(), by="rules", lines=(line,))
    condensed.save(memory.home, {"journal/2026-11-09.md#journal": rewrite})
    assert condensed.NAME in memory.forget([gone.id]).notes


def test_undo_of_a_rewrite_does_not_bring_it_back(memory: Memory) -> None:
    """The first rewrite told it, the second one did not, and then it was forgotten."""
    one, rest = memory.remember("The code is 4711 blue"), memory.remember("Doors have codes")
    record, key = memory.home.root / condensed.NAME, "journal/2026-11-09.md#journal"

    def rewritten(text: str, *ids: str) -> None:
        lines = (
            condensed.CondensedLine(ids, text),
            condensed.CondensedLine((rest.id,), "Doors, codes"),
        )
        new = condensed.Condensed(at=memory.opened.now(), by="rules", lines=lines)
        with memory.home.locked(), memory.history.git().rewrite("maintenance", text[:3], [record]):
            condensed.save(memory.home, {key: new})

    rewritten("The code is 4711 blue", one.id)
    rewritten("Doors", rest.id)
    memory.forget([one.id])
    assert memory.undo().rewrite.name == "Doo"
    assert "4711" not in record.read_text() and "Doors, codes" in record.read_text()


def test_a_broken_record_of_what_was_condensed_stops_it_before_anything_is_done(
    memory: Memory,
) -> None:
    one = memory.remember("The code is 4711 blue")
    (memory.home.root / condensed.NAME).write_text("{")
    with pytest.raises(WakebookError, match=r"condensed\.json: cannot be read"):
        memory.forget([one.id])
    assert one.id in Memory(memory.home.root).log.chains().by_id
    assert not (memory.home.root / forgotten.FILE).exists()
