"""The bodies of requests."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from turnwise.api.administration import NamedKey
from turnwise.api.body import MAX_DEADLINE, Body, Limits, Money, Tag, Version, plain_text, said
from turnwise.base.ids import SESSION_ID
from turnwise.messages.given_history import GivenMessage
from turnwise.record.tenants.api_key import MAX_LIFETIME, MAX_OVERLAP
from turnwise.record.tenants.caller import SCOPES, Scope
from turnwise.record.tenants.tenant import TENANT_ID


class EarlierMessage(Body):
    """A message of a conversation that was held elsewhere."""

    role: Literal["user", "assistant"]
    content: Annotated[str, AfterValidator(said)] = Field(examples=["What may I do for you?"])

    def given(self) -> GivenMessage:
        """The message as the run keeps it."""
        return GivenMessage(self.role, self.content)


Events = Annotated[
    list[Annotated[str, AfterValidator(plain_text), Field(min_length=1, max_length=100)]],
    Field(min_length=1, max_length=50, description="Types of events, groups of them (`run.*`), or `*`."),
]
_URL = Field(min_length=1, max_length=2_048, examples=["https://example.com/turnwise"])
_SECRET = Field(
    None, min_length=1, max_length=200, description="`whsec_` and 24 to 64 bytes in base64; one is made if left out."
)


class RunWebhook(Body):
    """A receiver of the events of one run."""

    url: Annotated[str, AfterValidator(plain_text)] = _URL
    events: Events | None = None
    secret: str | None = _SECRET


def _webhook_of(given: Any) -> Any:
    return {"url": given} if isinstance(given, str) else given


class Submission(Body):
    """A run to be made."""

    task: str = Field(min_length=1, max_length=200, examples=["support"])
    message: Annotated[str, AfterValidator(said)] = Field(examples=["I was charged twice for May."])
    history: list[EarlierMessage] = Field(
        [],
        max_length=2_000,
        description="Said before the message, elsewhere: the conversation of the task's agent begins with it, unless "
        "the session has one already.",
    )
    session_id: str | None = Field(
        None,
        pattern=SESSION_ID,
        description="The run goes on where the last run of this session and task ended, once all before it have ended.",
        examples=["customer-17"],
    )
    version: Version | None = Field(
        None,
        description="Of the application; needed only where runs are pinned to versions and another one is wanted.",
    )
    limits: Limits = Limits()
    priority: int = Field(0, ge=-100, le=100, description="Higher is sooner.")
    tags: list[Tag] = Field([], max_length=20)
    metadata: dict[str, Any] = Field({}, description="Anything of the client's own; kept and given back.")
    webhook: Annotated[RunWebhook, BeforeValidator(_webhook_of, json_schema_input_type=RunWebhook | str)] | None = (
        Field(
            None, description="Where events of the run are sent; a URL is short for an object with no more than that."
        )
    )

    def digest(self) -> str:
        """The same for two bodies that mean the same."""
        # Left out where there is none, so that the digests of bodies from before there were any still hold.
        body = self.model_dump(mode="json")
        for holder, name in (
            (body, "session_id"),
            (body, "version"),
            (body, "webhook"),
            (body["limits"], "on_limit"),
            (body["limits"], "can_wait"),
        ):
            if holder[name] is None:
                del holder[name]
        if not body["history"]:
            del body["history"]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class Fork(Body):
    """A run to be made of another's past."""

    at: int = Field(ge=1, lt=2**31, description="An event of the run; what happened up to it is the fork's past, too.")
    message: Annotated[str, AfterValidator(said)] | None = Field(
        None,
        description="The answer of whoever is asked there; before the run began, its first message.",
    )
    model: Annotated[str, AfterValidator(plain_text)] | None = Field(
        None, min_length=1, max_length=200, description="For all agents that have a model, in place of their own."
    )
    version: Version | None = Field(None, description="Of the application; the server's own if left out.")
    session_id: str | None = Field(
        None, pattern=SESSION_ID, description="A new session that begins with the fork; none if left out."
    )
    limits: Limits = Limits()

    def digest(self, run_id: str) -> str:
        """The same for two bodies that mean the same fork of the run."""
        text = json.dumps({"fork": run_id, **self.model_dump(mode="json")}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class NewLimits(Body):
    """Limits from now on; what is left out stays, but a deadline begins anew."""

    max_cost: Money = Field(None, description="US dollars, a decimal string; 0 is no limit.", examples=["0.50"])
    max_tokens: int | None = Field(None, ge=0, lt=2**53, description="0 is no limit.")
    deadline: float | None = Field(None, gt=0, le=MAX_DEADLINE, description="Seconds from now.")


class Retry(Body):
    """The terms on which a failed run continues."""

    limits: NewLimits = NewLimits()


class OtherLimits(Body):
    """Limits in place of a run's own; what is left out stays."""

    max_cost: Money = Field(None, description="US dollars, a decimal string; 0 is no limit.", examples=["2.00"])
    max_tokens: int | None = Field(None, ge=0, lt=2**53, description="0 is no limit.")


class RunChange(Body):
    """The settings that may be changed of a run that has not ended."""

    limits: OtherLimits


class HumanText(Body):
    """A human's answer; an empty text takes the default answer of a question addressed to User."""

    text: str = Field(examples=["yes, go on"])
    question: Annotated[str, AfterValidator(plain_text)] | None = Field(
        None, min_length=1, max_length=300, description="May be left out if exactly one question is open."
    )


class Resolved(Body):
    """A person's decision on a parked ask."""

    outcome: Literal["happened", "again", "fail"]
    result: Any = Field(
        None,
        description="With `happened`: what the handler returned, a text or any JSON; left out if it returned nothing.",
        examples=["the refund 4711 was made"],
    )


Tenant = Annotated[str, Field(pattern=TENANT_ID, examples=["acme"])]


class KeyRequest(NamedKey):
    """A key to be made."""

    scopes: list[Scope] = Field(min_length=1, max_length=len(SCOPES), examples=[["runs:read", "runs:write"]])
    tenant: Tenant | None = Field(None, description="For operators; the caller's own if left out.")
    expires_in: float | None = Field(
        None, gt=0, le=MAX_LIFETIME, description="Seconds; it does not expire if left out."
    )


class Rotation(Body):
    """The terms on which a key is replaced."""

    overlap: float = Field(
        86_400.0, ge=0, le=MAX_OVERLAP, description="Seconds for which the old key can still be used."
    )


# JSON has no times, so they are texts.
Time = Annotated[datetime | None, Field(strict=False)]


class RunSelection(Body):
    """A selection of runs; each condition that is given has to hold, and at least one has to be given."""

    status: Literal["queued", "running", "waiting", "completed", "failed", "cancelled"] | None = None
    task: Annotated[str, AfterValidator(plain_text)] | None = Field(None, min_length=1, max_length=200)
    tag: Tag | None = None
    session: Annotated[str, AfterValidator(plain_text)] | None = Field(None, min_length=1, max_length=200)
    batch: Annotated[str, AfterValidator(plain_text)] | None = Field(None, min_length=1, max_length=200)
    created_after: Time = None
    created_before: Time = None
    finished_after: Time = None
    error: list[Annotated[str, AfterValidator(plain_text), Field(min_length=1, max_length=100)]] | None = Field(
        None,
        min_length=1,
        max_length=20,
        description="Kinds (`unavailable`), codes (`model_unavailable`) or types of the errors that ended the runs.",
    )

    @field_validator("error", mode="before")
    @classmethod
    def _one_or_more(cls, given: object) -> object:
        return [given] if isinstance(given, str) else given

    @model_validator(mode="after")
    def _not_everything(self) -> RunSelection:
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise ValueError("the filter is empty, and would match every run; give at least one condition")
        return self


class BulkCancel(Body):
    """A page of the runs that match."""

    filter: RunSelection
    dry_run: bool = Field(False, description="Only tell what matches.")
    limit: int = Field(100, ge=1, le=500, description="Runs of a page.")
    cursor: str | None = Field(
        None, max_length=200, pattern=r"^[A-Za-z0-9_-]+$", description="`next_cursor` of the page before."
    )


class BulkRetry(BulkCancel):
    """A page of the failed runs that match, and how they continue."""

    limits: NewLimits = NewLimits()


class PauseRequest(Body):
    """The reason of a pause."""

    reason: Annotated[str, AfterValidator(plain_text)] | None = Field(
        None,
        min_length=1,
        max_length=300,
        description="Shown with every run that it holds.",
        examples=["provider outage"],
    )


class WebhookRequest(RunWebhook):
    """A receiver of the events of all runs."""

    description: Annotated[str, AfterValidator(plain_text)] = Field("", max_length=300, examples=["the shop's backend"])


class WebhookChange(Body):
    """The parts of a receiver that are changed; what is left out stays."""

    url: Annotated[str, AfterValidator(plain_text)] | None = Field(None, min_length=1, max_length=2_048)
    events: Events | None = None
    description: Annotated[str, AfterValidator(plain_text)] | None = Field(None, max_length=300)
    active: bool | None = Field(None, description="Whether anything is sent to it.")


class WebhookRotation(Body):
    """The terms on which a secret is replaced."""

    overlap: float = Field(
        86_400.0, ge=0, le=MAX_OVERLAP, description="Seconds for which the old secret signs as well."
    )
    secret: str | None = _SECRET
