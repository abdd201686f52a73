"""Embedders: vectors of two are never mixed, and a dead one leaves the words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server import Answer, Hang, ModelServer, Raw, Status
from tests.store.making import (
    WORDS_ALONE,
    again,
    append,
    entry,
    find,
    fresh,
    name,
    note,
    refs,
    rows,
    wakebook,
)
from wakebook import Memory

TEXTS = ("the zebra eats grass", "Mira sold a bicycle", "the launch is on Monday")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def settings(server: ModelServer, model: str = "m", more: str = "") -> str:
    return (
        f'[embedding]\nprovider = "compatible"\nbase_url = "{server.url}/v1"\nmodel = "{model}"\n'
        f"attempts = 1\ntimeout_seconds = 1\n{more}"
    )


def asked(server: ModelServer) -> list[str]:
    return [text for texts in server.texts for text in texts]


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> Memory:
    memory = fresh(tmp_path / "home", settings(server))
    append(memory, *(entry(number, text) for number, text in enumerate(TEXTS, start=1)))
    return memory


def change(memory: Memory, text: str) -> Memory:
    """The same home with other settings."""
    return fresh(memory.home.root, text)


PRICE = '[compatible]\n"m" = { input = 1000, output = 0 }\n'


def test_texts_that_a_provider_embeds_are_paid_for(home: Memory, server: ModelServer) -> None:
    (home.home.root / "prices.toml").write_text(PRICE)
    memory = change(home, settings(server, more="batch_size = 2\n"))
    memory.index.sync()
    (found,) = memory.costs().groups
    assert (found.name, found.calls, found.unpriced) == ("embed", len(server.texts), 0)
    assert len(server.texts) > 1 and found.tokens_in > 10
    assert memory.status().spent == pytest.approx(found.tokens_in / 1000)
    for _ in range(2):  # a question is paid for as well, but only once
        find(memory, "which animal eats?")
        assert memory.costs().total.calls == len(server.texts) == found.calls + 1


def test_texts_are_not_embedded_beyond_the_budget(home: Memory, server: ModelServer) -> None:
    (home.home.root / "prices.toml").write_text(PRICE)
    memory = change(home, settings(server, more="[models]\nmonthly_budget = 0.001\n"))
    memory.index.sync()
    assert not server.requests and not memory.costs().groups
    assert refs(find(memory, "zebra"))  # by words
    said = memory.status().problems
    assert any("The monthly budget of $0.0010 does not reach" in one for one in said)


def vectors(memory: Memory) -> int:
    return again(memory).index.status().vectors


def test_found_by_its_words_at_once_and_by_its_meaning_later(
    home: Memory, server: ModelServer
) -> None:
    found = find(home, "zebra")
    assert refs(found) == [name(1)] and found.embedder == ""
    assert any("no vector" in note and "words alone" in note for note in found.notes)
    assert server.requests == []  # nobody waits for a provider during a search
    done = again(home).index.sync()
    assert (done.embedded, done.pending, done.problem) == (3, 0, "")
    found = find(home, "zebra")
    assert found.embedder == f"compatible/m@{server.url[7:]}" and not found.notes
    assert refs(found)[0] == name(1)


def test_no_text_is_asked_for_twice(home: Memory, server: ModelServer) -> None:
    home.index.sync()
    count = len(asked(server))
    assert count == 3
    again(home).index.sync(full=True)
    append(home, entry(4, "a fourth thing"))
    again(home).index.sync()
    assert len(asked(server)) == count + 1


def test_another_embedder_embeds_everything_anew(home: Memory, server: ModelServer) -> None:
    home.index.sync()
    before = rows(home, "SELECT numbers FROM vectors")
    other = change(home, settings(server, "another"))
    found = find(other, "zebra")
    assert refs(found) == [name(1)]  # words alone: the old vectors mean nothing to this one
    assert found.embedder == "" and found.notes
    assert rows(home, "SELECT count(*) FROM vectors") == [(0,)]
    done = again(other).index.sync()
    assert (done.added, done.removed, done.embedded) == (0, 0, 3)
    assert {request.body["model"] for request in server.requests} == {"m", "another"}
    assert find(other, "zebra").embedder.startswith("compatible/another")
    assert len(before) == 1


def test_from_built_in_to_a_provider_and_back(tmp_path: Path, server: ModelServer) -> None:
    memory = fresh(tmp_path / "home")
    append(memory, *(entry(number, text) for number, text in enumerate(TEXTS, start=1)))
    assert find(memory, "zebra").embedder == "builtin"
    assert rows(memory, "SELECT value FROM meta WHERE key = 'dimension'") == [("256",)]
    change(memory, settings(server))
    again(memory).index.sync()
    assert rows(memory, "SELECT value FROM meta WHERE key = 'dimension'") == [("8",)]
    assert find(memory, "zebra").embedder.startswith("compatible")
    change(memory, "")
    found = find(memory, "zebra")
    assert found.embedder == "builtin" and not found.notes
    assert rows(memory, "SELECT value FROM meta WHERE key = 'dimension'") == [("256",)]
    change(memory, WORDS_ALONE)
    found = find(memory, "zebra")
    assert (found.embedder, found.notes, refs(found)) == ("", (), [name(1)])
    assert rows(memory, "SELECT count(*) FROM vectors") == [(0,)]


def test_a_dead_provider_leaves_the_words(home: Memory, server: ModelServer) -> None:
    dead = change(home, settings(server).replace(server.url, "http://127.0.0.1:9"))
    done = dead.index.sync()
    assert done.pending == 3 and "127.0.0.1:9" in done.problem
    found = find(dead, "zebra")
    assert refs(found) == [name(1)] and found.notes
    assert "127.0.0.1:9" in wakebook(dead, "status", code=1)
    assert "3 wait for a vector" in wakebook(dead, "status", code=1)
    assert "127.0.0.1:9" in wakebook(dead, "index", code=1)
    assert "3 waiting" in wakebook(dead, "index", "--status", code=1)


def test_vectors_come_back_with_the_provider(home: Memory, server: ModelServer) -> None:
    server.script(Status(401, "no such key"))
    done = home.index.sync()
    assert done.pending == 3 and "no such key" in done.problem
    assert again(home).index.sync().pending == 0
    assert find(home, "zebra").embedder and not find(home, "zebra").notes


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Status(500, "out of order"), "out of order"),
        (Status(404, "unknown model"), "unknown model"),
        (Raw(b"<html>"), ""),
        (Answer(lambda rows: [[float("nan")] * len(row) for row in rows]), ""),
        (Answer(lambda rows: [["x"] * len(row) for row in rows]), ""),
        (Answer(lambda rows: rows[:-1]), ""),
        (Answer(lambda rows: [row * 2 for row in rows]), "dimension"),
        (Answer(lambda rows: [[] for _ in rows]), ""),
        (Hang(), ""),
    ],
    ids=["500", "404", "html", "nan", "text", "fewer", "dimension", "empty", "time-out"],
)
def test_trouble_with_a_question_is_a_note(
    home: Memory, server: ModelServer, step: Answer, said: str
) -> None:
    home.index.sync()
    server.script(*[step] * 2)
    found = find(home, "which zebra")
    assert refs(found)[0] == name(1) and found.embedder == ""
    [told] = found.notes
    assert told.startswith("Found by words alone") and said in told


@pytest.mark.parametrize(
    "step",
    [
        Status(500, "out of order"),
        Answer(lambda rows: [[float("nan")] * len(row) for row in rows]),
        Answer(lambda rows: [row * 2 for row in rows]),
        Answer(lambda rows: [row[:-1] if at else row for at, row in enumerate(rows)]),
        Hang(),
    ],
    ids=["500", "nan", "dimension", "mixed", "time-out"],
)
def test_trouble_with_documents_leaves_them_waiting(
    home: Memory, server: ModelServer, step: Answer
) -> None:
    home.index.sync()
    append(home, entry(4, "a late thing"), entry(5, "a later thing"))
    server.script(*[step] * 3)
    done = again(home).index.sync()
    assert done.problem and done.pending == 2
    assert vectors(home) == 3
    assert refs(find(home, "late"))[0] in (name(4), name(5))
    wakebook(home, "search", "late")
    assert again(home).index.sync().pending in (0, 2)


def test_what_already_has_a_vector_is_dropped_cleanly(home: Memory, server: ModelServer) -> None:
    note(home, "topics/a.md", "a note about boats")
    home.index.sync()
    (home.home.root / "topics/a.md").unlink()
    append(home, entry(4, "a late thing"))
    done = again(home).index.sync()
    assert (done.removed, done.embedded) == (1, 1)
    assert vectors(home) == 4


def test_a_wrong_setting_is_said(home: Memory) -> None:
    broken = change(home, '[embedding]\nprovider = "opnai"\n')
    assert "did you mean 'openai'" in wakebook(broken, "search", "zebra", code=5)


def test_no_embedder_is_no_problem(home: Memory) -> None:
    quiet = change(home, WORDS_ALONE)
    wakebook(quiet, "index")
    wakebook(quiet, "status")
    assert again(quiet).index.status().vectors == 0


def test_a_text_is_asked_for_once_even_where_nothing_can_be_kept(
    server: ModelServer, tmp_path: Path
) -> None:
    home = fresh(tmp_path / "paid", settings(server))
    append(home, entry(1, "a boat"), entry(2, "a harbour"))
    (home.home.root / ".cache").write_text("")
    home.index.sync()
    assert len(server.requests) == 1
