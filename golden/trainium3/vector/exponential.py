"""exponential: VectorE's exp(src - max), with a running sum for softmax.

Bit-identical to `bitpath.golden.trainium3.exact.exponential` and sums in FP32.

Ref: ``nki.isa.exponential`` reference page, NKI 0.3 to 0.5, and "Trainium3 Architecture Guide for NKI" (AWS Neuron
documentation, 2025-12-01). The algorithm is declared by `ExponentialNumerics`; the vendor's is not public.
"""

from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import checked, numerics_of
from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, ExponentialNumerics
from bitpath.golden.trainium3.exact.exponential import ln2, log2e, power_table
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.accumulators import start_of
from bitpath.golden.trainium3.vector.engine import output_dtype, read_operand, read_tile, write
from bitpath.golden.trainium3.vector.reduction import serial_sum

ReduceName = Literal["idle", "reset_reduce", "reduce", "load_reduce"]
_FAR = np.float32(512)
"""exp of it overflows, exp of its negative rounds to 0; nearer to 0, arguments are multiples of 2**-149 below 2**9."""


@checked
def exponential(
    src: np.ndarray,
    max_value: float | np.ndarray,
    *,
    dtype: np.dtype | type | str = np.float32,
    reduce_cmd: ReduceName = "idle",
    accumulators: np.ndarray | None = None,
    reduce_init: float | np.ndarray | None = None,
    numerics: ExponentialNumerics | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return exp(src - max_value), and the accumulators of its running row sum.

    Parameters
    ----------
    src : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    max_value : a number, rounded to FP32, or an array [P, 1] of src's dtypes.
    dtype : dtype of the result, also "tf32".
    reduce_cmd : "reset_reduce" adds a row onto 0, "reduce" onto `accumulators`, "load_reduce" onto `reduce_init`;
        "idle" adds nothing and leaves the accumulators undefined.
    accumulators : [P] or [P, 1] float32, for "reduce".
    reduce_init : a number or an array [P, 1], for "load_reduce".
    numerics : default `TRAINIUM3_EXPONENTIAL`; of another one, the algorithm's sizes are at most the default's.

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P] float32, None with "idle". Sums are FP32, element after element.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or command; an operand missing, or given where the command takes none.
    """
    dtype = output_dtype(dtype)
    numerics = _check_numerics(numerics)
    values = read_tile("src", src)
    load = "reduce_init", reduce_init
    start = start_of(0.0, len(values), reduce_cmd, get_args(ReduceName), accumulators, load)
    powers = exponential_of(values, read_operand("max_value", max_value, len(values)), numerics)
    result = write(powers, dtype)
    if start is None:
        return result, None
    added = powers if numerics.sum_before_cast else fp32.read(result)
    return result, serial_sum(np.hstack([start, added]))


def exponential_of(values: np.ndarray, max_value: np.ndarray, numerics: ExponentialNumerics) -> np.ndarray:
    """Return exp(values - max_value) of float32 arrays, as `ExponentialNumerics` describes, in int64."""
    bits, table_bits = numerics.fraction_bits, numerics.table_bits
    t = fp32.subtract(values, max_value)
    bounded = np.clip(np.where(np.isnan(t), np.float32(0), t), -_FAR, _FAR)
    mantissa, exponent = np.frexp(bounded)
    significand = np.ldexp(mantissa.astype(np.float64), FP32.precision).astype(np.int64)
    # 24 and 39 bits make 63. With |t| up to 2**9 the shift is to the right by at least 20.
    down = numerics.log2e_bits - bits + FP32.precision - exponent.astype(np.int64)
    u = np.abs(significand) * log2e(numerics) >> np.minimum(down, 63)
    u = np.where(np.signbit(bounded), ~u, u)
    fraction = u & (1 << bits) - 1
    r = fraction & (1 << bits - table_bits) - 1
    v = r * ln2(numerics) >> bits
    past_one = v + (v * v >> bits + 1)  # p - 1: the leading 1 is left out
    table = np.array(power_table(numerics))[fraction >> bits - table_bits]
    dropped = max(2 * bits - numerics.power_bits, 0)
    y = (table << bits - dropped) + (table * past_one >> dropped)
    powers = encode_array(numerics.result, np.ldexp(y.astype(np.float64), (u >> bits) - 2 * bits + dropped))
    return np.where(np.isnan(t), fp32.NAN, powers.astype(np.uint32).view(np.float32))


def _check_numerics(numerics: ExponentialNumerics | None) -> ExponentialNumerics:
    """Return the numerics, the preset's for None; int64 carries no larger ones than the preset's, nor float64 their powers."""
    largest = TRAINIUM3_EXPONENTIAL.numerics
    numerics = numerics_of(numerics, TRAINIUM3_EXPONENTIAL)
    if (
        numerics.result is not FP32
        or not largest.table_bits <= numerics.table_bits <= numerics.fraction_bits <= largest.fraction_bits
        or not numerics.fraction_bits <= numerics.log2e_bits <= largest.log2e_bits
        or not numerics.fraction_bits <= numerics.power_bits <= largest.power_bits
    ):
        raise ValueError(
            f"numerics must have result FP32, table_bits from {largest.table_bits}, fraction_bits up to"
            f" {largest.fraction_bits}, log2e_bits from those up to {largest.log2e_bits} and power_bits up to"
            f" {largest.power_bits}, not be {numerics}"
        )
    return numerics
