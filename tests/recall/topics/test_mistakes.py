"""Mistakes in topic files: each is named with its line, and none is fatal."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recall.topics.making import bad, bad_file, equip, good, problems, text
from wakebook.recall.topics.topic import BadTopic, Topic, parse

LISTED = "triggers:\n  - type: {kind}\n    {key}: {value}\n"


@pytest.mark.parametrize(
    ("front", "line", "words"),
    [
        ("activation: aut\n", 3, "did you mean auto"),
        ("priority: 3\n", 3, "low, medium, high, critical"),
        ("priority: [high]\n", 3, "low, medium, high, critical"),
        ("activation:\n", 3, "auto, gated, manual"),
        ("description:\n  - a\n", 3, "description is text"),
        ("description: {a: b}\n", 3, "description is text"),
        ("similarity_threshold: 1.01\n", 3, "from 0 to 1"),
        ("similarity_threshold: -0.1\n", 3, "from 0 to 1"),
        ("similarity_threshold: '0.2'\n", 3, "from 0 to 1"),
        ("similarity_threshold: yes\n", 3, "from 0 to 1"),
        ("similarity_threshold: .nan\n", 3, "from 0 to 1"),
        ("max_context_kb: 0\n", 3, "from 0.1 to 1024"),
        ("max_context_kb: .inf\n", 3, "from 0.1 to 1024"),
        ("max_context_kb: many\n", 3, "from 0.1 to 1024"),
        ("subscriptions: /etc/passwd\n", 3, "below the home"),
        ("subscriptions: /etc/hosts.md\n", 3, "below the home"),
        ("subscriptions: config.toml\n", 3, "below the home"),
        ("subscriptions: .cache/a.md\n", 3, "below the home"),
        ("subscriptions: [a.md, ../b.md]\n", 3, "'../b.md'"),
        ("subscriptions:\n  - a.md\n  - b/../../c.md\n", 5, "below the home"),
        ("subscriptions:\n  - a.md\n  - ''\n", 5, "a list of texts"),
        ("subscriptions:\n  - a.md\n  - {b: c}\n", 5, "a list of texts"),
        ("subscriptions: {a: b}\n", 3, "a list of texts"),
        ("a: 1\ntrigger: []\n", 4, "did you mean 'triggers'"),
        ("Priority: high\n", 3, "did you mean 'priority'"),
        ("max_context_k: 3\n", 3, "did you mean 'max_context_kb'"),
        ("triggers: {type: pattern}\n", 3, "triggers is a list"),
        ("triggers: release\n", 3, "triggers is a list"),
        ("triggers:\n  - release\n", 4, "a trigger is a mapping"),
        ("triggers:\n  - type: urgency\n  -\n", 5, "a trigger is a mapping"),
        ("triggers:\n  - match: x\n", 4, "one of pattern, keyword"),
        ("triggers:\n  - match: x\n    type: patern\n", 5, "did you mean pattern"),
        ("triggers:\n  - type: [pattern]\n", 4, "one of pattern, keyword"),
        ("triggers:\n  - type: urgency\n  - type: pattern\n", 5, "a pattern trigger needs `match`"),
        ("triggers:\n  - type: keyword\n    match: []\n", 4, "a keyword trigger needs `match`"),
        ("triggers:\n  - type: glob\n    match:\n", 4, "a glob trigger needs `match`"),
        ("triggers:\n  - type: mention\n    match: '  '\n", 5, "a list of texts"),
        ("triggers:\n  - type: keyword\n    match:\n      - a\n      - [b]\n", 7, "list of texts"),
        ("triggers:\n  - type: keyword\n    match:\n      - a\n      - \n", 7, "list of texts"),
        ("triggers:\n  - type: urgency\n    scope: out\n", 5, "did you mean output"),
        ("triggers:\n  - type: urgency\n    scpe: output\n", 5, "did you mean 'scope'"),
        ("triggers:\n  - type: code\n    mtach: python\n", 5, "did you mean 'match'"),
        ("triggers:\n  - type: urgency\n    hint: [a, b]\n", 5, "hint is text"),
        ("triggers:\n  - type: webhook\n    event: red\n", 4, "needs `source`"),
        ("triggers:\n  - type: cron\n", 4, "needs `schedule`"),
        ("triggers:\n  - type: cron\n    schedule: every day\n", 5, "no cron expression"),
        ("triggers:\n  - type: cron\n    schedule: '61 8 * * *'\n", 5, "no cron expression"),
        ("triggers:\n  - type: pattern\n    match: '(?=a)b'\n", 5, "no look-around"),
        ("triggers:\n  - type: pattern\n    match: '(?<!a)b'\n", 5, "no look-around"),
        ("triggers:\n  - type: pattern\n    match: '(a)\\1'\n", 5, "no back-references"),
        ("triggers:\n  - type: pattern\n    match: 'a(b'\n", 5, "'a(b' is no regular expression"),
        ("triggers:\n  - type: pattern\n    match: 'a{9999}'\n", 5, "no regular expression"),
        ("triggers:\n  - type: pattern\n    match: '((a{99}){99}){99}'\n", 5, "no regular"),
        # the line of the item, not of the list
        ("triggers:\n  - type: pattern\n    match:\n      - ok\n      - '('\n", 7, "'('"),
        # these would never match
        ("triggers:\n  - type: language\n", 4, "a language trigger needs `match`"),
        ("triggers:\n  - type: language\n    match: [de, klingon]\n", 5, "klingon"),
    ],
    ids=str,
)
def test_a_mistake_and_its_line(front: str, line: int, words: str) -> None:
    found = bad(front)
    assert (found.path, found.line) == ("topics/x.md", line), found
    assert words.lower() in found.problem.lower()
    assert str(found).startswith(f"topics/x.md:{line}: ")


@pytest.mark.parametrize(
    ("whole", "line", "words"),
    [
        ("", 1, "no frontmatter"),
        ("# Release\n\nTag it.\n", 1, "no frontmatter"),
        (" ---\ntype: topic\n---\nTag it.\n", 1, "no frontmatter"),
        ("---\n---\nTag it.\n", 1, "no frontmatter"),
        ("---\ntype: topic\nTag it.\n", 1, "no end"),
        ("---\n- type: topic\n---\nTag it.\n", 2, "no keys"),
        ("---\ntype: note\n---\nTag it.\n", 2, "type: topic"),
        ("---\na: 1\ntype: [topic]\n---\nTag it.\n", 3, "type: topic"),
        ("---\ndescription: x\n---\nTag it.\n", 1, "type: topic"),
        ("---\ntype: topic\n---\n", 1, "neither instructions nor subscriptions"),
        ("---\ntype: topic\n---\n# Release\n\n  \n", 1, "neither instructions"),
        ("---\ntype: topic\n\tpriority: high\n---\nTag it.\n", 3, "not YAML"),
        ("---\ntype: topic\npriority: [high\n---\nTag it.\n", 4, "not YAML"),
        ("---\ntype: topic\na: b: c\n---\nTag it.\n", 3, "not YAML"),
        ("---\ntype: topic\na: *nobody\n---\nTag it.\n", 3, "not YAML"),
        ("---\ntype: topic\n? [a]\n: b\n---\nTag it.\n", 3, "not YAML"),
        ("---\ntype: topic\na: !!python/name:os.system\n---\nTag it.\n", 3, "not YAML"),
        ("---\ntype: topic\na: |\n  ---\nactivation: no\n---\nTag it.\n", 5, "auto, gated"),
        ("\ufeff---\ntype: topic\n# why\nactivation: aut\n---\nTag it.\n", 4, "auto, gated"),
        ("---\r\ntype: topic\r\nactivation: aut\r\n---\r\nTag it.\r\n", 3, "auto, gated"),
        ("\ufeff---\r\ntype: topic\r\n\r\nactivation: aut\r\n---\r\nTag it.\r\n", 4, "auto, gated"),
        ("---\ntype: topic\nactivation: auto\nactivation: aut\n---\nTag it.\n", 4, "auto, gated"),
    ],
    ids=repr,
)
def test_what_is_no_topic_at_all(whole: str, line: int, words: str) -> None:
    found = bad_file(whole)
    if "activation: auto\nactivation" in whole:  # of a key that stands twice, either line will do
        assert found.line in (3, 4)
    else:
        assert found.line == line, found
    assert words in found.problem


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(tmp_path: Path, end: str, mark: str) -> None:
    front = "triggers:\n  - type: keyword\n    match: tag\n"
    whole = mark + text(front).replace("\n", end)
    wrong = mark + text(front + "    scope: all\n").replace("\n", end)
    memory = equip(tmp_path / "h", {"a": whole, "b": wrong})
    (found,) = memory.topics.read().topics
    assert (found.title, found.triggers[0].match) == ("Release", ("tag",))
    assert found.body == "Tag the version, then publish the changelog."
    assert problems(memory)["topics/b.md"][0] == 6


@pytest.mark.parametrize("value", ["on", "[a, no]", "[yes]", "1.10", "12:30", "404"])
def test_what_yaml_takes_for_something_else_is_to_be_quoted(value: str) -> None:
    found = bad(LISTED.format(kind="keyword", key="match", value=value))
    assert found.line == 5
    assert "quotes" in found.problem


def test_what_is_quoted_is_text() -> None:
    value = "['404', \"1.10\", 'on', '12:30']"
    (one,) = good(LISTED.format(kind="keyword", key="match", value=value)).triggers
    assert one.match == ("404", "1.10", "on", "12:30")


@pytest.mark.parametrize(
    ("kind", "value"), [("pattern", "tag v"), ("glob", "*.py"), ("mention", "Mira")]
)
@pytest.mark.parametrize("style", ["|", ">", "|+"])
def test_a_text_in_a_block_has_no_line_end(kind: str, value: str, style: str) -> None:
    front = f"triggers:\n  - type: {kind}\n    match: {style}\n      {value}\n"
    assert good(front).triggers[0].match == (value,)


@pytest.mark.parametrize(
    "nested",
    [
        "[" * 900 + "]" * 900,
        "\n" + "- " * 900 + "x",
        "\n" + "".join(" " * level + "-\n" for level in range(1, 600)),
        "\n" + "".join(" " * level + "b:\n" for level in range(1, 600)),
    ],
    ids=["flow", "dashes", "list", "mapping"],
)
def test_what_is_nested_deeply_is_a_mistake(nested: str) -> None:
    found = bad(f"a: {nested}\nactivation: aut\n")
    assert found.problem


# in a process of its own, which it killed
@pytest.mark.parametrize(
    "nested",
    [
        "'a: ' + '[' * 50_000",
        "'a: ' + '{a: ' * 50_000",
        "'a:\\n' + '- ' * 50_000",
        "'a:\\n' + '-\\t' * 50_000",
        "'? ' * 50_000",
    ],
)
def test_what_is_nested_without_end_does_not_kill(nested: str) -> None:
    program = (
        "from wakebook.recall.topics.topic import parse\n"
        f"found = parse('topics/x.md', '---\\ntype: topic\\n' + {nested} + '\\n---\\nx')\n"
        "print(type(found).__name__, found.line)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("BadTopic "), (done.returncode, done.stderr[-300:])


@pytest.mark.parametrize("key", ["activation", "similarity_threshold", "type"])
def test_a_value_that_is_huge_is_not_shown(key: str) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 6):
        rows.append(f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]")
    front = "\n".join([*rows, f"{key}: *a5", ""])
    whole = text(front) if key != "type" else f"---\n{front}---\nTag it.\n"
    assert len(bad_file(whole).problem) < 300


def test_a_list_of_itself_is_a_mistake() -> None:
    assert bad("triggers: &all\n  - *all\n").line in (3, 4)
    assert bad("subscriptions: &all [a.md, *all]\n").line == 3


@pytest.mark.parametrize(
    "front",
    [
        "activation: aut\t# why\n",
        "activation:\taut\n",
        "a: b\t\nactivation: aut\n",
        "a\tb: c\npriority: 1\n",
    ],
)
def test_tabs_beside_another_mistake(front: str) -> None:
    found = bad(front)
    assert found.line == 2 + front.count("\n") or "not YAML" in found.problem


EVERYTHING = text(
    "description: What a release takes\ntriggers:\n"
    "  - type: pattern\n    match: 'v\\d+'\n    scope: both\n    hint: Say which\n"
    "  - type: keyword\n    match: [release, \"tag it\", 'C++']\n"
    "  - type: glob\n    match:\n      - '*.{ts,tsx}'\n      - src/[ab]/**\n"
    "  - type: url\n    match: github.com/*/pull/*\n"
    "  - type: webhook\n    source: ci\n    event: green\n"
    "subscriptions: [knowledge/procedures/release.md]\nactivation: auto\npriority: critical\n"
    "similarity_threshold: 0.25\nmax_context_kb: 2.5\n"
)
SIGNS = "ab:-[]{}'\"\\\n\t #&*!|>%@`,?0.9~\r\x85\u2028\ufeff\0é🙂"


@pytest.mark.parametrize("seed", range(4))
def test_any_text_is_a_topic_or_a_mistake_on_a_line(seed: int) -> None:
    """A good file, and a few signs of it changed at random."""
    chance = random.Random(seed)
    kinds = set()
    for _ in range(150):
        signs = list(EVERYTHING)
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(signs))
            if chance.random() < 0.3:
                del signs[at : at + chance.randrange(1, 8)]
            else:
                signs[at : at + chance.randrange(2)] = chance.choice(SIGNS)
        whole = "".join(signs)
        found = parse("topics/x.md", whole)
        kinds.add(type(found))
        if isinstance(found, BadTopic):
            assert 1 <= found.line <= whole.count("\n") + 2, whole
            assert found.problem and "\n" not in found.problem
    assert kinds == {Topic, BadTopic}
