"""Configuration registers of a core, and the general-purpose registers that WRCFG copies.

::

    SETDMAREG   value -> half of a GPR            WRCFG    GPR, or four of them -> register
    RMWCIB0-3   bits of a byte -> register        SETC16   value -> a thread's own register

Ref: tt-isa-documentation 3930471, BackendConfiguration, SETDMAREG_Immediate, WRCFG, RMWCIB, SETC16.
"""

from functools import cache

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import (
    BY_NAME,
    FIELDS,
    REGISTERS,
    SHARED_FROM,
    THREAD_FIELDS,
    THREAD_REGISTERS,
    Fields,
)
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.common.unit import Covered, Unit
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import instruction_layout, named
from bitpath.rtl.tensix.stream.counters import THREAD_WRITE

THREADS, BANKS = 3, 2
GPRS, WIDE = 64, 4
"""GPRs of a thread; registers that WRCFG of 128 bits copies."""
REGISTER_BITS, HALF_BITS = 32, 16
MODIFIERS = ("ab_modifier", "dst_modifier", "bias_modifier", "pack_modifier")
"""Fields of a thread that its counters hold."""


def _layout(fields: Fields) -> data.StructLayout:
    return data.StructLayout(
        {name: data.ArrayLayout(places[0].width, len(places)) for name, places in fields.items() if places}
    )


def held_thread_fields(chip: Chip) -> Fields:
    """Return the fields of a thread that the file holds."""
    return {name: places for name, places in THREAD_FIELDS[chip].items() if name not in MODIFIERS}


@cache
def config_layout(chip: Chip) -> data.StructLayout:
    """Return the layout of the fields that all threads share; each has an element for each unit."""
    return _layout(FIELDS[chip])


@cache
def thread_config_layout(chip: Chip) -> data.StructLayout:
    """Return the layout of a thread's own fields but the modifiers."""
    return _layout(held_thread_fields(chip))


def written_by(chip: Chip) -> data.StructLayout:
    """Return the layout of an instruction with its thread."""
    return data.StructLayout({"thread": range(THREADS), "instruction": instruction_layout(chip)})


def field_of(fields: data.View, name: str, unit: Value | int = 0) -> Value:
    """Return a field; 0 on a chip that has no such field."""
    return fields[name][unit] if name in fields.shape().members else Value.cast(0)


def known_bits(fields: Fields) -> dict[int, int]:
    """Return the bits of each register that have a field."""
    masks: dict[int, int] = {}
    for places in fields.values():
        for place in places:
            masks[place.register] = masks.get(place.register, 0) | place.mask
    return masks


