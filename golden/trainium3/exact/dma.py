"""Exact twins of the additions of the DMA engines, on one element.

The rules are in `bitpath.golden.trainium3.declarations.dma.CHOICES`.
"""

from collections.abc import Sequence
from functools import reduce

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.fp32 import add, convert
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.scalar.terms import special_sum, term
from bitpath.golden.trainium3.exact.cast import from_fp32, to_fp32


@checked
def read_add_write(b: int, a: int, fmt: FloatFormat) -> int:
    """Return the code of ``b + a``, the exact sum rounded once to nearest even.

    Parameters
    ----------
    b, a : codes of `fmt`.
    fmt : BF16 or FP32.

    Raises
    ------
    ValueError : another format.
    """
    if fmt not in (BF16, FP32):
        raise ValueError(f"fmt must be BF16 or FP32, not {fmt.name}")
    terms = [term(decode(fmt, code)) for code in (b, a)]
    special = special_sum(terms)
    if special is not None:
        return convert(special, FP32, fmt)
    return round_to_format(terms[0].value + terms[1].value, fmt, zero_sign=terms[0].sign & terms[1].sign)


@checked
def dma_compute(codes: Sequence[int], sources: Sequence[str], destination: str) -> int:
    """Return the code of the sum of elements: FP32 sums in the order of the list, each rounded, then a cast.

    Parameters
    ----------
    codes : at least 1, an element of each source.
    sources, destination : names of dtypes, as `cast` takes them.
    """
    check_length("codes", codes)
    check_length("sources", sources, len(codes), ", one for each of codes")
    return from_fp32(reduce(add, map(to_fp32, codes, sources)), destination)
