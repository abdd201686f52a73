"""Providers that fail, hang or talk nonsense: patience, and an end to it."""

from __future__ import annotations

import math
import time
import traceback
from email.utils import formatdate
from typing import Any

import pytest

from tests.models.asking import HASTY, KEY, PATHS, asking, expected
from tests.server import Answer, Cut, Hang, ModelServer, Raw, Status, Step, Vectors
from wakebook.base.errors import BadModelOutput, ModelUnavailable
from wakebook.models.transport import Patience

# --- patience ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        Status(429, "slow down", retry_after=0),
        Status(429, retry_after=formatdate(0, usegmt=True)),
        Status(500),
        Status(503, "overloaded"),
        Cut(),
        Cut(halfway=True),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(server: ModelServer, step: Step) -> None:
    server.script(step)
    assert asking(server).embed(["one"]) == expected("one")
    assert len(server.requests) == 2


@pytest.mark.parametrize("drops", [False, True])
def test_a_server_that_hangs_is_asked_again(server: ModelServer, drops: bool) -> None:
    server.script(Hang(drops))
    assert asking(server, patience=HASTY).embed(["one"]) == expected("one")


def test_a_server_that_hangs_on(server: ModelServer) -> None:
    server.script(*[Hang()] * 9)
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.1 s"):
        asking(server, patience=Patience(9, 0.1, 0.01, total=0.05)).embed(["one"])
    assert len(server.requests) == 1


def test_the_server_says_how_long_to_wait(server: ModelServer) -> None:
    server.script(Status(429, retry_after=0.1))
    started = time.monotonic()
    asking(server).embed(["one"])
    assert time.monotonic() - started >= 0.1


def test_nobody_waits_for_an_hour(server: ModelServer) -> None:
    server.script(Status(429, "slow down", retry_after=3600))
    with pytest.raises(ModelUnavailable, match=r'429: "slow down"\. It asks to wait 3600 s'):
        asking(server).embed(["one"])


def test_a_dead_provider_is_asked_no_more(server: ModelServer) -> None:
    server.script(*[Status(500)] * 3)
    embedder = asking(server)
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="answers 500, 3 times in a row"):
            embedder.embed(["one"])
    assert len(server.requests) == 3


@pytest.mark.parametrize("step", [Status(500), Hang(), Cut()], ids=str)
def test_a_question_is_tried_once(server: ModelServer, step: Step) -> None:
    server.script(step)
    with pytest.raises(ModelUnavailable):
        asking(server, patience=HASTY).embed(["one"], query=True)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Status(401, f"Incorrect API key provided: {KEY}"), "refuses the key"),
        (Status(403), "refuses the key"),
        (Status(404, "model 'm' not found"), "model 'm' not found.*Correct .*model"),
        (Status(400, "bad dimensions"), "refuses the request .*bad dimensions"),
        (Status(302, location="http://127.0.0.1:9/"), "points to another address"),
        (Status(429, "insufficient_quota: pay first"), "pay first"),
    ],
    ids=str,
)
def test_what_will_not_pass_ends_at_once(server: ModelServer, step: Step, message: str) -> None:
    server.script(step)
    with pytest.raises(ModelUnavailable, match=message) as caught:
        asking(server).embed(["one"])
    assert len(server.requests) == 1
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_nobody_is_there() -> None:
    with ModelServer() as gone:
        pass
    with pytest.raises(ModelUnavailable, match="Is it running"):
        asking(gone, "ollama").embed(["one"])


# --- what comes back ---------------------------------------------------------------------


def _with(value: Any) -> Any:
    def change(vectors: Vectors) -> Vectors:
        return [*vectors[:-1], [*vectors[-1][:-1], value]]

    return change


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_with(math.nan), "NaN"),
        (_with(math.inf), "infinity"),
        (_with(None), "no number"),
        (_with("0.5"), "no number"),
        (_with(1e300), "infinity"),
        (lambda vectors: [None for _ in vectors], "no number"),
        (lambda vectors: [[] for _ in vectors], "no number"),
        (lambda vectors: vectors[:-1], "1 vectors for 2 texts"),
        (lambda vectors: [vectors[0], vectors[1][:4]], "4 numbers instead of 8"),
    ],
)
def test_bad_vectors_are_refused(
    server: ModelServer, provider: str, change: Any, message: str
) -> None:
    server.script(Answer(change))
    embedder = asking(server, provider)
    with pytest.raises(BadModelOutput, match=message) as caught:
        embedder.embed(["one", "two"])
    assert embedder.name in str(caught.value) and "builtin" in str(caught.value)


def test_a_model_that_changes_its_dimension(server: ModelServer) -> None:
    embedder = asking(server)
    embedder.embed(["one"])
    server.dimensions = 12
    with pytest.raises(BadModelOutput, match="12 numbers instead of 8"):
        embedder.embed(["two"])
    with pytest.raises(BadModelOutput, match="12 numbers instead of 256"):
        asking(server, dimensions=256).embed(["one"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Welcome</html>", "no JSON"),
        (b'{"error": {"message": "no credits"}}', "no credits"),
        (b"[]", "do not know"),
        (b'{"data": [{"index": 5, "embedding": [1]}]}', "do not know"),
        (b'{"data": "nothing"}', "do not know"),
    ],
)
def test_answers_of_another_kind(server: ModelServer, body: bytes, message: str) -> None:
    server.script(Raw(body))
    with pytest.raises(BadModelOutput, match=message):
        asking(server).embed(["one"])
