"""The layer's instructions, which name what they wait for."""

from collections.abc import Callable
from functools import partial

import numpy as np

from bitpath.golden.trainium3.core.layer_places import (
    BFLOAT16,
    BYTE,
    EPS_AT,
    FLOAT32,
    GAMMA_AT,
    HBM_COPY,
    HBM_GAMMA,
    HBM_HIDDEN,
    HBM_OTHER,
    HBM_PART,
    HBM_SCALE,
    HBM_WEIGHT,
    HIDDEN,
    HIDDEN_AT,
    INTERLEAVED_AT,
    INVERSE_AT,
    NORMALISED_AT,
    ONES_AT,
    OTHER_RUNS,
    OUTPUT,
    OUTPUTS,
    PARTS,
    PRODUCTS_AT,
    ROWS,
    SCALES_AT,
    SUM_AT,
    TOKENS,
    WEIGHT_SCALES_AT,
    WEIGHTS_AT,
    WORD,
    WORDS_AT,
    hbm,
    product,
    psum,
    sbuf,
    scales,
)
from bitpath.golden.trainium3.core.program import Compute, Instruction, Operand, Transfer
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.matmul.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.matmul.transpose import nc_transpose
from bitpath.golden.trainium3.memory.access_pattern import HbmPattern
from bitpath.golden.trainium3.operands.layout import pack_x4, scatter_scale, unpack_x4
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName, quantize_mx
from bitpath.golden.trainium3.rmsnorm.rmsnorm import eps_in_compute
from bitpath.golden.trainium3.tensor.issue import tensor_cycles
from bitpath.golden.trainium3.vector.activation import activation, activation_reduce
from bitpath.golden.trainium3.vector.cycles import engine_cycles
from bitpath.golden.trainium3.vector.scalar_tensor_tensor import scalar_tensor_tensor
from bitpath.golden.trainium3.vector.tensor_copy import EngineName, tensor_copy

_EVICTORS: tuple[EngineName, ...] = ("vector", "scalar")


def layer_program(dtype: np.dtype, rule: ScaleRuleName) -> list[Instruction]:
    """Return the instructions of the layer, with elements of an MX dtype."""
    return [*_loads(), *_normalise(), *_transposes(), _quantise(dtype, rule), *_products(dtype), *_sums()]


