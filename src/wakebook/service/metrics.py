"""Metrics: what the service has done, in the text format that Prometheus reads.

The contents of the home are counted when a client asks. A label is never a client's own words.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from wakebook.base import clock
from wakebook.memory import Memory

BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)  # seconds
LOOK_SECONDS = 15.0
LOOKS = ("/health", "/metrics")  # which ask how the service is doing, and nothing of it
HELP = json.loads(Path(__file__).with_name("metrics.json").read_bytes())  # kind and meaning


class Metrics:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = Counter({("catch_ups_total", ""): 0, ("failures_total", ""): 0})
        self._seconds: dict[str, list[float]] = {}  # path -> buckets, sum, number
        self._started = self._asked = clock.monotonic()
        self._looked = -LOOK_SECONDS
        self._home: dict[str, float] = {}
        self._caught_up = 0.0
        self.running = 0  # requests; counted by the loop alone

    def count(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counts[name, _labelled(**labels)] += 1

    def asked(self, path: str, status: int, seconds: float) -> None:
        """A request was answered. `path` is one of the table."""
        if path not in LOOKS:
            self._asked = clock.monotonic()
        self.count("requests_total", path=path, status=str(status))
        with self._lock:
            kept = self._seconds.setdefault(path, [0.0] * (len(BUCKETS) + 2))
            for number, most in enumerate(BUCKETS):
                kept[number] += seconds <= most
            kept[-2] += seconds
            kept[-1] += 1

    @property
    def idle(self) -> float:
        """Seconds since somebody wanted something of the memory."""
        return clock.monotonic() - self._asked

    def caught_up(self) -> None:
        self.count("catch_ups_total")
        self._caught_up = clock.now().timestamp()

    def look(self, memory: Memory) -> None:
        """What the home holds, by now."""
        if clock.monotonic() - self._looked < LOOK_SECONDS:
            return
        accounts = memory.audit()
        self._home = {
            "entries": len(list(memory.log.chains().current())),
            "transcripts": sum(1 for _ in memory.home.conversations.glob("*/*/*/*.md")),
            "sessions_behind": sum(one.status in ("behind", "failed") for one in accounts),
        }
        self._looked = clock.monotonic()

    def text(self, queue: int) -> str:
        with self._lock:
            counts, seconds = dict(self._counts), {k: list(v) for k, v in self._seconds.items()}
        gauges: dict[str, float] = {
            "queue_length": queue,
            "requests_running": self.running,
            "last_catch_up_timestamp_seconds": self._caught_up,
            "up_seconds": round(clock.monotonic() - self._started, 3),
            **self._home,
        }
        lines: list[str] = []
        for name, (kind, what) in HELP.items():
            lines += [f"# HELP wakebook_{name} {what}", f"# TYPE wakebook_{name} {kind}"]
            if name == "request_seconds":
                lines += _histogram(seconds)
            elif kind == "counter":
                found = sorted((one, n) for (key, one), n in counts.items() if key == name)
                lines += [f"wakebook_{name}{one} {number}" for one, number in found]
            elif name in gauges:
                lines.append(f"wakebook_{name} {gauges[name]:.16g}")
        return "\n".join(lines) + "\n"


def _histogram(seconds: Mapping[str, list[float]]) -> Iterator[str]:
    name = "wakebook_request_seconds"
    for path, kept in sorted(seconds.items()):
        limits = (*(f"{most:g}" for most in BUCKETS), "+Inf")
        for le, number in zip(limits, (*kept[:-2], kept[-1]), strict=True):
            yield f"{name}_bucket{_labelled(path=path, le=le)} {number:.0f}"
        yield f"{name}_sum{_labelled(path=path)} {kept[-2]:.6f}"
        yield f"{name}_count{_labelled(path=path)} {kept[-1]:.0f}"


def _labelled(**labels: str) -> str:
    told = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{{{told}}}" if told else ""
