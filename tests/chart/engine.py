"""Helm, as it renders and checks a chart: the program where it is on the path, else the engine in `helm-sdkpy`.

Both install the chart against `FakeKubernetes`, and what is looked at is the release that Helm writes down there: all
manifests, hooks and notes, as a cluster would get them. (The package does not offer `helm template`.)
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml
from tests.chart.fake_kubernetes import FakeKubernetes, Object
from tests.support.services import missing

CHART = Path(__file__).parents[2] / "helm" / "turnwise"
NAMESPACE = "office"
_HOW = (
    "no Helm: put `helm` on the path, or install its engine, 47 MB: "
    "pip install --ignore-requires-python --no-deps -c constraints.txt helm-sdkpy"
)


class ChartRefusedError(Exception):
    """Helm would not install; the message is its own."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """Helm's rendering of a chart and values; hooks are only in `hooks`, and objects are parsed."""

    objects: tuple[Object, ...]
    hooks: tuple[Object, ...]
    notes: str

    @classmethod
    def of(cls, kept: Object) -> Release:
        """Takes what Helm keeps of a release."""
        hooks = "\n---\n".join(hook["manifest"] for hook in kept.get("hooks") or [])
        return cls(objects=_parsed(kept["manifest"]), hooks=_parsed(hooks), notes=kept["info"]["notes"])

    @property
    def everything(self) -> tuple[Object, ...]:
        """Objects and hooks."""
        return self.objects + self.hooks

    def all_of(self, kind: str) -> dict[str, Object]:
        """Objects and hooks of a kind, by name without the release's."""
        found = [one for one in self.everything if one["kind"] == kind]
        return {one["metadata"]["name"].removeprefix("turnwise").removeprefix("-"): one for one in found}

    def pods(self) -> dict[str, Object]:
        """Every pod or template of pods, by the name of what makes it."""
        made = {}
        for one in self.everything:
            if one["kind"] == "Pod":
                made[one["metadata"]["name"]] = one
            elif "template" in one.get("spec", {}):
                made[one["metadata"]["name"]] = one["spec"]["template"]
        return made


class Engine(Protocol):
    """Helm."""

    def lint(self) -> str:
        """Return Helm's complaints about the chart; empty if there are none."""
        ...

    def install(self, kubernetes: FakeKubernetes, values: Mapping[str, Any], name: str = "turnwise") -> None:
        """Install as the release `name`; raises `ChartRefusedError`."""
        ...


class HelmProgram:
    """`helm` on the path."""

    def __init__(self, program: str) -> None:
        self._program = program

    def lint(self) -> str:
        done = self._run("lint", str(CHART))
        return "" if done.returncode == 0 and "[WARNING]" not in done.stdout else done.stdout + done.stderr

    def install(self, kubernetes: FakeKubernetes, values: Mapping[str, Any], name: str = "turnwise") -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write(kubernetes.kubeconfig())
            config.flush()
            done = self._run(
                *("install", name, str(CHART), "--namespace", NAMESPACE, "--kubeconfig", config.name),
                *("--timeout", "20s", "--values", "-"),
                given=yaml.safe_dump(dict(values)),
            )
        if done.returncode != 0:
            raise ChartRefusedError(done.stderr)

    def _run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run([self._program, *arguments], input=given, capture_output=True, text=True, check=False)


class HelmLibrary:
    """Helm's Go code in `helm-sdkpy`."""

    def lint(self) -> str:
        import helm_sdkpy

        with FakeKubernetes() as kubernetes:
            config = helm_sdkpy.Configuration(namespace=NAMESPACE, kubeconfig=kubernetes.kubeconfig())
            found = asyncio.run(helm_sdkpy.Lint(config).run(str(CHART)))
        # Severity 1 is a hint (there is no icon), 2 a warning, 3 an error; the texts are not passed on.
        bad = [message for message in found["Messages"] if message["Severity"] > 1]
        return f"{bad}, {found['Errors']}" if bad or found["Errors"] else ""

    def install(self, kubernetes: FakeKubernetes, values: Mapping[str, Any], name: str = "turnwise") -> None:
        import helm_sdkpy

        config = helm_sdkpy.Configuration(namespace=NAMESPACE, kubeconfig=kubernetes.kubeconfig())
        action = helm_sdkpy.Install(config)
        try:
            asyncio.run(action.run(name, str(CHART), values=dict(values), wait=False, timeout=20))
        except helm_sdkpy.InstallError as error:
            raise ChartRefusedError(str(error)) from error


def find_engine() -> Engine:
    """Helm, however it can be had; skips the test where it cannot."""
    if program := shutil.which("helm"):
        return HelmProgram(program)
    try:
        import helm_sdkpy

        helm_sdkpy.get_version()
    except ImportError:
        missing(_HOW)
    except helm_sdkpy.HelmLibraryNotFound as error:
        missing(f"no Helm: helm-sdkpy has no engine for {sys.platform} ({error}); put `helm` on the path")
    return HelmLibrary()


def render(engine: Engine, values: Mapping[str, Any], name: str = "turnwise") -> Release:
    """Return what would be installed; raises `ChartRefusedError` if Helm does not come so far."""
    with FakeKubernetes() as kubernetes:
        kubernetes.refuses = True
        try:
            engine.install(kubernetes, values, name)
        except ChartRefusedError:
            if kubernetes.release is None:
                raise
        assert kubernetes.release is not None
        return Release.of(kubernetes.release)


def install(engine: Engine, values: Mapping[str, Any]) -> list[Object]:
    """Install to the end, hooks included; what was created, in order."""
    with FakeKubernetes() as kubernetes:
        engine.install(kubernetes, values)
        return kubernetes.created


@contextmanager
def secrets_as_driver() -> Iterator[None]:
    """Let Helm keep releases in Secrets, whatever the environment says."""
    before = os.environ.pop("HELM_DRIVER", None)
    try:
        yield
    finally:
        if before is not None:
            os.environ["HELM_DRIVER"] = before


def _parsed(text: str) -> tuple[Object, ...]:
    return tuple(one for one in yaml.safe_load_all(text) if one)
