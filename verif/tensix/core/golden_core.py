"""Golden's core on the programs of a bench: what a program leaves, and random instructions that golden accepts."""

from random import Random

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.core.source_formats import movb2d_format, src_a_format
from bitpath.golden.tensix.core.wait_gate import obstacle
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.rtl.tensix.core.decode import BANKS, MATRIX, MOVES, RWC, ZERO_FIELDS
from bitpath.verif.tensix.core.programs import THREADS, CoreProgram

MATH = 1
ZEROACC_ROWS = 1
"""Mode of ZEROACC: 16 rows."""
FORMATS = (Format.BF16, Format.TF32, Format.FP16, Format.BFP8, Format.INT8)
FORMATS_REGISTER, FORMATS_MASK = 1, 0xFE
"""Configuration register of SrcA's and SrcB's formats, and the bits of its third byte that hold SrcA's and most of SrcB's."""


def golden_core(chip: Chip, program: CoreProgram) -> tensix.Core:
    """Return golden's core with a program's memory and MOP words; nothing is pushed."""
    core = tensix.Core(chip)
    for address, content in program.memory:
        core.l1[address : address + content.size] = content
    for thread in range(THREADS):
        core.mop_config(thread, program.mops[thread])
    return core


def golden_result(chip: Chip, program: CoreProgram) -> tuple[np.ndarray, list[list[int]]]:
    """Return the result's bytes after a program, and the words that each thread executes."""
    core = golden_core(chip, program)
    for thread in range(THREADS):
        core.push(thread, program.words[thread])
    trace = core.run()
    assert trace.waiting == (None,) * THREADS
    address, size = program.result
    return core.l1[address : address + size].copy(), [trace.words(thread) for thread in range(THREADS)]


def accepted(chip: Chip, core: tensix.Core, rng: Random, count: int, *, dst32: bool) -> list[int]:
    """Return random instructions of the Matrix unit, of banks and of RWCs that golden's core accepts in this order, and executes.

    None waits, and all use Dst rows of one width, 32 bits with `dst32`.
    """
    words: list[int] = []
    while len(words) < count:
        word = _random_word(chip, rng, dst32=dst32)
        instruction = decode(word, chip=chip)
        try:
            if obstacle(core.state, MATH, instruction) or _mixes(core, instruction, dst32=dst32):
                continue
            core.push(MATH, [word])
            core.run()
        except (ValueError, tensix.UndefinedBehavior):
            continue
        words.append(word)
    return words


def _random_word(chip: Chip, rng: Random, *, dst32: bool) -> int:
    name = rng.choice((*MATRIX, *MOVES, *MOVES, *BANKS, *RWC, "MVMUL", "MVMUL", "RMWCIB2"))
    fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
    fields |= {each: 0 for each in ("revert", *ZERO_FIELDS.get(name, ())) if each in fields}
    if rng.random() < 0.8 and "flip" in fields:
        # Most instructions leave banks as they are, so that not all that follow would wait.
        fields["flip"] = 0
    if name == "ZEROACC":
        fields |= {"mode": ZEROACC_ROWS, "operand": rng.randrange(32), "dst32": fields["dst32"] & dst32}
    elif name == "RMWCIB2":
        fields |= {
            "mask": FORMATS_MASK,
            "register": FORMATS_REGISTER,
            "data": rng.choice(FORMATS) << 1 | rng.choice(FORMATS) << 5 & 0xE0,
        }
    elif name == "CLEARDVALID":
        fields["reset"] &= fields["keep_reading"]
    elif "dst" in fields and name not in RWC:
        fields["dst"] &= 0x7F
    return encode(name, chip=chip, **fields)


def _mixes(core: tensix.Core, instruction: Instruction, *, dst32: bool) -> bool:
    """Whether a move writes Dst words of another width."""
    if instruction.name not in ("MOVA2D", "MOVB2D"):
        return False
    fmt = (src_a_format if instruction.name == "MOVA2D" else movb2d_format)(core.state, MATH)
    follows = core.numerics.moves_follow_fp32 and dst32
    return (fmt is Format.TF32 or bool(instruction["low_half"]) or follows) != dst32
