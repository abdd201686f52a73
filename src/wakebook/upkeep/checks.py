"""Checks: what doctor looks at. The home as a place, what it holds, and what is done in it."""

import os
import re
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from wakebook.base import clock, config
from wakebook.base.config import Config, is_client
from wakebook.base.errors import ConfigError, Locked, ModelError, WakebookError
from wakebook.base.home import Home
from wakebook.base.text import printable
from wakebook.capture import state as states
from wakebook.history import githooks, push
from wakebook.history.history import History
from wakebook.history.repository import Repository, installed
from wakebook.learn.account import Account
from wakebook.log import erased, forgotten, keyed
from wakebook.log.log import Ledger
from wakebook.models.chat import Models
from wakebook.models.model import HOST
from wakebook.models.prices import dollars
from wakebook.notes.check import Knowledge
from wakebook.recall.topics.topic import Read
from wakebook.store.index import IndexStatus
from wakebook.upkeep.doctor import Check, State, to_edit, to_run
from wakebook.upkeep.erase import Erased
from wakebook.upkeep.jobs import JobStatus, table
from wakebook.upkeep.status import TORN, broken_chains

OWN = "config.toml log.jsonl subjects.json projects.json".split()
OWN += "state.json trace.jsonl index.db .cache".split()
LITTLE = 500 << 20  # bytes that are left on the disk
NOTHING = 50 << 20
PATIENCE = 3.0  # seconds; no write takes longer
OTHERS = 0o077
RECENT = timedelta(days=7)
SHOWN = 5  # of the same kind
HELD = ("held", "torn")
# what went wrong with a session -> what helps
ACCOUNTS: dict[str, tuple[str, ...]] = {
    "behind": ("catch-up",),
    "failed": ("catch-up", "--retry-failed"),
    "lost": ("status", "--sessions"),
    "missing": ("status", "--sessions"),
    "changed": ("status", "--sessions"),
}
EVENT = re.compile(r"^\d{4}-\d\d-\d\dT\S+Z (?P<where>.*?): ")
# group of checks -> what it knows better about: where it went wrong, and what helps
AGAIN: dict[str, dict[str, str]] = {
    "index": {"index": "index", "embedding": "index"},
    "git": {"git": "history commit", "commit": "history commit"},
    "model": {
        "model": "doctor --ask",
        "budget": "status --costs",
        "costs": "status --costs",
        "extract": "catch-up --upgrade",
    },
    "notes": {"brief": "notes brief", "notes": "notes", "wake": "wake"},
    "sessions": dict.fromkeys(("flush", "keep", "close", "sweep"), "catch-up"),
    "home": {"watch": "status"},
}


# --- the home as a place -----------------------------------------------------------------
def place(home: Home) -> Iterator[Check]:
    """Is it there, is it yours alone, is there room, can it be written to."""
    yield there(home)
    if not home.exists():
        return
    yield permissions(home)
    yield space(home, shutil.disk_usage(home.root).free)
    yield settings(home)
    yield cursors(home)
    yield lock(home)
    yield token(home)


def erasing(finish: Callable[[], Erased | None]) -> Iterator[Check]:
    """Finishes an erasure that was interrupted, and tells of it."""
    done = finish()
    if done is not None:
        said = "an erasure that was interrupted is finished"
        left = f"{said}, but it is still in {', '.join(done.scan.found[:SHOWN])}"
        yield Check("home: erasing", "ok" if done.well else "fail", said if done.well else left)


def key(home: Home) -> Iterator[Check]:
    """Whether Wakebook would know again what was forgotten or erased."""
    lost = forgotten.load(home).unknown + erased.load(home).unknown
    if lost:
        yield Check(
            "home: forget.key",
            "warn",
            f"the key of {lost} receipts is not there, and without it they do not keep what was "
            f"forgotten from coming back: copy {keyed.FILE} from where this home came from",
        )


def there(home: Home) -> Check:
    if home.exists():
        return Check("home: folder", "ok", str(home.root))
    what = "has no config.toml" if home.root.is_dir() else "does not exist"
    return Check("home: folder", "fail", f"{home.root} {what}", to_run(home, "init"))


