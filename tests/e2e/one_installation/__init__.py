"""Tests that share one installation of each kind, and so run in one process of the tests."""
