"""Tiles, scalar operands and results that the instructions of ScalarE and VectorE share, with their checks."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, dtype_of, integer, shown
from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.formats.catalogue import E3M4, FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, TF32_NAME, from_fp32, to_fp32
from bitpath.golden.trainium3.operands.fp32 import power

ENGINE_DTYPES = (*CAST_DTYPES.values(), DTYPES[E3M4])
"""Dtypes that the engines read and write, but for TF32, which lies in float32: an operand as `cast` leaves it, a result by
the name "tf32"."""

INTEGER_DTYPES = tuple(dtype for dtype in ENGINE_DTYPES if dtype.kind in "iu")
"""Dtypes of bit operators."""

FLOAT_DTYPES = tuple(dtype for dtype in ENGINE_DTYPES if dtype not in INTEGER_DTYPES)
NARROW_DTYPES = tuple(dtype for dtype in ENGINE_DTYPES if dtype not in (np.dtype(np.int32), np.dtype(np.uint32)))
"""Dtypes of instructions that take no integers of 32 bits and no TF32."""


def read_tile(name: str, data: np.ndarray) -> np.ndarray:
    """Return a tile [P, F] of 1 to 128 partitions as float32.

    Raises
    ------
    TypeError : no array, or another dtype than `ENGINE_DTYPES`.
    ValueError : another shape.
    """
    check_tile(name, data, *ENGINE_DTYPES)
    return read(data)


def check_tile(name: str, data: np.ndarray, *dtypes: np.dtype) -> None:
    """Raise TypeError or ValueError unless a value is a tile [P, F] of one of the dtypes."""
    check_array(name, data, *dtypes)
    if data.ndim != 2 or not 0 < data.shape[0] <= PARTITIONS or not data.shape[1]:
        raise ValueError(
            f"{name} must have shape [P, F] with P from 1 to {PARTITIONS} and F of at least 1, not {data.shape}"
        )


def check_shapes(**tiles: np.ndarray) -> None:
    """Raise ValueError unless two tiles have one shape; the keywords are the names of the arguments."""
    (first, tile), (second, other) = tiles.items()
    if other.shape != tile.shape:
        raise ValueError(f"{second} must have {first}'s shape {tile.shape}, not {other.shape}")


def read_operand(name: str, operand: float | np.ndarray, partitions: int) -> np.ndarray:
    """Return a scalar operand as float32, [1, 1] or [P, 1]: a number, rounded once, or one for each partition.

    Raises
    ------
    TypeError : neither a number nor an array of `ENGINE_DTYPES`.
    ValueError : an array of another shape, or a number beyond float64's range.
    """
    if isinstance(operand, np.ndarray):
        check_array(name, operand, *ENGINE_DTYPES)
        if operand.shape != (partitions, 1):
            raise ValueError(f"{name} must have shape {(partitions, 1)} or a number, not {operand.shape}")
        return read(operand)
    return fp32.one_nan(single(name, operand).reshape(1, 1))


def single(name: str, value: float, otherwise: str = ", or an array [P, 1]") -> np.ndarray:
    """Return a number as a float32 scalar array, rounded once, to nearest even; infinity beyond FP32's range.

    Raises
    ------
    TypeError, ValueError : as `real`.
    """
    with np.errstate(over="ignore"):
        return np.asarray(real(name, value, otherwise)).astype(np.float32)


def real(name: str, value: float, otherwise: str = "") -> float:
    """Return a number of Python's or numpy's as float64; one that it does not hold is rounded to odd.

    Of the two neighbours of such a number the odd one is never on, and always on the right side of, all numbers and
    midpoints of the engines' formats, so that rounding it to one of those is rounding the number itself.

    Raises
    ------
    TypeError : not a number; bool is not one. `otherwise` names the alternative in the message.
    ValueError : a finite number beyond float64's range.
    """
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
        raise TypeError(f"{name} must be a number{otherwise}, not {shown(value)}")
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return float(value)
    exact = Fraction(*value.as_integer_ratio()) if isinstance(value, float | np.floating) else Fraction(int(value))
    try:
        nearest = float(value) if exact == 0 else float(exact)  # a zero with its sign
    except OverflowError:
        raise ValueError(f"{name} must be a number of float64's range{otherwise}, not {shown(value)}") from None
    if exact == nearest or np.float64(nearest).view(np.int64) & 1:
        return nearest
    return float(np.nextafter(nearest, np.inf if exact > nearest else -np.inf))


def output_dtype(dtype: np.dtype | type | str) -> np.dtype | str:
    """Return the dtype of a result; raise TypeError unless it is "tf32" or in `ENGINE_DTYPES`."""
    if isinstance(dtype, str) and dtype == TF32_NAME:
        return dtype
    return dtype_of("dtype", dtype, *ENGINE_DTYPES)


def read(array: np.ndarray) -> np.ndarray:
    """Return an operand as float32; INT32 and UINT32 are rounded to nearest even."""
    return fp32.read(array) if array.dtype == DTYPES[E3M4] else to_fp32(array)


def write(values: np.ndarray, dtype: np.dtype | str) -> np.ndarray:
    """Round float32 values to the dtype of a result, as `bitpath.golden.trainium3.operands.cast` does."""
    if isinstance(dtype, str) or dtype != DTYPES[E3M4]:
        return from_fp32(values, dtype)
    return fp32.write(values, dtype)


def bit_words(array: np.ndarray) -> np.ndarray:
    """View elements as unsigned words of their size."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def bit_dtype(dtype: np.dtype | type | str | None, data: np.dtype) -> np.dtype:
    """Return the dtype of a bit operator's result, data's for None; raise TypeError unless it has data's size."""
    if dtype is None:
        return data
    return dtype_of("dtype", dtype, *(each for each in INTEGER_DTYPES if each.itemsize == data.itemsize))


