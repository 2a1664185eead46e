"""The Vector unit in a bench: states between golden's lanes and the unit's, instructions one at a time and in streams."""

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import COLUMNS as DST_COLUMNS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import (
    COLUMNS,
    LANES,
    SCHEDULED,
    STACK_DEPTH,
    WIDE_LOADS,
    WIDE_STORES,
    StoreMode,
)
from bitpath.golden.tensix.exact.sfpu_unit import Lane, Unit
from bitpath.golden.tensix.isa import Instruction, decode
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.macro import UNIT_OF, loaded_register
from bitpath.rtl.tensix.sfpu.interlock import LANE_MOVES
from bitpath.rtl.tensix.sfpu.layouts import (
    MULTIPLY_ADDS,
    REGISTERS,
    ROWS,
    ColumnState,
    LaneState,
    SfpuRequest,
    SubUnits,
)
from bitpath.rtl.tensix.sfpu.sfpu import DstStore
from bitpath.verif.kit.packing import array_bits, pack
from bitpath.verif.kit.streams import resolved

WORD_BITS = 32
LANE_BITS, COLUMN_BITS = LaneState.as_shape().size, ColumnState.as_shape().size
FLAG_AT = REGISTERS * WORD_BITS
"""Lowest bit of a lane's predication: flag, use, the stack's entries from the top, the depth."""
DEPTH_AT = FLAG_AT + 2 + 2 * STACK_DEPTH
RANDOM_AT = DEPTH_AT + STACK_DEPTH.bit_length()
SCHEDULED_AT = RANDOM_AT + WORD_BITS


def state_bits(lanes: Lanes) -> int:
    """Return golden's lanes of one unit as the unit's state; entries of the stack from its depth on are 0."""
    parts, offset = 0, 0
    registers, programmed = lanes.lreg[:REGISTERS].T, lanes.lreg[11:15].T
    flags, uses = (each.T.tolist() for each in lanes.stack)
    current = list(zip(lanes.flags.tolist(), lanes.use_flags.tolist(), strict=True))
    for lane, depth in enumerate(lanes.depth.tolist()):
        word = array_bits(registers[lane]) | current[lane][0] << FLAG_AT | current[lane][1] << FLAG_AT + 1
        for place in range(depth):
            entry = depth - 1 - place
            word |= (flags[lane][entry] | uses[lane][entry] << 1) << FLAG_AT + 2 + 2 * place
        word |= (
            depth << DEPTH_AT | int(lanes.prng[lane]) << RANDOM_AT | int(lanes.lreg[SCHEDULED, lane]) << SCHEDULED_AT
        )
        parts |= word << offset
        offset += LANE_BITS
    for column in range(COLUMNS):
        configuration = (lanes.templates[:, column], lanes.sequences[:, column])
        word, at = array_bits(programmed[column]), programmed.shape[1] * WORD_BITS
        fields = [(int(lanes.lane_config[column]), 18), *((array_bits(each), 4 * WORD_BITS) for each in configuration)]
        for value, bits in [*fields, (int(lanes.misc[column]), 12)]:
            word |= value << at
            at += bits
        parts |= word << offset
        offset += COLUMN_BITS
    return parts | array_bits(lanes.rotated[COLUMNS - 1 :: COLUMNS]) << offset


def exactly(lanes: Lanes) -> Unit:
    """Return golden's lanes as those of its scalar twin."""
    flags, uses = (each.T.tolist() for each in lanes.stack)
    own = [
        Lane(
            registers=lanes.lreg[:, lane].tolist(),
            flag=bool(lanes.flags[lane]),
            conditional=bool(lanes.use_flags[lane]),
            stack=list(zip(flags[lane], uses[lane], strict=True))[: lanes.depth[lane]],
            random=int(lanes.prng[lane]),
            config=int(lanes.lane_config[lane]),
            templates=lanes.templates[:, lane].tolist(),
            sequences=lanes.sequences[:, lane].tolist(),
            misc=int(lanes.misc[lane]),
        )
        for lane in range(LANES)
    ]
    return Unit(lanes=own, rotated=lanes.rotated.tolist())


