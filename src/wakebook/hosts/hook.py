"""`wakebook hook HOST EVENT`: the process that a host waits for.

The service answers if it is up. If not, a child of this process does the work, and starts the
service for the next one; this process waits for its answer as long as the time box lasts, and the
child goes on if it needs longer. A start that gets no answer in time is told what the last start
in its project was told. Whatever happens, only an answer is printed and the exit code is 0. It
imports next to nothing.
"""

import os
import select
import sys
from time import monotonic, time_ns

from wakebook.service.call import call, elsewhere

LARGEST = 8 << 20  # bytes of an event
SECONDS = 2.0
LEAST = 0.001  # seconds; 0 would mean not to wait at all
START, ENDS = "SessionStart", ("SessionEnd", "session_shutdown", "session_end")
WAITED_FOR = {  # by the host: what these answer is told, or has to be done first
    "SessionStart", "UserPromptSubmit", "PreCompact", "before_prompt_build", "before_compaction",
    "before_agent_start", "session_before_compact", "PostToolUse", "tool_result",
}  # fmt: skip


def main(root: str, words: list[str]) -> None:
    """Answer the event on standard input. A host would take any other exit code than 0 amiss."""
    if len(words) != 2:
        _say("usage: wakebook hook HOST EVENT [--home PATH], with JSON on standard input")
        return
    if os.environ.get("WAKEBOOK_READING"):  # echo.READS: a program that reads for us runs hooks
        return
    host, event = words
    asked, problem, answer, data = time_ns(), "", None, b""
    if not os.path.isfile(f"{root}/config.toml"):  # noqa: PTH113
        _say(f"there is no home in {root}; `wakebook init` makes one")
        return
    try:
        seconds = time_box(root)
        until = monotonic() + seconds
        data = _stdin(until)
        if event == "PostToolUse" and not watched(f"{root}/topics"):
            return
        if len(data) > LARGEST:
            problem = f"more than {LARGEST >> 20} MiB were sent; it is left out"
        else:
            ask = _own if elsewhere(root) else _served
            answer = ask(root, host, event, data, until, asked)
    except TimeoutError as error:
        problem = f"{error} within {seconds:g} s"
        if event not in WAITED_FOR and data:  # the host does not wait: then do it here
            _own(root, host, event, data, until, asked)
    except Exception as error:  # noqa: BLE001 - a hook never breaks its host
        problem = f"{type(error).__name__}: {error}"
    try:
        _tell(root, host, event, data, answer, asked)
    except Exception as error:  # noqa: BLE001 - a hook never breaks its host
        problem = problem or f"{type(error).__name__}: {error}"
    if problem:
        _failed(root, host, event, problem)


def _served(
    root: str, host: str, event: str, data: bytes, until: float, asked: int
) -> tuple[str, bytes] | None:
    """What the service answers, or a child of this process, with its name; None if it is late."""
    path = f"/v1/hooks/{_plain(host)}/{_plain(event)}"
    try:
        found = call(root, path, data or b"{}", max(until - monotonic(), LEAST), asked=asked)
    except TimeoutError:
        raise TimeoutError("the service did not answer") from None
    except ConnectionError:  # it went away: then once more, which changes nothing
        found = None
    if found is None:
        return _own(root, host, event, data, until, asked)
    status, body, name = found
    if status in (200, 204):
        none = body.strip() in (b"", b"{}", b"null")
        return None if name == "late" else (name, b"" if none else body)
    _failed(root, host, event, body.decode("utf-8", "replace")[:300])
    return None


def _tell(
    root: str, host: str, event: str, data: bytes, answer: tuple[str, bytes] | None, asked: int
) -> None:
    """Print an answer, and then say that it has arrived (see told.py: it need not be loaded)."""
    if answer is None and event == START:
        answer = _kept(root, host, data, asked)
    name, body = answer or ("", b"")
    _write(1, body)
    if name:
        os.rename(*(f"{root}/.cache/told/{name}.{end}" for end in ("wait", "told")))  # noqa: PTH104


def _kept(root: str, host: str, data: bytes, asked: int) -> tuple[str, bytes]:
    """What the last start in the same project was told, if this one is a new session's."""
    import json

    from wakebook.hosts.told import WAKING, Told, kept_start

    event = json.loads(data or b"{}")
    if event.get("source", "") not in WAKING:
        return "", b""
    body = kept_start(root, host, str(event.get("cwd", "")))
    if not body:
        return "", b""
    told = Told(f"{root}/.cache", host, str(event.get("session_id", "")), asked, kept=True)
    told.begin()
    told.note(json.loads(body)["hookSpecificOutput"]["additionalContext"])
    return told.waiting, body


