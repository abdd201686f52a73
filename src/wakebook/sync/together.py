"""Together: this home and a remote come to the same memory. The doer of syncing.

What waits is committed; the remote's commit is fetched; what each file becomes is computed in
memory (`merge`), written, and committed with both as parents; then it is pushed. If another
machine was faster, the same again. A kill at any point loses nothing: what was written already is
found as a change by the next sync, and says the same as the remote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from wakebook.base import clock
from wakebook.base.errors import GitError, NotFound, WakebookError
from wakebook.base.home import TRACKED, Home
from wakebook.capture import state as states
from wakebook.history import leftovers
from wakebook.history.history import History
from wakebook.history.repository import Repository
from wakebook.history.repository import blob as git_name
from wakebook.log import forgotten, keyed
from wakebook.opened import Opened
from wakebook.sync import carry, erasures, machine, merge, place, records, went
from wakebook.sync.carry import File
from wakebook.sync.merge import LOG, RECEIPTS, Outcome

TIMES = 5
MOST = 0.05  # of what there is: if more of it would go, a person is asked
FEW = 20  # of which any share may go
MERGED = "Sync"  # the line of a message that `undo` looks for


class Exchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sync did, or would do."""

    remote: str
    received: int = 0  # entries
    sent: int = 0
    changed: tuple[str, ...] = ()  # files that another machine has changed
    gone: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what a person should look at
    before: str = ""  # our commit before something was received
    commit: str = ""
    dry: bool = False


# Brings the index up to date, and the notes of these files; None: the notes have come as well
After = Callable[[Collection[str] | None], object]


class TooMuch(WakebookError):
    """More would go than looks right."""


def sync(
    opened: Opened,
    history: History,
    remote: str,
    *,
    after: After,
    dry: bool = False,
    even_so: bool = False,
    seconds: float = carry.SECONDS,
) -> Exchange:
    """Bring this home and the remote together; how it went is noted for `status`."""
    home = opened.home
    with home.reading("sync") as alone:
        if not alone:
            raise GitError("Another process is syncing this home. Try again in a moment.")
        try:
            done = _rounds(opened, history, remote, after, dry, even_so, seconds)
        except (GitError, TooMuch) as error:
            if not dry:
                went.failed(home, error)
            raise
    if not dry:
        known, now = went.load(home), clock.now()
        notes = (*known.notes, *done.notes)[-FEW:]
        before, brought = (done.before, now) if done.before else (known.before, known.brought)
        well = went.Went(at=now, commit=done.commit, before=before, brought=brought, notes=notes)
        went.save(home, well)
    return done


def _rounds(
    opened: Opened,
    history: History,
    remote: str,
    after: After,
    dry: bool,
    even_so: bool,
    seconds: float,
) -> Exchange:
    repository = repository_of(history)
    if leftovers.locks(repository):  # of a sync that was killed
        with opened.writing():
            leftovers.heal(repository)
    total = Exchange(remote=remote, dry=dry)
    for _ in range(TIMES):
        if _rewritten(opened.home, remote) and not dry:
            try:
                return _pushed_over(opened, history, repository, remote, after, seconds)
            except carry.Moved:
                continue
        heads = fetched(opened.home, repository, remote, seconds)
        machine.check(repository, remote)
        with opened.writing():
            if not dry:
                commit_waiting(history)
            before = repository.head()
            for theirs in heads:
                total = _plus(
                    total, merged(opened, history, repository, remote, theirs, dry, even_so)
                )
        if dry:
            return msgspec.structs.replace(total, sent=_unsent(opened.home, repository, heads))
        head = repository.head()
        if head != before:
            total = msgspec.structs.replace(total, before=total.before or before)
            # what another machine has merged comes with its notes: two clocks would never agree
            own = head not in heads
            after(total.changed if own else None)
            if own:
                with opened.writing():
                    commit_waiting(history)
        try:
            return _sent(opened.home, repository, remote, heads, total, seconds)
        except carry.Moved:
            continue
    raise GitError(f"{remote}: other machines were faster {TIMES} times. Try again in a moment.")


def _rewritten(home: Home, remote: str) -> bool:
    """Whether our history was written anew by an erase since the last sync."""
    me = machine.this(home)
    return not me.sealed and remote == me.remote and erasures.since(home, went.load(home).at)


