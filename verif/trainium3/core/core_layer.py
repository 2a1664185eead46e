"""A small layer for a core of one quadrant, ``rmsnorm(hidden, gamma) @ weight``, from HBM back to HBM.

32 tokens of 256 hidden values and 32 outputs. K is cut into two parts of 128, as two cores would share it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from bitpath.golden.formats.catalogue import E4M3FN
from bitpath.golden.trainium3 import quantize_mx
from bitpath.golden.trainium3.operands.layout import pack_x4
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.verif.trainium3.core.programs.instructions import (
    Activate,
    Copy,
    Descriptor,
    Instruction,
    Matmul,
    Operand,
    Operate,
    Pattern,
    Quantize,
    Side,
    load_rows,
    row_at,
)

LAYER = CoreConfig(
    size=32,
    partition_bytes=4096,
    banks=4,
    bank_bytes=1024,
    hbm_bytes=1 << 17,
    step_bits=16,
    num_bits=10,
    dot=CorePeConfig(sparse=False, pipeline=registered(1)),
)
TOKENS = OUTPUTS = 32
PARTS, PART = 2, 128
HIDDEN = PARTS * PART
SLICES = PART // TOKENS
"""Elements of an x4 word, each from a slice of 32 hidden values."""
EPS = 1e-6


@dataclass(frozen=True)
class Places:
    """Bytes of the tensors: of the first ones in HBM, of the others in a partition of SBUF."""

    hidden_hbm: int = 0
    gamma_hbm: int = 1 << 14
    weight_hbm: int = 0x4800
    scale_hbm: int = 0x7000
    part_hbm: int = 1 << 15
    output_hbm: int = 0xA000
    hidden: int = 0
    gamma: int = 512
    ones: int = 1024
    total: int = 1088
    inverse: int = 1092
    weight: int = 1104
    scales: int = 1360
    weight_scales: int = 1392
    scaled: int = 1536
    normalised: int = 2560
    mixed: int = 3072
    words: int = 3584
    products: int = 3840


AT = Places()


def hbm_image(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of HBM before the layer, hidden, gamma, and the weight's parts in MXFP8 with their scales; and the layer's
    product in float64."""
    image = np.zeros(LAYER.hbm_bytes, np.uint8)
    hidden = rng.standard_normal((TOKENS, HIDDEN)).astype(ml_dtypes.bfloat16)
    gamma = (1 + rng.standard_normal(HIDDEN) / 8).astype(ml_dtypes.bfloat16)
    weight = rng.standard_normal((HIDDEN, OUTPUTS)).astype(ml_dtypes.bfloat16)
    tensors: list[tuple[int, np.ndarray]] = [(AT.hidden_hbm, hidden), (AT.gamma_hbm, gamma)]
    for part in range(PARTS):
        # Element i of partition p's word for an output is k = 32 i + p of the part.
        own = weight[part * PART : (part + 1) * PART].reshape(SLICES, TOKENS, OUTPUTS)
        tile = np.ascontiguousarray(own.transpose(1, 2, 0)).reshape(TOKENS, -1)
        data, scale = quantize_mx(tile, ml_dtypes.float8_e4m3fn)
        tensors += [(AT.weight_hbm + part * TOKENS * 4 * OUTPUTS, pack_x4(data)), (AT.scale_hbm + 128 * part, scale)]
    for byte, tensor in tensors:
        raw = np.ascontiguousarray(tensor).view(np.uint8).reshape(-1)
        image[byte : byte + len(raw)] = raw
    exact = hidden.astype(np.float64)
    exact *= gamma.astype(np.float64) / np.sqrt((exact**2).mean(axis=1, keepdims=True) + EPS)
    return image, exact @ weight.astype(np.float64)


def layer() -> Sequence[Instruction]:
    """Return the instructions of the layer; each waits for those, or for all of an engine, whose results it reads or overwrites."""
    loads = _loads()
    hidden, gamma, *_ = loads
    made = [*loads, *_normalise(hidden, gamma)]
    normalised = made[-1]
    # The readers of both banks of transposes, and of the mixed slices.
    readers, mixed = [normalised] * 2, normalised
    for part in range(PARTS):
        own = _product(part, normalised, readers, mixed)
        made += own
        mixed = own[2 * SLICES]
    return [*made, *_sums()]


