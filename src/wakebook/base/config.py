"""Config: every setting with its default, its meaning and its place in config.toml.

The sections below are the only list of settings. `config.toml` is generated from
them (`as_toml`), and `load` refuses a name or a type that they do not know, with the
line to look at, so that a typing mistake is never a silent default.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

from wakebook.base.errors import ConfigError

OPERATIONS = ("extract", "briefing", "contradictions", "commit", "condense", "gate")
Texts = tuple[str, ...]
SLOTS = ("identity", "memory", "handoff", "journal", "projects", "topics", "recalled", "history")


class Setting:
    """A default, and what it means. `most` and `least`: the limits of a number, if not the
    usual ones; `only`: what a list may hold."""

    def __init__(
        self, default: Any, doc: str = "", most: float = 1, only: Texts = (), least: int = -1
    ) -> None:
        self.default, self.doc, self.most = default, doc, most
        self.only, self.least = only, least


opt: Any = Setting  # for the type checker, a setting is its default


class Section:
    """Settings that belong together. Not a dataclass: making ten of those takes longer than
    a search, and this is read by everything that starts."""

    settings: ClassVar[dict[str, Setting]]

    def __init_subclass__(cls) -> None:
        own = {key: item for key, item in vars(cls).items() if isinstance(item, Setting)}
        for key, item in own.items():
            setattr(cls, key, item.default)
        cls.settings = getattr(cls, "settings", {}) | own

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
    """Where the agents keep their sessions. A folder that does not exist is skipped."""

    claude_code: Texts = opt(("~/.claude/projects",), "Claude Code transcripts")
    codex: Texts = opt(("~/.codex/sessions",), "Codex rollout files")
    pi: Texts = opt(("~/.pi/agent/sessions",), "pi session trees")
    openclaw: Texts = opt(
        ("~/.openclaw",), "OpenClaw state folders (SQLite store and older JSONL files)"
    )
    plain: Texts = opt(
        (), "folders with your own agent's chats (.jsonl or .md, see docs/formats.md)"
    )


class Capture(Section):
    """What becomes a transcript."""

    kinds: Texts = opt(("main",), "kinds of session to keep: main, group, subagent, cron, hook")
    skip_keys: Texts = opt(
        ("cron:", "sub:", "hook:"), "session keys with one of these beginnings are skipped"
    )
    idle_minutes: int = opt(
        360, "a pause this long ends a window; the next message starts a new one"
    )
    window_kilobytes: int = opt(
        256, "a window whose transcript grows beyond this is closed and a new one begins"
    )
    window_source_megabytes: int = opt(
        16, "the same, for the part of the host's file that a window covers"
    )
    max_record_megabytes: int = opt(
        64, "a single record larger than this is skipped and counted, never loaded"
    )


class Briefing(Section):
    """The generated block of MEMORY.md."""

    memory_file: str = opt(
        "", "path of MEMORY.md if it lives elsewhere, for instance in an OpenClaw workspace"
    )
    active_days: int = opt(14, "a subject with an entry this recent is active")
    decision_days: int = opt(7, "decisions this recent are listed")
    stale_days: int = opt(
        30, "a subject is stale when it was silent this long until it was mentioned again"
    )
    max_lines: int = opt(80, "lines between the markers, at most")
    max_contradictions: int = opt(3, "contradictions shown at once, at most")


class Notes(Section):
    """The notes that are written from the log, and how they stay small."""

    memory_warn: int = opt(180, "lines of MEMORY.md from which `status` warns")
    memory_cap: int = opt(200, "lines of MEMORY.md that its generated parts respect")
    memory_refuse: int = opt(220, "a commit with a longer MEMORY.md is refused")
    rollup_lines: int = opt(60, "lines of what the weekly rollup keeps in MEMORY.md")
    journal_lines: int = opt(40, "a day's journal with more lines is condensed to this")
    note_lines: int = opt(120, "the same for every other note, monthly")
    observations_words: int = opt(8000, "observations with more words are reflected upon")
    journal_days: int = opt(90, "a journal older than this moves to archive/")
    decay_per_day: float = opt(0.05, "a note's score is e^(-this x days) x references")
    retire_score: float = opt(0.01, "a note that scores less ...")
    retire_days: int = opt(30, "... and was silent for longer than this moves to archive/")


class Mounts(Section):
    """Other homes whose knowledge can be found from here. They are only ever read."""

    homes: Texts = opt((), 'like ["~/team/.wakebook"]')


class Watch(Section):
    """When `wakebook jobs watch` catches up."""

    writes: int = opt(40, "new records in a session that trigger a catch-up")
    cooldown_minutes: int = opt(5, "pause between two triggers of one session")


class Search(Section):
    """How search ranks. The defaults are what the benchmark found best."""

    text_weight: float = opt(0.5, "how much the words count ...")
    vector_weight: float = opt(0.5, "... against the meaning")
    max_results: int = opt(6, "hits, at most")
    min_score: float = opt(0.1, "a hit that fits less than this is not shown (0 to 1)")
    half_life_days: int = opt(30, "after this time a dated thing has lost half of ...")
    recency_weight: float = opt(0.03, "... this share of its score; 0 switches it off")
    diversity: float = opt(0.7, "1 ranks by fit alone; less avoids hits that say the same")
    snippet_characters: int = opt(700, "of a hit's text, around what matched")
    max_file_megabytes: int = opt(10, "a larger note is not indexed, and `status` says so")


class Context(Section):
    """What an agent is told for a message, in tokens. A fixed part that is longer is cut short."""

    budget: int = opt(8192, "of the whole context")
    fixed_share: float = opt(
        0.5, "of the budget that identity, memory, handoff, journal and projects may fill"
    )
    identity: int = opt(4352, "of the files in knowledge/identity/")
    memory: int = opt(768, "of MEMORY.md")
    handoff: int = opt(512, "of the last session's handoff")
    journal: int = opt(1024, "of the journal of today and yesterday")
    projects: int = opt(256, "of the list of active projects")
    topics: int = opt(1536, "of active topics and the files that they subscribe to")
    history_share: float = opt(
        0.5, "of what is left when both search hits and the session's history want it"
    )
    reference_boost: float = opt(0.1, "a hit's score grows by this share for every reference to it")
    have: Texts = opt((), f"slots that your host loads by itself: {', '.join(SLOTS)}", only=SLOTS)


class Topics(Section):
    """When a topic comes to the agent."""

    similarity_threshold: float = opt(
        0.15, "how alike a message and an automatic topic must be, beside a trigger that matches"
    )
    strict_threshold: float = opt(
        0.3, "the same without a trigger, and for gated topics when no model can be asked"
    )
    gate_seconds: int = opt(3, "how long the model may take to say yes or no")
    fired_hours: int = opt(
        24, "a topic that a webhook, a schedule or a hint has fired waits this long for a turn"
    )


class Pruning(Section):
    """How `wakebook window prune` makes old tool results smaller (docs/window.md)."""

    mode: str = opt("cache-ttl", "cache-ttl: once the provider's cache is cold; or off")
    ttl_ms: int = opt(300_000, "how long that cache lasts after a call", most=86_400_000)
    keep_last_assistants: int = opt(3, "from this many answers before the end, all is kept")
    soft_trim_ratio: float = opt(0.3, "from this share of the window long ones are trimmed")
    hard_clear_ratio: float = opt(0.5, "still at this share, the oldest ones are cleared ...")
    min_prunable_tool_chars: int = opt(50_000, "... if all of them hold this much together")
    soft_trim_max_chars: int = opt(4_000, "a result with more characters is trimmed ...")
    soft_trim_head_chars: int = opt(1_500, "... to its first ...")
    soft_trim_tail_chars: int = opt(1_500, "... and its last characters")
    hard_clear: bool = opt(True, "clear at all")
    hard_clear_placeholder: str = opt(
        "[Old tool result content cleared]", "what stands where a result was cleared"
    )
    tools_allow: Texts = opt((), 'tools to prune, like "browser_*"; none: all')
    tools_deny: Texts = opt((), "tools whose results are never pruned")
    chars_per_token: int = opt(4, "characters that count as a token here")


class Flush(Section):
    """When `wakebook window flush` is due: before a host compacts a conversation."""

    enabled: bool = opt(True, "flush at all; asked for without figures, it always runs")
    soft_threshold_tokens: int = opt(4_000, "due this many tokens before ...")
    reserve_tokens_floor: int = opt(20_000, "... the host keeps this many free by compacting")


class Embedding(Section):
    """Which model finds what is alike in meaning. Nothing leaves the machine by default."""

    provider: str = opt(
        "auto",
        "auto, builtin, none, openai, gemini, ollama, compatible, onnx, sentence-transformers",
    )
    model: str = opt("", "the model's name at the provider, or the folder of a local one")
    base_url: str = opt("", "address of a compatible server, like http://127.0.0.1:8080/v1")
    key_variable: str = opt("", "the environment variable that holds the key")
    key_file: str = opt("", "a file that holds the key; only you may read it (mode 0600)")
    dimensions: int = opt(0, "numbers in a vector, where the model can choose; 0: its own")
    batch_size: int = opt(64, "texts in one request, at most")
    batch_tokens: int = opt(8000, "tokens in one request, about")
    max_tokens: int = opt(8000, "a longer text is cut before it is sent")
    timeout_seconds: int = opt(30, "how long one request may take")
    attempts: int = opt(5, "tries of one request before the provider counts as dead")
    query_prefix: str = opt("", "put before a question, for models that want it")
    document_prefix: str = opt("", "the same for what is searched")


class Models(Section):
    """Which chat models read the conversations. None by default: rules do, on this machine."""

    main: str = opt(
        "", 'provider/model, like "anthropic/claude-sonnet-5-5" or "ollama/qwen3:8b"; or "host"'
    )
    cheap: str = opt("", "the same for small jobs; empty: as main")
    off: Texts = opt((), f"jobs that never ask a model: {', '.join(OPERATIONS)}", only=OPERATIONS)
    monthly_budget: float = opt(
        0.0, "dollars; `status` warns at 80 %, then rules take over; 0: no limit", most=1_000_000
    )
    request_tokens: int = opt(12000, "of a conversation in one request, about")
    timeout_seconds: int = opt(120, "how long one request may take")
    attempts: int = opt(3, "tries of one request before it counts as failed")
    concurrency: int = opt(4, "requests at the same time, at most")
    failures: int = opt(3, "after this many failures in a row a model is left alone ...")
    pause_minutes: int = opt(10, "... for this long")


class Provider(Section):
    """How a provider of chat models is reached."""

    base_url: str = opt("", "another address than the usual one")
    key_variable: str = opt("", "the environment variable that holds the key")
    key_file: str = opt("", "a file that holds the key; only you may read it (mode 0600)")


class Anthropic(Provider):
    """For models called anthropic/... The key is ANTHROPIC_API_KEY unless set here."""


class OpenAI(Provider):
    """For models called openai/... The key is OPENAI_API_KEY unless set here."""


class Gemini(Provider):
    """For models called gemini/... The key is GEMINI_API_KEY unless set here."""


class Ollama(Provider):
    """For models called ollama/..., on this machine or where OLLAMA_HOST says."""


class Compatible(Provider):
    """For models called compatible/...: any server that speaks like OpenAI's (OpenRouter,
    vLLM, llama.cpp, LM Studio). base_url, like http://127.0.0.1:8080/v1, is needed."""


