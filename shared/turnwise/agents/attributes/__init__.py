"""Attributes that programs keep on agents and tasks: as JSON between the turns of a served run, and back."""
