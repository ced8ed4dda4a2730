"""New projects: their files, and the names that they may have."""
