"""The protocol over HTTP, in the service at /mcp: the official SDK around the same offer.

The SDK takes a second or two to import and some tens of megabytes to stay, so it is loaded by
the first client that asks. No session is kept for a client: one that goes on after the service
was started anew notices nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from wakebook.service import mcp as offer
from wakebook.service.mcp import INVALID, NO_RESOURCE, Refused

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from wakebook.service.pool import Pool

LARGEST = 8 << 20  # bytes; the guard has counted them before


class Endpoint:
    """An ASGI app that is made when it is first called."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._ready))
        manager = await asyncio.shield(self._ready)
        await manager.handle_request(scope, receive, send)

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """In one task from its start to its end, as the SDK wants it."""
        try:
            manager = await asyncio.to_thread(_manager, self._pool)
            async with manager.run():
                ready.set_result(manager)
                await self._stop.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
                self._ready = None  # the next one tries again
            raise

    async def end(self) -> None:
        self._stop.set()
        if self._task:
            with suppress(Exception):
                await self._task


def _manager(pool: Pool) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    return StreamableHTTPSessionManager(
        _server(pool), json_response=True, stateless=True, max_request_body_size=LARGEST
    )


def _server(pool: Pool) -> Server[Any]:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import Server

    def asks(method: str, result: type[Any]) -> Callable[[Any, Any], Awaitable[Any]]:
        async def handle(context: Any, params: Any) -> Any:
            given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
            try:
                found = await pool.run(lambda m: offer.answer(lambda: m, method, given))
            except Refused as error:
                raise MCPError(_code(error, context), str(error), error.data) from error
            return result.model_validate(found)

        return handle

    about = offer.about()
    return Server(
        about["name"],
        title=about["title"],
        version=about["version"],
        instructions=offer.INSTRUCTIONS,
        on_list_tools=asks("tools/list", types.ListToolsResult),
        on_call_tool=asks("tools/call", types.CallToolResult),
        on_list_resources=asks("resources/list", types.ListResourcesResult),
        on_list_resource_templates=asks(
            "resources/templates/list", types.ListResourceTemplatesResult
        ),
        on_read_resource=asks("resources/read", types.ReadResourceResult),
        on_list_prompts=asks("prompts/list", types.ListPromptsResult),
        on_get_prompt=asks("prompts/get", types.GetPromptResult),
    )


def _code(error: Refused, context: Any) -> int:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return INVALID if modern and error.code == NO_RESOURCE else error.code
