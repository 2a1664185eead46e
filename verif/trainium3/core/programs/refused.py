"""Instructions that a core refuses, each with its fault."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from random import Random
from typing import Any

from amaranth import Shape

from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, QUADRANT
from bitpath.golden.trainium3.declarations.tensor import PATTERNS
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine, Operation
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.tag_select import SLOTS
from bitpath.verif.trainium3.core.programs.instructions import (
    MAX_PAIRS,
    Copy,
    Descriptor,
    Instruction,
    Matmul,
    Memories,
    Operand,
    Pattern,
    Side,
)
from bitpath.verif.trainium3.core.programs.lanes import Activate, ExchangeStates, Operate, Quantize

_FOUR = Pattern(((1, 4),))


@dataclass(frozen=True, kw_only=True)
class Refused(Instruction):
    """An instruction, with other fields in its body, that does nothing."""

    of: Instruction
    changes: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return self.of.body() | self.changes

    def run(self, memories: Memories) -> None:
        """Leave no trace."""


def refused(config: CoreConfig) -> Iterator[tuple[Fault, Refused]]:
    """Yield faults with instructions that have just this one, of every engine."""
    for part in (_of_lanes, _of_states, _of_tensor, _of_dma, _of_vast_patterns):
        for fault, each in part(config):
            yield fault, each if isinstance(each, Refused) else Refused(engine=each.engine, of=each)


def _changed(of: Instruction, **changes: Any) -> Refused:
    return Refused(engine=of.engine, of=of, changes=changes)


def _unknown(codes: type[Enum]) -> list[int]:
    """Return the codes of a field that its enumeration lacks."""
    return [code for code in range(1 << Shape.cast(codes).width) if code not in {each.value for each in codes}]


def _beyond(size: int) -> tuple[int, ...]:
    """Return the numbers of partitions that the array lacks: none, one too many, and the field's largest code."""
    return 0, size + 1, (1 << size.bit_length()) - 1


