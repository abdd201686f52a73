"""Hooks: what git calls before and after a commit that somebody makes by hand.

Before it the staged files are checked; after it the search index is brought up to date, in the
background. They are installed in the home's own repository only. A hook of the user's is never
overwritten: ours is put beside it, and `init` says the line that calls it. Wakebook's own
commits are checked without a second process and tell the hooks so.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from wakebook.base import markdown
from wakebook.base.config import Config, Notes
from wakebook.base.errors import GitError
from wakebook.base.home import Home
from wakebook.history.commit import CHECKED
from wakebook.history.repository import Repository
from wakebook.recall.topics import topic as files
from wakebook.recall.topics.topic import BadTopic

# -----------------------------------------------------------------------------
# Checks: what may not go into the history as it is.
#
# The same rules hold for the pre-commit hook, which looks at what is staged, and for Wakebook's
# own commits, which look at the files. A transcript is never changed once it is closed; a
# MEMORY.md that is too long, or frontmatter that nobody can read, is better mended now than found
# in a year. Everything else about a note is its author's business.

FOLDERS = ("raw/conversations", "knowledge", "topics", "archive")
MEMORY = "knowledge/memory/MEMORY.md"
REWRITE = "WAKEBOOK_REWRITE"  # for whoever has to take something out of a closed transcript
ENCRYPTED = b"\0GITCRYPT"


class Change(msgspec.Struct, frozen=True):
    """A file that is about to be committed. `before` is what the last commit holds."""

    path: str  # relative to the home
    now: Callable[[], bytes | None]
    before: Callable[[], bytes | None]


class Problem(msgspec.Struct, frozen=True):
    path: str
    text: str
    line: int = 0
    refused: bool = True  # otherwise a warning

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.text}"


def check(changes: Iterable[Change], notes: Notes, rewrite: bool = False) -> list[Problem]:
    """What is wrong with some changes. `rewrite`: closed transcripts may change, this once."""
    return [
        problem
        for change in changes
        if change.path.endswith(".md") and change.path.startswith(tuple(f"{f}/" for f in FOLDERS))
        for problem in _problems(change, notes, rewrite)
    ]


def _problems(change: Change, notes: Notes, rewrite: bool) -> Iterator[Problem]:
    data = change.now()
    conversation = change.path.startswith("raw/conversations/")
    if conversation and not rewrite and _is_closed(before := change.before()) and data != before:
        done = "changed" if data is not None else "removed or renamed"
        yield Problem(
            change.path,
            f"this conversation is closed and may not be {done}. "
            f"`git checkout HEAD -- {change.path}` brings it back; {REWRITE}=1 git commit … "
            "commits it all the same.",
        )
    elif data is not None and not data.startswith(ENCRYPTED):
        text = data.decode("utf-8", "replace")
        yield from _frontmatter(change.path, text, needed=conversation)
        if change.path == MEMORY:
            yield from _length(text, notes)
        if change.path.startswith("topics/"):
            yield from _topic(change.path, text)


def _topic(path: str, text: str) -> Iterator[Problem]:
    """A topic that cannot be used yet is no reason to lose what was written."""
    if PurePosixPath(path).name.startswith(("_", ".")) or markdown.read_front(text).problem:
        return  # it is none, or that was said already
    found = files.parse(path, text)
    if isinstance(found, BadTopic):
        yield Problem(path, f"{found.problem} The topic is left out until then.", found.line, False)


def _is_closed(data: bytes | None) -> bool:
    if data is None:
        return False
    front, _ = markdown.split(data.decode("utf-8", "replace"))
    return front.get("closed") is True


def _frontmatter(path: str, text: str, needed: bool) -> Iterator[Problem]:
    front = markdown.read_front(text)
    if front.problem:
        yield Problem(path, f"{front.problem}.", front.line)
    elif front.values is None and needed:
        yield Problem(path, "a conversation begins with frontmatter, and this has none.", 1)


def _length(text: str, notes: Notes) -> Iterator[Problem]:
    lines = len(text.splitlines())
    if lines > notes.memory_refuse:
        yield Problem(
            MEMORY,
            f"{lines} lines, and {notes.memory_refuse} are the most that is committed. Shorten "
            "your own part of it, or run `wakebook tick prune`.",
        )
    elif lines > notes.memory_warn:
        yield Problem(
            MEMORY, f"{lines} lines (cap: {notes.memory_cap}). Shorten it soon.", refused=False
        )


NAMES = ("pre-commit", "post-commit")
INDEXED = (*FOLDERS, "log.jsonl", "subjects.json")
MARK = "# Installed by Wakebook"
REFUSED = GitError.exit_code  # of a check that refuses; anything else is no reason to stop
_HEAD = f"""#!/bin/sh
{MARK}; `wakebook init` brings it up to date, and removes it if [git] hooks = false.
[ -z "${CHECKED}" ] || exit 0
"""
_FIND = """python=%s
if [ -x "$python" ]; then
  set -- "$python" -P -m wakebook
