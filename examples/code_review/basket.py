"""A shop's basket: the code that is reviewed."""

from __future__ import annotations


def total(prices: list[float]) -> float:
    """Add the prices up; from 100 EUR on, a tenth less."""
    added = sum(prices)
    if added > 100:
        added *= 0.9
    return added


def shares(amount: float, people: int) -> list[float]:
    """Divide an amount among people, in whole cents that add up to it."""
    return [round(amount / people, 2)] * people
