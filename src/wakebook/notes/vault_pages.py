"""The vault: the log as journals and topic pages for Obsidian.

A pure function of entries, subjects, the time zone, and what has been written before. A line that
was written once is never written again, wherever it is now. What a line says is true at the time of
writing: an entry that holds no more stays, and the one that took its place says so.

An entry whose place another reading of the same words took was never a belief of its own: where
it has not been written yet, it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, tzinfo

import msgspec

from wakebook.base import markdown
from wakebook.capture.transcript import one_line
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject, title
from wakebook.notes import obsidian
from wakebook.notes.obsidian import JOURNAL, TOPIC, code, plain

FOLDERS = ("00 Inbox", "01 Notes", "02 Agent", "03 Journal", "04 Templates", "05 Attachments")
NOTES, JOURNALS = FOLDERS[1], FOLDERS[3]
SECTIONS = {
    JOURNAL: ("Log", "Todo", "Questions", "Sessions"),
    TOPIC: ("Log", "Pending", "Open Questions"),
}
TAGS = {
    "project": "projects",
    "person": "people",
    "system": "systems",
    "tool": "tools",
    "place": "places",
}
CONTACT = "## Contact\n- Role:\n- Email:\n- Phone:\n\n"
DETAIL, QUOTE, SESSION = 400, 120, 300  # characters, at most
QUOTES = 3
GONE = "-x"  # after the code of an entry: its withdrawal

Written = frozenset[tuple[str, str]]  # kind of page, code of the entry
Links = Callable[[str], str]  # the key of a page -> a link to it, or its name if there is none


class Item(msgspec.Struct, frozen=True):
    """One thing to write: an entry, or what has become of one that stands on the page."""

    code: str
    section: str
    entry: Entry
    day: date
    after: Entry | None = None  # what took its place, on another page


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page, and what is new on it."""

    key: str  # day/2026-02-20, subject/auth-migration
    kind: str  # JOURNAL or TOPIC
    name: str  # of the note, if it is free
    apart: str  # of the note, if another subject has that name
    shown: str  # what a link to it says
    type: str
    keys: tuple[str, ...] = ()  # itself, and the keys that a renamed subject had before
    items: tuple[Item, ...] = ()

    @property
    def folder(self) -> str:
        return JOURNALS if self.kind == JOURNAL else NOTES