def lane_bits(lane: Lane) -> int:
    """Return the state of a lane of the twin; entries of the stack from its depth on are 0."""
    bits = sum(word << place * WORD_BITS for place, word in enumerate(lane.registers[:REGISTERS]))
    for place, (flag, use) in enumerate([(lane.flag, lane.conditional), *reversed(lane.stack)]):
        bits |= (flag | use << 1) << FLAG_AT + 2 * place
    return bits | len(lane.stack) << DEPTH_AT | lane.random << RANDOM_AT | lane.registers[SCHEDULED] << SCHEDULED_AT


def defined_lane(bits: int) -> int:
    """Return a state of a lane with the stack's entries from its depth on cleared."""
    return bits & ~ENTRY_MASKS[bits >> DEPTH_AT & 15]


ENTRY_MASKS = [((1 << 2 * (STACK_DEPTH - depth)) - 1) << FLAG_AT + 2 + 2 * depth for depth in range(STACK_DEPTH + 1)]


def defined(bits: int) -> int:
    """Return a state of the unit with the stack's entries from its depth on cleared."""
    for lane in range(LANES):
        depth = bits >> lane * LANE_BITS + DEPTH_AT & 15
        bits &= ~(ENTRY_MASKS[depth] << lane * LANE_BITS)
    return bits


def takes_two_cycles(word: int) -> bool:
    """Return True for instructions whose result the next cycle must not read."""
    name = decode(word, chip=Chip.BLACKHOLE).name
    return name in (*MULTIPLY_ADDS, "SFPSWAP") or (name == "SFPSHFT2" and word & 15 in LANE_MOVES)


UNSEEN = ("SFPIADD", "SFPSHFT", "SFPSHFT2", "SFPCONFIG", "SFPSWAP")
"""Instructions some of whose operands Blackhole's interlock does not see; SFPAND and SFPOR with VB are others."""


def needs_gap(chip: Chip, before: int, word: int) -> bool:
    """Return True if software must leave a cycle between two instructions, one reading the other's result or not."""
    if not takes_two_cycles(before):
        return False
    name = decode(word, chip=chip).name
    unseen = name in UNSEEN or (name in ("SFPAND", "SFPOR") and word & 1)
    return chip is Chip.WORMHOLE or unseen


def operation(instruction: Instruction, word: int, chip: Chip, **others: int) -> dict[str, int]:
    """Return an instruction at its sub-unit, with the operands of its fields, as a lane takes it; other fields are 0."""
    fields = instruction.fields
    vd = loaded_register(instruction) if instruction.name == "SFPLOADMACRO" else fields.get("vd", 0)
    b = fields.get("vb", fields["imm"] & 15 if instruction.name == "SFPSHFT2" else vd)
    if instruction.name == "SFPSWAP" or (
        chip is Chip.BLACKHOLE and instruction.name in ("SFPAND", "SFPOR") and not fields["mod"] & 1
    ):
        b = vd
    # SFPSTORE of LReg 16 has neither b nor c.
    return {"valid": 1, "word": word, "b": b & 15, "c": fields.get("vc", vd) & 15, "vd": vd, **others}


def operations(word: int, chip: Chip, *, mode: int = 0) -> int:
    """Return a thread's instruction at its sub-unit, the others idle, as a lane takes it."""
    instruction = decode(word, chip=chip)
    return pack(SubUnits, {port_of(instruction): operation(instruction, word, chip, mode=mode)})


def port_of(instruction: Instruction) -> str:
    """Return the name of an instruction's sub-unit in `SubUnits`."""
    return UNIT_OF[instruction.name].value.lower()


def dst_mode(word: int, implied: int) -> StoreMode:
    """Return the mode of an SFPLOAD or SFPSTORE."""
    return StoreMode((word >> 16 & 15) or implied)


def upper_row(row: int, wide: bool) -> int:
    """Return the row of Dst that holds a row of 16-bit words, or the upper halves of one of 32-bit words."""
    return (row & 0x1F8) << 1 | row & 0x207 if wide else row


