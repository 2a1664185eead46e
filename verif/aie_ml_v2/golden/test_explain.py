"""Text of `bitpath explain aie_ml_v2`: its numbers must be those of the trace."""

from dataclasses import replace

import pytest

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX6, MX9, MX_BLOCK
from bitpath.golden.aie_ml_v2.declarations.modes import MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.aie_ml_v2.exact import Block, trace_float_lane, trace_integer_lane, trace_mx_lane
from bitpath.golden.aie_ml_v2.matmul.explain import explain_chain, explain_lane
from bitpath.golden.formats.catalogue import BF16, FP16

BASE = AIE_ML_V2.numerics
NUMERICS = "numerics     23 fraction bits; terms CONV_EVEN, accumulators CONV_EVEN, result CONV_EVEN"
ROUNDED = "leading one at bit 24, exponent field 128, 1 bits rounded off (CONV_EVEN): "
LANES = 8
ONE, TWO, INFINITY = 0x3F80, 0x4000, 0x7F80


def block(fmt, exponent, shift, *codes):
    return Block(fmt, exponent, shift, (*codes, *[0] * (MX_BLOCK - len(codes))))


def floats(x, y, *accumulators, formats=(BF16, BF16), **signs):
    sides = (
        [(code, fmt) for code in (*side, *[0] * (LANES - len(side)))] for side, fmt in zip((x, y), formats, strict=True)
    )
    return trace_float_lane(BASE, *sides, *accumulators, **signs)


def integers(x, y, *accumulators, **signs):
    sides = ([*side, *[0] * (LANES - len(side))] for side in (x, y))
    return trace_integer_lane(MODES["int8"], *sides, *accumulators, **signs)


def test_a_block_pair():
    """1.0 * 16 - 0.75 * 1.5, and 8 plus one unit below the grid, which is rounded away."""
    trace = trace_mx_lane(BASE, block(MX9, 127, 2, 64, 0, -96), block(MX9, 132, 1, 64, 0, 3), 0x41000001)
    acc1 = "0x41000001 0.10000010.00000000000000000000001 = 8.00000095"
    assert explain_lane(trace).splitlines() == [
        NUMERICS,
        "operation    products + acc1",
        "block a      mx9, exponent 0x7f = 2**0, shifts 00000010 (pair 0 last)",
        "block b      mx9, exponent 0x84 = 2**5, shifts 00000001 (pair 0 last)",
        "    k  a: shift, code            b: shift, code            shifts   product      in T",
        "    0  0   64 = 1                1   64 = 16                    1      2048      8192",
        "    1  codes 0",
        "    2  1  -96 = -0.75            0    3 = 1.5                   1      -144      -576",
        " 3-15  codes 0",
        "post-add     product in units of 2**-7, T in quarters of them; T << 9 is on the grid of its code",
        f"    k  {'':<60}value              code  moved  on the grid",
        f" 0-15  {'T 7616':<60}14.875              260      0      3899392",
        f" acc1  {acc1:<60}8.00000095          258      2      2097152  rounded off +0.25",
        "maximum      code 260: the grid is 2**-18",
        "sum          5996544 = 22.875",
        "normalise    leading one at bit 22, exponent field 131",
        "result       0x41b70000 = 22.875",
        "exact        22.875000953674316, of the terms before they were aligned",
        "error        -0.5 ulp",
    ]


def test_sums_of_products_that_are_rounded_separately():
    halves = replace(BASE, mx9_split_round=True), block(MX9, 127, 0, *[0] * 8, 64), block(MX9, 127, 0, 64, *[0] * 7, 64)
    lines = explain_lane(trace_mx_lane(*halves, None, 0x3F800000, negate_products=True, negate_acc2=True)).splitlines()
    assert lines[1] == "operation    -products - acc2"
    assert lines[5:9] == [
        "    0  0    0 = 0                0   64 = 1                     0         0         0",
        "  1-7  codes 0",
        "    8  0   64 = 1                0   64 = 1                     0     -4096    -16384",
        " 9-15  codes 0",
    ]
    assert [line.split() for line in lines[11:14]] == [
        ["0-7", "T", "0", "0", "255", "0", "0"],
        ["8-15", "T", "-16384", "-1", "255", "0", "-8388608"],
        ["acc2", "0x3f800000", "0.01111111.00000000000000000000000", "=", "1", "-1", "255", "0", "-8388608"],
    ]
    assert lines[16] == f"normalise    {ROUNDED}0 of the last place"
    products = replace(BASE, mx_post_add_first=False), block(MX4, 127, 0, 2, 1), block(MX4, 128, 0, 1, 3)
    lines = explain_lane(trace_mx_lane(*products)).splitlines()
    assert lines[8] == (
        "post-add     product in units of 2**-1, T in quarters of them; T << 19 is on the grid of its code"
    )
    assert [line.split() for line in lines[10:13]] == [
        ["0", "T", "8", "1", "256", "0", "4194304"],
        ["1", "T", "12", "1.5", "256", "0", "6291456"],
        ["2", "T", "0", "0", "256", "0", "0"],
    ]
    assert lines[26].startswith("maximum      code 256")


