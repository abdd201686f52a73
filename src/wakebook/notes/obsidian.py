"""Obsidian: the log as journals and topic pages, in the Markdown that Obsidian reads.

A pure function of entries, subjects, the time zone, and what has been written before. A line that
was written once is never written again, wherever it is now. A line is true when it is written: an
entry that no longer holds stays, and the one that took its place says so. An entry that another
reading of the same words has replaced was never a belief of its own: where it has not been written
yet, it is left out.

An entry is plain text from any source, and stays that in a note: no tag, link, comment, formula or
HTML may come of it, and no second line. A note is a person's: lines are only put between others,
and every byte that was there stays.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, tzinfo

import msgspec

from wakebook.base import markdown
from wakebook.base.text import one_line
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject, title
from wakebook.notes.page import local

FOLDERS = ("00 Inbox", "01 Notes", "02 Agent", "03 Journal", "04 Templates", "05 Attachments")
NOTES, JOURNALS = FOLDERS[1], FOLDERS[3]
JOURNAL, TOPIC = "wj", "w"  # what a mark begins with: the same entry stands on two pages
SECTIONS = {
    JOURNAL: ("Log", "Todo", "Questions", "Sessions"),
    TOPIC: ("Log", "Pending", "Open Questions"),
}
TAGS = {"person": "people"} | {one: f"{one}s" for one in ("project", "system", "tool", "place")}
CONTACT = "## Contact\n- Role:\n- Email:\n- Phone:\n\n"
DETAIL, QUOTE, SESSION = 400, 120, 300  # characters, at most
QUOTES = 3
GONE = "-x"  # after the code of an entry: its withdrawal
NAME_CHARACTERS, NAME_BYTES = 100, 150

Written = frozenset[tuple[str, str]]  # kind of page, code of the entry
Links = Callable[[str], str]  # the key of a page -> a link to it, or its name if there is none


class VaultLine(msgspec.Struct, frozen=True):
    """One line to write: an entry, or what has become of one that stands on the page."""

    code: str
    section: str
    entry: Entry
    day: date
    after: Entry | None = None  # what took its place, on another page


class VaultPage(msgspec.Struct, frozen=True, kw_only=True):
    key: str  # day/2026-02-20, subject/auth-migration
    kind: str  # JOURNAL or TOPIC
    name: str  # of the note, if it is free
    apart: str  # of the note, if another subject has that name
    front: dict[str, object]
    lines: tuple[VaultLine, ...]

    @property
    def folder(self) -> str:
        return JOURNALS if self.kind == JOURNAL else NOTES

    @property
    def codes(self) -> list[str]:
        return [line.code for line in self.lines]


class LogPages:
    """What the log has to say, and what of it is new."""

    def __init__(
        self, chains: Chains, registry: Registry, zone: tzinfo | None, written: Written
    ) -> None:
        self._chains, self._registry = chains, registry
        self._zone, self._written = zone, written
        self._earlier: dict[str, list[str]] = {}  # slug -> the keys it had
        for alias, slug in registry.aliases().items():
            self._earlier.setdefault(slug, []).append(f"subject/{alias}")

    def pages(self) -> list[VaultPage]:
        """Every page with something new on it: journals by day, then topics by slug."""
        days: dict[date, list[VaultLine]] = {}
        topics: dict[str, list[VaultLine]] = {}
        for entry in sorted(self._chains.entries, key=lambda entry: entry.timestamp):
            days.setdefault(self._day(entry), []).extend(self._new(entry, JOURNAL))
            slug = self._slug(entry)
            if slug and not self._subject(slug).deleted:
                topics.setdefault(slug, []).extend(self._new(entry, TOPIC))
        found = [_page(day, lines) for day, lines in sorted(days.items()) if lines]
        about = ((self._subject(slug), lines) for slug, lines in sorted(topics.items()) if lines)
        return found + [_page(subject, lines) for subject, lines in about]

    def keys(self, key: str) -> tuple[str, ...]:
        """A page's key, and those that it had under earlier names of its subject."""
        kind, _, name = key.partition("/")
        return (key, *self._earlier.get(name, ())) if kind == "subject" else (key,)

    def shown(self, key: str) -> str:
        """What a page is called where there is no link to it."""
        kind, _, name = key.partition("/")
        return name if kind == "day" else _names(self._subject(name))[1]

    def text(self, page: VaultPage, old: str | None, links: Links) -> str:
        """The page with its new lines; `old` is what stands there, None if there is no page."""
        lines: dict[str, list[str]] = {section: [] for section in SECTIONS[page.kind]}
        for line in page.lines:
            lines[line.section].append(f"- {self._said(page.kind, line, links)}")
        if old is None:
            contact = CONTACT if page.front["type"] == "person" else ""
            old = markdown.join(page.front, contact + "\n".join(f"## {one}\n" for one in lines))
        return insert(old, lines)

    def _subject(self, slug: str) -> Subject:
        return self._registry.subjects.get(slug) or Subject(slug, title(slug))

    def _day(self, entry: Entry) -> date:
        return local(entry.timestamp, self._zone).date()

    def _replaced(self, entry: Entry) -> list[Entry]:
        return [self._chains.by_id[old] for old in entry.replaces if old in self._chains.by_id]

    def _slug(self, entry: Entry) -> str:
        """What an entry is about: what it replaces tells, if it does not say so itself."""
        seen: set[str] = set()
        while not entry.subject and entry.id not in seen:
            seen.add(entry.id)
            entry = next(iter(self._replaced(entry)), entry)
        return self._registry.canonical(entry.subject)

    # --- what is new -----------------------------------------------------------------

    def _new(self, entry: Entry, kind: str) -> list[VaultLine]:
        if kind == TOPIC and entry.type == "handoff":
            return []
        coded, sections = code(entry.id), SECTIONS[kind]
        found: list[VaultLine] = []
        after = self._chains.by_id.get(self._chains.replaced_by.get(entry.id, ""))
        if (kind, coded) not in self._written:
            if after and _read_again(entry, after):
                return []
            place = {"handoff": 3, "task": 1}.get(entry.type, 2)
            section = sections[place if place == 3 or self._chains.is_open(entry) else 0]
            found.append(VaultLine(coded, section, entry, self._day(entry)))
        if after and (kind, coded + GONE) not in self._written:
            # whether a page that has the old entry does not get the new one
            elsewhere = kind == TOPIC and self._slug(entry) != self._slug(after)
            if after.type == "handoff":
                elsewhere = entry.type != "handoff"
            if elsewhere:
                found.append(VaultLine(coded + GONE, sections[0], entry, self._day(after), after))
        return found

    # --- in words --------------------------------------------------------------------

    def _said(self, kind: str, line: VaultLine, links: Links) -> str:
        entry, end = line.entry, mark(kind, line.code)
        if entry.type == "handoff":
            return f"{self._session(entry)} {end}"
        said = self._became(line, links) if line.after else self._statement(entry, links)
        if kind == TOPIC:
            dated = f"{line.day}: " if line.section == SECTIONS[TOPIC][0] else ""
            return f"{dated}{said} ({links(f'day/{line.day}')}) {end}"
        slug = self._slug(entry)
        about = f" ({links(f'subject/{slug}')})" if slug else ""
        return f"{said}{about} {end}"

    def _became(self, line: VaultLine, links: Links) -> str:
        quoted = f"“{plain(line.entry.content, QUOTE)}”"
        if line.after is None or line.after.type == "handoff":
            return f"Withdrawn: {quoted}"
        slug = self._slug(line.after)
        about = f", see {links(f'subject/{slug}')}" if slug else ""
        return f"No more: {quoted} — now: {plain(line.after.content, QUOTE)}{about}"

    def _session(self, entry: Entry) -> str:
        first = next(line for line in entry.content.splitlines() if line.strip())
        again = any(old.type == "handoff" for old in self._replaced(entry))
        time = f"{local(entry.timestamp, self._zone):%H:%M}{' (read again)' if again else ''}"
        return f"{plain(entry.session[:8])} — {time}\n  {plain(first, SESSION)}"

    def _statement(self, entry: Entry, links: Links) -> str:
        parts = [entry.content]
        if entry.detail:
            parts = [entry.content.rstrip(". "), one_line(entry.detail, DETAIL)]
        text = " — ".join(plain(part) for part in parts if part)
        lead = {"task": "To do: ", "question": "Asked: "}.get(entry.type, "")
        lead = "" if self._chains.is_open(entry) else lead
        lead = "Done: " if entry.type == "task" and entry.status == "done" else lead
        return lead + text + self._in_place_of(entry, links)

    def _in_place_of(self, entry: Entry, links: Links) -> str:
        """What it corrects, answers or finishes, and when that was said."""
        known = self._replaced(entry)
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


