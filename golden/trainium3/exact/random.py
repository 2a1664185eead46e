"""XORWOW's generators, and the instructions that draw from them, on single elements."""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer
from bitpath.golden.scalar.fp32 import add, multiply
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, IntegerFormat
from bitpath.golden.trainium3.declarations.engines import SEED_INCREMENT, SEED_LAST_SHIFT, SEED_ROUNDS
from bitpath.golden.trainium3.declarations.vector import XORWOW_INCREMENT, XORWOW_STATES, XORWOW_WORDS
from bitpath.golden.trainium3.exact.operators import ONE, OPERATORS

# XORWOW on scalars: one state, and one lane of four.
#
# Ref: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, section 3.1 with the Weyl sequence of
# section 4; "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, for the four states of a lane.
# Points that the latter leaves open are in `bitpath.golden.trainium3.declarations.vector.CHOICES`.


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


# rng, set_rng_seed and dropout on single elements.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


_WORD_VALUES = 1 << 32
_INTEGERS = {name: fmt.width for name, fmt in FORMATS.items() if isinstance(fmt, IntegerFormat)}


@checked
def rng_element(word: int, dtype: str) -> int:
    """Return the code of an integer dtype that rng makes of a 32-bit number: its lowest bits.

    Raises
    ------
    ValueError : another dtype or number.
    """
    width = _INTEGERS[check_choice("dtype", dtype, _INTEGERS)]
    return integer("word", word, range(_WORD_VALUES)) % (1 << width)


@checked
def seed_word(seed: int, lane: int, state: int, word: int) -> int:
    """Return a word of a generator's state after set_rng_seed.

    The words are numbered from 1, those of a state first, then the states of a lane. Each is MurmurHash3's final mix of the
    seed plus as many increments as its number.

    Parameters
    ----------
    seed : 32 bits.
    lane : 0 or more.
    state, word : 0 to 3, 0 to 5.

    Raises
    ------
    ValueError : another seed, state or word.
    """
    integer("seed", seed, range(_WORD_VALUES))
    integer("state", state, range(XORWOW_STATES))
    integer("word", word, range(XORWOW_WORDS))
    number = (lane * XORWOW_STATES + state) * XORWOW_WORDS + word
    x = (seed + (number + 1) * SEED_INCREMENT) % _WORD_VALUES
    for shift, factor in SEED_ROUNDS:
        x = (x ^ x >> shift) * factor % _WORD_VALUES
    return x ^ x >> SEED_LAST_SHIFT


@checked
def dropout_element(code: int, word: int, prob: int) -> int:
    """Return an element's code, or 0 unless the number in [0, 1) that rand2 makes of a word is at least the probability.

    Parameters
    ----------
    code : bits of the element.
    word : number of the generator.
    prob : FP32 code.

    Raises
    ------
    ValueError : a word of more than 32 bits.
    """
    u = uniform(integer("word", word, range(_WORD_VALUES)), 0, FP32.bias << FP32.fraction_bits)
    return code if OPERATORS["greater_equal"](u, prob) == ONE else 0
