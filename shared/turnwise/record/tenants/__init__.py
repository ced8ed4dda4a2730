"""Who may ask the gateway for what: keys, scopes, callers. Knows neither database nor web framework."""
