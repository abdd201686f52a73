"""Making a home. Running it again completes what is missing and changes nothing else."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import msgspec

from wakebook.base import clock, config, markdown
from wakebook.base.cache import PROSE
from wakebook.base.config import Config
from wakebook.base.errors import GitError, WakebookError
from wakebook.base.home import FOLDERS, TRACKED, Home
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
    put("config.toml", config.as_toml(config.Config()))
    notes += _markers(home)
    if "state.json" not in (home.root / ".gitignore").read_text(encoding="utf-8", errors="replace"):
        notes.append(
            "your .gitignore stays as it is: add state.json trace*.jsonl costs/ .lock .cache/."
        )
    repository = _repository(home, notes, fresh)
    if fresh and os.stat(home.root).st_mode & 0o077:  # noqa: PTH116
        notes.append(f"{home.root} existed already and keeps its permissions (0700 is safer).")
    commit = _start(repository, home, notes)
    notes += _hooks(repository, home)
    return Made(tuple(created), tuple(kept), tuple(notes), commit)


def _hooks(repository: Repository | None, home: Home) -> list[str]:
    from wakebook.history import githooks

    if repository is None:
        return []
    try:
        return githooks.install(repository, config.load(home.config))
    except (GitError, OSError) as error:
        return [f"git hooks were not installed: {error}"]


def _start(repository: Repository | None, home: Home, notes: list[str]) -> str | None:
    """The first commit, or what an earlier run could not commit."""
    if repository is None:
        return None
    try:
        paths = repository.changed(*TRACKED)
        paths += [home.log, home.subjects, home.config]  # also where the user's rules ignore them
        return repository.commit("maintenance", "start this home", paths)
    except GitError as error:
        notes.append(f"git refused the first commit; the next one tries again. {error}")
        return None


def _markers(home: Home) -> list[str]:
    """A MEMORY.md that was here before gets the briefing's markers at its end."""
    text = home.memory.read_bytes().decode("utf-8", "surrogateescape")
    if markdown.block(text, markdown.BRIEFING) is not None:
        return []
    grown = markdown.put(text, markdown.BRIEFING, [])
    home.replace(home.memory, grown.encode("utf-8", "surrogateescape"))
    return ["added the briefing markers at the end of knowledge/memory/MEMORY.md"]


def _repository(home: Home, notes: list[str], fresh: bool) -> Repository | None:
    if not config.load(home.config).git.enabled:
        notes.append("git is switched off in config.toml: nothing is committed.")
        return None
    if not installed():
        notes.append("git is not installed: no history is kept. Install it, then run init again.")
        return None
    repository = Repository.find(home.root)
    if repository is None:
        return Repository.create(home.root)
    if repository.own and not fresh:
        return repository
    if repository.own:
        notes.append(
            "this folder was a repository already: only Wakebook's own files are committed."
        )
    if not repository.own:
        notes.append(
            f"this home lies in your repository {repository.top}: Wakebook commits there, "
            "its own paths only."
        )
    return repository


# -----------------------------------------------------------------------------
# A rehearsal: a command runs on a copy of the home, and no model is asked.
#
# It is how `--dry-run` knows what would be sent: the very same steps happen, rules stand in for
# the answers, and everything that they write goes to the copy, which is thrown away.

NAME = "rehearsal-"
LEFT_SECONDS = 3600.0
COPIED = ("config.toml", "log.jsonl", "subjects.json", "state.json", "prices.toml", PROSE)


@contextmanager
def rehearsal(home: Home, config: Config) -> Iterator[tuple[Home, Config]]:
    """A copy of a home, without git and without an index, and the settings for it."""
    home.folder(home.cache)
    _clear(home)
    with tempfile.TemporaryDirectory(prefix=NAME, dir=home.cache) as folder:
        copy = Home(folder)
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
        quiet = config.with_(
            git=config.git.with_(enabled=False),
            briefing=config.briefing.with_(memory_file=""),
        )
        yield copy, quiet


def _clear(home: Home) -> None:
    """Remove what a killed rehearsal left behind."""
    for left in home.cache.glob(f"{NAME}*"):
        if clock.now().timestamp() - left.stat().st_mtime > LEFT_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _link(path: Path, to: Path) -> None:
    """Transcripts are replaced and never written into, so that a second name is a copy."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:
        shutil.copy2(path, to)
