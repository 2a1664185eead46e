"""Instructions of VectorE along a row: reductions, selections, softmax, statistics, scans and the largest elements."""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked, dtype_of, integer, member
from bitpath.golden.trainium3.declarations.engines import (
    BN_STATS_ELEMENTS,
    MAX8_ELEMENTS,
    MAX8_VALUES,
    RANGE_SELECT_COMPARISONS,
    RANGE_SELECT_INDICES,
)
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.activation import exponential
from bitpath.golden.trainium3.vector.elementwise import reciprocal, tensor_scalar
from bitpath.golden.trainium3.vector.engine import (
    FLOAT_DTYPES,
    IDENTITIES,
    NARROW_DTYPES,
    OPERATORS,
    SumOrderName,
    check_reduction,
    check_shapes,
    check_tile,
    output_dtype,
    read,
    read_operand,
    read_tile,
    real,
    reduce_free,
    reduce_onto,
    serial_sum,
    single,
    start_of,
    write,
)

# tensor_reduce: a tile's free dimension to one number for each partition.
#
# Ref: ``nki.isa.tensor_reduce`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01).


@checked
def tensor_reduce(
    data: np.ndarray,
    op: str,
    *,
    negate: bool = False,
    dtype: np.dtype | type | str = np.float32,
    sum_order: SumOrderName = "serial",
) -> np.ndarray:
    """Reduce a tile along its free dimension, in FP32, then cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op : "add", "multiply", "max", "min", or "abs_max" or "abs_min", the element of largest or smallest magnitude with its
        sign, the last of equal ones.
    negate : True to negate the result; NaN keeps its code.
    dtype : dtype of the result, also "tf32".
    sum_order : order of "add": "serial", from the first element on, or "exact" with one rounding; "multiply" is serial.

    Returns
    -------
    [P, 1] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, reduction or order.
    """
    dtype = output_dtype(dtype)
    check_reduction("op", op)
    order = member("sum_order", sum_order, SumOrder)
    reduced = reduce_free(read_tile("data", data), op, order)
    return write(-reduced if negate else reduced, dtype)


# select_reduce: an element of a tile or another value, by a predicate, and the maximum of the selected elements.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.select_row`.
#
# Ref: ``nki.isa.select_reduce`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


PREDICATE_DTYPES = tuple(np.dtype(name) for name in ("int8", "uint8", "int16", "uint16"))
_REDUCE_COMMANDS = ("idle", "reset_reduce", "reduce")


@checked
def select_reduce(
    predicate: np.ndarray,
    on_true: np.ndarray,
    on_false: float | np.ndarray,
    *,
    reverse_pred: bool = False,
    reduce_cmd: Literal["idle", "reset_reduce", "reduce"] = "idle",
    accumulators: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return `on_true` where the predicate is not 0, `on_false` elsewhere, and the maximum of the selected values.

    The values are FP32; the maximum is that before the cast to `dtype`.

    Parameters
    ----------
    predicate : [P, F], int8, uint8, int16 or uint16, P from 1 to 128.
    on_true : [P, F] of a dtype in `NARROW_DTYPES`.
    on_false : a number, rounded to FP32, or an array [P, 1] of `ENGINE_DTYPES`.
    reverse_pred : True to take `on_true` where the predicate is 0.
    reduce_cmd : "reset_reduce" starts the maximum from -infinity, "reduce" from `accumulators`; "idle" reduces nothing
        and leaves the accumulators undefined.
    accumulators : [P] or [P, 1] float32, for "reduce".
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P, 1] float32, None with "idle".

    Raises
    ------
    TypeError, ValueError : another dtype, shape or command; accumulators missing, or given where the command takes
        none.
    """
    dtype = output_dtype(dtype)
    check_tile("predicate", predicate, *PREDICATE_DTYPES)
    check_tile("on_true", on_true, *NARROW_DTYPES)
    check_shapes(predicate=predicate, on_true=on_true)
    start = start_of(IDENTITIES["max"], len(on_true), reduce_cmd, _REDUCE_COMMANDS, accumulators)
    other = read_operand("on_false", on_false, len(on_true))
    values = np.where((predicate != 0) != reverse_pred, read(on_true), other)
    return write(values, dtype), None if start is None else reduce_onto(start, values, "max")


# range_select: the elements of a tile whose index lies between two bounds, and the maximum of the result.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.select_range`.
#
# Ref: ``nki.isa.range_select`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


LOWEST = np.float32(np.finfo(np.float32).min)
"""The one value of elements that are not selected: FP32's lowest number."""


