"""Files of kernels and of arguments for ``bitpath nki``."""

import ml_dtypes
import numpy as np
import pytest

KERNELS = '''
from dataclasses import dataclass

import helper
import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl


@dataclass
class Plan:
    factor: float


@nki.jit
def scaled(x, factor=2.0, shift=None):
    """Return x * factor."""
    plan = Plan(factor)
    rows, columns = x.shape
    share = rows // nl.num_programs()
    first = nl.program_id() * share
    tile = nl.ndarray((share, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[first : first + share])
    helper.scale(tile, plan.factor)
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[first : first + share], src=tile)
    return out


@nki.jit
def unwritten(x):
    tile = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    print("a kernel speaks")
    return x, x


@nki.jit
def product(stationary, moving, stationary_scale, moving_scale):
    operands = [nl.load(each) for each in (stationary, moving, stationary_scale, moving_scale)]
    made = nl.ndarray((stationary.shape[1], moving.shape[1]), nl.float32, nl.psum)
    nisa.nc_matmul_mx(made, *operands)
    out = nl.ndarray(made.shape, nl.float32, nl.shared_hbm)
    nisa.dma_copy(out, nl.copy(made))
    return out


@nki.jit
def words(x, dtype):
    """Return x as another dtype."""
    out = nl.ndarray(x.shape, dtype, nl.shared_hbm)
    nisa.dma_copy(out, x)
    return out


@nki.jit
def stops(x):
    seven = 7
    breakpoint()
    return x


@nki.jit
def nothing():
    return None


@nki.jit
def unknown(x):
    return nisa.no_such_instruction(x)


@nki.jit
def checks(x):
    assert x.shape == (1, 1), "x must have one element"


def plain(x):
    return x


def twice(x):
    return 2 * x


def flat(x):
    return x.reshape(-1)


def fails(x):
    return np.ones(3) @ np.ones(4)


def pair(x):
    return x, x


not_callable = 3


@nki.jit
def quantised(x):
    """Return the MX scales of x."""
    words, scales = nl.ndarray((32, 8), nl.float8_e4m3fn_x4), nl.zeros((32, 8), nl.uint8)
    nisa.quantize_mx(words, nl.load(x), scales)
    out = nl.ndarray(scales.shape, nl.uint8, nl.shared_hbm)
    nisa.dma_copy(out, scales)
    return out
'''
HELPER = """
import nki.isa as nisa
import nki.language as nl


def scale(tile, factor):
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
"""


@pytest.fixture
def kernels(tmp_path):
    """Write kernels.py with its helper, x.npz with one matrix and b.npz with one of BF16; return the matrix."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "helper.py").write_text(HELPER)
    x = np.random.default_rng(5).standard_normal((4, 8)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "b.npz", **{"x:bfloat16": x.astype(ml_dtypes.bfloat16).view(np.uint16)})
    return x
