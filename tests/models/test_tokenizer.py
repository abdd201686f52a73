"""The tokenizer: the same numbers as OpenAI's, for every script, and nothing that it chokes on.

The numbers of COUNTED are those of tiktoken 0.14.0. tools/vocabulary.py compares many more.
"""

from __future__ import annotations

import random
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wakebook.models.tokenizer as tokenizer
from tests.store.making import python
from tests.thorough import tries
from wakebook.models.tokenizer import OTHER, SIGNS, Counts, _classes, _whole, count, cut, split

COUNTED = [
    ("", 0),
    (" ", 1),
    ("Hello, world!", 4),
    ("The launch is on 21 November, not on the 14th.", 15),
    ("Häuser, Übergänge und Straßenbahnhaltestellenverzeichnisse", 16),
    ("L'été dernier, j'ai mangé un œuf à Châlons-en-Champagne.", 21),
    ("¿Dónde está el ñandú? ¡Aquí!", 11),
    ("Zażółć gęślą jaźń", 11),
    ("Việt Nam có nhiều món ăn ngon", 8),
    ("Ελληνικά: η γρήγορη αλεπού", 12),
    ("Съешь же ещё этих мягких французских булок", 12),
    ("“Quoted” — it’s done… → next • 3 ≤ 4 ‹x›", 19),
    ("我们决定使用数据库,然后继续。", 8),
    ("東京都に住んでいる。カタカナもある", 13),
    ("서울에서 만나요", 4),
    ("ภาษาไทยไม่มีช่องว่างระหว่างคำ", 9),
    ("مرحبا بالعالم، كيف حالك؟", 9),
    ("אני זוכר את הַשָּׁלוֹם", 14),
    ("नमस्ते दुनिया, कैसे हैं आप?", 10),
    ("தமிழ் எழுத்துக்கள்", 5),
    ("e\u0301le\u0300ve na\u0308ive \u0301 \u0301A", 13),
    ("\u0301A\u0301a !\u0301b", 7),
    ("😀👍🏽", 4),
    ("👩\u200d👩\u200d👧\u200d👦 and 🏳️\u200d🌈 🇩🇪", 23),
    ("def parse_http(request: HTTPRequest) -> dict[str, int]:\n    return {'a': 1}\n", 22),
    ("for (let i = 0; i < xs.length; i++) {\r\n\tconsole.log(xs[i]);\r\n}\r\n", 22),
    ('{"id": "cLHcLH9rb3Sn", "type": "fact", "evidence": [3, 14], "pinned": true}', 35),
    ("SELECT * FROM entries WHERE id='x' -- ok", 11),
    ("https://example.org/a/b?c=d&e=%20f#g", 14),
    ("parseHTTPRequest XMLHttpRequest camelCase snake_case SCREAMING_CASE iPhoneX", 15),
    ("a\tb\t\tc\n\nd\r\n\r\n  e   \n", 10),
    ("   leading, and trailing   ", 6),
    ("line one   \n   \n\t line two", 7),
    ("!!!\n\n///\r\n/x", 5),
    ("\x1c\x1d a \x85 b \xa0 c \u2003\u2003d \u2028e\u3000f", 17),
    ("0 12 345 6789 1234567890 3.14159 1,000,000", 24),
    ("٣٤٥٦ Ⅷ ½ ²³¹ 1²3", 17),
    ("I'm you're he's we'll they've I'd don't", 7),
    ("I'M YOU'RE HE'S WE'LL THEY'VE I'D DON'T can'Test", 19),
    ("it'ſ it’s 'tis 'S 'twas o'clock's", 15),
    ("ǅ ǈungle ʰa ªB ſHORT ſo", 19),
    ("SGVsbG8sIHdvcmxkISBUaGlzIGlzIGJhc2U2NC4gQUJDREVGR0hJSktMTU5PUA==", 41),
    ("c3d5f6a7-8a7a-41c4-8a86-f496c56127ae 0xDEADBEEF", 33),
    ("<|endoftext|> <|endofprompt|><|im_start|>", 19),
    ("\ufeffBOM, \ufffd, zero\0byte, \u200bnothing\u200e", 13),
    ("\U00010d40\U000105c0\u1c89\u1c8a \U000323ab", 19),
    ("𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛𝟜 𐐀𐐨", 43),
    ("supercalifragilisticexpialidocious antidisestablishmentarianism", 16),
    ("=" * 80 + "\n" + "-" * 33, 4),
    (" " * 100 + "x", 3),
    ("ab" * 300, 150),
    ("中" * 500, 500),
    ("A" * 1000 + "a", 126),
    ("\ud83d \udc4d x\ud83dy", 5),
    ("\ud83d\udc4d", 1),
]
PROSE = "The boats charge one after the other at night: Otter from ten in the evening, then Heron. "
PIECES = [
    " ",
    "\n",
    "\t",
    " \r\n",
    "'s",
    "'LL",
    "the",
    " The",
    "HTTP",
    "x",
    "12345",
    "é",
    "e\u0301",
    "\u0301",
]
PIECES += [
    "中",
    "ไทย",
    "नमस्ते",
    "Ж",
    "—",
    "...",
    "/",
    "👩\u200d👧",
    "\ud83d",
    "\udc4d",
    "\xa0",
    "\u3000",
    "zqj",
]
ANY = st.text(st.characters(exclude_categories=()), max_size=60)
MADE = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
_LAZY = """
import wakebook.models.tokenizer
from wakebook.models.tokenizer import _classes, _pattern, _ranks
tables = _ranks, _classes, _pattern
print([table.cache_info().currsize for table in tables])
wakebook.models.tokenizer.count("one")
print([table.cache_info().currsize for table in tables])
wakebook.models.tokenizer.count("é")
print([table.cache_info().currsize for table in tables])
"""


