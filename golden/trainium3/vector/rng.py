"""rng: random bits of VectorE's generators, and the state that set_rng_seed gives them.

Bit-identical to `bitpath.golden.trainium3.exact.rng_element` and `seed_word`.

Ref: ``nki.isa.rng`` and ``nki.isa.set_rng_seed`` reference pages, NKI 0.6 (AWS Neuron documentation, 2026-08);
A. Appleby, MurmurHash3 (2011), for the mixing of the seed, which the vendor does not describe.
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked, dtype_of, integer
from bitpath.golden.trainium3.declarations.engines import SEED_INCREMENT, SEED_LAST_SHIFT, SEED_ROUNDS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.golden.trainium3.vector.engine import INTEGER_DTYPES
from bitpath.golden.trainium3.vector.xorwow import Xorwow


@checked
def rng(source: Xorwow, count: int, *, dtype: np.dtype | type | str = np.uint32) -> np.ndarray:
    """Return the lowest bits of the next numbers of each lane, as many as an element of `dtype` has.

    Parameters
    ----------
    source : generators, one lane a partition; element j takes a number of state j mod 4, or of a lane's only state.
    count : elements of a partition.
    dtype : int8, int16, int32, uint8, uint16 or uint32.

    Returns
    -------
    [P, count] of `dtype`.

    Raises
    ------
    TypeError, ValueError : no `Xorwow`, another count or dtype.
    """
    dtype = dtype_of("dtype", dtype, *INTEGER_DTYPES)
    return source.elements(count).astype(f"u{dtype.itemsize}").view(dtype)


@checked
def seeded_state(seed: int, *, lanes: int = PARTITIONS) -> np.ndarray:
    """Return the state of all generators after set_rng_seed: every word is a different mix of the seed.

    Word k of state i of lane l is number ``n = (4 * l + i) * 6 + k``, and ``mix(seed + (n + 1) * 0x9E3779B9)`` modulo
    2**32 with MurmurHash3's final mix. That maps different numbers to different words, so that no state is all 0.

    Parameters
    ----------
    seed : the 32 bits of the seed, 0 to 2**32 - 1.
    lanes : 1 to 128.

    Returns
    -------
    uint32 [lanes, 4, 6], for `Xorwow`.

    Raises
    ------
    TypeError, ValueError : other numbers.
    """
    seed = integer("seed", seed, range(1 << 32))
    shape = (integer("lanes", lanes, range(1, PARTITIONS + 1)), XORWOW_STATES, XORWOW_WORDS)
    number = np.arange(1, np.prod(shape) + 1, dtype=np.uint32)
    words = np.uint32(seed) + number * np.uint32(SEED_INCREMENT)
    for shift, factor in SEED_ROUNDS:
        words = (words ^ words >> np.uint32(shift)) * np.uint32(factor)
    return (words ^ words >> np.uint32(SEED_LAST_SHIFT)).reshape(shape)