def _page(about: Subject | date, lines: Sequence[VaultLine]) -> VaultPage:
    """The page of a subject, or the journal of a day."""
    created = min(line.day for line in lines)
    if isinstance(about, date):
        key, kind, type_, tag = f"day/{about}", JOURNAL, "journal", "journals"
        note = apart = shown = str(about)
    else:
        key, kind, tag = f"subject/{about.slug}", TOPIC, TAGS.get(about.type, "notes")
        type_, (note, shown) = about.type if about.type in TAGS else "other", _names(about)
        apart = f"{note} ({name(about.slug)[:60]})"
    front: dict[str, object] = {"type": type_, "tags": [tag], "created": created, "wakebook": key}
    front |= {"aliases": [shown]} if shown != note else {}
    return VaultPage(key=key, kind=kind, name=note, apart=apart, front=front, lines=tuple(lines))


def _names(subject: Subject) -> tuple[str, str]:
    """The name of a subject's note, and what a link to it shows."""
    shown = name(subject.display) or name(title(subject.slug)) or "Subject"
    if subject.type == "project" and not shown.lower().endswith("project"):
        return f"{shown} Project", shown
    is_day = re.fullmatch(r"\d{4}-\d\d-\d\d", shown)  # the name of a journal
    return (f"{shown} ({name(subject.slug)})" if is_day else shown), shown


