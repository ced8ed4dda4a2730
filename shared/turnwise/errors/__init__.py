"""Every error that Turnwise raises on purpose, one tree, split by whose fault it is.

```text
TurnwiseError
├── UsageError                    the caller's: fix the call, the settings or the application
│   ├── ConfigurationError        a setting is missing, malformed, or contradicts another
│   │   └── UnknownArgumentError  ... or is an argument that does not exist
│   ├── ApplicationError          the application module is missing, fails to load, or is inconsistent
│   │   ├── UnknownTaskError      the application has no task of that name
│   │   └── AttributeNotSavedError  a turn left an attribute that other processes cannot have
│   ├── AbsentNameError           an import of a name of Langroid that does not exist here
│   ├── AbsentAttributeError      ... or its use as an attribute
│   ├── InvalidRequestError       an argument or a request body that cannot be accepted
│   │   ├── RequestTooLargeError  ... because of its size
│   │   ├── InvalidScheduleError  ... because it asks for times that there are not, such as a minute 61
│   │   ├── UnknownPriceError     ... because it names a model without a price, under a limit of cost
│   │   ├── UnwritableError       ... because no database can keep it
│   │   └── InvalidWebhookError   ... because of the URL, the types of events or the secret of a webhook
│   │       └── ForbiddenAddressError  ... whose host has an address that nothing may be sent to
│   ├── PortingError              a program's file cannot be read, parsed or replaced
│   ├── ProjectError              a new project cannot have that name, or cannot be written there
│   ├── NotFoundError             no such run, question, ...
│   ├── ConflictError             the thing exists, but not in a state that allows this
│   │   └── RepeatedRequestError  ... because the same request was done before
│   ├── UnauthorizedError         the caller is unknown: no key or token, or not a valid one
│   ├── PermissionDeniedError     the caller is known, and may not do this
│   └── QuotaExceededError        a tenant sends more requests, or has more runs, than it may
├── EnvironmentFault              the surroundings': start or repair something, then try again
│   ├── DatabaseUnavailableError
│   ├── VectorStoreUnavailableError
│   ├── SchemaVersionError        the database was made by another version
│   ├── NewerStateError           a run's state was written by a newer version
│   ├── BrokerUnavailableError
│   ├── GatewayUnavailableError
│   ├── ToolServerUnavailableError  a server of tools (MCP) does not answer
│   │   └── ToolOutcomeUnknownError  ... or went away during a call, which may have been carried out
│   ├── IssuerUnavailableError    the issuer of tokens (OpenID Connect) does not tell its keys
│   ├── AddressInUseError
│   ├── AlreadyServedError        another embedded server holds the database file
│   └── RunChangedError           a run was changed since it was read; the record reads it again
├── IllegalTransitionError        Turnwise's own: a status was about to change in a way that is not in the table
├── ConversationError             the conversation's: it went where it cannot continue
│   ├── InfiniteLoopException     a task repeats itself
│   ├── ContextOverflowError      it is longer than its model can read
│   ├── LimitReachedError         a model call would go over its run's limit
│   └── CallCancelledError        a call was cancelled: its run was ended, or it is no longer wanted
│       └── CallTimeoutError      ... or this one answer, or tool, took longer than it may
└── ModelError                    the model provider's
    ├── ModelUnavailableError     no connection, a 5xx, or an answer that is none
    │   └── ModelTimeoutError     ... or no answer in time
    ├── ModelRateLimitError       429
    └── ModelRequestError         the provider refused the request itself (4xx)
        └── ModelRefusedError     ... because of what it says
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from turnwise.errors.rate_limits import RateLimits


class TurnwiseError(Exception):
    """Root of every error that Turnwise raises on purpose; `code` is its stable name over HTTP."""

    code = "error"


class UsageError(TurnwiseError):
    """The caller can fix it."""

    code = "usage"


class ConfigurationError(UsageError):
    """A setting is missing, malformed, or contradicts another."""

    code = "configuration"


class UnknownArgumentError(ConfigurationError, TypeError):
    """An argument that does not exist, such as a setting that belongs to a `TaskConfig`."""

    code = "unknown_argument"


class ApplicationError(UsageError):
    """The application module is missing, fails to load, or is inconsistent."""

    code = "application"


class UnknownTaskError(ApplicationError):
    """The application has no task of that name."""

    code = "unknown_task"


class AbsentNameError(UsageError, ImportError):
    """A name of Langroid, imported from `turnwise.langroid`, does not exist here; the text says what to use instead."""

    code = "absent_name"


class AbsentAttributeError(UsageError, AttributeError):
    """The same for the use of such a name as an attribute, such as `lr.DocChatAgent`."""

    code = "absent_attribute"


class AttributeNotSavedError(ApplicationError):
    """An attribute of an agent or a task that was changed in a turn of a served run, and cannot be kept."""

    code = "attribute_not_saved"


class InvalidRequestError(UsageError):
    """An argument or a request body that cannot be accepted."""

    code = "invalid_request"


class RequestTooLargeError(InvalidRequestError):
    """A request body over the size limit."""

    code = "too_large"


class InvalidScheduleError(InvalidRequestError):
    """The times of a schedule that cannot be: a wrong line of cron, an unknown time zone, no tick at all."""

    code = "invalid_schedule"


class UnknownPriceError(InvalidRequestError):
    """A model of which no one knows what it costs, where a limit of cost applies."""

    code = "unknown_price"


class UnwritableError(InvalidRequestError):
    """A value that no database can keep: too large a number, half of a surrogate pair, JSON nested too deep."""

    code = "unwritable"


class InvalidWebhookError(InvalidRequestError):
    """A webhook whose URL, types of events or secret cannot be used."""

    code = "invalid_webhook"


class ForbiddenAddressError(InvalidWebhookError):
    """The host of a webhook has an address that nothing may be sent to, such as one of a private network."""

    code = "webhook_forbidden"


class PortingError(UsageError):
    """A program's file that cannot be read, parsed or replaced; it stays as it is."""

    code = "not_ported"


