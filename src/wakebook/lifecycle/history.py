"""History: what goes into git, and when.

A closed conversation is committed at once. Everything else waits for the next batch, whose
message a model writes from the changes if there is one. The user's own text is committed before
anything near it changes. Git failing never stops the memory: the failure is traced, shown in
`status`, and the next batch tries again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook import git
from wakebook.capture import archive, redact
from wakebook.capture import state as states
from wakebook.config import Config
from wakebook.errors import GitError, ModelError, TranscriptError, WakebookError
from wakebook.home import TRACKED, Home
from wakebook.models import text as tokens

if TYPE_CHECKING:
    from wakebook.models.chat import Models

_TRAILER = re.compile(r"[A-Za-z]+(?:-[a-z]+)*-by:", re.IGNORECASE)  # nobody's word but git's
DIFF_TOKENS = 1500
FILES = 40


class History:
    def __init__(self, home: Home, config: Config, models: Models) -> None:
        self._home = home
        self._config = config
        self._models = models
        self.repository = git.Repository.find(home.root) if config.git.enabled else None

    def note(self) -> str:
        """One line on how things stand, for `status`."""
        if not self._config.git.enabled:
            return "switched off in config.toml"
        if not git.installed():
            return "git is not installed: no history is kept"
        if self.repository is None:
            return "not a repository: run `wakebook init` again"
        last = self.repository.last_commit()
        where = "" if self.repository.own else f" (in your repository {self.repository.top})"
        return (f"{last[2]} [{last[0]}]" if last else "no commit yet") + where

    def waiting(self) -> list[Path]:
        """Changed files that the next batch will take: all but transcripts still written to."""
        if self.repository is None:
            return []
        still_open = self._still_open()
        return [path for path in self.repository.changed(*TRACKED) if path not in still_open]

    def now(self, now: datetime, summary: str = "") -> str | None:
        """Commit what is waiting because somebody asked. Raises GitError if git refuses."""
        if self.repository is None:
            raise GitError(f"Nothing can be committed: {self.note()}.")
        text, body = (summary, "") if summary else self.proposal()
        with self._home.locked():
            paths = self.waiting()
            done = self.repository.commit(self._kind(paths), text or _summary(paths), paths, body)
            self._note_commit(now)
            return done

    def batch(self, now: datetime, ask: bool = True) -> str | None:
        """Commit what is waiting, if the last batch is long enough ago."""
        if self.repository is None or not self._due(now):
            return None
        text, body = self.proposal() if ask else ("", "")  # not under the lock: it takes its time
        with self._home.locked():
            if not self._due(now):
                return None
            paths = self.waiting()
            done = self._commit(self._kind(paths), text or _summary(paths), paths, body)
            self._note_commit(now)
            return done

    def proposal(self) -> tuple[str, str]:
        """A summary of what is waiting, and what else there is to say."""
        paths = self.waiting()
        if self.repository is None or not paths or not self._models.has("commit"):
            return _summary(paths), ""
        try:
            files = "\n".join(self._home.relative(path) for path in paths[:FILES])
            changes, _ = redact.redact(self.repository.diff(self._telling(paths)))
            diff = tokens.cut(changes, DIFF_TOKENS)
            said = self._models.ask("commit", files=files, diff=diff)
        except ModelError:
            return _summary(paths), ""  # traced where it happened
        except WakebookError as error:
            self._home.trace("failure", where="commit message", error=str(error))
            return _summary(paths), ""
        return _formed(said) or (_summary(paths), "")

    def _telling(self, paths: Sequence[Path]) -> list[Path]:
        """What a message can be made from: the log first, and no conversations."""
        root = self._home.root
        kept = [
            path
            for path in paths
            if not path.is_relative_to(root / "raw")
            and not path.is_relative_to(root / "attachments")
        ]
        return sorted(kept, key=lambda path: (path != self._home.log, path == self._home.memory))

    def _due(self, now: datetime) -> bool:
        pause = timedelta(minutes=self._config.git.batch_minutes)
        last = states.load(self._home).committed_at
        return last is None or not last <= now < last + pause

    def _note_commit(self, now: datetime) -> None:
        state = states.load(self._home)
        states.save(self._home, msgspec.structs.replace(state, committed_at=now))

    def conversation(self, path: str) -> None:
        """Commit a transcript that has just been closed."""
        if self.repository is None:
            return
        try:
            topic = str(archive.read(self._home, path).front.get("topic") or path)
        except TranscriptError:
            topic = path
        with self._home.locked():
            self._commit("conversation", topic, [self._home.root / path], f"Session: {path}")

    def leftovers(self) -> None:
        """Commit closed transcripts that a crash kept from being committed."""
        if self.repository is None:
            return
        still_open = self._still_open()
        for path in self.repository.changed("raw/conversations"):
            if path.suffix == ".md" and path.exists() and path not in still_open:
                self.conversation(self._home.relative(path))

    def before_touching(self, path: Path) -> None:
        """The user's own words are in git before anything near them changes."""
        if path.is_relative_to(self._home.root) and path.exists():
            self._commit("memory", f"{path.name} as it was", [path])

    def log(self, summary: str) -> None:
        """Commit the log and the registry, around a rewrite of both."""
        self._commit("maintenance", summary, [self._home.log, self._home.subjects])

    def _commit(self, kind: str, summary: str, paths: Sequence[Path], body: str = "") -> str | None:
        if self.repository is None or not paths:
            return None
        try:
            return self.repository.commit(kind, summary, paths, body)
        except GitError as error:
            self._home.trace("failure", where="git", error=str(error))
            return None

    def _still_open(self) -> set[Path]:
        sessions = states.load(self._home).sessions.values()
        return {self._home.root / item.window.path for item in sessions if item.window}

    def _kind(self, paths: Sequence[Path]) -> str:
        identity = self._home.root / "knowledge" / "identity"
        only = bool(paths) and all(path.is_relative_to(identity) for path in paths)
        return "identity" if only else "memory"


def _summary(paths: Sequence[Path]) -> str:
    names = sorted({path.name for path in paths})
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _formed(said: str) -> tuple[str, str] | None:
    """A model's words as a commit message: a summary, and at most three lines more."""
    lines = [tokens.printable(line) for line in said.split("\n")]
    lines = [line.strip("`\"'* ") for line in lines if not line.startswith("```")]
    lines = [line for line in lines if line and not _TRAILER.match(line)]
    if not lines or lines[0][0] in "{[<":
        return None  # not a sentence
    prefix = rf"^(?:{'|'.join(git.KINDS)})(?:\([^)]*\))?:\s*"
    first = re.sub(prefix, "", lines[0], flags=re.IGNORECASE)
    return (first, "\n".join(line[:100] for line in lines[1:4])) if first else None
