"""Whole installations, as an operator starts them.

It has to be a package: fixtures of a folder that is none last to the end of the session, and so did the processes.
"""