class Vault:
    """What the log has to say, and what of it is new."""

    def __init__(self, chains: Chains, registry: Registry, zone: tzinfo, written: Written) -> None:
        self._chains = chains
        self._registry = registry
        self._zone = zone
        self._written = written
        self._earlier: dict[str, list[str]] = {}  # slug -> the names it had
        self._aliases = registry.aliases()
        for alias, slug in self._aliases.items():
            self._earlier.setdefault(slug, []).append(f"subject/{alias}")

    def pages(self) -> list[Page]:
        """Every page with something new on it: journals by day, then topics by slug."""
        days: dict[str, list[Item]] = {}
        topics: dict[str, list[Item]] = {}
        for entry in sorted(self._chains.entries, key=lambda entry: entry.timestamp):
            day, slug = self._day(entry), self._slug(entry)
            if items := self._items(entry, JOURNAL):
                days.setdefault(day.isoformat(), []).extend(items)
            if slug and self.subject(slug) and (items := self._items(entry, TOPIC)):
                topics.setdefault(slug, []).extend(items)
        found = [self._journal(day, days[day]) for day in sorted(days)]
        return found + [self._topic(slug, topics[slug]) for slug in sorted(topics)]

    def keys(self, key: str) -> tuple[str, ...]:
        """A page's key, and those that it had under earlier names of its subject."""
        kind, _, name = key.partition("/")
        return (key, *self._earlier.get(name, ())) if kind == "subject" else (key,)

    def _canonical(self, slug: str) -> str:
        known = self._registry.subjects.get(slug)
        return slug if known and not known.deleted else self._aliases.get(slug, slug)

    def subject(self, slug: str) -> Subject | None:
        """None for one that a person took out of use."""
        known = self._registry.subjects.get(slug) or Subject(slug, title(slug))
        return None if known.deleted else known

    def _journal(self, day: str, items: Iterable[Item]) -> Page:
        key = f"day/{day}"
        return Page(
            key=key,
            kind=JOURNAL,
            name=day,
            apart=day,
            shown=day,
            type="journal",
            keys=(key,),
            items=tuple(items),
        )

    def _topic(self, slug: str, items: Iterable[Item]) -> Page:
        subject = self.subject(slug) or Subject(slug, title(slug))
        name, shown = _names(subject)
        return Page(
            key=f"subject/{slug}",
            kind=TOPIC,
            name=name,
            apart=f"{name} ({obsidian.name(slug)[:60]})",
            shown=shown,
            type=subject.type if subject.type in TAGS else "other",
            keys=self.keys(f"subject/{slug}"),
            items=tuple(items),
        )

    def _day(self, entry: Entry) -> date:
        return local(entry.timestamp, self._zone).date()

    # --- what is new -----------------------------------------------------------------

    def _items(self, entry: Entry, kind: str) -> list[Item]:
        if kind == TOPIC and entry.type == "handoff":
            return []
        coded, sections, found = code(entry.id), SECTIONS[kind], []
        after = self._chains.by_id.get(self._chains.replaced_by.get(entry.id, ""))
        if (kind, coded) not in self._written:
            if after and _read_again(entry, after):
                return []
            section = sections[self._section(entry)]
            found.append(Item(coded, section, entry, self._day(entry)))
        told = (kind, coded + GONE) in self._written
        if after and not told and self._elsewhere(entry, after, kind):
            found.append(Item(coded + GONE, sections[0], entry, self._day(after), after))
        return found

    def _elsewhere(self, old: Entry, new: Entry, kind: str) -> bool:
        """Whether a page that has the old entry does not get the new one."""
        if new.type == "handoff":
            return old.type != "handoff"
        return kind == TOPIC and self._slug(old) != self._slug(new)

    def _slug(self, entry: Entry) -> str:
        """What an entry is about: what it replaces tells, if it does not say so itself."""
        seen: set[str] = set()
        while not entry.subject and entry.id not in seen:
            seen.add(entry.id)
            known = [self._chains.by_id[old] for old in entry.replaces if old in self._chains.by_id]
            entry = known[0] if known else entry
        return self._canonical(entry.subject)

    def _section(self, entry: Entry) -> int:
        if entry.type == "handoff":
            return 3
        if not self._chains.is_open(entry):
            return 0
        return 1 if entry.type == "task" else 2

    # --- in words --------------------------------------------------------------------

    def text(self, page: Page, items: Sequence[Item], old: str | None, links: Links) -> str:
        """The page with these items; `old` is what stands there, None if there is no page."""
        lines: dict[str, list[str]] = {section: [] for section in SECTIONS[page.kind]}
        for item in items:
            lines[item.section].append(self._line(page, item, links))
        return obsidian.insert(_opening(page, items) if old is None else old, lines)

    def _line(self, page: Page, item: Item, links: Links) -> str:
        mark = obsidian.mark(page.kind, item.code)
        if item.entry.type == "handoff":
            return f"- {self._session(item.entry)} {mark}"
        said = self._became(item, links) if item.after else self._said(item.entry, links)
        day = item.day.isoformat()
        if page.kind == TOPIC:
            dated = f"{day}: " if item.section == SECTIONS[TOPIC][0] else ""
            return f"- {dated}{said} ({links(f'day/{day}')}) {mark}"
        slug = self._slug(item.entry)
        about = f" ({links(f'subject/{slug}')})" if slug else ""
        return f"- {said}{about} {mark}"

    def _became(self, item: Item, links: Links) -> str:
        quoted = f"“{plain(item.entry.content, QUOTE)}”"
        if item.after is None or item.after.type == "handoff":
            return f"Withdrawn: {quoted}"
        slug = self._slug(item.after)
        about = f", see {links(f'subject/{slug}')}" if slug else ""
        return f"No more: {quoted} — now: {plain(item.after.content, QUOTE)}{about}"

    def _session(self, entry: Entry) -> str:
        first = next(line for line in entry.content.splitlines() if line.strip())
        known = (self._chains.by_id.get(old) for old in entry.replaces)
        again = " (read again)" if any(old and old.type == "handoff" for old in known) else ""
        time = f"{local(entry.timestamp, self._zone):%H:%M}"
        return f"{plain(entry.session[:8])} — {time}{again}\n  {plain(first, SESSION)}"

    def _said(self, entry: Entry, links: Links) -> str:
        parts = [entry.content]
        if entry.detail:
            parts = [entry.content.rstrip(". "), one_line(entry.detail, DETAIL)]
        text = " — ".join(plain(part) for part in parts if part)
        return _manner(entry, self._chains) + text + self._in_place_of(entry, links)

    def _in_place_of(self, entry: Entry, links: Links) -> str:
        """What it corrects, answers or finishes, and when that was said."""
        known = [self._chains.by_id[old] for old in entry.replaces if old in self._chains.by_id]
        parts: list[str] = []
        for old in known[:QUOTES]:
            quoted = old.content in entry.detail or old.content == entry.content
            words = [] if quoted else [f"“{plain(old.content, QUOTE)}”"]
            if self._day(old) != self._day(entry):
                words += ["of"] if words else []
                words.append(links(f"day/{self._day(old)}"))
            if words:
                parts.append(" ".join((_verb(old, entry), *words)))
        if len(known) > QUOTES:
            parts.append(f"and {len(known) - QUOTES} more")
        return f" — {', '.join(parts)}" if parts else ""

    def shown(self, key: str) -> str:
        """What a page is called where there is no link to it."""
        kind, _, name = key.partition("/")
        if kind == "day":
            return name
        known = self._registry.subjects.get(name) or Subject(name, title(name))
        return _names(known)[1]


