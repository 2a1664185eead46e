"""Bench of a core: programs on its engines, from HBM back to HBM, against golden's instructions on plain memories."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from random import Random
from typing import Any

from amaranth import Shape
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, QUADRANT
from bitpath.golden.trainium3.declarations.tensor import PATTERNS
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.common.fp32.fp32_functions import DigitRecurrence
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.core import Core
from bitpath.rtl.trainium3.core.instruction import Engine, Operation
from bitpath.rtl.trainium3.core.lane_engine import RECIPROCALS
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved
from bitpath.verif.trainium3.core.core_host import Host
from bitpath.verif.trainium3.core.programs.instructions import (
    MAX_PAIRS,
    Activate,
    Copy,
    Descriptor,
    ExchangeStates,
    Exponential,
    Instruction,
    Lanes,
    Matmul,
    Memories,
    Operand,
    Operate,
    Pattern,
    Quantize,
    Reciprocal,
    Side,
)
from bitpath.verif.trainium3.core.programs.maker import copy_of, kinds, program, written

# Instructions that a core refuses, each with its fault.


_FOUR = Pattern(((1, 4),))


@dataclass(frozen=True, kw_only=True)
class Refused(Instruction):
    """An instruction, with other fields in its body, that does nothing."""

    of: Instruction
    changes: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return self.of.body() | self.changes

    @property
    def semaphore(self) -> int:
        return self.of.semaphore

    def run(self, memories: Memories) -> None:
        """Do nothing: a refused instruction leaves no trace."""


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
    for name in ("x", "result"):
        yield Fault.OPERATION, replace(quantize, **{name: replace(getattr(quantize, name), psum=True)})
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
    yield Fault.OPERATION, replace(states, x=replace(states.x, psum=True))
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
    yield Fault.PARTITIONS, replace(legal, rows=config.tile_rows + 1, tiled=True)
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
    legal = replace(
        of,
        mode=Mode.SPARSE,
        rows=4,
        columns=4,
        pattern="4:8",
        moving=Pattern(((2, 2), (1, 2))),
        result=Pattern(((1, 2),)),
    )
    known = [(each.kept - 1, each.ratio - 1) for each in PATTERNS.values()]
    for partition, slot in product(range(SLOTS), repeat=2):
        if (partition, slot) not in known:
            yield Fault.OPERATION, _changed(legal, pattern={"last_partition": partition, "last_slot": slot})
    for formats in ((OperandFormat.TF32, OperandFormat.BF16), (OperandFormat.E5M2,) * 2):
        yield Fault.DTYPE, replace(legal, formats=formats)
    yield Fault.PARTITIONS, replace(legal, columns=2)
    yield Fault.PARTITIONS, replace(legal, rows=2)
    yield Fault.COUNT, replace(legal, result=_FOUR)
    yield Fault.COUNT, replace(legal, moving=Pattern(((1, 1), (1, 4))))
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


# The host writes HBM without a stream, and a class of DMA may move a byte in four cycles.
BENCH = UnitBench(Core, CoreConfig, ms=100, patience=lambda config: max(6000, 8 * config.hbm_bytes))
CONFIG = BENCH.config
SIGNATURE = BENCH.signature
CASES = cases(20)
KINDS = list(kinds(CONFIG))
TENSOR_KINDS = [each.name.lower() for each in Mode if each is not Mode.PASS and each.name.lower() in KINDS]
PACES = {"full_speed": 0.0, "gaps": 0.9}
"""Shares of cycles without an instruction."""


@BENCH.test("core.instructions", "A kind's own test names the engine that is wrong", kind=KINDS)
async def instructions(frame, kind):
    """Instructions of each kind follow one another, with random patterns, dtypes, quarters, sizes and limits of DMA,
    and any bits in unused fields. TensorE has every matmul mode, sparse ones with legal tags and others. The other
    engines have tensor_scalar of one step or two, tensor_tensor, Activation2 with its register and its root,
    reciprocal, exponential with its sum, rand2 and its states. DMA has copies by the DGE, and descriptors with casts
    and additions. A core of 32 partitions also has MX and QuantizeMX. All bytes of HBM, SBUF and PSUM are compared."""
    rng = pauses.rng("program")
    host = Host(frame, CONFIG)
    host.set_limits(rng)
    await host.load(rng)
    await host.run(program(CONFIG, rng, [kind] * CASES))
    await host.compare(kind)


@BENCH.test(
    "core.programs",
    "An engine must leave nothing behind for the next instruction, of its own kind or another",
    pace=list(PACES),
)
async def random_programs(frame, pace):
    """Programs of all kinds with refused instructions between them, offered without gaps and with many."""
    rng = pauses.rng("program")
    bad = [each for _, each in refused(CONFIG)]
    host = Host(frame, CONFIG, PACES[pace])
    host.set_limits(rng)
    await host.load(rng)
    await host.clear()
    made = program(CONFIG, rng, [rng.choice(KINDS) for _ in range(CASES)])
    for place in sorted(rng.sample(range(CASES), max(1, CASES // 5)), reverse=True):
        made.insert(place, replace(rng.choice(bad), after=tuple(Engine)))
    await host.run(made)
    _, number = host.fault()
    assert number == next(k for k, each in enumerate(made) if isinstance(each, Refused))
    await host.compare("program")


@BENCH.test("core.beside", "Engines share the ports of SBUF and PSUM; DMA gives way")
async def engines_beside_each_other(frame):
    """Instructions in the shares of their engines, which rarely wait for each other: all memories are as in order, and
    the engines are busy for more cycles than have passed."""
    rng = pauses.rng("program")
    host = Host(frame, CONFIG)
    await host.load(rng)
    await host.clear()
    names = 3 * KINDS + CASES // 2 * ["copy", "descriptor", "vector", "scalar"]
    rng.shuffle(names)
    cycles = await host.run(program(CONFIG, rng, names, beside=True))
    busy = host.busy()
    assert all(busy), f"engines are busy {busy}"
    assert sum(busy) > cycles, f"engines are busy {busy} of {cycles} cycles"
    await host.compare("program")


@BENCH.test(
    "core.semaphores",
    "An instruction must not start before those that it waits for, and only semaphores say when they have ended",
)
async def readers_behind_writers(frame):
    """Instructions in the shares of their engines; VectorE and ScalarE copy results of other engines, and the engine's next
    instruction waits for them. Nothing else orders engines."""
    rng = pauses.rng("program")
    host = Host(frame, CONFIG)
    await host.load(rng)
    names = [name for name in KINDS if name != "descriptor"]
    made: list[Instruction] = []
    readers: dict[tuple[Engine, Engine], Instruction] = {}

    def add(each: Instruction) -> Instruction:
        own = [before for before in each.after if not isinstance(before, Engine) or before is each.engine]
        readers_of = [reader for (engine, _), reader in readers.items() if engine is each.engine]
        made.append(replace(each, after=(*own, *readers_of)))
        return made[-1]

    for each in program(CONFIG, rng, [rng.choice(names) for _ in range(2 * CASES)], beside=True):
        writer = add(each)
        if (found := written(writer)) and rng.getrandbits(1):
            engine = Engine.SCALAR if each.engine is Engine.VECTOR else Engine.VECTOR
            readers[each.engine, engine] = add(copy_of(CONFIG, rng, engine, *found, writer))
    await host.run(made)
    await host.compare("semaphores")


@BENCH.test(
    "core.slots",
    "A transpose runs in the background slot while the array multiplies, but not in a bank to which the other "
    "slot writes",
    "Instructions of TensorE alone, which do not wait for each other: memories are as in order, and the program "
    "takes less time than one after the other",
)
async def transposes_beside_matmuls(frame):
    """Products and twice as many transposes: a transpose takes the background slot, and the next instruction a bank that the
    other slot has left. The program takes less time than one after the other."""
    rng = pauses.rng("program")
    host = Host(frame, CONFIG)
    await host.load(rng)
    names = [name for _ in range(CASES) for name in (rng.choice(TENSOR_KINDS), "pass", "pass")]
    made = [replace(each, after=()) for each in program(CONFIG, rng, ["fused", "pass", *names])]
    cycles = await host.run(made)
    await host.compare("beside")
    alone = await host.run([replace(each, after=(Engine.TENSOR,)) for each in made])
    await host.compare("alone")
    assert cycles < alone, f"{cycles} cycles, {alone} one after the other"


@BENCH.test(
    "core.tiles",
    "Row tiles one after the other take four times the cycles; beside each other they may mix their operands or results",
)
async def tiles_side_by_side(frame):
    """Products of every mode on the four row tiles, each in the next bank: memories are as in order, and the program takes less time
    than one after the other."""
    rng = pauses.rng("program")
    host = Host(frame, CONFIG)
    await host.load(rng)
    row = Pattern(((1, CONFIG.bank_bytes // 4),))
    made = [
        Matmul(
            mode=mode, formats=(fmt, fmt), rows=CONFIG.tile_rows, columns=CONFIG.size, start=number % 4, tiled=True,
            stationary=8 * rng.randrange(4), moving=replace(row, offset=rng.randrange(CONFIG.partition_bytes // 8)),
            result=row, bank=number % CONFIG.banks,
        )
        for number, (mode, fmt) in enumerate(
            [(Mode.NARROW, OperandFormat.BF16), (Mode.NARROW, OperandFormat.FP16), (Mode.FUSED, OperandFormat.FP32)] * 4
        )
    ]  # fmt: skip
    cycles = await host.run(made)
    await host.compare("beside")
    alone = await host.run([replace(each, after=(Engine.TENSOR,)) for each in made])
    await host.compare("alone")
    assert cycles < 0.7 * alone, f"{cycles} cycles, {alone} one after the other"


def paced(count: int) -> Iterator[tuple[Lanes, int, int]]:
    """Yield instructions of VectorE and ScalarE on ``count`` elements, and in how many cycles they take how many elements."""

    def operate(engine: Engine, x: str, result: str, *, step: int = 1, tensor: bool = False, **place: Any) -> Operate:
        row, to = Pattern(((step, count),)), Operand(Pattern(((1, count),), 128 * 8 // container_bits(result)), result)
        y = Operand(Pattern(((1, count),), 64 * 8 // container_bits(x)), x) if tensor else None
        own = {"x": Operand(row, x, **place), "y": y, "result": to, "op": Operator.ADD, "immediate": 0x3F800000}
        return Operate(engine=engine, partitions=CONFIG.size, **own)

    yield operate(Engine.VECTOR, "bf16", "bf16"), 1, 4
    yield operate(Engine.VECTOR, "e5m2", "fp16"), 1, 4
    yield operate(Engine.VECTOR, "fp32", "fp32"), 1, 2
    yield operate(Engine.VECTOR, "bf16", "fp32"), 1, 2
    yield operate(Engine.VECTOR, "int16", "int16"), 1, 2
    yield operate(Engine.VECTOR, "fp32", "fp32", tensor=True), 1, 1
    yield operate(Engine.VECTOR, "bf16", "bf16", step=2), 1, 1
    yield operate(Engine.VECTOR, "bf16", "bf16", psum=True), 1, 1
    yield operate(Engine.SCALAR, "bf16", "bf16"), 1, 2
    yield operate(Engine.SCALAR, "fp32", "fp32"), 1, 1
    for dtype, elements, offset in (("bf16", 4, 64), ("fp32", 2, 32)):
        x, result, one = (
            Operand(Pattern(((1, each),), at), dtype) for each, at in ((count, 0), (count, offset), (1, offset))
        )
        yield Exponential(x=x, result=result, partitions=CONFIG.size), 1, elements
        yield Exponential(x=x, result=one, partitions=CONFIG.size, register=True), 1, elements
    x, result = (Operand(Pattern(((1, count),), offset)) for offset in (0, 32))
    yield Reciprocal(x=x, result=result, partitions=CONFIG.size), DigitRecurrence.LATENCY, RECIPROCALS


@BENCH.test("core.rates", "Golden gives the machine's rates; a core that is slower would have the same bits")
async def elements_a_cycle(frame):
    """As many more cycles as more elements need."""
    rng = pauses.rng("memories")
    host = Host(frame, CONFIG)
    await host.load(rng)
    for (few, _, _), (more, cycles, elements) in zip(paced(8), paced(16), strict=True):
        busy = []
        for each in (few, more):
            await host.clear()
            await host.run([each])
            busy.append(host.busy()[each.engine.value])
        assert (busy[1] - busy[0]) * elements == 8 * cycles, f"{busy} cycles of {more.body()}"
    await host.compare("rates")


@BENCH.test(
    "core.sums",
    "DMA waits for them, and a sum must see the one before it, in memory or on its way",
    "Additions onto few words of SBUF while VectorE and ScalarE read and write for many cycles",
)
async def sums_wait_for_lanes(frame):
    """Additions onto few words of SBUF, while VectorE and ScalarE use its partitions in every second cycle, or each other's
    gaps: a sum waits, and the next one finds it on its way."""
    rng = pauses.rng("program")
    host = Host(frame, CONFIG)
    await host.load(rng)
    made: list[Instruction] = []
    for _ in range(CASES):
        for bank, engine in enumerate((Engine.VECTOR, Engine.SCALAR)):
            half = CONFIG.bank_bytes // 2
            row, at = Pattern(((1, half),)), bank * CONFIG.bank_bytes
            y, result = (Operand(replace(row, offset=at + part), "uint8", True) for part in (0, half))
            own = {"x": Operand(row, "uint8"), "y": y, "result": result, "op": Operator.BITWISE_XOR}
            made.append(Operate(engine=engine, partitions=rng.choice((1, CONFIG.size)), **own))
        for _ in range(6):
            mode, name = rng.choice(((WriteMode.ADD_BF16, "bf16"), (WriteMode.ADD_FP32, "fp32")))
            word = CONFIG.partition_bytes // 2 + 4 * rng.randrange(4)
            destination = rng.randrange(2), word
            source = None, 4 * rng.randrange(CONFIG.hbm_bytes // 4 - 8)
            made.append(
                Descriptor(
                    source=source, destination=destination, count=rng.randint(1, 8), pair=(name, name), mode=mode,
                    config=CONFIG,
                )
            )  # fmt: skip
    await host.run(made)
    await host.compare("sums")


@BENCH.test("core.refused", "A refused instruction must leave no trace")
async def refused_instructions(frame):
    """Instructions with one thing wrong, of every engine, every code that a field does not know, and patterns far
    beyond every memory, between others: code and number of the first, and no byte changed."""
    rng = pauses.rng("memories")
    coverage = frame.coverage([each.name for each in Fault if each is not Fault.NONE])
    host = Host(frame, CONFIG)
    await host.load(rng)
    for fault, each in refused(CONFIG):
        await host.clear()
        good = rng.randrange(3)
        await host.run(
            [*program(CONFIG, rng, ["vector"] * good), each, each, *program(CONFIG, rng, [rng.choice(KINDS)])]
        )
        assert host.fault() == (fault, good), f"{each.body()}"
        coverage.hit(fault.name)
    await host.clear()
    assert host.fault()[0] is Fault.NONE
    await host.compare("refused")


@BENCH.test("core.queues", "Descriptors of several instructions wait together")
async def queues(frame):
    """Copies in all queues at once, with priorities and a class of a low rate."""
    rng = pauses.rng("program")
    dut = frame.dut
    host = Host(frame, CONFIG)
    await host.load(rng)
    settings = [{"priority": k, "traffic_class": k} for k in range(CONFIG.queues)]
    dut.queues.value = pack(SIGNATURE.members["queues"].shape, settings)
    dut.classes.value = pack(SIGNATURE.members["classes"].shape, [{}, {"limited": 1, "rate": 200, "burst": 8}, {}, {}])
    await host.clear()
    part = CONFIG.hbm_bytes // 2 // CONFIG.queues
    copies = []
    for queue in range(CONFIG.queues):
        row = Pattern(((2, part // 16), (1, 1)))
        source, destination = (Side(replace(row, offset=part * (queue + side) // 4)) for side in (0, CONFIG.queues))
        copies.append(Copy(source=source, destination=destination, partitions=1, size=2, queue=queue))
    await host.run(copies)
    assert resolved(dut.grants) == CONFIG.queues * (part // 16)
    await host.compare_hbm("queues")


@BENCH.test("core.reset", "Sequencers, queues and walkers hold a program's state")
async def resets(frame):
    """Resets amid programs: idle at once, counters and fault cleared, later programs are right."""
    rng = pauses.rng("program")
    dut = frame.dut
    host = Host(frame, CONFIG)
    for cycles in (3, 40):
        for each in program(CONFIG, rng, rng.choices(KINDS, k=CASES), beside=True):
            host.send(each)
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        host.drop()
        await frame.reset()
        host.start()
        await FallingEdge(dut.clk)
        assert resolved(dut.idle)
        assert host.fault() == (Fault.NONE, 0)
        assert not any(host.busy())
        await host.load(rng)
        await host.run(program(CONFIG, rng, rng.choices(KINDS, k=4)))
        await host.compare_hbm("after a reset")
