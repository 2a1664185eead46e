"""Wait gate of a thread: an instruction passes when no latched wait blocks it and its banks are there.

Ref: tt-isa-documentation, STALLWAIT and SEMWAIT: of Wormhole 3930471, of Blackhole 0553cc7 and 2537675.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.common.unit import Covered, Unit
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import (
    ADC,
    CONFIG,
    MATRIX,
    MOVES,
    PRODUCTS,
    RWC,
    SEMAPHORES,
    VECTOR,
    clearing,
    instruction_layout,
    named,
)

# Semaphores of a core, eight with a value and a maximum.
#
# Ref: tt-isa-documentation 3930471, SyncUnit, SEMINIT, SEMPOST, SEMGET.


SEMAPHORE_COUNT = 8
SEMAPHORE = data.StructLayout({"value": 4, "maximum": 4})
SEMAPHORE_STATE = data.ArrayLayout(SEMAPHORE, SEMAPHORE_COUNT)


class Semaphores(wiring.Component):
    """An instruction a cycle; the state behind it is there in the next cycle. 15 stays over SEMPOST, 0 over SEMGET.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    i : In(stream of instruction_layout), always ready; other instructions are ignored
    state : Out(SEMAPHORE_STATE)
    """

    def __init__(self, config: ChipConfig):
        layout = instruction_layout(config.chip)
        super().__init__({"i": In(stream.Signature(layout, always_ready=True)), "state": Out(SEMAPHORE_STATE)})

    def elaborate(self, platform):
        m = Module()
        instruction = self.i.p
        for number, each in enumerate(self.state):
            with m.If(self.i.valid & instruction.semaphores[number]):
                with m.If(named(instruction, "SEMINIT")):
                    m.d.sync += [each.value.eq(instruction.value), each.maximum.eq(instruction.maximum)]
                with m.Elif(named(instruction, "SEMPOST")):
                    m.d.sync += each.value.eq(Mux(each.value == 15, 15, each.value + 1))
                with m.Elif(named(instruction, "SEMGET")):
                    m.d.sync += each.value.eq(Mux(each.value == 0, 0, each.value - 1))
        return m


TDMA, SYNC, PACK, UNPACK, SCALAR, MATH, CONFIGURES = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 6, 1 << 7
LANES = 1 << 8
BLOCK_BITS = 9
EVERY = (1 << BLOCK_BITS) - 1
"""Bits of the block mask."""
CLASSES = (
    (TDMA, (*ADC, "SETDVALID")),
    (TDMA | SCALAR, ("SETDMAREG",)),
    (TDMA | PACK, ("PACR",)),
    (TDMA | UNPACK, ("UNPACR", "UNPACR_NOP")),
    (MATH, (*MATRIX, *MOVES, *RWC, "ZEROSRC", "CLEARDVALID")),
    (CONFIGURES, tuple(name for name in CONFIG if name != "SETDMAREG")),
    (SYNC, (*SEMAPHORES, "SEMWAIT")),
    (LANES, VECTOR),
    (EVERY, ("STALLWAIT",)),
)
"""Bits of the block mask that block instructions; a NOP is blocked by all of them together."""
READS_A, READS_B = (*PRODUCTS, "MOVA2D"), (*PRODUCTS, "MOVB2D", "MOVB2A", "TRNSPSRCB")
"""Instructions that wait until the Matrix unit owns its bank of SrcA, and of SrcB."""
UNITS = {
    Chip.WORMHOLE: ("scalar", "unpacker_0", "unpacker_1", "packer_0", "packer_1", "packer_2", "packer_3", "matrix"),
    Chip.BLACKHOLE: ("scalar", "unpacker_0", "unpacker_1", "packer_0", "matrix"),
}
"""Units whose idleness are STALLWAIT's first conditions; the next four are the bits of ``banks``. The last one is the idleness of the
Vector unit, behind `ABSENT` conditions of units that a core does not have."""
ABSENT = 2


class Banks(data.Struct):
    """Owners of the banks that come next: unpackers 0 and 1 own the one they write, the Matrix unit owns the one it reads."""

    writable: 2
    readable: 2


def wait_layout(conditions: int) -> data.StructLayout:
    """Return the layout of a latched wait; STALLWAIT's has no semaphores, SEMWAIT's no conditions."""
    return data.StructLayout(
        {"valid": 1, "block": BLOCK_BITS, "conditions": conditions, "semaphores": 8, "while_zero": 1, "at_maximum": 1}
    )


class WaitGate(wiring.Component):
    """Decides in the cycle of the instruction. A wait is latched as STALLWAIT or SEMWAIT passes, blocks from the next cycle on,
    and is forgotten at the end of the first cycle in which all its conditions are met.

    A STALLWAIT without conditions waits for all units but the Matrix unit. Conditions of units that a core does not have are
    met. The Matrix unit itself makes an instruction wait for results in flight to its Dst rows.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    instruction : In(instruction_layout)
    passes : In(1), the instruction is executed in this cycle; only while `opens`
    opens : Out(1), the instruction may be executed
    banks : In(Banks)
    idle : In(one bit of each of `UNITS`), vector_idle : In(1)
    semaphores : In(SEMAPHORE_STATE)
    waits : Out(1), a wait is latched
    """

    def __init__(self, config: ChipConfig):
        self.config = config
        super().__init__(
            {
                "instruction": In(instruction_layout(config.chip)),
                "passes": In(1),
                "opens": Out(1),
                "banks": In(Banks),
                "idle": In(len(UNITS[config.chip])),
                "vector_idle": In(1),
                "semaphores": In(SEMAPHORE_STATE),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        chip, instruction, banks = self.config.chip, self.instruction, self.banks
        units = len(UNITS[chip])
        wait = Signal(wait_layout(units + Banks.as_shape().size + ABSENT + 1))
        blocking = Signal(BLOCK_BITS)
        for bits, names in CLASSES:
            with m.If(named(instruction, *names)):
                m.d.comb += blocking.eq(bits)
        blocked = Signal()
        m.d.comb += blocked.eq((wait.block & blocking).any())
        with m.If(named(instruction, "NOP")):
            m.d.comb += blocked.eq(wait.block == EVERY)
        if chip is Chip.BLACKHOLE:
            with m.If(named(instruction, "SEMWAIT")):
                m.d.comb += blocked.eq(1)
        own, read = (each.bit_select(instruction.unpacker, 1) for each in (banks.writable, banks.readable))
        # A clearing UNPACR_NOP waits until the Matrix unit has given its bank back, unless told to wait as UNPACR does.
        stalls_as_unpacr = instruction.stall if chip is Chip.BLACKHOLE else 0
        cleared = ~clearing(chip, instruction) | Mux(stalls_as_unpacr, own, ~read)
        m.d.comb += [
            self.waits.eq(wait.valid),
            self.opens.eq(
                ~(wait.valid & blocked)
                & (~named(instruction, *READS_A) | banks.readable[0])
                & (~named(instruction, *READS_B) | banks.readable[1])
                & (~named(instruction, "UNPACR") | own)
                & (~named(instruction, "UNPACR_NOP") | cleared)
            ),
        ]
        met = Signal()
        states = Cat(self.idle, banks.as_value(), Const(-1, ABSENT), self.vector_idle)
        zero = Cat(each.value == 0 for each in self.semaphores)
        full = Cat(each.value >= each.maximum for each in self.semaphores)
        m.d.comb += met.eq(
            ~(wait.conditions & ~states).any()
            & ~(wait.while_zero & (wait.semaphores & zero).any())
            & ~(wait.at_maximum & (wait.semaphores & full).any())
        )
        stalls, waits = named(instruction, "STALLWAIT"), named(instruction, "SEMWAIT")
        all_units = (1 << units - 1) - 1
        with m.If(self.passes & (stalls | waits)):
            m.d.sync += [
                wait.valid.eq(1),
                wait.block.eq(Mux(instruction.block == 0, MATH, instruction.block)),
                wait.conditions.eq(Mux(stalls, Mux(instruction.conditions == 0, all_units, instruction.conditions), 0)),
                wait.semaphores.eq(Mux(waits, instruction.semaphores, 0)),
                wait.while_zero.eq(instruction.while_zero),
                wait.at_maximum.eq(instruction.at_maximum),
            ]
        with m.Elif(met):
            m.d.sync += wait.valid.eq(0)
        return m


RECORDS = (
    Unit(
        name="wait_gate",
        config_type=ChipConfig,
        build=WaitGate,
        summary="Tensix: latched waits and owners of banks let a thread's instruction pass",
        covered=Covered(ChipConfig(), 1000),
    ),
)
