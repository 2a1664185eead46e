"""Programs for a core: words of three threads, their MOP configurations, and L1 before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.encodings import (
    FIELDS,
    GOLDEN_FIELDS,
    GOLDEN_THREAD_FIELDS,
    MOP_WORDS,
    THREAD_FIELDS,
)
from bitpath.golden.tensix.declarations.formats import FACE, FIDELITY_PHASES, TILE, Chip, Fidelity, Format
from bitpath.golden.tensix.isa import assemble, encode

# Cores for tests: configuration by name, operands in the registers, and short programs.


UNPACK, MATH, PACK = range(3)
"""Threads as kernels use them."""


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


# Words of programs by name: instructions, a thread's own fields, and the configuration that threads share.


GPR = 4
"""General-purpose register through which the configuration goes."""
PACKED, FREE = 1, 2
"""Semaphores: a tile is ready to be packed; threads 1 and 2 may begin."""


def assembled(chip: Chip, *lines: tuple) -> tuple[int, ...]:
    """Return the words of instructions, each a name and, if it has some, a dictionary of fields."""
    return tuple(encode(line[0], chip=chip, **(line[1] if len(line) > 1 else {})) for line in lines)


def config_lines(chip: Chip, fields: Mapping[str, Sequence[int]]) -> list[tuple]:
    """Return the instructions that set fields, each with the value of each unit; other fields of their registers become 0."""
    registers: dict[int, int] = {}
    for name, values in fields.items():
        for place, value in zip(FIELDS[chip][name], values, strict=True):
            registers[place.register] = registers.get(place.register, 0) | int(value) << place.low
    lines: list[tuple] = []
    for register, value in sorted(registers.items()):
        for half in range(2):
            part = value >> 16 * half & 0xFFFF
            halves = {"value_low": part & 0x3FFF, "value_high": part >> 14, "half_register": 2 * GPR + half}
            lines.append(("SETDMAREG", halves))
        lines.append(("WRCFG", {"gpr": GPR, "register": register}))
    return lines


def own_field(chip: Chip, name: str, value: int, number: int = 0) -> dict[str, int]:
    """Return the fields of a SETC16 that sets a field of the thread."""
    place = THREAD_FIELDS[chip][name][number]
    return {"register": place.register, "value": value << place.low}


def begin_lines() -> list[tuple]:
    """Wait until the configuration is written."""
    return [
        ("SEMWAIT", {"block": 1, "semaphores": 1 << FREE, "while_zero": 1}),
        ("SEMGET", {"semaphores": 1 << FREE}),
    ]


ARCHIVE, CONTROL = "tensix_bh_program.npz", "tensix_bh_control.npz"
CHIPS = {"wh": Chip.WORMHOLE, "bh": Chip.BLACKHOLE}
LEFT, RIGHT, RESULT = 0x10000, 0x20000, 0x30000
"""Addresses in L1 of the archive's programs."""
THREADS = 3
WORD_BYTES = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class CoreProgram:
    """A program that a core runs.

    Attributes
    ----------
    words, mops : of each thread the words that are pushed, and the nine MOP words.
    memory : addresses, multiples of 64, and bytes of L1 before.
    result : address and number of the result's bytes.
    """

    words: tuple[tuple[int, ...], ...]
    mops: tuple[tuple[int, ...], ...] = ((0,) * MOP_WORDS,) * THREADS
    memory: tuple[tuple[int, np.ndarray], ...] = ()
    result: tuple[int, int] = (RESULT, 0)

    def turned(self, places: int) -> "CoreProgram":
        """Return the program whose roles have moved to other threads, `places` further."""
        order = [(thread - places) % THREADS for thread in range(THREADS)]
        words, mops = (tuple(each[thread] for thread in order) for each in (self.words, self.mops))
        return replace(self, words=words, mops=mops)


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


# Programs of Tensix instructions for a 32x32 product: unpack, multiply by replayed MVMULs, pack.
#
# ::
#
#     thread 0    configuration; MOP of K tiles: UNPACR to SrcB, UNPACR to SrcA
#     thread 1    address modifiers; REPLAY loads 16 MVMULs, or 32 with several phases; MOP plays them for each phase and K tile
#     thread 2    PACR of all four packers, or 16 PACRs of four rows each on Blackhole
#
# A pass walks the faces by modifiers 0 {B + 8}, 1 {A + 16, B back}, 2 {A back, B + 32}, 3 {A + 32, B + 48}, 4 {clear, next phase}; its last
# MVMUL of a tile flips both banks.
#
# Ref: tenstorrent/tt-llk 36b092e, llk_math_matmul.h; ttsim v1.10.0 for addresses.


