"""What a user says in their own words, sentence by sentence, as it was written.

Code, quotes, tables, logs, mails, pasted pages, fiction and what a host puts into the user's mouth
are not the user's words and are dropped. Nothing is reworded: a sentence keeps its letters and
marks, and only runs of white space become one. Text is capped and every pattern is bounded, so
that time stays linear.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

from wakebook.learn.phrases import cues, lower, pattern

TEXT = 12_000  # characters of a message that are read
PASTED = 1_800  # characters of a message that is hardly typed by hand
PRINTED = 2  # lines of a paragraph that only a program writes
SPOKEN = 5  # spaces of somebody else's words
MENU = 5  # words of a line in which each has a capital
LONGEST = 400  # characters of a sentence that is read
ENTRY, WORDS = 300, 40  # characters and words of an entry
RETOLD = 14  # words of somebody's news that the user tells in a row
PLAIN = 25  # words of a statement that is remembered though it is not kept
ROW = 12  # words before a colon and several things
SEVERAL = 2  # steps that a procedure has at least
HEADS = 3  # words of a line above tasks: "left for tomorrow:"
EXCUSE = 3  # spaces of a fragment that a bare value belongs to
ANNOUNCED = 60  # characters of a sentence after "a few rules" that only says where they hold
HEADING = 90  # characters of one that says that alone: "for all that you write: ..."

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_HIDDEN = re.compile(r"<!--.{0,5000}?-->|<([\w-]{2,40})\b[^>]{0,200}>.{0,5000}?</\1>", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.{0,20000}?</system-reminder>", re.DOTALL)
_WINKS = re.compile(r"\s*(?:/s\b|🙄)")
_SHOUTS = re.compile(r"\b(?:just|so|really|i) LOVE\b")  # of what one hates
_QUOTE = re.compile(  # a single mark only around more than a word: "it's", "the users' list"
    r"[\"“«„][^\"“”«»„]{1,3000}[\"”»“]|(?<![^\s(:,])['‘]\w[^\n]{8,2000}?[\w.,!?…]['’](?=[\s.,;:!?)]|$)"
)
# what stands between two rules, or behind one after "is this real?", is somebody else's
_RULED = re.compile(
    r"(?ms)^[ \t]*([-=*_])\1{2,}[ \t]*$.*?^[ \t]*\1{3,}[ \t]*$|(?<=[:?])\s*^[ \t]*-{3,}[ \t]*$.*"
)
_BULLET = re.compile(r"\s{0,12}(?:[-*+•]|\(?\d{1,2}[.)]|[a-e]\))\s+(?:\[[ xX]?\]\s+)?")
_STEP = re.compile(r"\s{0,12}\(?\d{1,2}[.)]\s+\S")
_ASKED = re.compile(
    r",? and (?=(?:is|are|do|does|can|should|which|what|who|whether|when|where|how|if)\b)|; ?"
    r"|,? (?:und|y|et) (?=(?:ob|wer|was|wann|wo|wie|welche\w*|si|qué|quién|cuándo|qui|quand|où)\b)"
)
_TURNS = re.compile(  # from a list to something else
    r"(?i)(?:and |und |y |et )?(?:(?:can|could|would|will) you|please|meanwhile|now|first|thanks"
    r"|bitte|kannst du|por favor|puedes|s'il te plaît|tu peux)\b"
)
_INLINE = re.compile(r"(?:^|(?<=[\s,;:]))\(?(\d)[.)]\s+(?=\S)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?=\s|$)|(?<=[。！？])")
_COMMAND = re.compile(r"\s*/[\w:.-]+(?:\s|$)")
_OUTPUT = re.compile(  # rules, "E   assert", "tests/a.py::test_b FAILED", "npm ERR! code"
    r"\s*(?:[=*#_~-]{5,}|[A-Z>+]\s{2,}\S|\S+(?:::|/)\S+\s+[A-Z]{2,}\b|\S+ (?:ERR|WARN)!?[ :]"
    r"|\S+:\d+(?::\d+)?:?\s)"
)
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|ca|dr|mr|mrs|ms|prof|st|no|nr|z\.b|bzw|usw|sra?"
    r"|p\.m|a\.m|inc|ltd)\.$",
    re.I,
)
_INITIAL = re.compile(r"(?:^|[\s(.])[A-Z]\.$")  # "J. Falk", "J.K. Falk"
_SUMS = re.compile(r"(?i)(?:so|also|macht|makes|that makes) \d[\w.,]*(?: \w+)?[.!]?")  # "so 32"
_MEANS = re.compile(  # "ring her after lunch.. argh i mean text her"
    r"(?i)(?:(?:argh+|ugh+|uh+|äh+|eh+|oops|ups|no|wait|nee|ach|quatsch|sorry)[\s,.!]+)+"
    r"(?:i mean|ich meine?|je veux dire|quiero decir)\b"
)
_TALE = re.compile(
    r"(?:[\w'-]+ ){0,2}(?<!user )(?<!success )(?:story|tale|märchen|geschichte|cuento|conte"
    r"|histoire) (?:for|about|für|über|para|sobre|pour|sur)\b[^:.!?]{0,40}: ?\w"
)
_GERMAN_DAY = re.compile(  # and "26.11. at 2pm"
    r"\b(?:am|vom|zum|bis|ab|de[nmrs]|seit) \d{1,2}\.$|\b\d{1,2}\.\d{1,2}\.$"
)
_ORDINAL = re.compile(r"(?:^|[\s(])\d{1,2}\.$")
_BEGINS = re.compile(
    r"\s*(?:I|I'\w+|My|We|Our|The|It|It's|This|That|Can|Could|Do|Does|What|How|Is|Are|Would|And"
    r"|But|So|Also|Any|Please|He|She|They|You)\b"
)


class Sentence(NamedTuple):
    text: str  # as it was written, without a list's mark
    before: str = ""  # the sentence before it, in the same message
    heading: str = ""  # the line that introduces the list it stands in
    place: int = 0  # in the message, from 0
    of: int = 1  # sentences of the message

    @property
    def asked(self) -> bool:
        marked = self.text.rstrip("\"')”’ ").endswith(("?", "？"))
        return marked or lower(cues.ASKS_BARE).match(self.text.lower()) is not None


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences that the user wrote themselves, questions included."""
    if hosted(text):
        return ()
    found: list[tuple[str, str]] = []  # a sentence and its heading
    heading = ""
    for line in own_lines(text):
        bullet = _BULLET.match(line)
        line = line[bullet.end() :] if bullet else _HEADING.sub("", line)
        listed = _listed(line)
        if not (bullet or listed) and (row := _row(line)):
            found += row
            continue
        if not bullet:
            heading = _heading(line)
            heading = listed[0] if listed else heading
        for part in listed[1:] if listed else split(unquoted(line)):
            found.append((part, heading if bullet or listed else ""))
    before = ["", *(part for part, _ in found)]
    return tuple(
        Sentence(part, before[place], over, place, len(found))
        for place, (part, over) in enumerate(found)
        if len(part) <= LONGEST and not quoted(part)
    )


