"""The loop as a DBOS workflow whose model calls and tool calls are steps: `dbos_loop URL`.

The workflows are asynchronous and run in one event loop, as in its authors' benchmarks. The library sets all else.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import sqlalchemy
from dbos import DBOS

from bench.counting import called, counted, first_message, said, turns_of
from bench.peers import protocol


@DBOS.step()
async def _ask_model(messages: list[dict[str, str]]) -> str:
    return said(messages[-1]["content"])


@DBOS.step()
async def _count(n: int, limit: int) -> str:
    return counted(n, limit)


@DBOS.workflow()
async def _loop(text: str) -> int:
    messages = [{"role": "user", "content": text}]
    while True:
        answer = await _ask_model(messages)
        messages.append({"role": "assistant", "content": answer})
        call = called(answer)
        if call is None:
            return len(messages)
        messages.append({"role": "tool", "content": await _count(*call)})


async def _converse(turns: int) -> None:
    assert await _loop(first_message(turns)) == turns_of(turns) + 1


async def _converse_together(turns: int, conversations: int) -> float:
    begun = time.perf_counter()
    await asyncio.gather(*(_converse(turns) for _ in range(conversations)))
    return time.perf_counter() - begun


def _found(url: str) -> dict[str, str]:
    """The settings of a connection that is opened as the library opens its own."""
    names = ["synchronous_commit"] if url.startswith("postgresql") else ["journal_mode", "synchronous"]
    command = "SHOW" if url.startswith("postgresql") else "PRAGMA"
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        found = {name: str(connection.execute(sqlalchemy.text(f"{command} {name}")).scalar_one()) for name in names}
    engine.dispose()
    return found


def main() -> None:
    """Play what is ordered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", help="URL of the system database")
    where = parser.parse_args().where
    DBOS(config={"name": "bench", "system_database_url": where, "log_level": "WARNING"})
    DBOS.launch()
    # One loop for all orders: the library remembers in which loop it works.
    with asyncio.Runner() as runner:

        def play(turns: int, conversations: int) -> dict[str, float]:
            return {"seconds": runner.run(_converse_together(turns, conversations))}

        protocol.answer(play, settings=_found(where), packages=["dbos"])
    DBOS.destroy()


if __name__ == "__main__":
    main()
