"""Learning without a model: the handoff says where things stand, or there is none."""

from __future__ import annotations

import pytest

from tests.learn.selecting import SELECTOR, agent, read, talk, user
from wakebook.capture.transcript import Message, Tool
from wakebook.learn.extract import Draft, Scene
from wakebook.learn.select.handoff import last_words

BRANCH = Tool("Bash", "git checkout -b fix/last-row", "Switched to a new branch 'fix/last-row'")
EDITS = (
    Tool("Read", "src/heron/exporter.py", "..."),
    Tool("Edit", "src/heron/importer.py", "ok"),
    Tool("Edit", "/home/teo/heron/tests/test_importer.py", "ok"),
)
FAILED = Tool("Bash", "pytest -q", ".....F\n5 passed, 1 failed in 0.3s")
PASSED = Tool("Bash", "pytest -q", "......\n6 passed in 0.3s")
REPORT = (
    "Fixed the importer: it now reads the last row even without a newline at the end. "
    "I added a test for it. Still to do: the same bug in the exporter, which I have not touched."
)
WORK = [
    user("The importer drops the last row of a CSV file. Please fix it on a branch.", 1),
    agent("Let me look at the importer.", 2, BRANCH, *EDITS, FAILED, PASSED),
    agent(REPORT, 3),
    user("Thanks. We leave the exporter for tomorrow.", 4),
]


ADVICE = (
    ">Great question! Here are some tips:\n\n1. **Soaked corn** grills best: leave it in water.\n"
    "2. Preheat your grill to medium-high heat. It is done when the kernels are tender.\n"
    "3. Consider adding butter. Once it has been added, it needs to rest; the next step is salt.\n"
    + "4. Remember to have fun and to share it with your friends.\n"
    * 5
)


def handoff(messages: list[Message]) -> Draft | None:
    found = [draft for draft in read(messages) if draft.type == "handoff"]
    assert len(found) < 2
    return found[0] if found else None


def lines(messages: list[Message]) -> dict[str, str]:
    draft = handoff(messages)
    assert draft
    return dict(line.split(": ", 1) for line in draft.detail.split("\n"))


def test_a_handoff_says_where_the_work_stands() -> None:
    draft = handoff(WORK)
    assert draft
    assert draft.content == (
        "Fixed the importer: it now reads the last row even without a newline at the end."
    )
    assert draft.evidence == (4,)
    assert lines(WORK) == {
        "Asked": "The importer drops the last row of a CSV file. Please fix it on a branch.",
        "Report": REPORT,
        "User last": "Thanks. We leave the exporter for tomorrow.",
        "Left": "the same bug in the exporter, which I have not touched.; "
        "We leave the exporter for tomorrow.",
        "Tests": "6 passed",
        "Branch": "fix/last-row",
        "Files": "heron/importer.py, tests/test_importer.py",
    }


def test_its_first_line_names_what_it_speaks_of() -> None:
    late = "It's done, too. The exporter is fixed and pushed."
    draft = handoff([*WORK[:2], user("And the exporter?", 3), agent(late, 4, *EDITS)])
    assert draft and draft.content == "The exporter is fixed and pushed."


def test_without_a_report_it_is_about_the_last_request() -> None:
    asked = user("start the server", 1)
    then = user("scrolling back in the terminal pane still does not work", 3)
    draft = handoff([asked, agent("Starting.", 2, BRANCH), then, agent("Let me look.", 4, BRANCH)])
    assert draft and draft.content == then.text


def test_it_quotes_the_end_of_an_hour_not_its_beginning() -> None:
    hour = [agent(f"I am looking at file {turn} of the exporter now.", turn) for turn in (5, 6, 7)]
    end = agent("Released version 2.1 of Heron with both fixes. Next: tell Ida.", 8, PASSED)
    draft = handoff([*WORK, *hour, end])
    assert draft
    assert draft.content.startswith("Released version 2.1 of Heron")
    assert "tell Ida." in lines([*WORK, *hour, end])["Left"]


def test_what_the_user_left_open_is_in_it() -> None:
    said = talk(
        "I need to renew my passport before May. Make a list.", ">Done, `passport.md`.", "ok"
    )
    assert lines(said)["Left"] == "I need to renew my passport before May."


def test_a_done_task_is_not_left() -> None:
    said = talk("I need to renew my passport before May.", ">Ok.", "My passport is renewed.")
    draft = handoff(said)
    assert draft is None or "Left:" not in draft.detail


def test_a_decision_is_worth_a_handoff() -> None:
    draft = handoff(talk("We decided to move the billing service to Frankfurt.", ">Good."))
    assert draft
    assert draft.content == "We decided to move the billing service to Frankfurt."


