"""The handoff: where things stand when a window ends.

It is taken from the end: the agent's last report, the user's last words, what is left, and the
branch, files and tests of the tool calls. A window in which nothing was done leaves none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from wakebook.base import words
from wakebook.capture.transcript import Message, Tool
from wakebook.learn.phrases import cues, lower, pattern
from wakebook.learn.select.closing import laughs
from wakebook.learn.select.said import different, read, usual
from wakebook.learn.select.speech import hosted, plain, quoted, requests, sentences, split

HEADLINE = 200
REPORT = 700
LINE = 300
FILES = 8
BRIEF = 60  # characters of an answer that may say no more than "OK."
PROMISE = 3  # words at the end that leave something for later
SHORT = 400  # characters of an agent's message that is no advice
ANSWER = 4  # words of one that says more than that it has heard
TYPED = 0.7  # of a message that the user has typed
GOES_ON = 1  # terms of what was left, of which more were spoken of since
LOOKED = 4  # agent's turns from the end that may hold the report

_WRITES = re.compile(r"(?i)edit|write|patch|create|notebook|str_replace|save")
_REFUSED = re.compile(r"(?i)doesn't want to proceed|rejected|denied|not allowed|user declined")
_MEMORY = re.compile(r"(?i)\bwakebook|memory_(?:search|get|wake)|(?:^|_)wakebook_")
_PATH = re.compile(r"[\w./~@+-]*[\w-]+\.\w{1,8}\b|[\w.~@+-]+(?:/[\w.@+-]+)+")
_CHOICE = re.compile(  # "bed occupancy rate or bed occupation rate"
    r"(?i)[\w'’\"-]+(?: [\w'’\"-]+){0,5} or [\w'’\"-]+(?: [\w'’\"-]+){0,5}[.?]?"
)
_TESTED = re.compile(r"(?i)\btest|pytest|spec|jest|cargo|go vet|make check|rspec|vitest|tox|ci\b")


class Handoff(NamedTuple):
    content: str
    detail: str


def last_words(
    messages: Sequence[Message], open_: Sequence[str], decided: Sequence[str], here: bool = False
) -> Handoff | None:
    """None if nothing was done. `open_`: the tasks and questions that the window left open; `here`:
    it is of a project.

    Those and decisions are work as well, unless they are of the user's own life.
    """
    jokes = set(_jokes(messages))
    users = [
        one
        for one in messages
        if one.role == "user" and one.text.strip() and not (hosted(one.text) or one.id in jokes)
    ]
    agents = [one for one in messages if one.role == "agent"]
    tools = [tool for one in agents for tool in one.tools]
    report = _report([one for one in agents if one not in _taken_back(messages)])
    report = _without(report, _refused(messages))
    worked = any(map(_works, tools)) or (len(users) > 1 and _told(agents))
    ours = any(not pattern(cues.OWN).search(one) for one in (*open_, *decided))
    worked = worked or (here and any(_wants(one.text) for one in users) and _answers(agents))
    worked = worked or (here and any(pattern(cues.LEFT).search(one.text) for one in agents[-1:]))
    if not users or not (worked or ours or _puts_off(users[-1].text)):
        return None
    last = _said(users[-1].text)
    wanted = [one for user in users if _says(one := _asked(user)) > 1] or [last]
    requested = (one for one in wanted if one != last and any(map(_requests, split(one))))
    asked = _answered(messages, report) or next(requested, wanted[0])
    ends = _left(report, last) or _left_before(messages, report)
    ends += _unanswered(messages)
    left = [pattern(f"^{cues.LABEL}").sub("", one) for one in (*ends, *open_[-4:])]
    lines = [
        _line("Asked", asked if asked != last else ""),
        _line("Report", report, REPORT),
        _line("User last", last),
        _line("Left", "; ".join(dict.fromkeys(left)), LINE * 2),
        _line("Tests", _tests(tools, report)),
        _line("Branch", _branch(tools, report, agents)),
        _line("Files", ", ".join(_files(tools))),
    ]
    headline = _headline(report) if worked else ""
    content = headline or cut(max(last, wanted[0], key=_says), HEADLINE)
    return Handoff(content, "\n".join(filter(None, lines))) if content else None


def _jokes(messages: Sequence[Message]) -> Iterator[str]:
    """The ids of messages that the agent laughs at, or the user does in the next one."""
    joke: Message | None = None
    for one in messages:
        users = one.role == "user"
        if joke and (lower(cues.JOKED).match(one.text.lower()) if users else laughs(one)):
            yield joke.id
        joke = one if users else joke


def _says(text: str) -> int:
    return len(words.terms(text))


def _works(tool: Tool) -> bool:
    """Whether it did something: not refused, nor only asking the memory; a handoff is work."""
    ours = _MEMORY.search(tool.name) and not tool.name.endswith("handoff")
    return not _REFUSED.search(tool.result or "") and not ours


def _told(agents: Sequence[Message]) -> bool:
    """Whether the agent said at the end what it did, with no long advice after it."""
    for one in reversed(agents[-LOOKED:]):
        text = plain(one.report or one.text)
        if _tells(text) or len(text) >= SHORT:
            return _tells(text)
    return False


def _wants(said: str) -> bool:
    """Whether a message orders or tells something: no question, no thanks, no greeting."""
    return any(
        len(one.text.split()) >= PROMISE
        and _says(one.text) > 1
        and not one.asked
        and not lower(f"{cues.INQUIRES}|{cues.PLEASANTRY}").match(one.text.lower())
        and (requests(one.text.lower()) or not _CHOICE.fullmatch(one.text))
        for one in sentences(said)
    )


def _answers(agents: Sequence[Message]) -> bool:
    """Whether an agent says something at the end, whatever it says: no advice, no question, and
    more than that it has heard or is sorry."""
    last = [plain(one.report or one.text) for one in agents[-LOOKED:]]
    return any(
        len(text) < SHORT
        and not text.endswith("?")
        and len(text.split()) >= ANSWER
        and not lower(cues.PLEASANTRY).match(text.lower())
        for text in last
    )


def _tells(text: str) -> bool:
    """Whether an agent's message says what it did: no advice, and not only "OK."."""
    return any(_reports(one, len(text) < SHORT) for one in _sentences(text))