def _loads() -> Sequence[Instruction]:
    made: list[Instruction] = [
        load_rows(AT.hidden_hbm, AT.hidden, TOKENS, HIDDEN, 1),
        load_rows(AT.gamma_hbm, AT.gamma, 1, HIDDEN, 1),
    ]
    for part in range(PARTS):
        weight = AT.weight_hbm + part * TOKENS * 4 * OUTPUTS
        made += [
            load_rows(weight, AT.weight + part * 4 * OUTPUTS, TOKENS, OUTPUTS, 2, queue=1),
            load_rows(AT.scale_hbm + 128 * part, AT.weight_scales, 4, OUTPUTS, 0, start=4 * part, queue=1),
        ]
    # Two BF16 ones in each word, whatever was there.
    one = Operand(row_at(TOKENS // 2, AT.ones, 4), "uint32")
    ones = Operate(
        engine=Engine.VECTOR, x=one, result=one, partitions=1, op=Operator.BITWISE_AND, immediate_dtype="uint32"
    )  # fmt: skip
    return [*made, ones, replace(ones, op=Operator.BITWISE_OR, immediate=0x3F803F80)]


def _normalise(hidden_load: Instruction, gamma_load: Instruction) -> Sequence[Instruction]:
    hidden = Operand(row_at(HIDDEN, AT.hidden, 2), "bf16")
    total, inverse = (Operand(row_at(1, byte, 4)) for byte in (AT.total, AT.inverse))
    scaled = Operand(row_at(HIDDEN, AT.scaled, 4))
    spread = Operand(row_at(HIDDEN, 0, 4), psum=True)
    bits = np.array([1 / HIDDEN, EPS], np.float32).view(np.uint32).tolist()
    return [
        Activate(
            x=hidden, result=total, partitions=TOKENS, function=Function.SQUARE, register=True, after=(hidden_load,)
        ),
        Activate(
            x=total, result=inverse, partitions=TOKENS, root=True, operations=Operations.MULTIPLY_ADD,
            imm0=bits[0], imm1=bits[1],
        ),
        Matmul(
            rows=1, columns=TOKENS, stationary=AT.ones, moving=row_at(HIDDEN, AT.gamma, 2), result=row_at(HIDDEN, 0, 4),
            after=(Engine.VECTOR, gamma_load),
        ),
        Operate(
            engine=Engine.VECTOR, x=hidden, y=inverse, result=scaled, partitions=TOKENS, op=Operator.MULTIPLY,
            after=(Engine.SCALAR,),
        ),
        Operate(
            engine=Engine.VECTOR, x=scaled, y=spread, result=Operand(row_at(HIDDEN, AT.normalised, 2), "bf16"),
            partitions=TOKENS, op=Operator.MULTIPLY, after=(Engine.TENSOR,),
        ),
    ]  # fmt: skip


def _product(
    part: int, normalised: Instruction, readers: list[Instruction], mixed_reader: Instruction
) -> Sequence[Instruction]:
    """Transposes of four slices, evicted by both engines, QuantizeMX, a product, and its copy to SBUF.

    An eviction takes its bank's place in `readers`.
    """
    mixed = Operand(row_at(SLICES * TOKENS, AT.mixed, 2), "bf16")
    words = Operand(row_at(TOKENS, AT.words, 4), "uint32")
    made: list[Instruction] = []
    for k in range(SLICES):
        bank = 1 + k % 2
        place = Operand(row_at(TOKENS, bank * LAYER.bank_bytes, 2), "bf16", psum=True)
        engine = (Engine.VECTOR, Engine.SCALAR)[k % 2]
        transpose = Matmul(
            mode=Mode.PASS, rows=TOKENS, columns=TOKENS, stationary=AT.normalised + 2 * (PART * part + TOKENS * k),
            result=row_at(TOKENS, 0, 2), bank=bank, bf16=True, after=(normalised, readers[k % 2]),
        )  # fmt: skip
        readers[k % 2] = Operate(
            engine=engine, x=place, partitions=TOKENS, after=(transpose, mixed_reader),
            result=Operand(Pattern(((SLICES, TOKENS),), AT.mixed // 2 + k), "bf16"),
        )  # fmt: skip
        made += [transpose, readers[k % 2]]
    product = Operand(row_at(OUTPUTS, 3 * LAYER.bank_bytes, 4), psum=True)
    to = Operand(row_at(OUTPUTS, AT.products + 4 * OUTPUTS * part, 4))
    return [
        *made,
        Quantize(
            x=mixed, result=words, partitions=TOKENS, element=E4M3FN, scales=AT.scales, scale_offset=part,
            after=(Engine.SCALAR, Engine.TENSOR),
        ),
        Matmul(
            mode=Mode.MX, formats=(OperandFormat.E4M3FN,) * 2, rows=TOKENS, columns=TOKENS, stationary=AT.words,
            moving=row_at(OUTPUTS, AT.weight + 4 * OUTPUTS * part, 4), scales=(AT.scales, AT.weight_scales),
            scale_offset=part, result=row_at(OUTPUTS, 0, 4), bank=3, after=(Engine.VECTOR, Engine.DMA),
        ),
        Operate(engine=Engine.VECTOR, x=product, result=to, partitions=TOKENS, after=(Engine.TENSOR,)),
    ]  # fmt: skip


def _sums() -> Sequence[Instruction]:
    """The second part to HBM and back onto the first, and the sum to HBM in BF16."""
    hbm = Side(row_at(OUTPUTS, AT.part_hbm, 4), None, OUTPUTS)
    first, second = (Side(row_at(OUTPUTS, AT.products + 4 * OUTPUTS * part, 4), 0) for part in range(PARTS))
    store = Copy(source=second, destination=hbm, partitions=TOKENS, size=2, queue=2, after=(Engine.VECTOR,))
    add = Copy(
        source=hbm, destination=first, partitions=TOKENS, size=2, queue=2, mode=WriteMode.ADD_FP32, after=(Engine.DMA,)
    )
    casts = [
        Descriptor(
            source=(token, AT.products), destination=(None, AT.output_hbm + 2 * OUTPUTS * token), count=OUTPUTS,
            pair=("fp32", "bf16"), config=LAYER, after=() if token else (Engine.DMA,),
        )
        for token in range(TOKENS)
    ]  # fmt: skip
    return [store, add, *casts]
