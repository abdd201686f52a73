"""Which subject an entry is about: a known name in its words, or the session's project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from wakebook.derive.extract import Scene
from wakebook.derive.rules.finding import Finding
from wakebook.log.entry import slugify

_NEW = re.compile(
    r"\b(?:project|app|product|repo|codename|codenamed) (?:is |that is )?(?:called|named|codenamed)"
    r" (?-i:(?P<one>[A-Z][\w-]{2,30}))|\bthe (?-i:(?P<two>[A-Z][\w-]{2,30})) project\b",
    re.IGNORECASE,
)


def subject(finding: Finding, scene: Scene) -> str:
    """The slug for a finding, or nothing."""
    for text in (finding.content, finding.detail):
        known = named(text, scene.subjects)
        if known:
            return known
    new = _NEW.search(finding.content[:400])
    if new:
        return slugify(new.group("one") or new.group("two"))
    if finding.type == "fact" and not _about_work(finding.content):
        return ""
    return scene.subject


def named(text: str, subjects: Mapping[str, str]) -> str:
    """The slug of the longest known name that stands in the text as whole words."""
    if not subjects:
        return ""
    found = max(_pattern(tuple(subjects)).findall(text.lower()), key=len, default="")
    return subjects.get(found, "")


def _about_work(content: str) -> bool:
    return content.startswith(("We ", "We're ", "Our ", "The "))


@lru_cache(maxsize=8)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((name for name in known if name), key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest)) + r")(?!\w)")
