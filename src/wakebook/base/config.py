"""Config: every setting with its default, its meaning and its place in config.toml.

The sections below are the only list of settings. `config.toml` is generated from
them (`as_toml`), and `load` refuses a name or a type that they do not know, with the
line to look at, so that a typing mistake is never a silent default.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Self

from wakebook.base.errors import ConfigError

OPERATIONS = ("extract", "briefing", "contradictions", "commit", "condense", "gate")
SLOTS = ("identity", "memory", "handoff", "journal", "projects", "topics", "recalled", "history")


class Setting:
    """A default, and what it means. `most` and `least`: the limits of a number, if not the
    usual ones; `only`: what a list may hold."""

    def __init__(
        self, default: Any, doc: str, most: float, only: tuple[str, ...], least: int | None
    ) -> None:
        self.default = default
        self.least = least
        self.doc = doc
        self.most = most
        self.only = only


def _setting(
    default: Any,
    doc: str = "",
    most: float = 1,
    only: tuple[str, ...] = (),
    least: int | None = None,
) -> Any:
    return Setting(default, doc, most, only, least)


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

    claude_code: tuple[str, ...] = _setting(("~/.claude/projects",), "Claude Code transcripts")
    codex: tuple[str, ...] = _setting(("~/.codex/sessions",), "Codex rollout files")
    pi: tuple[str, ...] = _setting(("~/.pi/agent/sessions",), "pi session trees")
    openclaw: tuple[str, ...] = _setting(
        ("~/.openclaw",), "OpenClaw state folders (SQLite store and older JSONL files)"
    )
    plain: tuple[str, ...] = _setting(
        (), "folders with your own agent's chats (.jsonl or .md, see docs/formats.md)"
    )


class Capture(Section):
    """What becomes a transcript."""

    kinds: tuple[str, ...] = _setting(
        ("main",), "kinds of session to keep: main, group, subagent, cron, hook"
    )
    skip_keys: tuple[str, ...] = _setting(
        ("cron:", "sub:", "hook:"), "session keys with one of these beginnings are skipped"
    )
    idle_minutes: int = _setting(
        360, "a pause this long ends a window; the next message starts a new one"
    )
    window_kilobytes: int = _setting(
        256, "a window whose transcript grows beyond this is closed and a new one begins"
    )
    window_source_megabytes: int = _setting(
        16, "the same, for the part of the host's file that a window covers"
    )
    max_record_megabytes: int = _setting(
        64, "a single record larger than this is skipped and counted, never loaded"
    )


class Briefing(Section):
    """The generated block of MEMORY.md."""

    memory_file: str = _setting(
        "", "path of MEMORY.md if it lives elsewhere, for instance in an OpenClaw workspace"
    )
    active_days: int = _setting(14, "a subject with an entry this recent is active")
    decision_days: int = _setting(7, "decisions this recent are listed")
    stale_days: int = _setting(
        30, "a subject is stale when it was silent this long until it was mentioned again"
    )
    max_lines: int = _setting(80, "lines between the markers, at most")
    max_contradictions: int = _setting(3, "contradictions shown at once, at most")


class Notes(Section):
    """The notes that are written from the log, and how they stay small."""

    memory_warn: int = _setting(180, "lines of MEMORY.md from which `status` warns")
    memory_cap: int = _setting(200, "lines of MEMORY.md that its generated parts respect")
    memory_refuse: int = _setting(220, "a commit with a longer MEMORY.md is refused")
    rollup_lines: int = _setting(60, "lines of what the weekly rollup keeps in MEMORY.md")
    journal_lines: int = _setting(40, "a day's journal with more lines is condensed to this")
    note_lines: int = _setting(120, "the same for every other note, monthly")
    observations_words: int = _setting(8000, "observations with more words are reflected upon")
    journal_days: int = _setting(90, "a journal older than this moves to archive/")
    decay_per_day: float = _setting(0.05, "a note's score is e^(-this x days) x references")
    retire_score: float = _setting(0.01, "a note that scores less ...")
    retire_days: int = _setting(30, "... and was silent for longer than this moves to archive/")


class Mounts(Section):
    """Other homes whose knowledge can be found from here. They are only ever read."""

    homes: tuple[str, ...] = _setting((), 'like ["~/team/.wakebook"]')


class Watch(Section):
    """When `wakebook watch` catches up."""

    writes: int = _setting(40, "new records in a session that trigger a catch-up")
    cooldown_minutes: int = _setting(5, "pause between two triggers of one session")


class Search(Section):
    """How search ranks. The defaults are what the benchmark found best."""

    text_weight: float = _setting(0.5, "how much the words count ...")
    vector_weight: float = _setting(0.5, "... against the meaning")
    max_results: int = _setting(6, "hits, at most")
    min_score: float = _setting(0.1, "a hit that fits less than this is not shown (0 to 1)")
    half_life_days: int = _setting(30, "after this time a dated thing has lost half of ...")
    recency_weight: float = _setting(0.03, "... this share of its score; 0 switches it off")
    diversity: float = _setting(0.7, "1 ranks by fit alone; less avoids hits that say the same")
    snippet_characters: int = _setting(700, "of a hit's text, around what matched")
    max_file_megabytes: int = _setting(10, "a larger note is not indexed, and `status` says so")


class Context(Section):
    """What an agent is told for a message, in tokens. A fixed part that is longer is cut short."""

    budget: int = _setting(8192, "of the whole context")
    fixed_share: float = _setting(
        0.5, "of the budget that identity, memory, handoff, journal and projects may fill"
    )
    identity: int = _setting(4352, "of the files in knowledge/identity/")
    memory: int = _setting(768, "of MEMORY.md")
    handoff: int = _setting(512, "of the last session's handoff")
    journal: int = _setting(1024, "of the journal of today and yesterday")
    projects: int = _setting(256, "of the list of active projects")
    topics: int = _setting(1536, "of active topics and the files that they subscribe to")
    history_share: float = _setting(
        0.5, "of what is left when both search hits and the session's history want it"
    )
    reference_boost: float = _setting(
        0.1, "a hit's score grows by this share for every reference to it"
    )
    have: tuple[str, ...] = _setting(
        (), f"slots that your host loads by itself: {', '.join(SLOTS)}", only=SLOTS
    )


class Topics(Section):
    """When a topic comes to the agent."""

    similarity_threshold: float = _setting(
        0.15, "how alike a message and an automatic topic must be, beside a trigger that matches"
    )
    strict_threshold: float = _setting(
        0.3, "the same without a trigger, and for gated topics when no model can be asked"
    )
    gate_seconds: int = _setting(3, "how long the model may take to say yes or no")
    fired_hours: int = _setting(
        24, "a topic that a webhook, a schedule or a hint has fired waits this long for a turn"
    )


class Pruning(Section):
    """How `wakebook prune` makes old tool results of a message list smaller (docs/window.md)."""

    mode: str = _setting("cache-ttl", "cache-ttl: once the provider's cache is cold; or off")
    ttl_ms: int = _setting(300_000, "how long that cache lasts after a call", most=86_400_000)
    keep_last_assistants: int = _setting(3, "from this many answers before the end, all is kept")
    soft_trim_ratio: float = _setting(0.3, "from this share of the window long ones are trimmed")
    hard_clear_ratio: float = _setting(0.5, "still at this share, the oldest ones are cleared ...")
    min_prunable_tool_chars: int = _setting(50_000, "... if all of them hold this much together")
    soft_trim_max_chars: int = _setting(4_000, "a result with more characters is trimmed ...")
    soft_trim_head_chars: int = _setting(1_500, "... to its first ...")
    soft_trim_tail_chars: int = _setting(1_500, "... and its last characters")
    hard_clear: bool = _setting(True, "clear at all")
    hard_clear_placeholder: str = _setting(
        "[Old tool result content cleared]", "what stands where a result was cleared"
    )
    tools_allow: tuple[str, ...] = _setting((), 'tools to prune, like "browser_*"; none: all')
    tools_deny: tuple[str, ...] = _setting((), "tools whose results are never pruned")
    chars_per_token: int = _setting(4, "characters that count as a token here")


class Flush(Section):
    """When `wakebook flush` is due: before a host compacts a conversation."""

    enabled: bool = _setting(True, "flush at all; asked for without figures, it always runs")
    soft_threshold_tokens: int = _setting(4_000, "due this many tokens before ...")
    reserve_tokens_floor: int = _setting(20_000, "... the host keeps this many free by compacting")


class Embedding(Section):
    """Which model finds what is alike in meaning. Nothing leaves the machine by default."""

    provider: str = _setting(
        "auto",
        "auto, builtin, none, openai, gemini, ollama, compatible, onnx, sentence-transformers",
    )
    model: str = _setting("", "the model's name at the provider, or the folder of a local one")
    base_url: str = _setting("", "address of a compatible server, like http://127.0.0.1:8080/v1")
    key_variable: str = _setting("", "the environment variable that holds the key")
    key_file: str = _setting("", "a file that holds the key; only you may read it (mode 0600)")
    dimensions: int = _setting(0, "numbers in a vector, where the model can choose; 0: its own")
    batch_size: int = _setting(64, "texts in one request, at most")
    batch_tokens: int = _setting(8000, "tokens in one request, about")
    max_tokens: int = _setting(8000, "a longer text is cut before it is sent")
    timeout_seconds: int = _setting(30, "how long one request may take")
    attempts: int = _setting(5, "tries of one request before the provider counts as dead")
    query_prefix: str = _setting("", "put before a question, for models that want it")
    document_prefix: str = _setting("", "the same for what is searched")


class Models(Section):
    """Which chat models read the conversations. None by default: rules do, on this machine."""

    main: str = _setting(
        "", 'provider/model, like "anthropic/claude-sonnet-5-5" or "ollama/qwen3:8b"; or "host"'
    )
    cheap: str = _setting("", "the same for small jobs; empty: as main")
    off: tuple[str, ...] = _setting(
        (), f"jobs that never ask a model: {', '.join(OPERATIONS)}", only=OPERATIONS
    )
    monthly_budget: float = _setting(
        0.0, "dollars; `status` warns at 80 %, then rules take over; 0: no limit", most=1_000_000
    )
    request_tokens: int = _setting(12000, "of a conversation in one request, about")
    timeout_seconds: int = _setting(120, "how long one request may take")
    attempts: int = _setting(3, "tries of one request before it counts as failed")
    concurrency: int = _setting(4, "requests at the same time, at most")
    failures: int = _setting(3, "after this many failures in a row a model is left alone ...")
    pause_minutes: int = _setting(10, "... for this long")


class Provider(Section):
    """How a provider of chat models is reached."""

    base_url: str = _setting("", "another address than the usual one")
    key_variable: str = _setting("", "the environment variable that holds the key")
    key_file: str = _setting("", "a file that holds the key; only you may read it (mode 0600)")


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

    enabled: bool = _setting(True, "commit to git at all")
    batch_minutes: int = _setting(
        30, "changes other than closed conversations are committed this often"
    )
    push: str = _setting("", "the remote that commits are pushed to, like origin; empty: none")
    explore_days: int = _setting(7, "an explore/... branch this old is put away (a tag keeps it)")
    hooks: bool = _setting(True, "`init` installs git hooks: checks before, index after a commit")


class Schedule(Section):
    """When the jobs run, as cron expressions; empty: never. See `wakebook jobs`."""

    time_zone: str = _setting("", "like Europe/Lisbon; empty: this machine's")
    observe: str = _setting("*/15 * * * *", "read what was said")
    commit: str = _setting("*/30 * * * *", "commit what has changed")
    briefing: str = _setting("0 3 * * *", "write the briefing into MEMORY.md")
    daily: str = _setting("0 23 * * *", "condense the day's journal; reflect on observations")
    weekly: str = _setting("30 23 * * 0", "roll the week up into MEMORY.md")
    monthly: str = _setting("0 4 1 * *", "distil the notes; move what has decayed to archive/")
    topics: str = _setting("*/5 * * * *", "fire the topics whose cron trigger is due")
    prune: str = _setting("0 0 * * 0", "keep MEMORY.md below its cap; put old branches away")
    tags: str = _setting("59 23 * * *", "tag the day, and on Sundays the week")


class Hooks(Section):
    """What a host's event may cost, and what it gets."""

    seconds: float = _setting(2.0, "a hook that takes longer answers nothing", most=60)
    characters: int = _setting(9_900, "of what a hook tells; hosts cut longer texts short")
    budget: int = _setting(2_400, "tokens of a context that a hook tells; it may end shorter")


