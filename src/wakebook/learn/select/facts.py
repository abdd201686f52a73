"""Facts about the user, their people and their work; and decisions, with their reason.

The hard filter: would one have to know this person to know this? So a statement counts
when it is in the first person, when a person is its subject, or when it is specific (a
name, number, date or place). Symptoms, talk about the talk and general truths do not.
"""

from __future__ import annotations

import re

from wakebook.base.words import listed
from wakebook.learn.select import wording
from wakebook.learn.select.ledger import Finding
from wakebook.learn.select.phrases import pattern, phrases
from wakebook.log.entry import EntryKind

_LONG = 45  # words
_BE = ("is", "are", "'s", "was", "were")


def found(clause: str, memo: bool = False, long: bool = False) -> Finding | None:
    """The fact that a clause states.

    `memo`: the user asks to have it kept. `long`: the message may hold pasted words, so only
    what is in the first person counts.
    """
    words = clause.count(" ") + 1
    if words < 2 or words > _LONG:
        return None
    for cue in phrases.PREFERENCES:
        if pattern(cue).match(clause):
            return _preference(clause)
    noted = pattern(phrases.NOTED).match(clause)
    if noted and not long and noted["rest"].count(" ") >= 2:
        return _fact(noted["rest"])
    if pattern(phrases.HEDGE).search(clause) or _talk(clause):
        return None
    lesson = pattern(phrases.LESSONS).match(clause)
    if lesson and (
        wording.specific(lesson["rest"])
        or pattern(r"\b(?:our|my|we|i|the)\b").search(lesson["rest"])
    ):
        return _fact(lesson["rest"], "lesson")
    if pattern(phrases.CODE).match(clause):
        return None
    for cue in phrases.SELF:
        if pattern(cue).match(clause):
            return None if pattern(phrases.SYMPTOM).search(clause) else _self(clause)
    if pattern(phrases.HABIT).match(clause) and not pattern(phrases.SYMPTOM).search(clause):
        return _self(clause)
    owned = _owned(clause)
    if owned or long:
        return owned
    return _person(clause) or _wish(clause) or _specific(clause, memo) or _labelled(clause)


def worded(clause: str) -> Finding:
    """A fact in the speaker's own words."""
    kind: EntryKind | None = "relationship" if role(clause) and wording.names_in(clause) else None
    return _fact(clause, kind)


def general(clause: str) -> bool:
    """ "Postgres is a database" is no fact about anybody's life."""
    known = pattern(r"(?:[\w-]+ ){1,3}(?:is|are) an? ").match(clause)
    ours = pattern(r"\b(?:my|our|us|we|i|me|the|this|that|he|she|it)\b").search(clause)
    return known is not None and ours is None and not role(clause)


def wish(clause: str) -> bool:
    """A standing wish to the agent: "never commit for me", "from now on keep it short"."""
    return any(pattern(cue).match(clause) for cue in phrases.PREFERENCES[-2:])


def introduced(sentence: str) -> list[Finding]:
    """Somebody who is named with what they are: "Tomek, my partner", "the head, Mrs Falk"."""
    found = []
    for cue in (phrases.NAME_ROLE, phrases.ROLE_NAME):
        for match in re.finditer(cue, sentence):
            owner = wording.about_others(match["role"])
            text = f"{match['name']} is {owner}"
            found.append(Finding("fact", wording.sentence(text), kind="relationship"))
    return found[:2]


def answer(clause: str, asked: str) -> Finding | None:
    """A fragment that answers the agent's short question: "And the launch date?" - "3 May"."""
    match = pattern(phrases.ASKED_VALUE).match(asked)
    if not match or clause.count(" ") > 8 or pattern(phrases.SYMPTOM).search(clause):
        return None
    if not wording.specific(" " + clause[:1].lower() + clause[1:]) and not role(clause):
        return None
    topic = (match["topic"] or "").strip()
    if topic:
        return Finding("fact", wording.sentence(f"{topic}: {clause}"))
    return Finding("fact", wording.sentence(f"{asked}? {clause}"))


