"""The only reader of time.

Everything else takes `now` as an argument. `WAKEBOOK_NOW` (ISO 8601) fixes the clock
for a whole process, so that a journey through the real command line can be repeated.
Times are aware and in UTC; on disk they are ISO 8601 with a trailing Z.
"""

import os
import time
from datetime import UTC, datetime, tzinfo


def now() -> datetime:
    return parse(os.environ.get("WAKEBOOK_NOW")) or datetime.now(UTC)


def zone(name: str = "") -> tzinfo:
    """A time zone by its name; without one, this machine's. Raises ValueError."""
    from zoneinfo import ZoneInfo

    wanted = name or os.environ.get("TZ", "").lstrip(":") or _machine_zone()
    try:
        return ZoneInfo(wanted)
    except (KeyError, ValueError, OSError) as error:  # not a name of the database
        if name:
            raise ValueError(f"there is no time zone {name!r}") from error
        return _unnamed_zone()


def _machine_zone() -> str:
    try:
        return os.readlink("/etc/localtime").partition("zoneinfo/")[2]  # noqa: PTH115
    except OSError:
        return ""


def _unnamed_zone() -> tzinfo:
    """This machine's zone where its name is not known: a copy of its file, or its offset now."""
    from zoneinfo import ZoneInfo

    try:
        if not os.environ.get("TZ"):
            with open("/etc/localtime", "rb") as stream:  # noqa: PTH123
                return ZoneInfo.from_file(stream, key="localtime")
    except (OSError, ValueError):
        pass
    return datetime.now().astimezone().tzinfo or UTC


def monotonic() -> float:
    return time.monotonic()


def age(written: float) -> float:
    """Seconds since a time of a file, which is the machine's and knows nothing of WAKEBOOK_NOW."""
    return time.time() - written


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def parse(value: object) -> datetime | None:
    """ISO 8601 text, or seconds or milliseconds since 1970. None if it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_epoch(float(value))
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return None


def _from_epoch(seconds: float) -> datetime | None:
    if seconds > 1e11:  # a host that writes milliseconds
        seconds /= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def iso(moment: datetime) -> str:
    """2026-02-20T14:35:00Z, with milliseconds only where there are any."""
    moment = moment.astimezone(UTC)
    precision = "milliseconds" if moment.microsecond >= 1000 else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