elif command -v wakebook >/dev/null 2>&1; then
  set -- wakebook
else
  echo "wakebook: not found, so its %s hook did nothing. \\`wakebook init\\` mends it." >&2
  exit 0
fi
"""
_BEFORE = f"""git diff --cached --quiet -- {" ".join(FOLDERS)} && exit 0
{{find}}"$@" --home "$PWD" git-hook pre-commit
code=$?
[ $code -ne {REFUSED} ] || exit 1
[ $code -eq 0 ] || echo "wakebook: this commit could not be checked (code $code)." >&2
exit 0
"""
_AFTER = f"""set -- {" ".join(INDEXED)}
changed=$(git diff-tree -m -r --root --no-commit-id --name-only HEAD -- "$@")
[ -n "$changed" ] || exit 0
{{find}}unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
nohup "$@" --home "$PWD" git-hook post-commit </dev/null >/dev/null 2>&1 &
exit 0
"""


def script(name: str) -> str:
    find = _FIND % (shlex.quote(sys.executable), name)
    return _HEAD + (_BEFORE if name == "pre-commit" else _AFTER).format(find=find)


def install(repository: Repository, config: Config) -> list[str]:
    """Put the hooks in place, or away. What the user should know about it."""
    if not repository.own:
        note = "no git hooks: this repository is yours. What Wakebook commits is checked anyway."
        return [note] if config.git.hooks else []
    own = repository.common / "hooks"
    looked = repository.hooks()
    notes: list[str] = []
    for name in NAMES:
        theirs = looked / name
        ours = looked.is_relative_to(repository.top.resolve()) and not _is_foreign(theirs)
        target = theirs if ours else own / f"{name}.wakebook"
        if not config.git.hooks:
            _remove(target)
        else:
            _write(target, script(name))
            notes += [] if ours else [_line(name, theirs, target)]
    return notes


def _is_foreign(path: Path) -> bool:
    """Whether there is a hook that we did not write."""
    if path.is_symlink():
        return True
    try:
        return MARK.encode() not in path.read_bytes()
    except FileNotFoundError:
        return False


def _write(path: Path, text: str) -> None:
    """Atomically: git may be about to run it."""
    if path.exists() and path.read_text(encoding="utf-8") == text and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(0o755)
    temporary.replace(path)


def _remove(path: Path) -> None:
    if path.exists() and not _is_foreign(path):
        path.unlink()


def _line(name: str, theirs: Path, target: Path) -> str:
    call = f'f="$(git rev-parse --git-common-dir)/hooks/{target.name}"; [ ! -x "$f" ] || "$f"'
    end = " || exit 1" if name == "pre-commit" else ""
    return f"your hook {theirs} stays as it is. To have Wakebook's too, add to it: {call}{end}"


def before_commit(home: Home, config: Config) -> list[Problem]:
    """What is wrong with what is staged, in the repository whose hook we are."""
    repository = Repository.find(home.root)
    if repository is None:
        raise GitError(f"{home.root} is in no git repository: there is nothing to check.")

    def change(name: str) -> Change:
        return Change(
            name, lambda: repository.content(name), lambda: repository.content(name, "HEAD")
        )

    changes = [change(name) for name in repository.staged(FOLDERS)]
    return check(changes, config.notes, rewrite=bool(os.environ.get(REWRITE)))
