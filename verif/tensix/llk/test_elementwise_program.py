"""Programs of element-wise kernels on golden's core give the bytes of the kernel library's cases."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.llk import Broadcast, Case, expected
from bitpath.golden.tensix.llk.elementwise_program import MOST_TILES, ElementwiseKernel

OF_CHIP = pytest.mark.parametrize("chip", list(Chip), ids=lambda chip: chip.value)
FORMATS = dict.fromkeys(("in_a", "register_format", "mid_format", "out_format"), "BF16")


def tiles(seed, count, positive=False):
    """Return BF16 tiles in L1, uint8 [count, 2048]."""
    numbers = np.random.default_rng(seed).normal(size=(count, 1024))
    return (np.abs(numbers) if positive else numbers).astype(ml_dtypes.bfloat16).view(np.uint8)


def ran(kernel, *operands):
    core, program = tensix.Core(kernel.chip), kernel.program(*operands)
    program.prepare(core)
    program.push(core)
    core.run()
    return program.result_of(core)


@OF_CHIP
@pytest.mark.parametrize("op", ["elwadd", "elwsub", "elwmul"])
@pytest.mark.parametrize("broadcast", list(Broadcast), ids=lambda each: each.value)
def test_an_operation(chip, op, broadcast):
    left, right = tiles(1, 2), tiles(2, 2)
    fidelity = "HiFi3" if op == "elwmul" else "LoFi"
    kernel = ElementwiseKernel(op=op, broadcast=broadcast, fidelity=fidelity, chip=chip)
    case = Case(
        op=op,
        in_b="BF16",
        fidelity=fidelity,
        dst32=True,
        broadcast=broadcast,
        dimensions_a=(32, 64),
        dimensions_b=(32, 64),
        chip=chip,
        **FORMATS,
    )
    for given in (right, np.repeat(right[:1], 2, axis=0)):
        found = ran(kernel, left, given if given is right else right[:1])
        np.testing.assert_array_equal(found, expected(case, left.reshape(-1), given.reshape(-1)).l1)


@OF_CHIP
@pytest.mark.parametrize("function", ["rsqrt", "silu"])
def test_a_function(chip, function):
    left = tiles(3, 2, positive=function == "rsqrt")
    case = Case(op="sfpu", function=function, dst32=True, dimensions_a=(32, 64), chip=chip, **FORMATS)
    kernel = ElementwiseKernel(op="datacopy", function=function, chip=chip)
    np.testing.assert_array_equal(ran(kernel, left), expected(case, left.reshape(-1)).l1)


def test_errors():
    with pytest.raises(ValueError, match="op must be elwadd, elwsub, elwmul or datacopy, not matmul"):
        ElementwiseKernel(op="matmul")
    with pytest.raises(ValueError, match="function must be"):
        ElementwiseKernel(op="datacopy", function="silus")
    with pytest.raises(
        ValueError, match="function must be one of one operand with its result in the same place, not ema"
    ):
        ElementwiseKernel(op="datacopy", function="ema")
    kernel = ElementwiseKernel(op="elwadd")
    with pytest.raises(ValueError, match=f"left must have 1 to {MOST_TILES} tiles, not {MOST_TILES + 1}"):
        kernel.program(tiles(1, MOST_TILES + 1), tiles(1, 1))
    for right, count in ((None, 0), (tiles(1, 2), 2)):
        with pytest.raises(ValueError, match=f"right must have 3 tiles or one with elwadd, not {count}"):
            kernel.program(tiles(1, 3), right)
    with pytest.raises(ValueError, match="right must have no tiles with datacopy, not 1"):
        ElementwiseKernel(op="datacopy").program(tiles(1, 1), tiles(1, 1))
