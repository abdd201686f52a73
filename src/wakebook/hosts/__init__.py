"""Hosts: their hooks, and how each is wired to a home.

A host is a line in HOSTS and a module of that name: what its events mean, what `init --host`
changes and `--undo` takes back, what `doctor` checks (the protocol `Host` in plan.py). Its
sessions are read by a module of the same name in capture/hosts/. Every hook loads this file.
"""

HOSTS = ("openclaw", "claude-code", "codex", "pi")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from wakebook.hosts.plan import Host


def host(name: str) -> "Host":
    """The module of a host. Raises WakebookError for a name that is none."""
    from importlib import import_module

    from wakebook.base.errors import WakebookError

    if name not in HOSTS:
        raise WakebookError(f"There is no host {name!r}. There are: {', '.join(HOSTS)}.")
    found: Host = import_module(f"wakebook.hosts.{name.replace('-', '_')}")
    return found
