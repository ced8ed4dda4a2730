"""The loop as a LangGraph graph with a checkpointer: `langgraph_loop sqlite|postgres URL`.

With `--state messages` it is the agent of LangGraph's quickstart: `MessagesState`, a node that asks the model, a node
that runs the tools, a conditional edge. With `--state plain` the state is a list of dicts, which costs less. The
synchronous savers and `invoke` were the quickest of what the documentation offers; conversations at once share
a few threads.
"""

from __future__ import annotations

import argparse
import operator
import sqlite3
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from bench.counting import DONE, called, counted, first_message, said
from bench.peers import protocol
from bench.threads import THREADS


@tool
def count(n: int, limit: int) -> str:
    """Count from n to limit."""
    return counted(n, limit)


def _ask_model(state: MessagesState) -> dict[str, Any]:
    text = said(state["messages"][-1].content)
    call = called(text)
    if call is None:
        return {"messages": [AIMessage(content=text)]}
    arguments = {"n": call[0], "limit": call[1]}
    return {"messages": [AIMessage(content="", tool_calls=[{"name": "count", "args": arguments, "id": f"c{call[0]}"}])]}


def _run_tools(state: MessagesState) -> dict[str, Any]:
    calls = state["messages"][-1].tool_calls
    return {"messages": [ToolMessage(content=count.invoke(call["args"]), tool_call_id=call["id"]) for call in calls]}


def _after_model(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


class _PlainState(TypedDict):
    messages: Annotated[list[dict[str, str]], operator.add]


def _ask_model_plain(state: _PlainState) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": said(state["messages"][-1]["content"])}]}


def _run_tools_plain(state: _PlainState) -> dict[str, Any]:
    n, limit = called(state["messages"][-1]["content"])
    return {"messages": [{"role": "tool", "content": counted(n, limit)}]}


def _after_model_plain(state: _PlainState) -> str:
    return END if state["messages"][-1]["content"] == DONE else "tools"


def _graph(state: str, saver: BaseCheckpointSaver) -> Any:
    plain = state == "plain"
    graph = StateGraph(_PlainState if plain else MessagesState)
    graph.add_node("model", _ask_model_plain if plain else _ask_model)
    graph.add_node("tools", _run_tools_plain if plain else _run_tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", _after_model_plain if plain else _after_model, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


@contextmanager
def _sqlite(file: str, synchronous: str) -> Iterator[tuple[BaseCheckpointSaver, dict[str, str]]]:
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()  # turns the write-ahead log on
        connection.execute(f"PRAGMA synchronous={synchronous}")
        found = {
            name: str(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("journal_mode", "synchronous")
        }
        yield saver, found


@contextmanager
def _postgres(url: str) -> Iterator[tuple[BaseCheckpointSaver, dict[str, str]]]:
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        found = saver.conn.execute("SHOW synchronous_commit").fetchone()
        yield saver, {"synchronous_commit": found["synchronous_commit"]}


def main() -> None:
    """Play what is ordered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("saver", choices=["sqlite", "postgres"])
    parser.add_argument("where", help="the file, or the URL")
    parser.add_argument("--durability", choices=["sync", "async"], default="sync")
    parser.add_argument("--synchronous", choices=["NORMAL", "FULL"], default="FULL")
    parser.add_argument("--state", choices=["messages", "plain"], default="messages")
    given = parser.parse_args()
    opened = _sqlite(given.where, given.synchronous) if given.saver == "sqlite" else _postgres(given.where)
    with opened as (saver, found):
        graph = _graph(given.state, saver)

        def converse(turns: int) -> None:
            text = first_message(turns)
            first = {"role": "user", "content": text} if given.state == "plain" else HumanMessage(text)
            config = {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": turns + 10}
            ended = graph.invoke({"messages": [first]}, config, durability=given.durability)
            assert len(ended["messages"]) == turns // 2 * 2 + 2, ended["messages"][-1]

        def play(turns: int, conversations: int) -> dict[str, float]:
            begun = time.perf_counter()
            if conversations == 1:
                converse(turns)
            else:
                with ThreadPoolExecutor(THREADS) as threads:
                    list(threads.map(converse, [turns] * conversations))
            return {"seconds": time.perf_counter() - begun}

        settings = {"durability": given.durability, "state": given.state, **found}
        packages = ["langgraph", f"langgraph-checkpoint-{given.saver}"]
        protocol.answer(play, settings=settings, packages=packages)


if __name__ == "__main__":
    main()
