"""What of a handoff still holds at the next start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from wakebook.log.entry import Entry
from wakebook.recall.holding import holding, parked, reported
from wakebook.recall.lines import in_part
from wakebook.recall.stale import Stale, Utterance
from wakebook.recall.turn import Handoff
from wakebook.store.hits import Replaced

HEAD = "## Last Session Handoff\nSession: s (2026-11-06T09:00:00Z)"
NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)
TALK = "raw/conversations/one.md"


def held(
    text: str, said: list[Utterance], told: tuple[str, ...] = (), after: tuple[str, ...] = ()
) -> list[str]:
    stale = Stale([])
    stale.learn(said)
    left = Handoff("s", "", f"{HEAD}\n{text}", TALK, 100)
    return holding(left, stale, said, told, after=after).split("\n")[2:]


def test_what_was_asked_is_told_without_what_is_an_entry() -> None:
    asked = "Asked: my list: 1) book the catering 2) lanyards"
    assert held(asked, [], ("book the catering",)) == ["Asked: lanyards"]
    assert held(asked, [], ("book the catering", "lanyards")) == []
    rule = "Asked: we deploy from main. add the flag"
    assert held(rule, [], ("we deploy from main",)) == ["Asked: add the flag"]


def test_what_is_said_again_is_not_told_again() -> None:
    rule = ("never commit straight to main here, always a branch",)
    asked = "Asked: seat lock please. and again: never commit straight to main"
    assert held(asked, [], rule) == ["Asked: seat lock please."]
    last = "User last: ne mets jamais de photos sur les étiquettes"
    again = ("et je répète, ne mets jamais de photos sur les étiquettes",)
    assert held(last, [], again) == [] and held(last, []) == [last]


def test_what_was_asked_is_not_told_beside_what_came_of_it() -> None:
    """It holds what has changed since, what was not meant, and roles that somebody played."""
    lines = "Asked: they ask if we want jira. oh i LOVE jira\nReport: Linear it is."
    assert held(lines, []) == ["Report: Linear it is."]


def test_what_was_asked_is_over_when_others_have_come_since() -> None:
    lines = "Asked: release 1.3 today\nBranch: main"
    later = Utterance("2.0 is out since friday, works.", 200, "raw/conversations/two.md", 1)
    assert held(lines, [later], after=(later.talk,)) == ["Branch: main"]
    assert held(lines, [later]) == lines.split("\n")  # small talk, which left nothing


def test_what_an_agent_said_was_left_comes_with_what_was_said_of_it_since() -> None:
    report = "Report: Updated BETA.md. Left: Dutch emails, restore drill."
    drill = Utterance("we did the drill last night, works.", 200, "raw/conversations/two.md", 1)
    assert held(report, [drill]) == [
        "Report: Updated BETA.md. Left: Dutch emails, restore drill (perhaps no longer: we did the"
        " drill last night, works)."
    ]
    for idle in ("is the drill on the list?", "the drill is still to be done", "run the drill"):
        assert held(report, [drill._replace(text=idle)]) == [report]
    assert held(report, [drill._replace(talk=TALK)]) == [report]  # said before the handoff


def test_what_the_user_was_about_to_do_comes_with_what_is_done() -> None:
    last = "User last: next up for me: rotate the grafana token, write the disk runbook"
    done = Utterance("token's rotated btw.", 200, "raw/conversations/two.md", 1)
    assert held(last, [done]) == [
        "User last: next up for me: rotate the grafana token (done, it seems: token's rotated btw),"
        " write the disk runbook"
    ]
    assert held(last, []) == [last]
    both = done._replace(text="I rotated the grafana token and wrote the disk runbook.")
    assert held(last, [both]) == []


def test_a_list_comes_with_what_was_said_of_its_things() -> None:
    list_ = "open questions: can we split the stall with Rosa, what does the power cost"
    said = [Utterance("Rosa is in, she takes the left half.", 2)]
    assert reported(list_, said) == (
        "open questions: can we split the stall with Rosa (perhaps no longer: Rosa is in, she takes"
        " the left half), what does the power cost"
    )
    assert reported(list_, []) == list_


def test_what_was_put_aside_is_told_until_somebody_goes_on_with_it() -> None:
    last = "User last: ok park that, print is more urgent"
    words = f"Asked: german dictionary please\nReport: Three tests are red.\n{last}"
    aside = handed("a", "Three tests are red.", f"{words}\nBranch: spellcheck", days=9)
    other = handed("b", "Page numbers are in the footer.", "User last: lovely", days=8)
    assert parked([aside, other], NOW) == [aside]
    assert parked([aside], NOW) == []  # the last one is told as it is
    done = aside.with_(detail=aside.detail.replace("ok park that", "lovely"))
    assert parked([done, other], NOW) == []
    for text in ("Branch: spellcheck", "the German dictionary splits words now"):
        assert parked([aside, handed("c", "More.", text, days=7)], NOW) == []
    assert parked([aside, other], NOW + timedelta(days=90)) == []


def test_what_is_left_is_told_beside_a_later_session_of_one_small_thing() -> None:
    words = "Report: Seeds work. Left: test_two_hubs.\nUser last: good\nLeft: test_two_hubs."
    left = handed("a", "Seeds work.", words, days=9)
    small = handed("b", "Fixed.", "Asked: a typo in the readme\nReport: Fixed.", days=8)
    assert parked([left, small], NOW) == [left]
    assert parked([left, small, small.with_(id="c")], NOW) == [left]
    assert parked([left], NOW) == []  # the last one is told as it is
    work = handed("b", "Done.", "Report: Done.\nTests: 3 passed", days=8)
    long = handed("b", "The shop has a page for every print now.", "User last: lovely", days=8)
    for later in (work, long, handed("b", "Fixed.", "Asked: test_two_hubs please", days=8)):
        assert parked([left, later], NOW) == []
    assert parked([left, small], NOW + timedelta(days=20)) == []


def handed(name: str, content: str, detail: str, days: int) -> Entry:
    at = NOW - timedelta(days=days)
    return Entry(id=name, timestamp=at, type="handoff", content=content, session=name).with_(
        detail=detail
    )


def test_what_was_left_for_tomorrow_is_told_beside_what_came_between() -> None:
    words = (
        "Report: Tiles are in tiles.db, 137 tests pass, 3 fail. Not merged.\nUser last: ok tomorrow"
    )
    left = handed("a", "Tiles are in tiles.db.", words, days=3)
    between = "Asked: the login crashes\nReport: 2.8.1 is in both stores.\nUser last: uff. thanks"
    hotfix = handed("b", "2.8.1 is in both stores.", between, days=2)
    assert parked([left, hotfix], NOW) == [left]
    goes_on = "Report: The tiles are merged, no tests fail in tiles.db.\nUser last: great"
    assert parked([left, handed("c", "Merged.", goes_on, days=2)], NOW) == []
    done = handed("a", "Done.", "Report: All is merged.\nUser last: ok tomorrow", days=3)
    assert parked([done, hotfix], NOW) == []


def test_mockery_is_nobodys_last_word() -> None:
    last = "User last: oh sure, and next we rewrite it all in cobol. no seriously, works now"
    assert held(last, []) == ["User last: no seriously, works now"]


def test_what_was_asked_is_told_beside_what_is_not_done() -> None:
    asked = "Asked: the exif rotation is wrong again for pixel phones"
    assert asked in held(f"{asked}\nReport: Reopened; not fixed yet.", [])
    assert asked not in held(f"{asked}\nReport: Both are fixed.", [])


def test_what_is_replaced_in_part_is_told_as_far_as_it_holds() -> None:
    entry = Utterance("the bus leaves at 8:00 now", 100, TALK, 3)
    text = f"{entry.text} (in part no longer: the bus holds 40, leaves at 7:15, costs 12 euro)"
    told = f"{entry.text} (in part no longer: the bus holds 40, …, costs 12 euro)"
    assert in_part(text, Stale([]), entry) == told
    more = Replaced("costs 12 euro", "the bus costs 14 euro now", 200, False)
    assert in_part(text, Stale([more]), entry).endswith(
        "…, costs 12 euro (perhaps no longer: the bus costs 14 euro now))"
    )
    assert in_part(entry.text, Stale([more]), entry) == entry.text
