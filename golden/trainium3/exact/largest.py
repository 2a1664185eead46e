"""max8, nc_find_index8 and nc_match_replace8 on one row of scalars.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Iterable, Sequence

from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.engines import MAX8_VALUES
from bitpath.golden.trainium3.exact.cast import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import ONE, OPERATORS
from bitpath.golden.trainium3.exact.reduction import reduce_row


@checked
def max8_row(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return the codes of a row's eight largest numbers: eight times the maximum, which is NaN where one is left.

    Parameters
    ----------
    row : at least eight codes of the dtype `source`, a name of `FORMATS`.
    destination : dtype of the result.

    Raises
    ------
    ValueError : a shorter row, or another dtype.
    """
    check_length("row", row, max(len(row), MAX8_VALUES))
    left, largest = [to_fp32(code, source) for code in row], []
    for _ in range(MAX8_VALUES):
        largest.append(reduce_row(left, "max"))
        left.remove(largest[-1])
    return [from_fp32(x, destination) for x in largest]


@checked
def find_index8_row(row: Sequence[int], source: str, values: Sequence[int], values_source: str) -> list[int | None]:
    """Return the index of the first element that equals each of eight values; None where none is left.

    Equal values take successive elements.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`.
    values : eight codes of the dtype `values_source`.

    Raises
    ------
    ValueError : other than eight values, or another dtype.
    """
    return _matches(row, source, values, values_source, range(MAX8_VALUES))


@checked
def match_replace8_row(
    row: Sequence[int],
    source: str,
    values: Sequence[int],
    values_source: str,
    immediate: int,
    destination: str = "fp32",
) -> tuple[list[int], list[int | None]]:
    """Return the codes of a row, an element replaced for each of eight values from the last on, and their indices.

    Parameters
    ----------
    row, values : as `find_index8_row`.
    immediate : FP32 code in place of the elements.
    destination : dtype of the result.

    Raises
    ------
    ValueError : as `find_index8_row`.
    """
    indices = _matches(row, source, values, values_source, reversed(range(MAX8_VALUES)))
    replaced = [immediate if i in indices else to_fp32(code, source) for i, code in enumerate(row)]
    return [from_fp32(x, destination) for x in replaced], indices


def _matches(
    row: Sequence[int], source: str, values: Sequence[int], values_source: str, order: Iterable[int]
) -> list[int | None]:
    """Return each value's index; the values choose in an order, each the first equal element that is left."""
    check_length("values", values, MAX8_VALUES)
    left = {i: to_fp32(code, source) for i, code in enumerate(row)}
    indices: list[int | None] = [None] * MAX8_VALUES
    for slot in order:
        value = to_fp32(values[slot], values_source)
        found = [i for i, x in left.items() if OPERATORS["equal"](x, value) == ONE]
        if found:
            indices[slot] = min(found)
            del left[min(found)]
    return indices
