"""Place: put what a merge came to into the home's files."""

from __future__ import annotations

from contextlib import closing

from wakebook.base import clock
from wakebook.base.home import Home
from wakebook.history.repository import Repository
from wakebook.log import log
from wakebook.store.catalogue import Catalogue
from wakebook.sync import carry, merge, records
from wakebook.sync.carry import File
from wakebook.sync.merge import LOG, RECEIPTS, Outcome

ASIDE = "aside"  # a folder that is not in git: versions that have lost


def write(
    home: Home,
    repository: Repository,
    files: dict[str, File | None],
    outcome: Outcome,
    read: merge.Read,
) -> None:
    """Put files in place: receipts first, the log last, so that nothing forgotten is ever there
    without its receipt."""
    for name, versions in outcome.aside.items():
        for lost in versions:
            _set_aside(home, name, lost)
    taken = {name: one.blob for name, one in files.items() if one and name in outcome.taken}
    found = {LOG: read(LOG, taken.pop(LOG))} if LOG in taken else {}
    found |= carry.contents(repository, taken) | outcome.written
    for name in sorted(found, key=lambda name: (name != RECEIPTS, name == LOG)):
        data = found[name]
        path = home.root / name
        if name == LOG:
            _write_log(home, data)
        elif not path.is_file() or path.read_bytes() != data:
            home.replace(path, data, 0o400 if is_closed(name, data) else 0o600)
    for name in outcome.gone:
        (home.root / name).unlink(missing_ok=True)


def is_closed(name: str, data: bytes) -> bool:
    return name.startswith("raw/conversations/") and b"\nclosed: true\n" in data[:4096]


def _write_log(home: Home, data: bytes) -> None:
    """As an addition if it is one: then nothing has to be read again."""
    before = home.log.read_bytes() if home.log.exists() else b""
    if data.startswith(before) and before.endswith(b"\n"):
        if data != before:
            home.append(home.log, data[len(before) :])
    else:
        _rewrite_log(home, before, data)


def _rewrite_log(home: Home, before: bytes, data: bytes) -> None:
    """Where both logs begin alike, and nothing goes, only what follows is read again."""
    same = before.rfind(b"\n", 0, records.alike(before, data)) + 1
    names = records.by_id(before[same:]).keys()
    with closing(Catalogue(home)) as catalogue:
        alike = catalogue.current and names <= records.by_id(data[same:]).keys()
        log.rewrite(home, [data])
        if alike:
            catalogue.read_from(same, names, before.count(b"\n"))


def _set_aside(home: Home, name: str, data: bytes) -> None:
    """Keep what has lost, in a folder that is not in git."""
    path = home.root / ASIDE / name
    home.folder(path.parent)
    if path.suffix == ".jsonl":
        if not path.exists() or data not in path.read_bytes():
            home.append(path, data)
    else:
        moment = f"{clock.now():%Y%m%d-%H%M%S}"
        home.replace(path.with_name(f"{path.stem}.{moment}{path.suffix}"), data)
