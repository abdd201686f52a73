"""The past: commits, how files were in them, when something was learned, what has changed since.

Git answers, and nothing is checked out for it; neither the checkout nor the index changes. Files
of an earlier commit are written into a folder below .cache and read from there. The log knows by
itself when something was said.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from wakebook.base import clock, words
from wakebook.base.errors import GitError, InvalidEntry, NotFound
from wakebook.base.home import Home
from wakebook.capture import withheld
from wakebook.history.history import History
from wakebook.history.repository import Repository, run
from wakebook.log import forgotten
from wakebook.log.entry import Entry, decode
from wakebook.log.forgotten import Forgotten

NOTES = ("knowledge", "topics", "archive")
READ = (
    "log.jsonl",
    "subjects.json",
    "projects.json",
    "config.toml",
    "prices.toml",
    "prompts",
    *NOTES,
)
TAGS = ("", "memory/", "memory/milestone/", "memory/before/", "memory/weekly/")
_AGE = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
FORMAT = "--format=%x01%H%x00%cI%x00%s%x00%b%x02"
PLAIN = ("--no-color", "--no-ext-diff")


class Commit(msgspec.Struct, frozen=True):
    """A commit; of a search, with the lines that hold the text."""

    id: str
    at: datetime
    summary: str
    body: str = ""
    added: tuple[tuple[str, str], ...] = ()  # file and line
    removed: tuple[tuple[str, str], ...] = ()

    @property
    def short(self) -> str:
        return self.id[:7]


class Change(msgspec.Struct, frozen=True):
    """A file that differs between two moments, with the number of lines that came and went."""

    path: str
    added: int
    removed: int


class Versions(NamedTuple):
    """A file that a commit changed."""

    name: str
    now: bytes | None
    then: bytes | None  # as the commit left it
    before: bytes | None


class Put(NamedTuple):
    """What a file becomes when a change of it is taken back."""

    data: bytes | None  # None: the file goes
    clash: bool = False  # it has changed in the same place since


CLASH = Put(None, clash=True)


def commits(repository: Repository, *arguments: str, below: Sequence[str] = (".",)) -> list[Commit]:
    """Commits that touched these paths, newest first."""
    return [commit for commit, _ in _log(repository, *arguments, "--", *below)]


def commit_before(repository: Repository, moment: datetime) -> Commit | None:
    """The newest commit of the current branch that is not younger than this moment."""
    before = f"--before=@{int(moment.timestamp())}"
    return next((one for one, _ in _log(repository, "-1", "--first-parent", before)), None)


def describe(repository: Repository, name: str) -> Commit:
    """The commit that a name stands for."""
    identity = repository.resolve(name)
    if identity is None:
        raise GitError(f"git knows no commit {name!r} in {repository.top}.")
    return next(commit for commit, _ in _log(repository, "-1", identity))


def search(repository: Repository, text: str, below: Sequence[str]) -> list[Commit]:
    """Commits that brought or removed a text (whatever its case), oldest first, each with the
    lines in question."""
    wanted = ("--reverse", f"-S{text}", "-i", "-p", "--unified=0", "--relative", *PLAIN)
    found = _log(repository, *wanted, "--", *below)
    return [_holding(commit, patch, text.lower()) for commit, patch in found]


def blame(repository: Repository, path: str, line: int) -> Commit:
    """The commit that wrote a line of a file, as the file is in the last commit."""
    done = repository.attempt("blame", "--porcelain", "-L", f"{line},{line}", "HEAD", "--", path)
    if done.code != 0:
        raise GitError(f"git blame of {path}, line {line}: {done.error.strip()}")
    return describe(repository, done.text.split(" ", 1)[0])


def _log(repository: Repository, *arguments: str) -> Iterator[tuple[Commit, str]]:
    """Commits, each with the patch behind it; none before the first one."""
    if not repository.head():
        return
    for part in repository.git("log", FORMAT, *arguments).split("\x01")[1:]:
        head, _, patch = part.partition("\x02")
        fields = head.split("\0", 3)
        at = clock.parse(fields[1]) if len(fields) == 4 else None
        if at is not None:
            yield Commit(fields[0], at, fields[2], fields[3].strip()), patch


def _holding(commit: Commit, patch: str, wanted: str) -> Commit:
    lines: dict[str, list[tuple[str, str]]] = {"+": [], "-": []}
    names = {"+": "", "-": ""}
    heading = False  # between "diff --git" and the first "@@"
    for line in patch.split("\n"):
        sign = line[:1]
        if line.startswith("diff --git "):
            heading = True
        elif line.startswith("@@"):
            heading = False
        elif heading and line.startswith(("--- ", "+++ ")):
            names[sign] = line[4:].rstrip("\t").removeprefix("a/" if sign == "-" else "b/")
        elif not heading and sign in lines and wanted in line.lower():
            lines[sign].append((names[sign], line[1:]))
    return msgspec.structs.replace(commit, added=tuple(lines["+"]), removed=tuple(lines["-"]))


def extract(repository: Repository, commit: str, below: Sequence[str], into: Path) -> None:
    """Write files of a commit into a folder, as they were."""
    import io
    import tarfile

    there = run(repository.root, ["ls-tree", "-r", "-z", "--name-only", commit, "--", *below])
    names = set(there.fields)
    tops = sorted({path for path in below if any(_is_in(name, path) for name in names)})
    if not tops:
        return
    done = run(repository.root, ["archive", "--format=tar", commit, "--", *tops])
    with tarfile.open(fileobj=io.BytesIO(done.data)) as archive:
        for member in archive:
            if member.isreg() and member.name in names:
                stream = archive.extractfile(member)
                assert stream is not None
                path = into / member.name
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.touch(mode=0o600)
                path.write_bytes(stream.read())
                os.utime(path, (member.mtime, member.mtime))


def _is_in(name: str, folder: str) -> bool:
    return folder == "." or name == folder or name.startswith(f"{folder}/")


def changes(repository: Repository, since: str, until: str, below: Sequence[str]) -> list[Change]:
    """The files that differ. Without `until`: from then to the files as they are now."""
    span = [since, until] if until else [since]
    command = ["diff", "--numstat", "-z", "--no-renames", "--relative", *span, "--", *below]
    found = [_change(field) for field in run(repository.root, command).fields]
    for name in [] if until else _unknown(repository, below):
        lines: list[str] = []
        with suppress(OSError):
            lines = (repository.root / name).read_text("utf-8", "replace").splitlines()
        found.append(Change(name, len(lines), 0))
    return sorted(found, key=lambda change: change.path)


def _change(field: str) -> Change:
    added, removed, name = field.split("\t", 2)
    return Change(name, *(int(count) if count != "-" else 0 for count in (added, removed)))


def patch(repository: Repository, since: str, until: str, below: Sequence[str]) -> str:
    """The same, line by line."""
    span = [since, until] if until else [since]
    text = repository.git("diff", *PLAIN, "--relative", *span, "--", *below)
    for name in [] if until else _unknown(repository, below):
        text += repository.attempt("diff", *PLAIN, "--no-index", "--", "/dev/null", name).text
    return text


def _unknown(repository: Repository, below: Sequence[str]) -> list[str]:
    """Files that are not in git yet."""
    command = ["ls-files", "--others", "--exclude-standard", "-z", "--", *below]
    return run(repository.root, command).fields


def empty_tree(repository: Repository) -> str:
    """What there was before the first commit."""
    return repository.git("hash-object", "-t", "tree", "/dev/null").strip()


def versions(repository: Repository, commit: str) -> list[Versions]:
    """The files that a commit changed, as they were before, then and now."""
    found: list[Versions] = []
    for name in [change.path for change in changes(repository, f"{commit}^", commit, (".",))]:
        path = repository.root / name
        now = path.read_bytes() if path.exists() else None
        then, before = (repository.show(one, name) for one in (commit, f"{commit}^"))
        found.append(Versions(name, now, then, before))
    return found


def put_back(repository: Repository, file: Versions) -> Put:
    """A text without what a commit changed, and with every change since."""
    if file.now is None or file.then is None or file.before is None:
        return CLASH
    with tempfile.TemporaryDirectory(prefix="wakebook-merge-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (file.now, file.then, file.before), strict=True):
            path.write_bytes(data)
        done = repository.attempt("merge-file", "--stdout", *map(str, paths))
    return Put(done.data) if done.code == 0 else CLASH


# --- moments, and what was learned -------------------------------------------------------
class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a conversation."""

    at: datetime
    session: str
    speaker: str
    text: str
    ref: str  # what `show` takes


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """When a text came into the memory: said, and committed."""

    text: str
    entries: tuple[Entry, ...]  # that hold it, oldest first
    turns: tuple[Said, ...] = ()  # of conversations that hold it, oldest first
    commits: tuple[Commit, ...]  # that brought it or took it away, oldest first
    note: str = ""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed between two moments."""

    since: str
    until: str
    files: tuple[Change, ...]
    patch: str = ""
    added: tuple[Entry, ...] = ()  # entries of the log
    gone: tuple[Entry, ...] = ()


class Moment(msgspec.Struct, frozen=True):
    """A commit, and how it was asked for."""

    commit: Commit | None  # None: before the first one
    at: datetime
    name: str


def moment(text: str, now: datetime, end: bool = False) -> datetime | None:
    """A day, a moment or an age, in the time zone of `now`. None if it is none of them. A day
    stands for its beginning, or with `end` for its last second."""
    said = text.strip().lower()
    if said == "now":
        return now
    if said in ("today", "yesterday"):
        said = f"{now - timedelta(days=said == 'yesterday'):%Y-%m-%d}"
    if aged := _AGE.fullmatch(said):
        try:
            return now - timedelta(**{_UNITS[aged[2]]: int(aged[1])})
        except OverflowError:
            return None
    try:
        if _DAY.fullmatch(said):
            day = datetime.fromisoformat(said).date()
            clocked = time(23, 59, 59) if end else time()
            return datetime.combine(day, clocked, tzinfo=now.tzinfo)
        if "w" in said:  # a week's name is a tag's, and not its Monday
            return None
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=now.tzinfo)


def find(repository: Repository, text: str, now: datetime, end: bool = False) -> Moment:
    """The commit of a moment (the last one before it), a tag, or a commit's own name."""
    at = moment(text, now, end)
    if at is not None:
        before = commit_before(repository, at)
        return Moment(before, at, f"{at:%Y-%m-%d %H:%M}")
    for ref in (*(f"refs/tags/{prefix}{text}" for prefix in TAGS), text):
        if identity := repository.resolve(ref):
            commit = describe(repository, identity)
            name = commit.short if ref == text else ref.removeprefix("refs/tags/")
            return Moment(commit, commit.at.astimezone(now.tzinfo), name)
    raise NotFound(
        f"{text!r} is no date and no tag. Write 2026-02-20, 2026-02-20T14:00, 7d, or a name that "
        f"`git -C {repository.root} tag` lists."
    )


