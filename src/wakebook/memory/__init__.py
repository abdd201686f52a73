"""Memory: the façade, and the only place where things are wired together.

Its verbs are the commands of the command line and will be the tools and paths of every
other adapter, in one file for each group of them. Everything that writes takes the home's
lock and first finishes what a crash may have left half done. Almost everything is imported
where it is used: a search does not need what a sweep needs, and somebody waits for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wakebook.log.query import Query
from wakebook.memory.doctoring import Doctoring
from wakebook.memory.importing import Importing
from wakebook.memory.rebuilding import Rebuilding
from wakebook.memory.talking import Conversation, Talking
from wakebook.memory.vault import Vault
from wakebook.memory.window import Windowing

if TYPE_CHECKING:
    from wakebook.derive.notes.links import Broken
    from wakebook.index.health import IndexStatus
    from wakebook.index.hits import Hit
    from wakebook.index.search import Found
    from wakebook.index.sync import Synced
    from wakebook.lifecycle.audit import UNACCOUNTED, Account
    from wakebook.lifecycle.brief import Brief
    from wakebook.lifecycle.costs import Costs
    from wakebook.lifecycle.doctor import Check, examine, to_run
    from wakebook.lifecycle.flush import Flushed, flush_due
    from wakebook.lifecycle.forget import Forgetting
    from wakebook.lifecycle.importing import Imported
    from wakebook.lifecycle.jobs import Standing
    from wakebook.lifecycle.notes import Updated
    from wakebook.lifecycle.past import Learned
    from wakebook.lifecycle.review import Proposal
    from wakebook.lifecycle.status import Status
    from wakebook.lifecycle.sweep import Sweep
    from wakebook.lifecycle.tick import Ran
    from wakebook.lifecycle.upgrade import Upgraded
    from wakebook.lifecycle.vault import Built
    from wakebook.lifecycle.why import Why
    from wakebook.log.entry import Entry, as_dict
    from wakebook.log.subjects import Subject
    from wakebook.models.chat import Models, Planned
    from wakebook.models.prices import dollars
    from wakebook.models.text import printable
    from wakebook.recall.prune import Pruned, PruneReport, Utilisation, prune, utilisation
    from wakebook.recall.show import Shown
    from wakebook.recall.slot import Context, Slot
    from wakebook.recall.topics.activation import Activation, Decision
    from wakebook.recall.topics.fired import Fired
    from wakebook.recall.topics.topic import Topic
    from wakebook.recall.window import Slid, slide

_PUBLIC = {  # what adapters get from here -> where it is
    "Account": "lifecycle.audit",
    "Activation": "recall.topics.activation",
    "Brief": "lifecycle.brief",
    "Broken": "derive.notes.links",
    "Built": "lifecycle.vault",
    "Check": "lifecycle.doctor",
    "Context": "recall.slot",
    "Costs": "lifecycle.costs",
    "Decision": "recall.topics.activation",
    "Entry": "log.entry",
    "Fired": "recall.topics.fired",
    "Flushed": "lifecycle.flush",
    "Forgetting": "lifecycle.forget",
    "Found": "index.search",
    "Hit": "index.hits",
    "Imported": "lifecycle.importing",
    "IndexStatus": "index.health",
    "Learned": "lifecycle.past",
    "Models": "models.chat",
    "Planned": "models.chat",
    "Proposal": "lifecycle.review",
    "PruneReport": "recall.prune",
    "Pruned": "recall.prune",
    "Ran": "lifecycle.tick",
    "Shown": "recall.show",
    "Slid": "recall.window",
    "Slot": "recall.slot",
    "Standing": "lifecycle.jobs",
    "Status": "lifecycle.status",
    "Subject": "log.subjects",
    "Sweep": "lifecycle.sweep",
    "Synced": "index.sync",
    "Topic": "recall.topics.topic",
    "UNACCOUNTED": "lifecycle.audit",
    "Updated": "lifecycle.notes",
    "Upgraded": "lifecycle.upgrade",
    "Utilisation": "recall.prune",
    "Why": "lifecycle.why",
    "as_dict": "log.entry",
    "dollars": "models.prices",
    "examine": "lifecycle.doctor",
    "flush_due": "lifecycle.flush",
    "printable": "models.text",
    "prune": "recall.prune",
    "slide": "recall.window",
    "to_run": "lifecycle.doctor",
    "utilisation": "recall.prune",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wakebook.memory' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wakebook.{_PUBLIC[name]}"), name)


class Memory(Talking, Importing, Doctoring, Rebuilding, Vault, Windowing):
    """One home, opened. Nothing is read before it is needed."""


__all__ = [
    "UNACCOUNTED",
    "Account",
    "Activation",
    "Brief",
    "Broken",
    "Built",
    "Check",
    "Context",
    "Conversation",
    "Costs",
    "Decision",
    "Entry",
    "Fired",
    "Flushed",
    "Forgetting",
    "Found",
    "Hit",
    "Imported",
    "IndexStatus",
    "Learned",
    "Memory",
    "Models",
    "Planned",
    "Proposal",
    "PruneReport",
    "Pruned",
    "Query",
    "Ran",
    "Shown",
    "Slid",
    "Slot",
    "Standing",
    "Status",
    "Subject",
    "Sweep",
    "Synced",
    "Topic",
    "Updated",
    "Upgraded",
    "Utilisation",
    "Why",
    "as_dict",
    "dollars",
    "examine",
    "flush_due",
    "printable",
    "prune",
    "slide",
    "to_run",
    "utilisation",
]
