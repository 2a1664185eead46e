"""The tile's operations on memory: loads, stores, their FIFOs, and updates of a pointer alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import srs
from bitpath.golden.aie_ml_v2.convert.mx import to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX6, MX9, SRS_MODES, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.tile import (
    FLUSH,
    LINE_BYTES,
    LOAD,
    POP,
    PUSH_MX,
    REGISTERS,
    STORE,
    STORE_SRS,
    AguForm,
    Cycles,
)
from bitpath.golden.aie_ml_v2.mac.sparsity import decompress, sparse_load
from bitpath.golden.aie_ml_v2.operands.layout import pack_mx, to_registers, unpack_mx
from bitpath.golden.aie_ml_v2.tile.addresses import Address, line_of
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory, LoadFifo, StoreFifo
from bitpath.golden.aie_ml_v2.tile.operation import Access, Operation, Read, Steps
from bitpath.golden.arrays.arguments import check_choice, checked, integer

POINTER = (1, "")
"""When pointers, counters and FIFOs are written, and by which bypass path."""
POP_FORMATS = {fmt.name: fmt for fmt in (MX9, MX6, MX4)}
SPARSE_ENTITIES = {"sparse8": 1, "sparse16": 2}
"""Formats of two compressed chunks, by the bytes of an entity."""
LOAD_FIFOS = (("lf0", "r24", "p0"), ("lf1", "r25", "p1"))
STORE_FIFO = ("sf", "r26", "p2")
"""Bytes, count and pointer of a FIFO."""


def register_bytes(name: str) -> int:
    """Return the bytes of a register."""
    check_choice("name", name, REGISTERS)
    return sum(span.width for span in REGISTERS[name][0].spans) // 8


@checked
@dataclass(frozen=True, kw_only=True)
class Load(Operation):
    """Load a vector register of 128 to 512 bits.

    Raises
    ------
    ValueError : another register; an immediate that the width does not have.
    """

    slots = ("lda", "ldb")
    to: str
    address: Address

    def __post_init__(self) -> None:
        self.address.check_immediate(_vector_bytes("to", self.to))

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return {self.to: (_at(LOAD.result), "")} | dict.fromkeys(self.address.written, POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        address, after = self.address.step((yield Read(LOAD.read, self.address.names)))
        yield after
        data = yield Access(_at(LOAD.memory), address, register_bytes(self.to))
        yield {self.to: data}


@checked
@dataclass(frozen=True, kw_only=True)
class Store(Operation):
    """Store a vector register of 128 to 512 bits.

    Raises
    ------
    ValueError : as `Load`.
    """

    slots = ("st",)
    source: str
    address: Address

    def __post_init__(self) -> None:
        self.address.check_immediate(_vector_bytes("source", self.source))

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(self.address.written, POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        data, *values = yield Read(STORE.read, (self.source, *self.address.names))
        address, after = self.address.step(values)
        yield after
        yield Access(_at(STORE.memory), address, len(data), data)


@checked
@dataclass(frozen=True, kw_only=True)
class StoreSrs(Operation):
    """Shift, round and saturate an accumulator of 64 bytes to 256, and store it.

    Attributes
    ----------
    source : an accumulator, for example "dm0".
    acc_bits, out_bits, rounding, saturate, signed : as `srs` takes them.
    shift : n of s_n, which holds the shift.

    Raises
    ------
    ValueError : a result that is no vector; as `Load`.
    """

    slots = ("st",)
    source: str
    address: Address
    acc_bits: int = 32
    out_bits: int = 8
    shift: int = 0
    rounding: RoundingCode = RoundingCode.CONV_EVEN
    saturate: Saturation = Saturation.SATURATE
    signed: bool = True

    def __post_init__(self) -> None:
        integer("shift", self.shift, range(4))
        check_choice("out_bits", self.out_bits, SRS_MODES[check_choice("acc_bits", self.acc_bits, SRS_MODES)])
        self.address.check_immediate(self._width)

    @property
    def _width(self) -> int:
        return register_bytes(self.source) * self.out_bits // self.acc_bits

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(self.address.written, POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        acc, shift, *values = yield Read(STORE_SRS.read, (self.source, f"s{self.shift}", *self.address.names))
        address, after = self.address.step(values)
        yield after
        lanes = srs(
            acc.view(f"<i{self.acc_bits // 8}"),
            shift,
            acc_bits=self.acc_bits,
            out_bits=self.out_bits,
            rounding=self.rounding,
            saturate=self.saturate,
            signed=self.signed,
        )
        data = lanes.astype(f"<i{self.out_bits // 8}").view(np.uint8)
        yield Access(_at(STORE_SRS.memory), address, self._width, data)


@checked
@dataclass(frozen=True, kw_only=True)
class PointerAdd(Operation):
    """Update a pointer as an access does, without one.

    Raises
    ------
    ValueError : an immediate that is no multiple of 64 from -512 to 448.
    """

    slots = ("lda", "ldb", "st")
    address: Address

    def __post_init__(self) -> None:
        self.address.check_immediate(LINE_BYTES)

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(self.address.written, POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        _, after = self.address.step((yield Read(1, self.address.names)))
        yield after


@checked
@dataclass(frozen=True, kw_only=True)
class Fill(Operation):
    """Load the next line into a load FIFO, if there is room."""

    slots = ("lda", "ldb")
    fifo: int

    def __post_init__(self) -> None:
        integer("fifo", self.fifo, range(2))

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(LOAD_FIFOS[self.fifo], POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        names = LOAD_FIFOS[self.fifo]
        before = _load_fifo((yield Read(POP.read, names)))
        after = before.fill(memory)
        yield _state(names, after)
        yield from _line(memory, before, after, POP)


@checked
@dataclass(frozen=True, kw_only=True)
class Pop(Operation):
    """Take an element from a load FIFO: 64 bytes, blocks of MX, or two compressed chunks.

    Attributes
    ----------
    to : "x3" for fmt "bytes"; "ex3" for "mx9", "sparse8" and "sparse16"; "fex3" for "mx6" and "mx4".
    fifo : 0 or 1.
    fmt : what is taken; MX goes into its registers, chunks into slots and their mask.
    jump : modifier by which the stream goes on from the element's start, with an empty FIFO; its pointer is the FIFO's.

    Raises
    ------
    TypeError, ValueError : another FIFO or format, a register that does not hold it, or a jump by another pointer.
    """

    slots = ("lda", "ldb")
    to: str
    fifo: int
    fmt: str = "bytes"
    jump: Address | None = None

    def __post_init__(self) -> None:
        integer("fifo", self.fifo, range(2))
        check_choice("fmt", self.fmt, ("bytes", *POP_FORMATS, *SPARSE_ENTITIES))
        kind = {"bytes": "x", "mx6": "fex", "mx4": "fex"}.get(self.fmt, "ex")
        check_choice("to", self.to, [f"{kind}{n}" for n in range(12)])
        if self.jump is not None and self.jump.pointer != self.fifo:
            raise ValueError(f"jump must modify p{self.fifo}, not p{self.jump.pointer}")
        if self.jump is not None and self.jump.form is AguForm.INDEXED:
            raise ValueError("jump must move its pointer, not be of form indexed")

    def lands(self) -> Mapping[str, tuple[int, str]]:
        written = self.jump.written if self.jump else ()
        return {self.to: (_at(POP.result), "")} | dict.fromkeys((*LOAD_FIFOS[self.fifo], *written), POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        names = LOAD_FIFOS[self.fifo]
        modifiers = self.jump.names[1:] if self.jump else ()
        data, count, pointer, *values = yield Read(POP.read, (*names, *modifiers))
        before = LoadFifo(pointer, count, data)
        if self.fmt in SPARSE_ENTITIES:
            data, _, after = before.pop_sparse(memory)
        else:
            size = LINE_BYTES if self.fmt == "bytes" else POP_FORMATS[self.fmt].store_bits // 8
            data, _, after = before.pop(memory, size)
        if self.jump is None:
            yield _state(names, after)
        else:
            _, jumped = self.jump.step((pointer, *values), before.head)
            yield _state(names, LoadFifo(jumped[names[2]])) | jumped
        yield from _line(memory, before, after, POP)
        yield {self.to: self._register(data)}

    def _register(self, data: np.ndarray) -> np.ndarray:
        """Return the register's bytes, its lowest part first."""
        if self.fmt == "bytes":
            return data
        if self.fmt in POP_FORMATS:
            fmt = POP_FORMATS[self.fmt]
            held = to_registers(unpack_mx(data.reshape(-1, fmt.block_bytes), fmt))
            return np.concatenate([held.data, held.f, held.g, held.e])
        slots: list[np.ndarray] = []
        masks: list[np.ndarray] = []
        while len(slots) < 2:
            _, mask, used = decompress(data)
            slots.append(sparse_load(data, SPARSE_ENTITIES[self.fmt]).slots.ravel().view(np.uint8))
            masks.append(np.packbits(mask, bitorder="little"))
            data = data[used:]
        return np.concatenate([*slots, *masks])