def when(
    history: History, entries: Iterable[Entry], text: str, turns: Iterable[Said] = ()
) -> Learned:
    """When a text was said, by the log and the conversations (of `turns`, those that hold it), and
    when it came into the files, by git."""
    wanted = _words(text)
    if not wanted:
        raise NotFound("An empty text is everywhere. Give the words that you look for.")
    said = [one for one in entries if wanted in _words(f"{one.content} {one.detail or ''}")]
    note, found = "", list[Commit]()
    if history.repository is None:
        note = f"From the log alone: {history.note()}."
    else:
        coded = json.dumps(text.strip(), ensure_ascii=False)[1:-1]  # as it stands in the log
        found = search(history.repository, text.strip(), NOTES)
        found += search(history.repository, coded, ("log.jsonl",))
    return Learned(
        text=text,
        entries=tuple(sorted(said, key=lambda entry: entry.timestamp)),
        turns=tuple(
            sorted((one for one in turns if wanted in _words(one.text)), key=lambda one: one.at)
        ),
        commits=tuple(_untold(_joined(found), wanted, history.home)),
        note=note,
    )


def _untold(found: Iterable[Commit], wanted: str, home: Home) -> Iterator[Commit]:
    """Without the lines that say what was forgotten since, and files as they are called now."""
    gone, moved = forgotten.load(home), withheld.load(home)[1]
    if not gone:
        yield from found
        return

    def named(text: str) -> str:
        for old, new in moved.items():
            text = text.replace(old, new)
        return text

    for commit in found:
        added, removed = (
            tuple((file, named(line)) for file, line in pairs if not _gone(line, gone, wanted))
            for pairs in (commit.added, commit.removed)
        )
        if added or removed:
            body = named(commit.body)
            yield msgspec.structs.replace(commit, added=added, removed=removed, body=body)