def read_bit_operand(name: str, operand: Any, words: np.ndarray) -> np.ndarray:
    """Return a scalar operand of a bit operator as unsigned words, [1, 1] or [P, 1].

    Raises
    ------
    TypeError : neither an integer nor an array of integers of the words' size.
    ValueError : another shape, or an integer that the size does not hold, with sign or without.
    """
    if isinstance(operand, np.ndarray):
        check_array(name, operand, *(each for each in INTEGER_DTYPES if each.itemsize == words.dtype.itemsize))
        if operand.shape != (len(words), 1):
            raise ValueError(f"{name} must have shape {(len(words), 1)} or a number, not {operand.shape}")
        return bit_words(operand)
    width = 8 * words.dtype.itemsize
    value = integer(name, operand, range(-(1 << width - 1), 1 << width), f" for bit operators on {width} bits")
    return np.array([[value % (1 << width)]], words.dtype)


# VectorE's accumulators: 128 FP32 registers, onto which its accumulating instructions reduce a row.
#
# exponential, tensor_scalar_reduce, tensor_scalar_cumulative, select_reduce and range_select share them. The rules are in
# `bitpath.golden.trainium3.declarations.engines.CHOICES`.
#
# Ref: ``nki.isa.exponential`` and ``nki.isa.tensor_scalar_reduce`` reference pages, NKI 0.6 (AWS Neuron documentation,
# 2026-08).


