"""Watches the tasks and models of one scenario and writes down what they do."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from turnwise import (
    ChatDocument,
    Entity,
    LanguageModel,
    LLMMessage,
    LLMResponse,
    OpenAIToolCall,
    StatusCode,
    Task,
    ToolMessage,
)
from turnwise.models.base import TokenSink, ToolChoice

from .record import (
    CallRecord,
    ObservedDocument,
    ObservedError,
    ObservedMessage,
    ObservedRun,
    PromptMessage,
    ToolRecord,
    TypedValue,
)

_COMMON_FIELDS = ("request", "purpose", "id")


class Observer:
    """Collects the messages taken and the tasks ended of the run that is under way, and the prompts of all runs."""

    def __init__(self) -> None:
        self.prompts: dict[str, list[tuple[PromptMessage, ...]]] = {}
        self._taken: list[ObservedMessage] = []
        self._ends: list[tuple[str, str]] = []

    def task_class(self) -> type[Task]:
        """A `Task` that tells this observer what it takes and how it ends; sub-tasks must be of it, too."""
        observer = self

        class ObservedTask(Task):
            def log_message(self, resp: Entity | Task, msg: ChatDocument | None = None, mark: bool = False) -> None:
                if mark and msg is not None:
                    observer._taken.append(observed_message(self.name, resp, msg))
                super().log_message(resp, msg, mark)

            def result(self, status: StatusCode | None = None) -> ChatDocument | None:
                result: ChatDocument | None = super().result(status)
                observer._ends.append((self.name, status.value if status is not None else "none"))
                return result

        return ObservedTask

    def run_ended(self, result: object, typed: bool) -> ObservedRun:
        """Return what was seen since the last run ended, with the run's result; `typed`: it had a return type."""
        return self._run(result=observed_result(result, typed))

    def run_raised(self, error: Exception) -> ObservedRun:
        types = tuple(kind.__name__ for kind in type(error).__mro__ if issubclass(kind, Exception))
        return self._run(error=ObservedError(types=types, detail="".join(traceback.format_exception(error))))

    def _run(
        self, result: ObservedDocument | TypedValue | None = None, error: ObservedError | None = None
    ) -> ObservedRun:
        run = ObservedRun(taken=tuple(self._taken), ends=tuple(self._ends), result=result, error=error)
        self._taken.clear()
        self._ends.clear()
        return run


class RecordingModel(LanguageModel):
    """Writes down each prompt, without the system message, and lets the model inside answer."""

    def __init__(self, inner: LanguageModel, prompts: list[tuple[PromptMessage, ...]]) -> None:
        super().__init__(inner.config)
        self._inner = inner
        self._prompts = prompts

    def chat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        self._prompts.append(_prompt(messages))
        return self._inner.chat(messages, max_tokens, tools, on_token=on_token)

    async def achat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        self._prompts.append(_prompt(messages))
        return await self._inner.achat(messages, max_tokens, tools, on_token=on_token)

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)


def observed_message(task: str, responder: Entity | Task, message: ChatDocument) -> ObservedMessage:
    """A message that a task took, as it is compared."""
    meta = message.metadata
    return ObservedMessage(
        task=task,
        responder=responder.name,
        sender=meta.sender.name,
        recipient=meta.recipient,
        content=message.content,
        tools=_tools(message.tool_messages),
        status=meta.status.value if meta.status else None,
        calls=_calls(message.oai_tool_calls),
        results=dict(message.oai_tool_id2result) if message.oai_tool_id2result else None,
    )


def observed_result(result: object, typed: bool) -> ObservedDocument | TypedValue | None:
    """A run's result as it is compared; `typed`: the run had a return type."""
    if result is None:
        return None
    if typed:
        return TypedValue.model_validate({"value": _plain(result)})
    if not isinstance(result, ChatDocument):
        raise TypeError(f"a run without return type gave a {type(result).__name__}, expected a ChatDocument or None")
    meta = result.metadata
    return ObservedDocument(
        content=result.content,
        tools=_tools(result.tool_messages),
        status=meta.status.value if meta.status else None,
        recipient=meta.recipient,
        content_any=None if isinstance(result.content_any, str) else _plain(result.content_any),
        calls=_calls(result.oai_tool_calls),
    )


def _tools(tools: Sequence[ToolMessage]) -> tuple[ToolRecord, ...]:
    return tuple(ToolRecord.model_validate(_plain(tool)) for tool in tools)


def _plain(value: Any) -> Any:
    """`value` as JSON would have it, a tool as its record."""
    if isinstance(value, ToolMessage):
        names = [*type(value).model_fields, *(value.model_extra or {})]
        fields = {name: _plain(getattr(value, name)) for name in names if name not in _COMMON_FIELDS}
        return {"tool": value.request, "fields": fields}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _calls(calls: Sequence[OpenAIToolCall] | None) -> tuple[CallRecord, ...]:
    return tuple(
        CallRecord(id=call.id or "", name=call.function.name, arguments=call.function.arguments or {})
        for call in calls or ()
        if call.function is not None
    )


def _prompt(messages: Sequence[LLMMessage]) -> tuple[PromptMessage, ...]:
    if messages and messages[0].role.value == "system":
        messages = messages[1:]
    return tuple(
        PromptMessage(
            role=message.role.value,
            content=message.content or "",
            calls=_calls(message.tool_calls),
            answers=message.tool_call_id,
        )
        for message in messages
    )
