"""Celery workers: the application, its consumer, and the process that hosts it."""
