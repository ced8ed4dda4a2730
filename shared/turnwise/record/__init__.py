"""The durable record of runs: tables, transactions, claims, replies, sweeps and queries."""
