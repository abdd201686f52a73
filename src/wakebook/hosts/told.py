"""Told: what hooks have told a session, and what they can tell a start when time is short.

All of it lies in .cache/told/, and can be deleted: something is then told once more.

    NAME.md           what a session was told and still sees, so that no turn tells it again
    NAME.ASKED.wait   an answer to the event of that moment. It may come too late for its host
    NAME.ASKED.told   the same, once it has arrived: the hook prints it first, and then renames it
    NAME.ASKED-start  before .wait and .told: the same of a start that was told the kept text below
    start-KEY.json    the last answer to a start in one project, told if nothing comes in time

An answer that still waits when the session's next prompt comes did not arrive: that prompt brings
it along. A hook that is short of time loads this module, so it imports next to nothing.
"""

import _thread
import hashlib
import os
from contextlib import suppress

WAKING = ("", "startup", "clear", "compact")  # sources of a session that knows nothing yet
ANYWHERE = "/"  # a folder of no project: what is told there may be told in any
FOLDER = "told"  # in .cache/
KEPT = "-start"  # in the name of an answer that was the last start's
MOST = 200_000  # bytes of what a session was told; older words have mostly been compacted by then
SECONDS = 14 * 86_400.0  # that any of it is kept


class Told:
    def __init__(
        self, cache: str, host: str, session: str, asked: int = 0, *, kept: bool = False
    ) -> None:
        """`asked`: when the host asked, in nanoseconds; whoever brings it the answer says that it
        has arrived. 0: what is noted has arrived. `kept`: the answer is that of the last start,
        and another one may follow."""
        self._folder = f"{cache}/{FOLDER}"
        self._name = _digest(f"{host}/{session}") if session else ""
        self._asked = asked
        self._answer = f"{self._name}.{asked}{KEPT * kept}"

    def before(self) -> str:
        """What has arrived."""
        for name in self._names(".told"):
            with suppress(OSError):
                self.add(self._read(name))
                os.unlink(f"{self._folder}/{name}")  # noqa: PTH108
        return self._read(f"{self._name}.md") if self._name else ""

    def starts(self) -> list[tuple[int, str]]:
        """When starts were told the kept text, and what that was; each once."""
        found: list[tuple[int, str]] = []
        for name in self._names(f"{KEPT}.told"):
            with suppress(OSError):
                text = self._read(name)
                self.add(text)
                os.unlink(f"{self._folder}/{name}")  # noqa: PTH108
                found.append((int(name.split(".")[1].removesuffix(KEPT)), text))
        return found

    def late(self) -> dict[str, str]:
        """What has not arrived, oldest first, each by its name."""
        return {name: self._read(name) for name in self._names(".wait")}

    def begin(self) -> None:
        """The session sees nothing of what it was told before it asked."""
        oldest = (self._asked or _now()) - int(SECONDS * 1e9)
        with suppress(OSError):
            for one in list(os.scandir(self._folder)):
                own = self._name and one.name.startswith(f"{self._name}.")
                if one.stat().st_mtime_ns < (self._asked or _now() if own else oldest):
                    os.unlink(one)  # noqa: PTH108

    def note(self, text: str, *, instead: tuple[str, ...] = ()) -> None:
        """The session is told this; it has the texts of these names in it."""
        if not (self._name and text):
            return
        with suppress(OSError):
            if self._asked:
                _write(f"{self._folder}/{self._answer}.wait", _bytes(text))
            else:
                self.add(text)
            for name in instead:
                os.unlink(f"{self._folder}/{name}")  # noqa: PTH108

    def add(self, text: str) -> None:
        """The session knows this."""
        known = self._read(f"{self._name}.md")
        known = known[-MOST // 2 :] if len(known) > MOST else known
        with suppress(OSError):  # without it something is said twice, that is all
            _write(f"{self._folder}/{self._name}.md", _bytes(known + text))

    @property
    def waiting(self) -> str:
        """The name by which `arrived` knows the answer; empty if there is nothing to say."""
        there = os.path.exists(f"{self._folder}/{self._answer}.wait")  # noqa: PTH110
        return self._answer if there else ""

    def _names(self, end: str) -> list[str]:
        with suppress(OSError):
            if self._name:
                there = sorted(os.listdir(self._folder))  # noqa: PTH208
                return [n for n in there if n.startswith(f"{self._name}.") and n.endswith(end)]
        return []

    def _read(self, name: str) -> str:
        try:
            with open(f"{self._folder}/{name}", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
                return stream.read()
        except OSError:
            return ""


def arrived(cache: str, name: str) -> None:
    """The host has the answer of this name."""
    with suppress(OSError):
        path = f"{cache}/{FOLDER}/{name}"
        os.rename(f"{path}.wait", f"{path}.told")  # noqa: PTH104


def keep_start(cache: str, host: str, folder: str, answer: bytes) -> None:
    """`folder`: where the session was started; its whole repository may be told this. That of
    ANYWHERE is for all places that have none yet."""
    with suppress(OSError):
        _write(_start(cache, host, _place(folder)), answer)


def kept_start(root: str, host: str, folder: str) -> bytes:
    """The last answer to a start there. Nothing from before the settings, or the repository."""
    place = _place(folder)
    settings = os.stat(f"{root}/config.toml").st_mtime_ns  # noqa: PTH116
    for one in (place, ANYWHERE):
        path = _start(f"{root}/.cache", host, one)
        with suppress(OSError), open(path, "rb") as stream:  # noqa: PTH123
            if os.fstat(stream.fileno()).st_mtime_ns >= max(settings, _made(one)):
                return stream.read()
    return b""


def _place(folder: str) -> str:
    """What the folders of a project share, as far as files tell: the .git folder of all worktrees
    and the addresses of its remotes (`capture.project` is exact, and asks git)."""
    top, own = folder.rstrip("/"), os.path.expanduser("~")  # noqa: PTH111
    while top.strip("/") and top != own:
        if os.path.exists(f"{top}/.git"):  # noqa: PTH110
            git = _shared(top)
            with suppress(OSError), open(f"{git}/config", "rb") as stream:  # noqa: PTH123
                lines = (line.strip() for line in stream)
                urls = [line for line in lines if line.startswith(b"url")]
                return os.fsdecode(b"\n".join([os.fsencode(git), *urls]))
            return top
        top = os.path.dirname(top)  # noqa: PTH120
    return folder


def _shared(top: str) -> str:
    """The .git folder of a repository. A worktree has a file that leads there."""
    git = f"{top}/.git"
    with suppress(OSError, ValueError):
        if not os.path.isdir(git):  # noqa: PTH112
            git = os.path.join(top, _line(git).partition("gitdir:")[2].strip())  # noqa: PTH118
        git = os.path.join(git, _line(f"{git}/commondir"))  # noqa: PTH118
    return os.path.realpath(git)


def _line(path: str) -> str:
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123
        return stream.read().strip()


def _made(place: str) -> int:
    """Since when a repository is there: another one may have been in its place."""
    try:
        return os.stat(f"{place.partition(chr(10))[0]}/refs").st_mtime_ns  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def _start(cache: str, host: str, place: str) -> str:
    return f"{cache}/{FOLDER}/start-{_digest(f'{host}/{place}')}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(_bytes(text)).hexdigest()[:24]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _now() -> int:
    from time import time_ns

    return time_ns()


def _write(path: str, data: bytes) -> None:
    """Whole, and not worth a wait for the disk."""
    folder = os.path.dirname(path)  # noqa: PTH120
    os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
    temporary = f"{path}.{os.getpid()}-{_thread.get_ident()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)
    os.replace(temporary, path)  # noqa: PTH105
