"""Watchers of runs: subscriptions to the bus, and their announcements."""
