"""Rows and words of the Tensix registers."""

import pytest

from bitpath.golden.tensix import tile_instructions
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, DST32_ROWS
from bitpath.golden.tensix.declarations.numerics import PRESETS
from bitpath.golden.tensix.operands.registers import check_rows, dst32_rows, permuted_row


def test_the_32_bit_rows_fill_the_16_bit_rows():
    halves = [row for each in range(DST32_ROWS) for row in dst32_rows(each)]
    assert sorted(halves) == list(range(DST16_ROWS))


@pytest.mark.parametrize(("row", "high"), [(0, 0), (7, 7), (8, 16), (9, 17), (16, 32), (511, 1015)])
def test_dst32_rows_by_hand(row, high):
    assert dst32_rows(row) == (high, high + 8)


@pytest.mark.parametrize(("remap", "swizzle"), [(True, False), (False, True), (True, True)])
def test_blackholes_address_modes_permute_rows(remap, swizzle):
    rows = [permuted_row(row, remap=remap, swizzle=swizzle) for row in range(DST16_ROWS)]
    assert sorted(rows) == list(range(DST16_ROWS))
    assert max(rows[:DST32_ROWS]) < DST32_ROWS


@pytest.mark.parametrize(
    ("row", "remap", "swizzle", "expected"),
    [
        (8, True, False, 32),
        (16, True, False, 8),
        (48, True, False, 24),
        (4, False, True, 8),
        (8, False, True, 4),
        (8, True, True, 32),
    ],
)
def test_permuted_rows_by_hand(row, remap, swizzle, expected):
    assert permuted_row(row, remap=remap, swizzle=swizzle) == expected


def test_the_order_of_a_tile_product_starts_at_allowed_rows():
    for preset in PRESETS.values():
        for each in tile_instructions("HiFi4"):
            check_rows(
                src_a_row=each.src_a_row,
                src_b_row=each.src_b_row,
                dst_row=each.dst_row,
                dst32=True,
                numerics=preset.numerics,
            )


@pytest.mark.parametrize(
    ("rows", "preset", "says"),
    [
        ((-1, 0, 0), "tensix_wormhole", "src_a_row must be 0 to 48, not -1"),
        ((8, 0, 0), "tensix_wormhole", "src_a_row must be a multiple of 16, not 8"),
        ((4, 0, 0), "tensix_wormhole_documented", "src_a_row must be a multiple of 8, not 4"),
        ((56, 0, 0), "tensix_wormhole_documented", "src_a_row must be 0 to 48, not 56"),
        ((0, 9, 0), "tensix_wormhole", "src_b_row must be a multiple of 8, not 9"),
        ((0, 0, 512), "tensix_wormhole", "dst_row must be 0 to 504, not 512"),
    ],
)
def test_rows_that_are_not_allowed(rows, preset, says):
    a, b, dst = rows
    with pytest.raises(ValueError, match=says):
        check_rows(src_a_row=a, src_b_row=b, dst_row=dst, dst32=True, numerics=PRESETS[preset].numerics)


def test_the_documents_allow_every_eighth_row_of_src_a():
    check_rows(src_a_row=8, src_b_row=0, dst_row=0, dst32=True, numerics=PRESETS["tensix_wormhole_documented"].numerics)


def test_dst32_rows_end():
    with pytest.raises(ValueError, match="row must be 0 to 511, not 512"):
        dst32_rows(512)