class Git(Section):
    """How the home is versioned."""

    enabled: bool = opt(True, "commit to git at all")
    batch_minutes: int = opt(30, "changes other than closed conversations are committed this often")
    push: str = opt("", "the remote that commits are pushed to, like origin; empty: none")
    explore_days: int = opt(7, "an explore/... branch this old is put away (a tag keeps it)")
    hooks: bool = opt(True, "`init` installs git hooks: checks before, index after a commit")


class Schedule(Section):
    """When the jobs run, as cron expressions; empty: never. See `wakebook jobs`."""

    time_zone: str = opt("", "like Europe/Lisbon; empty: this machine's")
    observe: str = opt("*/15 * * * *", "read what was said")
    commit: str = opt("*/30 * * * *", "commit what has changed")
    briefing: str = opt("0 3 * * *", "write the briefing into MEMORY.md")
    daily: str = opt("0 23 * * *", "condense the day's journal; reflect on observations")
    weekly: str = opt("30 23 * * 0", "roll the week up into MEMORY.md")
    monthly: str = opt("0 4 1 * *", "condense the notes; move what has decayed to archive/")
    topics: str = opt("*/5 * * * *", "fire the topics whose cron trigger is due")
    prune: str = opt("0 0 * * 0", "keep MEMORY.md below its cap; put old branches away")
    tags: str = opt("59 23 * * *", "tag the day, and on Sundays the week")


