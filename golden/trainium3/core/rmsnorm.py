"""RMSNorm-Quant on the engines, instruction by instruction, and the vendor's reference in FP32."""

from fractions import Fraction
from math import prod
from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked, dtype_of, integer, member, shown
from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.arrays.parallel import cuts, in_parallel
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, FP16, FP32
from bitpath.golden.trainium3.declarations.vector import (
    COLUMN_TILE,
    MAX_HIDDEN,
    MAX_ROWS,
    ROW_TILE,
    SCALE_BYTES,
    TRAINIUM3_RMSNORM_QUANT,
    TRAINIUM3_RMSNORM_QUANT_OCP,
    DtypeMode,
    EpsPlacement,
    QuantType,
    RmsNormQuantNumerics,
    StaticScaleRow,
    SumOrder,
)
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.activation import activation, activation_reduce
from bitpath.golden.trainium3.vector.elementwise import (
    reciprocal,
    scalar_tensor_tensor,
    tensor_scalar,
    tensor_scalar_reduce,
    tensor_tensor,
)
from bitpath.golden.trainium3.vector.engine import SumOrderName, real, reduce_free, single

# RMSNorm as RMSNorm-Quant's kernel computes it: steps 1 to 6 of its instruction sequence, on tiles of 128 rows.
#
# Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02 (here SPEC), and the kernel that it
# describes (nki-library, ``rmsnorm_quant.py``, 2026-04; here RQ).


EpsPlacementName = Literal["kernel", "golden"]
# SPEC's CPU golden of RMSNorm-Quant in FP32, and the unpacking of the kernel's rows.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.reference_row`.
#
# Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02, CPU Golden (here SPEC).


_NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
COMPUTE = DTYPES[_NUMERICS.compute]
"""Dtype of a row between instructions."""
ROWS_AT_ONCE = 64
"""Rows that a core computes at once: with fewer, numpy's calls take longer than its loops. No row depends on another."""


@checked
def rmsnorm(
    hidden: np.ndarray,
    gamma: np.ndarray,
    *,
    eps: float = float(_NUMERICS.eps),
    eps_placement: EpsPlacementName = "kernel",
    sum_order: SumOrderName = "serial",
) -> np.ndarray:
    """Normalise rows by their root mean square and multiply them by gamma, without quantisation.

    Parameters
    ----------
    hidden, eps, eps_placement, sum_order : as `rmsnorm_quant`.
    gamma : [H] or [1, H], bfloat16 or float16.

    Returns
    -------
    bfloat16 of hidden's shape.

    Raises
    ------
    TypeError, ValueError : anything outside these limits.
    """
    check_hidden(hidden)
    check_gamma("gamma", gamma, hidden.shape[-1])
    eps = eps_of(eps)
    placement, order = norm_options(eps_placement, sum_order)
    rows, psum = hidden.reshape(-1, hidden.shape[-1]), gamma_row(gamma)
    result = np.empty(rows.shape, COMPUTE)

    def work(part: slice) -> None:
        result[part] = normalise_tile(load_tile(rows[part]), psum, eps, placement, order)

    in_parallel(work, cuts(len(rows), ROWS_AT_ONCE))
    return result.reshape(hidden.shape)


def load_tile(rows: np.ndarray) -> np.ndarray:
    """Bring rows into SBUF (step 1): the DMA converts them through FP32 to bfloat16."""
    return fp32.write(fp32.read(rows), COMPUTE)


def gamma_row(gamma: np.ndarray) -> np.ndarray:
    """Return what every row of PSUM holds of gamma [H], float32 [1, H]: a matmul by ones copies it to them (step 5)."""
    ones, columns = np.ones((1, 1), COMPUTE), cuts(gamma.size, COLUMN_TILE)
    return np.hstack([nc_matmul(ones, gamma.reshape(1, -1)[:, each]) for each in columns])


def normalise_tile(
    tile: np.ndarray, gamma: np.ndarray, eps: float, placement: EpsPlacement, order: SumOrder
) -> np.ndarray:
    """Normalise a tile [p, H] of bfloat16 (steps 3 to 6) with `gamma_row`'s gamma; returns bfloat16."""
    inverse = _inverse_rms(tile, eps, placement, order)
    psum = np.broadcast_to(gamma, tile.shape)
    return scalar_tensor_tensor(tile, "multiply", inverse, "multiply", psum, dtype=COMPUTE)