def _gone(line: str, gone: Forgotten, wanted: str) -> bool:
    try:
        entry = decode(line.encode())
    except InvalidEntry:
        return gone.tells(line, words.terms)
    said = f"{entry.content} {entry.detail}"
    return entry.id in gone or wanted not in _words(said) or gone.tells(said, words.terms)


def _words(text: str) -> str:
    return " ".join(text.lower().split())


def _joined(every: Sequence[Commit]) -> list[Commit]:
    """Each commit once, oldest first, with all its lines."""
    found: dict[str, Commit] = {}
    for commit in every:
        if known := found.get(commit.id):
            added, removed = known.added + commit.added, known.removed + commit.removed
            commit = msgspec.structs.replace(commit, added=added, removed=removed)
        found[commit.id] = commit
    return sorted(found.values(), key=lambda commit: commit.at)


def difference(
    history: History,
    since: str,
    until: str,
    now: datetime,
    entries: Callable[[], Iterable[Entry]],
    *,
    stat: bool = False,
) -> Difference:
    """What has changed in the knowledge and in the log. `entries`: those of now."""
    repository = history.required()
    if not repository.head():
        raise GitError(f"There is no commit in {repository.top} yet, and nothing to compare.")
    first = find(repository, since, now)
    last = find(repository, until, now, end=True) if until else None
    if last is not None and last.commit is None:
        raise NotFound(f"There was no commit yet at {last.name}: nothing had changed by then.")
    old = first.commit.id if first.commit else empty_tree(repository)
    new = last.commit.id if last and last.commit else ""
    before = _entries(repository, old)
    after = _entries(repository, new) if new else list(entries())
    known, left = {entry.id for entry in before}, {entry.id for entry in after}
    return Difference(
        since=first.name + ("" if first.commit else " (before the first commit)"),
        until=last.name if last else "now",
        files=tuple(changes(repository, old, new, ("knowledge",))),
        patch="" if stat else patch(repository, old, new, ("knowledge",)),
        added=tuple(entry for entry in after if entry.id not in known),
        gone=tuple(entry for entry in before if entry.id not in left),
    )


