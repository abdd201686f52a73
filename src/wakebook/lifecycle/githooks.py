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
from pathlib import Path

from wakebook.config import Config
from wakebook.errors import GitError
from wakebook.git import CHECKED, Repository
from wakebook.home import Home
from wakebook.lifecycle import checks

NAMES = ("pre-commit", "post-commit")
INDEXED = (*checks.FOLDERS, "log.jsonl", "subjects.json")
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
_BEFORE = f"""git diff --cached --quiet -- {" ".join(checks.FOLDERS)} && exit 0
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


def before_commit(home: Home, config: Config) -> list[checks.Problem]:
    """What is wrong with what is staged, in the repository whose hook we are."""
    repository = Repository.find(home.root)
    if repository is None:
        raise GitError(f"{home.root} is in no git repository: there is nothing to check.")

    def change(name: str) -> checks.Change:
        return checks.Change(
            name, lambda: repository.content(name), lambda: repository.content(name, "HEAD")
        )

    changes = [change(name) for name in repository.staged(checks.FOLDERS)]
    return checks.check(changes, config.notes, rewrite=bool(os.environ.get(checks.REWRITE)))
