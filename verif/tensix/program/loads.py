"""Programs that load rows in any format and mode, move them to Dst, and pack Dst::

thread 0    configuration; one UNPACR
thread 1    MOVA2D or MOVB2D of the bank's 64 rows to Dst, as 32-bit words with all 19 bits; nothing if the load was to Dst
thread 2    PACR of 64 Dst rows
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.tensix.convert.pack import ACCUMULATING_FORMATS, settled_formats
from bitpath.golden.tensix.convert.unpack import CONVERSIONS
from bitpath.golden.tensix.convert.unpack import L1_BYTES as DATUM_BYTES
from bitpath.golden.tensix.core.programs import LEFT, RESULT, CoreProgram, assembled, config_lines, own_field
from bitpath.golden.tensix.core.unpacker import CONTEXTS, CONTEXTS_1
from bitpath.golden.tensix.declarations.encodings import FIELDS
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, FACE, SRC_ROWS, Chip, Fidelity, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.matmul.product_program import (
    FREE,
    PACKED,
    Product,
    begin_lines,
    configuration,
    pack_mop,
    pack_words,
)
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS
from bitpath.rtl.tensix.core.row_packer import SOURCES
from bitpath.rtl.tensix.core.row_unpacker import DST32_FORMATS
from bitpath.rtl.tensix.core.wait_gate import EVERY, UNITS

SHIFTED = ("shifted", "shifted and transposed")
MODES = ("plain", "transposed", "tilised", "to Dst", "forced", "zeros", *SHIFTED)
L1_BYTES = 0x2000
FACES = 4
"""Faces of the tile."""
NOTHING = (0,) * 9


@dataclass(frozen=True, kw_only=True)
class Load:
    """One UNPACR: where it reads, how it converts, and the register rows that it fills.

    Attributes
    ----------
    chip, unpacker : whose UNPACR.
    in_format, out_format, e4m3 : formats in L1 and in the register; FP8 is E4M3.
    mode : one of `MODES`.
    first, rows : first datum of the tile, and rows of 16 datums.
    row : first row of the register.
    stride : bytes between rows of datums in tilise mode.
    shift : columns that rows lose on the left, with minus infinity where SrcA stays.
    exponent : the forced one.
    context, counted : the context, 0 to 7 of unpacker 0 and 0 or 1 of unpacker 1; it comes from the counter and its offset.
    begin : address of the tile in L1.
    """

    chip: Chip
    unpacker: int
    in_format: Format
    out_format: Format
    mode: str
    first: int
    rows: int
    row: int
    e4m3: bool = False
    stride: int = 0
    shift: int = 0
    exponent: int = 0
    begin: int = LEFT
    context: int = 0
    counted: bool = False

    @property
    def to_dst(self) -> bool:
        """Return whether the rows go to Dst."""
        return self.mode == "to Dst"

    @property
    def product(self) -> Product:
        """Input of the packer: Dst's words as they are."""
        wide = not self.to_dst or self.out_format in DST32_FORMATS
        narrow = Format.FP16 if self.out_format in SHORT_FORMATS else Format.BF16
        fmt = Format.FP32 if wide else narrow
        return Product(chip=self.chip, fidelity=Fidelity.LOFI, fmt=fmt, out_format=fmt, dst32=wide)


