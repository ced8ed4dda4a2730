"""All services of a file: started in their order, stopped in the other one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from deploy.without_docker.compose_file import Condition, Service
from deploy.without_docker.errors import ComposeError
from deploy.without_docker.keeper import Keeper
from deploy.without_docker.program import Program

Tell = Callable[[str, str], None]


class Fleet:
    """Made inside a running loop; `tell` gets a service's name and a line."""

    def __init__(self, services: Mapping[str, Service], programs: Mapping[str, Program], tell: Tell) -> None:
        self._services = {name: services[name] for name in programs}
        self._keepers = {name: self._keeper(name, program, tell) for name, program in programs.items()}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self, stop: asyncio.Event, on_ready: Callable[[], None]) -> bool:
        """Run all until `stop`; `on_ready` is called once, when all can be used.

        It returns before if all end by themselves; whether all ended in good order. Raises `ComposeError`, once the
        others are stopped, if one ended that another waits for.
        """
        self._tasks = {name: asyncio.create_task(self._serve(name)) for name in self._keepers}
        ready = asyncio.create_task(self._await_all(on_ready))
        stopped = asyncio.create_task(stop.wait())
        try:
            await self._first_of(stopped)
        finally:
            ready.cancel()
            stopped.cancel()
            await self._stop_all()
        return not any(keeper.killed for keeper in self._keepers.values())

    def kill(self) -> None:
        """End all at once."""
        for keeper in self._keepers.values():
            keeper.kill()

    async def _first_of(self, stopped: asyncio.Task[bool]) -> None:
        """Until it is stopped, all have ended, or a service can never be started."""
        left: set[asyncio.Task[None]] = set(self._tasks.values())
        while left and not stopped.done():
            done, _ = await asyncio.wait([stopped, *left], return_when=asyncio.FIRST_COMPLETED)
            for task in left & done:
                task.result()
            left -= done

    async def _serve(self, name: str) -> None:
        for other, wait in self._services[name].depends_on.items():
            if other in self._keepers:
                await self._await(name, other, wait.condition)
        await self._keepers[name].run()

    async def _await(self, name: str, other: str, condition: Condition) -> None:
        keeper = self._keepers[other]
        if condition == "service_completed_successfully":
            code = await asyncio.shield(keeper.ended)
            if code != 0:
                raise ComposeError(f"{name} is not started: {other} ended with exit code {code}")
            return
        if not await _before_the_end(keeper, keeper.started if condition == "service_started" else keeper.healthy):
            raise ComposeError(f"{name} is not started: {other} has ended")

    async def _await_all(self, on_ready: Callable[[], None]) -> None:
        for keeper in self._keepers.values():
            await _before_the_end(keeper, keeper.ready)
        on_ready()

    async def _stop_all(self) -> None:
        """Stop the services, each before those that it depends on."""
        gone = {name: asyncio.Event() for name in self._keepers}

        async def stop(name: str) -> None:
            for other, service in self._services.items():
                if name in service.depends_on:
                    await gone[other].wait()
            await self._keepers[name].stop()
            self._tasks[name].cancel()
            with suppress(asyncio.CancelledError, ComposeError):
                await self._tasks[name]
            gone[name].set()

        await asyncio.gather(*map(stop, self._keepers))

    def _keeper(self, name: str, program: Program, tell: Tell) -> Keeper:
        return Keeper(self._services[name], program, lambda line: tell(name, line))


async def _before_the_end(keeper: Keeper, event: asyncio.Event) -> bool:
    """Wait for `event`, or that the service has ended for good, and return whether the event came."""
    waiting = asyncio.create_task(event.wait())
    either: list[asyncio.Future[Any]] = [waiting, keeper.ended]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return waiting.done()
    finally:
        waiting.cancel()
