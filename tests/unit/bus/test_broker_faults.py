"""The reason for a broker's error is read from its name and text."""

from __future__ import annotations

import pytest
from amqp.exceptions import AccessRefused, InternalError, NotAllowed, NotFound, PreconditionFailed

from turnwise.bus.broker.connections import explained

_REFUSED = "ACCESS_REFUSED - {}access to {} in vhost 'turnwise' refused for user 'turnwise'"
_VHOST = "no such virtual host, or does not let this user into it"
_PERMISSION = "does not let this user use its queues and exchanges"


@pytest.mark.parametrize(
    ("reason", "said", "cure"),
    [
        (AccessRefused(_REFUSED.format("", "queue 'llm'")), _PERMISSION, "rabbitmqctl set_permissions"),
        (AccessRefused(_REFUSED.format("write ", "exchange 'turnwise'")), _PERMISSION, "configure, write and read"),
        (
            AccessRefused(_REFUSED.format("write ", "topic 'llm.x' in exchange 'turnwise'")),
            _PERMISSION,
            "set_topic_permissions",
        ),
        (AccessRefused("ACCESS_REFUSED - Login was refused"), "refuses the user", "correct user and password"),
        (NotAllowed("NOT_ALLOWED - vhost turnwise not found"), _VHOST, "rabbitmqctl add_vhost"),
        (NotAllowed("NOT_ALLOWED - access to vhost 'turnwise' refused for user 'x'"), _VHOST, "set_permissions"),
        (
            InternalError("INTERNAL_ERROR - access to vhost 'x' refused for user 'x': vhost 'x' is down"),
            _VHOST,
            "set_permissions",
        ),
        (
            PreconditionFailed("PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'llm' in vhost 'x'"),
            "declared otherwise than Turnwise does",
            "delete it",
        ),
        (NotFound("NOT_FOUND - no queue 'llm' in vhost 'x'"), "does not answer", "start RabbitMQ"),
    ],
)
def test_each_reason_has_its_cure(reason: Exception, said: str, cure: str) -> None:
    found, mend = explained(reason, "RabbitMQ")

    assert said in found
    assert cure in mend
