"""dropout: elements of a tile replaced by zero at random.

Bit-identical to `bitpath.golden.trainium3.exact.dropout_element`.

Ref: ``nki.isa.dropout`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked
from bitpath.golden.trainium3.vector.engine import (
    ENGINE_DTYPES,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    bit_words,
    check_tile,
    read_operand,
)
from bitpath.golden.trainium3.vector.xorwow import Xorwow, unit_numbers


@checked
def dropout(source: Xorwow, data: np.ndarray, prob: float | np.ndarray) -> np.ndarray:
    """Return a tile with +0 where ``u < prob``; u is `rand2`'s number in [0, 1) for the element. Nothing is rescaled.

    The other elements keep their bits. A probability of 0 keeps all elements, 1 none; NaN drops them.

    Parameters
    ----------
    source : generators, a lane for each partition; every element takes a number of its lane.
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    prob : a number, rounded to FP32, or an array [P, 1], of float32 for integers, else of a floating-point dtype.

    Returns
    -------
    [P, F] of data's dtype.

    Raises
    ------
    TypeError, ValueError : no `Xorwow`, another dtype or shape, or another number of lanes.
    """
    check_tile("data", data, *ENGINE_DTYPES)
    if source.lanes != len(data):
        raise ValueError(f"source must have {len(data)} lanes, one for each partition of data, not {source.lanes}")
    if isinstance(prob, np.ndarray):
        check_array("prob", prob, *((np.float32,) if data.dtype in INTEGER_DTYPES else FLOAT_DTYPES))
    threshold = read_operand("prob", prob, len(data))
    words = bit_words(data)
    kept = unit_numbers(source, data.shape[1]) >= threshold
    return np.where(kept, words, words.dtype.type(0)).view(data.dtype)
