"""What a speaker wrote themselves, as sentences and clauses.

Code, quotes, tables, logs and pasted documents are somebody else's words and are dropped.
Text and sentences are capped, and every pattern is bounded, so that time stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

TEXT = 12_000  # characters of a message that are read
SENTENCE = 400  # characters of a sentence that are read
# -----------------------------------------------------------------------------
# The vocabulary of the rules: classes of words that several cues are made of.
#
# Everything here is a piece of a regular expression, to be put in brackets by its user.
# `pattern` compiles when first used, without regard to case.


@cache
def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
WEEKDAY = (
    "mon(?:day)?s?|tue(?:s(?:day)?)?s?|wed(?:nesday)?s?|thu(?:rs(?:day)?)?s?|fri(?:day)?s?"
    "|sat(?:urday)?s?|sundays?|sun"
)
TIME = (
    rf"(?:\b(?:{WEEKDAY}|tomorrow|tonight|later|soon|next (?:week|month|year|sprint|time)"
    "|end of (?:the )?(?:day|week|month|year)|this (?:afternoon|evening|week|weekend|month)"
    r"|(?:after|before|by|once|when|until) \w+|\d{1,2}(?:st|nd|rd|th)|first thing|in the morning"
    rf"|on the (?:train|plane|weekend)|\d{{1,2}} (?:{MONTH})|(?:{MONTH}) \d{{1,2}})\b)"
)
VERB = (
    "(?:is|are|was|were|'s|isn't|aren't|will|has|have|had|hasn't|haven't|lives?|sits?|runs?"
    "|comes?|starts?|ends?|belongs?|owns?|leads?|handles?|works?|wants?|likes?|loves?|hates?"
    "|prefers?|delivers?|moved|left|joined|gets?|goes|go|uses?|costs?|takes?|holds?|can't"
    "|cannot|can|doesn't|don't|won't|opens?|closes?|arrives?|reports?|pays?|needs?|stays?"
    "|lands?|speaks?|teaches|manages?|expects?|insists?|approves?|signs?|covers?|plays?|keeps?"
    "|died|quit|started|got|said|says|called|turned|turns|happens?|came|went|arrived|cost|took"
    "|paid|ended|finished|increased|dropped|grew|expires?|renews?|falls|knows|never|always)"
)
ROLES = (
    "manager|boss|lead|advisor|supervisor|doctor|dentist|teacher|designer|contact|landlord"
    "|landlady|lawyer|accountant|partner|wife|husband|fianc[eé]e?|girlfriend|boyfriend|mum|mom"
    "|mother|dad|father|sister|brother|son|daughter|kids?|children|twins|aunt|uncle|cousin"
    "|niece|nephew|grandma|grandpa|friend|colleague|coworker|co-?founder|founder|ceo|cto|cfo"
    "|client|customer|neighbou?r|roommate|flatmate|coach|trainer|therapist|vet|editor|agent"
    "|plumber|electrician|tiler|builder|developer|engineer|intern|assistant|dog|cat|horse"
    "|florist|treasurer|apprentice|adviser|photographer|caretaker|secretary|chair|captain|miller"
    "|principal|head|director|owner|maintainer|reviewer|supplier|vendor|nurse|physio|pm|pi"
)
HEDGE = (  # said without being meant as a statement
    r"\b(?:maybe|perhaps|might|what if|suppose|supposing|imagine|hypothetical(?:ly)?|could we"
    "|would it|wonder(?:ing)?|if (?:i|we|you|he|she|they|it|someone)|in theory|tempted"
    r"|thinking of|considering|possibly|not sure|unsure|let's say|theoretically|either)\b"
)
SYMPTOM = (  # signs of a bug that is being talked about
    r"\b(?:errors?|fail(?:s|ed|ing|ure|ures)?|broken|crash(?:es|ed|ing)?|bugs?|exception"
    "|warnings?|traceback|undefined|null|nan|404|500|timeouts?|hangs?|stack ?trace|segfault"
    "|(?:doesn't|isn't|aren't|does not|is not) work(?:ing)?|weird|typo|output|returns?|returned"
    r"|prints?|compil(?:e|es|ed|ing)|line \d+|loading|button|regex|function|variable|syntax"
    r"|stderr)\b"
)
ASKS = (  # how a question starts
    "(?:what|whats|what's|how|hows|how's|why|which|who|whos|who's|whom|where|wheres|where's"
    "|when|can|could|would|will|is|are|am|does|do|did|has|have|should|shall|any|got any|regex"
    r"|was|were|isn't|aren't|doesn't|don't you)\b"
)
DIRECTIVE = (  # how a request to the agent starts
    "(?:redesign|design|act|imagine|provide|pretend|answer|respond|reply|analy[sz]e|outline"
    "|brainstorm|prepare|plan|help|consider|assume|elaborate|expand|organi[sz]e|define|discuss"
    r"|identify|include|teach|play|pretend|select|choose|rank)\b|(?:please|pls|kindly|can you"
    "|could you|would you|will you|i need you to|i want you to|i'd like you to|help me"
    "|need (?:a hand|help)|let me|show|give|tell|explain|write|make|run|rerun|fix|add|rename"
    "|translate|summari[sz]e|convert|list|find|draft|check|commit|regenerate|put|create|update"
    "|remove|delete|generate|change|look|try|open|read|search|compare|review|rewrite|refactor"
    "|implement|build|test|debug|format|install|set|move|copy|print|send|describe|suggest"
    "|recommend|do|go|use|keep|continue|stop|undo|revert|apply|merge|push|pull|deploy|start"
    "|wait|hold on|forget|ignore|clean|sort|count|calculate|compute|plot|draw|shorten|simplify"
    r"|improve|turn|take|pick)\b"
)
DONE = (
    "sent|shipped|submitted|finished|completed|merged|deployed|released|launched|fixed|wrote"
    "|written|called|phoned|emailed|mailed|booked|paid|swapped|replaced|uploaded|printed|filed"
    "|signed|posted|published|delivered|ordered|bought|renewed|cancelled|canceled|returned"
    "|handed in|turned in|handed over|picked up|dropped off|set up|sorted|sorted out|cleaned"
    "|cleaned up|updated|migrated|moved|scheduled|arranged|reviewed|approved|tested|rotated"
    "|installed|configured|documented|drafted|asked|told|met|talked to|spoke to|spoke with|got"
    "|collected|reconciled|transferred|invoiced|reported|resolved|closed|removed|deleted|added"
    "|refactored|implemented|built|rewrote|wrapped up|knocked out|took care of|dealt with"
    "|ticked off|crossed off|checked|confirmed|registered|applied|repaired|painted|hung|planted"
    "|watered|packed|pushed|prepared|recorded|done"
)
CHOOSE = (  # base forms: "let's ...", "we'll ...", "decided to ..."
    "(?:go with|go for|go|use|take|keep|stick with|stick to|stay with|stay on|stay|switch|move"
    "|migrate|drop|skip|scrap|ditch|call it|name it|postpone|make it|cap|limit|target|adopt"
    "|hold off|defer|leave|avoid|split|replace|rename|cancel|stop|start using"
    "|standardi[sz]e|host|store|settle|opt|cut|park|not|ban|retire|rewrite|push|ship|delay|kill"
    r"|remove|merge|\w+ (?=.*\binstead))"
)
CHOOSING = (
    "(?:going (?:with|for|ahead)|switching|moving|migrating|dropping|sticking|staying|taking"
    "|keeping|skipping|scrapping|ditching|killing|cutting|cancelling|canceling|postponing"
    "|delaying|stopping|replacing|retiring|splitting|standardi[sz]ing|adopting"
    "|pushing|not doing|not going|not using|no longer (?:using|doing)|doing|using|putting off"
    "|holding off|calling it|naming it)"
)
PAST_EVENT = (
    "(?:moved|joined|started|quit|left|got|bought|sold|hired|signed|broke|lost|passed|graduated"
    "|was born|grew up|married|met|adopted|launched|raised|won|retired|switched|became|turned"
    r"|had (?:a|an|our|my|surgery|(?:about |around |over )?\d+)|closed|opened|inherited|enrolled"
    "|was diagnosed|founded|released|was promoted|took over|landed)"
)
VAGUE = (  # an object that says nothing without the conversation
    "(?:it|that|this|these|those|them|to|how|what|where|when|why|your|you|the idea|one|some"
    "|an? (?:question|problem|bug|issue|few|idea|feeling|couple|look|error|doubt|quick|lot|bit"
    "|hard time|thought|request|favou?r|minute|moment|template|list|file|function|table)"
    "|no (?:idea|clue|problem|questions?)|trouble|the (?:same|feeling|following)|so|more"
    r"|another)\b"
)
MENTAL = (  # what the speaker thinks, not what is
    "(?:(?:can't|cannot|don't|do not|never|always|really|still|just|also|only"
    "|didn't) ){1,2}(?:wait|believe|think|know|knew|see|find|seem|remember|recall|understand"
    "|want|mind|get|figure|help|care|agree|appreciate|feel|struggle|stress|thought|realized"
    "|hesitate|decide|tell|work out|have (?:any|a|the|to|time|much|enough)|need|mean|expect"
    r"|worry)\b"
)
THIN = (  # what one gets, moves or starts in any talk
    "(?:it|that|this|these|those|them|back|rid|to (?:see|do|know|try|go|meet|hear|be|say"
    "|the point)|around|an? (?:e-?mail|message|notification|reply|response|call|idea|feeling"
    "|chance|deal|sense|new|lot|bit|few)|the (?:error|idea|impression|feeling|chance|same)"
    r"|an? (?:error|warning|weird)|stuck|to (?:the|a) (?:point|part)|on\b|off|an?other|some"
    r"|confused|lost)\b"
)
CODE = (  # the set-up of a programming question
    r"(?:.{0,20}\bhave|.{0,20}'ve got) (?:an?|the following|\d+|two|three|four|some|this"
    r"|several) (?:[\w-]+ ){0,2}?(?:lists?|arrays?|tables?|columns?|rows?|strings?|dicts?"
    "|dictionar|dataframes?|csv|json|files?|functions?|class(?:es)?|variables?|scripts?|query"
    r"|queries|numbers?|vectors?|matri|components?|endpoints?|tests?|branch|commits?|repo)\b"
)
MARKUP = r"\s*(?:```|\||<)"  # a message that starts so is hardly prose


# -----------------------------------------------------------------------------
# What stands around and between statements, as data.
#
# Lead-ins and tails without content, how a clause of its own starts, and the lines that are
# not the speaker's own words.

EDGES = " \t.,;:!?…-–—*_~|>()[]{}=+#"
LEAD = (
    "(?:(?:ok(?:ay)?|k|so+|well|no no|yeah|yep|yes|yup|right|also|and|but|oh|ah|aha|ugh|hm+|btw|fyi"
    "|anyway|anyways|honestly|basically|actually|just|important|by the way|update(?: for you)?"
    "|note|good news first|first|before i forget"
    "|one more(?: thing)?(?: about [\\w ]{2,20})?(?=:)|good news|bad news|great|good|cool|nice"
    "|perfect|super|fine|alright|sure|thanks"
    "|thank you|thx|hi|hey|hello|morning|good (?:morning|afternoon|evening)|quick (?:note"
    "|update|thing)|for (?:the record|your notes|context|reference|the log|info"
    "|future reference)|(?:one|another) (?:more )?thing|side note|indeed"
    "|haha|lol|plus|then|just so you know|heads[ -]up|(?:some )?(?:context"
    "|background|status)(?: for [^:,.]{1,40})?|before we start|two things|first of all"
    "|first off|meanwhile|mostly|as (?:i|we) said|for what it's worth|fwiw"
    r"|i (?:think|guess|mean|suppose)(?: that)?(?= (?:we'll|we're|i'll|i'm)))(?:\s*[,:.!–-]+\s*"
    r"|\s+))"
)
TAIL = (
    r"[\s,]+(?:btw|by the way|fyi|thanks|thank you|thx|please|pls|lol|haha|ok|okay|right|i think"
    r"|i guess|honestly|as you know)\s*$"
)
OWN_SUBJECT = (
    "(?:i|i'm|im|i'll|i've|i'd|we|we're|we'll|we've|my|our|he|she|he's|she's|shes|hes|they|it"
    "|it's|its|it'll|they're|let's|lets|remind me|don't let me|no|follow[- ]?up|next step"
    "|agreed|settled|decided|confirmed|need to|needs to|have to|gotta|still have to|also need"
    "|must|todo|thats|that's|nobody|everyone|everybody|(?:the|his|her"
    r"|their) (?:[\w'-]+ ){1,3}(?:is|are|has|was))\b"
)
STATEMENT = rf"(?:[\w'/-]+ ){{1,5}}?{VERB}\s"
PASTE = (  # asks for work on a text: what follows is pasted
    r"\b(?:summari[sz]e|translate|proof-?read|(?:fix|check|correct) (?:the |my )?(?:spelling"
    "|grammar)|rephrase|reword|rewrite|tl;?dr|paraphrase|shorten|bullet points|key points"
    r"|polish|edit)\b"
)
MACHINE = (  # a line that a machine wrote
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[\s*\d+\.\d+\]|\d\d:\d\d:\d\d\b|at \S+\(|File \""
    r"|Traceback\b|\[(?:warn|info|error|debug)\]|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL)\b"
    r"|[$%]\s|\||[+-]{3}\s|@@|</?\w"
    r"|[{}\[\]\"\'][\w ]*[\"\']?\s*[:,{\[]|[\w ]*[\"\']\s*:|\S+Error:|https?://\S+\s*$|(?:diff"
    "|index|import|from|def|class|const|let|var|function|return|if|for|export"
    r"|#include)\b[^.?!]*[;{(\[:=]\s*$)"
)
SO_CHOICE = (  # behind "so": a choice that follows
    "(?:drop|skip|cut|scrap|leave out|cancel|postpone) (?!it$|that$|this$).+"
)


CLAUSES = 12  # clauses of a sentence that are read

_MACHINE = re.compile(MACHINE)
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_SPAN = re.compile(r"(?<![\w\"”.,])[\"“](?=\S)[^\"“”]{25,3000}[\"“”]")
_BULLET = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,2}[.)]|[A-Ea-e]\))\s+(?:\[[ xX]?\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)")
_URL = re.compile(r"\S*https?://\S+")
_END = re.compile(r"(?:[.!?…]+[\"')\]]*(?=\s)|\s*\n)\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|ca|dr|mr|mrs|ms|prof|st|no|(?-i:[A-Z]))\.$", re.I
)
_BREAK = re.compile(
    r"\s*;\s*|\s+[-–—]{1,3}\s+|\s*,\s+(?:(?:and|but|so|plus|also|then|though|while)\s+){0,2}"
    r"|\s+(?:(?:and|but|so|plus|while)\s+){1,2}(?:also\s+|then\s+)?"
)


class Clause(NamedTuple):
    text: str  # without lead-in words
    link: str  # what stood before it: "", ",", "and", "so", ";", "-"


class Sentence(NamedTuple):
    text: str
    asked: bool  # ends with a question mark
    heading: str  # the line that introduces the list this sentence stands in

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return clauses(self.text)


class Item(NamedTuple):
    """A line of a list, with its number or its place in the list."""

    number: int
    text: str


@lru_cache(maxsize=128)
def sentences(text: str) -> tuple[Sentence, ...]:
    found: list[Sentence] = []
    heading = ""
    for line, bullet in _lines(_own(text)):
        if not bullet:
            heading = line[:80] if line.endswith(":") else ""
        for part, asked in _parts(line):
            found.append(Sentence(part, asked, heading if bullet else ""))
    return tuple(found)


def items(text: str) -> list[Item]:
    """The list items of an agent's message, as its options."""
    found: list[Item] = []
    for line, bullet in _lines(text[:TEXT]):
        if bullet:
            found.append(Item(len(found) + 1, line[:SENTENCE]))
    return found


