"""Who listens to changes, and what is watched for them."""

import asyncio
from pathlib import Path

from wakebook import Memory
from wakebook.service.page.live import Live


def test_from_one_view_to_the_next_one_watch_goes_on(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "home")
    memory.init()

    async def visits() -> None:
        live, seen = Live(memory.home), set[int]()
        for _ in range(3):
            events = live.listen()
            assert "ready" in await anext(events)
            seen.add(id(live._watching))
            await events.aclose()
        assert len(seen) == 1
        assert live._watching and not live._watching.done()
        live.end()
        assert live._watching is None

    asyncio.run(visits())
