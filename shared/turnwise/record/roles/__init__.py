"""The roles of the record: each offers what one kind of program needs, and nothing else."""
