"""The options of each connection to PostgreSQL: its encoding, and the limits of silence in either direction."""

from __future__ import annotations

# An option of libpq. It wins over the URL, PGCLIENTENCODING, a service, and the settings of the database and the role.
# Without it a database of SQL_ASCII would choose its own, in which psycopg returns bytes in place of text.
ENCODING = {"client_encoding": "UTF8"}
# Options of libpq, which the URL may override. They detect a server that disappears (its network is cut, its machine is
# off) within 25 s. TCP alone takes a quarter of an hour, or hours where nothing is sent.
LIVELY = {
    "connect_timeout": 5,  # seconds, as the keepalives
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
# A statement for each new connection. It sets these limits on the server, except for those that the server's
# configuration, the role or the URL sets. The first ends the transaction of a process that is frozen, the others
# that of a process whose machine or network is gone: its row locks would block everyone who needs them.
LIMIT_SILENCE = """
    SELECT set_config(name, own.value, false)
    FROM pg_settings JOIN (VALUES
        ('idle_in_transaction_session_timeout', '60s'),
        ('tcp_keepalives_idle', '10s'),
        ('tcp_keepalives_interval', '5s'),
        ('tcp_keepalives_count', '3'),
        ('tcp_user_timeout', '20s')
    ) AS own (name, value) USING (name)
    WHERE source = 'default'
"""
# Seconds. A move that lost its transaction after more than these took longer than a transaction may rest: a server that
# is gone is noticed earlier.
LONGEST_MOVE = 40.0
