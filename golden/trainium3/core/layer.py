"""A layer from HBM back to HBM on one core: RMSNorm, QuantizeMX, and an MX matmul whose K is cut into two parts.

The parts are those that two cores would have, 256 and 128 of K, on partitions 0 to 63 and 64 to 95. DMA brings the operands in,
adds the parts' products by read-add-write, and takes the sum back, while a copy within HBM has a traffic class of its own.
A smaller layer has the same instructions.
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
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
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


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of K; element i of partition p is ``k = first + partitions * i + p``.

    Attributes
    ----------
    first : its first k.
    partitions, start : its partitions, a multiple of 32, and the first of these.
    slot : its place along the free axis among the parts of the same partitions.
    """

    first: int
    partitions: int
    start: int = 0
    slot: int = 0

    @property
    def quadrants(self) -> range:
        return range(self.start // QUADRANT, (self.start + self.partitions) // QUADRANT)


@dataclass(frozen=True, kw_only=True)
class LayerSize:
    """Sizes of the layer, and the first bytes of its tensors.

    Attributes
    ----------
    tokens, outputs : rows of the hidden states, and columns of the weights.
    parts : the parts of K.
    hbm_bytes : size of HBM.
    other_runs : runs of the copy within HBM, and bytes of each.
    hidden to products : bytes of a partition of SBUF; of products one for each part.
    hbm_hidden to hbm_copy : bytes of HBM; of weights one for each part.
    """

    tokens: int = 128
    outputs: int = 512
    parts: tuple[Part, ...] = (Part(first=0, partitions=64), Part(first=256, partitions=32, start=64))
    hbm_bytes: int = 7 << 20
    other_runs: tuple[int, int] = (256, 4096)
    hidden: int = 0
    gamma: int = 1024
    normalised: int = 2048
    interleaved: int = 3072
    words: int = 4096
    scales: int = 5120
    weights: int = 8192
    weight_scales: int = 10240
    ones: int = 11264
    eps: int = 11776
    total: int = 11780
    inverse: int = 11784
    products: tuple[int, ...] = (12288, 14336)
    hbm_hidden: int = 0
    hbm_gamma: int = 1 << 17
    hbm_weights: tuple[int, ...] = (1 << 18, 3 << 17)
    hbm_scales: int = 1 << 19
    hbm_part: int = 1 << 20
    hbm_output: int = 1 << 21
    hbm_other: int = 1 << 22
    hbm_copy: int = 5 << 20

    @property
    def values(self) -> int:
        """Hidden values of a token, which are K."""
        return sum(4 * part.partitions for part in self.parts)

    @property
    def rows(self) -> int:
        """Partitions of the x4 words."""
        return max(part.start + part.partitions for part in self.parts)

    @property
    def columns(self) -> int:
        """x4 words of a partition."""
        return self.tokens * (1 + max(part.slot for part in self.parts))

    @property
    def quadrants(self) -> tuple[tuple[Part, int], ...]:
        """Each part's quadrants; the transfers of the weights' scales are numbered in this order."""
        return tuple((part, quadrant) for part in self.parts for quadrant in part.quadrants)

    @property
    def output(self) -> Operand:
        """The layer's result."""
        return hbm(BFLOAT16, self.hbm_output, self.tokens, self.outputs)


BFLOAT16, FLOAT32, WORD, BYTE = DTYPES[BF16], DTYPES[FP32], np.dtype(np.uint32), np.dtype(np.uint8)


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


LAYER = LayerSize()
"""The real layer, on all partitions."""
QUADRANT_LAYER = LayerSize(
    tokens=32,
    outputs=32,
    parts=(Part(first=0, partitions=32), Part(first=128, partitions=32, slot=1)),
    hbm_bytes=1 << 17,
    other_runs=(16, 256),
    gamma=512,
    normalised=1024,
    interleaved=1536,
    words=2048,
    products=(2304, 2432),
    scales=2560,
    weights=2624,
    weight_scales=2880,
    ones=2944,
    eps=3008,
    total=3012,
    inverse=3016,
    hbm_gamma=1 << 14,
    hbm_weights=(0x4800, 0x5800),
    hbm_scales=0x6800,
    hbm_part=1 << 15,
    hbm_output=0xA000,
    hbm_other=0xC000,
    hbm_copy=0xE000,
)
"""A layer for one quadrant and banks of 1 KiB, whose parts share the partitions."""


def scales(byte: int, quadrant: int, columns: int) -> Operand:
    """Return the four rows of scales in a quadrant of SBUF."""
    return sbuf(BYTE, 4, byte, (1, columns), start=32 * quadrant)


def product(part: int, size: LayerSize = LAYER) -> Operand:
    """Return a part's product in PSUM, in a bank of its own."""
    return psum(FLOAT32, size.tokens, 5 + part, size.outputs)


# The layer's instructions, which name what they wait for.


_EVICTORS: tuple[EngineName, ...] = ("vector", "scalar")


def layer_program(dtype: np.dtype, rule: ScaleRuleName, size: LayerSize = LAYER) -> list[Instruction]:
    """Return the instructions of the layer, with elements of an MX dtype."""
    return [
        *_loads(size),
        *_normalise(size),
        *_transposes(size),
        _quantise(dtype, rule, size),
        *_products(dtype, size),
        *_sums(size),
    ]


def _loads(size: LayerSize) -> list[Instruction]:
    loads: list[Instruction] = [
        Transfer(
            name="load hidden",
            destination=sbuf(BFLOAT16, size.tokens, size.hidden, (1, size.values), dma=True),
            source=hbm(BFLOAT16, size.hbm_hidden, size.tokens, size.values),
        ),
        Transfer(
            name="load gamma",
            destination=sbuf(BFLOAT16, 1, size.gamma, (1, size.values), dma=True),
            source=hbm(BFLOAT16, size.hbm_gamma, 1, size.values),
        ),
    ]
    for number, part in enumerate(size.parts):
        byte = size.weights + 4 * size.outputs * part.slot
        loads.append(
            Transfer(
                name=f"load weights {number}",
                destination=sbuf(WORD, part.partitions, byte, (1, size.outputs), start=part.start, dma=True),
                source=hbm(WORD, size.hbm_weights[number], part.partitions, size.outputs),
                queue=1,
                engine="scalar",
            )
        )
    for number, (part, quadrant) in enumerate(size.quadrants):
        byte = size.weight_scales + size.outputs * part.slot
        loads.append(
            Transfer(
                name=f"load scales {number}",
                destination=sbuf(BYTE, 4, byte, (1, size.outputs), start=QUADRANT * quadrant, dma=True),
                source=_weight_scales(number, size),
                queue=1,
                engine=("scalar", "sync")[number % 2],
            )
        )
    runs, length = size.other_runs
    other = Transfer(
        name="other traffic",
        # Every second run of the destination, so that each run is a descriptor.
        destination=Operand("hbm", HbmPattern(BYTE, size.hbm_copy, ((2 * length, runs), (1, length)))),
        source=hbm(BYTE, size.hbm_other, runs, length),
        queue=3,
        mode="none",
    )
    return [*loads, other]


def _weight_scales(number: int, size: LayerSize) -> Operand:
    return hbm(BYTE, size.hbm_scales + number * 4 * size.outputs, 4, size.outputs)


def _normalise(size: LayerSize) -> list[Instruction]:
    """RMSNorm: sum of squares and factor on ScalarE, gamma by a matmul of ones, both products on VectorE."""
    tokens, values = size.tokens, size.values
    hidden, gamma = sbuf(BFLOAT16, tokens, size.hidden, (1, values)), sbuf(BFLOAT16, 1, size.gamma, (1, values))
    ones, eps = sbuf(BFLOAT16, 1, size.ones, (1, tokens)), sbuf(BFLOAT16, tokens, size.eps, (1, 1))
    total, inverse = (sbuf(FLOAT32, tokens, byte, (1, 1)) for byte in (size.total, size.inverse))
    spread = psum(FLOAT32, tokens, 0, values)
    normalised = sbuf(BFLOAT16, tokens, size.normalised, (1, values))
    eps_code = eps_in_compute(float(TRAINIUM3_RMSNORM_QUANT.numerics.eps))
    return [
        Compute(
            name="set constants",
            engine="gpsimd",
            reads=(),
            writes=(ones, eps),
            compute=lambda: (np.ones((1, tokens), BFLOAT16), np.full((tokens, 1), eps_code)),
            cycles=engine_cycles("gpsimd", "tensor_scalar", tokens, (BFLOAT16, BFLOAT16), ("sbuf", "sbuf")),
        ),
        Compute(
            name="sum of squares",
            engine="scalar",
            reads=(hidden,),
            writes=(total,),
            compute=lambda tile: activation_reduce(tile, "square", reduce_op="add")[1],
            cycles=engine_cycles(
                "scalar", "activation_reduce", values, (BFLOAT16, FLOAT32), ("sbuf", "sbuf"), read_register=True
            ),
            after=("load hidden",),
        ),
        Compute(
            name="inverse root",
            engine="scalar",
            reads=(total, eps),
            writes=(inverse,),
            compute=lambda total, eps: activation(total, "rsqrt", scale=1 / values, bias=eps),
            cycles=engine_cycles("scalar", "activation", 1, (FLOAT32, FLOAT32), ("sbuf", "sbuf")),
            after=("set constants",),
        ),
        Compute(
            name="spread gamma",
            engine="tensor",
            reads=(ones, gamma),
            writes=(spread,),
            compute=nc_matmul,
            cycles=tensor_cycles("matmul", tokens, values, BFLOAT16),
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
                "vector", "scalar_tensor_tensor", values, (BFLOAT16, FLOAT32, BFLOAT16), ("sbuf", "psum", "sbuf")
            ),
            after=("inverse root", "spread gamma"),
        ),
    ]


