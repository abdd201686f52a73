"""Wakebook: a local-first memory for AI agents.

 host (OpenClaw, Claude Code, Codex, pi, any MCP client, your own agent)
   |  what was said
   v
 CAPTURE   host session -> Transcript -> raw/conversations/   immutable, one file a window
   v
 LEARN     Transcript -> Entries -> log.jsonl                 append-only: what was learned
   v
 NOTES     Entries -> MEMORY.md, journal, notes, vault        rebuildable, human text untouched
   v
 STORE     everything above -> index.db                       deletable at any time
   v
 RECALL    message -> context | search | get                  what the agent reads
   ^
 UPKEEP    the clock: watch, jobs, condense, retire, rebuild

`Memory` is the façade, and `Conversation` what its `session` gives to your own agent. Names are
imported when they are first used: a hook is a process that a host waits for.
"""

import sys

from wakebook.version import __version__

if sys.platform == "win32":
    raise SystemExit(
        "Wakebook does not run on Windows: it needs the file locks, modes and sockets of Linux or "
        "macOS. Install it in WSL (Windows Subsystem for Linux), and it works there."
    )

TYPE_CHECKING = False  # importing it from typing would cost more than all of `wake`

if TYPE_CHECKING:
    from wakebook.base.errors import WakebookError
    from wakebook.conversation import Conversation
    from wakebook.log.entry import Entry
    from wakebook.log.query import Query
    from wakebook.memory import Memory

__all__ = ["Conversation", "Entry", "Memory", "Query", "WakebookError", "__version__"]


def __getattr__(name: str) -> object:
    places = {
        "Conversation": "conversation",
        "Entry": "log.entry",
        "Memory": "memory",
        "Query": "log.query",
        "WakebookError": "base.errors",
    }
    if name in places:
        from importlib import import_module

        return getattr(import_module(f"wakebook.{places[name]}"), name)
    raise AttributeError(f"module 'wakebook' has no attribute {name!r}")