def _preference(clause: str) -> Finding | None:
    if pattern(
        rf"i(?:'d)? (?:really |do |also )?(?:like|love|hate|prefer|enjoy) {phrases.VAGUE}"
        r"|i'd (?:like|love)\b|(?:i|we) (?:like|love)$"
        r"|.*\b(?:ideas?|suggestions?|options?|approach|sound of|recipes?|recommendations?)\b"
    ).match(clause):
        return None
    call = pattern(r"(?:please )?(?:just )?call me (.+)").match(clause)
    if call:
        return _fact(f"User wants to be called {call.group(1)}", "preference")
    if pattern(r"(?:i|we|i'm|my)\b").match(clause):
        return _self(clause, "preference")
    wish, _, why = pattern(r"(?:please|just) ").sub("", clause).partition(": ")
    finding = _fact(f"User wants: {wish}", "preference")
    return finding._replace(detail=wording.sentence(wording.about_user(why)))


def _self(clause: str, kind: EntryKind | None = None) -> Finding:
    if kind is None and pattern(
        rf"(?:(?:i|we)(?:'ve| have)? )?(?:\w+ )?{phrases.PAST_EVENT}\b"
    ).match(clause):
        kind = "event"
    if pattern(r"(?:got|moved|joined|started|bought|signed|hired|adopted|passed|sold|met)\b").match(
        clause
    ):
        clause = f"I {clause}"
    if pattern(r"(?:we|we're)\b").match(clause):
        return _fact(clause, kind)
    return Finding("fact", wording.about_user(clause), kind=kind)


def _owned(clause: str) -> Finding | None:
    """ "my X is Y", "our X runs on Y"."""
    if not pattern(r"(?:my|our)\b").match(clause) or pattern(phrases.MINE_NOT).match(clause):
        return None
    match = pattern(phrases.WEAK).match(clause)
    if (
        not match
        or pattern(phrases.STATE).search(clause)
        or pattern(phrases.SYMPTOM).search(clause)
    ):
        return None
    if match["verb"].lower() in ("will", "can") or match["np"].count(" ") > 5:
        return None
    kind: EntryKind | None = "relationship" if role(match["np"]) else None
    if clause[:2].lower() == "my":
        return Finding("fact", wording.about_user(clause), kind=kind)
    return _fact(clause, kind)


def _person(clause: str) -> Finding | None:
    if not wording.leads(clause.removeprefix("only ").removeprefix("Only ")):
        return None
    match = pattern(
        rf"(?:only )?[\w-]+(?:'s)?(?:,? and [\w-]+)?(?: (?:from|in|at|on|of) [\w' -]{{2,25}}?)?"
        rf" (?:(?:now|also|still|always|only) )?{phrases.PERSON_VERB}\b\s*(?P<rest>.+)"
    ).match(clause)
    if not match or pattern(phrases.SYMPTOM).search(clause) or _general(match):
        return None
    if pattern(r"(?:.* )?(?:it|them|that|this|those)$").match(match["rest"]):
        return None
    return _fact(clause, "relationship" if role(clause) else None)


def _wish(clause: str) -> Finding | None:
    """What a client or the boss wants, and what happens at a set time."""
    if pattern(phrases.SYMPTOM).search(clause):
        return None
    if pattern(phrases.WISH).match(clause):
        return _fact(clause)
    habit = pattern(phrases.HABIT_OTHER).match(clause)
    if habit and wording.specific(habit["rest"]):
        return _fact(clause)
    return None


def _general(match: re.Match[str]) -> bool:
    """ "Postgres is a database" is no fact about anybody's life."""
    verb = match.string[: match.start("rest")].lower().split()[-1]
    mine = pattern(r"\b(?:my|our|us|we|i|me)\b").search(match["rest"])
    if verb in ("a", "an"):
        return not (mine or role(match["rest"]))
    if verb in ("is", "are", "was", "uses", "will", "the"):
        return not (mine or role(match["rest"]) or wording.specific(match["rest"]))
    return False


def _specific(clause: str, memo: bool) -> Finding | None:
    match = pattern(phrases.WEAK).match(clause)
    if not match or pattern(phrases.NO_SUBJECT).match(match["np"]):
        return None
    if pattern(phrases.SYMPTOM).search(clause) or pattern(phrases.STATE).search(clause):
        return None
    if pattern(r".* (?:to|and|with|including|that|which|who|of course|like)\b").match(match["np"]):
        return None
    if pattern(r"(?:is|are|was|were) (?:an?|the) ").match(clause[match.start("verb") :]) and not (
        role(clause) or pattern(r"(?:the|this|that|my|our)\b|.*\b(?:my|our|us|we)\b").match(clause)
    ):
        return None  # "Python is a language made in 1991"
    owned = pattern(r"(?:his|her|their)\b|.*'s \w").match(match["np"])
    called = pattern(phrases.CALLED).match(clause)
    placed = pattern(phrases.PLACED).match(clause[match.start("verb") :])
    head = pattern(phrases.HEAD).fullmatch(match["np"]) and match["verb"].lower() in _BE
    if not (memo or placed or head or (owned and called) or wording.specific(match["rest"])):
        return None
    kind: EntryKind | None = "relationship" if role(match["np"]) else None
    weak = not (called or owned or head or memo)
    return Finding("fact", wording.sentence(wording.about_others(clause)), kind=kind, weak=weak)


