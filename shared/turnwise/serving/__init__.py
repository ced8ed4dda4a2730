"""Served runs: the machine driven over the record and the bus.

move.py       a move, written down in one transaction        answering.py      a responder's answer to a claim
reporting.py  what is published and counted after a commit   served_agent.py   an agent over template and record
"""
