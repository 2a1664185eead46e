"""Bundles that the tile refuses, in whole or in part."""

from collections.abc import Callable
from typing import Any

from bitpath.golden.aie_ml_v2.declarations.tile import AguForm
from bitpath.golden.aie_ml_v2.tile.addresses import Address
from bitpath.golden.aie_ml_v2.tile.tile import Bundle
from bitpath.golden.aie_ml_v2.tile.transfers import Fill, Flush, Load, PointerAdd, Pop, StoreSrs
from bitpath.golden.aie_ml_v2.tile.vectors import Mac
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, PopFormat, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.verif.kit.packing import pack

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
