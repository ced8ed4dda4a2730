"""Tasks, and how they are run in this process."""