def _inverse_rms(tile: np.ndarray, eps: float, placement: EpsPlacement, order: SumOrder) -> np.ndarray:
    """Return the factor of each row, float32 [p, 1] (steps 3 and 4)."""
    _, total = activation_reduce(tile, "square", reduce_op="add", sum_order=order.value)
    # A reciprocal of H, rounded to FP32: float64's is within 2**-53 of it, and H has at most 15 bits, so that no quotient
    # lies that near to a midpoint of FP32.
    per_element = 1 / tile.shape[1]
    eps_tile = np.full((len(tile), 1), eps_in_compute(eps))
    if placement is EpsPlacement.KERNEL:
        return activation(total, "rsqrt", scale=per_element, bias=eps_tile)
    root = activation(total, "sqrt", scale=per_element)
    return reciprocal(tensor_scalar(root, "add", eps_tile))


def eps_in_compute(eps: float) -> np.ndarray:
    """Round eps once to the dtype of its tile, [1, 1]."""
    return encode_array(_NUMERICS.compute, np.array([[eps]])).astype(np.uint16).view(COMPUTE)


def check_hidden(hidden: np.ndarray, name: str = "hidden") -> None:
    """Check dtype and shape of the input, which errors call `name`.

    Raises
    ------
    TypeError : no array of bfloat16, float16 or float32.
    ValueError : a single dimension, no rows or more than `MAX_ROWS`, or H beyond its limit.
    """
    check_array(name, hidden, *(DTYPES[fmt] for fmt in (BF16, FP16, FP32)))
    if hidden.ndim < 2:
        raise ValueError(f"{name} must have shape [..., H] of two dimensions or more, not {hidden.shape}")
    for axis, size, limit in (("rows", prod(hidden.shape[:-1]), MAX_ROWS), ("H", hidden.shape[-1], MAX_HIDDEN)):
        if not 0 < size <= limit:
            raise ValueError(f"{name} must have {axis} from 1 to {limit}, not {size}")


def check_gamma(name: str, gamma: np.ndarray, hidden_size: int) -> None:
    """Check dtype and shape of a gamma.

    Raises
    ------
    TypeError : no array of bfloat16 or float16. Ones are bfloat16, and float32 does not meet it in a matmul.
    ValueError : another shape than [H] or [1, H].
    """
    check_array(name, gamma, DTYPES[BF16], DTYPES[FP16])
    if gamma.shape not in ((hidden_size,), (1, hidden_size)):
        raise ValueError(f"{name} must have shape ({hidden_size},) or (1, {hidden_size}), not {gamma.shape}")


def eps_of(eps: float) -> float:
    """Check eps, and return it as Python's number.

    Raises
    ------
    TypeError : no number.
    ValueError : negative or not finite, also beyond bfloat16's range.
    """
    value = real("eps", eps)
    if not (value >= 0 and np.isfinite(fp32.read(eps_in_compute(value))).all()):
        raise ValueError(f"eps must be a finite number of bfloat16's range, at least 0, not {shown(eps)}")
    return value


def norm_options(eps_placement: str, sum_order: str) -> tuple[EpsPlacement, SumOrder]:
    """Return the normalisation's options; raise TypeError for one that is no string, ValueError for an unknown one."""
    return member("eps_placement", eps_placement, EpsPlacement), member("sum_order", sum_order, SumOrder)


# RMSNorm-Quant: rows normalised by their root mean square, then quantised to FP8, as the kernel's instructions do it.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.rmsnorm_row`, `quantize_row` and `quantize_row_static`.
#
# Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02 (here SPEC), and the kernel that it
# describes (nki-library, ``rmsnorm_quant.py``, 2026-04; here RQ). Numerics are `TRAINIUM3_RMSNORM_QUANT`'s; points
# that the documents leave open are in `bitpath.golden.trainium3.declarations.vector.CHOICES`.


