"""What overrides a sum: infinities, NaN, and the sign of zero."""

from collections.abc import Iterable

from amaranth import Const, Module, Signal, Value
from amaranth.lib import data

from bitpath.rtl.common.arithmetic.raw import SPECIAL


def sum_special(m: Module, terms: Iterable[data.View], *, nan: Value | None = None) -> data.View:
    """The special value of the sum of unpacked numbers.

    NaN comes from a NaN term and from infinities of both signs. A zero sum is negative only where every term is, as
    IEEE 754 has it for rounding to nearest.

    Parameters
    ----------
    m : the module in which it stands.
    terms : decoded numbers, or products, as ``raw_float``.
    nan : something else that makes the sum NaN.
    """
    plus, minus, negative = Const(0), Const(0), Const(1)
    any_nan = Const(0) if nan is None else nan
    for term in terms:
        plus |= term.inf & ~term.sign
        minus |= term.inf & term.sign
        any_nan |= term.nan
        negative &= term.sign
    special = Signal(SPECIAL)
    m.d.comb += [
        special.nan.eq(any_nan | (plus & minus)),
        special.inf.eq(plus | minus),
        special.sign.eq(minus | (negative & ~plus)),
    ]
    return special
