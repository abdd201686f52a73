"""Config: every setting with its default and its place in config.toml.

The sections below are the only list of settings. `load` refuses a name or a type that they do not
know, with the line to look at, so that a typing mistake is never a silent default. What each one
means stands in starter/config.toml, which every home begins with: all settings commented out, so
that defaults can still improve.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

from wakebook.base.errors import ConfigError

OPERATIONS = ("extract", "briefing", "contradictions", "commit", "condense", "gate")
Texts = tuple[str, ...]
SLOTS = ("identity", "memory", "handoff", "journal", "projects", "topics", "recalled", "history")
MACHINE = "machine.toml"  # settings of one machine, beside config.toml and not in git
AGENT = (
    "agent:"  # how the project of an OpenClaw agent other than the main one begins: it is closed
)
CLIENTS = ("claude-code", "codex", "pi")  # models that are asked through a program of the user's
MODES = ("off", "read-only", "ask")  # of a project
ONLY = {"context.have": SLOTS, "models.off": OPERATIONS}  # what a list may hold
MOST = {  # the largest number, if not 1 for a share and a million for a count
    "pruning.ttl_ms": 86_400_000,
    "models.monthly_budget": 1_000_000,
    "models.daily_budget": 1_000_000,
    "models.daily_tokens": 1_000_000_000,
    "models.monthly_tokens": 1_000_000_000,
    "hooks.seconds": 60,
    "service.idle_minutes": 10_000,
    "service.port": 65_535,
}
LEAST = {  # the smallest number, if not 1, or 0 where that is the default
    "service.port": 0,
    "models.daily_calls": 0,
    "models.monthly_calls": 0,
    "models.daily_tokens": 0,
    "models.monthly_tokens": 0,
    "state.told_megabytes": 0,
}


def is_client(name: str) -> bool:
    """Whether provider/model is asked through a program of the user's."""
    return name.partition("/")[0] in CLIENTS


class Section:
    """Settings that belong together. Not a dataclass: making ten of those takes longer than
    a search, and this is read by everything that starts."""

    settings: ClassVar[dict[str, Any]]  # with their defaults

    def __init_subclass__(cls) -> None:
        cls.settings = {key: value for key, value in vars(cls).items() if key[0] != "_"}

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.settings.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no setting {min(unknown)!r}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings are read-only; use with_({name}=...)")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values() == other.values()

    __hash__ = None  # type: ignore[assignment]

    def values(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.settings}

    def with_(self, **changes: Any) -> Self:
        return type(self)(**{**self.__dict__, **changes})


class Hosts(Section):
    claude_code: Texts = ("~/.claude/projects",)
    codex: Texts = ("~/.codex/sessions",)
    pi: Texts = ("~/.pi/agent/sessions",)
    openclaw: Texts = ("~/.openclaw",)
    plain: Texts = ()


class Capture(Section):
    kinds: Texts = ("main",)
    skip_keys: Texts = ("cron:", "sub:", "hook:")
    idle_minutes: int = 360
    window_kilobytes: int = 256
    window_source_megabytes: int = 16
    max_record_megabytes: int = 64


class Briefing(Section):
    memory_file: str = ""
    active_days: int = 14
    decision_days: int = 7
    stale_days: int = 30
    open_days: int = 21
    max_lines: int = 80
    max_contradictions: int = 3


class NoteSettings(Section):
    memory_warn: int = 180
    memory_cap: int = 200
    memory_refuse: int = 220
    rollup_lines: int = 60
    journal_lines: int = 40
    note_lines: int = 120
    observations_words: int = 8000
    journal_days: int = 90
    decay_per_day: float = 0.05
    retire_score: float = 0.01
    retire_days: int = 30
    vault: str = ""


class Learn(Section):
    approve: bool = False
    joined_agents: Texts = ()


class ProjectSettings(Section):
    """Not settings but projects, each with its mode."""

    def __init__(self, **modes: str) -> None:
        self.__dict__.update(modes)  # by name, folder or remote

    def values(self) -> dict[str, str]:
        return self.__dict__


class Mounts(Section):
    homes: Texts = ()
    notes: Texts = ()


