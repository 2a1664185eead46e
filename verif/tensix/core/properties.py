"""Wait gate: a latched wait stays until it is met and blocks its class. Choice of a thread: a choice that waits stays. Decoder: a word
that is executed is legal."""

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.rtl.tensix.core.config import DecodeConfig, WaitGateConfig
from bitpath.rtl.tensix.core.decode import Decode, named
from bitpath.rtl.tensix.core.first_thread import FirstThread
from bitpath.rtl.tensix.core.wait_gate import MATH, WaitGate
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
    dut = claim.instantiate("dut", WaitGate(WaitGateConfig(chip=Chip.WORMHOLE)))
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
    "{chip.value}'s MVMUL has its fields from their bits, and any other bit makes it illegal",
    ("self.illegal.eq(stray(word, encoding.name, chip))", "self.illegal.eq(0)"),
    "chip",
    Chip,
)
def decoded(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", Decode(DecodeConfig(chip=chip)))
    word = dut.word
    claim.assume(word[24:] == 0x26)
    low = 15 if chip is Chip.WORMHOLE else 14
    claim.ensure(
        dut.instruction.dst == word[:10],
        dut.instruction.modifier == word[low:17],
        dut.instruction.broadcast_row == word[19],
        dut.instruction.flip == word[22:24],
        dut.illegal == (word[10:low].any() | word[17:19].any() | word[20:22].any()),
        ~dut.unsupported,
    )
