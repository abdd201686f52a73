"""Page: which note an entry belongs to, where that note stands below knowledge/, and links to it.

    project/auth        projects/auth/context.md, progress.md, notes.md
    person/jane-doe     people/jane-doe.md
    reference/postgres  reference/postgres.md           systems, tools, places and the like
    procedure/auth      procedures/auth.md              how things are done
    journal/2026-02-20  journal/2026-02-20.md
    active, people, observations, memory                what is read first

An item is one thing that a page says, with the entries that it stands for; a block is a list of
items under headings. Words that are not Wakebook's are made harmless first: a line break, a marker,
a link or a heading in them must not become one of the note.

What is about nothing in particular is in reference/_general.md, _preferences.md and _lessons.md.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import text as texts
from wakebook.base import words
from wakebook.base.config import Config, expand
from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.learn.about import forms
from wakebook.learn.about import introduced as introduced_by
from wakebook.learn.phrases import pattern
from wakebook.log.entry import RETRACTED, Entry, slugify
from wakebook.log.subjects import Registry, Subject

KNOWLEDGE, ARCHIVE = "knowledge", "archive"
MERGED, EDITS = "merged", "edits"  # below archive/: of merged subjects, and what git could not keep
GENERAL, PREFERENCES, LESSONS = "_general", "_preferences", "_lessons"
PARTS = ("context", "progress", "notes")
MEMORY = "memory/MEMORY.md"  # wherever it lives: what its blocks are called
_FILES = {
    "active": "projects/_active.md",
    "people": "people/_index.md",
    "observations": "memory/observations.md",
    "memory": MEMORY,
}
OVERVIEWS = tuple(_FILES)
LONG = 300  # lines of a section: nobody reads more, and git keeps a note whole each time
_FOLDERS = {
    "person": "people",
    "reference": "reference",
    "procedure": "procedures",
    "journal": "journal",
}


def of(entry: Entry, registry: Registry, people: People, zone: tzinfo | None) -> Iterator[str]:
    """The pages that an entry is told on, but for the overviews."""
    yield f"journal/{day(entry.timestamp, zone)}"
    slug = registry.canonical(entry.subject)
    if role(entry) == "procedure":
        yield f"procedure/{slug or GENERAL}"
    elif not slug and entry.type != "handoff":
        yield f"reference/{shelf(entry)}"
    if slug:
        yield home_page(registry.subjects.get(slug) or Subject(slug, slug))
    for person in people.told(entry):
        yield f"person/{person.slug}"


def role(entry: Entry) -> str:
    """What an entry is to a reader: task, done, question, decision, handoff, or a kind of fact."""
    if entry.type == "task":
        return "task" if entry.status == "open" else "done"
    return (entry.kind or "fact") if entry.type == "fact" else entry.type


def home_page(subject: Subject) -> str:
    """The page of a subject itself."""
    kind = subject.type if subject.type in ("project", "person") else "reference"
    return f"{kind}/{subject.slug}"


def shelf(entry: Entry) -> str:
    """Where an entry about nothing in particular stands."""
    return {"preference": PREFERENCES, "lesson": LESSONS}.get(entry.kind or "", GENERAL)


def files(page: str) -> list[str]:
    """The files of a page, relative to knowledge/."""
    if page in _FILES:
        return [_FILES[page]]
    kind, _, name = page.partition("/")
    if kind == "project":
        return [f"projects/{name}/{part}.md" for part in PARTS]
    return [f"{_FOLDERS[kind]}/{name}.md"]


def at(path: str) -> str:
    """The page that a file of knowledge/ is a part of, or nothing."""
    for page, name in _FILES.items():
        if path == name:
            return page
    found = re.fullmatch(rf"projects/([^/]+)/(?:{'|'.join(PARTS)})\.md", path)
    if found:
        return f"project/{found[1]}"
    for kind, folder in _FOLDERS.items():
        found = re.fullmatch(rf"{folder}/([^/]+)\.md", path)
        with suppress(ValueError):
            if found and (kind != "journal" or str(date.fromisoformat(found[1])) == found[1]):
                return f"{kind}/{found[1]}"
    return ""


def memory_path(home: Home, config: Config) -> Path:
    """MEMORY.md, wherever it lives. A link stays a link."""
    elsewhere = config.briefing.memory_file
    return (home.root / expand(elsewhere) if elsewhere else home.memory).resolve()


def shown(home: Home, path: Path) -> str:
    """A file as people are told of it."""
    return home.relative(path) if path.is_relative_to(home.root) else str(path)


def file_sum(data: bytes) -> str:
    """What tells a file from the one that a person saw."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def notes_below(home: Home, top: str) -> list[Path]:
    """The notes below a folder of the home, whose names can be written down."""
    walked = os.walk(home.root / top)
    found = (f"{folder}/{name}" for folder, _, names in walked for name in names)
    notes = (path for path in found if path.endswith(".md") and is_utf8(path))
    ordered = sorted(notes, key=lambda path: path.split("/"))
    return [Path(path) for path in ordered if os.path.isfile(path)]  # noqa: PTH113 - it is faster


