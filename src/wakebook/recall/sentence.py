"""One sentence, as it is put beside many others: what they ask of it is worked out once."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from wakebook.base import words
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.said import Said, read, usual

_FILLERS = words.terms(  # say only that something has a value, or for how long
    "cost rise drop fall listen run charge pay begin beträgt kostet liegt steigt sinkt beginnt"
    " coûte passe commence cuesta sube baja pasa vale empieza jahr monat woche tag año mes semana"
    " día an mois semaine jour im pro per par por theirs ours mine"
)
_UNIT = re.compile(r"\d\s?([^\W\d_]+)")
_VERSION = re.compile(r"([^\W\d_][\w+#]*)[ :@-]v?(\d+(?:\.\d+)*)\b")
MONTH = (  # in four languages, whole or short
    r"(?:jan(?:uar[yo]?|vier)?|feb(?:ruary?|rero)?|f[ée]v(?:rier)?|m(?:ar(?:ch|s|zo)?|ärz)|a[pb]r(?:il)?"
    r"|avr(?:il)?|ma(?:yo?|i)|ju(?:n[ei]?|nio|in)|ju(?:l[iy]?|lio|il(?:let)?)|aug(?:ust)?|agosto|août"
    r"|sep(?:t(?:ember|embre|iembre)?)?|o[ck]t(?:ober|obre|ubre)?|octubre|nov(?:ember|embre|iembre)?"
    r"|de[czs](?:ember)?|déc(?:embre)?|dic(?:iembre)?|ene(?:ro)?)\.?(?!\w)"
)
_DATE = re.compile(
    rf"(\d{{1,2}})(?:\.|st|nd|rd|th|er)? (?:de |of )?{MONTH}|\b{MONTH} (\d{{1,2}})(?!\d|:)"
)
_MOVED = re.compile(  # where one lives, or a group does
    r"\b(?:i|we)(?:'ve| have| are|'re)?(?: \w+)? (?:moved|relocated) to\b"
    r"|\b(?:bin|sind) .{0,40}(?:um)?gezogen\b|\bme (?:he mudado|mudé) a\b|\bj'ai déménagé\b"
)
_JOINED = re.compile(r"(?<=[a-z])(?::(?=\d)|-(?=[a-z]))")
_CHANGED = re.compile(  # beside the cues that entries are replaced by
    r"\b(?:shifted|rearranged|relocated|transferred|handed over|reassigned|superseded"
    r"|made me (?:an? |the )?\w+)\b|^(?:we're |we are )?going with "
    r"|^(?:that's |that was |no, )?wrong\b"
    r"|\b(?:misspell\w*|misspelt|out of date|(?:was|were) (?:short|long|late|early|little|much))\b"
    r"|\bal final\b|\bse (?:retrasa|aplaza|adelanta)\b|\bverschiebt sich\b|\best (?:reporté|avancé)"
    r"|\bist (?:jetzt|nun|neu)\b|\best (?:maintenant|passée? à)\b"
)
_IDIOM = re.compile(  # "I've been here for six months now", "Anyway, back to my trip"
    r"^(?:\w+,? )?(?:now(?:,| that\b)|back to\b)|\bfor (?:[\w-]+ ){1,5}now\b"
    r"|\bright now\b|\bso far\b"
    r"|\bcurrent(?:ly)?\b|\bthis time\b|\bexcited .*\bnow\b|\bleft (?:the|a|an|my|our|their)\b"
)
_REMARKS = ("opinion", "polite", "begins request")
_OFFICE = re.compile(r"(?<=[A-ZÄÖÜ][a-zäöüß])frau\b|(?<=[a-zäöüß]{3})frau\b")
_ALSO = re.compile(  # that only goes on; and "too short"
    r"(?i)^(?:(?:oh|and|ah|und|y|et)[, ]+)*(?:also|btw|auch|también|aussi)[, ]+|\btoo (?=\w)"
)
CLAUSES = re.compile(r"(?<=[,;])\s+|\s+(?=(?:and|but|und|aber|y|pero|et|mais)\s)")
DIGIT = re.compile(r"\d")


class Sentence(Said):
    """One that is compared with many others: what they ask of it is worked out once."""

    @cached_property
    def moved(self) -> bool:
        return _MOVED.search(self.low) is not None

    @cached_property
    def idle(self) -> bool:
        """A plan, an addition, a guess: nothing that could change what was said."""
        added = "also" in self.cues or self.low.startswith(("plus,", "plus i", "besides,"))
        return self.planned or added or "hypothetical" in self.cues

    @cached_property
    def changes(self) -> bool:
        """Whether a word of it speaks of a change."""
        low = _IDIOM.sub(" ", self.low)
        return bool((self if low == self.low else Said(low)).change or _CHANGED.search(low))

    @cached_property
    def remark(self) -> bool:
        """Whether it says what someone thinks or feels, thanks, or asks for something."""
        return "corrects" not in self.change and any(
            lower(cues.SIGNS[name]).search(self.low) for name in _REMARKS
        )

    @cached_property
    def past(self) -> bool:
        """Whether it tells what happened, or was meant to: nothing that holds until it changes."""
        return self.planned or bool({"events", "past", "hypothetical"} & self.cues)

    @cached_property
    def decides(self) -> bool:
        """Whether it says what was chosen."""
        return lower(cues.DECIDED).search(self.low) is not None

    @cached_property
    def slots(self) -> frozenset[str]:
        return frozenset(cue for cue in self.cues if cue.startswith("slot"))

    @cached_property
    def counts(self) -> dict[tuple[str, str], frozenset[str]]:
        """Its values by their kind and a word that they stand beside."""
        return {
            (kind, word): values
            for kind, found in self.beside.items()
            for word, values in found.items()
        }

    @cached_property
    def shapes(self) -> set[str]:
        """How its numbers look: "6:30" and "7:15" alike."""
        return {DIGIT.sub("0", one) for one in self.values["number"]}

    @cached_property
    def dates(self) -> set[str]:
        """Days of a month: "12 february" and "february 12" alike."""
        return {one or other for one, other in _DATE.findall(self.low)}

    @cached_property
    def versions(self) -> dict[str, str]:
        return dict(_VERSION.findall(self.low))

    @cached_property
    def left(self) -> frozenset[str]:
        """What it is about; a unit goes with its number."""
        return self.frame - usual() - days_of(self.text) - _FILLERS


@lru_cache(maxsize=8192)
def heard(text: str) -> Sentence:
    """A sentence with what hyphens and colons join taken apart ("sign-off", "postgres:15"),
    without an "also" that only goes on, and an office the same for men and women ("Obfrau")."""
    return Sentence(_OFFICE.sub("mann", _JOINED.sub(" ", _ALSO.sub("", text))))


def days_of(text: str) -> frozenset[str]:
    """Its numbers and days, with their units, as terms."""
    values = read(text).values
    return words.terms(" ".join([*values["number"], *values["day"], *_UNIT.findall(text.lower())]))
