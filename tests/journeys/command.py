"""The `wakebook` command, in this process, or as a process of its own where that matters.

`call` runs the very function that the process runs, on the standard streams of this process,
which are files meanwhile. It only saves the start of an interpreter: test_command.py compares
what both print, byte by byte. Killing, signals, closed streams and imports need `process`.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests import crash
from wakebook.__main__ import main

COLUMNS = {"COLUMNS": "100"}
ONE_AT_A_TIME = threading.Lock()  # there is one standard output


class Done(NamedTuple):
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()


def run(*arguments: str, code: int = 0, stdin: str = "") -> str:
    """What the command prints; if it is to fail, with what it says about it."""
    done = call(*arguments, stdin=stdin)
    said = (done.out + done.err).decode()
    assert done.code == code, said
    assert b"Traceback" not in done.err
    return said if code else done.text


def run_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code))


def process(*arguments: str | bytes, stdin: str | bytes = "", **environ: str) -> Done:
    """As a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", *arguments],
        capture_output=True,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        env=os.environ | COLUMNS | environ,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def call(*arguments: str, stdin: str | bytes = "", **environ: str) -> Done:
    """In this process, which is as it was afterwards."""
    with ONE_AT_A_TIME, ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin.encode() if isinstance(stdin, str) else stdin)
        given.seek(0)
        with (
            _streams(given, out, err),
            _surroundings(arguments, environ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", ResourceWarning)  # a file that the end of it closes
            code = _exit_code()
        out.seek(0)
        err.seek(0)
        return Done(code, out.read(), err.read())


def forked(*arguments: str, stdin: bytes = b"", **environ: str) -> Done:
    """In a child of this process, which has everything imported already.

    For what leaves children of its own behind, or ends itself.
    """
    _warm_up()
    with ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        child = crash.fork()
        if child == 0:
            code = 1
            try:
                with _streams(given, out, err), _surroundings(arguments, environ):
                    _let_go()
                    code = _reported()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return Done(os.waitstatus_to_exitcode(status), out.read(), err.read())


@cache
def _warm_up() -> None:
    """What every child would load for itself, most of all the table of tokens."""
    import wakebook.hosts.backlog
    import wakebook.recall.turn
    import wakebook.store.search  # noqa: F401
    from wakebook.models import tokenizer

    tokenizer.count("a")


def _let_go() -> None:
    """Of every file but the standard streams; their numbers stay taken."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        if number > 2 and number != nothing:
            with suppress(OSError):  # the list itself
                os.dup2(nothing, number, inheritable=False)


def _reported() -> int:
    try:
        return _exit_code()
    except BaseException:
        traceback.print_exc()
        return 1


def _exit_code() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of files that the end of it closes
        try:
            main()
        except SystemExit as done:
            return done.code if isinstance(done.code, int) else int(bool(done.code))
        return 0


@contextmanager
def _streams(*files: IO[bytes]) -> Iterator[None]:
    """Standard input, output and error are these, for Python and for the programs it starts."""
    before = sys.stdin, sys.stdout, sys.stderr
    for stream in before[1:]:
        stream.flush()
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    sys.stdin = _opened(0, "r", "strict")
    sys.stdout = _opened(1, "w", "strict")
    sys.stderr = _opened(2, "w", "backslashreplace")
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdin, sys.stdout, sys.stderr = before
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _opened(number: int, mode: str, errors: str) -> io.TextIOWrapper:
    file = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
    assert isinstance(file, io.TextIOWrapper)
    return file


@contextmanager
def _surroundings(arguments: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[None]:
    """What else a process has for itself."""
    before, folder, environment = sys.argv, Path.cwd(), dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    sys.argv = ["wakebook", *arguments]
    os.environ.update({**COLUMNS, **environ})
    try:
        yield
    finally:
        sys.argv = before
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)
