"""Scrub: what an erasure does to each file, and the look at every byte afterwards.

The same rules hold for the files of the home and for every version of them in git. Entries that go
are lines that go; anywhere else the text gives way to a placeholder, and what stands around it
stays as it is, byte by byte. A generated block gets the sum that belongs to it now.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.base.needles import Needles
from wakebook.capture import archive, withheld
from wakebook.history.objects import LONG, unpacked
from wakebook.history.repository import Repository, run
from wakebook.log import forgotten
from wakebook.notes.book import NOTHING

JOURNAL = "erasing.json"  # an erasure that is not finished yet
LINES = re.compile(r"(log|waiting|feedback|trace(\.old)?|\.cache/turns(\.old)?)\.jsonl|log\.torn")
ENTRIES = re.compile(r"(log|waiting)\.jsonl|log\.torn")
GROWS = ("log.jsonl", "feedback.jsonl")
SOURCES = re.compile(r"(sessions|imports)/.*")
CONVERSATIONS = re.compile(r"(archive/)?raw/conversations/.*\.md")
PEOPLE = re.compile(r"knowledge/people/[^/_][^/]*\.md")
# where secrets belong; redacting leaves them alone
KEEPS = re.compile(r"token|machine\.json|\.env|secrets/.*|.*\.(key|pem)", re.DOTALL)
# made again from the rest
INDEX = re.compile(r"index\.db(-wal|-shm|-journal)?")
DERIVED = re.compile(
    r"index\.db.*|\.cache/((told|start|wake|at-[^/]*|rehearsal-[^/]*|sync-[^/]*)/.*|"
    r"(gates|about|briefing|handoffs)\.json|wake\.md|catalogue\.db.*)",
    re.DOTALL,
)
TREES = re.compile(r"\.cache/(?:explore|rebuild)/[^/]+/(.*)", re.DOTALL)  # homes in the home
# of an entry, what is a name: it changes, and the entry stays
_NAMED = re.compile(rb'"(?:transcript|subject|project|session|by)":\s*"(?:[^"\\]|\\.)*"')
_HANDOFF = re.compile(rb'"type":\s*"handoff"')
TIMES = re.compile(rb'"timestamp":\s*"([^"]+)"')


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be erased. It is the whole order: what was begun can be finished with it."""

    at: datetime
    texts: tuple[str, ...] = ()
    placeholder: str = "[erased]"
    exact: bool = False  # in this case only, and entries keep the rest of their words
    names: dict[str, str] = {}  # ids, sessions and paths, and what they become
    ids: tuple[str, ...] = ()  # entries that go
    sessions: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()  # files that go
    since: datetime | None = None  # what was said from then on goes
    scoped: bool = False  # other conversations may say the same, and keep it

    def with_(self, **changes: Any) -> Order:
        return msgspec.structs.replace(self, **changes)


