"""XORWOW on scalars: one state, and one lane of four.

Ref: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, section 3.1 with the Weyl sequence of
section 4; "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, for the four states of a lane.
Points that the latter leaves open are in `bitpath.golden.trainium3.declarations.vector.CHOICES`.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.fp32 import add, multiply
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import XORWOW_INCREMENT, XORWOW_STATES, XORWOW_WORDS

_WORD = (1 << 32) - 1


@checked
def xorwow_step(state: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return the next number of a state (x, y, z, w, v, d) of 32-bit words, and the state after it.

    Any state is taken as it is. With x to v all 0 they stay 0, and only d moves.

    Raises
    ------
    ValueError : other than six words of 32 bits.
    """
    if len(state) != XORWOW_WORDS or not all(0 <= word <= _WORD for word in state):
        raise ValueError(f"state must be {XORWOW_WORDS} words of 32 bits, not {tuple(state)}")
    x, y, z, w, v, d = state
    t = x ^ x >> 2
    new = v ^ v << 4 & _WORD ^ t ^ t << 1 & _WORD
    counter = d + XORWOW_INCREMENT & _WORD
    return new + counter & _WORD, (y, z, w, v, new, counter)


@checked
def xorwow_lane(states: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Step the four states of a lane: return its four numbers, word j from state j, and the states after them.

    Raises
    ------
    ValueError : other than four states, or as `xorwow_step`.
    """
    check_length("states", states, XORWOW_STATES)
    steps = [xorwow_step(state) for state in states]
    return tuple(number for number, _ in steps), tuple(after for _, after in steps)


@checked
def column_bits(words: Sequence[int], column: int) -> int:
    """Return the 16 random bits of a PSUM column, from the four words of lane ``column // 8``."""
    check_length("words", words, XORWOW_STATES)
    half = column % (2 * XORWOW_STATES)
    return words[half // 2] >> 16 * (half % 2) & 0xFFFF


@checked
def uniform(word: int, low: int, high: int) -> int:
    """Map a 32-bit number to FP32 between two FP32 codes: ``low + (high - low) * u`` with 24 bits of u in [0, 1).

    Each of the three operations is rounded. The result can be `high` where that rounding goes up.
    """
    width = add(high, low ^ FP32.sign_mask)
    u = round_to_format(Fraction(word >> 8, 1 << 24), FP32)  # exact: u has 24 bits
    return add(low, multiply(width, u))
