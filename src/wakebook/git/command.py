"""Running git: by name, with an argument list, and never with somebody else's repository.

Inside a git hook the environment points at the repository that is being committed to. What
Wakebook runs looks at its own home; only the hook's own checks keep that environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from wakebook.errors import GitError

TIMEOUT = 60.0
POINTERS = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_COMMON_DIR")


def installed() -> bool:
    return shutil.which("git") is not None


def run_bytes(
    root: Path,
    arguments: Sequence[str],
    *,
    settings: Sequence[str] = (),
    check: bool = True,
    inside: bool = False,
    extra: Mapping[str, str] | None = None,
    given: bytes = b"",
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[bytes]:
    """`inside`: as a part of the git command whose hook this is. `given`: its input."""
    environment = {key: value for key, value in os.environ.items() if inside or key not in POINTERS}
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",  # a note may be called [draft].md
        "LC_ALL": "C",
    }
    environment |= extra or {}
    options = [part for setting in ("core.quotepath=false", *settings) for part in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=root,
            env=environment,
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git in {root}: {error}") from error
    if check and done.returncode != 0:
        said = text_of(done.stderr or done.stdout).strip()
        raise GitError(f"git {arguments[0]} in {root} failed: {said}")
    return done


def run(
    root: Path,
    arguments: Sequence[str],
    *,
    settings: Sequence[str] = (),
    check: bool = True,
    extra: Mapping[str, str] | None = None,
    given: bytes = b"",
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[str]:
    done = run_bytes(
        root,
        arguments,
        settings=settings,
        check=check,
        extra=extra,
        given=given,
        timeout=timeout,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, text_of(done.stdout), text_of(done.stderr)
    )


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")
