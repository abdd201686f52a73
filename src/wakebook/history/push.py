"""Push: the history on another machine, if config.toml names a remote.

No command waits for it: a child process pushes, and how that went stands in .cache/push.json.
After a failure the next attempt comes 1, 2, 4 … 60 minutes later. `status` tells of a push that
fails, with the reason, until one succeeds.
"""

import hashlib
import subprocess
import sys
from datetime import datetime, timedelta

import msgspec

from wakebook.base.config import Config
from wakebook.base.decode import decode
from wakebook.base.errors import GitError
from wakebook.base.home import Home
from wakebook.history.repository import Repository, environment, run

FILE = "push.json"
TIMEOUT = 120.0  # seconds
TAGS = "refs/tags/memory/*:refs/tags/memory/*"
LONGEST = 60  # minutes between two attempts
SHOWN = 300  # characters of what git says


class Pushed(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the last push went."""

    mark: str = ""  # what the remote has
    at: datetime | None = None  # when that was pushed
    failures: int = 0  # since then
    failed_at: datetime | None = None
    since: datetime | None = None
    error: str = ""

    @property
    def again_at(self) -> datetime | None:
        """The next attempt comes no earlier than this."""
        if not self.failures or self.failed_at is None:
            return None
        return self.failed_at + timedelta(minutes=min(2 ** min(self.failures - 1, 6), LONGEST))


def load(home: Home) -> Pushed:
    try:
        return decode((home.cache / FILE).read_bytes(), Pushed)
    except (OSError, msgspec.MsgspecError):
        return Pushed()


def due(home: Home, config: Config, repository: Repository, now: datetime) -> bool:
    """Whether there is something to push, and it is time to."""
    if not config.git.push or not repository.own:
        return False
    known = load(home)
    later = known.again_at
    if later is not None and known.failed_at is not None and known.failed_at <= now < later:
        return False
    return bool(repository.head()) and known.mark != _mark(config, repository)


def start(home: Home, config: Config, repository: Repository, now: datetime) -> bool:
    """Push in a process of its own, if it is due. Whether it was started."""
    if not due(home, config, repository, now):
        return False
    wakebook = [sys.executable, "-P", "-m", "wakebook", "--home", str(home.root)]
    try:
        subprocess.run(  # the shell ends at once and leaves the push to itself
            ["/bin/sh", "-c", '"$@" &', "sh", *wakebook, "git-hook", "push"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=environment(),
            check=False,
        )
    except OSError as error:
        _note_failure(home, config, f"no process could be started: {error}", now)
        return False
    return True


def push(home: Home, config: Config, repository: Repository, now: datetime) -> Pushed:
    """Push now, unless another process does. Never raises what git says: it is noted."""
    with home.reading("push") as alone:
        if not alone or not due(home, config, repository, now):
            return load(home)
        mark = _mark(config, repository)  # before: what is committed meanwhile is pushed next
        try:
            _send(repository, config.git.push)
        except GitError as error:
            return _note_failure(home, config, str(error), now)
        return _save(home, Pushed(mark=mark, at=now))


def _send(repository: Repository, remote: str) -> None:
    """Send the current branch and the memory/ tags. Nothing is ever forced."""
    branch = repository.branch()
    if not branch:
        raise GitError(f"{repository.top} is on no branch (detached HEAD): nothing was pushed.")
    wanted = [f"refs/heads/{branch}:refs/heads/{branch}"]
    wanted += [TAGS] if repository.tags("memory/") else []
    command = ["push", "--quiet", "--no-progress", "--", remote, *wanted]
    run(repository.root, command, extra={"SSH_ASKPASS_REQUIRE": "never"}, timeout=TIMEOUT)


def problem(home: Home, config: Config, repository: Repository) -> str:
    """What is wrong with pushing, for `status`."""
    if not config.git.push:
        return ""
    if not repository.own:
        return (
            f"[git] push: this home lies in your repository {repository.top}; what is in there is "
            "yours to push."
        )
    known = load(home)
    if not known.failures:
        return ""
    since = f"since {known.since:%Y-%m-%d %H:%M}" if known.since else ""
    times = f"{known.failures} times" if known.failures > 1 else "once"
    return f"pushing to {config.git.push} failed {times} {since}: {known.error}"


def _note_failure(home: Home, config: Config, error: str, now: datetime) -> Pushed:
    known = load(home)
    said = " ".join(error.split())[:SHOWN]
    if said != known.error:  # a failure that repeats itself is traced once
        home.trace("push", remote=config.git.push, error=said)
    count, since = known.failures + 1, known.since or now
    failed = msgspec.structs.replace(known, failures=count, failed_at=now, since=since, error=said)
    return _save(home, failed)


def _save(home: Home, pushed: Pushed) -> Pushed:
    home.replace(home.cache / FILE, msgspec.json.encode(pushed))
    return pushed


def _mark(config: Config, repository: Repository) -> str:
    """Changes with everything that a push would send."""
    tags = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/tags/memory/")
    text = f"{repository.branch()} {repository.head()}\n{repository.attempt(*tags).text}"
    return f"{config.git.push} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