def test_a_nan_block():
    text = explain_lane(trace_mx_lane(BASE, block(MX6, 255, 0, 1), block(MX6, 127, 0, 1)))
    assert text.splitlines()[2:] == [
        "block a      mx6, exponent 0xff: NaN",
        "block b      mx6, exponent 0x7f = 2**0, shifts 00000000 (pair 0 last)",
        "    k    value              code  moved  on the grid",
        "    T    NaN",
        "sum          a NaN or an infinity decides",
        "result       0x7fc00000 = NaN",
    ]
    numbers = replace(BASE, mx_nan_block=False)
    text = explain_lane(trace_mx_lane(numbers, block(MX6, 255, 0, 1), block(MX6, 127, 0, 1)))
    assert "block a      mx6, exponent 0xff = 2**128, shifts 00000000 (pair 0 last)" in text


def test_floats_and_a_chain():
    """1 - 3 + 1.00000012, whose last place is half a unit of the grid; then -1 * 1."""
    first = floats((ONE, 0, 0x4040), (0x3C00, 0, 0xBC00), 0x3F800001, 0x80000000, formats=(BF16, FP16))
    acc1 = "0x3f800001 0.01111111.00000000000000000000001 = 1.00000012"
    assert explain_lane(first).splitlines() == [
        NUMERICS,
        "operation    products + acc1 + acc2",
        f"    k  {'operands a and b':<63}value              code  moved  on the grid",
        "    0  0x3f80 0.01111111.0000000 = 1  0x3c00 0.01111.0000000000 = 1   1                   255      1      4194304",
        "    1  zeros",
        "    2  0x4040 0.10000000.1000000 = 3  0xbc00 1.01111.0000000000 = -1  -3                  256      0    -12582912",
        "  3-7  zeros",
        f" acc1  {acc1:<63}1.00000012          255      1      4194304  rounded off +0.5",
        " acc2  0x80000000 1.00000000.00000000000000000000000 = -0             0                     -",
        "maximum      code 256: the grid is 2**-22",
        "sum          -4194304 = -1",
        "normalise    leading one at bit 22, exponent field 127",
        "result       0xbf800000 = -1",
        "exact        -0.99999988079071045, of the terms before they were aligned",
        "error        -2 ulp",
    ]
    then = floats((ONE,), (ONE,), first.result, negate_products=True)
    assert explain_chain([("first", first), ("then", then)]).splitlines() == [
        NUMERICS,
        "       largest code  sum of products   accumulator                     error in ulp",
        "first  256           -2                0xbf800000 = -1                 -2",
        "then   255           -1                0xc0000000 = -2                 +0",
        "result       0xc0000000 = -2",
        "exact        -1.9999998807907104, of the products of floats",
        "error        -1 ulp",
    ]
    blocks = trace_mx_lane(BASE, block(MX9, 127, 0, 64), block(MX9, 127, 0, 64))
    assert explain_chain([("only", blocks)]).splitlines()[-2] == "exact        1, of the products of codes"
    with pytest.raises(ValueError, match="steps must hold at least one instruction, not none"):
        explain_chain([])


def test_non_finite_and_empty_sums():
    infinite, nothing = floats((INFINITY,), (ONE,)), floats((), ())
    lines = explain_lane(infinite).splitlines()
    assert lines[3].endswith(" = 1  infinity")
    assert lines[-2:] == ["sum          a NaN or an infinity decides", "result       0x7f800000 = infinity"]
    assert explain_lane(floats((INFINITY,), (ONE,), negate_products=True)).splitlines()[3].endswith(" = 1  -infinity")
    assert explain_chain([("a", nothing), ("bb", infinite)]).splitlines()[2:] == [
        "a   -             0                 0x00000000 = 0                  +0",
        "bb  -             not finite        0x7f800000 = infinity           -",
        "result       0x7f800000 = infinity",
        "exact        none: a NaN or an infinity takes part",
    ]
    lines = explain_lane(nothing).splitlines()
    assert lines[3:] == ["  0-7  zeros", "sum          no term that is not 0", "result       0x00000000 = 0"]


@pytest.mark.parametrize(
    ("x", "y", "acc", "shown"),
    [
        (0x8080, 0x3F00, None, "leading one at bit 23, exponent field 0; below the normal numbers, zero"),
        (0x7F00, TWO, None, "leading one at bit 23, exponent field 255; overflow"),
        (ONE, ONE, 0x3F800001, f"{ROUNDED}0.5 of the last place"),
    ],
)
def test_the_ends_of_the_range(x, y, acc, shown):
    assert f"normalise    {shown}" in explain_lane(floats((x,), (y,), acc)).splitlines()


def test_a_sum_of_0_is_not_normalised():
    lines = explain_lane(floats((ONE, ONE), (ONE, ONE | BF16.sign_mask))).splitlines()
    assert lines[-4:-2] == ["sum          0 = 0", "result       0x00000000 = 0"]


def test_integers():
    fitting, wrapping = (integers((x, x), (-128, -128), 2147483647, 5) for x in (127, -128))
    assert explain_lane(fitting).splitlines() == [
        "mode         int8, 64 lanes of 32 bits",
        "    k            a          b               product",
        "    0          127       -128                -16256",
        "    1          127       -128                -16256",
        "  2-7  zeros",
        " acc1                                    2147483647",
        " acc2                                             5",
        "sum          2147451140",
        "result       2147451140",
    ]
    assert explain_lane(wrapping).splitlines()[-2:] == [
        "sum          2147516420, wrapped to 32 bits",
        "result       -2147450876",
    ]
    assert explain_chain([("a", fitting), ("long", wrapping)]).splitlines() == [
        "      sum of products       accumulator",
        "a     -32512                2147451140",
        "long  32768                 -2147450876",
        "result       -2147450876",
    ]