def _plain(name: str) -> str:
    """A name as it may stand in a path."""
    return "".join(c for c in name if c.isascii() and (c.isalnum() or c in "-_")) or "-"


def _own(
    root: str, host: str, event: str, data: bytes, until: float, asked: int
) -> tuple[str, bytes] | None:
    waited = event in WAITED_FOR
    reading, writing = os.pipe()
    lock = -1
    if not waited:
        from wakebook.hosts.lock import hold

        lock = hold(f"{root}/.cache")
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(root, host, event, data, writing, asked, until)
    os.close(writing)
    if lock >= 0:
        os.close(lock)  # which the child holds now
    return _awaited(reading, until) if waited else ("", b"")


def _awaited(reading: int, until: float) -> tuple[str, bytes] | None:
    parts: list[bytes] = []
    while (left := until - monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 1 << 16)
            if not part:
                name, whole, body = b"".join(parts).partition(b"\n")
                return (name.decode(), body) if whole else None  # it says itself what went wrong
            parts.append(part)
    os.close(reading)
    raise TimeoutError("no answer")  # the work goes on


def _child(
    root: str, host: str, event: str, data: bytes, writing: int, asked: int, until: float
) -> None:
    """In a process session of its own, apart from the host's, until the work is done."""
    code = 0
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        if sys.flags.no_site:  # hosts start us without (see hosts/wiring); the work needs packages
            import site

            site.main()
        from contextlib import suppress

        if elsewhere(root):
            from wakebook.hosts.joined import act

            def tell(body: bytes | None) -> None:
                with suppress(BrokenPipeError):
                    _write(writing, b"" if body is None else b"\n" + body)
                os.close(writing)

            act(root, host, event, data, until, tell)
            return
        from wakebook.hosts.backlog import begun

        memory, name, body, behind = begun(root, host, event, data, asked)
        with suppress(BrokenPipeError):  # the time box is over; the work is not
            _write(writing, name.encode() + b"\n" + body)
        os.close(writing)
        if event not in ENDS:
            from wakebook.service.start import start

            start(memory.home, memory.config.service, host)
        behind.work()
    except BaseException as error:  # noqa: BLE001 - whatever it is, this process ends here
        code = 1
        own = hasattr(error, "exit_code")  # one that we raise on purpose says it all
        _failed(root, host, event, str(error) if own else f"{type(error).__name__}: {error}")
    finally:
        os._exit(code)


def watched(folder: str) -> bool:
    """Whether a topic may look at what the agent does. Most do not, and tools are called often."""
    if not os.path.isdir(folder):  # noqa: PTH112
        return False
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if watched(entry.path):
                return True
        elif entry.name.endswith(".md") and entry.is_file():
            with open(entry.path, "rb") as stream:  # noqa: PTH123
                text = stream.read()
            if b"output" in text or b"both" in text or b"glob" in text:
                return True
    return False


def time_box(root: str) -> float:
    """[hooks] seconds of config.toml, without reading all of it."""
    with open(f"{root}/config.toml", "rb") as stream:  # noqa: PTH123
        lines = stream.read().split(b"\n")
    ours = False
    for line in lines:
        name, _, value = line.partition(b"=")
        if line.lstrip()[:1] == b"[":
            ours = line.partition(b"#")[0].strip(b" \t\r[]") == b"hooks"
        elif ours and name.strip() == b"seconds":
            try:
                return min(max(float(value.partition(b"#")[0]), 0.0), 60.0)
            except ValueError:
                return SECONDS
    return SECONDS


def _stdin(until: float) -> bytes:
    """What the host has sent. Raises TimeoutError if it does not come to an end."""
    parts: list[bytes] = []
    size = 0
    while size <= LARGEST:
        if not select.select([0], [], [], max(0.0, until - monotonic()))[0]:
            raise TimeoutError("the host did not finish its event")
        data = os.read(0, 1 << 16)
        if not data:
            break
        parts.append(data)
        size += len(data)
    return b"".join(parts)


def _write(descriptor: int, body: bytes) -> None:
    while body:
        body = body[os.write(descriptor, body) :]


def _say(text: str) -> None:
    try:
        _write(2, f"wakebook: {text}\n".encode("utf-8", "replace"))
    except OSError:  # the host listens no more
        return


def _failed(root: str, host: str, event: str, error: str) -> None:
    """Where `wakebook status` shows it."""
    _say(f"hook {host} {event}: {error}")
    try:
        from wakebook.base.home import Home

        Home(root).trace("failure", where=f"hook {host} {event}"[:120], error=error)
    except OSError as problem:
        _say(str(problem))
