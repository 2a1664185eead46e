"""Fewest dots that separate all classes: greedy, then z3, which also proves that no smaller set of the pool does.

A dot separates two classes where their words differ. To choose dots that together separate every pair is a set cover.
Greedy finds a solution, and z3 the smallest one, as MaxSAT: of all sets that separate, one that lacks the most dots.
"""

import importlib.util
from dataclasses import dataclass
from itertools import combinations

import numpy as np

SECONDS = 20
"""Limit of z3's search."""


@dataclass(frozen=True)
class Selection:
    """Chosen dots.

    Attributes
    ----------
    chosen : indexes of the dots, increasing.
    bound : no smaller number of the pool's dots separates all classes; `len(chosen)` where minimality is proved.
    pool : number of dots to choose from.
    proof : what `bound` rests on.
    """

    chosen: tuple[int, ...]
    bound: int
    pool: int
    proof: str


def select(labels: np.ndarray) -> Selection:
    """Return the smallest set found of columns of `labels` [C, N] in which all rows differ.

    Raises
    ------
    ValueError : two rows are equal.
    """
    rows, pool = labels.shape
    masks = _separated(labels)
    whole = (1 << rows * (rows - 1) // 2) - 1
    candidates = _undominated(masks)
    chosen = _greedy(masks, candidates, whole)
    clauses = _clauses(masks, candidates, whole)
    bound = max(_information_bound(labels), _disjoint(clauses))
    proof = "by counting"
    if bound < len(chosen):
        if importlib.util.find_spec("z3") is None:
            proof = "by counting; the extra formal has z3, which proves more"
        else:
            chosen, bound, proof = _smallest(candidates, clauses, chosen, bound)
    return Selection(tuple(sorted(chosen)), bound, pool, proof)


def _separated(labels: np.ndarray) -> list[int]:
    """Return for each dot the pairs of classes that it separates, as bits."""
    pairs = np.array(list(combinations(range(len(labels)), 2)), np.int64).reshape(-1, 2)
    apart = labels[pairs[:, 0]] != labels[pairs[:, 1]]  # [pairs, dots]
    return [int.from_bytes(each.tobytes(), "little") for each in np.packbits(apart, axis=0, bitorder="little").T]


def _undominated(masks: list[int]) -> list[int]:
    """Return the dots without those that separate nothing beyond another one; of equal ones the first stays."""
    kept: list[int] = []
    for dot in sorted(range(len(masks)), key=lambda each: (-masks[each].bit_count(), each)):
        if masks[dot] and not any(masks[dot] | masks[other] == masks[other] for other in kept):
            kept.append(dot)
    return sorted(kept)


def _greedy(masks: list[int], candidates: list[int], whole: int) -> list[int]:
    """Return dots: add the dot that separates most of the remaining pairs until none remains, then drop redundant dots."""
    left, chosen = whole, []
    while left:
        best = max(candidates, key=lambda dot: (masks[dot] & left).bit_count(), default=None)
        if best is None or not masks[best] & left:
            raise ValueError("no dot of the pool separates some classes")
        chosen.append(best)
        left &= ~masks[best]
    for dot in list(chosen):
        if _union(masks, [each for each in chosen if each != dot]) == whole:
            chosen.remove(dot)
    return chosen


def _union(masks: list[int], dots: list[int]) -> int:
    union = 0
    for dot in dots:
        union |= masks[dot]
    return union


def _information_bound(labels: np.ndarray) -> int:
    """Return the smallest n for which n dots can have as many different results as there are classes."""
    outcomes = sorted((len(np.unique(column)) for column in labels.T), reverse=True)
    reached, n = 1, 0
    while reached < len(labels):
        reached, n = reached * outcomes[n], n + 1
    return n


def _disjoint(clauses: list[tuple[int, ...]]) -> int:
    """Return a lower bound of the dots: clauses without a common dot need one dot each."""
    used: set[int] = set()
    found = 0
    for clause in clauses:
        if used.isdisjoint(clause):
            used.update(clause)
            found += 1
    return found


def _smallest(
    candidates: list[int], clauses: list[tuple[int, ...]], chosen: list[int], bound: int
) -> tuple[list[int], int, str]:
    """Return z3's smallest set, or `chosen` if time runs out, the bound that it proves, and what that rests on."""
    import z3

    # There may be several smallest sets. z3's choice depends on the history of its context, so the context is new.
    context = z3.Context()
    solver = z3.Optimize(ctx=context)
    solver.set("timeout", int(SECONDS * 1000))
    flags = {dot: z3.Bool(f"dot{dot}", context) for dot in candidates}
    for clause in clauses:
        solver.add(z3.Or([flags[dot] for dot in clause]))
    for flag in flags.values():
        cost = solver.add_soft(z3.Not(flag))
    if solver.check() != z3.sat:
        return chosen, max(bound, solver.lower(cost).as_long()), f"by z3, which was stopped after {SECONDS} s"
    model = solver.model()
    chosen = [dot for dot, flag in flags.items() if z3.is_true(model[flag])]
    return chosen, len(chosen), "by z3"


def _clauses(masks: list[int], candidates: list[int], whole: int) -> list[tuple[int, ...]]:
    """Return a set for each pair: one of its dots must be chosen. Shortest first, without supersets of others."""
    sets = {frozenset(dot for dot in candidates if masks[dot] >> pair & 1) for pair in range(whole.bit_length())}
    kept: list[frozenset[int]] = []
    for each in sorted(sets, key=lambda one: (len(one), sorted(one))):
        if not any(other <= each for other in kept):
            kept.append(each)
    return [tuple(sorted(each)) for each in kept]
