"""Rules of sizes, dtypes and operators: a kernel that breaks each, with the sentence, and one that just does not."""

import numpy as np

from bitpath.golden import nki
from bitpath.verif.nki.machine.one_instruction import (
    check_allowed,
    check_broken,
    column,
    halves,
    hbm,
    in_hbm,
    integers,
    matmul,
    one,
    psum,
    quantize,
    sbuf,
    tile,
)

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

ADD = nl.add


def select(bound="float32", **more):
    x = sbuf(4, 8)
    nisa.range_select(x, x, nl.greater_equal, nl.less, sbuf(4, 1, dtype=bound), sbuf(4, 1), **more)


def gather_add(sources=1, **more):
    """Add rows of HBM that indices name to a tile, and the tile itself once or more."""
    rows = hbm(4, 8).ap([[8, 4], [1, 8]], vector_offset=sbuf(4, 1, dtype="int32"))
    made = sbuf(4, 8)
    nisa.dma_compute(made, [rows] + [made] * sources, ADD, **more)


RULES = {
    "sources with indices": (
        lambda: gather_add(2),
        "dma_compute srcs: must be 2 tensors where one has indices, not 3",
        gather_add,
    ),
    "indices that repeat": (
        lambda: gather_add(unique_indices=False),
        "dma_compute unique_indices: must be True",
        lambda: gather_add(unique_indices=True),
    ),
    # Sizes.
    "memset's engine": (
        lambda: nisa.memset(sbuf(4, 8), 0.0, engine=nisa.engine.tensor),
        "memset engine: must be vector, scalar, gpsimd or unknown, not tensor",
        lambda: nisa.memset(sbuf(4, 8), 0.0, engine=nisa.engine.scalar),
    ),
    "select_reduce in PSUM": (
        lambda: nisa.select_reduce(sbuf(4, 8), psum(4, 8, dtype="uint8"), psum(4, 8), 0.0),
        "select_reduce on_true and predicate: must not both be in PSUM",
        lambda: nisa.select_reduce(psum(4, 8), sbuf(4, 8, dtype="uint8"), psum(4, 8), 0.0),
    ),
    "columns on gen3": (
        lambda: matmul(wide=513, dst=psum(8, 1024)[:, 0:513]),
        "nc_matmul moving: 513 columns into float32 results; 512 are allowed on gen3",
        lambda: matmul(wide=512),
    ),
    "columns": (
        lambda: matmul(columns=1, wide=4097, dst=nl.ndarray((1, 4097), "float32", nl.psum)),
        r"tensor_\d+: 16388 bytes a partition do not fit into PSUM",
        lambda: matmul(columns=1, wide=4096),
    ),
    "stationary columns": (
        lambda: matmul(columns=129),
        r"tensor_\d+: shape must have 1 to 128 partitions and a free dimension, not \(129, 8\)",
        lambda: matmul(columns=128),
    ),
    "rows of the operands": (
        lambda: matmul(moving_rows=9),
        "nc_matmul moving must have stationary's K = 8, not 9",
        matmul,
    ),
    "bn_stats": (
        lambda: nisa.bn_stats(sbuf(4, 6), sbuf(4, 513)),
        "bn_stats data must have at most 512 elements for each partition, not 513",
        lambda: nisa.bn_stats(sbuf(4, 6), sbuf(4, 512)),
    ),
    "bn_aggr": (
        lambda: nisa.bn_aggr(sbuf(4, 2), sbuf(4, 7)),
        "bn_aggr .*7",
        lambda: nisa.bn_aggr(sbuf(4, 2), sbuf(4, 6, value=1)),
    ),
    "max8 of few": (
        lambda: nisa.max8(sbuf(4, 8), sbuf(4, 7)),
        "max8 .*8 to 16384.*7",
        lambda: nisa.max8(sbuf(4, 8), sbuf(4, 8)),
    ),
    "transpose on VectorE": (
        lambda: nisa.nc_transpose(sbuf(33, 32), sbuf(32, 33)),
        "nc_transpose .*32.*33",
        lambda: nisa.nc_transpose(sbuf(32, 32), sbuf(32, 32)),
    ),
    "elements of a copy": (
        lambda: nisa.tensor_copy(sbuf(4, 8), sbuf(4, 9)),
        r"tensor_copy dst: must have the elements of \(4, 9\), not \(4, 8\)",
        lambda: nisa.tensor_copy(sbuf(4, 4, 2), sbuf(4, 8)),
    ),
    "elements of a DMA": (
        lambda: nisa.dma_copy(sbuf(4, 8), hbm(4, 9)),
        r"dma_copy dst: must have the 36 elements of src, not shape \(4, 8\)",
        lambda: nisa.dma_copy(sbuf(4, 8), hbm(2, 16)),
    ),
    "scalar operand": (
        lambda: nisa.tensor_scalar(sbuf(4, 8), sbuf(4, 8), ADD, sbuf(4, 2)),
        r"tensor_scalar operand0: must have shape \(4, 1\), not \(4, 2\)",
        one(nisa.tensor_scalar, tile, tile, ADD, column),
    ),
    # Dtypes.
    "FP32 among themselves": (
        lambda: matmul(dtypes=("float32", "bfloat16")),
        "nc_matmul .*",
        lambda: matmul(dtypes=("float32",) * 2),
    ),
    "the two E4M3": (
        lambda: matmul(dtypes=("float8_e4m3", "float8_e4m3fn")),
        "nc_matmul .*",
        lambda: matmul(dtypes=("float8_e4m3", "float8_e5m2")),
    ),
    "result of FP16": (
        lambda: matmul(dst=psum(8, 8, dtype="float16")),
        "nc_matmul dst: dtype must be float32 or bfloat16, not float16",
        lambda: matmul(dst=psum(8, 8, dtype="bfloat16")),
    ),
    "source of quantize_mx": (
        lambda: quantize("float32"),
        "quantize_mx src: dtype must be bfloat16, float16, not float32",
        lambda: quantize("float16"),
    ),
    "scales of quantize_mx": (
        lambda: quantize(scales=7),
        r"quantize_mx dst_scale: must have 8 scales in each partition, not shape \(32, 7\)",
        quantize,
    ),
    "float into integers": (
        lambda: sbuf(4, 8, dtype="int32", value=0.5),
        "memset .*",
        lambda: sbuf(4, 8, dtype="int32", value=2**31 - 1),
    ),
    "x4 words": (
        lambda: sbuf(4, 8, dtype="float8_e5m2_x4", value=1),
        "memset value: must be 0 for float8_e5m2_x4, not 1",
        lambda: sbuf(4, 8, dtype="float8_e5m2_x4", value=0),
    ),
    "arithmetic on x4 words": (
        lambda: nisa.tensor_scalar(sbuf(4, 8), sbuf(4, 8, dtype="float8_e5m2_x4"), ADD, 1.0),
        "tensor_scalar data: must have single elements, not float8_e5m2_x4",
        lambda: nisa.tensor_copy(*[sbuf(4, 8, dtype="float8_e5m2_x4")] * 2),
    ),
    "scalar of arithmetic": (
        lambda: nisa.tensor_scalar(sbuf(4, 8), sbuf(4, 8), ADD, sbuf(4, 1, dtype="bfloat16")),
        "tensor_scalar operand0: dtype must be float32, not bfloat16",
        one(nisa.tensor_scalar, halves, halves, ADD, column),
    ),
    "scale of an activation": (
        lambda: nisa.activation(sbuf(4, 8), nl.exp, sbuf(4, 8), scale=sbuf(4, 1, dtype="bfloat16")),
        "activation scale: dtype must be float32, not bfloat16",
        lambda: nisa.activation(sbuf(4, 8), nl.exp, sbuf(4, 8), bias=sbuf(4, 1, dtype="bfloat16")),
    ),
    "bound of range_select": (
        lambda: select("bfloat16"),
        "range_select bound0: dtype must be float32, not bfloat16",
        select,
    ),
    "indices of a gather": (
        lambda: nisa.nc_n_gather(sbuf(4, 8), sbuf(4, 8), sbuf(4, 8, dtype="int32")),
        "nc_n_gather indices: dtype must be uint32, not int32",
        lambda: nisa.nc_n_gather(sbuf(4, 8), sbuf(4, 8), sbuf(4, 8, dtype="uint32", value=7)),
    ),
    "dtype of a transpose": (
        lambda: nisa.nc_transpose(psum(8, 4), sbuf(4, 8, dtype="bfloat16")),
        "nc_transpose dst: dtype must be data's bfloat16, not float32",
        lambda: nisa.nc_transpose(psum(8, 4, dtype="bfloat16"), sbuf(4, 8, dtype="bfloat16")),
    ),
    "bytes of a DMA transpose": (
        lambda: nisa.dma_transpose(sbuf(8, 4, dtype="uint8"), sbuf(4, 8, dtype="uint8")),
        "dma_transpose .*",
        lambda: nisa.dma_transpose(sbuf(8, 4, dtype="uint16"), sbuf(4, 8, dtype="uint16")),
    ),
    "shape of a DMA transpose": (
        lambda: nisa.dma_transpose(sbuf(4, 8), sbuf(4, 8)),
        r"dma_transpose dst: must have shape \(8, 4\), not \(4, 8\)",
        lambda: nisa.dma_transpose(sbuf(8, 4), sbuf(4, 8)),
    ),
    "cast of a hardware descriptor": (
        one(nisa.dma_copy, tile, halves, dge_mode=nisa.dge_mode.hwdge),
        "dma_copy dst: dtype must be src's bfloat16 with hwdge, not float32",
        one(nisa.dma_copy, tile, halves, dge_mode=nisa.dge_mode.swdge),
    ),
    # Operators.
    "bits of floats": (
        one(nisa.tensor_scalar, tile, tile, nl.bitwise_and, 1),
        "tensor_scalar .*",
        one(nisa.tensor_scalar, integers, integers, nl.bitwise_and, 1),
    ),
    "bits and arithmetic": (
        one(nisa.tensor_scalar, integers, integers, nl.bitwise_and, 1, op1=ADD, operand1=1.0),
        "tensor_scalar .*",
        one(nisa.tensor_scalar, integers, integers, nl.bitwise_and, 1, op1=nl.bitwise_or, operand1=2),
    ),
    "reduction of an activation": (
        lambda: nisa.activation_reduce(sbuf(4, 8), nl.exp, sbuf(4, 8), nl.maximum, sbuf(4, 1)),
        "activation_reduce reduce_op: must be add",
        lambda: nisa.activation_reduce(sbuf(4, 8), nl.exp, sbuf(4, 8), ADD, sbuf(4, 1)),
    ),
    "axis 0": (
        lambda: nisa.tensor_reduce(sbuf(1, 8), ADD, sbuf(4, 8), axis=0),
        r"tensor_reduce axis: must be the last free dimensions of shape \(4, 8\), not 0",
        lambda: nisa.tensor_reduce(sbuf(4, 1), ADD, sbuf(4, 8), axis=1),
    ),
    "a middle axis": (
        lambda: nisa.tensor_reduce(sbuf(4, 2), ADD, sbuf(4, 8, 2), axis=1),
        r"tensor_reduce axis: must be the last free dimensions of shape \(4, 8, 2\), not 1",
        lambda: nisa.tensor_reduce(sbuf(4, 2), ADD, sbuf(4, 8, 2).permute((0, 2, 1)), axis=2),
    ),
    "value of range_select": (lambda: select(on_false_value=0.0), "range_select .*", select),
    "reduction of range_select": (
        lambda: select(reduce_op=ADD),
        "range_select reduce_op: must be maximum",
        lambda: select(reduce_op=nl.maximum),
    ),
    "reduction of a DMA": (
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)], nl.multiply),
        "dma_compute reduce_op: must be add",
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)] * 16, ADD),
    ),
    "sources of a DMA": (
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)] * 17, ADD),
        "dma_compute srcs: must be 1 to 16 tensors, not 17",
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)] * 16, ADD),
    ),
    "scales of a DMA": (
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)], ADD, scales=[2.0]),
        r"dma_compute scales: must all be 1, not \[2.0\]",
        lambda: nisa.dma_compute(sbuf(4, 8), [sbuf(4, 8)], ADD, scales=[1.0]),
    ),
    "skip without indices": (
        one(nisa.dma_copy, tile, in_hbm, oob_mode=nisa.oob_mode.skip),
        "dma_copy oob_mode: skip needs indices that are read at run time",
        one(nisa.dma_copy, tile, in_hbm, oob_mode=nisa.oob_mode.error),
    ),
    "something that is no operator": (
        one(nisa.tensor_scalar, tile, tile, 3, 1.0),
        "tensor_scalar op0: must be a function of nki.language, not 3",
        one(nisa.tensor_scalar, tile, tile, np.add, 1.0),
    ),
}

OLDER = {"columns on gen3"}
"""Rules of Trainium2."""


def test_a_broken_rule_is_one_sentence_with_its_line(subtests):
    for name, (breaks, sentence, _) in RULES.items():
        with subtests.test(name):
            check_broken(breaks, sentence, "trn2" if name in OLDER else "trn3")


def test_the_nearest_that_is_allowed(subtests):
    for name, (_, _, keeps) in RULES.items():
        with subtests.test(name):
            check_allowed(keeps, "trn2" if name in OLDER else "trn3")
