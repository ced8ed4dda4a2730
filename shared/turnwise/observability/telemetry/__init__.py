"""OpenTelemetry, where someone listens: spans and metrics of calls, and the contexts that connect them.

Nothing of it is imported before a program does that itself, or a service is configured for it (`export`).
"""
