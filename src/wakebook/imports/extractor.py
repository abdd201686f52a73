"""Old memories are taken over as they stand: one item, one entry.

Whether an item is worth keeping is not judged: a person or an agent kept it before. Its type comes
from simple signs: a box to tick, the heading above it, a label in front, a question mark. An item
that the log says already is not added again; a task that is ticked by now is done. There is no
handoff: no work stopped in the middle.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.capture.transcript import Message
from wakebook.imports.export import BETWEEN, Memo
from wakebook.learn.extract import Draft, Extraction, Scene
from wakebook.learn.judge.verdict import harm, suspicious
from wakebook.log.entry import RETRACTED, EntryKind, Status, Type, slugify

NAME = "import"
LONGEST = 400  # characters of an entry's content; more goes to its detail


class Sign(NamedTuple):
    type: Type
    kind: EntryKind | None = None
    status: Status | None = None


LESSON, PROCEDURE = Sign("fact", "lesson"), Sign("fact", "procedure")
SIGNS: tuple[tuple[str, Sign], ...] = (  # words of a heading or label -> what stands under it
    (r"open questions?|questions?|unknowns", Sign("question")),
    (r"decisions?|decided|key decisions", Sign("decision")),
    (r"done|completed( tasks)?|finished", Sign("task", status="done")),
    (r"(open )?tasks?|to-?dos?|to do|next( steps?)?|action items?", Sign("task", status="open")),
    (r"open loops|follow-?ups?", Sign("task", status="open")),
    (r"preferences?|likes?|dislikes?|communication style|style", Sign("fact", "preference")),
    (r"lessons?( learned)?|learnings?|mistakes|gotchas?|pitfalls|insights?", LESSON),
    (r"procedures?|how[- ]tos?|how to .*|runbooks?|workflows?|playbooks?|recipes?", PROCEDURE),
    (r"events?|milestones?|timeline", Sign("fact", "event")),
    (r"relationships?|family|people|contacts?", Sign("fact", "relationship")),
)
FACT = Sign("fact")
_SIGNS = [(re.compile(rf"(?:my |our |user |the )?(?:{words})"), sign) for words, sign in SIGNS]
_BOX = re.compile(r"\[([ xX~-])\]\s+")
_BULLET = re.compile(r"(?:[-*+•]|\d{1,4}[.)])\s+")
_LABEL = re.compile(r"[*_]{0,2}([A-Za-z][A-Za-z -]{2,24})(?:[*_]{1,2}:|:[*_]{0,2})\s+(?=\S)")
_ABOUT = re.compile(r"(?i)(project|person): (.+)")
_DAY = r"\d{4}-\d\d-\d\d"
_GENERIC = re.compile(  # a heading that tells nothing more: what the item is about, a title, a day
    rf"(?:project|person): .+|memory|memories|notes|long-term memory|memory\.md|user\.md|{_DAY}"
)
_DATE = re.compile(
    rf"(?:[\[(]{_DAY}[\])][:–—-]?|\*{{0,2}}{_DAY}\*{{0,2}} ?[:–—-]\*{{0,2}})\s+(?=\S)"
)
_SENTENCE = re.compile(r"[.!?](?=\s)")
_MARKS = (
    (re.compile(r"\[\[(?:[^\]|]{0,200}\|)?([^\]]{0,200})\]\]"), r"\1"),  # [[page|shown]]
    (re.compile(r"\[([^\]]{0,200})\]\((\S{1,1000}?)\)"), r"\1 (\2)"),
    (re.compile(r"(\*\*|__)(?=\S)(.{1,300}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"~~(.{1,300}?)~~"), r"\1"),
)


class ImportExtractor:
    name = NAME

    def __init__(self, home: Home) -> None:
        self._home = home
        self.known: set[str] = set()  # messages that say what the log says already
        self.drafted: set[str] = set()  # those that gave a draft

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        said = {  # by the log already
            _same(entry.content): (entry.id, entry.status)
            for entry in scene.current
            if entry.type != "handoff" and not entry.extra.get(RETRACTED)
        }
        drafts: list[Draft] = []
        for message in fresh:
            draft = _draft(message, scene.subjects)
            old, status = said.get(_same(draft.content), ("", None))
            if old and not (status == "open" and draft.status == "done"):
                self.known.add(message.id)
                continue
            if old:  # ticked since
                draft = msgspec.structs.replace(draft, replaces=(old,))
            drafts.append(draft)
            self.drafted.add(message.id)
            said[_same(draft.content)] = (draft.id, draft.status)
        return Extraction(drafts=[*filter(None, map(self._judged, drafts))], taken=len(fresh))

    def _judged(self, draft: Draft) -> Draft | None:
        """Who wrote an old memory is not known: one that gives orders waits for the user."""
        text = f"{draft.content}\n{draft.detail}"
        why, always = harm(text)
        if not (why and always):
            why = suspicious(text, False)
            return draft.with_(origin=f"an imported file: {why}") if why else draft
        reason = f"{why}: {one_line(draft.content, 100)!r}"
        self._home.trace("refused", where=NAME, kind="poisoned", reason=reason)
        return None


@lru_cache(maxsize=1 << 17)
def _same(content: str) -> str:
    """What two texts have in common that say the same but for marks and capitals."""
    return " ".join(re.findall(r"\w+", content.casefold())) or content


def _draft(message: Message, subjects: Mapping[str, str]) -> Draft:
    item = Memo.parse(message.text)
    text = _behind(_BULLET, item.text)
    box = _BOX.match(text)
    text = _behind(_DATE, _behind(_BOX, text))
    content, rest = _parted(text, item.headings)
    sign = _sign(item.headings, content, box[1] if box else "")
    under = [one for one in item.headings if not _GENERIC.fullmatch(one.casefold())]
    detail = "\n".join(part for part in (BETWEEN.join(under), rest) if part)
    return Draft(
        type=sign.type,
        kind=sign.kind,
        status=sign.status,
        content=content,
        detail=detail,
        subject=_subject(item.headings, subjects),
        source=message.id,
        evidence=(message.turn,),
        by=NAME,
    )


def _behind(pattern: re.Pattern[str], text: str) -> str:
    """A text without what it begins with."""
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _sign(headings: Sequence[str], content: str, box: str) -> Sign:
    if box:
        return Sign("task", status="open" if box == " " else "done")
    label = _LABEL.match(content)
    for words in (*([label[1]] if label else []), *reversed(headings)):
        if sign := _meaning(words):
            return sign
    return Sign("question") if content.rstrip(")*_\"' ").endswith("?") else FACT


def _meaning(words: str) -> Sign | None:
    """What a heading or label says about what stands under it: the first word that says it."""
    for part in re.split(r"\s*[,&/]\s*| and ", words.casefold()):
        bare = re.sub(r"^\W+|\W+$", "", part)
        for pattern, sign in _SIGNS:
            if pattern.fullmatch(bare):
                return sign
    return None


def _subject(headings: Sequence[str], subjects: Mapping[str, str]) -> str:
    """What an item is about: a project that is named as one, or a subject that is known."""
    names: list[str] = []
    for above, heading in zip(("", *headings), headings, strict=False):
        about = _ABOUT.fullmatch(heading)
        if about and about[1].lower() == "project":
            return subjects.get(about[2].lower()) or slugify(about[2])
        if above.casefold() in ("projects", "active projects"):
            return subjects.get(heading.lower()) or slugify(heading)
        names.append(about[2] if about else heading)
    known = (subjects.get(name.lower()) for name in reversed(names))
    return next((slug for slug in known if slug), "")


def _parted(text: str, headings: Sequence[str]) -> tuple[str, str]:
    """The content of an entry, and what else there is to say."""
    head, rest = _head(text.split("\n"))
    if not head:  # a code fence stands alone
        code = next((line for line in rest if line.strip() and not line.startswith("```")), "")
        head = headings[-1] if headings else code.strip()
    below = [_plain(line) for line in rest if line.strip()]
    if head.endswith(":") and below and not any(line.startswith(("```", "~~~")) for line in rest):
        whole = f"{head} {'; '.join(below)}"
        if len(whole) <= LONGEST:
            return whole, ""
    if len(head) <= LONGEST:
        return head, "\n".join(rest).strip("\n")
    ends = [found.end() for found in _SENTENCE.finditer(head, 0, LONGEST)]
    return head[: ends[-1]] if ends else one_line(head, LONGEST), text.strip()


def _head(lines: Sequence[str]) -> tuple[str, list[str]]:
    """The first words, on one line, and the lines behind them."""
    count = 0
    while count < len(lines) and lines[count].strip():
        bare = lines[count].strip()
        if bare.startswith(("```", "~~~")) or (count and _BULLET.match(bare)):
            break
        count += 1
    rest = lines[count:]
    least = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    head = _plain(" ".join(line.strip() for line in lines[:count]))
    return head, [line[least:].rstrip() for line in rest]


def _plain(text: str) -> str:
    """Words without bullets and marks."""
    text = _behind(_BOX, _behind(_BULLET, text.strip()))
    for pattern, kept in _MARKS:
        text = pattern.sub(kept, text)
    return " ".join(text.split())
