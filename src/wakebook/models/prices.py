"""Prices: what a provider asks for a model's tokens.

The numbers are data, in prices.toml beside this file, with the date on which they were true.
A home may have a file of the same form; its models come before ours. A name is found as it is,
or without the date or the alias at its end. A model that is not in the table has no price: no
model is priced as another one with a similar name.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from wakebook.base.errors import ConfigError

SHIPPED = Path(__file__).with_name("prices.toml")
MOST = 1_000_000
_END = re.compile(
    r"(?:-20\d{6}|-20\d\d-[01]\d-[0-3]\d|-[01]\d-[0-3]\d|(?P<month>-[01]\d-20\d\d)"
    r"|-00\d|[-:]latest)\Z"
)
_VENDORS = {"google": "gemini"}  # what a router calls a provider that we call otherwise
_CLIENTS = {"claude-code": "anthropic", "codex": "openai"}  # whose models a client asks
_FORM = '"name" = { input = 1.00, output = 5.00, cached = 0.10, written = 1.25 }'


def dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float  # input that is read from the provider's cache
    written: float  # input that is written to it

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> float:
        """Dollars. `tokens_in` are all of them, also those `cached` and `written`."""
        plain = max(tokens_in - cached - written, 0)
        asked = plain * self.input + cached * self.cached + written * self.written
        return (asked + tokens_out * self.output) / 1_000_000


FREE = Price(0.0, 0.0, 0.0, 0.0)


class Table(NamedTuple):
    date: str  # of the shipped prices
    rows: Mapping[tuple[str, str], Price]  # by provider and model

    def find(self, provider: str, model: str) -> Price | None:
        if provider == "gemini":
            model = model.removeprefix("models/")
        found = self._at(provider, model)
        if found is None and provider == "ollama":
            return FREE  # it runs on the user's own machine
        if found is None and provider == "compatible":
            vendor, _, name = model.partition("/")
            return self._at(_VENDORS.get(vendor, vendor), name, _dashed)
        if found is None and provider in _CLIENTS:
            vendor = _CLIENTS[provider]
            return self._at(vendor, model) or self._newest(vendor, f"claude-{model}-")
        return found

    def _newest(self, provider: str, beginning: str) -> Price | None:
        """Of the newest model whose name begins like this: Claude Code says "haiku"."""
        names = [name for at, name in self.rows if at == provider and name.startswith(beginning)]
        return self.rows[provider, max(names)] if names else None

    def _at(self, provider: str, model: str, form: Callable[[str], str] = str) -> Price | None:
        rows = {form(name): price for (at, name), price in self.rows.items() if at == provider}
        return next((rows[form(name)] for name in _names(model) if form(name) in rows), None)


def _dashed(name: str) -> str:
    """With 4.5 as 4-5: a router writes the one, Anthropic the other."""
    return re.sub(r"(?<=\d)\.(?=\d)", "-", name)


def _names(model: str) -> Iterator[str]:
    """A name, then what it is without the date or the alias at its end."""
    yield model
    if end := _END.search(model):
        yield model[: end.start()]
        if end["month"]:  # "gemini-2.5-flash-preview-09-2025"
            yield model[: end.start()].removesuffix("-preview")


def load(own: Path | None = None) -> Table:
    """The shipped prices, with those of the user's file, if there is one, before them."""
    shipped = _shipped()
    if own is None:
        return shipped
    return Table(shipped.date, MappingProxyType({**shipped.rows, **_rows(_read(own), own)}))


@functools.cache
def _shipped() -> Table:
    raw = _read(SHIPPED)
    return Table(raw["date"], MappingProxyType(_rows(raw, SHIPPED)))


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}. Make it readable.") from error
    except (ValueError, RecursionError) as error:  # not TOML, or not even UTF-8
        raise ConfigError(f"{path}: not valid TOML: {error}. Correct that line.") from error


def _rows(raw: dict[str, Any], path: Path) -> dict[tuple[str, str], Price]:
    rows: dict[tuple[str, str], Price] = {}
    for provider, models in raw.items():
        if isinstance(models, dict):
            for model, values in models.items():
                rows[provider, model] = _price(values, f'{path}: [{provider}] "{model}"')
        elif provider != "date":
            raise ConfigError(f"{path}: {provider} is in no [provider]. Write, below one, {_FORM}.")
    return rows


def _price(values: Any, where: str) -> Price:
    if not isinstance(values, dict) or not {"input", "output"} <= values.keys():
        raise ConfigError(f"{where}: no input or no output. Write {_FORM}, the name in quotes.")
    for key, value in values.items():
        if key not in Price._fields:
            raise ConfigError(f"{where}: unknown {key!r}. Write {_FORM}.")
        if type(value) not in (int, float) or not 0 <= value <= MOST:
            raise ConfigError(f"{where}: {key} is {value!r}. Write a number from 0 to {MOST:,}.")
    known = {key: float(value) for key, value in values.items()}
    return Price(**{"cached": known["input"], "written": known["input"], **known})
