"""Clone: the files of a home on a new machine, from what other machines have pushed.

They come into a folder beside the new home first, so that a kill leaves no half a home.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from wakebook.base.errors import GitError, WakebookError
from wakebook.base.home import Home
from wakebook.history.repository import Repository, run
from wakebook.sync import carry, sealed
from wakebook.sync.place import is_closed

SECONDS = 600.0


def clone(home: Home, remote: str, key: str = "") -> None:
    """Raises GitError, and has changed nothing then. `key`: of a sealed remote."""
    root = home.root
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise WakebookError(
            f"{root} is there already. `wakebook sync add {remote}` brings an existing home and "
            "a remote together; --home chooses another folder for the new one."
        )
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".wakebook-clone-", dir=root.parent) as folder:
        made = Path(folder) / "home"
        made.mkdir(0o700)
        repository = Repository.create(made)
        commit, branch = _fetched(repository, Home(made), remote, key)
        run(made, ["symbolic-ref", "HEAD", f"refs/heads/{branch}"])
        run(made, ["update-ref", f"refs/heads/{branch}", commit])
        run(made, ["reset", "--hard", "--quiet"], timeout=SECONDS)
        _closed_to_others(made)
        shutil.rmtree(root, ignore_errors=True)
        made.rename(root)


def _fetched(repository: Repository, home: Home, remote: str, key: str) -> tuple[str, str]:
    if key:
        sealed.key(home, key)
        heads = sealed.fetch(repository, home, remote, "", SECONDS)
        newest = ["log", "--no-walk=sorted", "--format=%H", *heads]
        commit = repository.git(*newest).split()[0] if heads else ""
        branch = "main"
    else:
        there = carry.asked(repository, remote)
        names = [name[11:] for name in there if name.startswith("refs/heads/")]
        if "sealed" in names:
            raise GitError(
                f"{remote} is sealed. Give its key: `wakebook sync clone {remote} --key "
                "AGE-SECRET-KEY-…`; `wakebook sync key` on the other machine prints it."
            )
        branch = "main" if "main" in names or not names else names[0]
        repository.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        commit = carry.fetch(repository, remote, SECONDS)
    if not commit or "log.jsonl" not in carry.tree(repository, commit):
        raise GitError(
            f"{remote} holds no Wakebook memory yet. On the machine that has one, run "
            f"`wakebook sync add {remote}`."
        )
    return commit, branch


def _closed_to_others(root: Path) -> None:
    """The modes of a home: nobody else can read it, and closed transcripts are read-only."""
    for path in (root, *root.rglob("*")):
        if ".git" in path.relative_to(root).parts and path.name != ".git":
            continue
        if path.is_dir():
            path.chmod(0o700)
        elif path.is_file() and not path.is_symlink():
            name = path.relative_to(root).as_posix()
            closed = name.startswith("raw/") and is_closed(name, path.read_bytes())
            path.chmod(0o400 if closed else 0o600)
