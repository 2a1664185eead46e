"""tensor_tensor: an operator of two tiles, element by element.

Bit-identical to `bitpath.golden.trainium3.exact.tensor_tensor`.

Ref: ``nki.isa.tensor_tensor`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked
from bitpath.golden.trainium3.vector.engine import (
    ENGINE_DTYPES,
    INTEGER_DTYPES,
    bit_dtype,
    bit_words,
    check_shapes,
    check_tile,
    output_dtype,
    read,
    write,
)
from bitpath.golden.trainium3.vector.operators import BIT_OPERATORS, GPSIMD_OPERATORS, INTEGER_OPERATORS, OPERATORS

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
