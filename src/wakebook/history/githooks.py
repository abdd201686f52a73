"""Checks: what may not go into the history as it is; and the hooks through which git asks.

The same rules hold for the pre-commit hook, which looks at what is staged, and for Wakebook's own
commits, which look at the files. A transcript is never changed once it is closed; a MEMORY.md that
is too long, or frontmatter that cannot be read, is better mended now than found in a year.
Everything else about a note is its author's business.

Git calls the hooks around a commit that you make by hand: before it the staged files are checked,
after it the search index is brought up to date, in the background. They are installed in the
home's own repository only. A hook of yours is never overwritten: Wakebook's is put beside it, and
`init` says the line that calls it. Wakebook's own commits are checked without a second process
and tell the hooks so.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from wakebook.base import markdown
from wakebook.base.config import Config, NoteSettings
from wakebook.base.errors import GitError
from wakebook.base.home import Home
from wakebook.history.leftovers import PRIVATE
from wakebook.history.repository import CHECKED, Repository, run

FOLDERS = ("raw/conversations", "knowledge", "topics", "archive")
MEMORY = "knowledge/memory/MEMORY.md"
REWRITE = "WAKEBOOK_REWRITE"  # for a person who has to take something out of a closed transcript
ENCRYPTED = b"\0GITCRYPT"
Content = Callable[[str], bytes | None]  # of a file, by its name in the home


class Problem(msgspec.Struct, frozen=True):
    path: str
    text: str
    line: int = 0
    refused: bool = True  # otherwise a warning

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.text}"


def check(
    names: Iterable[str], now: Content, before: Content, notes: NoteSettings
) -> list[Problem]:
    """What is wrong with some files as they are `now`. `before`: as the last commit has them."""
    below = tuple(f"{folder}/" for folder in FOLDERS)
    wanted = [name for name in names if name.endswith(".md") and name.startswith(below)]
    return [one for name in wanted for one in _problems(name, now(name), before, notes)]


def _problems(
    name: str, data: bytes | None, before: Content, notes: NoteSettings
) -> Iterator[Problem]:
    conversation = name.startswith("raw/conversations/")
    rewrite = bool(os.environ.get(REWRITE))  # closed transcripts may change, this once
    if conversation and not rewrite and is_closed(was := before(name)) and data != was:
        done = "changed" if data is not None else "removed or renamed"
        yield Problem(
            name,
            f"this conversation is closed and may not be {done}. `git checkout HEAD -- {name}` "
            f"brings it back; {REWRITE}=1 git commit … commits it all the same.",
        )
    elif data is not None and not data.startswith(ENCRYPTED):
        text = data.decode("utf-8", "replace")
        front = markdown.read_front(text)
        if front.problem:
            yield Problem(name, f"{front.problem}.", front.line)
        elif front.values is None and conversation:
            yield Problem(name, "a conversation begins with frontmatter, and this has none.", 1)
        if name == MEMORY:
            yield from _length(text, notes)
        if name.startswith("topics/") and not front.problem:
            yield from _topic(name, text)


def _topic(path: str, text: str) -> Iterator[Problem]:
    """A topic that cannot be used yet is no reason to lose what was written."""
    if PurePosixPath(path).name.startswith(("_", ".")):
        return  # it is none
    from wakebook.recall.topics import topic

    found = topic.parse(path, text)
    if isinstance(found, topic.BadTopic):
        yield Problem(path, f"{found.problem} The topic is left out until then.", found.line, False)
    elif not found.triggers and found.activation != "manual":
        said = "it has no triggers, so it activates by likeness alone, which is seldom."
        yield Problem(path, f"{said} Add some, or set `activation: manual`.", 1, False)


def is_closed(data: bytes | None) -> bool:
    if data is None:
        return False
    front, _ = markdown.split(data.decode("utf-8", "replace"))
    return front.get("closed") is True


def _length(text: str, notes: NoteSettings) -> Iterator[Problem]:
    lines = len(text.splitlines())
    if lines > notes.memory_refuse:
        yield Problem(
            MEMORY,
            f"{lines} lines, and {notes.memory_refuse} are the most that is committed. Shorten "
            "your own part of it, or run `wakebook notes brief`, which fits the rest in.",
        )
    elif lines > notes.memory_warn:
        yield Problem(
            MEMORY,
            f"{lines} lines, and from {notes.memory_refuse} on it is refused.",
            refused=False,
        )


NAMES = ("pre-commit", "post-commit")
MARK = "# Installed by Wakebook"
REFUSED = GitError.exit_code  # of a check that refuses; anything else is no reason to stop


def script(name: str) -> str:
    """A hook as it is installed, from the file of its name beside this one."""
    text = Path(__file__).with_name(f"{name}.sh").read_text(encoding="utf-8")
    python, folders = shlex.quote(sys.executable), " ".join(FOLDERS)
    values = {"MARK": MARK, "CHECKED": CHECKED, "REFUSED": str(REFUSED), "FOLDERS": folders}
    values |= {"PYTHON": python, "PRIVATE": " ".join((*PRIVATE, ".env"))}
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def install(repository: Repository, config: Config) -> list[str]:
    """Put the hooks in place, or away. What the user should know about it."""
    if not repository.own:
        note = "no git hooks: this repository is yours. What Wakebook commits is checked anyway."
        return [note] if config.git.hooks else []
    notes: list[str] = []
    for name, theirs, target in _places(repository):
        if config.git.hooks:
            _write(target, script(name))
            notes += [] if target == theirs else [_line(name, theirs, target)]
        elif target.exists() and not _is_foreign(target):
            target.unlink()
    return notes


def outdated(repository: Repository, config: Config) -> list[str]:
    """The hooks that are missing, or not as this version would install them: by whichever Python
    of this machine."""
    if not repository.own or not config.git.hooks:
        return []

    def said(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith("python=")]

    found = ((name, target) for name, _, target in _places(repository))
    return [
        name
        for name, target in found
        if not target.exists() or said(target.read_text("utf-8", "replace")) != said(script(name))
    ]


def _places(repository: Repository) -> Iterator[tuple[str, Path, Path]]:
    """Of each hook its name, where git looks for it, and where ours belongs."""
    path = repository.git("rev-parse", "--git-path", "hooks").strip()  # minds core.hooksPath
    looked = (repository.root / path).resolve()
    for name in NAMES:
        theirs = looked / name
        ours = looked.is_relative_to(repository.top.resolve()) and not _is_foreign(theirs)
        yield name, theirs, theirs if ours else repository.common / "hooks" / f"{name}.wakebook"


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


def _line(name: str, theirs: Path, target: Path) -> str:
    call = f'f="$(git rev-parse --git-common-dir)/hooks/{target.name}"; [ ! -x "$f" ] || "$f"'
    end = " || exit 1" if name == "pre-commit" else ""
    return f"your hook {theirs} stays as it is. To have Wakebook's too, add to it: {call}{end}"


def before_commit(home: Home, config: Config) -> list[Problem]:
    """What is wrong with the staged files, in the repository whose hook this is."""
    repository = Repository.find(home.root)
    if repository is None:
        raise GitError(f"{home.root} is in no git repository: there is nothing to check.")
    command = ["diff", "--cached", "--name-only", "--no-renames", "--relative", "-z"]
    staged = run(home.root, [*command, "--", *FOLDERS], inside=True).data.split(b"\0")
    return check(
        [os.fsdecode(name) for name in staged if name],
        lambda name: repository.show("", name, inside=True),
        lambda name: repository.show("HEAD", name, inside=True),
        config.notes,
    )
