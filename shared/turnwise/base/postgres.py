"""The limits of silence between this program and PostgreSQL, in either direction, for each connection."""

from __future__ import annotations

# What libpq is told, unless the URL says otherwise. A server that is gone without a word (a network that is cut, a
# machine that is off) is noticed within 25 s; TCP alone takes a quarter of an hour, or hours where nothing is sent.
LIVELY = {
    "connect_timeout": 5,  # seconds, as the keepalives
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
# What the server is told, in a statement for each connection, unless it, the role or the URL has a value. The
# transaction of a process that is frozen is rolled back after the first, and that of one whose machine or network is
# gone after the others. Its row locks would stop all who need one of them.
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
