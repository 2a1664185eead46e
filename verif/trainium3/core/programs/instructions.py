"""Instructions of a core: their words, and what golden makes of them on plain memories."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E2M1, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, FloatFormat
from bitpath.golden.scalar import fp32 as exact
from bitpath.golden.trainium3 import Xorwow, quantize_mx, read_add_write
from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.golden.trainium3.declarations.engines import ReduceCommand
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, ScaleRule
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, XORWOW_STATES, XORWOW_WORDS
from bitpath.golden.trainium3.exact import activate2, exponential, uniform
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.matmul.instruction import accumulates, psum_write
from bitpath.golden.trainium3.operands.layout import pack_x4, unpack_x4
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import BODIES, Engine, Operation, Second, instruction_layout
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.vector.quantize_mx import ELEMENTS, SOURCES, Rule
from bitpath.verif.kit.packing import pack
from bitpath.verif.trainium3.array import core_products
from bitpath.verif.trainium3.array.core_products import Product
from bitpath.verif.trainium3.dma.dma_mover import ADDED
from bitpath.verif.trainium3.dtype_words import array_of, cast_words, codes_of
from bitpath.verif.trainium3.lanes import engine_lane
from bitpath.verif.trainium3.lanes.activation2_lane import PAIRS

# A core's memories as plain bytes, and the elements of an access pattern in them.


Pairs = tuple[tuple[int, int], ...]
MAX_PAIRS = 4
QUARTERS = 4


@dataclass(frozen=True)
class Pattern:
    """Elements of a partition: pairs (step, num), outermost first, from an offset on, all in elements."""

    pairs: Pairs = ((1, 1),)
    offset: int = 0

    @property
    def elements(self) -> list[int]:
        """The elements' places in the order of the pattern."""
        steps = [step for step, _ in self.pairs]
        counters = product(*(range(num) for _, num in self.pairs))
        return [self.offset + sum(map(int.__mul__, each, steps)) for each in counters]

    @property
    def count(self) -> int:
        return prod(num for _, num in self.pairs)

    @property
    def fields(self) -> dict[str, Any]:
        pairs = [{"step": step, "num": num} for step, num in reversed(self.pairs)]
        return {"pairs": pairs + [{"step": 0, "num": 1}] * (MAX_PAIRS - len(pairs)), "offset": self.offset}


