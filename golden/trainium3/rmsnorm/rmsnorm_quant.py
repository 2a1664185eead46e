"""RMSNorm-Quant: rows normalised by their root mean square, then quantised to FP8, as the kernel's instructions do it.

Bit-identical to `bitpath.golden.trainium3.exact.rmsnorm_row`, `quantize_row` and `quantize_row_static`.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02 (here SPEC), and the kernel that it
describes (nki-library, ``rmsnorm_quant.py``, 2026-04; here RQ). Numerics are `TRAINIUM3_RMSNORM_QUANT`'s; points
that the documents leave open are in `bitpath.golden.trainium3.declarations.vector.CHOICES`.
"""

from fractions import Fraction
from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, integer, member, shown
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import cuts, in_parallel
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import (
    ROW_TILE,
    SCALE_BYTES,
    TRAINIUM3_RMSNORM_QUANT,
    TRAINIUM3_RMSNORM_QUANT_OCP,
    DtypeMode,
    QuantType,
    RmsNormQuantNumerics,
    StaticScaleRow,
)
from bitpath.golden.trainium3.rmsnorm.rmsnorm import (
    COMPUTE,
    ROWS_AT_ONCE,
    EpsPlacementName,
    check_gamma,
    check_hidden,
    eps_of,
    gamma_row,
    load_tile,
    norm_options,
    normalise_tile,
)
from bitpath.golden.trainium3.vector.activation import activation
from bitpath.golden.trainium3.vector.engine import real
from bitpath.golden.trainium3.vector.reciprocal import reciprocal
from bitpath.golden.trainium3.vector.reduction import SumOrderName
from bitpath.golden.trainium3.vector.tensor_scalar import tensor_scalar, tensor_scalar_reduce
from bitpath.golden.trainium3.vector.tensor_tensor import tensor_tensor

QuantTypeName = Literal["row", "static"]
DtypeModeName = Literal["non_ocp", "ocp"]
StaticScaleRowName = Literal["input", "shard"]
_NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
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
    hidden : [B, S, H] with B up to 2, S up to 32768 and H up to 16384, or [rows, H] with up to 65536 rows; bfloat16,
        float16 or float32, rounded to bfloat16 on its way in.
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
    uint8 [B, S, H + 4] or [rows, H + 4]: codes, then the scale as FP32, lowest byte first. With "static" [.., H]. With
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
