"""Parameters that programs of the vocabulary give by position, and defaults that they find otherwise here."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import turnwise

# The leading parameters in the order that programs rely on; what follows them here is given by name.
ORDERS = {
    "Task": "agent name llm_delegate single_round system_message user_message restart default_human_response "
    "interactive only_user_quits_root erase_substeps allow_null_result max_stalled_steps default_return_type "
    "done_if_no_response done_if_response config",
    "Task.run": "msg turns caller max_cost max_tokens session_id allow_restart return_type",
    "Task.run_async": "msg turns caller max_cost max_tokens session_id allow_restart return_type",
    "Task.add_sub_task": "task",
    "Task.clone": "i",
    "Task.init": "msg",
    "Task.step": "turns",
    "Task.step_async": "turns",
    "Task.response": "e turns",
    "Task.response_async": "e turns",
    "Task.done": "result r",
    "Task.valid": "result r",
    "Task.result": "status",
    "Task.kill_session": "session_id",
    "Task.log_message": "resp msg mark",
    "Task.set_color_log": "enable",
    "ChatAgent": "config task",
    "ChatAgent.agent_response": "msg",
    "ChatAgent.agent_response_async": "msg",
    "ChatAgent.augment_system_message": "message",
    "ChatAgent.can_respond": "message",
    "ChatAgent.chat_num_tokens": "messages",
    "ChatAgent.clear_history": "start end",
    "ChatAgent.clone": "i",
    "ChatAgent.create_agent_response": "content files content_any tool_messages oai_tool_calls oai_tool_choice "
    "oai_tool_id2result function_call recipient tainted",
    "ChatAgent.create_llm_response": "content content_any tool_messages oai_tool_calls oai_tool_choice "
    "oai_tool_id2result function_call recipient tainted",
    "ChatAgent.create_user_response": "content files content_any tool_messages oai_tool_calls oai_tool_choice "
    "oai_tool_id2result function_call recipient",
    "ChatAgent.delete_last_message": "role",
    "ChatAgent.disable_message_handling": "message_class",
    "ChatAgent.disable_message_use": "message_class",
    "ChatAgent.disable_message_use_except": "message_class",
    "ChatAgent.enable_message": "message_class use handle force require_recipient include_defaults",
    "ChatAgent.enable_message_handling": "message_class",
    "ChatAgent.from_ChatDocument": "msg output_type",
    "ChatAgent.from_id": "id",
    "ChatAgent.get_tool_messages": "msg all_tools",
    "ChatAgent.handle_message": "msg",
    "ChatAgent.handle_message_async": "msg",
    "ChatAgent.handle_message_fallback": "msg",
    "ChatAgent.handle_tool_message": "tool chat_doc",
    "ChatAgent.handle_tool_message_async": "tool chat_doc",
    "ChatAgent.has_only_unhandled_tools": "msg",
    "ChatAgent.has_tool_message_attempt": "msg",
    "ChatAgent.last_message_idx_with_role": "role",
    "ChatAgent.last_message_with_role": "role",
    "ChatAgent.llm_can_respond": "message",
    "ChatAgent.llm_response": "message",
    "ChatAgent.llm_response_async": "message",
    "ChatAgent.llm_response_forget": "message",
    "ChatAgent.llm_response_forget_async": "message",
    "ChatAgent.llm_response_messages": "messages output_len tool_choice",
    "ChatAgent.llm_response_messages_async": "messages output_len tool_choice",
    "ChatAgent.message_history_str": "i",
    "ChatAgent.nth_message_idx_with_role": "role n",
    "ChatAgent.num_tokens": "prompt",
    "ChatAgent.process_tool_results": "results id2result tool_calls",
    "ChatAgent.response_template": "e content files content_any tool_messages oai_tool_calls oai_tool_choice "
    "oai_tool_id2result function_call recipient tainted",
    "ChatAgent.set_output_format": "output_type force_tools use handle instructions",
    "ChatAgent.set_system_message": "msg",
    "ChatAgent.set_user_message": "msg",
    "ChatAgent.to_ChatDocument": "msg orig_tool_name chat_doc author_entity",
    "ChatAgent.tool_validation_error": "ve tool_class",
    "ChatAgent.truncate_message": "idx tokens warning inplace",
    "ChatAgent.update_history": "message response",
    "ChatAgent.update_last_message": "message role",
    "ChatAgent.user_response": "msg",
    "ChatAgent.user_response_async": "msg",
    "ChatDocument.deepcopy": "doc",
    "ChatDocument.delete_id": "id",
    "ChatDocument.from_LLMMessage": "message sender_name recipient",
    "ChatDocument.from_LLMResponse": "response displayed recognize_recipient_in_content",
    "ChatDocument.from_id": "id",
    "ChatDocument.from_str": "msg",
    "ChatDocument.to_LLMMessage": "message oai_tools",
    "ToolMessage.default_value": "f",
    "ToolMessage.format_instructions": "tool",
    "ToolMessage.get_value_of_type": "target_type",
    "ToolMessage.json_instructions": "tool",
    "ToolMessage.llm_function_schema": "request defaults",
    "ToolMessage.usage_examples": "random",
    "AddRecipientTool.response": "agent chat_doc",
    "RecipientTool.create": "recipients default",
    "RecipientTool.response": "agent chat_doc",
    "RewindTool.response": "agent",
    "run_batch_tasks": "task items input_map output_map stop_on_first_result sequential batch_size turns max_cost "
    "max_tokens",
    "run_batch_task_gen": "gen_task items input_map output_map stop_on_first_result sequential batch_size turns "
    "message handle_exceptions max_cost max_tokens",
    "run_batch_agent_method": "agent method items input_map output_map sequential stop_on_first_result "
    "handle_exceptions batch_size",
    "llm_response_batch": "agent items input_map output_map sequential stop_on_first_result batch_size",
    "agent_response_batch": "agent items input_map output_map sequential stop_on_first_result batch_size",
    "run_batch_function": "function items sequential batch_size",
    "quiet_mode": "quiet",
    "set_global": "key_vals",
    "temporary_settings": "temp_settings",
}


def parameters_of(name: str) -> list[str]:
    found: Any = turnwise
    owner: Any = None
    for part in name.split("."):
        owner, found = found, getattr(found, part)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inspect.signature(found).parameters.values() if p.kind in positional]
    is_method = isinstance(owner, type) and inspect.isfunction(inspect.getattr_static(owner, name.rpartition(".")[2]))
    return names[1:] if is_method or names[:1] == ["self"] else names


@pytest.mark.parametrize("name", ORDERS)
def test_arguments_are_taken_in_the_order_that_programs_give_them(name: str) -> None:
    order = ORDERS[name].split()

    assert parameters_of(name)[: len(order)] == order


def test_the_defaults_that_differ_are_those_that_the_docs_tell() -> None:
    page = (Path(__file__).parents[3] / "docs" / "compatibility.md").read_text()
    section = page.partition("## Defaults that differ\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| `([^`]+)` \|", section, re.MULTILINE)

    assert len(rows) == 7
    for config, field, told in rows:
        assert str(getattr(getattr(turnwise, config)(), field)) == told, f"{config}.{field}"
