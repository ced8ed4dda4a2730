"""A conversation that goes on from one run to the next, held in an event loop."""

import asyncio

import turnwise.langroid as lr

agent = lr.ChatAgent(lr.ChatAgentConfig(name="Host", system_message="Receive visitors."))
task = lr.Task(agent, interactive=False, single_round=True, restart=False)


async def main() -> None:
    for visitor in ("I am Ann.", "Who was here?"):
        answer = await task.run_async(visitor)
        print("RESULT:", answer.content if answer else None)


asyncio.run(main())
