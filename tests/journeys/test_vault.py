"""A vault of somebody's, built again and again while they write in it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.crash import run_and_die
from tests.journeys.command import run, run_json
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory, WakebookError
from wakebook.notes.obsidian import marks

LINK = re.compile(r"(?<!\\)\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
NOTES, JOURNAL = "01 Notes", "03 Journal"
TODAY = "2026-11-09"


def pages(vault: Path) -> dict[str, str]:
    return {
        path.relative_to(vault).as_posix(): path.read_text()
        for path in sorted(vault.rglob("*.md"))
        if path.is_file()
    }


def state(vault: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and its time."""
    files = sorted(path for path in vault.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def opens_cleanly(vault: Path) -> int:
    """Frontmatter is valid, every link leads to one note, no line is there twice. Counts links."""
    found = pages(vault)
    names = Counter(Path(path).stem.casefold() for path in found)
    count = 0
    for path, text in found.items():
        if "wakebook: " not in text:
            continue
        front = yaml.safe_load(text.split("---\n")[1])
        assert front["wakebook"] and front["created"]
        assert not re.search(r"(?<![\\\w/])#\w", text.replace("## ", "")), path
        for target, _ in LINK.findall(text):
            count += 1
            exact = f"{target}.md" in found
            assert exact or names[target.casefold()] == 1, f"{path}: [[{target}]]"
        lines = re.findall(r"\^wj?-\S+$", text, re.MULTILINE)
        assert len(lines) == len(set(lines)), path
    assert not list(vault.rglob("*.tmp"))
    return count


def note(vault: Path, name: str) -> Path:
    return vault / NOTES / f"{name}.md"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def test_two_days_of_work_as_a_vault(memory: Memory, projects: Path, vault: Path) -> None:
    chat(Claude(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=20), NEXT_DAY)
    memory.catch_up(closing=True)
    memory.remember("Petra paints the boat green", subject="petra")
    told = run_json("vault", "build", str(vault), "--home", str(memory.home.root))
    assert f"{JOURNAL}/2026-11-08.md" in told["created"] and told["refused"] == {}
    assert opens_cleanly(vault) > 4
    entries = list(memory.log.chains().entries)
    journal = [mark for text in pages(vault).values() for mark in marks(text) if mark[0] == "wj"]
    assert len(journal) == len(entries)
    assert "21 November" in "".join(pages(vault).values())
    assert re.search(r"^- 5e551011 — \d\d:\d\d$", pages(vault)[f"{JOURNAL}/2026-11-08.md"], re.M)
    before = state(vault)
    assert "Nothing new" in run("vault", "build", str(vault), "--home", str(memory.home.root))
    assert state(vault) == before
    again = vault.with_name("again")
    memory.notes.obsidian(again)
    assert pages(again) == pages(vault)  # the same log gives the same bytes


def test_a_dry_run_writes_nothing(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    out = run("vault", "build", str(vault), "--dry-run", "--home", str(memory.home.root))
    assert "2 lines would be added" in out and "Petra Project.md" in out
    assert not vault.exists()


def test_folders_are_made_and_otherwise_left_alone(memory: Memory, vault: Path) -> None:
    inbox = vault / "00 Inbox"
    inbox.mkdir(parents=True, mode=0o755)
    (inbox / "clip.md").write_text("mine")
    built = memory.notes.obsidian(vault)
    assert built.folders == (NOTES, "02 Agent", JOURNAL, "04 Templates", "05 Attachments")
    assert sorted(path.name for path in vault.iterdir()) == ["00 Inbox", *built.folders]
    assert (inbox / "clip.md").read_text() == "mine"


def test_what_a_person_edits_moves_or_deletes_stays_so(memory: Memory, vault: Path) -> None:
    for text in ("Petra paints", "Petra sails", "Petra sings"):
        memory.remember(text, subject="petra")
    memory.notes.obsidian(vault)
    page = note(vault, "Petra Project")
    lines = page.read_text().splitlines(keepends=True)
    kept = [line.replace("Petra sails", "Petra *rows*") for line in lines if "paints" not in line]
    mine = "".join(kept) + "\nMy own words, without an end"
    page.write_text(mine)
    memory.notes.obsidian(vault)
    assert page.read_text() == mine
    memory.remember("Petra rests", subject="petra")
    built = memory.notes.obsidian(vault)
    assert built.extended == (f"{JOURNAL}/{TODAY}.md", f"{NOTES}/Petra Project.md")
    new = page.read_text()
    assert "Petra rests" in new and "paints" not in new
    added = next(line for line in new.splitlines(keepends=True) if "rests" in line)
    assert new.replace(added, "") == mine
    assert new.index("Petra sings") < new.index("Petra rests") < new.index("## Pending")


def test_a_deleted_page_stays_deleted_until_there_is_something_new(
    memory: Memory, vault: Path
) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    note(vault, "Petra Project").unlink()
    assert memory.notes.obsidian(vault).created == ()
    memory.remember("Petra rests", subject="petra")
    memory.notes.obsidian(vault)
    text = note(vault, "Petra Project").read_text()
    assert "rests" in text and "paints" not in text
    opens_cleanly(vault)


def test_a_page_that_was_moved_is_found(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    (vault / "People").mkdir()
    moved = note(vault, "Petra Project").rename(vault / "People" / "Petra, the painter.md")
    day = vault / JOURNAL / f"{TODAY}.md"  # in which Obsidian changes the links to it
    day.write_text(day.read_text().replace("[[Petra Project", "[[Petra, the painter"))
    memory.remember("Petra rests", subject="petra")
    assert "People/Petra, the painter.md" in memory.notes.obsidian(vault).extended
    assert "rests" in moved.read_text() and not list((vault / NOTES).iterdir())
    assert "rests ([[Petra, the painter|Petra]])" in day.read_text()
    opens_cleanly(vault)


def test_a_renamed_subject_keeps_its_page(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.remember("Pia swims", subject="pia")
    memory.notes.obsidian(vault)
    memory.log.rename_subject("petra", "petra-lind")
    memory.log.rename_subject("pia", "petra-lind", merge=True)
    assert memory.notes.obsidian(vault).lines == 0  # nothing is written twice
    memory.remember("Petra rests", subject="petra-lind")
    memory.notes.obsidian(vault)
    assert "rests" in note(vault, "Petra Project").read_text()
    assert sorted(path.name for path in (vault / NOTES).iterdir()) == [
        "Petra Project.md",
        "Pia Project.md",
    ]
    assert "[[Petra Project|Petra Lind]]" in (vault / JOURNAL / f"{TODAY}.md").read_text()
    opens_cleanly(vault)


def test_a_note_of_the_users_is_never_touched(memory: Memory, vault: Path) -> None:
    (vault / NOTES).mkdir(parents=True)
    (vault / "Daily").mkdir()
    mine = {
        note(vault, "petra project"): b"# Mine\n## Log\n",
        vault / "Daily" / f"{TODAY}.md": b"A day\n",
        note(vault, "Lagoon Project"): b"\xff\xfe not text",
    }
    for path, data in mine.items():
        path.write_bytes(data)
    memory.remember("Petra paints", subject="petra")
    memory.remember("Lagoon is up", subject="lagoon")
    out = run("vault", "build", str(vault), "--home", str(memory.home.root))
    assert "01 Notes/petra project.md is not Wakebook's" in out
    assert {path: path.read_bytes() for path in mine} == mine
    assert "paints" in note(vault, "Petra Project (Wakebook)").read_text()
    assert "up" in note(vault, "Lagoon Project (Wakebook)").read_text()
    day = (vault / JOURNAL / f"{TODAY} (Wakebook).md").read_text()
    assert "[[Petra Project (Wakebook)|Petra]]" in day
    note(vault, "Lagoon Project").write_text("text now")
    before = state(vault)
    memory.notes.obsidian(vault)
    assert state(vault) == before


def test_two_subjects_of_one_name_and_links_that_are_not_the_only_ones(
    memory: Memory, vault: Path
) -> None:
    memory.log.add_subject("mercury", "place", "Mercury")
    memory.log.add_subject("mercury-server", "system", "MERCURY")
    memory.remember("It is hot", subject="mercury")
    memory.remember("It is down", subject="mercury-server")
    memory.notes.obsidian(vault)
    assert sorted(path.stem for path in (vault / NOTES).iterdir()) == [
        "MERCURY (mercury-server)",
        "Mercury",
    ]
    (vault / "Mercury.md").write_text("Mine, and later")
    memory.remember("It is hotter", subject="mercury")
    memory.notes.obsidian(vault)
    day = (vault / JOURNAL / f"{TODAY}.md").read_text()
    assert f"It is hotter ([[{NOTES}/Mercury|Mercury]])" in day
    assert opens_cleanly(vault)


def test_folders_that_are_linked_in_make_links_exact(memory: Memory, vault: Path) -> None:
    workspace = vault.with_name("workspace")
    workspace.mkdir()
    (workspace / f"{TODAY}.md").write_text("The agent's")
    vault.mkdir()
    (vault / "02 Agent").symlink_to(workspace)
    memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    assert f"([[{JOURNAL}/{TODAY}|{TODAY}]])" in note(vault, "Petra Project").read_text()
    assert [path.name for path in workspace.iterdir()] == [f"{TODAY}.md"]


def test_odd_subjects_and_hostile_words_leave_a_clean_vault(memory: Memory, vault: Path) -> None:
    words = ("[[x]] #tag %%", "---\n# head\n```", "<!-- <script>", "1. $a$ ![[y]]", "^w-abc")
    for number, display in enumerate(("a/b: c?", "..", "CON", "2026-11-09", "[[x]]", "É" * 300)):
        subject = memory.log.add_subject(f"s{number}", "other", display)
        for text in words:
            memory.remember(text, subject=subject.slug, detail=text)
    memory.notes.obsidian(vault)
    assert opens_cleanly(vault) >= 30
    for text in pages(vault).values():
        headings = [line for line in text.splitlines() if line.startswith("#")]
        assert headings in (
            ["## Log", "## Todo", "## Questions", "## Sessions"],
            ["## Log", "## Pending", "## Open Questions"],
        )
        assert all(re.fullmatch(r"- .* \^wj?-\S+", line) for line in text.splitlines()
                   if line.startswith("- ") and line not in ("- journals", "- notes")
                   and "aliases:\n" + line not in text)  # fmt: skip
    assert memory.notes.obsidian(vault).lines == 0


def test_what_is_written_while_a_build_runs_is_kept(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    memory.remember("Petra rests", subject="petra")
    memory.remember("Pia swims", subject="pia")
    page, new = note(vault, "Petra Project"), note(vault, "Pia Project")

    def meanwhile(what: str, done: int, total: int) -> None:
        if done == 1:  # the journal is written, the topics are not
            page.write_text(page.read_text() + "\nJust typed")
            new.write_text("Just made")

    built = memory.notes.obsidian(vault, progress=meanwhile)
    assert page.read_text().endswith("Just typed") and "rests" in page.read_text()
    assert new.read_text() == "Just made" and list(built.refused) == [f"{NOTES}/Pia Project.md"]
    assert memory.notes.obsidian(vault).created == (f"{NOTES}/Pia Project (Wakebook).md",)
    assert new.read_text() == "Just made"


# --- the record ----------------------------------------------------------------------------


@pytest.mark.parametrize("record", [None, "{", '{"version": 1, "pages": 3}', "[1]"])
def test_without_its_record_the_pages_tell(memory: Memory, vault: Path, record: str | None) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.remember("Petra sails", type_="task", subject="petra")
    memory.notes.obsidian(vault)
    before = pages(vault)
    file = vault / ".wakebook" / "vault.json"
    good = json.loads(file.read_text())
    file.write_text(record) if record is not None else file.unlink()
    built = memory.notes.obsidian(vault)
    assert built.lines == 0 and pages(vault) == before
    again = json.loads(file.read_text())
    assert again["pages"] == good["pages"]
    assert sorted(again["journals"]) == sorted(good["journals"])
    assert bool(built.notes) == (record is not None)
    kept = file.with_name("vault.broken.json")
    assert (kept.read_text() if record is not None else None) == record


def test_a_record_of_a_newer_version_is_left_alone(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    file = vault / ".wakebook" / "vault.json"
    file.write_text('{"version": 2, "pages": []}')
    before = state(vault)
    with pytest.raises(WakebookError, match=r"vault.json is of version 2.*Update"):
        memory.notes.obsidian(vault)
    assert state(vault) == before


def test_a_record_that_points_out_of_the_vault_is_not_followed(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    outside = vault.with_name("outside.md")
    outside.write_text("## Log\n")
    file = vault / ".wakebook" / "vault.json"
    record = json.loads(file.read_text())
    record["pages"]["subject/petra"] = "../outside.md"
    file.write_text(json.dumps(record))
    memory.remember("Petra rests", subject="petra")
    memory.notes.obsidian(vault)
    assert outside.read_text() == "## Log\n"
    assert "rests" in note(vault, "Petra Project").read_text()


def test_killed_at_every_step_nothing_is_there_twice_and_nothing_is_lost(
    memory: Memory, vault: Path
) -> None:
    memory.remember("Petra paints", subject="petra")
    memory.remember("Lagoon is up", subject="lagoon")
    memory.notes.obsidian(vault)
    memory.remember("Petra rests", subject="petra")
    memory.remember("Pia swims", type_="task", subject="pia")
    start = vault.with_name("start")
    shutil.copytree(vault, start)
    memory.notes.obsidian(vault)
    expected = pages(vault)
    step = 0
    while True:
        step += 1
        shutil.rmtree(vault)
        shutil.copytree(start, vault)
        died = run_and_die(lambda: Memory(memory.home.root).notes.obsidian(vault), step)
        Memory(memory.home.root).notes.obsidian(vault)
        assert pages(vault) == expected, f"after dying at step {step}"
        opens_cleanly(vault)
        if not died:
            break
    assert step > 15  # otherwise nothing was counted


def test_after_a_kill_a_line_that_was_deleted_stays_deleted(memory: Memory, vault: Path) -> None:
    memory.notes.obsidian(vault)
    for text in ("Petra paints", "Petra sails"):
        memory.remember(text, subject="petra")
    page, start = note(vault, "Petra Project"), vault.with_name("start")
    shutil.copytree(vault, start)
    step = 1
    while not page.exists():  # the first step after which the page is there, and no record of it
        shutil.rmtree(vault)
        shutil.copytree(start, vault)
        assert run_and_die(lambda: Memory(memory.home.root).notes.obsidian(vault), step)
        step += 1
    assert json.loads((vault / ".wakebook" / "vault.json").read_text())["writing"]
    lines = page.read_text().splitlines(keepends=True)
    page.write_text("".join(line for line in lines if "paints" not in line))
    memory.notes.obsidian(vault)
    text = page.read_text()
    assert text.count("sails") == 1 and "paints" not in text


def test_a_note_made_after_a_kill_is_not_taken_for_a_page(memory: Memory, vault: Path) -> None:
    memory.notes.obsidian(vault)
    memory.remember("Petra paints", subject="petra")
    step, record = 1, vault / ".wakebook" / "vault.json"
    while not record.exists():  # the first step after which the page is told, and not there
        assert run_and_die(lambda: Memory(memory.home.root).notes.obsidian(vault), step)
        step += 1
    page = note(vault, "Petra Project")
    assert not page.exists()
    page.write_text("Mine\n")
    memory.notes.obsidian(vault)
    assert page.read_text() == "Mine\n"
    assert "paints" in note(vault, "Petra Project (Wakebook)").read_text()


def test_a_record_that_gives_two_subjects_one_page(memory: Memory, vault: Path) -> None:
    for name in ("petra", "pia"):
        memory.remember(f"{name} paints", subject=name)
    memory.notes.obsidian(vault)
    file = vault / ".wakebook" / "vault.json"
    record = json.loads(file.read_text())
    record["pages"]["subject/pia"] = record["pages"]["subject/petra"]
    file.write_text(json.dumps(record))
    for name in ("petra", "pia"):
        memory.remember(f"{name} rests", subject=name)
    memory.notes.obsidian(vault)
    for name in ("petra", "pia"):
        assert f"{name} rests" in note(vault, f"{name.title()} Project").read_text()


def test_a_link_that_would_lead_nowhere_is_only_a_name(memory: Memory, vault: Path) -> None:
    old = memory.remember("Petra paints", subject="petra")
    memory.notes.obsidian(vault)
    memory.log.delete_subject("petra")
    note(vault, "Petra Project").unlink()
    memory.remember("Petra rests", replaces=[old.id])
    memory.notes.obsidian(vault)
    text = (vault / JOURNAL / f"{TODAY}.md").read_text()
    assert "Petra rests — corrects “Petra paints” (Petra) ^" in text


# --- what is refused -----------------------------------------------------------------------


def test_places_where_no_vault_can_be(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    home = memory.home.root
    inside = tmp_path / "inside"
    inside.symlink_to(home / "knowledge")
    for path, words in {
        file: "is a file",
        file / "below": "is a file",
        home: "is the home itself",
        home / "vault": "is inside the home",
        inside: "is inside the home",
        Path("/"): "root of the file system",
    }.items():
        with pytest.raises(WakebookError, match=words) as caught:
            memory.notes.obsidian(path)
        assert "Give the folder of your vault" in str(caught.value)
        assert str(file if "file" in str(path) else path) in str(caught.value)
    assert file.read_text() == "mine" and not (home / "vault").exists()
    out = run("vault", "build", str(file), "--home", str(home), code=1)
    assert out.startswith("wakebook:") and "is a file" in out


@pytest.mark.parametrize("name", [NOTES, JOURNAL, ".wakebook"])
def test_a_folder_that_leads_out_of_the_vault(memory: Memory, vault: Path, name: str) -> None:
    outside = vault.with_name("outside")
    outside.mkdir()
    vault.mkdir()
    (vault / name).symlink_to(outside)
    memory.remember("Petra paints", subject="petra")
    with pytest.raises(WakebookError, match="is a link out of the vault"):
        memory.notes.obsidian(vault)
    assert not list(outside.iterdir()) and len(list(vault.iterdir())) == 1
    (vault / name).unlink()
    (vault / name).write_text("a file")
    with pytest.raises(WakebookError, match="is no folder"):
        memory.notes.obsidian(vault)


def test_a_page_that_cannot_be_added_to_waits_and_the_others_do_not(
    memory: Memory, vault: Path
) -> None:
    names = ("latin", "locked", "linked", "fenced", "fine")
    for name in names:
        memory.remember(f"About {name}", subject=name)
    memory.notes.obsidian(vault)
    latin, locked, linked, fenced, fine = (note(vault, f"{n.title()} Project") for n in names)
    outside = vault.with_name("outside.md")
    outside.write_text(linked.read_text())
    linked.unlink()
    linked.symlink_to(outside)
    latin.write_bytes(latin.read_bytes() + b"caf\xe9\n")
    fenced.write_text(fenced.read_text().replace("## Log\n", "## Log\n```\n"))
    locked.chmod(0o400)
    broken = (latin, locked, linked, fenced)
    before = {path: path.read_bytes() for path in broken}
    for name in names:
        memory.remember(f"More on {name}", subject=name)
    told = run_json("vault", "build", str(vault), "--home", str(memory.home.root), code=1)
    assert {path: path.read_bytes() for path in broken} == before
    assert "More on fine" in fine.read_text()
    for path, words in zip(broken, ("not UTF-8", "read-only", "link out", "line 11"), strict=True):
        problem = told["refused"][f"{NOTES}/{path.name}"]
        assert words in problem and "then build again" in problem
    assert any("read-only" in failure["error"] for failure in memory.home.traces("failure"))
    locked.chmod(0o644)
    linked.unlink()
    fenced.write_text(fenced.read_text().replace("## Log\n```\n", "## Log\n"))
    latin.write_bytes(latin.read_bytes().replace(b"caf\xe9\n", b"coffee\n"))
    assert memory.notes.obsidian(vault).refused == {}
    for path in broken:
        assert path.read_text().count(f"More on {path.stem.split()[0].lower()}") == 1
    assert locked.stat().st_mode & 0o777 == 0o644
    opens_cleanly(vault)


def test_a_full_disk_is_named_and_the_next_build_goes_on(memory: Memory, vault: Path) -> None:
    memory.remember("Petra paints", subject="petra")
    child = os.fork()
    if child == 0:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (150, 150))
        code = 1
        try:
            Memory(memory.home.root).notes.obsidian(vault)
        except OSError as error:
            code = 0 if str(error.filename).startswith(str(vault)) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    memory.notes.obsidian(vault)
    assert opens_cleanly(vault) == 2


def test_the_help_teaches() -> None:
    out = run("vault", "build", "--help")
    assert "wakebook export obsidian ~/Vault --dry-run" in out and "only ever added" in out


def test_the_nightly_job_adds_to_the_vault_that_the_settings_name(
    memory: Memory, tmp_path: Path
) -> None:
    vault = tmp_path / "Vault"
    vault.mkdir()
    memory.remember("The kiosk is called Heron.", subject="kiosk")
    assert not pages(vault)
    memory.home.config.write_text(f'[notes]\nvault = "{vault}"\n')
    home = ("--home", str(memory.home.root))
    said = run("tick", "briefing", *home)
    assert f"lines added to {vault}" in " ".join(said.split())
    assert any("Heron" in text for text in pages(vault).values())
    assert "0 lines added" in " ".join(run("tick", "briefing", *home).split())
