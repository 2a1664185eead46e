"""The terms of a dot product to two rows of digits, and the layout of these."""

from amaranth import Cat, Const, Module, Value, unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.carry_save import carry_save
from bitpath.rtl.common.config import require_power_of_two
from bitpath.rtl.trainium3.dot.config import MAX_TERMS


def dot_rows(low: int, width: int, exponent_width: int) -> data.StructLayout:
    """The sum of a step's terms as two rows: ``(sums + carries + one) * 2**low + low``, modulo the width of all.

    It is that of all terms, negated where the partial sum is negative, which makes the partial sum positive: its lowest
    bits, where there is no product, stand in ``low`` as they are, if there are any. ``far`` says that the lowest of them
    is sticky and has lost some of it.
    ``exponent`` is that of ``moving_sum``.

    Parameters
    ----------
    low : bits of the partial sum below the products' places; 0 leaves out ``low`` and ``far``.
    width : bits of a row, the sum's sign among them.
    exponent_width : bits of the exponent.
    """
    rows = {"sums": unsigned(width), "carries": unsigned(width), "one": 1}
    below = {"low": unsigned(low), "far": 1} if low else {}
    return data.StructLayout(rows | below | {"exponent": unsigned(exponent_width)})


def sum_width(terms: int, width: int) -> int:
    """Bits of the magnitude of a sum of so many terms of so many bits."""
    return width + ceil_log2(terms)


def two_rows(m: Module, terms: list[Value], negative: list[Value], partial: Value, width: int) -> dict[str, Value]:
    """``sums``, ``carries`` and ``one`` of the sum of signed terms and a positive one, modulo ``2**width``.

    Parameters
    ----------
    m : the module in which they are added up.
    terms : magnitudes of equal width, every bit inverted where the term is negative; 2, 4 or 8 of them.
    negative : their signs.
    partial : the positive term.
    width : at least that of the terms' sum, as :func:`sum_width` gives it.

    Raises
    ------
    ValueError : for another number of terms.
    """
    count, bits = len(terms), len(terms[0])
    require_power_of_two("dot product", "terms", count, 2, MAX_TERMS)
    # The sign bit, of weight -2**bits, as its complement and -2**bits. All terms together have -count * 2**bits, which
    # is ones from the width of their sum up, where none of them has a bit.
    first, second, *others = (Cat(term, ~sign) for term, sign in zip(terms, negative, strict=True))
    top = sum_width(count, bits)
    # -x is ~x + 1: a one for each negative term, all but the last in the lowest place of a row of carries.
    *ones, one = negative
    rows = first, second
    for term, each in zip(others, ones, strict=False):
        rows = carry_save(m, *rows, term, one=each)
    sums, carries = rows
    # These ones take the places of ``sums`` from ``top`` up, which are 0. For above the terms the rows only half-add the
    # carries that come out of them, one at most with each term from the third on: s and c become s ^ c and
    # 2 * (s & c) + carry. With eight terms these are six, and ``top`` is the place of 4. s has that a step after c, c a step
    # after both have the place of 2, and they a step after both are odd and one has it: after four carries, so that the
    # seventh would be the first to set it. With four terms there are two, and ``top`` is the place of 2, which the fourth
    # would be the first to set.
    sums, carries = carry_save(m, Cat(sums[:top], Const(-1, width - top)), carries, partial, one=ones[-1])
    return {"sums": sums, "carries": carries, "one": one}
