"""A live view of runs, queues and spend in the terminal."""
