"""Instructions that the tensor engine refuses, and their faults: every value of every field, and several fields at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES
from bitpath.rtl.trainium3.array.systolic_array import Tiling, leader, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, Opcode, instruction_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.packing import width
from bitpath.verif.trainium3.engine.programs import Load, Pass

Fields = dict[str, int]
"""An instruction's fields, those of its destination and of their structures beside the others."""
SMALL = 4
"""Bits of a field of which every value is tried."""
APART = 3
"""Least number of legal instructions between two refused ones, whose faults are then seen and cleared one by one."""


@dataclass(frozen=True)
class Wrong:
    """An instruction that does nothing."""

    values: Fields
    fault: Fault

    def fields(self) -> dict[str, object]:
        """Return the fields of the instruction."""
        own = dict(self.values)
        to = {
            "count": own.pop("count"),
            "address": {name: own.pop(name) for name in ("index", "bank")},
            "mode": {name: own.pop(name) for name in ("flag", "bf16", "stochastic")},
            "chain_out": own.pop("chain_out"),
        }
        return own | {"destination": to}


def fault_of(config: EngineConfig, values: Fields, chained: int) -> Fault:
    """Return the first fault of an instruction, whose group has so many partial sums in its chain; NONE if it is legal."""
    array, multiplies = config.array, values["opcode"] == Opcode.MULTIPLY_MOVING.value
    known = [tiling.value for tiling in tilings(array)]
    to_psum = multiplies and not values["chain_out"]
    if values["tiling"] not in known or (to_psum and values["flag"] not in ACCUMULATES):
        return Fault.OPERATION
    formats = [*range(len(array.dot.numerics.element_formats)), ElementFormat.E2M1.value]
    if values["format"] not in formats or (to_psum and values["stochastic"] and not values["bf16"]):
        return Fault.DTYPE
    if leader(array, values["group"], Tiling(values["tiling"])) != values["group"]:
        return Fault.START
    words = array.cols
    if multiplies:
        words = values["count"]
        left = chained - (words if values["chain_in"] else 0)
        if words == 0 or left < 0 or left + (words if values["chain_out"] else 0) > config.chain_depth:
            return Fault.COUNT
    beyond = to_psum and values["index"] + words > config.psum_bank_depth
    return Fault.RANGE if beyond or values["operand_address"] + words > array.operand_depth else Fault.NONE


def _widths(config: EngineConfig) -> dict[str, int]:
    """Bits of each field."""
    found: dict[str, int] = {}

    def add(layout) -> None:
        for name, field in layout:
            if hasattr(field.shape, "members"):
                add(field.shape)
            elif name == "mode":
                found.update(flag=3, bf16=1, stochastic=1)
            else:
                found[name] = width(field.shape)

    add(instruction_layout(config))
    return found


def _values(config: EngineConfig, name: str, bits: int, rng: Random) -> list[int]:
    """All values of a small field; of another one the ends of its range and the limits of the memories, and what lies beside them."""
    if bits <= SMALL:
        return [*range(1 << bits)]
    array = config.array
    limits = (
        0,
        array.operand_depth - array.cols,
        array.operand_depth,
        config.psum_bank_depth,
        config.chain_depth,
        1 << bits,
    )
    near = {limit + step for limit in limits for step in (-2, -1, 0, 1)} | {rng.getrandbits(bits) for _ in range(4)}
    return sorted(value for value in near if 0 <= value < 1 << bits)


def _bases(config: EngineConfig) -> Iterator[Fields]:
    """Yield legal instructions of each kind in each tile."""
    array, names = config.array, _widths(config)
    kinds = (
        {"opcode": Opcode.LOAD_STATIONARY.value},
        {"opcode": Opcode.MULTIPLY_MOVING.value, "count": 2, "flag": 3},
        {"opcode": Opcode.MULTIPLY_MOVING.value, "count": 2, "chain_out": 1},
    )
    for tiling in tilings(array):
        for group in range(array.groups):
            if leader(array, group, tiling) == group:
                for kind in kinds:
                    yield dict.fromkeys(names, 0) | {"tiling": tiling.value, "group": group} | kind


def walk(config: EngineConfig, rng: Random, more: int) -> list[Fields]:
    """Return legal instructions with one field of any value, or with so many further ones of two or three fields, in any order."""
    names, bases = _widths(config), [*_bases(config)]
    found = [
        base | {name: value}
        for base in bases
        for name, bits in names.items()
        for value in _values(config, name, bits, rng)
    ]
    for _ in range(more):
        some = rng.sample(list(names), rng.randint(2, 3))
        found.append(rng.choice(bases) | {name: rng.choice(_values(config, name, names[name], rng)) for name in some})
    rng.shuffle(found)
    return found


def with_refused(
    config: EngineConfig, program: list[Load | Pass], waiting: list[Fields], first: int = 0
) -> list[Load | Pass | Wrong]:
    """Return a program with refused instructions out of ``waiting`` behind its instruction ``first`` and later ones; those that would
    be legal there are dropped."""
    chained = [0] * config.array.groups
    made: list[Load | Pass | Wrong] = []
    for number, each in enumerate(program):
        made.append(each)
        if isinstance(each, Pass):
            chained[each.group] += each.count * (each.chain_out - each.chain_in)
        while number >= first and (number - first) % APART == 0 and waiting:
            values = waiting.pop()
            fault = fault_of(config, values, chained[values["group"]])
            if fault is not Fault.NONE:
                made.append(Wrong(values, fault))
                break
    return made
