"""A worker process's knowledge of its providers."""

from __future__ import annotations

from typing import cast

from turnwise.base.clock import SYSTEM_CLOCK
from turnwise.models.limits.provider import Provider, Target, provider_of
from turnwise.models.limits.window import Caps
from turnwise.record.budgets.providers import Known
from turnwise.record.roles.worker import WorkerRole
from turnwise.serving.attempts.provider_places import ServedProviders

TARGET = Target(provider=provider_of("http://server", "model", "key"), caps=Caps())


class Record:
    """A record that knows limits of the provider, and asks what a second thread would be told during a first look."""

    clock = SYSTEM_CLOCK

    def __init__(self) -> None:
        self.providers = ServedProviders(cast(WorkerRole, self))
        self.meanwhile: list[bool] = []
        self._looks = 0

    def provider_known(self, provider: Provider) -> Known | None:
        self._looks += 1
        if self._looks == 1:
            self.meanwhile.append(self.providers.limits(TARGET))
        return "limits"


def test_a_call_that_begins_while_another_looks_for_limits_does_not_go_without_them() -> None:
    record = Record()
    assert record.providers.limits(TARGET)
    assert record.meanwhile == [True]


def test_what_is_not_known_is_looked_for_again_only_after_a_while() -> None:
    class Empty(Record):
        def provider_known(self, provider: Provider) -> Known | None:
            self.meanwhile.append(False)
            return None

    record = Empty()
    assert not any(record.providers.limits(TARGET) for _ in range(5))
    assert len(record.meanwhile) == 1
