"""Random inputs of the core's units for tests that drive any unit: instructions that change something, and few that are illegal."""

from functools import cache
from random import Random

import numpy as np

from bitpath.golden.tensix.declarations.encodings import BY_NAME, FIELDS, THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import Chip, Fidelity, Format
from bitpath.rtl.tensix.core.config_file import THREADS, known_bits, written_by
from bitpath.rtl.tensix.core.decode import CONFIG, EXECUTED, instruction_layout
from bitpath.verif.kit.packing import pack
from bitpath.verif.tensix.program.programs import DATUMS, Product, product_program

CHIP = Chip.WORMHOLE


def _record(name: str, fields: dict[str, int]) -> dict[str, int]:
    opcode = BY_NAME[CHIP][name].opcode
    return dict.fromkeys(instruction_layout(CHIP).members, 0) | fields | {"opcode": opcode}


def config_instruction(source: Random) -> int:
    """Return bits of an instruction of Wormhole's configuration file with its thread; values have their registers' bits."""
    name = source.choice(CONFIG)
    fields = {each.name: source.getrandbits(each.width) for each in BY_NAME[CHIP][name].fields}
    own = name == "SETC16"
    known = known_bits((THREAD_FIELDS if own else FIELDS)[CHIP])
    if "register" in fields:
        fields["register"] = source.choice([*known])
        mask = known[fields["register"]]
        if own:
            fields["value"] &= mask
        elif "data" in fields:
            fields["data"] &= mask >> 8 * int(name[-1]) & 0xFF
    return pack(written_by(CHIP), {"thread": source.randrange(THREADS), "instruction": _record(name, fields)})


def gate_instruction(source: Random) -> int:
    """Return bits of an instruction at Wormhole's wait gate; waits are frequent."""
    name = source.choice((*EXECUTED, *["STALLWAIT", "SEMWAIT"] * 8))
    fields = {each.name: source.getrandbits(each.width) for each in BY_NAME[CHIP][name].fields}
    return pack(instruction_layout(CHIP), _record(name, fields))


@cache
def _words(thread: int) -> tuple[int, ...]:
    product = Product(chip=CHIP, fidelity=Fidelity.HIFI2, fmt=Format.BF16, out_format=Format.BF16)
    nothing = np.zeros(2 * DATUMS, np.uint8)
    return product_program(product, nothing, nothing).words[thread]


def core_word(source: Random, thread: int) -> int:
    """Return a word of a product's program for a thread of Wormhole's core."""
    return source.choice(_words(thread))