def permissions(home: Home) -> Check:
    """What others could read. Behind a closed door it hardly matters what lies open."""
    name, root = "home: permissions", shlex.quote(str(home.root))
    paths = [home.root, *(path for name in OWN if (path := home.root / name).exists())]
    shut = [path for path in paths if not os.access(path, os.R_OK | os.W_OK)]
    if shut:
        said = f"you may not read and write {_names(home, shut)}"
        return Check(name, "fail", said, f"chmod -R u+rwX {root}")
    foreign = [path for path in paths if path.stat().st_uid != os.geteuid()]
    if foreign:
        said = f"{_names(home, foreign)}: owned by another user, who may write it as well"
        return Check(name, "note", said, f'chown -R "$(id -u)" {root}')
    mend = f"chmod -R go-rwx {root}"
    if _mode(home.root) & OTHERS:
        said = f"{home.root} is {_mode(home.root):04o}: other users can look into it"
        return Check(name, "warn", said, mend)
    loose = [path for path in paths if _mode(path) & OTHERS]
    if loose:
        said = f"{_names(home, loose)}: readable for others, if the folder did not keep them out"
        return Check(name, "note", said, mend)
    return Check(name, "ok", "no other user can read it (0700, 0600)")


def _names(home: Home, paths: list[Path]) -> str:
    return ", ".join("the home" if path == home.root else path.name for path in paths)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def space(home: Home, free: int) -> Check:
    said = f"{free / 1e9:,.1f} GB free" if free >= 1e9 else f"{free / 1e6:,.0f} MB free"
    if free >= LITTLE:
        return Check("home: space", "ok", said)
    run = f"df -h {shlex.quote(str(home.root))}"
    if free >= NOTHING:
        return Check("home: space", "warn", said, run)
    return Check("home: space", "fail", f"{said}: writing fails soon", run)


def settings(home: Home) -> Check:
    """Everything that is read from config.toml before work begins."""
    try:
        found = config.load(home.config)
        table(found.schedule, home.config)
        clock.zone(found.schedule.time_zone)
        return Check("home: config.toml", "ok", "valid")
    except ConfigError as error:
        said = str(error)
    except ValueError as error:
        said = f"{home.config}: [schedule] time_zone: {error}. Write one like Europe/Lisbon."
    return Check("home: config.toml", "fail", said, to_edit(home.config))


def cursors(home: Home) -> Check:
    try:
        known = len(states.load(home).sessions)
    except WakebookError as error:
        return Check("home: state.json", "fail", str(error), to_edit(home.state))
    if (broken := home.root / states.BROKEN).exists():
        said = f"could not be read once, and is kept as {broken.name}; the cursors are recovered "
        said += "from the archived transcripts"
        run = f"{to_run(home, 'catch-up')} && {shlex.join(['rm', str(broken)])}"
        return Check("home: state.json", "warn", said, run)
    return Check("home: state.json", "ok", f"knows {known:,} sessions")


def lock(home: Home, seconds: float = PATIENCE) -> Check:
    try:
        with home.locked(seconds):
            return Check("home: lock", "ok", "free")
    except Locked:
        holder = holder_of(home.lock)
    if not holder:
        said = f"a process has been writing for {seconds:g} s, and goes on"
        return Check("home: lock", "warn", said, f"lsof {shlex.quote(str(home.lock))}")
    said = (
        f"process {holder} ({_command_of(holder)}) has been writing for {seconds:g} s and goes on. "
        "Wait for it, or end it if it hangs: nothing gets lost"
    )
    return Check("home: lock", "warn", said, f"kill {holder}")


def holder_of(path: Path) -> int:
    """The process that holds a lock on a file, where the system tells; 0: unknown."""
    inode = str(path.stat().st_ino)
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    for line in lines:  # 3: FLOCK  ADVISORY  WRITE 4711 00:2f:112233 0 EOF
        words = line.split()
        if "FLOCK" in words and "->" not in words and words[5].rpartition(":")[2] == inode:
            return max(int(words[4]), 0)
    return 0


def _command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "unknown"
    return printable(b" ".join(words).decode("utf-8", "replace"))[:120] or "unknown"


def token(home: Home) -> Check:
    """What a client on the service's port has to show. The socket does without."""
    name, path = "home: token", home.root / "token"
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        said = "there is none yet, so the service's port cannot be used (its socket works)"
        return Check(name, "note", said, to_run(home, "init"))
    if _mode(path) & OTHERS:
        said = f"token is {_mode(path):04o}: every user who can read it can use the service"
        return Check(name, "warn", said, f"chmod 600 {shlex.quote(str(path))}")
    if not text or not text.isprintable() or " " in text:
        run = f"rm {shlex.quote(str(path))} && {to_run(home, 'init')}"
        return Check(name, "warn", "what the file token holds is no token", run)
    return Check(name, "ok", "only you can read it")


