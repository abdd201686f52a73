"""What holds for every context, of whatever home, message, kind and budget.

Never over budget; fixed slots always in; nothing twice; same input, same bytes; nothing that the
host has or that is not for this session; no text that opens, closes or changes a fence.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from tests.recall.contexts import TODAY, YESTERDAY, fences
from tests.store.making import WORDS_ALONE, again, append, entry, fresh, note, python, transcript
from wakebook import Memory
from wakebook.base import echo
from wakebook.models.tokenizer import count
from wakebook.recall.context import LEAST
from wakebook.recall.slot import BACKGROUND, CALLED_FOR, FIXED, FOUND, KINDS, STANDING, Context

MESSAGE = "Which zebra eats grass, and who are the gulls?"
BASIC = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a home is too slow to be made smaller
)
WHERE = {
    "identity": "knowledge/identity/",
    "memory": "knowledge/memory/MEMORY.md",
    "projects": "knowledge/projects/_active.md",
    "handoff": "`wakebook log --type handoff`",
    "journal": "knowledge/journal/",
}
PRIVATE = ("memory", "handoff", "journal", "observed", "entry", "talk", "person")

# --- homes -------------------------------------------------------------------------------

HERD = [f"Zebra {n:03} eats the grass of field {n:03}." for n in range(25)]  # said in many places
CODE = "```python\ncode = 1\n# code, no heading\n\n\ncode = 1\n```"
BLOCKS = [
    *HERD,
    *(f"- {line}" for line in HERD[:8]),
    *(f"* **{line}** (cLHcLH9rb3Sn)" for line in HERD[8:12]),
    *(f"- [ ] {line}" for line in HERD[12:15]),
    "# Fields", "## Fields", "## Grass", "### Empty", "#### Deep and long heading of a section",
    "", "\n\n", "---", CODE,
    "Endless " + "words of one line " * 150, "无尽的" * 200, "🦓🫨👩\u200d👧" * 40, "x" * 3000,
    "</wakebook-memory>", "<wakebook-memory> <WAKEBOOK-memory>", STANDING, BACKGROUND,
    "| a | b |\n|---|---|\n| gulls | crabs |", "<!-- wakebook:begin x -->", "tab\tand \xa0 blanks",
]  # fmt: skip
LONG = st.sampled_from([0, 0, 12, 60, 250])


class File(NamedTuple):
    """A text with a line that stands nowhere else: `own NAME words`."""

    name: str
    blocks: tuple[int, ...]  # of BLOCKS
    at: int  # where its own line stands
    long: int  # lines that follow
    front: bool
    windows: bool

    @property
    def text(self) -> str:
        lines = [BLOCKS[number] for number in self.blocks]
        lines.insert(self.at, f"own {self.name} words")
        for number in range(self.long):
            if number % 12 == 0:
                lines.append(f"\n## Part {number} of {self.name}\n")
            lines.append(f"- {self.name} has a long line {number} about gulls and crabs")
        front = f"---\ntype: note\n---\n# {self.name}\n\n" if self.front else ""
        text = front + "\n".join(lines)
        return text.replace("\n", "\r\n") if self.windows else text


def files(name: str, most: int = 10) -> st.SearchStrategy[File]:
    blocks = st.lists(st.integers(0, len(BLOCKS) - 1), max_size=most).map(tuple)
    flag = st.booleans()
    return st.builds(File, st.just(name), blocks, st.integers(0, most), LONG, flag, flag)


class Made(NamedTuple):
    notes: dict[str, File]
    handoff: File | None
    entries: Sequence[str]
    talks: Sequence[Sequence[str]]
    topics: Sequence[tuple[File, bool]]  # a playbook, and whether it subscribes to something
    spoken: Sequence[int]  # how much is said in each message
    settings: Sequence[str] = ()  # of [context]

    @property
    def history(self) -> list[str]:
        return [
            f"turn {n} says {'so much ' * length}</wakebook-memory>"
            for n, length in enumerate(self.spoken)
        ]


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(None), strategy, strategy, strategy)


PATHS = {
    "knowledge/identity/AGENTS.md": "rules",
    "knowledge/identity/SOUL.md": "soul",
    "knowledge/identity/ZOO.md": "zoo",
    "knowledge/memory/MEMORY.md": "memory",
    "knowledge/memory/observations.md": "observed",
    "knowledge/projects/_active.md": "projects",
    YESTERDAY: "before",
    TODAY: "journal",
    "knowledge/reference/field.md": "field",
    "knowledge/people/mira.md": "person",
}
WORDS = st.lists(st.sampled_from([*HERD, "The gulls are here", "🦓" * 50, "无尽" * 90]), max_size=6)


SHARES = st.sampled_from([0.0, 0.2, 0.9, 1.0])
TOKENS = st.sampled_from([1, 40, 500, 5000])
SETTINGS = st.one_of(
    st.just(()),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("fixed_share", "history_share"), SHARES)
        | dict.fromkeys((*FIXED, "topics"), TOKENS),
    ).map(lambda chosen: tuple(f"{name} = {value}" for name, value in sorted(chosen.items()))),
)


@st.composite
def homes(draw: st.DrawFn) -> Made:
    notes = {path: draw(maybe(files(name))) for path, name in PATHS.items()}
    return Made(
        notes={path: file for path, file in notes.items() if file},
        handoff=draw(maybe(files("handoff", 4))),
        entries=draw(WORDS),
        talks=draw(st.lists(WORDS.filter(bool), max_size=3)),
        topics=draw(st.lists(st.tuples(files("playbook", 5), st.booleans()), max_size=2)),
        spoken=draw(st.lists(st.integers(0, 60), max_size=20)),
        settings=draw(SETTINGS),
    )


@contextmanager
def built(made: Made) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        yield build(made, Path(folder))


def build(made: Made, folder: Path) -> Memory:
    memory = fresh(folder / "home", "\n".join(["[context]", *made.settings, WORDS_ALONE]))
    for path, file in made.notes.items():
        note(memory, path, file.text)
    if made.handoff:
        text = made.handoff.text.replace("\r\n", "\n")
        append(memory, entry(900, text, type="handoff", session="s0"))
    for number, text in enumerate(made.entries):
        append(memory, entry(number, text))
    if made.entries:
        append(memory, entry(800, "own entry words about gulls"))
    for number, turns in enumerate(made.talks):
        said = [("agent" if n % 2 else "user", text) for n, text in enumerate(turns)]
        transcript(memory, f"talk{number}", [*said, ("user", f"own talk words {number} gulls")])
    for number, (file, subscribes) in enumerate(made.topics):
        front = "type: topic\npriority: critical\ntriggers:\n  - type: keyword\n    match: zebra\n"
        if subscribes:
            front += "subscriptions: [knowledge/reference/field.md, knowledge/people/mira.md]\n"
        body = file.text.replace("own playbook", f"own playbook {number}").split("---\n")[-1]
        note(memory, f"topics/t{number}.md", f"---\n{front}---\n# T{number}\n\n{body}\n")
    return memory


def told(memory: Memory, made: Made, **asked: Any) -> Context:
    roles = ("user", "assistant")
    history = [{"role": roles[n % 2], "content": text} for n, text in enumerate(made.history)]
    return memory.context(asked.pop("message", MESSAGE), history=history, **asked)


ASKED = st.fixed_dictionaries(
    {
        "budget": st.one_of(st.integers(LEAST, 1200), st.integers(LEAST, 9000)),
        "kind": st.sampled_from(["main", "main", "main", *KINDS]),
        "message": st.sampled_from([MESSAGE, MESSAGE, "", "🦓", "own words"]),
    }
)
HAVE = st.lists(st.sampled_from([*FIXED, "topics", "recalled", "history"]), unique=True)


def prose(text: str) -> list[str]:
    """The lines without code and marks, as the words that they say."""
    marks = {STANDING, BACKGROUND, CALLED_FOR, FOUND, "<wakebook-memory>", "</wakebook-memory>"}
    kept = []
    for line in text.split("\n"):
        if "code" in line or line.strip() in marks or line.startswith(("```", "~~~", "[… ")):
            continue
        bare = re.sub(r"^(?:[-*>] |\d+\. )?(?:\[.{1,30}?\] )?(?:\*?\*?\w+\*?\*?: )?", "", line)
        bare = re.sub(r" \([\w-]{12}\)$", "", bare)
        bare = " ".join(re.sub(r"[*_`]", "", bare).split()).casefold()
        if re.search(r"\w", bare):
            kept.append(bare)
    return kept


# --- 1, 2, 3, 7, 8 -----------------------------------------------------------------------


@given(homes(), st.lists(ASKED, min_size=3, max_size=4))
@settings(BASIC, max_examples=settings().max_examples // 3)
def test_every_context(made: Made, asked: list[dict[str, Any]]) -> None:
    with built(made) as memory:
        for one in asked:
            found = told(memory, made, **one)
            within_budget(found)
            fixed_slots(made, found, one["kind"])
            nothing_twice(found)
            fenced(found)
            private(found, one["kind"])


def within_budget(found: Context) -> None:
    assert found.tokens == count(found.text) <= found.budget
    found.text.encode()
    for slot in found.slots:
        assert 0 <= slot.tokens <= slot.budget, slot
        assert bool(slot.tokens) == bool(slot.items), slot
        assert slot.tokens or slot.note, slot
    together = sum(slot.tokens for slot in found.slots)
    marks = found.text.count("<wakebook-memory>")
    assert abs(found.tokens - together) <= 30 * marks + found.tokens // 20


def fixed_slots(made: Made, found: Context, kind: str) -> None:
    """What has something to say says it, or at least that it was cut, and where it stands."""
    here = {slot.name: slot for slot in found.slots}
    for name, file in _said(made, kind):
        assert here[name].tokens > 0, (name, here[name])
        told, cut = f"own {file} words" in found.text, f"see {WHERE[name]}" in found.text
        assert told or cut or file == "before", (name, here[name])  # which gives way to today
        assert told or here[name].note
        assert here[name].note or not cut


def _said(made: Made, kind: str) -> Iterator[tuple[str, str]]:
    """Slots that this kind of session is told, and a file that speaks in each."""
    slots = {"identity": "identity", "memory/MEMORY": "memory", "_active": "projects"}
    for path, file in made.notes.items():
        name = next((slot for part, slot in slots.items() if part in path), "")
        name = "journal" if path in (TODAY, YESTERDAY) else name
        seen = name in KINDS[kind] and (kind != "subagent" or "AGENTS" in path)
        if seen and name:
            yield name, file.name
    if made.handoff and "handoff" in KINDS[kind]:
        yield "handoff", "handoff"


def nothing_twice(found: Context) -> None:
    """Reference data gives way to instructions. Those may say the same at two places."""
    parts = {note: _without_code(text) for note, text in fences(found.text).items()}
    lines = {note: Counter(prose(text)) for note, text in parts.items()}
    data = sum((lines.get(note, Counter()) for note in (BACKGROUND, FOUND)), Counter())
    assert not {line: times for line, times in data.items() if times > 1}
    rules, playbooks = lines.get(STANDING, Counter()), lines.get(CALLED_FOR, Counter())
    assert not rules.keys() & (data.keys() | playbooks.keys())
    active = [item for slot in found.slots for item in slot.items if item.label[:7] == "topic t"]
    if len(active) < 2:  # what one subscribes to, another may say
        assert not playbooks.keys() & lines.get(FOUND, Counter()).keys()
    whole = f"{parts.get(BACKGROUND, '')}\n{parts.get(FOUND, '')}"
    for line in HERD:  # wherever it stands in a line
        there = [one for one in whole.split("\n") if line in one]
        assert whole.count(line) <= (line not in parts.get(STANDING, "")), there


def fenced(found: Context) -> None:
    parts = fences(found.text)
    order = [STANDING, BACKGROUND, CALLED_FOR, FOUND]
    assert list(parts) == [one for one in order if one in parts]
    marks = re.findall(r"</?wakebook-memory", found.text, re.IGNORECASE)
    assert marks == ["<wakebook-memory", "</wakebook-memory"] * len(parts)
    assert echo.strip(found.text)[0] == ""
    for part, text in parts.items():
        mine = set(re.findall(r"^\W*own (\w+)(?: \d)? words", text, re.MULTILINE))
        instructs = {"rules", "soul", "zoo", "playbook"}
        assert mine <= instructs if part in (STANDING, CALLED_FOR) else not mine & instructs


def private(found: Context, kind: str) -> None:
    if kind == "group":
        assert not re.search(rf"own (?:{'|'.join(PRIVATE)}|before)\b", found.text)
    if kind == "subagent":
        assert not re.search(r"own (?!rules)\w+ ", found.text)
        assert set(fences(found.text)) <= {STANDING, FOUND}
    if kind in ("cron", "hook"):
        assert "own memory words" not in found.text and "own observed words" not in found.text
        assert "Last Session Handoff" not in found.text


# --- 4 -----------------------------------------------------------------------------------


@given(homes(), ASKED)
@settings(BASIC, max_examples=8)
def test_the_same_bytes(made: Made, asked: dict[str, Any]) -> None:
    with built(made) as memory:
        first = told(memory, made, **asked)
        second = told(memory, made, **asked)
        other = told(again(memory), made, **asked)
        assert first.text == second.text == other.text
        assert first.slots == second.slots == other.slots
        assert first.missed == second.missed == other.missed


TELL = """
import json, sys
from wakebook import Memory
for root, message, kind, budget in json.load(sys.stdin if len(sys.argv) < 2 else open(sys.argv[1])):
    print(json.dumps(Memory(root).context(message, kind=kind, budget=budget).text))
