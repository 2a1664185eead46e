"""rng, set_rng_seed and dropout on single elements.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.arguments import check_choice, integer
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, IntegerFormat
from bitpath.golden.trainium3.declarations.engines import SEED_INCREMENT, SEED_LAST_SHIFT, SEED_ROUNDS
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.golden.trainium3.exact.operators import ONE, OPERATORS
from bitpath.golden.trainium3.exact.xorwow import uniform

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
