"""Measure whether changes are followed, and give bench/fit_select.py pairs to learn from.

    python bench/changing.py [FOLDER | FILE] [--together] [--errors] [--json]

The command reads conversations in which values change: a file with one a line (by default
bench/labels/changes.jsonl, which the weights were fitted on) or a folder with one a file. Each is
read into a home of its own, as `wakebook catch-up` does it; `--together`, all into one. It prints
how many changes were followed and how many replacements were right, by the definitions below;
`--errors` lists what went wrong, replacements first, with the sentences.

A conversation: `sessions` in order of time (`time`, `cwd`, `messages` with `role` and `text`);
`changes` (`old` and `new`, each with `session`, `message` and `sentence`, verbatim; `cue` is "word"
or "silent", `where` "same" or "later"); `keep`, sentences that must stay current.

For fitting, a pair asks: does the later sentence replace the earlier one? Pairs come from the
labelled conversations, read in the order of their dates as one memory reads them; from
conversations of LongMemEval without labels, in which strangers change nothing; from
changes.jsonl; from pairs.jsonl (two sentences a line); from lives.jsonl (sentences of a life, in
several sessions, with the number of the one that each replaces); and from contrast_more.jsonl
(a sentence, and messages of which each says by `rel` whether it replaces or ends that: they are as
alike as their writers could make them; contrast.jsonl is not among these, since tools/judge.py has
learned from it). All of them are read by the selector itself, with the labels deciding what
replaces what; every pair that it compares is a case, with what `learn/select/changes.py` sees of
the two.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.homes import temporary
from bench.judged import is_kept

from bench import labelled
from wakebook.base.config import Config
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Heard, Scene
from wakebook.learn.reading import REACH
from wakebook.learn.select.changes import Change, Place, compared, elliptic
from wakebook.learn.select.extractor import Selector
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.select.speech import Sentence, sentences
from wakebook.learn.select.worth import stated, untold
from wakebook.log.entry import Entry

EPOCH = datetime.fromtimestamp(0, UTC)
STRANGERS = 150  # conversations of LongMemEval without labels
ASKED = ("sharegpt", "ultrachat")  # of which these tell of nobody's life

Gold = Callable[[Known, str, str], int | None]  # whether an entry, of a session, is changed


class Case(NamedTuple):
    group: str  # fitted on or measured on as a whole
    said: int  # which new sentence
    features: dict[str, float]
    right: int | None  # None: either way
    weight: float
    texts: tuple[str, str]


class Reader:
    """Reads conversations one after the other as catching up does, but decides what replaces what
    as the labels say, and notes what could be seen of every pair."""

    def __init__(self, weight: float, reach: int = REACH) -> None:
        self.cases: list[Case] = []
        self._weight, self._reach = weight, reach
        self._entries: dict[str, Entry] = {}
        self._heard: list[list[Heard]] = []
        self._count = 0

    def read(
        self, group: str, name: str, turns: Iterable[Sequence[str]], project: str, gold: Gold
    ) -> None:
        said = [
            Message(role="user" if who == "user" else "agent", text=text, id=f"{name}/{n}", turn=n)
            for n, (who, text) in enumerate(turns, 1)
        ]
        gone = {old for one in self._entries.values() for old in one.replaces}
        earlier = [it for part in self._heard[-self._reach :] for it in part]
        scene = Scene(
            current=[one for one in self._entries.values() if one.id not in gone],
            project=project,
            heard=lambda: [one for one in earlier if one.project == project],
        )
        decide = partial(self._decide, group, name, gold)
        for draft in Selector(decide=decide).extract(said, scene):
            session = draft.heard.session if draft.heard else name
            entry = draft.entry(session, EPOCH).with_(project=project, transcript=session)
            self._entries.setdefault(entry.id, entry)
        ours = [one for one in self._entries.values() if one.transcript == name]
        told = (f"{one.content}\n{one.detail}" for one in ours)
        about = {"session": name, "transcript": name, "project": project}
        self._heard.append(
            [msgspec.structs.replace(one, **about) for one in untold(stated(said), told)]
        )

    def _decide(
        self, group: str, name: str, gold: Gold, text: str, ledger: Ledger, place: Place
    ) -> Change | None:
        self._count += 1
        found = None
        for known, seen in compared(text, ledger, place, every=True):
            kept = self._entries.get(known.id)
            session = kept.session if kept else known.heard.session if known.heard else ""
            right = gold(known, session or name, text)
            texts = (known.content, text)
            self.cases.append(Case(group, self._count, seen, right, self._weight, texts))
            found = found or (known if right else None)
        return Change(found, elliptic(text, found)) if found else None


# --- the labelled conversations --------------------------------------------------------------


def of_labels(given: Sequence[labelled.Session], weight: float) -> list[Case]:
    by_id = {one.id: one for one in given}
    reader = Reader(weight)
    for session in sorted(given, key=lambda one: one.date):
        group = f"pair {session.pair}" if session.pair else session.id
        reader.read(group, session.id, session.turns, "", partial(_labelled, by_id, session))
    return reader.cases


def _labelled(
    by_id: Mapping[str, labelled.Session],
    session: labelled.Session,
    known: Known,
    name: str,
    text: str,
) -> int | None:
    earlier = by_id[name]
    has = [it for it in session.items if labelled.has(text, it.must)]
    had = [it for it in earlier.items if labelled.has(known.content, it.must)]
    if any((earlier.id, it.turn) == one.replaces for it in had for one in has):
        return 1
    related = bool(session.pair) and earlier.pair == session.pair and earlier is not session
    return None if related or {it.slot for it in has} & {it.slot for it in had} - {""} else 0


def of_strangers(data: Path | None, labels: Iterable[str], weight: float) -> list[Case]:
    """Conversations of other people, as if one had had them all: hardly any changes another."""
    if not data:
        return []
    known, raw = set(labels), labelled.longmemeval(data)
    names = [it for it in raw.sessions if it not in known and not it.startswith(ASKED)]
    Random(3).shuffle(names)
    reader = Reader(weight)
    for name in sorted(names[:STRANGERS], key=raw.dates.__getitem__):
        turns = [(it["role"], it["content"]) for it in raw.sessions[name]]
        reader.read(_life(name), name, turns, "", partial(_strange, name))
    return reader.cases


def _strange(ours: str, known: Known, name: str, text: str) -> int | None:
    return None if name != ours and _life(name) == _life(ours) else 0


def _life(name: str) -> str:
    """Whose conversation it is, as far as its name says it."""
    return name.rpartition("_")[0] or name


# --- conversations, lives and pairs in which values change -------------------------------------


def of_changes(weight: float) -> list[Case]:
    found: list[Case] = []
    for number, talk in enumerate(labelled.lines("changes")):
        reader = Reader(weight)
        gold = partial(_changed, Talk(number, talk, [], frozenset()))
        for place, session in enumerate(talk["sessions"]):
            turns = [(one["role"], one["text"]) for one in session["messages"]]
            reader.read(f"change {number}", f"{number}-{place}", turns, session["cwd"], gold)
        found += reader.cases
    return found


def _changed(talk: Talk, known: Known, name: str, text: str) -> int:
    said, new = _plain(known.content), _plain(text)
    return int(
        any(
            _plain(one["old"]["sentence"]) in said
            and any(_plain(it["sentence"]) in new for it in talk.after(one))
            for one in talk.raw["changes"]
        )
    )


def of_lives(weight: float) -> list[Case]:
    """Some sentences of a life each, said in several sessions."""
    found: list[Case] = []
    for number, life in enumerate(labelled.lines("lives")):
        reader, rows = Reader(1.0 if life.get("chat") else weight), life["said"]
        pairs = [(rows[it["replaces"]]["text"], it["text"]) for it in rows if "replaces" in it]
        for place in sorted({row["session"] for row in rows}):
            turns = [("user", row["text"]) for row in rows if row["session"] == place]
            reader.read(f"life {number}", f"{number}-{place}", turns, "", partial(_paired, pairs))
        found += reader.cases
    return found


def of_pairs(weight: float) -> list[Case]:
    found: list[Case] = []
    for number, pair in enumerate(labelled.lines("pairs")):
        reader = Reader(weight)
        gold = partial(_paired, [(pair["old"], pair["new"])] if pair["replaces"] else [])
        for name in ("old", "new"):
            reader.read(f"two {number}", name, [("user", pair[name])], "", gold)
        found += reader.cases
    return found


def of_contrast(name: str, weight: float) -> list[Case]:
    found: list[Case] = []
    for group in labelled.lines(name):
        for later in group["later"]:
            reader, turns = Reader(weight), [("user", later["text"])]
            turns = [("assistant", later["agent"]), *turns] if later.get("agent") else turns
            gold = partial(_contrasted, _plain(later["part"]), later["rel"])
            reader.read(group["id"], "old", [("user", group["before"])], "", gold)
            reader.cases.clear()  # within what was said before
            reader.read(group["id"], "new", turns, "", gold)
            number = found[-1].said + 1 if found else 0
            found += [case._replace(said=number + case.said) for case in reader.cases]
    return found


def of_talks(name: str, weight: float) -> list[Case]:
    """What people say in one place over some weeks."""
    found: list[Case] = []
    for talk in labelled.lines(name):
        reader, said = Reader(weight), talk["messages"]
        pairs = [(one["held"], one["says"]) for one in talk["changes"]]
        for place in sorted({one["session"] for one in said}):
            here = [one for one in said if one["session"] == place]
            turns = [
                (who, one[what])
                for one in here
                for who, what in (("user", "text"), ("assistant", "reply"))
                if one.get(what)
            ]
            gold = partial(_made_so, pairs)
            reader.read(talk["id"], f"{talk['id']}-{place}", turns, talk["id"], gold)
        number = found[-1].said + 1 if found else 0
        found += [case._replace(said=number + case.said) for case in reader.cases]
    return found


def _made_so(pairs: Sequence[tuple[str, str]], known: Known, name: str, text: str) -> int:
    """Whether a part of the older words is out of date by a part of the new ones."""
    old, new = _plain(known.content), _plain(text)
    return int(
        any(
            (held in old or old in held) and (says in new or new in says)
            for held, says in ((_plain(one), _plain(two)) for one, two in pairs)
        )
    )


def _contrasted(part: str, rel: str, known: Known, name: str, text: str) -> int | None:
    said = _plain(text)
    if name == "new" or rel not in ("replaces", "ends"):
        return 0
    return 1 if part in said or said in part else None


def _paired(pairs: Sequence[tuple[str, str]], known: Known, name: str, text: str) -> int:
    said, new = _plain(known.content), _plain(text)
    return int(any(_plain(old) in said and _plain(it) in new for old, it in pairs))


def _plain(text: str) -> str:
    return " ".join(text.split()).lower().rstrip(".!")


def messages() -> Iterator[tuple[tuple[Sentence, ...], set[str]]]:
    """The users' messages in which values change, and the sentences that are worth keeping."""
    for talk in labelled.lines("changes"):
        sides = [one[side]["sentence"] for one in talk["changes"] for side in ("old", "new")]
        wanted = [_plain(text) for text in (*sides, *talk["keep"])]
        for message in (it for one in talk["sessions"] for it in one["messages"]):
            said = sentences(message["text"]) if message["role"] == "user" else ()
            texts = {one.text for one in said}
            yield said, {text for text in texts if any(it in _plain(text) for it in wanted)}


