"""Durable conversations between LLM agents, tools and humans.

Everything that a program needs imports from here; what is heavy is loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.agents.agent import Agent
    from turnwise.agents.callbacks import Callbacks
    from turnwise.agents.chat_agent import ChatAgent
    from turnwise.agents.config import AgentConfig, ChatAgentConfig, NonToolAction
    from turnwise.agents.global_state import GlobalState
    from turnwise.agents.handler_calls import idempotency_key
    from turnwise.app import App
    from turnwise.batch.agents import (
        agent_response_batch,
        llm_response_batch,
        run_batch_agent_method,
        run_batch_function,
    )
    from turnwise.batch.pool import ExceptionHandling
    from turnwise.batch.results import BatchResults
    from turnwise.batch.tasks import run_batch_task_gen, run_batch_tasks
    from turnwise.cancellation import cancelled, check_cancelled
    from turnwise.constants import AT, DONE, NO_ANSWER, PASS, PASS_TO, SEND_TO, USER_QUIT_STRINGS
    from turnwise.core.sequences import AgentEvent, DoneSequence, EventType
    from turnwise.display import Settings, quiet_mode, set_global, settings, temporary_settings
    from turnwise.entity import Entity, StatusCode
    from turnwise.errors import (
        CallCancelledError,
        CallTimeoutError,
        ContextOverflowError,
        InfiniteLoopException,
        TurnwiseError,
    )
    from turnwise.llm.azure_config import AzureConfig
    from turnwise.llm.base import (
        LanguageModel,
        LLMConfig,
        LLMFunctionCall,
        LLMFunctionSpec,
        LLMMessage,
        LLMResponse,
        LLMTokenUsage,
        OpenAIToolCall,
        Role,
        StreamEventType,
    )
    from turnwise.llm.call_params import OpenAICallParams
    from turnwise.llm.file_attachment import FileAttachment
    from turnwise.llm.mock import MockLM, MockLMConfig
    from turnwise.llm.model_names import (
        AnthropicModel,
        DeepSeekModel,
        GeminiModel,
        MiniMaxModel,
        ModelName,
        OpenAIChatModel,
    )
    from turnwise.llm.openai_chat import OpenAIGPT
    from turnwise.llm.openai_config import OpenAIGPTConfig
    from turnwise.llm.specs import OpenAIJsonSchemaSpec, OpenAIToolSpec
    from turnwise.messages.document import ChatDocLoggerFields, ChatDocMetaData, ChatDocument
    from turnwise.messages.tool_message import ToolMessage
    from turnwise.messages.xml.tool_message import XMLToolMessage
    from turnwise.provider_limits.announcement import Quota, RateLimits
    from turnwise.retrieval.config import PgVectorConfig, SqliteVectorConfig, VectorStoreConfig
    from turnwise.retrieval.document import DocMetaData, Document, ScoredDocument
    from turnwise.retrieval.embedder import Embedder, Embeddings
    from turnwise.retrieval.hashing import HashingEmbedder
    from turnwise.retrieval.openai_embedder import OpenAIEmbedder
    from turnwise.retrieval.splitting import ingest_documents, split_document, split_text
    from turnwise.retrieval.store import VectorStore
    from turnwise.retrieval.tool import RetrievalTool
    from turnwise.retrying import ErrorKind, RetryPolicy
    from turnwise.stop_reason import StopReason
    from turnwise.tasks.callbacks import TaskCallbacks
    from turnwise.tasks.config import TaskConfig
    from turnwise.tasks.task import Task
    from turnwise.tasks.task_tool import TaskTool
    from turnwise.tools.mcp.helpers import (
        FastMCPClient,
        get_mcp_tool_async,
        get_mcp_tools_async,
        get_tool,
        get_tool_async,
        get_tools,
        get_tools_async,
        mcp_tool,
    )
    from turnwise.tools.mcp.server import MCPTools
    from turnwise.tools.orchestration import (
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
    from turnwise.tools.recipient import AddRecipientTool, RecipientTool
    from turnwise.tools.rewind import RewindTool

__version__ = "0.1.0"

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
    "turnwise.tools.mcp.helpers": [
        "FastMCPClient",
        "get_tool",
        "get_tool_async",
        "get_tools",
        "get_tools_async",
        "get_mcp_tool_async",
        "get_mcp_tools_async",
        "mcp_tool",
    ],
    "turnwise.llm.file_attachment": ["FileAttachment"],
    "turnwise.llm.specs": ["OpenAIToolSpec", "OpenAIJsonSchemaSpec"],
    "turnwise.llm.openai_chat": ["OpenAIGPT"],
    "turnwise.llm.azure_config": ["AzureConfig"],
    "turnwise.llm.call_params": ["OpenAICallParams"],
    "turnwise.llm.model_names": [
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
    "turnwise.agents.handler_calls": ["idempotency_key"],
    "turnwise.app": ["App"],
    "turnwise.batch.agents": [
        "agent_response_batch",
        "llm_response_batch",
        "run_batch_agent_method",
        "run_batch_function",
    ],
    "turnwise.batch.pool": ["ExceptionHandling"],
    "turnwise.batch.results": ["BatchResults"],
    "turnwise.batch.tasks": ["run_batch_task_gen", "run_batch_tasks"],
    "turnwise.cancellation": ["cancelled", "check_cancelled"],
    "turnwise.constants": ["AT", "DONE", "NO_ANSWER", "PASS", "PASS_TO", "SEND_TO", "USER_QUIT_STRINGS"],
    "turnwise.core.sequences": ["AgentEvent", "DoneSequence", "EventType"],
    "turnwise.display": ["Settings", "quiet_mode", "set_global", "settings", "temporary_settings"],
    "turnwise.entity": ["Entity", "StatusCode"],
    "turnwise.errors": [
        "CallCancelledError",
        "CallTimeoutError",
        "ContextOverflowError",
        "InfiniteLoopException",
        "TurnwiseError",
    ],
    "turnwise.llm.base": [
        "LLMConfig",
        "LLMFunctionCall",
        "LLMFunctionSpec",
        "LLMMessage",
        "LLMResponse",
        "LLMTokenUsage",
        "LanguageModel",
        "OpenAIToolCall",
        "Role",
        "StreamEventType",
    ],
    "turnwise.llm.mock": ["MockLMConfig", "MockLM"],
    "turnwise.llm.openai_config": ["OpenAIGPTConfig"],
    "turnwise.provider_limits.announcement": ["Quota", "RateLimits"],
    "turnwise.messages.document": ["ChatDocLoggerFields", "ChatDocMetaData", "ChatDocument"],
    "turnwise.messages.tool_message": ["ToolMessage"],
    "turnwise.messages.xml.tool_message": ["XMLToolMessage"],
    "turnwise.retrieval.config": ["PgVectorConfig", "SqliteVectorConfig", "VectorStoreConfig"],
    "turnwise.retrieval.document": ["Document", "ScoredDocument", "DocMetaData"],
    "turnwise.retrieval.embedder": ["Embedder", "Embeddings"],
    "turnwise.retrieval.hashing": ["HashingEmbedder"],
    "turnwise.retrieval.openai_embedder": ["OpenAIEmbedder"],
    "turnwise.retrieval.splitting": ["ingest_documents", "split_document", "split_text"],
    "turnwise.retrieval.store": ["VectorStore"],
    "turnwise.retrieval.tool": ["RetrievalTool"],
    "turnwise.retrying": ["ErrorKind", "RetryPolicy"],
    "turnwise.stop_reason": ["StopReason"],
    "turnwise.tasks.callbacks": ["TaskCallbacks"],
    "turnwise.tasks.config": ["TaskConfig"],
    "turnwise.tasks.task": ["Task"],
    "turnwise.tools.orchestration": [
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
    "turnwise.tools.mcp.server": ["MCPTools"],
    "turnwise.tools.recipient": ["AddRecipientTool", "RecipientTool"],
    "turnwise.tools.rewind": ["RewindTool"],
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