def is_utf8(path: Path | str) -> bool:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# --- people ------------------------------------------------------------------------------------
_WHO = re.compile(
    r"(?P<name>(?:(?:Herr|Frau|Mr|Mrs|Ms|Dr|Prof)\.?\s)?[A-ZÀ-ÖØ-Þ][\w’'-]+"
    r"(?:\s[A-ZÀ-ÖØ-Þ][\w’'-]+){0,2})\s(?:is|was|works|runs|leads|handles|does|has)\b"
)
_TITLES = re.compile(r"(?:(?:Herr|Frau|Mr|Mrs|Ms|Dr|Prof)\.? )*")


WHOSE = ("my ", "our ", "user's ", "mein", "unser", "mi ", "mon ", "ma ", "nuestr")


class People:
    """Whom a fact tells about, so that they have a note even if they are no subject: whom someone
    has introduced ("my sister Marta"), wherever a fact names them. A fact that an extractor took
    for a relationship ("Ylva is the photographer") introduces whom its sentence begins with, and
    tells about every subject of type person that it names."""

    def __init__(self, registry: Registry, introduced: Iterable[str] = ()) -> None:
        self._registry, self._aliases = registry, registry.aliases()
        self._names: dict[str, list[tuple[str, Subject]]] = {}  # by the first word of the name
        self._introduced = {name: found for name in introduced if (found := self._person(name))}
        for person in registry.known():
            if person.type == "person":
                for name in (person.display, person.slug.replace("-", " "), *person.aliases):
                    parts = re.findall(r"\w+", name.lower())
                    if parts:
                        self._names.setdefault(parts[0], []).append((" ".join(parts), person))

    def told(self, entry: Entry) -> list[Subject]:
        """The people that an entry tells about: whom it introduces, and whom it names."""
        if entry.type != "fact":
            return []
        found: dict[str, Subject] = {}
        if entry.kind == "relationship":
            words = re.findall(r"\w+", entry.content.lower())
            text = f" {' '.join(words)} "
            known = (one for first in dict.fromkeys(words) for one in self._names.get(first, ()))
            found = {person.slug: person for name, person in known if f" {name} " in text}
        for name, person in self._introduced.items():
            if name in entry.content and re.search(rf"\b{re.escape(name)}\b", entry.content):
                found.setdefault(person.slug, person)
        new = self._person(introduced(entry))
        return list((found | {new.slug: new} if new else found).values())

    def _person(self, name: str) -> Subject | None:
        """Who has this name, unless it is a subject of another type or was deleted."""
        slug, subjects = slugify(name), self._registry.subjects
        there = subjects.get(slug) or subjects.get(self._aliases.get(slug, ""))
        if not slug or (there and (there.type != "person" or there.deleted)):
            return None
        return there or Subject(slug, name, "person")


