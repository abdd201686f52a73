from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.log.test_log import entry
from wakebook import Memory
from wakebook.log import log
from wakebook.log.chains import extend, resolve
from wakebook.log.entry import Entry, encode
from wakebook.log.log import Ledger
from wakebook.log.query import Query, pick


def item(number: int, replaces: Sequence[int] = (), **fields: object) -> Entry:
    ids = tuple(name(old) for old in replaces)
    return entry(f"entry {number}", number, id=name(number), replaces=ids, **fields)


def name(number: int) -> str:
    return f"id{number:010}"


def test_a_chain_leaves_its_end() -> None:
    chains = resolve([item(1), item(2, [1]), item(3, [2])])
    assert [entry.id for entry in chains.current()] == [name(3)]
    assert chains.latest(name(1)) == name(3)
    assert [entry.id for entry in chains.history(name(2))] == [name(1), name(2), name(3)]


def test_a_merge_replaces_all_of_its_sources() -> None:
    chains = resolve([item(1), item(2), item(3), item(4, [1, 3])])
    assert [entry.id for entry in chains.current()] == [name(2), name(4)]
    assert len(chains.history(name(4))) == 3


def test_a_dangling_id_is_reported_and_harmless() -> None:
    chains = resolve([item(1, [9])])
    assert chains.dangling == ((name(1), name(9)),)
    assert len(chains.current()) == 1


def test_a_circle_is_reported_and_its_newest_entry_holds() -> None:
    chains = resolve([item(1, [3]), item(2, [1]), item(3, [2]), item(4)])
    assert [entry.id for entry in chains.current()] == [name(3), name(4)]
    assert len(chains.cycles) == 1
    assert set(chains.cycles[0]) == {name(1), name(2), name(3)}


def test_the_first_of_a_repeated_id_counts() -> None:
    chains = resolve([item(1), item(2), item(1)])
    assert chains.repeated == (name(1),)
    assert len(chains.by_id) == 2


@given(st.lists(st.lists(st.integers(0, 14), max_size=3), max_size=15))
def test_whatever_replaces_whatever_it_ends_and_something_holds(edges: list[list[int]]) -> None:
    entries = [
        item(number, [old for old in olds if old != number]) for number, olds in enumerate(edges)
    ]
    chains = resolve(entries)
    assert bool(chains.current()) == bool(entries)
    for entry_ in entries:
        assert chains.latest(entry_.id) not in chains.replaced_by
        assert entry_ in chains.history(entry_.id)


def test_a_task_is_done_and_a_question_closed_by_what_replaces_it() -> None:
    chains = resolve(
        [
            item(1, type="task", status="open"),
            item(2, [1], type="task", status="done"),
            item(3, type="question"),
            item(4, [3], type="decision"),
            item(5, type="task", status="open"),
            item(6, [5], type="task", status="open"),
            item(7, type="question"),
        ]
    )
    states = {key: chains.status(entry) for key, entry in chains.by_id.items()}
    assert states[name(1)] == "done"
    assert states[name(3)] == "answered"
    assert states[name(5)] == "replaced"  # reworded, and still to do
    assert states[name(6)] == "open"
    still_open = [entry.id for entry in chains.entries if chains.is_open(entry)]
    assert still_open == [name(6), name(7)]


def test_filters() -> None:
    chains = resolve(
        [
            item(1, type="decision", subject="billing", detail="fewer fees"),
            item(2, type="task", status="open", subject="old-name", session="other"),
            item(3, [1], type="decision", subject="billing"),
        ]
    )

    def found(**fields: object) -> list[str]:
        query = Query(**fields)  # type: ignore[arg-type]
        return [entry.id for entry in pick(chains, query, {"old-name": "new-name"})]

    assert found() == [name(2), name(3)]
    assert found(all=True) == [name(1), name(2), name(3)]
    assert found(types=("decision",)) == [name(3)]
    assert found(subjects=("new-name",)) == [name(2)]
    assert found(status="open") == [name(2)]
    assert found(session="oth") == [name(2)]
    assert found(text="FEES billing", all=True) == [name(1)]
    assert found(text='it\'s a "hyphen-ated" query (') == []
    moments = [entry.timestamp for entry in chains.entries]
    assert found(since=moments[2]) == [name(3)]
    assert found(until=moments[2]) == [name(2)]


@given(
    st.lists(st.lists(st.integers(0, 14), max_size=3), max_size=15),
    st.lists(st.integers(0, 14), max_size=4),
    st.lists(st.integers(0, 15), max_size=3),
)
def test_a_log_that_grows_is_resolved_like_a_whole_one(
    edges: list[list[int]], twice: list[int], cuts: list[int]
) -> None:
    kinds = ("task", "question", "fact")
    entries = []
    for number, olds in enumerate([*edges, *([] for _ in twice)]):
        known = number if number < len(edges) else twice[number - len(edges)]
        kind = kinds[known % 3]
        status = "open" if kind == "task" else None
        replaces = [old for old in olds if old != known]
        entries.append(item(known, replaces, type=kind, status=status))
    grown = resolve(())
    for start, stop in pairwise([0, *sorted(cuts), len(entries)]):
        grown = extend(grown, entries[start:stop])
    whole = resolve(entries)
    assert grown == whole
    assert list(grown.by_id) == list(whole.by_id)
    assert list(grown.still_open) == list(whole.still_open)
    assert list(whole.still_open.values()) == [one for one in whole.entries if whole.is_open(one)]


def test_a_ledger_reads_only_what_was_added(memory: Memory) -> None:
    ledger = Ledger(memory.home)
    first = memory.remember("one")
    assert list(ledger.chains().by_id) == [first.id]
    entry_ = ledger.chains().by_id[first.id]
    second = memory.remember("two", replaces=[first.id])
    assert [one.id for one in ledger.chains().current()] == [second.id]
    assert ledger.chains().by_id[first.id] is entry_
    with memory.home.locked():
        log.rewrite(memory.home, [encode(second)])
    assert list(ledger.chains().by_id) == [second.id]