DATUMS = TILE * TILE
FACES = DATUMS // FACE**2
DATUM_BYTES = {Format.FP32: 4, Format.INT32: 4, Format.BF16: 2, Format.FP16: 2, Format.FP8: 1, Format.INT8: 1}
PASS = (0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0)
"""Modifiers of a pass but the last one."""
NEXT_PHASE, LAST = 4, 5
"""Modifiers of a pass's last MVMUL: to the next phase, and of a tile's last pass on Blackhole."""
MODIFIERS = {
    0: {"ab": 0x0800, "dst": 0x0008},
    1: {"ab": 0x4010, "dst": 0x0008},
    2: {"ab": 0x6040, "dst": 0x0008},
    3: {"ab": 0x7060, "dst": 0x0400},
    NEXT_PHASE: {"ab": 0x8080, "dst": 0x2800},
    LAST: {"ab": 0x8080, "dst": 0x8800},
}
"""AB and DST words; the last two clear all rows, and add 1 to the phase or clear it."""
ROUNDS_LOOP = 1
"""Template of MOP that loops."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """A product of two 32x32 matrices, with its formats and fidelity.

    Attributes
    ----------
    fmt : format of both operands in L1 and in Src.
    out_format : the packer's intermediate format and the one in L1.
    dst32 : True if Dst words have 32 bits; INT8's always have.
    k_tiles : tiles along K.
    dst_row : first row of the result in Dst, a multiple of 64.
    unpacking : thread that unpacks; the next ones multiply and pack.
    """

    chip: Chip
    fidelity: Fidelity
    fmt: Format
    out_format: Format
    dst32: bool = True
    k_tiles: int = 1
    dst_row: int = 0
    unpacking: int = 0
    phases: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", len(FIDELITY_PHASES[self.fidelity]))


def product_program(product: Product, left: np.ndarray, right: np.ndarray) -> CoreProgram:
    """Return the program that multiplies tiles in L1, bytes face by face and tile by tile along K."""
    size = DATUMS * DATUM_BYTES[product.out_format]
    mops = (_unpack_mop(product), _multiply_mop(product), pack_mop(product))
    program = CoreProgram(
        words=(_unpack_words(product), _multiply_words(product), pack_words(product)),
        mops=mops,
        memory=((LEFT, left), (RIGHT, right), (RESULT, np.zeros(size, np.uint8))),
        result=(RESULT, size),
    )
    return program.turned(product.unpacking)


def configuration(product: Product) -> dict[str, list[int]]:
    """Return the configuration that threads share: the value of each unit."""
    integer, packers = product.fmt is Format.INT8, len(FIELDS[product.chip]["pack_address"])
    width = DATUM_BYTES[product.out_format]
    face_lines = FACE * FACE * width // 16
    return {
        "src_a_format": [product.fmt],
        "src_b_format": [product.fmt],
        "dst_format": [product.out_format],
        "fp32_enabled": [int(product.dst32 and not integer)],
        "int8_math": [int(integer)],
        "packer_y_stride": [FACE * width],
        "read_32b": [int(product.dst32 or integer)],
        "edge_mask": [0xFFFF],
        "l1_format": [product.fmt] * 2,
        "descriptor_uncompressed": [1] * 2,
        "x_dim": [DATUMS] * 2,
        "y_dim": [1] * 2,
        "z_dim": [product.k_tiles] * 2,
        "pack_address": [RESULT // 16 - 1 + packer * face_lines for packer in range(packers)],
        "pack_uncompressed": [1] * packers,
        "pack_out_format": [product.out_format] * packers,
        "pack_in_format": [product.out_format] * packers,
        "unpack_out_format": [product.fmt] * 2,
        "throttle": [2] * 2,
        "uncompressed": [1] * 2,
        "base_address": [RIGHT // 16 - 1, LEFT // 16 - 1],
        "dst_address": [4 * FACE],
        "context_x_dim": [DATUMS],
        "packer_dst_offset": [product.dst_row + packer * FACE for packer in range(packers)],
    }


def _unpack_words(product: Product) -> tuple[int, ...]:
    chip = product.chip
    lines = config_lines(chip, configuration(product))
    lines += [
        ("SETC16", own_field(chip, "override_with_address", 1)),
        ("SEMINIT", {"maximum": 1, "semaphores": 1 << PACKED}),
        ("SEMINIT", {"maximum": 2, "semaphores": 1 << FREE}),
        ("STALLWAIT", {"block": 1 << 1, "conditions": 1}),
        ("SEMPOST", {"semaphores": 1 << FREE}),
        ("SEMPOST", {"semaphores": 1 << FREE}),
        ("SETADCXX", {"units": 3, "end": DATUMS - 1}),
        ("SETADCXY", {"units": 3, "which": 0b1010}),
        ("SETADCZW", {"units": 3, "which": 0b1111}),
        ("MOP", {"count_minus_1": product.k_tiles - 1}),
    ]
    return assembled(chip, *lines)


def _multiply_words(product: Product) -> tuple[int, ...]:
    chip, phases = product.chip, product.phases
    wormhole = chip is Chip.WORMHOLE
    lines = begin_lines()
    modifiers = dict(MODIFIERS)
    if wormhole:
        # Two bits of index: 3 and the last one change to the other half of the modifiers, whose 4 to 6 repeat 0 to 2.
        last = {"ab": 0x8080, "dst": 0x0800 if phases == 1 else 0x2800, "bias": 1}
        modifiers = {0: MODIFIERS[0], 1: MODIFIERS[1], 2: MODIFIERS[2], 3: MODIFIERS[3] | {"bias": 1}}
        modifiers |= {4 + number: MODIFIERS[number] for number in range(3)} | {7: last}
    for number, words in modifiers.items():
        lines += [("SETC16", own_field(chip, f"{name}_modifier", value, number)) for name, value in words.items()]
    lines.append(("SETC16", own_field(chip, "math_offset", product.dst_row)))
    lines += [("ZEROACC", {"mode": 3}), ("SETRWC", {"which": 0b1111})]
    for place in range(1 if phases == 1 else 2):
        final = place or phases == 1
        end = 3 if wormhole else LAST if final else NEXT_PHASE
        lines.append(("REPLAY", {"start": 16 * place, "count": 16, "load": 1}))
        lines += [("MVMUL", {"modifier": number}) for number in PASS]
        lines.append(("MVMUL", {"modifier": end, "flip": 3 if final else 0}))
    lines += [
        ("MOP", {"template": ROUNDS_LOOP}),
        ("STALLWAIT", {"block": 1 << 6 | 1 << 1, "conditions": 1 << (7 if wormhole else 4)}),
        ("SEMPOST", {"semaphores": 1 << PACKED}),
    ]
    return assembled(chip, *lines)


def _multiply_mop(product: Product) -> tuple[int, ...]:
    """A round for each K tile; the last phase's pass, from 16 on, flips the banks."""
    chip, phases = product.chip, product.phases
    nop, first = assembled(chip, ("NOP",), ("REPLAY", {"count": 16}))
    last = encode("REPLAY", chip=chip, start=16 if phases > 1 else 0, count=16)
    # Four phases bring Wormhole's phase back to 0, others must clear it.
    clears = chip is Chip.WORMHOLE and phases in (2, 3)
    end = encode("SETRWC", chip=chip, which=0b1000) if clears else nop
    return (product.k_tiles, phases, nop, end, nop, first, nop, last, last)


