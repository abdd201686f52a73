"""Threads that read a type for the first time at the same time."""

from __future__ import annotations

import subprocess
import sys

RACE = """
from __future__ import annotations
import sys, threading, types
from wakebook.base.decode import convert, decode

DEFINED = '''
from __future__ import annotations
import msgspec
class Leaf(msgspec.Struct):
    words: list[str] = []
class Twig(msgspec.Struct):
    {leaves}
class Tree(msgspec.Struct):
    {twigs}
'''
leaves = "; ".join(f"leaf{n}: dict[str, Leaf] | None = None" for n in range(12))
twigs = "; ".join(f"twig{n}: list[Twig] | None = None" for n in range(12))
sys.setswitchinterval(1e-6)
for number in range(30):
    module = sys.modules[f"fresh{number}"] = types.ModuleType(f"fresh{number}")
    exec(DEFINED.format(leaves=leaves, twigs=twigs), vars(module))
    start = threading.Barrier(6)
    raw = {"twig5": [{"leaf11": {"a": {"words": ["b"]}}}]}
    read = []

    def work(module=module, start=start, read=read):
        start.wait()
        read.append(decode(b'{"twig5": [{"leaf11": {"a": {"words": ["b"]}}}]}', module.Tree))
        read.append(convert(raw, module.Tree))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read) == 12 and all(one == read[0] for one in read)
"""


def test_threads_may_be_the_first_to_read_a_type() -> None:
    """msgspec alone crashes the process here."""
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
