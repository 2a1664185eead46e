"""Bench of the decoder: every field of every instruction, words with bits of no field, and all opcodes.

``BITPATH_CASES`` sets the words of each instruction.
"""

import os
from random import Random

import cocotb
from cocotb.triggers import Timer

from bitpath.golden.tensix.core.unpacr_nop import action
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.encodings import BY_OPCODE, ENCODINGS, OPCODE_LOW
from bitpath.golden.tensix.isa import Instruction, decode
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import EXECUTED, FIELD_VALUES, ZERO_FIELDS, Decode, instruction_layout
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved

CONFIG = config_from_environment(ChipConfig)
CHIP = CONFIG.chip
SIGNATURE = Decode(CONFIG).signature
LAYOUT = instruction_layout(CHIP)
CASES = int(os.environ.get("BITPATH_CASES", "20"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


def is_executed(instruction: Instruction) -> bool:
    """Whether a core executes an instruction, by the decoder's tables and by golden's rules of UNPACR_NOP and SETDVALID."""
    name, fields = instruction.name, instruction.fields
    if name not in EXECUTED or any(fields.get(each) for each in ZERO_FIELDS.get(name, ())):
        return False
    if name == "UNPACR_NOP":
        try:
            action(CHIP, instruction)
        except ValueError:
            return False
        return True
    if name == "SETDVALID":
        return CHIP is Chip.WORMHOLE
    return all(fields[field] in values for (of, field), values in FIELD_VALUES.items() if of == name)


def random_word(rng: Random, encoding) -> int:
    """Return a word of an instruction with random fields; each field is 0 in half of them."""
    word = encoding.opcode << OPCODE_LOW
    for each in encoding.fields:
        word |= (rng.getrandbits(each.width) << each.low) if rng.random() < 0.5 else 0
    return word


async def check(dut, boards, word: int) -> None:
    """Compare the record, and both flags of a legal word; of an illegal one its flag."""
    dut.word.value = word
    await Timer(1, unit="ns")
    records, flags = boards
    try:
        instruction = decode(word, chip=CHIP)
    except ValueError:
        flags.expect(1, f"{word:#010x}")
        flags.got(resolved(dut.illegal))
        return
    fields = dict.fromkeys(LAYOUT.members, 0) | instruction.fields | {"opcode": word >> OPCODE_LOW}
    records.expect(pack(LAYOUT, fields), str(instruction))
    records.got(resolved(dut.instruction))
    executed = is_executed(instruction)
    flags.expect(0 if executed else 2, str(instruction))
    flags.got(resolved(dut.illegal) | resolved(dut.unsupported) << 1)


def boards_of(frame):
    """Return the boards of records and of flags."""
    return frame.scoreboard("instruction", LAYOUT), frame.scoreboard("flags", 2, output="illegal")


@cocotb.test(**LIMIT)
async def every_instruction(dut):
    """Random fields; the coverage is the instructions, executed or not."""
    rng = pauses.rng("fields")
    async with bench(dut, SIGNATURE) as frame:
        boards = boards_of(frame)
        coverage = frame.coverage([encoding.name for encoding in ENCODINGS[CHIP]])
        for encoding in ENCODINGS[CHIP]:
            coverage.hit(encoding.name)
            for _ in range(CASES):
                await check(dut, boards, random_word(rng, encoding))


@cocotb.test(**LIMIT)
async def every_field_alone(dut):
    """All ones in one field and zeros in the others."""
    async with bench(dut, SIGNATURE) as frame:
        boards = boards_of(frame)
        for encoding in ENCODINGS[CHIP]:
            for each in encoding.fields:
                ones = (1 << each.width) - 1 << each.low
                await check(dut, boards, encoding.opcode << OPCODE_LOW | ones)


@cocotb.test(**LIMIT)
async def bits_of_no_field(dut):
    """A single one outside of the fields makes any instruction illegal."""
    rng = pauses.rng("fields")
    async with bench(dut, SIGNATURE) as frame:
        boards = boards_of(frame)
        await check(dut, boards, ENCODINGS[CHIP][1].opcode << OPCODE_LOW)
        for encoding in ENCODINGS[CHIP]:
            for bit in range(OPCODE_LOW):
                if not encoding.used_bits >> bit & 1:
                    await check(dut, boards, random_word(rng, encoding) | 1 << bit)


@cocotb.test(**LIMIT)
async def every_opcode(dut):
    """256 opcodes with zeros behind them."""
    async with bench(dut, SIGNATURE) as frame:
        boards = boards_of(frame)
        coverage = frame.coverage(["known", "unknown"])
        for opcode in range(256):
            coverage.hit("known" if opcode in BY_OPCODE[CHIP] else "unknown")
            await check(dut, boards, opcode << OPCODE_LOW)
