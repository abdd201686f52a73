"""What a home holds: the log, the history, the index, the notes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from wakebook.base.home import Home
from wakebook.history import push
from wakebook.history.history import History
from wakebook.history.repository import Repository, installed
from wakebook.log.chains import Chains
from wakebook.log.log import Ledger
from wakebook.notes.knowledge import Knowledge
from wakebook.recall.topics.topic import Read
from wakebook.store.index import IndexStatus
from wakebook.upkeep.doctor import Check, to_edit, to_run

SHOWN = 5  # of the same kind


def log(home: Home, ledger: Ledger) -> Iterator[Check]:
    yield from _lines(home, ledger)
    yield from _chains(home, ledger.chains())


def _lines(home: Home, ledger: Ledger) -> Iterator[Check]:
    name, bad = "log: lines", ledger.bad()
    if not home.log.exists():
        back = shlex.join(["git", "-C", str(home.root), "checkout", "HEAD", "--", home.log.name])
        yield Check(name, "fail", "log.jsonl is gone. Git has it as it was committed last", back)
        return
    torn = bad[-1] if bad and _is_torn(home) else None
    if torn:
        said = f"line {torn.number} is half written, as a crash leaves it. The next thing that is "
        said += "remembered moves it to log.torn"
        yield Check("log: torn line", "note", said, to_run(home, "remember", "TEXT"))
        bad = bad[:-1]
    for one in bad[:SHOWN]:
        said = f"log.jsonl line {one.number}: {one.reason}. It is left out"
        yield Check(name, "fail", said, to_edit(home.log, one.number))
    if len(bad) > SHOWN:
        yield Check(name, "fail", f"and {len(bad) - SHOWN} more such lines", to_edit(home.log))
    if not bad:
        yield Check(name, "ok", f"{len(ledger.chains().by_id):,} entries, every line is valid")
    kept = home.root / "log.torn"
    if kept.exists():
        said = "log.torn holds half-written lines that a crash left; the log itself is whole"
        yield Check("log: torn line", "note", said, shlex.join(["cat", str(kept)]))


def _is_torn(home: Home) -> bool:
    return not home.log.read_bytes()[-1:].endswith(b"\n")


def _chains(home: Home, chains: Chains) -> Iterator[Check]:
    name = "log: chains"
    wrong = [
        Check(name, "warn", f"entry {entry} replaces {missing}, which is not in the log", run)
        for entry, missing in chains.dangling
        if (run := to_run(home, "show", entry))
    ]
    for circle in chains.cycles:
        said = f"entries replace each other in a circle: {' -> '.join(circle)}"
        wrong.append(Check(name, "warn", said, to_edit(home.log)))
    for identity in chains.repeated:
        said = f"entry {identity} stands in the log more than once; the first one counts"
        wrong.append(Check(name, "warn", said, to_edit(home.log)))
    if not wrong:
        wrong = [Check(name, "ok", f"{len(chains.replaced_by):,} entries replaced by newer ones")]
    yield from wrong


def history(found: History) -> Iterator[Check]:
    home, name = found.home, "git: repository"
    if not found.config.git.enabled:
        yield Check(name, "note", f"{found.note()}: no history is kept", to_edit(home.config))
    elif not installed():
        run = f"# install git, then: {to_run(home, 'init')}"
        yield Check(name, "warn", found.note(), run)
    elif found.repository is None:
        yield Check(name, "warn", "the home is no repository", to_run(home, "init"))
    else:
        yield from _repository(found, found.repository)


def _repository(found: History, repository: Repository) -> Iterator[Check]:
    home, top = found.home, shlex.quote(str(repository.top))
    obstacle, detached = repository.obstacle(), not repository.branch()
    if obstacle:
        yield Check("git: repository", "warn", obstacle, f"git -C {top} status")
    elif detached:
        run = f"git -C {top} switch -c NAME"
        yield Check("git: repository", "warn", "on no branch (detached HEAD)", run)
    else:
        yield Check("git: repository", "ok", found.note())
    unpushed = push.problem(home, found.config, repository)
    refused = [one for one in found.problems() if one not in (obstacle, unpushed)]
    for problem in refused[:SHOWN]:
        yield Check("git: commits", "warn", problem, f"git -C {top} status")
    waiting = len(found.waiting()) - len(refused)
    if waiting > 0:
        said = f"{_many(waiting, 'change')} wait{'s' if waiting == 1 else ''} for the next commit"
        yield Check("git: commits", "note", said, to_run(home, "commit"))
    elif not refused:
        yield Check("git: commits", "ok", "everything is committed")
    if unpushed:
        remote = shlex.quote(found.config.git.push)
        yield Check("git: push", "warn", unpushed, f"git -C {top} push {remote} HEAD")
    elif found.config.git.push:
        yield Check("git: push", "ok", f"to {found.config.git.push}")


def index(home: Home, found: IndexStatus) -> Iterator[Check]:
    name, run = "index: content", to_run(home, "index")
    chunks = sum(found.chunks.values())
    if not found.embedder:
        yield Check("index: embedder", "fail", found.why, to_edit(home.config))
        return
    if found.problems:
        for problem in found.problems:
            yield Check(name, "warn", problem, run)
    elif not found.bytes:
        yield Check(name, "note", "not made yet; the next search makes it", run)
    elif found.behind:
        said = f"{found.behind:,} bytes of the log are not in it yet; the next search takes them in"
        yield Check(name, "note", said, run)
    else:
        yield Check(name, "ok", f"up to date, {chunks:,} texts")
    yield _embedder(home, found, run)


def _embedder(home: Home, found: IndexStatus, run: str) -> Check:
    name = "index: embedder"
    if "cannot be asked" in found.why:  # of a provider without a key
        return Check(name, "warn", f"{found.why} Search goes by words alone", to_edit(home.config))
    if found.embedder == "none":
        return Check(name, "note", f"{found.why}. Search goes by words alone")
    if found.pending:
        return Check(name, "note", f"{found.why}; {found.pending:,} texts wait for a vector", run)
    return Check(name, "ok", found.why)


def notes(home: Home, known: Knowledge, topics: Read) -> Iterator[Check]:
    for problem in known.problems:
        yield Check("notes: files", "warn", problem, to_run(home, "notes", "--check"))
    if not known.problems:
        yield Check("notes: files", "ok", f"{_many(known.notes, 'note')}, all of them readable")
    if known.edited:
        said = f"{_many(len(known.edited), 'block')} edited by hand"
        yield Check("notes: edits", "note", said, to_run(home, "review"))
    for bad in topics.bad:
        said = f"{bad} It is left out"
        yield Check("notes: topics", "warn", said, to_run(home, "topics", "check"))


def _many(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"