def _reports(sentence: str, short: bool) -> bool:
    low = sentence.lower().replace("’", "'")
    wanted = (cues.REPORTS, cues.STATES_NOW)[: 1 + short]
    return any(lower(cue).search(low) for cue in wanted)


def _sentences(text: str) -> list[str]:
    return [one for part in text.split("\n") for one in split(part.lstrip("-•* ")) if one != "…"]


def _puts_off(last: str) -> bool:
    """Whether a user's last words leave work for later: "put it in the API, too, tomorrow"."""
    said = last[pattern(cues.YES).match(last).end() :]  # type: ignore[union-attr] # or nothing
    idle = pattern(cues.FAREWELL).match(said) or said.rstrip().endswith("?")
    parts = () if idle else (one for one in split(said) if len(one.split()) >= PROMISE)
    return any(pattern(cues.PUT_OFF).match(one) for one in parts)


def _report(agents: Sequence[Message]) -> str:
    """The end of the agent's last report that says what was done, and its very last words."""
    ends = [plain(one.report or one.text) for one in agents[-LOOKED:]]
    ends = [text for text in ends if text]
    said = [text for text in ends if len(text) >= BRIEF or _tells(text)]
    said += [text for text in ends[-1:] if text not in said and _outcome(text)]
    after = ends[ends.index(said[-1]) + 1 :] if said else []
    said += [text for text in after if _counts_anew(text, said[-1])]
    ends = said or [text for text in ends[-1:] if len(text.split()) > 2]  # not "Nice."
    if not ends:
        return ""
    last = ends[-1]
    if len(last) < 160:
        begun = lower(cues.AT_WORK).match(last.lower()) is not None
        longer = [text for text in ends[:-1] if len(text) >= 160 and _tells(text)]
        longer = [text for text in ends[:-1] if _outcome(text)] if begun else longer
        if longer:
            return _end(longer[-1], REPORT - len(last) - 1) + "\n" + last
    return _end(last, REPORT)


