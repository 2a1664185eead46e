"""Predictions for a ledger of measurements: the result of each preset for given operands, in hexadecimal."""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.study.probe.classes import exact_results
from bitpath.sim.study.probe.identify import as_hex
from bitpath.sim.study.probe.machines import operations_of, units_of
from bitpath.sim.study.probe.variants import variants


def predictions(machine: str, operation: str, **operands: Any) -> dict[str, str]:
    """Return the raw words of one dot under each preset, by the exact twin; spaces separate the words of one result.

    Parameters
    ----------
    operation : one that `bitpath probe` lists, such as elwadd_bf16_dst32_lofi.
    operands : its operands, integers or nested lists, in the shapes that it declares.

    Raises
    ------
    ValueError : an unknown machine, operation or operand, or an operand of another shape or range.
    """
    known = operations_of(machine)
    check_choice("operation", operation, known)
    wanted = known[operation].operands
    if operands.keys() != wanted.keys():
        raise ValueError(f"operands of {operation} must be {', '.join(wanted)}, not {', '.join(operands)}")
    dots = {}
    for name, operand in wanted.items():
        given = np.array(operands[name])
        limits = np.iinfo(operand.dtype)
        if given.shape != operand.shape or given.min() < limits.min or given.max() > limits.max:
            raise ValueError(
                f"{name} must be {limits.dtype.name} of shape {list(operand.shape)}, not {operands[name]!r}"
            )
        dots[name] = given.astype(operand.dtype)[np.newaxis]
    (unit,) = (each for each in units_of(machine) if known[operation] in each.operations)
    presets = [each for each in variants(unit) if not each.field]
    return {each.name: as_hex(exact_results(unit, each.numerics, {operation: dots})[operation][0]) for each in presets}
