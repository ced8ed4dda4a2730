"""Many conversations of one kind: a task, an agent's method or a function over a list of items.

tasks.py   a task per item        agents.py    a method of an agent, or a function, per item
pool.py    how the items are run  progress.py  a bar on a terminal
"""
