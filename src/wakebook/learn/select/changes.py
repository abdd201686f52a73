"""What a new sentence changes: the value that it replaces, or may replace.

A replacement needs strong evidence: the old value named and taken back, or the same frame with
another value of the same kind. In doubt both stand, the newer first.
"""

import re
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import islice
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.about import everywhere
from wakebook.learn.phrases import cues, lower, pattern
from wakebook.learn.select import pair
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.select.said import (
    DIGIT,
    OF_CHANGE,
    Said,
    bare_clauses,
    chance,
    clauses_of,
    different,
    events,
    lasts_until,
    read,
    units,
    usual,
    weights,
)
from wakebook.learn.select.speech import split
from wakebook.learn.select.worth import lists, reports, several

NEAREST = 12  # entries that a sentence is compared with
MEANT = 6  # entries that come nearest by their meaning
JUDGED = 6  # entries of all these that are put beside it in earnest
RECENT = 16  # statements back that a change may mean without a word in common
FACTS = 200  # back, of which a person has one at a time: a home, a job
MEANT_HERE = 2  # of the nearest in a project, by all of a message
CONVINCED = 0.8  # that the judge is sure, as the weights take it: 96 %
CERTAIN = 1.3  # the same: 99.5 %
SOUNDS = 0.55  # the same: 90 %
ASKS = 0.65  # if none can be more likely than this, the judge reads none of them ...
AT_ALL = 0.5  # ... and of the others, not this one ...
BESIDE = 2  # others that are read with one
ANSWERED = 0.3  # ... unless an agent has changed something
ALIKE = 0.15  # less near than this, one sentence casts no doubt on another
NEAR = 0.18  # less near than this, and without a word in common, a change is strange
SURELY = 0.8  # likely enough for what says something else besides to be replaced ...
UNSAID = 0.9  # ... if no word speaks of a change
HEARD = 0.4  # likely enough to doubt what was not kept
REPEATED = 2  # spaces of a clause that is known again
FAVOURITE = 0.35  # likely enough where only one can be the favourite, or a count moves on
SLIPS = 4  # statements back that a slip may stand in
AGO = 0.5  # likely enough for one to have come in the place of another that is wanted back ...
NOW = 0.25  # ... if it says that something has changed
HAD = 0.05  # the same for the likeliest, if "what we had" is wanted back
_BEFORE = re.compile(  # what comes behind it names it: "back to what we had, one file per month"
    r"(?:to )?(?:what|how|where) (?:we|it|i|they|things|that) (?:had|was|were|did)"
    r"(?: at first| before| originally)?"
    r"|the (?:old|former|previous) \w+|was wir hatten|lo de antes|(?:ce qu'on avait|comme avant)"
)
_VALUE = re.compile(r"\b\d+[.,:]?\d+\b")
_TOO = re.compile(  # behind a number: the same as before
    r"(?i)\d\b,? (?:again|too|also|as (?:well|before|always)|still|wieder|auch|otra vez|también"
    r"|encore|aussi|fits|stays|bleibt)\b"
)
_NUMBER = re.compile(r"\b\d{5,}\b")  # of an order, a customer, a part
_SORRY = re.compile(
    r"(?i)\W*(?:(?:oh|ah|no)\W+)?(?:sorry|sry|oops|my bad|perdón|pardon|entschuldigung)\b"
)
_MAKE_IT = re.compile(  # on second thoughts
    r"(?i)\W*(?:(?:ok|oh|and|well)\W+)*"
    r"(?:(?:hm+|no|nah|nee|non|actually|better|lieber|mejor|plutôt)\W+)+"
    r"(?:(?:please |let'?s )?make (?:it|that)|mach(?:e|en wir)? (?:es|das|lieber)|ponlo a"
    r"|mets(?:-le)? à) "
)
_COUNTING = words.terms("far finish reach hit pass total count current different read spot manage")
_COUNTED = re.compile(  # of the user, or what is left
    r"\b(?:left|remaining|i|i'm|i've|im|ive|my|we|we've|our|ich|mein\w*|wir|je|j'\w+|mon|ma|mes|mi)\b"
)
_LIGHT = words.terms("through via by go run work")  # say nothing of their own