# --- what it holds -----------------------------------------------------------------------
def log(home: Home, ledger: Ledger) -> Iterator[Check]:
    name, bad = "log: lines", ledger.bad()
    if not home.log.exists():
        back = shlex.join(["git", "-C", str(home.root), "checkout", "HEAD", "--", home.log.name])
        yield Check(name, "fail", "log.jsonl is gone. Git has it as it was committed last", back)
        return
    if bad and not home.log.read_bytes().endswith(b"\n"):
        said = f"line {bad[-1].number} is half written, as a crash leaves it. The next thing that "
        said += "is remembered moves it to log.torn"
        yield Check("log: torn line", "note", said, to_run(home, "remember", "TEXT"))
        bad = bad[:-1]
    for one in bad[:SHOWN]:
        said = f"log.jsonl line {one.number}: {one.reason}. It is left out"
        yield Check(name, "fail", said, to_edit(home.log, one.number))
    if len(bad) > SHOWN:
        yield Check(name, "fail", f"and {len(bad) - SHOWN} more such lines", to_edit(home.log))
    chains = ledger.chains()
    if not bad:
        yield Check(name, "ok", f"{len(chains.by_id):,} entries, every line is valid")
    kept = home.root / "log.torn"
    if kept.exists():
        yield Check("log: torn line", "note", TORN, shlex.join(["cat", str(kept)]))
    broken = list(broken_chains(chains))
    for said, entry in broken:
        run = to_run(home, "show", entry) if entry else to_edit(home.log)
        yield Check("log: chains", "warn", said, run)
    if not broken:
        said = f"{len(chains.replaced_by):,} entries replaced by newer ones"
        yield Check("log: chains", "ok", said)


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
        yield Check("git: commits", "note", said, to_run(home, "history", "commit"))
    elif not refused:
        yield Check("git: commits", "ok", "everything is committed")
    if unpushed:
        remote = shlex.quote(found.config.git.push)
        yield Check("git: push", "warn", unpushed, f"git -C {top} push {remote} HEAD")
    elif found.config.git.push:
        yield Check("git: push", "ok", f"to {found.config.git.push}")
    if old := githooks.outdated(repository, found.config):
        said = f"{' and '.join(old)}: missing, or of another version than this one"
        yield Check("git: hooks", "warn", said, to_run(home, "init"))
    yield from _sync(home)


def _sync(home: Home) -> Iterator[Check]:
    """What syncing has to say, and what other ways of syncing have left behind."""
    from wakebook.sync import behind, heal

    if trouble := behind.problem(home):
        yield Check("git: sync", "warn", trouble, to_run(home, "sync"))
    elif remote := behind.remote(home):
        yield Check("git: sync", "ok", f"with {remote}")
    for one in heal.wounds(home)[:SHOWN]:
        said = {
            "copy": f"{one.path} is a second copy of {one.of}, made by a file-sync tool",
            "markers": f"{one.path} has the marks of a merge in it",
            "twice": f"{one.path} has lines twice",
        }[one.kind]
        yield Check("git: sync", "fail", said, to_run(home, "sync", "heal"))


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
        yield Check("notes: edits", "note", said, to_run(home, "notes", "review"))
    for bad in topics.bad:
        said = f"{bad} It is left out"
        yield Check("notes: topics", "warn", said, to_run(home, "topics", "check"))