class ConfigFile(wiring.Component):
    """An instruction a cycle; the registers behind it are there in the next cycle. GPRs keep their values over a reset.

    Registers hold the bits of modelled fields alone.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    i : In(stream of written_by), always ready; other instructions than those above are ignored
    shared : Out(2 x config_layout), both banks of the fields that threads share
    own : Out(3 x thread_config_layout), each thread's own fields
    seeded : Out(1), PRNG_SEED is written at the end of the cycle
    write : Out(stream of THREAD_WRITE), a SETC16 in its cycle, for the counters of the thread ``i.p.thread``
    illegal : Out(1), the instruction names a register that the chip does not have, or sets bits outside of fields; it writes nothing
    """

    def __init__(self, config: ChipConfig):
        self.config = config
        chip = config.chip
        super().__init__(
            {
                "i": In(stream.Signature(written_by(chip), always_ready=True)),
                "shared": Out(data.ArrayLayout(config_layout(chip), BANKS)),
                "own": Out(data.ArrayLayout(thread_config_layout(chip), THREADS)),
                "seeded": Out(1),
                "write": Out(stream.Signature(THREAD_WRITE, always_ready=True)),
                "illegal": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        copied = self._gprs(m)
        m.d.comb += self.illegal.eq(self.i.valid & (self._shared(m, copied) | self._own(m)))
        return m

    def _gprs(self, m: Module) -> data.View:
        """Add the GPRs; return the aligned group of four that the instruction names."""
        instruction, thread = self.i.p.instruction, self.i.p.thread
        group = GPRS // WIDE
        layout = data.ArrayLayout(HALF_BITS, 2 * WIDE)
        m.submodules.gprs = gprs = memory.Memory(shape=layout, depth=THREADS * group, init=[])
        write, read = gprs.write_port(granularity=1), gprs.read_port(domain="comb")
        half = instruction.half_register
        value = Cat(instruction.value_low, instruction.value_high)
        m.d.comb += [
            write.addr.eq(Cat(half[3:], thread)),
            *(each.eq(value) for each in write.data),
            write.en.eq(Mux(self.i.valid & named(instruction, "SETDMAREG"), 1 << half[:3], 0)),
            read.addr.eq(Cat(instruction.gpr[2:], thread)),
        ]
        return data.View(data.ArrayLayout(REGISTER_BITS, WIDE), read.data.as_value())

    def _shared(self, m: Module, copied: data.View) -> Value:
        """Add the registers of both banks; return whether the instruction is wrong."""
        chip, instruction = self.config.chip, self.i.p.instruction
        copies = named(instruction, "WRCFG")
        wide = copies & instruction.wide
        byte = instruction.opcode - BY_NAME[chip]["RMWCIB0"].opcode
        shift = byte[:2] << 3
        masks = named(instruction, "RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3")
        mask = Signal(REGISTER_BITS)
        lanes = Signal(data.ArrayLayout(REGISTER_BITS, WIDE))
        own_bank = data.View(data.ArrayLayout(1, THREADS), Cat(each.state_id[0] for each in self.own))[self.i.p.thread]
        m.d.comb += mask.eq(Mux(copies, (1 << REGISTER_BITS) - 1, instruction.mask << shift))
        for lane, each in enumerate(lanes):
            single = Mux(copies, copied[instruction.gpr[:2]], instruction.data << shift)
            m.d.comb += each.eq(Mux(wide, copied[lane], single))

        last = Mux(wide, instruction.register | WIDE - 1, instruction.register)
        wrong = last >= REGISTERS[chip]
        for lane in range(WIDE):
            # A set bit outside of a register's fields is an error, in every register.
            number = Mux(wide, Cat(instruction.register[:2] & 0, instruction.register[2:]) | lane, instruction.register)
            stray = Signal(REGISTER_BITS, name=f"stray_{lane}")
            with m.Switch(number):
                for register, known in known_bits(FIELDS[chip]).items():
                    with m.Case(register):
                        m.d.comb += stray.eq(lanes[lane] & mask & ~known)
                with m.Default():
                    m.d.comb += stray.eq(lanes[lane] & mask)
            wrong |= stray.any() & (wide if lane else 1)
        registers = [{}, {}]
        for register, known in known_bits(FIELDS[chip]).items():
            named_here = Signal(name=f"writes_{register}")
            aligned = instruction.register[2:] == register // WIDE
            here = aligned & (wide | (instruction.register[:2] == register % WIDE))
            m.d.comb += named_here.eq(self.i.valid & ~self.illegal & (copies | masks) & here)
            if register == FIELDS[chip]["prng_seed"][0].register:
                m.d.comb += self.seeded.eq(named_here)
            for bank in range(BANKS):
                held = Signal(REGISTER_BITS, name=f"register_{bank}_{register}")
                registers[bank][register] = held
                chosen = 1 if register >= SHARED_FROM[chip] else own_bank == bank
                with m.If(named_here & chosen):
                    m.d.sync += held.eq(lanes[register % WIDE] & mask & known | held & ~mask)
        for bank, held in enumerate(registers):
            for name, places in FIELDS[chip].items():
                for unit, place in enumerate(places):
                    bits = held[place.register][place.low : place.low + place.width]
                    m.d.comb += self.shared[bank][name][unit].eq(bits)
        return (copies | masks) & wrong

    def _own(self, m: Module) -> Value:
        """Add the threads' own registers; return whether the instruction is wrong."""
        chip, instruction = self.config.chip, self.i.p.instruction
        sets = named(instruction, "SETC16")
        value, number = instruction.value[:HALF_BITS], instruction.register[:8]
        m.d.comb += [
            self.write.valid.eq(self.i.valid & ~self.illegal & sets),
            self.write.p.register.eq(number),
            self.write.p.value.eq(value),
        ]
        stray = Signal(HALF_BITS)
        with m.Switch(number):
            for register, known in known_bits(THREAD_FIELDS[chip]).items():
                with m.Case(register):
                    m.d.comb += stray.eq(value & ~known)
            with m.Default():
                m.d.comb += stray.eq(value)
        for name, places in held_thread_fields(chip).items():
            for unit, place in enumerate(places):
                for thread in range(THREADS):
                    here = self.write.valid & (number == place.register) & (self.i.p.thread == thread)
                    with m.If(here):
                        m.d.sync += self.own[thread][name][unit].eq(value[place.low : place.low + place.width])
        return sets & (stray.any() | (number >= THREAD_REGISTERS[chip]))


RECORDS = (
    Unit(
        name="config_file",
        config_type=ChipConfig,
        build=ConfigFile,
        summary="Tensix: configuration registers and general-purpose registers",
        covered=Covered(ChipConfig(), 300),
        agreed=ChipConfig(chip=Chip.BLACKHOLE),
    ),
)