@pytest.mark.parametrize(
    "said",
    [
        ("Is it 'a hymn' or 'an hymn'?", ">It is 'a hymn'.", "thanks"),
        ("Write me a poem about tides.", ">The moon pulls.", "lovely"),
        ("hello, how are you today?", ">Fine, and you?"),
        ("[System] Your previous turn was interrupted by a gateway restart.", ">Okay, I go on."),
        ("I've finally decided on a ski resort in the mountains.", ">Great choice!"),
        ("I need to renew my passport before May. What do I bring?", ">A photo."),
        ("How do I grill corn?", ADVICE, "And how long does it take?", ADVICE),
        ("Who built the bridge?", ">It was built in 1890 and moved in 1931.", "and by whom?"),
        ("I'll try the marinade tomorrow and see how it goes, thanks!", ADVICE),
        (">Hello",),
        ("",),
        (),
    ],
)
def test_a_session_without_work_leaves_none(said: tuple[str, ...]) -> None:
    assert handoff(talk(*said)) is None


@pytest.mark.parametrize(
    "report",
    [
        "I can reproduce it: credit notes round the sum. The place is total().",
        "Gmail wants DKIM as well, so it is not solved yet.",
        "Noted: Rosa, left half, 120. One question remains, the power.",
        "The limit is in kiln.toml, 580 by default.",
        "In einkauf.md steht jetzt Bartz.",
        "Puesto en la página de envíos. Falta el texto en inglés.",
        "It is test_skew: it reads the real clock. I froze the time; 50 runs, 50 green.",
        "In Flyer und Plakat geändert. Es fehlt noch das Foto vom Prospekt.",
    ],
)
def test_where_work_stands_is_handed_on(report: str) -> None:
    said = talk("the rounding on credit notes is off again, why?", f">{report}", "monday")
    assert lines(said)["Report"] == report


def test_a_number_that_was_corrected_is_not_handed_on() -> None:
    said = talk(
        "the regatta has 17 boats, make the start list",
        ">Wrote start.csv with 17 boats.",
        "hm, i misread the mail: 71 boats",
        ">71 boats, six heats.",
        "perfect",
    )
    assert lines(said)["Report"] == "71 boats, six heats."


def test_advice_about_a_file_is_none() -> None:
    advice = ">You could put that into a notes.md and try it."
    assert handoff(talk("How do people keep recipes?", advice, "cool")) is None


def test_what_the_user_will_see_to_is_handed_on() -> None:
    sums = ">1,310 euros in nine payments. The receipt of the lifeboat society is missing."
    said = ["sum up my donations from the statements", sums, "ok i'll request that receipt"]
    assert lines(talk(*said))["User last"] == said[2]
    assert handoff(talk("Which film is good?", ">Solaris.", "ok i'll check it out")) is None


def test_what_is_kept_is_not_what_was_asked_for() -> None:
    facts = "The choir rehearses on Thursdays at 19:30 in the parish hall. My sister is Annegret."
    done = ">I've added the page, 12 tests pass."
    said = talk(facts, ">Noted.", "Build the page with the plan, please.", done, "ok")
    assert lines(said)["Asked"] == "Build the page with the plan, please."


def test_what_is_quoted_is_not_asked_for() -> None:
    said = talk('another letter, for a man who says: "I lost my job in August."', ">Written.", "ok")
    assert lines(said)["Asked"] == "another letter, for a man who says"


def test_a_wish_for_today_is_not_handed_on() -> None:
    first = "just for today leave out the browser tests, the runner is down. fix the rounding pls"
    said = talk(first, ">The rounding is fixed, 133 tests pass.", "merged")
    assert lines(said)["Asked"] == "fix the rounding pls"


def test_a_refused_tool_call_is_no_work() -> None:
    refused = Tool("Bash", "rm -rf logs", "The user doesn't want to proceed with this tool use.")
    assert handoff([user("Can you delete the logs?", 1), agent("", 2, refused)]) is None


def test_last_words_that_leave_something_for_later_are_handed_on() -> None:
    said = ["the shelf in the form needs a size", ">Sizes are checked. The importer has none."]
    for last in ("yes, put one into the importer tomorrow", "40. but do the importer next week"):
        assert lines(talk(*said, last))["User last"]
    for parting in ("yes, see you tomorrow", "and what about tomorrow?", "later then"):
        assert handoff(talk(*said, parting)) is None


def test_lines_are_bounded() -> None:
    long = "and then I looked at one more file of the importer, " * 200
    draft = handoff([user(f"Fix it. {long}", 1), agent(f"Fixed it. {long}", 2, PASSED)])
    assert draft
    assert len(draft.content) <= 200
    assert all(len(line) <= 720 for line in draft.detail.split("\n"))


