"""Work on the source of programs: parse, rewrite, check."""
