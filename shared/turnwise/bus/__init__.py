"""The bus: what wakes the processes of a served run, and nothing that a run could not do without for a while.

The database is the truth. A message here is a permit to look there, so that a lost, doubled or late one does no harm.
Nothing in this package's `__init__` imports Celery or kombu; `celery_bus` and `celery_app` do.
"""
