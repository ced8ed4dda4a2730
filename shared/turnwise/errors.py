"""Every error that Turnwise raises on purpose, one tree, split by whose fault it is.

```text
TurnwiseError
├── UsageError                    the caller's: fix the call, the settings or the application
│   ├── ConfigurationError        a setting is missing, malformed, or contradicts another
│   ├── ApplicationError          the application module is missing, fails to load, or is inconsistent
│   │   └── UnknownTaskError      the application has no task of that name
│   ├── InvalidRequestError       an argument or a request body that can not be accepted
│   │   └── RequestTooLargeError  ... because of its size
│   ├── NotFoundError             no such run, question, ...
│   └── ConflictError             the thing exists, but not in a state that allows this
├── EnvironmentFault              the surroundings': start or repair something, then try again
│   ├── DatabaseUnavailableError
│   ├── VectorStoreUnavailableError
│   ├── SchemaVersionError        the database was made by another version
│   ├── BrokerUnavailableError
│   ├── GatewayUnavailableError
│   ├── ToolServerUnavailableError  a server of tools (MCP) does not answer
│   ├── AddressInUseError
│   └── AlreadyServedError        another embedded server holds the database file
├── ConversationError             the conversation's: it went where it can not go on
│   ├── InfiniteLoopException     a task repeats itself
│   ├── ContextOverflowError      it is longer than its model can read
│   └── LimitReachedError         a model call would go over its run's limit
└── ModelError                    the model provider's
    ├── ModelUnavailableError     no connection, a time-out, or a 5xx
    ├── ModelRateLimitError       429
    └── ModelRequestError         the provider refused the request itself (4xx)
```
"""

from __future__ import annotations


class TurnwiseError(Exception):
    """Root of every error that Turnwise raises on purpose; `code` is its stable name over HTTP."""

    code = "error"


class UsageError(TurnwiseError):
    """The caller can fix it."""

    code = "usage"


class ConfigurationError(UsageError):
    """A setting is missing, malformed, or contradicts another."""

    code = "configuration"


class ApplicationError(UsageError):
    """The application module is missing, fails to load, or is inconsistent."""

    code = "application"


class UnknownTaskError(ApplicationError):
    """The application has no task of that name."""

    code = "unknown_task"


class InvalidRequestError(UsageError):
    """An argument or a request body that can not be accepted."""

    code = "invalid_request"


class RequestTooLargeError(InvalidRequestError):
    """A request body over the size limit."""

    code = "too_large"


class NotFoundError(UsageError):
    """Nothing of that name is known here."""

    code = "not_found"


class ConflictError(UsageError):
    """The thing exists, but not in a state that allows this; `code` may be more specific per instance."""

    code = "conflict"

    def __init__(self, message: str, code: str = "conflict") -> None:
        super().__init__(message)
        self.code = code


class EnvironmentFault(TurnwiseError):
    """Something around the program has to be started or repaired."""

    code = "environment"


class DatabaseUnavailableError(EnvironmentFault):
    """The database does not answer."""

    code = "database_unavailable"


class VectorStoreUnavailableError(EnvironmentFault):
    """The database of a vector store does not answer, or its file can not be used."""

    code = "vector_store_unavailable"


class SchemaVersionError(EnvironmentFault):
    """The database has another schema version than this program needs."""

    code = "schema_version"


class BrokerUnavailableError(EnvironmentFault):
    """The message broker does not answer."""

    code = "broker_unavailable"


class GatewayUnavailableError(EnvironmentFault):
    """No gateway answers where one was expected."""

    code = "gateway_unavailable"


class ToolServerUnavailableError(EnvironmentFault):
    """A server of tools (MCP) does not answer, or went away during a call."""

    code = "tool_server_unavailable"


class AddressInUseError(EnvironmentFault):
    """Another process listens on the address."""

    code = "address_in_use"


class AlreadyServedError(EnvironmentFault):
    """Another embedded server holds this database file."""

    code = "already_served"


class ConversationError(TurnwiseError):
    """The conversation went where it can not go on."""

    code = "conversation"


class InfiniteLoopException(ConversationError):
    """A task repeats itself; see `TaskConfig.inf_loop_cycle_len` and its neighbours."""

    code = "infinite_loop"


class ContextOverflowError(ConversationError):
    """An agent's conversation does not fit its model's context, even shortened."""

    code = "context_overflow"


class LimitReachedError(ConversationError):
    """A model call that would go over its run's limit (`limit` is "cost" or "tokens") was not made.

    The run ends with it, so only a handler that calls models itself gets to see it. `purse` is that of the run.
    """

    code = "limit_reached"

    def __init__(self, limit: str, why: str, purse: object = None) -> None:
        super().__init__(
            f"a model was not called, because of its run's limit of {limit}: the call {why}; raise max_{limit}"
        )
        self.limit = limit
        self.purse = purse


class ModelError(TurnwiseError):
    """The model provider failed or refused."""

    code = "model"


class ModelUnavailableError(ModelError):
    """No connection, a time-out, or a 5xx."""

    code = "model_unavailable"


class ModelRateLimitError(ModelError):
    """The provider answered 429; `retry_after` is in seconds where it said so."""

    code = "model_rate_limit"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRequestError(ModelError):
    """The provider refused the request itself (a 4xx other than 429)."""

    code = "model_request"
