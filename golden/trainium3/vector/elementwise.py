"""Element-wise instructions of VectorE: two tiles, a tile and scalars, copies, memset and reciprocal."""

from typing import Any, Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, integer, member
from bitpath.golden.arrays.codec import encode_array, format_of
from bitpath.golden.formats.catalogue import TF32
from bitpath.golden.trainium3.declarations.dtypes import TF32_SPARE_BITS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, cast
from bitpath.golden.trainium3.vector.engine import (
    BIT_NOT,
    BIT_OPERATORS,
    ENGINE_DTYPES,
    GPSIMD_OPERATORS,
    IDENTITIES,
    INTEGER_DTYPES,
    INTEGER_OPERATORS,
    OPERATORS,
    UNARY,
    SumOrderName,
    bit_dtype,
    bit_words,
    check_reduction,
    check_shapes,
    check_tile,
    output_dtype,
    read,
    read_bit_operand,
    read_operand,
    read_tile,
    real,
    reduce_onto,
    single,
    start_of,
    write,
)

# tensor_tensor: an operator of two tiles, element by element.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.tensor_tensor`.
#
# Ref: ``nki.isa.tensor_tensor`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


_WORD_DTYPES = (np.dtype(np.int32), np.dtype(np.uint32))


@checked
def tensor_tensor(
    a: np.ndarray,
    b: np.ndarray,
    op: str,
    *,
    engine: Literal["vector", "gpsimd"] = "vector",
    dtype: np.dtype | type | str | None = None,
) -> np.ndarray:
    """Return ``a op b``, rounded to FP32, then the cast to `dtype`.

    Parameters
    ----------
    a, b : [P, F], P from 1 to 128, each of a dtype in `ENGINE_DTYPES`.
    op : an operator of `OPERATORS`, or "power" on GpSimd; or one of `BIT_OPERATORS`, on integers of one size, which are
        not cast.
    engine : "gpsimd" adds, subtracts and multiplies int32 and uint32 exactly, modulo 2**32, where a, b and the result are of
        these dtypes; else it gives VectorE's bits, but has no bit operators.
    dtype : dtype of the result, also "tf32"; None is float32, or a's where no FP32 is computed.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, operator or engine; bit operators on integers of two sizes.
    """
    check_choice("op", op, (*OPERATORS, *BIT_OPERATORS, *GPSIMD_OPERATORS))
    check_choice("engine", engine, ("vector", "gpsimd"))
    if op in GPSIMD_OPERATORS and engine == "vector":
        raise ValueError(f"engine must be 'gpsimd' for {op}, not 'vector'")
    bits = op in BIT_OPERATORS
    for name, tile in (("a", a), ("b", b)):
        check_tile(name, tile, *(INTEGER_DTYPES if bits else ENGINE_DTYPES))
    check_shapes(a=a, b=b)
    if bits:
        if engine == "gpsimd":
            raise ValueError(f"engine must be 'vector' for {op}, not 'gpsimd'")
        if a.dtype.itemsize != b.dtype.itemsize:
            raise ValueError(f"b must have integers of a's size for {op}, not {b.dtype} with {a.dtype}")
        return BIT_OPERATORS[op](bit_words(a), bit_words(b)).view(bit_dtype(dtype, a.dtype))
    if engine == "gpsimd" and op in INTEGER_OPERATORS and {a.dtype, b.dtype} <= {*_WORD_DTYPES}:
        result = a.dtype if dtype is None else output_dtype(dtype)
        if result in _WORD_DTYPES:
            return INTEGER_OPERATORS[op](bit_words(a), bit_words(b)).view(result)
    dtype = output_dtype(np.float32 if dtype is None else dtype)
    return write({**OPERATORS, **GPSIMD_OPERATORS}[op](read(a), read(b)), dtype)


# tensor_scalar and tensor_scalar_reduce: one or two operations of a tile with a number for each partition.
#
# Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_scalar_reduce`` reference pages, NKI 0.6 (AWS Neuron documentation,
# 2026-08).


_REDUCE_COMMANDS = ("reset_reduce", "reduce", "load_reduce")


