"""Known answers: blocks of amd-quark's two implementations, conversions and matmuls measured on first-generation AIE2."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.formats.catalogue import BF16
from bitpath.verif.kit.known_answers import skip_absent

BASE = AIE_ML_V2.numerics
BLOCKS, SILICON = "aie_mx_blocks.npz", "aie_silicon.npz"


def equal_but_for_zeros(got, expected):
    """The archive's zeros have the sign of the input."""
    return np.array_equal(np.where(got << 1 == 0, 0, got), np.where(expected << 1 == 0, 0, expected))


def is_nan(bits):
    return bits & 0x7FFFFFFF > 0x7F800000


@pytest.mark.parametrize("name", MX_FORMATS)
def test_every_finite_block(kat, name):
    archive = kat(BLOCKS)
    finite = archive["finite_block"]
    skip_absent(BLOCKS, {"finite blocks": finite.any()})
    bits = archive["x_bits"][finite]
    codes, shift, exponent = (archive[f"{name}_{part}"][finite] for part in ("codes", "shift_bits", "block_exp"))
    blocks = aie.to_mx(bits.view(np.float32), name)
    assert np.array_equal(blocks.codes[:, 0], codes)
    assert np.array_equal(blocks.shift[:, 0], shift)
    assert np.array_equal(blocks.exponent[:, 0].astype(int) - 127, exponent)
    twins = [exact.to_mx(BASE, each, MX_FORMATS[name], RoundingCode.CONV_EVEN) for each in bits.tolist()]
    assert [list(each.codes) for each in twins] == codes.tolist()
    assert [(each.shift, each.exponent - 127) for each in twins] == list(zip(shift, exponent, strict=True))
    values = aie.from_mx(blocks).view(np.uint32)
    assert equal_but_for_zeros(values, archive[f"{name}_deq_bits"][finite])
    assert equal_but_for_zeros(values, archive[f"{name}_cpp_even_deq_bits"][finite])


@pytest.mark.parametrize("name", MX_FORMATS)
def test_blocks_that_are_not_finite_are_nan_as_in_the_kernel(kat, name):
    archive = kat(BLOCKS)
    special = ~archive["finite_block"]
    skip_absent(BLOCKS, {"blocks that are not finite": special.any()})
    assert np.all(is_nan(archive[f"{name}_cpp_even_deq_bits"][special]))
    blocks = aie.to_mx(archive["x_bits"][special].view(np.float32), name)
    assert np.all(blocks.exponent == MX_NAN_EXPONENT)
    assert np.all(aie.from_mx(blocks).view(np.uint32) == 0x7FC00000)


@pytest.mark.parametrize("code", RoundingCode)
def test_silicon_conversions(kat, code):
    archive = kat(SILICON)
    bits, expected = archive["f32_bits"], archive[f"bf16_bits_rnd{code.value}"]
    assert np.array_equal(aie.f32_to_bf16(bits, rounding=code), expected)
    assert [exact.narrow(each, BF16, code) for each in bits.tolist()] == expected.tolist()


def test_tile_integers(kat):
    """Every BF16 code of the archive at each of its shifts, in both tiers."""
    archive = kat("aie_tile_convert.npz")
    bits, shifts, expected = (archive[f"bf16_{name}"] for name in ("bits", "shift", "int32"))
    assert expected.size == bits.size * shifts.size > 0
    for shift, integers in zip(shifts.tolist(), expected, strict=True):
        assert np.array_equal(aie.bf16_to_int32(bits, shift), integers)
        assert [exact.bf16_to_int32(each, shift) for each in bits[::7].tolist()] == integers[::7].tolist()


def lanes(archive):
    a = archive["mac_a"].view(ml_dtypes.bfloat16).reshape(-1, 4, 1, 8)
    b = archive["mac_b"].view(ml_dtypes.bfloat16).reshape(-1, 8, 4).swapaxes(1, 2)[:, np.newaxis]
    return a, b, archive["mac_out"].reshape(-1, 4, 4)


def wrong_lanes(archive, numerics):
    a, b, expected = lanes(archive)
    got = aie.fused_dot(a, b, fmt="bf16", numerics=numerics).view(np.uint32)
    assert got.size == expected.size
    return int(np.sum((got != expected) & ~(is_nan(got) & is_nan(expected))))


def test_silicon_lanes(kat):
    """Every lane must equal silicon; NaN payloads are not compared, they depend on the datapath."""
    archive = kat(SILICON)
    assert wrong_lanes(archive, BASE) == 0
    a, b, expected = lanes(archive)
    finite = (expected & 0x7F800000 != 0x7F800000) & (expected << 1 != 0)
    for tile, row, column in np.argwhere(finite).tolist():
        x, y = (
            [(int(code), BF16) for code in operand.view(np.uint16)] for operand in (a[tile, row, 0], b[tile, 0, column])
        )
        assert exact.trace_float_lane(BASE, x, y).result == expected[tile, row, column]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("align_rounding", RoundingCode.FLOOR),
        ("align_rounding", RoundingCode.SYMMETRIC_FLOOR),
        ("align_rounding", RoundingCode.SYMMETRIC_INF),
        ("align_rounding", RoundingCode.POSITIVE_INF),
        ("result_rounding", RoundingCode.SYMMETRIC_FLOOR),
        ("align_fraction_bits", 22),
        ("align_fraction_bits", 24),
    ],
)
def test_silicon_decides(kat, field, value):
    """The measured lanes tell the reference from its neighbours."""
    wrong = wrong_lanes(kat(SILICON), replace(BASE, **{field: value}))
    decides = f"lanes that tell {field} {value} from the reference"
    skip_absent(SILICON, {decides: wrong})
