"""The built-in embedder: small, offline, and nearer for what means the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wakebook.models.builtin as builtin
from wakebook.models.builtin import DIMENSION, Builtin

TEXTS = [
    "The launch is on 14 November.",
    "Häuser, l'école & parseHttpRequest — max_retry_count!",
    "我们决定使用数据库 東京 서울 กรุงเทพ",
    "😀 \u0000 x and nothing else",
    "word " * 500,
    "",
    "   \n",
    "z" * 300,
]


def cosine(one: str, other: str) -> float:
    first, second = Builtin().embed([one, other])
    return float(sum(a * b for a, b in zip(first, second, strict=True)))


def test_a_text_has_the_same_row_wherever_it_stands() -> None:
    import numpy as np

    alone = np.concatenate([np.asarray(Builtin().embed([text])) for text in TEXTS])
    many = np.asarray(Builtin().embed(TEXTS * 10))
    assert many.shape == (10 * len(TEXTS), DIMENSION)
    assert np.array_equal(many, np.concatenate([alone] * 10))


def test_rows_have_unit_length_and_nothing_is_zeros() -> None:
    for text, row in zip(TEXTS, Builtin().embed(TEXTS), strict=True):
        length = sum(float(value) ** 2 for value in row) ** 0.5
        assert length == pytest.approx(1 if " " in text.strip() else 0, abs=1e-3)
    assert list(Builtin().embed([])) == []


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=5))
def test_any_text_has_a_row(texts: list[str]) -> None:
    rows = Builtin().embed(texts)
    assert len(rows) == len(texts)
    for row in rows:
        length = sum(float(value) ** 2 for value in row) ** 0.5
        assert length == pytest.approx(1, abs=1e-3) or length == 0


def test_batches_do_not_matter() -> None:
    import numpy as np

    texts = [f"text number {number} about boats" for number in range(300)]
    embedder = Builtin()
    whole = np.asarray(embedder.embed(texts))
    single = np.concatenate([np.asarray(embedder.embed([text])) for text in texts])
    assert np.abs(whole - single).max() < 1e-5


@pytest.mark.parametrize(
    ("one", "alike", "other"),
    [
        ("How old is my dog?", "The puppy's age", "The invoice was paid on time"),
        ("buy a car", "purchase an automobile", "bake a chocolate cake"),
        ("The meeting was postponed", "They delayed the appointment", "I like green tea"),
        ("database migration", "moving the tables to Postgres", "guitar lesson for children"),
        ("She is ill", "She has been sick", "He repaired the roof"),
    ],
)
def test_what_means_the_same_is_nearer(one: str, alike: str, other: str) -> None:
    assert cosine(one, alike) > cosine(one, other) + 0.1


def test_upper_case_and_accents_do_not_matter() -> None:
    assert cosine("Café Zürich", "cafe zurich") == pytest.approx(1, abs=1e-3)


def test_what_is_shipped_is_small() -> None:
    folder = Path(builtin.__file__).parent
    judge = (folder / "judge.npz").stat().st_size
    assert judge <= 17_100_000
    assert sum(it.stat().st_size for it in folder.iterdir() if it.is_file()) - judge <= 8_000_000
    assert (folder / "LICENSE").exists()


def test_its_name_stays() -> None:
    assert Builtin().name == "builtin" and not Builtin().remote
