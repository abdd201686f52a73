"""What two logs have in common: a pure function."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.journeys.command import run
from tests.log.test_log import entry
from tests.rebuild.test_rebuild import misread, remembering, says
from wakebook import Memory
from wakebook.base.config import Config
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry, encode
from wakebook.rebuild import carry
from wakebook.rebuild.answers import Answers, measure
from wakebook.rebuild.compare import Tally, compare

NOW = datetime.fromisoformat("2026-11-09T08:00:00Z")
PATH = "raw/conversations/2026/11/02/0900-a-b.md"


def said(name: str, content: str, turn: int = 1, **fields: object) -> Entry:
    known = {"id": name.ljust(12, "0"), "transcript": PATH, "evidence": (turn,)}
    return entry(content, 1, **(known | fields))


def test_the_same_added_lost_and_changed_by_type_and_subject() -> None:
    main = resolve(
        [
            said("same", "Boats are green", subject="boats"),
            said("was", "The launch is on 14 November", 3, type="decision"),
            said("lost", "Ida likes tea", 5),
        ]
    )
    new = resolve(
        [
            said("same", "Boats are green", subject="boats"),
            said("is", "Launch: 14 November", 3, type="decision"),
            said("added", "Call the notary", 7, type="task", status="open", subject="law"),
        ]
    )
    found = compare(main, new)
    assert found.total == Tally(1, 1, 1, 1)
    assert found.by_type == {
        "decision": Tally(changed=1),
        "fact": Tally(same=1, lost=1),
        "task": Tally(added=1),
    }
    assert found.by_subject["boats"] == Tally(same=1)
    assert found.by_subject["law"] == Tally(added=1)
    assert [(was.content, is_.content) for was, is_ in found.changed] == [
        ("The launch is on 14 November", "Launch: 14 November")
    ]
    assert [one.content for one in found.lost] == ["Ida likes tea"]


def test_alike_elsewhere_is_something_else() -> None:
    main = resolve([said("was", "The launch is on 14 November", 3)])
    far = resolve([said("is", "The launch is on 14 November, he said", 9)])
    other = resolve([said("is", "The launch is on 14 November, he said", 3, transcript="x.md")])
    assert compare(main, far).total == Tally(0, 1, 1, 0)
    assert compare(main, other).total == Tally(0, 1, 1, 0)


def test_what_is_replaced_is_not_lost_and_handoffs_go_together() -> None:
    main = resolve(
        [
            said("old", "Tea"),
            said("new", "Coffee", replaces=("old".ljust(12, "0"),)),
            said("hand", "We stopped at the pier", 9, type="handoff"),
        ]
    )
    new = resolve(
        [
            said("new", "Coffee"),
            said("newer", "Water", 4, replaces=("new".ljust(12, "0"),)),
            said("off", "All is well", 9, type="handoff"),
        ]
    )
    found = compare(main, new)
    assert found.total == Tally(changed=2)
    assert [(was.content, is_.content) for was, is_ in found.changed] == [
        ("Coffee", "Water"),
        ("We stopped at the pier", "All is well"),
    ]


def test_a_log_compared_with_itself() -> None:
    log = resolve([said("a", "Boats are green"), said("b", "Call", 2, type="task", status="open")])
    found = compare(log, log)
    assert found.total == Tally(same=2) and not found.changed


def test_what_a_carried_entry_needs_comes_with_it() -> None:
    """mine -> middle -> first: only the old log has the middle and the first."""
    first = said("first", "The deposit is 100 euros", 1)
    middle = said("middle", "The deposit is 200 euros", 3, replaces=(first.id,))
    mine = entry("It is 300 euros", 9, id="mine".ljust(12, "0"), replaces=(middle.id,))
    main = resolve([first, middle, mine])
    again = said("again", "Deposit: 200 euros", 3)
    other = said("other", "Boats are green", 3)
    at = {PATH: [again, other]}
    *behind, linked = carry.linked(mine, main, resolve([again, other]), at)
    assert [one.id for one in behind] == [first.id, middle.id]
    assert linked.replaces == (middle.id, again.id)
    new = resolve([again, other, *behind, linked])
    assert {one.id for one in new.current()} == {other.id, mine.id}
    assert not new.dangling
    assert carry.linked(mine, main, new, at) == []


def test_an_entry_about_another_subject_has_changed() -> None:
    main = resolve([said("a", "Boats are green", subject="boats"), said("b", "Tea", 9)])
    new = resolve([said("a", "Boats are green", subject="fleet"), said("b", "Tea", 9)])
    found = compare(main, new)
    assert found.total == Tally(same=1, changed=1) and found.moved == 1
    assert [(was.subject, is_.subject) for was, is_ in found.changed] == [("boats", "fleet")]
    assert found.by_subject["fleet"] == Tally(changed=1)


def test_whatever_notes_tell_of_an_entry_counts() -> None:
    main = resolve([said("a", "Boats are green", detail="All of them")])
    found = compare(main, resolve([said("a", "Boats are green", detail="But for two")]))
    assert found.total == Tally(changed=1) and found.moved == 0


def test_a_rename_since_then_is_no_difference_and_another_subject_is_told(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    memory.log.rename_subject("tidepool", "boats")
    assert memory.rebuilds.compare("again").comparison.total.changed == 0
    lines = list(log.read(memory.home).entries)
    [place] = [number for number, one in enumerate(lines) if says(one, "to use Redis")]
    lines[place] = lines[place].with_(subject="harbour")
    with memory.home.locked():
        log.rewrite(memory.home, [encode(one) for one in lines])
    said = run("--home", str(memory.home.root), "rebuild", "--show", "again")
    assert "1 changed (1 only in what they are about)" in said
    assert "now: about boats" in said


# --- better and worse ------------------------------------------------------------------------


def rebuilt(memory: Memory, keep: Callable[[Entry], bool]) -> Answers:
    """The comparison with a rebuild that has lost what is not kept."""
    memory.rebuilds.build(branch="again")
    there = Home(memory.home.cache / "rebuild" / "again")
    with there.locked():
        log.rewrite(there, [encode(one) for one in log.read(there).entries if keep(one)])
    return memory.rebuilds.compare("again").answers


def test_a_rebuild_that_lost_nearly_everything_is_worse(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    found = rebuilt(memory, lambda one: one.type == "handoff")
    assert found.drawn and found.sound and not found.labelled
    assert found.drawn.questions > 3 and found.drawn.worse
    assert (found.drawn.before, found.drawn.after) == (1.0, 0.0)
    assert len(found.drawn.lost) == found.drawn.questions and not found.drawn.gained
    said = run("--home", str(memory.home.root), "rebuild", "--show", "again")
    assert "entries: 100% answered now, 0% by the rebuild" in said
    assert "over the entries alone" in said and "The rebuild knows less." in said


def test_a_rebuild_that_found_the_same_is_as_good(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    found = rebuilt(memory, lambda one: True)
    assert found.drawn and found.sound and not found.drawn.worse
    assert found.drawn.before == found.drawn.after == found.sound.before == found.sound.after == 1.0


def test_to_lose_what_nobody_said_is_no_loss(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    before = misread(memory, "Petra owns", "The ferry to Oslo leaves at 17:45 with 230 guests")
    memory = Memory(memory.home.root)
    memory.rebuilds.build(branch="again")
    found = memory.rebuilds.compare("again").answers
    assert found.drawn and found.sound
    assert before.content not in found.drawn.lost
    assert found.sound.before < found.sound.after == 1.0
    assert found.drawn.before < found.drawn.after == 1.0  # it knows who owns the billing service


def test_other_words_and_another_number(memory: Memory) -> None:
    """Said again in other words, it is known; with another number it is not."""
    main = resolve([said("a", "The summer workshop of the harbour crew is on 14 November")])
    new = resolve([said("b", "Harbour crew: the workshop of the summer is on 14 November", 2)])
    other = resolve([said("b", "The summer workshop of the harbour crew is on 21 November", 2)])
    for side, share in ((new, 1.0), (other, 0.5)):
        found = measure(memory.home, Config(), main, side, [], NOW).drawn
        assert found and found.questions == 2
        assert (found.before, found.after) == (share, share)
    empty = measure(memory.home, Config(), resolve([]), resolve([]), [], NOW)
    assert empty == Answers()