@pytest.mark.parametrize(("text", "number"), COUNTED, ids=map(str, range(len(COUNTED))))
def test_it_counts_as_openai_does(text: str, number: int) -> None:
    assert count(text) == number
    assert count(text) == number  # also when it knows the words


def test_all_of_them_in_one_text() -> None:
    """A line end and a letter between them keep one text's words out of the next one's."""
    texts = [text for text, _ in COUNTED if text[:1].isalpha() and text[-1:].isalpha()]
    alone = sum(number for text, number in COUNTED if text in texts)
    assert len(texts) > 10
    assert count("\n".join(texts)) == alone + len(texts) - 1


def test_every_token_is_one() -> None:
    data = (Path(tokenizer.__file__).parent / "tokens.bin").read_bytes()
    tokens = [token.decode(errors="ignore") for token in data[256:].split(b"\xff")]
    assert len(tokens) == 199_742
    words = [token for token in tokens[::97] if token.isascii() and split(token) == [token]]
    assert len(words) > 800
    assert {count(word) for word in words} == {1}


@given(ANY | MADE)
def test_words_make_the_text_again(text: str) -> None:
    found = split(text)
    assert "".join(found) == text
    assert "" not in found


@given(ANY | MADE, st.integers(-2, 40))
def test_a_cut_is_a_beginning_that_fits(text: str, limit: int) -> None:
    kept = cut(text, limit)
    assert text.startswith(kept)
    assert count(kept) <= max(limit, 0)
    assert cut(text, max(count(text), 1)) == text


@given(MADE)
def test_what_is_cut_uses_its_tokens(text: str) -> None:
    limit = count(text) // 2
    assert count(cut(text, limit)) >= limit - tokenizer.LOST - 3


def test_it_cuts_at_the_end_of_a_word() -> None:
    text = PROSE * 20
    for limit in range(1, 60):
        kept = cut(text, limit)
        assert text[len(kept)] == " " and not kept.endswith(" ")
    assert cut("Number 1234567890123", 4) == "Number"
    assert cut("Call parseHttpRequestQuickly now", 4) == "Call"
    assert cut("First line.\nSecondLineOfIt", 4) == "First line.\n"


