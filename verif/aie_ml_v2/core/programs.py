"""Random schedules for the tile that golden's `Tile` accepts: no two writes of a register in a cycle, addresses in memory.

::

     memory   [ loads and stores, anywhere | line by line: p0, bytes and MX9 | p1, compressed chunks ]
     X        the last one everything; those below hold operands of MX9 or of sparse products, and nothing writes them;
              with dense products all hold everything
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import (
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_KEPT,
    SRS_MODES,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES, REGISTERS, AguForm
from bitpath.golden.aie_ml_v2.mac.sparsity import compress
from bitpath.golden.aie_ml_v2.tile.addresses import Address
from bitpath.golden.aie_ml_v2.tile.layers import write_bytes
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory, LoadFifo
from bitpath.golden.aie_ml_v2.tile.operation import Operation, Registers
from bitpath.golden.aie_ml_v2.tile.tile import Bundle
from bitpath.golden.aie_ml_v2.tile.transfers import (
    LOAD_FIFOS,
    POP_FORMATS,
    SPARSE_ENTITIES,
    STORE_FIFO,
    Fill,
    Flush,
    Load,
    PointerAdd,
    Pop,
    Push,
    StoreSrs,
    register_bytes,
)
from bitpath.golden.aie_ml_v2.tile.vectors import Mac, Shuffle
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, PopFormat, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mover.shuffle import SHARE_BITS
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.verif.aie_ml_v2.core.host import memory_bytes
from bitpath.verif.kit.packing import pack

# Random operands in memory and registers that golden's operations accept, and which registers share bits.


def chunks(source: np.random.Generator, size: int, entity_bytes: int) -> np.ndarray:
    """Return pairs of compressed chunks one after the other, 64 bytes each, with at most two entities of four."""
    parts: list[np.ndarray] = []
    while 32 * len(parts) < size:
        first = int(source.integers(4, 9))
        for words in (first, 12 - first):
            kept = int(source.integers(4 * words - 3, 4 * words + 1))
            groups = SPARSE_CHUNK_BYTES // (SPARSE_GROUP * entity_bytes)
            chosen = source.random((groups, SPARSE_GROUP)).argsort(axis=1) < SPARSE_KEPT
            places = np.flatnonzero(chosen.ravel().repeat(entity_bytes))
            chunk = np.zeros(SPARSE_CHUNK_BYTES, np.uint8)
            chunk[source.permutation(places)[:kept]] = source.integers(1, 256, kept)
            parts.append(compress(chunk))
    return np.concatenate(parts)[:size]


def block_operands(source: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield EX of half blocks, which may be any half of A or of B: both halves of a block have its exponent."""
    exponents = source.integers(0, 256, 4, np.uint8)
    if source.random() < 0.8:
        exponents = exponents // 16 + 119  # of products near each other
    while True:
        codes, shifts = source.integers(0, 256, 64, np.uint8), source.integers(0, 16, 8, np.uint8)
        yield np.concatenate([codes, shifts, np.tile(exponents, 2).astype(np.uint8)])


