"""An agent with a tool of a function, a tool in XML, and the tools of an MCP server that it starts.

In this process:  python examples/mcp_tools.py        (needs: pip install 'turnwise[mcp]')
Served:           cd examples && turnwise up --app mcp_tools:app
                  turnwise submit report "Report on Oslo" --wait
"""

from __future__ import annotations

import sys

from pydantic import Field

from turnwise import App, ChatAgent, ChatAgentConfig, MCPTools, MockLMConfig, Task, ToolMessage, XMLToolMessage

app = App("reports")


def serve() -> None:
    """The MCP server: any other one, in any language, would do."""
    from mcp.server import MCPServer

    server = MCPServer("weather")

    @server.tool()
    def temperature(city: str) -> str:
        """The temperature in a city."""
        return f"{city}: 4 degrees Celsius"

    server.run("stdio")


@ToolMessage.from_function
def to_fahrenheit(celsius: float) -> str:
    """Convert a temperature.

    Args:
        celsius: Degrees Celsius.
    """
    return f"{celsius * 1.8 + 32:g} degrees Fahrenheit"


class Publish(XMLToolMessage):
    """A text with any characters: as XML the model need not escape it."""

    request: str = "publish"
    purpose: str = "To publish the <text> of a report."
    text: str = Field(json_schema_extra={"verbatim": True})

    def handle(self) -> str:
        return f"DONE Published: {self.text}"


# Stands in for a real model, which would choose the tools by itself.
MODEL = MockLMConfig(
    response_dict={
        "Report on Oslo": 'I look it up. {"request": "weather_temperature", "city": "Oslo"}',
        "Oslo: 4 degrees Celsius": '{"request": "to_fahrenheit", "celsius": 4}',
        "39.2 degrees Fahrenheit": Publish(text='"Oslo" is < 40 degrees & cold.').to_xml(),
    }
)

weather = MCPTools([sys.executable, __file__, "serve"], prefix="weather_")


@app.task
def report() -> Task:
    """One agent with tools of all three kinds."""
    agent = ChatAgent(ChatAgentConfig(name="Reporter", llm=MODEL))
    agent.enable_message([to_fahrenheit, Publish, *weather.tools()])
    return Task(agent, interactive=False)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        result = report().run(sys.argv[1] if len(sys.argv) > 1 else "Report on Oslo")
        print(result.content if result else "no answer")