class Service(Section):
    """`wakebook serve`."""

    port: int = _setting(7311, "on 127.0.0.1; 0: any that is free", most=65_535, least=0)


class State(Section):
    """Book-keeping."""

    keep_days: int = _setting(
        30, "cursors of finished sessions whose source is gone are forgotten after this"
    )


class Config(Section):
    hosts: Hosts = _setting(Hosts())
    capture: Capture = _setting(Capture())
    briefing: Briefing = _setting(Briefing())
    notes: Notes = _setting(Notes())
    mounts: Mounts = _setting(Mounts())
    watch: Watch = _setting(Watch())
    search: Search = _setting(Search())
    pruning: Pruning = _setting(Pruning())
    flush: Flush = _setting(Flush())
    context: Context = _setting(Context())
    topics: Topics = _setting(Topics())
    embedding: Embedding = _setting(Embedding())
    models: Models = _setting(Models())
    anthropic: Anthropic = _setting(Anthropic())
    openai: OpenAI = _setting(OpenAI())
    gemini: Gemini = _setting(Gemini())
    ollama: Ollama = _setting(Ollama())
    compatible: Compatible = _setting(Compatible())
    git: Git = _setting(Git())
    schedule: Schedule = _setting(Schedule())
    hooks: Hooks = _setting(Hooks())
    service: Service = _setting(Service())
    state: State = _setting(State())


