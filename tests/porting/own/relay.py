"""Two agents: one passes a number on, the other ends with the answer; the script wants it as a number."""

import turnwise.langroid as lr
from turnwise.langroid.agent.tools.orchestration import FinalResultTool
from turnwise.langroid.utils.configuration import settings


class AnswerTool(FinalResultTool):
    request: str = "answer_tool"
    purpose: str = "To give the <answer>"
    _allow_llm_use: bool = True
    answer: int


settings.cache = False
giver = lr.ChatAgent(lr.ChatAgentConfig(name="Giver", system_message="Say the number."))
taker = lr.ChatAgent(lr.ChatAgentConfig(name="Taker", system_message="Double the number."))
taker.enable_message(AnswerTool)
task = lr.Task(giver, interactive=False)[AnswerTool]
task.add_sub_task(lr.Task(taker, interactive=False))
for number in ("4", "7"):
    found = task.run(number)
    print("RESULT:", found.answer if found else None)
