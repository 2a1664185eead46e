"""Golden's layer of one quadrant on a core, ``rmsnorm(hidden, gamma) @ weight``, from HBM back to HBM.

32 tokens of 256 hidden values and 32 outputs. K is cut into two parts of 128, as two cores would share it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.trainium3.core.core import Core
from bitpath.golden.trainium3.core.layer import QUADRANT_LAYER
from bitpath.golden.trainium3.core.program import Compute
from bitpath.golden.trainium3.core.program import Instruction as GoldenInstruction
from bitpath.golden.trainium3.core.rmsnorm import eps_in_compute
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.verif.trainium3.core.programs.hosted import CoreProgram, bits_copy
from bitpath.verif.trainium3.core.programs.instructions import (
    Activate,
    Copy,
    Instruction,
    Matmul,
    Operand,
    Operate,
    Pattern,
    Quantize,
    Side,
    row_at,
)
from bitpath.verif.trainium3.core.programs.lowering import After, first_byte, lowered, operand, place_in_bank
from bitpath.verif.trainium3.dma.dma_queues import Schedule

LAYER = CoreConfig(
    size=32,
    partition_bytes=4096,
    banks=8,
    bank_bytes=1024,
    hbm_bytes=QUADRANT_LAYER.hbm_bytes,
    step_bits=16,
    num_bits=10,
    dot=CorePeConfig(sparse=False, pipeline=registered(1)),
)
"""The core of the layer, with as many banks as the machine."""
ONE, EPS = 0x3F80, int(eps_in_compute(float(TRAINIUM3_RMSNORM_QUANT.numerics.eps)).view(np.uint16).item())
"""BF16 codes of the constants."""
SCALED = QUADRANT_LAYER.interleaved
"""Byte of the scaled hidden values, which lie in FP32 where interleaved values, words and products will be."""


def layer(program: Sequence[GoldenInstruction], element: FloatFormat, rule: ScaleRule) -> list[Instruction]:
    """Return golden's program of the layer, with elements of an MX format, as instructions of the core."""
    return lowered(program, LAYER, _Computes(element, rule))


