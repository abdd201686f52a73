"""Later: a run that takes its answers from batches, and puts questions without one into the next.

`catch-up --upgrade` and `rebuild` run in one: nobody waits for them. Models asks it before it asks
a model. The answer is there, or it comes with a batch (`Deferred`), or, in a run that only collects
what others have sent, the model is asked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import clock
from wakebook.base.errors import ConfigError, Deferred, Locked
from wakebook.base.home import Home
from wakebook.models.batch import FORMS, SHARE, Batch, Batched, Batches
from wakebook.models.calls import Called
from wakebook.models.model import Endpoint
from wakebook.models.wire import PROVIDERS, ChatAsk, Reply

if TYPE_CHECKING:
    from wakebook.models.chat import Models
    from wakebook.models.prompt import Prompt


class Later:
    def __init__(self, models: Models, batches: Batches, put: bool) -> None:
        self._models, self._batches, self.put = models, batches, put

    def key(self, operation: str, *texts: str) -> tuple[str, Sequence[str] | None]:
        """The key of a question about these texts: without what may be told otherwise the next
        time. And the entries that it was shown, if it stands in a batch."""
        from hashlib import blake2b

        whole = "\0".join((self._models.name("main"), operation, *texts))
        key = blake2b(whole.encode("utf-8", "replace"), digest_size=12).hexdigest()
        found = self._batches.find(key)
        return key, found[0].shown if found else None

    def reply(self, name: str, asked: Prompt, question: ChatAsk) -> Reply | None:
        """The answer that a batch has brought. None: ask at once. Raises Deferred."""
        if reply := self._batches.taken(question.key):
            return reply
        if not self.put and self._batches.find(question.key) is None:
            return None
        size = question.size()
        cost = self._models.cost(name, size, asked.answer_tokens(size)) or 0.0
        provider, _, model = name.partition("/")
        one = Batched(
            key=question.key,
            operation=asked.operation,
            prompt=asked.label,
            shown=question.shown,
            cost=cost * SHARE,
            body=PROVIDERS[provider].chat.asks(replace(question, model=model)),
        )
        self._batches.put(one)
        raise Deferred(f"{name} answers later: the question stands in a batch.")

    def collect(self) -> None:
        known = {call.batch for call in self._models.calls.all() if call.batch}

        def note(id_: str, asked: Batched, answer: Any, batch: Batch) -> None:
            """Write down what an answer has cost, once."""
            if id_ not in known:
                self._models.calls.add(self._call(id_, asked, answer, batch.model))

        self._batches.collect(note)

    def _call(self, id_: str, asked: Batched, answer: Any, name: str) -> Called:
        call = Called(
            at=clock.iso(clock.now()),
            operation=asked.operation,
            model=name,
            prompt=asked.prompt,
            outcome="ok",
            batch=id_,
        )
        if isinstance(answer.get("error"), str):
            return msgspec.structs.replace(call, outcome="unavailable", error=answer["error"])
        reply = PROVIDERS[name.partition("/")[0]].chat.reads(answer)
        tokens = {name: getattr(reply, name) for name in ("tokens_in", "tokens_out", "cached")}
        cost = self._models.cost(name, *tokens.values(), reply.written)
        return msgspec.structs.replace(
            call,
            outcome="refused" if reply.refused else "cut" if reply.cut else "ok",
            cost=None if cost is None else round(cost * SHARE, 8),
            **tokens,
        )


@contextmanager
def later(
    models: Models, home: Home, endpoint: Callable[[str], Endpoint], purpose: str, put: bool
) -> Iterator[None]:
    """Around such a run. `put`: its questions go into a batch, which is sent at the end."""
    name = models.name("main")
    if put and name.partition("/")[0] not in FORMS:
        known = " and ".join(f"{one}/..." for one in FORMS)
        raise ConfigError(f"{name or 'No model'} takes no batches: {known} do. Leave out --batch.")
    batches = Batches(home, endpoint)
    run = Later(models, batches, put)
    if models.dry or not (put or batches.all):
        models.later = run if put else None
        yield
        return
    with home.reading("batches") as alone:
        if not alone:
            raise Locked("Another process is at the batches of this home. Try again later.")
        run.collect()
        models.later = run
        try:
            yield
        finally:
            models.later = None
        if batches.put_off:
            limits = [one for one in models.limits(name) if one.of == "dollars"]
            reach = lambda cost: all(one.allows(cost) for one in limits)  # noqa: E731
            left = list(batches.put_off.values())[batches.send(name, purpose, reach) :]
            if left:
                models.lacking(name, sum(one.cost for one in batches.put_off.values()))
        elif not any(one.purpose == purpose for one in batches.waiting()):
            batches.clear(purpose)


def waits(home: Home) -> str:
    """A line for `status` about what waits; "" if nothing does."""
    found = Batches(home).waiting()
    if not found:
        return ""
    count = sum(len(one.asked) for one in found)
    how = "`wakebook rebuild`" if found[0].purpose.startswith("rebuild") else "`catch-up --upgrade`"
    return (
        f"{count} question{'s wait' if count > 1 else ' waits'} in a batch for {found[0].model}, "
        f"since {found[0].at}: {how} collects the answers"
    )