def introduced(entry: Entry) -> str:
    """The name of the person that a fact introduces, or nothing."""
    if entry.type != "fact":
        return ""
    first = _WHO.match(entry.content) if entry.kind == "relationship" else None
    lower = entry.content.lower()
    whose = any(word in lower for word in WHOSE)  # which is looked for much faster
    found = pattern(forms.INTRODUCES).search(entry.content) if whose else None
    name = next(filter(None, found.groups()), "") if found else first["name"] if first else ""
    told = introduced_by(entry.content) if whose else ""
    name = told or name
    name = name.replace("’", "'")
    bare = _TITLES.sub("", name, count=1)
    if found or told:  # Emily and Sally are names, and not adverbs, after "my friend"
        bare = re.sub(r"ly\b", "l", bare)
    return name if name and words.leads(bare) and not name.endswith("'s") else ""


# --- wikilinks ---------------------------------------------------------------------------------
_LINK = re.compile(r"(?<!\\)\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\\?\|[^\[\]\n]*)?\]\]")
_CODE = re.compile(r"`[^`\n]*`")


class DeadLink(msgspec.Struct, frozen=True):
    path: str
    line: int
    target: str


def link(subject: Subject) -> str:
    name = re.sub(r"[\[\]|]", " ", plain(subject.display, 120)).strip() or subject.slug
    return f"[[{files(home_page(subject))[0].removesuffix('.md')}|{name}]]"


def links_in(text: str) -> list[tuple[int, str]]:
    """Line and target of every link outside of code."""
    found: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip()
        if bare.startswith(("```", "~~~")):
            fence = "" if fence and bare.startswith(fence) else fence or bare[:3]
        elif not fence and "[[" in line:
            spoken = _CODE.sub(lambda match: " " * len(match[0]), line)
            found += [(number, match[1].rstrip("\\").strip()) for match in _LINK.finditer(spoken)]
    return found


def targets(paths: Iterable[str]) -> dict[str, str]:
    """What a link may name -> the file: as Obsidian finds it, by a path or the end of one."""
    found: dict[str, str] = {}
    for path in paths:
        parts = path.lower().split("/")
        for first in range(len(parts)):
            end = "/".join(parts[first:])
            found.setdefault(end, path)
            found.setdefault(end.removesuffix(".md"), path)
    return found


def target(name: str) -> str:
    """The target of a link as `targets` has it."""
    return name.lower().strip("/").removeprefix("./")


# --- items -------------------------------------------------------------------------------------
CONTENT, DETAIL = 600, 400  # characters, at most
_HARMLESS = str.maketrans({"\u2028": " ", "\u2029": " ", "\x85": " ", "\x0b": " ", "\x0c": " "})


class NoteLine(msgspec.Struct, frozen=True):
    """A line of a block, and the entries behind it."""

    text: str
    ids: tuple[str, ...] = ()
    rewritten: bool = False  # the words are not those of an entry
    tells: bool = False  # it says what its entries say: to change it is to correct them


class Bullet(msgspec.Struct, frozen=True, kw_only=True):
    section: str
    text: str
    ids: tuple[str, ...]
    at: datetime
    held: bool = False  # pinned or open: it must not get lost
    weight: int = 1  # the lightest items go first when there are too many
    rewritten: bool = False  # the text is not its entry's own
    tells: bool = True  # it says what its entries say, and does not only refer to them

    @property
    def words(self) -> int:
        return len(self.text.split())


def item_of(entry: Entry, section: str, text: str, **other: Any) -> Bullet:
    """An entry as an item; `other`: fields that are not as the entry has them."""
    own: dict[str, Any] = {"ids": (entry.id,), "held": held(entry), "weight": weight(entry)}
    return Bullet(section=section, text=text, at=entry.timestamp, **(own | other))


