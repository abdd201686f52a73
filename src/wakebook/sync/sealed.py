"""Sealed: a remote that cannot read what it carries.

The remote's repository holds one file a machine and batch, `MACHINE/NUMBER.age`, and nothing else:
a git bundle of the commits that are new since the machine's last one, encrypted with age. Files are
only ever added, so git never has to merge what it cannot read. Every machine opens the others'
bundles with the same key, and merges what is in them like any other commit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from wakebook.base.errors import GitError, WakebookError
from wakebook.base.home import Home
from wakebook.history.repository import Repository, run
from wakebook.sync import carry
from wakebook.sync.carry import File

KEY = "sync.key"  # 0600, not in git
BRANCH = "refs/heads/sealed"
FETCHED = "refs/wakebook/sealed"
OPENED = "refs/wakebook/opened/"  # by machine, what its bundles have brought
TIMES = 5


def _age() -> Any:
    try:
        import pyrage  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as error:
        raise WakebookError(
            "A sealed remote needs the package pyrage: `pip install 'wakebook[sealed]'`."
        ) from error
    return pyrage


def key(home: Home, given: str = "") -> str:
    """The key of this home; a new one if there is none yet. `given`: another machine's."""
    age, path = _age(), home.root / KEY
    if given:
        try:
            age.x25519.Identity.from_str(given.strip())
        except age.IdentityError as error:
            raise WakebookError(
                "That is no key. It begins with AGE-SECRET-KEY-1; `wakebook sync key` on the other "
                "machine prints it."
            ) from error
        home.replace(path, given.strip() + "\n")
    elif not path.exists():
        home.replace(path, str(age.x25519.Identity.generate()) + "\n")
    return path.read_text(encoding="ascii").strip()


def _identity(home: Home) -> Any:
    age = _age()
    path = home.root / KEY
    if not path.exists():
        raise GitError(
            "This home has no key for a sealed remote. `wakebook sync key` makes one; on a second "
            "machine, `wakebook sync key AGE-SECRET-KEY-…` takes over the first one's."
        )
    return age.x25519.Identity.from_str(path.read_text(encoding="ascii").strip())


def fetch(repository: Repository, home: Home, remote: str, me: str, seconds: float) -> list[str]:
    """What other machines have brought: a commit of each. Raises GitError."""
    there = carry.asked(repository, remote, seconds)
    if BRANCH not in there:
        if any(name.startswith("refs/heads/") for name in there):
            raise GitError(f"{remote} is not sealed: it holds something else. Nothing was changed.")
        return []
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head")
    command = ["fetch", *quiet, "--", remote, f"+{BRANCH}:{FETCHED}"]
    run(repository.root, command, extra=carry.QUIET, timeout=seconds)
    files = carry.tree(repository, FETCHED)
    heads: list[str] = []
    for machine in sorted({name.partition("/")[0] for name in files} - {me}):
        mine = sorted(name for name in files if name.startswith(f"{machine}/"))
        heads += _opened(repository, home, machine, {n: files[n].blob for n in mine})
    return heads


def _opened(repository: Repository, home: Home, machine: str, files: dict[str, str]) -> list[str]:
    """The commit that a machine's bundles lead to, after opening those that are new."""
    done = home.cache / "sealed" / machine
    seen = set(done.read_text("ascii").split()) if done.exists() else set()
    ref = f"{OPENED}{machine}"
    for name, blob in files.items():
        if blob in seen and repository.resolve(ref):
            continue
        plain = _unsealed(home, name, run(repository.root, ["cat-file", "blob", blob]).data)
        with tempfile.TemporaryDirectory(prefix="wakebook-sealed-") as folder:
            path = Path(folder) / "bundle"
            path.write_bytes(plain)
            command = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(path)]
            own = f"{carry.MACHINES}{machine}"
            run(repository.root, [*command, f"+refs/wakebook/bundle:{ref}", f"+{own}:{own}"])
        seen.add(blob)
        home.folder(done.parent)
        home.replace(done, " ".join(sorted(seen)))
    commit = repository.resolve(ref)
    return [commit] if commit else []


def _unsealed(home: Home, name: str, data: bytes) -> bytes:
    age = _age()
    try:
        plain: bytes = age.decrypt(data, [_identity(home)])
    except age.DecryptError as error:
        raise GitError(
            f"{name} on the remote cannot be opened with this home's key ({error}). Take over the "
            "key of the machine that made it: `wakebook sync key AGE-SECRET-KEY-…`. Nothing was "
            "changed."
        ) from error
    return plain


def push(repository: Repository, home: Home, remote: str, me: str, seconds: float) -> None:
    """Seal what is new here, with what this machine says of itself, and add it."""
    ours, ref = repository.head(), f"{OPENED}{me}"
    if not ours or repository.resolve(ref) == ours:
        return
    for _ in range(TIMES):
        theirs = repository.resolve(FETCHED) or ""
        files = carry.tree(repository, theirs)
        number = sum(1 for name in files if name.startswith(f"{me}/")) + 1
        name = f"{me}/{number:06}.age"
        blob = carry.keep(repository, name, _sealed(repository, home, ours, ref, me))
        parents = [theirs] if theirs else []
        commit = carry.commit(repository, {name: File("100644", blob)}, theirs, "sealed", parents)
        try:
            carry.push(repository, remote, {BRANCH: commit}, seconds=seconds)
        except carry.Moved:
            fetch(repository, home, remote, me, seconds)
            continue
        repository.git("update-ref", FETCHED, commit)
        repository.git("update-ref", ref, ours)
        return
    raise GitError(f"{remote}: other machines were faster {TIMES} times. Try again in a moment.")


def _sealed(repository: Repository, home: Home, ours: str, ref: str, me: str) -> bytes:
    """A bundle of the commits that this machine has not sent yet."""
    repository.git("update-ref", "refs/wakebook/bundle", ours)
    sent = repository.resolve(ref)
    wanted = ["refs/wakebook/bundle", f"{carry.MACHINES}{me}", *([f"^{sent}"] if sent else [])]
    plain = run(repository.root, ["bundle", "create", "--quiet", "-", *wanted]).data
    data: bytes = _age().encrypt(plain, [_identity(home).to_public()])
    return data
