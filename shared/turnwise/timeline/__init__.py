"""Where a run's time went, from the events of its record.

`spans.py` has the values, `attempt.py` divides one worker's attempt, `reading.py` reads a run's events into spans that
neither overlap nor leave a gap, `sums.py` adds them up, `telling.py` says it in a sentence, and `views.py` is the form
in which all that crosses HTTP. The command line and the HTML page draw the views.
"""
