"""Text of `bitpath explain tensix`: its numbers must be those of the trace."""

from dataclasses import replace

import pytest

from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_FIXED
from bitpath.golden.tensix.exact import trace_dot16, trace_dot16_integer
from bitpath.golden.tensix.matmul.explain import explain_chain, explain_dot16

ONE = 127 << 10
FP16_32, FP16_16 = {"style": Style.FP16}, {"style": Style.FP16, "dst32": False}
ROUNDED = "normalise    leading one at bit 24, exponent 128, 1 bits rounded off (AWAY): "


def trace(dst, b, a, *, style=Style.BF16, dst32=True, phase=0, numerics=WORMHOLE.numerics):
    fmt = STYLE_OWN_FORMAT[style]
    b, a = ([*each, *[0] * (16 - len(each))] for each in (b, a))
    return trace_dot16(numerics, dst, b, a, style=style, dst32=dst32, phase=phase, srca_format=fmt, srcb_format=fmt)


@pytest.mark.parametrize(("counts", "highest"), [(True, 122), (False, 0)])
def test_the_maximum_of_a_group_whose_fields_are_empty(counts, highest):
    """Phase 1 multiplies SrcA's lower bits, which are 0 in 1.0."""
    found = trace(
        0, [ONE] * 16, [ONE] * 16, phase=1, numerics=replace(WORMHOLE.numerics, empty_terms_in_maximum=counts)
    )
    assert found.group_exponents == (highest, highest)
    assert found.result == 0


def test_the_quirk():
    """tt-metal #38306: -1.00000012 plus 1 * 1."""
    one = "0x1fc00 0.01111111.0000000000 = 1"
    assert explain_dot16(trace(0xBF800001, [ONE], [ONE])).splitlines() == [
        "phase 0      style BF16, Dst FP32; SrcA bits 10..6 x SrcB bits 10..4, weight 2**0",
        "numerics     groups of 8, ties products AWAY, sums UP, Dst AWAY, result AWAY, quirk on",
        f"    k  {'SrcA':<35}{'SrcB':<35}fields          product  exponent  aligned",
        f"    0  {one:<35}{one:<35}10000 1000000      1024       127     1024",
        " 1-15  zero words, exponent 0",
        "group 0-7    maximum exponent 127, sum 1024 in units of 2**-10 there = 1",
        "group 8-15   maximum exponent 0: the group is 0",
        "Dst          0xbf800001 = -1.00000012",
        "addition     at exponent 127, in units of 2**-23",
        "  group 0-7      8388608",
        "  group 8-15           0",
        "  Dst           -8388609",
        "  sum                 -1",
        "quirk        the sum is -1 unit: Wormhole writes -1.0 at the exponent + 4 (tt-metal #38306)",
        "result       0xc1800000 = -16",
        "exact        -1.1920928955078125e-07, of the products of fields and Dst",
        "error        -1.1259e+15 ulp",
    ]
    text = explain_dot16(trace(0xBF800001, [ONE], [ONE], numerics=WORMHOLE_FIXED.numerics))
    assert "quirk off" in text
    assert text.splitlines()[-4:] == [
        "normalise    leading one at bit 0, exponent 104",
        "result       0xb4000000 = -1.1920929e-07",
        "exact        -1.1920928955078125e-07, of the products of fields and Dst",
        "error        0 ulp: exact",
    ]


def test_alignment_rounding_and_fields():
    """1.1328125 * 1 in phase 1, over a product that is 2**4 larger in another group, into a BF16 Dst of 1."""
    operands = [ONE, *[0] * 7, ONE], [ONE | 0x88, 0, *[0] * 6, ONE + (4 << 10) | 0x40 | 0x200]
    text = explain_dot16(trace(0x3F80, *operands, dst32=False, phase=1))
    assert "SrcA bits 5..1 x SrcB bits 10..4, weight 2**-5" in text
    lines = text.splitlines()
    assert lines[3].split()[-5:] == ["00100", "1000000", "256", "122", "256"]
    assert lines[4] == "  1-7  zero words, exponent 0"
    # Its field of phase 1 is empty, but it keeps its exponent.
    assert lines[5].split()[-5:] == ["00000", "1000000", "0", "126", "0"]
    assert lines[6] == " 9-15  zero words, exponent 0"
    assert "group 8-15   maximum exponent 126, sum 0 in units of 2**-10 there = 0" in text
    assert "addition     at exponent 127, in units of 2**-10, rounded from 2**-23" in text
    assert "  group 0-7            8  from 2097152 moved by 5" in text
    assert "normalise    leading one at bit 10, exponent 127, 3 bits rounded off (AWAY): 0 of the last place" in text
    assert "result       0x3f81 = 1.0078125" in text


