"""Share: chosen entries for another person's home, through a remote that both can reach.

The remote's repository holds one file a sender and subject or project, `SENDER/NAME.jsonl`, with
the entries that hold now. Who takes them in finds them in `wakebook review`, with where they came
from: nothing of another person's is told to an agent before it is accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

import msgspec

from wakebook.base.errors import GitError, WakebookError
from wakebook.base.home import Home
from wakebook.history.repository import Repository, run
from wakebook.log import waiting
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry, as_dict, derived_id, from_dict
from wakebook.sync import carry
from wakebook.sync.carry import File
from wakebook.sync.machine import Machine

BRANCH = "refs/heads/shared"
FETCHED = "refs/wakebook/shared"
TIMES = 5
LEFT_OUT = ("transcript", "evidence", "session", "project", "pinned")  # nobody else's business


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    entries: int


def give(
    repository: Repository, remote: str, me: Machine, name: str, entries: Sequence[Entry]
) -> Shared:
    """Put these entries where others can take them. What was there under the name goes."""
    rows = [
        {key: value for key, value in as_dict(one).items() if key not in LEFT_OUT}
        for one in entries
        if one.type != "handoff"
    ]
    if not rows:
        raise WakebookError(f"Nothing holds about {name!r} that could be shared.")
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path = f"{_safe(me.name)}-{me.id}/{_safe(name)}.jsonl"
    for _ in range(TIMES):
        theirs = _fetch(repository, remote)
        blob = carry.keep(repository, path, data)
        files: dict[str, File | None] = {path: File("100644", blob)}
        parents = [theirs] if theirs else []
        commit = carry.commit(repository, files, theirs, f"share {name}", parents)
        try:
            carry.push(repository, remote, {BRANCH: commit})
        except carry.Moved:
            continue
        return Shared(name=name, entries=len(rows))
    raise GitError(f"{remote}: others were faster {TIMES} times. Try again in a moment.")


def take(
    repository: Repository, home: Home, remote: str, me: Machine, chains: Chains
) -> list[Shared]:
    """Have what others share wait for review. Under the lock."""
    commit = _fetch(repository, remote)
    if not commit:
        raise GitError(f"Nobody has shared anything at {remote} yet.")
    found: list[Shared] = []
    for path, one in carry.tree(repository, commit).items():
        sender, _, name = path.removesuffix(".jsonl").partition("/")
        if sender.endswith(f"-{me.id}") or not path.endswith(".jsonl"):
            continue
        data = run(repository.root, ["cat-file", "blob", one.blob]).data
        entries = [e for e in _read(sender, path, data) if e.id not in chains.by_id]
        before = len(waiting.read(home).entries)
        waiting.add(home, entries, {})
        found.append(Shared(name=name, entries=len(waiting.read(home).entries) - before))
    return found


def _read(sender: str, path: str, data: bytes) -> Iterable[Entry]:
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            raw = json.loads(line)
            was = str(raw["id"])
            told = {
                "id": derived_id(f"shared/{sender}", str(raw["type"]), was),
                "session": "manual",
            }
            yield from_dict(
                raw | told | {"by": f"shared by {sender.rpartition('-')[0]}", "replaces": []}
            )
        except (ValueError, KeyError, TypeError, WakebookError) as error:
            raise WakebookError(f"{path}, line {number}: not an entry ({error}).") from error


def _fetch(repository: Repository, remote: str) -> str:
    there = carry.asked(repository, remote)
    if BRANCH not in there:
        return ""
    command = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote]
    run(repository.root, [*command, f"+{BRANCH}:{FETCHED}"], extra=carry.QUIET)
    return repository.resolve(FETCHED) or ""


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unnamed"
