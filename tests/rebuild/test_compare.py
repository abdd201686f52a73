"""What two logs have in common: a pure function."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.command import run
from tests.log.test_log import entry
from tests.rebuild.test_rebuild import remembering, says
from wakebook import Memory
from wakebook.log import log
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry, encode
from wakebook.rebuild import carry
from wakebook.rebuild.compare import Tally, compare

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
