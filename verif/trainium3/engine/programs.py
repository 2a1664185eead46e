"""Short programs for the bench of the tensor engine: loads and passes in any order that the engine allows, and their model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E2M1, FP32, FloatFormat, Rounding
from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, AccumulateFlag
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.instruction import psum_write
from bitpath.rtl.trainium3.array.systolic_array import Tiling, leader, operand_write_layout, tile_groups, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, Opcode, instruction_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.packing import pack, width

FORMATS = (ElementFormat.E4M3FN, ElementFormat.E5M2)
LOADS = ("0 loads", "1 load", "2 loads", "more loads")
"""Before a pass, since the pass before it."""
WORDS = ("1 word", "2 words", "more words")
WAYS = ("to PSUM", "to the next pass", "from the pass before")
FINITE = 0xBF
"""Bits of a code that is finite in both formats, whatever they are."""
FAR = np.array([0, 0, -68, 68], np.int8).view(np.uint8)
"""Offsets of scale exponents; the product of two offset scales is subnormal or overflows."""
_ALL = FP32.sign_mask | FP32.infinity_code | FP32.fraction_mask
PRESENT = np.array(
    [(_ALL, 0)] * 5
    + [(_ALL ^ FP32.infinity_code, 0), (_ALL, FP32.infinity_code), (FP32.sign_mask, FP32.infinity_code)],
    np.uint32,
)
"""AND and OR masks that keep a random FP32 code (5 of 8), or turn it into a subnormal number, a NaN or an infinity."""
FP32_TYPE = np.dtype(f"float{FP32.width}")
PLACES = 6
"""Number of places that a program writes in a bank. With few places, results share one and their order shows."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """LOAD_STATIONARY in the tile that ``group`` leads."""

    group: int
    address: int
    format: ElementFormat

    def fields(self) -> dict[str, object]:
        """Return the fields of the instruction."""
        return {"opcode": Opcode.LOAD_STATIONARY, "operand_address": self.address} | _tile(self)


@dataclass(frozen=True, kw_only=True)
class Pass:
    """MULTIPLY_MOVING of ``count`` words; with ``chain_out`` bank, index, flag, bf16 and stochastic are not used."""

    group: int
    address: int
    format: ElementFormat
    count: int
    chain_in: bool
    chain_out: bool
    bank: int
    index: int
    flag: AccumulateFlag
    bf16: bool = False
    stochastic: bool = False

    def fields(self) -> dict[str, object]:
        """Return the fields of the instruction."""
        to = {
            "count": self.count,
            "address": {"bank": self.bank, "index": self.index},
            "mode": {"flag": int(self.flag), "bf16": self.bf16, "stochastic": self.stochastic},
            "chain_out": self.chain_out,
        }
        return {
            "opcode": Opcode.MULTIPLY_MOVING,
            "operand_address": self.address,
            "chain_in": self.chain_in,
            "destination": to,
        } | _tile(self)


def _tile(each: Load | Pass) -> dict[str, object]:
    return {"group": each.group, "format": each.format}


class PassModel:
    """Operand memory of random finite words, PSUM, and what golden says that programs leave there, one after the other.

    Parameters
    ----------
    config : of the engine.
    source : of the words and of the random bits.
    wide : half of the words have scales far from 1, and PSUM holds any codes, not zeros.

    Attributes
    ----------
    psum : what it holds, uint32 [banks, bank_depth, cols].
    table : the FP4 map, fields of a MapTable; all zero, as after reset, until it is set.
    random_words : for each leading group the random bits that its tile's programs take, uint16 [cols] a result.
    """

    def __init__(self, config: EngineConfig, source: np.random.Generator, *, wide: bool = False):
        array = config.array
        self.config = config
        self.table: dict[str, object] = {"codes": [0] * (1 << E2M1.width), "code_format": 0}
        self.random_words: dict[int, list[np.ndarray]] = {group: [] for group in range(array.groups)}
        self._source = source
        self.codes = source.integers(0, 256, (array.rows, array.operand_depth, 4), dtype=np.uint8) & FINITE
        self.scales = source.integers(124, 131, (array.rows, array.operand_depth), dtype=np.uint8)
        self.psum = np.zeros((config.psum_banks, config.psum_bank_depth, array.cols), np.uint32)
        if wide:
            # The same for all rows: one that is near 1 would hide the others in a sum.
            self.scales += source.choice(FAR, array.operand_depth)
            codes = source.integers(0, 1 << FP32.width, self.psum.shape, dtype=np.uint32)
            kinds = source.choice(PRESENT, self.psum.shape[:2])
            self.psum[:] = codes & kinds[..., :1] | kinds[..., 1:]

    def writes(self) -> list[int]:
        """Payloads that fill operand memory."""
        array = self.config.array
        layout = operand_write_layout(array)
        words = np.concatenate([self.codes, self.scales[..., np.newaxis]], axis=-1)
        return [
            pack(
                layout,
                {
                    "words": int.from_bytes(words[:, address].tobytes(), "little"),
                    "address": address,
                    "groups": (1 << array.groups) - 1,
                },
            )
            for address in range(array.operand_depth)
        ]

    def commands(self, tiling: Tiling, program: Sequence[Any]) -> list[int]:
        """Execute a program, which takes nothing from the one before, and return its instructions."""
        for _ in self.passes(tiling, program):
            pass
        return program_bits(self.config, tiling, program)

    def passes(self, tiling: Tiling, program: Sequence[Any]) -> Iterator[Pass]:
        """Execute a program pass by pass; other instructions than loads and passes do nothing."""
        loads: dict[int, Load] = {}
        chains: dict[int, list[np.ndarray]] = {}
        for each in program:
            if isinstance(each, Load):
                loads[each.group] = each
                continue
            if not isinstance(each, Pass):
                continue
            self._multiply(tiling, loads[each.group], each, chains.setdefault(each.group, []))
            yield each

    def _multiply(self, tiling: Tiling, load: Load, each: Pass, chain: list[np.ndarray]) -> None:
        array = self.config.array
        first = each.group * array.group_rows
        rows = slice(first, first + tile_groups(array, tiling) * array.group_rows)
        operands = []
        for which, count in ((load, array.cols), (each, each.count)):
            words = slice(which.address, which.address + count)
            operands += [*self._elements(self.codes[rows, words], which.format), self.scales[rows, words]]
        start = np.array([chain.pop(0) for _ in range(each.count)]).T if each.chain_in else None
        result = chain_rows(array.dot.numerics, *operands, start=start).T
        if each.chain_out:
            chain += list(result)
            return
        places = self.psum[each.bank, each.index : each.index + each.count]
        overwrites = each.flag & AccumulateFlag.FIRST_OVERWRITE
        total = codes_of(psum_write(result, None if overwrites else places.view(FP32_TYPE), FP32_TYPE))
        places[:] = self._narrowed(total, each) if each.bf16 else total

    def _elements(self, codes: np.ndarray, fmt: ElementFormat) -> tuple[np.ndarray, FloatFormat]:
        """The four FP8 codes of each word as the PEs get them, and their format."""
        formats = self.config.array.dot.numerics.element_formats
        if fmt is not ElementFormat.E2M1:
            return codes, formats[fmt.value]
        fp4 = np.stack([codes[..., 0] & 15, codes[..., 0] >> 4, codes[..., 1] & 15, codes[..., 1] >> 4], axis=-1)
        return np.array(self.table["codes"], np.uint8)[fp4], formats[self.table["code_format"]]

    def _narrowed(self, total: np.ndarray, each: Pass) -> np.ndarray:
        """FP32 codes rounded to BF16, as PSUM holds them."""
        bits = None
        if each.stochastic:
            bits = self._source.integers(0, 1 << 16, total.shape, dtype=np.uint16)
            self.random_words[each.group] += list(bits)
        rounding = Rounding.SR if each.stochastic else Rounding.RNE
        return codes_of(psum_write(total, None, DTYPES[BF16], rounding, bits)).astype(np.uint32) << 16


def program_bits(config: EngineConfig, tiling: Tiling, program: Sequence[Any]) -> list[int]:
    """The instructions of a program, as payloads."""
    layout = instruction_layout(config)
    return [pack(layout, {"tiling": tiling} | each.fields()) for each in program]


def random_program(config: EngineConfig, tiling: Tiling, length: int, rng: Random) -> list[Load | Pass]:
    """Loads that are used by none, one or several passes; passes of one word and of more, chained or not; in all tiles."""
    array = config.array
    leaders = [group for group in range(array.groups) if leader(array, group, tiling) == group]
    waiting: dict[int, list[int]] = {group: [] for group in leaders}
    program: list[Load | Pass] = [_load(array, group, rng) for group in leaders]
    while len(program) < length or any(waiting.values()):
        group = rng.choice(leaders)
        if rng.random() < 0.5:
            program.append(_load(array, group, rng))
            continue
        chained = waiting[group]
        take = bool(chained) and (rng.random() < 0.6 or len(program) >= length)
        count = chained.pop(0) if take else rng.choice((1, 1, 1, 2, 3, PLACES))
        room = config.chain_depth - sum(chained)
        give = count <= room and len(program) < length and rng.random() < 0.3
        if give:
            chained.append(count)
        program.append(
            Pass(
                group=group,
                address=rng.randrange(array.operand_depth - count + 1),
                format=_format(array, rng),
                count=count,
                chain_in=take,
                chain_out=give,
                bank=rng.randrange(config.psum_banks),
                index=rng.randrange(PLACES - count + 1),
                flag=rng.choice((AccumulateFlag.FIRST_OVERWRITE, AccumulateFlag(0))),
            )
        )
    return program


def _load(array, group: int, rng: Random) -> Load:
    address = rng.randrange(array.operand_depth - array.cols + 1)
    return Load(group=group, address=address, format=_format(array, rng))


def _format(array, rng: Random) -> ElementFormat:
    return rng.choice(FORMATS[: len(array.dot.numerics.element_formats)])


def bins_of(program: list[Load | Pass]) -> list[tuple[str, str, str]]:
    """For each pass: loads since the pass before it in its tile, words, and where its partial sums come from or go."""
    loads: dict[int, int] = {}
    bins = []
    for each in program:
        if isinstance(each, Load):
            loads[each.group] = loads.get(each.group, 0) + 1
            continue
        way = WAYS[1] if each.chain_out else WAYS[2] if each.chain_in else WAYS[0]
        bins.append((LOADS[min(loads.pop(each.group, 0), 3)], WORDS[min(each.count, 3) - 1], way))
    return bins


# Instructions that the tensor engine refuses, and their faults: every value of every field, and several fields at once.


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
    """Return the first fault of an instruction whose group has `chained` partial sums in its chain; NONE if it is
    legal."""
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
    """Return legal instructions with one field of any value, and further ones with two or three such fields, in any
    order."""
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