def sparse_operands(source: np.random.Generator, entity_bytes: int) -> Iterator[np.ndarray]:
    """Yield EX registers whose masks have two entities of four at most, with any bytes in the slots."""
    while True:
        chosen = source.random((2 * SPARSE_CHUNK_BYTES // (SPARSE_GROUP * entity_bytes), SPARSE_GROUP))
        held = (chosen.argsort(axis=1) < SPARSE_KEPT).ravel().repeat(entity_bytes)
        mask = np.packbits(held & (source.random(held.shape) < 0.8), bitorder="little")
        yield np.concatenate([source.integers(0, 256, 64, np.uint8), mask])


def any_registers(source: np.random.Generator, config: AieTileConfig) -> Registers:
    """Return registers of any bits, and FIFOs of any counts."""
    registers = Registers()
    bytes_of = {f"fex{n}": 96 for n in range(2 * config.pairs)} | {f"dm{n}": 256 for n in range(config.accumulators)}
    bytes_of |= {data: FIFO_BYTES for data, _, _ in (*LOAD_FIFOS, STORE_FIFO)}
    ends = {f"{kind}{n}": 1 << ADDRESS_BITS for kind in ("p", "m", "dn", "dj", "dc") for n in range(8)}
    ends |= {f"s{n}": 64 for n in range(4)} | {count: FIFO_BYTES + 1 for _, count, _ in (*LOAD_FIFOS, STORE_FIFO)}
    for name, size in bytes_of.items():
        registers.write(name, source.integers(0, 256, size, np.uint8))
    for name, end in ends.items():
        registers.write(name, int(source.integers(0, end)))
    return registers


def overlap(first: str, second: str) -> bool:
    """Return whether two registers share bits."""
    return any(
        a == b and low < other_end and other_low < end
        for a, low, end in _spans(first)
        for b, other_low, other_end in _spans(second)
    )


def _spans(name: str) -> Iterator[tuple[str, int, int]]:
    kind, number = REGISTERS[name]
    for span in kind.spans:
        low = span.first + number * span.step
        yield span.storage, low, low + span.width


# Bundles that the tile refuses, in whole or in part.


X, Y, DM = {"index": 0, "size": 1}, {"index": 0, "size": 2}, {"index": 0, "size": 2}


def _slot(slot: str, **fields: Any) -> Callable[[AieTileConfig], int]:
    return lambda _: pack(BUNDLE, {slot: fields})


def _beyond(slot: str, name: str, **fields: Any) -> Callable[[AieTileConfig], int]:
    """Return an operation with the first register that a tile has not."""

    def word(config: AieTileConfig) -> int:
        count = config.accumulators if name == "source" else config.pairs
        return pack(BUNDLE, {slot: fields | {name: {"index": (4 * count) % 32, "size": fields[name]["size"]}}})

    return word


def _beyond_accumulators(config: AieTileConfig) -> int:
    """Return a product for an accumulator that a tile has not, or with a register that none has."""
    name = {"to": config.accumulators} if config.accumulators < 8 else {"a": {"index": 30, "size": 0}}
    fields = {"op": VectorOp.INTEGER, "native": config.multiply.products[0], "a": X, "b": X}
    return pack(BUNDLE, {"vec": fields | name})


LACKING: dict[str, Callable[[AieTileConfig], int]] = {
    "a jump by another pointer": _slot("lda", op=LoadOp.POP, to=X, jumps=1, address={"pointer": 1}),
    "a jump by a fifth modifier": _slot(
        "ldb", op=LoadOp.POP, to=X, jumps=1, fifo=1, address={"pointer": 1, "mode": AguMode.THREE_D, "register": 7}
    ),
    "a pointer that moves by half a line": _slot(
        "ldb", op=LoadOp.POINTER, address={"pointer": 3, "is_immediate": 1, "immediate": 32}
    ),
    "a 3D address of a fifth modifier": _slot(
        "lda", op=LoadOp.LOAD, to=X, address={"pointer": 3, "mode": AguMode.THREE_D, "register": 4}
    ),
    "an immediate in 2D": _slot("ldb", op=LoadOp.POINTER, address={"mode": AguMode.TWO_D, "is_immediate": 1}),
    "a load's code": _slot("lda", op=5),
    "a load of a Y": _slot("ldb", op=LoadOp.LOAD, to=Y),
    "a load to half of two X": _slot("lda", op=LoadOp.LOAD, to={"index": 1, "size": 1}),
    "a register beyond the last one": _beyond("lda", "to", op=LoadOp.LOAD, to=X),
    "a pop to a W": _slot("ldb", op=LoadOp.POP, to={"index": 0, "size": 0}),
    "a jump that leaves its pointer": _slot(
        "lda", op=LoadOp.POP, to=X, format=PopFormat.BYTES, jumps=1, address={"mode": AguMode.INDEXED}
    ),
    "a store's code": _slot("st", op=7),
    "SRS of 128 bytes": _slot("st", op=StoreOp.SRS, source=DM, wide=1),
    "SRS of no register": _slot("st", op=StoreOp.SRS, source={"index": 0, "size": 3}),
    "SRS of half of two cm": _slot("st", op=StoreOp.SRS, source={"index": 1, "size": 1}),
    "an accumulator beyond the last one": _beyond("st", "source", op=StoreOp.SRS, source={"index": 0, "size": 0}),
    "SRS of a rounding that there is not": _slot("st", op=StoreOp.SRS, source={"index": 0, "size": 0}, rounding=5),
    "SRS of a saturation that there is not": _slot("st", op=StoreOp.SRS, source={"index": 0, "size": 0}, saturation=2),
    "a push of a rounding that there is not": _slot("st", op=StoreOp.PUSH, source=DM, rounding=15),
    "a push of a bm": _slot("st", op=StoreOp.PUSH, source={"index": 0, "size": 0}),
    "a shuffle's code": _slot("mv", op=MoveOp.SHUFFLE, to=X, low=X, high=X, code=127),
    "a shuffle of W": _slot("mv", op=MoveOp.SHUFFLE, to=X, low={"index": 0, "size": 0}, high=X),
    "a shuffle of exponents with bytes": _slot("mv", op=MoveOp.SHUFFLE, to=X, low=X, high=X, code=28, exponents=1),
    "a product's code": _slot("vec", op=3),
    "another product": _slot("vec", op=VectorOp.INTEGER, native=NativeShape.FLOAT16_4X8X8, a=X, b=X),
    "a product of a Y": lambda config: pack(
        BUNDLE,
        {"vec": {"op": VectorOp.INTEGER, "native": config.multiply.products[0], "a": {"index": 0, "size": 3}, "b": X}},
    ),
    "a product's register": _beyond_accumulators,
    "MX9 of an X": _slot("vec", op=VectorOp.MX9, a=X, b=X, b_high=Y),
}
"""Words of bundles with one operation that the tile lacks."""
HERE = Address(pointer=3)
_POP, _LOAD, _FLUSH, _FILL = Pop(to="x0", fifo=0), Load(to="x1", address=HERE), Flush(), Fill(fifo=0)
_SRS = StoreSrs(source="bmll0", address=HERE)
_POINTER = PointerAdd(address=Address(pointer=0, immediate=64))
_STEP = PointerAdd(address=Address(pointer=3, immediate=64))
_STORE_POINTER = PointerAdd(address=Address(pointer=2, immediate=64))
_COUNTS = [
    PointerAdd(address=Address(pointer=pointer, form=form, register=register))
    for pointer, form, register in (
        (4, AguForm.TWO_D, 1),
        (5, AguForm.TWO_D, 1),
        (6, AguForm.THREE_D, 2),
        (7, AguForm.TWO_D, 6),
    )
]
_MX9 = Mac(mode="mx9", to="dm0", a="ex2", b="ey0", b_high="ey0")
_INT8 = Mac(mode="int8", shape="8x8x8", to="dm1", a="x0", b="x1")
MEETING: dict[str, tuple[list[Bundle], list[Bundle]]] = {
    "a load behind a pop": ([Bundle(lda=_POP), Bundle(lda=_LOAD)], [Bundle(lda=_POP)]),
    "a load behind the other unit's pop": ([Bundle(ldb=_POP), Bundle(ldb=_LOAD)], [Bundle(ldb=_POP)]),
    "SRS behind a flush": ([Bundle(st=_FLUSH), Bundle(st=_SRS)], [Bundle(st=_FLUSH)]),
    "a FIFO in both units": ([Bundle(lda=_FILL, ldb=_FILL)], [Bundle(lda=_FILL)]),
    "a pointer of both load slots": ([Bundle(lda=_LOAD, ldb=_STEP)], [Bundle(lda=_LOAD)]),
    "a pointer of a load and a store": ([Bundle(ldb=_STEP, st=_SRS)], [Bundle(ldb=_STEP)]),
    "a pointer beside a flush": ([Bundle(lda=_STORE_POINTER, st=_FLUSH)], [Bundle(lda=_STORE_POINTER)]),
    "a counter of two slots": ([Bundle(lda=_COUNTS[0], ldb=_COUNTS[1])], [Bundle(lda=_COUNTS[0])]),
    "an outer counter of two slots": ([Bundle(ldb=_COUNTS[2], st=_COUNTS[3])], [Bundle(ldb=_COUNTS[2])]),
    "a FIFO's pointer beside it": ([Bundle(lda=_FILL, ldb=_POINTER)], [Bundle(lda=_FILL)]),
    "a FIFO's pointer in the store": ([Bundle(lda=_FILL), Bundle(st=_POINTER)], [Bundle(lda=_FILL)]),
    "a FIFO's pointer before its access": (
        [Bundle(ldb=_FILL), *[Bundle()] * 3, Bundle(lda=_POINTER)],
        [Bundle(ldb=_FILL)],
    ),
}
"""Bundles with one operation that meets another one, and what is left of them."""
BEHIND_MX9 = ([Bundle(vec=_MX9), Bundle(vec=_INT8)], [Bundle(vec=_MX9)])


def _bytes(memory: DataMemoryConfig) -> int:
    return 1 << memory.used_bits


WRONG_ADDRESSES: dict[str, tuple[Bundle, Callable[[AieTileConfig, int], int], Fault]] = {
    "a load within a line": (Bundle(ldb=_LOAD), lambda _, place: place + 5, Fault.UNALIGNED),
    "a load beyond": (Bundle(lda=_LOAD), lambda config, place: place + _bytes(config.memory), Fault.RANGE),
    "a store within a word": (Bundle(st=_SRS), lambda _, place: place + 1, Fault.UNALIGNED),
    "a store beyond": (Bundle(st=_SRS), lambda config, place: place + _bytes(config.memory), Fault.RANGE),
}
"""A bundle that accesses the place of p3, another address instead of that place, and the fault."""
LINES_BEYOND: dict[str, tuple[Bundle, str, int]] = {
    "a fill beyond": (Bundle(lda=Fill(fifo=0)), "p0", 0),
    "a pop beyond": (Bundle(ldb=Pop(to="x1", fifo=1)), "p1", 1),
    "a flush beyond": (Bundle(st=_FLUSH), "p2", 2),
}
"""A FIFO's operation, its pointer, and its number."""


SHAPES = {  # registers of A and of B, by a product's mode and shape
    ("int8", "8x8x8"): ("x", "x"),
    ("int8", "4x8x16"): ("wl", "y"),
    ("int8", "8x16x8T"): ("y", "ex"),
    ("int8", "4x16x16T"): ("x", "ey"),
    ("int16", "8x2x8"): ("wl", "wl"),
    ("int16_64", "4x4x8"): ("wl", "x"),
    ("int16_64", "4x8x8T"): ("x", "ex"),
    ("int32x16", "4x2x8"): ("wl", "wl"),
}
KINDS = ("dense", "sparse8", "sparse16", "mx9")
"""Kinds of products, which one schedule has."""
FORMS = (AguForm.POST_MODIFY, AguForm.TWO_D, AguForm.THREE_D, AguForm.INDEXED)
POINTERS = {True: (3, 4, 5), False: (6, 7)}
"""Pointers outside FIFOs, of accesses to lines and of shorter ones."""
BLOCK_BYTES = POP_FORMATS["mx9"].store_bits // 8
"""Bytes of a push."""
SHARE = 0.75
"""Share of slots that hold an operation."""


@dataclass(kw_only=True)
class RandomProgram:
    """A schedule with the registers and the memory that it starts from."""

    bundles: list[Bundle] = field(default_factory=list)
    registers: Registers = field(default_factory=Registers)
    memory: np.ndarray


def shapes_of(config: AieTileConfig, kind: str) -> list[tuple[str, str]]:
    """Return the integer products of a kind that a tile has."""
    names = {each.name for each in config.multiply.products}
    kinds = {"8x16x8T": "sparse8", "4x16x16T": "sparse8", "4x8x8T": "sparse16"}
    return [each for each in SHAPES if "_".join(each).upper() in names and kinds.get(each[1], "dense") == kind]


def kinds_of(config: AieTileConfig) -> list[str]:
    """Return the kinds of products that a tile has."""
    return [kind for kind in KINDS if (config.multiply.mx9 if kind == "mx9" else shapes_of(config, kind))]


class ProgramMaker:
    """Makes random schedules of a tile.

    Parameters
    ----------
    config : the tile's.
    rng : source of everything.
    kind : of its products, one of `kinds_of`.
    """

    def __init__(self, config: AieTileConfig, rng: Random, kind: str):
        self.config, self.rng, self.kind = config, rng, kind
        self.size = memory_bytes(config.memory)
        self.shared, self.end_0 = self.size // 2, 3 * self.size // 4
        self.vectors = 2 * config.pairs
        self.writable = range(0 if kind == "dense" else self.vectors - 1, self.vectors)
        self.shapes = shapes_of(config, kind)
        self.sparse = kind if kind in SPARSE_ENTITIES else rng.choice(list(SPARSE_ENTITIES))

    def program(self, cycles: int) -> RandomProgram:
        """Return a schedule of `cycles` bundles."""
        source = np.random.default_rng(self.rng.getrandbits(64))
        memory = source.integers(0, 256, self.size, np.uint8)
        memory[self.end_0 :] = chunks(source, self.size - self.end_0, SPARSE_ENTITIES[self.sparse])
        made = RandomProgram(memory=memory)
        self._start(made.registers, source)
        self.fifos = list(self._start_fifos(made, source))
        # Addresses are followed in a copy, as the machine updates them in the cycle of the issue.
        self.state = Registers()
        for name in REGISTERS:
            if REGISTERS[name][0].scalar:
                self.state.write(name, made.registers.read(name))
        self.landings: dict[int, list[str]] = {}
        self.taken = dict.fromkeys(("lda", "ldb", "st", "vec"), -1)
        self.bytes = DataMemory(self.size)
        write_bytes(self.bytes, 0, memory)
        self.pushed = 0
        for cycle in range(cycles):
            made.bundles.append(self._bundle(cycle))
        return made

    def _start(self, registers: Registers, source: np.random.Generator) -> None:
        """Random registers, with general pointers in the shared half of memory."""
        for n in range(self.vectors):
            registers.write(f"fex{n}", source.integers(0, 256, 96, np.uint8))
        if self.kind != "dense":
            entities = SPARSE_ENTITIES.get(self.kind)
            operands = block_operands(source) if entities is None else sparse_operands(source, entities)
            for n in range(self.vectors - 1):
                registers.write(f"ex{n}", next(operands))
        for n in range(self.config.accumulators):
            registers.write(f"dm{n}", source.integers(0, 256, 256, np.uint8))
        for n in range(8):
            registers.write(f"p{n}", int(source.integers(0, self.shared // LINE_BYTES)) * LINE_BYTES)
            for kind in ("m", "dj"):
                registers.write(f"{kind}{n}", int(source.integers(-4, 5)) * LINE_BYTES % (1 << 20))
            registers.write(f"dn{n}", int(source.integers(0, 4)))
            registers.write(f"dc{n}", int(source.integers(0, 5)))
        for n in range(4):
            registers.write(f"s{n}", int(source.integers(0, 64)))

    def _start_fifos(self, made: RandomProgram, source: np.random.Generator) -> Iterator[LoadFifo]:
        """Yield load FIFOs that hold bytes of their parts of memory. The store FIFO holds at most the bytes that leave
        room for a push."""
        heads = (self.shared + int(source.integers(0, LINE_BYTES)), self.end_0)
        counts = [int(source.integers(0, FIFO_BYTES + 1)) for _ in LOAD_FIFOS]
        held = [made.memory[head : head + count] for head, count in zip(heads, counts, strict=True)]
        held.append(source.integers(0, 256, int(source.integers(0, FIFO_BYTES - BLOCK_BYTES + 1)), np.uint8))
        starts = (*heads, int(source.integers(0, LINE_BYTES)))
        for (data, count, pointer), part, start in zip((*LOAD_FIFOS, STORE_FIFO), held, starts, strict=True):
            padded = np.pad(part, (0, FIFO_BYTES - len(part)))
            after = start if pointer == "p2" else start + len(part)
            for name, value in ((data, padded), (count, len(part)), (pointer, after)):
                made.registers.write(name, value)
            if pointer != "p2":
                yield LoadFifo(after, len(part), padded)

    def _bundle(self, cycle: int) -> Bundle:
        """Return a bundle whose operations all find their places."""
        placed: dict[str, Operation] = {}
        used: set[str] = set()
        for slot, draw in (
            ("lda", self._load),
            ("ldb", self._load),
            ("st", self._store),
            ("mv", self._move),
            ("vec", self._product),
        ):
            if self.rng.random() < SHARE and (operation := draw(slot, cycle, used)) is not None:
                lands = operation.lands()
                if any(
                    overlap(name, other)
                    for name, (at, _) in lands.items()
                    for other in self.landings.get(cycle + at - 1, ())
                ):
                    continue
                for name, (at, _) in lands.items():
                    self.landings.setdefault(cycle + at - 1, []).append(name)
                placed[slot] = operation
                self._follow(slot, cycle, operation)
        return Bundle(**placed)

    def _follow(self, slot: str, cycle: int, operation: Operation) -> None:
        """Keep what later operations depend on."""
        address = getattr(operation, "address", None)
        if address is not None:
            _, after = address.step([self.state.read(name) for name in address.names])
            for name, value in after.items():
                self.state.write(name, value)
        if isinstance(operation, (Fill, Pop)):
            self.fifos[operation.fifo], counters = self._after(operation)
            for name, value in counters.items():
                self.state.write(name, value)
        self.pushed += isinstance(operation, (Push, Flush))
        if isinstance(operation, (Pop, Push, Flush)):
            self.taken[slot] = cycle + 1
        if isinstance(operation, Mac):
            self.taken["vec"] = cycle + operation.busy - 1

    def _modifier(self, pointer: int, width: int, used: set[str]) -> Address | None:
        """Return an address whose registers nothing of the bundle has used, or None."""
        rng = self.rng
        form = rng.choice(FORMS)
        immediate = form in (AguForm.POST_MODIFY, AguForm.INDEXED) and rng.random() < 0.4
        if immediate:
            address = Address(pointer=pointer, form=form, immediate=rng.randrange(-8, 8) * width)
        else:
            address = Address(pointer=pointer, form=form, register=rng.randrange(4 if form is AguForm.THREE_D else 8))
        names = {address.names[0], *address.written}
        if used & names:
            return None
        used |= names
        return address

    def _address(self, width: int, used: set[str]) -> Address | None:
        """Return an address that leads to aligned places in the shared half, or None."""
        pointer = self.rng.choice(POINTERS[width == LINE_BYTES])
        address = self._modifier(pointer, width, used)
        if address is None:
            return None
        at, after = address.step([self.state.read(name) for name in address.names])
        places = (at, after.get(f"p{pointer}", at))
        return None if any(place % width or place >= self.shared for place in places) else address

    def _load(self, slot: str, cycle: int, used: set[str]) -> Operation | None:
        rng = self.rng
        kind = rng.choice(("load", "load", "load", "fill", "pop", "pop", "pointer"))
        if kind in ("fill", "pop"):
            return self._of_fifo(kind, used)
        if kind == "pointer":
            address = self._address(LINE_BYTES, used)
            return address and PointerAdd(address=address)
        if self.taken[slot] == cycle:
            return None
        name = f"{rng.choice(('wl', 'wh', 'x'))}{rng.choice(self.writable)}"
        address = self._address(register_bytes(name), used)
        return address and Load(to=name, address=address)

    def _of_fifo(self, kind: str, used: set[str]) -> Operation | None:
        """Return a fill or a pop of a FIFO, which stays in its part of memory; some pops jump."""
        rng = self.rng
        fifo = rng.randrange(2)
        if f"p{fifo}" in used:
            return None
        jump = None
        if kind == "pop" and rng.random() < 0.4:
            jump = self._modifier(fifo, LINE_BYTES, used)
            if jump is None or jump.form is AguForm.INDEXED:
                return None
        used.add(f"p{fifo}")
        fmt = rng.choice(("bytes", "mx9")) if fifo == 0 else self.sparse
        register = f"{'x' if fmt == 'bytes' else 'ex'}{rng.choice(self.writable)}"
        operation: Fill | Pop = Fill(fifo=fifo) if kind == "fill" else Pop(to=register, fifo=fifo, fmt=fmt, jump=jump)
        start, end = ((self.shared, self.end_0), (self.end_0, self.size))[fifo]
        after, _ = self._after(operation)
        return operation if start <= after.head and after.pointer + 2 * LINE_BYTES <= end else None

    def _after(self, operation: Fill | Pop) -> tuple[LoadFifo, dict[str, int]]:
        """Return a FIFO after an operation, and the counters of a jump."""
        before = self.fifos[operation.fifo]
        if isinstance(operation, Fill):
            return before.fill(self.bytes), {}
        if operation.jump is not None:
            names = operation.jump.names[1:]
            _, jumped = operation.jump.step([before.pointer, *map(self.state.read, names)], before.head)
            return LoadFifo(jumped.pop(f"p{operation.fifo}")), jumped
        if operation.fmt in SPARSE_ENTITIES:
            return before.pop_sparse(self.bytes)[2], {}
        size = LINE_BYTES if operation.fmt == "bytes" else POP_FORMATS[operation.fmt].store_bits // 8
        return before.pop(self.bytes, size)[2], {}

    def _store(self, slot: str, cycle: int, used: set[str]) -> Operation | None:
        rng = self.rng
        kinds = ["srs", "srs", "pointer"] + (["push", "push", "flush"] if self.config.multiply.mx9 else [])
        kind = rng.choice(kinds)
        if kind in ("push", "flush"):
            if (self.pushed + 2) * 2 * LINE_BYTES >= self.shared:
                return None
            rounding = rng.choice(list(RoundingCode))
            return (
                Flush()
                if kind == "flush"
                else Push(source=f"dm{rng.randrange(self.config.accumulators)}", rounding=rounding)
            )
        if kind == "pointer":
            address = self._address(LINE_BYTES, used)
            return address and PointerAdd(address=address)
        if self.taken["st"] == cycle:
            return None
        acc, out = rng.choice([(bits, out) for bits, outs in SRS_MODES.items() for out in outs])
        source = f"{rng.choice(('dm', 'cml', 'cmh', 'bmlh', 'bmhh'))}{rng.randrange(self.config.accumulators)}"
        width = register_bytes(source) * out // acc
        if width > LINE_BYTES:
            return None
        address = self._address(width, used)
        return address and StoreSrs(
            source=source,
            address=address,
            acc_bits=acc,
            out_bits=out,
            shift=rng.randrange(4),
            rounding=rng.choice(list(RoundingCode)),
            saturate=rng.choice(list(Saturation)),
            signed=rng.random() < 0.7,
        )

    def _move(self, slot: str, cycle: int, used: set[str]) -> Operation | None:
        rng = self.rng
        if not self.config.multiply.mx9:
            return None
        code = rng.choice(list(SHUFFLE_CODES))
        kind = "ex" if SHUFFLE_CODES[code].bits >= SHARE_BITS and rng.random() < 0.5 else "x"
        low, high = (f"{kind}{rng.randrange(self.vectors)}" for _ in range(2))
        two = SHUFFLE_CODES[code].half is not None
        return Shuffle(to=f"{kind}{rng.choice(self.writable)}", low=low, high=high if two else None, mode=code)

    def _product(self, slot: str, cycle: int, used: set[str]) -> Operation | None:
        rng = self.rng
        if self.taken["vec"] >= cycle:
            return None
        common = {"to": f"dm{rng.randrange(self.config.accumulators)}", "accumulates": rng.random() < 0.8}
        if self.kind == "mx9":
            low, high = (f"ey{rng.randrange(self.config.pairs - 1)}" for _ in range(2))
            return Mac(mode="mx9", a=f"ex{rng.randrange(self.vectors - 1)}", b=low, b_high=high, **common)
        mode, shape = rng.choice(self.shapes)
        counts = [self.config.pairs if kind.endswith("y") else self.vectors for kind in SHAPES[mode, shape]]
        if self.kind != "dense":
            counts[1] -= 1
        a, b = (f"{kind}{rng.randrange(count)}" for kind, count in zip(SHAPES[mode, shape], counts, strict=True))
        signs = {"signed_a": rng.random() < 0.7, "signed_b": rng.random() < 0.7}
        return Mac(mode=mode, shape=shape, a=a, b=b, **signs, **common)