def _loads() -> list[Instruction]:
    loads: list[Instruction] = [
        Transfer(
            name="load hidden",
            destination=sbuf(BFLOAT16, TOKENS, HIDDEN_AT, (1, HIDDEN), dma=True),
            source=hbm(BFLOAT16, HBM_HIDDEN, TOKENS, HIDDEN),
        ),
        Transfer(
            name="load gamma",
            destination=sbuf(BFLOAT16, 1, GAMMA_AT, (1, HIDDEN), dma=True),
            source=hbm(BFLOAT16, HBM_GAMMA, 1, HIDDEN),
        ),
    ]
    for part, (_, partitions, start) in enumerate(PARTS):
        loads.append(
            Transfer(
                name=f"load weights {part}",
                destination=sbuf(WORD, partitions, WEIGHTS_AT, (1, OUTPUTS), start=start, dma=True),
                source=hbm(WORD, HBM_WEIGHT + part * (1 << 17), partitions, OUTPUTS),
                queue=1,
                engine="scalar",
            )
        )
    for quadrant in range(ROWS // 32):
        loads.append(
            Transfer(
                name=f"load scales {quadrant}",
                destination=sbuf(BYTE, 4, WEIGHT_SCALES_AT, (1, OUTPUTS), start=32 * quadrant, dma=True),
                source=hbm(BYTE, HBM_SCALE + quadrant * 4 * OUTPUTS, 4, OUTPUTS),
                queue=1,
                engine=("scalar", "sync")[quadrant % 2],
            )
        )
    other = Transfer(
        name="other traffic",
        # Every second run of the destination, so that each run is a descriptor.
        destination=Operand(
            "hbm", HbmPattern(BYTE, HBM_COPY, ((2 * OTHER_RUNS[1], OTHER_RUNS[0]), (1, OTHER_RUNS[1])))
        ),
        source=hbm(BYTE, HBM_OTHER, *OTHER_RUNS),
        queue=3,
        mode="none",
    )
    return [*loads, other]


def _normalise() -> list[Instruction]:
    """RMSNorm: sum of squares and factor on ScalarE, gamma by a matmul of ones, both products on VectorE."""
    hidden, gamma = sbuf(BFLOAT16, TOKENS, HIDDEN_AT, (1, HIDDEN)), sbuf(BFLOAT16, 1, GAMMA_AT, (1, HIDDEN))
    ones, eps = sbuf(BFLOAT16, 1, ONES_AT, (1, TOKENS)), sbuf(BFLOAT16, TOKENS, EPS_AT, (1, 1))
    total, inverse = (sbuf(FLOAT32, TOKENS, byte, (1, 1)) for byte in (SUM_AT, INVERSE_AT))
    spread = psum(FLOAT32, TOKENS, 0, HIDDEN)
    normalised = sbuf(BFLOAT16, TOKENS, NORMALISED_AT, (1, HIDDEN))
    eps_code = eps_in_compute(float(TRAINIUM3_RMSNORM_QUANT.numerics.eps))
    return [
        Compute(
            name="set constants",
            engine="gpsimd",
            reads=(),
            writes=(ones, eps),
            compute=lambda: (np.ones((1, TOKENS), BFLOAT16), np.full((TOKENS, 1), eps_code)),
            cycles=engine_cycles("gpsimd", "tensor_scalar", TOKENS, (BFLOAT16, BFLOAT16), ("sbuf", "sbuf")),
        ),
        Compute(
            name="sum of squares",
            engine="scalar",
            reads=(hidden,),
            writes=(total,),
            compute=lambda tile: activation_reduce(tile, "square", reduce_op="add")[1],
            cycles=engine_cycles(
                "scalar", "activation_reduce", HIDDEN, (BFLOAT16, FLOAT32), ("sbuf", "sbuf"), read_register=True
            ),
            after=("load hidden",),
        ),
        Compute(
            name="inverse root",
            engine="scalar",
            reads=(total, eps),
            writes=(inverse,),
            compute=lambda total, eps: activation(total, "rsqrt", scale=1 / HIDDEN, bias=eps),
            cycles=engine_cycles("scalar", "activation", 1, (FLOAT32, FLOAT32), ("sbuf", "sbuf")),
            after=("set constants",),
        ),
        Compute(
            name="spread gamma",
            engine="tensor",
            reads=(ones, gamma),
            writes=(spread,),
            compute=nc_matmul,
            cycles=tensor_cycles("matmul", TOKENS, HIDDEN, BFLOAT16),
            after=("set constants", "load gamma"),
        ),
        Compute(
            name="normalise",
            engine="vector",
            reads=(hidden, inverse, spread),
            writes=(normalised,),
            compute=lambda tile, factor, gamma: scalar_tensor_tensor(
                tile, "multiply", factor, "multiply", gamma, dtype=BFLOAT16
            ),
            cycles=engine_cycles(
                "vector", "scalar_tensor_tensor", HIDDEN, (BFLOAT16, FLOAT32, BFLOAT16), ("sbuf", "psum", "sbuf")
            ),
            after=("inverse root", "spread gamma"),
        ),
    ]


def _transposes() -> list[Instruction]:
    """K to the partitions: eight transposes into two banks, whose results VectorE and ScalarE interleave into x4 words."""
    made: list[Instruction] = []
    for part, (first, partitions, start) in enumerate(PARTS):
        for i in range(4):
            number = 4 * part + i
            byte = NORMALISED_AT + 2 * (first + partitions * i)
            place = psum(BFLOAT16, partitions, 1 + number % 2, TOKENS, offset=TOKENS * (number // 2))
            engine = _EVICTORS[number % 2]
            made += [
                Compute(
                    name=f"transpose {number}",
                    engine="tensor",
                    reads=(sbuf(BFLOAT16, TOKENS, byte, (1, partitions)),),
                    writes=(place,),
                    compute=nc_transpose,
                    cycles=tensor_cycles("transpose", partitions, TOKENS, BFLOAT16),
                    after=("normalise",),
                    transpose=True,
                ),
                Compute(
                    name=f"evict {number}",
                    engine=engine,
                    reads=(place,),
                    writes=(sbuf(BFLOAT16, partitions, INTERLEAVED_AT + 2 * i, (4, TOKENS), start=start),),
                    compute=partial(tensor_copy, engine=engine),
                    cycles=engine_cycles(engine, "tensor_copy", TOKENS, (BFLOAT16, BFLOAT16), ("psum", "sbuf"), (2, 8)),
                    after=(f"transpose {number}",),
                ),
            ]
    return made


def _quantise(dtype: np.dtype, rule: ScaleRuleName) -> Instruction:
    def quantise(tile: np.ndarray) -> tuple[np.ndarray, ...]:
        data, scale = quantize_mx(tile, dtype, scale_rule=rule)
        return pack_x4(data), *(scale[4 * quadrant : 4 * quadrant + 4] for quadrant in range(len(scale) // 4))

    return Compute(
        name="quantise",
        engine="vector",
        reads=(sbuf(BFLOAT16, ROWS, INTERLEAVED_AT, (1, 4 * TOKENS)),),
        writes=(
            sbuf(WORD, ROWS, WORDS_AT, (1, TOKENS)),
            *(scales(SCALES_AT, quadrant, TOKENS) for quadrant in range(ROWS // 32)),
        ),
        compute=quantise,
        cycles=engine_cycles("vector", "quantize_mx", 4 * TOKENS, (BFLOAT16, dtype), ("sbuf", "sbuf")),
        after=[f"evict {number}" for number in range(4 * len(PARTS))],
    )


def _products(dtype: np.dtype) -> list[Instruction]:
    """Both parts side by side on row tiles of their own; VectorE copies the results to SBUF."""
    made: list[Instruction] = []
    for part, (_, partitions, start) in enumerate(PARTS):
        quadrants = range(start // 32, (start + partitions) // 32)
        made.append(
            Compute(
                name=f"multiply {part}",
                engine="tensor",
                reads=(
                    sbuf(WORD, partitions, WORDS_AT, (1, TOKENS), start=start),
                    sbuf(WORD, partitions, WEIGHTS_AT, (1, OUTPUTS), start=start),
                    *(scales(SCALES_AT, quadrant, TOKENS) for quadrant in quadrants),
                    *(scales(WEIGHT_SCALES_AT, quadrant, OUTPUTS) for quadrant in quadrants),
                ),
                writes=(product(part),),
                compute=_multiply(dtype, start, partitions),
                cycles=tensor_cycles("mx", TOKENS, OUTPUTS, dtype),
                after=("quantise", f"load weights {part}", *(f"load scales {quadrant}" for quadrant in quadrants)),
                tile=(start, 0, partitions, TOKENS),
            )
        )
    for part in range(len(PARTS)):
        made.append(
            Compute(
                name=f"copy product {part}",
                engine="vector",
                reads=(product(part),),
                writes=(sbuf(FLOAT32, TOKENS, PRODUCTS_AT[part], (1, OUTPUTS)),),
                compute=tensor_copy,
                cycles=engine_cycles("vector", "tensor_copy", OUTPUTS, (FLOAT32, FLOAT32), ("psum", "sbuf")),
                after=(f"multiply {part}",),
            )
        )
    return made


def _multiply(dtype: np.dtype, start: int, partitions: int) -> Callable[..., np.ndarray]:
    def multiply(x: np.ndarray, weight: np.ndarray, *scales: np.ndarray) -> np.ndarray:
        count = len(scales) // 2
        stationary, moving = (unpack_x4(words, dtype).reshape(partitions, -1, 4) for words in (x, weight))
        x_scale, weight_scale = (scatter_scale(np.vstack(each)) for each in (scales[:count], scales[count:]))
        tiling = (start, 0), (partitions, TOKENS)
        return nc_matmul_mx(stationary, moving, x_scale, weight_scale, tile_position=tiling[0], tile_size=tiling[1])

    return multiply


def _sums() -> list[Instruction]:
    """The second part to HBM and back onto the first; the sum to HBM in BF16, which swdge casts."""
    first, second = (sbuf(FLOAT32, TOKENS, byte, (1, OUTPUTS), dma=True) for byte in PRODUCTS_AT)
    partial_sum = hbm(FLOAT32, HBM_PART, TOKENS, OUTPUTS)
    return [
        Transfer(name="store part", destination=partial_sum, source=second, queue=2, after=("copy product 1",)),
        Transfer(
            name="add part",
            destination=first,
            source=partial_sum,
            queue=2,
            add=True,
            after=("store part", "copy product 0"),
        ),
        Transfer(
            name="store output",
            destination=OUTPUT,
            source=first,
            engine="gpsimd",
            after=("add part",),
        ),
    ]
