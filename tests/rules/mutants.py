"""Rules broken on purpose: each is one change of the code, after which some scenario has to fail."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """In `file`, below the package, `old` becomes `new`; the rules say what that breaks."""

    rules: tuple[str, ...]
    file: str
    old: str
    new: str


def _mutant(rules: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(rules=tuple(rules.split()), file=file, old=old, new=new)


_DONE = "machine/done.py"
_STEP = "machine/step.py"
_AFTER = "machine/after_step.py"
_WHO = "machine/responders.py"
_ROUTE = "machine/routing.py"
_RESULT = "machine/result.py"
_SEQ = "machine/sequences.py"
_LOOPS = "machine/loops.py"
_FIND = "messages/tool_parsing.py"
_DISPATCH = "agents/tools/dispatch.py"
_API = "messages/api_results.py"
_TYPES = "messages/return_value.py"
_ORCH = "messages/tools/orchestration.py"
_TURN = "agents/model_turn.py"

MUTANTS = (
    # messages
    _mutant(
        "MSG-2", "messages/signals.py", "    if match:\n        return match", "    if False:\n        return match"
    ),
    _mutant("MSG-3", "messages/signals.py", "        if len(names) == 1:", "        if len(names) >= 1:"),
    _mutant("MSG-4", "messages/document.py", "if recognize_recipient_in_content and content:", "if content:"),
    _mutant("MSG-7", _DONE, "if text and not (spec.recognize_string_signals and text == PASS):", "if text:"),
    _mutant("MSG-8", _DONE, "DONE in doc.content", "DONE == doc.content"),
    _mutant("MSG-9", _DONE, "doc.content.strip() in USER_QUIT_STRINGS", "doc.content in USER_QUIT_STRINGS"),
    _mutant("MSG-10", _DONE, "return doc.metadata.sender == Entity.USER and (", "return bool(doc.content) and ("),
    _mutant(
        "MSG-13",
        "messages/linked_document.py",
        "linked = self.changed(metadata=meta.changed(parent_id=answered))",
        "linked = self",
    ),
    _mutant("HUMAN-2", "messages/human.py", 'text = default or "null"', 'text = default or ""'),
    _mutant("HUMAN-3", _STEP, "responder == USER and self.spec.default_human_response is not None", "False"),
    _mutant("HUMAN-4", "messages/human.py", "if (system := _SYSTEM.match(text)) is not None:", "if False:"),
    _mutant("HUMAN-4", "messages/human.py", """(?!['’-]?\\w)")""", '")'),
    # trust
    _mutant("TRUST-1", _FIND, "if tool.request in agent.tools.usable], []", "], []"),
    _mutant("TRUST-2", "messages/provenance.py", "(not meta.tools_from_agent and meta.sender == Entity.USER)", "False"),
    _mutant(
        "TRUST-4 WHO-5",
        _WHO,
        "if any(handles(agent, tool) for tool in found.present):\n        return False",
        "if any(handles(agent, tool) for tool in found.tools):\n        return False",
    ),
    _mutant(
        "TRUST-5", _FIND, "if distrusted and not agent.accept_user_tools", "if False and not agent.accept_user_tools"
    ),
    _mutant("TRUST-6", "tasks/entry.py", "if copy.metadata.sender == Entity.USER:", "if False:"),
    _mutant(
        "TRUST-7",
        "tasks/entry.py",
        "metadata.tainted, metadata.tools_from_agent = False, True",
        "metadata.tainted = True",
    ),
    _mutant("TRUST-8", _RESULT, "tainted=doc.metadata.tainted if doc else False", "tainted=False"),
    _mutant("TRUST-9", "messages/provenance.py", "return type(tool)._steers", "return False"),
    _mutant("TRUST-10", _DISPATCH, "if handled and not same and not tainted:", "if handled and not same:"),
    _mutant("TRUST-12", _DISPATCH, "meta.tools_from_agent = True", "pass"),
    _mutant(
        "TRUST-14",
        _FIND,
        "if tool.request in agent.tools.usable], []",
        "if tool.request in agent.tools.usable], faults",
    ),
    # tools
    _mutant("TOOL-2", "agents/tools/toolbox.py", 'use and bool(tool.private_default("_allow_llm_use"))', "use"),
    _mutant("TOOL-5", _FIND, 'recipient in ("", agent_name)', "bool(agent_name)"),
    _mutant(
        "FIND-1",
        _FIND,
        "    if doc.tool_messages:\n        tools = list(doc.tool_messages)",
        "    if doc.tool_messages and not doc.content:\n        tools = list(doc.tool_messages)",
    ),
    _mutant("FIND-3", _FIND, "fields = inner if isinstance(inner, dict) else item", "fields = item"),
    _mutant(
        "FIND-4 DONE-2",
        _FIND,
        "call.function.name in agent.tools.known:",
        "call.function.name in agent.tools.handled:",
    ),
    _mutant("FIND-8", _FIND, "faults if handled else []", "faults"),
    _mutant(
        "FIND-5",
        _FIND,
        "return candidates[0] if len(candidates) == 1 else None",
        "return candidates[0] if candidates else None",
    ),
    _mutant(
        "FIND-6", "messages/json_text.py", "return (_repaired(text[start:end], self._meter), end)", "return (None, end)"
    ),
    _mutant("FIND-8 CALL-6", _DISPATCH, "elif key in faults:", "elif False:"),
    _mutant(
        "HANDLE-1",
        "agents/tools/handler_lookup.py",
        "    if method is None and twin is None:\n",
        "    if _brought(agent, tool) is not None or (method is None and twin is None):\n",
    ),
    _mutant(
        "HANDLE-2",
        "agents/tools/handler_lookup.py",
        'name = tool.private_default("_handler") or tool.request',
        "name = tool.request",
    ),
    _mutant("HANDLE-8", _DISPATCH, "if handled and not same and not tainted:", "if False:"),
    _mutant("HANDLE-9", _DISPATCH, "if handled and not same and not tainted:", "if handled and not forbidden:"),
    _mutant(
        "HANDLE-11",
        _DISPATCH,
        "    if not agent.config.allow_multiple_tools:\n        return _text",
        "    if False:\n        return _text",
    ),
    _mutant("HANDLE-12", _DISPATCH, "conflict = any(isinstance(tool, _ALONE) for tool in tools)", "conflict = False"),
    _mutant(
        "HANDLE-14", _DISPATCH, "if action is None or doc.metadata.sender != Entity.LLM or", "if action is None or"
    ),
    _mutant("HANDLE-17", _DISPATCH, "    if limit:\n", "    if False:\n"),
    _mutant(
        "HANDLE-19",
        "agents/agent.py",
        "fitted = 0\n        self.state = self._fresh_state()\n",
        "fitted = 0\n",
    ),
    _mutant("CALL-2", _API, "if len(open_calls) == 1:", "if False:"),
    _mutant("CALL-3", _API, "if len(by_id) == len(open_calls):", "if False:"),
    _mutant(
        "CALL-5",
        _API,
        "return text, None, open_calls[0].id\n    if len(by_id)",
        "return text, None, None\n    if len(by_id)",
    ),
    _mutant("CALL-6", _TURN, "if call.id not in answered", "if not answered and call.id"),
    _mutant(
        "CALL-7", _DISPATCH, "if len(results) > 1 and any(signal in text", "if len(results) > 9 and any(signal in text"
    ),
    _mutant(
        "CALL-8",
        "messages/history_form.py",
        "content = _with_foreign_calls(content, doc.function_call, doc.oai_tool_calls)",
        "pass",
    ),
    _mutant("CALL-11", "machine/stack.py", "if message is None or caller.allow_subtask_multi_oai_tools:", "if True:"),
    # who may answer
    _mutant("WHO-1", _WHO, "if pending_sender == responder:", "if False:"),
    _mutant(
        "WHO-2", _WHO, "    return recipient == responder\n", "    return recipient.lower() == responder.lower()\n"
    ),
    _mutant("WHO-3", _WHO, "or recipient in (spec.name, spec.alias)", ""),
    _mutant("TASK-10", _WHO, "in (spec.name, spec.alias)", "== spec.name"),
    _mutant("WHO-4", _WHO, "block is not None and block == responder", "False"),
    _mutant(
        "WHO-6",
        _WHO,
        "    if spec.interactive:\n        return True\n",
        "    if spec.interactive:\n        return True\n    if True:\n        return False\n",
    ),
    _mutant(
        "WHO-7", _FIND, "return not present and not agent.respond_tools_only", "return not agent.respond_tools_only"
    ),
    _mutant("WHO-8", _FIND, "return not present and not agent.respond_tools_only", "return not present"),
    # steps
    _mutant(
        "STEP-1",
        _WHO,
        "return others if last_asked == USER or attempted else (USER, *others)",
        "return (USER, *others)",
    ),
    _mutant(
        "STEP-2", _STEP, "if self.pending is not None and not known_recipient(", "if False and not known_recipient("
    ),
    _mutant("STEP-3", _STEP, "            self.stalled = 0\n", ""),
    _mutant("STEP-4", _STEP, "doc.metadata.sender.value if responder in ENTITIES else responder", "responder"),
    _mutant("STEP-5", _STEP, "            if self.answer_done:\n                break\n", ""),
    _mutant(
        "STEP-6",
        _STEP,
        "if self.no_answer is not None:",
        "if False:",
    ),
    _mutant(
        "STEP-7", _STEP, "sender = Entity.LLM if self.pending_sender == USER else Entity.USER", "sender = Entity.USER"
    ),
    _mutant("STEP-7", _STEP, "if self.spec.allow_null_result and not self.passed:", "if self.spec.allow_null_result:"),
    _mutant("STEP-8", _STEP, "            self._without_done_tools()\n", ""),
    _mutant("ROUTE-2", _STEP, "            self.stalled += 1\n        else:", "            pass\n        else:"),
    _mutant("ROUTE-3", _STEP, "passed_on.metadata.recipient = route.recipient", "pass"),
    _mutant("ROUTE-4", _ROUTE, "last = matches[-1]", "last = matches[0]"),
    _mutant("ROUTE-6", _ROUTE, "for prefix in (SEND_TO, addressing_prefix):", "for prefix in (SEND_TO,):"),
    _mutant("ROUTE-7", _ROUTE, "if only_at_start and not text", "if False and not text"),
    _mutant("ROUTE-8", _STEP, "        if not self.spec.recognize_string_signals:\n            return doc\n", ""),
    _mutant("VALID-1", "machine/work.py", "if doc is not None and self.done(doc, responder)[0]:", "if False:"),
    _mutant(
        "VALID-2", _DONE, '_PUNCTUATION.sub("", doc.content.strip()) != NO_ANSWER', "doc.content.strip() != NO_ANSWER"
    ),
    _mutant("VALID-3", _DONE, "responder in spec.done_if_response or", ""),
    _mutant("VALID-4", _DONE, "return responder in spec.done_if_no_response", "return False"),
    _mutant(
        "VALID-5",
        _DONE,
        "responder in spec.done_if_response or says_done(spec, doc) or",
        "responder in spec.done_if_response or",
    ),
    _mutant("VALID-6", _DONE, "(responder == AGENT and has_done_tool(doc, agent))", "False"),
    # the end
    _mutant("DONE-1 LIMIT-8", "machine/work.py", "if self.facts.killed:  # no rule", "if False:  # no rule"),
    _mutant("DONE-2", _DONE, "if spec.done_if_tool and current is not None", "if False and current is not None"),
    _mutant("DONE-3", _DONE, "if spec.sequences and sequence_complete(", "if False and sequence_complete("),
    _mutant(
        "DONE-4", _DONE, "if state.stalled >= spec.max_stalled_steps:", "if state.stalled > spec.max_stalled_steps:"
    ),
    _mutant("DONE-5 LIMIT-5", _DONE, "facts.cost > facts.max_cost", "facts.cost >= facts.max_cost"),
    _mutant("LIMIT-6", _DONE, "facts.tokens > facts.max_tokens", "facts.tokens >= facts.max_tokens"),
    _mutant(
        "DONE-6",
        _DONE,
        "if state.caller is None and spec.only_user_quits_root",
        "if False and spec.only_user_quits_root",
    ),
    _mutant("DONE-6", _DONE, "if state.caller is None and spec.only_user_quits_root", "if spec.only_user_quits_root"),
    _mutant("DONE-7", _DONE, "    if state.answer_done:\n        return True, StatusCode.DONE\n", ""),
    _mutant("DONE-8", _DONE, "        or says_done(spec, current)\n        or has_done_tool(current, agent)\n", ""),
    _mutant("DONE-9", _DONE, "        or _for_caller(spec, state, current.metadata.recipient)\n", ""),
    _mutant("TASK-10 DONE-9", _DONE, "recipient in (state.caller, spec.caller_alias)", "recipient == state.caller"),
    _mutant("LIMIT-1", _AFTER, "self.turn >= self.turns", "self.turn > self.turns"),
    _mutant("LIMIT-3", _AFTER, "and not 0 < self.facts.max_turns <= self.turn:", ":"),
    _mutant(
        "LIMIT-7",
        _AFTER,
        "        if self.facts.out_of_time:\n            return self.finish(StatusCode.TIMEOUT)\n",
        "",
    ),
    _mutant("SEQ-1", _SEQ, "        result = 0\n", "        result = matched\n"),
    _mutant(
        "SEQ-2", _SEQ, "            return sender == Entity.USER\n", "            return sender == Entity.SYSTEM\n"
    ),
    _mutant("SEQ-3", _SEQ, "return len(tools) == 1 and", "return bool(tools) and"),
    _mutant("SEQ-4", _SEQ, "re.compile(event.content_pattern, re.IGNORECASE)", "re.compile(event.content_pattern)"),
    _mutant(
        "LOOP-1",
        _LOOPS,
        "meta.sender_name, meta.recipient, tools, doc.content",
        "meta.sender_name, meta.recipient, tools",
    ),
    _mutant(
        "LOOP-2",
        _LOOPS,
        "this > dominance * following and this > wait_factor + following",
        "this > dominance * following",
    ),
    _mutant("LOOP-3", _AFTER, "if spec.inf_loop_cycle_len <= 0 or", "if"),
    _mutant("LOOP-4", _AFTER, "if self.alternations > spec.inf_loop_wait_factor:", "if False:"),
    _mutant("LOOP-5", "machine/stack.py", "and below and action.status is not StatusCode.INF_LOOP:", "and below:"),
    # results
    _mutant("RESULT-1", _RESULT, "if status in _NO_RESULT:", "if False:"),
    _mutant("RESULT-2", _RESULT, "        sender_name=spec.name,\n", ""),
    _mutant("RESULT-3", _RESULT, "if spec.recognize_string_signals and DONE in content:", "if DONE in content:"),
    _mutant("RESULT-4", _RESULT, "if not (isinstance(tool, (DoneTool, AgentDoneTool)) and tool in trusted)", ""),
    _mutant("RESULT-5", _RESULT, 'content, content_any, tools = "", None, [tool]', "pass"),
    _mutant("RESULT-6", _RESULT, "if spec.done_if_tool and not tools:", "if False:"),
    _mutant(
        "RESULT-7",
        _RESULT,
        "doc.metadata.tools_from_agent and bool(tools or calls or function)",
        "doc.metadata.tools_from_agent",
    ),
    _mutant("TYPE-1", _TYPES, "    return result.content\n\n", "    return result.content.strip()\n\n"),
    _mutant("TYPE-6", _TYPES, "value = tool.get_value_of_type(kind)", "value = None"),
    _mutant(
        "TYPE-8",
        "tasks/task.py",
        "wanted = return_type if return_type is not None else self.default_return_type",
        "wanted = self.default_return_type or return_type",
    ),
    # histories
    _mutant("HIST-1", "machine/machine.py", "afresh = (is_root and spec.restart) or", "afresh = False or"),
    _mutant("HIST-4", "machine/machine.py", "(not is_root and spec.restart_as_subtask)", "False"),
    _mutant("HIST-5", _AFTER, "self.edits.append(CutBack(self.spec.agent, self.history_start))", "pass"),
    _mutant("HIST-5", _AFTER, "self.edits.extend(Clear(sub.agent) for sub in self.spec.sub_tasks)", "pass"),
    _mutant(
        "HIST-10",
        "messages/history_form.py",
        "role = Role.SYSTEM if meta.sender == Entity.SYSTEM else Role.USER",
        "role = Role.USER",
    ),
    _mutant(
        "TASK-3",
        "machine/machine.py",
        "message.metadata.sender.value if said_before and message is not None else USER",
        "USER",
    ),
    _mutant("TASK-3", "tasks/entry.py", "doc.metadata.id = message.chat_document_id", "pass"),
    _mutant("TASK-5", "machine/stack.py", "copy.metadata.sender = Entity.USER", "pass"),
    # long histories
    _mutant("FIT-1", "agents/history/fitting.py", "return self.context - MARGIN - prompt", "return self.most"),
    _mutant("FIT-3", "agents/history/sending.py", '"drop_turns": DroppingTurns', '"drop_turns": Truncating'),
    _mutant("FIT-4", "agents/history/fitting.py", "self._whole = {0, ", "self._whole = {0} - {"),
    _mutant(
        "FIT-7",
        "agents/history/retention.py",
        "    if most is None:\n        return message\n    return message.model_copy",
        "    if True:\n        return message\n    return message.model_copy",
    ),
    # orchestration
    _mutant(
        "ORCH-7",
        _ORCH,
        "    while any(isinstance(tool, kind) for tool in tools_in(message)):",
        "    while False:",
    ),
    _mutant("ORCH-9", _ORCH, "        passed.metadata.recipient = self.agent\n", ""),
    _mutant("ORCH-13", "messages/tools/recipient.py", "or msg.metadata.recipient:", "or True:"),
    _mutant(
        "ORCH-14",
        "messages/tools/recipient.py",
        "    agent.record.kept_message = KeptMessage(content=content, tainted=tainted)\n",
        "    agent.record.kept_message = agent.record.kept_message or KeptMessage(content=content, tainted=tainted)\n",
    ),
    _mutant("ORCH-16", "messages/tools/rewind.py", "        agent.clear_history(index)\n", ""),
)