def local(moment: datetime, zone: tzinfo) -> datetime:
    try:
        return moment.astimezone(zone)
    except OverflowError:  # the first or last day that there is
        return moment.astimezone(UTC)


def _names(subject: Subject) -> tuple[str, str]:
    """The name of a subject's note, and what a link to it shows."""
    shown = obsidian.name(subject.display) or obsidian.name(title(subject.slug)) or "Subject"
    if subject.type == "project" and not shown.lower().endswith("project"):
        return f"{shown} Project", shown
    is_day = re.fullmatch(r"\d{4}-\d\d-\d\d", shown)  # the name of a journal
    return (f"{shown} ({obsidian.name(subject.slug)})" if is_day else shown), shown


def _opening(page: Page, items: Sequence[Item]) -> str:
    front = {
        "type": page.type,
        "tags": ["journals" if page.kind == JOURNAL else TAGS.get(page.type, "notes")],
        "created": min(item.day for item in items),
        "wakebook": page.key,
    }
    if page.kind == TOPIC and page.shown != page.name:
        front["aliases"] = [page.shown]
    contact = CONTACT if page.type == "person" else ""
    return markdown.join(front, contact + "\n".join(f"## {one}\n" for one in SECTIONS[page.kind]))


def _read_again(old: Entry, new: Entry) -> bool:
    """Whether the new entry is another reading of the same conversation."""
    if new.type == "handoff":
        return True
    return bool(old.transcript) and old.transcript == new.transcript and old.by != new.by


def _manner(entry: Entry, chains: Chains) -> str:
    if entry.type == "task" and entry.status == "done":
        return "Done: "
    if entry.type in ("task", "question") and not chains.is_open(entry):
        return "To do: " if entry.type == "task" else "Asked: "
    return ""


def _verb(old: Entry, new: Entry) -> str:
    if _read_again(old, new):
        return "replaces"
    if old.type == "question" and new.type != "question":
        return "answers"
    if old.type == "task" and (new.type != "task" or new.status == "done"):
        return "finishes"
    return "corrects"