def _transposes(size: LayerSize) -> list[Instruction]:
    """K to the partitions: four transposes of each part into two banks, which VectorE and ScalarE interleave to x4 words."""
    made: list[Instruction] = []
    tokens = size.tokens
    for part_number, part in enumerate(size.parts):
        for i in range(4):
            number = 4 * part_number + i
            byte = size.normalised + 2 * (part.first + part.partitions * i)
            place = psum(BFLOAT16, part.partitions, 1 + number % 2, tokens, offset=tokens * (number // 2))
            to = size.interleaved + 8 * tokens * part.slot + 2 * i
            engine = _EVICTORS[number % 2]
            made += [
                Compute(
                    name=f"transpose {number}",
                    engine="tensor",
                    reads=(sbuf(BFLOAT16, tokens, byte, (1, part.partitions)),),
                    writes=(place,),
                    compute=nc_transpose,
                    cycles=tensor_cycles("transpose", part.partitions, tokens, BFLOAT16),
                    after=("normalise",),
                    transpose=True,
                ),
                Compute(
                    name=f"evict {number}",
                    engine=engine,
                    reads=(place,),
                    writes=(sbuf(BFLOAT16, part.partitions, to, (4, tokens), start=part.start),),
                    compute=partial(tensor_copy, engine=engine),
                    cycles=engine_cycles(engine, "tensor_copy", tokens, (BFLOAT16, BFLOAT16), ("psum", "sbuf"), (2, 8)),
                    after=(f"transpose {number}",),
                ),
            ]
    return made


def _quantise(dtype: np.dtype, rule: ScaleRuleName, size: LayerSize) -> Instruction:
    def quantise(tile: np.ndarray) -> tuple[np.ndarray, ...]:
        data, scale = quantize_mx(tile, dtype, scale_rule=rule)
        return pack_x4(data), *(scale[4 * quadrant : 4 * quadrant + 4] for quadrant in range(len(scale) // 4))

    columns = size.columns
    return Compute(
        name="quantise",
        engine="vector",
        reads=(sbuf(BFLOAT16, size.rows, size.interleaved, (1, 4 * columns)),),
        writes=(
            sbuf(WORD, size.rows, size.words, (1, columns)),
            *(scales(size.scales, quadrant, columns) for quadrant in range(size.rows // QUADRANT)),
        ),
        compute=quantise,
        cycles=engine_cycles("vector", "quantize_mx", 4 * columns, (BFLOAT16, dtype), ("sbuf", "sbuf")),
        after=[f"evict {number}" for number in range(4 * len(size.parts))],
    )


def _products(dtype: np.dtype, size: LayerSize) -> list[Instruction]:
    """Parts on row tiles of their own run side by side; VectorE copies the results to SBUF."""
    made: list[Instruction] = []
    tokens, outputs = size.tokens, size.outputs
    for number, part in enumerate(size.parts):
        words, weights = size.words + 4 * tokens * part.slot, size.weights + 4 * outputs * part.slot
        x_scales, weight_scales = size.scales + tokens * part.slot, size.weight_scales + outputs * part.slot
        loads = [f"load scales {each}" for each, (own, _) in enumerate(size.quadrants) if own == part]
        made.append(
            Compute(
                name=f"multiply {number}",
                engine="tensor",
                reads=(
                    sbuf(WORD, part.partitions, words, (1, tokens), start=part.start),
                    sbuf(WORD, part.partitions, weights, (1, outputs), start=part.start),
                    *(scales(x_scales, quadrant, tokens) for quadrant in part.quadrants),
                    *(scales(weight_scales, quadrant, outputs) for quadrant in part.quadrants),
                ),
                writes=(product(number, size),),
                compute=_multiply(dtype, part),
                cycles=tensor_cycles("mx", tokens, outputs, dtype),
                after=("quantise", f"load weights {number}", *loads),
                tile=(part.start, 0, part.partitions, PARTITIONS),
            )
        )
    for number, byte in enumerate(size.products):
        made.append(
            Compute(
                name=f"copy product {number}",
                engine="vector",
                reads=(product(number, size),),
                writes=(sbuf(FLOAT32, tokens, byte, (1, outputs)),),
                compute=tensor_copy,
                cycles=engine_cycles("vector", "tensor_copy", outputs, (FLOAT32, FLOAT32), ("psum", "sbuf")),
                after=(f"multiply {number}",),
            )
        )
    return made


def _multiply(dtype: np.dtype, part: Part) -> Callable[..., np.ndarray]:
    def multiply(x: np.ndarray, weight: np.ndarray, *scales: np.ndarray) -> np.ndarray:
        count = len(scales) // 2
        stationary, moving = (unpack_x4(words, dtype).reshape(part.partitions, -1, 4) for words in (x, weight))
        x_scale, weight_scale = (scatter_scale(np.vstack(each)) for each in (scales[:count], scales[count:]))
        place, tile = (part.start, 0), (part.partitions, PARTITIONS)
        return nc_matmul_mx(stationary, moving, x_scale, weight_scale, tile_position=place, tile_size=tile)

    return multiply


def _sums(size: LayerSize) -> list[Instruction]:
    """The second part to HBM and back onto the first; the sum to HBM in BF16, which swdge casts."""
    first, second = (sbuf(FLOAT32, size.tokens, byte, (1, size.outputs), dma=True) for byte in size.products)
    partial_sum = hbm(FLOAT32, size.hbm_part, size.tokens, size.outputs)
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
            destination=size.output,
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
    size: LayerSize = LAYER,
) -> tuple[Core, list[Instruction]]:
    """Return a core with the tensors of a layer of this size in HBM, and its program; see `run_layer`."""
    check_array("hidden", hidden, BFLOAT16)
    check_array("gamma", gamma, BFLOAT16)
    check_array("weight", weight, FLOAT32)
    for name, array, shape in (
        ("hidden", hidden, (size.tokens, size.values)),
        ("gamma", gamma, (size.values,)),
        ("weight", weight, (size.values, size.outputs)),
    ):
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    check_choice("format", format, FORMATS)
    dtype = DTYPES[MX_FORMATS[format].element]
    queues = QUEUES if qos else tuple(QueueConfig(traffic_class=each.traffic_class) for each in QUEUES)
    core = Core(hbm_bytes=size.hbm_bytes, queues=queues, classes=CLASSES if shaping else DEFAULT_CLASSES)
    core.write(hbm(BFLOAT16, size.hbm_hidden, size.tokens, size.values), hidden)
    core.write(hbm(BFLOAT16, size.hbm_gamma, 1, size.values), gamma.reshape(1, -1))
    weight_scales: list[np.ndarray] = []
    for byte, part in zip(size.hbm_weights, size.parts, strict=True):
        words, scale = _weight(weight[part.first : part.first + 4 * part.partitions], dtype, scale_rule)
        core.write(hbm(WORD, byte, part.partitions, size.outputs), words)
        weight_scales += np.split(scale, len(part.quadrants))
    for number, scale in enumerate(weight_scales):
        core.write(_weight_scales(number, size), scale)
    other = np.arange(size.other_runs[0] * size.other_runs[1], dtype=np.uint8).reshape(size.other_runs)
    core.write(hbm(BYTE, size.hbm_other, *size.other_runs), other)
    return core, layer_program(dtype, scale_rule, size)


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
    rows = [core.read(scales(LAYER.scales, quadrant, LAYER.columns)) for quadrant in range(LAYER.rows // QUADRANT)]
    return LayerResult(
        output=core.read(LAYER.output),
        normalised=core.read(sbuf(BFLOAT16, LAYER.tokens, LAYER.normalised, (1, LAYER.values))),
        words=core.read(sbuf(WORD, LAYER.rows, LAYER.words, (1, LAYER.columns))),
        scales=np.vstack(rows),
        # In SBUF the sum has taken the first part's place by now.
        parts=np.stack([core.read(product(number)) for number in range(len(LAYER.parts))]),
        report=report,
    )


def _weight(weight: np.ndarray, dtype: np.dtype, rule: ScaleRuleName) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a part's weights [4P, N] on the host; return x4 words [P, N] and scales [P/8, N]."""
    tile = to_partitions(weight)
    data, scale = quantize_offline(tile.reshape(len(tile), -1), dtype, scale_rule=rule)
    return pack_x4(data), scale
