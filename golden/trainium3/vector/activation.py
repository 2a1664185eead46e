"""activation and activation_reduce: ScalarE's function of scaled and biased data.

Bit-identical to composing `bitpath.golden.scalar.fp32`, `bitpath.golden.trainium3.exact.exponential` and
`bitpath.golden.trainium3.exact.functions`.

Ref: ``nki.isa.activation`` and ``nki.isa.activation_reduce`` reference pages, NKI 0.3 (AWS Neuron documentation,
2025-12-01). The machine's functions are piecewise polynomials whose coefficients are not public; here each is correctly
rounded, but for "exp", whose algorithm is declared. Formulas, limits and valid arguments are in
`bitpath.golden.trainium3.exact.functions` and `bitpath.golden.trainium3.declarations.engines`.
"""

from collections.abc import Callable, Mapping

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, member
from bitpath.golden.trainium3.declarations.engines import ACTIVATE2_REDUCTIONS
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import output_dtype, read_operand, read_tile, write
from bitpath.golden.trainium3.vector.exponential import exponential_of
from bitpath.golden.trainium3.vector.functions import NEAREST
from bitpath.golden.trainium3.vector.operators import UNARY
from bitpath.golden.trainium3.vector.reduction import SumOrderName, reduce_free

FUNCTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "copy": lambda x: x,
    "square": UNARY["square"],
    "sqrt": fp32.square_root,
    "rsqrt": UNARY["rsqrt"],
    "reciprocal": UNARY["reciprocal"],
    "exp": lambda x: exponential_of(x, np.zeros((1, 1), np.float32), TRAINIUM3_EXPONENTIAL.numerics),
    "abs": UNARY["abs"],
    "relu": UNARY["relu"],
    "sign": lambda x: np.where(np.isnan(x), fp32.NAN, np.sign(x) + np.float32(0)),
    **NEAREST,
}
"""Functions of float32, each rounded once to FP32."""


@checked
def activation(
    data: np.ndarray,
    op: str,
    *,
    scale: float | np.ndarray = 1.0,
    bias: float | np.ndarray | None = 0.0,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return ``op(data * scale + bias)``.

    Product, sum, function and the cast to `dtype` are rounded one after the other. A bias of +0 is added like any
    other, so that -0 reaches no function; without a bias nothing is added.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op : "copy", "square", "sqrt", "rsqrt", "reciprocal", "exp", "abs", "relu", "sign", "sigmoid", "tanh", "silu",
        "silu_dx", "gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx", "erf", "erf_dx",
        "log", "softplus", "mish", "sin" or "arctan". Arguments outside of `ARGUMENT_RANGES` give the mathematical value.
    scale, bias : numbers, rounded to FP32, or arrays [P, 1] of data's dtypes; bias may be None.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or function.
    """
    dtype = output_dtype(dtype)
    return write(_activate(data, op, scale, bias), dtype)


@checked
def activation_reduce(
    data: np.ndarray,
    op: str,
    *,
    reduce_op: str = "add",
    scale: float | np.ndarray = 1.0,
    bias: float | np.ndarray | None = 0.0,
    dtype: np.dtype | type | str = np.float32,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Compute `activation`, and reduce the function's values, before the cast to `dtype`, along the free dimension.

    Parameters
    ----------
    reduce_op : "add", "max", "min", "abs_max" or "abs_min".
    sum_order : order of "add": "serial", from the first element on, or "exact" with one rounding.
    data, op, scale, bias, dtype : as `activation`.

    Returns
    -------
    the result [P, F] of `dtype`, and the reduction [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : as `activation`; another reduction or order.
    """
    dtype = output_dtype(dtype)
    check_choice("reduce_op", reduce_op, ACTIVATE2_REDUCTIONS)
    order = member("sum_order", sum_order, SumOrder)
    values = _activate(data, op, scale, bias)
    return write(values, dtype), reduce_free(values, reduce_op, order)


def _activate(data: np.ndarray, op: str, scale: float | np.ndarray, bias: float | np.ndarray | None) -> np.ndarray:
    values = read_tile("data", data)
    check_choice("op", op, FUNCTIONS)
    values = fp32.multiply(values, read_operand("scale", scale, len(data)))
    if bias is not None:
        values = fp32.add(values, read_operand("bias", bias, len(data)))
    return FUNCTIONS[op](values)
