"""Nothing in a topic file and nothing in a message makes the process hang.

These tests are about returning at all: each text took minutes with an expression that goes back
over what it has read.
"""

from __future__ import annotations

import random

import pytest

from tests.recall.topics.making import activator, topic, trigger
from wakebook.recall.topics import activation as similarity
from wakebook.recall.topics import speech
from wakebook.recall.topics.triggers import Expressions, Remark

LONG = 100_000
OTHERS = 20_000  # of texts that took no longer than they should
SLOW = ("a letter", "capitals", "digits", "spaces", "tabs", "backticks", "tildes", "schemes")
EVERYTHING = (
    trigger("pattern", r"(a+)+$", r"(a|a)*b", r"(.*a){20}", r"(\w+\s?)*$", r"^(([a-z])+.)+[A-Z]"),
    trigger("keyword", "deploy now", "no no no x", "select a b", "緊急x", "a-b", "GitHub"),
    trigger("glob", "*.py", "**/a/**/b/**/*c*d*e*"),
    trigger("mention", "Mira", "@mira"),
    trigger("url", "github.com/*/pull/*", "*a*b*c*d*"),
    trigger("url"),
    trigger("code"),
    trigger("language", "de"),
    trigger("urgency"),
)
ALL = activator(topic("all", *EVERYTHING))
PIECES = {
    "a letter": "a",
    "capitals": "A",
    "letters and a sign": "ab.",
    "hyphens": "a-",
    "dots": "a.",
    "slashes": "a/",
    "underscores": "a_",
    "camels": "aB",
    "digits": "0",
    "spaces": " ",
    "tabs": "\t",
    "new lines": "\n",
    "carriage returns": "\r\n",
    "indented new lines": "    \n",
    "backticks": "`",
    "backticks on lines": "`\n",
    "fences": "```\n",
    "open fences": "```a\nb\n",
    "tildes": "~",
    "exclamation marks": "!",
    "exclamation marks apart": "! ",
    "exclamations": "!a ! ",
    "shouting": "HELP ",
    "select": "select ",
    "select on lines": "select\n",
    "select a": "select a b\t",
    "def": "def a(",
    "brackets": ")",
    "arrows": "a => ",
    "not": "not ",
    "kein": "kein",
    "urgent": "not so urgent ",
    "addresses": "https://a.b/c ",
    "schemes": "http:",
    "www": "www.",
    "at": "@",
    "quotes": "\"'",
    "kanji": "緊",
    "Thai": "ก",
    "Hangul": "한",
    "emoji": "🙂",
    "accents": "a\u0301\u0302",
    "long ligatures": "\ufdfa      ",
    "halves": "\ud83d",
    "zeros": "\0",
    "backslashes": "\\",
}


@pytest.mark.parametrize("name", PIECES)
def test_long_messages(name: str) -> None:
    length, piece = LONG if name in SLOW else OTHERS, PIECES[name]
    said = (piece * length)[:length]
    matched, scores = ALL.candidates(Remark(said, paths=(said,)))
    assert {one.topic for one in matched} <= {"all"}
    assert set(scores) <= {"all"}


@pytest.mark.parametrize(
    "said",
    [
        "def a(" + ")" * LONG,
        "https://" + "a" * LONG,
        "a" * LONG + "://",
        "!" + " " * LONG + "!",
        "not" + " " * LONG + "urgent",
        "select" + " " * LONG,
        "```" + " " * LONG,
        "```\n" + "``" * (LONG // 2),
        "```\n" + ("\t" * 999 + "\n") * (LONG // 1000),
        "".join("`" * (3 + number) + "\n" for number in range(440)),
        "#!/" + "sh" * (LONG // 2),
        "a " + "b " * (LONG // 2) + "{",
        "with " + " as a" * (LONG // 5),
        '"' + "a" * LONG,
        " ".join(f"word{number}" for number in range(OTHERS // 9)),
        " ".join(f"wordWord{number}" for number in range(OTHERS // 13)),
    ],
    ids=lambda said: repr(said[:12]),
)
def test_long_messages_that_begin_well(said: str) -> None:
    ALL.candidates(Remark(said))
    assert isinstance(speech.urgent(said), bool)
    assert isinstance(speech.code(said), frozenset)


def test_long_topics() -> None:
    for piece in ("a", "# a\n", "`", "deploy now "):
        body = (piece * OTHERS)[:OTHERS]
        one = topic("long", trigger("keyword", "deploy"), body=body, description=body, title=body)
        assert similarity.Similarity([one]).scores("deploy now").keys() <= {"long"}


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|aa)+$",
        r"(a|a?)+$",
        r"(.*)*x",
        r"(.*a){25}",
        r"^(a?){30}a{30}$",
        r"(\s*a\s*)*b",
        r"(?:a|b|ab)*c",
        r"(\w*\w*\w*)*!",
    ],
)
def test_patterns_that_are_known_to_hang(pattern: str) -> None:
    found = Expressions([pattern, "otter"])
    assert found.match("a" * LONG + " otter!") in ([0, 1], [1])
    assert 1 in found.match(("a " * (LONG // 2)) + "otter")


def test_many_large_patterns_on_a_long_message() -> None:
    chance = random.Random(1)
    said = "".join(chance.choices("ab", k=LONG))
    patterns = [rf"[ab]*a[ab]{{200}}c{number}" for number in range(10)]
    one = topic("large", *(trigger("pattern", pattern) for pattern in patterns))
    assert activator(one).candidates(Remark(f"otter {said}"))[0] == []