def test_ok_is_no_report() -> None:
    said = [
        user("Refresh tokens please", 1),
        agent("Done on `token-refresh`. Open: revoke all sessions on a password change.", 2),
        user("next time", 3),
        agent("OK.", 4),
    ]
    assert lines(said)["Report"].endswith("revoke all sessions on a password change.")


def test_an_agent_s_nicety_is_no_report() -> None:
    said = [
        user("My sister Ilka runs a bakery in Bodø.", 1),
        agent("Nice.", 2),
        user("Put the opening hours of her bakery on the page tomorrow.", 3),
    ]
    assert "Report" not in lines(said)


def test_to_ask_the_memory_is_no_work() -> None:
    asked = Tool("memory_search", "webhook retries", "decision: three retries")
    said = [user("What do you know about webhooks?", 1), agent("They are retried.", 2, asked)]
    assert handoff(said) is None


def test_a_report_that_says_nothing_done_gives_no_first_line() -> None:
    said = [user("why is the export slow on Mondays", 1), agent(ADVICE[1:], 2, PASSED)]
    draft = handoff(said)
    assert draft and draft.content == "why is the export slow on Mondays"


def test_a_short_last_report_takes_the_place_of_an_earlier_one() -> None:
    said = [
        user("Draw the spiral on a branch.", 1),
        agent("Done on `spiral`, 5 commits. I pushed it and opened PR 77.", 2, PASSED),
        user("No PR, close it.", 3),
        agent("Closed PR 77. The branch stays.", 4, PASSED),
    ]
    assert lines(said)["Report"] == "Closed PR 77. The branch stays."


SHORT_REPORTS = [
    (["tighten the ferry scene pls", ">Cut from 1,900 to 1,350 words.", "tomorrow"], "1,350"),
    (["board deck. 12 slides, upbeat", ">Twelve slides, the 7th has no numbers.", "ok"], "the 7th"),
    (
        ["weiter mit den folien", ">Folien 4 bis 7 stehen. Offen ist der Preis.", "bis dann"],
        "Preis",
    ),
]


@pytest.mark.parametrize(("said", "word"), SHORT_REPORTS)
def test_in_a_project_an_order_and_its_answer_are_work(said: list[str], word: str) -> None:
    found = SELECTOR.read(talk(*said), Scene(project="p", ends=True)).drafts
    assert [word in one.detail for one in found if one.type == "handoff"] == [True]
    assert handoff(talk(*said)) is None  # and not where people chat


@pytest.mark.parametrize(
    "said",
    [
        ["how do i list stashes again", ">`git stash list`, or with `-p` the whole of it.", "ta"],
        ["is it a hymn or an hymn", ">It is a hymn, the h is spoken.", "great thx"],
        ["wie heißt die hauptstadt von peru", ">Die Hauptstadt von Peru ist Lima.", "danke dir"],
        ["good morning to you all", ">Good morning! A fine day to you too.", "lol thanks a lot"],
        ["my cat was ill all of last night", ">Sorry to hear that, poor cat.", "yes poor thing"],
        ["the release is on friday, not thursday", ">OK, Friday.", "right"],
    ],
)
def test_questions_and_small_talk_are_none_in_a_project_either(said: list[str]) -> None:
    found = SELECTOR.read(talk(*said), Scene(project="p", ends=True)).drafts
    assert not [one for one in found if one.type == "handoff"]


def test_the_agents_last_words_are_the_report_whatever_their_verb() -> None:
    said = talk(
        "exception, only for this repo: four spaces",
        ">Four spaces in this repository, the rest of your code keeps tabs.",
        "right. then the thread cutting cycle",
        ">G76 works for metric threads. Imperial pitch is left.",
    )
    scene = Scene(project="p", ends=True)
    handoff = next(one for one in SELECTOR.read(said, scene).drafts if one.type == "handoff")
    assert "Report: G76 works for metric threads. Imperial pitch is left." in handoff.detail


def test_what_was_left_earlier_is_left_unless_it_was_spoken_of() -> None:
    said = (
        "audio guide for the museum, stops 1 to 5 please",
        ">Drafts of stops 1 to 5 are in `stops/`. Left: stop 6 and the intro.",
        "ok. keep each of them under 90 seconds",
        ">That is about 190 words each; all five fit.",
    )
    assert lines(talk(*said))["Left"] == "stop 6 and the intro."
    more = ("now stop 6 and the intro", ">Both are written, 170 words each.")
    assert "Left" not in lines(talk(*said, *more))


def test_what_the_user_takes_back_at_the_end_is_no_report() -> None:
    said = talk(
        "add the waiting list to the notebook",
        ">The notebook has the waiting list now.",
        "if the grant comes through i'd buy a second scanner, we hear in january",
        ">So the second scanner arrives in January.",
        "no, thats when we hear about the money",
    )
    assert lines(said)["Report"] == "The notebook has the waiting list now."


