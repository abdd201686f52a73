"""Everything that can go wrong, as one tree.

    WakebookError
    ├── NotInitialised     there is no home here
    ├── Locked             another process is writing to this home
    ├── ConfigError        config.toml says something we do not understand
    ├── TranscriptError    a host's session cannot be read
    ├── InvalidEntry       an entry breaks the schema
    ├── GitError           git refused
    ├── NotFound           no such entry, session, subject or file
    ├── ModelError         a model that we asked
    │   ├── ModelUnavailable   does not answer, or refuses to
    │   │   ├── NotAsked       on purpose: no model, a spent budget, a dry run
    │   │   ├── LeftAlone      not now: it failed too often, or its host is not here
    │   │   └── Deferred       later: the question stands in a batch
    │   ├── TooLong            takes less at once
    │   └── BadModelOutput     answers what cannot be used
    ├── IndexUnavailable   index.db cannot be used; a search reads the files instead
    ├── Unavailable        the team's database, or a server, does not answer
    └── OverQuota          a tenant may hold or spend no more

A message says what, where, and what to do next. Each class carries the exit code that the
command line uses.
"""


class WakebookError(Exception):
    """Base of every error that Wakebook raises on purpose."""

    exit_code = 1


class NotInitialised(WakebookError):
    exit_code = 3


class Locked(WakebookError):
    exit_code = 4


class ConfigError(WakebookError):
    exit_code = 5


class TranscriptError(WakebookError):
    exit_code = 6


class InvalidEntry(WakebookError):
    exit_code = 7


class GitError(WakebookError):
    exit_code = 8


class NotFound(WakebookError):
    exit_code = 9


class ModelError(WakebookError):
    exit_code = 11


class ModelUnavailable(ModelError):
    status = 0  # of HTTP, if the provider has refused it for certain


class NotAsked(ModelUnavailable): ...


class LeftAlone(ModelUnavailable): ...


class Deferred(ModelUnavailable): ...


class TooLong(ModelError): ...


class BadModelOutput(ModelError): ...


class IndexUnavailable(WakebookError):
    exit_code = 12


class Unavailable(WakebookError):
    exit_code = 13
    retry_seconds = 5  # when to come back


class OverQuota(WakebookError):
    exit_code = 14
    retry_seconds = 3600
