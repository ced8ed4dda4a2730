"""The log of a run for people: what was said, by whom, and what became of it.

`entry.py` is the value that everything is made of. A run in this process (`run_log.py`, from what the machine traces)
and a served one (`from_events.py`) give the same entries; `tsv.py`, `text.py` and `page.py` write them down.
"""