class Change(NamedTuple):
    target: Known
    elliptic: bool  # the sentence cannot be understood without what it corrects
    wholly: bool = True  # nothing of the target holds
    surely: bool = True  # something does not; else both stand, and one unsettles the other
    doubted: tuple[Known, ...] = ()  # what it may have changed besides
    meant: str = ""  # the target with its slip put right


class Enough(NamedTuple):
    """How likely a sentence must have changed another ..."""

    replaces: float  # ... to replace it
    strange: float = 0.8  # ... if they have nothing in common
    doubts: float = 0.4  # ... to be told beside it
    sounds: float = 0.25  # ... if it is of an earlier conversation, and sounds so to the judge


CONFIRMED = Enough(0.45, 0.3, 0.06, 0.06)  # an agent has changed something by it


class Place(NamedTuple):
    """Where a sentence is said."""

    here: AbstractSet[str] = frozenset()  # ids of what this window has said
    beside: AbstractSet[str] = frozenset()  # and of what this message has
    project: str = ""
    around: pair.Around = pair.Around()
    confirmed: bool = False  # an agent has changed something by it


def replaced(text: str, ledger: Ledger, place: Place) -> Change | None:
    """What a sentence replaces, if that is clear; or what it may have changed."""
    known = weights().changes
    enough = CONFIRMED if place.confirmed else Enough(weights().changes_threshold)
    least = enough.replaces
    for clearly in (_slipped, _excused, _scratched, _returned, _addressed, _other, _aged, _over):
        if clear := clearly(text, ledger, place):
            return clear
    near = compared(text, ledger, place)
    if place.confirmed:  # then another value will do, and nothing else
        near = [(one, seen) for one, seen in near if valued_otherwise(text, one.content)]
    done = reports(text) and not read(text).cues & OF_CHANGE
    if done:  # "I deployed the queue, that's done": what was decided holds
        near = [(one, seen) for one, seen in near if one.type != "decision"]
    found = [(chance(known, seen), one.order, one) for one, seen in near]
    about = {one.id for one, seen in near if _about(text, one, seen)}
    linked = {one.id for one, seen in near if _linked(text, one, seen)}
    valued = {one.id for one, seen in near if seen["judge"] >= SOUNDS and "other" in seen}
    about |= valued
    found = [it for it in found if it[2].id in about or it[0] >= enough.strange]
    found = [it for it in found if not _says_again(text, it[2].content)]
    may, _, target = max(found) if found else (0.0, 0, None)
    meant = {one.id for one, seen in near if seen["near"] >= ALIKE or seen["around"] > 0} | valued
    meant |= {one.id for its, _, one in found if its >= UNSAID}
    signs = {"slot", "lost"}  # something is said to be out: "gumtack shut"
    sounds_so = {it.id for it, seen in near if seen["judge"] >= 0 or signs & seen.keys()}
    sounds_so -= place.here
    ranked = sorted(found, reverse=True)
    doubts = (enough.sounds if one.id in sounds_so else enough.doubts for _, _, one in ranked)
    likely = [one for (its, _, one), it in zip(ranked, doubts, strict=True) if its >= it]
    meant -= {one.id for its, _, one in ranked if one.heard and its < HEARD}
    doubted = [one for one in likely if one.id in meant]
    counted = target is not None and _counts(read(text), target.content)
    if target and (counted or _favourite(read(text), read(target.content))):
        least = FAVOURITE
    least = (1 + least) / 2 if target and target.fixed else least
    if target and not done and may >= least and target.id in linked:
        others = tuple(one for one in doubted if one is not target)
        named = any("named" in seen for one, seen in near if one is target)  # "not on the 14th"
        wholly = not (lists(target.content) or several(target.content, named))
        sure = SURELY if read(text).change else UNSAID
        surely = wholly or counted or named or may >= sure
        short = elliptic(text, target)
        right = pair.put_right(text, read(text), target.content)[1] if short and bare(text) else ""
        return Change(target, short, wholly, surely, others, right)
    if (
        bare(text)
        and not place.confirmed
        and (repeated := _repeated(text, ledger, place.around.agent[-800:]))
    ):
        return Change(repeated, True, meant=pair.put_right(text, read(text), repeated.content)[1])
    return Change(doubted[0], False, False, False, tuple(doubted[1:])) if doubted else None


