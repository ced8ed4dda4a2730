"""The scenarios as an application; every process of a test loads it as `tests.rules.application:app`."""

from __future__ import annotations

from tests.rules.catalogue import scenarios
from tests.rules.scenario import SERVED
from tests.rules.served import application

app = application([each for each in scenarios() if SERVED not in each.never], {})
