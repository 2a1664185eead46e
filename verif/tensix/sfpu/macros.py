"""Random programs with SFPLOADMACRO, cycle by cycle in golden: its schedule and the scalar twin of its lanes."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from random import Random

from bitpath.golden.tensix.declarations.encodings import BY_NAME, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import LANES, SCHEDULED, TEMPLATES
from bitpath.golden.tensix.exact.sfpu_unit import Access, Unit, execute_together
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.access import immediate_of
from bitpath.golden.tensix.sfpu.macro import NOP, UNIT_OF, Cycle, LoadMacroConfig, Schedule, SubUnit
from bitpath.verif.tensix.sfpu.words import modes, random_word

LOOK_AHEAD = 10
"""Cycles behind which an SFPLOADMACRO has no instruction left."""
TRIES = 30
LANE_CONFIGS = (0, 0, 0, 2, 4, 12, 0x104, 0x10, 0x40, 0x1000)
UNCHOSEN = ("SFPCONFIG", "SFPPUSHC", "SFPPOPC", "SFPLOADMACRO")
"""Instructions that programs leave out: of the configuration of SFPLOADMACRO, and of a stack that may be full or empty."""
BEHIND_MAD = ("SFPNOP", "SFPNOT", "SFPXOR", "SFPMAD")
"""Instructions whose operands golden and Blackhole's interlock see alike."""
ADDRESSES = range(0, 64, 2)
Body = Callable[[int], list[int]]
"""Words of a thread for a register."""


def names_of(chip: Chip, unit: SubUnit) -> list[str]:
    """Return the instructions of a sub-unit that a program may have."""
    return [name for name in BY_NAME[chip] if UNIT_OF.get(name) is unit and name not in UNCHOSEN]


def configure(rng: Random, chip: Chip, lanes: Lanes) -> None:
    """Give lanes the same LaneConfig, templates, sequences and misc, and words in LReg 16."""
    lanes.lreg[SCHEDULED] = [rng.getrandbits(32) for _ in range(LANES)]
    units = [SubUnit.SIMPLE, SubUnit.MAD, SubUnit.ROUND, rng.choice((SubUnit.SIMPLE, SubUnit.STORE))]
    for place, unit in enumerate(units):
        name = rng.choice(names_of(chip, unit))
        lanes.templates[place] = random_word(rng, chip, name, rng.choice(modes(chip, name)))
    for place in range(TEMPLATES):
        lanes.sequences[place] = sum(_byte(rng, each, units) << 8 * each for each in range(TEMPLATES))
    counting = rng.getrandbits(4) if rng.random() < 0.3 else 0
    lanes.misc[:] = counting << 8 | rng.getrandbits(8)
    lanes.lane_config[:] = rng.choice(LANE_CONFIGS)


def _byte(rng: Random, place: int, units: list[SubUnit]) -> int:
    own = [SubUnit.SIMPLE, SubUnit.MAD, SubUnit.ROUND, SubUnit.STORE][place]
    chosen = [4 + number for number, unit in enumerate(units) if unit is own]
    if own is SubUnit.STORE:
        chosen.append(3)
    else:
        chosen.append(rng.choice((2, 3, 4, 5, 6, 7)))
    which = rng.choice((0, *chosen, *chosen))
    return rng.getrandbits(2) << 6 | rng.choice((0, 1, 2, 3, rng.randrange(8))) << 3 | which


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A function of the kernel library in its forms with and without SFPLOADMACRO, for eight addresses from 0 on.

    Attributes
    ----------
    words, plain : both forms.
    implied, store : mode that 0 stands for, and the mode of the stores.
    """

    words: tuple[int, ...]
    plain: tuple[int, ...]
    implied: int
    store: int


def kernels(chip: Chip) -> dict[str, Kernel]:
    """Return functions that convert integers; the templates' words go through VD 12 to 14, as the library has them.

    Ref: tt-llk 36b092e, ckernel_sfpu_typecast.h.
    """

    def word(name: str, **fields: int) -> int:
        return encode(name, chip=chip, **fields)

    def kernel(
        templates: list[int], sequence: int, plain: list[int], beside: Body, *, load: int, store: int, implied: int
    ) -> Kernel:
        halves = word("SFPLOADI", mod=10, imm=sequence & 0xFFFF), word("SFPLOADI", mod=8, imm=sequence >> 16)
        misc = word("SFPCONFIG", vd=8, mod=1, imm=0x100 | store)
        constants = word("SFPLOADI", vd=0, mod=2), word("SFPLOADI", vd=1, imm=0xCF00)  # 0 and -2**31
        words = [*templates, *halves, word("SFPCONFIG", vd=4), misc, *constants]
        straight = [word("SFPENCC")]
        for number in range(8):
            address, register = 2 * number, 2 + number % 2
            words.append(word("SFPLOADMACRO", vd_low=register, mod=load, address=address >> 1))
            words += beside(register)
            straight += [word("SFPLOAD", mod=load, address=address), *plain]
            straight.append(word("SFPSTORE", mod=store, address=address))
        return Kernel(words=tuple(words), plain=tuple(straight), implied=implied, store=store or implied)

    def sign_beside(register: int) -> list[int]:
        shift = word("SFPSHFT2", imm=4, vc=12, vd=7, mod=5)
        return [word("SFPABS", vc=register, vd=4), shift, cast(vc=4, vd=4)]

    def nothing_beside(register: int) -> list[int]:
        return []

    cast, rounds = partial(word, "SFPCAST"), partial(word, "SFP_STOCH_RND", mod=1)
    minus_31 = [word("SFPLOADI", mod=2, imm=0xFFE1), word("SFPLOADI", mod=8, imm=0xFFFF), word("SFPCONFIG", vd=12)]
    select = [word("SFPSETSGN", vc=4, vd=12), word("SFPMAD", vb=10, vd=13, mod=4), rounds(vd=14)]
    absolute = [word("SFPABS", vc=0, vd=1), cast(vc=1, vd=2), word("SFPSETSGN", vc=2), word("SFPSETCC", vc=1)]
    signed = [*absolute, word("SFPADDI", imm=0xCF00), word("SFPENCC"), rounds()]
    both, short = [cast(), rounds()], [cast(vd=12), rounds(vd=13)]
    return {
        "uint16_to_fp32": kernel([cast(vd=12)], 0x4B000044, [cast()], nothing_beside, load=9, store=3, implied=3),
        "uint16_to_fp16b": kernel(short, 0x534D0004, both, nothing_beside, load=9, store=0, implied=2),
        "int32_to_fp16b": kernel([*minus_31, *select], 0x7B76259C, signed, sign_beside, load=4, store=0, implied=3),
    }


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An SFPSTORE of a cycle: its mode, which is not 0, and its address."""

    mode: int
    address: int


