"""Bench of the decoder: every field of every instruction, words with bits of no field, and all opcodes."""

from random import Random

from cocotb.triggers import Timer

from bitpath.golden.tensix.declarations.encodings import BY_OPCODE, ENCODINGS, OPCODE_LOW
from bitpath.golden.tensix.isa import decode
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import Decode, instruction_layout
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved
from bitpath.verif.tensix.program.golden_core import is_executed

BENCH = UnitBench(Decode, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
LAYOUT = instruction_layout(CHIP)
CASES = cases(20)


def random_word(rng: Random, encoding) -> int:
    """Return a word of an instruction with random fields; each field is 0 in half of them."""
    word = encoding.opcode << OPCODE_LOW
    for each in encoding.fields:
        word |= (rng.getrandbits(each.width) << each.low) if rng.random() < 0.5 else 0
    return word


async def check(dut, boards, word: int) -> None:
    """Compare the fault, and the record of a word that is an instruction."""
    dut.word.value = word
    await Timer(1, unit="ns")
    records, faults = boards
    try:
        instruction = decode(word, chip=CHIP)
    except ValueError:
        faults.compare(resolved(dut.fault), Fault.WORD.value, f"{word:#010x}")
        return
    fields = dict.fromkeys(LAYOUT.members, 0) | instruction.fields | {"opcode": word >> OPCODE_LOW}
    records.compare(resolved(dut.instruction), pack(LAYOUT, fields), str(instruction))
    fault = Fault.NONE if is_executed(CHIP, instruction) else Fault.OPERATION
    faults.compare(resolved(dut.fault), fault.value, str(instruction))


def boards_of(frame):
    """Return the boards of records and of faults."""
    return frame.scoreboard("instruction", LAYOUT), frame.scoreboard("fault", Fault)


@BENCH.test("decode.fields", "An instruction's field is at another place on the other chip")
async def every_instruction(frame):
    """Every instruction of the chip with random fields; the whole record equal to golden's decode."""
    rng = pauses.rng("fields")
    boards = boards_of(frame)
    coverage = frame.coverage([encoding.name for encoding in ENCODINGS[CHIP]])
    for encoding in ENCODINGS[CHIP]:
        coverage.hit(encoding.name)
        for _ in range(CASES):
            await check(frame.dut, boards, random_word(rng, encoding))


@BENCH.test("decode.alone", "A field that is a bit too wide takes its neighbour's")
async def every_field_alone(frame):
    """All ones in one field and zeros in the others."""
    boards = boards_of(frame)
    for encoding in ENCODINGS[CHIP]:
        for each in encoding.fields:
            ones = (1 << each.width) - 1 << each.low
            await check(frame.dut, boards, encoding.opcode << OPCODE_LOW | ones)


@BENCH.test("decode.stray", "Such a word is refused")
async def bits_of_no_field(frame):
    """Each bit of no field of each instruction, alone."""
    rng = pauses.rng("fields")
    boards = boards_of(frame)
    await check(frame.dut, boards, ENCODINGS[CHIP][1].opcode << OPCODE_LOW)
    for encoding in ENCODINGS[CHIP]:
        for bit in range(OPCODE_LOW):
            if not encoding.used_bits >> bit & 1:
                await check(frame.dut, boards, random_word(rng, encoding) | 1 << bit)


@BENCH.test("decode.opcodes", "An opcode that no instruction has is refused")
async def every_opcode(frame):
    """Show all 256 opcodes of a chip."""
    boards = boards_of(frame)
    coverage = frame.coverage(["known", "unknown"])
    for opcode in range(256):
        coverage.hit("known" if opcode in BY_OPCODE[CHIP] else "unknown")
        await check(frame.dut, boards, opcode << OPCODE_LOW)


@BENCH.test("decode.values", "A value that the documents do not allow is refused, and no other")
async def every_value(frame):
    """Every value of each field of up to five bits, and the ends of the others, beside zeros and beside random fields."""
    rng = pauses.rng("fields")
    boards = boards_of(frame)
    for encoding in ENCODINGS[CHIP]:
        for each in encoding.fields:
            last = (1 << each.width) - 1
            for value in range(last + 1) if each.width <= 5 else (0, 1, last - 1, last):
                own = value << each.low
                await check(frame.dut, boards, encoding.opcode << OPCODE_LOW | own)
                await check(frame.dut, boards, random_word(rng, encoding) & ~(last << each.low) | own)
