"""Settings of the services and commands, read from `TURNWISE_*` variables, a `.env` file, or mounted secret files."""

from __future__ import annotations

import os
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from turnwise.errors import ConfigurationError

_LOOPBACK = ("127.", "localhost", "[::1]", "::1")


class ServiceSettings(BaseSettings):
    """Everything an operator may set; durations are seconds, money is a decimal string, sizes are bytes.

    Each name is `TURNWISE_` and the field in capitals. A directory named by `TURNWISE_SECRETS_DIR` may hold a file
    per variable instead (Kubernetes and compose secrets).
    """

    model_config = SettingsConfigDict(env_prefix="TURNWISE_", env_file=".env", extra="ignore", frozen=True)

    app: str | None = Field(None, description="Application module and object, `package.module:app`.")
    database_url: str = Field("sqlite:///turnwise.db", description="sqlite:///FILE or postgresql://...")
    broker_url: SecretStr | None = Field(None, description="amqp://... or redis://...; none: in-process.")
    bind: str = Field("127.0.0.1:8080", description="HOST:PORT of the gateway.")
    metrics_bind: str | None = Field(None, description="HOST:PORT of /metrics in services without another port.")
    auth: Literal["none", "token"] = Field("none", description="none: only on loopback; token: one bearer token.")
    auth_token: SecretStr | None = Field(None, description="The bearer token for TURNWISE_AUTH=token.")
    log_format: Literal["auto", "console", "json"] = Field("auto", description="auto: console on a terminal.")
    log_level: str = "INFO"

    max_body_bytes: int = Field(1_000_000, gt=0, description="Largest request body the gateway takes.")
    run_deadline: float | None = Field(None, gt=0, description="Deadline of a run that names none.")
    max_cost: Decimal | None = Field(None, ge=0, description="USD; limit of a run that names none.")
    max_tokens: int | None = Field(None, ge=0, description="Token limit of a run that names none.")
    max_turns: int = Field(1_000, gt=0, description="Turns after which any task of a run ends with MAX_TURNS.")

    lease_seconds: float = Field(5.0, gt=0)
    beat_seconds: float = Field(1.5, gt=0)
    sweep_seconds: float = Field(1.0, gt=0)
    max_attempts: int = Field(5, gt=0, description="Claims of one ask after which its run ends with an error.")
    concurrency: int = Field(16, gt=0, description="Responder threads of the embedded server.")
    move_with_reply: bool = Field(
        False, description="Let the responder that commits a reply make the next move in the same transaction."
    )
    sqlite_synchronous: Literal["NORMAL", "FULL"] = Field(
        "NORMAL", description="NORMAL survives a kill, FULL a power cut as well."
    )
    llm_queues: dict[str, str] = Field(
        default_factory=dict, description='Agents with an LLM queue of their own, {"agent": "name"} for llm-name.'
    )
    agent_queues: dict[str, str] = Field(default_factory=dict, description="The same for tool handlers: agent-name.")

    @model_validator(mode="after")
    def _check(self) -> ServiceSettings:
        if self.auth == "token" and not (self.auth_token and self.auth_token.get_secret_value()):
            raise ValueError("TURNWISE_AUTH=token needs TURNWISE_AUTH_TOKEN; set it to a long random string")
        if self.auth == "none" and not self.bind.startswith(_LOOPBACK):
            raise ValueError(
                f"TURNWISE_AUTH=none is only for loopback, but TURNWISE_BIND is {self.bind}; "
                "set TURNWISE_AUTH=token and TURNWISE_AUTH_TOKEN"
            )
        if self.lease_seconds < 3 * self.beat_seconds:
            raise ValueError(
                f"TURNWISE_LEASE_SECONDS ({self.lease_seconds}) must be at least three times "
                f"TURNWISE_BEAT_SECONDS ({self.beat_seconds}), or a late beat loses the lease"
            )
        return self

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


def load_settings(**overrides: object) -> ServiceSettings:
    """Read the settings; `overrides` win over the environment. Raises `ConfigurationError` with every fault."""
    secrets = os.environ.get("TURNWISE_SECRETS_DIR")
    if secrets and not Path(secrets).is_dir():
        raise ConfigurationError(f"TURNWISE_SECRETS_DIR is {secrets!r}, which is not a directory")
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return ServiceSettings(_secrets_dir=secrets, **given)  # type: ignore[arg-type]
    except ValidationError as error:
        faults = []
        for fault in error.errors():
            where = "_".join(str(part) for part in fault["loc"])
            name = f"TURNWISE_{where.upper()}: " if where else ""
            faults.append(name + str(fault["msg"]).removeprefix("Value error, "))
        raise ConfigurationError("; ".join(faults)) from error
    except SettingsError as error:  # only what is written as JSON is parsed before it is validated
        raise ConfigurationError(
            f'{error}: TURNWISE_LLM_QUEUES and TURNWISE_AGENT_QUEUES take JSON, for instance {{"agent": "name"}}'
        ) from error