def _outcome(text: str) -> bool:
    """Whether an agent's last words say more than that it has heard or is at it: "G76 works for
    metric threads. Imperial pitch is left."""
    low = text.lower()
    idle = text.endswith("?") or _narrates(text) or lower(cues.PLEASANTRY).match(low)
    at_work = len(text) < 160 and lower(cues.AT_WORK).match(low)
    return not idle and not at_work and len(text.split()) > ANSWER


def _counts_anew(text: str, report: str) -> bool:
    """Whether it has another number for the same: "71 boats, six heats" after "17 boats"."""
    new, old = read(text), read(report)
    return bool(new.units & old.units) and "number" in different(new.values, old.values)


def _end(text: str, limit: int) -> str:
    """The first sentence and as many of the last paragraphs as fit."""
    parts = [one for one in text.split("\n") if one and not _narrates(one)] or text.split("\n")
    kept: list[str] = []
    room = limit
    for part in reversed(parts[1:]):
        if len(part) + 1 > room - min(len(parts[0]), 200):
            break
        kept.insert(0, part)
        room -= len(part) + 1
    gap = ["…"] if len(kept) < len(parts) - 1 else []
    return "\n".join([cut(parts[0], max(room, 120)), *gap, *kept])


def _narrates(part: str) -> bool:
    return pattern(cues.PROGRESS).match(part) is not None and len(part) < 160


def _headline(report: str) -> str:
    """What the report says first about what was done."""
    said = _sentences(report)
    done = [one for one in said if _reports(one, len(report) < SHORT)]
    clear = [one for one in done if not pattern(cues.REFERS).match(one)]  # no "It's done."
    if not done:
        return ""
    chosen = (clear or done)[0]
    after = next(iter(said[said.index(chosen) + 1 :]), "") if len(chosen) < 40 else ""
    return cut(f"{chosen} {after}".strip(), HEADLINE)


def _left(report: str, last: str) -> list[str]:
    """Sentences that say what is left to do, without the label of a line."""
    left = (one for one in _sentences(f"{report}\n{last}") if pattern(cues.LEFT).search(one))
    return [cut(one, 160) for one in left if not pattern(cues.FAREWELL).match(one)][-4:]


def _left_before(messages: Sequence[Message], report: str) -> list[str]:
    """What an agent had said was left, and nobody has spoken of since."""
    since = words.terms(report)
    for one in reversed(messages):
        text = plain(one.report or one.text)
        labelled = [it for it in _sentences(text) if pattern(cues.LABEL).match(it)]
        if one.role == "agent" and labelled:
            terms = words.terms(" ".join(labelled)) - usual()
            return [] if len(terms & since) > GOES_ON else [cut(it, 160) for it in labelled]
        since |= words.terms(text)
    return []


def _unanswered(messages: Sequence[Message]) -> list[str]:
    """What the agent asked at last, if the user cannot say yet: "no idea, I have to ask Ines"."""
    since: frozenset[str] = frozenset()
    for agent, user in reversed([*pairwise(messages)]):
        if user.role != "user":
            continue
        asked = agent.role == "agent" and [it for it in _sentences(plain(agent.text)) if "?" in it]
        if asked and lower(cues.UNDECIDED).search(user.text.lower()):
            answered = len(words.terms(asked[-1]) - usual() & since) > GOES_ON
            return [] if answered else [cut(asked[-1], 160)]
        since |= words.terms(user.text)
    return []


def _taken_back(messages: Sequence[Message]) -> list[Message]:
    """The agent's last words, if the user answers "no, that's when we hear about the money"."""
    if len(messages) < 2 or messages[-1].role != "user" or messages[-2].role != "agent":
        return []
    no = lower(cues.REFUSES).match(messages[-1].text.lower()) and not _refused(messages)
    return [messages[-2]] if no and _says(messages[-1].text) > 1 else []


