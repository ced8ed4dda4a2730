"""Processing of every request, whatever its route: ids, limits, logs, errors."""