def _about(text: str, known: Known, seen: dict[str, float]) -> bool:
    """Whether a sentence can be about an older one: it is near, has a word of it, stands in a
    message that has, or is about something that it does not name."""
    new = read(text)
    near = seen["near"] >= NEAR or bool(new.terms & known.terms - usual())
    if pair.stands(read(known.content)):
        return near or pair.stands(new) or everywhere(text)  # nothing else lifts a rule
    near = near or seen["around"] > 0
    return near or bool(new.back or new.lost) or lower(cues.UNNAMED).search(new.low) is not None


def _linked(text: str, known: Known, seen: dict[str, float]) -> bool:
    """Whether more than the judge speaks for a change: a word of the older sentence or its kin, the
    place that both fill, the value that it takes back; or both are wishes."""
    new = read(text)
    named = seen["rare"] or {"slot", "named", "back", "bare here"} & seen.keys()
    named = named or ("shape" in seen and "corrects" in new.change and not several(known.content))
    anew = known.type == "decision" and lower(cues.ANEW).search(new.low)
    wishes = pair.stands(new) and pair.stands(read(known.content))
    return bool(new.terms & known.terms - usual() or named or anew or wishes)


def _says_again(text: str, older: str) -> bool:
    """Whether a sentence repeats a clause of an older one and no word speaks of a change, or has no
    word of its own."""
    new = read(text)
    if new.back or new.lost:
        return False
    repeats = lower(cues.SAYS_AGAIN).search(new.low)  # "reminder, i'm deaf in my left ear"
    if repeats and (repeats.start() == 0 or not (new.change or "again" in repeats[0])):
        return True  # and not "we're open on Mondays again"
    ours, theirs = new.values, read(older).values
    if theirs["name"] and theirs["name"] <= ours["name"] and not new.change:
        return not different(ours, theirs)  # "to Farrukh, and cc Beatrix" leaves Beatrix
    if _TOO.search(text) and {*_VALUE.findall(text)} & {*_VALUE.findall(older)}:
        return True  # "trail shoes now, 41.5 again"
    numbers = {*_NUMBER.findall(text)}
    if numbers and numbers <= {*_NUMBER.findall(older)}:
        return True  # "check that 4500218 is on it this time"
    parts = (words.terms(it) for it in bare_clauses(older) if it.count(" ") >= REPEATED)
    again = not new.change and any(it and it <= new.terms for it in parts)
    own = new.terms - usual() - _LIGHT
    return again or (bool(own) and own <= words.terms(older))


def valued_otherwise(text: str, older: str) -> bool:
    """Whether each has a value of a kind that the other has not, beyond what it repeats."""
    other = different(read(text).values, read(older).values) - {"degree"}
    return bool(other) and not _says_again(text, older)


def unsettled(older: str, text: str) -> str:
    """The clause of an older sentence that a new one may have changed."""
    parts = [it for part in split(older) for it in clauses_of(part) if len(words.terms(it)) > 1]
    birthday = birthday_of(text)
    named = [it for it in parts if birthday and birthday["who"] in it.lower()]
    if named:  # "kids are Bo (7) and Fenna (4)"
        return named[-1]
    if lower(cues.OTHER_ONE).search(text.lower()):
        return parts[0] if parts else older
    return max(parts, key=partial(pair.likely, text)) if len(parts) > 1 else older


def _favourite(new: Said, old: Said) -> bool:
    """Whether both say what someone's favourite is, of the same kind of thing."""
    things = new.about & old.frame - usual() - words.terms("favourite favorite")
    return "favourite" in new.cues & old.cues and bool(things)