class ProjectError(UsageError):
    """A new project cannot have that name, or cannot be written there; nothing was written."""

    code = "project"


class NotFoundError(UsageError):
    """Nothing of that name is known here."""

    code = "not_found"


class ConflictError(UsageError):
    """The thing exists, but not in a state that allows this; `code` may be more specific per instance."""

    code = "conflict"

    def __init__(self, message: str, code: str = "conflict") -> None:
        super().__init__(message)
        self.code = code


class RepeatedRequestError(ConflictError):
    """A request with this idempotency key was done before, to `resource`; nothing was done again."""

    code = "already_done"

    def __init__(self, message: str, *, resource: str = "") -> None:
        super().__init__(message, self.code)
        self.resource = resource


class UnauthorizedError(UsageError):
    """The caller is unknown: there is no key or token, or it is forged, expired or revoked."""

    code = "unauthorized"


class PermissionDeniedError(UsageError):
    """The caller is known, and may not do this: a scope is missing, or the request may come from a foreign page."""

    code = "forbidden"


class QuotaExceededError(UsageError):
    """A tenant sends more requests, or has more runs, than it may; `retry_after` is in seconds where it is known."""

    code = "quota_exceeded"

    def __init__(self, message: str, code: str = "quota_exceeded", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class EnvironmentFault(TurnwiseError):
    """Something around the program has to be started or repaired."""

    code = "environment"


class DatabaseUnavailableError(EnvironmentFault):
    """The database does not answer."""

    code = "database_unavailable"


class VectorStoreUnavailableError(EnvironmentFault):
    """The database of a vector store does not answer, or its file cannot be used."""

    code = "vector_store_unavailable"


class SchemaVersionError(EnvironmentFault):
    """The database has another schema version than this program needs."""

    code = "schema_version"


class NewerStateError(EnvironmentFault):
    """The state of a run was written by a newer version of Turnwise; `version` and `known` are those of states.

    A served run then waits for a process of that version, and does not end.
    """

    code = "newer_state"

    def __init__(self, version: int, known: int) -> None:
        super().__init__(
            f"the run's state has version {version}, this Turnwise reads states up to version {known}; "
            "start processes of the newer Turnwise, or finish the upgrade"
        )
        self.version = version
        self.known = known


class BrokerUnavailableError(EnvironmentFault):
    """The message broker does not answer."""

    code = "broker_unavailable"


class GatewayUnavailableError(EnvironmentFault):
    """No gateway answers where one was expected."""

    code = "gateway_unavailable"


class ToolServerUnavailableError(EnvironmentFault):
    """A server of tools (MCP) does not answer, or went away."""

    code = "tool_server_unavailable"


class ToolOutcomeUnknownError(ToolServerUnavailableError):
    """A server of tools went away during a call: no one knows whether it was carried out.

    Handlers may raise it, too. A served run whose handler may not be called twice (`_effect`) then waits for a person.
    """

    code = "tool_outcome_unknown"


class IssuerUnavailableError(EnvironmentFault):
    """The issuer of tokens (OpenID Connect) does not tell its keys."""

    code = "issuer_unavailable"


class AddressInUseError(EnvironmentFault):
    """Another process listens on the address."""

    code = "address_in_use"


class AlreadyServedError(EnvironmentFault):
    """Another embedded server holds this database file."""

    code = "already_served"


class RunChangedError(EnvironmentFault):
    """A run is no longer what it was when it was read, or someone is changing it: read it again.

    The record and its sweeps do so, and do not pass this on.
    """

    code = "run_changed"


class IllegalTransitionError(TurnwiseError):
    """A run or an ask cannot have that status next: a bug of Turnwise. Its transaction is rolled back."""

    code = "illegal_transition"


class ConversationError(TurnwiseError):
    """The conversation went where it cannot continue."""

    code = "conversation"


class InfiniteLoopException(ConversationError):
    """A task repeats itself, or handlers return each other's tools without an end.

    For the first see `TaskConfig.inf_loop_cycle_len` and its neighbours.
    """

    code = "infinite_loop"


class ContextOverflowError(ConversationError):
    """An agent's conversation does not fit its model's context, even shortened."""

    code = "context_overflow"


class LimitReachedError(ConversationError):
    """A model call that would go over a limit (`limit` is "cost" or "tokens") was not made.

    `scope` is run, batch, session, tenant_day or tenant_month. `value` is the limit, `used` its used part (USD or
    tokens), `why` the need of the call, `purse` the gate that refused it. Only a handler that calls models sees it.
    """

    code = "limit_reached"

    def __init__(
        self,
        limit: str,
        why: str,
        purse: object = None,
        scope: str = "run",
        value: Decimal | int | None = None,
        used: Decimal | int | None = None,
    ) -> None:
        whose = scope.replace("_", "'s ")
        super().__init__(f"a model was not called, because of the {whose}'s limit of {limit}: {why}")
        self.limit = limit
        self.why = why
        self.scope = scope
        self.purse = purse
        self.value = value
        self.used = used


class CallCancelledError(ConversationError):
    """A call was cancelled: its run was ended or is out of time, or another worker has the work. `origin`: by whom."""

    code = "cancelled"

    def __init__(self, message: str, origin: object = None) -> None:
        super().__init__(message)
        self.origin = origin


class CallTimeoutError(CallCancelledError):
    """One answer of a model, or one tool, took longer than its agent or its class allows.

    `outcome_unknown`: it cancelled what a handler did outside that may not be done twice.
    """

    code = "timeout"
    outcome_unknown = False


class ModelError(TurnwiseError):
    """The model provider failed or refused; `may_have_cost`: it may have answered, and be paid for it."""

    code = "model"
    may_have_cost = False


class ModelUnavailableError(ModelError):
    """No connection, a 5xx, an answer that breaks off or is none; see `ModelTimeoutError` for one that is late.

    `outage`: it says nothing of the call itself, and the same call may be answered once the provider is back.
    """

    code = "model_unavailable"

    def __init__(self, message: str, may_have_cost: bool = False, *, outage: bool = True) -> None:
        super().__init__(message)
        self.may_have_cost = may_have_cost
        self.outage = outage


class ModelTimeoutError(ModelUnavailableError):
    """No answer in the time that the configuration allows."""

    code = "model_timeout"


class ModelRateLimitError(ModelError):
    """The provider answered 429; `retry_after` is in seconds where it said so, `limits` what it announced with it."""

    code = "model_rate_limit"

    def __init__(self, message: str, retry_after: float | None = None, limits: RateLimits | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.limits = limits


class ModelRequestError(ModelError):
    """The provider refused the request itself (a 4xx other than 429)."""

    code = "model_request"


class ModelRefusedError(ModelRequestError):
    """The provider's filter would not let the request through, or the model refused to answer."""

    code = "model_refused"