def test_a_term_below_the_maximum_is_moved():
    """-1.5 four binades below 1: 96 of 1024."""
    lines = explain_dot16(trace(0, [ONE, 1 << 18 | ONE - (4 << 10)], [ONE, ONE | 0x200])).splitlines()
    assert lines[4].split()[-5:] == ["11000", "1000000", "-1536", "123", "-96"]
    assert "sum 928 in units of 2**-10 there = 0.90625" in lines[6]


def test_guard_bits_and_groups():
    numerics = replace(WORMHOLE.numerics, group=4, product_guard_bits=3)
    text = explain_dot16(trace(0, [ONE] * 16, [ONE] * 16, numerics=numerics))
    assert "groups of 4, " in text
    assert "3 guard bits" in text
    assert "group 12-15  maximum exponent 127, sum 32768 in units of 2**-13 there = 4" in text
    assert "result       0x41800000 = 16" in text


@pytest.mark.parametrize(
    ("dst", "b", "a", "options", "shown"),
    [
        (0, 255 << 10, 255 << 10, {}, "result       0x7f800000 = 3.40282367e+38 (the overflow code)"),
        (0, 1 << 10, 1 << 10, {}, "addition     exponent 0: +0"),
        (0x00800001, ONE | 1 << 18, 1 << 10, {}, "normalise    leading one at bit 0, exponent -22; too small, +0"),
        (0xBF800000, ONE, ONE, {}, "  sum                  0"),
        # 1 is added to the largest number below 2.
        (0x3FFFFFFF, ONE, ONE, {}, f"{ROUNDED}0.5 of the last place"),
        # The overflow code of FP16 is its largest.
        (0x7FFF, 0, 0, FP16_16, "Dst          0x7fff = 131008 (the overflow code)"),
        (0x7FFE, 0, 0, FP16_16, "Dst          0x7ffe = 130944"),
        (0x7C00, 0, 0, FP16_16, "Dst          0x7c00 = 65536"),
        # FP16 style and an FP32 Dst far below exponent 97: zero products round its low bits away.
        (90 << 23 | 1, 0, 0, FP16_32, " 0-15  zero words, exponent 97"),
        (90 << 23 | 1, 0, 0, FP16_32, "  Dst              65536  from 8388609 moved by 7"),
    ],
)
def test_the_ends_of_the_range(dst, b, a, options, shown):
    assert shown in explain_dot16(trace(dst, [b], [a], **options)).splitlines()


def test_integers():
    word = 1 << 18 | 16 << 10 | 100
    each = trace_dot16_integer(WORMHOLE.numerics, 0x80000005, [word] * 16, [16 << 10 | 35, *[0] * 15], 3)
    text = explain_dot16(each)
    assert text.splitlines()[0] == "phase 3      style INT8, Dst INT32; SrcA bits 4..0 x SrcB bits 3..0, in place"
    assert text.splitlines()[2].split()[1:] == [
        *("0x04023", "0.10000.0000100011", "=", "35"),
        *("0x44064", "1.10000.0001100100", "=", "-100"),
        *("3", "4", "-12"),
    ]
    assert text.splitlines()[-3:] == [
        "sum          -12",
        "Dst          0x80000005 = -5",
        "result       0x80000011 = -17",
    ]
    chain = explain_chain([("first", each), ("second", each)]).splitlines()
    assert chain[2] == "second  -12              0x80000011 = -17"
    assert chain[-1] == "result       0x80000011 = -17"


def test_chain():
    """2**24 plus 1, three times: FP32 rounds each tie away from the even neighbour."""
    big = ONE + (12 << 10)
    first = trace(0, [big], [big])
    second = trace(first.result, [ONE], [ONE])
    third = trace(second.result, [ONE] * 2, [ONE, ONE])
    lines = explain_chain([("a", first), ("bb", second), ("c", third)]).splitlines()
    assert lines[3].split() == ["bb", "127", "0", "1", "0x4b800001", "=", "16777218", "+0.5"]
    assert lines[-3:] == [
        "result       0x4b800002 = 16777220",
        "exact        16777219, of the products of fields",
        "error        +0.5 ulp",
    ]
    assert ", quirk" in explain_chain([("x", trace(0xBF800001, [ONE], [ONE]))])
    with pytest.raises(ValueError, match="steps must hold at least one instruction"):
        explain_chain([])