def _wrong_starts(size: int) -> Iterator[tuple[int, int]]:
    """Yield starting quarters with the least and the largest numbers of partitions that must not start there."""
    for start, most in ((1, size // 4), (2, size // 2), (3, size // 4)):
        yield from ((start, partitions) for partitions in (most + 1, size))


def _of_lanes(config: CoreConfig) -> Iterator[tuple[Fault, Instruction]]:
    size, partition = config.size, config.partition_bytes
    legal = Operate(
        engine=Engine.VECTOR,
        x=Operand(_FOUR),
        y=Operand(_FOUR),
        result=Operand(Pattern(((1, 4),), 8)),
        partitions=size,
        op=Operator.ADD,
    )

    def at(name: str, pattern: Pattern = _FOUR, **place: Any) -> Instruction:
        return replace(legal, **{name: Operand(pattern, **place)})

    activate = Activate(x=legal.x, result=legal.result, partitions=size)
    half = Operand(_FOUR, "bf16")
    quantize = Quantize(x=half, result=Operand(Pattern(((1, 1),), 8), "uint32"), partitions=size)
    for operation in (
        Operation.ACTIVATE,
        Operation.RECIPROCAL,
        Operation.EXPONENTIAL,
        Operation.RAND2,
        Operation.STATES,
    ):
        yield Fault.OPERATION, _changed(legal, operation=operation)
    for operation in (Operation.QUANTIZE, Operation.EXPONENTIAL, Operation.RAND2):
        yield Fault.OPERATION, _changed(replace(legal, engine=Engine.SCALAR), operation=operation)
    yield Fault.OPERATION, _changed(legal, second=3)
    immediate = replace(legal, y=None)
    for op in _unknown(Operator):
        yield Fault.OPERATION, _changed(legal, step={"op": op})
        yield Fault.OPERATION, _changed(immediate, then={"op": op})
    for root, (name, codes) in product(
        (False, True), {"operations": Operations, "function": Function, "reduction": Reduction}.items()
    ):
        for code in _unknown(codes):
            yield Fault.OPERATION, _changed(replace(activate, root=root), **{name: code})
    yield Fault.OPERATION, replace(legal, then=Operator.ADD)
    yield Fault.OPERATION, replace(immediate, then=Operator.BITWISE_AND)
    yield Fault.OPERATION, _changed(legal, register=1)
    yield Fault.OPERATION, _changed(activate, second=2)
    yield Fault.OPERATION, _changed(replace(activate, root=True), register=1)
    for dtype in _unknown(Dtype):
        for name in ("x", "y", "result"):
            yield Fault.DTYPE, _changed(legal, **{name: getattr(legal, name).fields | {"dtype": dtype}})
        yield Fault.DTYPE, _changed(immediate, immediate_dtype=dtype)
        for then in (replace(immediate, then=Operator.ADD), replace(immediate, then_reverse=True)):
            yield Fault.DTYPE, _changed(then, scalar_dtype=dtype)
    yield Fault.DTYPE, replace(legal, op=Operator.BITWISE_AND)
    words = Operand(_FOUR, "int32"), Operand(_FOUR, "int16"), Operand(Pattern(((1, 4),), 8), "int32")
    yield Fault.DTYPE, replace(legal, op=Operator.LEFT_SHIFT, x=words[0], y=words[1], result=words[2])
    bits = replace(immediate, op=Operator.BITWISE_OR, x=words[0], result=words[2], immediate_dtype="int32")
    yield Fault.DTYPE, replace(bits, then=Operator.LEFT_SHIFT, scalar_dtype="uint8")
    for partitions in _beyond(size):
        yield Fault.PARTITIONS, _changed(legal, partitions=partitions)
    for name, (start, partitions) in product(("x", "y", "result"), _wrong_starts(size)):
        yield Fault.START, replace(at(name, start=start), partitions=partitions)
    yield Fault.NUM, at("x", Pattern(((1, 0),)))
    yield Fault.NUM, at("result", Pattern(((1, 4), (1, 0))))
    yield Fault.COUNT, at("y", Pattern(((1, 3),)))
    yield Fault.COUNT, at("result", Pattern(((1, 5),), 8))
    yield Fault.COUNT, _changed(legal, second=1)
    yield Fault.COUNT, replace(activate, register=True)
    yield Fault.RANGE, at("x", Pattern(((-1, 4),), 2))
    yield Fault.RANGE, at("y", Pattern(((1, 4),), partition // 4 - 3))
    yield Fault.RANGE, at("result", Pattern(((1, 4),), config.banks * config.bank_bytes // 4 - 3), psum=True)
    if size < QUADRANT:
        yield Fault.OPERATION, quantize
        return
    yield Fault.OPERATION, _changed(quantize, mx={"element": 3})
    yield Fault.OPERATION, _changed(quantize, second=1)
    yield Fault.DTYPE, _changed(quantize, mx={"source": 1})
    yield Fault.DTYPE, replace(quantize, result=Operand(Pattern(((1, 1),), 8), "uint16"))
    yield Fault.PARTITIONS, replace(quantize, partitions=size - 1)
    yield Fault.COUNT, replace(quantize, x=Operand(Pattern(((1, 5),)), "bf16"))
    two = replace(quantize, x=Operand(Pattern(((1, 8),)), "bf16"), result=Operand(Pattern(((1, 2),), 8), "uint32"))
    yield Fault.RANGE, replace(two, scales=partition - 1)


def _of_states(config: CoreConfig) -> Iterator[tuple[Fault, Instruction]]:
    """States of the random generators, whose operands have one dtype and one number of elements."""
    words = Pattern(((1, XORWOW_STATES * XORWOW_WORDS),))
    states = ExchangeStates(x=Operand(words, "uint32"), result=Operand(words, "uint32", start=2), partitions=1)
    yield Fault.OPERATION, _changed(states, second=1)
    yield Fault.OPERATION, _changed(states, register=1)
    yield Fault.DTYPE, replace(states, x=Operand(words, "int32"))
    yield Fault.DTYPE, replace(states, result=Operand(words, "fp32", start=2))
    fewer = Pattern(((1, 23),))
    yield Fault.COUNT, replace(states, x=Operand(fewer, "uint32"), result=Operand(fewer, "uint32", start=2))


def _of_tensor(config: CoreConfig) -> Iterator[tuple[Fault, Instruction]]:
    size, partition = config.size, config.partition_bytes
    legal = Matmul(rows=size, columns=size, moving=_FOUR, result=_FOUR)
    passes = Matmul(mode=Mode.PASS, rows=4, columns=size, result=_FOUR, bf16=True)
    bf16 = OperandFormat.BF16
    if config.has_sparse:
        yield from _of_sparse(legal)
    else:
        yield Fault.OPERATION, _changed(legal, mode=Mode.SPARSE)
    for mode in _unknown(Mode):
        yield Fault.OPERATION, _changed(legal, mode=mode)
    for flag in range(8):
        if flag not in ACCUMULATES:
            yield Fault.OPERATION, replace(legal, flag=flag)
        if ACCUMULATES.get(flag, True):
            yield Fault.OPERATION, replace(passes, flag=flag)
    for formats in ((OperandFormat.FP32, bf16), (OperandFormat.TF32, bf16), (bf16, OperandFormat.E2M1)):
        yield Fault.DTYPE, replace(legal, formats=formats)
    yield Fault.DTYPE, replace(legal, formats=(OperandFormat.E4M3, OperandFormat.E4M3FN))
    yield Fault.DTYPE, replace(legal, mode=Mode.FUSED)
    yield Fault.DTYPE, replace(legal, mode=Mode.DOUBLE_ROW)
    for code in _unknown(OperandFormat):
        yield Fault.DTYPE, _changed(legal, moving_format=code)
        for of in (legal, passes):
            yield Fault.DTYPE, _changed(of, stationary_format=code)
    yield Fault.DTYPE, replace(passes, bf16=False)
    yield Fault.DTYPE, replace(passes, formats=(OperandFormat.FP32, bf16))
    for name, partitions in product(("rows", "columns"), _beyond(size)):
        yield Fault.PARTITIONS, _changed(legal, **{name: partitions})
    for start, rows in _wrong_starts(size):
        yield Fault.START, replace(legal, start=start, rows=rows)
    yield Fault.NUM, replace(legal, moving=Pattern(((1, 0),)))
    yield Fault.NUM, replace(legal, result=Pattern(((1, 0),)))
    yield Fault.COUNT, replace(legal, moving=Pattern(((1, 5),)))
    yield Fault.COUNT, replace(passes, rows=3)
    yield Fault.RANGE, replace(legal, stationary=4)
    yield Fault.RANGE, replace(legal, formats=(OperandFormat.TF32,) * 2, stationary=partition - 8)
    yield Fault.RANGE, replace(legal, moving=Pattern(((1, 4),), partition // 2 - 3))
    yield Fault.RANGE, replace(legal, result=Pattern(((1, 4),), config.bank_bytes // 4 - 3))
    if size < QUADRANT:
        yield Fault.OPERATION, replace(legal, mode=Mode.MX, formats=(OperandFormat.E5M2,) * 2)
        return
    quad = replace(legal, mode=Mode.MX, formats=(OperandFormat.E5M2,) * 2)
    yield Fault.DTYPE, replace(quad, formats=(bf16, bf16))
    yield Fault.PARTITIONS, replace(quad, rows=size - 1)
    yield Fault.PARTITIONS, replace(quad, columns=3)
    yield Fault.RANGE, replace(quad, scales=(2, 0))
    yield Fault.RANGE, replace(quad, scales=(partition - 4, 0))
    yield Fault.RANGE, replace(quad, scales=(0, partition - 3))


def _of_sparse(of: Matmul) -> Iterator[tuple[Fault, Instruction]]:
    legal = replace(of, mode=Mode.SPARSE, rows=4, columns=4, pattern="4:8", result=Pattern(((1, 2),)))
    known = [(each.kept - 1, each.ratio - 1) for each in PATTERNS.values()]
    for partition, slot in product(range(SLOTS), repeat=2):
        if (partition, slot) not in known:
            yield Fault.OPERATION, _changed(legal, pattern={"last_partition": partition, "last_slot": slot})
    for formats in ((OperandFormat.TF32, OperandFormat.BF16), (OperandFormat.E5M2,) * 2):
        yield Fault.DTYPE, replace(legal, formats=formats)
    yield Fault.PARTITIONS, replace(legal, columns=2)
    yield Fault.PARTITIONS, replace(legal, rows=2)
    yield Fault.COUNT, replace(legal, result=_FOUR)
    yield Fault.RANGE, _changed(legal, tags=1)


def _of_dma(config: CoreConfig) -> Iterator[tuple[Fault, Instruction]]:
    partition = config.partition_bytes
    here, there = Side(_FOUR, 0), Side(_FOUR, None, 4)
    legal = Copy(source=there, destination=here, partitions=4, size=2)
    yield Fault.OPERATION, replace(legal, source=here)
    yield Fault.OPERATION, _changed(legal, mode=3)
    yield Fault.DTYPE, _changed(legal, copy=legal.body()["copy"] | {"size": 3})
    yield Fault.DTYPE, _changed(legal, mode=1)
    yield Fault.PARTITIONS, replace(legal, partitions=0)
    yield Fault.PARTITIONS, replace(legal, destination=Side(_FOUR, config.size - 3))
    yield Fault.NUM, replace(legal, source=Side(Pattern(((1, 0),))))
    yield Fault.COUNT, replace(legal, source=Side(Pattern(((1, 3),)), None, 4))
    yield Fault.RANGE, replace(legal, destination=Side(Pattern(((1, 4),), partition // 4 - 3), 0))
    yield Fault.RANGE, replace(legal, source=Side(_FOUR, None, -1))
    direct = Descriptor(source=(None, 0), destination=(1, 0), count=4, pair=("fp32", "bf16"), config=config)
    yield Fault.OPERATION, replace(direct, source=(0, 0))
    yield Fault.OPERATION, _changed(direct, mode=3)
    for dtype, side in product(_unknown(Dtype), ("source", "destination")):
        yield Fault.DTYPE, _changed(direct, pair=direct.body()["pair"] | {side: dtype})
    yield Fault.DTYPE, _changed(direct, mode=2)
    yield Fault.RANGE, _changed(direct, length=15)
    yield Fault.RANGE, replace(direct, source=(None, config.hbm_bytes - 12))
    yield Fault.RANGE, replace(direct, destination=(1, partition - 6))
    add = replace(direct, pair=("fp32", "fp32"))
    yield Fault.RANGE, _changed(replace(add, destination=(1, 2)), mode=2)


def _of_vast_patterns(config: CoreConfig) -> Iterator[tuple[Fault, Instruction]]:
    """Patterns of large steps and nums, which leave every memory."""
    rng = Random("vast")
    size = config.size

    def vast_pattern(step_bits: int) -> Pattern:
        step, num = (1 << step_bits - 1) - 1, (1 << config.num_bits) - 1
        signs = [rng.choice((1, -1)) for _ in range(MAX_PAIRS)]
        pairs = tuple((sign * rng.randint(step // 2, step), rng.randint(num // 2, num)) for sign in signs)
        return Pattern(pairs, rng.randrange(config.bank_bytes))

    for log, dtype in enumerate(("uint8", "bf16", "fp32")):
        vast = vast_pattern(config.step_bits)
        operand = Operand(vast, dtype)
        for engine in (Engine.VECTOR, Engine.SCALAR):
            lanes = Operate(engine=engine, x=operand, y=operand, result=operand, partitions=size, op=Operator.ADD)
            yield Fault.RANGE, lanes
        yield Fault.RANGE, Matmul(rows=size, columns=size, moving=vast, result=vast)
        vast = vast_pattern(config.dge.step_bits)
        source, destination = Side(vast, None, -1 << log), Side(vast, 0)
        yield Fault.RANGE, Copy(source=source, destination=destination, partitions=4, size=log)
