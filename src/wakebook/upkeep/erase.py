"""Erase: a text, an entry or a whole conversation goes from the home for good.

`forget` takes back what is told; `erase` removes the words themselves, from every file of the home
and from git's whole history, and then looks at every byte to be sure. What it does, in order:

1. the order is written down (erasing.json), and tombstones, so that no reading brings it back;
2. git's history is written anew, and every branch and tag moves to it at once;
3. every file of the home is changed, each whole or not at all;
4. git's old objects and reflogs go;
5. notes and index are made from what is left, and everything is searched for it.

Killed anywhere, each step can be taken again: `erase`, `doctor` or the next erasure finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import GitError, NotFound, TranscriptError, WakebookError
from wakebook.base.home import Home
from wakebook.base.needles import LEAST
from wakebook.base.ref import parse
from wakebook.capture import archive, withheld
from wakebook.capture import state as states
from wakebook.history import leftovers
from wakebook.history.objects import Growth
from wakebook.history.rewrite import Counted, Rewriting
from wakebook.log import erased, forgotten, keyed, log, waiting
from wakebook.log.chains import find_entry
from wakebook.log.entry import Entry, encode, new_id
from wakebook.opened import Opened, quiet
from wakebook.upkeep.cursors import brought_up, tidied
from wakebook.upkeep.scrub import (
    CONVERSATIONS,
    DERIVED,
    JOURNAL,
    PEOPLE,
    Order,
    Scan,
    Scrub,
    files,
    inside,
    link,
    nobody,
    scan,
    scrub,
)
from wakebook.upkeep.withhold import renamed, sentences

if TYPE_CHECKING:
    from wakebook.history.timeline import Timeline
    from wakebook.store.sync import Progress as Shows
    from wakebook.upkeep.leaks import Leaks

REDACTED = "[redacted]"
SHOWN = 50  # places that a plan names


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """The receipt. It says how much went, and nothing of what it was."""

    at: datetime
    entries: int
    files: int
    removed: int
    commits: int
    scan: Scan
    remains: tuple[str, ...] = ()

    @property
    def well(self) -> bool:
        return not self.scan.found


class Erasing(msgspec.Struct, frozen=True, kw_only=True):
    """What would go. It quotes the words: it is for the one who asks, and is kept nowhere."""

    texts: tuple[str, ...]
    entries: tuple[Entry, ...] = ()
    shorter: tuple[Entry, ...] = ()  # handoffs, which lose the words and stay
    sessions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # that change
    removed: tuple[str, ...] = ()  # that go
    renamed: dict[str, str] = {}
    commits: int = 0  # of git's history that become others
    of_commits: int = 0
    names: tuple[str, ...] = ()  # branches and tags that move
    reflog: int = 0  # entries of git's reflogs, all of which go
    remains: tuple[str, ...] = ()  # where the words stay, outside of the home
    receipt: Erased | None = None  # if it was done

    @property
    def nothing(self) -> bool:
        return not (self.entries or self.files or self.removed or self.commits)


class More(TypedDict, total=False):
    """What can be erased instead of an entry or a text."""

    session: str  # a whole conversation
    since: datetime | None  # all that was said from then on
    strings: Sequence[str]  # exactly these, in upper and lower case as they are
    placeholder: str  # with `strings`: this stands in their place, and nothing else changes


class Eraser:
    """The handle of erasing."""

    def __init__(self, opened: Opened, timeline: Timeline, followed: Callable[[], None]) -> None:
        """`followed`: writes notes and index anew, from the log as it is then."""
        self._opened, self._timeline, self._followed = opened, timeline, followed
        self._growth = Growth()

    @property
    def _home(self) -> Home:
        return self._opened.home

    def plan(self, what: str = "", progress: Shows = quiet, **more: Unpack[More]) -> Erasing:
        """What an erasure would change. Changes nothing; the arguments are those of `erase`."""
        return self._planned(self._order(what, more), progress)[1]

    def erase(self, what: str = "", progress: Shows = quiet, **more: Unpack[More]) -> Erased:
        """Remove it from the home and from git's history, for good. Undo does not bring it back.

        `what`: an entry's id, `session:ID`, or a text. Otherwise one of `More`. To redact secrets:

            receipt = memory.eraser.erase(strings=found, placeholder="[redacted]")
            receipt.well            # False: receipt.scan.found says where one still is

        Raises WakebookError before anything is changed: a text that is too short, a merge under
        way in git. Give all strings in one call: history is rewritten once for all of them.
        """
        self.finish()
        order = self._order(what, more)
        with self._opened.writing():
            order, planned = self._planned(order, progress)
            self._home.replace(self._home.root / JOURNAL, msgspec.json.encode(order))
            return self._done(order, planned, progress)

    def leaks(self, progress: Shows = quiet) -> Leaks:
        """The secrets that the home and its history hold, as today's rules see them."""
        from wakebook.upkeep.leaks import leaks

        self._home.require()
        return leaks(self._home, self._timeline.git().repository, progress)

    def asked(self, yes: bool, **given: Any) -> Erasing:
        """What would change; with `yes`, what has, and the receipt."""
        planned = self.plan(**given)
        if not yes:
            return planned
        return msgspec.structs.replace(planned, receipt=self.erase(**given))

    def finish(self, progress: Shows = quiet) -> Erased | None:
        """Finish an erasure that was interrupted, if there is one."""
        order = unfinished(self._home)
        if order is None:
            return None
        with self._opened.writing():
            return self._done(order, self._planned(order, progress)[1], progress)

    # --- the order -------------------------------------------------------------------------

    def _order(self, what: str, more: More) -> Order:
        self._home.require()
        strings, session = more.get("strings", ()), more.get("session", "")
        since, placeholder = more.get("since"), more.get("placeholder", "")
        given = [bool(what), bool(strings), bool(session), since is not None]
        if sum(given) != 1:
            raise WakebookError("Give one thing to erase: an id, a text, a session or a date.")
        order = Order(at=clock.now(), placeholder=placeholder or "[erased]")
        if strings:
            self._check(strings)
            return order.with_(texts=tuple(strings), exact=bool(placeholder))
        if since is not None:
            return self._since(order, since)
        if session or what.startswith("session:"):
            return self._session(order, session or parse(what).name)
        with suppress(NotFound):
            entry = find_entry(self._opened.chains(), what.strip())
            return self._entry(order, entry)
        self._check([what])
        return order.with_(texts=(what.strip(),))

    def _check(self, texts: Iterable[str]) -> None:
        short = [text for text in texts if len(" ".join(text.split())) < LEAST]
        if short:
            raise WakebookError(
                f"{short[0]!r} is too short to erase: it stands in other words, too. Give at least "
                f"{LEAST} characters, better the whole sentence, or an entry's id "
                "(`wakebook search` shows ids)."
            )

    def _entry(self, order: Order, entry: Entry) -> Order:
        texts = [entry.content, *entry.detail.split("\n"), *sentences(self._home, entry)]
        kept = tuple(dict.fromkeys(one.strip() for one in texts if len(one.strip()) >= LEAST))
        return order.with_(texts=kept, ids=(entry.id,))

    def _session(self, order: Order, name: str) -> Order:
        state, chains = self._opened.state(), self._opened.chains()
        known = {one.id for one in state.sessions.values()}
        known |= {one.session for one in chains.entries if one.transcript}
        fitting = [name] if name in known else sorted(one for one in known if one.startswith(name))
        if not fitting and name and archive.paths_of(self._home, name):
            fitting = [name]
        if len(fitting) != 1 or not name:
            several = f" It fits {len(fitting)} sessions." if fitting else ""
            raise NotFound(
                f"There is no session {name!r}.{several} `wakebook status --sessions` lists all."
            )
        return self._sessions(order, fitting)

    def _sessions(self, order: Order, sessions: Sequence[str]) -> Order:
        """Whole conversations: their transcripts, their entries, and where they were read from."""
        gone = [path for one in sessions for path in archive.paths_of(self._home, one)]
        gone += [old for path in gone for old in withheld.former(self._home, path)]
        root = self._home.root.resolve()
        for known in self._opened.state().sessions.values():
            source = Path(known.path)
            if known.id in sessions and source.resolve().is_relative_to(root):
                gone.append(source.resolve().relative_to(root).as_posix())
        return order.with_(
            sessions=(*order.sessions, *sessions), gone=(*order.gone, *gone), scoped=True
        )

    def _since(self, order: Order, since: datetime) -> Order:
        order = order.with_(since=since, scoped=True)
        left: dict[str, bool] = {}  # whether something of a session stays
        gone: list[str] = []
        for path in sorted(self._home.conversations.rglob("*.md")):
            name = self._home.relative(path)
            with suppress(TranscriptError):
                found = archive.read(self._home, name)
                session = str(found.front.get("session_id", ""))
                stays = any(turn.at < since for turn in found.turns)
                left[session] = left.get(session, False) or stays
                gone += [] if stays else [name]
        whole = [session for session, stays in left.items() if not stays and session]
        order = self._sessions(order, whole) if whole else order
        return order.with_(gone=tuple(dict.fromkeys((*order.gone, *gone))))

    # --- the plan --------------------------------------------------------------------------

    def _planned(self, order: Order, progress: Shows) -> tuple[Order, Erasing]:
        """The order with all that it needs to know, and what it would change."""
        rules = Scrub(order)
        changed: list[str] = []
        called: dict[str, str] = {}
        for number, path in enumerate(files(self._home.root), 1):
            name = self._home.relative(path)
            progress("files", number, number)
            if rules.spares(name) or DERIVED.fullmatch(inside(name)) or rules.path(name) is None:
                continue
            data = path.read_bytes()
            after = rules.data(name, data)
            if after != data:
                changed.append(name)
            if after != data and CONVERSATIONS.fullmatch(name) and not order.scoped:
                called |= self._renamed(name, data, after)
        entries = self._entries(order, rules)
        counted = self._counted(rules, progress)
        names = order.names or self._names(order, entries, called)
        shorter = [] if order.exact or order.scoped else self._handoffs(rules, entries)
        names |= {} if order.names else {one.id: new_id() for one in shorter}
        said = self._alone(order, rules.said, {one.id for one in entries})
        texts = tuple(dict.fromkeys((*order.texts, *said)))
        order = order.with_(names=names, texts=texts, ids=tuple(one.id for one in entries))
        if said:  # what they said may stand in other files
            rules = Scrub(order)
            counted = self._counted(rules, progress)
        if people := self._people(order, rules, {*changed, *counted.files}):
            changed = [one for one in changed if one not in people]
            links = {link(name, called): "[erased]" for name, called in people.items()}
            links |= dict.fromkeys(people, "erased")
            order = order.with_(gone=(*order.gone, *people), names=order.names | links)
            counted = self._counted(Scrub(order), progress)
        named = Scrub(order)
        moved = {
            name: new
            for path in files(self._home.root)
            if (new := named.path(name := self._home.relative(path))) not in (None, name)
        }
        return order, Erasing(
            texts=order.texts,
            entries=tuple(entries),
            shorter=tuple(shorter),
            sessions=order.sessions,
            files=tuple(changed),
            removed=tuple(one for one in order.gone if (self._home.root / one).exists()),
            renamed={name: new for name, new in moved.items() if new},
            commits=counted.commits,
            of_commits=counted.all,
            names=counted.names,
            reflog=counted.reflog,
            remains=tuple(self._remains(order, changed)),
        )

    def _renamed(self, name: str, data: bytes, after: bytes) -> dict[str, str]:
        """What a transcript is called from now on, if its first words are no longer the same. The
        names that it had before it forgot them go as well."""
        new = renamed(name, *map(_first, (data, after))) or name
        old = [*withheld.former(self._home, name), *([name] if new != name else [])]
        return dict.fromkeys(old, new) | {Path(one).stem: Path(new).stem for one in old}

    def _entries(self, order: Order, rules: Scrub) -> list[Entry]:
        """Of the log and of what waits: those that go."""
        known = {one.id: one for one in log.read(self._home).entries}
        known |= waiting.read(self._home).entries
        if order.exact:
            return []
        gone = set(order.ids)
        return [
            one
            for one in known.values()
            if one.id in gone
            or one.session in order.sessions
            or (order.since and one.timestamp >= order.since)
            or (not order.scoped and rules.says(encode(one)))
        ]

    def _people(self, order: Order, rules: Scrub, names: Iterable[str]) -> dict[str, str]:
        """Notes about people of whom nothing else is known, and whom each is about: their names
        were said there as well."""
        found: dict[str, str] = {}
        for name in [] if order.exact else sorted(names):
            path = self._home.root / name
            if PEOPLE.fullmatch(name) and path.is_file():
                after = rules.data(name, path.read_bytes())
                if called := nobody(after.decode("utf-8", "replace"), order.placeholder):
                    found[name] = called
        return found

    def _alone(self, order: Order, said: Iterable[str], going: Collection[str]) -> list[str]:
        """Of what was said there, that which nothing else says that stays."""
        left = {" ".join(text.split()).lower() for text in said}
        texts = (
            f"{one.content}\n{one.detail}"
            for one in self._opened.chains().entries
            if one.id not in going
        )
        rules = Scrub(order)
        paths = self._home.conversations.rglob("*.md") if left else ()
        kept = (path for path in paths if self._home.relative(path) not in order.gone)
        others = (
            rules.data(self._home.relative(path), path.read_bytes()).decode("utf-8", "replace")
            for path in kept
        )
        for text in chain(texts, others):
            there = " ".join(text.split()).lower()
            left -= {one for one in left if one in there}
        return [text for text in said if " ".join(text.split()).lower() in left]

    def _handoffs(self, rules: Scrub, entries: Sequence[Entry]) -> list[Entry]:
        found = (one for one in self._opened.chains().entries if one.type == "handoff")
        words = ((one, f"{one.content}\n{one.detail}".encode()) for one in found)
        return [one for one, text in words if one not in entries and rules.needles.found(text)]

    def _names(
        self, order: Order, entries: Iterable[Entry], renamed: dict[str, str]
    ) -> dict[str, str]:
        """Names that become others: an id is made from the words, a path has the first of them."""
        found = dict(renamed)
        for path in order.gone:
            found |= {path: "erased", Path(path).stem: "erased"}
        for session in order.sessions:
            for name in dict.fromkeys((session, archive.file_part(session))):
                distinct = len(name) > 11 and any(map(str.isdigit, name))
                forms = ("{}",) if distinct else ('"{}"', "/{}", "session:{}")  # it may be a word
                found |= {form.format(name): form.format("erased") for form in forms}
        return found | {one.id: new_id() for one in entries}

    def _counted(self, rules: Scrub, progress: Shows) -> Counted:
        repository = self._timeline.git().repository
        if repository is None or not repository.head():
            return Counted(0, 0, (), 0)
        return Rewriting(repository, rules, self._growth).count(progress)

    def _remains(self, order: Order, changed: Sequence[str]) -> Iterable[str]:
        """Where the words may stay, and Wakebook does not reach."""
        touched = {*changed, *order.gone}
        sources: dict[str, None] = {}
        known = {one.id: one.path for one in self._opened.state().sessions.values()}
        for name in touched:
            if CONVERSATIONS.fullmatch(name):
                with suppress(TranscriptError):
                    front = archive.read(self._home, name).front
                    path = known.get(str(front.get("session_id")), "")
                    inside = Path(path).is_relative_to(self._home.root)
                    if path and not inside and Path(path).exists():
                        sources[path] = None
        yield from (f"the host's own file {path}" for path in sources)
        repository = self._timeline.git().repository
        if repository is not None:
            for line in repository.attempt("remote", "-v").text.splitlines():
                if line.endswith("(push)"):
                    name, _, where = line.removesuffix(" (push)").partition("\t")
                    yield (
                        f"the remote {name} ({where}): `git -C {repository.top} push --force "
                        f"--all {name}` and `--tags`, then have its host collect garbage"
                    )
        yield "backups, file-system snapshots, exported vaults, other machines, agents' own context"

    # --- doing -----------------------------------------------------------------------------

    def _done(self, order: Order, planned: Erasing, progress: Shows) -> Erased:
        """Under the writer lock, with the order written down."""
        home, git = self._home, self._timeline.git()
        repository = git.repository
        if repository is not None:
            if obstacle := repository.obstacle():
                (home.root / JOURNAL).unlink(missing_ok=True)
                raise GitError(f"{obstacle} Nothing was erased.")
            leftovers.heal(repository)  # locks of an erasure that was killed
            with suppress(GitError):
                git.finish()
        rules = Scrub(order, keyed.made(home))
        forgotten.add(home, ())  # seals older ones
        _bury(home, rules)
        tidied(home)
        rewriting = None
        if repository and repository.head():
            rewriting = Rewriting(repository, rules, self._growth)
            rewriting.apply(progress)
        home.replace(home.rewrites, clock.iso(clock.now()))
        touched = list(scrub(home, rules))
        _elsewhere(self._opened, rules)
        brought_up(home, rules)
        if rewriting:
            rewriting.refresh()
            rewriting.drop()
        self._opened.index.wipe()
        self._followed()
        self._opened.index.only_current_vectors()
        if rewriting:
            self._opened.quietly("git", lambda: git.backup("what was erased", git.waiting()))
            rewriting.drop()  # git has noted meanwhile what it did
        looked = scan(home, repository, rules)
        (home.root / JOURNAL).unlink(missing_ok=True)
        return Erased(
            at=order.at,
            entries=len(planned.entries),
            files=len(touched),
            removed=len(planned.removed),
            commits=planned.commits,
            scan=looked,
            remains=planned.remains,
        )