def test_words_on_the_way_stand_behind_the_last_report() -> None:
    said = [
        user("split the name column in suppliers. migration and backfill", 1),
        agent("Migration 0042 is applied. Now the backfill: 1,204 of 3,900 rows are done.", 2),
        user("put the whole name into last then", 3),
        agent("I adapt `backfill.py` to that rule.", 4),
    ]
    assert lines(said)["Report"] == (
        "Migration 0042 is applied. Now the backfill: 1,204 of 3,900 rows are done."
        " I adapt backfill.py to that rule."
    )


def test_what_the_user_refuses_is_asked_for_no_more() -> None:
    said = [
        user("detect duplicate invoices by supplier and number", 1),
        agent(
            "Implemented in dedupe.py, 13 tests pass. Should I also move the uploads to S3?"
            " It would make backups simpler.",
            2,
        ),
        user("nope, uploads stay on the local disk", 3),
        agent("OK, they stay where they are.", 4),
    ]
    found = lines(said)
    assert found["Report"] == "Implemented in dedupe.py, 13 tests pass."
    assert found["User last"] == "nope, uploads stay on the local disk"
    assert "S3" in lines([*said[:2], user("sure, tomorrow", 3)])["Report"]
    offered = "Done, 13 tests pass. I could also add a dashboard for the failed ones, in Grafana."
    refused = [said[0], agent(offered, 2), user("nope, a mail is plenty", 3)]
    assert lines(refused)["Report"] == "Done, 13 tests pass."


def test_a_bare_answer_comes_with_its_question() -> None:
    said = [
        user("write the release notes for 0.9.3", 1),
        agent("The notes are in notes/0.9.3.md, twelve points.", 2),
        user("does it start on the Pi?", 3),
        agent("Yes, tested on the Pi 4: starts in 2.1 s.", 4),
        user("good", 5),
    ]
    assert lines(said)["Asked"] == "does it start on the Pi?"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("bed occupancy rate or bed occupation rate", "“Bed occupancy rate” is the usual term."),
        ("random q, whats the shortcut for a split pane", "Ctrl-b % for left and right, always."),
    ],
)
def test_a_passing_question_leaves_no_handoff(said: str, answer: str) -> None:
    assert last_words(talk(said, f">{answer}", "thx"), (), (), here=True) is None
    order = "use redis or postgres for the queue then"
    assert last_words(talk(order, ">It is postgres now, in queue.py.", "ok"), (), (), here=True)


def test_a_question_that_the_user_cannot_answer_yet_is_left() -> None:
    said = [
        user("mysql to postgres, table by table, I want to be able to stop at any time", 1),
        agent("3 of 7 tables are over. Before items: may legacy_sku be empty?", 2, *EDITS),
        user("no clue, gotta ask the warehouse. stop here then", 3),
        agent("Stopped after units.", 4),
    ]
    assert lines(said)["Left"] == "Before items: may legacy_sku be empty?"
    told = [*said, user("they say legacy_sku may be empty, before items too", 5), agent("Good.", 6)]
    assert "Left" not in lines(told)


def test_what_a_killed_session_had_done_stands_before_what_it_was_at() -> None:
    said = [
        user("go on with batch 6", 1),
        agent("Batch 6: 3,388 files. Two are broken, both are in quarantine/.", 2, *EDITS),
        user("7, and run it with 2 workers", 3),
        agent("Batch 7 runs with 2 workers, about 25 minutes.", 4),
    ]
    report = handoff(said)
    assert report and "Two are broken" in report.detail and "Batch 7 runs" in report.detail


def test_what_the_agent_will_do_next_is_worth_a_handoff() -> None:
    next_ = ">There is a metronome. It drifts by 20 ms a minute. Next: use the audio clock."
    messages = talk("metronome", next_, "ah right. later")
    scene = Scene(project="p", ends=True)
    found = [one for one in SELECTOR.read(messages, scene).drafts if one.type == "handoff"]
    assert found and "use the audio clock" in found[0].detail


@pytest.mark.parametrize(
    ("said", "branch"),
    [("Branch `tide-maps`: the box works.", "tide-maps"), ("Branch `tide` merged.", None)],
)
def test_the_branch_may_be_named_before_the_last_report(said: str, branch: str | None) -> None:
    messages = talk("tide maps, please", f">{said} Left: the legend.", "park it", ">Parked.")
    messages[1] = agent(messages[1].text, 2, *EDITS)
    assert lines(messages).get("Branch") == branch


def test_a_joke_is_not_what_was_asked() -> None:
    messages = talk(
        "the build is red, lets put the whole shop on a toaster",
        ">Ha. A cache is missing.",
        "fix that",
    )
    messages += [agent("Fixed: the cache is filled before the build. 8 passed.", 4, *EDITS)]
    assert "toaster" not in "".join(lines(messages).values())