class Watch(Section):
    writes: int = 40
    pause_minutes: int = 10
    cooldown_minutes: int = 5


class Search(Section):
    text_weight: float = 0.5
    vector_weight: float = 0.5
    max_results: int = 6
    min_score: float = 0.1
    half_life_days: int = 30
    recency_weight: float = 0.03
    diversity: float = 0.7
    snippet_characters: int = 700
    max_file_megabytes: int = 10


class ContextSettings(Section):
    budget: int = 8192
    fixed_share: float = 0.5
    identity: int = 4352
    memory: int = 768
    handoff: int = 512
    journal: int = 1024
    projects: int = 256
    topics: int = 1536
    history_share: float = 0.5
    reference_boost: float = 0.1
    have: Texts = ()


class Topics(Section):
    similarity_threshold: float = 0.15
    strict_threshold: float = 0.3
    gate_seconds: int = 3
    fired_hours: int = 24


class Pruning(Section):
    mode: str = "cache-ttl"
    ttl_ms: int = 300_000
    keep_last_assistants: int = 3
    soft_trim_ratio: float = 0.3
    hard_clear_ratio: float = 0.5
    min_prunable_tool_chars: int = 50_000
    soft_trim_max_chars: int = 4_000
    soft_trim_head_chars: int = 1_500
    soft_trim_tail_chars: int = 1_500
    hard_clear: bool = True
    hard_clear_placeholder: str = "[Old tool result content cleared]"
    tools_allow: Texts = ()
    tools_deny: Texts = ()
    chars_per_token: int = 4


class Flush(Section):
    enabled: bool = True
    soft_threshold_tokens: int = 4_000
    reserve_tokens_floor: int = 20_000


class Embedding(Section):
    provider: str = "auto"
    model: str = ""
    base_url: str = ""
    key_variable: str = ""
    key_file: str = ""
    dimensions: int = 0
    batch_size: int = 64
    batch_tokens: int = 8000
    max_tokens: int = 8000
    timeout_seconds: int = 30
    attempts: int = 5
    query_prefix: str = ""
    document_prefix: str = ""


class ModelSettings(Section):
    main: str = ""
    cheap: str = ""
    program: str = ""
    off: Texts = ()
    daily_budget: float = 5.0
    monthly_budget: float = 50.0
    daily_calls: int = 400
    monthly_calls: int = 6_000
    daily_tokens: int = 5_000_000
    monthly_tokens: int = 60_000_000
    request_tokens: int = 12000
    small: str = "auto"
    timeout_seconds: int = 120
    attempts: int = 3
    concurrency: int = 4
    failures: int = 3
    pause_minutes: int = 10


class ProviderSettings(Section):
    base_url: str = ""
    key_variable: str = ""
    key_file: str = ""


class Git(Section):
    enabled: bool = True
    batch_minutes: int = 30
    push: str = ""
    explore_days: int = 7
    hooks: bool = True


class Schedule(Section):
    time_zone: str = ""
    observe: str = "*/15 * * * *"
    commit: str = "*/30 * * * *"
    briefing: str = "0 3 * * *"
    daily: str = "0 23 * * *"
    weekly: str = "30 23 * * 0"
    monthly: str = "0 4 1 * *"
    topics: str = "*/5 * * * *"
    prune: str = "0 0 * * 0"
    tags: str = "59 23 * * *"
    sync: str = "*/5 * * * *"


class HookSettings(Section):
    seconds: float = 2.0
    characters: int = 9_900
    budget: int = 1_500
    start: int = 900


class Service(Section):
    port: int = 7311
    auto: bool = True
    idle_minutes: float = 30.0
    memory_mb: int = 1_000


class StateSettings(Section):
    keep_days: int = 30
    told_megabytes: int = 8
    told_days: int = 60


