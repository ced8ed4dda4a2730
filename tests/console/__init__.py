"""Tests of the console in a real browser: a package, so that its server is stopped when they are over."""
