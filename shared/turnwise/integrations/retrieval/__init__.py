"""Vector stores that agents query: documents, embedders, a store in a SQLite file and one in PostgreSQL."""
