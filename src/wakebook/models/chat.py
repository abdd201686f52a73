"""Models: the one seam to chat models.

A call site is a prompt file, prompts/<operation>.md, and:

    try:
        title = models.ask("title", conversation=text)
    except ModelError:
        title = by_rules(text)

`ask` gives the answer's text, `lines` its JSON objects, checked, with one attempt to repair what
the check refused. Both find the model of the prompt's role, keep to the budget and to the
limits, and write down what every call cost. An error says why there is no answer; the caller
does without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, TypeVar

from wakebook.base import clock, text
from wakebook.base.config import Config, is_client
from wakebook.base.echo import READS
from wakebook.base.errors import (
    BadModelOutput,
    ConfigError,
    Deferred,
    LeftAlone,
    ModelError,
    ModelUnavailable,
    NotAsked,
    TooLong,
)
from wakebook.base.home import Home
from wakebook.models import prompt
from wakebook.models.calls import HURRIED, TRIES, Called, Calls
from wakebook.models.model import HOST, NONE, Lend, Model, make
from wakebook.models.prompt import Lines, Prompt
from wakebook.models.transport import Patience, TooLarge, on_this_machine
from wakebook.models.wire import ChatAsk, Reply

if TYPE_CHECKING:
    from wakebook.models.budget import Limit
    from wakebook.models.later import Later
    from wakebook.models.prices import Price

T = TypeVar("T")
DAY = timedelta(days=1)
SMALL = ("commit", "gate")  # not worth the start of a program, or too urgent for it
REPAIR = """\
These lines of your answer cannot be used:

{errors}