# --- the measure ------------------------------------------------------------------------------

MEANINGS = {
    "changes followed": "the new sentence stands in an entry that is current (or that only a later "
    "change replaced), and every entry with the old sentence is replaced",
    "in the same session": "the same where the change comes in the session of the old value",
    "in a later session": "the same where it comes in a later one",
    "with a word of change": 'the same for "actually", "no longer", "turns out" and the like',
    "without one": "the same where only the value differs",
    "both sentences kept": "of all changes, those with an entry of either sentence",
    "old value still told": "of all changes, those whose old sentence is a current entry",
    "replacements right": "of all replacements of facts and decisions, those in which the old "
    "entry has the old sentence of a change and the new one its new sentence, or that of a later "
    "change of the same value",
    "kept sentences replaced": "of the sentences that must stay current and are entries, those "
    "that were replaced",
}


class Talk(NamedTuple):
    """A conversation, and what was learned from it."""

    number: int
    raw: dict[str, Any]
    entries: list[Entry]
    gone: frozenset[str]

    def of(self, side: Mapping[str, Any]) -> list[Entry]:
        """The entries of a session that have a sentence."""
        said = _plain(side["sentence"])
        here = [one for one in self.entries if one.session == f"{self.number}-{side['session']}"]
        return [one for one in here if said in _plain(one.content)]

    def olds(self, change: Mapping[str, Any]) -> list[Entry]:
        """The entries with the old sentence alone: a correction may stand behind it."""
        later = [_plain(one["sentence"]) for one in self.after(change)]
        found = self.of(change["old"])
        return [one for one in found if not any(text in _plain(one.content) for text in later)]

    def followed(self, change: Mapping[str, Any]) -> bool:
        news, olds = self.of(change["new"]), self.olds(change)
        goes_on = len(self.after(change)) > 1
        stands = any(one.id not in self.gone for one in news) or (bool(news) and goes_on)
        return stands and bool(olds) and all(one.id in self.gone for one in olds)

    def right(self, old: Entry, new: Entry) -> bool:
        return any(
            old in self.of(change["old"]) and any(new in self.of(it) for it in self.after(change))
            for change in self.raw["changes"]
        )

    def after(self, change: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The new value of a change, and those that came after it."""
        found = [change["new"]]
        while later := [one["new"] for one in self.raw["changes"] if one["old"] == found[-1]]:
            found += later[:1]
        return found


def talks(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.json")) if path.is_dir() else []
    if not files and not path.is_file():
        raise SystemExit(f"{path}: has no conversations. Give a folder of *.json, or a .jsonl.")
    texts = [one.read_text("utf-8") for one in files] or path.read_text("utf-8").splitlines()
    return [json.loads(text) for text in texts]


def heard(given: Sequence[tuple[int, dict[str, Any]]]) -> list[Talk]:
    """What one home learns from these conversations."""
    with temporary(Config()) as memory, tempfile.TemporaryDirectory() as folder:
        for number, raw in given:
            for place, session in enumerate(raw["sessions"]):
                _write(Path(folder), f"{number}-{place}", session)
        memory.catch_up([Path(folder)], closing=True)
        log = list(memory.log.chains().entries)
    gone = frozenset(old for one in log for old in one.replaces)
    kept = [one for one in log if is_kept(one)]
    return [Talk(number, raw, _of(number, kept), gone) for number, raw in given]


def _of(number: int, entries: Iterable[Entry]) -> list[Entry]:
    return [one for one in entries if one.session.startswith(f"{number}-")]


def _write(folder: Path, name: str, session: Mapping[str, Any]) -> None:
    began = datetime.fromisoformat(session["time"])
    lines: list[dict[str, str]] = [{"session": name, "cwd": session["cwd"]}]
    for minute, said in enumerate(session["messages"]):
        at = (began + timedelta(minutes=minute)).isoformat()
        lines.append({"role": said["role"], "content": said["text"], "timestamp": at})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text, "utf-8")


def made(found: Sequence[Talk]) -> Iterator[tuple[Entry, Entry, bool]]:
    """Every replacement of a fact or decision: old, new, and whether it is right."""
    known = {one.id: one for talk in found for one in talk.entries}
    for talk in found:
        for new in talk.entries:
            for old in (known[it] for it in new.replaces if it in known):
                # noted anew with what may have changed it, a sentence is replaced by none
                if old.type in ("fact", "decision") and old.content != new.content:
                    yield old, new, talk.right(old, new)


def figures(found: Sequence[Talk]) -> dict[str, tuple[int, int]]:
    rows = [(talk, change) for talk in found for change in talk.raw["changes"]]
    keeps = [one for talk in found for text in talk.raw["keep"] for one in _having(talk, text)]
    followed = [(talk.followed(change), change) for talk, change in rows]
    replaced = [right for _, _, right in made(found)]
    gone = {old for talk in found for old in talk.gone}

    def share(hits: Iterable[bool]) -> tuple[int, int]:
        listed = list(hits)
        return sum(listed), len(listed)

    counts = (
        share(yes for yes, _ in followed),
        share(yes for yes, change in followed if change["where"] == "same"),
        share(yes for yes, change in followed if change["where"] != "same"),
        share(yes for yes, change in followed if change["cue"] == "word"),
        share(yes for yes, change in followed if change["cue"] != "word"),
        share(bool(talk.of(one["new"]) and talk.of(one["old"])) for talk, one in rows),
        share(any(it.id not in talk.gone for it in talk.olds(one)) for talk, one in rows),
        share(replaced),
        share(one.id in gone for one in keeps),
    )
    return dict(zip(MEANINGS, counts, strict=True))


def _having(talk: Talk, text: str) -> list[Entry]:
    """The first entry with a sentence, unless it is part of a change as well."""
    sides = (one[side]["sentence"] for one in talk.raw["changes"] for side in ("old", "new"))
    changing = any(_plain(text) in _plain(side) for side in sides)
    found = [one for one in talk.entries if _plain(text) in _plain(one.content)]
    return [] if changing else found[:1]


def errors(found: Sequence[Talk]) -> Iterator[str]:
    for old, new, right in made(found):
        if not right:
            yield f"REPLACED  {old.session}: {old.content!r}"
            yield f"      by  {new.session}: {new.content!r}"
    for talk in found:
        for one in talk.raw["changes"]:
            if not talk.followed(one):
                yield f"CHANGE  {talk.number}, {one['cue']}, {one['where']}: {_why(talk, one)}"
                yield f"     from  {one['old']['sentence']!r}"
                yield f"       to  {one['new']['sentence']!r}"


def _why(talk: Talk, change: Mapping[str, Any]) -> str:
    missing = [side for side in ("old", "new") if not talk.of(change[side])]
    if missing:
        return " and ".join(missing) + " not kept"
    stands = any(one.id not in talk.gone for one in talk.olds(change))
    return "both stand" if stands else "the new one was replaced"


def main(argv: Sequence[str] | None = None) -> None:
    described = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=described)
    add = options.add_argument
    add("path", nargs="?", type=Path, default=labelled.LABELS / "changes.jsonl", metavar="PATH")
    add("--together", action="store_true", help="read all conversations into one home")
    add("--errors", action="store_true", help="list what went wrong, with the sentences")
    add("--json", action="store_true", help="print the figures as JSON")
    asked = options.parse_args(argv)
    given = list(enumerate(talks(asked.path)))
    homes = [given] if asked.together else [[one] for one in given]
    found = [talk for home in homes for talk in heard(home)]
    counted = figures(found)
    if asked.json:
        print(json.dumps(counted))
        return
    print(f"{len(found)} conversations, {sum(len(one.raw['changes']) for one in found)} changes\n")
    for name, (part, whole) in counted.items():
        share = f"{part / whole:.2f} ({part}/{whole})" if whole else "none"
        print(f"{name:28}{share}\n    {MEANINGS[name]}")
    if asked.errors:
        print("", *errors(found), sep="\n")
        causes = Counter(
            _why(talk, one)
            for talk in found
            for one in talk.raw["changes"]
            if not talk.followed(one)
        )
        print("\n" + "; ".join(f"{count} {cause}" for cause, count in causes.most_common()))


if __name__ == "__main__":
    main()
