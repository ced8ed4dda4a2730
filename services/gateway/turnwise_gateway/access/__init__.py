"""Who calls, what the caller may do, and the audit of what was done."""
