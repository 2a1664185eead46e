"""The state that an instruction sees, once for golden and once for RTL: golden's core in a random state, and the bits
of RTL's view of it."""

from collections.abc import Iterable, Mapping
from random import Random

from bitpath.golden import tensix
from bitpath.golden.tensix.core.state import BANKS, THREADS, State
from bitpath.golden.tensix.declarations.encodings import BY_NAME, DIMENSIONS, FIELDS, THREAD_FIELDS, WIDTHS
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.golden.tensix.operands.counters import Adc, Adcs, Channel, Rwc
from bitpath.rtl.tensix.core.config_file import held_thread_fields, known_bits
from bitpath.rtl.tensix.core.decode import instruction_layout
from bitpath.rtl.tensix.core.matrix_operands import Implied
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.stream.counters import COUNTER_BITS
from bitpath.verif.kit.packing import pack

NO_FORMATS = sorted({*range(16)} - {*Format})
"""Codes that no format has."""


def short(rng: Random, bits: int) -> int:
    """Return a number of up to `bits` bits; small ones are as frequent as large ones."""
    return rng.getrandbits(rng.randint(0, bits))


def seldom(rng: Random, chance: float = 0.03) -> int:
    """Return 1 seldom, else 0."""
    return int(rng.random() < chance)


def random_state(chip: Chip, rng: Random, l1_bytes: int) -> State:
    """Return a state with random configuration and random counters; L1 is 0."""
    state = tensix.Core(chip, l1_bytes=l1_bytes).state
    for registers in state.config.registers:
        for register, bits in known_bits(FIELDS[chip]).items():
            registers[register] = rng.getrandbits(32) & bits
    for registers in state.config.thread_registers:
        for register, bits in known_bits(THREAD_FIELDS[chip]).items():
            registers[register] = rng.getrandbits(16) & bits
    for thread in range(THREADS):
        state.rwc[thread] = _random_rwc(rng)
        state.adc[thread] = Adcs(unpacker_0=_random_adc(rng), unpacker_1=_random_adc(rng), packers=_random_adc(rng))
    if chip is Chip.BLACKHOLE:
        state.dst.remapped, state.dst.swizzled = bool(seldom(rng, 0.3)), bool(seldom(rng, 0.3))
        set_shared(state, "remap_addrs", state.dst.remapped)
        set_shared(state, "swizzle_32b", state.dst.swizzled)
    return state


def set_shared(state: State, name: str, *values: int) -> None:
    """Set a field of the configuration in both banks: one value for all units, or one for each."""
    places = FIELDS[state.chip][name]
    for registers in state.config.registers[:BANKS]:
        for place, value in zip(places, values * len(places) if len(values) == 1 else values, strict=False):
            registers[place.register] = registers[place.register] & ~place.mask | int(value) << place.low


def set_own(state: State, name: str, *values: int) -> None:
    """Set a field of every thread's own: one value for all units, or one for each."""
    places = THREAD_FIELDS[state.chip][name]
    for registers in state.config.thread_registers:
        for place, value in zip(places, values * len(places) if len(values) == 1 else values, strict=True):
            registers[place.register] = registers[place.register] & ~place.mask | value << place.low


def random_instruction(chip: Chip, rng: Random, name: str, **fields: int) -> Instruction:
    """Return an instruction with random fields but those that are given; of those, the chip's alone."""
    known = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
    given = {field: value for field, value in fields.items() if field in known}
    return decode(encode(name, chip=chip, **known | given), chip=chip)


def other_fields(chip: Chip, rng: Random, names: Iterable[str]) -> dict[str, int]:
    """Return random values of the fields that none of these instructions has."""
    own = {each.name for name in names for each in BY_NAME[chip][name].fields} | {"opcode"}
    shapes = {name: field.width for name, field in instruction_layout(chip)}
    return {name: rng.getrandbits(width) for name, width in shapes.items() if name not in own}


def view_of(state: State, thread: int, instruction: Instruction, others: Mapping[str, int]) -> int:
    """Return the bits of the view of a thread's instruction; `others` are values of fields that no instruction of the
    unit has."""
    chip, config = state.chip, state.config
    fields = {
        "instruction": {**others, **instruction.fields, "opcode": BY_NAME[chip][instruction.name].opcode},
        "thread": thread,
        "shared": {
            name: [config.read(name, thread, unit) for unit in range(len(places))]
            for name, places in FIELDS[chip].items()
            if places
        },
        "own": {
            name: [config.of_thread(name, thread, number) for number in range(len(places))]
            for name, places in held_thread_fields(chip).items()
            if places
        },
        "rwc": _rwc_fields(state.rwc[thread]),
        "adc": [
            [_channel_fields(state.adc[thread].unit(unit).channel(number)) for number in range(2)] for unit in range(3)
        ],
    }
    return pack(view_layout(chip), fields)


def row_order(state: State) -> dict[str, int]:
    """Return the fields of the order of Dst's rows."""
    return {"remaps": int(state.dst.remapped), "swizzles": int(state.dst.swizzled)}


def implied_formats(state: State) -> int:
    """Return the bits of the formats that the Matrix unit's banks imply; an unknown one has code 0."""
    sources = {f"src_{name}": state.source(side) for side, name in enumerate("ab")}
    codes = {name: each.formats[each.matrix_bank] for name, each in sources.items()}
    return pack(Implied, {name: {"code": code or 0, "known": code is not None} for name, code in codes.items()})


def _rwc_fields(rwc: Rwc) -> dict:
    counters = {name: {"value": getattr(rwc, name), "carry": getattr(rwc, f"{name}_cr")} for name in COUNTER_BITS}
    return counters | {"fidelity_phase": rwc.fidelity_phase, "extra_bit": rwc.extra_bit}


def _channel_fields(channel: Channel) -> dict:
    return {name: {"value": getattr(channel, name), "carry": getattr(channel, f"{name}_cr")} for name in DIMENSIONS}


def _random_rwc(rng: Random) -> Rwc:
    counters = {name: rng.getrandbits(bits) for each, bits in COUNTER_BITS.items() for name in (each, f"{each}_cr")}
    return Rwc(**counters, fidelity_phase=rng.getrandbits(2), extra_bit=rng.getrandbits(1))


def _random_adc(rng: Random) -> Adc:
    return Adc(channel_0=_random_channel(rng), channel_1=_random_channel(rng))


def _random_channel(rng: Random) -> Channel:
    return Channel(**{name: rng.getrandbits(WIDTHS[name[0]]) for each in DIMENSIONS for name in (each, f"{each}_cr")})