def _read_again(old: Entry, new: Entry) -> bool:
    """Whether the new entry is another reading of the same conversation."""
    same = bool(old.transcript) and old.transcript == new.transcript
    return new.type == "handoff" or (same and old.by != new.by)


def _verb(old: Entry, new: Entry) -> str:
    if _read_again(old, new):
        return "replaces"
    if old.type == "question" and new.type != "question":
        return "answers"
    if old.type == "task" and (new.type != "task" or new.status == "done"):
        return "finishes"
    return "corrects"


# --- names, links and plain text ---------------------------------------------------------
_NOT_IN_NAMES = re.compile(
    r'[*"\\/<>:|?#^\[\]`\x00-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2066-\u2069\ufeff]'
)
_RESERVED = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
_URL = re.compile(r"(https?://[^\s<>\"'`]+)")
_SPECIAL = re.compile(
    r"[\\`*\[\]<$]"  # escapes, code, emphasis, links, HTML, formulas
    r"|(?<!\w)#"  # tags and headings
    r"|(?<!\w)_|_(?!\w)"  # emphasis, but not in snake_case
    r"|(?<!\S)\^"  # block ids
    r"|%(?=%)|(?<=%)%|=(?==)|(?<==)=|~(?=~)|(?<=~)~"  # comments, highlights, strikethrough
    r"|&(?=#|\w+;)"  # entities
)
_FIRST = re.compile(r"[-+>]|\d+[.)](?=\s|$)")  # lists, quotations, rules
_IN_URL = {char: f"%{ord(char):02X}" for char in "[]\\^|*$"}
_MARK = re.compile(r"(?m)(?:^|[ \t])\^(wj|w)-([A-Za-z0-9-]+)[ \t\r]*$")


def name(text: str) -> str:
    """Text as the name of a note: for Obsidian, its links, and every file system. Or nothing."""
    known = text.encode("utf-8", "ignore").decode()
    plain = _NOT_IN_NAMES.sub(" ", unicodedata.normalize("NFC", known))
    plain = " ".join(re.sub("%%+", "%", plain).split())[:NAME_CHARACTERS]
    plain = plain.encode()[:NAME_BYTES].decode("utf-8", "ignore").strip(". ")
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain


