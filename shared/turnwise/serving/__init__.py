"""Served runs: the machine driven over the record and the bus.

move.py         a move, written down in one transaction       answering.py      a responder's answer to a claim
dispatcher.py   permits and wake-ups after a commit           served_agent.py   an agent over template and record
observer.py     the moments of a run, and who is told of them
"""
