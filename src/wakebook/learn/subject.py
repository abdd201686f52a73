"""Which subject an entry is about: a known name in its words, or the session's project."""

import re
from collections.abc import Mapping
from functools import lru_cache

from wakebook.learn.about import introduced
from wakebook.learn.extract import Scene
from wakebook.learn.phrases import cues, lower
from wakebook.log.entry import slugify

_NEW = re.compile(
    r"\b(?:project|app|product|repo|codename|codenamed) (?:is |that is )?(?:called|named|codenamed)"
    r" (?-i:(?P<one>[A-Z][\w-]{2,30}))|\bthe (?-i:(?P<two>[A-Z][\w-]{2,30})) project\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|ich|mein\w*|yo|mi|je|mon|ma)\b")
_WORK = re.compile(
    r"\b(?:we|we're|we've|our|us|repo|project|branch|deploy\w*|tests?|wir|unser\w*)\b"
)


def subject(type_: str, content: str, scene: Scene) -> str:
    """The slug of what an entry is about, or nothing.

    The session's project is the subject of what is said there, but not of what is about the user:
    a dentist appointment is not about the project. A person is the subject of facts alone: a
    decision that was made with someone is not about them.
    """
    things = {name: slug for name, slug in scene.subjects.items() if slug not in scene.people}
    if known := named(content, things):
        return known
    low = content.lower()
    if type_ == "fact" and not (scene.subject and _WORK.search(low)):
        person = slugify(introduced(content)) or named(content, scene.subjects)
        if person:
            return person
    new = _NEW.search(content[:400])
    if new:
        return slugify(new.group("one") or new.group("two"))
    ours = type_ == "handoff" or _WORK.search(low)
    personal = (type_ == "fact" and _OWN.search(low)) or lower(cues.PERSONAL).search(low)
    return "" if personal and not ours else scene.subject


def named(text: str, subjects: Mapping[str, str]) -> str:
    """The slug of the longest known name that stands in the text as whole words."""
    if not subjects:
        return ""
    found = max(_pattern(tuple(subjects)).findall(text.lower()), key=len, default="")
    return subjects.get(found, "")


@lru_cache(maxsize=8)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((name for name in known if name), key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest)) + r")(?!\w)")