def _entries(repository: Repository, commit: str) -> list[Entry]:
    """The log as it was."""
    found: list[Entry] = []
    for line in (repository.show(commit, "log.jsonl") or b"").split(b"\n"):
        try:
            found += [decode(line)] if line.strip() else []
        except InvalidEntry:
            continue  # `status` tells of it
    return found


@contextmanager
def extracted(
    home: Home, repository: Repository, commit: Commit
) -> Iterator[tuple[Home, Callable[[Sequence[str]], None]]]:
    """The home as it was, in a folder that is thrown away: log, notes and settings. Conversations
    are many; the function that comes with it brings those that are wanted."""
    with home.scratch("at-") as then:

        def bring(paths: Sequence[str]) -> None:
            extract(repository, commit.id, paths, then.root)

        bring(READ)
        if not then.log.exists():
            raise NotFound(f"The home {home.root} was not in git yet at {commit.short}.")
        then.config.touch()
        yield then, bring


def needed(ref: str, entry_of: Callable[[str], Entry]) -> Sequence[str]:
    """The conversations that are needed to show a reference."""
    from wakebook.base import ref as refs

    wanted = refs.parse(ref)
    if wanted.kind == "session":
        return ("raw",)
    if wanted.kind == "path":
        inside = Path(wanted.name).as_posix()
        return () if inside.startswith(("/", "../")) else (inside,)
    transcript = entry_of(wanted.name).transcript
    return (transcript,) if transcript else ()