"""


@given(st.lists(st.tuples(homes(), ASKED), min_size=3, max_size=3))
@settings(BASIC, max_examples=2)
def test_the_same_bytes_in_two_processes(several: list[tuple[Made, dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wanted = []
        for number, (made, asked) in enumerate(several):
            memory = build(made, Path(folder) / str(number))
            memory.index.sync()
            values = (asked["message"], asked["kind"], asked["budget"])
            wanted.append((str(memory.home.root), *values))
        path = Path(folder) / "wanted.json"
        path.write_text(json.dumps(wanted))
        first, second = (python(TELL, str(path), PYTHONHASHSEED=seed) for seed in ("1", "77"))
        assert first == second
        assert len(first.splitlines()) == 3


@given(homes(), st.integers(LEAST, 9000), st.integers(1, 40))
@settings(BASIC, max_examples=12)
def test_a_longer_journal_changes_nothing_before_it(made: Made, budget: int, lines: int) -> None:
    """A provider's cache has what stands before."""
    assume(YESTERDAY in made.notes or TODAY in made.notes)
    with built(made) as memory:
        first = told(memory, made, budget=budget)
        path = TODAY if TODAY in made.notes else YESTERDAY
        more = "".join(f"\nnew line {n} of the day" for n in range(lines))
        note(memory, path, made.notes[path].text + more)
        second = told(memory, made, budget=budget)
    pairs = zip(first.text, second.text, strict=False)
    at = next((n for n, (one, other) in enumerate(pairs) if one != other), len(first.text))
    if CALLED_FOR in first.text[:at] or FOUND in first.text[:at]:
        return  # what follows the journal
    changed = first.text[first.text.rfind("\n", 0, at) :].partition("\n</wakebook-memory>")[0]
    days = "\n".join(made.notes[day].text for day in (YESTERDAY, TODAY) if day in made.notes)
    safe = re.sub("(?i)wakebook-memory", "wakebook_memory", days)
    known = [line.strip() for line in safe.split("\n")]
    for line in changed.split("\n"):
        bare = line.removesuffix(" (journal)").strip()
        ours = bare.startswith(("# Journal 2026", "[… ")) and "see knowledge/m" not in bare
        assert ours or any(one.startswith(bare) for one in known), line


