"""Tier 1: what each type of trigger matches, and what it leaves alone."""

from __future__ import annotations

import pytest

from tests.recall.topics.making import matches, topic, trigger
from wakebook.recall.topics import triggers
from wakebook.recall.topics.triggers import Remark, Spoken, Triggers

# --- patterns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "said", "found"),
    [
        ("email|inbox", "My INBOX is full", True),
        (r"\bmail\b", "the mailman", False),
        (r"\bmail\b", "mail!", True),
        ("(?-i)PR", "the pr is open", False),
        ("(?-i)PR", "the PR is open", True),
        ("^ship", "please ship it", False),
        ("(?m)^ship", "please\nship it", True),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
        (r"\pL{4}", "über", True),
        ("ÜBER", "über", True),
        ("リリース", "今日リリースする", True),
        (r"\d{3}", "room 42", False),
    ],
)
def test_pattern(pattern: str, said: str, found: bool) -> None:
    assert matches(trigger("pattern", pattern), said) is found


def test_one_of_several_is_enough() -> None:
    several = trigger("pattern", "otter", "badger")
    assert matches(several, "a badger")
    assert not matches(several, "a heron")


# --- keywords ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ("deploy", "We are DEPLOYING it"),
        ("deploys", "deployed."),
        ("deploy", "fix the deploy_key"),
        ("pull request", "Two pull requests wait"),
        ("pull requests", "my pull request"),
        ("roll back", "we rolled back"),
        ("pull request", "a pull\nrequest"),
        ("it's broken", "it’s broken again"),
        # names that are written like names
        ("GitHub", "I pushed to GitHub yesterday"),
        ("github", "I pushed to GitHub yesterday"),
        ("PostgreSQL", "our PostgreSQL is slow"),
        ("iPhone", "my iphone broke"),
        ("e-mail", "send an e-mail today"),
        ("docker-compose", "run docker-compose up again"),
        ("node.js", "we use node.js here"),
        ("CI/CD", "our CI/CD is red today"),
        ("apply_voucher", "fix apply_voucher now"),
        ("Black Friday voucher", "the black friday vouchers are out"),
        # other languages
        ("Rechnung", "die Rechnungen sind noch nicht da"),
        ("Straße", "in der STRASSE"),
        ("Kündigung", "Die Kündigungen kamen mit der Post"),
        ("facture", "les factures sont dans le dossier"),
        ("café", "the cafe"),
        ("請求書", "この請求書を見て"),
        ("AWSの請求", "先月のawsの請求が高い"),
        ("배포", "지금 배포해 주세요"),
        ("发布", "今天发布新版本"),
        ("ＡＷＳ", "the aws bill"),
        ("!!!", "wow!!!"),
        ("🚨", "🚨prod is down"),
        ("->", "a->b"),
        ("C++", "is it C++?"),
        ("Rechnungen", "die Rechnung ist noch nicht da"),
        ("C++", "I write C++ daily"),
    ],
)
def test_keyword(keyword: str, said: str) -> None:
    assert matches(trigger("keyword", keyword), said)


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ("deploy", "the diploma"),
        ("port", "the airport report"),
        ("pull request", "a request to pull"),
        ("pull request", "pull"),
        ("pull request", "pull the request"),
        ("pull request", "in requestId we pull"),
        ("git hub", "GitHub"),
        ("請求書", "請求 書類"),
        ("deploy", ""),
        ("C++", "vitamin C is good"),
        ("C#", "the note C is flat"),
    ],
)
def test_no_keyword(keyword: str, said: str) -> None:
    assert not matches(trigger("keyword", keyword), said)


