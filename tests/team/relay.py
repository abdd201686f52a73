"""A way to PostgreSQL that can be cut: all of it, or in the middle of one commit."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from psycopg.conninfo import conninfo_to_dict, make_conninfo

COMMITS = b"INSERT INTO done"  # which nothing but the commit of a piece of work says


class Relay:
    """Listens on loopback and passes everything on, until it is told otherwise."""

    def __init__(self, url: str) -> None:
        self.lead(url)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = make_conninfo(url, host="127.0.0.1", port=self.port, sslmode="disable")
        self._open: set[socket.socket] = set()
        self._is_down = False
        self._cut = ""  # "before" or "after" the next commit of a piece of work
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def lead(self, url: str) -> None:
        """From now on, new connections go there."""
        known = conninfo_to_dict(url)
        host, port = str(known.get("host") or "127.0.0.1"), int(known.get("port") or 5432)
        self._unix = host.startswith("/")
        self._to = f"{host}/.s.PGSQL.{port}" if self._unix else (host, port)

    def down(self) -> None:
        """PostgreSQL is gone: whoever is connected is cut off, and nobody comes in."""
        self._is_down = True
        for one in list(self._open):
            self._end(one)

    def up(self) -> None:
        self._is_down = False

    def cut(self, when: str) -> None:
        """Cut the connection `before` the next commit gets there, or `after` it was done, before
        its answer gets back."""
        self._cut = when
        for one in list(self._open):  # so that statements are sent with their text again
            self._end(one)

    def close(self) -> None:
        self._listening.close()
        self.down()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if self._is_down:
                    near.close()
                    continue
                far = socket.socket(socket.AF_UNIX if self._unix else socket.AF_INET)
                try:
                    far.connect(self._to)
                except OSError:  # nobody is there
                    near.close()
                    far.close()
                    continue
                self._open |= {near, far}
                threading.Thread(target=self._there, args=(near, far), daemon=True).start()
                threading.Thread(target=self._back, args=(far, near), daemon=True).start()

    def _there(self, near: socket.socket, far: socket.socket) -> None:
        commits = False
        with suppress(OSError):
            while data := near.recv(1 << 16):
                commits = commits or COMMITS in data
                if commits and b"COMMIT" in data and self._cut:
                    when, self._cut = self._cut, ""
                    self.cuts += 1
                    if when == "before":
                        break
                    self._end(near)
                    far.sendall(data)
                    return  # `_back` ends it, when PostgreSQL has said that it is done
                far.sendall(data)
        self._end(near)
        self._end(far)

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        with suppress(OSError):
            while data := far.recv(1 << 16):
                near.sendall(data)
        self._end(near)
        self._end(far)

    def _end(self, one: socket.socket) -> None:
        self._open.discard(one)
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