def _refused(messages: Sequence[Message]) -> str:
    """What the agent offered at last, if the user answers no: "Should I move it to S3, too?"."""
    last = max((n for n, one in enumerate(messages) if one.role == "user"), default=0)
    if not last or not lower(cues.REFUSES).match(messages[last].text.lower()):
        return ""
    before = messages[last - 1]
    said = _sentences(plain(before.report or before.text)) if before.role == "agent" else []
    offers = lower(cues.OFFERS)
    return next((one for one in said if one.endswith("?") or offers.search(one.lower())), "")


def _without(report: str, asked: str) -> str:
    """A report without a question, and what is said of it."""
    parts = [one.partition(asked)[0] if asked else one for one in report.split("\n")]
    return "\n".join(one.rstrip() for one in parts if one.strip())


def _answered(messages: Sequence[Message], report: str) -> str:
    """The user's question, if the report is no more than an answer to it: "Yes, on the Pi 4."."""
    if not lower(cues.SHORT_ANSWER).match(report.lower()):
        return ""
    for before, one in pairwise(messages):
        text = plain(one.report or one.text)
        if one.role == "agent" and text and report.startswith(text[:BRIEF]):
            return _said(before.text) if before.role == "user" else ""
    return ""


def _tests(tools: Sequence[Tool], report: str) -> str:
    """The last result of a test run: what the tool printed, or else what the report says."""
    for tool in reversed(tools):
        found = pattern(cues.TESTS).search(tool.result or "")
        if found and _TESTED.search(f"{tool.name} {tool.summary} {tool.result}"):
            return found.group().rstrip("),")
    found = pattern(cues.TESTS).search(report)
    return found.group().rstrip("),") if found else ""


def _branch(tools: Sequence[Tool], report: str, agents: Sequence[Message]) -> str:
    texts = [f"{tool.summary} → {tool.result or ''}" for tool in tools]
    told = (one.text for one in reversed(agents))
    for text in (report, *reversed(texts), *told):
        names = [match["name"] for match in pattern(cues.BRANCH, 0).finditer(text)]
        if names:
            return names[-1].rstrip(".")
    return ""


def _files(tools: Iterable[Tool]) -> list[str]:
    """What was written, the latest last: the end of each path."""
    found: dict[str, None] = {}
    for tool in tools:
        path = _PATH.search(tool.summary) if _WRITES.search(tool.name) else None
        if path and not tool.error:
            name = "/".join(path.group().split("/")[-2:])
            found.pop(name, None)
            found[name] = None
    return list(found)[-FILES:]


def _asked(message: Message) -> str:
    """What a user wants, without what was not meant, or for the moment only ("just for today")."""
    if pattern(cues.HYPOTHETICAL).search(message.text):
        return ""
    parts = [one.text for one in sentences(message.text)]
    meant = [one for one in parts if not pattern(f"{cues.ONCE}|{cues.SARCASM}").search(one)]
    said = " ".join(plain(message.text).split())
    covered = sum(map(len, parts)) >= TYPED * len(said)  # else a log, or another's words, are in it
    whole = meant == parts and covered and not quoted(message.text)
    return _said(message.text) if whole else cut(" ".join(meant), LINE)


def _requests(sentence: str) -> bool:
    return sentence.endswith("?") or requests(sentence.lower())


def _said(text: str) -> str:
    """A message, or of a long one (which may hold a paste) the user's own sentences."""
    own = " ".join(one.text for one in sentences(text)) if len(text) > LINE else ""
    return cut(own or " ".join(plain(text).split()), LINE)


def _line(name: str, text: str, limit: int = LINE) -> str:
    text = cut(" ".join(text.split()), limit)
    return f"{name}: {text}" if text else ""


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a word."""
    if len(text) <= limit:
        return text
    return (text[: limit - 1].rpartition(" ")[0] or text[: limit - 1]).rstrip(" ,;:-–—") + "…"