# --- globs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "path", "found"),
    [
        ("*.py", "src/deep/worker.py", True),
        ("*.py", "worker.py", True),
        ("*.py", "worker.pyc", False),
        ("*.py", "a.py/readme", False),
        ("worker.py", "src/worker.py", True),
        ("worker.py", "src/my_worker.py", False),
        ("w?rker.py", "wOrker.py", True),
        ("a?c", "a/c", False),
        ("src/*.py", "src/worker.py", True),
        ("src/*.py", "repo/src/worker.py", True),
        ("src/*.py", "src/deep/worker.py", False),
        ("src/*.py", "mysrc/worker.py", False),
        ("src/**", "repo/src/deep/er/worker.py", True),
        ("src/**/*.py", "src/worker.py", True),
        ("src/**/*.py", "src/deep/er/worker.py", True),
        ("src/**/test_*.py", "src/deep/worker.py", False),
        ("**/migrations/*.sql", "migrations/0001.sql", True),
        ("**/migrations/*.sql", "db/migrations/0001.sql", True),
        ("/etc/**", "/etc/ssh/config", True),
        ("/etc/**", "/home/etc/ssh", False),
        ("src/*.py", r"C:\work\src\worker.py", True),
        ("C:/work/**", r"c:\work\src\worker.py", True),
        ("*.tf", "a.tf\n", False),
        ("a+b(c).md", "x/a+b(c).md", True),
        ("*", "anything", True),
        # said by many, and not understood
        ("*.{ts,tsx}", "web/app.tsx", True),
        ("*.{ts,tsx}", "web/app.js", False),
        ("[ab].py", "a.py", True),
        ("[!ab].py", "a.py", False),
        ("[!ab].py", "c.py", True),
        ("[a-c]*.py", "best.py", True),
        ("src/{web,api}/**", "src/api/deep/a.py", True),
        ("src/{web,api}/**", "src/db/a.py", False),
        ("{*.md,*.txt}", "docs/a.txt", True),
        ("a[1.py", "a[1.py", True),
        ("a{1.py", "a{1.py", True),
        (r"src\*.py", "src/worker.py", True),
        ("src/", "src/worker.py", True),
        ("./src/*.py", "src/worker.py", True),
    ],
)
def test_glob(glob: str, path: str, found: bool) -> None:
    assert matches(trigger("glob", glob), paths=(path,)) is found


def test_a_glob_looks_at_paths_only() -> None:
    assert not matches(trigger("glob", "*.py"), "look at worker.py")
    assert matches(trigger("glob", "*.md", "*.py"), "", ("a.txt", "b.py"))
    assert not matches(trigger("pattern", "worker"), "", ("worker.py",))


# --- mentions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said", "found"),
    [
        ("Mira", "ask Mira about it", True),
        ("Mira", "Mira's boat", True),
        ("Mira", "(Mira)", True),
        ("Mira", "Mira", True),
        ("Mira", "a mira", False),
        ("Mira", "MIRA", False),
        ("Mira", "a Miracle", False),
        ("Mira", "Admira", False),
        ("Mira", "Mira_2", False),
        ("mira", "MIRA said so", True),
        ("@mira", "ask @Mira now", True),
        ("@mira", "@mira", True),
        ("@mira", "@miracle", False),
        ("@mira", "otto@mira.example", False),
        ("@mira", "ask Mira", False),
        ("Jonas B.", "ask Jonas B. now", True),
        ("Jonas B.", "ask Jonas Bo", False),
        ("Müller", "Frau Müller hat", True),
        ("Müller", "Obermüller", False),
        ("Öz", "Özil", False),
        ("田中", "田中 さんへ", True),
        ("Mira", "@Mira can you look?", True),
        ("Mira", "otto@Mira.example", False),
    ],
)
def test_mention(name: str, said: str, found: bool) -> None:
    assert matches(trigger("mention", name), said) is found


# --- addresses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "said", "found"),
    [
        ("github.com", "see https://github.com/a/b", True),
        ("github.com", "see https://github.com", True),
        ("github.com", "HTTPS://GITHUB.COM/x", True),
        ("github.com", "https://gist.github.com/x", True),
        ("gist.github.com", "https://github.com/x", False),
        ("github.com", "www.github.com/x", True),
        ("github.com", "https://github.com?x=1", True),
        ("github.com", "ssh://github.com/a.git", True),
        ("https://github.com/", "http://github.com/x", True),
        ("github.com", "https://github.com.evil.example/", False),
        ("github.com", "https://evilgithub.com/", False),
        ("github.com", "https://evil.example/github.com", False),
        ("github.com", "we talked about github and com", False),
        ("github.com/*/pull/*", "(https://github.com/a/b/pull/3).", True),
        ("github.com/*/pull/*", "https://github.com/a/b/issues/3", False),
        ("github.com/*/pull/*", "[it](https://github.com/a/b/pull/3)", True),
        ("github.com/a", "https://github.com/abc", False),
        ("github.com/a", "https://github.com/a#top", True),
        ("docs.*.example/a?b=c", "<https://docs.x.example/a?b=c>", True),
        ("HTTPS://GitHub.com", "https://github.com/x", True),
        ("s3://bucket", "see s3://bucket/x", True),
        ("github.com", "https://github.com:443/a", True),
        ("localhost", "http://localhost:8080/x", True),
        ("localhost:8080", "http://localhost:8080/x", True),
        ("localhost:8080", "http://localhost:9090/x", False),
        ("github.com", "https://mira@github.com/x", True),
        ("github.com", "https://evil.example?x=.github.com", False),
        ("github.com", "https://evil.example#.github.com", False),
        ("github.com", "“https://github.com”", True),
        ("github.com", "**https://github.com**", True),
        ("github.com", "これ（https://github.com）。", True),
        ("github.com", "https://github.com@evil.example/", False),
        ("github.com", "<https://github.com|GitHub>", True),
        ("github.com", "これ（https://github.com）。次", True),
        ("github.com", "„https://github.com“ sagt er", True),
    ],
)
def test_url(match: str, said: str, found: bool) -> None:
    assert matches(trigger("url", match), said) is found