class Hooks(Section):
    """What a host's event may cost, and what it gets."""

    seconds: float = opt(2.0, "a hook that takes longer answers nothing", most=60)
    characters: int = opt(9_900, "of what a hook tells; hosts cut longer texts short")
    budget: int = opt(2_400, "tokens of a context that a hook tells; it may end shorter")


class Service(Section):
    """`wakebook serve`."""

    port: int = opt(7311, "on 127.0.0.1; 0: any that is free", most=65_535, least=0)


class State(Section):
    """Book-keeping."""

    keep_days: int = opt(
        30, "cursors of finished sessions whose source is gone are forgotten after this"
    )


class Config(Section):
    hosts: Hosts = opt(Hosts())
    capture: Capture = opt(Capture())
    briefing: Briefing = opt(Briefing())
    notes: Notes = opt(Notes())
    mounts: Mounts = opt(Mounts())
    watch: Watch = opt(Watch())
    search: Search = opt(Search())
    pruning: Pruning = opt(Pruning())
    flush: Flush = opt(Flush())
    context: Context = opt(Context())
    topics: Topics = opt(Topics())
    embedding: Embedding = opt(Embedding())
    models: Models = opt(Models())
    anthropic: Anthropic = opt(Anthropic())
    openai: OpenAI = opt(OpenAI())
    gemini: Gemini = opt(Gemini())
    ollama: Ollama = opt(Ollama())
    compatible: Compatible = opt(Compatible())
    git: Git = opt(Git())
    schedule: Schedule = opt(Schedule())
    hooks: Hooks = opt(Hooks())
    service: Service = opt(Service())
    state: State = opt(State())


