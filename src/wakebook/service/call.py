"""A call to the service over its unix socket, if it runs.

A hook is a process that a host waits for, and with the service up it should cost hardly more
than Python itself. So this speaks HTTP by hand and imports nothing that is not loaded anyway.
"""

import _socket
import os

FILE = ".cache/service.json"
LARGEST = 64 << 20  # bytes of an answer


def call(
    root: str,
    path: str,
    body: bytes = b"",
    seconds: float = 2.0,
    method: str = "POST",
    asked: int = 0,
) -> tuple[int, bytes, str] | None:
    """Status, body and what the header `Told` says; None if there is no service. `asked`: when a
    host did, in nanoseconds; the caller says when it has the answer (see hosts/told). Raises
    TimeoutError when the service is slow, and ConnectionError when it goes away before it has
    answered: it may have done what was asked."""
    where = address(root)
    if not where:
        return None
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.settimeout(seconds)
        try:
            link.connect(where)
        except TimeoutError:
            raise
        except OSError:  # a service that was killed leaves its address behind
            return None
        head = (
            f"{method} {path} HTTP/1.0\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        )
        head += f"Asked: {asked}\r\n\r\n" if asked else "\r\n"
        return _answer(link, head.encode("ascii") + body)
    finally:
        link.close()


def _answer(link: _socket.socket, question: bytes) -> tuple[int, bytes, str]:
    parts: list[bytes] = []
    size = 0
    try:
        link.sendall(question)
        while data := link.recv(1 << 16):
            parts.append(data)
            size += len(data)
            if size > LARGEST:
                raise ConnectionError("the service says too much")
    except TimeoutError:
        raise
    except OSError as error:
        raise ConnectionError("the service went away") from error
    head, _, rest = b"".join(parts).partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if len(words) < 2 or not words[1].isdigit():
        raise ConnectionError("the service went away")
    told = ""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and int(value) != len(rest):
            raise ConnectionError("the service went away in mid-sentence")
        if name.lower() == b"told":
            told = value.strip().decode("ascii", "replace")
    return int(words[1]), rest, told


def address(root: str) -> str:
    """Where the service of a home listens, as it has written it down itself."""
    try:
        descriptor = os.open(f"{root}/{FILE}", os.O_RDONLY)
    except OSError:
        return ""
    try:
        text = os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
    # json would cost as much as the rest of it; the service writes `"socket": "..."`
    _, found, rest = text.partition(b'"socket": "')
    return rest.partition(b'"')[0].decode("utf-8", "replace") if found else ""


def elsewhere(root: str) -> bool:
    """Whether this home is joined to a server for teams."""
    return "WAKEBOOK_SERVER" in os.environ or os.path.exists(f"{root}/server.json")  # noqa: PTH110