class Scrub:
    """An order, as it applies to files."""

    def __init__(self, order: Order, secret: bytes = b"") -> None:
        """`secret`: the key of receipts; older ones get it in history as well."""
        self.order, self._secret = order, secret
        joined = (f"{one.rstrip('.')} —" for one in order.texts if one.endswith("."))  # in notes
        texts = order.texts if order.exact else (*order.texts, *joined)
        self.needles = Needles(texts, order.placeholder, exact=order.exact, names=order.names)
        self._gone = frozenset(order.gone)
        wanted = [*(f'"id":"{one}"' for one in order.ids)]
        wanted += [f'"session":{_quoted(one)}' for one in order.sessions]
        forms = [re.escape(one.encode()).replace(rb":", rb":\s*", 1) for one in wanted]
        self._whose = re.compile(b"|".join(forms)) if forms else None
        self._ids = re.compile(b"|".join(map(re.escape, (i.encode() for i in order.ids))) or b"$^")
        self._paths: dict[str, str | None] = {}
        self.said: dict[str, None] = {}  # what entries said that went for their session or time

    # --- one file --------------------------------------------------------------------------

    def path(self, path: str) -> str | None:
        if path not in self._paths:
            self._paths[path] = self._path(path)
        return self._paths[path]

    def _path(self, path: str) -> str | None:
        inner = inside(path)
        if inner in self._gone:
            return None
        moved = self.order.names.get(inner)
        if moved:
            return path.removesuffix(inner) + moved
        return "/".join(self.needles.renamed(part) for part in path.split("/"))

    def renames(self, session: str) -> bool:
        """Whether a session's own id holds it: then it is another session from now on."""
        return not self.order.scoped and self.needles.found(session.encode())

    @property
    def growing(self) -> tuple[str, ...]:
        return GROWS

    def text(self, data: bytes) -> bytes:
        """A message. The first line of a conversation's commit is its first words."""
        if any(path.encode() in data for path in self._gone):
            head, newline, rest = data.partition(b"\n")
            kind, colon, _ = head.partition(b": ")
            data = (kind + colon if colon else b"") + b"[erased]" + newline + rest
        return self.needles.swapped(data)

    def data(self, path: str, data: bytes) -> bytes:
        inner = inside(path)
        if is_binary(data):
            return data
        if LINES.fullmatch(inner):
            return self._lines(inner, data)
        if SOURCES.fullmatch(inner):
            return self.needles.swapped(data, padded=True)
        said = bool(CONVERSATIONS.fullmatch(inner))
        if said and self.order.since:
            data = _before(data, self.order.since)
        if said and self.order.scoped:
            return data  # another conversation, in its own words
        after = self.needles.swapped(data)
        if inner == withheld.FILE and after != data:
            return b"".join(one for one in after.splitlines(keepends=True) if _marks(one))
        if inner == forgotten.FILE and self._secret:
            return self._sealed(after)
        return _mended(data, after, self.needles) if inner.endswith(".md") else after

    def _sealed(self, data: bytes) -> bytes:
        try:
            old = forgotten.read(data)
        except WakebookError:
            return data
        return forgotten.encoded(forgotten.sealed(one, self._secret) for one in old)

    def spares(self, name: str) -> bool:
        """Whether a file of the home is left alone, whatever it holds."""
        return name == JOURNAL or (self.order.exact and bool(KEEPS.fullmatch(name)))

    def applies(self, path: str) -> bool:
        """Whether the words must not be in this file."""
        inner = inside(path)
        own = CONVERSATIONS.fullmatch(inner) or ENTRIES.fullmatch(inner)
        return not (self.order.scoped and own)

    # --- lines -----------------------------------------------------------------------------

    def _lines(self, path: str, data: bytes) -> bytes:
        """Without the lines of what goes; where only the text goes, with the placeholder."""
        order = self.order
        entries = bool(ENTRIES.fullmatch(path))
        going = self._going(data)
        for session in () if entries else order.sessions:  # of what happened in it
            for match in re.finditer(re.escape(session.encode()), data):
                going[data.rfind(b"\n", 0, match.start()) + 1] = _end(data, match.end())
        if not (order.exact or (order.scoped and entries) or path.startswith("feedback")):
            for start, end in self._said(data):
                going[data.rfind(b"\n", 0, start) + 1] = _end(data, end)
        parts: list[bytes] = []
        last = 0
        for start, end in sorted(going.items()):
            parts.append(data[last : max(start, last)])
            last = max(end, last)
        left = b"".join([*parts, data[last:]]) if parts else data
        if entries and order.ids and self._ids.search(left):
            left = b"".join(map(self._unlinked, left.splitlines(keepends=True)))
        if order.scoped and entries:
            return Needles((), names=order.names).swapped(left)
        return self.needles.swapped(left)

    def _said(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where lines say it, and not only in a name."""
        for start, end in self.needles.spans(data):
            first, last = data.rfind(b"\n", 0, start) + 1, _end(data, end)
            named = _NAMED.finditer(data, first, last)
            handoff = _HANDOFF.search(data, first, last)  # of much else, too: it loses the words
            if not handoff and not any(one.start() <= start < one.end() for one in named):
                yield start, end

    def says(self, line: bytes) -> bool:
        """Whether an entry goes for its words."""
        return any(self._said(line))

    def _going(self, data: bytes) -> dict[int, int]:
        """Lines by their beginning and end: of entries, of sessions, from a time on."""
        found: dict[int, int] = {}
        places = [match.start() for match in self._whose.finditer(data)] if self._whose else []
        if self.order.since:
            for match in TIMES.finditer(data):
                at = clock.parse(match[1].decode("utf-8", "replace"))
                places += [match.start()] if at and at >= self.order.since else []
        for place in places:
            start, end = data.rfind(b"\n", 0, place) + 1, _end(data, place)
            found[start] = end
            if self.order.scoped:
                self._heard(data[start:end])
        return found

    def _heard(self, line: bytes) -> None:
        raw = _object(line)
        for text in (raw.get("content"), *str(raw.get("detail") or "").split("\n")):
            if isinstance(text, str) and len(text.split()) > 2:
                self.said[text.strip()] = None

    def _unlinked(self, line: bytes) -> bytes:
        """An entry that no longer says that it replaces one that went."""
        if not self._ids.search(line):
            return line
        raw, gone = _object(line), set(self.order.ids)
        replaces = raw.get("replaces")
        if isinstance(replaces, str) and replaces in gone:
            del raw["replaces"]
        elif isinstance(replaces, list):
            raw["replaces"] = [one for one in replaces if one not in gone]
        else:
            return line
        return msgspec.json.encode(raw) + b"\n"


def inside(path: str) -> str:
    """A path as the home has it that it belongs to: an exploration is a home in the home."""
    match = TREES.fullmatch(path)
    return match[1] if match else path


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _marks(line: bytes) -> bool:
    """Whether a line of withheld.jsonl still says something: its transcript is there, and was not
    called otherwise in words that are gone."""
    raw = _object(line)
    name = raw.get("transcript")
    return not raw or (name != "erased" and raw.get("was") not in ("erased", name))


def _end(data: bytes, place: int) -> int:
    """Where the line ends that holds a place, with its line end."""
    found = data.find(b"\n", place)
    return len(data) if found < 0 else found + 1


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff"))


def _before(data: bytes, since: datetime) -> bytes:
    """A transcript up to a moment."""
    text = data.decode("utf-8", "surrogateescape")
    front, body = markdown.split(text)
    turns = archive.parse(body)
    later = next((turn for turn in turns if turn.at >= since), None)
    if not front or later is None:
        return data
    kept = "\n".join(body.split("\n")[: later.line - 1]).rstrip("\n") + "\n"
    last = turns[later.number - 2].at if later.number > 1 else since
    front |= {"turns": later.number - 1, "ended": clock.iso(last)}
    return markdown.join(front, kept).encode("utf-8", "surrogateescape")


def _mended(data: bytes, after: bytes, needles: Needles) -> bytes:
    """A note or transcript whose text has changed: its frontmatter is still YAML, and a block that
    nobody has edited is still one."""
    if after == data:
        return data
    old, new = (one.decode("utf-8", "surrogateescape") for one in (data, after))
    front, _ = markdown.split(old)
    if front:
        wanted = _swapped(front, needles)
        found, body = markdown.split(new)
        if found != wanted:
            at = markdown.read_front(old).body
            body = needles.swapped(old[at:].encode("utf-8", "surrogateescape")).decode(
                "utf-8", "surrogateescape"
            )
            new = markdown.join(wanted, body)
    try:
        for name in markdown.names(old):
            block, changed = markdown.block(old, name), markdown.block(new, name)
            if block and changed and block.sum and not block.edited:
                new = markdown.put(new, name, changed.lines) if changed.edited else new
    except markdown.BrokenBlock:
        pass  # `notes --check` tells of it
    return new.encode("utf-8", "surrogateescape")


def _swapped(value: Any, needles: Needles) -> Any:
    if isinstance(value, str):
        return needles.swapped(value.encode()).decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {_swapped(key, needles): _swapped(one, needles) for key, one in value.items()}
    return [_swapped(one, needles) for one in value] if isinstance(value, list) else value


def nobody(text: str, placeholder: str) -> str:
    """Whom a note is about that says nothing of them any more; nothing if it does, or if it holds
    a line of the user's own."""
    front, body = markdown.split(text)
    called = str(front.get("name", ""))
    for line in body.splitlines():
        own = line in ("", f"# {called}", NOTHING) or line.startswith(("<!-- wakebook:", "## "))
        if not own and placeholder not in line:
            return ""
    return called


def link(note: str, called: str) -> str:
    """As other notes lead to this one."""
    return f"[[{note.removeprefix('knowledge/').removesuffix('.md')}|{called}]]"


# --- all files -----------------------------------------------------------------------------
def files(root: Path) -> Iterator[Path]:
    """Every file of the home but git's own. Links are not followed."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            path = Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def scrub(home: Home, rules: Scrub) -> Iterator[str]:
    """Change what is to be changed, file by file: each one whole or not at all. Gives the names of
    the files that it touched, as they were. state.json is for others."""
    for path in list(files(home.root)):
        name = home.relative(path)
        if rules.spares(name) or name == "state.json" or INDEX.fullmatch(name):
            continue
        if DERIVED.fullmatch(inside(name)):
            path.unlink(missing_ok=True)
            continue
        moved = rules.path(name)
        if moved is None:
            path.unlink(missing_ok=True)
            yield name
            continue
        data = path.read_bytes()
        after = rules.data(name, data)
        if after == data and moved == name:
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        target = home.root / moved
        if moved != name and target.exists():
            target = target.with_name(f"{target.stem}-2{target.suffix}")
        home.replace(target, after, mode)
        if moved != name:
            path.unlink(missing_ok=True)
        yield name
    for folder in sorted((home.root / "raw").rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """A look at every byte."""

    files: int
    objects: int
    bytes: int
    found: tuple[str, ...] = ()  # where something still is


def scan(home: Home, repository: Repository | None, rules: Scrub) -> Scan:
    """Look for it in every file of the home and in every object of git, unpacked."""
    names = Needles((), names=rules.needles.names)
    count = size = objects = 0
    found: list[str] = []
    clean = True
    for piece in pieces(home, repository):
        count, objects = count + bool(piece.name), objects + (not piece.name)
        size += len(piece.data)
        spared = piece.name and rules.spares(piece.path)
        needles = rules.needles if rules.applies(piece.path) and not spared else names
        clean = not needles.found(piece.data[piece.known if clean else 0 :])
        if not clean or needles.found(piece.name.encode()):
            found.append(piece.place)
    return Scan(files=count, objects=objects, bytes=size, found=tuple(found))


class Spot(NamedTuple):
    """A file, or an object of git."""

    place: str  # as a person is told
    data: bytes
    path: str = ""  # in the home
    name: str = ""  # of a file
    known: int = 0  # bytes at its beginning that the piece before it is


def pieces(home: Home, repository: Repository | None) -> Iterator[Spot]:
    """Every byte of the home: its files, git's own, and git's objects, unpacked."""
    for path in files(home.root):
        name = home.relative(path)
        if name != JOURNAL:
            yield Spot(name, path.read_bytes(), name, name)
    if repository is None:
        return
    for path in sorted(repository.common.rglob("*")):
        if path.is_file() and not path.is_relative_to(repository.common / "objects"):
            place = f"git: {path.relative_to(repository.common)}"
            yield Spot(place, path.read_bytes(), name=path.name)
    paths, last = _paths(repository), b""
    for object_, kind, data in unpacked(repository):
        path_ = paths.get(object_, "") if kind == "blob" else ""
        grows = path_ in GROWS and data.endswith(b"\n")
        known = len(last) if grows and data.startswith(last) else 0
        yield Spot(f"git: {kind} {object_[:12]} {path_}".rstrip(), data, path_, known=known)
        last = data if grows else last


def _paths(repository: Repository) -> dict[str, str]:
    """What objects are called, relative to the home."""
    told = run(repository.root, ["rev-list", "--objects", "--all"], timeout=LONG, check=False)
    found: dict[str, str] = {}
    for line in told.text.splitlines():
        name, _, path = line.partition(" ")
        if repository.own or path.startswith(f"{repository.prefix}/"):
            inner = path if repository.own else path[len(repository.prefix) + 1 :]
            found.setdefault(name, PurePosixPath(inner).as_posix() if inner else "")
    return found