@checked
def range_select(
    on_true_tile: np.ndarray,
    comp_op0: str,
    comp_op1: str,
    bound0: np.ndarray,
    bound1: np.ndarray,
    *,
    range_start: int = 0,
    on_false_value: float = float(LOWEST),
    reduce_cmd: Literal["idle", "reset_reduce", "reduce"] = "reset_reduce",
    accumulators: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ``x[i]`` where ``n comp_op0 bound0`` and ``n comp_op1 bound1`` hold for ``n = range_start + i``, and the maximum.

    Elsewhere the result is FP32's lowest number, which the cast to a smaller float makes -infinity. Comparisons are in
    FP32. The maximum is that of the FP32 values, before the cast.

    Parameters
    ----------
    on_true_tile : x, [P, F] of a floating-point dtype in `ENGINE_DTYPES`, P from 1 to 128.
    comp_op0, comp_op1 : "equal", "less", "less_equal", "greater" or "greater_equal".
    bound0, bound1 : [P, 1] float32.
    range_start : index of the first element; every index is below 2**24 in magnitude, where FP32 holds all integers.
    on_false_value : FP32's lowest number, -3.4028235e38; the machine has no other.
    reduce_cmd : "reset_reduce" starts the maximum from -infinity, "reduce" from `accumulators`; "idle" reduces nothing
        and leaves the accumulators undefined.
    accumulators : [P] or [P, 1] float32, for "reduce".
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P, 1] float32, None with "idle".

    Raises
    ------
    TypeError, ValueError : another dtype, shape, comparison, index, value or command; accumulators missing, or given
        where the command takes none.
    """
    dtype = output_dtype(dtype)
    check_tile("on_true_tile", on_true_tile, *FLOAT_DTYPES)
    partitions, elements = on_true_tile.shape
    first = integer("range_start", range_start, range(1 - RANGE_SELECT_INDICES, RANGE_SELECT_INDICES - elements + 1))
    index = np.arange(first, first + elements, dtype=np.float32)[np.newaxis]
    selected = np.full(on_true_tile.shape, True)
    for number, op, bound in (("0", comp_op0, bound0), ("1", comp_op1, bound1)):
        check_choice(f"comp_op{number}", op, RANGE_SELECT_COMPARISONS)
        check_array(f"bound{number}", bound, np.float32)
        if bound.shape != (partitions, 1):
            raise ValueError(f"bound{number} must have shape {(partitions, 1)}, not {bound.shape}")
        selected &= OPERATORS[op](index, fp32.read(bound)) != 0
    if single("on_false_value", real("on_false_value", on_false_value)) != LOWEST:
        raise ValueError(f"on_false_value must be {LOWEST!s}, FP32's lowest number, not {on_false_value}")
    start = start_of(IDENTITIES["max"], partitions, reduce_cmd, _REDUCE_COMMANDS, accumulators)
    values = np.where(selected, read(on_true_tile), LOWEST)
    return write(values, dtype), None if start is None else reduce_onto(start, values, "max")


# softmax of rows, as a chain of VectorE's instructions.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.softmax`.
#
# Ref: "Trainium3 Architecture Guide for NKI", VectorE's exponential (AWS Neuron documentation, 2026-08).


@checked
def softmax(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return ``exp(x - max) / sum`` of every row.

    Four instructions: tensor_reduce (max), exponential with its running sum, reciprocal of the sum, tensor_scalar
    (multiply). FP32 lies between them; the sum is serial.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`; NaN in a row with NaN, with +infinity, or of -infinity alone.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    powers, total = exponential(data, tensor_reduce(data, "max"), reduce_cmd="reset_reduce")
    return tensor_scalar(powers, "multiply", reciprocal(total[:, np.newaxis]), dtype=dtype)


# bn_stats and bn_aggr: counts, means and variances of rows, in parts and put together.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.bn_stats_row` and `bn_aggr_row`; the order of their operations is in
# `bitpath.golden.trainium3.declarations.engines.CHOICES`.
#
# Ref: ``nki.isa.bn_stats`` and ``nki.isa.bn_aggr`` reference pages, NKI 0.6 (AWS Neuron documentation, 2026-08).


@checked
def bn_stats(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return count n, mean and ``sum((x - mean)**2)`` of each row's even elements, then of its odd ones.

    ``mean = sum(x) * fp32(1 / n)``. Each operation is rounded to FP32, sums are serial; then comes the cast to `dtype`.
    The odd elements of a row of one element have 0 in all three.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, F from 1 to 512, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, 6] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    values = read_tile("data", data)
    if values.shape[1] > BN_STATS_ELEMENTS:
        raise ValueError(
            f"data must have at most {BN_STATS_ELEMENTS} elements for each partition, not {values.shape[1]}"
        )
    statistics = np.zeros((len(values), 6), np.float32)
    for parity in range(min(values.shape[1], 2)):
        part = values[:, parity::2]
        count = np.float32(part.shape[1])
        mean = fp32.multiply(serial_sum(part), fp32.reciprocal(count))
        deviation = fp32.subtract(part, mean[:, np.newaxis])
        squares = serial_sum(fp32.multiply(deviation, deviation))
        statistics[:, 3 * parity : 3 * parity + 3] = np.stack([np.full_like(mean, count), mean, squares], axis=1)
    return write(statistics, dtype)


@checked
def bn_aggr(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return mean and variance of each row, from triples (n, mean, M2) of its parts, as `bn_stats` gives them.

    ``mean = sum(n[i] * mean[i]) / N`` and ``variance = sum(M2[i] + n[i] * (mean[i] - mean)**2) / N``; N is the sum of n.
    Each operation is rounded to FP32, sums are serial; then comes the cast to `dtype`.

    Parameters
    ----------
    data : [P, 3 k], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, 2] of `dtype`; NaN where N is 0.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    values = read_tile("data", data)
    if values.shape[1] % 3:
        raise ValueError(f"data must have a multiple of 3 elements for each partition, not {values.shape[1]}")
    count, mean, squares = (values[:, i::3] for i in range(3))
    total = serial_sum(count)
    overall = fp32.divide(serial_sum(fp32.multiply(count, mean)), total)
    deviation = fp32.subtract(mean, overall[:, np.newaxis])
    spread = fp32.add(squares, fp32.multiply(count, fp32.multiply(deviation, deviation)))
    return write(np.stack([overall, fp32.divide(serial_sum(spread), total)], axis=1), dtype)


# tensor_scalar_cumulative: an operation with a number for each partition, then a running reduction of the row.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.cumulate_row`.
#
# Ref: ``nki.isa.tensor_scalar_cumulative`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


_IDENTITIES = {op: IDENTITIES[op] for op in ("add", "multiply", "max", "min")} | {"subtract": IDENTITIES["add"]}
_CUMULATIVE_COMMANDS = ("reset_reduce", "reduce", "load_reduce")


@checked
def tensor_scalar_cumulative(
    src: np.ndarray,
    op0: str,
    op1: str,
    imm0: float | np.ndarray,
    imm1: float | np.ndarray | None = None,
    *,
    reduce_cmd: Literal["reset_reduce", "reduce", "load_reduce"] = "reset_reduce",
    accumulators: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the registers ``r = (src[i] op0 imm0) op1 r`` after each element, and those after the last one.

    Each operation is rounded to FP32. The next element takes the register before the cast to `dtype`.

    Parameters
    ----------
    src : [P, F], P from 1 to 128, of a dtype in `NARROW_DTYPES`.
    op0 : an operator of `OPERATORS`.
    op1 : "add", "subtract", which takes the register from the value, "multiply", "max" or "min".
    imm0 : a number, rounded to FP32, or an array [P, 1] of `ENGINE_DTYPES`.
    imm1 : as `imm0`, for "load_reduce".
    reduce_cmd : "reset_reduce" starts from op1's identity, that of "add" for "subtract", "reduce" from `accumulators`,
        "load_reduce" from `imm1`.
    accumulators : [P] or [P, 1] float32, for "reduce".
    dtype : dtype of the result, in `NARROW_DTYPES`.

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, operator or command; a register missing, or given where the command
        takes none.
    """
    check_tile("src", src, *NARROW_DTYPES)
    dtype = dtype_of("dtype", dtype, *NARROW_DTYPES)
    check_choice("op0", op0, OPERATORS)
    check_choice("op1", op1, _IDENTITIES)
    values = OPERATORS[op0](read(src), read_operand("imm0", imm0, len(src)))
    register = start_of(_IDENTITIES[op1], len(src), reduce_cmd, _CUMULATIVE_COMMANDS, accumulators, ("imm1", imm1))[
        :, 0
    ]
    registers = np.empty_like(values)
    for value, out in zip(values.T, registers.T, strict=True):
        register = OPERATORS[op1](value, register)
        out[:] = register
    return write(registers, dtype), register[:, np.newaxis]


