"""Reductions of collectives: the tensors of several ranks, added by their DMA engines in an algorithm's order.

    mesh    (s0 + s1 + s2 + s3) + (s4 + s5 + s6 + s7) + ...        4 ranks a chip
    ring    ((s[c + 1] + s[c + 2]) + ...) + s[c]                   chunk c of N; the ranks count modulo N

The operations of a pair of parentheses are in FP32, and its result is rounded to the tensors' dtype. Results are bit-identical to
`bitpath.golden.trainium3.exact.reduce_ranks`.

Ref: "Intra-node Collective Communications with AWS Neuron", AWS Neuron documentation, 2025-12-02.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial, reduce

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked
from bitpath.golden.scalar.checked import check_length, integer, member
from bitpath.golden.trainium3.declarations.dma import CHIP_CORES, MAX_SOURCES, CollectiveAlgorithm
from bitpath.golden.trainium3.dma.compute import dma_compute
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, from_fp32, to_fp32

_OPERATORS = ("add", "max", "min")


@checked
def reduce_ranks(
    srcs: Sequence[np.ndarray],
    op: str = "add",
    *,
    algorithm: CollectiveAlgorithm | str = CollectiveAlgorithm.MESH,
    chip: int = 4,
    ranks: Sequence[int] | None = None,
    source: str | None = None,
) -> np.ndarray:
    """Return the reduction of the ranks' tensors, of their shape and dtype.

    Parameters
    ----------
    srcs : an array of each rank, in the order of the group, of one shape and dtype that `cast` takes.
    op : "add", "max" or "min".
    algorithm : order of the operations: a member, or "mesh" or "ring".
    chip : ranks of a chip, 1 to 8, for the mesh; at most 16 chips.
    ranks : number of each rank, which is on chip ``number // chip``; from 0 on by default.
    source : "tf32" if the arrays are float32 words that hold TF32, else None.

    Raises
    ------
    TypeError : another dtype.
    ValueError : no arrays, more chips, different shapes, another operator.
    """
    check_length("srcs", srcs)
    check_choice("op", op, _OPERATORS)
    algorithm = member("algorithm", algorithm, CollectiveAlgorithm)
    integer("chip", chip, range(1, CHIP_CORES + 1))
    ranks = range(len(srcs)) if ranks is None else ranks
    check_length("ranks", ranks, len(srcs), ", one for each of srcs")
    for number, each in enumerate(srcs):
        check_array(f"srcs[{number}]", each, *(CAST_DTYPES.values() if number == 0 else [srcs[0].dtype]))
        check_shape(f"srcs[{number}]", each, *srcs[0].shape, why=", that of srcs[0]")
    combine = partial(_combined, op=op, source=source)
    if algorithm is CollectiveAlgorithm.MESH:
        parted: dict[int, list[np.ndarray]] = defaultdict(list)
        for rank, each in zip(ranks, srcs, strict=True):
            parted[rank // chip].append(each)
        if len(parted) > MAX_SOURCES:
            raise ValueError(f"srcs must be of at most {MAX_SOURCES} chips with the mesh, not of {len(parted)}")
        return combine([combine(each) for each in parted.values()])
    count = len(srcs)
    parts = [np.array_split(each.reshape(-1), count) for each in srcs]
    order = [[parts[(chunk + 1 + step) % count][chunk] for step in range(count)] for chunk in range(count)]
    chunks = [reduce(lambda received, own: combine([received, own]), each) for each in order]
    return np.concatenate(chunks).reshape(srcs[0].shape)


def _combined(some: Sequence[np.ndarray], *, op: str, source: str | None) -> np.ndarray:
    dtype = some[0].dtype if source is None else source
    if op == "add":
        return dma_compute(some, dtype, sources=[source] * len(some))
    function = fp32.maximum if op == "max" else fp32.minimum
    return from_fp32(reduce(function, [to_fp32(each, source) for each in some]), dtype)
