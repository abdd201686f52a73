"""Moves: a note changes its place, with everything that people wrote in it.

It goes along with its subject when that gets another name or type. It retires to archive/ when it
has not been touched for long, and `restore` brings it back; nothing is ever deleted.

A journal retires by its age. Another note goes by its score, e^(-decay x days) x references: how
long ago it last changed, and how often other notes refer to it. Nothing retires that is pinned or
open, or that an active note refers to: one that changed lately, or that a person wrote. For a
journal only what people wrote counts, because every generated line links to its day.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.config import Config
from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.log import subjects
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import condensed
from wakebook.notes import page as pages
from wakebook.notes.book import Book
from wakebook.notes.page import ARCHIVE, KNOWLEDGE, MERGED, notes_below
from wakebook.store import changes
from wakebook.store.catalogue import Catalogue

if TYPE_CHECKING:
    from wakebook.history.history import History
    from wakebook.notes.notes import Notes

KINDS = ("project/", "person/", "reference/", "procedure/", "journal/")
ALWAYS = ("memory/", "identity/")  # read in every session: always active

Before = Callable[[Sequence[Path]], None]  # told of files that are about to change


def move(home: Home, old: Path, new: Path) -> Path:
    """Move a file, never over another one. Where it is now. The caller has it committed."""
    home.folder(new.parent)
    target, number = new, 2
    while target.exists():
        target = new.with_stem(f"{new.stem}-{number}")
        number += 1
    old.rename(target)
    # a project's folder goes with its last note; the folders of a home stay
    if old.parent.parent.name in ("projects", MERGED) and not any(old.parent.iterdir()):
        old.parent.rmdir()
    return target


# --- along with a subject ----------------------------------------------------------------------
def rename(
    home: Home, history: History, old: str, new: str, *, merge: bool = False
) -> tuple[str, int]:
    """Give a subject another name, or make it part of another one. Its notes follow later. The new
    slug, and how many entries changed. Under the writer lock, between two commits."""
    registry = subjects.load(home)
    source = registry.get(old).slug
    target = subjects.slug_of(new)
    target = registry.canonical(target) if merge else target
    after = subjects.rename(registry, old, target)
    exists = target in registry.subjects and not registry.subjects[target].deleted
    if exists and not merge:
        raise WakebookError(
            f"{target!r} exists already. `wakebook subjects merge {source} {target}` "
            "puts the two together."
        )
    if merge and not exists:
        raise NotFound(f"There is no subject {new!r} to merge into.")
    history.log(f"before {source} becomes {target}")
    # the registry first: its alias already leads from the old name to the new one
    subjects.save(home, after)
    changed = subjects.rewrite_log(home, source, target)
    history.log(f"{'merge' if merge else 'rename'} subject {source} to {target}")
    return target, changed


def follow(home: Home, catalogue: Catalogue, registry: Registry, before: Before) -> list[str]:
    """The subjects whose name, type or aliases have changed. Their notes move along."""
    if catalogue.get("subjects mark") == mark(home):
        return []
    stored = catalogue.get("subjects")
    known: dict[str, Any] = json.loads(stored or "{}")
    current = json.loads(_told(registry))
    was = [Subject(slug, one[0], one[1]) for slug, one in known.items()]
    was += [Subject(slug, slug, "person") for slug in current if slug not in known]  # mentioned
    if not stored:  # what they were is not known: any page of an earlier name may be there
        names = registry.aliases()
        was = [Subject(old, old, type_) for old in names for type_ in ("project", "person", "tool")]
    for old in was:
        now = registry.subjects.get(registry.canonical(old.slug))
        if now and not now.deleted:
            _follow(home, old, now, before)
    news = {slug for slug in current if current[slug] != known.get(slug)} if stored else set()
    news |= {slug for slug, one in current.items() if news.intersection(one[2])}
    return [name for slug in sorted(news) for name in (slug, *current[slug][2])]


def mark(home: Home) -> str:
    """Which subjects.json it is."""
    return str(changes.mark(home, home.subjects))


def remember(catalogue: Catalogue, registry: Registry, seen: str) -> None:
    """Note which subjects the notes are written for; `seen`: the mark of that file."""
    if catalogue.get("subjects mark") != seen:
        catalogue.set("subjects", _told(registry))
        catalogue.set("subjects mark", seen)


def _told(registry: Registry) -> str:
    return json.dumps(
        {
            slug: [one.display, one.type, list(one.aliases), one.deleted]
            for slug, one in registry.subjects.items()
        }
    )


def _follow(home: Home, old: Subject, now: Subject, before: Before) -> None:
    """The notes of a subject that goes by another name now, and how they were condensed. Where
    there is a note already, the old one goes to the archive, with all that it holds."""
    files: dict[str, str] = {}
    for was, is_ in (
        (pages.home_page(old), pages.home_page(now)),
        (f"procedure/{old.slug}", f"procedure/{now.slug}"),
    ):
        if was != is_:
            to = pages.files(is_)
            files |= {one: to[n] if n < len(to) else "" for n, one in enumerate(pages.files(was))}
    for path, new in files.items():
        for top in (KNOWLEDGE, ARCHIVE):
            source, target = home.root / top / path, home.root / top / new
            if not source.is_file():
                continue
            if not markdown.names(source.read_text(encoding="utf-8", errors="replace")):
                continue  # without a block of ours it is a person's own
            before([source])
            if not new or target.exists():
                move(home, source, home.root / ARCHIVE / MERGED / path)
                continue
            _retitle(home, source, new, old, now)  # first: it may be killed
            move(home, source, target)
    kept = condensed.load(home)
    moved = dict(kept)
    for key, one in kept.items():
        path, _, block = key.partition("#")
        new = files.get(path, "")
        if new and f"{new}#{block}" not in kept:
            moved[f"{new}#{block}"] = one
            del moved[key]
    if moved != kept:
        condensed.save(home, moved)


def _retitle(home: Home, path: Path, new: str, old: Subject, now: Subject) -> None:
    """The new name in frontmatter and title, where they are still as Wakebook wrote them."""
    types = {"people": "person", "procedures": "procedure", "reference": "reference"}
    type_ = types.get(new.partition("/")[0]) or f"project_{Path(new).stem}"
    front = {"project": now.slug, "name": now.display, "type": type_}
    title = rf"^# {re.escape(old.display)}(?= — (?:progress|notes|how things are done)$|$)"
    with suppress(UnicodeDecodeError):
        text = path.read_bytes().decode("utf-8")
        renamed = markdown.set_front(text, front)
        renamed = re.sub(title, lambda _: f"# {now.display}", renamed, count=1, flags=re.MULTILINE)
        if renamed != text:
            home.replace(path, renamed, stat.S_IMODE(path.stat().st_mode))


# --- to the archive ----------------------------------------------------------------------------
class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A note that might retire, with what speaks for and against it."""

    path: str  # below knowledge/
    days: float  # since it last changed
    references: int  # of other notes to it
    score: float
    needed: bool  # something in it is pinned or open, or an active note refers to it


