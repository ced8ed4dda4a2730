"""What every request passes, whatever its route: ids, limits, logs, errors."""
