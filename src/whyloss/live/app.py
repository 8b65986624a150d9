"""The live page's addresses: the page, its stream of events, pictures and tables. All relative, all reading only."""

import asyncio
import contextlib

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from whyloss.live.door import Door
from whyloss.live.watch import Watch
from whyloss.render.live import page

PAUSE = 0.4      # seconds between two looks while someone watches
IDLE = 10.0      # and while nobody does
BEAT = 15.0      # seconds without news after which the stream says that it is still there
STREAMS = 200    # at a time
TOGETHER = 20    # runs in one table


class Hub:
    """Looks at the runs while pages are open, and wakes their streams when there is news."""

    def __init__(self, watch: Watch, stopping=lambda: False):
        self.watch, self.stopping = watch, stopping
        self.streams = 0
        self._news, self._came = asyncio.Event(), asyncio.Event()

    async def keep_looking(self) -> None:
        while not self.stopping():
            try:
                changed = await run_in_threadpool(self.watch.look)
            except Exception as error:  # the page says so, and looks again
                self.watch.notes, changed = [f"an error of ours: {type(error).__name__}: {error}"], True
            if changed:
                self._wake()
            if self.streams:
                await asyncio.sleep(PAUSE)
            else:
                self._came.clear()
                await self._until(self._came, IDLE)
        self._wake()

    async def _until(self, event: asyncio.Event, seconds: float) -> None:
        """Until it happens, the time is over, or the server ends."""
        for _ in range(max(1, round(seconds / PAUSE))):
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(event.wait(), PAUSE)
            if self.stopping():
                return

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def stream(self):
        """Server-sent events for one page: first everything, then what is new."""
        seen: dict = {}
        self.streams += 1
        self._came.set()
        try:
            yield b"retry: 1000\n\n"
            while not self.stopping():
                news = self._news
                text = self.watch.news(seen)
                yield f"event: news\ndata: {text}\n\n".encode() if text else b": still here\n\n"
                await self._until(news, BEAT)
        finally:
            self.streams -= 1


def build(watch: Watch, key: str, hosts=(), stopping=lambda: False):
    """The ASGI application behind its door. stopping: whether the server is about to end"""
    hub = Hub(watch, stopping)

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        looking = asyncio.create_task(hub.keep_looking())
        yield
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking

    async def show(_request: Request) -> Response:
        html, policy = page()
        return Response(html, media_type="text/html", headers={"content-security-policy": policy})

    async def events(_request: Request) -> Response:
        if hub.streams >= STREAMS:
            return Response("too many pages are open\n", 503)
        # a proxy that gathered the stream would hold it back
        return StreamingResponse(hub.stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def pictures(request: Request) -> Response:
        packed = "gzip" in request.headers.get("accept-encoding", "")
        made = await run_in_threadpool(watch.pictures, request.query_params.get("run", ""), packed=packed)
        return _found(made, "application/json", {"content-encoding": "gzip"} if packed else {})

    async def numbers(request: Request) -> Response:
        asked = request.query_params
        return _found(await run_in_threadpool(watch.numbers, asked.get("run", ""), asked.get("figure", "")))

    async def together(request: Request) -> Response:
        return _found(await run_in_threadpool(watch.together, request.query_params.getlist("run")[:TOGETHER]))

    async def state(_request: Request) -> Response:
        return Response(watch.state(), media_type="application/json")

    routes = [Route(f"/{name}", called) for name, called in (("", show), ("events", events), ("pictures", pictures), ("numbers", numbers),
                                                            ("together", together), ("state", state))]
    return Door(Starlette(routes=routes, lifespan=lifespan), key, hosts)


def _found(content, kind: str = "text/html", headers=None) -> Response:
    if content is None:
        return Response("no such run or picture\n", 404, media_type="text/plain")
    return Response(content, media_type=kind, headers=headers)
