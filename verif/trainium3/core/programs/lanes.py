"""Instructions of a core's VectorE and ScalarE: their words, and what golden makes of them on plain memories."""

from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import E4M3FN, FloatFormat
from bitpath.golden.scalar import fp32 as exact
from bitpath.golden.trainium3 import Xorwow, quantize_mx
from bitpath.golden.trainium3.declarations.engines import ReduceCommand
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, ScaleRule
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact import activate2, exponential, uniform
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.operands.layout import pack_x4
from bitpath.rtl.trainium3.core.instruction import Engine, Operation, Second
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.vector.quantize_mx import ELEMENTS, SOURCES, Rule
from bitpath.verif.trainium3.core.programs.instructions import SCALES, Instruction, Memories, Operand
from bitpath.verif.trainium3.dtype_words import array_of, codes_of
from bitpath.verif.trainium3.lanes import engine_lane
from bitpath.verif.trainium3.lanes.activation2_lane import PAIRS

EXPONENTIAL = TRAINIUM3_EXPONENTIAL.numerics
_OTHER_FIELDS = ("engine", "after", "x", "y", "result", "partitions", "root")


@dataclass(frozen=True, kw_only=True)
class Lanes(Instruction):
    """An instruction of VectorE or ScalarE."""

    x: Operand
    result: Operand
    partitions: int
    y: Operand | None = None

    def second(self) -> Second:
        """Return the kind of the second operand."""
        if self.y is None:
            return Second.IMMEDIATE
        return Second.COLUMN if self.y.pattern.count == 1 else Second.TENSOR

    def body(self) -> dict[str, Any]:
        operands = {"x": self.x.fields, "result": self.result.fields} | ({"y": self.y.fields} if self.y else {})
        return operands | {"partitions": self.partitions, "second": self.second(), "register": 0}


@dataclass(frozen=True, kw_only=True)
class Operate(Lanes):
    """``x operator y``, of elements of y, a column, or ``immediate``; ``then`` an operator of that and ``scalar``."""

    op: Operator = Operator.BYPASS
    reverse: bool = False
    immediate: int = 0
    immediate_dtype: str = "fp32"
    then: Operator = Operator.BYPASS
    then_reverse: bool = False
    scalar: int = 0
    scalar_dtype: str = "fp32"

    def body(self) -> dict[str, Any]:
        return super().body() | {
            "operation": Operation.OPERATE,
            "step": {"op": self.op, "reverse": self.reverse},
            "immediate": self.immediate,
            "immediate_dtype": Dtype[self.immediate_dtype.upper()],
            "then": {"op": self.then, "reverse": self.then_reverse},
            "scalar": self.scalar,
            "scalar_dtype": Dtype[self.scalar_dtype.upper()],
        }

    def run(self, memories: Memories) -> None:
        x = memories.read(self.x, self.partitions)
        if self.y is None:
            y, dtype = np.full_like(x, self.immediate), self.immediate_dtype
        else:
            y, dtype = np.broadcast_to(memories.read(self.y, self.partitions), x.shape), self.y.dtype
        own = engine_lane.Instruction(
            self.op, self.x.dtype, dtype, self.result.dtype, reverse=self.reverse,
            second=self.then, second_dtype=self.scalar_dtype, second_reverse=self.then_reverse,
        )  # fmt: skip
        values = [
            [own.value(int(a), int(b), self.scalar) for a, b in zip(*rows, strict=True)]
            for rows in zip(x, y, strict=True)
        ]
        memories.write(self.result, np.array(values))


@dataclass(frozen=True, kw_only=True)
class Activate(Lanes):
    """Activation2, its register, or with ``root`` one over the square root of its values; a column y is its second immediate."""

    engine: Engine = Engine.SCALAR
    root: bool = False
    register: bool = False
    operations: Operations = Operations.BYPASS
    function: Function = Function.COPY
    reduction: Reduction = Reduction.ADD
    reverse: bool = False
    imm0: int = 0
    imm1: int = 0
    relu_param: int = 0

    def body(self) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(Activate) if each.name not in _OTHER_FIELDS}
        return super().body() | own | {"operation": Operation.ROOT if self.root else Operation.ACTIVATE}

    def run(self, memories: Memories) -> None:
        columns = None if self.y is None else memories.read(self.y, self.partitions)[:, 0]
        results = []
        for p, row in enumerate(memories.read(self.x, self.partitions)):
            imm1 = self.imm1 if columns is None else to_fp32(int(columns[p]), self.y.dtype)
            values, register = activate2(
                [to_fp32(int(code), self.x.dtype) for code in row], "fp32",
                "rsqrt" if self.root else self.function.name.lower(), PAIRS[self.operations], (self.imm0, imm1),
                reverse=(self.reverse, self.reverse), relu_param=self.relu_param, register=0,
                reduce_op=self.reduction.name.lower(), reduce_cmd=ReduceCommand.RESET_REDUCE,
            )  # fmt: skip
            own = [register] if self.register else values
            results.append([from_fp32(code, self.result.dtype) for code in own])
        memories.write(self.result, np.array(results))


