"""Compiled loops of Tensix equal the exact twins bit for bit."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Style
from bitpath.golden.tensix.declarations.numerics import TIES, WORMHOLE, Masking
from bitpath.golden.tensix.exact import add, multiply_add
from bitpath.golden.tensix.matrix import (
    elementwise_loop,
    mvmul_integer_loop,
    mvmul_loop,
)
from bitpath.verif.tensix.golden.samples import scalar_dot

BASE = WORMHOLE.numerics
TIE_FIELDS = ("product_tie", "sum_tie", "dst_tie", "final_tie")
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


def assert_exact(got, numerics, d, b, a, indices, **options):
    """Compare datums of blocks, by block, row and column, with the exact twin."""
    formats = dict.fromkeys(("srca_format", "srcb_format"), STYLE_OWN_FORMAT[options["style"]])
    for block, row, column in indices:
        scalars = int(d[block, row, column]), b[block, row].tolist(), a[block, :, column].tolist()
        assert got[block, row, column] == scalar_dot(numerics, *scalars, **options, **formats)


CONFIGURATIONS = [(style, dst32) for style in Style for dst32 in (True, False) if dst32 or style is not Style.INT8]
ELEMENTWISE = ("elwmul", "elwadd", "elwsub")


def assert_exact_elements(got, operation, numerics, d, b, a, indices, *, phase=0, accumulate=True, **common):
    """Compare datums of an element-wise operation, by block, row and column, with the exact twin."""
    common |= dict.fromkeys(("srca_format", "srcb_format"), STYLE_OWN_FORMAT[common["style"]])
    for index in map(tuple, indices):
        scalars = (int(each[index]) for each in (d, b, a))
        if operation == "elwmul":
            expected = multiply_add(numerics, *scalars, phase=phase, **common)
        else:
            subtract = operation == "elwsub"
            expected = add(numerics, *scalars, subtract=subtract, accumulating=accumulate, **common)
        assert got[index] == expected


def some(rng, blocks, count):
    return rng.integers(0, (blocks, 8, 16), (count, 3)).tolist()


@pytest.mark.parametrize("dst32", [True, False], ids=["dst32", "dst16"])
@pytest.mark.parametrize("style", [Style.BF16, Style.FP16, Style.TF32], ids=lambda style: style.value)
@pytest.mark.parametrize("kind", KINDS)
def test_mvmul(kind, style, dst32):
    rng = np.random.default_rng(KINDS.index(kind))
    for phase in range(4):
        d, b, a = operands(rng, kind, style, dst32, 6)
        options = {"style": style, "dst32": dst32, "phase": phase}
        assert_exact(tensix.mvmul(d, b, a, **options), BASE, d, b, a, some(rng, 6, 25), **options)


@pytest.mark.parametrize("dst32", [True, False], ids=["dst32", "dst16"])
@pytest.mark.parametrize("style", [Style.BF16, Style.FP16, Style.TF32], ids=lambda style: style.value)
@pytest.mark.parametrize("kind", KINDS)
def test_elementwise(kind, style, dst32):
    rng = np.random.default_rng(KINDS.index(kind))
    d, b, a = operands(rng, kind, style, dst32, 6)
    a, common = a[:, :8], {"style": style, "dst32": dst32}
    forms = [("elwmul", {"phase": phase}) for phase in range(4)]
    forms += [(name, {"accumulate": each}) for name in ("elwadd", "elwsub") for each in (True, False)]
    for name, options in forms:
        got = getattr(tensix, name)(d, b, a, **options, **common)
        assert_exact_elements(got, name, BASE, d, b, a, some(rng, 6, 50), **options, **common)


@pytest.mark.parametrize("numerics", [BASE, replace(BASE, zero_flag_disabled=True)], ids=["flag", "no_flag"])
@pytest.mark.parametrize(("style", "dst32"), CONFIGURATIONS)
def test_kept_src_b_denormals(style, dst32, numerics):
    """Most SrcB datums have exponent 0, some of them no fraction either."""
    rng = np.random.default_rng(14)
    d, b, a = operands(rng, "zeros", style, dst32, 6)
    d[:3] &= ~np.uint32(0x78000000 if dst32 else 0x7800)
    b = np.where(rng.random(b.shape) < 0.2, b & 1 << 18, b).astype(np.uint32)
    a, common = a[:, :8], {"style": style, "dst32": dst32, "keep_src_b_denormals": True}
    changed = 0
    for name in ELEMENTWISE:
        got = getattr(tensix, name)(d, b, a, numerics=numerics, **common)
        assert_exact_elements(got, name, numerics, d, b, a, some(rng, 6, 150), **common)
        flushed = getattr(tensix, name)(d, b, a, numerics=BASE, style=style, dst32=dst32)
        changed += np.count_nonzero(got != flushed)
    assert changed > 0


@pytest.mark.parametrize(
    ("name", "dst", "b", "a", "expected"),
    [
        # A SrcB zero counts as 1.0 at exponent 0: 15 + 0 + 97 = 112, 2**-15.
        ("elwmul", 0, 0, 15 << 10, 112 << 23),
        # In a sum it stays zero; a denormal is 1.fraction at exponent 97.
        ("elwadd", 0, 0, 0, 0),
        ("elwadd", 0, 1 << 9, 0, 97 << 23 | 1 << 22),
        ("elwsub", 0, 1 << 9, 0, 1 << 31 | 97 << 23 | 1 << 22),
        # SrcA's are flushed as ever.
        ("elwadd", 0, 0, 1 << 9, 0),
    ],
)
def test_kept_src_b_denormals_by_hand(name, dst, b, a, expected):
    words = (np.full((8, 16), each, np.uint32) for each in (dst, b, a))
    got = getattr(tensix, name)(*words, style="FP16", dst32=True, keep_src_b_denormals=True)
    assert np.all(got == expected)


@pytest.mark.parametrize(
    "changes",
    [
        {"minus_one_quirk": False},
        {"masking": Masking.SRCA_STYLE},
        {"group": 4},
        {"group": 16, "product_guard_bits": 13},
        {"pre_round": False},
        {"empty_terms_in_maximum": False},
        {"zero_terms_keep_bias": False},
        {"zero_flag_disabled": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_fields_of_the_numerics(changes):
    rng, numerics = np.random.default_rng(9), replace(BASE, **changes)
    for kind, style, dst32 in product(("near", "zeros", "cancelling"), (Style.BF16, Style.FP16), (True, False)):
        d, b, a = operands(rng, kind, style, dst32, 4)
        options = {"style": style, "dst32": dst32, "phase": 0}
        got = tensix.mvmul(d, b, a, numerics=numerics, **options)
        assert_exact(got, numerics, d, b, a, some(rng, 4, 25), **options)
        a = a[:, :8]
        for name in ELEMENTWISE:
            got = getattr(tensix, name)(d, b, a, numerics=numerics, style=style, dst32=dst32)
            assert_exact_elements(got, name, numerics, d, b, a, some(rng, 4, 25), style=style, dst32=dst32)


@pytest.mark.parametrize(
    "shape", [{"group": 8}, {"group": 4}, {"group": 16, "product_guard_bits": 13}], ids=["8", "4", "16"]
)
@pytest.mark.parametrize("place", TIE_FIELDS)
def test_ties(place, shape):
    """Every tie at each place, with every tie at the other places; datums that depend on the tie are compared first."""
    rng = np.random.default_rng(TIE_FIELDS.index(place))
    apart = np.zeros(len(TIES), int)
    for others, kind, dst32 in product(TIES, ("near", "ties", "cancelling"), (True, False)):
        style = Style.FP16 if kind == "near" else Style.TF32
        d, b, a = operands(rng, kind, style, dst32, 48)
        options = {"style": style, "dst32": dst32, "phase": 3 if kind == "ties" else 0}
        base = replace(BASE, **shape, **dict.fromkeys(TIE_FIELDS, others))
        results = [tensix.mvmul(d, b, a, numerics=replace(base, **{place: tie}), **options) for tie in TIES]
        pairs = [(results[i] != results[i - 1]) for i in range(len(TIES))]
        apart += [int(each.sum()) for each in pairs]
        indices = [*(index for each in pairs for index in np.argwhere(each)[:4].tolist()), *some(rng, 48, 3)]
        for tie, got in zip(TIES, results, strict=True):
            assert_exact(got, replace(base, **{place: tie}), d, b, a, indices, **options)
    assert apart.all(), f"{place}: datums that tell two ties apart: {apart}"


@pytest.mark.parametrize("place", TIE_FIELDS)
@pytest.mark.parametrize("name", ["elwmul", "elwadd"])
def test_elementwise_ties(name, place):
    """As `test_ties`; a product alone is never aligned, so that `product_tie` must not matter to it."""
    rng = np.random.default_rng(TIE_FIELDS.index(place))
    apart = np.zeros(len(TIES), int)
    for others, kind, dst32 in product(TIES, ("near", "ties", "cancelling"), (True, False)):
        d, b, a = operands(rng, kind, Style.TF32, dst32, 96)
        a, options = a[:, :8], {"style": Style.TF32, "dst32": dst32}
        base = replace(BASE, **dict.fromkeys(TIE_FIELDS, others))
        numerics = [replace(base, **{place: tie}) for tie in TIES]
        results = [getattr(tensix, name)(d, b, a, numerics=each, **options) for each in numerics]
        pairs = [(results[i] != results[i - 1]) for i in range(len(TIES))]
        apart += [int(each.sum()) for each in pairs]
        indices = [*(index for each in pairs for index in np.argwhere(each)[:4].tolist()), *some(rng, 96, 3)]
        for each, got in zip(numerics, results, strict=True):
            assert_exact_elements(got, name, each, d, b, a, indices, **options)
    assert apart.all() == ((name, place) != ("elwmul", "product_tie")), f"{place}: datums apart: {apart}"


@pytest.mark.parametrize("flush", [True, False], ids=["flush", "keep"])
def test_integers(flush):
    """Every phase; a third of the Dst words is near saturation, and a third of the sources has the exponent field 0."""
    rng, numerics = np.random.default_rng(13), replace(BASE, int8_zero_exponent_flush=flush)
    saturated = 0
    for phase in range(4):
        d = rng.integers(0, 1 << 32, (6, 8, 16)).astype(np.uint32)
        d = np.where(rng.random(d.shape) < 1 / 3, d | 0x7FFFF000, d)
        d[0, 0] = [0, 1 << 31] * 8
        b, a = (
            rng.choice([0, 1, 16], shape) << 10 | rng.integers(0, 1 << 10, shape) | rng.integers(0, 2, shape) << 18
            for shape in ((6, 8, 16), (6, 16, 16))
        )
        b, a = b.astype(np.uint32), a.astype(np.uint32)
        b[1], a[1] = 16 << 10 | 0x3FF, 1 << 18 | 16 << 10 | 0x3FF
        options = {"style": Style.INT8, "dst32": True, "phase": phase}
        got = tensix.mvmul(d, b, a, numerics=numerics, **options)
        indices = [*product((0, 1), (0,), range(16)), *some(rng, 6, 100)]
        assert_exact(got, numerics, d, b, a, indices, **options)
        saturated += np.count_nonzero(got[2:] & 0x7FFFFFFF == 0x7FFFFFFF)
    assert saturated > 100


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


@pytest.mark.parametrize("style", [Style.BF16, Style.INT8], ids=lambda style: style.value)
def test_leading_axes_broadcast(style):
    rng = np.random.default_rng(10)
    d, b, a = operands(rng, "near", style, True, 6)
    d, b, a = d.reshape(2, 3, 8, 16), b[:2, np.newaxis], a[:3]
    options = {"style": style, "dst32": True}
    got, one = tensix.mvmul(d, b, a, phase=1, **options), tensix.mvmul(d[0, 0], b, a, phase=1, **options)
    pooled = tensix.gapool(d[0], b[:1, 0], a, **options)
    added = tensix.elwadd(d[0, 0], b, a[:, :8], **options)
    for i, j in product(range(2), range(3)):
        assert np.array_equal(got[i, j], tensix.mvmul(d[i, j], b[i, 0], a[j], phase=1, **options))
        assert np.array_equal(one[i, j], tensix.mvmul(d[0, 0], b[i, 0], a[j], phase=1, **options))
        assert np.array_equal(added[i, j], tensix.elwadd(d[0, 0], b[i, 0], a[j, :8], **options))
        assert np.array_equal(pooled[j], tensix.gapool(d[0, j], b[0, 0], a[j], **options))
    assert tensix.mvmul(d[:0], b[:1], a, phase=1, **options).shape == (0, 3, 8, 16)
    assert tensix.elwmul(d[:0], b[:1], a[:, :8], **options).shape == (0, 3, 8, 16)


@pytest.mark.parametrize(
    ("loop", "name", "operation", "style"),
    [
        (mvmul_loop, "_mvmul", "mvmul", Style.BF16),
        (mvmul_integer_loop, "_mvmul", "mvmul", Style.INT8),
        (elementwise_loop, "_elwmul", "elwmul", Style.BF16),
        (elementwise_loop, "_elwadd", "elwadd", Style.BF16),
        (elementwise_loop, "_elementwise", "elwmul", Style.INT8),
        (elementwise_loop, "_elementwise", "elwsub", Style.INT8),
    ],
)
def test_blocks_on_two_threads(monkeypatch, loop, name, operation, style):
    d, b, a = operands(np.random.default_rng(12), "near", style, True, 5)
    if operation == "mvmul":
        run = partial(tensix.mvmul, d, b, a, style=style, dst32=True, phase=0)
    else:
        run = partial(getattr(tensix, operation), d, b, a[:, :8], style=style, dst32=True)
    whole = run()
    monkeypatch.setenv("BITPATH_THREADS", "2")
    monkeypatch.setattr(loop, "BLOCKS", 2)
    sizes, kernel = [], getattr(loop, name)
    monkeypatch.setattr(loop, name, lambda dst, *rest: sizes.append(len(dst)) or kernel(dst, *rest))
    assert np.array_equal(run(), whole)
    assert sorted(sizes) == [1, 4]
