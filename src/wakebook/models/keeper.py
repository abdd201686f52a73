"""Runs a command for Wakebook, and ends it with everything that it started.

    python -I -S keeper.py LIFELINE FOLDER COMMAND...

LIFELINE is the reading end of a pipe whose other end only Wakebook has. When that closes, because
Wakebook has waited long enough or was killed, the command is asked to end, then killed; whatever it
leaves behind in its process group is killed as well, and FOLDER is removed. This file is a process
of its own because a killed one cannot clean up after itself; it imports nothing of Wakebook.
"""

import os
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress

PATIENCE = 2.0  # seconds in which it may put its own files in order


def main() -> None:
    lifeline, folder, *command = sys.argv[1:]
    os.set_inheritable(int(lifeline), False)
    code = 127
    with suppress(OSError):
        child = os.posix_spawnp(command[0], command, os.environ, setpgroup=0)
        threading.Thread(target=_end, args=(int(lifeline), child), daemon=True).start()
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        _kill(child, signal.SIGKILL)  # before its number is free for another process
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(code if code >= 0 else 128 - code)


def _end(lifeline: int, group: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written
    _kill(group, signal.SIGTERM)
    time.sleep(PATIENCE)
    _kill(group, signal.SIGKILL)


def _kill(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)


if __name__ == "__main__":
    main()
