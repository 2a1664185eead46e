"""Selections along a row of scalars: tensor_copy_predicated, select_reduce and range_select.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.arguments import check_choice, check_length, integer
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.engines import RANGE_SELECT_COMPARISONS, RANGE_SELECT_INDICES
from bitpath.golden.trainium3.exact.cast import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import OPERATORS
from bitpath.golden.trainium3.exact.reduction import IDENTITIES, reduce_row

LOWEST = FP32.sign_mask | FP32.max_code
"""FP32 code of the elements that range_select does not select."""


@checked
def copy_row_predicated(
    row: Sequence[int], source: Sequence[int], predicate: Sequence[int], *, reverse_pred: bool = False
) -> list[int]:
    """Return the codes of a row, replaced by those of `source` where the predicate is not 0, or 0 if reversed.

    Raises
    ------
    ValueError : rows of several lengths.
    """
    check_length("source", source, len(row), " as row")
    check_length("predicate", predicate, len(row), " as row")
    return [
        new if bool(holds) is not reverse_pred else old for old, new, holds in zip(row, source, predicate, strict=True)
    ]


@checked
def select_row(
    predicate: Sequence[int],
    on_true: Sequence[int],
    source: str,
    on_false: int,
    *,
    reverse_pred: bool = False,
    register: int = IDENTITIES["max"],
    destination: str = "fp32",
) -> tuple[list[int], int]:
    """Return the codes of `on_true` where the predicate is not 0, of `on_false` elsewhere, and the maximum.

    Parameters
    ----------
    on_true : codes of the dtype `source`, a name of `FORMATS`.
    on_false, register : FP32 codes; the maximum starts from the register.
    reverse_pred : True to take `on_true` where the predicate is 0.
    destination : dtype of the result.

    Raises
    ------
    ValueError : rows of two lengths, an empty row, or another dtype.
    """
    check_length("predicate", predicate, len(on_true), " as on_true")
    values = [
        to_fp32(code, source) if bool(holds) is not reverse_pred else on_false
        for code, holds in zip(on_true, predicate, strict=True)
    ]
    return [from_fp32(x, destination) for x in values], reduce_row(values, "max", register)


@checked
def select_range(
    row: Sequence[int],
    source: str,
    comparisons: tuple[str, str],
    bounds: tuple[int, int],
    *,
    range_start: int = 0,
    register: int = IDENTITIES["max"],
    destination: str = "fp32",
) -> tuple[list[int], int]:
    """Return the codes of a row's elements whose index compares true with both bounds, and the maximum.

    The other elements are FP32's lowest number, cast to the destination.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`.
    comparisons : two of `RANGE_SELECT_COMPARISONS`.
    bounds, register : FP32 codes; the maximum starts from the register.
    range_start : index of the first element.
    destination : dtype of the result.

    Raises
    ------
    ValueError : another dtype, comparison or index; an empty row.
    """
    for op in comparisons:
        check_choice("comparisons", op, RANGE_SELECT_COMPARISONS)
    integer("range_start", range_start, range(1 - RANGE_SELECT_INDICES, RANGE_SELECT_INDICES - len(row) + 1))
    values = []
    for i, code in enumerate(row, range_start):
        index = round_to_format(Fraction(i), FP32)
        holds = [OPERATORS[op](index, bound) for op, bound in zip(comparisons, bounds, strict=True)]
        values.append(to_fp32(code, source) if all(holds) else LOWEST)
    return [from_fp32(x, destination) for x in values], reduce_row(values, "max", register)