@lru_cache(maxsize=512)
def clauses(sentence: str) -> tuple[Clause, ...]:
    """Where a sentence bundles several statements, one clause for each."""
    found: list[Clause] = []
    start, link = 0, ""
    for mark in _BREAK.finditer(sentence):
        if len(found) == CLAUSES - 1:
            break
        if mark.start() <= start or not _stands_alone(mark.group(), sentence[mark.end() :]):
            continue
        _add(found, sentence[start : mark.start()], link)
        start, link = mark.end(), _link(mark.group())
    _add(found, sentence[start:], link)
    return tuple(found)


def trimmed(text: str) -> str:
    """Without lead-in words ("ok so", "btw") and without marks at its ends."""
    text = text.strip(EDGES)
    for _ in range(6):
        lead = pattern(LEAD).match(text)
        if not lead or lead.end() >= len(text):
            break
        text = text[lead.end() :].lstrip(EDGES)
    tail = pattern(TAIL).search(text[-40:])
    if tail and tail.start() > 0:
        text = text[: len(text) - len(text[-40:]) + tail.start()]
    text = text.strip(EDGES)
    return text.strip('"“”') if sum(map(text.count, '"“”')) % 2 else text


def _add(found: list[Clause], text: str, link: str) -> None:
    text = trimmed(text)
    if any(letter.isalnum() for letter in text):
        found.append(Clause(text, link))


