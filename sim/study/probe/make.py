"""Makes a probe: results of the pool under every variant, classes, the fewest dots, and a check by the exact twins."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.study.probe.probe import Fit, Probe, presets_of, units_of
from bitpath.sim.study.probe.unit import (
    Dots,
    Unit,
    Variant,
    check_fields,
    classes,
    count,
    exact_results,
    labels,
    probed_fields,
    reason,
    results,
    variants,
)

# Fewest dots that separate all classes: greedy, then z3, which also proves that no smaller set of the pool does.
#
# A dot separates two classes where their words differ. To choose dots that together separate every pair is a set cover.
# Greedy finds a solution, and z3 the smallest one, as MaxSAT: of all sets that separate, one that lacks the most dots.


SECONDS = 20
"""Limit of z3's search."""


@dataclass(frozen=True)
class Selection:
    """A chosen set of dots.

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


SEED = 1
"""Of the candidates: a probe is the same on every machine."""
LARGEST = 64
"""Dots of a machine at most."""


@dataclass(frozen=True)
class Separated:
    """Classes of variants with equal results in a unit, and the dots that separate them."""

    unit: Unit
    classes: Sequence[Sequence[Variant]]
    selection: Selection


def make(machine: str, fields: Sequence[str] = (), base: str = "") -> tuple[Probe, list[Separated]]:
    """Return a machine's probe and the classes that it separates in each unit.

    Parameters
    ----------
    fields : fields to vary, of which units without them are left out; all when empty.
    base : preset to vary; each unit's first when empty.

    Raises
    ------
    ValueError : an unknown machine, field or preset; fields whose variants no dot separates.
    SimulationError : golden's two tiers differ in a dot, or the dots are more than `LARGEST`.
    """
    check_fields(units_of(machine), fields)
    if base:
        check_choice("preset", base, presets_of(machine))
    separated: list[Separated] = []
    dots: dict[str, Dots] = {}
    for unit in units_of(machine):
        if fields and not set(fields) & set(probed_fields(unit)):
            continue
        found, chosen = _separate(unit, variants(unit, fields, base))
        separated.append(found)
        dots |= chosen
    probe = Probe(machine, tuple(fields), base, dots)
    if not probe.size:
        raise ValueError(f"no dot separates the variants of {' and '.join(fields)} from the presets")
    if probe.size > LARGEST:
        raise SimulationError(f"the probe has {probe.size} dots, more than {LARGEST}; choose fields")
    return probe, separated


def _separate(unit: Unit, found: Sequence[Variant]) -> tuple[Separated, dict[str, Dots]]:
    """Return the classes that the unit's pools separate, and the chosen dots of each operation."""
    pools = {each.name: each.pool(SEED) for each in unit.operations}
    words = [results(unit, each.numerics, pools) for each in found]
    groups = classes(found, words)
    selection = select(labels([words[found.index(group[0])] for group in groups]))
    chosen: dict[str, Dots] = {}
    start = 0
    for name, pool in pools.items():
        own = [dot - start for dot in selection.chosen if start <= dot < start + count(pool)]
        start += count(pool)
        if own:
            chosen[name] = {operand: each[own] for operand, each in pool.items()}
    for variant in found:
        _check_twins(unit, variant, chosen)
    return Separated(unit, groups, selection), chosen


def _check_twins(unit: Unit, variant: Variant, dots: Mapping[str, Dots]) -> None:
    golden, exact = (compute(unit, variant.numerics, dots) for compute in (results, exact_results))
    for name, words in golden.items():
        if not np.array_equal(words, exact[name]):
            raise SimulationError(f"golden's two tiers differ in {name} with {variant.name}; please report it")


# Lines and records of a probe's classes and of a device's fits.


def separated_record(each: Separated) -> dict[str, Any]:
    """Return a unit's classes and dots as a record."""
    return {
        "unit": each.unit.name,
        "variants": sum(map(len, each.classes)),
        "classes": len(each.classes),
        "dots": len(each.selection.chosen),
        "bound": each.selection.bound,
        "minimal": each.selection.bound == len(each.selection.chosen),
        "pool": each.selection.pool,
        "proof": each.selection.proof,
        "not_separable": [_group(each, group) for group in each.classes if len(group) > 1],
        "left_out": dict(each.unit.left_out),
    }


def separated_lines(record: Mapping[str, Any]) -> list[str]:
    """Return the record as lines of text."""
    dots = f"{record['dots']} dot{'s' * (record['dots'] != 1)} of a pool of {record['pool']:,}"
    minimal = "no smaller set" if record["minimal"] else f"a smaller set has at least {record['bound']}"
    found = f"{record['variants']} variants in {record['classes']} classes"
    lines = [f"{record['unit']}: {found}, {dots}; {minimal} ({record['proof']})"]
    for group in record["not_separable"]:
        why = f" ({group['reason']})" if group["reason"] else ""
        lines.append(f"  equal on the whole pool: {' = '.join(group['variants'])}{why}")
    return lines + [f"  left out: {name}: {why}" for name, why in record["left_out"].items()]


def _group(each: Separated, group: Sequence[Variant]) -> dict[str, Any]:
    """Return variants that the pool does not tell apart, and why if that is known."""
    first = group[0].numerics
    changed = [
        field.name
        for field in fields(first)
        if any(getattr(variant.numerics, field.name) != getattr(first, field.name) for variant in group)
    ]
    known = [f"{name}: {reason(each.unit, name)}" for name in changed if reason(each.unit, name)]
    return {
        "variants": [variant.name for variant in group],
        "reason": "; ".join(known) if changed else "equal numerics",
    }


def fit_record(unit: str, fits: Sequence[Fit]) -> dict[str, Any]:
    """Return a device's fits in a unit as a record."""
    return {
        "unit": unit,
        "fits": not fits[0].differences,
        "nearest": [
            {"variants": list(fit.variants), "differences": [vars(each) for each in fit.differences]} for fit in fits
        ],
    }


def fit_lines(record: Mapping[str, Any]) -> list[str]:
    """Return the record as lines of text."""
    first = record["nearest"][0]
    if record["fits"]:
        return [f"{record['unit']}: {' = '.join(first['variants'])}"]
    lines = [f"{record['unit']}: no variant fits; the nearest are"]
    for each in record["nearest"]:
        lines.append(f"  {' = '.join(each['variants'])}, which differs in {len(each['differences'])}:")
        lines += [
            f"    {one['operation']}[{one['dot']}]: device {one['device']}, variant {one['variant']}"
            for one in each["differences"]
        ]
    return lines