class Config(Section):
    hosts: Hosts = Hosts()
    capture: Capture = Capture()
    briefing: Briefing = Briefing()
    learn: Learn = Learn()
    projects: ProjectSettings = ProjectSettings()
    notes: NoteSettings = NoteSettings()
    mounts: Mounts = Mounts()
    watch: Watch = Watch()
    search: Search = Search()
    pruning: Pruning = Pruning()
    flush: Flush = Flush()
    context: ContextSettings = ContextSettings()
    topics: Topics = Topics()
    embedding: Embedding = Embedding()
    models: ModelSettings = ModelSettings()
    anthropic: ProviderSettings = ProviderSettings()
    openai: ProviderSettings = ProviderSettings()
    gemini: ProviderSettings = ProviderSettings()
    ollama: ProviderSettings = ProviderSettings()
    compatible: ProviderSettings = ProviderSettings()
    git: Git = Git()
    schedule: Schedule = Schedule()
    hooks: HookSettings = HookSettings()
    service: Service = Service()
    state: StateSettings = StateSettings()


def load(path: Path) -> Config:
    """The settings of a home. A missing file means every default. What machine.toml beside it says
    holds on this machine instead."""
    own = path.with_name(MACHINE)
    raw, here = _read(path), _read(own)
    for name, values in here.items():
        _filled(name, values, own)  # what is wrong is said of the right file
        there = raw.get(name)
        raw[name] = there | values if isinstance(there, dict) else values
    return Config(**{name: _filled(name, values, path) for name, values in raw.items()})


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8: {error}. Correct that line.") from error
    if _as_written(text):
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. Correct that line.") from error


def _as_written(text: str) -> bool:
    """Whether a file sets nothing. It need not be parsed then, which takes a while."""
    lines = {line for line in text.splitlines() if line[:1] not in ("", "#")}
    return lines <= {f"[{name}]" for name in Config.settings}


def _filled(name: str, values: Any, path: Path) -> Section:
    """A section with these values. Raises ConfigError for one that is not known or not right."""
    if name not in Config.settings:
        raise ConfigError(f"{path}: unknown section [{name}]; {nearest(name, Config.settings)}")
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: [{name}] is a section; write its settings below it.")
    if name == "projects":
        for project, mode in values.items():
            if mode not in MODES:
                hint = f"write one of {', '.join(map(repr, MODES))}, or take the line out"
                raise ConfigError(f"{path}: [projects] {project!r} is {mode!r}; {hint}.")
        return ProjectSettings(**values)
    section: type[Section] = type(Config.settings[name])
    known = section.settings
    for key in values:
        if key not in known:
            hint = nearest(key, known)
            raise ConfigError(f"{path}: unknown setting {key!r} in [{name}]; {hint}")
    return section(
        **{
            key: _checked(value, known[key], f"{name}.{key}", f"{path}: [{name}] {key}")
            for key, value in values.items()
        }
    )


def _checked(value: Any, default: Any, key: str, where: str) -> Any:
    if isinstance(default, tuple):
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f'{where}: expected a list of strings, like ["a", "b"].')
        for item in value:
            if item not in ONLY.get(key, value):
                raise ConfigError(f"{where}: unknown {item!r}; {nearest(item, ONLY[key])}")
        return tuple(value)
    if isinstance(default, float):
        most = MOST.get(key, 1)
        if type(value) not in (int, float) or not 0 <= value <= most:
            raise ConfigError(f"{where}: expected a number from 0 to {most:,}, got {value!r}.")
        return float(value)
    if type(value) is not type(default):
        raise ConfigError(f"{where}: expected {type(default).__name__}, got {value!r}.")
    if type(value) is int:
        least, most = LEAST.get(key, min(default, 1)), MOST.get(key, 1_000_000)
        if not least <= value <= most:
            raise ConfigError(f"{where}: must be between {least} and {most:,}, got {value}.")
    return value


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}."


def shipped() -> str:
    """config.toml as a new home has it."""
    return (Path(__file__).parents[1] / "starter" / "config.toml").read_text(encoding="utf-8")


def meanings(section: str) -> dict[str, str]:
    """What the settings of a section are for."""
    import re

    text = shipped().partition(f"\n[{section}]\n")[2].partition("\n[")[0]
    return dict(re.findall(r"^# (\w+) = .*?  # (.+)$", text, re.MULTILINE))


def expand(path: str) -> Path:
    """A path from the settings, with ~ and variables resolved."""
    return Path(os.path.expandvars(path)).expanduser()
