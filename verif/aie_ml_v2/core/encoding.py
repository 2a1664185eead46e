"""Golden's bundles and registers as the words that the tile takes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES, SHUFFLE_MODES
from bitpath.golden.aie_ml_v2.declarations.tile import AguForm
from bitpath.golden.aie_ml_v2.tile.addresses import Address
from bitpath.golden.aie_ml_v2.tile.operation import Operation, Registers
from bitpath.golden.aie_ml_v2.tile.tile import Bundle
from bitpath.golden.aie_ml_v2.tile.transfers import Fill, Flush, Load, PointerAdd, Pop, Push, StoreSrs
from bitpath.golden.aie_ml_v2.tile.vectors import MAC_MODES, Mac, Shuffle
from bitpath.rtl.aie_ml_v2.core.address_unit import REGISTERS as POINTERS
from bitpath.rtl.aie_ml_v2.core.address_unit import SHIFTS, AddressKind
from bitpath.rtl.aie_ml_v2.core.aie_tile import HOST_REQUEST, HostSpace
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, PopFormat, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.verif.kit.packing import pack

Fields = dict[str, Any]
VECTOR_SIZES = {"wl": 0, "wh": 0, "x": 1, "ex": 1, "fex": 1, "y": 2, "ey": 2}
"""Logarithm of the W registers of a vector register, by its kind."""
ACCUMULATOR_KINDS = ("bmll", "bmlh", "bmhl", "bmhh", "cml", "cmh", "dm")
DRAIN = 8
"""Empty bundles behind a schedule, in which its last operations end."""


def split(name: str) -> tuple[str, int]:
    """Return a register's kind and its number."""
    kind = name.rstrip("0123456789")
    return kind, int(name[len(kind) :])


def vector_name(name: str) -> Fields:
    """Return the fields of a vector register's name."""
    kind, number = split(name)
    size = VECTOR_SIZES[kind]
    low = 2 * number + (kind == "wh") if size == 0 else number << size
    return {"index": low, "size": size}


def accumulator_name(name: str) -> Fields:
    """Return the fields of an accumulator's name."""
    kind, number = split(name)
    first = {"cml": 0, "cmh": 2, "dm": 0} | {quarter: n for n, quarter in enumerate(ACCUMULATOR_KINDS[:4])}
    return {"index": 4 * number + first[kind], "size": {"b": 0, "c": 1, "d": 2}[kind[0]]}


def address_fields(address: Address) -> Fields:
    """Return the fields of a pointer and its modifier."""
    modes = {
        AguForm.POST_MODIFY: AguMode.POST_MODIFY,
        AguForm.TWO_D: AguMode.TWO_D,
        AguForm.THREE_D: AguMode.THREE_D,
        AguForm.INDEXED: AguMode.INDEXED,
    }
    return {
        "mode": modes[address.form],
        "pointer": address.pointer,
        "register": address.register or 0,
        "immediate": address.immediate,
        "is_immediate": address.register is None,
    }


def _load(load: Load) -> Fields:
    return {"op": LoadOp.LOAD, "to": vector_name(load.to), "address": address_fields(load.address)}


def _pop(pop: Pop) -> Fields:
    fields = {
        "op": LoadOp.POP,
        "to": vector_name(pop.to),
        "fifo": pop.fifo,
        "format": PopFormat[pop.fmt.upper()],
        "jumps": pop.jump is not None,
    }
    return fields if pop.jump is None else fields | {"address": address_fields(pop.jump)}


def _srs(store: StoreSrs) -> Fields:
    return {
        "op": StoreOp.SRS,
        "source": accumulator_name(store.source),
        "address": address_fields(store.address),
        "acc64": store.acc_bits == 64,
        "wide": SRS_MODES[store.acc_bits].index(store.out_bits),
        "shift": store.shift,
        "rounding": store.rounding,
        "saturation": store.saturate,
        "is_signed": store.signed,
    }


def _shuffle(each: Shuffle) -> Fields:
    code = each.mode
    if isinstance(code, str):
        code = next(number for number, mode in SHUFFLE_CODES.items() if mode is SHUFFLE_MODES[code])
    names = {"to": each.to, "low": each.low, "high": each.high or each.low}
    fields = {field: vector_name(name) for field, name in names.items()}
    return fields | {"op": MoveOp.SHUFFLE, "code": code, "exponents": each.to.startswith("ex")}


