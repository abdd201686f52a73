"""Make the tokenizer's tables: `python tools/vocabulary.py --help` says how and from what."""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import tiktoken

from wakebook.models import tokenizer
from wakebook.models import tokenizer as words

HELP = """\
Make the tokenizer's tables (tokens.bin and classes.bin in src/wakebook/models/tokenizer), or
compare what it counts with what tiktoken counts. In an environment of its own:

  pip install tiktoken==0.14.0
  npm pack tiktoken@1.0.22 && tar xzf tiktoken-1.0.22.tgz
  python tools/vocabulary.py package/encoders/o200k_base.json
  python tools/vocabulary.py package/encoders/o200k_base.json --compare [FILE ...]

The ranks come from the second package, and must have the checksum that the first one asks for.
The first is asked for every character which classes of the pattern it belongs to.
"""
FOLDER = Path(tokenizer.__file__).parent
FORM = argparse.RawDescriptionHelpFormatter
CHECKSUM = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
SINGLE = {bytes([byte]): byte for byte in range(256)}
CLASSES = {
    r"[\p{Lu}\p{Lt}]": words.UPPER,
    r"\p{Ll}": words.LOWER,
    r"[\p{Lm}\p{Lo}]": words.LETTER,
    r"\p{M}": words.MARK,
    r"\p{N}": words.NUMBER,
    r"\s": words.BLANK,
    r"(?i:s)": words.LONG_S,
}
PIECES = r"""
\x20 \x20\x20 \n \r\n \t \xa0 \u2028 \u3000 \x1c \x85 / ' 's 'LL '\u017f \u2019s 'Re a B the \x20The
HTTP camelCase 0 12 \u0663 \u2167 \xbd \xe9 \u017f e\u0301 \u0301 \u01c5 \u02b0 \u4e2d \u306e
\u0e44\u0e17\u0e22 \u0928\u092e\u0938\u094d\u0924\u0947 \u0645\u0631 \ud55c\uad6d \u0416 \xdf
! ... {\x22 \u200d \U0001f600 \U0001f469\u200d\U0001f467 \ufe0f \U0001f1e9 \ufffd \ufeff \ud800
\udc00 \u2014 \u201c \u2192 <|endoftext|>
"""
MADE = [piece.encode().decode("unicode-escape") for piece in PIECES.split()]


def ranked(path: Path) -> list[bytes]:
    """All tokens in order: lines of a mark, the first rank, and tokens in base 64."""
    data = json.loads(path.read_text(encoding="utf-8"))
    lines = [line.split(" ")[2:] for line in data["bpe_ranks"].splitlines() if line]
    texts = [text for line in lines for text in line]
    published = "".join(f"{text} {rank}\n" for rank, text in enumerate(texts))
    if hashlib.sha256(published.encode()).hexdigest() != CHECKSUM:
        raise SystemExit(f"vocabulary: {path} holds other ranks than OpenAI's o200k_base")
    return [base64.b64decode(text) for text in texts]


def classes() -> str:
    """Of every character what stands for it. What a pattern does not find gives no token."""
    every = "".join(map(chr, (*range(128, 0xD800), *range(0xE000, 0x110000))))
    table = list(map(chr, range(128))) + [words.OTHER] * (0x110000 - 128)
    for pattern, stand_in in CLASSES.items():
        only = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=SINGLE, special_tokens={})
        for sign in bytes(only.encode_ordinary(every)).decode():
            table[ord(sign)] = stand_in
    return "".join(table)


def texts(files: list[Path], number: int) -> Iterator[str]:
    chance = random.Random(5)  # noqa: S311
    for path in files:
        text = path.read_bytes().decode(errors="replace")
        yield from text.splitlines(keepends=True)
        yield from (text[at : at + 5000] for at in range(0, len(text), 5000))
    for _ in range(number):
        yield "".join(chance.choices(MADE, k=chance.randint(0, 30)))
        yield "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(0, 30)))
        yield "".join(chr(chance.randrange(0x3000)) for _ in range(chance.randint(0, 30)))
        yield "".join(chr(chance.randrange(128)) for _ in range(chance.randint(0, 200)))


def compare(tokens: list[bytes], pattern: str, files: list[Path], number: int) -> int:
    ranks = {token: rank for rank, token in enumerate(tokens)}
    real = tiktoken.Encoding("o", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    seen = wrong = total = 0
    for text in texts(files, number):
        expected, counted = len(real.encode_ordinary(text)), tokenizer.count(text)
        seen, total = seen + 1, total + expected
        if counted != expected:
            wrong += 1
            print(f"{expected} and not {counted}: {text[:200]!a}")
    print(f"{seen} texts with {total} tokens compared, {wrong} counted differently")
    return 1 if wrong else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=HELP, formatter_class=FORM)
    parser.add_argument("ranks", type=Path)
    parser.add_argument("--compare", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--random", type=int, default=5000, help="made texts of each of 4 kinds")
    options = parser.parse_args()
    tokens = ranked(options.ranks)
    if options.compare is not None:
        pattern = json.loads(options.ranks.read_text(encoding="utf-8"))["pat_str"]
        raise SystemExit(compare(tokens, pattern, options.compare, options.random))
    if any(len(token) != 1 for token in tokens[:256]) or b"\xff" in b"".join(tokens[256:]):
        raise SystemExit("vocabulary: the tokens do not fit the form of tokens.bin")
    (FOLDER / "tokens.bin").write_bytes(b"".join(tokens[:256]) + b"\xff".join(tokens[256:]))
    (FOLDER / "classes.bin").write_bytes(zlib.compress(classes().encode("latin-1"), 9))


if __name__ == "__main__":
    main()
