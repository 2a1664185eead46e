"""bn_stats and bn_aggr on one row of scalars, operation after operation.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.exact.cast import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.reduction import reduce_row


@checked
def bn_stats_row(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return the codes of count, mean and sum of squared deviations of a row's even elements, then of its odd ones.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`; 0 for all three of a part without elements.
    destination : dtype of the result.

    Raises
    ------
    ValueError : an empty row, or another dtype.
    """
    check_length("row", row)
    statistics = []
    for part in (row[::2], row[1::2]):
        values = [to_fp32(code, source) for code in part]
        statistics += _statistics(values) if values else [0, 0, 0]
    return [from_fp32(x, destination) for x in statistics]


@checked
def bn_aggr_row(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return the codes of mean and variance of the whole, from triples of count, mean and sum of squared deviations.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`; triples one after the other.
    destination : dtype of the result.

    Raises
    ------
    ValueError : an empty row, or one of another length than a multiple of 3; another dtype.
    """
    check_length("row", row)
    check_length("row", row, len(row) // 3 * 3, ", a multiple of 3")
    values = [to_fp32(code, source) for code in row]
    triples = list(zip(values[::3], values[1::3], values[2::3], strict=True))
    total = reduce_row(values[::3], "add")
    mean = fp32.divide(reduce_row([fp32.multiply(count, each) for count, each, _ in triples], "add"), total)
    spread = [fp32.add(squares, fp32.multiply(count, _square(each, mean))) for count, each, squares in triples]
    return [from_fp32(x, destination) for x in (mean, fp32.divide(reduce_row(spread, "add"), total))]


def _statistics(values: Sequence[int]) -> list[int]:
    count = round_to_format(Fraction(len(values)), FP32)
    mean = fp32.multiply(reduce_row(values, "add"), fp32.reciprocal(count))
    return [count, mean, reduce_row([_square(x, mean) for x in values], "add")]


def _square(x: int, mean: int) -> int:
    """Return the square of the deviation of x from a mean."""
    deviation = fp32.add(x, mean ^ FP32.sign_mask)
    return fp32.multiply(deviation, deviation)
