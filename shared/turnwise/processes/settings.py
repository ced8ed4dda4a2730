"""Settings of the services and commands, read from `TURNWISE_*` variables, a `.env` file, or mounted secret files."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import (
    Field,
    IPvAnyNetwork,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from turnwise.base.bearer_token import bearer_token
from turnwise.base.loopback import is_loopback
from turnwise.errors import ConfigurationError
from turnwise.observability.redaction import hide
from turnwise.processes.env_file import ENV_FILE, read_env_file
from turnwise.processes.secret_files import read_secret_names
from turnwise.processes.setting_names import PREFIX, faults_in_names
from turnwise.processes.setting_types import (
    Count,
    Proxies,
    QueueWord,
    Seconds,
    Tokens,
    Trimmed,
    TrimmedSecret,
    Usd,
    Weight,
)
from turnwise.processes.setting_values import decoded, faults_in_values
from turnwise.record.tenants.tenant import DEFAULT_TENANT, TENANT_ID

# Those with a public key: with a shared secret, whoever can check a token can also make one.
OidcAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K", "EdDSA"
]


def _usual_algorithms() -> list[OidcAlgorithm]:
    return ["RS256", "ES256"]


class ServiceSettings(BaseSettings):
    """Everything an operator may set; durations are seconds, money is a decimal string, sizes are bytes.

    Each name is `TURNWISE_` and the field in capitals. A directory named by `TURNWISE_SECRETS_DIR` may hold a file
    per variable instead (Kubernetes and compose secrets).
    """

    # JSON is decoded by a validator: as decoded by a source, one bad value would hide all other faults. Inputs are
    # hidden because pydantic's own text, which a traceback shows, would quote secrets.
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=ENV_FILE,
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        enable_decoding=False,
        hide_input_in_errors=True,
    )

    app: str | None = Field(None, description="Application module and object, `package.module:app`.")
    database_url: Trimmed = Field("sqlite:///turnwise.db", description="sqlite:///FILE or postgresql://...")
    database_connections: Count = Field(
        20, gt=0, description="Most connections of one process to PostgreSQL, beside one for its heartbeat."
    )
    broker_url: SecretStr | None = Field(None, description="amqp://... or redis://...; none: in-process.")
    broker_ca: Path | None = Field(None, description="Who is trusted as a broker over TLS; none: as the system does.")
    broker_cert: Path | None = Field(None, description="Our certificate for a broker that asks for one, in PEM.")
    broker_key: Path | None = Field(None, description="Its key.")
    broker_heartbeat: int = Field(
        10, ge=1, le=600, description="Seconds between heartbeats to RabbitMQ; it may ask for a shorter interval."
    )
    wire_keys: list[SecretStr] = Field(
        default_factory=list,
        examples=[["new", "old"]],
        description='Keys that sign broker messages: ["new", "old"]; the first signs, all verify.',
    )
    wire_accept_unsigned: bool = Field(
        False, description="Take messages without a signature, while keys are rolled out."
    )
    bind: str = Field("127.0.0.1:8080", description="HOST:PORT of the gateway.")
    root_path: str = Field(
        "",
        pattern=r"^(/[A-Za-z0-9._~-]+)*$",
        description="Path that proxies put in front of everything, /turnwise; they may take it off or leave it.",
    )
    metrics_bind: str | None = Field(
        None, description="HOST:PORT of /metrics in services without another port; 0: any."
    )
    auth: Literal["none", "token", "keys"] = Field(
        "none", description="none: only on loopback; token: one bearer token; keys: API keys, and OIDC where it is set."
    )
    auth_token: TrimmedSecret | None = Field(None, description="The bearer token for TURNWISE_AUTH=token.")
    oidc_issuer: str | None = Field(
        None, pattern=r"^https?://", description="Whose bearer tokens are accepted beside keys; none: no one's."
    )
    oidc_audience: str | None = Field(None, min_length=1, description="For whom the tokens have to be.")
    oidc_jwks_url: str | None = Field(
        None, pattern=r"^https?://", description="Where the issuer's keys are; none: where its description says."
    )
    oidc_algorithms: list[OidcAlgorithm] = Field(
        default_factory=_usual_algorithms,
        min_length=1,
        examples=[["RS256"]],
        description="By which tokens may be signed.",
    )
    oidc_tenant_claim: str = Field("tenant", min_length=1, description="Claim that names the tenant.")
    oidc_scopes_claim: str = Field("scope", min_length=1, description="Claim that has the scopes.")
    oidc_leeway: float = Field(30.0, ge=0, le=600, description="Seconds that the issuer's clock may differ.")
    rate_storage_url: SecretStr | None = Field(
        None, description="redis://... that gateways count requests in; none: each process counts by itself."
    )
    trusted_proxies: Proxies = Field(
        default_factory=list,
        examples=[["10.0.0.0/8"]],
        description='Who may say for whom they ask: ["10.0.0.0/8"], by X-Forwarded-For.',
    )
    operator_tenant: str = Field(
        DEFAULT_TENANT, pattern=TENANT_ID, description="Whose administrators administer all tenants."
    )
    log_format: Literal["auto", "console", "json"] = Field("auto", description="auto: console on a terminal.")
    log_level: str = "INFO"

    max_body_bytes: Count = Field(1_000_000, gt=0, description="Largest request body the gateway takes.")
    run_deadline: Seconds | None = Field(None, gt=0, description="Deadline of a run that names none.")
    max_cost: Usd | None = Field(None, ge=0, description="USD; limit of a run that names none.")
    max_tokens: Tokens | None = Field(None, ge=0, description="Token limit of a run that names none.")
    session_max_cost: Usd | None = Field(None, ge=0, description="USD; limit of all runs of a session together.")
    session_max_tokens: Tokens | None = Field(None, ge=0, description="The same in tokens.")
    tenant_day_max_cost: Usd | None = Field(None, ge=0, description="USD; limit of a tenant per day (UTC).")
    tenant_day_max_tokens: Tokens | None = Field(None, ge=0, description="The same in tokens.")
    tenant_month_max_cost: Usd | None = Field(None, ge=0, description="USD; limit of a tenant per month (UTC).")
    tenant_month_max_tokens: Tokens | None = Field(None, ge=0, description="The same in tokens.")
    tenant_requests_per_minute: Count | None = Field(None, ge=0, description="HTTP requests of a tenant.")
    tenant_max_unfinished_runs: Count | None = Field(None, ge=0, description="Runs of a tenant at a time.")
    on_limit: Literal["end", "wait"] = Field(
        "end", description="What a run does at a limit of cost or tokens, unless it says so itself."
    )
    on_outage: Literal["wait", "fail"] = Field(
        "wait",
        description="What a run does while a provider does not answer, unless the policy of its agent says otherwise.",
    )
    max_turns: Count = Field(1_000, gt=0, description="Turns after which any task of a run ends with MAX_TURNS.")

    lease_seconds: Seconds = Field(5.0, gt=0)
    beat_seconds: Seconds = Field(1.5, gt=0)
    sweep_seconds: Seconds = Field(1.0, gt=0)
    deaf_seconds: Seconds = Field(
        5.0, gt=0, description="Silence of the broker, or wait of an ask, after which a process looks for work itself."
    )
    provider_batches: bool = Field(
        True, description="Collect the calls of tasks that can wait for batches of their providers, at half the price."
    )
    provider_batch_size: int = Field(1_000, gt=0, le=50_000, description="Calls in one batch at most.")
    provider_batch_seconds: Seconds = Field(
        60.0, gt=0, description="Age of the oldest call that is collected when a smaller batch is submitted."
    )
    provider_batch_poll_seconds: Seconds = Field(
        60.0, gt=0, description="Time to the first look at a batch; it doubles with each, up to ten times that."
    )
    provider_batch_tries: Count = Field(
        2, gt=0, description="Batches that may fail to answer a call; then its model is called directly."
    )
    drain_seconds: Seconds = Field(
        540.0,
        ge=0,
        description="Time for calls in flight when a worker is told to end; then they are cancelled and released.",
    )
    max_attempts: Count = Field(5, gt=0, description="Claims of one ask after which it is parked.")
    concurrency: Count = Field(16, gt=0, description="Responder threads of the embedded server.")
    retention: Seconds | None = Field(
        None, ge=0, description="Seconds after its end when coordinators delete a run; none: runs are kept."
    )
    retention_statuses: list[Literal["completed", "failed", "cancelled"]] = Field(
        ["completed", "failed", "cancelled"], examples=[["completed"]], description="Which runs that is for."
    )
    batch_expiry: Seconds = Field(
        604_800.0, ge=0, description="Seconds without new items after which an open batch is closed; 0: never."
    )
    audit_retention: Seconds | None = Field(
        None, ge=0, description="Seconds after which coordinators delete a row of the audit log; none: rows are kept."
    )
    sample_seconds: int = Field(
        10, ge=0, le=600, description="Seconds between two samples for /v1/series, by coordinators; 0: none are taken."
    )
    sample_retention: Seconds = Field(604_800.0, gt=0, description="Seconds for which samples are kept.")
    webhook_allowed_networks: list[IPvAnyNetwork] = Field(
        default_factory=list,
        examples=[["10.1.0.0/16"]],
        description='Networks that are not public, and yet may get webhooks: ["10.1.0.0/16"].',
    )
    webhook_allow_http: bool = Field(False, description="Let webhooks have URLs with http; none of them is encrypted.")
    webhook_timeout: float = Field(10.0, gt=0, le=300, description="Seconds that a receiver has to answer.")
    webhook_concurrency: int = Field(
        16,
        gt=0,
        le=500,
        description="Webhooks that a coordinator sends at a time, half of them for one tenant at most.",
    )
    webhook_retry_seconds: Seconds = Field(
        86_400.0, ge=0, description="Seconds for which a webhook is tried before it is parked."
    )
    webhook_retention: Seconds = Field(
        604_800.0, gt=0, description="Seconds for which webhooks are kept after they were delivered or parked."
    )
    version_policy: Literal["adopt", "pinned"] = Field(
        "adopt",
        description="adopt: processes go on with runs that began with another version of the application; "
        "pinned: they leave them to processes of that version.",
    )
    moves: Literal["worker", "coordinator"] = Field(
        "worker",
        description="Who makes the move after a reply. worker: the one that answered, in the reply's transaction, and "
        "it carries the run on if it serves the next queue, and the gateway makes the first move of a run that it "
        "accepts; coordinator: a coordinator, which is woken for it.",
    )
    slice_seconds: Seconds = Field(
        2.0, gt=0, description="Time for which a worker carries a run on while others wait in its queues."
    )
    sqlite_synchronous: Literal["NORMAL", "FULL"] = Field(
        "NORMAL", description="NORMAL survives a kill, FULL a power cut as well."
    )
    llm_queues: dict[str, QueueWord] = Field(
        default_factory=dict,
        examples=[{"agent": "name"}],
        description='Agents with an LLM queue of their own, {"agent": "name"} for llm-name.',
    )
    agent_queues: dict[str, QueueWord] = Field(
        default_factory=dict,
        examples=[{"agent": "name"}],
        description="The same for tool handlers: agent-name.",
    )
    tenant_weights: dict[str, Weight] = Field(
        default_factory=dict,
        examples=[{"tenant": 2}],
        description='Shares of tenants that wait in one queue, {"tenant": 2}; 1 for those that are not named.',
    )

    @field_validator("*", mode="before")
    @classmethod
    def _decode(cls, value: object, info: ValidationInfo) -> object:
        return decoded(value, cls.model_fields[str(info.field_name)])

    @model_validator(mode="after")
    def _check(self) -> ServiceSettings:
        try:
            _ = self.bind_address, self.metrics_address
            if self.auth == "token" and self.auth_token is not None:
                bearer_token(self.auth_token.get_secret_value(), "TURNWISE_AUTH_TOKEN")
        except ConfigurationError as error:  # told with the other faults, which a foreign error would hide
            raise ValueError(str(error)) from error
        if self.auth == "token" and not (self.auth_token and self.auth_token.get_secret_value()):
            raise ValueError("TURNWISE_AUTH=token needs TURNWISE_AUTH_TOKEN; set it to a long random string")
        if self.auth == "none" and not is_loopback(self.bind_address[0]):
            raise ValueError(
                f"TURNWISE_AUTH=none is only for loopback, but TURNWISE_BIND is {self.bind}; "
                "set TURNWISE_AUTH=keys, or TURNWISE_AUTH=token and TURNWISE_AUTH_TOKEN"
            )
        if self.lease_seconds < 3 * self.beat_seconds:
            raise ValueError(
                f"TURNWISE_LEASE_SECONDS ({self.lease_seconds}) must be at least three times "
                f"TURNWISE_BEAT_SECONDS ({self.beat_seconds}), or a late beat loses the lease"
            )
        return self

    def check_issuer(self) -> None:
        """Raise `ConfigurationError` for an issuer that a server cannot use.

        Only processes that serve HTTP call it: the chart and the compose file give TURNWISE_AUTH to no other.
        """
        if self.oidc_issuer is not None and (self.auth != "keys" or self.oidc_audience is None):
            raise ConfigurationError(
                "TURNWISE_OIDC_ISSUER needs TURNWISE_AUTH=keys, and TURNWISE_OIDC_AUDIENCE: without that, a token that "
                "the issuer made for any other program would be let in"
            )

    @property
    def database_is_file(self) -> bool:
        """Return whether the database is one of SQLite, which only one process serves."""
        return self.database_url.lower().startswith("sqlite")

    @property
    def pinned(self) -> bool:
        """Return whether only processes of a run's own version work on it."""
        return self.version_policy == "pinned"

    @cached_property
    def bind_address(self) -> tuple[str, int]:
        """Host and port of `bind`."""
        return parse_address(self.bind, "TURNWISE_BIND")

    @cached_property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of `metrics_bind`, where set."""
        return parse_address(self.metrics_bind, "TURNWISE_METRICS_BIND") if self.metrics_bind else None


def parse_address(text: str, name: str) -> tuple[str, int]:
    """Split `HOST:PORT`; raises `ConfigurationError` naming the setting `name`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ConfigurationError(f"{name} is {text!r}; expected HOST:PORT, for instance 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _hide_secrets(settings: ServiceSettings) -> None:
    """Keep what these settings hold out of logs and errors of this process."""
    hide(settings.database_url)
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        for secret in value if isinstance(value, list) else [value]:
            if isinstance(secret, SecretStr):
                hide(secret.get_secret_value())


def load_settings(**overrides: object) -> ServiceSettings:
    """Read the settings; `overrides` win over the environment. Raises `ConfigurationError` with every fault."""
    secrets = os.environ.get("TURNWISE_SECRETS_DIR")
    given = {name: value for name, value in overrides.items() if value is not None}
    file = read_env_file()
    names = {"in .env": file.names}
    if secrets:
        names[f"a file in {secrets}"] = read_secret_names(secrets)
    faults = [*file.faults, *faults_in_names(ServiceSettings.model_fields, os.environ, names)]
    if file.faults:  # values that such a file does not give would be reported as faults of others
        raise ConfigurationError("; ".join(faults))
    try:
        settings = ServiceSettings(_secrets_dir=secrets, **given)  # type: ignore[arg-type]
    except ValidationError as error:
        faults.extend(faults_in_values(error, ServiceSettings.model_fields))
        raise ConfigurationError("; ".join(faults)) from error
    if faults:
        raise ConfigurationError("; ".join(faults))
    _hide_secrets(settings)
    return settings
