"""Batches: questions that nobody waits for, at half the price (costs/batches.json).

A question has a key, which is the same whenever it is asked again. In a run that may wait, a
question whose answer is not there goes into the next batch (`put`), and whoever asked does without
(`Deferred`). A later run collects the answers, asks the same questions, and finds them. A batch
that was sent is never sent again: one whose sending a crash cut off is first looked for at the
provider. What it cost is written down once, when it is collected.

    put -> costs/batches.json -> sent -> waits -> collected -> taken
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import RLock
from typing import Any, NamedTuple

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import BadModelOutput, ModelUnavailable
from wakebook.base.home import Home
from wakebook.models.model import Endpoint
from wakebook.models.wire import PROVIDERS, Body, Reply

MOST = 10_000  # questions in a batch
SHARE = 0.5  # of the price of a question that is answered at once
CLOCKS = timedelta(minutes=10)  # by which the provider's clock may differ from ours


class Batched(msgspec.Struct, omit_defaults=True):
    """One question of a batch."""

    key: str
    operation: str
    prompt: str
    shown: tuple[str, ...] = ()  # ids of the entries that it refers to by number
    cost: float = 0.0  # dollars, about
    body: Body | None = None  # until it was collected


class Batch(msgspec.Struct, omit_defaults=True):
    name: str  # ours; each question's id at the provider begins with it
    model: str
    at: str
    asked: list[Batched]
    purpose: str = ""  # who asks
    id: str = ""  # the provider's; "": it was being sent
    answers: dict[str, Any] | None = None  # key -> the provider's answer, or {"error": "..."}


class Form(NamedTuple):
    """How a provider takes batches."""

    send: Callable[[Endpoint, Batch], str]  # its id
    find: Callable[[Endpoint, Batch], str]  # the id of one that a crash cut off; ""
    results: Callable[[Endpoint, Batch], Iterator[Any] | None]  # None: it is not done yet
    answer: Callable[[Any], Any]  # of one result: the body of a chat's answer, or {"error": ...}


# --- the providers -----------------------------------------------------------------------
def _ours(batch: Batch) -> list[tuple[str, Batched]]:
    return [(f"{batch.name}-{number}", one) for number, one in enumerate(batch.asked)]


def _lines(data: bytes) -> Iterator[Any]:
    return (json.loads(line) for line in data.splitlines() if line.strip())


def _same_time(batch: Batch, made: Any) -> bool:
    at = clock.parse(made) if isinstance(made, str) else None
    ours = clock.parse(batch.at)
    return at is None or ours is None or at >= ours - CLOCKS


def _anthropic_send(endpoint: Endpoint, batch: Batch) -> str:
    requests = [{"custom_id": name, "params": one.body} for name, one in _ours(batch)]
    return str(endpoint.fetch("/messages/batches", {"requests": requests})["id"])


def _anthropic_find(endpoint: Endpoint, batch: Batch) -> str:
    """Anthropic's batches have no room for our name: the number of questions has to do until
    their ids can be read."""
    for one in endpoint.fetch("/messages/batches?limit=100")["data"]:
        counts = one.get("request_counts") or {}
        if sum(counts.values()) == len(batch.asked) and _same_time(batch, one.get("created_at")):
            return str(one["id"])
    return ""


def _anthropic_results(endpoint: Endpoint, batch: Batch) -> Iterator[Any] | None:
    if endpoint.fetch(f"/messages/batches/{batch.id}")["processing_status"] != "ended":
        return None
    return _lines(endpoint.fetch(f"/messages/batches/{batch.id}/results", raw=True))


def _anthropic_answer(line: Any) -> Any:
    result = line["result"]
    if result["type"] == "succeeded":
        return result["message"]
    error = result.get("error") or {}
    said = (error.get("error") or error).get("message") or ""
    return {"error": said or f"the question has {result['type']}"}


def _openai_send(endpoint: Endpoint, batch: Batch) -> str:
    rows = (
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": one.body}
        for name, one in _ours(batch)
    )
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file = endpoint.upload("/files", {"purpose": "batch"}, f"{batch.name}.jsonl", data)["id"]
    made = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    return str(endpoint.fetch("/batches", made | {"metadata": {"wakebook": batch.name}})["id"])


def _openai_find(endpoint: Endpoint, batch: Batch) -> str:
    found = endpoint.fetch("/batches?limit=100")["data"]
    named = (one for one in found if (one.get("metadata") or {}).get("wakebook") == batch.name)
    return str(next(named, {"id": ""})["id"])


def _openai_results(endpoint: Endpoint, batch: Batch) -> Iterator[Any] | None:
    found = endpoint.fetch(f"/batches/{batch.id}")
    if found["status"] in ("validating", "in_progress", "finalizing", "cancelling"):
        return None
    files = [found.get(name) for name in ("output_file_id", "error_file_id")]
    data = [endpoint.fetch(f"/files/{one}/content", raw=True) for one in files if one]
    return _lines(b"\n".join(data))


def _openai_answer(line: Any) -> Any:
    response = line.get("response") or {}
    body = response.get("body") or {}
    if response.get("status_code") == 200:
        return body
    error = line.get("error") or body.get("error") or {}
    return {"error": error.get("message") or "the question was not answered"}


FORMS = {
    "anthropic": Form(_anthropic_send, _anthropic_find, _anthropic_results, _anthropic_answer),
    "openai": Form(_openai_send, _openai_find, _openai_results, _openai_answer),
}


# --- the file ----------------------------------------------------------------------------
class Batches:
    """The batches of one home. Nothing is asked before `collect` or `send`."""

    def __init__(self, home: Home, endpoint: Callable[[str], Endpoint] | None = None) -> None:
        """`endpoint`: of a model's provider, at its base address; to collect and send."""
        self._home, self._endpoint = home, endpoint
        self._path = home.root / "costs" / "batches.json"
        self._lock = RLock()
        self.put_off: dict[str, Batched] = {}  # questions for the next batch
        self.all: list[Batch] = []
        if self._path.exists():
            self.all = decode(self._path.read_bytes(), list[Batch])

    def waiting(self) -> list[Batch]:
        return [one for one in self.all if one.answers is None]

    def find(self, key: str) -> tuple[Batched, Batch] | None:
        """A question that was put into a batch, and its batch."""
        pairs = ((one, batch) for batch in self.all for one in batch.asked)
        return next(((one, batch) for one, batch in pairs if one.key == key), None)

    def taken(self, key: str) -> Reply | None:
        """The answer to a question. None: it waits, or was never asked. Raises ModelUnavailable for
        one that failed: it can be asked again."""
        with self._lock:
            found = self.find(key)
            if found is None or found[1].answers is None:
                return None
            batch = found[1]
            assert batch.answers is not None
            answer = batch.answers.get(key) or {"error": "the batch ended without an answer"}
            if isinstance(answer.get("error"), str):
                batch.asked = [one for one in batch.asked if one.key != key]
                self._save()
                raise ModelUnavailable(f"{batch.model}, in a batch: {answer['error']}")
        try:
            return PROVIDERS[batch.model.partition("/")[0]].chat.reads(answer)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise BadModelOutput(f"{batch.model}, in a batch: an answer of unknown form.") from None

    def put(self, asked: Batched) -> None:
        with self._lock:
            if self.find(asked.key) is None:
                self.put_off.setdefault(asked.key, asked)

    def send(self, model: str, purpose: str, reach: Callable[[float], bool]) -> int:
        """Send what was put off, as far as the budget reaches. How many questions that are."""
        from secrets import token_hex

        asked: list[Batched] = []
        total = 0.0
        for one in list(self.put_off.values())[:MOST]:
            total += one.cost
            if not reach(total):
                break
            asked.append(one)
        if not asked:
            return 0
        name = f"wakebook-{token_hex(6)}"
        at = clock.iso(clock.now())
        batch = Batch(name=name, model=model, at=at, asked=asked, purpose=purpose)
        self.all.append(batch)
        self._save()  # before it is sent: a crash must not send it twice
        self._sent(batch)
        return len(asked)

    def _sent(self, batch: Batch) -> None:
        form, endpoint = self._form(batch)
        try:
            with _understood(batch):
                batch.id = form.send(endpoint, batch)
        except ModelUnavailable as error:
            if error.status:  # the provider does not have it, for certain
                self.all.remove(batch)
                self._save()
            raise
        self._save()

    def collect(self, note: Callable[[str, Batched, Any, Batch], None]) -> None:
        """Fetch what has been answered. `note` hears of every answer, with its id, before it is
        kept. Raises ModelError; what was fetched stays."""
        for batch in self.waiting():
            form, endpoint = self._form(batch)
            with _understood(batch):
                batch.id = batch.id or form.find(endpoint, batch)
                if not batch.id:
                    self._sent(batch)
                    continue
                self._save()
                found = form.results(endpoint, batch)
                ids, answers = dict(_ours(batch)), {}
                for line in found or ():
                    if one := ids.get(str(line.get("custom_id"))):
                        answers[one.key] = form.answer(line)
                        note(str(line["custom_id"]), one, answers[one.key], batch)
            if found is not None:
                batch.answers = answers
                for one in batch.asked:
                    one.body = None
                self._save()

    def clear(self, purpose: str) -> None:
        """Drop the answers for this: every question that needed one has had it."""
        self.all = [one for one in self.all if one.answers is None or one.purpose != purpose]
        self._save()

    def _form(self, batch: Batch) -> tuple[Form, Endpoint]:
        assert self._endpoint
        return FORMS[batch.model.partition("/")[0]], self._endpoint(batch.model)

    def _save(self) -> None:
        if self.all:
            self._home.replace(self._path, msgspec.json.encode(self.all))
        else:
            self._path.unlink(missing_ok=True)


@contextmanager
def _understood(batch: Batch) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadModelOutput(
            f"{batch.model} answers about the batch {batch.id or batch.name} in a form that we do "
            f"not know ({error!r}). Try again later."
        ) from None
