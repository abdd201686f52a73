"""What a text offers as ground for a draft: its words, numbers and identifiers.

Words are compared leniently (stems, beginnings, parts of compounds; pairs of characters where
words are not set apart), as a model may put things in its own words. Numbers and identifiers
are compared by value: "1,900", "1.9k" and "nineteen hundred" are the same. Dates are nobody's
fault: "next Friday" may have become 2026-03-13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from wakebook.base.words import listed, terms
from wakebook.capture.transcript import Message
from wakebook.learn.judge.passages import normal
from wakebook.learn.phrases import lazy

_HAN = lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+", 0)
_OTHER = lazy(r"[\u0370-\u1fff]{2,}", 0)
_WORD = lazy(r"[^\W\d_]+(?:'[^\W\d_]+)?", 0)
MONTH = (
    "jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|février|enero|febrero|mar(?:ch|s|zo)?|märz|apr(?:il)?|avril"
    "|abril|may|mai|mayo|june?|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|août|agosto"
    "|sep(?:t(?:ember|embre|iembre)?)?|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?"
    "|de[cz](?:ember|embre)?|décembre|diciembre"
)
_DATE = lazy(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?(?:[T ]\d{2}:\d{2}\S*)?|\d{4}-W\d{1,2}"
    r"|\b\d{1,2}(?:st|nd|rd|th|\.)?(?:\s?[-–]\s?\d{1,2}(?:st|nd|rd|th|\.)?)?\s(?:of\s"
    rf"|de\s)?(?:{MONTH})\b\.?(?:,?\s(?:de\s)?\d{{4}})?|\b(?:{MONTH})\b\.?\s\d{{1,2}}(?:st|nd"
    r"|rd|th)?(?:\s?[-–]\s?\d{1,2})?(?!\d|:)(?:,?\s\d{4})?|\b\d{1,2}[./]\d{1,2}[./]"
    r"(?:\d{2,4})?(?!\d)|\d{1,4}年|\d{1,2}月(?:\d{1,2}[日号])?|\b(?:19|20)\d\d\b(?![.,:]\d)"
    r"|\b(?:week|kw|cw)\s?\d{1,2}\b"
    r"|\b(?:[12]?\d|3[01])(?:st|nd|rd|th)\b"
)
_CLOCK = lazy(r"\b(\d{1,2})[:h.](\d{2})(?!\d)(?=\s?(?:[ap]\.?m|uhr|h\b|o'clock)|\b)")
_NUMBER = lazy(r"(?<![\w.])(\d[\d.,'’]*)\s?(k|m|mio|million|bn|thousand|万|千|百)?(?![\d])")
_DIGITS = lazy(r"\d[\d.,'’]*", 0)
_TIMES = {
    "k": 1e3, "thousand": 1e3, "千": 1e3, "m": 1e6, "mio": 1e6, "million": 1e6, "bn": 1e9,
    "万": 1e4, "百": 1e2,
}  # fmt: skip
_IDENTIFIER = lazy(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|\b(?:https?://|www\.)\S+"
    r"|(?<![\w/])[~.]{0,2}/[\w.-]+(?:/[\w.-]*)+|(?<![\w-])[\w-]{1,64}\.(?:py|js|ts|tsx|md"
    r"|json|ya?ml|toml|sql|sh|pdf|csv|txt|html|rs|go|example|com|org|net|io|dev|de|fr)\b"
    r"|\b[a-z0-9]+_[a-z0-9_]+\b|\b(?=\w*[a-z])(?=\w*\d\w*\d)\w{4,}\b"
)
_UNITS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "dozen": 12}
_LOOSE = {
    "half": (50, 30, 0.5), "quarter": (25, 15, 0.25), "third": (33, 3), "dozen": (12,),
    "fortnight": (14, 2), "couple": (2,), "both": (2,), "twice": (2,), "double": (2, 200),
    "hundred": (100,), "thousand": (1000,), "million": (1_000_000,), "decade": (10,),
    "century": (100,), "noon": (12,), "midnight": (0, 24, 12), "week": (7,), "score": (20,),
}  # fmt: skip
_HAN_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {
    "两": 2,
    "〇": 0,
}
_HAN_NUMBER = lazy("[零〇一二两三四五六七八九十百千万]+", 0)
_TONGUES = {  # small words that are no word of another of these languages
    "en": listed(
        """the and is are was of to in for with that this on it will be has have from by at not
        their they his her when but we you my i as or who which would should what a do does can"""
    ),
    "de": listed(
        """der das und ist nicht ich wir mit für auf ein eine einen dem den zu im dass sie von bei
        nach aus wird hat haben sind noch auch mir mich meine mein meiner unser unsere bitte oder
        kein keine kann gerne heute morgen danke mag wie kannst du dir uns zum zur schon jetzt"""
    ),
    "fr": listed(
        """le les et est pas je nous avec pour sur une des du qui dans au aux cette il elle mon mes
        notre sont sera mais chez j'ai c'est suis ai vous ne moi toujours merci demain"""
    ),
    "es": listed(
        """el los las y yo nosotros para por una unos del al este esta mis nuestro se pero más su
        sus está con tengo soy gracias mañana siempre muy hay"""
    ),
    "it": listed("il gli è non io noi della nel mia mio sono di ho grazie domani che sempre"),
    "pt": listed("os é não eu nós um uma do da meu minha são em obrigado amanhã sempre você"),
    "nl": listed("het niet ik wij voor een dat van naar mijn ons zijn wordt maar heb geen"),
}


PERSON = listed("benutzer benutzerin nutzer nutzerin utilisateur utilisatric usuario usuaria utent")


class Ground(NamedTuple):
    words: frozenset[str]
    heads: frozenset[str]  # the first five letters of longer words
    numbers: frozenset[float]
    squeezed: str  # letters and digits only, for parts of words and identifiers

    def has(self, word: str) -> bool:
        if word in self.words or (len(word) > 5 and word[:5] in self.heads):
            return True
        if word[0].isdigit() and numbers(word) & self.numbers:
            return True
        plain = squeeze(word)
        return len(plain) > 4 and plain in self.squeezed

    def holds(self, identifier: str) -> bool:
        return squeeze(identifier) in self.squeezed


@lru_cache(maxsize=4096)
def ground(text: str) -> Ground:
    words = telling(text)
    heads = frozenset(word[:5] for word in words if len(word) > 4)
    return Ground(words, heads, numbers(text), squeeze(text))


@lru_cache(maxsize=8192)
def squeeze(text: str) -> str:
    return "".join(character for character in normal(text).lower() if character.isalnum())


@lru_cache(maxsize=4096)
def telling(text: str) -> frozenset[str]:
    """The words that say something: stems, and pairs of characters of unspaced scripts.

    Dates are no words: they are looked at by themselves, and may be put otherwise.
    """
    text = _DATE.sub(" ", normal(text))
    found = set(terms(_HAN.sub(" ", text))) - PERSON
    for run in _HAN.findall(text):
        run = run.replace("用户", "")
        found |= {run[at : at + 2] for at in range(max(1, len(run) - 1))} - {""}
    return frozenset(found)


@lru_cache(maxsize=4096)
def numbers(text: str) -> frozenset[float]:
    """Every value that the numbers of a text may be read as."""
    text = normal(text)
    found: set[float] = set()
    for match in _DIGITS.finditer(text):
        values = _values(match.group())
        found |= values
        times = re.match(
            r"\s?(k|m|mio|million|bn|thousand|万|千|百)", text[match.end() :][:10], re.I
        )
        if times:
            found |= {value * _TIMES[times.group(1).lower()] for value in values}
    found |= _spelled(text.lower())
    for run in _HAN_NUMBER.findall(text):
        found.add(_han(run))
    return frozenset(found)


def specifics(text: str) -> tuple[list[str], list[frozenset[float]]]:
    """Identifiers of a draft, and its numbers, each as the values that would ground it."""
    text = _DATE.sub(" ", normal(text))
    identifiers = [found.rstrip(".,;:)") for found in _IDENTIFIER.findall(text)]
    text = _IDENTIFIER.sub(" ", text)
    values: list[frozenset[float]] = []
    for match in _CLOCK.finditer(text):
        hour, minute = int(match.group(1)), int(match.group(2))
        if hour < 24 and minute < 60:
            hours = {hour} if minute < 30 else {hour, hour + 1}  # "a quarter to nine"
            spoken = {each % 12 for each in hours} | {each + 12 for each in hours} | hours
            values.append(frozenset({*spoken, float(f"{hour}.{minute:02}")}))
            text = text.replace(match.group(), " ", 1)
    for match in _NUMBER.finditer(text):
        found = _values(match.group(1))
        if match.group(2):
            found |= {value * _TIMES[match.group(2).lower()] for value in found}
        after = text[match.end() :][:3].strip()
        if max(found, default=0) >= 10 and not (after.startswith("%") and 100.0 in found):
            values.append(frozenset(found))
    return identifiers, values


def _values(digits: str) -> set[float]:
    """ "1,900" is 1900 or 1.9, "1.900" as well."""
    digits = digits.strip(".,'’").replace("'", "").replace("’", "")
    found = set()
    for plain in (digits.replace(",", ""), digits.replace(".", "").replace(",", ".")):
        if plain.count(".") <= 1:
            found.add(float(plain))
        else:
            found |= {float(part) for part in plain.split(".") if part}
            found.add(float(plain.replace(".", "")))
    return found


def _spelled(text: str) -> set[float]:
    """Numbers in English words: "three hundred and fifty", "twenty-five", "a dozen"."""
    found: set[float] = set()
    total = current = 0.0
    inside = False
    for word in [*_WORD.findall(text), "."]:
        if word in _UNITS or word in _TENS:
            value = _UNITS.get(word, _TENS.get(word, 0))
            found.add(value)
            if inside and not (current % 10 == 0 and value < 10) and current % 100:
                found.add(total + current)
                current, total = 0, 0
            current += value
            inside = True
        elif word in _SCALES and inside:
            scale = _SCALES[word]
            current = (current or 1) * scale
            if scale >= 1000:
                total, current = total + current, 0
        elif word == "and" and inside:
            continue
        else:
            if inside:
                found.add(total + current)
            total = current = 0
            inside = False
        found |= set(_LOOSE.get(word.removesuffix("s"), ()))
    return found


def _han(run: str) -> float:
    total = current = 0
    for sign in run:
        if sign in _HAN_DIGITS:
            current = _HAN_DIGITS[sign]
        elif sign == "万":
            total, current = (total + current) * 10_000, 0
        else:
            total += (current or 1) * {"十": 10, "百": 100, "千": 1000}[sign]
            current = 0
    return float(total + current)


@lru_cache(maxsize=2048)
def tongue(text: str) -> str:
    """The language of a text by its small words; "" if there are none."""
    text = normal(text)
    letters = sum(character.isalpha() for character in text) or 1
    if 3 * sum(map(len, _HAN.findall(text))) > letters:
        return "han"
    if 2 * sum(map(len, _OTHER.findall(text))) > letters:
        return "other"
    words = [word.lower() for word in _WORD.findall(text)]
    counts = {name: sum(word in small for word in words) for name, small in _TONGUES.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > (best != "en") else ""


# --- days: a date that a model names has to be one that somebody named, or could mean -------
# A model is told to write "on 13 March" for "next Friday", so a date may be new. But then somebody
# must have spoken of time at all, or it is the day of the message itself.

_DAY = lazy(
    rf"\b\d{{4}}-\d\d-(\d\d)\b|\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?(?:{MONTH})\b"
    rf"|\b(?:{MONTH})\b\.?\s(\d{{1,2}})(?!\d|:)"
)
_RELATIVE = lazy(
    r"\b(?:to(?:day|night|morrow)|yesterday|now|next|last|this|coming|following|previous|ago|later"
    r"|soon|week(?:s|end|ends|day|days)?|fortnight|days?|months?|years?|quarter|spring|summer|autumn"
    r"|fall|winter|christmas|easter|birthday|holidays?|mon|tue|tues|wed|thu|thurs|fri|sat|sun"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mid|end|beginning|start|half"
    r"|\w*(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|teenth|twentieth|thirtieth))\b"
)


def days(text: str) -> list[int]:
    """The days of the month that a text names in full dates."""
    return [int(next(filter(None, found))) for found in _DAY.findall(text)]


def spoken_of(texts: Iterable[str]) -> bool:
    """Whether a day can be meant that was not named: "next Friday"."""
    return any(_RELATIVE.search(text) for text in texts)


def spoken_on(day: int, messages: Iterable[Message]) -> bool:
    """Whether it is the day on which one of the messages was said, or the one beside it."""
    said = [message.at for message in messages if message.at]
    return any(day == (at + timedelta(days=off)).day for at in said for off in (-1, 0, 1))
