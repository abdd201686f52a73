"""Settings of servers and workers: the environment, then team.toml, then a default.

team.toml is the file that WAKEBOOK_TEAM names, or the one in this folder, or /etc/wakebook's. Each
setting can also come from the environment: WAKEBOOK_TEAM_URL, WAKEBOOK_TEAM_PORT, …
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base.errors import ConfigError, WakebookError

NAME = "team.toml"
PLACES = (Path(NAME), Path("/etc/wakebook") / NAME)
VARIABLE = "WAKEBOOK_TEAM"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: str = ""  # of the database: postgresql://…
    folder: str = "~/.cache/wakebook-team"  # of working copies: a quick disk, nothing to back up
    host: str = "127.0.0.1"  # that a server listens at
    port: int = 7322
    threads: int = 8  # requests that a server answers at once
    jobs: int = 2  # that a worker does at once
    heart_seconds: float = 5.0  # between a worker's heartbeats
    wait_seconds: float = 10.0  # for a database that is gone

    def place(self, what: str) -> Path:
        return Path(self.folder).expanduser() / what


def load(env: Mapping[str, str], **given: Any) -> Settings:
    """`given`: what the command line says."""
    named = env.get(VARIABLE)
    paths = (Path(named).expanduser(),) if named else PLACES
    found: dict[str, Any] = {}
    where = "the environment"
    for path in paths:
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {error}. Correct it.") from error
        where = str(path)
        break
    else:
        if named:
            raise ConfigError(f"{named}: there is no such file ({VARIABLE} names it).")
    for key in Settings.__struct_fields__:
        if (value := env.get(f"{VARIABLE}_{key.upper()}")) is not None:
            found[key] = value
    found |= {key: value for key, value in given.items() if value is not None}
    try:
        return msgspec.convert(found, Settings, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(Settings.__struct_fields__)
        raise ConfigError(f"{where}: {error}. There are: {known}.") from error


def required(**given: Any) -> Settings:
    """Settings that name a database."""
    found = load(os.environ, **given)
    if not found.url:
        raise WakebookError(
            f'No database is named. Write url = "postgresql://…" into {NAME}, or set '
            f"{VARIABLE}_URL."
        )
    return found