def _unpack_mop(product: Product) -> tuple[int, ...]:
    fields = {"ch0_z": 1, "multi_context": 1, "adc": product.unpacking, "flip": 1, "last": 1}
    nop, right, left = assembled(product.chip, ("NOP",), ("UNPACR", fields), ("UNPACR", fields | {"unpacker": 1}))
    return (0, 1, right, left, nop, nop, nop, nop, nop)


def pack_words(product: Product) -> tuple[int, ...]:
    """Return thread 2's words: the Dst tile goes to L1 as soon as it is ready."""
    chip, wormhole = product.chip, product.chip is Chip.WORMHOLE
    lines = begin_lines()
    if wormhole:
        lines.append(("SETC16", own_field(chip, "pack_modifier", 1 << 5, 1)))
    else:
        lines += [
            ("SETC16", own_field(chip, "pack_modifier", value, number)) for number, value in enumerate((4, 1 << 5))
        ]
    lines += [
        ("SETADCXX", {"units": 4, "end": FACE * FACE - 1 if wormhole else FACE - 1}),
        ("SETADCXY", {"units": 4, "which": 0b1010}),
        ("SETADCZW", {"units": 4, "which": 0b1111}),
        ("SEMWAIT", {"block": 1, "semaphores": 1 << PACKED, "while_zero": 1}),
    ]
    if wormhole:
        lines += [
            ("PACR", {"modifier": 1, "packers": 0b1111, "last": 1}),
            ("STALLWAIT", {"block": 1 << 2 | 1 << 1, "conditions": 0b1111000}),
            ("SEMGET", {"semaphores": 1 << PACKED}),
        ]
    else:
        lines.append(("MOP", {"template": ROUNDS_LOOP}))
    return assembled(chip, *lines)


def pack_mop(product: Product) -> tuple[int, ...]:
    """Blackhole's 16 PACRs, and the words after them."""
    chip = product.chip
    if chip is Chip.WORMHOLE:
        return (0,) * 9
    nop, stall, take, pack, last = assembled(
        chip,
        ("NOP",),
        ("STALLWAIT", {"block": 1 << 2 | 1 << 1, "conditions": 1 << 3}),
        ("SEMGET", {"semaphores": 1 << PACKED}),
        ("PACR",),
        ("PACR", {"modifier": 1, "last": 1}),
    )
    return (1, FACES * FACE // 4, nop, stall, take, pack, nop, last, nop)