def procedure(text: str) -> list[str]:
    """The steps that a user writes down, with the words before them, in lines that are as long as
    an entry: "how we release: 1. bump the version 2. tag it"."""
    lines = own_lines(text)
    for place, line in enumerate(lines):
        if line.endswith(":") and lower(cues.WAY).search(line.lower()):
            head, found = line.strip(), list[str]()
            steps = list(takewhile(_STEP.match, lines[place + 1 :]))
            for step in steps:
                more = " ".join([found[-1] if found else head, *step.split()])
                found[-1:] = [more] if fits(more) else [*found[-1:], f"{head} {step.strip()}"]
            return found if len(steps) >= SEVERAL and all(map(fits, found)) else []
    return []


def _heading(line: str) -> str:
    """What a line says of the list below it: "brain is soup. things to do:"."""
    if not line.rstrip().endswith(":"):
        return ""
    last = split(line)[-1]
    return (last if lower(cues.TASK_HEADING).match(last.lower()) else line)[:120]


def hosted(text: str) -> bool:
    """Whether a host wrote a message in the user's place."""
    rest = _REMINDER.sub("", text)
    if text.strip() and not rest.strip():
        return True
    return lower(cues.HOST).match(rest[:200].lower()) is not None


def fiction(text: str) -> bool:
    """Whether a message opens a story, a role play or a draft that goes on in later ones."""
    low = text[:2000].lower()
    return (tells(low) or lower(cues.FICTION).search(low) is not None) and not real(text)


def tells(low: str) -> bool:
    """Whether a sentence tells a story behind a colon: "story for tonight: a dragon ..."."""
    return _TALE.match(low) is not None


