"""The scenarios, one file per subject."""
