"""Programs that pack random words of Dst in any pair of formats, by changing the packer's configuration of a load to Dst."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.tensix.convert.pack import ACCUMULATING_FORMATS, settled_formats
from bitpath.golden.tensix.declarations.encodings import FIELDS
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, FACE, SRC_ROWS, Chip, Fidelity, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS
from bitpath.rtl.tensix.core.wait_gate import EVERY, UNITS
from bitpath.verif.tensix.program.loads import Load, load_program
from bitpath.verif.tensix.program.product import Product, configuration
from bitpath.verif.tensix.program.programs import CoreProgram
from bitpath.verif.tensix.program.words import assembled, config_lines

ALL_COLUMNS = 0xFFFF


@dataclass(frozen=True, kw_only=True)
class Packing:
    """How a packer converts.

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
    """Return what golden packs, but for block floats in L1."""
    found = []
    for mid, out in product(Format, [fmt for fmt in Format if fmt not in BLOCK_FLOATS]):
        for dst32, raw, round_10b in product((False, True), repeat=3):
            numerics = CHIP_PRESETS[chip].numerics
            try:
                settled_formats(numerics, mid, out, dst32=dst32, raw=raw, round_10b=round_10b)
            except ValueError:
                continue
            found.append(Packing(mid=mid, out=out, dst32=dst32, raw=raw, round_10b=round_10b))
    return found


def executed(chip: Chip, packing: Packing) -> bool:
    """Whether a core executes it: neither INT16 from a 16-bit Dst nor Blackhole's FP16 with Round_10b."""
    if packing.mid is Format.INT16 and not packing.dst32:
        return False
    return not (chip is Chip.BLACKHOLE and packing.mid is Format.FP16 and packing.round_10b)


def random_store(rng: Random, chip: Chip, packing: Packing) -> CoreProgram:
    """Return a program that loads 64 rows to Dst and packs them, with random ReLU, edge mask and sum in L1."""
    fmt = Format.FP32 if packing.dst32 else Format.FP16 if packing.mid in SHORT_FORMATS else Format.BF16
    load = Load(chip=chip, unpacker=0, in_format=fmt, out_format=fmt, mode="to Dst", first=0, rows=SRC_ROWS, row=0)
    program = load_program(load, np.random.default_rng(rng.getrandbits(32)))
    relu = rng.randrange(2 if packing.mid in (Format.INT32, Format.INT16, Format.INT8) else 4)
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
    }
    unpack = program.words[0]
    words = (*unpack[:-1], *_changed(chip, changes), unpack[-1])
    return replace(program, words=(words, *program.words[1:]))


def zeros_from(chip: Chip, out_format: Format, line: int) -> tuple[int, ...]:
    """Return words after which packer 0 writes four rows of zeros with each PACR, from 16 bytes of L1, a line, on."""
    plain = Product(chip=chip, fidelity=Fidelity.LOFI, fmt=Format.BF16, out_format=Format.BF16, dst32=False)
    fields = configuration(plain)
    packers = len(fields["pack_address"])
    fields |= {"pack_address": [line - 1] * packers, "pack_out_format": [out_format] * packers}
    rows = 4 if chip is Chip.WORMHOLE else 1
    return assembled(
        chip,
        *config_lines(chip, fields),
        ("ZEROACC", {"mode": 3}),
        ("SETADCXX", {"units": 4, "end": rows * COLUMNS - 1}),
        ("STALLWAIT", {"block": EVERY, "conditions": 1 << len(UNITS[chip]) - 1}),
    )


def _changed(chip: Chip, fields: dict[str, int]) -> Iterable[int]:
    """Return the words that change fields, of all units alike, and no other bit."""
    for name, value in fields.items():
        for place in FIELDS[chip][name]:
            bits, mask = int(value) << place.low, place.mask
            for byte in range(4):
                part = {"register": place.register, "data": bits >> 8 * byte & 0xFF, "mask": mask >> 8 * byte & 0xFF}
                if part["mask"]:
                    yield from assembled(chip, (f"RMWCIB{byte}", part))