@checked
def tensor_scalar(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray | None = None,
    op1: str | None = None,
    operand1: float | np.ndarray | None = None,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: np.dtype | type | str | None = None,
) -> np.ndarray:
    """Return ``(data op0 operand0) op1 operand1``, each operation rounded to FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op0, op1 : an operator of `OPERATORS` ("abs_max" and "abs_min" give the operand of larger or smaller magnitude with its
        sign, the right one of equal ones), or one of `UNARY`, which takes no operand; no second operation for None. Or
        both of `BIT_OPERATORS`, or "bitwise_not" without operand, on integers, which are not cast.
    operand0, operand1 : numbers, rounded to FP32, or arrays [P, 1] of data's dtypes; for bit operators integers of data's
        size.
    reverse0, reverse1 : True if the operand is left of the operator.
    dtype : dtype of the result, also "tf32"; None is float32, or data's with bit operators, which take another integer
        dtype of its size.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator; an operand missing, or given where there is none to take.
    """
    if op1 is None and (operand1 is not None or reverse1):
        raise ValueError("op1 must be an operator with operand1 or reverse1, not None")
    steps = [("0", op0, operand0, reverse0), *([] if op1 is None else [("1", op1, operand1, reverse1)])]
    bits = [isinstance(op, str) and op in (*BIT_OPERATORS, BIT_NOT) for _, op, _, _ in steps]
    if any(bits):
        if not all(bits):
            raise ValueError(f"op0 and op1 must both be bit operators or neither, not {op0!r} and {op1!r}")
        check_tile("data", data, *INTEGER_DTYPES)
        dtype = bit_dtype(dtype, data.dtype)
        words = bit_words(data)
        for step in steps:
            words = _apply_bits(words, *step)
        return words.view(dtype)
    dtype = output_dtype(np.float32 if dtype is None else dtype)
    values = read_tile("data", data)
    for step in steps:
        values = apply_operator(values, *step)
    return write(values, dtype)


@checked
def tensor_scalar_reduce(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray | None = None,
    *,
    reduce_op: str,
    reverse0: bool = False,
    reduce_cmd: Literal["reset_reduce", "reduce", "load_reduce"] = "reset_reduce",
    accumulators: np.ndarray | None = None,
    reduce_init: float | np.ndarray | None = None,
    reduce_res_negate: bool = False,
    dtype: np.dtype | type | str = np.float32,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``data op0 operand0``, and reduce it, before the cast to `dtype`, along the free dimension.

    The reduction starts from a register, element after element.

    Parameters
    ----------
    reduce_op : "add", "multiply", "max", "min", "abs_max" or "abs_min".
    reduce_cmd : "reset_reduce" starts from the reduction's identity, "reduce" from `accumulators`, "load_reduce" from
        `reduce_init`.
    accumulators : [P] or [P, 1] float32, for "reduce".
    reduce_init : a number or an array [P, 1], for "load_reduce".
    reduce_res_negate : True to negate the reduction that is returned; NaN keeps its code. The machine's registers hold
        it without the negation.
    sum_order : order of "add", "serial" or "exact".
    data, op0, operand0, reverse0, dtype : as `tensor_scalar`.

    Returns
    -------
    the result [P, F] of `dtype`, and the reduction [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : as `tensor_scalar`; another reduction, command or order; a register missing, or given where
        the command takes none.
    """
    dtype = output_dtype(dtype)
    check_reduction("reduce_op", reduce_op)
    order = member("sum_order", sum_order, SumOrder)
    values = apply_operator(read_tile("data", data), "0", op0, operand0, reverse0)
    load = "reduce_init", reduce_init
    start = start_of(IDENTITIES[reduce_op], len(values), reduce_cmd, _REDUCE_COMMANDS, accumulators, load)
    reduced = reduce_onto(start, values, reduce_op, order)
    return write(values, dtype), fp32.one_nan(-reduced) if reduce_res_negate else reduced


def apply_operator(
    values: np.ndarray, number: str, op: str, operand: float | np.ndarray | None, reverse: bool
) -> np.ndarray:
    """Apply an operator with a scalar operand to float32 [P, F]; errors call them op and operand with their number."""
    check_choice(f"op{number}", op, (*OPERATORS, *UNARY))
    if op in UNARY:
        _check_no_operand(number, op, operand, reverse)
        return UNARY[op](values)
    other = read_operand(f"operand{number}", operand, len(values))
    return OPERATORS[op](*((other, values) if reverse else (values, other)))


def _apply_bits(
    words: np.ndarray, number: str, op: str, operand: float | np.ndarray | None, reverse: bool
) -> np.ndarray:
    """Apply a bit operator with a scalar operand to unsigned words [P, F]."""
    if op == BIT_NOT:
        _check_no_operand(number, op, operand, reverse)
        return ~words
    other = read_bit_operand(f"operand{number}", operand, words)
    return BIT_OPERATORS[op](*((np.broadcast_to(other, words.shape), words) if reverse else (words, other)))


def _check_no_operand(number: str, op: str, operand: float | np.ndarray | None, reverse: bool) -> None:
    if operand is not None or reverse:
        raise ValueError(f"op{number} must be a binary operator with an operand or reverse, not {op!r}")


# scalar_tensor_tensor: a tile with a number for each partition, then with another tile.
#
# Ref: ``nki.isa.scalar_tensor_tensor`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01).


@checked
def scalar_tensor_tensor(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray,
    op1: str,
    operand1: np.ndarray,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return ``(data op0 operand0) op1 operand1``, each operation rounded to FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op0, op1 : operators of `OPERATORS`.
    operand0 : a number, rounded to FP32, or an array [P, 1] of data's dtypes.
    operand1 : [P, F] of data's dtypes, not necessarily its own.
    reverse0, reverse1 : True if the operand is left of the operator.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator.
    """
    dtype = output_dtype(dtype)
    values, other = read_tile("data", data), read_tile("operand1", operand1)
    check_shapes(data=values, operand1=other)
    for name, op in (("op0", op0), ("op1", op1)):
        check_choice(name, op, OPERATORS)
    scaled = apply_operator(values, "0", op0, operand0, reverse0)
    return write(OPERATORS[op1](*((other, scaled) if reverse1 else (scaled, other))), dtype)


# tensor_copy: a tile, cast where its dtype changes.
#
# Ref: ``nki.isa.tensor_copy`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


EngineName = Literal["vector", "scalar", "gpsimd"]


@checked
def tensor_copy(
    data: np.ndarray,
    dtype: np.dtype | type | str | None = None,
    *,
    engine: EngineName = "vector",
    source: str | None = None,
) -> np.ndarray:
    """Return a tile as another dtype: equal dtypes move bits, NaN payloads included, others go through FP32.

    Parameters
    ----------
    data : [P, F], P from 1 to 128.
    dtype, source : as `cast`; None keeps data's dtype.
    engine : "vector", "scalar" or "gpsimd", which changes time only.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : as `cast`; another shape or engine.
    """
    check_choice("engine", engine, ("vector", "scalar", "gpsimd"))
    check_tile("data", data, *CAST_DTYPES.values())
    return cast(data, source or data.dtype if dtype is None else dtype, source=source)


# tensor_copy_predicated: elements of a tile where a predicate holds, those of the destination elsewhere.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.copy_row_predicated`.
#
# Ref: ``nki.isa.tensor_copy_predicated`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


PREDICATE_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))