def random_load(rng: Random, chip: Chip, mode: str, in_format: Format) -> Load:
    """Return a load; not all of them are legal."""
    to_dst = mode == "to Dst"
    outs = CONVERSIONS[in_format]
    if not to_dst:
        outs = tuple(fmt for fmt in outs if fmt not in (Format.FP32, Format.INT32)) or outs
    several = FACE if "transposed" in mode else 1
    rows = several * rng.choice((1, rng.randint(1, SRC_ROWS // several), SRC_ROWS // several))
    last = FACES * FACE - rows
    unpacker = rng.getrandbits(1) if mode in ("plain", "forced", "zeros") else 0
    return Load(
        chip=chip,
        unpacker=unpacker,
        context=rng.randrange(CONTEXTS_1 if unpacker else CONTEXTS),
        counted=bool(rng.getrandbits(1)),
        in_format=in_format,
        out_format=rng.choice(outs),
        mode=mode,
        first=COLUMNS * rng.choice((0, min(FACE, last), rng.randint(0, last))),
        rows=rows,
        row=several * rng.choice((0, rng.randrange(SRC_ROWS // several - rows // several + 1))),
        e4m3=chip is Chip.BLACKHOLE and bool(rng.getrandbits(1)),
        stride=16 * rng.choice((1, 2, 4, rng.randrange(1, 9))),
        shift=rng.randrange(1, COLUMNS) if mode in SHIFTED else 0,
        exponent=rng.getrandbits(5),
        begin=LEFT + 16 * rng.randrange(4),
    )


def load_program(load: Load, source: np.random.Generator) -> CoreProgram:
    """Return the program of a load from random bytes."""
    size = DATUM_BYTES[load.product.out_format] * SRC_ROWS * COLUMNS
    memory = source.integers(0, 256, L1_BYTES, np.uint8)
    if load.in_format in BLOCK_FLOATS and BLOCK_FLOATS[load.in_format].exponent_bits == 5 and load.mode != "forced":
        memory[: load.begin - LEFT + FACES * FACE] &= 31
    return CoreProgram(
        words=(_unpack_words(load), _move_words(load), pack_words(load.product)),
        mops=(NOTHING, NOTHING, pack_mop(load.product)),
        memory=((LEFT, memory), (RESULT, np.zeros(size, np.uint8))),
        result=(RESULT, size),
    )


def _unpack_words(load: Load) -> tuple[int, ...]:
    chip, of_b, to_dst = load.chip, load.unpacker, load.to_dst
    context = {"multi_context": 1} | ({"context_counter": 1} if load.counted else {"context": load.context})
    face = FACE * COLUMNS
    fields, shift = dict(configuration(load.product)), load.shift << 4 * (load.context % 4)
    fields |= {
        # TF32 moves all 19 bits, and denormals stay.
        "src_a_format": [Format.TF32],
        "src_b_format": [Format.TF32],
        "fp32_enabled": [int(load.product.dst32)],
        "zero_flag_disabled_src": [1],
        "l1_format": [load.in_format] * 2,
        "x_dim": [face] * 2,
        "context_x_dim": [face],
        "y_dim": [1] * 2,
        "z_dim": [FACES] * 2,
        "unpack_out_format": [load.out_format] * 2,
        "base_address": [load.begin // 16 - 1] * 2,
        "dst_address": [4 * COLUMNS + load.row * COLUMNS],
        "unpack_y_stride": [0, COLUMNS * _width(load.out_format)],
        "transpose": [int("transposed" in load.mode), 0],
        "tilise": [int(load.mode == "tilised"), 0],
        "shift_amounts": [load.stride // 16 if load.mode == "tilised" else shift & 0xFFF],
        "last_shift_amount": [shift >> 12],
        "unpack_to_dst": [int(to_dst)],
        "force_exponent": [int(load.mode == "forced")] * 2,
        "forced_exponent": [load.exponent] * 2,
    }
    if FIELDS[chip]["unpack_e4m3"]:
        fields["unpack_e4m3"] = [int(load.e4m3)] * 2
    z, x = divmod(load.first, face)
    unit = 1 << of_b
    lines = config_lines(chip, fields | _of_context(load, fields))
    lines += [
        ("SETC16", own_field(chip, "context_offset", load.context if load.counted else 0, of_b)),
        ("SETC16", own_field(chip, "override_with_address", int(not to_dst))),
        ("SEMINIT", {"maximum": 1, "semaphores": 1 << PACKED}),
        ("SEMINIT", {"maximum": 2, "semaphores": 1 << FREE}),
        ("ZEROSRC", {"sources": 3, "both_banks": 1, "negative_infinity": int(load.shift > 0)}),
        ("STALLWAIT", {"block": 1 << 1, "conditions": 1}),
        ("SEMPOST", {"semaphores": 1 << FREE}),
        ("SEMPOST", {"semaphores": 1 << FREE}),
        ("SETADC", {"units": unit, "value": x}),
        ("SETADC", {"units": unit, "channel": 1, "value": x + load.rows * COLUMNS - 1}),
        ("SETADC", {"units": unit, "channel": 1, "dimension": 1, "value": load.row if of_b else 0}),
        ("SETADCZW", {"units": unit, "ch0_z": z, "which": 0b1111}),
        ("UNPACR", {"unpacker": of_b, "flip": 1, "zero": int(load.mode == "zeros"), "last": 1} | context),
    ]
    return assembled(chip, *lines)


def _of_context(load: Load, fields: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the fields of the contexts behind 0: those of the load's are those of context 0, which are 0 then."""
    chip, unpacker, found = load.chip, load.unpacker, {}
    names = {"base_address": f"base_addresses_{unpacker}", "uncompressed": f"uncompressed_{unpacker}"}
    if not unpacker:
        names |= {
            "unpack_to_dst": "contexts_to_dst",
            "dst_address": "dst_addresses",
            "context_x_dim": "context_x_dims",
        }
    for first, others in names.items():
        places = len(FIELDS[chip][others])
        if place := load.context % (places + 1):
            own = fields[first][unpacker]
            found[others] = [own if k + 1 == place else 0 for k in range(places)]
            found[first] = [0 if k == unpacker else value for k, value in enumerate(fields[first])]
    return found


def _move_words(load: Load) -> tuple[int, ...]:
    chip, units = load.chip, len(UNITS[load.chip])
    # The bank comes when the rows are there, those of Dst too.
    lines = [
        ("ZEROACC", {"mode": 3}),
        *begin_lines(),
        ("SETRWC", {"which": 0b1111}),
        ("STALLWAIT", {"block": EVERY, "conditions": 1 << units + 2 + load.unpacker}),
    ]
    if chip is Chip.BLACKHOLE:
        names = ("implied_src_a_disabled", "implied_src_b_disabled")
        lines += [("SETC16", own_field(chip, name, 1)) for name in names]
    if not load.to_dst:
        name, mode, rows = ("MOVB2D", 4, 4) if load.unpacker else ("MOVA2D", 2, 8)
        lines += [(name, {"mode": mode, "src_row": row, "dst": row}) for row in range(0, SRC_ROWS, rows)]
    lines += [
        ("STALLWAIT", {"block": 1 << 6 | 1 << 1, "conditions": 1 << units - 1}),
        ("SEMPOST", {"semaphores": 1 << PACKED}),
    ]
    return assembled(chip, *lines)


def _width(fmt: Format) -> int:
    """Return the bytes of a datum in the unpacker's output address."""
    return 4 if fmt in DST32_FORMATS else DATUM_BYTES.get(fmt, 1)


def cases(chip: Chip) -> list[tuple[str, Format]]:
    """Return the modes with the formats that they take."""
    return [
        (mode, fmt)
        for mode in MODES
        for fmt in CONVERSIONS
        if not (mode == "tilised" and fmt in BLOCK_FLOATS)
        and not (mode == "forced" and fmt not in BLOCK_FLOATS)
        and not (mode != "to Dst" and set(CONVERSIONS[fmt]) <= {Format.FP32, Format.INT32})
    ]


# Programs that pack random words of Dst in any pair of formats, by changing the packer's configuration of a load to Dst.


ALL_COLUMNS = 0xFFFF
RUNS, RUN_BYTES = 16, 0x1000
"""PACRs of a program that pack a few rows each, and bytes that they may reach."""


@dataclass(frozen=True, kw_only=True)
class Packing:
    """The conversion that a packer executes.

    Attributes
    ----------
    mid, out : intermediate format, and format in L1.
    dst32 : True if Dst has words of 32 bits.
    raw, round_10b : Read_raw and Round_10b_mant.
    """

    mid: Format
    out: Format
    dst32: bool
    raw: bool
    round_10b: bool


def packings(chip: Chip) -> list[Packing]:
    """Return what golden packs."""
    found = []
    for mid, out in product(Format, repeat=2):
        for dst32, raw, round_10b in product((False, True), repeat=3):
            numerics = CHIP_PRESETS[chip].numerics
            try:
                settled_formats(numerics, mid, out, dst32=dst32, raw=raw, round_10b=round_10b)
            except ValueError:
                continue
            found.append(Packing(mid=mid, out=out, dst32=dst32, raw=raw, round_10b=round_10b))
    return found


def random_store(rng: Random, chip: Chip, packing: Packing) -> CoreProgram:
    """Return a program that loads 64 rows to Dst and packs them, with random ReLU, edge mask, sum in L1 and stochastic rounding."""
    fmt = Format.FP32 if packing.dst32 else Format.FP16 if packing.mid in SHORT_FORMATS else Format.BF16
    load = Load(chip=chip, unpacker=0, in_format=fmt, out_format=fmt, mode="to Dst", first=0, rows=SRC_ROWS, row=0)
    program = load_program(load, np.random.default_rng(rng.getrandbits(32)))
    integer = packing.mid in (Format.INT32, Format.INT16, Format.INT8)
    relu = rng.randrange(2 if integer else 4)
    changes = {
        "dst_format": packing.mid,
        "pack_in_format": packing.mid,
        "pack_out_format": packing.out,
        "packer_y_stride": FACE * {0: 4, 1: 2}.get(packing.mid & 3, 1),
        "read_32b": packing.dst32,
        "read_raw": packing.raw,
        "round_10b": packing.round_10b,
        "read_unsigned": rng.getrandbits(1),
        "relu_mode": relu,
        "relu_threshold": rng.getrandbits(15),
        "edge_mask": rng.choice((ALL_COLUMNS, rng.getrandbits(16))),
        "l1_accumulate": rng.getrandbits(1) if packing.out in ACCUMULATING_FORMATS else 0,
        "pack_e4m3": rng.getrandbits(1),
        "gasket_stochastic": rng.getrandbits(1),
        "packer_stochastic": 0 if packing.out in BLOCK_FLOATS else rng.getrandbits(1),
        "prng_seed": rng.getrandbits(32),
        "exponent_threshold_enabled": 0 if integer else rng.getrandbits(1),
        "exponent_threshold": rng.getrandbits(8),
        # 64 rows have 64 exponents, 4 times 16 bytes.
        "exponent_section": rng.randint(4, 7),
    }
    unpack = program.words[0]
    words = (*unpack[:-1], *changed(chip, changes), unpack[-1])
    return replace(program, words=(words, *program.words[1:]))


def random_runs(rng: Random, chip: Chip, packing: Packing) -> CoreProgram:
    """Return a program of PACRs of a few rows each, of which most go on where the one before ended, over random bytes."""
    program, lines = random_store(rng, chip, packing), begin_lines()
    lines += [
        *(("SETADC" + each, {"units": 4, "which": 0b1111}) for each in ("XY", "ZW")),
        ("SEMWAIT", {"block": 1, "semaphores": 1 << PACKED, "while_zero": 1}),
    ]
    for _ in range(RUNS):
        wormhole = chip is Chip.WORMHOLE
        rows = rng.randint(1, FACE + 3) if wormhole else 1
        fields = {
            "packers": rng.choice((0, 2, 0b1100, 0b1111)) if wormhole else rng.randrange(16),
            "last": int(rng.random() < 0.2),
            "zero": int(rng.random() < 0.1),
            "flush": int(rng.random() < 0.1),
        }
        lines += [
            ("SETADCXX", {"units": 4, "end": rows * COLUMNS - 1}),
            ("SETADC", {"units": 4, "dimension": 1, "value": SOURCES * rng.randrange(FACES * FACE // SOURCES)}),
            ("PACR", fields),
        ]
    before = np.frombuffer(rng.randbytes(RUN_BYTES), np.uint8)
    return replace(
        program,
        words=(*program.words[:2], assembled(chip, *lines)),
        memory=(*program.memory[:-1], (RESULT, before)),
        result=(RESULT, RUN_BYTES),
    )


def zeros_from(chip: Chip, out_format: Format, line: int, *, section: int = 0) -> tuple[int, ...]:
    """Return words after which packer 0 writes four rows of zeros with each PACR, from 16 bytes of L1, a line, on.

    Exponents of block floats are `section` lines before.
    """
    plain = Product(chip=chip, fidelity=Fidelity.LOFI, fmt=Format.BF16, out_format=Format.BF16, dst32=False)
    fields = configuration(plain)
    packers = len(fields["pack_address"])
    fields |= {
        "pack_address": [line - section - 1] * packers,
        "pack_out_format": [out_format] * packers,
        "exponent_section": [section] * packers,
    }
    rows = 4 if chip is Chip.WORMHOLE else 1
    return assembled(
        chip,
        *config_lines(chip, fields),
        ("ZEROACC", {"mode": 3}),
        ("SETADCXX", {"units": 4, "end": rows * COLUMNS - 1}),
        ("STALLWAIT", {"block": EVERY, "conditions": 1 << len(UNITS[chip]) - 1}),
    )


def changed(chip: Chip, fields: dict[str, int]) -> Iterable[int]:
    """Return the words that change fields, of all units alike, and no other bit."""
    for name, value in fields.items():
        for place in FIELDS[chip][name]:
            bits, mask = int(value) << place.low, place.mask
            for byte in range(4):
                part = {"register": place.register, "data": bits >> 8 * byte & 0xFF, "mask": mask >> 8 * byte & 0xFF}
                if part["mask"]:
                    yield from assembled(chip, (f"RMWCIB{byte}", part))