def _labelled(clause: str) -> Finding | None:
    """ "shoe size: 43"."""
    match = pattern(phrases.LABEL).match(clause)
    if not match or match["value"].count(" ") > 10 or match["label"].count(" ") > 3:
        return None
    if pattern(phrases.SYMPTOM).search(clause) or not wording.specific(match["value"]):
        return None
    return Finding("fact", wording.sentence(f"{match['label']}: {match['value']}"), weak=True)


def _fact(text: str, kind: EntryKind | None = None) -> Finding:
    if pattern(r"(?:i|i'm|i've|i'd|my)\b").match(text):
        return Finding("fact", wording.about_user(text), kind=kind)
    return Finding("fact", wording.sentence(wording.about_others(text)), kind=kind)


def role(text: str) -> bool:
    return pattern(rf"\b(?:{phrases.ROLES})\b").search(text) is not None


def _talk(clause: str) -> bool:
    """Talk with the agent: questions without a mark, requests, things said to "you"."""
    if pattern(phrases.ASKS).match(clause) or pattern(phrases.DIRECTIVE).match(clause):
        return True
    return pattern(r"\b(?:you|your|you're)\b").search(clause) is not None


# --- decisions ---------------------------------------------------------------------------

_VERB = dict(  # how "we're ...ing" starts as a choice
    pair.split(":")
    for pair in listed(
        """going:go switching:switch moving:move migrating:migrate dropping:drop sticking:stick
        staying:stay taking:take keeping:keep skipping:skip scrapping:scrap ditching:ditch
        killing:kill cutting:cut cancelling:cancel canceling:cancel postponing:postpone
        delaying:delay stopping:stop replacing:replace writing:write retiring:retire
        splitting:split adopting:adopt pushing:push doing:do using:use putting:put holding:hold
        calling:call naming:name went:go settled:settle chose:choose choosing:choose picked:pick
        picking:pick buying:buy opted:opt landed:land committed:commit"""
    )
)


def decided(clause: str) -> Finding | None:
    if pattern(phrases.HEDGE).search(clause[:120]):
        return None
    for cue in phrases.DECISIONS:
        match = pattern(cue).match(clause)
        if match:
            rest = match["rest"]
            if pattern(phrases.NO_CHOICE).match(rest) or len(rest) < 3:
                return None
            return _decision(match)
    return None


def sealed(clause: str) -> bool:
    """ "..., agreed that with Greta": what stood before it was decided."""
    return pattern(phrases.SEALED).match(clause) is not None


def stated(clause: str) -> Finding:
    """A plain statement that other words made a decision."""
    content, why = wording.reason(clause)
    content = re.sub(r"^(?:i'm|we're|i am|we are|we|i)\s+(?=\w)", "", content, flags=re.I)
    return Finding("decision", wording.sentence(base(content)), wording.sentence(why))


def _decision(match: re.Match[str]) -> Finding:
    rest, why = wording.reason(match["rest"])
    before = match.string[: match.start("rest")].lower()
    rest = re.sub(r" it is$", "", rest)
    if re.search(r"\b(?:not (?:going to|gonna)|won't|will not|no longer|against)\s*$", before):
        rest = f"not {base(rest)}"
    rest = base(rest)
    topic = (match.groupdict().get("topic") or "").strip(" ,:")
    if topic and not pattern(
        r"(?:.*\b)?(?:i|we|you|so|it|that|and|think|guess|then|i'm|we're|im|i am|we are|if|when)$"
        r"|.*\b(?:i|we|i've|we've|i'm|we're)\b"
    ).match(topic):
        topic = re.sub(r"^(?:for|on|about|as for|regarding|with) ", "", topic, flags=re.I)
        rest = f"{topic}: {rest}"
    return Finding("decision", wording.sentence(rest), wording.sentence(why))


def base(text: str) -> str:
    head, space, rest = text.partition(" ")
    if head.lower() == "not":
        return f"not {rest}"
    return _VERB.get(head.lower(), head) + space + rest
