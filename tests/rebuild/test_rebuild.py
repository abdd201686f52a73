from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests import homes
from tests.crash import Bare, run_and_die
from tests.history.test_git import git, subjects
from tests.journeys.command import run
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import markdown
from wakebook.base.errors import GitError, Locked, NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry, encode
from wakebook.notes import condensed

DAY = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
MORE = [
    ("user", "We decided to use Redis for the queue because Kafka is too much."),
    ("agent", "Fine."),
    ("user", "My colleague Petra owns the billing service."),
    ("agent", "Good to know."),
    ("user", "I deployed the queue to lagoon, that's done. And remind me to call the notary."),
    ("agent", "I will."),
]


def session(projects: Path, number: int, at: datetime) -> Claude:
    claude = Claude(projects, f"5e55{number:04}-0000-4000-8000-{number:012}")
    claude.at = at
    return claude


def three_days(projects: Path) -> None:
    for number, turns in enumerate((WORKDAY, NEXT_DAY, MORE), 1):
        chat(session(projects, number, DAY + timedelta(days=number)), turns)


def remembering(memory: Memory, projects: Path) -> Memory:
    """Three closed conversations, read by rules."""

    def make() -> None:
        three_days(projects)
        memory.catch_up()

    return homes.again(memory.home.root.parent, memory, make)


def site(memory: Memory, name: str = "rules-2026-11-09") -> Home:
    return Home(memory.home.cache / "rebuild" / name)


def entries(home: Home) -> list[Entry]:
    return list(log.read(home).entries)


def whole(memory: Memory) -> bool:
    chains = resolve(entries(memory.home))
    return not (chains.dangling or chains.cycles or chains.repeated)


# --- equal to what the sweeps made ---------------------------------------------------------