class MacroModel:
    """The Vector unit in golden.

    Parameters
    ----------
    unit, dst : the state before, and 1,024 rows of Dst.
    implied : mode that 0 stands for.
    """

    def __init__(self, unit: Unit, dst: list[list[int]], implied: int, chip: Chip, numerics: TensixNumerics):
        self.unit, self.dst, self.implied = unit, dst, implied
        self.chip, self.numerics = chip, numerics
        self._schedule = Schedule(chip)
        self._addresses: dict[int, int] = {}

    @property
    def pending(self) -> bool:
        return self._schedule.pending

    def allows(self, instruction: Instruction | None) -> bool:
        """Return whether golden schedules an instruction, and SFPNOPs behind it."""
        trial, config = deepcopy(self._schedule), self._config()
        try:
            while not trial.step(instruction, config).accepted and instruction is not None:
                pass
            for _ in range(LOOK_AHEAD):
                trial.step(NOP, config)
        except UndefinedBehavior:
            return False
        return True

    def step(self, instruction: Instruction | None) -> tuple[Cycle, Stored | None]:
        """Execute a cycle; return it, and its SFPSTORE."""
        cycle = self._schedule.step(instruction, self._config())
        if cycle.accepted and "address" in instruction.fields:
            self._addresses[cycle.number] = immediate_of(instruction)
        together, stored = [], None
        for each in cycle.executed:
            number = cycle.number if each.origin is None else each.origin
            address, own = self._addresses.get(number, 0), each.instruction
            access = Access(dst=self.dst, address=address, default_mode=self.implied)
            together.append((own, each.origin is not None, access))
            if each.unit is SubUnit.STORE:
                stored = Stored(mode=own["mod"] or self.implied, address=address)
        execute_together(self.unit, together, chip=self.chip, numerics=self.numerics)
        return cycle, stored

    def _config(self) -> LoadMacroConfig:
        lane = self.unit.lanes[0]
        words = (tuple(each) for each in (lane.templates, lane.sequences))
        templates, sequences = words
        return LoadMacroConfig(templates=templates, sequences=sequences, misc=lane.misc, lane_config=lane.config)


def draw(rng: Random, model: MacroModel, before: Instruction | None) -> int | None:
    """Return a word that may come behind another instruction, or None for a cycle without one."""
    for _ in range(TRIES):
        word = _word(rng, model.chip)
        instruction = None if word is None else decode(word, chip=model.chip)
        follows = before is not None and UNIT_OF[before.name] is SubUnit.MAD and model.chip is Chip.BLACKHOLE
        if follows and instruction is not None:
            fields = instruction.fields
            if instruction.name not in BEHIND_MAD or fields.get("mod") or fields.get("vd", 0) > 7:
                continue
        if model.allows(instruction):
            return word
    return encode("SFPNOP", chip=model.chip)


def _word(rng: Random, chip: Chip) -> int | None:
    kind = rng.random()
    if kind < 0.1:
        return None
    if kind < 0.3:
        return encode("SFPNOP", chip=chip)
    if kind < 0.65:
        fields = {"macro": rng.randrange(4), "vd_low": rng.randrange(4), "vd_high": rng.randrange(2)}
        return encode("SFPLOADMACRO", chip=chip, mod=rng.randrange(16), address=rng.choice(ADDRESSES) >> 1, **fields)
    name = rng.choice([name for unit in SubUnit for name in names_of(chip, unit)])
    word = random_word(rng, chip, name, rng.choice(modes(chip, name)))
    if name in ("SFPLOAD", "SFPSTORE"):
        fields = decode(word, chip=chip).fields
        return encode(name, chip=chip, **fields | {"address": rng.choice(ADDRESSES)})
    return word