def start_of(
    identity: float,
    partitions: int,
    command: str,
    commands: Sequence[str],
    accumulators: np.ndarray | None,
    load: tuple[str, float | np.ndarray | None] = ("reduce_init", None),
) -> np.ndarray | None:
    """Return the registers onto which a row is reduced, float32 [P, 1], or None with "idle".

    Parameters
    ----------
    identity : number that "reset_reduce" takes.
    command, commands : the command given, and those that the instruction has.
    accumulators : registers for "reduce", float32 [P] or [P, 1].
    load : the name of the argument that "load_reduce" takes, and that argument.

    Raises
    ------
    TypeError, ValueError : another command, dtype or shape; an operand missing, or given where the command takes none.
    """
    check_choice("reduce_cmd", command, commands)
    for name, given, taken_by in (("accumulators", accumulators, "reduce"), (*load, "load_reduce")):
        if (given is None) is (command == taken_by):
            needed = "given" if given is None else "None"
            raise ValueError(f"{name} must be {needed} with reduce_cmd {command!r}, not {shown(given)}")
    match command:
        case "reset_reduce":
            return np.full((partitions, 1), identity, np.float32)
        case "load_reduce":
            return np.broadcast_to(read_operand(load[0], load[1], partitions), (partitions, 1))
        case "reduce":
            check_array("accumulators", accumulators, np.float32)
            if accumulators.shape not in ((partitions,), (partitions, 1)):
                raise ValueError(
                    f"accumulators must have shape {(partitions,)} or {(partitions, 1)}, not {accumulators.shape}"
                )
            return fp32.one_nan(accumulators.reshape(partitions, 1))
    return None


# Operators of ScalarE's and VectorE's instructions: FP32, of bits, and GpSimd's on 32-bit integers.


Unary = Callable[[np.ndarray], np.ndarray]
Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _truth(function: Binary) -> Binary:
    """Return a comparison as float32 1.0 and 0.0."""
    return lambda x, y: function(x, y).astype(np.float32)


def _logical(function: Binary) -> Binary:
    """Return a logical operator on "not zero", which NaN is, as float32 1.0 and 0.0."""
    return _truth(lambda x, y: function(x != 0, y != 0))


OPERATORS: Mapping[str, Binary] = {
    "add": fp32.add,
    "subtract": fp32.subtract,
    "multiply": fp32.multiply,
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": fp32.absolute_maximum,
    "abs_min": fp32.absolute_minimum,
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "logical_and": _logical(np.logical_and),
    "logical_or": _logical(np.logical_or),
    "logical_xor": _logical(np.logical_xor),
}
"""Of two FP32 numbers one, rounded once."""
UNARY: Mapping[str, Unary] = {
    "abs": fp32.absolute,
    "logical_not": lambda x: (x == 0).astype(np.float32),
    "square": lambda x: fp32.multiply(x, x),
    "relu": lambda x: np.where(np.signbit(x) & ~np.isnan(x), np.float32(0), x),
    "rsqrt": fp32.reciprocal_square_root,
    "reciprocal": fp32.reciprocal,
}
"""Of an FP32 number another, rounded once."""


def _shift(function: Binary) -> Binary:
    """Return a shift of unsigned words that gives 0 for a count of their width or more; numpy's does so on no platform."""

    def shift(x: np.ndarray, count: np.ndarray) -> np.ndarray:
        width = 8 * x.dtype.itemsize
        return np.where(count < width, function(x, count % x.dtype.type(width)), x.dtype.type(0))

    return shift


BIT_OPERATORS: Mapping[str, Binary] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": _shift(np.left_shift),
    "right_shift": _shift(np.right_shift),
}
"""Of two unsigned words of one size a third; "right_shift" is logical."""
BIT_NOT = "bitwise_not"
GPSIMD_OPERATORS: Mapping[str, Binary] = {"power": power}
"""Of two FP32 numbers one, rounded once, on GpSimd alone."""
INTEGER_OPERATORS: Mapping[str, Binary] = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
"""GpSimd's on 32-bit words, modulo 2**32."""


# Reductions along a tile's free dimension, one FP32 number for each partition.
#
# Sums are added in FP32 from the first element on, or exactly with one rounding; which of them the machine does no document
# states, so every sum names its order. Products are rounded to FP32 from the first element on.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.reduce_row`.


SumOrderName = Literal["serial", "exact"]
REDUCTIONS = {
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": fp32.absolute_maximum,
    "abs_min": fp32.absolute_minimum,
}
"""Reductions besides "add" and "multiply".

"abs_max" and "abs_min" keep the sign of the element that they take, the last of equal magnitudes.
"""
IDENTITIES = {"add": 0.0, "multiply": 1.0, "max": -np.inf, "min": np.inf, "abs_max": 0.0, "abs_min": np.inf}
"""Numbers to which a reset sets the registers that a row is reduced onto, by reduction."""
_BINS = FP32.exponent_mask
"""Biased exponents of finite numbers."""