def _many(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


# --- what is done in it ------------------------------------------------------------------
def model(home: Home, models: Models) -> Iterator[Check]:
    names = _named(models)
    if not names:
        said = "none is chosen: rules read the conversations, on this machine"
        yield Check("model: chat", "ok", said)
        return
    problems = models.problems()
    for problem in problems:
        yield Check("model: chat", "warn", problem, _key(problem) or to_edit(home.config))
    if not problems:
        yield Check("model: chat", "ok", f"{', '.join(names)}, with what is needed to ask")
    spent = dollars(models.calls.spent(clock.now()))
    limit = f" of {dollars(models.limit)}" if models.limit else ", no limit"
    yield Check("model: budget", "ok", f"{spent}{limit} this month")


def _named(models: Models) -> list[str]:
    return list(dict.fromkeys(filter(None, map(models.name, ("main", "cheap")))))


def _key(problem: str) -> str:
    found = re.search(r"there is no key\. Set ([A-Z_]+)", problem)
    return f"export {found[1]}=YOUR-KEY" if found else ""


def asked(home: Home, config: Config, models: Models) -> Iterator[Check]:
    """One small question to every model that is configured. It may cost a little."""
    for name in _named(models):
        if is_client(name):  # which is not started for a small question
            yield _client(home, config, name)
            continue
        settings = config.models.with_(main=name, cheap="", off=(), attempts=1, timeout_seconds=30)
        one = Models(home, config.with_(models=settings), os.environ)
        one.insist = True
        began = clock.monotonic()
        try:
            one.begin("gate", message="Hello.", playbook="greetings: how to answer a greeting")
        except ModelError as error:
            state: State = "note" if name == HOST else "fail"  # which is asked where it is
            yield Check("model: answer", state, str(error), to_edit(home.config))
        else:
            seconds = clock.monotonic() - began
            yield Check("model: answer", "ok", f"{name} answered in {seconds:.1f} s")


def _client(home: Home, config: Config, name: str) -> Check:
    from wakebook.upkeep.trial import tried

    done = tried(home, config, name)
    if done.error:
        return Check("model: answer", "fail", done.error, to_run(home, "models", "test", name))
    return Check("model: answer", "ok", f"{name} answered in {done.seconds:.1f} s")


def sessions(home: Home, accounts: Sequence[Account]) -> Iterator[Check]:
    for status, words in ACCOUNTS.items():
        every = [account for account in accounts if account.status == status]
        said = [f"{one.ref}: {one.note}" if one.note else one.ref for one in every[:SHOWN]]
        said += [f"and {len(every) - SHOWN:,} more"] if len(every) > SHOWN else []
        for one in said:
            yield Check(f"sessions: {status}", "warn", one, to_run(home, *words))
    waiting = [one.ref for one in accounts if one.status in HELD]
    if waiting:
        held = f"{waiting[0]}{f' and {len(waiting) - 1} more' if waiting[1:] else ''}: an answer "
        held += "or the end of a line is still to come"
        yield Check("sessions: held", "note", held, to_run(home, "status", "--sessions"))
    if not any(one.status in ACCOUNTS for one in accounts):
        yield Check("sessions: read", "ok", f"{len(accounts):,} found, none is behind")


def hooks(home: Home, state: states.State, now: datetime) -> Iterator[Check]:
    """Hooks that failed. When everything was read since then, nothing was lost by it."""
    told: dict[str, tuple[str, str, int]] = {}
    for record in home.traces("failure", 1000):
        where, at = str(record.get("where", "")), str(record.get("at", ""))
        if where.startswith("hook ") and at >= clock.iso(now - RECENT):
            times = told.get(where, ("", "", 0))[2] + 1
            told[where] = (at, str(record.get("error", "")), times)
    observed = state.jobs.get("observe")
    read_at = clock.iso(observed.ended) if observed and observed.outcome == "ok" else ""
    for where, (at, error, times) in told.items():
        often = f" ({times} times, last at {at})" if times > 1 else f" ({at})"
        over = at <= read_at
        said = f"{where.removeprefix('hook ')}: {error}{often}"
        said += "; everything was read since" if over else ""
        run = "" if over else to_run(home, "jobs", "run", "observe")
        yield Check("hooks: failures", "note" if over else "warn", said, run)
    if not told:
        yield Check("hooks: failures", "ok", f"none in {RECENT.days} days")


def jobs(home: Home, standing: Sequence[JobStatus]) -> Iterator[Check]:
    failed = [one for one in standing if one.last and one.last.outcome == "failed"]
    for one in failed:
        assert one.last is not None
        times = f" {one.last.failures} times in a row" if one.last.failures > 1 else ""
        said = f"{one.job} failed{times}: {one.last.error}"
        yield Check("jobs: runs", "warn", said, to_run(home, "jobs", "run", one.job))
    ran = [one for one in standing if one.last]
    if not ran:
        said = "none has run yet: nothing on this machine runs them"
        yield Check("jobs: runs", "note", said, to_run(home, "serve", "install"))
    elif not failed:
        last = max(one.last.ended for one in ran if one.last)
        due = [one.job for one in standing if one.due]
        said = f"last run {clock.iso(last)}" + (f"; due: {', '.join(due)}" if due else "")
        run = to_run(home, "jobs", "run") if due else ""
        yield Check("jobs: runs", "note" if due else "ok", said, run)


def lately(home: Home, problems: Sequence[str], so_far: Sequence[Check]) -> Iterator[Check]:
    """What went wrong in the last days and no check knows better: what `status` tells."""
    ill = {one.name.partition(":")[0] for one in so_far if one.state in ("warn", "fail")}
    for problem in problems:
        found = EVENT.match(problem)
        where = found["where"] if found else ""
        if not where or where.startswith(("hook ", "job ")):
            continue  # it has a check of its own
        what = where.split(" ")[0]
        group = next((name for name, known in AGAIN.items() if what in known), "")
        over = bool(group) and group not in ill
        run = "" if over else to_run(home, *AGAIN[group][what].split() if group else ("status",))
        yield Check("lately: failures", "note" if over else "warn", problem, run)
