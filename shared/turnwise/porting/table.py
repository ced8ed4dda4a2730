"""The table: each module and public name of `langroid` that programs use, and what stands for it here.

Plain data. `MODULES` maps a module, without `langroid.` before it, to its names; `SETTINGS` maps a class of settings to
those of its settings that are accepted without effect. `turnwise.langroid` is made of this table, by
`python -m turnwise.porting.generate`, and `turnwise port` reads it. `turnwise.porting.entries` looks single names up.
"""

from __future__ import annotations

from turnwise.porting.values import REST, Names, absent, at, inert, top

# What to use instead, for what many names have in common.
_DOCUMENTS = (
    "give an agent a vector store, `ChatAgentConfig(vecdb=SqliteVectorConfig(...))`, fill it by `ingest_documents`, "
    "and let the model search it with `RetrievalTool`"
)
_PARSING = "documents are read by the program; split their texts by `split_text` or `ingest_documents`"
_STORES = "the vector stores are `SqliteVectorConfig` and `PgVectorConfig`"
_EMBEDDERS = "the embedders are `OpenAIEmbedder`, `HashingEmbedder`, or a class with the methods of `Embedder`"
_SEARCH = "take a search tool from an MCP server by `MCPTools`, or write a `ToolMessage` with a `handle` method"
_DATABASE = "give a `ChatAgent` tools that query the database, or take them from an MCP server by `MCPTools`"
_TABLES = "give a `ChatAgent` a tool that computes on the table"
_CHAINLIT = (
    "give the agent callbacks that write to the page (`agent.callbacks`, `Callbacks`), or serve the task and use the "
    "web console"
)
_ASSISTANT = "use `ChatAgent`, which keeps the conversation itself"
_CACHE = "answers of models are not cached"
_CLIENTS = "clients of models are made from `OpenAIGPTConfig`, and kept, by Turnwise"
_CONTEXT = "a model's context length is `LLMConfig(chat_context_length=...)`"
_ROUTES = "the provider before a model's name decides on address and key, as in `openrouter/...`"
_NO_COMPLETION = "models are always asked by chat; use `OpenAIChatModel`"
_FORMATTING = "the server of the model applies the chat template"
_WEB = "fetch pages in the program, or by an MCP server and `MCPTools`"
_DATAFRAMES = "use pandas in the program"
_TEXTS = "prompts are texts of the program"
_OWN = "it is an internal helper; use the standard library"
_LOGS = "write to a logger of `logging`; runs are logged to `TaskConfig(logs_dir=...)`"

_CONFIGS = "turnwise.porting.settings"
_DISPLAY = "turnwise.porting.display"
_HELPERS = "turnwise.porting.helpers"

