"""Pruning: old tool results of a message list become smaller, and the agent is told.

First, from a share of the context window on, long ones are trimmed to their beginning and end.
Where that is not enough, the oldest ones are cleared. Never touched are what stands before the
first message of a user (there an agent reads who it is), the last answers with all that follows
them, and results with pictures. Pure: the given list and its messages stay as they are, and
pruning what was pruned changes nothing more.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from wakebook.base.config import Pruning
from wakebook.base.errors import ConfigError
from wakebook.recall import messages as view
from wakebook.recall.messages import Message, Result

MODES = ("cache-ttl", "off")
GAP = "\n...\n"
_NOTE = "\n\n[Tool result trimmed: kept first {head} chars and last {tail} chars of {total} chars.]"
_TOTAL = re.compile(r"(\d{1,12}) chars\.\]\Z")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    index: int  # of the message in the list
    tool: str
    call: str  # the id of the call that it answers
    before: int  # characters
    after: int


class PruneReport(msgspec.Struct, frozen=True, kw_only=True):
    trimmed: tuple[Change, ...]
    cleared: tuple[Change, ...]
    characters_before: int
    characters_after: int
    tokens_before: int  # estimated by characters
    tokens_after: int
    window: int  # tokens
    ratio_before: float  # of the window
    ratio_after: float
    why: str  # why nothing was done, if nothing was
    line: str  # all of this in one sentence, for the agent


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    messages: list[Message]
    report: PruneReport


class Utilisation(msgspec.Struct, frozen=True, kw_only=True):
    tokens: int
    window: int
    ratio: float
    line: str


def prune(
    messages: Sequence[Message],
    window_tokens: int,
    settings: Pruning | None = None,
    *,
    idle_ms: int | None = None,
) -> Pruned:
    """The messages with smaller tool results, as far as they fill a window of so many tokens.
    `idle_ms`: the time since the model was last called, if that is known. As long as the provider
    still has the list in its cache, a changed one would cost more than a long one."""
    settings = checked(settings or Pruning())
    shears = _Shears(messages, window_tokens, settings)
    before = shears.total
    why = _why_not(messages, window_tokens, settings, idle_ms) or shears.cut()
    return Pruned(messages=shears.messages, report=_report(shears, before, window_tokens, why))


def utilisation(messages: Sequence[Message], window_tokens: int) -> Utilisation:
    """How full the window is, counted with a real tokenizer."""
    used = sum(map(view.tokens, messages))
    return Utilisation(
        tokens=used,
        window=window_tokens,
        ratio=_share(used, window_tokens),
        line=f"{_fullness(used, window_tokens)}.",
    )


def checked(settings: Pruning) -> Pruning:
    """The settings, if they make sense together."""
    head, tail = settings.soft_trim_head_chars, settings.soft_trim_tail_chars
    if settings.mode not in MODES:
        raise ConfigError(f"[pruning] mode: {settings.mode!r} is none of {', '.join(MODES)}.")
    if min(head, tail) < 0 or head + tail >= settings.soft_trim_max_chars:
        raise ConfigError(
            f"[pruning] soft_trim_head_chars ({head}) and soft_trim_tail_chars ({tail}) must "
            f"together be less than soft_trim_max_chars ({settings.soft_trim_max_chars})."
        )
    if not 0 <= settings.soft_trim_ratio <= settings.hard_clear_ratio:
        raise ConfigError(
            f"[pruning] hard_clear_ratio ({settings.hard_clear_ratio}) must not be less than "
            f"soft_trim_ratio ({settings.soft_trim_ratio}): clearing comes after trimming."
        )
    if not settings.hard_clear_placeholder.strip():
        raise ConfigError(
            "[pruning] hard_clear_placeholder is empty: providers refuse an empty tool result."
        )
    if settings.chars_per_token < 1:
        raise ConfigError(f"[pruning] chars_per_token ({settings.chars_per_token}): at least 1.")
    return settings


# --- what may be pruned ------------------------------------------------------------------
def _why_not(
    messages: Sequence[Message], window: int, settings: Pruning, idle_ms: int | None
) -> str:
    """Why there is nothing to look at, or nothing."""
    if settings.mode == "off":
        return "pruning is switched off"
    if window <= 0:
        return "the size of the window is not known"
    if idle_ms is not None and idle_ms < settings.ttl_ms:
        return (
            f"the cache is still warm, {idle_ms / 1000:,.0f} s after the last call "
            f"(it lasts {settings.ttl_ms / 1000:,.0f} s)"
        )
    if _cutoff(messages, settings.keep_last_assistants) < 0:
        return f"the last {settings.keep_last_assistants} answers are kept, and there are no more"
    if view.first_user(messages) == len(messages):
        return "what stands before the first message of a user is kept"
    return ""


def _cutoff(messages: Sequence[Message], keep: int) -> int:
    """The last answers begin here. -1: there are fewer than that."""
    if keep <= 0:
        return len(messages)
    spoken = [i for i, message in enumerate(messages) if view.role_of(message) == "assistant"]
    return spoken[-keep] if len(spoken) >= keep else -1


def _named(tool: str, patterns: Sequence[str], default: bool) -> bool:
    """Whether one of the patterns fits; without any, the default."""
    wanted = [pattern.strip().lower() for pattern in patterns if pattern.strip()]
    found = (fnmatchcase(tool.strip().lower(), pattern) for pattern in wanted)
    return any(found) if wanted else default


class _Shears:
    """A copy of the list that becomes smaller."""

    def __init__(self, messages: Sequence[Message], window: int, settings: Pruning) -> None:
        self.messages = list(messages)
        self.total = sum(map(view.characters, messages))
        self.trimmed: dict[tuple[int, int], Change] = {}
        self.cleared: dict[tuple[int, int], Change] = {}
        self.settings = settings
        self._window = window * settings.chars_per_token
        self._texts: dict[tuple[int, int], str] = {}

    @property
    def ratio(self) -> float:
        return _share(self.total, self._window)

    def cut(self) -> str:
        """Trim, then clear. Why nothing was done, if nothing was."""
        if self.ratio < self.settings.soft_trim_ratio:
            return f"pruning begins at {self.settings.soft_trim_ratio:.0%}".replace("%", " %")
        first = view.first_user(self.messages)
        allow, deny = self.settings.tools_allow, self.settings.tools_deny
        end = _cutoff(self.messages, self.settings.keep_last_assistants)
        found = [
            one
            for one in view.results(self.messages)
            if first <= one.index < end and not (one.media or one.strange)
            if _named(one.tool, allow, True) and not _named(one.tool, deny, False)
        ]
        if not found:
            return "there is no old tool result that may be pruned"
        for one in found:
            text = _trimmed(one.text, self.settings)
            if text != one.text:
                self.trimmed[one.place] = self._put(one, text)
        short = self._clear(found)
        return "" if self.trimmed or self.cleared else short

    def _clear(self, found: Sequence[Result]) -> str:
        """Oldest first, until it is enough. Why not, if not."""
        settings = self.settings
        long = f"no old tool result has more than {settings.soft_trim_max_chars:,} characters"
        if self.ratio < settings.hard_clear_ratio or not settings.hard_clear:
            return long
        total = sum(len(self._texts.get(one.place, one.text)) for one in found)
        if total < settings.min_prunable_tool_chars:
            least = f"{settings.min_prunable_tool_chars:,}"
            return f"{long}, and together they have {total:,}: clearing begins at {least}"
        for one in found:
            if self.ratio < settings.hard_clear_ratio:
                break
            if len(one.text) > len(settings.hard_clear_placeholder):
                self.cleared[one.place] = self._put(one, settings.hard_clear_placeholder)
                self.trimmed.pop(one.place, None)
        return "the old tool results are as small as they get"

    def _put(self, one: Result, text: str) -> Change:
        old = self.messages[one.index]
        new = view.replaced(old, one, text)
        self.total += view.characters(new) - view.characters(old)
        self.messages[one.index] = new
        self._texts[one.place] = text
        return Change(
            index=one.index, tool=one.tool, call=one.call, before=len(one.text), after=len(text)
        )


def _trimmed(text: str, settings: Pruning) -> str:
    """Its beginning and its end, if it is long and that makes it shorter."""
    head, tail = settings.soft_trim_head_chars, settings.soft_trim_tail_chars
    if len(text) <= settings.soft_trim_max_chars or _is_trimmed(text, head, tail):
        return text
    note = _NOTE.format(head=head, tail=tail, total=len(text))
    short = text[:head] + GAP + text[len(text) - tail :] + note
    return short if len(short) < len(text) else text


def _is_trimmed(text: str, head: int, tail: int) -> bool:
    """Whether it is exactly what trimming leaves, not only a text that says so."""
    total = _TOTAL.search(text, max(0, len(text) - 20))
    note = _NOTE.format(head=head, tail=tail, total=total[1]) if total else "\0"
    return (
        text.endswith(note)
        and len(text) == head + len(GAP) + tail + len(note)
        and text.startswith(GAP, head)
    )


def _report(shears: _Shears, before: int, window: int, why: str) -> PruneReport:
    per_token = shears.settings.chars_per_token
    after = shears.total
    trimmed, cleared = tuple(shears.trimmed.values()), tuple(shears.cleared.values())
    done = f"nothing was pruned: {why}"
    if trimmed or cleared:
        first, what = (trimmed, "trimmed") if trimmed else (cleared, "cleared")
        one = "1 old tool result was" if len(first) == 1 else f"{len(first)} old tool results were"
        also = f" and {len(cleared)} cleared" if trimmed and cleared else ""
        it = "it" if len(trimmed + cleared) == 1 else "them"
        done = f"{one} {what}{also}: read {it} again if you need {it}"
    return PruneReport(
        trimmed=trimmed,
        cleared=cleared,
        characters_before=before,
        characters_after=after,
        tokens_before=-(-before // per_token),
        tokens_after=-(-after // per_token),
        window=window,
        ratio_before=_share(before, window * per_token),
        ratio_after=_share(after, window * per_token),
        why=why,
        line=f"{_fullness(-(-after // per_token), window)}; {done}.",
    )


def _fullness(tokens: int, window: int) -> str:
    if window <= 0:
        return f"Context of {_short(tokens)} tokens"
    share = 100 * _share(tokens, window)
    return f"Context {share:.0f} % full ({_short(tokens)} of {_short(window)} tokens)"


def _short(tokens: int) -> str:
    """79k, 1.05M"""
    if tokens < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.0f}k" if tokens < 999_500 else f"{tokens / 1_000_000:.2f}M"


def _share(part: int, whole: int) -> float:
    return part / whole if whole > 0 else 0.0