def _mac(mac: Mac) -> Fields:
    fields = {
        "to": split(mac.to)[1],
        "a": vector_name(mac.a),
        "b": vector_name(mac.b),
        "accumulates": mac.accumulates,
        "a_signed": mac.signed_a,
        "b_signed": mac.signed_b,
    }
    if mac.b_high is not None:
        return fields | {"op": VectorOp.MX9, "b_high": vector_name(mac.b_high)}
    shape = mac.shape or MAC_MODES[mac.mode].shapes[0].name
    return fields | {"op": VectorOp.INTEGER, "native": NativeShape[f"{mac.mode}_{shape}".upper()]}


_ENCODERS: Mapping[type[Operation], Callable[[Any], Fields]] = {
    Load: _load,
    Fill: lambda each: {"op": LoadOp.FILL, "fifo": each.fifo},
    Pop: _pop,
    StoreSrs: _srs,
    Push: lambda each: {"op": StoreOp.PUSH, "source": accumulator_name(each.source), "rounding": each.rounding},
    Flush: lambda _: {"op": StoreOp.FLUSH},
    Shuffle: _shuffle,
    Mac: _mac,
}


def slot_fields(slot: str, operation: Operation) -> Fields:
    """Return the fields of a slot with an operation."""
    if isinstance(operation, PointerAdd):
        op = StoreOp.POINTER if slot == "st" else LoadOp.POINTER
        return {"op": op, "address": address_fields(operation.address)}
    return _ENCODERS[type(operation)](operation)


def encoded(bundle: Bundle) -> int:
    return pack(BUNDLE, {slot: slot_fields(slot, operation) for slot, operation in bundle.operations.items()})


def encoded_all(bundles: Iterable[Bundle]) -> list[int]:
    """Return the words of a schedule and of the empty bundles behind it."""
    return [*map(encoded, bundles), *[0] * DRAIN]


def _vector_parts(index: int) -> list[str]:
    register, half = index // 2, "lh"[index % 2]
    return [f"{kind}{half}{register}" for kind in "wfge"]


def places(config: AieTileConfig) -> list[tuple[HostSpace, int]]:
    """Return the registers of a tile, by kind and number."""
    counts = {
        HostSpace.VECTOR: SLOTS * config.pairs,
        HostSpace.ACCUMULATOR: SLOTS * config.accumulators,
        HostSpace.LOAD_FIFO: 4,
        HostSpace.LOAD_COUNT: 2,
        HostSpace.STORE_FIFO: 2,
        HostSpace.STORE_COUNT: 1,
    } | {HostSpace[kind.name]: SHIFTS if kind is AddressKind.S else POINTERS for kind in AddressKind}
    return [(space, index) for space, count in counts.items() for index in range(count)]


def register_value(registers: Registers, space: HostSpace, index: int) -> int:
    """Return the words that the host reads of golden's registers."""
    if space is HostSpace.VECTOR:
        return _number(*(registers.read(name) for name in _vector_parts(index)))
    if space is HostSpace.ACCUMULATOR:
        return _number(registers.read(f"{ACCUMULATOR_KINDS[index % 4]}{index // 4}"))
    if space is HostSpace.LOAD_FIFO:
        return _number(registers.read(f"lf{'lh'[index % 2]}{index // 2}"))
    if space is HostSpace.STORE_FIFO:
        return _number(np.split(np.asarray(registers.read("sf")), 2)[index])
    names = {HostSpace.LOAD_COUNT: f"r{24 + index}", HostSpace.STORE_COUNT: "r26"}
    return int(registers.read(names.get(space, f"{space.name.lower()}{index}")))


def register_values(config: AieTileConfig, registers: Registers) -> dict[tuple[HostSpace, int], int]:
    """Return the words that the host reads of all registers."""
    return {(space, index): register_value(registers, space, index) for space, index in places(config)}


def register_writes(config: AieTileConfig, registers: Registers) -> Iterator[int]:
    """Yield the host's requests that write all registers that are not 0."""
    for (space, index), value in register_values(config, registers).items():
        if value:
            yield pack(HOST_REQUEST, {"space": space, "index": index, "writes": 1, "data": value})


def register_reads(config: AieTileConfig) -> list[int]:
    """Return the host's requests that read all registers, in the order of `register_values`."""
    return [pack(HOST_REQUEST, {"space": space, "index": index}) for space, index in places(config)]


def _number(*parts: Any) -> int:
    return int.from_bytes(b"".join(part.tobytes() for part in parts), "little")
