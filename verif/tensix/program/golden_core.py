"""Golden's core on the programs of a bench: what a program leaves, and random instructions that golden executes or refuses."""

from random import Random

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, DST16_ROWS, DST32_ROWS, Chip, Format
from bitpath.golden.tensix.isa import encode
from bitpath.rtl.tensix.core.decode import BANKS, MATRIX, MOVES, RWC, ZERO_FIELDS
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.tensix.program.programs import THREADS, CoreProgram
from bitpath.verif.tensix.program.refused_words import fault_of, refused_word

MATH = 1
ZEROACC_MODES = (0, 0, 0, 1, 1, 1, 2, 3)
"""Modes of random ZEROACCs: half of Dst and all seldom, since what follows would read zeros."""
FORMATS = (Format.BF16, Format.TF32, Format.FP16, Format.BFP8, Format.INT8)
FORMATS_REGISTER, FORMATS_MASK = 1, 0xFE
"""Configuration register of SrcA's and SrcB's formats, and the bits of its third byte that hold SrcA's and most of SrcB's."""


def golden_core(chip: Chip, program: CoreProgram, **options: int) -> tensix.Core:
    """Return golden's core, with options of `tensix.Core`, with a program's memory and MOP words; nothing is pushed."""
    core = tensix.Core(chip, **options)
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
    address, size = program.result
    return core.l1[address : address + size].copy(), [trace.words(thread) for thread in range(THREADS)]


def random_words(
    chip: Chip, core: tensix.Core, rng: Random, count: int, *, dst32: bool, refused: float = 0.0
) -> list[tuple[int, Fault]]:
    """Return random instructions of the Matrix unit, of banks and of RWCs in the order in which golden's core executes or refuses them.

    None waits; moves may write Dst in another width than `dst32`. The first ones fill Dst, because a reset leaves its words; their
    modifier 0 adds a block's rows to the RWC. ``refused`` is the share of other words, of which a decoder refuses each, and without
    which no refused one is returned.
    """
    rows = DST32_ROWS if dst32 and core.numerics.moves_follow_fp32 else DST16_ROWS
    fills = [encode("MOVA2D", chip=chip, mode=2)] * (rows // BLOCK_ROWS)
    words = [*fills, encode("SETRWC", chip=chip, which=0b1111)]
    core.push(MATH, words)
    core.run()
    found = [(word, Fault.NONE) for word in words]
    count += len(words)
    while len(found) < count:
        word = refused_word(chip, rng) if rng.random() < refused else _random_word(chip, rng, dst32=dst32)
        fault = fault_of(chip, core, MATH, word)
        if fault is Fault.NONE or (refused and fault is not None):
            found.append((word, fault))
    return found


def _random_word(chip: Chip, rng: Random, *, dst32: bool) -> int:
    name = rng.choice((*MATRIX, *MOVES, *MOVES, *BANKS, *RWC, "MVMUL", "MVMUL", "RMWCIB2"))
    fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
    fields |= {each: 0 for each in ZERO_FIELDS.get(name, ()) if each in fields}
    if rng.random() < 0.8 and "flip" in fields:
        # Most instructions leave banks as they are, so that not all that follow would wait.
        fields["flip"] = 0
    if name == "ZEROACC":
        mode = rng.choice(ZEROACC_MODES)
        fields |= {"mode": mode, "operand": rng.randrange(32 if mode == 1 else 128), "dst32": fields["dst32"] & dst32}
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
