"""Sending begins where the environment asks for it, and costs nothing where it does not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping

import pytest
from tests.support.telemetry import Collector

from turnwise.observability.telemetry.export import exporters, start_exporting

HTTP, GRPC = "otlp_proto_http", "otlp_proto_grpc"

RUN = """
from turnwise import *
from turnwise.observability.telemetry.export import start_exporting
sending = start_exporting("squares")
agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="DONE")))
Task(agent, name="squares", interactive=False).run("go")
import sys
print(sorted(name for name in sys.modules if name == "opentelemetry" or name.startswith("opentelemetry.sdk.trace")))
sending.flush()
"""


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def python(code: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    import os

    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


@pytest.mark.parametrize(
    ("environment", "traces", "metrics"),
    [
        ({}, [], []),
        ({"OTEL_SERVICE_NAME": "squares"}, [], []),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, [HTTP], [HTTP]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, [HTTP], []),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, [HTTP, "console"], []),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, [GRPC], [GRPC]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, [HTTP], []),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, [], []),
    ],
)
def test_what_is_sent_is_what_the_environment_asks_for(
    environment: dict[str, str], traces: list[str], metrics: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert (exporters("TRACES"), exporters("METRICS")) == (traces, metrics)


def test_an_unknown_protocol_and_an_exporter_that_is_not_installed_are_told() -> None:
    wrong = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}
    assert "expected http/protobuf or grpc" in python(RUN, wrong).stderr
    assert "no exporter 'zipkin' of traces here" in python(RUN, {"OTEL_TRACES_EXPORTER": "zipkin"}).stderr


def test_without_configuration_nothing_is_imported() -> None:
    done = python(RUN, {})

    assert (done.stdout.strip(), done.returncode) == ("[]", 0)


def test_without_the_extra_a_warning_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['opentelemetry.sdk'] = None\n" + RUN
    done = python(hidden, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})

    assert done.returncode == 0, done.stderr
    assert "pip install 'turnwise[otel]'" in done.stderr


def test_a_program_sends_its_runs_to_the_collector_before_it_ends() -> None:
    with Collector() as collector:
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_RESOURCE_ATTRIBUTES": "service.name=mine"}
        done = python(RUN, endpoint)

        assert done.returncode == 0, done.stderr
        assert {span.name for span in collector.spans()} == {
            "invoke_workflow squares",
            "invoke_agent LLM-Agent",
            "chat mock",
        }
        assert {span.service for span in collector.spans()} == {"mine"}
        assert "gen_ai.client.operation.duration" in collector.metrics()


def test_a_collector_that_is_away_keeps_no_process_from_ending() -> None:
    code = "import time\n" + RUN.replace(
        "sending.flush()", "t = time.monotonic()\nsending.flush()\nprint(time.monotonic() - t)"
    )
    began = time.monotonic()

    done = python(code, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://10.255.255.1:4318"})

    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 7
    assert time.monotonic() - began < 45


def test_a_process_begins_to_send_once() -> None:
    assert start_exporting("one") is start_exporting("other")
