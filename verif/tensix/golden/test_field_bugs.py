"""Bugs from the field: facts of real chips and of public issues, by number."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import BF16


def bf16_word(value):
    code = np.array([value], ml_dtypes.bfloat16)
    assert float(code[0]) == value
    return int(code.view(np.uint16)[0])


def multiply(value_a, value_b, fidelity):
    """ELWMUL from Dst 0 in BF16, the first operand in SrcA, the phases in order."""
    a, b = (np.full((8, 16), bf16_word(value) << 3, np.uint32) for value in (value_a, value_b))
    dst = np.zeros((8, 16), np.uint32)
    for phase in tensix.phases(fidelity):
        dst = tensix.elwmul(dst, b, a, style="BF16", dst32=False, phase=phase)
    assert np.all(dst == dst[0, 0])
    return float(dst.astype(np.uint16).view(ml_dtypes.bfloat16)[0, 0])


def add_product(dst, b, a, *, dst32, **options):
    """MVMUL in BF16 that adds one product, of words of all SrcB rows and SrcA columns, to every Dst word."""
    src_b, src_a = np.zeros((8, 16), np.uint32), np.zeros((16, 16), np.uint32)
    src_b[:, 0], src_a[0] = b, a
    dst = np.full((8, 16), dst, np.uint32)
    return tensix.mvmul(dst, src_b, src_a, style="BF16", dst32=dst32, phase=0, **options)


@pytest.mark.parametrize(
    ("a", "b", "fidelity", "expected"),
    [
        (1.3125, 7.96875, "HiFi2", 10.4375),
        (1.3125, 7.96875, "HiFi4", 10.5),
        (7.96875, 1.3125, "LoFi", 10.1875),
        (7.96875, 1.3125, "HiFi2", 10.5),
    ],
)
def test_tt_metal_12923(a, b, fidelity, expected):
    assert multiply(a, b, fidelity) == expected


@pytest.mark.parametrize("fidelity", ["HiFi3", "HiFi4"])
@pytest.mark.parametrize(("a", "expected"), [(0.298828125, -1.09375), (0.30078125, -1.1015625)])
def test_tt_metal_16448(a, expected, fidelity):
    assert multiply(-3.640625, a, fidelity) == expected
    assert multiply(a, -3.640625, fidelity) == expected


@pytest.mark.parametrize("fidelity", ["HiFi3", "HiFi4"])
def test_tt_metal_35077_operand_order(fidelity):
    assert multiply(508.0, 748.0, fidelity) == 378880.0
    assert multiply(748.0, 508.0, fidelity) == 380928.0


@pytest.mark.parametrize(("quirk", "expected"), [(True, -16.0), (False, -(2.0**-23))])
def test_tt_metal_38306_minus_one_unit(quirk, expected):
    """Dst = -1.00000012 plus 1 * 1."""
    one = bf16_word(1.0) << 3
    got = add_product(0xBF800001, one, one, dst32=True, quirk=quirk)
    assert np.all(got.view(np.float32) == np.float32(expected))
    positive = add_product(0x3F800001, one | 1 << 18, one, dst32=True, quirk=quirk)
    assert np.all(positive.view(np.float32) == np.float32(2.0**-23))


def test_tt_metal_38306_in_a_product_of_matrices():
    """The second group gives -1.00000012, and the next sixteen products are 1."""
    a, b = np.zeros((1, 32), np.float32), np.zeros((32, 1), np.float32)
    a[0, [0, 8, 16]], b[[0, 8, 16], 0] = (-1, -(2.0**-12), 1), (1, 2.0**-11, 1)
    assert tensix.matmul(a, b) == -16
    assert tensix.matmul(a, b, quirk=False) == -(2.0**-23)


def test_tt_metal_46101_16_bit_dst_rounds_twice():
    """1 + 2**-8 - 2**-12 is below the tie of BF16, but rounding to 10 fraction bits makes it the tie."""
    one, words = bf16_word(1.0), (bf16_word(1.0) << 3, bf16_word(2.0**-8 - 2.0**-12) << 3)
    assert np.all(add_product(one, *words, dst32=False) == bf16_word(1.0 + 2.0**-7))
    wide = add_product(one << 16, *words, dst32=True)
    once = encode_array(BF16, wide.view(np.float32).astype(np.float64))
    assert np.all(once == one)


def test_tt_metal_47239_fidelity_masks_are_not_swapped():
    """LoFi drops three BF16 fraction bits of SrcA and one of SrcB."""
    assert multiply(1.0 + 2.0**-4, 1.0, "LoFi") == 1.0 + 2.0**-4
    assert multiply(1.0 + 2.0**-5, 1.0, "LoFi") == 1.0
    assert multiply(1.0, 1.0 + 2.0**-6, "LoFi") == 1.0 + 2.0**-6
    assert multiply(1.0, 1.0 + 2.0**-7, "LoFi") == 1.0


def test_tt_metal_49200_the_unpacker_truncates():
    """1 + 2**-8 + 2**-9 in FP32 is 1 as a BF16 operand; rounded it would be 1 + 2**-7."""
    stimulus = np.array([1.0 + 2.0**-8 + 2.0**-9] * 16, np.float32).view(np.uint32)
    assert set(tensix.unpack(stimulus, "FP32", "BF16", count=16)) == {bf16_word(1.0) << 3}


def test_tt_llk_837_signs_and_phases():
    assert multiply(-1.5, 2.5, "HiFi4") == -3.75
    assert multiply(-1.5, -2.5, "HiFi4") == 3.75
    assert [len(tensix.phases(each)) for each in ("LoFi", "HiFi2", "HiFi3", "HiFi4")] == [1, 2, 3, 4]


def test_openhwgroup_cvfpu_no_negative_zero_and_no_denormal():
    tiny = np.full((8, 16), 1 << 10 | 1, np.uint32)
    minus = tiny | 1 << 18
    zero = np.zeros((8, 16), np.uint32)
    assert not tensix.elwmul(zero, minus, tiny, style="TF32", dst32=True).any()
    assert not tensix.elwmul(zero | 1 << 31, minus * 0, tiny, style="TF32", dst32=True).any()
    denormal = np.full((8, 16), 0x80000001, np.uint32)
    assert not tensix.elwmul(denormal, zero, zero, style="TF32", dst32=True).any()


def test_pto_isa_280_accumulation_comes_first():
    """Every instruction adds to Dst, not only the end of the K loop: a large Dst absorbs small products one by one."""
    one, product = bf16_word(1.0), (bf16_word(1.0) << 3, bf16_word(2.0**-9) << 3)
    dst, summed = one, 0
    for _ in range(4):
        dst, summed = (add_product(word, *product, dst32=False) for word in (dst, summed))
    assert np.all(dst == one)
    assert np.all(summed == bf16_word(2.0**-7))
