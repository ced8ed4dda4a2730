"""The simulator: an installation in simulated time, with faults, and the promises that it must keep."""
