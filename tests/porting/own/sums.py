"""A clerk keeps a sum in a tool's answers, and asks the human what to add."""

from rich.prompt import Prompt

import turnwise.langroid as lr
import turnwise.langroid.language_models as lm
from turnwise.langroid.agent.tools.orchestration import ForwardTool


class SumTool(lr.ToolMessage):
    request: str = "sum_up"
    purpose: str = "To add the <first> number and the <second>"
    first: int
    second: int

    def handle(self) -> str:
        return f"The sum is {self.first + self.second}."


class Clerk(lr.ChatAgent):
    def handle_message_fallback(self, msg: str | lr.ChatDocument) -> ForwardTool | None:
        if isinstance(msg, lr.ChatDocument) and msg.metadata.sender == lr.Entity.LLM:
            return ForwardTool(agent="User")
        return None


greeting = Prompt.ask("How shall the clerk be greeted?", default="Good day")
clerk = Clerk(lr.ChatAgentConfig(name="Clerk", llm=lm.OpenAIGPTConfig(chat_model="gpt-4o"), system_message="Add."))
clerk.enable_message(SumTool)
result = lr.Task(clerk, interactive=False).run(greeting)
print("RESULT:", result.content if result else None)