def row_at(count: int, byte: int, size: int) -> Pattern:
    """Return the pattern of elements of ``size`` bytes that follow each other from a byte on."""
    return Pattern(((1, count),), byte // size)


@dataclass(frozen=True)
class Operand:
    """A pattern of elements of a dtype in SBUF or PSUM, from a quarter of the partitions on."""

    pattern: Pattern = field(default_factory=Pattern)
    dtype: str = "fp32"
    psum: bool = False
    start: int = 0

    @property
    def fields(self) -> dict[str, Any]:
        own = {"dtype": Dtype[self.dtype.upper()], "psum": self.psum, "start": self.start}
        return {"pattern": self.pattern.fields} | own


class Memories:
    """SBUF and PSUM [partitions, bytes] and HBM [bytes], all uint8, the lanes' random states as `Xorwow` has them, and whether
    a tag outside its pattern was loaded."""

    def __init__(self, config: CoreConfig):
        self.config = config
        self.sbuf = np.zeros((config.size, config.partition_bytes), np.uint8)
        self.psum = np.zeros((config.size, config.banks * config.bank_bytes), np.uint8)
        self.hbm = np.zeros(config.hbm_bytes, np.uint8)
        self.states = np.zeros((config.size, XORWOW_STATES, XORWOW_WORDS), np.uint32)
        self.illegal_tag = False

    def read(self, operand: Operand, partitions: int) -> np.ndarray:
        """Return the codes of an operand's elements, int64 [partitions, elements]."""
        rows, places = self._places(operand, partitions)
        return load(rows, places, container_bits(operand.dtype) // 8)

    def write(self, operand: Operand, codes: np.ndarray) -> None:
        """Write codes [partitions, elements], in the order of the pattern."""
        rows, places = self._places(operand, len(codes))
        store(rows, places, container_bits(operand.dtype) // 8, codes)

    def _places(self, operand: Operand, partitions: int) -> tuple[np.ndarray, Sequence[int]]:
        first = operand.start * self.config.size // QUARTERS
        memory = self.psum if operand.psum else self.sbuf
        return memory[first : first + partitions], operand.pattern.elements


def load(rows: np.ndarray, places: Sequence[int], size: int) -> np.ndarray:
    """Return the elements of ``size`` bytes at these places of each row, as int64."""
    at = size * np.array(places)[:, np.newaxis] + np.arange(size)
    return codes_of(np.ascontiguousarray(rows[:, at]).view(f"u{size}")[..., 0])


def store(rows: np.ndarray, places: Sequence[int], size: int, codes: np.ndarray) -> None:
    """Write elements of ``size`` bytes, the first of each row first."""
    values = np.ascontiguousarray(codes).astype(f"u{size}").view(np.uint8).reshape(len(codes), -1, size)
    for k, place in enumerate(places):
        rows[:, size * place : size * (place + 1)] = values[:, k]


FORMATS: dict[OperandFormat, FloatFormat] = {
    OperandFormat[fmt.name]: fmt for fmt in (E4M3FN, E5M2, E2M1, E4M3, E3M4, FP16, BF16, FP32)
} | {OperandFormat.TF32: FP32}
EXPONENTIAL = TRAINIUM3_EXPONENTIAL.numerics
SCALES = 4
"""Scales of a quadrant."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """An instruction of an engine's stream. It starts behind the instructions before it that `after` names, or all of an engine."""

    engine: Engine
    after: tuple["Engine | Instruction", ...] = ()

    def word(self, config: CoreConfig, rng: Random, waits: Sequence[int]) -> int:
        """Return the instruction as its program's port has it; fields that it does not use have any bits."""
        layout, body = BODIES[self.engine](config), dict(self.body())
        body |= {name: rng.getrandbits(field.width) for name, field in layout if name not in body}
        return pack(instruction_layout(config, self.engine), {"body": body, "waits": waits})

    @property
    def semaphore(self) -> int:
        """The semaphore that counts the instruction."""
        return self.engine.value

    def body(self) -> dict[str, Any]:
        """Return the fields that the instruction uses."""
        raise NotImplementedError

    def run(self, memories: Memories) -> None:
        """Execute the instruction on the model."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Matmul(Instruction):
    """A product, or a transpose with mode PASS; ``mode`` decides what ``formats``, stationary and moving, may be."""

    engine: Engine = Engine.TENSOR
    mode: Mode = Mode.NARROW
    formats: tuple[OperandFormat, OperandFormat] = (OperandFormat.BF16, OperandFormat.BF16)
    rows: int
    columns: int
    start: int = 0
    tiled: bool = False
    stationary: int = 0
    moving: Pattern = field(default_factory=Pattern)
    scales: tuple[int, int] = (0, 0)
    scale_offset: int = 0
    pattern: str = "1:2"
    tags: int = 0
    result: Pattern = field(default_factory=Pattern)
    bank: int = 0
    flag: int = 3
    bf16: bool = False

    def body(self) -> dict[str, Any]:
        names = ["mode", "rows", "columns", "start", "tiled", "stationary", "bank", "flag", "bf16"]
        own: dict[str, Any] = {"stationary_format": self.formats[0], "result": self.result.fields}
        if self.mode is not Mode.PASS:
            own |= {"moving_format": self.formats[1], "moving": self.moving.fields}
        if self.mode is Mode.MX:
            names.append("scale_offset")
            own |= {"stationary_scales": self.scales[0], "moving_scales": self.scales[1]}
        if self.mode is Mode.SPARSE:
            names.append("tags")
            kept, ratio = self.kept_and_ratio
            own["pattern"] = {"last_partition": kept - 1, "last_slot": ratio - 1}
        return own | {name: getattr(self, name) for name in names}

    @property
    def kept_and_ratio(self) -> tuple[int, int]:
        """Partitions of a group, and slots of a partition, of SPARSE."""
        kept, group = map(int, self.pattern.split(":"))
        return kept, group // kept

    def run(self, memories: Memories) -> None:
        config = memories.config
        first = self.start * config.size // 4
        rows = memories.sbuf[first : first + self.rows]
        size = self.size(0)
        stationary = load(rows, [self.stationary // size + m for m in range(self.columns)], size)
        moving = None if self.mode is Mode.PASS else load(rows, self.moving.elements, self.size(1))
        product = self._product(stationary, moving, memories, first)
        incoming, *upper = product.prefix(self.rows)
        bank = memories.psum[: self.columns, self.bank * config.bank_bytes : (self.bank + 1) * config.bank_bytes]
        places, width = self.result.elements, 2 if self.bf16 else 4
        if self.mode is Mode.PASS:
            for half in upper:
                incoming |= half << 16
            store(bank, places, width, incoming)
            return
        dtype = DTYPES[BF16 if self.bf16 else FP32]
        present = load(bank, places, width).astype(f"u{width}").view(dtype) if accumulates(self.flag) else None
        store(bank, places, width, codes_of(psum_write(np.ascontiguousarray(incoming), present, dtype)))

    def size(self, side: int) -> int:
        """Bytes of an element of an operand; of an x4 word in MX, of two elements in double row."""
        element = FORMATS[self.formats[side]].width
        return element * {Mode.MX: 4, Mode.DOUBLE_ROW: 2}.get(self.mode, 1) // 8

    def _product(self, x: np.ndarray, y: np.ndarray | None, memories: Memories, first: int) -> Product:
        if y is None:
            return core_products.transpose(x.astype(f"u{self.size(0)}"))
        dtypes = [DTYPES[FORMATS[each]] for each in self.formats]
        if self.mode is Mode.MX:
            sides = [unpack_x4(each.astype(f"u{self.size(k)}"), dtypes[k]) for k, each in enumerate((x, y))]
            count = x.shape[1], y.shape[1]
            scales = [self._scales(memories, first, at, each) for at, each in zip(self.scales, count, strict=True)]
            sides = [each.reshape(self.rows, -1, 4) for each in sides]
            return core_products.quad_mx(*sides, *scales)
        if self.mode is Mode.DOUBLE_ROW:
            halves = [np.stack([each & 0xFF, each >> 8], axis=1).astype(np.uint8) for each in (x, y)]
            return core_products.double_row(*(each.view(dtypes[k]) for k, each in enumerate(halves)))
        sides = [each.astype(f"u{self.size(k)}").view(dtypes[k]) for k, each in enumerate((x, y))]
        if self.mode is Mode.SPARSE:
            return self._sparse(*sides, memories, first)
        make: Callable[..., Product] = core_products.matmul
        if self.mode is Mode.FUSED:
            make = core_products.fused
        elif self.formats[0] is OperandFormat.TF32:
            make = core_products.tf32
        return make(*sides)

    def _sparse(self, x: np.ndarray, y: np.ndarray, memories: Memories, first: int) -> Product:
        """Each stationary column times the moving elements that its tags name; a tag outside the pattern names +0."""
        kept, ratio = self.kept_and_ratio
        rows = np.arange(self.rows)[:, np.newaxis]
        words = load(
            memories.sbuf[first : first + self.rows], [self.tags // 2 + k for k in range(self.columns // 4)], 2
        )
        tags = np.stack([words >> 4 * k & 15 for k in range(4)], axis=2).reshape(self.rows, self.columns)
        partition, slot = tags >> 2, tags & 3
        legal = (partition < kept) & (slot < ratio)
        memories.illegal_tag |= not legal.all()
        moving = y.reshape(self.rows, -1, ratio)
        chosen = moving[rows // kept * kept + partition % kept, :, slot % ratio]
        chosen = np.where(legal[:, :, np.newaxis], chosen, y.dtype.type(0))
        make = core_products.tf32 if self.formats[0] is OperandFormat.TF32 else core_products.matmul
        columns = [make(x[:, m : m + 1], np.ascontiguousarray(chosen[:, m])) for m in range(self.columns)]

        def prefix(count: int) -> np.ndarray:
            return np.concatenate([each.prefix(count) for each in columns], axis=1)

        return replace(columns[0], prefix=prefix)

    def _scales(self, memories: Memories, first: int, byte: int, count: int) -> np.ndarray:
        """Scales [rows / 8, count], four rows of each quadrant."""
        rows = [first + quadrant * QUADRANT + SCALES * self.scale_offset for quadrant in range(self.rows // QUADRANT)]
        return np.vstack([memories.sbuf[row : row + SCALES, byte : byte + count] for row in rows])


# DMA instructions of a core: copies by the DGE, and single descriptors.


@dataclass(frozen=True)
class Side:
    """A side of a copy: elements of SBUF from partition ``start`` on, or of HBM, where ``start`` is None."""

    pattern: Pattern
    start: int | None = None
    partition_step: int = 0

    @property
    def fields(self) -> dict[str, Any]:
        own = {"sbuf": self.start is not None, "start": self.start or 0, "partition_step": self.partition_step}
        return self.pattern.fields | own

    def row(self, memories: Memories, p: int) -> tuple[np.ndarray, list[int]]:
        """Return the bytes in which the elements of the p-th partition lie, [1, bytes], and their places."""
        if self.start is not None:
            return memories.sbuf[self.start + p : self.start + p + 1], self.pattern.elements
        return memories.hbm[np.newaxis], [place + p * self.partition_step for place in self.pattern.elements]


def _after(mode: WriteMode, present: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the codes that a write leaves."""
    if mode is WriteMode.STORE:
        return values
    return codes_of(read_add_write(array_of(present, ADDED[mode]), array_of(values, ADDED[mode])))


@dataclass(frozen=True, kw_only=True)
class Moves(Instruction):
    """An instruction of a DMA queue."""

    engine: Engine = Engine.DMA
    queue: int = 0

    @property
    def semaphore(self) -> int:
        return self.engine.value + self.queue


@dataclass(frozen=True, kw_only=True)
class Copy(Moves):
    """A copy whose descriptors the DGE makes, or a read-add-write."""

    source: Side
    destination: Side
    partitions: int
    size: int = 0
    mode: WriteMode = WriteMode.STORE

    def body(self) -> dict[str, Any]:
        own = {"partitions": self.partitions, "size": self.size, "queue": self.queue}
        sides = {"source": self.source.fields, "destination": self.destination.fields}
        return {"copy": own | sides, "mode": self.mode, "direct": 0}

    def run(self, memories: Memories) -> None:
        width = 1 << self.size
        moved = [load(*self.source.row(memories, p), width) for p in range(self.partitions)]
        for p, values in enumerate(moved):
            row, places = self.destination.row(memories, p)
            store(row, places, width, _after(self.mode, load(row, places, width), values))


@dataclass(frozen=True, kw_only=True)
class Descriptor(Moves):
    """One descriptor, with a cast if its dtypes differ; sides are (partition or None, byte)."""

    source: tuple[int | None, int]
    destination: tuple[int | None, int]
    count: int
    pair: tuple[str, str] = ("uint8", "uint8")
    mode: WriteMode = WriteMode.STORE
    config: CoreConfig

    def body(self) -> dict[str, Any]:
        group = self.config.sbuf.group
        partitions = [each for each, _ in (self.source, self.destination) if each is not None]
        length = self.count * max(container_bits(each) for each in self.pair) // 8
        return {
            "direct": 1,
            "engine": partitions[0] // group if partitions else 0,
            "queue": self.queue,
            "source": self._address(*self.source),
            "destination": self._address(*self.destination),
            "length": length % (1 << 16),
            "pair": {"source": Dtype[self.pair[0].upper()], "destination": Dtype[self.pair[1].upper()]},
            "mode": self.mode,
        }

    def _address(self, partition: int | None, byte: int) -> int:
        if partition is None:
            return byte
        inside = partition % self.config.sbuf.group * self.config.partition_bytes + byte
        return inside | 1 << self.config.mover.address_bits - 1

    def run(self, memories: Memories) -> None:
        (source, destination), (first, at) = zip(
            *((self._bytes(memories, *side)) for side in (self.source, self.destination)), strict=True
        )
        sizes = [container_bits(each) // 8 for each in self.pair]
        codes = codes_of(source[first : first + self.count * sizes[0]].copy().view(f"u{sizes[0]}"))
        if self.pair[0] != self.pair[1]:
            codes = cast_words(codes, *self.pair)
        target = destination[at : at + self.count * sizes[1]]
        present = codes_of(target.copy().view(f"u{sizes[1]}"))
        target[:] = _after(self.mode, present, codes).astype(f"u{sizes[1]}").view(np.uint8)

    @staticmethod
    def _bytes(memories: Memories, partition: int | None, byte: int) -> tuple[np.ndarray, int]:
        return (memories.hbm if partition is None else memories.sbuf[partition]), byte


def load_rows(byte: int, place: int, partitions: int, count: int, size: int, start: int = 0, queue: int = 0) -> Copy:
    """Return the copy of rows of ``count`` elements, of ``2**size`` bytes, from a byte of HBM on to a byte of each partition."""
    source, destination = _sides(byte, place, partitions, count, size, start)
    return Copy(source=source, destination=destination, partitions=partitions, size=size, queue=queue)


def store_rows(byte: int, place: int, partitions: int, count: int, size: int) -> Copy:
    """Return the copy back, of the first partitions, behind all that the engines do."""
    destination, source = _sides(byte, place, partitions, count, size)
    return Copy(source=source, destination=destination, partitions=partitions, size=size, after=tuple(Engine))


def _sides(byte: int, place: int, partitions: int, count: int, size: int, start: int = 0) -> tuple[Side, Side]:
    width = 1 << size
    hbm = Side(row_at(count, byte, width), None, count if partitions > 1 else 0)
    return hbm, Side(row_at(count, place, width), start)


# Instructions of a core's VectorE and ScalarE: their words, and what golden makes of them on plain memories.


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
