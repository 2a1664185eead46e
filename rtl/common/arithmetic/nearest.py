"""Rounding to nearest: the one place that decides whether what was dropped rounds up what was kept."""

from amaranth import Const, Value

from bitpath.golden.tensix.declarations.numerics import Tie


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


def rounds_up_inverted(tie: Tie | None, *, odd: Value, guard: Value, sticky: Value, negative: Value) -> Value:
    """Whether a magnitude, which is a ones' complement where the number is negative, goes to its next integer.

    A ones' complement is less than the magnitude by one unit of its lowest place. That unit and the rounding are one
    increment: where nothing is left below the guard bit all bits there are 1, and the unit carries into it.

    Parameters
    ----------
    tie : None rounds towards zero.
    guard : the highest bit dropped, of the ones' complement as ``odd`` is.
    sticky : whether the magnitude itself has anything below it.
    odd, negative : see :func:`tie_goes_up`.
    """
    more = negative & ~sticky
    carried = guard & more
    if tie is None:
        return carried
    return carried | rounds_up(tie, odd=odd, guard=guard ^ more, sticky=sticky, negative=negative)
