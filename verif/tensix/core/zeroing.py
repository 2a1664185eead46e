"""Blackhole's programs of one ZEROACC: every 16-bit row of Dst gets words that are not 0, some become undefined, all are packed."""

import numpy as np

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST16_ROWS, FACE, Fidelity, Format
from bitpath.rtl.tensix.core.wait_gate import EVERY, UNITS
from bitpath.verif.tensix.core.product import Product, configuration
from bitpath.verif.tensix.core.programs import RESULT, CoreProgram
from bitpath.verif.tensix.core.words import assembled, config_lines, own_field

CHIP = Chip.BLACKHOLE
PRODUCT = Product(chip=CHIP, fidelity=Fidelity.LOFI, fmt=Format.BF16, out_format=Format.BF16, dst32=False)
"""Formats of the words."""
ROW_BYTES = 2 * COLUMNS
PACKED_ROWS = 4
"""Rows of a PACR."""


def zeroing_program(fp32: int, absolute: int, rwc_dst: int, offset: int, word: int) -> CoreProgram:
    """Return the program of thread 1.

    Parameters
    ----------
    fp32, absolute : the fields fp32_enabled and zeroacc_absolute_tile_mode for the ZEROACC.
    rwc_dst, offset : its RWC of Dst and its math offset.
    word : the ZEROACC.
    """
    plain = configuration(PRODUCT)
    lines = config_lines(CHIP, plain)
    lines += [
        ("SETC16", own_field(CHIP, "implied_src_a_disabled", 1)),
        ("SETC16", own_field(CHIP, "dst_modifier", rwc_dst, 1)),
        ("ZEROSRC", {"sources": 1, "both_banks": 1, "negative_infinity": 1}),
        ("UNPACR_NOP", {"pop": 2, "set_valid": 1}),
    ]
    lines += [("MOVA2D", {"mode": 2, "dst": row}) for row in range(BLOCK_ROWS, DST16_ROWS, BLOCK_ROWS)]
    lines.append(("MOVA2D", {"mode": 2, "modifier": 1}))
    lines += config_lines(CHIP, plain | {"fp32_enabled": [fp32], "zeroacc_absolute_tile_mode": [absolute]})
    lines.append(("SETC16", own_field(CHIP, "math_offset", offset)))
    packs = config_lines(CHIP, plain)
    packs += [("SETC16", own_field(CHIP, "pack_modifier", value, number)) for number, value in enumerate((4, 1 << 5))]
    packs += [
        ("SETADCXX", {"units": 4, "end": FACE - 1}),
        ("STALLWAIT", {"block": EVERY, "conditions": 1 << len(UNITS[CHIP]) - 1}),
        *[("PACR",)] * (DST16_ROWS // PACKED_ROWS - 1),
        ("PACR", {"modifier": 1, "last": 1}),
    ]
    size = DST16_ROWS * ROW_BYTES
    return CoreProgram(
        words=((), (*assembled(CHIP, *lines), word, *assembled(CHIP, *packs)), ()),
        memory=((RESULT, np.zeros(size, np.uint8)),),
        result=(RESULT, size),
    )
