"""XORWOW's generators, and the instructions that draw from them: rng, rand2 and dropout."""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, dtype_of, integer
from bitpath.golden.trainium3.declarations.engines import SEED_INCREMENT, SEED_LAST_SHIFT, SEED_ROUNDS
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS
from bitpath.golden.trainium3.declarations.vector import (
    GPSIMD_XORWOW_STATES,
    XORWOW_INCREMENT,
    XORWOW_STATES,
    XORWOW_WORDS,
)
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import (
    ENGINE_DTYPES,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    bit_words,
    check_tile,
    output_dtype,
    read_operand,
    write,
)

# XORWOW: the random numbers of VectorE's and GpSimd's lanes, and the instructions that use them.
#
# Results are bit-identical to `bitpath.golden.exact.trainium3.xorwow_lane`, `column_bits` and `uniform`.
#
# Ref: "Trainium3 Architecture Guide for NKI" and the ``nki.isa.rand_*`` reference pages, NKI 0.5 (AWS Neuron
# documentation); G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003.


LANE_COLUMNS = 2 * XORWOW_STATES
"""PSUM columns that a lane's four words serve in a write: 16 bits each."""


class Xorwow:
    """The generators of up to 128 lanes: four states each on VectorE, one on GpSimd.

    Parameters
    ----------
    state : uint32 [lanes, S, 6] with S of 4 or 1, the words of a state in the order x, y, z, w, v, d; a copy of `state` continues the
        sequence.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """

    @checked
    def __init__(self, state: np.ndarray):
        check_array("state", state, np.uint32)
        shapes = [(count, XORWOW_WORDS) for count in (XORWOW_STATES, GPSIMD_XORWOW_STATES)]
        if state.ndim != 3 or state.shape[1:] not in shapes or not 0 < len(state) <= PARTITIONS:
            allowed = " or ".join(f"[lanes, {count}, {words}]" for count, words in shapes)
            raise ValueError(f"state must have shape {allowed} with 1 to {PARTITIONS} lanes, not {state.shape}")
        self._state = state.copy()

    @property
    def state(self) -> np.ndarray:
        """A copy of the present state, uint32 [lanes, S, 6]."""
        return self._state.copy()

    @property
    def lanes(self) -> int:
        return len(self._state)

    @checked
    def next(self, n: int) -> np.ndarray:
        """Return the next n numbers of every state, uint32 [lanes, S, n].

        Raises
        ------
        TypeError, ValueError : no integer, or a negative one.
        """
        _check_count("n", n)
        numbers = np.empty((*self._state.shape[:2], n), np.uint32)
        x, y, z, w, v, d = np.moveaxis(self._state, -1, 0)
        for i in range(n):
            t = x ^ x >> 2
            x, y, z, w, v = y, z, w, v, v ^ v << 4 ^ t ^ t << 1
            d = d + np.uint32(XORWOW_INCREMENT)
            numbers[:, :, i] = v + d
        self._state = np.stack([x, y, z, w, v, d], axis=-1)
        return numbers

    @checked
    def elements(self, count: int) -> np.ndarray:
        """Return `count` numbers for every lane, uint32 [lanes, count]: element j from state j mod S.

        Every state steps once for S elements, or a part of them; the rest of such a part is dropped.

        Raises
        ------
        TypeError, ValueError : as `next`.
        """
        _check_count("count", count)
        numbers = self.next(-(-count // self._state.shape[1]))
        return numbers.transpose(0, 2, 1).reshape(self.lanes, -1)[:, :count]


@checked
def psum_random_bits(source: Xorwow, columns: int, writes: int) -> np.ndarray:
    """Return the `random_bits` of a stochastically rounded matmul, uint16 [M, N].

    A write is one moving column n into M columns of the array. For each, every lane of the source steps once; column c
    takes half-word c mod 8 of lane c div 8: word (c mod 8) div 2, the low half first.

    Parameters
    ----------
    source : generators of at least M / 8 lanes of four states.
    columns : M, 1 to 128.
    writes : N.

    Raises
    ------
    TypeError, ValueError : no `Xorwow`, too few lanes, or other numbers.
    """
    columns = integer("columns", columns, range(1, MAX_STATIONARY + 1))
    needed = -(-columns // LANE_COLUMNS)
    if source.lanes < needed:
        raise ValueError(f"source must have at least {needed} lanes for {columns} columns, not {source.lanes}")
    if (states := source.state.shape[1]) != XORWOW_STATES:
        raise ValueError(f"source must have {XORWOW_STATES} states a lane, not {states}")
    _check_count("writes", writes)
    words = source.next(writes)
    halves = np.stack([words, words >> 16], axis=2).astype(np.uint16)  # [lanes, 4, 2, N]; the cast keeps the low half
    return halves.reshape(-1, words.shape[2])[:columns]


@checked
def rand2(
    source: Xorwow,
    count: int,
    low: float | np.ndarray,
    high: float | np.ndarray,
    *,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return uniform numbers: ``low + (high - low) * u`` with the upper 24 bits of a number as u, in [0, 1).

    The three operations are rounded to FP32, the last of them possibly up to `high`; then comes the cast.

    Parameters
    ----------
    source : generators, one lane a partition.
    count : elements of a partition.
    low, high : numbers, rounded to FP32, or arrays [P, 1].
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, count] of `dtype`.

    Raises
    ------
    TypeError, ValueError : no `Xorwow`, another count, dtype or shape; `low` not below `high`.
    """
    dtype = output_dtype(dtype)
    low, high = (read_operand(name, each, source.lanes) for name, each in (("low", low), ("high", high)))
    if not (low < high).all():
        raise ValueError("low must be below high in every partition")
    u = unit_numbers(source, count)
    return write(fp32.add(low, fp32.multiply(fp32.subtract(high, low), u)), dtype)


def unit_numbers(source: Xorwow, count: int) -> np.ndarray:
    """Return the upper 24 bits of each lane's next numbers as float32 in [0, 1), exactly."""
    return (source.elements(count) >> 8).astype(np.float32) * np.float32(2**-24)


def _check_count(name: str, count: int) -> None:
    if count < 0:
        raise ValueError(f"{name} must be 0 or more, not {count}")


# rng: random bits of VectorE's generators, and the state that set_rng_seed gives them.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.rng_element` and `seed_word`.
#
# Ref: ``nki.isa.rng`` and ``nki.isa.set_rng_seed`` reference pages, NKI 0.6 (AWS Neuron documentation, 2026-08);
# A. Appleby, MurmurHash3 (2011), for the mixing of the seed, which the vendor does not describe.


@checked
def rng(source: Xorwow, count: int, *, dtype: np.dtype | type | str = np.uint32) -> np.ndarray:
    """Return the lowest bits of the next numbers of each lane, in the width of `dtype`.

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


# dropout: elements of a tile replaced by zero at random.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.dropout_element`.
#
# Ref: ``nki.isa.dropout`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


@checked
def dropout(source: Xorwow, data: np.ndarray, prob: float | np.ndarray) -> np.ndarray:
    """Return a tile with +0 where ``u < prob``; u is `rand2`'s number in [0, 1) for the element. Kept elements are not
    rescaled.

    The other elements keep their bits. A probability of 0 keeps all elements, 1 none; NaN drops them.

    Parameters
    ----------
    source : generators, a lane for each partition; every element takes a number of its lane.
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    prob : a number, rounded to FP32, or an array [P, 1], of float32 for integers, else of a floating-point dtype.

    Returns
    -------
    [P, F] of data's dtype.

    Raises
    ------
    TypeError, ValueError : no `Xorwow`, another dtype or shape, or another number of lanes.
    """
    check_tile("data", data, *ENGINE_DTYPES)
    if source.lanes != len(data):
        raise ValueError(f"source must have {len(data)} lanes, one for each partition of data, not {source.lanes}")
    if isinstance(prob, np.ndarray):
        check_array("prob", prob, *((np.float32,) if data.dtype in INTEGER_DTYPES else FLOAT_DTYPES))
    threshold = read_operand("prob", prob, len(data))
    words = bit_words(data)
    kept = unit_numbers(source, data.shape[1]) >= threshold
    return np.where(kept, words, words.dtype.type(0)).view(data.dtype)