def load(path: Path) -> Config:
    """The settings of a home. A missing file means every default."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8: {error}. Correct that line.") from error
    if all(line[:1] in ("", "#", "[") for line in text.splitlines()) and _known(text):
        return Config()  # as it was written, and reading TOML takes a while
    import tomllib

    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. Correct that line.") from error
    sections: dict[str, Any] = {}
    for name, values in raw.items():
        section = _section(name, path)
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: [{name}] is a section; write its settings below it.")
        sections[name] = _fill(section, name, values, path)
    return Config(**sections)


def _known(text: str) -> bool:
    """Whether a text without settings has only sections that there are."""
    sections = {f"[{name}]" for name in Config.settings}
    return all(line in sections for line in text.splitlines() if line.startswith("["))


def _section(name: str, path: Path) -> type[Section]:
    if name not in Config.settings:
        raise ConfigError(f"{path}: unknown section [{name}]{_nearest(name, Config.settings)}")
    return type(Config.settings[name].default)


def _fill(section: type[Section], name: str, values: dict[str, Any], path: Path) -> Any:
    known = section.settings
    accepted: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(f"{path}: unknown setting {key!r} in [{name}]{_nearest(key, known)}")
        accepted[key] = _checked(value, known[key], f"{path}: [{name}] {key}")
    return section(**accepted)


def _checked(value: Any, setting: Setting, where: str) -> Any:
    default = setting.default
    if isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            for item in value if setting.only else ():
                if item not in setting.only:
                    raise ConfigError(f"{where}: unknown {item!r}{_nearest(item, setting.only)}")
            return tuple(value)
        raise ConfigError(f'{where}: expected a list of strings, like ["a", "b"].')
    if isinstance(default, float):
        if type(value) not in (int, float) or not 0 <= value <= setting.most:
            most = f"{setting.most:,}"
            raise ConfigError(f"{where}: expected a number from 0 to {most}, got {value!r}.")
        return float(value)
    if type(value) is not type(default):
        raise ConfigError(f"{where}: expected {type(default).__name__}, got {value!r}.")
    least = min(default, 1) if isinstance(default, int) else 1  # 0 where it is the default
    least = least if setting.least is None else setting.least
    limit = int(setting.most) if setting.most > 1 else 1_000_000
    if isinstance(value, int) and not isinstance(value, bool) and not least <= value <= limit:
        raise ConfigError(f"{where}: must be between {least} and {limit:,}, got {value}.")
    return value


def _nearest(name: str, known: Any) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}."
    return f"; {hint}"


def as_toml(config: Config) -> str:
    """config.toml with every setting commented out, so that defaults can still improve."""
    lines = [
        "# Wakebook's settings. A line that starts with # shows the default;",
        "# remove the # to change it. `wakebook status` says if something here is wrong.",
    ]
    for name, section in config.values().items():
        lines += ["", f"[{name}]"]
        about = (type(section).__doc__ or "").strip().splitlines()
        lines += [f"# {line.strip()}" for line in about]
        for key, value in section.values().items():
            lines += [f"# {key} = {_toml_value(value)}  # {section.settings[key].doc}"]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'


def expand(path: str) -> Path:
    """A path from the settings, with ~ and variables resolved."""
    return Path(os.path.expandvars(path)).expanduser()
