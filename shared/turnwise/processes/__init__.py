"""Settings, start-up and the metrics endpoint of a process."""
