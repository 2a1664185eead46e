"""Blackhole's programs around one instruction: registers are filled, it is executed, and Dst is packed; all words are thread 0's."""

import numpy as np

from bitpath.golden.tensix.core.programs import LEFT, RESULT, RIGHT, CoreProgram, assembled, config_lines, own_field
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST16_ROWS, FACE, Chip, Fidelity, Format
from bitpath.golden.tensix.matmul.product_program import Product, configuration
from bitpath.rtl.tensix.core.wait_gate import EVERY, UNITS

CHIP = Chip.BLACKHOLE
DST = LEFT + 0x8000
"""Address in L1 of the words for Dst."""
PACKED_ROWS = 4
"""Rows of a PACR."""


def _plain(fmt: Format) -> dict[str, list[int]]:
    """Return the configuration in which L1, the packer and Dst have one format."""
    return configuration(Product(chip=CHIP, fidelity=Fidelity.LOFI, fmt=fmt, out_format=fmt, dst32=fmt is Format.FP32))


def _waits_for(*units: int) -> tuple:
    """Return the line that waits until units are at rest, or for another condition of STALLWAIT."""
    return ("STALLWAIT", {"block": EVERY, "conditions": sum(1 << unit for unit in units)})


def _pack_lines(rows: int) -> list[tuple]:
    """Return the lines that pack the first rows of Dst once the Matrix unit is at rest."""
    lines = [("SETC16", own_field(CHIP, "pack_modifier", value, number)) for number, value in enumerate((4, 1 << 5))]
    return [
        *lines,
        ("SETADCXX", {"units": 4, "end": FACE - 1}),
        _waits_for(len(UNITS[CHIP]) - 1),
        *[("PACR",)] * (rows // PACKED_ROWS - 1),
        ("PACR", {"modifier": 1, "last": 1}),
    ]


def zeroing_program(fp32: int, absolute: int, rwc_dst: int, offset: int, word: int) -> CoreProgram:
    """Return a program that writes every 16-bit row of Dst, makes some undefined, and packs all.

    Parameters
    ----------
    fp32, absolute : the fields fp32_enabled and zeroacc_absolute_tile_mode for the ZEROACC.
    rwc_dst, offset : its RWC of Dst and its math offset.
    word : the ZEROACC.
    """
    plain = _plain(Format.BF16)
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
    packs = config_lines(CHIP, plain) + _pack_lines(DST16_ROWS)
    size = DST16_ROWS * COLUMNS * 2
    return CoreProgram(
        words=((*assembled(CHIP, *lines), word, *assembled(CHIP, *packs)), (), ()),
        memory=((RESULT, np.zeros(size, np.uint8)),),
        result=(RESULT, size),
    )


def implied_program(config: list[int], src_a: np.ndarray, src_b: np.ndarray, dst: np.ndarray) -> CoreProgram:
    """Return a program of one MVMUL whose formats come from the configuration or from the banks.

    Parameters
    ----------
    config : formats of SrcA and SrcB in the configuration, and of their banks; whether the configuration decides SrcA's and SrcB's;
        the fidelity phase.
    src_a, src_b : words of 19 bits, uint32 [16, 16] and [8, 16].
    dst : 32-bit words before, uint32 [8, 16].
    """
    *sets, bank_a, bank_b, disabled_a, disabled_b, phase = config
    plain = _plain(Format.FP32) | {"x_dim": [FACE * FACE] * 2, "context_x_dim": [FACE * FACE]}
    load = plain | {"unpack_out_format": [Format.TF32] * 2}
    to_dst = plain | {"base_address": [DST // 16 - 1, LEFT // 16 - 1], "unpack_to_dst": [1]}
    own = plain | {"src_a_format": sets[:1], "src_b_format": sets[1:], "unpack_out_format": [bank_a, bank_b]}
    rests = _waits_for(1, 2)
    lines = [
        *config_lines(CHIP, to_dst),
        ("SETADCXX", {"units": 1, "end": BLOCK_ROWS * COLUMNS - 1}),
        ("UNPACR", {"multi_context": 1}),
        rests,
        *config_lines(CHIP, load),
        ("SETC16", own_field(CHIP, "override_with_address", 1)),
        ("SETADCXX", {"units": 1, "end": FACE * COLUMNS - 1}),
        ("SETADCXX", {"units": 2, "end": BLOCK_ROWS * COLUMNS - 1}),
        ("UNPACR", {"multi_context": 1}),
        ("UNPACR", {"multi_context": 1, "unpacker": 1}),
        rests,
        *config_lines(CHIP, own),
        *(("UNPACR_NOP", {"unpacker": unpacker, "pop": 2, "set_valid": 1}) for unpacker in range(2)),
        ("SETC16", own_field(CHIP, "implied_src_a_disabled", disabled_a)),
        ("SETC16", own_field(CHIP, "implied_src_b_disabled", disabled_b)),
        ("SETC16", own_field(CHIP, "fidelity_base", phase)),
        ("MVMUL",),
        *_pack_lines(BLOCK_ROWS),
    ]
    memory = [
        (address, words.astype("<u4").view(np.uint8).reshape(-1))
        for address, words in ((LEFT, src_b << 13), (RIGHT, src_a << 13), (DST, dst))
    ]
    size = dst.size * 4
    return CoreProgram(
        words=(assembled(CHIP, *lines), (), ()),
        memory=(*memory, (RESULT, np.zeros(size, np.uint8))),
        result=(RESULT, size),
    )