def load(path: Path) -> Config:
    """The settings of a home. A missing file means every default."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8: {error}. Correct that line.") from error
    if _as_written(text):
        return Config()
    import tomllib

    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. Correct that line.") from error
    return Config(**{name: _filled(name, values, path) for name, values in raw.items()})


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
    section: type[Section] = type(Config.settings[name].default)
    known = section.settings
    accepted: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            hint = nearest(key, known)
            raise ConfigError(f"{path}: unknown setting {key!r} in [{name}]; {hint}")
        accepted[key] = _checked(value, known[key], f"{path}: [{name}] {key}")
    return section(**accepted)


def _checked(value: Any, setting: Setting, where: str) -> Any:
    default = setting.default
    if isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            for item in value if setting.only else ():
                if item not in setting.only:
                    raise ConfigError(f"{where}: unknown {item!r}; {nearest(item, setting.only)}")
            return tuple(value)
        raise ConfigError(f'{where}: expected a list of strings, like ["a", "b"].')
    if isinstance(default, float):
        if type(value) not in (int, float) or not 0 <= value <= setting.most:
            most = f"{setting.most:,}"
            raise ConfigError(f"{where}: expected a number from 0 to {most}, got {value!r}.")
        return float(value)
    if type(value) is not type(default):
        raise ConfigError(f"{where}: expected {type(default).__name__}, got {value!r}.")
    if type(value) is int:
        least = min(default, 1) if setting.least < 0 else setting.least  # 0 if that is the default
        limit = int(setting.most) if setting.most > 1 else 1_000_000
        if not least <= value <= limit:
            raise ConfigError(f"{where}: must be between {least} and {limit:,}, got {value}.")
    return value


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}."


def as_toml(config: Config) -> str:
    """config.toml with every setting commented out, so that defaults can still improve."""
    import json

    lines = [
        "# Wakebook's settings. A line that starts with # shows the default;",
        "# remove the # to change it. `wakebook status` says if something here is wrong.",
    ]
    for name, section in config.values().items():
        lines += ["", f"[{name}]"]
        lines += [f"# {line.strip()}" for line in (type(section).__doc__ or "").splitlines()]
        for key, value in section.values().items():
            lines += [
                f"# {key} = {json.dumps(value, ensure_ascii=False)}  # {section.settings[key].doc}"
            ]
    return "\n".join(lines) + "\n"


def expand(path: str) -> Path:
    """A path from the settings, with ~ and variables resolved."""
    return Path(os.path.expandvars(path)).expanduser()
