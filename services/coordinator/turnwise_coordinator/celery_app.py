"""`celery -A turnwise_coordinator.celery_app worker -Q coordinator -P threads`; settings come from the environment."""

from turnwise.processes.settings import load_settings
from turnwise_coordinator.service import build

app = build(load_settings())
