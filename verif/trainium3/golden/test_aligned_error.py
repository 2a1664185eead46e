"""How far the aligned numerics stay from the exact ones: a bound of each step, and measured errors, which ``-s`` prints."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import ulp
from bitpath.golden.trainium3 import matmul
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.sim.flows.operands import layer
from bitpath.verif.trainium3.dot.quad_mx import random_cases

NUMERICS = TRAINIUM3_QUAD_MX_ALIGNED.numerics


def test_a_step_is_within_a_unit_of_the_grid_for_each_term():
    """Truncation takes less than a unit of the aligned grid from each term, and less than a last place from their sum."""
    largest, checked = Fraction(0), 0
    for case in random_cases(NUMERICS, Random("aligned error"), 2000):
        trace = case.trace(NUMERICS)
        result = decode(FP32, trace.result)
        if trace.align_exponent is None or result.kind is not Kind.FINITE:
            continue
        unit = Fraction(2) ** (trace.align_exponent - NUMERICS.align_fraction_bits)
        error, place = abs(result.value - trace.exact), ulp(FP32, trace.total)
        assert error < len(trace.terms) * unit + place
        largest, checked = max(largest, error / max(unit, place)), checked + 1
    assert checked > 1000
    print(f"\none step: at most {float(largest):.2f} units of the aligned grid in {checked} random steps")


def gaussian() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20260101)
    return rng.standard_normal((32, 512), dtype=np.float32), rng.standard_normal((512, 64), dtype=np.float32)


def cut_layer() -> tuple[np.ndarray, np.ndarray]:
    a, b = layer()
    return a[:32], b[:, :64]


@pytest.mark.parametrize("operands", [gaussian, cut_layer], ids=["gaussian 32x512x64", "real layer 32x384x64"])
def test_error_of_a_matmul(operands, request):
    a, b = operands()
    exact, aligned = (
        matmul(a, b, numerics=preset.numerics).astype(np.float64)
        for preset in (TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED)
    )
    size = np.sqrt(np.mean(exact**2))
    errors = (aligned - exact) / size
    rms, largest = np.sqrt(np.mean(errors**2)), np.abs(errors).max()
    name = request.node.callspec.id
    print(f"\n{name}: error against exact, relative to the results' RMS: RMS {rms:.2e}, largest {largest:.2e}")
    # A step loses less than six units of 2**-16 of its largest term, and there are as many steps as rows.
    steps = -(-a.shape[1] // NUMERICS.terms)
    peak = np.abs(exact).max() + 4 * np.abs(a).max() * np.abs(b).max()
    assert 0 < largest * size < 6 * steps * peak * 2.0**-NUMERICS.align_fraction_bits
