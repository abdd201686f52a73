"""Making a home. Running it again completes what is missing and changes nothing else."""

from __future__ import annotations

import os
import secrets
from importlib import resources

import msgspec

from wakebook import config, git, markdown
from wakebook.errors import GitError, WakebookError
from wakebook.home import FOLDERS, TRACKED, Home

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


def _hooks(repository: git.Repository | None, home: Home) -> list[str]:
    from wakebook.lifecycle import githooks

    if repository is None:
        return []
    try:
        return githooks.install(repository, config.load(home.config))
    except (GitError, OSError) as error:
        return [f"git hooks were not installed: {error}"]


def _start(repository: git.Repository | None, home: Home, notes: list[str]) -> str | None:
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


def _repository(home: Home, notes: list[str], fresh: bool) -> git.Repository | None:
    if not config.load(home.config).git.enabled:
        notes.append("git is switched off in config.toml: nothing is committed.")
        return None
    if not git.installed():
        notes.append("git is not installed: no history is kept. Install it, then run init again.")
        return None
    repository = git.Repository.find(home.root)
    if repository is None:
        return git.Repository.create(home.root)
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
