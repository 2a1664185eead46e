"""Pareto front of pairs of costs."""

from collections.abc import Sequence


def pareto(costs: Sequence[tuple[float, float]]) -> list[bool]:
    """Return True for each pair of costs on the Pareto front: no other pair is as low in both and lower in one."""
    order = sorted(range(len(costs)), key=lambda index: costs[index])
    on = [False] * len(costs)
    best, at = float("inf"), None
    for index in order:
        if costs[index][1] < best or costs[index] == at:
            on[index], best, at = True, costs[index][1], costs[index]
    return on
