"""Rounding to nearest: the one place that decides whether what was dropped rounds up what was kept."""

from amaranth import Const, Value

from bitpath.golden.spec.tensix_numerics import Tie


def tie_goes_up(tie: Tie, *, odd: Value, negative: Value, twos_complement: bool = False) -> Value:
    """Whether half a unit takes what was kept to the next integer above it.

    Parameters
    ----------
    odd : the lowest bit kept.
    negative : the sign of the number.
    twos_complement : whether what was kept is a signed number rounded down, else a magnitude rounded towards zero: the
        integer above it is then farther from zero only where the number is positive, else always.
    """
    match tie:
        case Tie.EVEN:
            return odd
        case Tie.AWAY:
            return ~negative if twos_complement else Const(1)
        case Tie.UP:
            return Const(1) if twos_complement else ~negative


def rounds_up(
    tie: Tie, *, odd: Value, guard: Value, sticky: Value, negative: Value, twos_complement: bool = False
) -> Value:
    """Whether a number goes to the integer above what was kept of it.

    Parameters
    ----------
    guard, sticky : the highest bit dropped, and the OR of those below it.
    tie, odd, negative, twos_complement : see :func:`tie_goes_up`.
    """
    up_at_half = tie_goes_up(tie, odd=odd, negative=negative, twos_complement=twos_complement)
    return guard & (sticky | up_at_half)
