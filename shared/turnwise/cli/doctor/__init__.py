"""Looks at an installation, one group of checks a file, and says what is wrong with it and how to mend it."""

from turnwise.cli.doctor.examine import examine
from turnwise.cli.doctor.finding import Finding

__all__ = ["Finding", "examine"]
