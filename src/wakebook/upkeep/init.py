"""Init: making a home, and a copy of one for a rehearsal.

Running init again completes what is missing and changes nothing else.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import msgspec

from wakebook.base import config, markdown
from wakebook.base.cache import PROSE
from wakebook.base.config import Config
from wakebook.base.errors import GitError, WakebookError
from wakebook.base.home import FOLDERS, TRACKED, Home
from wakebook.history.history import is_strange
from wakebook.history.repository import Repository, installed

STARTER = {
    "MEMORY.md": "knowledge/memory/MEMORY.md",
    "identity/SOUL.md": "knowledge/identity/SOUL.md",
    "identity/USER.md": "knowledge/identity/USER.md",
    "identity/AGENTS.md": "knowledge/identity/AGENTS.md",
    "identity/TOOLS.md": "knowledge/identity/TOOLS.md",
    "topics/release-day.md": "topics/release-day.md",
    "gitignore": ".gitignore",
    "gitattributes": ".gitattributes",
}
COPIED = (
    *"config.toml log.jsonl subjects.json projects.json state.json prices.toml".split(),
    "waiting.jsonl",
    PROSE,
)


class Made(msgspec.Struct, frozen=True):
    created: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    commit: str | None = None


def init(home: Home) -> Made:
    root = home.root
    if root.exists() and not root.is_dir():
        raise WakebookError(f"{root} is a file. Choose a folder for the home.")
    fresh = not home.exists()
    try:
        home.folder(root)
        if fresh and not any(root.iterdir()):
            root.chmod(0o700)
        for name in FOLDERS:
            home.folder(root / name)
    except OSError as error:
        raise WakebookError(f"{root} cannot be created: {error.strerror}.") from error
    with home.locked():
        return _fill(home, fresh)


def _fill(home: Home, fresh: bool) -> Made:
    created: list[str] = []
    kept: list[str] = []
    notes: list[str] = []

    def put(name: str, text: str) -> None:
        path = home.root / name
        if path.exists():
            kept.append(name)
        else:
            home.replace(path, text)
            created.append(name)

    starter = resources.files("wakebook") / "starter"
    for template, name in STARTER.items():
        put(name, (starter / template).read_text(encoding="utf-8"))
    put("token", secrets.token_urlsafe(32) + "\n")
    put("log.jsonl", "")
    put("subjects.json", "{}\n")
    put("config.toml", config.shipped())
    notes += _markers(home)
    if "state.json" not in (home.root / ".gitignore").read_text(encoding="utf-8", errors="replace"):
        notes.append(
            "your .gitignore stays as it is: add state.json trace*.jsonl costs/ .lock .cache/."
        )
    settings = config.load(home.config)
    repository = _repository(home, settings, notes, fresh)
    if fresh and os.stat(home.root).st_mode & 0o077:  # noqa: PTH116
        notes.append(f"{home.root} existed already and keeps its permissions (0700 is safer).")
    commit, more = _start(repository, home, settings) if repository else (None, [])
    return Made(tuple(created), tuple(kept), (*notes, *more), commit)


def _start(repository: Repository, home: Home, settings: Config) -> tuple[str | None, list[str]]:
    """The first commit, or what an earlier run could not commit; and the hooks."""
    from wakebook.history import githooks

    commit, notes = None, list[str]()
    try:
        paths = repository.changed(*TRACKED)
        paths += [home.log, home.subjects, home.config]  # also where the user's rules ignore them
        commit = repository.commit("maintenance", "start this home", paths)
    except GitError as error:
        notes.append(f"git refused the first commit; the next one tries again. {error}")
    try:
        notes += githooks.install(repository, settings)
    except (GitError, OSError) as error:
        notes.append(f"git hooks were not installed: {error}")
    return commit, notes


def _markers(home: Home) -> list[str]:
    """A MEMORY.md that was here before gets the briefing's markers at its end."""
    text = home.memory.read_bytes().decode("utf-8", "surrogateescape")
    if markdown.block(text, markdown.BRIEFING) is not None:
        return []
    grown = markdown.put(text, markdown.BRIEFING, [])
    home.replace(home.memory, grown.encode("utf-8", "surrogateescape"))
    return ["added the briefing markers at the end of knowledge/memory/MEMORY.md"]


def _repository(home: Home, settings: Config, notes: list[str], fresh: bool) -> Repository | None:
    if not settings.git.enabled:
        notes.append("git is switched off in config.toml: nothing is committed.")
        return None
    if not installed():
        notes.append("git is not installed: no history is kept. Install it, then run init again.")
        return None
    repository = Repository.find(home.root)
    if repository is None or is_strange(home, repository):
        return Repository.create(home.root)
    if not repository.own:
        notes.append(
            f"this home lies in your repository {repository.top}: Wakebook commits there, "
            "its own paths only."
        )
    elif fresh:
        notes.append(
            "this folder was a repository already: only Wakebook's own files are committed."
        )
    return repository


@contextmanager
def rehearsal(home: Home, config: Config) -> Iterator[tuple[Home, Config]]:
    """A copy of a home, without git and without an index, and the settings for it.

    It is how `--dry-run` knows what would be sent: the very same steps happen, no model is asked,
    rules stand in for the answers, and everything that they write goes to the copy.
    """
    with home.scratch("rehearsal-") as copy:
        with home.locked():
            for name in COPIED:
                if (home.root / name).exists():
                    copy.folder((copy.root / name).parent)
                    shutil.copy2(home.root / name, copy.root / name)
            for name in ("prompts", "knowledge/memory"):
                if (home.root / name).is_dir():
                    shutil.copytree(home.root / name, copy.root / name)
            for path in home.conversations.glob("*/*/*/*.md"):
                _link(path, copy.root / home.relative(path))
        yield (
            copy,
            config.with_(
                git=config.git.with_(enabled=False),
                briefing=config.briefing.with_(memory_file=""),
            ),
        )


def _link(path: Path, to: Path) -> None:
    """Transcripts are replaced and never written into, so that a second name is a copy."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:
        shutil.copy2(path, to)
