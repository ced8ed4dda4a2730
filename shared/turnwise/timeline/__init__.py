"""The time of a run by its causes, from the events of its record.

`spans.py` has the values, and `attempt.py` divides one worker's attempt. `from_events.py` reads a run's events into
spans that neither overlap nor leave a gap. `sums.py` adds them up, and `sentences.py` says it in a sentence. The form
in which all that crosses HTTP is in `turnwise.api`. The command line and the HTML page draw that.
"""
