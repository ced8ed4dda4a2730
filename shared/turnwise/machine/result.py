"""The result that a task hands to its caller."""

from __future__ import annotations

from turnwise.machine.done import ending_tools
from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import TaskState
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.entity import Entity, StatusCode
from turnwise.messages.signals import DONE
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tools.orchestration import AgentDoneTool, DoneTool, FinalResultTool, text_of

_NO_RESULT = (StatusCode.STALLED, StatusCode.MAX_TURNS, StatusCode.INF_LOOP)


def task_result(spec: TaskSpec, state: TaskState, facts: Facts, status: StatusCode) -> ChatDocument | None:
    """The pending message as coming from USER, in the task's name; None for STALLED, MAX_TURNS and INF_LOOP.

    DONE is taken off the text; of a done tool only its content and tools remain, so that the caller is not ended by
    it; a FinalResultTool is all that remains, so that every caller is.
    """
    doc = state.pending
    # RESULT-1
    if status in _NO_RESULT:
        return None
    if doc is None:
        return ChatDocument(metadata=_metadata(spec, facts, None, status))
    agent = facts.agent(spec.agent)
    content, content_any = doc.content, doc.content_any
    calls, function = doc.oai_tool_calls, doc.function_call
    trusted = ending_tools(doc, agent)
    tools: list[ToolMessage] = list(doc.tool_messages)
    # RESULT-6
    if spec.done_if_tool and not tools:
        tools = list(trusted)
    # RESULT-3
    if spec.recognize_string_signals and DONE in content:
        content = content.replace(DONE, "").strip()
        content_any = content if content_any == doc.content else content_any
    for tool in trusted:
        # RESULT-5
        if isinstance(tool, FinalResultTool):
            content, content_any, tools = "", None, [tool]
            break
        # RESULT-4
        if isinstance(tool, (DoneTool, AgentDoneTool)):
            content, content_any = text_of(tool), tool.content
            calls, function = None, None
            tools = list(tool.tools) if isinstance(tool, AgentDoneTool) else tools
            break
    # What a human typed ends nothing, so it stays what it is.
    tools = [tool for tool in tools if not (isinstance(tool, (DoneTool, AgentDoneTool)) and tool in trusted)]
    metadata = _metadata(spec, facts, doc, status)
    # RESULT-7
    metadata.tools_from_agent = doc.metadata.tools_from_agent and bool(tools or calls or function)
    result = ChatDocument(
        content=content,
        content_any=content_any,
        oai_tool_calls=calls,
        oai_tool_id2result=doc.oai_tool_id2result,
        function_call=function,
        tool_messages=tools,
        attachment=doc.attachment,
        files=doc.files,
        metadata=metadata,
    )
    result.answers(doc)
    return result


def _metadata(spec: TaskSpec, facts: Facts, doc: ChatDocument | None, status: StatusCode) -> ChatDocMetaData:
    # RESULT-2
    return ChatDocMetaData(
        id=facts.new_id(),
        source=Entity.USER,
        sender=Entity.USER,
        sender_name=spec.name,
        status=status,
        recipient=doc.metadata.recipient if doc else "",
        block=doc.metadata.block if doc else None,
        tool_ids=list(doc.metadata.tool_ids) if doc else [],
        tainted=doc.metadata.tainted if doc else False,
        quoted=doc.metadata.quoted if doc else False,
    )
