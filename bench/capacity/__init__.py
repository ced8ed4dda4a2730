"""How much an installation can take: measured by part, predicted by a simulation, checked against real runs."""