_CHAT_SETTINGS = at(_CONFIGS, "AgentConfig ChatAgentConfig")
_LLM_SETTINGS = at(_CONFIGS, "LLMConfig")
_OPENAI = {**at(_CONFIGS, "OpenAIGPTConfig"), **top("OpenAIGPT")}
_MOCK = {**at(_CONFIGS, "MockLMConfig"), **top("MockLM")}
_AZURE: Names = {
    **at(_CONFIGS, "AzureConfig"),
    **absent("AzureGPT", "use `AzureConfig`, or a model's name that begins with `azure/`"),
}
_DOCUMENT = top("ChatDocLoggerFields ChatDocMetaData ChatDocument StatusCode")
_LLM_VALUES = top("LLMFunctionCall LLMFunctionSpec LLMMessage LLMResponse LLMTokenUsage Role StreamEventType")
_ORCHESTRATION = top(
    "AgentDoneTool AgentSendTool DonePassTool DoneTool FinalResultTool ForwardTool PassTool ResultTool SendTool"
)
_BATCH = top(
    "ExceptionHandling agent_response_batch llm_response_batch run_batch_agent_method run_batch_function "
    "run_batch_task_gen run_batch_tasks"
)
_MCP = top(
    "FastMCPClient get_mcp_tool_async get_mcp_tools_async get_tool get_tool_async get_tools get_tools_async mcp_tool"
)
_CONSTANTS = top("AT DONE NO_ANSWER PASS PASS_TO SEND_TO USER_QUIT_STRINGS")
_LOGGING: Names = {
    **inert("setup_colored_logging", "how log lines look is a matter of the program; use `logging.basicConfig`"),
    **at(_HELPERS, "setup_logger"),
    **absent("setup_console_logger setup_file_logger setup_loggers_for_package RichFileLogger", _LOGS),
}
_PARSING_CONFIGS = inert(
    "BaseParsingConfig DocParsingConfig DocxParsingConfig LLMPdfParserConfig MarkerConfig MarkitdownPPTXParsingConfig "
    "MarkitdownXLSParsingConfig MarkitdownXLSXParsingConfig ParsingConfig PdfParsingConfig Splitter",
    _PARSING,
)
_PYDANTIC: Names = {
    **at(
        "pydantic",
        "AfterValidator AliasChoices AliasPath AnyHttpUrl AnyUrl BaseModel BeforeValidator ByteSize ConfigDict "
        "DirectoryPath EmailStr Field FilePath FutureDate HttpUrl InstanceOf Json NegativeFloat NegativeInt "
        "NonNegativeFloat NonNegativeInt PastDate PlainSerializer PlainValidator PositiveFloat PositiveInt "
        "PrivateAttr RootModel SecretStr SerializeAsAny SkipValidation StrictBool StrictFloat StrictInt StrictStr "
        "StringConstraints TypeAdapter ValidationError ValidationInfo WrapValidator computed_field conint conlist "
        "constr create_model field_serializer field_validator model_serializer model_validator parse_obj_as "
        "root_validator validate_call validator",
    ),
    **at("pydantic_settings", "BaseSettings SettingsConfigDict"),
}

