"""Schedules in the record: made and changed by tenants or by code, and carried out by coordinators."""
