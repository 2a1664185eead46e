"""VectorE's accumulators: 128 FP32 registers, onto which its accumulating instructions reduce a row.

exponential, tensor_scalar_reduce, tensor_scalar_cumulative, select_reduce and range_select share them. The rules are in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.

Ref: ``nki.isa.exponential`` and ``nki.isa.tensor_scalar_reduce`` reference pages, NKI 0.6 (AWS Neuron documentation,
2026-08).
"""

from collections.abc import Sequence

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, shown
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import read_operand


def start_of(
    identity: float,
    partitions: int,
    command: str,
    commands: Sequence[str],
    accumulators: np.ndarray | None,
    load: tuple[str, float | np.ndarray | None] = ("reduce_init", None),
) -> np.ndarray | None:
    """Return the registers onto which a row is reduced, float32 [P, 1]; None with "idle".

    Parameters
    ----------
    identity : number that "reset_reduce" takes.
    command, commands : the command given, and those that the instruction has.
    accumulators : registers for "reduce", float32 [P] or [P, 1].
    load : the name of the argument that "load_reduce" takes, and that argument.

    Raises
    ------
    TypeError, ValueError : another command, dtype or shape; an operand missing, or given where the command takes none.
    """
    check_choice("reduce_cmd", command, commands)
    for name, given, taken_by in (("accumulators", accumulators, "reduce"), (*load, "load_reduce")):
        if (given is None) is (command == taken_by):
            needed = "given" if given is None else "None"
            raise ValueError(f"{name} must be {needed} with reduce_cmd {command!r}, not {shown(given)}")
    match command:
        case "reset_reduce":
            return np.full((partitions, 1), identity, np.float32)
        case "load_reduce":
            return np.broadcast_to(read_operand(load[0], load[1], partitions), (partitions, 1))
        case "reduce":
            check_array("accumulators", accumulators, np.float32)
            if accumulators.shape not in ((partitions,), (partitions, 1)):
                raise ValueError(
                    f"accumulators must have shape {(partitions,)} or {(partitions, 1)}, not {accumulators.shape}"
                )
            return fp32.one_nan(accumulators.reshape(partitions, 1))
    return None