def _counts(new: Said, older: str) -> bool:
    """Whether both say how far the user has come with the same thing: "I'm on page 140"."""
    if new.planned or "also" in new.cues or not lower(cues.COUNTER).search(new.low):
        return False
    old = read(older)
    counted = new.beside["number"].keys() & old.beside["number"].keys() - units() - _COUNTING
    names = [it.values["name"] for it in (new, old)]
    apart = all(names) and names[0].isdisjoint(names[1])  # page 140 of another book
    mine = all(_COUNTED.search(it.low) for it in (new, old)) and not apart
    return mine and bool(counted) and "number" in different(new.values, old.values)


def _slipped(text: str, ledger: Ledger, place: Place) -> Change | None:
    """The sentence with a slip that is put right, and how it was meant: the last that has a word
    like it, or else another value of that kind."""
    said = pair.slip(text)
    found: list[tuple[int, int, Known, str]] = []
    for known in ledger.latest(SLIPS, place.here) if said else ():
        if known.id in place.here and said.lower() not in known.content.lower():
            like, meant = pair.put_right(said, read(text), known.content)
            found += [(like, -len(found), known, meant)] if like else []
    if not found:
        return None
    _, _, known, meant = max(found)
    return Change(known, elliptic=True, meant=meant)


def _excused(text: str, ledger: Ledger, place: Place) -> Change | None:
    """The user's last number here, which an excuse puts right ("sorry, 9:45"); or what was said
    just before, which is to be made otherwise: "hm make it 16, nobody reads mail that early"."""
    made = _MAKE_IT.match(text)
    said = clauses_of(text[made.end() :])[0] if made else text
    plain = not read(said).about if made else _SORRY.match(text) and bare(text)
    numbers = read(said).values["number"] if plain else frozenset()
    latest = ledger.latest(SLIPS, place.here) if len(numbers) == 1 else []
    before = [one for one in latest if one.id in place.here - place.beside]
    for known in before[: 1 if made else SLIPS]:
        theirs = read(known.content).values["number"]
        if len(theirs) == 1 and theirs != numbers:
            (old,), (new,) = theirs, numbers
            meant = known.content.replace(old, new) if known.content.count(old) == 1 else ""
            return Change(known, elliptic=True, meant=meant)
    return None


def _scratched(text: str, ledger: Ledger, place: Place) -> Change | None:
    """What was said just before, if the words before take it back: "scratch that. no automatic
    export, i run it by hand"."""
    first, *rest = split(place.around.message) or [""]
    if rest[:1] != [text] or not lower(cues.SCRATCHED).match(first.lower()):
        return None
    latest = ledger.latest(SLIPS, place.here)
    last = next((one for one in latest if one.id in place.here - place.beside), None)
    return Change(last, False) if last and read(text).terms & last.terms - usual() else None


def _returned(text: str, ledger: Ledger, place: Place) -> Change | None:
    """What came between, if a sentence goes back to what was there before: "back to rabbit"."""
    back = lower(cues.GOES_BACK).search(text.lower()) if place.project else None
    said = " ".join(filter(None, back.groups())) if back else ""
    unnamed = back is not None and _BEFORE.fullmatch(said) is not None
    rest = f"{text[: back.start()]} {text[back.end() :]}".lower() if back else ""
    things = words.terms(rest if unnamed else said) - usual()
    if not things:
        return None
    latest = ledger.latest(2 * RECENT, place.here, every=True)
    ours = [one for one in latest if one.project == place.project]
    named = [any(_is_of(thing, one.content) for thing in things) for one in ours]
    if unnamed and named.count(True) > 1:  # "put the timeout back where it was"
        return Change(ours[named.index(True)], False)
    if unnamed and True in named[1:] and not named[0]:
        since = ours[: named.index(True)]
        had = ours[len(since)].content
        likeliest = max(since, key=lambda one: pair.likely(one.content, had))
        return Change(likeliest, False) if pair.likely(likeliest.content, had) >= HAD else None
    for at, one in enumerate(ours):
        before = [older for older, its in zip(ours[at + 1 :], named[at + 1 :], strict=True) if its]
        new = read(one.content)
        least = NOW if new.change or lower(cues.ANEW).search(new.low) else AGO
        came = any(_is_of(thing, one.was) for thing in things) or any(
            pair.likely(one.content, it.content) >= least for it in before
        )
        if (came or (before and lower(cues.SWITCHES).search(new.low))) and not named[at]:
            return Change(one, False)
    return None


