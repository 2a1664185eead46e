"""Words that a core refuses: why, by golden's core and by what its decoder says that it executes."""

from random import Random

from bitpath.golden import tensix
from bitpath.golden.tensix.core.core import obstacle
from bitpath.golden.tensix.core.unpacker import action
from bitpath.golden.tensix.declarations.encodings import BY_NAME, ENCODINGS, OPCODE_LOW
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa import Instruction, decode
from bitpath.rtl.tensix.core.decode import CONFIG, EXECUTED, FIELD_VALUES, ZERO_FIELDS
from bitpath.rtl.tensix.faults import Fault


def is_executed(chip: Chip, instruction: Instruction) -> bool:
    """Whether a core executes an instruction, by the decoder's tables and by golden's rules of UNPACR_NOP, SEMWAIT and SETDVALID."""
    name, fields = instruction.name, instruction.fields
    if name not in EXECUTED or any(fields.get(each) for each in ZERO_FIELDS.get(name, ())):
        return False
    if name == "UNPACR_NOP":
        try:
            action(chip, instruction)
        except ValueError:
            return False
        return True
    if name == "SEMWAIT":
        return bool(fields["while_zero"] or fields["at_maximum"])
    if name == "SETDVALID":
        return chip is Chip.WORMHOLE
    return all(fields[field] in values for (of, field), values in FIELD_VALUES.items() if of == name)


def fault_of(chip: Chip, core: tensix.Core, thread: int, word: int) -> Fault | None:
    """Execute a word in golden's core; return why it refuses it, or None if the word must wait.

    A word that the decoder refuses does not wait.
    """
    try:
        instruction = decode(word, chip=chip)
    except ValueError:
        return Fault.WORD
    if not is_executed(chip, instruction):
        return Fault.OPERATION
    if obstacle(core.state, thread, instruction):
        return None
    try:
        core.push(thread, [word])
        core.run()
    except ValueError:
        return Fault.REGISTER if instruction.name in CONFIG else Fault.STATE
    return Fault.NONE


def refused_word(chip: Chip, rng: Random) -> int:
    """Return a word that no decoder of a core lets pass: of no instruction, with a bit of no field, or with a field that must be 0."""
    zeros = {
        name: fields for name, fields in ZERO_FIELDS.items() if fields[0] in map(_name, BY_NAME[chip][name].fields)
    }
    while True:
        encoding = rng.choice(ENCODINGS[chip])
        word = encoding.opcode << OPCODE_LOW | rng.getrandbits(OPCODE_LOW) & encoding.used_bits
        match rng.randrange(3):
            case 0:
                word = rng.getrandbits(32)
            case 1:
                word |= 1 << rng.randrange(OPCODE_LOW)
            case 2:
                encoding = BY_NAME[chip][rng.choice(list(zeros))]
                word = encoding.opcode << OPCODE_LOW | rng.getrandbits(OPCODE_LOW) & encoding.used_bits
        name = next((each.name for each in ENCODINGS[chip] if each.opcode == word >> OPCODE_LOW), "")
        if name in EXPANDED:
            continue
        try:
            if is_executed(chip, decode(word, chip=chip)):
                continue
        except ValueError:
            pass
        return word


EXPANDED = ("MOP", "MOP_CFG", "REPLAY")
"""Words that the expanders take."""


def _name(field: object) -> str:
    return field.name
