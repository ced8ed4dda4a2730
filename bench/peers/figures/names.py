"""The names of figures, as they are in the JSON and in the table."""

from __future__ import annotations

SIDE_BY_SIDE = "CPU of a turn, 1,000 conversations at once to one by one, in-process"
AGEING_IN_PROCESS = "turn 5,000 to turn 50, in-process"
AGEING_EMBEDDED = "turn 5,000 to turn 50, embedded"
AGEING_DISTRIBUTED = "turn 5,000 to turn 50, distributed"
BROKER_MESSAGES = "broker messages a turn, worker that serves both queues"
FIRST_CALL_P50 = "POST to the first model call, idle, p50, ms"
FIRST_CALL_P99 = "POST to the first model call, idle, p99, ms"
SUBMISSIONS = "submissions a second accepted by one gateway process"
SLOW_CALLS_BEYOND = "1,000 model calls of 30 s in one worker: seconds beyond the 30"
SLOW_CALLS_MEMORY = "1,000 model calls of 30 s in one worker: RSS, MB"
