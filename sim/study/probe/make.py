"""Makes a probe: results of the pool under every variant, classes, the fewest dots, and a check by the exact twins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.study.probe.classes import classes, exact_results, labels, results
from bitpath.sim.study.probe.machines import presets_of, units_of
from bitpath.sim.study.probe.probe import Probe
from bitpath.sim.study.probe.select import Selection, select
from bitpath.sim.study.probe.unit import Dots, Unit, count
from bitpath.sim.study.probe.variants import Variant, check_fields, probed_fields, variants

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
