"""Callers, their permissions, and the audit of their actions."""
