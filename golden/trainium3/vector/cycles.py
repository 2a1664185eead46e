"""Cycles of an instruction of VectorE, ScalarE or GpSimd, from `CORE_RATES` and the performance modes.

The rules are in `bitpath.golden.trainium3.declarations.core_rates.CHOICES`. A mode changes no bit of a result.
"""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_flag, checked, integer
from bitpath.golden.trainium3.declarations.core_rates import CORE_RATES
from bitpath.golden.trainium3.operands.cast import TF32_NAME
from bitpath.golden.trainium3.vector.engine import output_dtype

_TWO_TENSORS = ("tensor_tensor", "scalar_tensor_tensor")
OPERATIONS = {
    "vector": (
        "tensor_copy",
        "tensor_scalar",
        "tensor_scalar_reduce",
        "tensor_reduce",
        "exponential",
        "quantize_mx",
        "reciprocal",
        "rand2",
        "transpose",
        *_TWO_TENSORS,
    ),
    "scalar": ("tensor_copy", "tensor_scalar", "activation", "activation_reduce", "activate2"),
    "gpsimd": ("tensor_copy", "tensor_scalar", *_TWO_TENSORS),
}
"""Instructions of each engine."""
_NO_SOURCE = ("rand2",)
MAX_ELEMENTS = 65536
"""Elements of SBUF's partition, by bytes of 32-bit elements."""


@checked
def engine_cycles(
    engine: str,
    op: str,
    n: int,
    dtypes: Sequence[Any],
    places: Sequence[str],
    inner_bytes: Sequence[int] | None = None,
    *,
    indirect: bool = False,
    read_register: bool = False,
) -> int:
    """Return the cycles of one instruction at 1.2 GHz.

    Parameters
    ----------
    engine, op : a name of `OPERATIONS`, and an instruction of it.
    n : elements of a partition in an operand.
    dtypes : of the tensor operands, then of the result; numpy dtypes or "tf32".
    places : "sbuf" or "psum" of the same tensors.
    inner_bytes : the innermost stride of each in bytes; None if all are contiguous.
    indirect : True if an operand is gathered or the result scattered.
    read_register : True if the result of a reduction is read out of its registers.

    Raises
    ------
    TypeError, ValueError : another engine, instruction, dtype or place; not a dtype, place and stride for each tensor; PSUM on
        GpSimd.
    """
    rates = CORE_RATES.numerics
    check_choice("engine", engine, OPERATIONS)
    check_choice(f"op of {engine}", op, OPERATIONS[engine])
    n = integer("n", n, range(1, MAX_ELEMENTS + 1))
    inputs = 2 if op in _TWO_TENSORS else 0 if op in _NO_SOURCE else 1
    sizes = [_size(each) for each in dtypes]
    strides = [size for size, _ in sizes] if inner_bytes is None else list(inner_bytes)
    for name, given in (("dtypes", dtypes), ("places", places), ("inner_bytes", strides)):
        if len(given) != inputs + 1:
            raise ValueError(f"{name} must have {inputs + 1} entries for {op}, not {len(given)}")
    for place in places:
        check_choice("place", place, ("sbuf", "psum"))
    for name, flag in (("indirect", indirect), ("read_register", read_register)):
        check_flag(name, flag)
    strides = [abs(integer("inner_bytes", each, range(-(1 << 17), 1 << 17))) for each in strides]
    if engine == "gpsimd":
        if "psum" in places:
            raise ValueError(f"places must be 'sbuf' on gpsimd, which does not reach PSUM, not {tuple(places)}")
        return rates.gpsimd_start + n
    narrow = all(small for _, small in sizes)
    contiguous = all(stride == size for stride, (size, _) in zip(strides, sizes, strict=True))
    if op == "reciprocal":
        cycles = rates.reciprocal_cycles * n
    elif op == "rand2":
        cycles = ceil(n / rates.random_words)
    else:
        width = _width(engine, op, narrow, contiguous and "psum" not in places)
        if max(strides) > rates.stride_bytes:
            width = max(1, width // 2)
        cycles = inputs * ceil(n / (1 if indirect else width))
    return max(rates.interval, cycles) + (rates.read_register if read_register else 0)


def _width(engine: str, op: str, narrow: bool, fast: bool) -> int:
    """Return w, the elements of a lane and cycle; `fast` operands lie in SBUF without stride."""
    rates = CORE_RATES.numerics
    if engine == "scalar":
        mode = op in ("tensor_copy", "tensor_scalar") and narrow
        return rates.scalar_narrow if mode else rates.scalar_wide
    if op == "transpose":
        return 1
    return rates.vector_narrow if narrow and fast and op not in _TWO_TENSORS else rates.vector_wide


def _size(dtype: Any) -> tuple[int, bool]:
    """Return an element's bytes, and whether it is a float of 16 or 8 bits."""
    found = output_dtype(dtype)
    if found == TF32_NAME:
        return 4, False
    found = np.dtype(found)
    return found.itemsize, found.kind not in "iu" and found.itemsize < 4