@checked
@dataclass(frozen=True, kw_only=True)
class Push(Operation):
    """Convert an accumulator of 64 FP32 lanes to MX9, and append its blocks to the store FIFO."""

    slots = ("st",)
    source: str
    rounding: RoundingCode = RoundingCode.CONV_EVEN

    def __post_init__(self) -> None:
        check_choice("source", self.source, [f"dm{n}" for n in range(8)])

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(STORE_FIFO, POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        lanes, *state = yield Read(PUSH_MX.read, (self.source, *STORE_FIFO))
        data = pack_mx(to_mx(lanes.view(np.float32), MX9, rounding=self.rounding)).ravel()
        yield from _stored(_store_fifo(state), data, PUSH_MX)


@checked
@dataclass(frozen=True, kw_only=True)
class Flush(Operation):
    """Store the bytes of the store FIFO, up to the end of its pointer's line."""

    slots = ("st",)

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(STORE_FIFO, POINTER)

    def steps(self, memory: DataMemory) -> Steps:
        yield from _stored(_store_fifo((yield Read(FLUSH.read, STORE_FIFO))), None, FLUSH)


def _at(cycle: int | None) -> int:
    assert cycle is not None
    return cycle


def _vector_bytes(argument: str, name: str) -> int:
    width = register_bytes(name)
    if REGISTERS[name][0].scalar or width not in (16, 32, 64):
        raise ValueError(f"{argument} must name a register of 128, 256 or 512 bits, not {name}")
    return width


def _load_fifo(state: Any) -> LoadFifo:
    data, count, pointer = state
    return LoadFifo(pointer, count, data)


def _store_fifo(state: Any) -> StoreFifo:
    data, count, pointer = state
    return StoreFifo(pointer, count, data)


def _state(names: tuple[str, str, str], fifo: LoadFifo | StoreFifo) -> dict[str, Any]:
    return dict(zip(names, (fifo.data, fifo.count, fifo.pointer), strict=True))


def _line(memory: DataMemory, before: LoadFifo, after: LoadFifo, cycles: Cycles) -> Steps:
    """Access the line that a FIFO took; it must still be the line of the issue."""
    if after.pointer == before.pointer:
        return
    address = line_of(before.pointer)
    taken = memory.load(address, LINE_BYTES)
    line = yield Access(_at(cycles.memory), address, LINE_BYTES)
    if (line != taken).any():
        raise ValueError(f"the line at {address:#x} must not change while a FIFO loads it")


def _stored(before: StoreFifo, data: np.ndarray | None, cycles: Cycles) -> Steps:
    """Write the FIFO's registers, and its line to memory."""
    line = DataMemory()
    if data is None:
        after = before.flush(line)
    else:
        _, after = before.push(line, data)
    yield _state(STORE_FIFO, after)
    place = before.pointer % LINE_BYTES
    written = (after.pointer - before.pointer) % (1 << 20)
    if written:
        address = line_of(before.pointer)
        own = line.load(address, LINE_BYTES)[place : place + written]
        yield Access(_at(cycles.memory), address, LINE_BYTES, own, place)
