"""The `wakebook` command, with a short way to `wake`.

A host waits for `wakebook wake`. If its cached text still holds, it is printed here before
anything heavy is imported; every other call goes to the command line proper.
"""

import os
import sys

from wakebook import cache


def main() -> None:
    root = _plain_wake(sys.argv[1:])
    text = cache.read(root, "wake.md") if root and sys.stdout else None
    if text is None:
        from wakebook.adapters import cli

        cli.main()
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # a reader that went away, a full disk: say it the long way
        from wakebook.adapters import cli

        cli.leave(0)


def _plain_wake(arguments: list[str]) -> str:
    """The home of a `wake` without further options, or nothing."""
    home = os.environ.get("WAKEBOOK_HOME") or "~/.wakebook"
    words = list(arguments)
    if "--home" in words[:-1]:
        at = words.index("--home")
        home = words[at + 1]
        del words[at : at + 2]
    if words != ["wake"]:
        return ""
    return os.path.abspath(os.path.expanduser(home))  # noqa: PTH100, PTH111
