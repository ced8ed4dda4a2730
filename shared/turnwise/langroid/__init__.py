"""Names of `langroid`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import (
        Agent,
        ChatAgent,
        ChatDocMetaData,
        ChatDocument,
        DocMetaData,
        Document,
        Entity,
        InfiniteLoopException,
        StatusCode,
        Task,
        TaskConfig,
        ToolMessage,
        __version__,
        agent_response_batch,
        llm_response_batch,
        run_batch_tasks,
    )
    from turnwise.langroid import (
        agent,
        cachedb,
        embedding_models,
        exceptions,
        language_models,
        mylogging,
        mytypes,
        parsing,
        prompts,
        pydantic_v1,
        utils,
        vector_store,
    )
    from turnwise.porting.helpers import LangroidImportError
    from turnwise.porting.settings import AgentConfig, ChatAgentConfig

__all__ = [
    "Agent",
    "AgentConfig",
    "ChatAgent",
    "ChatAgentConfig",
    "ChatDocMetaData",
    "ChatDocument",
    "DocMetaData",
    "Document",
    "Entity",
    "InfiniteLoopException",
    "LangroidImportError",
    "StatusCode",
    "Task",
    "TaskConfig",
    "ToolMessage",
    "__version__",
    "agent",
    "agent_response_batch",
    "cachedb",
    "embedding_models",
    "exceptions",
    "language_models",
    "llm_response_batch",
    "mylogging",
    "mytypes",
    "parsing",
    "prompts",
    "pydantic_v1",
    "run_batch_tasks",
    "utils",
    "vector_store",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend, refuse_absent_names

    refuse_absent_names()
    __getattr__, __dir__ = lend(__name__)
