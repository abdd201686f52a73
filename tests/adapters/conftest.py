from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.hooking import PATIENT, hooked
from tests.adapters.serving import Service, made, own_env, serving
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for all tests of a file, with a home of its own."""
    folder = tmp_path_factory.mktemp("service")
    env = own_env(folder)
    with serving(made(folder, env), env) as found:
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
