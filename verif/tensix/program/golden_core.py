"""Golden's core on the programs of a bench: a program's final state, and random instructions that golden executes or
refuses."""

from collections.abc import Iterator
from random import Random

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.core.core import obstacle
from bitpath.golden.tensix.core.programs import GPR, CoreProgram, assembled, own_field
from bitpath.golden.tensix.core.state import THREADS, ConfigFile
from bitpath.golden.tensix.core.unpacker import action
from bitpath.golden.tensix.declarations.encodings import BY_NAME, ENCODINGS, FIELDS, OPCODE_LOW, THREAD_FIELDS, Fields
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, DST16_ROWS, DST32_ROWS, FACE, Chip, Format
from bitpath.golden.tensix.declarations.sfpu import FIRST_TEMPLATE, MODES
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.rtl.tensix.core.config_file import known_bits
from bitpath.rtl.tensix.core.decode import ADC, BANKS, CONFIG, EXECUTED, FIELD_VALUES, MATRIX, MOVES, RWC, ZERO_FIELDS
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.instruction import Zeroed

# Words that a core refuses: why, by golden's core and by what its decoder says that it executes.


RESERVED_ROUNDING = 3
"""Of SFP_STOCH_RND."""


def is_executed(chip: Chip, instruction: Instruction) -> bool:
    """Return whether a core executes an instruction: the decoder's tables, golden's rules of UNPACR_NOP and SEMWAIT."""
    name, fields = instruction.name, instruction.fields
    if name not in EXECUTED or any(fields.get(each) for each in ZERO_FIELDS.get(name, ())):
        return False
    if name == "UNPACR_NOP":
        try:
            action(chip, instruction)
        except ValueError:
            return False
        return True
    if fields.get("vd", FIRST_TEMPLATE) < FIRST_TEMPLATE and (
        fields["mod"] not in MODES[chip].get(name, (fields["mod"],)) or fields.get("rounding") == RESERVED_ROUNDING
    ):
        return False
    if name == "SEMWAIT":
        return bool(fields["while_zero"] or fields["at_maximum"])
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


MATH = 1
ZEROACC_MODES = (0, 0, 0, 1, 1, 1, 2, 3)
"""Modes of random ZEROACCs: half of Dst and all seldom, since what follows would read zeros."""
FORMATS = (Format.BF16, Format.TF32, Format.FP16, Format.BFP8, Format.INT8)
FORMATS_REGISTER, FORMATS_MASK = 1, 0xFE
"""Configuration register of SrcA's and SrcB's formats, and the bits of its third byte that hold SrcA's and most of SrcB's."""


def golden_core(chip: Chip, program: CoreProgram, **options: int) -> tensix.Core:
    """Return golden's core, with options of `tensix.Core`, with a program's memory and MOP words; nothing is pushed.

    Its configuration has the fields that RTL has.
    """
    core = tensix.Core(chip, **options)
    core.state.config = ConfigFile(chip, FIELDS[chip], THREAD_FIELDS[chip])
    program.prepare(core)
    return core


def golden_result(chip: Chip, program: CoreProgram) -> tuple[np.ndarray, list[list[int]]]:
    """Return the result's bytes after a program, and the words that each thread executes."""
    core = golden_core(chip, program)
    program.push(core)
    trace = core.run()
    return program.result_of(core), [trace.words(thread) for thread in range(THREADS)]


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
        if core.state.dst.remapped and zeroes_sixteen(chip, word):
            # RTL's core refuses it: remapped rows do not stay together.
            continue
        fault = fault_of(chip, core, MATH, word)
        if fault is Fault.NONE or (refused and fault is not None):
            found.append((word, fault))
    return found


def zeroes_sixteen(chip: Chip, word: int) -> bool:
    """Return whether a word is a ZEROACC of 16 rows."""
    encoding = BY_NAME[chip]["ZEROACC"]
    mode = next(each for each in encoding.fields if each.name == "mode")
    return word >> OPCODE_LOW == encoding.opcode and word >> mode.low & 3 == Zeroed.SIXTEEN.value