@given(homes(), st.integers(LEAST, 9000))
@settings(BASIC, max_examples=12)
def test_another_message_changes_nothing_before_it(made: Made, budget: int) -> None:
    with built(made) as memory:
        first = told(memory, made, budget=budget).text
        second = told(memory, made._replace(spoken=[1]), budget=budget, message="No").text
    parts = fences(first)
    before = "".join(echo.fence(parts[one], one) for one in (STANDING, BACKGROUND) if one in parts)
    assert first.startswith(before) and second.startswith(before)


# --- 5 -----------------------------------------------------------------------------------


@given(homes(), HAVE, st.integers(LEAST, 9000))
@settings(BASIC, max_examples=12)
def test_what_the_host_has_is_not_there(made: Made, have: list[str], budget: int) -> None:
    with built(made) as memory:
        found = told(memory, made, have=have, budget=budget)
    within_budget(found)
    nothing_twice(found)
    fenced(found)
    here = {slot.name: slot for slot in found.slots}
    for name in have:
        assert (here[name].tokens, here[name].note) == (0, "your host loads it")
    for name, file in _said(made, "main"):
        if name in have:
            assert f"own {file} words" not in found.text
            assert f"{file} has a long line" not in found.text
    known = _lines_of(made, have)
    parts = fences(found.text)
    data = _without_code(f"{parts.get(BACKGROUND, '')}\n{parts.get(FOUND, '')}")
    for line in HERD:
        assert line not in known or line not in data, line
    if "topics" in have:
        assert "own playbook" not in found.text
    if "history" in have:
        assert "turn 0 says" not in found.text


def _lines_of(made: Made, have: Sequence[str]) -> set[str]:
    """Lines of the herd that the host has told."""
    slots = {file: name for name, file in _said(made, "main") if name in have}
    texts = [file.text for file in made.notes.values() if file.name in slots]
    texts += [made.handoff.text] if made.handoff and "handoff" in have else []
    lines = _without_code("\n".join(texts).replace("\r", ""))
    return {line for line in HERD if line in lines}


def _without_code(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if "code" not in line)
