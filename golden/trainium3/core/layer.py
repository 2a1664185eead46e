"""A layer from HBM back to HBM on one core: RMSNorm, QuantizeMX, and an MX matmul whose K is cut into two parts.

The parts are those that two cores would have, 256 and 128 of K, on partitions 0 to 63 and 64 to 95. DMA brings the operands in,
adds the parts' products by read-add-write, and takes the sum back, while a copy within HBM has a traffic class of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32, MX_FORMATS
from bitpath.golden.trainium3.core.core import Core, CoreReport
from bitpath.golden.trainium3.core.program import Compute, Instruction, Operand, Transfer
from bitpath.golden.trainium3.core.rmsnorm import eps_in_compute
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES, QueueConfig, TrafficClass
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul, nc_transpose
from bitpath.golden.trainium3.matmul.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern
from bitpath.golden.trainium3.operands.layout import pack_x4, scatter_scale, to_partitions, unpack_x4
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName, quantize_mx, quantize_offline
from bitpath.golden.trainium3.tensor.issue import tensor_cycles
from bitpath.golden.trainium3.vector.activation import activation, activation_reduce
from bitpath.golden.trainium3.vector.elementwise import EngineName, scalar_tensor_tensor, tensor_copy
from bitpath.golden.trainium3.vector.rates import engine_cycles

# Places of the layer's tensors in SBUF, PSUM and HBM.


TOKENS, HIDDEN, OUTPUTS = 128, 384, 512
"""Rows of the hidden states, their size, and columns of the weights."""
PARTS = ((0, 64, 0), (256, 32, 64))
"""First k of each part, its partitions, and the first of these; element i of partition p is k = first + partitions * i + p."""
BFLOAT16, FLOAT32, WORD, BYTE = DTYPES[BF16], DTYPES[FP32], np.dtype(np.uint32), np.dtype(np.uint8)
ROWS = sum(partitions for _, partitions, _ in PARTS)


def sbuf(
    dtype: np.dtype, partitions: int, byte: int, *pairs: tuple[int, int], start: int = 0, dma: bool = False
) -> Operand:
    """Return pairs of elements from a byte of SBUF's partitions on."""
    return Operand("sbuf", AccessPattern(dtype, start, partitions, byte // dtype.itemsize, pairs, dma=dma))


def psum(dtype: np.dtype, partitions: int, bank: int, columns: int, offset: int = 0) -> Operand:
    """Return columns of a bank of PSUM, from element `offset` of it on."""
    return Operand(
        "psum", AccessPattern(dtype, 0, partitions, bank * PSUM_BANK_BYTES // dtype.itemsize + offset, ((1, columns),))
    )


def hbm(dtype: np.dtype, byte: int, rows: int, columns: int) -> Operand:
    """Return a matrix in HBM, row after row."""
    return Operand("hbm", HbmPattern(dtype, byte // dtype.itemsize, ((columns, rows), (1, columns))))


# Bytes of a partition of SBUF.
HIDDEN_AT, GAMMA_AT, NORMALISED_AT, INTERLEAVED_AT, WORDS_AT, SCALES_AT = 0, 1024, 2048, 3072, 4096, 5120
WEIGHTS_AT, WEIGHT_SCALES_AT, PRODUCTS_AT = 8192, 10240, (12288, 14336)
ONES_AT, EPS_AT, SUM_AT, INVERSE_AT = 11264, 11776, 11780, 11784
# Bytes of HBM.
HBM_HIDDEN, HBM_GAMMA, HBM_WEIGHT, HBM_SCALE, HBM_PART, HBM_OUT = 0, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21
HBM_OTHER, HBM_COPY, HBM_BYTES = 1 << 22, 5 << 20, 7 << 20
OTHER_RUNS = (256, 4096)
"""Runs of the copy within HBM, and bytes of each."""


def scales(byte: int, quadrant: int, columns: int) -> Operand:
    """Return the four rows of scales in a quadrant of SBUF."""
    return sbuf(BYTE, 4, byte, (1, columns), start=32 * quadrant)


def product(part: int) -> Operand:
    """Return a part's product in PSUM, in a bank of its own."""
    return psum(FLOAT32, TOKENS, 5 + part, OUTPUTS)


OUTPUT = hbm(BFLOAT16, HBM_OUT, TOKENS, OUTPUTS)
"""The layer's result."""


# The layer's instructions, which name what they wait for.


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


FORMATS = ("mxfp8_e4m3", "mxfp8_e5m2")
QUEUES = (
    QueueConfig(priority=0, traffic_class=0),
    QueueConfig(priority=1, traffic_class=1),
    QueueConfig(priority=2, traffic_class=2),
    QueueConfig(priority=3, traffic_class=3),
    *DEFAULT_QUEUES[4:],
)
"""Hidden states, weights, partial sums, and the other traffic."""
CLASSES = (*DEFAULT_CLASSES[:3], TrafficClass(rate256=1760, burst=4096))
"""The other traffic has a quarter of an engine's 27.5 bytes a cycle."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerResult:
    """Results of a layer, with its report.

    Attributes
    ----------
    output : bfloat16 [128, 512].
    normalised : bfloat16 [128, 384], RMSNorm's result in SBUF.
    words, scales : QuantizeMX's x4 words, uint32 [96, 128], and uint8 [12, 128].
    parts : float32 [2, 128, 512], the products of the parts of K before they are added.
    report : times.
    """

    output: np.ndarray
    normalised: np.ndarray
    words: np.ndarray
    scales: np.ndarray
    parts: np.ndarray
    report: CoreReport


@checked
def prepare_layer(
    hidden: np.ndarray,
    gamma: np.ndarray,
    weight: np.ndarray,
    *,
    format: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    shaping: bool = True,
    qos: bool = True,
) -> tuple[Core, list[Instruction]]:
    """Return a core with the layer's tensors in HBM, and the layer's program; see `run_layer`."""
    check_array("hidden", hidden, BFLOAT16)
    check_array("gamma", gamma, BFLOAT16)
    check_array("weight", weight, FLOAT32)
    for name, array, shape in (
        ("hidden", hidden, (TOKENS, HIDDEN)),
        ("gamma", gamma, (HIDDEN,)),
        ("weight", weight, (HIDDEN, OUTPUTS)),
    ):
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    check_choice("format", format, FORMATS)
    dtype = DTYPES[MX_FORMATS[format].element]
    queues = QUEUES if qos else tuple(QueueConfig(traffic_class=each.traffic_class) for each in QUEUES)
    core = Core(hbm_bytes=HBM_BYTES, queues=queues, classes=CLASSES if shaping else DEFAULT_CLASSES)
    core.write(hbm(BFLOAT16, HBM_HIDDEN, TOKENS, HIDDEN), hidden)
    core.write(hbm(BFLOAT16, HBM_GAMMA, 1, HIDDEN), gamma.reshape(1, -1))
    for part, (first, partitions, start) in enumerate(PARTS):
        words, scale = _weight(weight[first : first + 4 * partitions], dtype, scale_rule)
        core.write(hbm(WORD, HBM_WEIGHT + part * (1 << 17), partitions, OUTPUTS), words)
        for quadrant in range(partitions // 32):
            place = hbm(BYTE, HBM_SCALE + (start // 32 + quadrant) * 4 * OUTPUTS, 4, OUTPUTS)
            core.write(place, scale[4 * quadrant : 4 * quadrant + 4])
    other = np.arange(OTHER_RUNS[0] * OTHER_RUNS[1], dtype=np.uint8).reshape(OTHER_RUNS)
    core.write(hbm(BYTE, HBM_OTHER, *OTHER_RUNS), other)
    return core, layer_program(dtype, scale_rule)


@checked
def run_layer(
    hidden: np.ndarray,
    gamma: np.ndarray,
    weight: np.ndarray,
    *,
    format: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    shaping: bool = True,
    qos: bool = True,
) -> LayerResult:
    """Compute ``rmsnorm(hidden, gamma) @ weight`` on a core.

    Parameters
    ----------
    hidden, gamma : bfloat16 [128, 384] and [384].
    weight : float32 [384, 512], quantised on the host.
    format : "mxfp8_e4m3" or "mxfp8_e5m2", the format of both operands.
    scale_rule : as `quantize_mx`.
    shaping, qos : whether the traffic classes have their limits, and the queues their priorities. No effect on values.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, format or rule.
    """
    core, program = prepare_layer(hidden, gamma, weight, format=format, scale_rule=scale_rule, shaping=shaping, qos=qos)
    report = core.run(program)
    rows = np.vstack([core.read(scales(SCALES_AT, quadrant, TOKENS)) for quadrant in range(ROWS // 32)])
    return LayerResult(
        output=core.read(OUTPUT),
        normalised=core.read(sbuf(BFLOAT16, TOKENS, NORMALISED_AT, (1, HIDDEN))),
        words=core.read(sbuf(WORD, ROWS, WORDS_AT, (1, TOKENS))),
        scales=rows,
        # In SBUF the sum has taken the first part's place by now.
        parts=np.stack([core.read(product(part)) for part in range(len(PARTS))]),
        report=report,
    )


def _weight(weight: np.ndarray, dtype: np.dtype, rule: ScaleRuleName) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a part's weights [4P, N] on the host; return x4 words [P, N] and scales [P/8, N]."""
    tile = to_partitions(weight)
    data, scale = quantize_offline(tile.reshape(len(tile), -1), dtype, scale_rule=rule)
    return pack_x4(data), scale