def test_a_long_word_is_cut_where_the_tokens_end() -> None:
    word = "".join(random.Random(3).choices("bcdfghjklmnpqrstvwxz", k=3000))
    kept = cut(f"See {word}", 200)
    assert kept.startswith("See ") and count(kept) == 200
    assert 195 <= count(cut("中文" * 2000, 200)) <= 200
    assert cut("👩\u200d👩\u200d👧\u200d👦" * 50, 1) in ("", "👩")


@pytest.mark.parametrize("word", ["იუბ", "აუნი", "მდაურც"])
def test_a_cut_within_a_character_gives_it_up(word: str) -> None:
    """Tokens end within characters here: what is left may have more tokens than before."""
    for limit in range(1, count(word)):
        assert word.startswith(cut(word, limit)) and count(cut(word, limit)) <= limit


def test_much_blank_is_no_reason_to_stop() -> None:
    text = (" " * 120 + "x") * 50
    assert cut(text, 99) == text[: len(cut(text, 99))]
    assert len(cut(text, 99)) > 16 * 99
    assert cut("\n" * 5000, 3).count("\n") > 16


def test_halves_of_characters() -> None:
    assert count("a \ud83d b") == count("a \ufffd b")
    assert count("\ud83d\udc4d" * 3) == count("👍" * 3)
    text = "\ud83d\udc4d" * 40 + "\udc4d"
    kept = cut(text, 7)
    assert text.startswith(kept) and len(kept) % 2 == 0 and 0 < count(kept) <= 7


@pytest.mark.parametrize("text", ["a b ", "\ud800x ", "é🙂\udc00 ", "z"])
def test_a_long_text_counts_the_same_every_time(text: str) -> None:
    for times in (tokenizer.SHORT, tokenizer.SHORT + 1):
        number = sum(map(Counts().__getitem__, split(_whole(text * times))))
        assert [count(text * times) for _ in range(2)] == [number] * 2


@pytest.mark.parametrize("alphabet", ["a", "abcdefghijklmnopqrstuvwxyz", "ก", "=", "中文"])
def test_a_word_that_does_not_end(alphabet: str) -> None:
    letters = tries(50_000, 200_000)
    word = "".join(random.Random(4).choices(alphabet, k=letters))
    number = count(word)
    assert letters / 128 <= number <= 3 * letters
    assert 0 < len(cut(word, 50)) < 50 * 128


def test_signs_need_no_stand_in() -> None:
    """What is found without the table is what would be found with it."""
    signs = [chr(number) for number in range(128, 0x110000) if re.match(f"[{SIGNS}]", chr(number))]
    assert len(signs) > 600 and {_classes()[ord(sign)] for sign in signs} == {OTHER}
    for sign in signs[::7]:
        text = f"a {sign}b{sign}{sign} c'{sign}s{sign}\n 1{sign}\n"
        assert [*split(text), "é"] == split(text + "é")


def test_nothing_is_read_before_it_is_needed() -> None:
    assert python(_LAZY).split("\n")[:3] == ["[0, 0, 0]", "[1, 0, 1]", "[1, 1, 1]"]


def test_threads_agree() -> None:
    texts = [PROSE * number + "é" * number for number in range(1, 30)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, texts * 5)) == [count(text) for text in texts] * 5


def test_words_are_not_kept_for_ever() -> None:
    known = Counts(2000)
    numbers = [known[f"word{number}x"] for number in range(500)]
    assert len(known) < 20
    assert numbers == [count(f"word{number}x") for number in range(500)] == numbers


def test_what_is_shipped_is_small() -> None:
    folder = Path(tokenizer.__file__).parent
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < 2_000_000
    assert (folder / "LICENSE").exists() and (folder / "NOTICE").exists()
