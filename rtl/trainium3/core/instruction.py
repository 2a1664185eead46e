"""Instructions of a core and their layouts.

Ref: the instructions are those of NKI 0.6; their code is chosen.
"""

from amaranth import signed
from amaranth.lib import data, enum

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_OFFSETS
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.dma.dma_cast import Pair
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.dma.token_bucket import LENGTH_BITS
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Step
from bitpath.rtl.trainium3.memory.dge import dge_command
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import PATTERN
from bitpath.rtl.trainium3.vector.quantize_mx import MxControl


class Engine(enum.Enum, shape=2):
    """Engine that executes an instruction."""

    TENSOR = 0
    VECTOR = 1
    SCALAR = 2
    DMA = 3


class Operation(enum.Enum, shape=3):
    """Operations of VectorE and ScalarE on elements."""

    OPERATE = 0  # tensor_scalar, with one step or two, or tensor_tensor
    ACTIVATE = 1  # Activation2, on ScalarE alone
    ROOT = 2  # 1 / sqrt(Activation2), on ScalarE alone
    QUANTIZE = 3  # QuantizeMX from SBUF to SBUF, on VectorE alone
    RECIPROCAL = 4  # 1 / x, on VectorE alone
    EXPONENTIAL = 5  # exp(x - maximum) and its sum, on VectorE alone
    STATES = 6  # x, in SBUF, becomes the lanes' random states, and they the result, on VectorE alone
    RAND2 = 7  # rand2 from x to a maximum, on VectorE alone


class Second(enum.Enum, shape=2):
    """The second operand of an instruction of VectorE or ScalarE."""

    IMMEDIATE = 0  # `immediate`, or `imm0` and `imm1`
    COLUMN = 1  # an element of each partition; y, or in place of `imm1`
    TENSOR = 2  # as many elements as the first one has


def pattern_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an access pattern in a partition: ``pairs[0]`` is innermost, offset and steps are in elements."""
    pair = data.StructLayout({"step": signed(config.step_bits), "num": config.num_bits})
    return data.StructLayout({"pairs": data.ArrayLayout(pair, MAX_PAIRS), "offset": config.walk.address_bits})


def operand_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an operand: its memory, the quarter of the partitions in which it starts, its elements."""
    return data.StructLayout({"pattern": pattern_layout(config), "dtype": Dtype, "start": 2, "psum": 1})


def lane_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an instruction of VectorE or ScalarE.

    The result is ``register``, one element a partition after the last value, or as many elements as ``x``; of QUANTIZE an x4
    word for each four of them, whose scales are bytes from ``scales`` on in rows ``4 * scale_offset`` of each quadrant.
    ``step``, ``immediate``, and ``then``, a step with ``scalar``, are of OPERATE, ``operations`` to ``relu_param`` of ACTIVATE
    and ROOT, ``mx`` of QUANTIZE; ``imm1`` is the maximum of EXPONENTIAL and RAND2.
    """
    operand = operand_layout(config)
    return data.StructLayout(
        {
            "x": operand,
            "y": operand,
            "result": operand,
            "partitions": range(config.size + 1),
            "operation": Operation,
            "second": Second,
            "register": 1,
            "step": Step,
            "immediate": FP32.width,
            "immediate_dtype": Dtype,
            "then": Step,
            "scalar": FP32.width,
            "scalar_dtype": Dtype,
            "operations": Operations,
            "function": Function,
            "reduction": Reduction,
            "reverse": 1,
            "imm0": FP32.width,
            "imm1": FP32.width,
            "relu_param": FP32.width,
            "mx": MxControl,
            "scales": config.walk.address_bits,
            "scale_offset": range(len(SCALE_OFFSETS)),
        }
    )


def tensor_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an instruction of TensorE: ``result[m][n] = sum over rows k of stationary[k][m] * moving[k][n]``.

    ``stationary`` is the byte of the first of ``columns`` elements that follow each other, a multiple of 8. Scales of both
    operands are bytes, one for each element, from ``stationary_scales``, a multiple of 4, and ``moving_scales`` on, in rows
    ``4 * scale_offset`` of each quadrant. Mode PASS transposes elements of 16 bits, or of 8 with zeros above, to 16 with ``bf16``,
    and FP32 without: it has no moving operand, but a column for each row, and a flag that overwrites. Results are written as `psum_command` of :mod:`bitpath.rtl.trainium3.array.psum_memory` has it.

    With ``tiled`` the instruction runs in the row tile of its quarter, beside those of other tiles; it has no more rows than that.

    SPARSE has ``pattern``, and words of four tags of 4 bits from byte ``tags``, a multiple of 2, on. The innermost pair of ``moving``
    is that of the slots of a partition, the other pairs those of the results.
    """
    sparse = {"tags": config.walk.address_bits, "pattern": PATTERN} if config.has_sparse else {}
    return data.StructLayout(
        {
            "stationary": config.walk.address_bits,
            "columns": range(config.size + 1),
            "moving": pattern_layout(config),
            "start": 2,
            "rows": range(config.size + 1),
            "tiled": 1,
            "mode": Mode,
            "stationary_format": OperandFormat,
            "moving_format": OperandFormat,
            "stationary_scales": config.walk.address_bits,
            "moving_scales": config.walk.address_bits,
            "scale_offset": range(len(SCALE_OFFSETS)),
            "result": pattern_layout(config),
            "bank": range(config.banks),
            "flag": 3,
            "bf16": 1,
        }
        | sparse
    )


def dma_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a DMA instruction: a copy, whose descriptors the DGE makes, or with ``direct`` one descriptor.

    A copy has its queue and takes ``mode``; between two places of SBUF there is none. A descriptor goes to ``queue`` of
    ``engine``; its addresses are those of the engine's mover, ``length`` the bytes of the side with wider elements, 0 for 65,536.
    """
    address = config.mover.address_bits
    return data.StructLayout(
        {
            "copy": dge_command(config.dge),
            "mode": WriteMode,
            "direct": 1,
            "engine": range(max(2, config.sbuf.groups)),
            "queue": range(config.queues),
            "source": address,
            "destination": address,
            "length": LENGTH_BITS,
            "pair": Pair,
        }
    )


BODIES = {
    Engine.TENSOR: tensor_layout,
    Engine.VECTOR: lane_layout,
    Engine.SCALAR: lane_layout,
    Engine.DMA: dma_layout,
}


def semaphores(config: CoreConfig) -> int:
    """Return the number of semaphores: one of each compute engine, then one of each DMA queue, from number ``Engine.DMA`` on.

    A semaphore counts instructions that have ended, in the order of their stream.
    """
    return Engine.DMA.value + config.queues


def instruction_layout(config: CoreConfig, engine: Engine) -> data.StructLayout:
    """Layout of an engine's instruction: its body, and for each semaphore the least value with which it starts, 0 for any."""
    waits = data.ArrayLayout(config.count_bits, semaphores(config))
    return data.StructLayout({"body": BODIES[engine](config), "waits": waits})
