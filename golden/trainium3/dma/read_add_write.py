"""Read-add-write, an operation of the DMA engines on the side of their destination in SBUF.

Bit-identical to `bitpath.golden.trainium3.exact.read_add_write`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.operands import fp32


@checked
def read_add_write(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return ``b + a``, each sum rounded once to nearest even: what the transfer of `a` onto `b` leaves in SBUF.

    Subnormals are kept, NaN is canonical. The transfer takes the time of a copy.

    Parameters
    ----------
    b : bfloat16 or float32 of any shape, in SBUF.
    a : the same dtype and shape, in any memory.

    Raises
    ------
    TypeError : other or different dtypes.
    ValueError : different shapes.
    """
    check_array("b", b, DTYPES[BF16], DTYPES[FP32])
    check_array("a", a, b.dtype)
    check_shape("a", a, *b.shape, why=", that of b")
    # FP32 has more than twice BF16's significand, so that a rounding to FP32 before that to BF16 changes nothing.
    return fp32.write(fp32.add(fp32.read(b), fp32.read(a)), b.dtype)