def _pushed_over(
    opened: Opened,
    history: History,
    repository: Repository,
    remote: str,
    after: After,
    seconds: float,
) -> Exchange:
    """Put what others have added since on top of our new history, and push that over theirs."""
    home, known = opened.home, went.load(opened.home).commit
    with opened.writing():
        commit_waiting(history)
    there = carry.asked(repository, remote, seconds).get(f"refs/heads/{repository.branch()}", "")
    done = Exchange(remote=remote)
    if there and there != known:
        with erasures.apart(home, repository, remote, seconds) as source, opened.writing():
            base = known if source.resolve(known) else ""
            change = Anew(source=source, base=base, alone=True)
            done = merged(opened, history, repository, remote, there, False, True, change)
        after(done.changed)
        with opened.writing():
            commit_waiting(history)
    return _sent(home, repository, remote, [], done, seconds, over=there)


class Anew(NamedTuple):
    """A merge with a history that was written anew, here or elsewhere."""

    source: Repository  # where both histories can be read
    base: str  # what both had in common before
    alone: bool  # the result follows ours; otherwise theirs


def repository_of(history: History) -> Repository:
    repository = history.required()
    if not repository.own:
        raise GitError(
            f"This home lies in your repository {repository.top}, so it cannot be synced by "
            "itself. Push and pull that repository, or move the home out of it."
        )
    if obstacle := repository.obstacle():
        raise GitError(obstacle)
    return repository


def fetched(home: Home, repository: Repository, remote: str, seconds: float) -> list[str]:
    """The commits that others have: one, or of a sealed remote one of each machine."""
    me = machine.this(home)
    if me.sealed and remote == me.remote:
        from wakebook.sync import sealed

        return sealed.fetch(repository, home, remote, me.id, seconds)
    theirs = carry.fetch(repository, remote, seconds)
    check(repository, remote, theirs)
    return [theirs] if theirs else []


def check(repository: Repository, remote: str, theirs: str) -> None:
    """Refuse what is no memory."""
    if theirs and not {"config.toml", "log.jsonl"} & carry.tree(repository, theirs).keys():
        raise GitError(
            f"{remote} holds something else than a Wakebook memory: it has no config.toml and no "
            "log.jsonl. Make an empty repository for it. Nothing was changed."
        )


def commit_waiting(history: History) -> None:
    """What a person has broken stays out, and is left alone by the merge."""
    try:
        history.now(clock.now(), ask=False)
    except GitError as error:
        if not str(error).startswith("Not committed:"):
            raise


def merged(
    opened: Opened,
    history: History,
    repository: Repository,
    remote: str,
    theirs: str,
    dry: bool,
    even_so: bool,
    change: Anew | None = None,
) -> Exchange:
    """Take in what the remote has. Under the lock."""
    ours, source = repository.head(), change.source if change else repository
    if carry.is_behind(source, theirs, ours):
        return Exchange(remote=remote)
    if change is None and ours and erasures.unknown(repository, ours, theirs):
        base = went.load(opened.home).commit
        change = Anew(repository, base if repository.resolve(base) else "", alone=False)
        even_so = True
    if machine.this(opened.home).sealed and _same(repository, ours, theirs):
        return Exchange(remote=remote)
    trees = [
        _ours_alone(carry.tree(source, commit))
        for commit in (change.base if change else carry.base(source, ours, theirs), ours, theirs)
    ]
    kept = set() if dry else _not_ours(history, opened.home)
    was, mine, other = ({n: f.blob for n, f in tree.items() if n not in kept} for tree in trees)

    read = lru_cache(maxsize=8)(partial(_read, opened.home, source))
    outcome = merge.merge(was, mine, other, read, lambda data: _receipts(opened.home, data))
    _mind(opened.home, outcome, mine, read, even_so)
    done = Exchange(
        remote=remote,
        received=_new(read, mine, outcome),
        changed=tuple(sorted((*outcome.taken, *outcome.written))),
        gone=outcome.gone,
        notes=outcome.notes,
    )
    if dry:
        return done
    if change and change.alone:  # nothing else of theirs may come into our repository
        found = {name: read(name, blob) for name, blob in outcome.taken.items()}
        outcome = outcome._replace(taken={}, written=outcome.written | found)
    files: dict[str, File | None] = {n: trees[2][n] for n in outcome.taken}
    for name, data in outcome.written.items():
        mode = trees[1].get(name) or trees[2][name]
        files[name] = File(mode.mode, carry.keep(repository, name, data))
    files |= dict.fromkeys(outcome.gone)
    ahead = carry.is_behind(repository, ours, theirs) and not (outcome.written or kept)
    told = f"memory: sync with {_short(remote)}\n\n{MERGED}: {theirs}"
    parents = [ours, theirs] if not change else [ours if change.alone else theirs]
    commit = theirs if ahead else carry.commit(repository, files, ours, told, parents)
    place.write(opened.home, repository, files, outcome, read)
    carry.staged(repository, files)
    repository.attempt("update-index", "-q", "--refresh")  # or every status reads them again
    repository.git("update-ref", "-m", "wakebook sync", "HEAD", commit, ours)
    if change and not change.alone:
        erasures.let_go(opened.home, repository)
    return done


