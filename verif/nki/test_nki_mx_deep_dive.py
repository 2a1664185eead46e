"""The four MX kernels of the vendor's deep dive: the published device log, and instructions written out bit for bit.

The log prints BF16 results and the vendor's FP32 sums, without the operands. Here the operands are chosen so that a kernel's
sums are the printed ones: each sum is cut into digits of as few bits as the element format holds, one digit in each block of
32 elements. All partial sums are exact, and the write to BF16 PSUM decides.
"""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.sim.study.ledger.trainium import device_log
from bitpath.verif.nki.checkouts import kernel_module

BF16 = ml_dtypes.bfloat16
FOLDER = "aws-neuron-sdk/nki/deep-dives/src/mxfp-matmul"
DIGIT_BITS = {"float8_e5m2": 3, "float8_e4m3fn": 3, "float4_e2m1fn": 2}
"""Bits of a digit. E4M3FN holds four, but 1.875 * 2**8 is its NaN, and a block's largest number has the exponent 8."""
OFFLINE, ON_DEVICE = "kernel_offline_quantized_mx_matmul", "kernel_on_device_quantize_matmul_mx"
STRIDED, PACKED = (f"kernel_copy_strided_quantize_matmul_mx{end}" for end in ("", "_packed_scale"))
ROWS, COLUMNS, PARTITIONS = 128, 512, 128
CASES = [
    *[(OFFLINE, name, name) for name in DIGIT_BITS],
    *[(ON_DEVICE, left, right) for left in DIGIT_BITS for right in ("float8_e5m2", "float8_e4m3fn")],
    *[
        (kernel, name, copied)
        for kernel in (STRIDED, PACKED)
        for name in ("float8_e5m2", "float8_e4m3fn")
        for copied in (True, False)
    ],
]


def log_operands(bits):
    """Return [128, 128 * 4] of ones in the first element of each block, and digits of the log's sums, [128, 512 * 4]."""
    _, sums = device_log()
    stationary = np.zeros((PARTITIONS, ROWS, 4))
    moving = np.zeros((PARTITIONS, COLUMNS, 4))
    stationary[::8, :, 0] = 1
    left = sums.astype(np.float64)
    unit = 2.0 ** (np.floor(np.log2(np.abs(left))) + 1)
    for block in range(PARTITIONS // 8):
        unit = unit / (1 << bits)
        digit = np.trunc(left / unit) * unit
        moving[8 * block, : len(sums), 0] = digit
        left = left - digit
    assert not left.any()
    return (each.reshape(PARTITIONS, -1).astype(BF16) for each in (stationary, moving))


def random_operands(bits):
    rng = np.random.default_rng(bits)
    return (rng.standard_normal((PARTITIONS, 4 * num)).astype(BF16) for num in (ROWS, COLUMNS))


def quantised(tile, name, online):
    """Return elements [P, F, 4] and scales [P / 8, F]."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    quantise = trainium3.quantize_mx if online else trainium3.quantize_offline
    data, scale = quantise(tile if online else tile.astype(np.float64), dtype)
    return data.reshape(PARTITIONS, -1, 4), scale.reshape(PARTITIONS // 8, -1)


def words(elements, name):
    """Return x4 words as the vendor's host code packs them: uint32, or of FP4 two elements a uint8."""
    packed = trainium3.pack_x4(elements.reshape(PARTITIONS, -1))
    return packed.view(np.uint8) if name == "float4_e2m1fn" else packed.view(np.uint32)


def interleaved(tile):
    """Return the matrix [4 P, F] from which a kernel makes [P, 4 F]: row ``j P + p`` holds the elements j of partition
    p."""
    return np.ascontiguousarray(tile.reshape(PARTITIONS, -1, 4).transpose(2, 0, 1).reshape(4 * PARTITIONS, -1))


def ran(kernel, name, other, operands):
    """Return the kernel's result, and that of the two quantisations and the matmul on golden."""
    left, right = operands
    own = getattr(kernel_module("mx_kernels", FOLDER), kernel)
    on_chip = kernel in (STRIDED, PACKED)
    second = other if kernel == ON_DEVICE else name
    a, b = quantised(left, name, on_chip), quantised(right, second, kernel != OFFLINE)
    if on_chip:
        args = (interleaved(left), interleaved(right), f"{name}_x4", other)
    elif kernel == OFFLINE:
        args = (words(a[0], name), a[1], words(b[0], name), b[1], f"{name}_x4")
    else:
        args = (words(a[0], name), a[1], right, f"{name}_x4", f"{second}_x4")
    made = nki.run(own, *args).outputs
    return made, trainium3.nc_matmul_mx(a[0], b[0], a[1], b[1], dst_dtype=BF16)


@pytest.mark.parametrize(("kernel", "name", "other"), CASES)
def test_nki_deep_dive_gives_the_device_log(kernel, name, other):
    """71 of 72 values on all rows; the 72nd differs by one BF16 unit, as the ledger's row R1 says."""
    bits = min(DIGIT_BITS[name], DIGIT_BITS.get(other, 3))
    made, expected = ran(kernel, name, other, log_operands(bits))
    device, sums = device_log()
    assert made.tobytes() == expected.tobytes()
    printed = made[:, : len(sums)].view(np.uint16)
    assert (printed == printed[0]).all()
    off = printed[0].astype(int) - device.astype(BF16).view(np.uint16)
    (exception,) = np.flatnonzero(off)
    assert abs(off[exception]) == 1
    assert not made[:, len(sums) :].astype(np.float32).any()


@pytest.mark.parametrize(("kernel", "name", "other"), CASES)
def test_nki_deep_dive_is_the_written_out_composition(kernel, name, other):
    made, expected = ran(kernel, name, other, random_operands(DIGIT_BITS[name]))
    assert (made.shape, made.dtype) == ((ROWS, COLUMNS), BF16)
    assert made.tobytes() == expected.tobytes()
