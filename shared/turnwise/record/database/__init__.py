"""The database: engine, tables, migrations, and the statements of the hot path."""