@checked
def tensor_copy_predicated(
    dst: np.ndarray, src: float | np.ndarray, predicate: np.ndarray, *, reverse_pred: bool = False
) -> np.ndarray:
    """Return `dst` with the elements of `src` where the predicate is not 0; bits move, NaN payloads included.

    Parameters
    ----------
    dst : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    src : [P, F] of dst's dtype, or a number, rounded to FP32 and then cast to it.
    predicate : [P, F], uint8, uint16 or uint32.
    reverse_pred : True to copy where the predicate is 0.

    Returns
    -------
    [P, F] of dst's dtype, a new array.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    check_tile("dst", dst, *ENGINE_DTYPES)
    if isinstance(src, np.ndarray):
        check_tile("src", src, dst.dtype)
        check_shapes(dst=dst, src=src)
    else:
        src = write(fp32.one_nan(single("src", real("src", src, ", or an array [P, F]"))), dst.dtype)
    check_tile("predicate", predicate, *PREDICATE_DTYPES)
    check_shapes(dst=dst, predicate=predicate)
    return np.where((predicate != 0) != reverse_pred, bit_words(src), bit_words(dst)).view(dst.dtype)


# memset: a tile filled with one number.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.memset_element`.
#
# Ref: ``nki.isa.memset`` reference page, NKI 0.6, and the release notes of NKI 0.3 (AWS Neuron documentation, 2026-08).


@checked
def memset(shape: tuple[int, int], value: Any, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return a tile of one number, which is rounded once to `dtype`, to nearest even.

    A number beyond the range of a floating-point dtype is infinity, or NaN where it has no infinity.

    Parameters
    ----------
    shape : (P, F), P from 1 to 128 and F of at least 1.
    value : a number; an integer of the dtype's range for an integer dtype.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number; a float for an integer dtype.
    """
    dtype = output_dtype(dtype)
    partitions, elements = shape
    if not 0 < partitions <= PARTITIONS or elements < 1:
        raise ValueError(f"shape must be P from 1 to {PARTITIONS} and F of at least 1, not {partitions} and {elements}")
    if not isinstance(dtype, str) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        why = f" for {dtype}"
        return np.full(shape, integer("value", value, range(int(limits.min), int(limits.max) + 1), why), dtype)
    number = np.array(real("value", value))
    if isinstance(dtype, str):
        return np.full(shape, encode_array(TF32, number) << TF32_SPARE_BITS, np.uint32).view(np.float32)
    return np.full(shape, encode_array(format_of(dtype), number), f"u{dtype.itemsize}").view(dtype)


# reciprocal: VectorE's 1 / x.
#
# Ref: ``nki.isa.reciprocal`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01), which says "higher accuracy"
# than ScalarE's and no number; here it is correctly rounded (`RmsNormQuantNumerics.root_rounding`).


@checked
def reciprocal(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return 1 / data, rounded to FP32, then cast to `dtype`; infinity of the sign for a zero.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    return write(fp32.reciprocal(read_tile("data", data)), dtype)
