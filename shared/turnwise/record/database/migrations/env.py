"""Alembic's entry: it works on the connection that it was given, inside that connection's transaction."""

from __future__ import annotations

from alembic import context

from turnwise.record.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
