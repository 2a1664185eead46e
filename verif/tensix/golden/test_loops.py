"""Compiled loops of Tensix equal the exact twins and numpy bit for bit."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, Masking
from bitpath.golden.tensix.exact import trace_dot16
from bitpath.golden.tensix.matrix import mvmul_loop as tensix_dot

BASE = WORMHOLE.numerics
KINDS = ("near", "anything", "zeros", "ties", "cancelling")


def words(rng, kind, shape, exponent_bits, fraction_bits, sign_at=None):
    """Return words of sign, exponent and fraction; the sign is above the exponent or at bit `sign_at`."""
    sign_at = exponent_bits + fraction_bits if sign_at is None else sign_at
    middle = 1 << exponent_bits - 1
    spread = {"near": 8, "anything": middle, "zeros": 3, "ties": 14, "cancelling": 1}[kind]
    exponent = rng.integers(max(middle - spread, 0), min(middle + spread, 2 * middle), shape)
    if kind == "zeros":
        exponent = np.where(rng.random(shape) < 0.6, 0, exponent)
    fraction = rng.integers(0, 1 << fraction_bits, shape)
    if kind in ("ties", "cancelling"):
        fraction = np.where(rng.random(shape) < 0.8, 0, fraction & -(1 << fraction_bits - 2))
    return (rng.integers(0, 2, shape) << sign_at | exponent << fraction_bits | fraction).astype(np.uint32)


def operands(rng, kind, style, dst32, blocks, rows=8):
    source = (5 if style is Style.FP16 else 8, 10, 18)
    dst = (8, 23) if dst32 else (5, 10) if style is Style.FP16 else (8, 7)
    d = words(rng, kind, (blocks, rows, 16), *dst)
    d[0] = 0
    return d, words(rng, kind, (blocks, rows, 16), *source), words(rng, kind, (blocks, 16, 16), *source)


@pytest.mark.parametrize("dst32", [True, False], ids=["dst32", "dst16"])
@pytest.mark.parametrize("style", [Style.BF16, Style.FP16, Style.TF32], ids=lambda style: style.value)
@pytest.mark.parametrize("kind", KINDS)
def test_mvmul(both, kind, style, dst32):
    """Every phase; some datums by the scalar tier too."""
    rng = np.random.default_rng(KINDS.index(kind))
    for phase in range(4):
        d, b, a = operands(rng, kind, style, dst32, 6)
        plain, fast = both(tensix_dot, lambda: tensix.mvmul(d, b, a, style=style, dst32=dst32, phase=phase))  # noqa: B023
        assert np.array_equal(plain, fast)
        own = {"srca_format": STYLE_OWN_FORMAT[style], "srcb_format": STYLE_OWN_FORMAT[style]}
        for block, row, column in ((0, 1, 2), (5, 7, 15)):
            sides = b[block, row].tolist(), a[block, :, column].tolist()
            options = {"style": style, "dst32": dst32, "phase": phase} | own
            assert fast[block, row, column] == trace_dot16(BASE, int(d[block, row, column]), *sides, **options).result


@pytest.mark.parametrize(
    ("changes", "supported"),
    [
        ({}, True),
        ({"minus_one_quirk": False}, True),
        ({"masking": Masking.SRCA_STYLE}, True),
        ({"group": 4}, True),
        ({"group": 16, "product_guard_bits": 13}, True),
        ({"pre_round": False}, True),
        ({"empty_terms_in_maximum": False}, True),
        ({"zero_terms_keep_bias": False}, True),
        ({"product_tie": Rounding.RNE}, False),
        ({"sum_tie": Rounding.RNA}, False),
        ({"dst_tie": Rounding.RNU}, False),
        ({"final_tie": Rounding.RNE}, False),
    ],
    ids=lambda value: next(iter(value), "preset") if isinstance(value, dict) else "",
)
def test_fields_of_the_numerics(monkeypatch, both, changes, supported):
    """The kernel leaves other cases to numpy; the bits are numpy's either way."""
    rng = np.random.default_rng(9)
    numerics = replace(BASE, **changes)
    assert tensix_dot.supports(numerics) is supported
    for kind, style, dst32 in product(("near", "zeros", "cancelling"), (Style.BF16, Style.FP16), (True, False)):
        d, b, a = operands(rng, kind, style, dst32, 4)
        calls = []
        kernel = tensix_dot.mvmul
        with monkeypatch.context() as patch:
            patch.setattr(tensix_dot, "mvmul", lambda *given: calls.append(1) or kernel(*given))  # noqa: B023
            arguments = {"style": style, "dst32": dst32, "phase": 0, "numerics": numerics}
            plain, fast = both(tensix_dot, lambda: tensix.mvmul(d, b, a, **arguments))  # noqa: B023
        assert np.array_equal(plain, fast)
        assert len(calls) == supported


def test_the_quirk_is_met():
    """A sum of exactly -1 unit, among the kernel's inputs: 2**-23 less than nothing at exponent 127."""
    one = 127 << 10
    b, a = np.zeros((8, 16), np.uint32), np.zeros((16, 16), np.uint32)
    b[0, 0], a[0, 0] = one, one
    dst = np.zeros((8, 16), np.uint32)
    dst[0, 0] = 1 << 31 | 127 << 23 | 1
    options = {"style": "TF32", "dst32": True, "phase": 0}
    assert tensix.mvmul(dst, b, a, **options)[0, 0] == 1 << 31 | 131 << 23
    assert tensix.mvmul(dst, b, a, quirk=False, **options)[0, 0] == 1 << 31 | (127 - 23) << 23


def test_leading_axes_broadcast(both):
    rng = np.random.default_rng(10)
    d, b, a = operands(rng, "near", Style.BF16, True, 6)
    d, b, a = d.reshape(2, 3, 8, 16), b[:2, np.newaxis], a[:3]
    for shape in (d, d[0, 0]):
        plain, fast = both(tensix_dot, lambda: tensix.mvmul(shape, b, a, style="BF16", dst32=True, phase=1))  # noqa: B023
        assert np.array_equal(plain, fast)
    pooled = both(tensix_dot, lambda: tensix.gapool(d[0], b[:1, 0], a, style="BF16", dst32=True))
    assert np.array_equal(*pooled)


def test_blocks_on_two_threads(monkeypatch, both):
    monkeypatch.setenv("BITPATH_THREADS", "2")
    monkeypatch.setattr(tensix_dot, "BLOCKS", 2)
    sizes, kernel = [], tensix_dot._mvmul
    monkeypatch.setattr(tensix_dot, "_mvmul", lambda dst, *rest: sizes.append(len(dst)) or kernel(dst, *rest))
    d, b, a = operands(np.random.default_rng(12), "near", Style.BF16, True, 5)
    assert np.array_equal(*both(tensix_dot, lambda: tensix.mvmul(d, b, a, style="BF16", dst32=True, phase=0)))
    assert sorted(sizes) == [1, 4]


@pytest.mark.parametrize("fmt", ["bf16", "fp16", "bfp8", "int8"])
def test_matrices(both, fmt):
    rng = np.random.default_rng(11)
    shapes = (40, 70), (70, 33)
    a, b = (
        rng.integers(-127, 128, shape) if fmt == "int8" else rng.standard_normal(shape, dtype=np.float32)
        for shape in shapes
    )
    plain, fast = both(tensix_dot, lambda: tensix.matmul(a, b, fmt=fmt, fidelity="HiFi2"))
    assert np.array_equal(plain.view(np.uint32), fast.view(np.uint32))
