"""The reason for a refused connection is read from libpq's sentence."""

from __future__ import annotations

import pytest

from turnwise.record.database.connect_errors import connect_fault

_SERVER = 'connection failed: connection to server at "10.0.0.7", port 5432 failed: '


@pytest.mark.parametrize(
    ("text", "kind", "cure"),
    [
        (
            _SERVER + 'FATAL: database "turnwise" does not exist',
            "missing_database",
            "turnwise migrate --create-database",
        ),
        (_SERVER + 'FATAL: role "app" does not exist', "missing_role", "createuser"),
        (_SERVER + 'FATAL: password authentication failed for user "app"', "password", "correct user and password"),
        (_SERVER + "fe_sendauth: no password supplied", "password", "correct user and password"),
        (_SERVER + 'FATAL: no pg_hba.conf entry for host "10.0.0.9", user "app"', "permission", "pg_hba.conf"),
        (_SERVER + 'FATAL: permission denied for database "turnwise"', "permission", "GRANT CONNECT"),
        (_SERVER + 'FATAL: role "app" is not permitted to log in', "permission", "administrator"),
        (
            _SERVER + 'FATAL: database "turnwise" is not currently accepting connections',
            "closed",
            "ALLOW_CONNECTIONS true",
        ),
        (_SERVER + "FATAL: sorry, too many clients already", "too_many", "TURNWISE_DATABASE_CONNECTIONS"),
        (
            _SERVER + "FATAL: remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "too_many",
            "max_connections",
        ),
        (_SERVER + "FATAL: the database system is starting up", "starting", "wait"),
        (_SERVER + "server does not support SSL, but SSL was required", "tls", "sslmode"),
        (_SERVER + "SSL error: certificate verify failed", "tls", "sslrootcert"),
        ('root certificate file "/none/root.crt" does not exist', "tls", "sslrootcert"),
        ("failed to resolve host 'db.invalid': [Errno -2] Name or service not known", "host", "TURNWISE_DATABASE_URL"),
        (_SERVER + "Connection refused Is the server running on that host?", "refused", "start PostgreSQL"),
        ("connection timeout expired", "refused", "start PostgreSQL"),
        ("the connection is lost", "other", "TURNWISE_DATABASE_URL"),
    ],
)
def test_each_reason_has_its_cure(text: str, kind: str, cure: str) -> None:
    fault = connect_fault(text)

    assert fault.kind == kind
    assert cure in fault.cure
