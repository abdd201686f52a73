"""Every test gets a home of its own, a fixed clock, and no way to the user's real one.

No test reaches another machine: this process refuses to connect to one, and the command lines
that tests start are told to (WAKEBOOK_OFFLINE).
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import homes, warm
from tests.hosts.hooking import PATIENT, hooked
from tests.learn.telling import Tale, telling
from tests.service.serving import Service, ended, made, own_env, serving
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory

# The same few examples every time, however slow the machine is; or many new ones.
settings.register_profile(
    "ci",
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

SHM = Path("/dev/shm")
ROOM = 1 << 30  # bytes


def pytest_configure() -> None:
    """Homes lie in main memory, where there is such a folder: an fsync takes no time there.

    Bytecode is kept even if the environment says otherwise: else this process rewrites every
    assertion anew, and each process that a test starts compiles Wakebook anew.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command has it
    sys.dont_write_bytecode = False
    gc.disable()  # until all tests are found: what is made until then stays
    if SHM.is_dir() and os.access(SHM, os.W_OK) and shutil.disk_usage(SHM).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHM))


def pytest_collection_finish() -> None:
    """What is there by now stays: the collector of garbage need not look at it again and again."""
    gc.enable()
    gc.set_threshold(10_000)  # as the command has it
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    warm.cool()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes minutes begins first: otherwise it runs alone in the end."""
    items.sort(key=lambda item: "test_year" not in item.nodeid)


def _stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = arguments[1]
        name = address[0] if isinstance(address, tuple) else "a file"
        if name not in ("127.0.0.1", "::1", "localhost", "a file"):
            raise ConnectionAbortedError(f"a test wanted to connect to {name}")
    if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "::1", "localhost"):
        raise ConnectionAbortedError(f"a test wanted the address of {arguments[0]!r}")


sys.addaudithook(_stay_here)


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    homes.set_apart(tmp_path, monkeypatch)
    yield
    for found in tmp_path.glob("*/.cache/service.log"):  # a hook has started one
        ended(found.parents[1])


@pytest.fixture(scope="session", autouse=True)
def _pattern() -> None:
    """Made before a test takes git from the path."""
    homes.pattern()


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An initialised home in tmp_path/home."""
    return homes.made(tmp_path / "home")


@pytest.fixture
def projects() -> Path:
    """Claude Code's folder of the fictional user, empty."""
    folder = Path.home() / ".claude" / "projects" / "-home-mira-tidepool"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for all tests of a file, with a home of its own."""
    folder = tmp_path_factory.mktemp("service")
    env = own_env(folder)
    with serving(made(folder), env) as found:
        yield found


@pytest.fixture
def patient(memory: Memory) -> Memory:
    return hooked(memory, seconds=PATIENT)


@pytest.fixture
def claude(projects: Path) -> Claude:
    """A conversation that has just ended its last turn."""
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def knowing(patient: Memory, claude: Claude) -> Memory:
    """It has read the conversation, which is over."""
    patient.catch_up(closing=True)
    return patient


@pytest.fixture
def tale(tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tale]:
    with telling(tmp_path, projects, monkeypatch) as tale:
        yield tale
