"""Permissions at the gateway: keys, scopes, callers. Knows neither database nor web framework."""