def tells_before(sentence: str, text: str) -> bool:
    """Whether a sentence of a message that opens a story stands before that."""
    begins = lower(cues.FICTION).search(text[:2000].lower())
    place = text.find(sentence)
    return begins is not None and place >= 0 and place + len(sentence) <= begins.start()


def real(text: str) -> bool:
    """Whether a message ends a story or a role play."""
    return lower(cues.REALITY).search(text[:2000].lower()) is not None


def own_lines(text: str, *, long: bool = False) -> list[str]:
    """The lines that were typed: without fences, quotes, logs, mails and pastes. `long`: many of
    them, too, if nothing else shows that they are a paste."""
    typed = _RULED.sub("\n", _HIDDEN.sub(" ", text[:TEXT]))
    lines = map(str.rstrip, _unfenced(typed, (">", "|")))
    blocks = [list(block) for full, block in groupby(lines, bool) if full]
    if not blocks:
        return []
    if len(text) > PASTED and not long:  # a long paste between a few words
        blocks = [one for one in (blocks[0], blocks[-1]) if sum(map(len, one)) < 400]
    kept: list[str] = []
    for before, block in pairwise([[], *blocks]):
        if before and not long and _hands_over(before[-1]) and not _BULLET.match(block[0]):
            break
        if _printed(block) or (before and _contract(block)):
            continue
        for place, line in enumerate(block):
            if _by_machine(line) or _COMMAND.match(line):
                continue
            if lower(cues.MAIL).match(line.lower()):
                return kept
            head, colon, rest = line.partition(":")
            pasted = lower(cues.PASTE).search(line[:300].lower()) and not _retold(rest)
            if pasted and (colon or len(blocks) + place > 1):
                follows = rest.strip() and lower(cues.PASTE).search((head + colon).lower())
                return [*kept, head if follows else line]
            kept.append(line)
    return kept


def _retold(rest: str) -> bool:
    """Whether somebody's news stand behind a colon in the user's own words: "they wrote: pickup is
    at 3 instead of five". It is one short sentence, and speaks to nobody."""
    said = rest.strip()
    first = (split(said) or [""])[0]
    brief = 1 < len(first.split()) <= RETOLD and said[:1].islower()
    return brief and not lower(cues.TO_SOMEBODY).search(first.lower())


def _hands_over(line: str) -> bool:
    """Whether a text follows that is to be worked on: a line that ends in a colon, and says nothing
    of rules, tasks, or the user."""
    low = line.lower()
    ours = (cues.ANNOUNCES, cues.INTRODUCES, cues.NOTED, cues.QUESTIONS)
    heads = len(low.split()) <= HEADS and lower(cues.TASK_HEADING).match(low)
    return low.endswith(":") and not heads and not any(lower(one).search(low) for one in ours)


def _unfenced(text: str, marks: tuple[str, ...]) -> Iterator[str]:
    """The lines outside of fences that do not begin with one of the marks."""
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(marks):
            yield line


def _by_machine(line: str) -> bool:
    return pattern(cues.MACHINE, 0).match(line[:200]) is not None or _symbols(line) or _menu(line)


def _printed(block: list[str]) -> bool:
    """Whether a program wrote a paragraph: some lines show it, and so the others are its, too."""
    shown = sum(_by_machine(line) or _OUTPUT.match(line) is not None for line in block)
    return shown >= PRINTED and shown * 3 >= len(block)


def _contract(block: list[str]) -> bool:
    """Whether the clauses of a contract stand in a paragraph."""
    listed = len(block) > 1 and all(map(_BULLET.match, block))
    return listed and any(lower(cues.LEGAL).search(line.lower()) for line in block)


def _symbols(line: str) -> bool:
    """Whether a line is hardly prose: code, a path, a table, a blob."""
    bare = line.replace(" ", "")
    if bare and unicodedata.category(bare[0]) == "So":
        return True  # an advert's list, a log with pictures
    letters = sum(map(str.isalpha, bare))
    return (
        len(bare) > 20
        and letters * 10 < len(bare) * 7
        and letters < 200
        and not re.search(r"\w+ \w+ \w+", line)
    )


def _menu(line: str) -> bool:
    """Whether a line is a page's: "My Courses My Records Help Support"."""
    named = [part for part in line.split() if part[0].isalpha()]
    capitals = len(named) >= MENU and all(part[0].isupper() for part in named)
    return capitals and line[-1].isalnum() and not line.isupper()


