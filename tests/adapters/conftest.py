from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.serving import Service, made, own_env, serving


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for all tests of a file, with a home of its own."""
    folder = tmp_path_factory.mktemp("service")
    env = own_env(folder)
    with serving(made(folder, env), env) as found:
        yield found
