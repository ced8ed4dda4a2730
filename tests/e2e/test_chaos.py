"""A small chaos run on servers of its own: each process is killed once, each server restarted, nothing is lost."""

from __future__ import annotations

import pytest
from tests.chaos import real_run
from tests.chaos.faults import Fault, Kind
from tests.chaos.folder import run_folder
from tests.chaos.servers import ServerMissingError
from tests.chaos.stage import Broker, Setting
from tests.support.services import missing

_SIZES = {"gateway": 1, "coordinator": 1, "llm": 1, "agent": 1, "worker": 1}


def _fault(kind: Kind, target: str = "", seconds: float = 0.0) -> Fault:
    return Fault(kind=kind, target=target, seconds=seconds, overlaps=False)


def _faults(broker: Broker) -> list[Fault]:
    """Redis forgets everything in a crash, RabbitMQ takes long to come back: each is restarted in its own way."""
    return [
        _fault("kill", "worker-1"),
        _fault("broker crash" if broker == "redis" else "broker stop"),
        _fault("kill", "llm-1"),
        _fault("kill", "agent-1"),
        _fault("database crash", seconds=0.5),
        _fault("half-open", "0 database", 1.0),
        _fault("cut", "1 broker"),
        _fault("freeze", "llm-1", 6.0),
        _fault("kill", "coordinator-1"),
        _fault("kill", "gateway-1"),
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("broker", ["redis", "rabbitmq"])
def test_ten_conversations_under_faults_end_as_without_them(broker: Broker) -> None:
    setting = Setting(broker=broker, seed=10, at_once=4, gap=0.5, sizes=_SIZES)
    try:
        with run_folder() as folder:
            programme = real_run.rehearse(10, setting.seed, folder / "quiet", print)
            outcome = real_run.play(setting, programme, folder / "real", print, planned=iter(_faults(broker)))
    except ServerMissingError as error:
        missing(str(error))

    assert [finding for finding in outcome.findings if not finding.holds] == []
    assert [one.fault for one in outcome.happened] == _faults(broker)
