"""Tags: moments with a name.

    memory/daily/2026-02-16       every day on which something was committed
    memory/weekly/2026-W07        every such week, as it was at the end of its Sunday
    memory/milestone/NAME         by hand
    memory/before/EVENT           by hand, before something big; and before anything is put away
    memory/extract/NAME           after a rebuild

A tag is never moved. Days and weeks are those of the user's time zone.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, time, timedelta

import msgspec

from wakebook.errors import GitError
from wakebook.git import Repository
from wakebook.lifecycle.history import History

DAILY, WEEKLY = "memory/daily/", "memory/weekly/"
MILESTONE, BEFORE, EXTRACT = "memory/milestone/", "memory/before/", "memory/extract/"
SUNDAY = 6


class Snapshot(msgspec.Struct, frozen=True):
    tag: str
    commit: str
    committed: str = ""  # what was waiting, and was committed first


def slug(name: str) -> str:
    """A name that a person typed, as a part of a tag or a branch."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")
    kept = re.sub(r"\.\.+", ".", kept).removesuffix(".lock")[:80].strip("-.")
    if not kept:
        raise GitError(f"{name!r} cannot be a name: use letters, digits and hyphens.")
    return kept


def snapshot(history: History, name: str, now: datetime, before: bool = False) -> Snapshot:
    """Commit what waits, and give that moment a name."""
    repository = history.required()
    tag = (BEFORE if before else MILESTONE) + slug(name)
    free(repository, tag)
    done = history.now(now, f"{'before' if before else 'snapshot'} {name}")
    return Snapshot(tag, repository.tag(tag), done or "")


def free(repository: Repository, tag: str) -> None:
    """Complain if a tag is there already, before anything is done."""
    if (commit := repository.resolve(f"refs/tags/{tag}")) is not None:
        raise GitError(
            f"There is a tag {tag} already ({commit[:7]}), and a tag is never moved. "
            "Choose another name."
        )


def daily(history: History, now: datetime) -> str:
    """Tag the day of `now` if something was committed since the last such tag."""
    repository, name = history.repository, f"{DAILY}{now:%Y-%m-%d}"
    if repository is None or repository.resolve(f"refs/tags/{name}"):
        return ""
    end = now.replace(hour=23, minute=59, second=59, microsecond=0)
    commit = repository.commit_before(end)  # a late job still tags the day that it is about
    earlier = [tag for tag in repository.tags(DAILY) if tag < name]
    since = [f"^refs/tags/{earlier[-1]}"] if earlier else []
    if commit is None or not repository.commits("-1", *since, commit.id):
        return ""
    repository.tag(name, commit.id)
    return name


def weekly(history: History, now: datetime) -> str:
    """Tag the week of the last Sunday, which may be today, if something was committed in it.

    A machine that was off on that Sunday tags the week when it is on again.
    """
    sunday = now.date() - timedelta(days=(now.weekday() - SUNDAY) % 7)
    year, week, _ = sunday.isocalendar()
    name, repository = f"{WEEKLY}{year}-W{week:02}", history.repository
    if repository is None or repository.resolve(f"refs/tags/{name}"):
        return ""
    begin, end = (
        datetime.combine(sunday + timedelta(days=days), time(), now.tzinfo) for days in (-6, 1)
    )
    last = repository.commit_before(end - timedelta(seconds=1))
    since = f"--since=@{int(begin.timestamp())}"
    if last is None or not repository.commits("-1", since, last.id):
        return ""
    repository.tag(name, last.id)
    return name