def ids_of(items: Iterable[Bullet | NoteLine]) -> tuple[str, ...]:
    """The entries behind these, each once."""
    return tuple(dict.fromkeys(one for item in items for one in item.ids))


@lru_cache(maxsize=8192)  # the same entry stands in several notes, written again and again
def plain(text: str, limit: int = CONTENT) -> str:
    """Words on one line that is nothing but words."""
    return harmless(one_line(text.translate(_HARMLESS), limit))


def harmless(line: str) -> str:
    """Without what would be a marker, a link, a picture or a tag of HTML; what hides or turns text
    is written out."""
    line = line.replace("[[", "[ [").replace("]]", "] ]").replace("](", "] (")
    return texts.visible(re.sub(r"<(?=[A-Za-z/!?|\u200b])", "< ", line))


def linked(text: str) -> str:
    """A model's words on one line: links to days stay, anything else that is not a word goes."""
    return re.sub(r"\[ \[(\d{4}-\d\d-\d\d)\] \]", r"[[\1]]", plain(text))


def stated(entry: Entry, done: Collection[frozenset[str]] = ()) -> str:
    """The words of an entry; of a task that is done they would read as one to do. `done`: the terms
    of such tasks, for a handoff may say no more than that one was to be done."""
    over = entry.type == "handoff" and words.terms(entry.content) in done
    return f"Done: {entry.content}" if over or role(entry) == "done" else entry.content


def told(entry: Entry) -> str:
    """Content and detail of an entry."""
    content = plain(entry.content)
    return f"{content.rstrip('.')} — {plain(entry.detail, DETAIL)}" if entry.detail else content


def local(moment: datetime, zone: tzinfo | None) -> datetime:
    try:
        return moment.astimezone(zone)
    except OverflowError:  # the first and the last day that there are
        return moment.astimezone(UTC)


def day(moment: datetime, zone: tzinfo | None) -> str:
    return local(moment, zone).date().isoformat()


def held(entry: Entry) -> bool:
    """Of an entry that holds: whether it has to stay in view."""
    open_ = entry.type == "question" or (entry.type == "task" and entry.status == "open")
    return entry.pinned or open_


def weight(entry: Entry) -> int:
    """How much would be missing without it: a decision, then a lesson and the like, then facts."""
    if entry.type == "decision":
        return 3
    if entry.type == "fact" and entry.kind is not None:
        return 2
    return 0 if entry.type == "handoff" or entry.status == "done" else 1


def visible(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if not entry.extra.get(RETRACTED)]


def note_lines(items: Sequence[Bullet], most: Mapping[str, int] | None = None) -> list[NoteLine]:
    """The items under their headings, in the order in which the headings first come. `most`: how
    many items of a section are shown; the others are counted, but for those that must not get
    lost, as long as anybody reads on."""
    sections: dict[str, list[Bullet]] = {}
    for item in items:
        sections.setdefault(item.section, []).append(item)
    lines: list[NoteLine] = []
    for name, found in sections.items():
        lines += [NoteLine("")] if lines else []
        lines.append(NoteLine(f"## {name}", ids_of(found)))
        limit = len(found) if most is None else most.get(name, LONG)
        more = [number for number, item in enumerate(found) if number >= limit and item.held]
        there = {*range(limit), *more[: max(0, LONG - limit)]}
        rest = [item for number, item in enumerate(found) if number not in there]
        lines += [
            NoteLine(f"- {item.text}", item.ids, item.rewritten, item.tells)
            for number, item in enumerate(found)
            if number in there
        ]
        lines += [NoteLine(f"- … and {len(rest)} older", ids_of(rest))] if rest else []
    return lines


def lines_json(lines: Iterable[NoteLine]) -> str:
    """The lines of a block, to be found again when a person has edited it."""
    return msgspec.json.encode(list(lines)).decode()
