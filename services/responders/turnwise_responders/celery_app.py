"""`celery -A turnwise_responders.celery_app worker -Q llm,agent -P threads`; settings come from the environment."""

from turnwise.processes.settings import load_settings
from turnwise_responders.service import build

app = build(load_settings())
