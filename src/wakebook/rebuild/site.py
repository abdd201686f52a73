"""Site: the branch extract/NAME and its work tree below .cache/rebuild, a home of its own.

The user's checkout is never switched. If the branch or the folder was removed by hand, that is
noticed, and said.
"""

from __future__ import annotations

import re
import shutil
from datetime import datetime

import msgspec

from wakebook.base.errors import GitError, NotFound
from wakebook.base.home import Home
from wakebook.history import branches
from wakebook.history.history import History
from wakebook.rebuild import plan as plans
from wakebook.rebuild.plan import Done, Journal

PREFIX = "extract/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a rebuild stands."""

    name: str
    extractor: str = ""
    began: datetime | None = None
    transcripts: int = 0
    read: int = 0
    complete: bool = False
    note: str = ""  # what is wrong with it


class Site:
    def __init__(self, home: Home, history: History, name: str) -> None:
        if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
            raise GitError(f"{name!r} cannot be a branch: use letters, digits and hyphens.")
        self.name = name
        self.branch = f"{PREFIX}{name}"
        self.before_tag = f"memory/before/extract-{name}"
        self.merged_tag = f"memory/extract/{name}"
        self._main = home
        self.repository = history.required()
        self.folder = home.cache / "rebuild" / name
        self.home = Home(self.folder / self.repository.prefix)

    # --- how it stands -----------------------------------------------------------------

    def commit(self) -> str:
        """The newest commit of the branch; nothing if there is no branch."""
        return self.repository.resolve(f"refs/heads/{self.branch}") or ""

    def merged(self) -> str:
        """The commit that it was merged with, if it was."""
        return self.repository.resolve(f"refs/tags/{self.merged_tag}") or ""

    def there(self) -> bool:
        return (self.folder / ".git").exists()

    def done(self) -> Done | None:
        """What was built, if it is complete: that is when it is committed."""
        commit = self.commit()
        data = self.repository.show(commit, plans.FILE) if commit else None
        return plans.decode_done(data, f"{self.branch}:{plans.FILE}") if data else None

    def required(self) -> Done:
        """What was built, with its work tree in place. Raises NotFound."""
        done = self.done()
        if done is None and self.there() and Journal(self.home).plan:
            raise NotFound(
                f"The rebuild {self.name} is not complete. Give the same `wakebook rebuild` again: "
                "it goes on where it was."
            )
        if done is None:
            raise NotFound(
                f"There is no rebuild {self.name} (branch {self.branch}). `wakebook rebuild "
                "--list` shows what there is."
            )
        if not self.there():  # the folder was removed: the branch has everything
            shutil.rmtree(self.folder, ignore_errors=True)
            branches.check_out(self.repository, self.folder, self.branch)
        return done

    def standing(self) -> Standing:
        done, journal, note = self.done(), None, ""
        if done:
            note = "merged; `--merge` again removes what is left of it" if self.merged() else ""
        elif not self.there():
            note = "its work tree was removed before it was complete"
        elif not self.commit():
            note = "its branch was removed"
        elif (journal := Journal(self.home)).plan is None:
            note = "it was stopped before it began"
        plan = done.plan if done else journal.plan if journal else None
        if plan is None:
            return Standing(name=self.name, note=note)
        return Standing(
            name=self.name,
            extractor=plan.extractor,
            began=plan.began,
            transcripts=len(plan.transcripts),
            read=len(journal.read() if journal else plan.transcripts),
            complete=done is not None,
            note=note,
        )

    # --- making and removing -----------------------------------------------------------

    def make(self, base: str) -> None:
        """A branch from `base` with its work tree, where nothing is that could be lost."""
        if self.commit():
            if branches.ahead(self.repository, self.branch, base):
                raise GitError(
                    f"There is a branch {self.branch} that no rebuild has made. Choose another "
                    "--branch, or remove it."
                )
            self.remove()  # a rebuild that was killed before it began
        elif self.folder.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
        self._main.folder(self.folder.parent)
        branches.check_out(self.repository, self.folder, self.branch, base)

    def remove(self) -> str:
        """Without work tree and branch. The commit that the branch was at."""
        return branches.remove(self.repository, self.branch, self.folder)

    def tag(self, name: str, at: str = "HEAD") -> None:
        """Unless it is there: a merge that was killed is merged again."""
        if not self.repository.resolve(f"refs/tags/{name}"):
            self.repository.tag(name, at)

    def relate(self) -> bool:
        """Record in git that the branch is part of the current one, whose files stay as they
        are. Only in the home's own repository: another one's history is its owner's."""
        repository, tip = self.repository, self.commit()
        if not repository.own or not tip or branches.ahead(repository, self.branch) == 0:
            return False
        head, message = repository.head(), f"extract: {self.name} is part of this now"
        made = repository.commit_tree(message, head, tip)
        repository.git("update-ref", "-m", message, "HEAD", made, head)
        return True


def names(home: Home, history: History) -> list[str]:
    """Every rebuild that has a branch or a folder."""
    found = branches.branches(history.required(), f"{PREFIX}*")
    folders = {path.parent.name for path in (home.cache / "rebuild").glob("*/.git")}
    return sorted({one.name.removeprefix(PREFIX) for one in found} | folders)
