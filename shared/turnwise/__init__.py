"""Durable conversations between LLM agents, tools and humans.

Everything that a program needs imports from here; what is heavy is loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwise.base.version import VERSION as _VERSION

if TYPE_CHECKING:
    from turnwise.agents.agent import Agent
    from turnwise.agents.callbacks import Callbacks
    from turnwise.agents.chat_agent import ChatAgent
    from turnwise.agents.config import AgentConfig, ChatAgentConfig, NonToolAction
    from turnwise.agents.global_state import GlobalState
    from turnwise.agents.tools.handler_calls import idempotency_key
    from turnwise.agents.tools.retrieval_tool import RetrievalTool
    from turnwise.app import App
    from turnwise.base.cancellation import cancelled, check_cancelled
    from turnwise.client import AsyncClient, Client
    from turnwise.errors import (
        CallCancelledError,
        CallTimeoutError,
        ContextOverflowError,
        InfiniteLoopException,
        TurnwiseError,
    )
    from turnwise.errors.rate_limits import Quota, RateLimits
    from turnwise.integrations.mcp.helpers import (
        FastMCPClient,
        get_mcp_tool_async,
        get_mcp_tools_async,
        get_tool,
        get_tool_async,
        get_tools,
        get_tools_async,
        mcp_tool,
    )
    from turnwise.integrations.mcp.server import MCPTools
    from turnwise.integrations.retrieval.config import PgVectorConfig, SqliteVectorConfig, VectorStoreConfig
    from turnwise.integrations.retrieval.document import DocMetaData, Document, ScoredDocument
    from turnwise.integrations.retrieval.embedder import Embedder, Embeddings
    from turnwise.integrations.retrieval.hashing import HashingEmbedder
    from turnwise.integrations.retrieval.openai_embedder import OpenAIEmbedder
    from turnwise.integrations.retrieval.splitting import ingest_documents, split_document, split_text
    from turnwise.integrations.retrieval.store import VectorStore
    from turnwise.machine.sequences import AgentEvent, DoneSequence, EventType
    from turnwise.messages.document import ChatDocument
    from turnwise.messages.document_metadata import ChatDocMetaData
    from turnwise.messages.entity import Entity, StatusCode
    from turnwise.messages.log_fields import ChatDocLoggerFields
    from turnwise.messages.signals import AT, DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO, USER_QUIT_STRINGS
    from turnwise.messages.stop_reason import StopReason
    from turnwise.messages.tool_message import ToolMessage
    from turnwise.messages.tools.orchestration import (
        AgentDoneTool,
        AgentSendTool,
        DonePassTool,
        DoneTool,
        FinalResultTool,
        ForwardTool,
        PassTool,
        ResultTool,
        SendTool,
    )
    from turnwise.messages.tools.recipient import AddRecipientTool, RecipientTool
    from turnwise.messages.tools.rewind import RewindTool
    from turnwise.messages.xml.tool_message import XMLToolMessage
    from turnwise.models.base import (
        LLMConfig,
        LLMFunctionCall,
        LLMFunctionSpec,
        LLMMessage,
        LLMResponse,
        OpenAIToolCall,
        Role,
        StreamEventType,
    )
    from turnwise.models.call_params import OpenAICallParams
    from turnwise.models.file_attachment import FileAttachment
    from turnwise.models.language_model import LanguageModel
    from turnwise.models.mock import MockLM, MockLMConfig
    from turnwise.models.model_names import (
        AnthropicModel,
        DeepSeekModel,
        GeminiModel,
        MiniMaxModel,
        ModelName,
        OpenAIChatModel,
    )
    from turnwise.models.openai.azure_config import AzureConfig
    from turnwise.models.openai.chat import OpenAIGPT
    from turnwise.models.openai.config import OpenAIGPTConfig
    from turnwise.models.retry_policy import ErrorKind, RetryPolicy
    from turnwise.models.specs import OpenAIJsonSchemaSpec, OpenAIToolSpec
    from turnwise.models.tokens.usage import LLMTokenUsage
    from turnwise.observability.display import Settings, quiet_mode, set_global, settings, temporary_settings
    from turnwise.tasks.batch.agents import (
        agent_response_batch,
        llm_response_batch,
        run_batch_agent_method,
        run_batch_function,
    )
    from turnwise.tasks.batch.pool import ExceptionHandling
    from turnwise.tasks.batch.results import BatchResults
    from turnwise.tasks.batch.tasks import run_batch_task_gen, run_batch_tasks
    from turnwise.tasks.callbacks import TaskCallbacks
    from turnwise.tasks.config import TaskConfig
    from turnwise.tasks.task import Task
    from turnwise.tasks.task_tool import TaskTool

__version__ = _VERSION

__all__ = [
    "AT",
    "DONE",
    "NO_ANSWER",
    "PASS",
    "PASS_TO",
    "SEND_TO",
    "USER_QUIT_STRINGS",
    "AddRecipientTool",
    "Agent",
    "AgentConfig",
    "AgentDoneTool",
    "AgentEvent",
    "AgentSendTool",
    "AnthropicModel",
    "App",
    "AsyncClient",
    "AzureConfig",
    "BatchResults",
    "CallCancelledError",
    "CallTimeoutError",
    "Callbacks",
    "ChatAgent",
    "ChatAgentConfig",
    "ChatDocLoggerFields",
    "ChatDocMetaData",
    "ChatDocument",
    "Client",
    "ContextOverflowError",
    "DeepSeekModel",
    "DocMetaData",
    "Document",
    "DonePassTool",
    "DoneSequence",
    "DoneTool",
    "Embedder",
    "Embeddings",
    "Entity",
    "ErrorKind",
    "EventType",
    "ExceptionHandling",
    "FastMCPClient",
    "FileAttachment",
    "FinalResultTool",
    "ForwardTool",
    "GeminiModel",
    "GlobalState",
    "HashingEmbedder",
    "InfiniteLoopException",
    "LLMConfig",
    "LLMFunctionCall",
    "LLMFunctionSpec",
    "LLMMessage",
    "LLMResponse",
    "LLMTokenUsage",
    "LanguageModel",
    "MCPTools",
    "MiniMaxModel",
    "MockLM",
    "MockLMConfig",
    "ModelName",
    "NonToolAction",
    "OpenAICallParams",
    "OpenAIChatModel",
    "OpenAIEmbedder",
    "OpenAIGPT",
    "OpenAIGPTConfig",
    "OpenAIJsonSchemaSpec",
    "OpenAIToolCall",
    "OpenAIToolSpec",
    "PassTool",
    "PgVectorConfig",
    "Quota",
    "RateLimits",
    "RecipientTool",
    "ResultTool",
    "RetrievalTool",
    "RetryPolicy",
    "RewindTool",
    "Role",
    "ScoredDocument",
    "SendTool",
    "Settings",
    "SqliteVectorConfig",
    "StatusCode",
    "StopReason",
    "StreamEventType",
    "Task",
    "TaskCallbacks",
    "TaskConfig",
    "TaskTool",
    "ToolMessage",
    "TurnwiseError",
    "VectorStore",
    "VectorStoreConfig",
    "XMLToolMessage",
    "agent_response_batch",
    "cancelled",
    "check_cancelled",
    "get_mcp_tool_async",
    "get_mcp_tools_async",
    "get_tool",
    "get_tool_async",
    "get_tools",
    "get_tools_async",
    "idempotency_key",
    "ingest_documents",
    "llm_response_batch",
    "mcp_tool",
    "quiet_mode",
    "run_batch_agent_method",
    "run_batch_function",
    "run_batch_task_gen",
    "run_batch_tasks",
    "set_global",
    "settings",
    "split_document",
    "split_text",
    "temporary_settings",
]

# Where each public name lives; loaded at its first use, so that importing the package costs next to nothing.
_NAMES_BY_MODULE = {
    "turnwise.agents.global_state": ["GlobalState"],
    "turnwise.tasks.task_tool": ["TaskTool"],
    "turnwise.integrations.mcp.helpers": [
        "FastMCPClient",
        "get_tool",
        "get_tool_async",
        "get_tools",
        "get_tools_async",
        "get_mcp_tool_async",
        "get_mcp_tools_async",
        "mcp_tool",
    ],
    "turnwise.models.file_attachment": ["FileAttachment"],
    "turnwise.models.specs": ["OpenAIToolSpec", "OpenAIJsonSchemaSpec"],
    "turnwise.models.openai.chat": ["OpenAIGPT"],
    "turnwise.models.openai.azure_config": ["AzureConfig"],
    "turnwise.models.call_params": ["OpenAICallParams"],
    "turnwise.models.model_names": [
        "ModelName",
        "OpenAIChatModel",
        "AnthropicModel",
        "GeminiModel",
        "DeepSeekModel",
        "MiniMaxModel",
    ],
    "turnwise.agents.agent": ["Agent"],
    "turnwise.agents.callbacks": ["Callbacks"],
    "turnwise.agents.chat_agent": ["ChatAgent"],
    "turnwise.agents.config": ["AgentConfig", "ChatAgentConfig", "NonToolAction"],
    "turnwise.agents.tools.handler_calls": ["idempotency_key"],
    "turnwise.app": ["App"],
    "turnwise.tasks.batch.agents": [
        "agent_response_batch",
        "llm_response_batch",
        "run_batch_agent_method",
        "run_batch_function",
    ],
    "turnwise.tasks.batch.pool": ["ExceptionHandling"],
    "turnwise.tasks.batch.results": ["BatchResults"],
    "turnwise.tasks.batch.tasks": ["run_batch_task_gen", "run_batch_tasks"],
    "turnwise.client": ["AsyncClient", "Client"],
    "turnwise.base.cancellation": ["cancelled", "check_cancelled"],
    "turnwise.messages.signals": ["AT", "DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "USER_QUIT_STRINGS"],
    "turnwise.machine.sequences": ["AgentEvent", "DoneSequence", "EventType"],
    "turnwise.observability.display": ["Settings", "quiet_mode", "set_global", "settings", "temporary_settings"],
    "turnwise.messages.entity": ["Entity", "StatusCode"],
    "turnwise.errors": [
        "CallCancelledError",
        "CallTimeoutError",
        "ContextOverflowError",
        "InfiniteLoopException",
        "TurnwiseError",
    ],
    "turnwise.errors.rate_limits": ["Quota", "RateLimits"],
    "turnwise.models.base": [
        "LLMConfig",
        "LLMFunctionCall",
        "LLMFunctionSpec",
        "LLMMessage",
        "LLMResponse",
        "OpenAIToolCall",
        "Role",
        "StreamEventType",
    ],
    "turnwise.models.language_model": ["LanguageModel"],
    "turnwise.models.tokens.usage": ["LLMTokenUsage"],
    "turnwise.models.mock": ["MockLMConfig", "MockLM"],
    "turnwise.models.openai.config": ["OpenAIGPTConfig"],
    "turnwise.messages.document": ["ChatDocument"],
    "turnwise.messages.document_metadata": ["ChatDocMetaData"],
    "turnwise.messages.log_fields": ["ChatDocLoggerFields"],
    "turnwise.messages.tool_message": ["ToolMessage"],
    "turnwise.messages.xml.tool_message": ["XMLToolMessage"],
    "turnwise.integrations.retrieval.config": ["PgVectorConfig", "SqliteVectorConfig", "VectorStoreConfig"],
    "turnwise.integrations.retrieval.document": ["Document", "ScoredDocument", "DocMetaData"],
    "turnwise.integrations.retrieval.embedder": ["Embedder", "Embeddings"],
    "turnwise.integrations.retrieval.hashing": ["HashingEmbedder"],
    "turnwise.integrations.retrieval.openai_embedder": ["OpenAIEmbedder"],
    "turnwise.integrations.retrieval.splitting": ["ingest_documents", "split_document", "split_text"],
    "turnwise.integrations.retrieval.store": ["VectorStore"],
    "turnwise.agents.tools.retrieval_tool": ["RetrievalTool"],
    "turnwise.models.retry_policy": ["ErrorKind", "RetryPolicy"],
    "turnwise.messages.stop_reason": ["StopReason"],
    "turnwise.tasks.callbacks": ["TaskCallbacks"],
    "turnwise.tasks.config": ["TaskConfig"],
    "turnwise.tasks.task": ["Task"],
    "turnwise.messages.tools.orchestration": [
        "AgentDoneTool",
        "AgentSendTool",
        "DonePassTool",
        "DoneTool",
        "FinalResultTool",
        "ForwardTool",
        "PassTool",
        "ResultTool",
        "SendTool",
    ],
    "turnwise.integrations.mcp.server": ["MCPTools"],
    "turnwise.messages.tools.recipient": ["AddRecipientTool", "RecipientTool"],
    "turnwise.messages.tools.rewind": ["RewindTool"],
}
_HOMES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


if not TYPE_CHECKING:  # a type checker would take any name, misspelt ones too

    def __getattr__(name: str) -> Any:
        module = _HOMES.get(name)
        if module is None:
            raise AttributeError(f"module 'turnwise' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(module), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
