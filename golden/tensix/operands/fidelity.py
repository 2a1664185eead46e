"""Fidelity: which of the four phases of the 7x5-bit multiplier an operation runs, one instruction each.

Ref: tt-isa-documentation 3930471, SrcASrcB; tt-llk, llk_math_matmul.h.
"""

from bitpath.golden.arrays.arguments import checked, member
from bitpath.golden.tensix.declarations.formats import FIDELITY_PHASES, Fidelity


@checked
def phases(fidelity: str | Fidelity) -> tuple[int, ...]:
    """Return the phases of "LoFi", "HiFi2", "HiFi3" or "HiFi4", in order.

    Raises
    ------
    TypeError, ValueError : another fidelity.
    """
    return FIDELITY_PHASES[member("fidelity", fidelity, Fidelity)]
