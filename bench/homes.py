"""Homes for a while, and the model that a benchmark is to ask."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wakebook import Memory
from wakebook.base import config as configs
from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.models import model as makes
from wakebook.models.wire import PROVIDERS
from wakebook.upkeep.status import Sum

FAILURES = 20  # in a row, before the model is left alone


def add_model_options(options: argparse.ArgumentParser) -> None:
    add = options.add_argument
    add("--model", default="", metavar="PROVIDER/MODEL", help="the model to ask")
    add("--base-url", default="", metavar="URL", help="where it is, if not at the usual address")
    add("--home", type=Path, help="take model, prompts and prices from this home")


def configured(model: str, base_url: str, home: Path | None) -> Config | None:
    """Settings that name the chosen model; None if none was chosen. Exits if there is none."""
    try:
        if home:
            Home(home).require()
        config = configs.load(home / "config.toml") if home else Config()
        name = model or config.models.main or config.models.cheap
        if not name:
            if home or base_url:
                raise SystemExit("No model: give --model, or a home whose [models] names one.")
            return None
        config = _at(config, name, base_url) if base_url else config
        makes.make(name, config, os.environ, None)  # is it one?
    except WakebookError as error:
        raise SystemExit(str(error)) from None
    chosen = config.models.with_(
        main=name, cheap="", off=(), failures=max(FAILURES, config.models.failures)
    )
    return config.with_(models=chosen)


def _at(config: Config, name: str, base_url: str) -> Config:
    """The model's provider at another address."""
    provider = name.partition("/")[0]
    if provider not in PROVIDERS:
        raise SystemExit(f"{name!r} has no address: write provider/model.")
    return config.with_(**{provider: getattr(config, provider).with_(base_url=base_url)})


@contextmanager
def temporary(config: Config, like: Path | None = None) -> Iterator[Memory]:
    """A home for a while, without git, with the prices and the prompts of another one."""
    with tempfile.TemporaryDirectory() as folder:
        without_git(Path(folder))
        memory = Memory(folder, config=config.with_(git=config.git.with_(enabled=False)))
        memory.init()
        equip(Path(folder), like)
        yield memory


def without_git(folder: Path) -> None:
    """Spare a home that is made next its repository."""
    (folder / "config.toml").write_text("[git]\nenabled = false\n", encoding="utf-8")


def equip(folder: Path, like: Path | None) -> None:
    """Give a home the prices and the prompts of another one."""
    if like and (like / "prices.toml").is_file():
        shutil.copy(like / "prices.toml", folder)
    if like and (like / "prompts").is_dir():
        shutil.copytree(like / "prompts", folder / "prompts", dirs_exist_ok=True)


def dollars(calls: Sum) -> str:
    unknown = f" ({calls.unpriced} calls without a known price)" if calls.unpriced else ""
    return f"${calls.cost:,.4f}{unknown}"