def test_rules_give_the_log_that_the_sweeps_made_in_small_portions(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions in portions, a window that a pause ended, and entries by hand in between."""

    def at(moment: datetime) -> Memory:
        monkeypatch.setenv("WAKEBOOK_NOW", moment.isoformat().replace("+00:00", "Z"))
        return Memory(memory.home.root)

    memory.home.config.write_text("[git]\nenabled = false\n")
    for number, turns in enumerate((WORKDAY, NEXT_DAY, MORE), 1):
        claude = session(projects, number, DAY + timedelta(days=number))
        for count, (role, text) in enumerate(turns):
            claude.user(text) if role == "user" else claude.agent(text)
            now = at(claude.at + timedelta(seconds=30))
            now.catch_up()
            if count == 3:  # in the middle of the conversation
                now.remember(f"The deposit is {number}00 euros", type_="fact")
        claude.pause(hours=9)
        claude.user("Back again. We decided to keep the tide table in the repository.")
        claude.agent("All right.")
        claude.user("No, actually the deposit is 750 euros.")
    last = at(DAY + timedelta(days=8))
    last.catch_up()
    memory.home.config.write_text("")
    made = memory.home.log.read_bytes()
    assert any(b'"replaces"' in line and b"750" in line for line in made.splitlines())
    built = Memory(memory.home.root).rebuilds.build(branch="again")
    assert built.done is not None
    assert site(memory, "again").log.read_bytes() == made
    assert site(memory, "again").subjects.read_text() == memory.home.subjects.read_text()


WORDS = [
    "We decided to use {a} for the {b}.",
    "The {b} launch is on {n} November.",
    "No, actually the {b} launch is on {n} November.",
    "Remind me to send the {b} form to {a}.",
    "I sent the {b} form to {a} this morning, that's done.",
    "Is {a} enough for the {b} on Black Friday?",
    "My colleague {p} owns the {b}.",
    "Thanks, that looks fine.",
]


def babble(chance: random.Random) -> str:
    return chance.choice(WORDS).format(
        a=chance.choice(["Postgres", "Redis", "Ankerpolice", "Kafka"]),
        b=chance.choice(["booking service", "voucher queue", "insurance", "tide table"]),
        p=chance.choice(["Jonas", "Petra", "Ida"]),
        n=chance.randint(1, 30),
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_rules_give_the_log_of_sweeps_over_sessions_that_overlap(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A quarter of an hour between two sweeps, windows that end hours later, words by hand. The
    sweeps write no notes: the log is what is compared."""
    chance = random.Random(seed)
    memory.home.config.write_text("[git]\nenabled = false\n")
    talks = [session(projects, number, DAY) for number in range(1, 7)]
    now = DAY
    for _ in range(70):
        now += timedelta(minutes=chance.choice((15, 15, 15, 60, 240)))
        for claude in chance.sample(talks, chance.randint(0, 2)):
            claude.at = now - timedelta(minutes=chance.randint(5, 14))
            for _ in range(chance.randint(1, 2)):
                claude.user(babble(chance))
                claude.agent(chance.choice(["Done, I've sent the insurance form.", "Fine."]))
        monkeypatch.setenv("WAKEBOOK_NOW", now.isoformat().replace("+00:00", "Z"))
        again = Bare(memory.home.root)
        again.catch_up()
        if chance.random() < 0.15:
            again.remember(babble(chance))
    monkeypatch.setenv("WAKEBOOK_NOW", (now + timedelta(days=1)).isoformat())
    Memory(memory.home.root).catch_up()
    memory.home.config.write_text("")
    chains = resolve(entries(memory.home))
    assert len(chains.by_id) > 60 and len(chains.replaced_by) > 5
    Memory(memory.home.root).rebuilds.build(branch="again")
    assert site(memory, "again").log.read_bytes() == memory.home.log.read_bytes()


def test_a_lost_log_is_rebuilt_in_the_order_in_which_things_were_said(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    before = memory.home.log.read_bytes()
    memory.home.log.write_bytes(b"")
    memory.home.subjects.write_text("{}")
    memory = Memory(memory.home.root)
    memory.rebuilds.build(branch="again")
    memory.rebuilds.merge("again")
    assert memory.home.log.read_bytes() == before


def test_the_same_bytes_each_time_and_nothing_of_the_users_is_touched(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="one")
    before = memory.home.log.read_bytes()
    memory.rebuilds.build(branch="two")
    assert site(memory, "one").log.read_bytes() == site(memory, "two").log.read_bytes() == before
    assert git(memory.home.root, "branch", "--show-current") == "main"
    assert git(memory.home.root, "status", "--porcelain") == ""
    assert git(memory.home.root, "log", "-1", "--format=%s", "extract/one") == "extract: one"
    total = memory.rebuilds.compare("one").comparison.total
    assert (total.added, total.lost, total.changed) == (0, 0, 0)
    assert total.same == len(memory.log.chains().current())


def test_subjects_are_known_from_where_they_were_first_mentioned(
    memory: Memory, projects: Path
) -> None:
    """What rules came upon later is not known before; what a person made is."""
    first = session(projects, 1, DAY)
    chat(first, [("user", "We decided to paint lagoon green."), ("agent", "Nice.")])
    second = session(projects, 2, DAY + timedelta(days=1))
    chat(second, [("user", "The project is called Lagoon. The Lagoon project uses Go."),
                  ("agent", "Right.")])  # fmt: skip
    memory.catch_up()
    made = memory.home.log.read_bytes()
    assert b'"subject":"lagoon"' in made
    memory.log.add_subject("Voucher Burst", "other")
    Memory(memory.home.root).rebuilds.build(branch="again")
    assert site(memory, "again").log.read_bytes() == made
    registry = json.loads(site(memory, "again").subjects.read_text())
    assert registry == json.loads(memory.home.subjects.read_text())


def test_the_working_folder_stands_in_the_transcript(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    [path, *_] = memory.home.conversations.glob("*/*/*/*.md")
    assert "\ncwd: /home/mira/tidepool\n" in path.read_text()
    memory.home.state.unlink()  # nothing but the transcript knows it now
    memory.rebuilds.build(branch="again")
    assert site(memory, "again").log.read_bytes() == memory.home.log.read_bytes()


# --- what survives -------------------------------------------------------------------------


def says(entry: Entry, text: str) -> bool:
    """Whether it was learned; a handoff may say the same."""
    return text in entry.content and entry.type != "handoff"


def misread(memory: Memory, old: str, new: str, name: str = "otherReading", **fields: str) -> Entry:
    """As if another extractor had worded an entry in its own way, with its own id."""
    lines = entries(memory.home)
    [place] = [number for number, one in enumerate(lines) if says(one, old)]
    changed = lines[place].with_(content=new, id=name, by="anthropic/x extract/1", **fields)
    before = lines[place].id
    lines[place] = changed
    lines = [
        one.with_(replaces=tuple(changed.id if id_ == before else id_ for id_ in one.replaces))
        for one in lines
    ]
    with memory.home.locked():
        log.rewrite(memory.home, [encode(one) for one in lines])
    return changed


def test_a_correction_by_hand_corrects_the_new_reading_as_well(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    old = misread(memory, "Petra owns", "The billing service belongs to a colleague, Petra")
    memory = Memory(memory.home.root)
    mine = memory.remember("Jonas owns the billing service", replaces=[old.id])
    memory.rebuilds.build(branch="again")
    memory.rebuilds.merge("again")
    chains = Memory(memory.home.root).log.chains()
    assert whole(memory)
    [again] = [one for one in chains.entries if "Petra owns" in one.content]
    assert chains.latest(again.id) == mine.id
    assert chains.latest(old.id) == mine.id
    assert not [one for one in chains.current() if "Petra" in one.content]


def test_renames_merges_and_deletions_survive(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    assert any(one.subject == "tidepool" for one in memory.log.chains().entries)
    memory.log.rename_subject("tidepool", "boats")
    memory.log.add_subject("Harbour")
    memory.log.delete_subject("harbour")
    memory.rebuilds.build(branch="again")
    memory.rebuilds.merge("again")
    memory = Memory(memory.home.root)
    found = {one.subject for one in memory.log.chains().entries}
    assert "boats" in found and "tidepool" not in found
    assert memory.log.registry().canonical("tidepool") == "boats"
    assert memory.log.registry().subjects["harbour"].deleted


def test_what_is_renamed_or_forgotten_before_the_merge_stays_so(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    memory.log.rename_subject("tidepool", "boats")
    [gone] = [one for one in memory.log.chains().entries if "Petra owns" in one.content]
    memory.forget([gone.id])
    memory.rebuilds.merge("again")
    memory = Memory(memory.home.root)
    assert "tidepool" not in {one.subject for one in memory.log.chains().entries}
    assert "tidepool" not in memory.log.registry().subjects
    assert not [one for one in memory.log.chains().entries if "Petra" in one.content]
    assert whole(memory)


def test_what_came_since_is_in_the_merged_log(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    late = session(projects, 9, DAY + timedelta(days=5))
    chat(late, [("user", "We decided to rent the boats by the hour."), ("agent", "Good.")])
    memory = Memory(memory.home.root)
    memory.catch_up()
    mine = memory.remember("The pier closes at eight")
    cursors = memory.opened.state().sessions
    done = memory.rebuilds.merge("again")
    assert (
        done.gained == len([one for one in entries(memory.home) if one.session == late.session]) + 1
    )
    memory = Memory(memory.home.root)
    assert mine.id in memory.log.chains().by_id
    assert any("by the hour" in one.content for one in memory.log.chains().current())
    assert memory.opened.state().sessions == cursors
    assert memory.catch_up().entries == 0
    assert any("by the hour" in hit.snippet for hit in memory.search("rent the boats").hits)


def test_a_persons_words_in_notes_survive(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    note = memory.home.root / "knowledge" / "projects" / "tidepool" / "context.md"
    memory.notes.update()
    before = note.read_text() + "\nMy own words.\n"
    note.write_text(before)
    memory.rebuilds.build(branch="again")
    assert "My own words." in (site(memory, "again").root / memory.home.relative(note)).read_text()
    note.write_text(before + "\nAnd later ones.\n")
    memory.rebuilds.merge("again")
    assert "My own words.\n\nAnd later ones.\n" in note.read_text()


def test_open_conversations_are_left_to_catch_up(memory: Memory, projects: Path) -> None:
    three_days(projects)
    now = session(projects, 7, datetime(2026, 11, 9, 7, 30, tzinfo=UTC))
    chat(now, [("user", "We decided to sell the old dinghy."), ("agent", "Why not.")])
    memory.catch_up()
    [still] = [one for one in memory.log.chains().entries if "dinghy" in one.content]
    built = Memory(memory.home.root).rebuilds.build(branch="again")
    assert built.done is not None and len(built.done.plan.transcripts) == 3
    assert still.id in {one.id for one in entries(site(memory, "again"))}
    Memory(memory.home.root).rebuilds.merge("again")
    assert Memory(memory.home.root).catch_up(closing=True).closed
    assert whole(memory)


def test_since_reads_only_what_is_newer_and_keeps_the_rest(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    old = misread(memory, "uv over pip", "Of uv and pip, uv is preferred")
    since = DAY + timedelta(days=2)
    built = Memory(memory.home.root).rebuilds.build(branch="again", since=since)
    assert built.done is not None and len(built.done.plan.transcripts) == 2
    assert old.id in {one.id for one in entries(site(memory, "again"))}
    assert site(memory, "again").log.read_bytes() == memory.home.log.read_bytes()
    with pytest.raises(WakebookError, match="was begun with rules since 2026-11-04"):
        Memory(memory.home.root).rebuilds.build(branch="again")
    with pytest.raises(NotFound, match="No archived conversation began after"):
        Memory(memory.home.root).rebuilds.build(branch="later", since=DAY + timedelta(days=20))


def told(memory: Memory) -> list[str]:
    """The long-term part of MEMORY.md."""
    found = markdown.block(memory.home.memory.read_text(), "memory")
    return list(found.lines) if found else []


def test_what_was_condensed_comes_along_with_new_ids(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    [redis] = [one for one in entries(memory.home) if says(one, "to use Redis")]
    [uv] = [one for one in entries(memory.home) if says(one, "uv over pip")]
    old = misread(memory, "to use Redis", "The queue is going to use Redis instead of Kafka")
    ice = "Somebody at the harbour sells ice cream"
    lost = misread(memory, "go with Postgres", ice, "lostReading1", detail="")
    memory = Memory(memory.home.root)
    rewrite = condensed.Condensed(
        at=memory.opened.now(),
        by="rules",
        lines=(
            condensed.CondensedLine((old.id,)),
            condensed.CondensedLine((uv.id, lost.id), "uv, and ice cream", "Preferences"),
        ),
        dropped=(lost.id,),
    )
    condensed.save(memory.home, {"memory/MEMORY.md#memory": rewrite})
    memory.notes.update(full=True)
    assert any("Redis instead of Kafka" in line for line in told(memory))
    memory.rebuilds.build(branch="again")
    there = (site(memory, "again").root / "knowledge/memory/MEMORY.md").read_text()
    assert redis.content in there and redis.id in (
        (site(memory, "again").root / condensed.NAME).read_text()
    )
    done = memory.rebuilds.merge("again")
    assert done.untold == 1
    after = condensed.load(memory.home)["memory/MEMORY.md#memory"]
    assert [line.ids for line in after.lines] == [(redis.id,), (uv.id,)] and after.dropped == ()
    assert after.lines[1].text == "", "half of what it stood for is not there any more"
    assert any(redis.content in line for line in told(memory))
    assert memory.home.memory.read_text().count(uv.content) == 1  # among what is true of the user
    assert condensed.NAME not in git(memory.home.root, "status", "--porcelain")


def test_lines_of_the_log_that_nobody_can_read_are_kept_and_told_of(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    misread(memory, "Petra owns", "The billing service belongs to a colleague, Petra")
    broken = '{"id": "hand-edited", "content": "A LINE THAT SOMEBODY BROKE"'
    whole_lines = memory.home.log.read_text()
    memory.home.log.write_text(f"{broken}\n{whole_lines}")
    memory = Memory(memory.home.root)
    memory.rebuilds.build(branch="again")
    said = run("--home", str(memory.home.root), "rebuild", "--merge", "again")
    assert "1 line of the old log that cannot be read" in said
    assert memory.home.log.read_text().endswith(f"\n{broken}\n")
    assert "Petra owns" in memory.home.log.read_text()
    assert any("log.jsonl line" in one for one in Memory(memory.home.root).status().problems)


def test_a_merge_that_was_killed_keeps_both_as_well(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    old = misread(memory, "to use Redis", "The queue is going to use Redis instead of Kafka")
    with memory.home.log.open("a") as stream:
        stream.write("nonsense\n")
    memory = Memory(memory.home.root)
    lines = (condensed.CondensedLine((old.id,)),)
    rewrite = condensed.Condensed(at=memory.opened.now(), by="rules", lines=lines)
    condensed.save(memory.home, {"memory/MEMORY.md#memory": rewrite})
    memory.rebuilds.build(branch="again")
    new = [one.id for one in entries(site(memory, "again")) if says(one, "to use Redis")]
    step = 1
    while run_and_die(lambda: Memory(memory.home.root).rebuilds.merge("again"), step):
        step += 9
    after = condensed.load(memory.home)["memory/MEMORY.md#memory"]
    assert [list(line.ids) for line in after.lines] == [new]
    assert memory.home.log.read_text().endswith("}\nnonsense\n")


# --- merging, dropping ---------------------------------------------------------------------


def test_a_merge_is_taken_back_with_what_came_since_left_in_place(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    lines = memory.home.log.read_bytes().splitlines(keepends=True)
    log.rewrite(memory.home, [line for line in lines if b"Petra" not in line])
    memory = Memory(memory.home.root)
    memory.notes.update(full=True)
    memory.history.commit()
    before = entries(memory.home)
    memory.rebuilds.build(branch="again")
    memory.rebuilds.merge("again")
    assert any("Petra" in one.content for one in entries(memory.home))
    assert memory.rewrites()[0].name == "rebuild again"
    done = memory.undo()
    assert done.rewrite.name == "rebuild again" and entries(memory.home) == before
    later = Memory(memory.home.root)
    assert "Petra" not in later.home.root.joinpath("knowledge/memory/MEMORY.md").read_text()
    refs = {hit.ref for hit in later.search("Petra billing", limit=5).hits}
    assert refs.isdisjoint(one.id for one in entries(later.home) if "Petra" in one.content)


def test_a_merge_is_committed_tagged_and_cleared_away(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    misread(memory, "Petra owns", "The billing service belongs to a colleague, Petra")
    memory = Memory(memory.home.root)
    memory.rebuilds.build(branch="again")
    found = memory.rebuilds.compare("again").comparison
    assert [(was.id, "Petra owns" in is_.content) for was, is_ in found.changed] == [
        ("otherReading", True)
    ]
    done = memory.rebuilds.merge("again")
    root = memory.home.root
    assert "extract: again" in subjects(root)
    assert git(root, "tag", "--list", "memory/*").splitlines() == [
        "memory/before/extract-again",
        "memory/extract/again",
    ]
    assert "belongs to a colleague" in git(root, "show", f"{done.before}:log.jsonl")
    assert "belongs to a colleague" not in memory.home.log.read_text()
    assert git(root, "branch", "--list", "extract/*") == ""
    assert not site(memory, "again").root.exists()
    assert git(root, "rev-list", "--merges", "--count", "HEAD") == "1"
    git(root, "fsck", "--strict")
    assert memory.rebuilds.merge("again").completed
    with pytest.raises(WakebookError, match="Choose another"):
        memory.rebuilds.build(branch="again")
    assert memory.rebuilds.build().name == "rules-2026-11-09"


def test_a_reading_that_was_made_meanwhile_gives_way_and_is_told(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    misread(memory, "Petra owns", "The billing service belongs to a colleague, Petra")
    assert Memory(memory.home.root).rebuilds.merge("again").passed == 1


def test_a_dropped_rebuild_can_be_brought_back(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    done = memory.rebuilds.drop("again")
    assert not site(memory, "again").root.exists()
    assert memory.rebuilds.listed() == []
    subprocess.run(done.restore.split(), check=True)
    assert memory.rebuilds.merge("again").entries == len(entries(memory.home))
    with pytest.raises(NotFound, match="no rebuild other"):
        memory.rebuilds.drop("other")


# --- killed --------------------------------------------------------------------------------


def test_killed_while_it_is_built_it_goes_on_and_comes_out_the_same(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    expected = memory.home.log.read_bytes()
    step, deaths = 2, 0
    while run_and_die(lambda: Memory(memory.home.root).rebuilds.build(branch="again"), step):
        deaths += 1
        step += 4
    assert deaths > 3
    built = Memory(memory.home.root).rebuilds.build(branch="again")
    assert built.done is not None
    assert site(memory, "again").log.read_bytes() == expected
    assert memory.rebuilds.compare("again").comparison.total.same
    assert git(site(memory, "again").root, "status", "--porcelain") == ""


def test_killed_while_it_is_merged_the_same_command_completes_it(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    old = misread(memory, "Petra owns", "The billing service belongs to a colleague, Petra")
    memory = Memory(memory.home.root)
    mine = memory.remember("Jonas owns the billing service", replaces=[old.id])
    memory.rebuilds.build(branch="again")
    later = memory.remember("The pier closes at eight")
    expected = site(memory, "again").log.read_bytes() + encode(later)
    step, deaths = 1, 0
    while run_and_die(lambda: Memory(memory.home.root).rebuilds.merge("again"), step):
        deaths += 1
        step += 7
        whole_log = memory.home.log.read_bytes()
        assert whole_log.endswith(b"\n")
    assert deaths > 3
    assert memory.home.log.read_bytes() == expected
    assert resolve(entries(memory.home)).latest(old.id) == mine.id
    assert git(memory.home.root, "branch", "--list", "extract/*") == ""
    assert git(memory.home.root, "fsck", "--strict") == ""


def test_without_a_name_the_same_command_goes_on_the_next_day(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remembering(memory, projects)
    since = DAY + timedelta(days=2)
    step = 1
    while not memory.rebuilds.listed() or memory.rebuilds.listed()[0].began is None:
        run_and_die(lambda: Memory(memory.home.root).rebuilds.build(since=since), step)
        step += 1
    [begun] = memory.rebuilds.listed()
    assert not begun.complete
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-10T08:00:00Z")
    built = Memory(memory.home.root).rebuilds.build(since=since + timedelta(hours=3))  # an age, say
    assert built.name == begun.name == "rules-2026-11-09" and built.done is not None
    assert [one.name for one in memory.rebuilds.listed()] == [begun.name]
    with pytest.raises(WakebookError, match="since 2026-11-04"):
        Memory(memory.home.root).rebuilds.build(branch=begun.name, since=since + timedelta(days=1))
    assert Memory(memory.home.root).rebuilds.build().name == "rules-2026-11-10", (
        "that one is complete"
    )


def test_one_that_is_being_written_is_not_touched_by_those_who_look(
    memory: Memory, projects: Path
) -> None:
    memory = remembering(memory, projects)
    step = 1
    while not memory.rebuilds.listed() or memory.rebuilds.listed()[0].began is None:
        run_and_die(lambda: Memory(memory.home.root).rebuilds.build(branch="again"), step)
        step += 1
    path = site(memory, "again").cache / "rebuild.jsonl"
    path.write_bytes(path.read_bytes() + b'{"read": ["ha')
    before = path.read_bytes()
    assert not memory.rebuilds.listed()[0].complete
    assert path.read_bytes() == before
    assert Memory(memory.home.root).rebuilds.build().name == "again"
    assert site(memory, "again").log.read_bytes() == memory.home.log.read_bytes()


def test_two_at_once(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    with (
        memory.home.reading("rebuild/again"),
        pytest.raises(Locked, match="Another process is at the rebuild again"),
    ):
        Memory(memory.home.root).rebuilds.build(branch="again")


# --- what can be wrong ---------------------------------------------------------------------


def test_without_conversations_or_git_it_says_so(
    memory: Memory, tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound, match="no archived conversation"):
        memory.rebuilds.build()
    assert memory.rebuilds.listed() == []
    memory = remembering(memory, projects)
    memory.home.config.write_text("[git]\nenabled = false\n")
    with pytest.raises(GitError, match="switched off"):
        Memory(memory.home.root).rebuilds.build()
    memory.home.config.write_text("")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(GitError, match="not installed"):
        Memory(memory.home.root).rebuilds.build()


def test_a_home_that_is_no_repository(tmp_path: Path, projects: Path, memory: Memory) -> None:
    memory = remembering(memory, projects)
    shutil.rmtree(memory.home.root / ".git")
    with pytest.raises(GitError, match="not a repository"):
        Memory(memory.home.root).rebuilds.build()


@pytest.mark.parametrize("name", ["a/b", "..", "x.lock", "-x", "", "a b"])
def test_a_name_that_cannot_be_a_branch(memory: Memory, projects: Path, name: str) -> None:
    memory = remembering(memory, projects)
    with pytest.raises((GitError, NotFound)):
        memory.rebuilds.merge(name)


def test_a_conflicted_repository_is_left_alone(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    (memory.home.root / ".git" / "MERGE_HEAD").write_text(
        git(memory.home.root, "rev-parse", "HEAD")
    )
    before = memory.home.log.read_bytes()
    with pytest.raises(GitError, match="in the middle of a merge"):
        memory.rebuilds.merge("again")
    with pytest.raises(GitError, match="in the middle of a merge"):
        memory.rebuilds.build(branch="other")
    assert memory.home.log.read_bytes() == before
    assert memory.rebuilds.listed()[0].complete


def test_folders_and_branches_that_somebody_removed(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    memory.rebuilds.build(branch="again")
    shutil.rmtree(site(memory, "again").root)
    assert memory.rebuilds.listed()[0].complete
    assert memory.rebuilds.compare("again").comparison.total.same  # the branch has everything
    git(memory.home.root, "worktree", "remove", "--force", str(site(memory, "again").root))
    git(memory.home.root, "branch", "-D", "extract/again")
    with pytest.raises(NotFound, match="no rebuild again"):
        memory.rebuilds.merge("again")
    built = memory.rebuilds.build(branch="again")
    assert built.done is not None and built.read == 3


def test_a_branch_of_somebody_else_is_not_taken(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    root = memory.home.root
    tree = git(root, "rev-parse", "HEAD^{tree}")
    theirs = git(root, "commit-tree", tree, "-p", "HEAD", "-m", "mine")
    git(root, "branch", "extract/mine", theirs)
    with pytest.raises(GitError, match="no rebuild has made"):
        memory.rebuilds.build(branch="mine")
    assert git(root, "rev-parse", "extract/mine") == theirs


def test_a_transcript_that_cannot_be_read_keeps_its_entries(memory: Memory, projects: Path) -> None:
    memory = remembering(memory, projects)
    [path, *_] = sorted(memory.home.conversations.glob("*/*/*/*.md"))
    run_and_die(lambda: memory.rebuilds.build(branch="again"), 14)
    path.chmod(0o600)
    path.unlink()
    built = Memory(memory.home.root).rebuilds.build(branch="again")
    assert built.done is not None
    assert site(memory, "again").log.read_bytes() == memory.home.log.read_bytes()


def test_in_somebodys_repository_only_the_home_is_checked_out(
    tmp_path: Path, projects: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    (work / "code.py").write_text("1")
    git(work, "add", "code.py")
    git(work, "commit", "-q", "-m", "code")
    (work / "staged.py").write_text("2")
    git(work, "add", "staged.py")
    memory = Memory(work / "notes" / "memory")
    memory.init()
    three_days(projects)
    memory.catch_up()
    memory = Memory(memory.home.root)
    memory.rebuilds.build(branch="again")
    tree = memory.home.cache / "rebuild" / "again"
    assert not (tree / "code.py").exists()
    built = (tree / "notes" / "memory" / "log.jsonl").read_bytes()
    assert built == memory.home.log.read_bytes()
    memory.rebuilds.merge("again")
    assert git(work, "status", "--porcelain") == "A  staged.py"
    assert git(work, "rev-list", "--merges", "--count", "HEAD") == "0"
    assert "code.py" in git(work, "ls-tree", "--name-only", "HEAD")


# --- questions -----------------------------------------------------------------------------


def test_questions_are_answered_before_and_after(
    memory: Memory, projects: Path, tmp_path: Path
) -> None:
    memory = remembering(memory, projects)
    misread(memory, "Petra owns", "The billing service belongs to Zacharias")
    memory = Memory(memory.home.root)
    memory.rebuilds.build(branch="again")
    asked = tmp_path / "questions.jsonl"
    lines: Sequence[object] = [
        {"question": "Whose is the billing service?", "expect": "belongs to Zacharias"},
        {"question": "On which day is the launch?", "answers": ["never", "21 November"]},
        {"question": "What is the weather?", "expect": "sunny and mild"},
    ]
    asked.write_text("\n".join(map(json.dumps, lines)))
    quality = memory.rebuilds.compare("again", asked).answers.labelled
    assert quality is not None
    assert (quality.questions, round(quality.before, 2), round(quality.after, 2)) == (3, 0.67, 0.33)
    assert quality.lost == ("Whose is the billing service?",)
    assert "first 6 hits of a search over the entries alone" in quality.definition


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no questions in it"),
        ('{"question": "a", "expect": "b"}\n{"question": 3}', 'line 2: "question" must be'),
        ('\n{"question": "a"}', 'line 2: "expect" must be'),
        ('{"question": "a", "answers": []}', "line 1"),
        ("what?", "line 1: not JSON"),
    ],
)
def test_questions_that_are_none(
    memory: Memory, projects: Path, tmp_path: Path, text: str, told: str
) -> None:
    asked = tmp_path / "questions.jsonl"
    asked.write_text(text)
    with pytest.raises(WakebookError, match=told):
        memory.rebuilds.check_questions(asked)
