"""A text's words, by the pattern of o200k_base: no token reaches from one word into the next.

The pattern asks for classes of Unicode characters, which `re` does not know. So it is written
for ASCII and one stand-in for each class, and finds the words in a copy of the text in which
every other character is its stand-in. Dashes, quotes and arrows need none: most texts that are
not ASCII hold nothing else. The classes come from a table and not from
`unicodedata`, whose Unicode is that of the Python in use: words must be the same everywhere.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from pathlib import Path

UPPER, LOWER, LETTER, MARK, NUMBER, BLANK, OTHER = "Ààª¨²\xa0¡"
LONG_S = "ß"  # stands for ſ, the one letter beyond ASCII that ends an English short form
SIGNS = "\u2010-\u2027\u2030-\u205e\u2190-\u23ff"  # all of them in the class OTHER
_U = f"A-Z{UPPER}{LETTER}{MARK}"
_L = f"a-z{LOWER}{LONG_S}{LETTER}{MARK}"
_S = rf"\t-\r {BLANK}"
_N = f"0-9{NUMBER}"
_LN = f"A-Za-z{UPPER}{LOWER}{LONG_S}{LETTER}{_N}"
_SHORT = f"(?:'(?:[sStTmMdD{LONG_S}]|[rRvV][eE]|[lL][lL]))?"
_WORD = "|".join(
    [
        rf"[^\r\n{_LN}]?[{_U}]*[{_L}]+{_SHORT}",
        rf"[^\r\n{_LN}]?[{_U}]+[{_L}]*{_SHORT}",
        rf"[{_N}]{{1,3}}",
        rf" ?[^{_S}{_LN}]+[\r\n/]*",
        rf"[{_S}]*[\r\n]+",
        rf"[{_S}]+(?![^{_S}])",
        rf"[{_S}]+",
    ]
)


def split(text: str) -> list[str]:
    """The words, which put together are the text again."""
    find = _pattern().findall
    if text.isascii() or not re.search(rf"[^\0-\x7f{SIGNS}]", text):
        return find(text)
    found: list[str] = find(text.translate(_classes()))
    end = 0
    for place, word in enumerate(found):
        end += len(word)
        if not word.isascii():  # all stand-ins are beyond ASCII, too
            found[place] = text[end - len(word) : end]
    return found


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_WORD)


@cache
def _classes() -> str:
    """For every character what stands for it; ASCII for itself."""
    return zlib.decompress((Path(__file__).parent / "classes.bin").read_bytes()).decode("latin-1")