class Retired(msgspec.Struct, frozen=True):
    moved: dict[str, str]  # from -> to, relative to the home


def retire(notes: Notes, now: datetime, dry: bool = False) -> Retired:
    """Move what has decayed, between two commits. Under the writer lock."""
    home = notes.home
    going = _going(scores(notes, now), notes.config, now)
    if dry or not going:
        return Retired({f"{KNOWLEDGE}/{path}": f"{ARCHIVE}/{path}" for path in going})
    moved: dict[str, str] = {}
    old = [home.root / KNOWLEDGE / path for path in going]
    summary = f"retire {len(going)} note{'s' * (len(going) > 1)}"
    with notes.git().rewrite("maintenance", summary, old) as touched:
        for source, path in zip(old, going, strict=True):
            target = move(home, source, home.root / ARCHIVE / path)
            touched.append(target)
            moved[home.relative(source)] = home.relative(target)
    return Retired(moved)


def _going(found: Sequence[Candidate], config: Config, now: datetime) -> list[str]:
    settings = config.notes
    by_page: dict[str, list[Candidate]] = {}
    for note in found:
        by_page.setdefault(pages.at(note.path), []).append(note)

    def decayed(note: Candidate) -> bool:
        old = note.score < settings.retire_score
        if note.path.startswith("journal/"):
            age = (now.date() - date.fromisoformat(Path(note.path).stem)).days
            old = age > settings.journal_days
        return old and note.days > settings.retire_days and not note.needed

    return [
        note.path
        for together in by_page.values()  # a project's notes stay or go together
        if all(map(decayed, together))
        for note in together
    ]


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """An active note, as far as retiring goes by it."""

    page: str  # what is not Wakebook's has one of its own
    days: float | None  # since it last changed; None: it does not say
    held: bool
    links: frozenset[str]  # targets
    by_hand: frozenset[str]  # those outside of generated text