@dataclass(frozen=True, kw_only=True)
class Reciprocal(Lanes):
    """``1 / x``."""

    engine: Engine = Engine.VECTOR

    def body(self) -> dict[str, Any]:
        return super().body() | {"operation": Operation.RECIPROCAL}

    def run(self, memories: Memories) -> None:
        codes = memories.read(self.x, self.partitions)
        values = [[exact.reciprocal(to_fp32(int(code), self.x.dtype)) for code in row] for row in codes]
        memories.write(self.result, np.array([[from_fp32(code, self.result.dtype) for code in row] for row in values]))


@dataclass(frozen=True, kw_only=True)
class Exponential(Lanes):
    """``exp(x - maximum)``, or with ``register`` its sum; the maximum is a column y, or the FP32 number ``imm1``."""

    engine: Engine = Engine.VECTOR
    register: bool = False
    imm1: int = 0

    def body(self) -> dict[str, Any]:
        own = {"operation": Operation.EXPONENTIAL, "register": self.register, "imm1": self.imm1}
        return super().body() | own

    def run(self, memories: Memories) -> None:
        columns = None if self.y is None else memories.read(self.y, self.partitions)[:, 0]
        results = []
        for p, row in enumerate(memories.read(self.x, self.partitions)):
            maximum = self.imm1 if columns is None else to_fp32(int(columns[p]), self.y.dtype)
            powers = [exponential(EXPONENTIAL, to_fp32(int(code), self.x.dtype), maximum) for code in row]
            own = [reduce(exact.add, powers, 0)] if self.register else powers
            results.append([from_fp32(code, self.result.dtype) for code in own])
        memories.write(self.result, np.array(results))


@dataclass(frozen=True, kw_only=True)
class ExchangeStates(Lanes):
    """The words of x become the random states of each lane, those that were there the result."""

    engine: Engine = Engine.VECTOR

    def body(self) -> dict[str, Any]:
        return super().body() | {"operation": Operation.STATES}

    def run(self, memories: Memories) -> None:
        states = memories.read(self.x, self.partitions).astype(np.uint32)
        own = memories.states[: self.partitions]
        memories.write(self.result, codes_of(own.reshape(self.partitions, -1).copy()))
        own[:] = states.reshape(own.shape)


@dataclass(frozen=True, kw_only=True)
class Rand2(Lanes):
    """rand2 from the elements of x to those of a column y, or to the FP32 number ``imm1``."""

    engine: Engine = Engine.VECTOR
    imm1: int = 0

    def body(self) -> dict[str, Any]:
        return super().body() | {"operation": Operation.RAND2, "imm1": self.imm1}

    def run(self, memories: Memories) -> None:
        columns = None if self.y is None else memories.read(self.y, self.partitions)[:, 0]
        source = Xorwow(memories.states[: self.partitions])
        words, results = source.elements(self.x.pattern.count), []
        memories.states[: self.partitions] = source.state
        for p, row in enumerate(memories.read(self.x, self.partitions)):
            high = self.imm1 if columns is None else to_fp32(int(columns[p]), self.y.dtype)
            numbers = [
                uniform(word, to_fp32(int(low), self.x.dtype), high)
                for word, low in zip(words[p].tolist(), row, strict=True)
            ]
            results.append([from_fp32(code, self.result.dtype) for code in numbers])
        memories.write(self.result, np.array(results))


@dataclass(frozen=True, kw_only=True)
class Quantize(Lanes):
    """QuantizeMX of BF16 or FP16; scales at a byte of rows ``4 * scale_offset`` of each quadrant."""

    engine: Engine = Engine.VECTOR
    element: FloatFormat = E4M3FN
    rule: ScaleRule = ScaleRule.OCP
    scales: int = 0
    scale_offset: int = 0

    def body(self) -> dict[str, Any]:
        source = next(k for k, fmt in enumerate(SOURCES) if fmt.name.lower() == self.x.dtype)
        control = {"source": source, "element": ELEMENTS.index(self.element), "rule": Rule[self.rule.name]}
        return super().body() | {
            "operation": Operation.QUANTIZE,
            "mx": control,
            "scales": self.scales,
            "scale_offset": self.scale_offset,
        }

    def run(self, memories: Memories) -> None:
        tile = array_of(memories.read(self.x, self.partitions), self.x.dtype)
        data, scale = quantize_mx(tile, DTYPES[self.element], scale_rule=self.rule.value)
        memories.write(self.result, codes_of(pack_x4(data)))
        for quadrant in range(self.partitions // QUADRANT):
            row = quadrant * QUADRANT + SCALES * self.scale_offset
            own = scale[SCALES * quadrant : SCALES * (quadrant + 1)]
            memories.sbuf[row : row + SCALES, self.scales : self.scales + own.shape[1]] = own
