"""Hosts: their hooks, and how each is wired to a home.

A host is an entry in hosts.json (`KnownHost` in events.py) and a module of its name: what
`init --host` changes and `--undo` takes back, what `doctor` checks (`HostModule` in plan.py). Its
sessions are read by a module of the same name in capture/hosts/. Every hook loads this file.
"""

HOSTS = ("openclaw", "claude-code", "codex", "pi")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from wakebook.hosts.plan import HostModule


def host(name: str) -> "HostModule":
    """The module of a host. Raises WakebookError for a name that is none."""
    from importlib import import_module

    from wakebook.hosts.events import about

    found: HostModule = import_module(f"wakebook.hosts.{about(name).name.replace('-', '_')}")
    return found