def _listed(line: str) -> list[str]:
    """ "todo: 1) renew the cert 2) write the guide" as its heading and its items."""
    marks = list(_INLINE.finditer(line))
    numbers = [int(mark[1]) for mark in marks]
    if len(marks) < 2 or numbers != list(range(1, len(marks) + 1)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(line)]
    items = [line[mark.end() : end].strip(" ,;") for mark, end in zip(marks, ends, strict=True)]
    return [line[: marks[0].start()].strip(), *items]


def _row(line: str) -> list[tuple[str, str]]:
    """ "before winter: order the pipe. mend the fence." and "things I don't know yet: is it due,
    and which one do we take": each of them, with what it is one of."""
    head, _, rest = line.partition(": ")
    parts = split(rest) if len(head.split()) <= ROW else []
    found, others, head = list[str](), parts, f"{head}:"
    if parts and "?" not in parts[0] and lower(cues.QUESTIONS).search(f"{head} ".lower()):
        found, others = [it.strip(" .") for it in _ASKED.split(parts[0])], parts[1:]
    elif lower(cues.TASK_HEADING).match(head.lower()):
        found = list(takewhile(lambda it: not (_TURNS.match(it) or it.endswith("?")), parts))
        others = parts[len(found) :]
    if len(found) < SEVERAL:
        return []
    return [(head, ""), *((it, head) for it in found), *((it, "") for it in others)]


def without_tasks(lines: Iterable[str]) -> Iterator[str]:
    """Without lists of what is to be done: each item is a task of its own."""
    below = False  # the words above such a list
    for line in lines:
        if not _BULLET.match(line):
            head = (_listed(line) or [_heading(line)])[0]
            below = bool(head) and lower(cues.TASK_HEADING).match(head.lower()) is not None
            yield line.partition(head)[0].rstrip() if below else line
        elif not below:
            yield line


def pieces(line: str) -> list[str]:
    """The sentences of a line, or the items of a list that it is."""
    return _listed(line)[1:] or split(line)


def split(line: str) -> list[str]:
    """The sentences of a line."""
    found: list[str] = []
    start = 0
    for mark in _END.finditer(line):
        if _goes_on(line[max(0, mark.start() - 8) : mark.start() + 1], line[mark.end() :]):
            continue
        found.append(line[start : mark.end()])
        start = mark.end()
    parts: list[str] = []
    for part in (" ".join(part.split()) for part in (*found, line[start:])):
        if parts and (_MEANS.match(part) or _SUMS.fullmatch(part)):
            parts[-1] += f" {part}"
        elif any(map(str.isalpha, part)):
            parts.append(part)
        elif parts and any(map(str.isdigit, part)) and parts[-1].count(" ") < EXCUSE:
            parts[-1] += f" {part}"  # "sorry sorry. 9:45."
    return parts


def _goes_on(end: str, rest: str) -> bool:
    """Whether a full stop ends no sentence: "Dr. Falk", "J. Falk", "am 3. Dezember"."""
    if _SHORT.search(end) or _WINKS.match(rest):
        return True
    if _INITIAL.search(end):
        return not _BEGINS.match(rest)
    word = rest.split(maxsplit=1)[0] if rest.strip() else ""
    if _GERMAN_DAY.search(end) and word[:1].islower():  # "am 20. um 9"
        return True
    return bool(_ORDINAL.search(end) and lower(cues.DAY).match(word.lower()))


def unquoted(line: str) -> str:
    """A line without what it quotes, if that is a sentence or more."""
    return _QUOTE.sub(lambda found: '""' if _whole(found[0][1:-1].strip()) else found[0], line)


def _whole(span: str) -> bool:
    """Whether a quote has its own full stop: the sentence around it goes on."""
    return len(split(span)) > 1 or (span[-1:] in tuple(".!?…") and span.count(" ") >= SPOKEN)


def quoted(text: str) -> bool:
    """Whether most of a sentence, or much of it, is somebody else's."""
    spans = [match.group() for match in _QUOTE.finditer(text)]
    return any(
        (span.count(" ") >= SPOKEN and not _title(span)) or len(span) * 2 > len(text)
        for span in spans
    )


def _title(span: str) -> bool:
    """Whether a quote is the name of a book or a film."""
    first = [word[:1] for word in span.strip('"“”«»„').split()]
    return span.count(" ") < 12 and sum(map(str.isupper, first)) * 2 > len(first)


def plain(text: str) -> str:
    """An agent's Markdown as lines of prose: without code, tables and marks."""
    lines = (_HEADING.sub("", line) for line in _unfenced(text, ("|", "---", "> ")))
    bare = (line.replace("**", "").replace("`", "").strip() for line in lines)
    return "\n".join(filter(None, bare))