def scores(notes: Notes, now: datetime) -> list[Candidate]:
    """The notes that could retire, with their scores."""
    settings = notes.config.notes
    files = _read(notes, now)
    newest: dict[str, float] = {}
    for file in files.values():
        if file.days is not None:
            newest[file.page] = min(file.days, newest.get(file.page, math.inf))
    # a note that says nothing is as old as the others of its page; alone, it is new
    days = {
        path: newest.get(file.page, 0.0) if file.days is None else file.days
        for path, file in files.items()
    }
    targets = pages.targets(files)
    cited: dict[str, set[str]] = {}
    needed: set[str] = set()
    for path, file in files.items():
        active = days[path] <= settings.retire_days or path.startswith(ALWAYS)
        for name in file.links:
            to = targets.get(pages.target(name))
            if to is None or files[to].page == file.page or path == "people/_index.md":
                continue
            cited.setdefault(files[to].page, set()).add(path)
            journal = to.startswith("journal/") or file.page.startswith("journal/")
            if name in file.by_hand or (active and not journal):
                needed.add(files[to].page)
    found: list[Candidate] = []
    for path, file in files.items():
        if file.page.startswith(KINDS):
            references = len(cited.get(file.page, ()))
            # being there counts as one reference: recency alone decides about what is not cited
            score = math.exp(-settings.decay_per_day * max(days[path], 0.0)) * (1 + references)
            held = file.held or file.page in needed
            own: dict[str, Any] = {"path": path, "days": days[path], "references": references}
            found.append(Candidate(**own, score=score, needed=held))
    return found


def _read(notes: Notes, now: datetime) -> dict[str, _Read]:
    """Every active note, by its path below knowledge/."""
    found: dict[str, _Read] = {}
    restored = states.load(notes.home).restored  # wanted back: the age counts from then on
    with notes.book(now) as book:
        for path in notes_below(notes.home, KNOWLEDGE):
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                name = path.relative_to(notes.home.root / KNOWLEDGE).as_posix()
                found[name] = _file(name, text, book, now, restored.get(name))
    return found


def _file(path: str, text: str, book: Book, now: datetime, restored: datetime | None) -> _Read:
    page = pages.at(path) if markdown.names(text) else ""
    blocks = [one for one in book.blocks(page) if one.path == path] if page else []
    items = [item for block in blocks for item in block.items]
    ours = markdown.generated(text.splitlines())
    links = pages.links_in(text)
    dates = [clock.parse(markdown.split(text)[0].get("updated")), restored]
    last = max([*(item.at for item in items), *(one for one in dates if one)], default=None)
    return _Read(
        page=page or f"own/{path}",
        days=(now - last).total_seconds() / 86400 if last else None,
        held=any(item.held for item in items),
        links=frozenset(target for _, target in links),
        by_hand=frozenset(target for number, target in links if number - 1 not in ours),
    )


def restore(notes: Notes, name: str) -> tuple[str, str]:
    """Bring a note back, between two commits. From where to where. Under the writer lock."""
    home = notes.home
    relative = name.removeprefix(f"{home.root}/").removeprefix(f"{ARCHIVE}/")
    relative = relative.removeprefix(f"{KNOWLEDGE}/")
    archive = (home.root / ARCHIVE).resolve()
    old = (archive / relative).resolve()
    if not old.is_relative_to(archive):
        raise WakebookError(f"{name} is not in the archive of this home.")
    if old == archive:
        raise WakebookError("Name a note or a folder of the archive: not all of it.")
    relative = old.relative_to(archive).as_posix()
    old = home.root / ARCHIVE / relative
    files = sorted(old.rglob("*.md")) if old.is_dir() else [old]
    if not files or not files[0].is_file():
        raise NotFound(
            f"{ARCHIVE}/{relative} does not exist. `ls {home.root / ARCHIVE}` shows all."
        )
    new = home.root / KNOWLEDGE / relative.removeprefix(f"{MERGED}/")
    targets = {path: new / path.relative_to(old) for path in files}
    for path, target in targets.items():
        if target.exists():
            raise WakebookError(
                f"{home.relative(target)} exists already. Move it away first, or put the two "
                f"together by hand: the old one is {home.relative(path)}."
            )
    names = [path.relative_to(home.root / ARCHIVE).as_posix() for path in files]
    wanted_back(home, [one.removeprefix(f"{MERGED}/") for one in names], notes.opened.now())
    git = notes.git()
    with git.rewrite("maintenance", f"restore {home.relative(new)}", files) as touched:
        for path, target in targets.items():
            touched.append(move(home, path, target))
    return home.relative(old), home.relative(new)


def wanted_back(home: Home, paths: Sequence[str], now: datetime) -> None:
    """Put down that a person wanted these notes back: their age counts from now on."""
    if paths:
        state = states.load(home)
        restored = state.restored | dict.fromkeys(paths, now.astimezone(UTC))
        states.save(home, msgspec.structs.replace(state, restored=restored))