Answer with the corrected lines only: one JSON object a line, nothing else. Leave out what cannot \
be corrected."""


@dataclass(frozen=True)
class Planned:
    """What a dry run would have asked."""

    operation: str
    model: str
    prompt: str
    system: str
    message: str
    tokens_in: int  # about
    tokens_out: int  # a guess
    cost: float | None


class Models:
    def __init__(
        self,
        home: Home,
        config: Config,
        environ: Mapping[str, str],
        *,
        lend: Lend | None = None,
        patience: Patience | None = None,
        dry: bool = False,
    ) -> None:
        self._home, self._config, self._environ = home, config, environ
        self._lend, self._patience, self.dry = lend, patience, dry
        self.later: Later | None = None  # in a run whose questions may stand in batches
        self.insist = False  # ask even a model that is being left alone
        self._lent_at = clock.iso(clock.now()) if lend else ""  # another lender failed before
        self._made: dict[str, Model] = {}
        self._slots = BoundedSemaphore(self.concurrency)
        self.planned: list[Planned] = []  # in a dry run
        self.troubles: list[str] = []  # why there was no answer

    @cached_property
    def calls(self) -> Calls:
        return Calls(self._home)

    def unasked(self) -> Models:
        return Models(self._home, self._config, self._environ, lend=self._lend, dry=True)

    def name(self, role: str) -> str:
        """provider/model of a role; "" if there is none. One stands in for the other."""
        settings = self._config.models
        if NONE in (first := settings.main, second := settings.cheap):
            return ""
        chosen = (second or first) if role == "cheap" else (first or second)
        return chosen or (HOST if self._lend else "")

    def has(self, operation: str) -> bool:
        small = operation in SMALL and is_client(self.name("cheap"))
        return bool(self.name("main")) and operation not in self._config.models.off and not small

    def price(self, name: str, free: bool = False) -> Price | None:
        """None if it is not known. `free`: then it costs nothing."""
        from wakebook.models.prices import FREE, load

        provider, _, model = name.partition("/")
        found = load(self._home.root / "prices.toml").find(provider, model)
        if found is None and provider == "compatible":
            free = free or on_this_machine(self._config.compatible.base_url)
        return FREE if found is None and free else found

    @property
    def concurrency(self) -> int:
        """Questions that are asked at the same time, at most. A client takes one."""
        return 1 if is_client(self.name("main")) else self._config.models.concurrency

    def ask(self, operation: str, seconds: float = 0.0, /, **inputs: str) -> str:
        """The answer to prompts/<operation>.md. Raises ModelError; NotAsked on purpose.
        `seconds`: how long the caller can wait; 0: as long as the settings say."""
        with self._told(operation):
            asked, question = self._question(operation, inputs, seconds)
            reply = self._call(asked, question, asked.worth)
            if reply.cut:
                raise BadModelOutput(f"{self.name(asked.role)} {asked.cut}.")
            return reply.text.strip()

    def begin(self, operation: str, /, **inputs: str) -> str:
        """The beginning of an answer of which no more is needed. Raises ModelError."""
        with self._told(operation):
            asked, question = self._question(operation, inputs)
            enough = partial(asked.worth, whole=False)
            return self._call(asked, question, enough).text.strip()

    def lines(
        self,
        operation: str,
        check: Callable[[dict[str, Any]], T],
        most: int,
        missing: Callable[[list[T]], str] = lambda kept: "",
        about: tuple[str, Sequence[str]] = ("", ()),
        /,
        **inputs: str,
    ) -> Lines[T]:
        """The JSON objects of an answer that pass the check, which raises ValueError.

        What does not pass, and what `missing` says is missing, is asked for once more, with
        the reasons; what then still does not pass is traced as rejected. Raises
        BadModelOutput if nothing is left. `about`: the question's key for a batch, and the ids of
        the entries that it shows.
        """
        with self._told(operation):
            asked, question = self._question(operation, inputs)
            question = replace(question, key=about[0], shown=tuple(about[1]))
            reply, found = self._sorted(asked, question, check, most)
            if found.kept and not found.rejected and (lack := missing(found.kept)):
                found.rejected.append(prompt.Rejected("", lack))
            # one that has to keep to a schema has done what it can
            if found.rejected and not reply.cut and not asked.schema:
                found = self._repaired(asked, question, reply, found, check, most)
            name, lost = self.name(asked.role), [] if reply.cut else found.rejected
            for bad in lost:  # if it was cut off, half a line at the end is no entry
                self._home.trace("rejected", where=operation, reason=bad.reason, content=bad.line)
            if lost and not found.kept:
                raise BadModelOutput(
                    f"{name} gave nothing that can be used ({asked.label}): {lost[0].reason}."
                )
            if len(lost) > len(found.kept):
                self._half_good(operation, f"{name} ({asked.label})", lost, len(found.kept))
            return replace(found, by=f"{name} {asked.label}", cut=reply.cut)

    def _question(
        self, operation: str, inputs: dict[str, str], seconds: float = 0.0
    ) -> tuple[Prompt, ChatAsk]:
        asked = self._prompt(operation, inputs)
        system, message = asked.fill({name: text.clean(value) for name, value in inputs.items()})
        return asked, ChatAsk(
            "",
            system,
            (message,),
            asked.max_tokens,
            asked.temperature,
            asked.schema,
            seconds=seconds,
        )

    def _sorted(
        self,
        asked: Prompt,
        question: ChatAsk,
        check: Callable[[dict[str, Any]], T],
        most: int,
        repair: bool = False,
    ) -> tuple[Reply, Lines[T]]:
        """An answer with its lines; the call is written down with how many can be used."""
        found: Lines[T] = Lines([], [])

        def worth(reply: Reply) -> dict[str, Any]:
            nonlocal found
            found = prompt.sort(reply.text, check, most)
            said, kept = asked.worth(reply), len(found.kept)
            if said["outcome"] == "ok" and len(found.rejected) > kept:
                no_json = not any(one.line.startswith("{") for one in found.rejected) and not kept
                outcome = "unusable" if no_json else "poor"
                said = {"outcome": outcome, "error": prompt.why(found.rejected)}
            return said | {"lines": kept}

        return self._call(asked, question, worth, repair), found

    def _half_good(self, operation: str, who: str, lost: list[prompt.Rejected], kept: int) -> None:
        """Most of an answer was lost: that is no failure, and not all well either."""
        said = f"{who}: {len(lost)} of {len(lost) + kept} lines cannot be used: {prompt.why(lost)}."
        self.troubles.append(said)
        self._home.trace("failure", where=f"model for {operation}", error=said)

    def _prompt(self, operation: str, inputs: Mapping[str, str]) -> Prompt:
        if operation in self._config.models.off:
            raise NotAsked(f"No model is asked for {operation}: it is in off of [models].")
        if not self.has(operation):
            small = operation in SMALL and self.name("cheap")
            why = f"{small} is not started for so little" if small else "[models] names none"
            raise NotAsked(f"No model is asked for {operation}: {why}.")
        if self._environ.get(READS):
            raise NotAsked(f"No model is asked for {operation}: one is reading for us here.")
        return prompt.load(operation, self._home, set(inputs))

    @contextmanager
    def _told(self, operation: str) -> Iterator[None]:
        """A failure is traced, so that `status` shows it whatever the caller does instead. Wrong
        settings are one more reason to do without a model: nothing else has to stop."""
        try:
            yield
        except (TooLong, NotAsked, Deferred):
            raise
        except (ModelError, ConfigError) as error:
            self.troubles.append(str(error))
            if not self.dry and not isinstance(error, LeftAlone):
                self._home.trace("failure", where=f"model for {operation}", error=str(error))
            if isinstance(error, ConfigError):
                raise ModelUnavailable(str(error)) from error
            raise

    def _repaired(
        self,
        asked: Prompt,
        question: ChatAsk,
        reply: Reply,
        found: Lines[T],
        check: Callable[[dict[str, Any]], T],
        most: int,
    ) -> Lines[T]:
        errors = "\n".join(f"{bad.line or '-'}\n  -> {bad.reason}" for bad in found.rejected[:20])
        turns = (*question.turns, reply.text.strip()[:20_000] or "(nothing)")
        again = replace(question, turns=(*turns, REPAIR.format(errors=errors)))
        room = most - len(found.kept)
        try:
            second = self._sorted(asked, again, check, room, repair=True)[1]
        except ModelError as error:
            if found.kept or isinstance(error, LeftAlone):
                return found
            raise
        better = [one for one in second.kept if one not in found.kept]
        if not better:
            return found  # it gave up: what was wrong at first is what is traced
        if len(better) + len(second.rejected) < len(found.rejected):  # some were passed over
            second.rejected.extend(found.rejected)
        return replace(second, kept=found.kept + better)

    def _call(
        self,
        asked: Prompt,
        question: ChatAsk,
        worth: Callable[[Reply], dict[str, Any]],
        repair: bool = False,
    ) -> Reply:
        """One question, allowed, asked and written down with what the answer is worth."""
        name = self.name(asked.role)
        if self.dry:
            self.planned.append(self._plan(asked, name, question))
            raise NotAsked("This is a dry run: no model was asked.")
        label = asked.label
        later = self.later if question.key and not repair else None
        if reply := later and later.reply(name, asked, question):
            worth(reply)  # it was written down when it was collected
        else:
            reply = self._asked(name, asked, question, worth, repair)
        if reply.refused:
            raise BadModelOutput(f"{name} refuses to answer ({label}): {reply.refused[:200]}")
        if not reply.text.strip() and asked.output == "text":
            raise BadModelOutput(f"{name} gave an empty answer ({label}).")
        return reply

    def _asked(
        self,
        name: str,
        asked: Prompt,
        question: ChatAsk,
        worth: Callable[[Reply], dict[str, Any]],
        repair: bool,
    ) -> Reply:
        model = self._model(name)
        model.ready()
        at, what, label = clock.iso(clock.now()), asked.operation, asked.label
        call = Called(at=at, operation=what, model=name, prompt=label, outcome="ok", repair=repair)
        with self._slots, model.alone(question.seconds):
            self._allow(name, question, what)
            began = clock.monotonic()
            try:
                reply = model.ask(question)
            except TooLarge as error:
                self.note(call, began, outcome="too large", error=str(error))
                raise TooLong(f"{error}. Set request_tokens in [models] lower.") from None
            except ModelError as error:
                bad = "bad" if isinstance(error, BadModelOutput) else "unavailable"
                if question.seconds and clock.monotonic() - began >= question.seconds:
                    bad = "late"
                self.note(call, began, outcome=bad, error=str(error))
                raise
            self.note(call, began, **worth(reply), **self._counted(name, question, reply))
        return reply

    def batched(self, purpose: str, put: bool) -> AbstractContextManager[None]:
        """A run that takes its answers from batches (see `later`)."""
        from wakebook.models.later import later
        from wakebook.models.model import at_base

        base = partial(at_base, settings=self._config, environ=self._environ)
        return later(self, self._home, base, purpose, put)

    def _model(self, name: str) -> Model:
        if name not in self._made:
            given = (self._config, self._environ, self._lend, self._patience)
            self._made[name] = make(name, *given, self._home.cache)
        return self._made[name]

    def _allow(self, name: str, question: ChatAsk, operation: str) -> None:
        """Raises if the budget is spent, or the model is being left alone."""
        # raises ConfigError before anything is paid for
        size = question.size()
        self.afford(name, self.cost(name, size, 0), size)
        if not self.insist and (why := self._left_alone(name, operation)):
            raise LeftAlone(why)

    def afford(self, name: str, cost: float | None, tokens: int) -> None:
        """Raises if a call could not be written down, or the budget does not reach for it."""
        try:
            self.calls.ready(clock.now())
        except OSError as error:
            message = f"No model is asked: its cost could not be written down ({error})."
            self.troubles.append(message)
            with suppress(OSError):
                self._home.trace("failure", where="costs", error=message)
            raise LeftAlone(message) from None
        if message := self.lacking(name, cost or 0.0, 1, tokens):
            raise NotAsked(message)

    def lacking(self, name: str, dollars: float, calls: int = 0, tokens: int = 0) -> str:
        """Which limit does not allow so much more; "" if all do. It is traced."""
        more = {"dollars": dollars, "calls": calls, "tokens": tokens}
        for limit in self.limits(name):
            if not limit.allows(more[limit.of]):
                message = limit.used_up()
                self._home.trace("failure", where="budget", error=message)
                self.troubles.append(message)
                return message
        return ""

    def _left_alone(self, name: str, operation: str = "") -> str:
        """Why a model that failed too often is not asked now; "" if it is."""
        if operation not in HURRIED and (why := self._useless(name)):
            return why
        settings, now = self._config.models, clock.now()
        pause = timedelta(minutes=settings.pause_minutes)
        since = self._lent_at if name == HOST else ""
        hurried = operation in HURRIED
        failed = self.calls.paused(name, now, settings.failures, pause, hurried, since)
        last = clock.parse(failed.at) if failed else None
        if failed is None or last is None:
            return ""
        times = f"{settings.failures} times in a row" if settings.failures > 1 else "once"
        return (
            f"{name} failed {times} and is left alone until {clock.iso(last + pause)} "
            f"(`catch-up --retry-failed` asks at once). Its last error: {failed.error}"
        )

    def _useless(self, name: str) -> str:
        """That a model gives no usable line, if it never does; "" otherwise."""
        last = self.calls.useless(name, clock.now())
        at = clock.parse(last.at) if last else None
        if last is None or at is None or not at <= clock.now() < at + DAY:
            return ""
        return (
            f"{name} gave no usable line in its last {TRIES} answers, and is left alone until "
            f"{clock.iso(at + DAY)} (`catch-up --retry-failed` asks at once). It may be too small "
            f"for this: name another model in [models]. Its last answer: {last.error}."
        )

    def _counted(self, name: str, question: ChatAsk, reply: Reply) -> dict[str, Any]:
        estimated = not (reply.tokens_in or reply.tokens_out)
        tokens_in = question.size() if estimated else reply.tokens_in
        tokens_out = text.tokens(reply.text) if estimated else reply.tokens_out
        cost = reply.cost
        if cost is None:
            cost = self.cost(name, tokens_in, tokens_out, reply.cached, reply.written)
        return {
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cached": reply.cached,
            "estimated": estimated,
            "cost": None if cost is None else round(cost, 8),
        }

    def cost(self, name: str, *tokens: int) -> float | None:
        """Dollars, for tokens as `Price.cost` takes them; None if the price is not known."""
        price = self.price(name)
        return price.cost(*tokens) if price else None

    def note(self, call: Called, began: float, **known: Any) -> None:
        import msgspec

        seconds = round(clock.monotonic() - began, 3)
        try:
            self.calls.add(msgspec.structs.replace(call, seconds=seconds, **known))
        except OSError as error:  # the answer is there and paid for: it is used
            self.troubles.append(f"What a call cost could not be written down: {error}")

    def _plan(self, asked: Prompt, name: str, question: ChatAsk) -> Planned:
        answer = asked.answer_tokens(size := question.size())
        cost, message = self.cost(name, size, answer), "\n\n".join(question.turns)
        cost = cost / 2 if cost and self.later and question.key else cost  # as batches cost
        told = (question.system, message, size, answer, cost)
        return Planned(asked.operation, name, asked.label, *told)

    def prompts(self) -> list[prompt.Known]:
        return prompt.known(self._home)

    def copy_prompt(self, name: str) -> Path:
        return prompt.copy(self._home, name)

    def limits(self, name: str) -> list[Limit]:
        """What a model may use, and has used."""
        from wakebook.models.budget import limits

        return limits(self._config.models, self.calls, name, clock.now())

    @property
    def limit(self) -> float:
        """Dollars a month; 0: none."""
        return self._config.models.monthly_budget

    def budget(self) -> str:
        """A warning about the budget, if one is due."""
        return next(filter(None, (one.warning() for one in self.limits(self.name("main")))), "")

    def problems(self) -> list[str]:
        """What `status` should say: a model left alone, a budget, a price that is not known."""
        found: list[str] = []
        own = self.limit and "monthly_budget" in vars(self._config.models)  # set by the user
        for name in dict.fromkeys(filter(None, (self.name("main"), self.name("cheap")))):
            found += filter(None, [self._left_alone(name)])
            try:
                self.price(name)
                self._model(name).ready()
            except (ConfigError, ModelUnavailable) as error:
                found += [] if isinstance(error, LeftAlone) else [str(error)]
                continue
            counted = name == HOST or is_client(name)  # by calls and tokens
            if own and not counted and self.price(name) is None:
                found.append(self._unpriced(name))
        unpriced = {one.model for one in self._embedded() if one.cost is None and own}
        found += map(self._unpriced, unpriced)
        if self.name("main"):
            found += [one.problem for one in self.prompts() if one.problem]
        return [*found, *filter(None, [self.budget()])]

    def _embedded(self) -> list[Called]:
        calls = self.calls.of_month(clock.now())
        return [one for one in calls if one.operation == "embed" and one.tokens_in]

    def _unpriced(self, name: str) -> str:
        return (
            f"The price of {name} is not known, so the monthly budget does not see it. "
            f"Write it into {self._home.root / 'prices.toml'} (docs/models.md)."
        )