def _other(text: str, ledger: Ledger, place: Place) -> Change | None:
    """The last decision here, if it is the other of two now: "it's the other one after all"."""
    if not lower(cues.OTHER_ONE).search(text.lower()):
        return None
    latest = ledger.latest(2 * RECENT, place.here)
    ours = (one for one in latest if one.type == "decision" and one.project == place.project)
    last = next(ours, None)
    return Change(last, False, False, False) if last else None


def _addressed(text: str, ledger: Ledger, place: Place) -> Change | None:
    """How somebody was addressed, in a language that has two ways of it: "ab jetzt du"."""
    familiar, formal = (pattern(cue) for cue in (cues.FAMILIAR, cues.FORMAL))
    ours = [it.search(text) is not None for it in (familiar, formal)]
    for one in ledger.latest(2 * RECENT, place.here, every=True) if sum(ours) == 1 else ():
        theirs = [it.search(one.content) is not None for it in (formal, familiar)]
        if theirs == ours and one.id not in place.beside and one.project == place.project:
            return Change(one, False, wholly=not several(one.content))
    return None


def birthday_of(text: str) -> re.Match[str] | None:
    """Who is a year older, and how old: "Fenna turned 5"."""
    return lower(cues.BIRTHDAY).search(text.lower()) if DIGIT.search(text) else None


def _aged(text: str, ledger: Ledger, _: Place) -> Change | None:
    """What says how old somebody was who has had a birthday: "Fenna turned 5"."""
    birthday = birthday_of(text)
    if birthday is None:
        return None
    age = re.compile(rf"(?i)\b{re.escape(birthday['who'])}\b\W[^.;]{{0,12}}?\b(\d{{1,2}})\b")
    for one in ledger.nearest(words.terms(birthday["who"]), NEAREST):
        was = age.search(one.content)
        if was and was[1] != birthday["age"]:
            return Change(one, False, wholly=False, surely=False)
    return None


def _over(text: str, ledger: Ledger, place: Place) -> Change | None:
    """What was to hold until something that is over: "the premiere went great"."""
    for event in events(text):
        for one in ledger.nearest(words.terms(event), NEAREST):
            waits = one.project == place.project and lasts_until(event, one.content)
            if waits and one.id not in place.beside:
                return Change(one, False, wholly=not several(one.content))
    return None


def _is_of(thing: str, text: str) -> bool:
    """Whether a text has a word, or one that begins so: "rabbit" and "RabbitMQ"."""
    terms = words.terms(text)
    if len(thing) < 3:
        return thing.isdigit() and thing in terms  # "back on 20"
    return any(it.startswith(thing) for it in terms)


