"""Keeping within what a provider lets through: requests and tokens in a time, and calls at once.

The arithmetic (`window`) is pure: it knows no store and no clock. A run in memory counts in its process (`local`);
served runs count in the record (`turnwise.record.budgets.provider_windows`), all workers together.
"""
