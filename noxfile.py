"""Checks in environments of their own: each declared Python, each extra by itself, a release before it is made.

nox -s tests-3.13            the unit tests on that version
nox -s extras                each extra in an environment of its own
nox -s release               build, check and install the distribution, and run the demo from it
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests"]

PYTHONS = nox.project.python_versions(nox.project.load_toml("pyproject.toml"))

# What has to be importable with an extra and nothing else; "" is an installation without any.
EXTRAS = {
    "": ["turnwise", "turnwise.cli.main", "turnwise.client", "turnwise.testing"],
    "record": ["turnwise.record.store"],
    "broker": ["turnwise.bus.celery_bus"],
    "mcp": ["turnwise.integrations.mcp.server", "turnwise.mcp_server.transports"],
    "gateway": ["turnwise_gateway.service"],
    "coordinator": ["turnwise_coordinator.service"],
    "responders": ["turnwise_responders.service"],
    "tokens": ["tiktoken"],
    "retrieval": ["turnwise.integrations.retrieval.sqlite_index"],
    "pgvector": ["turnwise.integrations.retrieval.pg_index"],
    "otel": ["turnwise.observability.telemetry.providers"],
    "port": ["turnwise.porting.codemod.porting"],
    "all": ["turnwise_gateway.service", "turnwise_coordinator.service", "turnwise_responders.service"],
}


def _wheel(session: nox.Session) -> Path:
    """Build the wheel and the source distribution; return the wheel."""
    dist = Path(session.create_tmp()).resolve() / "dist"
    session.install("build", "twine", "-c", "constraints.txt")
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    session.run("twine", "check", "--strict", *map(str, sorted(dist.iterdir())))
    return max(dist.glob("*.whl"), key=lambda path: path.stat().st_mtime)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the unit tests; arguments replace them."""
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    session.run("pytest", "-n", "auto", "--dist", "loadfile", *(session.posargs or ["tests/unit"]))


@nox.session
@nox.parametrize("extra", list(EXTRAS))
def extras(session: nox.Session, extra: str) -> None:
    """Install the library with one extra only, and import what the extra is for."""
    session.install("-c", "constraints.txt", f".[{extra}]" if extra else ".")
    for module in EXTRAS[extra]:
        session.run("python", "-W", "error", "-c", f"import {module}")


@nox.session
def release(session: nox.Session) -> None:
    """Rehearse a release: build it, check it, install the wheel where nothing else is, and run the demo."""
    wheel = _wheel(session)
    bare = Path(session.create_tmp()).resolve() / "bare"
    session.run("python", "-m", "venv", "--clear", str(bare))
    python = str(bare / "bin" / "python")
    session.run(python, "-m", "pip", "install", "-q", "-c", "constraints.txt", f"{wheel}[all]", external=True)
    session.chdir(str(bare))
    session.run(python, "-m", "turnwise.cli.main", "demo", "--yes", external=True)
