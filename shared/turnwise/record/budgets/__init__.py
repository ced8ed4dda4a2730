"""Budgets, reservations, usage and the windows of providers' limits."""