@pytest.mark.parametrize("mark", [*".,;:!?)]}", ").", '"', "'", ">", "`"])
def test_punctuation_is_no_part_of_an_address(mark: str) -> None:
    assert matches(trigger("url", "x.example/page"), f"see https://x.example/page{mark} ok")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("see https://x.example", True),
        ("www.x.example", True),
        ("no address", False),
        ("http:/x", False),
        ("wwwx.example", False),
    ],
)
def test_a_url_trigger_without_match_takes_any(said: str, found: bool) -> None:
    assert matches(trigger("url"), said) is found


# --- code, language, urgency: their wiring (what they say is in test_speech.py) -----------


def test_code() -> None:
    fenced = "Look:\n```py\nx = 1\n```\n"
    assert matches(trigger("code"), fenced)
    assert matches(trigger("code", "Python"), fenced)
    assert matches(trigger("code", "rust", "python3"), fenced)
    assert not matches(trigger("code", "rust"), fenced)
    assert not matches(trigger("code"), "no code at all")
    assert matches(trigger("code"), "```\nsomething\n```")
    assert not matches(trigger("code", "python"), "```\nsomething\n```")


def test_language() -> None:
    said = "Kannst du mir bitte sagen, wo die Rechnung ist?"
    for name in ("de", "German", "de-AT", "DE"):
        assert matches(trigger("language", name), said)
    assert matches(trigger("language", "fr", "de"), said)
    assert not matches(trigger("language", "en"), said)
    assert not matches(trigger("language", "en"), "")


def test_urgency() -> None:
    assert matches(trigger("urgency"), "This is urgent")
    assert not matches(trigger("urgency"), "When you have time")


# --- directions, and several topics ------------------------------------------------------


@pytest.mark.parametrize("kind", ["pattern", "keyword", "mention"])
@pytest.mark.parametrize("scope", ["input", "output", "both"])
@pytest.mark.parametrize("direction", ["input", "output"])
def test_scope(kind: str, scope: str, direction: str) -> None:
    one = trigger(kind, "otter", scope=scope)
    assert matches(one, "an otter", direction=direction) is (scope in (direction, "both"))


def test_scope_of_paths_and_of_what_is_computed() -> None:
    for one in (trigger("glob", "*.py", scope="output"), trigger("urgency", scope="output")):
        assert matches(one, "urgent", ("a.py",), "output")
        assert not matches(one, "urgent", ("a.py",), "input")


@pytest.mark.parametrize("kind", ["webhook", "cron"])
def test_what_is_fired_matches_no_message(kind: str) -> None:
    one = trigger(kind, "otter", source="otter", schedule="0 8 * * *")
    assert not matches(one, "otter 0 8 * * *", ("otter",))


def test_every_trigger_once_and_topics_in_order() -> None:
    topics = [
        topic("b", trigger("keyword", "otter", "otters"), trigger("pattern", "otter|badger")),
        topic("a", trigger("mention", "Mira")),
        topic("c", trigger("pattern", "heron"), trigger("pattern", "otter")),
    ]
    found = Triggers(topics, "input").match(Spoken(Remark("otter otters, badger, Mira")))
    assert [(one.topic, one.trigger.label) for one in found] == [
        ("b", "pattern otter|badger"),
        ("b", "keyword otter, otters"),
        ("a", "mention Mira"),
        ("c", "pattern otter"),
    ]


def test_what_comes_after_very_much_is_not_looked_at() -> None:
    long = "x " * (triggers.LONGEST // 2)
    assert not matches(trigger("pattern", "otter"), f"{long} otter")
    assert matches(trigger("pattern", "otter"), f"otter {long}")


@pytest.mark.parametrize("said", ["half \ud83d otter", "\udcff otter", "\0 otter", "\ufeffotter"])
def test_what_is_no_text_stops_nobody(said: str) -> None:
    for kind in ("pattern", "keyword", "mention"):
        assert matches(trigger(kind, "otter"), said)
    assert matches(trigger("glob", "*.py"), said, ("a\udcff.py",))
