"""Special value of a sum: infinity, NaN, or the sign of zero."""

from collections.abc import Iterable

from amaranth import Const, Module, Signal, Value
from amaranth.lib import data

from bitpath.rtl.common.arithmetic.raw import SPECIAL


def sum_special(m: Module, terms: Iterable[data.View], *, nan: Value | None = None) -> data.View:
    """The special value of the sum of unpacked numbers.

    A NaN term and infinities of both signs give NaN. A zero sum is negative only if every term is negative, as in IEEE
    754 for round to nearest.

    Parameters
    ----------
    m : module that takes the logic.
    terms : decoded numbers or products, as ``raw_float``.
    nan : further condition for NaN, or None.
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
