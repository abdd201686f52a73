"""Site: where a rebuild is made, which transcripts it reads, how far it has come, what it became.

It is made on the branch extract/NAME, with a work tree below .cache/rebuild, which is a home of
its own. The user's checkout is never switched. If the branch or the folder was removed by hand,
that is noticed, and said.

How far it has come stands in a journal in the `.cache` of its work tree, one line a step. A step
holds its entries, so that a rebuild that was killed goes on after the last whole line: nothing
that was read is read again, nothing that was paid for is paid again. Once a rebuild is done its
plan is committed on its branch (extract.json), so that it can be merged even if its work tree was
removed.
"""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.decode import decode
from wakebook.base.errors import GitError, NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.capture.state import holds_memories
from wakebook.history import branches
from wakebook.history.history import History
from wakebook.log.entry import Entry, from_dict

VERSION = 1
FILE = "extract.json"
JOURNAL = "rebuild.jsonl"  # in the cache
FIRST = datetime.min.replace(tzinfo=UTC)
PREFIX = "extract/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    name: str
    extractor: str  # rules, or provider/model
    since: datetime | None = None
    began: datetime
    base: str  # the commit that it was made from
    transcripts: tuple[str, ...] = ()  # in the order in which they are read


class Redone(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that was carried out."""

    plan: Plan
    kept: tuple[str, ...] = ()  # transcripts that could not be read: their old entries stay
    entries: int = 0
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0  # calls whose price is not known
    held: tuple[str, ...] = ()  # what it did not take, for it is not the user's own: its words

    @property
    def replayed(self) -> frozenset[str]:
        """The transcripts whose entries are new."""
        return frozenset(self.plan.transcripts) - frozenset(self.kept)


class Listed(msgspec.Struct, frozen=True):
    """A closed transcript, as far as its frontmatter says."""

    path: str
    session: str
    started: datetime


def listed(home: Home) -> list[Listed]:
    """Every closed transcript, in the order in which they were said, as a sweep takes them. Not
    those of imported memories: there is nothing to read anew, and their entries come along."""
    still_open = states.load(home).open_transcripts()
    found: dict[tuple[datetime, str, int, str], Listed] = {}  # by the order
    for path in home.conversations.glob("*/*/*/*.md"):
        name = home.relative(path)
        front = _front(home, name)
        memories = holds_memories(str(front.get("channel")))
        if front.get("closed") and name not in still_open and not memories:
            started = clock.parse(front.get("started")) or FIRST
            session, number = str(front.get("session_id") or ""), front.get("window")
            number = number if isinstance(number, int) else 1
            host = front.get("host")
            found[started, f"{host}/{session}", number, name] = Listed(name, session, started)
    return [found[place] for place in sorted(found)]


def _front(home: Home, name: str) -> dict[str, object]:
    try:
        with (home.root / name).open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(4096)
            if head.startswith("---\n") and "\n---\n" not in head:
                head += stream.read()
    except OSError as error:
        home.trace("failure", where=f"rebuild of {name}", error=str(error))
        return {}
    return markdown.split(head)[0]


def wanted(found: Sequence[Listed], since: datetime | None) -> list[Listed]:
    """Those that are read anew. Raises NotFound if there are none."""
    if not found:
        raise NotFound(
            "There is no archived conversation to read anew. `wakebook catch-up` reads your "
            "agents' sessions; a conversation is archived for good once it has ended."
        )
    chosen = [one for one in found if since is None or one.started >= since]
    if since is not None and not chosen:
        raise NotFound(f"No archived conversation began after {clock.iso(since)}.")
    return chosen


def decode_done(data: bytes, where: str) -> Redone:
    try:
        done = decode(data, Redone)
    except msgspec.MsgspecError as error:
        raise WakebookError(f"{where}: not written by a rebuild ({error}).") from error
    if done.plan.version > VERSION:
        raise WakebookError(f"{where}: written by a newer Wakebook. Update this one.")
    return done


def encode(done: Redone) -> bytes:
    return msgspec.json.format(msgspec.json.encode(done), indent=1) + b"\n"


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What happened between two writes of the journal."""

    read: list[str] = []  # transcripts that are done
    entries: list[dict[str, Any]] = []  # that came of it, in their order
    turns: dict[str, int] = {}  # transcript -> turns read so far, of those that are not done
    carried: list[str] = []  # ids of those that are not from this reading
    kept: list[str] = []  # transcripts that stay as they were read before
    types: dict[str, str] = {}  # of new subjects
    failed: dict[str, str] = {}  # transcript -> why, this time
    held: list[str] = []  # what was found and is not the user's own: its words and its origin
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0


class Journal:
    def __init__(self, home: Home) -> None:
        self._home, self._path = home, home.cache / JOURNAL
        data = self._path.read_bytes() if self._path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        try:
            self.plan = decode(lines[0], Plan) if lines else None
            self.steps = [decode(line, Step) for line in lines[1:]]
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{self._path}: not written by this version ({error}). `wakebook rebuild drop "
                "NAME` removes this rebuild; then begin anew."
            ) from error
        # without the half line that a crash left
        self._whole = whole if len(whole) != len(data) else None

    def begin(self, plan: Plan) -> None:
        self._home.folder(self._home.cache)
        self._home.replace(self._path, msgspec.json.encode(plan) + b"\n")
        self.plan, self.steps, self._whole = plan, [], None

    def add(self, step: Step) -> None:
        if self._whole is not None:  # only now: another process may be writing that line
            self._home.replace(self._path, self._whole)
            self._whole = None
        self._home.append(self._path, msgspec.json.encode(step) + b"\n")
        self.steps.append(step)

    def entries(self) -> list[Entry]:
        return [from_dict(raw) for step in self.steps for raw in step.entries]

    def carried(self) -> set[str]:
        return {name for step in self.steps for name in step.carried}

    def read(self) -> set[str]:
        return {path for step in self.steps for path in step.read}

    def kept(self) -> tuple[str, ...]:
        return tuple(path for step in self.steps for path in step.kept)

    def held(self) -> tuple[str, ...]:
        return tuple(text for step in self.steps for text in step.held)

    def failures(self) -> Counter[str]:
        """Transcript -> how many times it has failed."""
        return Counter(path for step in self.steps for path in step.failed)


class RebuildStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a rebuild stands."""

    name: str
    extractor: str = ""
    began: datetime | None = None
    transcripts: int = 0
    read: int = 0
    complete: bool = False
    note: str = ""  # what is wrong with it


class Site:
    def __init__(self, home: Home, history: History, name: str) -> None:
        if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
            raise GitError(f"{name!r} cannot be a branch: use letters, digits and hyphens.")
        self.name = name
        self.branch = f"{PREFIX}{name}"
        self.before_tag = f"memory/before/extract-{name}"
        self.merged_tag = f"memory/extract/{name}"
        self._main = home
        self.repository = history.required()
        self.folder = home.cache / "rebuild" / name
        self.home = Home(self.folder / self.repository.prefix)

    # --- how it stands -----------------------------------------------------------------

    def commit(self) -> str:
        """The newest commit of the branch; nothing if there is no branch."""
        return self.repository.resolve(f"refs/heads/{self.branch}") or ""

    def merged(self) -> str:
        """The commit that it was merged with, if it was."""
        return self.repository.resolve(f"refs/tags/{self.merged_tag}") or ""

    def there(self) -> bool:
        return (self.folder / ".git").exists()

    def done(self) -> Redone | None:
        """What was built, if it is complete: that is when it is committed."""
        commit = self.commit()
        data = self.repository.show(commit, FILE) if commit else None
        return decode_done(data, f"{self.branch}:{FILE}") if data else None

    def required(self) -> Redone:
        """What was built, with its work tree in place. Raises NotFound."""
        done = self.done()
        if done is None and self.there() and Journal(self.home).plan:
            raise NotFound(
                f"The rebuild {self.name} is not complete. Give the same `wakebook rebuild` again: "
                "it goes on where it was."
            )
        if done is None:
            raise NotFound(
                f"There is no rebuild {self.name} (branch {self.branch}). `wakebook rebuild "
                "--list` shows what there is."
            )
        if not self.there():  # the folder was removed: the branch has everything
            shutil.rmtree(self.folder, ignore_errors=True)
            branches.check_out(self.repository, self.folder, self.branch)
        return done

    def standing(self) -> RebuildStatus:
        done, journal, note = self.done(), None, ""
        if done:
            note = "merged; `--merge` again removes what is left of it" if self.merged() else ""
        elif not self.there():
            note = "its work tree was removed before it was complete"
        elif not self.commit():
            note = "its branch was removed"
        elif (journal := Journal(self.home)).plan is None:
            note = "it was stopped before it began"
        plan = done.plan if done else journal.plan if journal else None
        if plan is None:
            return RebuildStatus(name=self.name, note=note)
        return RebuildStatus(
            name=self.name,
            extractor=plan.extractor,
            began=plan.began,
            transcripts=len(plan.transcripts),
            read=len(journal.read() if journal else plan.transcripts),
            complete=done is not None,
            note=note,
        )

    # --- making and removing -----------------------------------------------------------

    def make(self, base: str) -> None:
        """A branch from `base` with its work tree, where nothing is that could be lost."""
        if self.commit():
            if branches.ahead(self.repository, self.branch, base):
                raise GitError(
                    f"There is a branch {self.branch} that no rebuild has made. Choose another "
                    "--branch, or remove it."
                )
            self.remove()  # a rebuild that was killed before it began
        elif self.folder.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
        self._main.folder(self.folder.parent)
        branches.check_out(self.repository, self.folder, self.branch, base)

    def remove(self) -> str:
        """Without work tree and branch. The commit that the branch was at."""
        return branches.remove(self.repository, self.branch, self.folder)

    def tag(self, name: str, at: str = "HEAD") -> None:
        """Unless it is there: a merge that was killed is merged again."""
        if not self.repository.resolve(f"refs/tags/{name}"):
            self.repository.tag(name, at)

    def relate(self) -> bool:
        """Record in git that the branch is part of the current one, whose files stay as they
        are. Only in the home's own repository: another one's history is its owner's."""
        repository, tip = self.repository, self.commit()
        if not repository.own or not tip or branches.ahead(repository, self.branch) == 0:
            return False
        head, message = repository.head(), f"extract: {self.name} is part of this now"
        made = repository.commit_tree(message, head, tip)
        repository.git("update-ref", "-m", message, "HEAD", made, head)
        return True


def names(home: Home, history: History) -> list[str]:
    """Every rebuild that has a branch or a folder."""
    found = branches.branches(history.required(), f"{PREFIX}*")
    folders = {path.parent.name for path in (home.cache / "rebuild").glob("*/.git")}
    return sorted({one.name.removeprefix(PREFIX) for one in found} | folders)
