"""History: what goes into git, and when.

A closed conversation is committed at once. Everything else waits for the next batch, whose
message a model writes from the changes if there is one. The user's own text is committed before
anything near it changes, and a rewrite stands between two commits. Git failing never stops the
memory: the failure is traced, shown in `status`, and the next batch tries again. While the user
is in the middle of a merge nothing is committed and nothing of theirs is touched.

A rewrite that is under way stands in .cache/rewriting.json, from before the first file changes
until the rewrite has its commit. If that commit fails, or the process is killed, the next one
finds it there and makes the commit first: so a rewrite is never committed among other things,
without the line that `undo` looks for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import msgspec

from wakebook.base import clock, text
from wakebook.base.config import Config
from wakebook.base.decode import decode
from wakebook.base.errors import GitError, ModelError, TranscriptError, WakebookError
from wakebook.base.home import TRACKED, Home
from wakebook.base.text import one_line
from wakebook.capture import archive, secrets, state
from wakebook.history import leftovers, push
from wakebook.history.githooks import check, is_closed
from wakebook.history.repository import KINDS, Repository, installed
from wakebook.log.entry import Entry, counted
from wakebook.log.entry import decode as decode_entry

if TYPE_CHECKING:
    from wakebook.models.chat import Models

_TRAILER = re.compile(r"(?:[A-Za-z]+(?:-[a-z]+)*-by|rewrite|reverts):", re.IGNORECASE)  # not theirs
DIFF_TOKENS = 1500
SECONDS = 15.0  # for a model's message: then it is the plain one, because others wait
FILES = 40
REWRITE = "Rewrite"  # the line of a message that `undo` looks for
SETTINGS = ("config.toml", "prices.toml", ".gitignore", ".gitattributes", "prompts")
OTHER = {"knowledge": "archive", "archive": "knowledge"}  # where a note moves to
_under_way: WeakSet[Home] = WeakSet()  # a home that is locked has one object, and one thread
NAMED, SESSIONS = 3, 5  # files of a commit, and conversations, that its message names
LEARNED, LINE = 8, 100  # entries that it tells, and the characters of each
WEIGHT = ("decision", "fact", "task", "question", "handoff")
FOLDERS = {
    "projects": "projects", "people": "people", "procedures": "procedures", "topics": "topics",
    "reference": "reference", "journal": "journal", "identity": "identity", "archive": "archived",
    "conversations": "conversations", "memory": "memory", "attachments": "attachments",
}  # fmt: skip


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """A rewrite without its commit."""

    kind: str
    summary: str
    name: str
    paths: tuple[str, ...]  # relative to the home

    def files(self, home: Home) -> list[Path]:
        """What is to be committed: also where a note has moved to, if that was not recorded."""
        found = [home.root / name for name in self.paths]
        for path in [path for path in found if not path.exists()]:
            top, _, rest = home.relative(path).partition("/")
            target = home.root / OTHER.get(top, top) / rest
            found += [target] if target not in found and target.exists() else []
        return found


def is_strange(home: Home, repository: Repository) -> bool:
    """Whether a repository around the home is not the home's: the home had one of its own, and
    nothing of the home is in this one. Its .git is gone then, and git has looked further out."""
    if repository.own or not state.load(home).own_history:
        return False
    return not repository.kept([home.config.name, home.log.name])


class History:
    def __init__(
        self, home: Home, config: Config, models: Models, repository: Repository | None = None
    ) -> None:
        """`repository`: the home's, if it has been found already."""
        self.home, self.config, self._models = home, config, models
        self.repository = repository
        self._unfinished = home.cache / "rewriting.json"
        if repository is None and config.git.enabled:
            found = Repository.find(home.root)
            self.repository = None if found and is_strange(home, found) else found

    # --- how things stand --------------------------------------------------------------

    def required(self) -> Repository:
        """The repository, for what cannot be done without one."""
        if self.repository is None:
            raise GitError(f"That needs the home's history in git: {self.note()}.")
        return self.repository

    def note(self) -> str:
        """One line on how things stand, for `status`."""
        if not self.config.git.enabled:
            return "switched off in config.toml"
        if not installed():
            return "git is not installed: no history is kept"
        if self.repository is None:
            return "not a repository: run `wakebook init` again"
        last, top = self.repository.last_commit(), self.repository.top
        where = "" if self.repository.own else f" (in your repository {top})"
        standing = self.repository.state()
        if standing == "detached":
            where += f"; on no branch (detached HEAD): `git -C {top} switch -c NAME` "
            where += "keeps what is committed here"
        elif standing != "clean":
            where += f"; {standing}: nothing is committed until that is over"
        return (f"{last[2]} [{last[0]}]" if last else "no commit yet") + where

    def problems(self) -> list[str]:
        """What keeps the history from being written or pushed right now."""
        if self.repository is None or not self.repository.folder.is_dir():
            return self._gone()
        found = [self.repository.obstacle(), push.problem(self.home, self.config, self.repository)]
        found += leftovers.problems(self.repository)
        found += [f"not committed: {reason}" for reason in self._sorted(self.waiting())[1]]
        return [problem for problem in found if problem]

    def _gone(self) -> list[str]:
        if not self.config.git.enabled or not installed():
            return []  # by choice, and `note` says so
        return [
            f"{self.home.root} has no git repository: nothing is committed, and what was is gone "
            "with it. Put .git back from a copy, or `wakebook init` begins a new history."
        ]

    def rewritten(self) -> list[tuple[str, str]]:
        """Closed transcripts that differ from their sum in git, and how."""
        if self.repository is None or not self.repository.folder.is_dir():
            return []
        found: list[tuple[str, str]] = []
        for path in self.repository.changed("raw/conversations"):
            name = self.home.relative(path)
            if is_closed(self.repository.show("HEAD", name)):
                done = "was changed" if path.exists() else "was removed"
                note = f"{name} {done} after it was closed. `git -C {self.home.root} checkout HEAD "
                found.append((name, f"{note}-- {name}` brings it back"))
        return found

    def over(self) -> dict[str, str]:
        """When git last did well: its earlier failures are over, and those of the commit job."""
        last = self.repository.last_commit() if self.repository else None
        at = clock.parse(last[1]) if last else None
        if at is None:
            return {}
        job = state.load(self.home).jobs.get("commit")
        fine = max(at, job.ended) if job and job.outcome == "ok" else at
        return {"git": clock.iso(at), "job commit": clock.iso(fine)}

    def waiting(self) -> list[Path]:
        """Changed files that the next batch will take: all but transcripts still written to."""
        return self._changed(*TRACKED)

    def _changed(self, *below: str) -> list[Path]:
        if self.repository is None:
            return []
        still_open = state.load(self.home).open_transcripts()
        changed = self.repository.changed(*below)
        return [path for path in changed if self.home.relative(path) not in still_open]

    # --- commits -----------------------------------------------------------------------

    def now(self, now: datetime, summary: str = "", ask: bool = True) -> str | None:
        """Commit what is waiting at once. Raises GitError if git refuses. What the checks refuse
        stays out; the rest is committed all the same."""
        if self.repository is None:
            raise GitError(f"Nothing can be committed: {self.note()}.")
        if obstacle := self.repository.obstacle():
            raise GitError(obstacle)
        said = (summary, "") if summary or not ask else self.proposal()
        with self.home.locked():
            finished = self.finish()
            paths, refused = self._sorted(self.waiting())
            title, body = self._message(paths, *said)
            done = self.repository.commit(self._kind(paths), title, paths, body) or finished
            self._note_commit(now)
        push.start(self.home, self.config, self.repository, now)
        if refused:
            rest = f" Everything else is committed ({done})." if done else ""
            raise GitError("Not committed: " + " ".join(refused) + rest)
        return done

    def batch(self, now: datetime, ask: bool = True) -> str | None:
        """Commit what is waiting, if the last batch is long enough ago."""
        if self.repository is None:
            return None
        done = None
        if self._due(now):
            ask = ask and self._models.has("commit") and not self.repository.obstacle()
            said = self.proposal() if ask else ("", "")  # not under the lock: it takes time
            with self.home.locked():
                if self._due(now):
                    paths = self.waiting()
                    title, body = self._message(paths, *said)
                    done = self._commit(self._kind(paths), title, paths, body)
                    self._note_commit(now)
        push.start(self.home, self.config, self.repository, now)
        return done

    def _due(self, now: datetime) -> bool:
        pause = timedelta(minutes=self.config.git.batch_minutes)
        last = state.load(self.home).committed_at
        return last is None or not last <= now < last + pause

    def _note_commit(self, now: datetime) -> None:
        known = state.load(self.home)
        own = self.repository is not None and self.repository.own
        after = msgspec.structs.replace(known, committed_at=now, own_history=own)
        state.save(self.home, after)

    def proposal(self) -> tuple[str, str]:
        """What a model says about what is waiting: a summary, and what else there is to say."""
        plain = ("", "")
        if self.repository is None or not self._models.has("commit"):
            return plain
        paths = self.waiting()
        if set(paths) <= {self.home.projects}:  # nothing, or nothing to speak of
            return plain
        try:
            files = "\n".join(self.home.relative(path) for path in paths[:FILES])
            changes, _ = secrets.redact(self.repository.diff(self._telling(paths)))
            said = self._models.ask(
                "commit", SECONDS, files=files, diff=text.cut(changes, DIFF_TOKENS)
            )
        except ModelError:
            return plain  # traced where it happened
        except WakebookError as error:
            self.home.trace("failure", where="commit message", error=str(error))
            return plain
        return _formed(said) or plain

    def _message(self, paths: Sequence[Path], said: str, body: str) -> tuple[str, str]:
        """A commit's summary and body: what was said about it, or else what was learned; and the
        conversations that it was learned from."""
        entries = self._learned() if self.home.log in paths else []
        if not said and entries:
            said, body = _told(entries)
        found = dict.fromkeys(one.transcript for one in entries if one.transcript)
        lines = [f"Session: {path}" for path in list(found)[:SESSIONS]]
        more = len(found) - SESSIONS
        lines += [f"and {more} more session{'s' if more > 1 else ''}"] if more > 0 else []
        parts = [part for part in (body, "\n".join(lines)) if part]
        return said or _summary(paths), "\n\n".join(parts)

    def _learned(self) -> list[Entry]:
        """The entries that the log has more than at the last commit."""
        found: dict[str, Entry] = {}
        known = set()
        added = self.required().added("HEAD", self.home.relative(self.home.log))
        if added is None:
            lines = self.required().diff([self.home.log]).split("\n")
        else:
            lines = [f"+{line}" for line in added.decode("utf-8", "replace").split("\n")]
        for line in lines:
            with suppress(WakebookError):
                if line[1:2] == "{":
                    entry = decode_entry(line[1:].encode())
                    known |= {entry.id} if line[0] == "-" else set()
                    found |= {entry.id: entry} if line[0] == "+" else {}
        return [entry for entry in found.values() if entry.id not in known]

    def _telling(self, paths: Sequence[Path]) -> list[Path]:
        """What a message can be made from: the log first, and no conversations."""
        kept = [one for one in paths if not _is_in(self.home.relative(one), "raw", "attachments")]
        return sorted(kept, key=lambda path: (path != self.home.log, path == self.home.memory))

    def conversation(self, path: str) -> None:
        """Commit a transcript that has just been closed."""
        if self.repository is None:
            return
        try:
            topic = str(archive.read(self.home, path).front.get("topic") or path)
        except TranscriptError:
            topic = path
        with self.home.locked():
            self._commit("conversation", topic, [self.home.root / path], f"Session: {path}")

    def leftovers(self) -> None:
        """Commit closed transcripts that a crash kept from being committed."""
        for path in self._changed("raw/conversations"):
            if path.suffix == ".md" and path.exists():
                self.conversation(self.home.relative(path))

    def before_touching(self, paths: Sequence[Path]) -> None:
        """The user's own words are in git before anything near them changes."""
        ours = [one for one in paths if one.is_relative_to(self.home.root) and one.exists()]
        if self.repository is None or self.repository.has_all(ours):
            return
        names = f"{ours[0].name} as it was" if len(ours) == 1 else f"{len(ours)} notes as they were"
        self._commit("memory", names, ours, checked=False)

    def renamed(self, paths: Sequence[Path]) -> None:
        """Commit transcripts under their other names: the checks would not let them go."""
        self._commit("maintenance", "transcripts under other names", paths, checked=False)

    def log(self, summary: str, *more: Path) -> None:
        """Commit the log, the registry and more, around a rewrite of them."""
        self._commit("maintenance", summary, [self.home.log, self.home.subjects, *more])

    def backup(self, summary: str, paths: Sequence[Path]) -> str | None:
        """Commit files as they are, whatever the checks say. Raises GitError if that fails."""
        if self.repository is None or not paths:
            return None
        self.finish()
        return self.repository.commit(self._kind(paths), summary, paths)

    def _commit(
        self, kind: str, summary: str, paths: Sequence[Path], body: str = "", checked: bool = True
    ) -> str | None:
        """Commit files, as far as the checks allow. A failure is traced, and stops nothing."""
        if self.repository is None or not paths:
            return None
        try:
            self.finish()
            fine, refused = self._sorted(paths) if checked else (list(paths), [])
            for reason in refused:
                self._failed(f"not committed: {reason}")
            return self.repository.commit(kind, summary, fine, body)
        except GitError as error:
            self._failed(str(error))
            return None

    def _failed(self, error: str) -> None:
        self.home.trace("failure", where="git", error=error)

    def _sorted(self, paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
        """Those that may be committed, and why the others may not."""
        repository = self.required()
        named = {self.home.relative(path): path for path in paths}
        found = check(
            named,
            lambda name: _bytes(named[name]),
            lambda name: repository.show("HEAD", name),
            self.config.notes,
        )
        refused = {problem.path: str(problem) for problem in found if problem.refused}
        fine = [path for name, path in named.items() if name not in refused]
        return fine, list(refused.values())

    def _kind(self, paths: Sequence[Path]) -> str:
        """The type of a commit: what all of its paths have in common."""
        names = [self.home.relative(path) for path in paths]
        moved = [_is_in(self.home.relative(one), "archive") or not one.exists() for one in paths]
        if names and all(_is_in(name, "knowledge/identity") for name in names):
            kind = "identity"
        elif names and all(_is_in(name, "raw") for name in names):
            kind = "conversation"
        elif names and (all(moved) or all(_is_in(name, *SETTINGS) for name in names)):
            kind = "maintenance"
        else:
            kind = "memory"
        return self._on_branch(kind)

    def _on_branch(self, kind: str) -> str:
        """Whatever is committed on explore/... or extract/... is called after it."""
        branch = self.repository.branch() if self.repository else ""
        special = branch.partition("/")[0] if "/" in branch else ""
        return special if special in ("explore", "extract") else kind

    # --- rewrites ----------------------------------------------------------------------

    @contextmanager
    def rewrite(
        self, kind: str, summary: str, paths: Sequence[Path], name: str = ""
    ) -> Iterator[list[Path]]:
        """Around a rewrite of some files, under the writer lock.

        They are committed as they are before the block, and as they became after it, with a
        line that `undo` looks for. The block may add further paths to the list. If the first
        commit fails, GitError comes before anything was rewritten; if the second one does, it is
        made before the next one of any kind. Without git, only the block.
        """
        touched = list(paths)
        self.finish()
        self.backup(f"before {summary}", touched)
        if self.repository is None:
            yield touched
            return
        kind, line = self._on_branch(kind), " ".join((name or summary).split())

        def record() -> None:
            names = tuple(self.home.relative(path) for path in dict.fromkeys(touched))
            found = Unfinished(kind=kind, summary=summary, name=line, paths=names)
            self.home.replace(self._unfinished, msgspec.json.encode(found))

        record()
        _under_way.add(self.home)
        try:
            yield touched
        finally:
            _under_way.discard(self.home)
            record()
        try:
            self.finish()
        except GitError as error:
            self._failed(str(error))

    def finish(self) -> str | None:
        """Commit a rewrite whose own commit failed, or whose process was killed, by itself. Before
        anything else is committed, under the writer lock. Raises GitError."""
        if self.repository is None or self.home in _under_way:
            return None
        try:
            found = decode(self._unfinished.read_bytes(), Unfinished)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None
        body, files = f"{REWRITE}: {found.name}", found.files(self.home)
        done = self.repository.commit(found.kind, found.summary, files, body)
        self._unfinished.unlink(missing_ok=True)
        return done


def _is_in(name: str, *folders: str) -> bool:
    return any(name == folder or name.startswith(f"{folder}/") for folder in folders)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:  # it is gone, or a folder stands in its place
        return None


def _told(entries: Sequence[Entry]) -> tuple[str, str]:
    """What was learned as a commit's message: the weightiest in its first line, more below it."""
    ranked = sorted(entries, key=lambda one: WEIGHT.index(one.type))
    lines = [f"- {one.type}: {one_line(one.content, LINE)}" for one in ranked[:LEARNED]]
    rest = ranked[LEARNED:]
    lines += [f"- and {counted(rest)} more"] if rest else []
    return ranked[0].content, "\n".join(lines) if len(ranked) > 1 else ""


def _summary(paths: Sequence[Path]) -> str:
    """By name, or by how many there are of a kind: log.jsonl, 12 projects, 3 journal."""
    names = sorted({path.name for path in paths}, key=lambda name: (name != "log.jsonl", name))
    if len(names) <= NAMED:
        return ", ".join(names)
    counts = Counter(map(_kind_of, paths))
    alone = [name for name in counts if name.endswith((".jsonl", ".json", ".md", ".toml"))]
    kinds = [f"{counts[name]} {name}" for name in sorted(counts) if name not in alone]
    return ", ".join([*sorted(alone, key=lambda name: name != "log.jsonl"), *kinds])


def _kind_of(path: Path) -> str:
    """The folder of knowledge that a file is in, or its own name."""
    for folder in path.parts[-2::-1]:
        if folder in FOLDERS:
            return FOLDERS[folder]
    return path.name


def _formed(said: str) -> tuple[str, str] | None:
    """A model's words as a commit message: a summary, and at most three lines more."""
    lines = [text.printable(line) for line in said.split("\n")]
    lines = [line.strip("`\"'* ") for line in lines if not line.startswith("```")]
    lines = [line for line in lines if line and not _TRAILER.match(line)]
    if not lines or lines[0][0] in "{[<":
        return None  # not a sentence
    prefix = rf"^(?:{'|'.join(KINDS)})(?:\([^)]*\))?:\s*"
    first = re.sub(prefix, "", lines[0], flags=re.IGNORECASE)
    return (first, "\n".join(line[:100] for line in lines[1:4])) if first else None