def folded(text: str) -> str:
    """Names that Obsidian, macOS or Windows take for the same one are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def plain(text: str, limit: int = 0) -> str:
    """Text on one line that reads in a note as it was written, and is nothing but text."""
    known = text.encode("utf-8", "replace").decode()
    line = " ".join(re.sub(r"[\x00-\x08\x0e-\x1b\x7f]", "", known).split())
    if limit and len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    parts = _URL.split(line)
    parts[::2] = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [_address(part) for part in parts[1::2]]
    line = "".join(parts)
    first = _FIRST.match(line)  # no list, quotation or rule begins with this line
    return f"{line[: first.end() - 1]}\\{line[first.end() - 1 :]}" if first else line


def _address(url: str) -> str:
    """Still the same address, and nothing that Markdown or Obsidian would take for theirs."""
    whole = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", url)
    coded = "".join(_IN_URL.get(char, char) for char in whole)
    return coded.replace("==", "%3D%3D").replace("~~", "%7E%7E")


def code(identity: str) -> str:
    """An entry's id with the characters of a block id; no two ids give the same."""
    return identity.replace("-", "-0").replace("_", "-1")


def mark(kind: str, coded: str) -> str:
    return f"^{kind}-{coded}"


def marks(text: str) -> set[tuple[str, str]]:
    """Every mark at the end of a line: what has been written here, and for which kind of page."""
    return {(found[1], found[2]) for found in _MARK.finditer(text)}


# --- putting lines into a note -------------------------------------------------------------
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}")
_LISTED = re.compile(r"\s|[-*+] |\d+[.)] ")


class Unclosed(Exception):
    """A code fence or comment that never ends: what comes after it would not be seen."""


def insert(text: str, added: Mapping[str, Sequence[str]]) -> str:
    """The note with lines at the end of its sections; a section that is missing comes last. Every
    byte of the note stays, in its order. Raises Unclosed."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    headings, unclosed = _headings(lines)
    puts: dict[int, str] = {}
    last = ""
    for section, new in added.items():
        if not new:
            continue
        place = _place(lines, headings, section)
        block = newline.join(one.replace("\n", newline) for one in new) + newline
        if place is None:
            last += f"{newline}## {section}{newline}{block}"
        else:  # a blank line before, unless a list or the section's heading stands there
            near = place - 1 in headings or _LISTED.match(lines[place - 1])
            puts[place] = block if near else newline + block
    furthest = len(lines) if last else max(puts, default=0)
    if unclosed is not None and furthest > unclosed:
        raise Unclosed(f"line {unclosed + 1} begins a code block or comment that never ends")
    tail = puts.get(len(lines), "") + last
    if last and len(lines) not in puts and (not lines or not lines[-1].strip()):
        tail = tail.removeprefix(newline)  # there is a blank line already
    if tail and lines and not lines[-1].endswith("\n"):
        tail = newline + tail
    return "".join(f"{puts.get(number, '')}{line}" for number, line in enumerate(lines)) + tail


def _headings(lines: Sequence[str]) -> tuple[dict[int, str], int | None]:
    """Line number -> heading, and where something begins that is never closed."""
    found: dict[int, str] = {}
    begun: int | None = None
    until = ""  # what ends the thing that we are in
    for number, line in enumerate(lines):
        bare = line.strip().lstrip("\ufeff")
        fence = _FENCE.match(line.rstrip("\r\n"))
        if until:
            if _ends(until, bare, fence):
                until, begun = "", None
            continue
        if number == 0 and bare == "---" and any(one.strip() == "---" for one in lines[1:]):
            until, begun = "---", number
        elif fence and not ("`" in fence[1] and "`" in fence[2]):
            until, begun = fence[1], number
        elif bare == "%%" or ("<!--" in bare and "-->" not in bare.rpartition("<!--")[2]):
            until, begun = ("%%" if bare == "%%" else "-->"), number
        elif heading := _HEADING.fullmatch(line.rstrip("\r\n")):
            found[number] = heading[1] or ""
    return found, begun


def _ends(until: str, bare: str, fence: re.Match[str] | None) -> bool:
    ends = {"---": bare == "---", "%%": bare.endswith("%%"), "-->": "-->" in bare}
    return ends.get(until, bool(fence and fence[1].startswith(until) and not fence[2].strip()))


def _place(lines: Sequence[str], headings: Mapping[int, str], section: str) -> int | None:
    """The line before which the section's new lines go."""
    wanted = folded(section)
    start = next((one for one, text in headings.items() if folded(text) == wanted), None)
    if start is None:
        return None

    def trimmed(end: int) -> int:
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        return end

    end = trimmed(min((one for one in headings if one > start), default=len(lines)))
    rule = end - 1
    if rule > start + 1 and _RULE.fullmatch(lines[rule].strip()) and not lines[rule - 1].strip():
        return trimmed(rule)
    return end
