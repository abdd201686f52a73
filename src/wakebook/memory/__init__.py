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
    from wakebook.base.text import printable
    from wakebook.history.past import Learned
    from wakebook.imports.take import Imported
    from wakebook.learn.account import UNACCOUNTED, Account
    from wakebook.learn.catch_up import Sweep
    from wakebook.learn.flush import Flushed, flush_due
    from wakebook.learn.reread import Upgraded
    from wakebook.log.entry import Entry, as_dict
    from wakebook.log.subjects import Subject
    from wakebook.models.chat import Models, Planned
    from wakebook.models.prices import dollars
    from wakebook.notes.brief import Brief
    from wakebook.notes.page import Broken
    from wakebook.notes.review import Proposal
    from wakebook.notes.vault import Built
    from wakebook.notes.why import Why
    from wakebook.notes.write import Updated
    from wakebook.recall.prune import Pruned, PruneReport, Utilisation, prune, utilisation
    from wakebook.recall.show import Shown
    from wakebook.recall.slot import Context, Slot
    from wakebook.recall.topics.activation import Activation, Decision
    from wakebook.recall.topics.fired import Fired
    from wakebook.recall.topics.topic import Topic
    from wakebook.recall.window import Slid, slide
    from wakebook.store.hits import Hit
    from wakebook.store.index import IndexStatus
    from wakebook.store.search import Found
    from wakebook.store.sync import Synced
    from wakebook.upkeep.costs import Costs
    from wakebook.upkeep.doctor import Check, examine, to_run
    from wakebook.upkeep.forget import Forgetting
    from wakebook.upkeep.jobs import Ran, Standing
    from wakebook.upkeep.status import Status

_PUBLIC = {  # what adapters get from here -> where it is
    "Account": "learn.account",
    "Activation": "recall.topics.activation",
    "Brief": "notes.brief",
    "Broken": "notes.page",
    "Built": "notes.vault",
    "Check": "upkeep.doctor",
    "Context": "recall.slot",
    "Costs": "upkeep.costs",
    "Decision": "recall.topics.activation",
    "Entry": "log.entry",
    "Fired": "recall.topics.fired",
    "Flushed": "learn.flush",
    "Forgetting": "upkeep.forget",
    "Found": "store.search",
    "Hit": "store.hits",
    "Imported": "imports.take",
    "IndexStatus": "store.index",
    "Learned": "history.past",
    "Models": "models.chat",
    "Planned": "models.chat",
    "Proposal": "notes.review",
    "PruneReport": "recall.prune",
    "Pruned": "recall.prune",
    "Ran": "upkeep.jobs",
    "Shown": "recall.show",
    "Slid": "recall.window",
    "Slot": "recall.slot",
    "Standing": "upkeep.jobs",
    "Status": "upkeep.status",
    "Subject": "log.subjects",
    "Sweep": "learn.catch_up",
    "Synced": "store.sync",
    "Topic": "recall.topics.topic",
    "UNACCOUNTED": "learn.account",
    "Updated": "notes.write",
    "Upgraded": "learn.reread",
    "Utilisation": "recall.prune",
    "Why": "notes.why",
    "as_dict": "log.entry",
    "dollars": "models.prices",
    "examine": "upkeep.doctor",
    "flush_due": "learn.flush",
    "printable": "base.text",
    "prune": "recall.prune",
    "slide": "recall.window",
    "to_run": "upkeep.doctor",
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