def unfinished(home: Home) -> Order | None:
    """An erasure that was interrupted."""
    try:
        return decode((home.root / JOURNAL).read_bytes(), Order)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WakebookError(
            f"{home.root / JOURNAL} cannot be read ({error}): it is the order of an erasure that "
            "was interrupted. Remove the file, and erase again."
        ) from error


def _first(data: bytes) -> str:
    turns = archive.parse(archive.split_body(data.decode("utf-8", "replace")))
    return turns[0].text if turns else ""


def _bury(home: Home, rules: Scrub) -> None:
    """Tombstones first: from now on nothing brings it back, whatever happens."""
    secret, order = keyed.made(home), rules.order
    sessions = {*order.sessions, *(one for one in _known(home) if rules.renames(one))}
    stones = [erased.of_session(secret, one, order.at) for one in sorted(sessions)]
    if order.since:
        stones.append(erased.Tombstone(at=order.at, since=order.since))
    texts = () if order.scoped else order.texts
    stones += [one for text in texts if (one := erased.of_text(secret, text, order.at))]
    erased.add(home, stones)


def _known(home: Home) -> Iterable[str]:
    return {one.id for one in states.load(home).sessions.values()}


def _elsewhere(opened: Opened, rules: Scrub) -> None:
    """MEMORY.md, where it lives outside of the home."""
    path = opened.memory_file()
    if not path.is_relative_to(opened.home.root) and path.is_file():
        data = path.read_bytes()
        if (after := rules.data("knowledge/memory/MEMORY.md", data)) != data:
            opened.home.replace(path, after)