MODULES: dict[str, Names] = {
    "": {
        **top("Agent ChatAgent Document Entity InfiniteLoopException Task TaskConfig ToolMessage __version__"),
        **top("ChatDocMetaData ChatDocument DocMetaData StatusCode"),
        **top("agent_response_batch llm_response_batch run_batch_tasks"),
        **_CHAT_SETTINGS,
        **at(_HELPERS, "LangroidImportError"),
        **absent("ChainlitAgentCallbacks ChainlitCallbackConfig ChainlitTaskCallbacks", _CHAINLIT),
    },
    # --- agents and tasks ---
    "agent": {
        **top("Agent ChatAgent ChatDocLoggerFields ChatDocMetaData ChatDocument Task ToolMessage"),
        **_CHAT_SETTINGS,
        **absent("ChatDocAttachment", "give `ChatDocument(attachment=...)` a pydantic model of your own"),
    },
    "agent.base": {
        **top("Agent ChatDocMetaData ChatDocument Entity NO_ANSWER ToolMessage"),
        **at(_CONFIGS, "AgentConfig"),
        **absent("ORCHESTRATION_STRINGS SearchForTools async_lambda_noop_fn async_noop_fn noop_fn", _OWN),
    },
    "agent.batch": {**_BATCH, **absent("run_batched_tasks", "use `run_batch_tasks`")},
    "agent.callbacks": {},
    "agent.callbacks.chainlit": absent(REST, _CHAINLIT),
    "agent.chat_agent": {**top("Agent ChatAgent ChatDocument Entity ToolMessage"), **_CHAT_SETTINGS},
    "agent.chat_document": {
        **_DOCUMENT,
        **top("Entity"),
        **absent("ChatDocAttachment", "give `ChatDocument(attachment=...)` a pydantic model of your own"),
    },
    "agent.done_sequence_parser": {
        **at("turnwise.machine.sequences", "parse_done_sequence"),
        **absent("parse_done_sequences", "use `parse_done_sequence` for each of them"),
    },
    "agent.openai_assistant": absent(REST, _ASSISTANT),
    "agent.task": {
        **top("AgentEvent ChatAgent ChatDocument DoneSequence Entity EventType StatusCode"),
        **top("Task TaskConfig ToolMessage"),
        **absent("Responder noop_fn", _OWN),
    },
    "agent.tool_message": {
        **top("ToolMessage"),
        **absent("format_schema_for_strict remove_if_exists", "strict schemas are made by Turnwise"),
    },
    "agent.xml_tool_message": {**top("XMLToolMessage"), **absent("HAS_UNION_TYPE", _OWN)},
    # --- agents for documents, tables and databases ---
    "agent.special": {
        **absent("DocChatAgent DocChatAgentConfig LanceDocChatAgent RetrieverAgent RetrieverAgentConfig", _DOCUMENTS),
        **absent("RecordDoc RecordMetadata", "use `Document(metadata={...})`"),
        **absent("RelevanceExtractorAgent RelevanceExtractorAgentConfig", "ask a `ChatAgent` for the relevant parts"),
        **absent("PandasEvalTool TableChatAgent TableChatAgentConfig dataframe_summary", _TABLES),
    },
    "agent.special.arangodb": {},
    "agent.special.arangodb.aql_validator": absent(REST, _DATABASE),
    "agent.special.arangodb.arangodb_agent": absent(REST, _DATABASE),
    "agent.special.arangodb.system_messages": absent(REST, _TEXTS),
    "agent.special.arangodb.tools": absent(REST, _DATABASE),
    "agent.special.arangodb.utils": absent(REST, _DATABASE),
    "agent.special.doc_chat_agent": absent(REST, _DOCUMENTS),
    "agent.special.lance_doc_chat_agent": absent(REST, _DOCUMENTS),
    "agent.special.lance_rag": {},
    "agent.special.lance_rag.critic_agent": absent(REST, _DOCUMENTS),
    "agent.special.lance_rag.lance_rag_task": absent(REST, _DOCUMENTS),
    "agent.special.lance_rag.query_planner_agent": absent(REST, _DOCUMENTS),
    "agent.special.lance_tools": absent(REST, _DOCUMENTS),
    "agent.special.neo4j": {},
    "agent.special.neo4j.csv_kg_chat": absent(REST, _DATABASE),
    "agent.special.neo4j.cypher_validator": absent(REST, _DATABASE),
    "agent.special.neo4j.neo4j_chat_agent": absent(REST, _DATABASE),
    "agent.special.neo4j.system_messages": absent(REST, _TEXTS),
    "agent.special.neo4j.tools": absent(REST, _DATABASE),
    "agent.special.relevance_extractor_agent": absent(REST, "ask a `ChatAgent` for the relevant parts"),
    "agent.special.retriever_agent": absent(REST, _DOCUMENTS),
    "agent.special.sql": absent("SQLChatAgent SQLChatAgentConfig", _DATABASE),
    "agent.special.sql.sql_chat_agent": absent(REST, _DATABASE),
    "agent.special.sql.utils": absent(REST, _DATABASE),
    "agent.special.sql.utils.description_extractors": absent(REST, _DATABASE),
    "agent.special.sql.utils.populate_metadata": absent(REST, _DATABASE),
    "agent.special.sql.utils.system_message": absent(REST, _TEXTS),
    "agent.special.sql.utils.tools": absent(REST, _DATABASE),
    "agent.special.table_chat_agent": absent(REST, _TABLES),
    # --- tools ---
    "agent.tools": {
        **_ORCHESTRATION,
        **top("AddRecipientTool RecipientTool RewindTool"),
        **absent("GoogleSearchTool", _SEARCH),
    },
    "agent.tools.duckduckgo_search_tool": absent(REST, _SEARCH),
    "agent.tools.exa_search_tool": absent(REST, _SEARCH),
    "agent.tools.file_tools": absent(REST, "take tools for files from an MCP server by `MCPTools`"),
    "agent.tools.google_search_tool": absent(REST, _SEARCH),
    "agent.tools.mcp": _MCP,
    "agent.tools.mcp.decorators": top("mcp_tool"),
    "agent.tools.mcp.fastmcp_client": _MCP,
    "agent.tools.metaphor_search_tool": absent(REST, _SEARCH),
    "agent.tools.orchestration": _ORCHESTRATION,
    "agent.tools.recipient_tool": top("AddRecipientTool RecipientTool"),
    "agent.tools.retrieval_tool": top("RetrievalTool"),
    "agent.tools.rewind_tool": {**top("RewindTool"), **absent("prune_messages", "use `RewindTool`")},
    "agent.tools.segment_extract_tool": absent(REST, "write a `ToolMessage` with the numbers of the segments"),
    "agent.tools.seltz_search_tool": absent(REST, _SEARCH),
    "agent.tools.task_tool": top("TaskTool"),
    "agent.tools.tavily_search_tool": absent(REST, _SEARCH),
    # --- models ---
    "language_models": {
        **_LLM_SETTINGS,
        **_OPENAI,
        **_MOCK,
        **_LLM_VALUES,
        **_AZURE,
        **top("AnthropicModel GeminiModel MiniMaxModel OpenAICallParams OpenAIChatModel"),
        **absent("OpenAICompletionModel", _NO_COMPLETION),
    },
    "language_models.azure_openai": {
        **_AZURE,
        **absent("azureStructuredOutputAPIMin azureStructuredOutputList", "tell it by `supports_json_schema`"),
    },
    "language_models.base": {
        **_LLM_SETTINGS,
        **_LLM_VALUES,
        **top("LanguageModel OpenAIJsonSchemaSpec OpenAIToolCall OpenAIToolSpec"),
        **absent("RetryParams", "how often a call is made again is `AgentConfig(retry=RetryPolicy(...))`"),
        **absent("DEFAULT_CONTEXT_LENGTH", _CONTEXT),
        **absent("FunctionCallTypes ToolChoiceTypes ToolTypes async_noop_fn noop_fn", _OWN),
        **absent("StreamingIfAllowed", "whether answers are streamed is `LLMConfig(stream=...)`"),
    },
    "language_models.client_cache": absent(REST, _CLIENTS),
    "language_models.config": absent(REST, _FORMATTING),
    "language_models.mock_lm": {**_MOCK, **absent("none_fn", _OWN)},
    "language_models.model_info": {
        **top("AnthropicModel DeepSeekModel GeminiModel MiniMaxModel ModelName OpenAIChatModel"),
        **absent("OpenAICompletionModel", _NO_COMPLETION),
        **absent("DEFAULT_MODEL_INFO MODEL_INFO ModelInfo ModelProvider get_model_info", _CONTEXT),
        **absent("GEMINI_CANONICAL_MODEL_NAMES OpenAI_API_ParamInfo", _OWN),
    },
    "language_models.openai_gpt": {
        **_OPENAI,
        **top("AnthropicModel DeepSeekModel GeminiModel MiniMaxModel OpenAICallParams OpenAIChatModel"),
        **absent(
            "LiteLLMProxyConfig", "name the model `litellm-proxy/...` and set LITELLM_API_BASE and LITELLM_API_KEY"
        ),
        **absent("OpenAIResponse", "use `LLMResponse`"),
        **absent(
            "OpenAICompletionModel default_openai_completion_model openai_completion_model_pref_list", _NO_COMPLETION
        ),
        **absent("default_openai_chat_model openai_chat_model_pref_list", "it is `OpenAIGPTConfig().chat_model`"),
        **absent("DEEPSEEK_BASE_URL GEMINI_BASE_URL GLHF_BASE_URL MINIMAX_BASE_URL OPENROUTER_BASE_URL", _ROUTES),
        **absent("LLAMACPP_API_KEY OLLAMA_API_KEY VLLM_API_KEY", _ROUTES),
        **absent("AccessWarning gpt_3_5_warning litellm_logging_fn noop parallel_strict_warning", _OWN),
        **absent(
            "LangDBParams PortkeyParams", "give the proxy's address to `OpenAIGPTConfig(api_base=..., headers=...)`"
        ),
    },
    "language_models.prompt_formatter": absent(REST, _FORMATTING),
    "language_models.prompt_formatter.base": absent(REST, _FORMATTING),
    "language_models.prompt_formatter.hf_formatter": absent(REST, _FORMATTING),
    "language_models.prompt_formatter.llama2_formatter": absent(REST, _FORMATTING),
    "language_models.provider_params": absent(
        REST, "give the proxy's address to `OpenAIGPTConfig(api_base=..., headers=...)`"
    ),
    "language_models.utils": absent(REST, "how often a call is made again is `AgentConfig(retry=RetryPolicy(...))`"),
    "cachedb": {},
    "cachedb.base": {**inert("CacheDBConfig", _CACHE), **absent("CacheDB", _CACHE)},
    "cachedb.redis_cachedb": {**inert("RedisCacheConfig", _CACHE), **absent("RedisCache", _CACHE)},
    # --- documents ---
    "mytypes": {
        **top("DocMetaData Document Entity NonToolAction"),
        **absent("Embedding EmbeddingFunction Embeddings Number", _EMBEDDERS),
    },
    "embedding_models": absent(REST, _EMBEDDERS),
    "embedding_models.base": absent(REST, _EMBEDDERS),
    "embedding_models.models": absent(REST, _EMBEDDERS),
    "embedding_models.remote_embeds": absent(REST, _EMBEDDERS),
    "vector_store": {
        **top("VectorStore VectorStoreConfig"),
        **absent("ChromaDB ChromaDBConfig LanceDB LanceDBConfig MeiliSearch MeiliSearchConfig PineconeDB", _STORES),
        **absent("PineconeDBConfig QdrantDB QdrantDBConfig WeaviateDB WeaviateDBConfig", _STORES),
        **absent("PostgresDB PostgresDBConfig", "the store in PostgreSQL is `PgVectorConfig(url=...)`"),
    },
    "vector_store.base": top("VectorStore VectorStoreConfig"),
    "vector_store.chromadb": absent(REST, _STORES),
    "vector_store.lancedb": absent(REST, _STORES),
    "vector_store.meilisearch": absent(REST, _STORES),
    "vector_store.pineconedb": absent(REST, _STORES),
    "vector_store.postgres": absent(REST, "the store in PostgreSQL is `PgVectorConfig(url=...)`"),
    "vector_store.qdrantdb": absent(REST, _STORES),
    "vector_store.weaviatedb": absent(REST, _STORES),
    "parsing": {**_PARSING_CONFIGS, **absent("Parser", _PARSING)},
    "parsing.agent_chats": absent(
        REST, "addresses in texts are read by Turnwise, see `TaskConfig(addressing_prefix=...)`"
    ),
    "parsing.code_parser": absent(REST, _PARSING),
    "parsing.document_parser": absent(REST, _PARSING),
    "parsing.file_attachment": top("FileAttachment"),
    "parsing.md_parser": absent(REST, _PARSING),
    "parsing.para_sentence_split": absent(REST, _PARSING),
    "parsing.parse_json": {
        **at(_HELPERS, "extract_top_level_json is_valid_json top_level_json_field"),
        **absent("datetime_to_json flatten get_json_candidates parse_imperfect_json try_repair_json_yaml", _OWN),
    },
    "parsing.parser": {**_PARSING_CONFIGS, **absent("Parser", _PARSING)},
    "parsing.pdf_utils": absent(REST, _PARSING),
    "parsing.repo_loader": absent(REST, "take tools for repositories from an MCP server by `MCPTools`"),
    "parsing.routing": absent(REST, "addresses in texts are read by Turnwise, see `TaskConfig(addressing_prefix=...)`"),
    "parsing.search": absent(REST, "search a vector store by `VectorStore.search`"),
    "parsing.spider": absent(REST, _WEB),
    "parsing.table_loader": absent(REST, _DATAFRAMES),
    "parsing.url_loader": absent(REST, _WEB),
    "parsing.urls": absent(REST, _WEB),
    "parsing.utils": {**at(_HELPERS, "closest_string"), **absent(REST, _OWN)},
    "parsing.web_search": absent(REST, _SEARCH),
    "prompts": {},
    "prompts.dialog": absent(REST, _TEXTS),
    "prompts.prompts_config": inert("PromptsConfig", _TEXTS),
    "prompts.templates": absent(REST, _TEXTS),
    # --- the rest ---
    "exceptions": {
        **top("InfiniteLoopException"),
        **at(_HELPERS, "LangroidImportError"),
        **absent("XMLException", "a tool in XML that cannot be read is told to the model"),
    },
    "mylogging": _LOGGING,
    "pydantic_v1": _PYDANTIC,
    "pydantic_v1.main": at("pydantic", "BaseModel create_model"),
    "utils": {},
    "utils.algorithms": {},
    "utils.algorithms.graph": absent(REST, "use `graphlib` of the standard library"),
    "utils.configuration": {
        **top("quiet_mode temporary_settings"),
        **at(_DISPLAY, "Settings set_global settings"),
        **absent("SettingsProxy set_env update_global_settings", "use `set_global(Settings(...))`"),
    },
    "utils.constants": {
        **_CONSTANTS,
        **at(_HELPERS, "Colors"),
        **absent("TOOL TOOL_BEGIN TOOL_END", "tools are found in texts by Turnwise"),
    },
    "utils.git_utils": absent(REST, "use `git` by `subprocess`"),
    "utils.globals": top("GlobalState"),
    "utils.html_logger": absent(REST, _LOGS),
    "utils.logging": _LOGGING,
    "utils.object_registry": absent(
        REST, "objects are kept by the program; `ChatDocument.from_id` and `ChatAgent.from_id` find theirs"
    ),
    "utils.output": absent(REST, "print with `rich`; `quiet_mode` silences runs"),
    "utils.output.citations": absent(REST, _OWN),
    "utils.output.printing": absent(REST, "print with `rich`; `quiet_mode` silences runs"),
    "utils.output.status": absent(REST, "print with `rich.status`"),
    "utils.pandas_utils": absent(REST, _DATAFRAMES),
    "utils.pydantic_utils": {**at(_HELPERS, "get_field_names has_field temp_update"), **absent(REST, _OWN)},
    "utils.system": absent(REST, "use the standard library, such as `shutil.rmtree`, `pathlib.Path` and `hashlib`"),
    "utils.types": absent(REST, _OWN),
}