class Dst:
    """Rows of Dst in the register's bit order, uint16 [1024, 16], as the unit reads and writes them."""

    def __init__(self) -> None:
        self.rows = np.zeros((1024, DST_COLUMNS), np.uint16)

    def read(self, address: int, mode: StoreMode) -> int:
        """Return the port of the four rows that an SFPLOAD reads."""
        return array_bits(self._words(address, mode in WIDE_LOADS))

    def write(self, address: int, mode: StoreMode, store: int) -> None:
        """Write the words of an SFPSTORE's port."""
        fields = DstStore.as_shape()
        lanes, odd, words = (store >> fields[name].offset for name in ("lanes", "odd", "words"))
        wide = mode in WIDE_STORES
        assert store >> fields["wide"].offset & 1 == wide
        for lane in range(LANES):
            if lanes >> lane & 1:
                row, column = (address & ~3) + lane // COLUMNS, 2 * (lane % COLUMNS) + (odd >> lane % COLUMNS & 1)
                word = words >> lane * WORD_BITS & 0xFFFFFFFF
                upper = upper_row(row, wide)
                self.rows[upper, column] = word >> 16 if wide else word
                if wide:
                    self.rows[upper + 8, column] = word & 0xFFFF

    def lane_words(self, address: int, mode: StoreMode) -> np.ndarray:
        """Return the words at the lanes' places behind an SFPSTORE, uint32 [32]."""
        words = self._words(address, mode in WIDE_STORES)
        return words[:, address >> 1 & 1 :: 2].ravel()

    def _words(self, address: int, wide: bool) -> np.ndarray:
        words = np.zeros((ROWS, DST_COLUMNS), np.uint32)
        for place, row in enumerate(range(address & ~3, (address & ~3) + ROWS)):
            upper = upper_row(row, wide)
            words[place] = self.rows[upper]
            if wide:
                words[place] = words[place] << 16 | self.rows[upper + 8]
        return words


class SfpuDriver:
    """Gives instructions to the unit by hand.

    Parameters
    ----------
    frame : the running bench.
    chip : whether software leaves cycles free.

    Attributes
    ----------
    seen : the state in the cycle in which the last instruction was taken, of `execute` that looks, and of `settle`.
    """

    def __init__(self, frame, chip: Chip):
        self.dut, self.chip = frame.dut, chip
        self.seen = 0
        self._before = 0

    async def preset(self, bits: int) -> None:
        """Replace the state."""
        dut = self.dut
        dut.preset__payload.value, dut.preset__valid.value = bits, 1
        await RisingEdge(dut.clk)
        dut.preset__valid.value = 0

    async def execute(
        self, word: int, *, address: int = 0, implied: int = 1, dst: int | None = None, looks: bool = False
    ) -> int:
        """Give an instruction, behind a cycle without one if it needs that; return the port of the store in its cycle."""
        dut = self.dut
        if self._before and needs_gap(self.chip, self._before, word):
            await RisingEdge(dut.clk)
        dut.i__payload.value = pack(SfpuRequest, {"word": word, "address": address, "implied": implied})
        if dst is not None:
            dut.dst.value = dst
        dut.i__valid.value = 1
        while True:
            await FallingEdge(dut.clk)
            if resolved(dut.i__ready):
                break
        store = resolved(dut.store) if word >> 24 == BY_NAME[Chip.WORMHOLE]["SFPSTORE"].opcode else 0
        if looks:
            self.seen = resolved(dut.state)
        await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        self._before = word
        return store

    def forget(self) -> None:
        """Leave no cycle free before the next instruction."""
        self._before = 0

    def conditions(self) -> int:
        """Return the lanes' flags, lane 0's use of them and the depth of its stack in the state that was seen."""
        state = self.seen
        flags = sum((state >> lane * LANE_BITS + FLAG_AT & 1) << lane for lane in range(LANES))
        return flags | (state >> FLAG_AT + 1 & 1) << LANES | (state >> DEPTH_AT & 15) << LANES + 1

    async def settle(self) -> int:
        """Wait until the last instruction is done; return the state."""
        dut = self.dut
        if self._before and takes_two_cycles(self._before):
            await RisingEdge(dut.clk)
        self._before = 0
        await FallingEdge(dut.clk)
        self.seen = resolved(dut.state)
        return self.seen