def compared(
    text: str, ledger: Ledger, place: Place, every: bool = False
) -> list[tuple[Known, dict[str, float]]]:
    """The entries that a sentence may be about, the nearest first, and what speaks for a change of
    each. The judge is asked where its word can matter; `every`: of all."""
    new, rarity = read(text), words.Rarity(ledger.rarity)
    near = sorted(
        _candidates(new, ledger, place),
        key=lambda one: (pair.alike(new, one.content, place.around, rarity), one.order),
        reverse=True,
    )
    seen = (
        (one, found)
        for one in near
        if (found := pair.evidence(new, _older(one, text, ledger, place), place.around, rarity))
    )
    nearest = list(islice(seen, JUDGED))
    for number, (_, found) in enumerate(nearest):
        found |= {"nearest": float(number == 0), "judge": -pair.MOST}
    known = weights()
    sure = {"judge": CERTAIN if place.project else CONVINCED, "judged best": 1.0}
    may = [chance(known.changes, found | sure) for _, found in nearest]
    least = ASKS if place.project and not place.confirmed else known.changes_threshold
    if every or place.confirmed or max(may, default=0.0) >= least:
        reply = place.around.reply  # which shows nothing if it names nothing of the older one
        said = words.terms(reply) - usual()
        asked = [
            (one.content, found)
            for (one, found), can in zip(nearest, may, strict=True)
            if every
            or (place.confirmed and can >= ANSWERED and valued_otherwise(text, one.content))
            or (can >= AT_ALL and (not reply or said & (one.terms - new.terms)))
        ]
        others = ((one.content, found) for one, found in nearest)
        if len(asked) == 1:  # by itself, one is judged too surely
            asked += [one for one in others if one[1] is not asked[0][1]][:BESIDE]
        pair.sounds(text, asked, reply)
    return nearest


def _older(known: Known, text: str, ledger: Ledger, place: Place) -> pair.Older:
    here = known.id in place.here
    both = place.project and known.project
    apart = bool(both) and place.project != known.project
    return pair.Older(
        known.content,
        here,
        here and ledger.count - known.order <= 2,
        known.fixed,
        bool(both) and not apart,
        apart and not (everywhere(known.content) and everywhere(text)),
    )


def bare(text: str) -> bool:
    """Whether a correction says nothing but the new value: "no, 45", "sorry, I meant Friday"."""
    new = read(text)
    return "corrects" in new.change and not new.about


def _repeated(text: str, ledger: Ledger, agent: str) -> Known | None:
    """What the agent has just repeated with the value that a bare "no, 45" corrects."""
    terms = words.terms(agent)
    said, ours = read(agent).values, read(text).values
    found = []
    for known in ledger.near(terms):
        shared, theirs = len(terms & known.terms), read(known.content).values
        corrected = any(theirs[kind] & said[kind] for kind in different(ours, theirs))
        enough = shared > 1 and shared * 2 >= len(known.terms - theirs["number"])
        if known.type in ("fact", "decision") and enough and corrected:
            found.append((shared, known.order, known))
    return max(found)[2] if found else None


def _candidates(new: Said, ledger: Ledger, place: Place) -> list[Known]:
    """The nearest facts and decisions; of a change, also the nearest to its message, the latest."""
    terms = new.terms - usual()
    near = ledger.nearest(terms, NEAREST) + ledger.meant(new.text, MEANT)
    slots = frozenset(it for it in new.cues if it.startswith("slot"))
    if slots:
        near += [one for one in ledger.latest(FACTS, place.here) if read(one.content).cues & slots]
    message = place.around.message
    if place.project and message != new.text:
        near += ledger.meant(message, MEANT_HERE)
    cued = new.cues & OF_CHANGE or new.back or new.lost
    if cued and message != new.text:
        near += ledger.nearest(terms | read(message).terms - usual(), NEAREST)
    if cued or place.project:
        latest = ledger.latest(RECENT, place.here)
        near += [one for one in latest if one.project == place.project or one.id in place.here]
    itself = lower(cues.CORRECTS).match(new.low) and not place.around.reply
    beside = frozenset() if itself else place.beside
    others = (one for one in near if one.content != new.text)  # it may be read once more
    return list(
        {one.id: one for one in others if one.id not in beside or _takes(new, one)}.values()
    )


def _takes(new: Said, known: Known) -> bool:
    """Whether it takes back what another says; facts told in a row change none of each other."""
    return any(it <= read(known.content).bare for it, _ in new.back)


def elliptic(text: str, known: Known) -> bool:
    """Whether a correction says too little alone: "no, 42", "it's Pawel now"."""
    new, old = read(text), read(known.content)
    if lower(cues.MEANT).match(new.low) and len(new.about) < 2:
        return True
    apart = not (new.terms & old.terms - usual() or new.values["name"] & old.values["name"])
    return apart and lower(cues.REFERS).match(new.low) is not None
