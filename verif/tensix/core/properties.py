"""Wait gate: a latched wait stays until it is met and blocks its class. Choice of a thread: a choice that waits stays. Decoder: a word
that is executed is legal. Operands and addresses: an executed instruction has existing rows."""

from amaranth import Mux, Value

from bitpath.golden.tensix.declarations.formats import SRC_ROWS, Chip
from bitpath.rtl.tensix.core.config import ChipConfig, UnpackAddressConfig
from bitpath.rtl.tensix.core.decode import MATRIX, Decode, named
from bitpath.rtl.tensix.core.matrix_operands import MatrixOperands, MoveOperands
from bitpath.rtl.tensix.core.pack_address import PackAddress
from bitpath.rtl.tensix.core.tensix_core import FirstThread
from bitpath.rtl.tensix.core.unpack_address import UnpackAddress
from bitpath.rtl.tensix.core.wait_gate import MATH, WaitGate
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.instruction import Opcode, is_element_wise
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties

PROPERTIES = Properties("tensix/core")


@PROPERTIES.of(
    "wait_gate",
    "wait_gate_blocks",
    "after a STALLWAIT for a busy Matrix unit that blocks the Matrix unit's instructions none passes until it is idle, and a latched wait stays while the unit is busy",
    ("with m.Elif(met):", "with m.Else():"),
    depth=2,
)
def waits_block(claim: Claim) -> None:
    dut = claim.instantiate("dut", WaitGate(ChipConfig(chip=Chip.WORMHOLE)))
    instruction = dut.instruction
    claim.assume(~dut.passes | dut.opens)
    asked = named(instruction, "STALLWAIT") & (instruction.block == MATH) & (instruction.conditions == 1 << 7)
    stalled = claim.register(dut.passes & asked, "stalled")
    busy = claim.register(stalled & ~dut.idle[7], "busy")
    replaced = claim.register(dut.passes & named(instruction, "STALLWAIT", "SEMWAIT"), "replaced")
    claim.ensure(
        ~stalled | dut.waits,
        ~stalled | ~named(instruction, "MVMUL", "ZEROACC", "SETRWC") | ~dut.opens,
        ~busy | replaced | dut.waits,
    )


@PROPERTIES.of(
    "first_thread",
    "first_thread_choice_stays",
    "a thread that was chosen and not served stays chosen while it asks, and a thread that is chosen asks",
    ("waits.eq(self.valid & ~self.taken)", "waits.eq(self.valid & self.taken)"),
    depth=1,
)
def choice_stays(claim: Claim) -> None:
    dut = claim.instantiate("dut", FirstThread())
    waited = claim.register(dut.valid & ~dut.taken, "waited")
    before = claim.register(claim.value(dut.thread, "thread", 2), "before")
    still = dut.asks.bit_select(before, 1)
    claim.ensure(
        dut.valid == dut.asks.any(),
        ~dut.valid | dut.asks.bit_select(dut.thread, 1),
        ~waited | ~still | (dut.thread == before),
    )


@PROPERTIES.of(
    "decode",
    "decode_mvmul_{chip.value}",
    "{chip.value}'s MVMUL has its fields from their bits, and any other bit makes it no word",
    ("first_of((strays, Fault.WORD), (refused, Fault.OPERATION))", "first_of((refused, Fault.OPERATION))"),
    "chip",
    Chip,
)
def decoded(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", Decode(ChipConfig(chip=chip)))
    word = dut.word
    claim.assume(word[24:] == 0x26)
    low = 15 if chip is Chip.WORMHOLE else 14
    claim.ensure(
        dut.instruction.dst == word[:10],
        dut.instruction.modifier == word[low:17],
        dut.instruction.broadcast_row == word[19],
        dut.instruction.flip == word[22:24],
        Value.cast(dut.fault) == Mux(word[10:low].any() | word[17:19].any() | word[20:22].any(), Fault.WORD.value, 0),
    )


@PROPERTIES.of(
    "matrix_operands",
    "matrix_operands_rows_{chip.value}",
    "an instruction of {chip.value}'s Matrix unit that is executed starts at rows that the unit takes",
    ("(src_a_row & row_mask).any(),", "(src_a_row & row_mask).all(),"),
    "chip",
    Chip,
)
def unit_takes_rows(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", MatrixOperands(ChipConfig(chip=chip)))
    o, clears, executed = dut.o, dut.o.opcode == Opcode.ZEROACC, ~dut.refused
    claim.assume(named(dut.view.instruction, *MATRIX))
    claim.ensure(
        ~executed | clears | is_element_wise(o) | ~o.src_a_row[:4].any(),
        ~executed | clears | o.broadcast_row | ~o.src_b_row[:3].any(),
    )


@PROPERTIES.of(
    "move_operands",
    "move_operands_rows_{chip.value}",
    "a move of {chip.value} that is executed fills whole words of Dst or their low halves",
    ("(tf32 | (to_dst & follows)) & low_half,", "(tf32 | (to_dst & follows)) & ~low_half,"),
    "chip",
    Chip,
)
def moved_halves(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", MoveOperands(ChipConfig(chip=chip)))
    claim.ensure(dut.refused | ~dut.o.control.wide | ~dut.o.control.low_half)


@PROPERTIES.of(
    "unpack_address",
    "unpack_address_rows",
    "unpacker 0's UNPACR that is executed has at most 64 rows, and ends at row 63 of SrcA at the latest",
    ("(last > SRC_ROWS) | (last > FACE)", "(last > 2 * SRC_ROWS) | (last > FACE)"),
)
def filled_rows(claim: Claim) -> None:
    dut = claim.instantiate("dut", UnpackAddress(UnpackAddressConfig()))
    o = dut.o
    end = o.row + o.rows
    claim.ensure(dut.refused | o.control.to_dst | (end <= SRC_ROWS), dut.refused | (o.rows <= SRC_ROWS))


@PROPERTIES.of(
    "pack_address",
    "pack_address_rows_{chip.value}",
    "a PACR of {chip.value} that is executed has a row at least, and the threshold of a ReLU on rows is not negative",
    ("(relu > 1) & (shared.relu_threshold[0][-1]", "(relu > 2) & (shared.relu_threshold[0][-1]"),
    "chip",
    Chip,
)
def packed_rows(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", PackAddress(ChipConfig(chip=chip)))
    o = dut.o
    negative = ~o.flush & (o.control.relu > 1) & o.control.relu_threshold[-1]
    claim.ensure(dut.refused | ~negative, dut.refused | (o.rows != 0), dut.refused | o.sources.any())
