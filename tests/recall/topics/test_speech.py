"""Speech: languages, programming languages, urgency."""

from __future__ import annotations

import pytest

from wakebook.recall.topics import speech

# --- languages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("Where did we put the keys of the boat?", "english"),
        ("Kannst du mir bitte sagen, wo die Rechnung ist?", "german"),
        ("Wie geht es dir?", "german"),
        ("Où est la bibliothèque, et pourquoi ?", "french"),
        ("¿Dónde está la biblioteca y por qué?", "spanish"),
        ("Dov'è la stazione e perché non è qui?", "italian"),
        ("Onde está o barco que eu comprei ontem?", "portuguese"),
        ("Waar is de boot die ik gisteren heb gekocht?", "dutch"),
        ("Привет, как у тебя дела?", "russian"),
        ("この請求書を見てください", "japanese"),
        ("カタカナ", "japanese"),
        ("이 청구서를 봐 주세요", "korean"),
        ("请看一下这张发票", "chinese"),
        ("ช่วยดูใบแจ้งหนี้นี้หน่อย", "thai"),
    ],
)
def test_language(said: str, language: str) -> None:
    assert speech.language(said) == language


@pytest.mark.parametrize("said", ["", " \n ", "123 + 4!", "`der die das`", "🙂", "```\nund\n```"])
def test_without_words_there_is_no_language(said: str) -> None:
    assert speech.language(said) == ""


@pytest.mark.parametrize("said", ["ok", "Otter", "xyzzy plugh"])
def test_english_if_nothing_tells(said: str) -> None:
    assert speech.language(said) == "english"


@pytest.mark.parametrize(
    "said",
    [
        "Use this, please:\n```\nund der die das ist nicht und wenn aber\n```\nthank you",
        "Use this, please:\n~~~text\nund der die das ist nicht und wenn aber\n~~~\nthank you",
        "What does `und der die das ist nicht` mean in the book?",
        "What is this?\n```\nund der die das ist nicht, and it never ends",
        "The button says 保存 and it is broken",
        # com is a word of Portuguese
        "Deploy example.com",
        "Check www.example.com",
    ],
)
def test_what_is_quoted_does_not_count(said: str) -> None:
    assert speech.language(said) == "english"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("de", "german"),
        ("DE-at", "german"),
        ("pt_BR", "portuguese"),
        ("zh-Hans", "chinese"),
        (" German ", "german"),
        ("japanese", "japanese"),
    ],
)
def test_names_of_languages(name: str, language: str) -> None:
    assert speech.language_name(name) == language


# --- code --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("```python\nx\n```", {"python"}),
        ("```py\nx\n```", {"python"}),
        ("~~~ Rust\nx\n~~~", {"rust"}),
        ("  ```js title=a.js\nx\n  ```", {"javascript"}),
        ("```c++\nx\n```", {"cpp"}),
        ("```C#\nx\n```", {"csharp"}),
        ("```golang\nx\n```\n\n```sh\nx\n```", {"go", "shell"}),
        ("```\nSELECT a FROM b\n```", {"sql"}),
        ("```\nimport os\n```", {"python"}),
        ("```\nnothing special\n```", {"?"}),
        ("```\n```", {"?"}),
        ("```yaml\nit never ends", {"yaml"}),
        ("````md\n```py\nx\n```\n````", {"markdown"}),
        ("import os\nimport sys\n\nprint(os)", {"python"}),
        ("const a = 1\nlet b = 2", {"javascript"}),
        ("interface A {\ntype B = string", {"typescript"}),
        ("package main\nfunc main() {", {"go"}),
        ("fn main() {\nlet mut a = 1;", {"rust"}),
        ("#include <a.h>\nint main() {", {"c"}),
        ("insert into a values (1);\ndelete from b where c", {"sql"}),
        ("$ ls\n$ pwd", {"shell"}),
        ("<div>\n</div>", {"html"}),
        ('"a": 1,\n"b": 2', {"json"}),
        ("apiVersion: v1\nkind: Pod", {"yaml"}),
        # nothing of it
        ("", set()),
        ("Where are the keys?", set()),
        ("`x = 1` is short", set()),
        ("import duties are high", set()),
        ("a ``` b ``` c", set()),
        ("## Plan\n\n- one\n- two", set()),
        # people, not code
        ("@mira can you look?\n@jonas please wait", set()),
        ("Select a colour from the list", set()),
        ("COPY THAT", set()),
        ("RUN FOR IT", set()),
    ],
)
def test_code(said: str, found: set[str]) -> None:
    assert speech.code(said) == found


def test_a_fence_on_one_line_is_none() -> None:
    said = "```ls -la```\nDas ist dringend und nicht gut"
    assert speech.code(said) in (set(), {"?"})
    assert speech.language(said) == "german"
    assert speech.urgent(said)


def test_what_stands_behind_a_fence_counts() -> None:
    assert speech.code("```py\nx\n```\n\nand then\n\n```rs\ny\n```") == {"python", "rust"}
    assert speech.urgent("```py\nx\n```\nThis is urgent\n```py\ny\n```")


# --- urgency -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "This is urgent",
        "URGENT: the site",
        "Please look at it ASAP.",
        "fix it right now",
        "It's an emergency",
        "sev1 on lagoon",
        "Help!!!",
        "why! ! !",
        "THE WHOLE SITE IS DOWN",
        "Es ist dringend",
        "Bitte sofort",
        "C'est urgent",
        "Es urgente",
        "至急お願いします",
        "紧急情况",
        "It is not late, it is urgent",
        "HELP ME NOW",
    ],
)
def test_urgent(said: str) -> None:
    assert speech.urgent(said)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "When you have time",
        "Nice!",
        "Yes! No! Maybe.",
        "This is not urgent",
        "It isn't urgent at all",
        "nothing urgent",
        "Nicht dringend",
        "nicht so dringend",
        "ce n'est pas urgent",
        "no es urgente",
        "The API speaks JSON",
        "I love NASA",
        "```\nURGENT!!!\n```",
        "insurgents of the past",
        # negated
        "It isn’t urgent",
        "no emergency",
        "kein Notfall",
        "nicht sofort, morgen reicht",
        "pas d'urgence",
        "not at all urgent",
        "It isn't really that urgent",
        # abbreviations
        "JSON vs YAML?",
        "Compare JSON and HTTPS",
        "Is it HTML or XHTML?",
    ],
)
def test_not_urgent(said: str) -> None:
    assert not speech.urgent(said)
