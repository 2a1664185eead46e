"""The terms of a dot product to two rows of digits, and the layout of these."""

from amaranth import Cat, Const, Module, Value, unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.rtl.common.carry_save import carry_save


def dot_rows(low: int, width: int, exponent_width: int) -> data.StructLayout:
    """The sum of a step's terms as two rows: ``(sums + carries + one) * 2**low + low``, modulo the width of all.

    It is that of all terms, negated where the partial sum is negative, which makes the partial sum positive: its lowest
    bits, where there is no product, stand in ``low`` as they are, if there are any. ``far`` says that the lowest of them
    is sticky and has lost some of it.
    ``exponent`` is that of ``moving_sum``.
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
    terms : magnitudes of equal width, every bit inverted where the term is negative; a power of two of them.
    negative : their signs.
    partial : the positive term.
    """
    count, bits = len(terms), len(terms[0])
    if count < 2 or count & (count - 1):
        raise ValueError(f"dot product: terms is {count}, allowed are powers of two from 2")
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
    sums, carries = carry_save(m, Cat(sums[:top], Const(-1, width - top)), carries, partial, one=ones[-1])
    return {"sums": sums, "carries": carries, "one": one}
