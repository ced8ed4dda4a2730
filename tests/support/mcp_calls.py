"""An agent with the tools of an MCP server, and calls of them as a model makes them."""

from __future__ import annotations

import json
from typing import Any

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    MCPTools,
)


def agent_with(server: MCPTools, **config: Any) -> ChatAgent:
    agent = ChatAgent(ChatAgentConfig(name="Bot", **config))
    agent.enable_message(server.tools())
    return agent


def from_llm(text: str = "", **fields: Any) -> ChatDocument:
    return ChatDocument(content=text, metadata=ChatDocMetaData(sender=Entity.LLM, tools_from_agent=True), **fields)


def answer(server: MCPTools, text: str) -> ChatDocument:
    doc = agent_with(server).agent_response(from_llm(text))
    assert doc is not None
    return doc


def echoing(schema: dict[str, Any]) -> MCPTools:
    """Tools of a server that lists `echo` with that schema, which answers with the arguments that arrived."""
    from mcp.server import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    async def echo(ctx: Any, params: Any) -> Any:
        return CallToolResult(content=[TextContent(text=json.dumps(params.arguments, sort_keys=True))])

    async def listed(ctx: Any, params: Any) -> Any:
        return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object", **schema})])

    return MCPTools(Server("open", on_list_tools=listed, on_call_tool=echo))
