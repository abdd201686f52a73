"""The tests themselves cannot reach another machine."""

from __future__ import annotations

import os
import socket

import pytest

from tests.server import ModelServer


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1"])
def test_no_connection_leaves_this_machine(address: str) -> None:
    with (
        socket.socket() as connection,
        pytest.raises(ConnectionAbortedError, match="wanted to connect"),
    ):
        connection.connect((address, 443))


def test_no_name_is_looked_up() -> None:
    with pytest.raises(ConnectionAbortedError, match="wanted the address"):
        socket.getaddrinfo("example.org", 443)


def test_loopback_is_free() -> None:
    with ModelServer() as server:
        port = int(server.url.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_started_programs_are_told_as_well() -> None:
    assert os.environ["WAKEBOOK_OFFLINE"] == "1"
    assert not [name for name in os.environ if name.endswith("_API_KEY")]