# tensor_tensor_scan: a recurrence along each row, over the elements of two tiles.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.scan_row`.
#
# Ref: ``nki.isa.tensor_tensor_scan`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


@checked
def tensor_tensor_scan(
    data0: np.ndarray,
    data1: np.ndarray,
    initial: float | np.ndarray,
    op0: str,
    op1: str,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return the states ``s = (data0[i] op0 s) op1 data1[i]`` of each row, from ``s = initial`` on.

    Each operation is rounded to FP32. The next element takes the state before the cast to `dtype`.

    Parameters
    ----------
    data0, data1 : [P, F], P from 1 to 128, each of a dtype in `ENGINE_DTYPES`.
    initial : a number, rounded to FP32, or an array [P, 1] of the tiles' dtypes.
    op0, op1 : operators of `OPERATORS`.
    reverse0 : True for ``s op0 data0[i]``.
    reverse1 : True for ``data1[i] op1`` the result of op0.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator.
    """
    dtype = output_dtype(dtype)
    first, second = read_tile("data0", data0), read_tile("data1", data1)
    check_shapes(data0=first, data1=second)
    for name, op in (("op0", op0), ("op1", op1)):
        check_choice(name, op, OPERATORS)
    state = np.broadcast_to(read_operand("initial", initial, len(first)), (len(first), 1))[:, 0]
    states = np.empty_like(first)
    for x, y, out in zip(first.T, second.T, states.T, strict=True):
        state = OPERATORS[op0](*((state, x) if reverse0 else (x, state)))
        state = OPERATORS[op1](*((y, state) if reverse1 else (state, y)))
        out[:] = state
    return write(states, dtype)


# max8, nc_find_index8 and nc_match_replace8: the eight largest numbers of each row, where they are, and without them.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.max8_row`, `find_index8_row` and `match_replace8_row`; the rules are in
# `bitpath.golden.trainium3.declarations.engines.CHOICES`.
#
# Ref: ``nki.isa.max8``, ``nki.isa.nc_find_index8`` and ``nki.isa.nc_match_replace8`` reference pages, and the release
# notes, NKI 0.6 (AWS Neuron documentation, 2026-08).


INDEX_DTYPES = (np.dtype(np.uint16), np.dtype(np.uint32))


@checked
def max8(src: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return the eight largest numbers of each row in descending order, each as often as it occurs.

    The order is that of "max": NaN comes first, and +0 before -0.

    Parameters
    ----------
    src : [P, F], P from 1 to 128, F from 8 to 16384, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, 8] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    codes = _read_row("src", src, MAX8_VALUES).view(np.int32)
    # With the lower bits of negative numbers inverted, codes as integers have the order of their numbers; NaN sorts
    # above all numbers.
    order = np.partition(_ordered(codes), -MAX8_VALUES, axis=1)[:, -MAX8_VALUES:]
    return write(_ordered(np.sort(order, axis=1)[:, ::-1]).view(np.float32), dtype)


@checked
def nc_find_index8(data: np.ndarray, vals: np.ndarray, *, dtype: np.dtype | type | str = np.uint32) -> np.ndarray:
    """Return the index of the first element of each row that equals a value, for each of eight values.

    Equal values take successive elements in ascending order. An index is all ones where no element is left. Numbers are
    compared in FP32: -0 equals +0, and NaN equals nothing.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, F from 8 to 16384, of a dtype in `ENGINE_DTYPES`.
    vals : [P, 8], of a dtype in `ENGINE_DTYPES`.
    dtype : uint16 or uint32.

    Returns
    -------
    [P, 8] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = dtype_of("dtype", dtype, *INDEX_DTYPES)
    values = _read_row("data", data, MAX8_VALUES)
    return _matches(values, _read_values(vals, len(values)), range(MAX8_VALUES))[0].astype(dtype)


@checked
def nc_match_replace8(
    data: np.ndarray,
    vals: np.ndarray,
    imm: float,
    *,
    dtype: np.dtype | type | str = np.float32,
    index_dtype: np.dtype | type | str = np.uint32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return each row with an element replaced for each of eight values, and the indices of these elements.

    From the last value to the first, each takes the first element that equals it and is not yet taken. An index is all
    ones where no element is left. Numbers are compared in FP32: -0 equals +0, and NaN equals nothing.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, F from 1 to 16384, of a dtype in `ENGINE_DTYPES`.
    vals : [P, 8], of a dtype in `ENGINE_DTYPES`.
    imm : number in place of the elements, rounded to FP32.
    dtype : dtype of the row, also "tf32".
    index_dtype : uint16 or uint32.

    Returns
    -------
    [P, F] of `dtype`, and the indices [P, 8].

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype, index_dtype = output_dtype(dtype), dtype_of("index_dtype", index_dtype, *INDEX_DTYPES)
    values = _read_row("data", data, 1)
    indices, taken = _matches(values, _read_values(vals, len(values)), reversed(range(MAX8_VALUES)))
    replacement = fp32.one_nan(single("imm", real("imm", imm)))
    return write(np.where(taken, replacement, values), dtype), indices.astype(index_dtype)


def _ordered(codes: np.ndarray) -> np.ndarray:
    """Map int32 FP32 codes to integers in the order of their numbers, and back."""
    return codes ^ (codes >> 31 & 0x7FFFFFFF)


def _read_row(name: str, data: np.ndarray, fewest: int) -> np.ndarray:
    values = read_tile(name, data)
    if not fewest <= values.shape[1] <= MAX8_ELEMENTS:
        raise ValueError(
            f"{name} must have {fewest} to {MAX8_ELEMENTS} elements for each partition, not {values.shape[1]}"
        )
    return values


def _read_values(vals: np.ndarray, partitions: int) -> np.ndarray:
    values = read_tile("vals", vals)
    if values.shape != (partitions, MAX8_VALUES):
        raise ValueError(f"vals must have shape {(partitions, MAX8_VALUES)}, not {values.shape}")
    return values


def _matches(data: np.ndarray, vals: np.ndarray, order: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return each value's index, int64 [P, 8], -1 for none, and which elements are taken; values choose in an order."""
    rows = np.arange(len(data))
    indices = np.empty(vals.shape, np.int64)
    taken = np.zeros(data.shape, bool)
    for i in order:
        equal = (data == vals[:, i : i + 1]) & ~taken
        first = equal.argmax(axis=1)
        found = equal[rows, first]
        indices[:, i] = np.where(found, first, -1)
        taken[rows, first] |= found
    return indices, taken
