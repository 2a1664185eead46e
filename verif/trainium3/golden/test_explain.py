"""Text of `bitpath explain`: its numbers must be those of the trace."""

from fractions import Fraction

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.dot import trace_dot_step
from bitpath.golden.scalar.rounding import ulp
from bitpath.golden.trainium3 import matmul_program
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.golden.trainium3.matmul.explain import explain_dot_product, explain_dot_step
from bitpath.verif.trainium3.golden.samples import column_steps, instruction_side

EXACT, ALIGNED = TRAINIUM3_QUAD_MX.numerics, TRAINIUM3_QUAD_MX_ALIGNED.numerics


def test_exact_step():
    """2**24 + 2 plus 2 * (0.75 - 2**-9) is 2**24 + 3.496..., between numbers 2 apart."""
    trace = trace_dot_step(
        EXACT, [0x38, 0x81, 0x00, 0x80], E4M3FN, [0x34, 0x38, 0x38, 0x38], E4M3FN, 128, 127, 0x4B800001
    )
    assert explain_dot_step(trace).splitlines() == [
        "numerics     exact sum, one RNE rounding to FP32",
        "scale        stationary 0x80 = 2**1",
        "scale        moving     0x7f = 2**0",
        "lane  stationary E4M3FN                 moving E4M3FN                     product with scales",
        "   0  0x38 0.0111.000 = 1               0x34 0.0110.100 = 0.75            0x1.8p+0 = 1.5, exponent 0",
        "   1  0x81 1.0000.001 = -0.001953125    0x38 0.0111.000 = 1               -0x1p-8 = -0.00390625, exponent -5",
        "   2  0x00 0.0000.000 = 0               0x38 0.0111.000 = 1               0",
        "   3  0x80 1.0000.000 = -0              0x38 0.0111.000 = 1               -0",
        "partial sum  0x4b800001 = 0x1.000002p+24 = 16777218, exponent 24",
        "exact sum    0x1.0000037fp+24 = 16777219.49609375",
        "rounding     RNE, last place 2**1, 0.748047 of it remain",
        "result       0x4b800002 = 16777220",
        "error        +0.251953 ulp",
    ]


def test_aligned_step():
    trace = trace_dot_step(ALIGNED, [0x38, 0, 0, 0], E4M3FN, [0x38] * 4, E4M3FN, 127, 127, 0x37FFFFFF)
    text = explain_dot_step(trace)
    assert "sum aligned to 16 fraction bits (RTZ), one RTZ rounding to FP32" in text
    assert "alignment    largest exponent 0, grid 2**-16" in text
    assert "  partial sum  0x1p-16  loses 0x1.fffffcp-17" in text
    assert "aligned sum  0x1.0001p+0" in text
    assert "result       0x3f800080 = 1.00001526" in text


def test_specials():
    nan = trace_dot_step(EXACT, [0x7C, 0, 0, 0], E5M2, [0x3C, 0x3C, 0xFC, 0x3C], E5M2, 255, 127, 0xFF800000)
    text = explain_dot_step(nan)
    assert "stationary 0xff = NaN code" in text
    assert "0x7c 0.11111.00 = infinity" in text
    assert "0xfc 1.11111.00 = -infinity" in text
    assert "partial sum  0xff800000 = -infinity" in text
    assert "sum          a NaN or an infinity decides" in text
    assert "result       0x7fc00000 = NaN" in text
    assert "error        none" in text
    chain = explain_dot_product([nan])
    assert chain.splitlines()[2].split()[:3] == ["0", "not", "finite"]
    assert "exact        none" in chain


def test_dot_product():
    rng = np.random.default_rng(10)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 512), (512, 1)))
    b *= np.exp2(rng.integers(-20, 20, b.shape)).astype(np.float32)  # else 24 bits hold every sum
    (each,) = matmul_program(a, b, a_format="mxfp8_e5m2", b_format="mxfp8_e5m2")
    sides = instruction_side(each.stationary, each.stationary_scale), instruction_side(each.moving, each.moving_scale)
    steps = column_steps(EXACT, *sides, 1, 0)
    lines = explain_dot_product(steps).splitlines()
    assert len(lines) == 2 + 128 + 3
    assert lines[2].startswith("   0  ")
    assert lines[-3].startswith(f"result       {steps[-1].result:#010x} = ")
    exact = sum((term.value for step in steps for term in step.terms[:-1]), Fraction(0))
    hexadecimal, decimal = lines[-2].removeprefix("exact").split("=")
    assert float.fromhex(hexadecimal) == float(decimal) == float(exact)
    error = (decode(FP32, steps[-1].result).value - exact) / ulp(FP32, exact)
    assert error != 0
    assert lines[-1] == f"error        {float(error):+.6g} ulp"
    with pytest.raises(ValueError, match="steps must hold at least one step"):
        explain_dot_product([])


def test_exact_result():
    trace = trace_dot_step(EXACT, [0x38, 0, 0, 0], E4M3FN, [0x38] * 4, E4M3FN, 127, 127, 0)
    assert explain_dot_step(trace).endswith("error        0 ulp: exact")
    chain = explain_dot_product([trace])
    assert chain.splitlines()[2].split()[:4] == ["0", "0x1p+0", "0x3f800000", "="]
    assert "exact        0x1p+0 = 1" in chain
