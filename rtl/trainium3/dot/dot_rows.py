"""Carry-save compression of a dot product's terms to two rows, and the layout of the rows."""

from amaranth import Cat, Const, Module, Value, unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.carry_save import carry_save
from bitpath.rtl.common.config import require_power_of_two
from bitpath.rtl.trainium3.dot.config import MAX_TERMS


def dot_rows(low: int, width: int, exponent_width: int) -> data.StructLayout:
    """Layout of the sum as two rows: ``total = (sums + carries + one) * 2**low_width + low``, in two's complement.

    All terms are negated if the partial sum is negative. The partial sum is thus positive, and its bits below the
    products pass unchanged in ``low``. The lowest of these is sticky; ``far`` is set if it stands for discarded bits.
    ``exponent`` is FP32's biased exponent of the highest place, as in ``moving_sum``.

    Parameters
    ----------
    low : bits of ``low``; 0 leaves out ``low`` and ``far``.
    width : bits of a row, including the sign of the sum.
    exponent_width : bits of ``exponent``.
    """
    rows = {"sums": unsigned(width), "carries": unsigned(width), "one": 1}
    below = {"low": unsigned(low), "far": 1} if low else {}
    return data.StructLayout(rows | below | {"exponent": unsigned(exponent_width)})


def sum_width(terms: int, width: int) -> int:
    """Bits of the magnitude of a sum of ``terms`` terms of ``width`` bits."""
    return width + ceil_log2(terms)


def two_rows(m: Module, terms: list[Value], negative: list[Value], partial: Value, width: int) -> dict[str, Value]:
    """``sums + carries + one = sum((-1)**negative[k] * magnitude[k]) + partial``, modulo ``2**width``.

    Each term but the first two takes a row of full adders, and so does the partial sum.

    Parameters
    ----------
    m : module that takes the adders.
    terms : 2, 4 or 8 magnitudes of equal width, each inverted if its term is negative.
    negative : sign of each term.
    partial : addend, not negative.
    width : bits of a row, at least ``sum_width(len(terms), len(terms[0]))``.

    Raises
    ------
    ValueError : if the number of terms is not 2, 4 or 8.
    """
    count, bits = len(terms), len(terms[0])
    require_power_of_two("dot product", "terms", count, 2, MAX_TERMS)
    # A sign bit of weight -2**bits equals its complement at weight 2**bits, less 2**bits. These constants add up to
    # -count * 2**bits: ones from place ``top`` up, where no term has a bit.
    first, second, *others = (Cat(term, ~sign) for term, sign in zip(terms, negative, strict=True))
    top = sum_width(count, bits)
    # -x = ~x + 1: each negative term adds a one, all but the last in the free lowest place of a row of carries.
    *ones, one = negative
    rows = first, second
    for term, each in zip(others, ones, strict=False):
        rows = carry_save(m, *rows, term, one=each)
    sums, carries = rows
    # The constant's ones replace ``sums`` from ``top`` up, where ``sums`` is 0. Above the terms, each term from the
    # third on half-adds the two rows with at most one carry from below: (s, c) -> (s ^ c, 2 * (s & c) + carry). Eight
    # terms take six steps; s can reach ``top``, the third place above the terms, in the seventh. Four terms take two
    # steps; s can reach ``top``, the second place above the terms, in the fourth.
    sums, carries = carry_save(m, Cat(sums[:top], Const(-1, width - top)), carries, partial, one=ones[-1])
    return {"sums": sums, "carries": carries, "one": one}