def _read(home: Home, repository: Repository, name: str, blob: str) -> bytes:
    """What a file holds; the log as it lies there, if that is it: git takes longer."""
    if name == LOG and home.log.exists():
        data = home.log.read_bytes()
        if git_name(data, blob) == blob:
            return data
    return carry.contents(repository, {name: blob})[name]


def _same(repository: Repository, ours: str, theirs: str) -> bool:
    """Whether two commits hold the same, as two machines that have merged the same may make."""
    return repository.resolve_tree(ours) == repository.resolve_tree(theirs)


def _ours_alone(tree: dict[str, File]) -> dict[str, File]:
    """The files of a memory; what else lies in its repository is left alone."""
    tops = set(TRACKED)
    return {name: one for name, one in tree.items() if name.partition("/")[0] in tops}


def _not_ours(history: History, home: Home) -> set[str]:
    """Files that are not to be touched: still written to, or refused by the checks."""
    still_open = states.load(home).open_transcripts()
    return {home.relative(path) for path in history.waiting()} | set(still_open)


def _receipts(home: Home, data: bytes) -> forgotten.Forgotten:
    return forgotten.parsed(data, home.root / RECEIPTS, keyed.key(home))


def _mind(home: Home, outcome: Outcome, ours: merge.Tree, read: merge.Read, even_so: bool) -> None:
    """Stop before more goes than looks right."""
    if even_so:
        return
    gone = [name for name in outcome.gone if name.startswith(("raw/", "knowledge/", "topics/"))]
    there = sum(1 for name in ours if name.startswith(("raw/", "knowledge/", "topics/")))
    if len(gone) > max(FEW, MOST * there):
        raise TooMuch(
            f"{len(gone)} of {there} files would go, like {gone[0]}. If that is right, run "
            "`wakebook sync --even-so`. Nothing was changed."
        )
    if LOG not in ours or LOG not in outcome.written | outcome.taken:
        return
    old, new = read(LOG, ours[LOG]), _log(outcome, read)
    if new.startswith(old):
        return
    before, left = records.by_id(old), records.by_id(new)
    forgot = _forgotten(home, outcome, ours, read)
    lost = [name for name in before if name not in left and name not in forgot]
    if len(lost) > max(FEW, MOST * len(before)):
        raise TooMuch(
            f"{len(lost)} of {len(before)} entries would go, and nobody has forgotten them. If "
            "that is right, run `wakebook sync --even-so`. Nothing was changed."
        )


def _log(outcome: Outcome, read: merge.Read) -> bytes:
    return outcome.written[LOG] if LOG in outcome.written else read(LOG, outcome.taken[LOG])


def _forgotten(home: Home, outcome: Outcome, ours: merge.Tree, read: merge.Read) -> Collection[str]:
    if RECEIPTS in outcome.written:
        return _receipts(home, outcome.written[RECEIPTS]).ids
    blob = outcome.taken.get(RECEIPTS) or ours.get(RECEIPTS)
    return _receipts(home, read(RECEIPTS, blob)).ids if blob else ()


def _new(read: merge.Read, ours: merge.Tree, outcome: Outcome) -> int:
    """How many entries come to our log."""
    if LOG not in outcome.written and LOG not in outcome.taken:
        return 0
    return records.more(_log(outcome, read), read(LOG, ours[LOG]) if LOG in ours else b"")