def check_reduction(name: str, op: str) -> None:
    """Raise TypeError or ValueError unless VectorE has the reduction."""
    check_choice(name, op, IDENTITIES)


def reduce_free(values: np.ndarray, op: str, order: SumOrder) -> np.ndarray:
    """Reduce float32 [P, F] to [P, 1]; `order` is that of a sum."""
    if op == "multiply":
        return _serial(np.multiply, values)[:, np.newaxis]
    if op == "add":
        return (serial_sum if order is SumOrder.SERIAL else exact_sum)(values)[:, np.newaxis]
    # Halves are combined, which is the same in any order but for equal magnitudes; those keep theirs.
    while values.shape[1] > 1:
        odd = values[:, values.shape[1] & ~1 :]
        values = np.hstack([REDUCTIONS[op](values[:, :-1:2], values[:, 1::2]), odd])
    return values


def reduce_onto(registers: np.ndarray, values: np.ndarray, op: str, order: SumOrder = SumOrder.SERIAL) -> np.ndarray:
    """Reduce float32 [P, F] onto registers [P, 1]; return these after it."""
    return reduce_free(np.hstack([registers, values]), op, order)


def serial_sum(values: np.ndarray) -> np.ndarray:
    """Add float32 [P, F] along F, element after element, rounding every sum to FP32."""
    return _serial(np.add, values)


def _serial(function: np.ufunc, values: np.ndarray) -> np.ndarray:
    """Apply a function to the result so far and the next element, along F, rounding every result to FP32.

    An accumulation keeps every partial result, so numpy can neither reorder nor widen it.
    """
    with np.errstate(all="ignore"):
        return fp32.one_nan(function.accumulate(values, axis=1, dtype=np.float32)[:, -1])


def exact_sum(values: np.ndarray) -> np.ndarray:
    """Add float32 [P, F] along F exactly, and round once to FP32; a zero sum is +0 unless every element is -0.

    Significands are integers of 24 bits. Those of one biased exponent are added in float64, exactly up to 2**29 of them;
    the 255 sums of a row are put together as an integer.
    """
    codes = values.view(np.uint32).astype(np.int64)
    biased = codes >> FP32.fraction_bits & FP32.exponent_mask
    finite = biased < _BINS
    significand = (codes & FP32.fraction_mask) + np.where(biased > 0, 1 << FP32.fraction_bits, 0)
    signed = np.where(finite, np.where(codes & FP32.sign_mask, -significand, significand), 0)
    rows = np.arange(values.shape[0])[:, np.newaxis]
    bins = np.bincount(
        (rows * _BINS + np.where(finite, biased, 0)).ravel(), signed.ravel().astype(np.float64), _BINS * len(rows)
    ).reshape(-1, _BINS)
    totals = np.array([_to_odd(row) for row in bins])
    with np.errstate(invalid="ignore"):
        special = np.where(finite, np.float32(0), values).sum(axis=1, dtype=np.float32)  # infinity or NaN, 0 if finite
    negative_zero = (codes == FP32.sign_mask).all(axis=1)
    rounded = encode_array(FP32, np.where(negative_zero, -0.0, totals)).astype(np.uint32).view(np.float32)
    return fp32.one_nan(np.where(special == 0, rounded, special))


def _to_odd(row: np.ndarray) -> float:
    """Put sums by biased exponent together as a float64, its last bit 1 where it is not exact, so that it rounds right."""
    # Subnormals weigh as much as the numbers of biased exponent 1.
    total = sum(int(row[biased]) << max(biased, 1) for biased in np.flatnonzero(row).tolist())
    dropped = max(total.bit_length() - 53, 0)
    kept = abs(total) >> dropped
    kept |= abs(total) != kept << dropped
    value = np.ldexp(float(kept), dropped - FP32.bias - FP32.fraction_bits)
    return float(-value if total < 0 else value)
