"""Project: the repository or folder that a conversation was about (projects.json).

It is known by its marks, the strongest first: the git remote, the root commit, the folder. The
first mark that was ever seen is its key, in transcripts and entries. Worktrees share the marks of
their repository, a folder that was moved keeps its root commit, and one that was deleted is still
known by where it was. Folders that say nothing (the user's own, Downloads, an agent's workspace)
are no project.

An OpenClaw agent other than the main one is a project of its own, and closed: see `recall.scope`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from wakebook.base.config import AGENT, Config
from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture.state import Session, why_skipped

# folders that say nothing about the project
GENERIC = frozenset("workspace tmp temp home desktop documents downloads root users".split())
ROOT = "git:"  # and the beginning of the first commit
DIGITS = 16
SECONDS = 5.0  # for git
_WORKTREE = re.compile(r"/\.(?:claude|codex|pi)/worktrees/.*|/\.worktrees/.*")
_URL = re.compile(
    r"(?:[a-z+]+://)?(?:[^@/]*@)?([\w.-]+\.[a-z]{2,}|localhost)(?::\d+(?=/))?[:/](.+)"
)
_REMOTE = re.compile(r'\[remote "([^"]+)"\][^\[]*?\burl\s*=\s*(\S+)')


class Project(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    marks: tuple[str, ...] = ()  # besides its key


class Projects(NamedTuple):
    """Those that the memory knows, by key."""

    known: Mapping[str, Project]

    def of(self, folder: str, agent: str = "") -> str:
        """The key of a folder's project, known or not; empty if it is none."""
        if agent:
            return f"{AGENT}{agent}"
        seen: list[str] = []
        for mark in marks(folder):
            seen.append(mark)
            found = self._with(mark)
            if found and not self._another(found, seen):
                return found
        return seen[0] if seen else ""

    def _with(self, mark: str) -> str:
        ours = (key for key, one in self.known.items() if mark == key or mark in one.marks)
        return next(ours, "")

    def _another(self, key: str, seen: list[str]) -> bool:
        """Whether a stronger mark tells them apart: a fork, or another repository in its place."""
        kinds = {_kind(mark): mark for mark in seen}
        all_ = (key, *self.known[key].marks)
        stronger = (_kind(mark) for mark in seen[:-1])
        return any(
            any(_kind(one) == kind for one in all_) and kinds[kind] not in all_ for kind in stronger
        )

    def with_(self, folder: str, agent: str = "") -> tuple[Projects, str]:
        """With the marks that a folder has now, and its key."""
        key = self.of(folder, agent)
        if not key:
            return self, ""
        now = self.known.get(key) or Project(agent or PurePosixPath(_top(folder) or folder).name)
        fresh = [] if agent else [mark for mark in marks(folder) if mark != key]
        new = [mark for mark in fresh if mark not in now.marks]
        if not new and key in self.known:
            return self, key
        grown = msgspec.structs.replace(now, marks=(*now.marks, *new))
        return Projects({**self.known, key: grown}), key

    def above(self, key: str) -> tuple[str, ...]:
        """The projects in whose folders it lies, if it is a folder: what holds for them, holds for
        it. A folder right below the user's own is about too much."""
        return tuple(filter(_deep, self.around(key)))

    def around(self, key: str) -> tuple[str, ...]:
        """The same with such a folder: what is said of all that is in it holds below it."""
        if _kind(key) != "folder":
            return ()
        return tuple(it for it in self.known if _kind(it) == "folder" and key.startswith(f"{it}/"))

    def name(self, key: str) -> str:
        """How people call it."""
        known = self.known.get(key)
        return known.name if known else key.rpartition("/")[2].removeprefix(AGENT)

    def called(self, wanted: str) -> list[str]:
        """The keys of what a person may mean: a key, a folder, or a name."""
        if "/" in wanted or wanted[:1] == "~":
            marked = self._with(wanted.rstrip("/"))
            folder = os.path.abspath(Path(wanted).expanduser())  # noqa: PTH100
            key = marked or self._with(_folded(folder)) or self.of(folder)
            return [key] if key else []
        low = wanted.casefold()
        return [key for key, one in self.known.items() if low in (one.name.casefold(), key)]

    def mode(self, key: str, modes: Mapping[str, str]) -> str:
        """off, read-only, ask, or nothing: what [projects] says about a project."""
        if not (modes and key):
            return ""
        return next((mode for name, mode in modes.items() if key in self.called(name)), "")

    def mode_of(self, folder: str, agent: str, modes: Mapping[str, str]) -> str:
        """The same for a folder, whose project may have been named before its first session."""
        grown, key = self.with_(folder, agent)
        return grown.mode(key, modes)

    def find(self, wanted: str) -> str:
        """The key of the project that a person names. Raises WakebookError for one that is not
        known, or not the only one of its name."""
        found = self.called(wanted)
        if len(found) == 1:
            return found[0]
        names = ", ".join(found or sorted({one.name for one in self.known.values()})[:20])
        if found:
            raise WakebookError(f"{wanted!r} fits {len(found)} projects: {names}.")
        known = f"It knows {names}." if names else "It knows none yet."
        raise WakebookError(f"The memory knows no project {wanted!r}. {known}")