def _sent(
    home: Home,
    repository: Repository,
    remote: str,
    heads: Sequence[str],
    total: Exchange,
    seconds: float,
    over: str = "",
) -> Exchange:
    """Push what we have, and say so. `over`: see `carry.push`."""
    ours, me = repository.head(), machine.this(home)
    unsent = _unsent(home, repository, heads)
    refs = {f"refs/heads/{repository.branch()}": ours} if [ours] != heads else {}
    files = repository.resolve_tree(ours)
    known = {one.id: one.files for one in machine.others(repository)}
    name = f"{carry.MACHINES}{me.id}"
    if known.get(me.id) != files:
        entries = home.log.read_bytes().count(b"\n") if home.log.exists() else 0
        refs[name] = machine.said(repository, me, files, entries)
    if me.sealed and remote == me.remote:
        from wakebook.sync import sealed

        if name in refs:
            repository.git("update-ref", name, refs[name])
        sealed.push(repository, home, remote, me.id, seconds)
    elif refs:
        carry.push(repository, remote, refs, over, seconds=seconds)
        if name in refs:
            repository.git("update-ref", name, refs[name])
    sent = unsent if [ours] != heads else 0
    return msgspec.structs.replace(total, commit=ours, sent=sent)


def _unsent(home: Home, repository: Repository, heads: Sequence[str]) -> int:
    """How many entries of ours the others do not have."""
    ours = home.log.read_bytes() if home.log.exists() else b""
    counts: list[int] = []
    for head in heads:
        added = repository.added(head, LOG) if ours else None
        if added is None:
            counts.append(records.more(ours, repository.show(head, LOG) or b""))
        else:
            counts.append(added.count(b"\n"))
    return min(counts, default=ours.count(b"\n"))


def _plus(total: Exchange, done: Exchange) -> Exchange:
    return msgspec.structs.replace(
        total,
        received=total.received + done.received,
        changed=tuple(dict.fromkeys((*total.changed, *done.changed))),
        gone=tuple(dict.fromkeys((*total.gone, *done.gone))),
        notes=(*total.notes, *done.notes),
    )


def _short(remote: str) -> str:
    """A remote without a password that its address may hold."""
    head, at, tail = remote.rpartition("@")
    return f"{head.partition('://')[0]}://{tail}" if at and "://" in head else remote


# --- taking one back ---------------------------------------------------------------------
def take_back(opened: Opened, history: History, remote: str) -> Exchange:
    """Undo what the last sync has brought: every file that it changed is as before, unless it has
    changed since. The history goes on from where it was, so that the next sync brings it again and
    takes nothing from other machines."""
    home, repository, known = opened.home, repository_of(history), went.load(opened.home)
    with opened.writing():
        commit_waiting(history)
        head = repository.head()
        if not known.before or not carry.is_behind(repository, known.before, head):
            raise NotFound("No sync has brought anything that could be taken back.")
        then, brought, now = (
            _ours_alone(carry.tree(repository, commit))
            for commit in (known.before, known.commit, head)
        )
        changed = {
            name for name in then.keys() | brought.keys() if then.get(name) != brought.get(name)
        }
        fine = {name for name in changed if now.get(name) == brought.get(name)}
        files: dict[str, File | None] = {name: then.get(name) for name in sorted(fine)}
        told = f"memory: take back a sync with {_short(remote)}"
        commit = carry.commit(repository, files, head, told, [known.before])
        taken = {name: one.blob for name, one in files.items() if one}
        gone = tuple(name for name, one in files.items() if one is None)
        read = partial(_read, home, repository)
        place.write(home, repository, files, Outcome(taken, {}, gone, {}, ()), read)
        carry.staged(repository, files)
        repository.git("update-ref", "-m", "wakebook undo sync", "HEAD", commit, head)
    went.save(home, msgspec.structs.replace(known, before="", brought=None))
    left = tuple(f"{name} has changed since, and stays as it is" for name in sorted(changed - fine))
    return Exchange(
        remote=remote,
        changed=tuple(sorted(taken)),
        gone=gone,
        notes=left,
        before=known.commit,
        commit=commit,
    )
