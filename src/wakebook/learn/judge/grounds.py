"""What a text offers as ground for a draft: its words, numbers and identifiers.

Words are compared leniently (stems, beginnings, parts of compounds; pairs of characters where
words are not set apart), as a model may put things in its own words. Numbers and identifiers
are compared by value: "1,900", "1.9k" and "nineteen hundred" are the same. Dates are nobody's
fault: "next Friday" may have become 2026-03-13.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from wakebook.base.words import listed, terms
from wakebook.learn.judge.passages import normal
from wakebook.learn.phrases import pattern, signs

_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_OTHER = re.compile(r"[\u0370-\u1fff]{2,}")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_CLOCK = pattern(r"\b(\d{1,2})[:h.](\d{2})(?!\d)(?=\s?(?:[ap]\.?m|uhr|h\b|o'clock)|\b)")
_NUMBER = pattern(r"(?<![\w.])(\d[\d.,'’]*)\s?(k|m|mio|million|bn|thousand|万|千|百)?(?![\d])")
_TIMES = pattern(r"\s?(k|m|mio|million|bn|thousand|万|千|百)")
_DIGITS = re.compile(r"\d[\d.,'’]*")
_HAN_NUMBER = re.compile("[零〇一二两三四五六七八九十百千万]+")


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
    text = signs.DATE.sub(" ", normal(text))
    found = set(terms(_HAN.sub(" ", text))) - signs.PERSON
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
        if times := _TIMES.match(text[match.end() :][:10]):
            found |= {value * signs.raw["TIMES"][times.group(1).lower()] for value in values}
    return frozenset(found | _spelled(text.lower()) | set(map(_han, _HAN_NUMBER.findall(text))))


def specifics(text: str) -> tuple[list[str], list[frozenset[float]]]:
    """Identifiers of a draft, and its numbers, each as the values that would ground it."""
    text = signs.DATE.sub(" ", normal(text))
    identifiers = [found.rstrip(".,;:)") for found in signs.IDENTIFIER.findall(text)]
    text = signs.IDENTIFIER.sub(" ", text)
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
            found |= {value * signs.raw["TIMES"][match.group(2).lower()] for value in found}
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
    spelled, scales, loose = (signs.raw[name] for name in ("SPELLED", "SCALES", "LOOSE"))
    found: set[float] = set()
    total = current = 0.0
    inside = False
    for word in [*_WORD.findall(text), "."]:
        if word in spelled:
            value = spelled[word]
            found.add(value)
            if inside and not (current % 10 == 0 and value < 10) and current % 100:
                found.add(total + current)
                current, total = 0, 0
            current += value
            inside = True
        elif word in scales and inside:
            scale = scales[word]
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
        found |= set(loose.get(word.removesuffix("s"), ()))
    return found


def _han(run: str) -> float:
    digits = signs.raw["HAN_DIGITS"]
    total = current = 0
    for sign in run:
        if sign in digits:
            current = digits[sign]
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
    tongues = {name: listed(small) for name, small in signs.TONGUES.items()}
    counts = {name: sum(word in small for word in words) for name, small in tongues.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > (best != "en") else ""


def days(text: str) -> list[int]:
    """The days of the month that a text names in full dates."""
    return [int(next(filter(None, found))) for found in signs.DAY.findall(text)]