@dataclass(frozen=True)
class _Computes:
    """Instructions that compute as the layer's do, by their names."""

    element: FloatFormat
    rule: ScaleRule

    def __call__(self, each: Compute, after: After) -> list[Instruction]:
        read, written = ([operand(LAYER, own) for own in side] for side in (each.reads, each.writes))
        partitions, count = each.writes[0].pattern.shape[0], each.writes[0].pattern.size
        lanes: dict[str, Any] = {"result": written[0], "partitions": partitions, "after": after}
        match each.name.rstrip("0123456789 "):
            case "set constants":
                rows = [own.pattern.shape[0] for own in each.writes]
                return [_constant(*of) for of in zip(written, rows, (ONE, EPS), strict=True)]
            case "sum of squares":
                return [Activate(x=read[0], function=Function.SQUARE, register=True, **lanes)]
            case "inverse root":
                mean = int(np.float32(1 / QUADRANT_LAYER.values).view(np.uint32))
                return [
                    Activate(x=read[0], y=read[1], root=True, operations=Operations.MULTIPLY_ADD, imm0=mean, **lanes)
                ]
            case "normalise":
                scaled = Operand(row_at(count // partitions, SCALED, 4))
                of = {"engine": Engine.VECTOR, "op": Operator.MULTIPLY}
                return [
                    Operate(x=read[0], y=read[1], **of, **lanes | {"result": scaled}),
                    Operate(x=scaled, y=read[2], **of, **lanes),
                ]
            case "evict" | "copy product":
                return [Operate(engine=Engine[each.engine.upper()], x=read[0], **lanes)]
            case "quantise":
                to = first_byte(each.writes[1])
                return [Quantize(x=read[0], element=self.element, rule=self.rule, scales=to, **lanes)]
            case "spread gamma":
                return [_matmul(each, after, moving=read[1].pattern)]
            case "transpose":
                return [_matmul(each, after, mode=Mode.PASS, bf16=True)]
            case "multiply":
                scales = first_byte(each.reads[2]), first_byte(each.reads[len(each.reads) // 2 + 1])
                return [
                    _matmul(
                        each, after, mode=Mode.MX, formats=(OperandFormat[self.element.name],) * 2,
                        moving=read[1].pattern, scales=scales,
                    )
                ]  # fmt: skip
        raise ValueError(f"no instruction of the core computes {each.name}")


def _constant(result: Operand, partitions: int, code: int) -> Operate:
    """Return the instruction that writes a BF16 code to all elements, in place of GpSimd, which the core does not have."""
    bits = replace(result, dtype="uint16")
    return Operate(
        engine=Engine.VECTOR, x=bits, result=bits, partitions=partitions, op=Operator.BITWISE_AND,
        immediate_dtype="uint16", then=Operator.BITWISE_OR, scalar=code, scalar_dtype="uint16",
    )  # fmt: skip


def _matmul(each: Compute, after: After, **fields: Any) -> Matmul:
    """Return an instruction of TensorE; the first operand is stationary."""
    x, result = operand(LAYER, each.reads[0]), each.writes[0].pattern
    rows, columns = each.reads[0].pattern.shape
    bank, byte = place_in_bank(each.writes[0])
    return Matmul(
        rows=rows, columns=columns, start=x.start, stationary=first_byte(each.reads[0]),
        result=row_at(result.shape[1], byte, result.dtype.itemsize), bank=bank, after=after, **fields,
    )  # fmt: skip


def hosted(core: Core, instructions: Sequence[Instruction]) -> list[CoreProgram]:
    """Return programs that leave all memories in HBM: the layer's on golden's HBM before it, and copies of SBUF and PSUM.

    A copy has a row of `LAYER.partition_bytes` bytes for each partition; those of parts of PSUM overwrite SBUF.
    """
    words = LAYER.partition_bytes // 4
    row = Pattern(((words // 4, 4), (1, words // 4)))
    to_hbm = Copy(
        source=Side(row, 0), destination=Side(row, None, words), partitions=LAYER.size, size=2, after=(Engine.VECTOR,)
    )
    own = CoreProgram(LAYER)
    own.hbm[:] = core.hbm.image[0]
    own.hbm_loaded, own.schedule = LAYER.hbm_bytes, Schedule(core.queues, core.classes, ())
    own.instructions += instructions
    copies = [CoreProgram(LAYER)]
    for first in range(0, LAYER.banks * LAYER.bank_bytes, LAYER.partition_bytes):
        copies.append(CoreProgram(LAYER))
        psum = Operand(replace(row, offset=first // 4), "uint32", psum=True)
        copies[-1].instructions.append(bits_copy(psum, Operand(row, "uint32"), LAYER.size))
    for each in copies:
        each.instructions.append(to_hbm)
    for each in (own, *copies):
        each.hbm_used = LAYER.hbm_bytes
    return [own, *copies]


def left(images: np.ndarray) -> dict[str, np.ndarray]:
    """Return HBM, SBUF and PSUM as bytes from the images of HBM behind the programs of `hosted`."""
    hbm, sbuf, *psum = images
    rows = [each.reshape(LAYER.size, -1) for each in (sbuf, *psum)]
    return {"HBM": hbm, "SBUF": rows[0], "PSUM": np.hstack(rows[1:])}


def expected(core: Core) -> dict[str, np.ndarray]:
    """Return the same memories of golden's core; it uses no byte that the smaller ones lack."""
    psum = core.psum.image[: LAYER.size].reshape(LAYER.size, LAYER.banks, -1)
    return {
        "HBM": core.hbm.image[0],
        "SBUF": core.sbuf.image[: LAYER.size, : LAYER.partition_bytes],
        "PSUM": psum[:, :, : LAYER.bank_bytes].reshape(LAYER.size, -1),
    }