def project_of(front: Mapping[str, object], projects: Projects, cwd: str = "") -> str:
    """The key of a transcript's project. `cwd`: where it was said, if it does not say so itself."""
    return str(front.get("project") or projects.of(str(front.get("cwd") or cwd)))


def agent_of(session_key: str) -> str:
    """The OpenClaw agent of a session key, if it is not the main one."""
    parts = session_key.split(":")
    agent = parts[1] if parts[0] == "agent" and len(parts) > 2 else ""
    return "" if agent == "main" else agent


def is_project(folder: str) -> bool:
    return any(marks(folder))


def load(home: Home) -> Projects:
    """Read once for each state of the file: a turn asks for it several times."""
    try:
        found = home.projects.stat()
    except FileNotFoundError:
        return Projects({})
    return _read(home.projects, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(8)
def _read(path: Path, state: tuple[int, int, int]) -> Projects:
    try:
        return Projects(decode(path.read_bytes(), dict[str, Project]))
    except FileNotFoundError:
        return Projects({})
    except msgspec.MsgspecError as error:
        raise WakebookError(
            f"{path}: cannot be read ({error}). Correct it, or delete it: it is "
            "made again from the next conversations."
        ) from error


def noted(home: Home, folder: str, agent: str = "") -> str:
    """The key of a conversation's project, which the memory knows from now on. Under the lock."""
    before = load(home)
    after, key = before.with_(folder, agent)
    if after is not before:
        raw = msgspec.to_builtins(dict(after.known))
        home.replace(home.projects, json.dumps(raw, ensure_ascii=False, indent=2) + "\n")
    return key


def skipping(home: Home, config: Config) -> Callable[[Session], str | None]:
    """Says why a session is not kept, or nothing: its kind, its key, or its project's mode."""
    modes = config.projects.values()
    known = load(home) if modes else Projects({})
    mode = cache(lambda folder, agent: known.mode_of(folder, agent, modes))

    def why(session: Session) -> str | None:
        reason = why_skipped(session, config.capture)
        if reason or not modes:
            return reason
        found = mode(session.cwd, agent_of(session.key))
        return f"project {found}" if found in ("off", "read-only") else None

    return why


# --- marks ------------------------------------------------------------------------------------
def marks(folder: str) -> Iterator[str]:
    """What tells the project of a folder from others, the strongest first."""
    if not folder:
        return
    folder = _WORKTREE.sub("", folder.replace(os.sep, "/")).rstrip("/")
    top = _top(folder)
    git = _common(Path(top)) if top else None
    if git and (remote := _remote(git)):
        yield remote
    if git and (root := _root_commit(git, _changed(git))):
        yield f"{ROOT}{root}"
    if git or not _says_nothing(folder):
        yield _folded(top or folder)


def _kind(mark: str) -> str:
    return "root" if mark.startswith(ROOT) else "folder" if mark[:1] in "~/" else "remote"


def _says_nothing(folder: str) -> bool:
    path = PurePosixPath(folder)
    bare = len(path.parts) < 3 or str(path.parent) in ("/home", "/Users")
    return bare or path.name.casefold() in GENERIC or folder == str(Path.home())


def _deep(folder: str) -> bool:
    """Whether it lies at least two folders below the user's own."""
    parts = PurePosixPath(folder).parts
    return len(parts) > (4 if parts[1:2] in (("home",), ("Users",)) else 2)


def _folded(folder: str) -> str:
    """The same for every machine of the user, where it lies below their own folder."""
    own = str(Path.home())
    return f"~{folder[len(own) :]}" if folder.startswith(f"{own}/") else folder


def _top(folder: str) -> str:
    """The folder of the repository around it; the user's own is none."""
    path = Path(folder)
    for one in (path, *path.parents):
        if one == Path.home() or not one.name:
            return ""
        with suppress(OSError):
            if (one / ".git").exists():
                return str(one)
    return ""


def _common(top: Path) -> Path | None:
    """The .git folder that all worktrees of a repository share."""
    git = top / ".git"
    with suppress(OSError, UnicodeDecodeError):
        if git.is_file():
            git = top / git.read_text().partition("gitdir:")[2].strip()
            with suppress(FileNotFoundError):
                return (git / (git / "commondir").read_text().strip()).resolve()
        return git if git.is_dir() else None
    return None


def _remote(git: Path) -> str:
    """origin, or else the first remote, without what differs between ways to reach it."""
    with suppress(OSError, UnicodeDecodeError):
        urls = dict(_REMOTE.findall((git / "config").read_text()))
        url = urls.get("origin") or next(iter(urls.values()), "")
        if found := _URL.fullmatch(url):
            return f"{found[1].lower()}/{found[2].strip('/').removesuffix('.git')}"
    return ""


def _changed(git: Path) -> int:
    with suppress(OSError):
        return (git / "refs" / "heads").stat().st_mtime_ns
    return 0


@lru_cache(256)
def _root_commit(git: Path, head: int) -> str:
    """`head`: another one once there are commits."""
    command = ["git", f"--git-dir={git}", "rev-list", "--max-parents=0", "HEAD"]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, text=True)
        return min(done.stdout.split(), default="")[:DIGITS]
    return ""
