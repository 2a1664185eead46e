"""Programs for a core: short ones of a test, and those of the archives of known answers."""

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.core.programs import LEFT, MATH, RESULT, RIGHT, CoreProgram
from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.encodings import GOLDEN_FIELDS, GOLDEN_THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa import assemble

# Cores for tests: configuration by name, operands in the registers, and short programs.


def configure(core, thread, unit=0, **values):
    """Set fields of the configuration by name, of one unit or with the address modifier's number where there are several."""
    for name, value in values.items():
        of_thread = name in GOLDEN_THREAD_FIELDS[core.chip]
        places = (GOLDEN_THREAD_FIELDS if of_thread else GOLDEN_FIELDS)[core.chip][name]
        place = places[unit if len(places) > 1 else 0]
        if of_thread:
            old = core.config.thread_registers[thread][place.register]
            core.config.write_thread(thread, place.register, old & ~place.mask | value << place.low)
        else:
            core.config.write(thread, place.register, value << place.low, place.mask)


def loaded(chip, src_a=None, src_b=None, formats=(5, 5), l1_bytes=4096):
    """Return a core whose Matrix unit owns bank 0 of both sources, with rows from 0 on and formats of these codes."""
    core = tensix.Core(chip, l1_bytes=l1_bytes)
    for banks, words, fmt in ((core.state.src_a, src_a, formats[0]), (core.state.src_b, src_b, formats[1])):
        if words is not None:
            banks.words[0, : len(words)] = words
        banks.hand_over(fmt)
    configure(core, MATH, src_a_format=formats[0], src_b_format=formats[1])
    return core


def execute(core, thread, text):
    """Assemble a program for one thread, run it until it waits or ends, and return the trace."""
    core.push(thread, assemble(text, chip=core.chip))
    return core.run(may_wait=True)


# Programs of the archives of known answers.


ARCHIVE, CONTROL = "tensix_bh_program.npz", "tensix_bh_control.npz"
CHIPS = {"wh": Chip.WORMHOLE, "bh": Chip.BLACKHOLE}
WORD_BYTES = 64


def archived(archive: dict[str, np.ndarray], chip: str, number: int) -> CoreProgram:
    """Return a program of the archive of known answers."""
    prefix = f"{chip}{number:02}_"
    memory = tuple(
        (address, archive[prefix + name]) for name, address in (("a", LEFT), ("b", RIGHT), ("before", RESULT))
    )
    return CoreProgram(
        words=tuple(tuple(archive[f"{prefix}t{thread}"].tolist()) for thread in range(THREADS)),
        mops=tuple(tuple(archive[f"{prefix}mop{thread}"].tolist()) for thread in range(THREADS)),
        memory=memory,
        result=(RESULT, archive[f"{prefix}after"].size),
    )