def _link(mark: str) -> str:
    words = mark.replace(",", " ").split()
    return words[0] if words else mark.strip() or ","


def _stands_alone(mark: str, right: str) -> bool:
    mark = mark.strip()
    if mark in (";", "-", "–", "—", "--", "---"):
        return True
    right = right[:90]
    if pattern(OWN_SUBJECT).match(right):
        return True
    if mark.endswith("so") and pattern(SO_CHOICE).match(right):
        return True
    if not mark.startswith(",") or pattern(rf"{VERB}\b").match(right):
        return False
    return pattern(STATEMENT).match(right) is not None


def _own(text: str) -> str:
    """The text without fenced code, quoted lines, long quotes and what was pasted."""
    kept: list[str] = []
    fenced = False
    for line in text[:TEXT].split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            kept.append(line)
    body = _SPAN.sub(" ", "\n".join(kept)).strip()
    first, _, _ = body.partition("\n")
    paste = pattern(PASTE).search(first[:SENTENCE])
    if not paste:
        return body
    before, colon, _ = first.partition(":")
    return before if colon else first


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    for line in text.split("\n"):
        if not line.strip() or _MACHINE.match(line[:200]) or _FENCE.match(line):
            continue
        bullet = _BULLET.match(line)
        line = line[bullet.end() :] if bullet else _HEADING.sub("", line)
        if "://" in line:
            line = _URL.sub("", _LINK.sub(r"\1", line))
        line = line.replace("**", "").replace("`", "").strip()
        letters = sum(map(str.isalpha, line))
        if letters * 2 >= len(line) or letters >= 12:
            yield line, bullet is not None


def _parts(line: str) -> Iterator[tuple[str, bool]]:
    start = 0
    for mark in _END.finditer(line):
        if _ABBREVIATION.search(line[max(0, mark.start() - 8) : mark.start() + 1]):
            continue
        yield from _part(line[start : mark.start()], mark.group())
        start = mark.end()
    rest = line[start:].rstrip()
    yield from _part(rest.rstrip("?!.…"), rest[len(rest.rstrip("?!.…")) :])


def _part(text: str, mark: str) -> Iterator[tuple[str, bool]]:
    text = " ".join(text[: SENTENCE * 2].replace("’", "'").split())
    if len(text) > SENTENCE:
        text = text[:SENTENCE].rpartition(" ")[0] or text[:SENTENCE]
    if any(letter.isalnum() for letter in text):
        yield text, "?" in mark