QuantTypeName = Literal["row", "static"]
DtypeModeName = Literal["non_ocp", "ocp"]
StaticScaleRowName = Literal["input", "shard"]
NUMERICS = {DtypeMode.NON_OCP: _NUMERICS, DtypeMode.OCP: TRAINIUM3_RMSNORM_QUANT_OCP.numerics}


@checked
def rmsnorm_quant(
    hidden: np.ndarray,
    gamma: np.ndarray | None,
    *,
    eps: float = float(_NUMERICS.eps),
    eps_placement: EpsPlacementName = "kernel",
    quant_type: QuantTypeName = "row",
    in_scale: np.ndarray | None = None,
    quant_only: bool = False,
    lower_bound: float = 0.0,
    sum_order: SumOrderName = "serial",
    shards: int = 1,
    residual: np.ndarray | None = None,
    pre_norm_gamma: np.ndarray | None = None,
    dtype_mode: DtypeModeName = "non_ocp",
    static_scale_row: StaticScaleRowName = "input",
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Normalise rows, quantise them to FP8 with maximum 240 or 448, and pack each with its dequantisation scale.

    The input's outer dimensions are collapsed to rows, which the machine cuts into shards, and those into tiles of 128.
    No row depends on another, so the number of shards changes no byte, unless `static_scale_row` is "shard".

    A pre-norm multiplies hidden by its own inverse root mean square and `pre_norm_gamma`; then `residual` is added. Both are
    rounded to bfloat16 and come before what the options select.

    A row's scale is ``max(absmax * (1/240), 1e-6)`` in FP32, and its elements are multiplied by the reciprocal; a row of
    zeros gives zeros and 1e-6. NaN, or infinity where the row is normalised, makes all elements 0x7F and the scale NaN.
    Where the squares' sum overflows, the row is zero.

    Parameters
    ----------
    hidden : [..., H] with up to 65536 rows in all major dimensions together and H up to 16384; bfloat16, float16 or
        float32, rounded to bfloat16 on its way in.
    gamma : [H] or [1, H], bfloat16 or float16; may be None with `quant_only`, which does not read it.
    eps : not negative; rounded to bfloat16.
    eps_placement : "kernel", ``1 / sqrt(mean + eps)``, or "golden", ``1 / (sqrt(mean) + eps)``.
    quant_type : "row", or "static" with `in_scale`, which quantises ``x * (1 / in_scale)`` clamped to 240.
    in_scale : float32 [128, 1], dequantisation scales; `static_scale_row` says which one a row takes.
    quant_only : True if the normalisation is left out.
    lower_bound : not negative. Above 1e-6 it bounds the absolute maximum from above, and the elements to its range,
        which are rounded to bfloat16 again; up to 1e-6, and with "static", it has no effect.
    sum_order : "serial" adds the squares from the first on and rounds every sum to FP32; "exact" rounds once.
    shards : cores that share the rows: each takes rows // shards, the last one the remainder too.
    residual : hidden's shape and dtypes, rounded to bfloat16 on its way in.
    pre_norm_gamma : as `gamma`.
    dtype_mode : "non_ocp" quantises to float8_e4m3 and 240, "ocp" to float8_e4m3fn and 448, which replaces 240 above.
    static_scale_row : row r takes scale r mod 128; "input" counts r from the first row of the collapsed input, "shard" from
        the first row of the core's shard, as nki-library's kernel does.

    Returns
    -------
    uint8 [..., H + 4]: codes, then the scale as FP32, lowest byte first. With "static" [.., H]. With
    `residual` also the sum that is normalised, bfloat16 of hidden's shape.

    Raises
    ------
    TypeError, ValueError : anything outside these limits.
    """
    check_hidden(hidden)
    _check_quantisation(quant_type, in_scale)
    if gamma is not None or not quant_only:
        check_gamma("gamma", gamma, hidden.shape[-1])
    if pre_norm_gamma is not None:
        check_gamma("pre_norm_gamma", pre_norm_gamma, hidden.shape[-1])
    if residual is not None:
        check_hidden(residual, "residual")
        if residual.shape != hidden.shape:
            raise ValueError(f"residual must have hidden's shape {hidden.shape}, not {residual.shape}")
    numerics = NUMERICS[member("dtype_mode", dtype_mode, DtypeMode)]
    eps, lower_bound = eps_of(eps), _lower_bound_of(lower_bound)
    placement, order = norm_options(eps_placement, sum_order)
    rows = hidden.reshape(-1, hidden.shape[-1])
    # Computed once for all tiles.
    factors = None if in_scale is None else reciprocal(in_scale)
    psum, pre_psum = (
        None if each is None else gamma_row(each) for each in (None if quant_only else gamma, pre_norm_gamma)
    )
    addends = None if residual is None else residual.reshape(rows.shape)
    sums = None if residual is None else np.empty(rows.shape, COMPUTE)

    integer("shards", shards, range(1, len(rows) + 1), f" for {len(rows)} rows")
    partitions = _scale_partitions(len(rows), shards, member("static_scale_row", static_scale_row, StaticScaleRow))
    packed = np.empty((len(rows), hidden.shape[-1] + (SCALE_BYTES if factors is None else 0)), np.uint8)

    def work(part: slice) -> None:
        tile = load_tile(rows[part])
        if pre_psum is not None:
            tile = normalise_tile(tile, pre_psum, eps, placement, order)
        if addends is not None:
            tile = sums[part] = tensor_tensor(tile, load_tile(addends[part]), "add", dtype=COMPUTE)
        if psum is not None:
            tile = normalise_tile(tile, psum, eps, placement, order)
        if factors is None:
            packed[part] = _quantize_row(tile, lower_bound, numerics)
        else:
            packed[part] = _quantize_static(tile, factors[partitions[part]], numerics)

    in_parallel(work, cuts(len(rows), ROWS_AT_ONCE))
    result = packed.reshape(*hidden.shape[:-1], packed.shape[-1])
    return result if sums is None else (result, sums.reshape(hidden.shape))


def _quantize_row(tile: np.ndarray, lower_bound: float, numerics: RmsNormQuantNumerics) -> np.ndarray:
    """Quantise a tile [p, H] of bfloat16 by its rows' absolute maxima (steps 7 to 13); returns uint8 [p, H + 4]."""
    _, largest = tensor_scalar_reduce(tile, "abs", reduce_op="max", dtype=COMPUTE)
    if Fraction(lower_bound) > numerics.min_dequant_scale:
        largest = tensor_scalar(largest, "min", lower_bound)
        tile = tensor_scalar(tile, "min", lower_bound, "max", -lower_bound, dtype=COMPUTE)
    scale = activation(largest, "copy", scale=1 / numerics.output_range)
    scale = tensor_scalar(scale, "max", float(numerics.min_dequant_scale))
    codes = tensor_scalar(tile, "multiply", reciprocal(scale), dtype=DTYPES[numerics.output]).view(np.uint8)
    return np.hstack([codes, scale.astype("<f4").view(np.uint8).reshape(-1, SCALE_BYTES)])


def _quantize_static(tile: np.ndarray, factors: np.ndarray, numerics: RmsNormQuantNumerics) -> np.ndarray:
    """Quantise a tile [p, H] of bfloat16 by given factors [p, 1]; returns uint8 [p, H]."""
    scaled = tensor_scalar(tile, "multiply", factors, "add", 0.0, dtype=COMPUTE)
    limit = numerics.output_range
    return tensor_scalar(scaled, "min", limit, "max", -limit, dtype=DTYPES[numerics.output]).view(np.uint8)


def _scale_partitions(rows: int, shards: int, counted: StaticScaleRow) -> np.ndarray:
    """Return the partition of each row's static scale."""
    numbers = np.arange(rows)
    if counted is StaticScaleRow.SHARD:
        length = rows // shards
        numbers -= np.minimum(numbers // length, shards - 1) * length
    return numbers % ROW_TILE


def _lower_bound_of(lower_bound: float) -> float:
    """Check the bound, and return it as Python's number: one of numpy's without a sign would wrap when negated."""
    value = real("lower_bound", lower_bound)
    if not 0 <= value <= float(FP32.max):
        raise ValueError(f"lower_bound must be a finite number of FP32's range, at least 0, not {shown(lower_bound)}")
    return value


def _check_quantisation(quant_type: str, in_scale: np.ndarray | None) -> None:
    """Check the options of the quantisation."""
    if (member("quant_type", quant_type, QuantType) is QuantType.STATIC) is (in_scale is None):
        needed = "float32 [128, 1]" if in_scale is None else "None"
        raise ValueError(f"in_scale must be {needed} with quant_type {quant_type!r}, not {shown(in_scale)}")
    if in_scale is not None:
        check_array("in_scale", in_scale, np.float32)
        if in_scale.shape != (ROW_TILE, 1):
            raise ValueError(f"in_scale must have shape {(ROW_TILE, 1)}, not {in_scale.shape}")


@checked
def rmsnorm_quant_reference(
    hidden: np.ndarray,
    gamma: np.ndarray,
    eps: float = float(_NUMERICS.eps),
    *,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Return what SPEC's CPU golden does: data and dequantisation scale, with FP32 between all operations.

    ``norm = x * (1 / (sqrt(sum(x * x) / H) + eps)) * gamma``, ``q = 240 / max |norm|``, data ``norm * q``, scale ``1 / q``; every
    operation is rounded to FP32. SPEC leaves the order of the sum to numpy; here it is an argument. eps is FP32.

    Parameters
    ----------
    hidden : as `rmsnorm_quant`.
    gamma : [H], bfloat16, float16 or float32.
    eps : a number, rounded to FP32.
    sum_order : "serial" or "exact", as `rmsnorm_quant`.

    Returns
    -------
    float8_e4m3 of hidden's shape, and float32 of hidden's shape with a last axis of 1.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; a row of which no finite scale follows, for example of zeros, on which
        SPEC's golden stops, too.
    """
    check_hidden(hidden)
    check_array("gamma", gamma, *(DTYPES[fmt] for fmt in (BF16, FP16, FP32)))
    check_shape("gamma", gamma, hidden.shape[-1])
    order, length = member("sum_order", sum_order, SumOrder), hidden.shape[-1]
    added = single("eps", real("eps", eps))
    rows = fp32.read(hidden.reshape(-1, length))
    mean = fp32.divide(reduce_free(fp32.multiply(rows, rows), "add", order), np.float32(length))
    norm = fp32.multiply(rows, fp32.reciprocal(fp32.add(fp32.square_root(mean), added)))
    norm = fp32.multiply(norm, fp32.read(gamma)[np.newaxis])
    scale = fp32.divide(np.float32(_NUMERICS.output_range), reduce_free(fp32.absolute(norm), "max", order))
    wrong = np.flatnonzero(~np.isfinite(scale[:, 0]) | (scale[:, 0] == 0))
    if wrong.size:
        raise ValueError(
            f"hidden must have rows with a finite scale; row {wrong[0]} is all zeros, too small or not finite"
        )
    data = fp32.write(fp32.multiply(norm, scale), DTYPES[_NUMERICS.output])
    return data.reshape(hidden.shape), fp32.reciprocal(scale).reshape(*hidden.shape[:-1], 1)


@checked
def unpack_rows(packed: np.ndarray, *, dtype: np.dtype | type = DTYPES[E4M3]) -> tuple[np.ndarray, np.ndarray]:
    """Return data and dequantisation scales of rows that `rmsnorm_quant` packed with "row".

    Parameters
    ----------
    packed : uint8 [..., H + 4].
    dtype : float8_e4m3, or float8_e4m3fn for rows with dtype_mode "ocp".

    Returns
    -------
    `dtype` [..., H] and float32 [..., 1].

    Raises
    ------
    TypeError, ValueError : another dtype; rows of less than an element and a scale.
    """
    check_array("packed", packed, np.uint8)
    dtype = dtype_of("dtype", dtype, DTYPES[E4M3], DTYPES[E4M3FN])
    if packed.ndim < 1 or packed.shape[-1] <= SCALE_BYTES:
        raise ValueError(f"packed must have shape [..., H + {SCALE_BYTES}] with H of at least 1, not {packed.shape}")
    codes, scale = (np.ascontiguousarray(each) for each in (packed[..., :-SCALE_BYTES], packed[..., -SCALE_BYTES:]))
    return codes.view(dtype), scale.view("<f4").astype(np.float32, copy=False)
