"""The capacity of an installation: measured by part, predicted by a simulation, checked against real runs."""
