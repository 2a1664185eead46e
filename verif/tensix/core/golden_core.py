"""Golden's core on the programs of a bench: what a program leaves, and random instructions that golden accepts."""

from random import Random

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.isa import encode
from bitpath.rtl.tensix.core.decode import MATRIX, RWC, ZERO_FIELDS
from bitpath.verif.tensix.core.programs import THREADS, CoreProgram

MATH = 1
ZEROACC_ROWS = 1
"""Mode of ZEROACC: 16 rows."""


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


def accepted(chip: Chip, core: tensix.Core, rng: Random, count: int) -> list[int]:
    """Return random instructions of the Matrix unit and of RWCs that golden's core accepts in this order, and executes."""
    words: list[int] = []
    while len(words) < count:
        word = _random_word(chip, rng)
        try:
            core.push(MATH, [word])
            core.run()
        except (ValueError, tensix.UndefinedBehavior):
            continue
        words.append(word)
    return words


def _random_word(chip: Chip, rng: Random) -> int:
    name = rng.choice((*MATRIX, *RWC, "MVMUL", "MVMUL"))
    fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
    # Banks stay, so that instructions behind do not wait for ever; rows stay where 32-bit words are.
    fields |= {each: 0 for each in ("flip", "revert", *ZERO_FIELDS.get(name, ())) if each in fields}
    if name == "ZEROACC":
        fields |= {"mode": ZEROACC_ROWS, "operand": rng.randrange(32)}
    elif "dst" in fields and name not in RWC:
        fields["dst"] &= 0x7F
    return encode(name, chip=chip, **fields)