def _random_word(chip: Chip, rng: Random, *, dst32: bool) -> int:
    permutes = ("RMWCIB0",) if FIELDS[chip]["remap_addrs"] else ()
    name = rng.choice((*MATRIX, *MOVES, *MOVES, *BANKS, *RWC, "MVMUL", "MVMUL", "RMWCIB2", *permutes))
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
    elif name == "RMWCIB0":
        place = FIELDS[chip]["remap_addrs"][0]
        fields |= {"register": place.register, "mask": place.mask, "data": rng.getrandbits(1) << place.low}
    elif name == "CLEARDVALID":
        fields["reset"] &= fields["keep_reading"]
    elif "dst" in fields and name not in RWC:
        # A 32-bit Dst has other numbers of its upper rows from 512 on.
        fields["dst"] &= 0x27F
    return encode(name, chip=chip, **fields)


# Words before a program: every register of the configuration, counters and semaphores in random use, then configuration of zeros.
#
# A thread takes semaphores of its own, other than those by which threads of a program wait for each other.


SEMAPHORES = (1 << 0 | 1 << 3, 1 << 4 | 1 << 5, 1 << 6 | 1 << 7)
"""Semaphores of each thread."""


def preface(rng: Random, chip: Chip, thread: int) -> tuple[int, ...]:
    """Return a thread's words; thread 0 writes both banks of the configuration, and the thread of the Matrix unit clears Dst."""
    words = [*_own_registers(chip, ones=True), *_counting(rng, chip, thread), *_own_registers(chip, ones=False)]
    if thread == 0:
        for bank in (1, 0):
            words += [encode("SETC16", chip=chip, **own_field(chip, "state_id", bank)), *_shared_registers(chip)]
    if thread == MATH:
        words += _blocks(chip)
    return tuple(words)


def _own_registers(chip: Chip, *, ones: bool) -> Iterator[int]:
    """All fields of a thread's own but the bank, which stays 0, as ones or zeros."""
    table: Fields = {name: places for name, places in THREAD_FIELDS[chip].items() if name != "state_id"}
    for register, bits in known_bits(table).items():
        yield encode("SETC16", chip=chip, register=register, value=bits if ones else 0)


def _shared_registers(chip: Chip) -> Iterator[int]:
    """All fields of the bank as ones, register by register, then byte by byte as zeros; Dst's rows keep their order.

    Other threads' ZEROACCs run meanwhile.
    """
    fields = {name: places for name, places in FIELDS[chip].items() if name not in ("remap_addrs", "swizzle_32b")}
    for register, bits in known_bits(fields).items():
        for half in range(2):
            part = bits >> 16 * half & 0xFFFF
            fields = {"value_low": part & 0x3FFF, "value_high": part >> 14, "half_register": 2 * GPR + half}
            yield encode("SETDMAREG", chip=chip, **fields)
        yield from assembled(
            chip,
            ("WRCFG", {"gpr": GPR, "register": register}),
            *((f"RMWCIB{byte}", {"register": register, "mask": bits >> 8 * byte & 0xFF}) for byte in range(4)),
        )


def _counting(rng: Random, chip: Chip, thread: int) -> Iterator[int]:
    """Random uses of the counters and of the thread's semaphores."""
    for _ in range(60):
        name = rng.choice((*ADC, *RWC, "SEMINIT", "SEMPOST", "SEMGET", "SEMPOST", "SEMGET"))
        fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
        if "semaphores" in fields:
            fields["semaphores"] &= SEMAPHORES[thread]
        if "flip" in fields:
            fields["flip"] = 0
        yield encode(name, chip=chip, **fields)


def _blocks(chip: Chip) -> Iterator[int]:
    """ZEROACCs of every 16 rows in both widths, and of a row of each."""
    for block in range(DST16_ROWS // FACE):
        yield encode("ZEROACC", chip=chip, mode=0, operand=block * FACE + block % FACE)
        yield encode("ZEROACC", chip=chip, mode=1, operand=block)
        if block < DST32_ROWS // FACE:
            yield encode("ZEROACC", chip=chip, mode=1, operand=block, dst32=1)


def with_preface(rng: Random, chip: Chip, words: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the words of all threads behind their prefaces."""
    return tuple((*preface(rng, chip, thread), *words[thread]) for thread in range(THREADS))
