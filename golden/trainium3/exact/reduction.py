"""Reductions of a row of FP32 codes, element after element.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Sequence

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.arguments import check_choice, check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.exact.operators import ONE, OPERATORS

IDENTITIES = {
    "add": 0,
    "multiply": ONE,
    "max": FP32.infinity_code | FP32.sign_mask,
    "min": FP32.infinity_code,
    "abs_max": 0,
    "abs_min": FP32.infinity_code,
}
"""FP32 codes to which a reset sets a register, by reduction."""


@checked
def reduce_row(row: Sequence[int], op: str, register: int | None = None) -> int:
    """Reduce FP32 codes, each result rounded, from the first element on, or onto a register.

    Raises
    ------
    ValueError : another reduction; an empty row.
    """
    check_length("row", row)
    check_choice("op", op, IDENTITIES)
    first, *others = row if register is None else (register, *row)
    for x in others:
        first = OPERATORS[op](first, x)
    return first
