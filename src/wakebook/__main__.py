"""The `wakebook` command, with a short way to `wake` and to `hook`.

A host waits for both. The cached text of `wake` is printed here, and an event is answered, before
anything heavy is imported; every other call goes to the command line proper.
"""

import gc
import os
import sys


def main() -> None:
    gc.set_threshold(10_000)  # what is imported stays: to look through it often takes a tenth
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more only wait for one another
    _say_all()
    words, root = _words(sys.argv[1:])
    if words[:1] == ["hook"] and not {"-h", "--help"}.intersection(words):
        from wakebook.hosts import hook as process

        process.main(root, words[1:])
        return
    text = None
    if words == ["wake"] and sys.stdout:
        from wakebook.base import cache

        here = _here()
        text = cache.read(root, cache.wake_file(here), f" {here}")
    if text is None:
        from wakebook import cli

        cli.main()
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # a reader that went away, a full disk: say it the long way
        from wakebook import cli

        cli.leave(0)
    except UnicodeError:  # the terminal's encoding lacks a character
        from wakebook import cli

        cli.main()


def _say_all() -> None:
    """A terminal that is not UTF-8 is shown \\u escapes, which JSON knows too, and no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if stream and stream.encoding.lower() not in ("utf-8", "utf8"):
            import codecs

            codecs.register_error("escaped", _escaped)
            stream.reconfigure(errors="escaped")  # type: ignore[union-attr]


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    units = (found[at : at + 4] for at in range(0, len(found), 4))
    return "".join(f"\\u{unit}" for unit in units), error.end


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted
        return ""


def _words(arguments: list[str]) -> tuple[list[str], str]:
    """The command without --home, and the home."""
    home = os.environ.get("WAKEBOOK_HOME") or "~/.wakebook"
    words = list(arguments)
    for word in arguments:
        if word.startswith("--home="):
            home = word.partition("=")[2]
            words.remove(word)
    if "--home" in words[:-1]:
        at = words.index("--home")
        home = words[at + 1]
        del words[at : at + 2]
    return words, os.path.abspath(os.path.expanduser(home))  # noqa: PTH100, PTH111


if __name__ == "__main__":
    main()