_AGENT_SETTINGS = {
    "add_to_registry": "an agent is found by `ChatAgent.from_id` as long as the program holds it",
    "debug": "a run is logged to `TaskConfig(logs_dir=...)`",
    "hide_agent_response": "`quiet_mode` silences a run",
    "human_prompt": "the prompt for a human is Turnwise's",
    "parsing": "texts are split by `ingest_documents` and `split_text`",
    "prompts": _TEXTS,
    "show_stats": "an agent's usage is `agent.usage`",
}
_MODEL_SETTINGS = {
    "async_stream_quiet": "`quiet_mode` silences a run",
    "cache_config": _CACHE,
    "completion_context_length": "models are always asked by chat; see `chat_context_length`",
    "completion_model": "models are always asked by chat; see `chat_model`",
    "formatter": _FORMATTING,
    "retry_params": "how often a call is made again is `AgentConfig(retry=RetryPolicy(...))`",
    "streamer": "pieces of answers go to the agent's callbacks, `Callbacks.start_llm_stream`",
    "streamer_async": "pieces of answers go to the agent's callbacks, `Callbacks.start_llm_stream_async`",
    "thought_delimiters": "thoughts are taken from the field in which the server sends them",
    "use_chat_for_completion": "models are always asked by chat",
    "use_completion_for_chat": "models are always asked by chat",
}
_OPENAI_SETTINGS = {
    **_MODEL_SETTINGS,
    "chat_model_orig": "the model's name is `chat_model`",
    "hf_formatter": _FORMATTING,
    "litellm": "a model behind LiteLLM is named `litellm/...`",
    "ollama": "a model of Ollama is named `ollama/...`",
    "run_on_first_use": "call it in the program",
    "supports_strict_tools": "tools are sent strictly where `supports_json_schema` says that the server can",
    "use_cached_client": _CLIENTS,
}

SETTINGS: dict[str, dict[str, str]] = {
    "AgentConfig": _AGENT_SETTINGS,
    "ChatAgentConfig": {
        **_AGENT_SETTINGS,
        "full_citations": "an answer's sources are what `RetrievalTool` tells the model of them",
        "search_for_tools_everywhere": "tools are looked for in texts and in calls of the API",
    },
    "LLMConfig": _MODEL_SETTINGS,
    "MockLMConfig": _MODEL_SETTINGS,
    "AzureConfig": _OPENAI_SETTINGS,
    "OpenAIGPTConfig": _OPENAI_SETTINGS,
    "Settings": {
        "cache": _CACHE,
        "cache_type": _CACHE,
        "debug": "a run is logged to `TaskConfig(logs_dir=...)`",
        "notebook": "messages are shown alike in notebooks and terminals",
        "progress": "progress is shown on a terminal only; `quiet` silences it",
        "stream": "whether answers are streamed is `LLMConfig(stream=...)`",
    },
}
