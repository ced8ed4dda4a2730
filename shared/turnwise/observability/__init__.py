"""Logs, redaction, display settings and telemetry."""