@lru_cache(maxsize=8192)
def unmeant(text: str) -> bool:
    """No statement that lasts: an order, sarcasm, an example, politeness, "just for today"."""
    low = text.lower()
    polite = cues.POLITE if len(low) < 100 else cues.SARCASM
    doubtful = (cues.SARCASM, cues.HYPOTHETICAL, cues.ONCE, polite)
    found = (lower(cue).search(low) for cue in doubtful)
    shouts = _SHOUTS.search(text) is not None
    begins = (lower(cue).match(low) for cue in (cues.ORDERS, cues.OF_SOMEBODY))
    return shouts or any(begins) or any(found)


def open_question(sentence: Sentence, among: bool) -> str:
    """A question that nobody can answer yet: it stands among such (`among`), or what follows says
    so ("per singer or per choir? don't know yet")."""
    asked = sentence.asked or lower(cues.QUESTIONS).search(sentence.heading.lower())
    text = sentence.text if among and asked else ""
    if sentence.before.endswith("?") and lower(cues.LEAVES_OPEN).match(sentence.text.lower()):
        text = f"{sentence.before} {sentence.text}"
    return text if fits(text) else ""


def alone(sentence: Sentence) -> str:
    """A statement so that it can be understood alone, with the one before if it needs that."""
    text = sentence.text
    if sentence.asked or text.endswith(":") or unmeant(text):
        return ""
    text = with_before(sentence) if lower(cues.REFERS).match(text.lower()) else text
    return text if fits(text) else ""


def with_before(sentence: Sentence) -> str:
    """With the sentence before it; nothing if there is none that says something."""
    before = sentence.before
    alone = not before or before.endswith("?") or unmeant(before)
    return "" if alone else f"{before} {sentence.text}"


def mocks(sentence: Sentence) -> bool:
    """Whether it goes on with mockery: "oh wonderful. lets rewrite it in cobol"."""
    goes_on = lower(cues.LETS).match(sentence.text.lower())
    return bool(goes_on) and lower(cues.SARCASM).search(sentence.before.lower()) is not None


def for_now(sentence: Sentence) -> bool:
    """Whether it only holds as long as the one before it: "i'm at the cabin this week. keep
    downloads tiny"."""
    low, before = sentence.text.lower(), sentence.before.lower()
    if lower(cues.EVER).search(low) or before.endswith("?") or not lower(cues.WISHES).match(low):
        return False
    return lower(cues.FOR_NOW).search(before) is not None


# --- what says that others follow -----------------------------------------------------------------
def asks(sentence: Sentence) -> bool:
    """Whether it is a question, or wants something of the agent."""
    low = sentence.text.lower()
    return sentence.asked or any(lower(it).match(low) for it in (cues.REQUESTS, cues.ORDERS))


def announced(said: Sequence[Sentence]) -> Iterable[str]:
    """Beside each sentence, the one that says that rules follow, if it is one of them: "a few rules
    for this repo. british spelling. no em dashes, ever. now: the foreword", or where they hold:
    "for everything you build: ...". The first may stand in the same sentence ("ground rules: no
    nuts"); then a fact about the user is none."""
    over, inline, scope = "", False, None
    for one in said:
        low = one.text.lower()
        begins = lower(cues.ANNOUNCES).match(low)
        head, _, rest = low.partition(":")
        if asks(one) or (scope and rest):
            over = ""
        scope = rest and len(head) <= HEADING and lower(cues.SCOPE).search(head)
        if scope or (begins and len(head) - begins.end() < ANNOUNCED):
            over, inline = one.text[: len(head)] if rest else one.text, bool(rest)
            yield over if rest and fits(one.text) else ""
            continue
        listed = one.heading and lower(cues.ANNOUNCES).match(one.heading.lower())
        heading = one.heading if listed else over
        mine = inline and lower(cues.PERSON).match(low) is not None
        short = fits(one.text) and 1 < len(one.text.split()) <= PLAIN
        yield heading if heading and short and not (one.asked or mine) else ""


@lru_cache(maxsize=8192)
def requests(low: str) -> bool:
    """Whether a sentence begins like a request, an order or a question."""
    forms = (cues.SIGNS["begins request"], cues.ASKED, cues.ORDERED)
    return any(lower(form).search(low) for form in forms)


def fits(text: str) -> bool:
    return len(text) <= ENTRY and len(text.split()) <= WORDS
