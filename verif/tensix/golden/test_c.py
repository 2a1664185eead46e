"""The C reference against golden, bit for bit: random words, corners, every code of small formats, and all presets."""

from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.c.constants import enumerations
from bitpath.golden.tensix.convert.formats import EARLY_FORMATS, INTEGERS
from bitpath.golden.tensix.convert.pack import FLOAT_OUTPUTS
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    EXPONENT5_FORMATS,
    STYLE_FORMATS,
    STYLE_OWN_FORMAT,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE
from bitpath.golden.tensix.matmul.host import FORMATS
from bitpath.verif.kit.c_library import FEW, counts
from bitpath.verif.tensix.unpack.unpack import join_datums

C = {name.removeprefix("BITPATH_TENSIX_"): number for name, number in enumerations("tensix").items()}
ALL16 = np.arange(1 << 16, dtype=np.uint32)
WIDTHS = [(style, dst32) for style in Style for dst32 in (True, False) if dst32 or style is not Style.INT8]


@pytest.fixture
def reference(c_reference):
    return c_reference("tensix")


def words32(rng, count):
    """Return random words, and words of every exponent with a fraction near a tie."""
    near = rng.integers(0, 2, count) << 31 | rng.integers(0, 256, count) << 23
    near |= rng.choice([0, 1, 0xFFF, 0x1000, 0xFFFF, 0x8000, 0x18000, 0x7F7FFF, 0x7F8000, 0x7EFFFF, 0x7FFFFF], count)
    return np.where(rng.random(count) < 0.5, rng.integers(0, 1 << 32, count), near).astype(np.uint32)


def sources(rng, fmt, shape, spread):
    """Return Src words whose exponents lie within `spread` of a middle one; some are zeros or of the largest exponent."""
    top = 31 if fmt in EXPONENT5_FORMATS else 255
    exponents = np.clip(top // 2 + rng.integers(-spread, spread + 1, shape), 0, top)
    exponents = np.where(rng.random(shape) < 0.06, rng.choice([0, 1, top - 1, top], shape), exponents)
    fractions = np.where(
        rng.random(shape) < 0.3, rng.choice([0, 1, 7, 8, 0x3FF, 0x200], shape), rng.integers(0, 1024, shape)
    )
    return (rng.integers(0, 2, shape) << 18 | exponents << 10 | fractions).astype(np.uint32)


def destinations(rng, style, dst32, shape, spread):
    width, bits = (8, 23) if dst32 else (5, 10) if style is Style.FP16 else (8, 7)
    middle = 127 if width == 8 else 15
    exponents = np.clip(middle + rng.integers(-spread, spread + 8, shape), 0, (1 << width) - 1)
    exponents = np.where(rng.random(shape) < 0.1, rng.choice([0, 1, (1 << width) - 1], shape), exponents)
    words = rng.integers(0, 2, shape) << width + bits | exponents << bits | rng.integers(0, 1 << bits, shape)
    return np.where(rng.random(shape) < 0.1, 0, words).astype(np.uint32)


def formats_of(style):
    """Return pairs of source formats: every one of the style's, beside its own."""
    own = STYLE_OWN_FORMAT[style]
    return [(each, own) for each in STYLE_FORMATS[style]] + [
        (own, each) for each in STYLE_FORMATS[style] if each != own
    ]


@counts
@pytest.mark.parametrize(("style", "dst32"), WIDTHS, ids=lambda each: getattr(each, "value", f"dst{each}"))
@pytest.mark.parametrize("preset", PRESETS)
def test_mvmul_and_dot16(c_reference, preset, style, dst32, count):
    reference, rng, blocks = c_reference("tensix", preset), np.random.default_rng(count), count // 512
    pairs = formats_of(style)
    # In `make test` the reference has each pair of formats in one phase, the other presets each phase in one pair.
    cases = list(product(range(4), pairs))
    if count == FEW:
        some = range(max(4, len(pairs))) if preset == WORMHOLE.name else range(4)
        cases = [(number % 4, pairs[number % len(pairs)]) for number in some]
    for number, (phase, (a_format, b_format)) in enumerate(cases):
        spread = (0, 3, 12, 40)[(number + number // 4) % 4]
        b, a = (sources(rng, fmt, (blocks, rows, 16), spread) for fmt, rows in ((b_format, 8), (a_format, 16)))
        dst = destinations(rng, style, dst32, (blocks, 8, 16), spread)
        # Some sums almost cancel Dst, so that the quirk and ties occur.
        common = {"style": style, "dst32": dst32, "phase": phase, "srca_format": a_format, "srcb_format": b_format}
        numerics = PRESETS[preset].numerics
        opposite = tensix.mvmul(np.zeros_like(dst), b, a, numerics=numerics, **common)
        sign = 1 << (31 if dst32 else 15)
        dst[::3] = opposite[::3] ^ np.uint32(sign) ^ (rng.integers(0, 2, dst[::3].shape)).astype(np.uint32)
        expected = tensix.mvmul(dst, b, a, numerics=numerics, **common)
        options = C[f"STYLE_{style.name}"], dst32, phase, a_format, b_format
        got = reference.array_form("mvmul", *(each.reshape(blocks, -1) for each in (dst, b, a)), *options)
        assert np.array_equal(got.reshape(expected.shape), expected), common
        one = reference.array_form("dot16", dst[:, 3, 5], b[:, 3], a[:, :, 5], *options)
        assert np.array_equal(one, expected[:, 3, 5])


@counts
@pytest.mark.parametrize(("style", "dst32"), WIDTHS, ids=lambda each: getattr(each, "value", f"dst{each}"))
@pytest.mark.parametrize("preset", PRESETS)
def test_elementwise(c_reference, preset, style, dst32, count):
    reference, rng, blocks = c_reference("tensix", preset), np.random.default_rng(7), count // 128
    own, numerics = STYLE_OWN_FORMAT[style], PRESETS[preset].numerics
    for spread in (1, 14, 60):
        b, a = (sources(rng, own, (blocks, 8, 16), spread) for _ in range(2))
        dst = destinations(rng, style, dst32, a.shape, spread)
        common = {"style": style, "dst32": dst32, "numerics": numerics}
        operands = [each.reshape(-1) for each in (dst, b, a)]
        for phase in range(4):
            got = reference.array_form("elwmul", *operands, C[f"STYLE_{style.name}"], dst32, phase, own, own)
            assert np.array_equal(got, tensix.elwmul(dst, b, a, phase=phase, **common).reshape(-1))
        for subtract, accumulate in product((False, True), repeat=2):
            operation = tensix.elwsub if subtract else tensix.elwadd
            options = subtract, accumulate, C[f"STYLE_{style.name}"], dst32, own, own
            got = reference.array_form("elwadd", *operands, *options)
            assert np.array_equal(got, operation(dst, b, a, accumulate=accumulate, **common).reshape(-1))


@pytest.mark.parametrize(("style", "dst32"), WIDTHS, ids=lambda each: getattr(each, "value", f"dst{each}"))
def test_without_the_zero_flag(c_reference, monkeypatch, style, dst32):
    """Operands of exponent 0 beside small and middle ones; no preset disables the flag."""
    source = WORMHOLE.sources["zero_flag_disabled"]
    preset = WORMHOLE.variant("tensix_without_zero_flag", zero_flag_disabled=(True, source))
    monkeypatch.setitem(PRESETS, preset.name, preset)
    reference, rng, own = c_reference("tensix", preset.name), np.random.default_rng(8), STYLE_OWN_FORMAT[style]
    middle = 15 if style is Style.FP16 else 127
    b, a = (
        rng.choice([0, 0, 1, 12, middle], shape) << 10
        | rng.integers(0, 1 << 10, shape)
        | rng.integers(0, 2, shape) << 18
        for shape in ((32, 8, 16), (32, 16, 16))
    )
    b, a, dst = b.astype(np.uint32), a.astype(np.uint32), destinations(rng, style, dst32, (32, 8, 16), 3)
    dst[::2] &= ~np.uint32(0x78000000 if dst32 else 0x7800)
    common = {"style": style, "dst32": dst32, "numerics": preset.numerics}
    options = C[f"STYLE_{style.name}"], dst32, 0, own, own
    got = reference.array_form("mvmul", *(each.reshape(32, -1) for each in (dst, b, a)), *options)
    assert np.array_equal(got.reshape(dst.shape), tensix.mvmul(dst, b, a, phase=0, **common))
    flat = [each.reshape(-1) for each in (dst, b, a[:, :8])]
    got = reference.array_form("elwmul", *flat, *options)
    assert np.array_equal(got, tensix.elwmul(dst, b, a[:, :8], **common).reshape(-1))
    got = reference.array_form("elwadd", *flat, True, True, *options[:2], own, own)
    expected = tensix.elwsub(dst, b, a[:, :8], **common)
    assert np.array_equal(got, expected.reshape(-1))
    assert not np.array_equal(expected, tensix.elwsub(dst, b, a[:, :8], style=style, dst32=dst32))


PLAIN = [(source, target) for source in L1_BYTES for target in CONVERSIONS[source]]


@counts
@pytest.mark.parametrize(("source", "target"), PLAIN, ids=lambda each: each.name)
def test_unpack(reference, source, target, count):
    width = L1_BYTES[source]
    codes = words32(np.random.default_rng(31), count) if width == 4 else np.arange(1 << 8 * width, dtype=np.uint32)
    stored = codes.astype(f"<u{width}").view(np.uint8)
    for unsigned in (False, True) if source is Format.INT8 else (False,):
        expected = tensix.unpack(stored, source, target, unsigned=unsigned, count=len(codes))
        assert np.array_equal(reference.array_form("unpack", codes, source, target, unsigned), expected)


@pytest.mark.parametrize("preset", PRESETS)
def test_unpack_every_e5m2_code(c_reference, preset):
    """Blackhole fills codes of all ones."""
    codes = np.arange(256, dtype=np.uint8)
    expected = tensix.unpack(codes, "FP8", "FP16", numerics=PRESETS[preset].numerics)
    got = c_reference("tensix", preset).array_form("unpack", codes.astype(np.uint32), Format.FP8, Format.FP16, False)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("fmt", BLOCK_FLOATS, ids=lambda each: each.name)
def test_unpack_every_block_float(reference, fmt):
    block = BLOCK_FLOATS[fmt]
    datums = np.resize(np.arange(1 << block.datum_bits), max(16, 1 << block.datum_bits)).reshape(-1, 16)
    exponents = np.arange(1 << block.exponent_bits, dtype=np.uint8)
    every, shared = np.tile(datums, (len(exponents), 1)), exponents.repeat(len(datums))
    stream = np.zeros(-(-len(shared) // 16) * 16, np.uint8)
    stream[: len(shared)] = shared
    expected = tensix.unpack(np.concatenate([stream, join_datums(block, every)]), fmt, fmt, count=every.size)
    got = reference.array_form("unpack_block", fmt, shared, every, np.zeros(every.shape))
    assert np.array_equal(got.reshape(-1), expected)


PACKED = [
    (dst32, raw, mid, out)
    for (dst32, raw), mids in EARLY_FORMATS.items()
    for mid in mids
    for out in ((mid,) if mid in INTEGERS else FLOAT_OUTPUTS)
    if (mid, out) != (Format.FP32, Format.TF32)
]


@counts
@pytest.mark.parametrize(("dst32", "raw", "mid", "out"), PACKED, ids=lambda each: getattr(each, "name", str(each)))
def test_pack(reference, dst32, raw, mid, out, count):
    rng = np.random.default_rng(8)
    words = words32(rng, count) if dst32 else ALL16.copy()
    if out in BLOCK_FLOATS:
        rng.shuffle(words)
    for relu, threshold, unsigned, shift in (
        *((mode, 0x3F00, False, 0) for mode in ((0, 1) if mid in INTEGERS else (0, 1, 2, 3))),
        *(((0, 0, True, 0), (0, 0, False, 5), (1, 0, False, 31)) if mid is Format.INT8 and not raw else ()),
        *(((0, 0, True, 0),) if mid is Format.INT8 and raw else ()),
    ):
        expected = tensix.pack(
            words,
            mid,
            out,
            dst32=dst32,
            raw=raw,
            relu=relu,
            relu_threshold=threshold,
            unsigned=unsigned,
            descale_shift=shift,
        )
        codes = reference.array_form("pack_early", words, mid, dst32, unsigned, raw, shift)
        if not unsigned:
            codes = reference.array_form("relu", codes, mid, relu, threshold)
        if mid not in INTEGERS:
            codes = reference.array_form("pack_late", codes, mid, out)
        if out in BLOCK_FLOATS:
            blocks = codes.reshape(-1, 16)
            exponents, datums = reference.array_form("pack_block", out, blocks, np.zeros(blocks.shape))
            got = np.concatenate([exponents, join_datums(BLOCK_FLOATS[out], datums)])
        else:
            got = codes.astype(f"<u{L1_BYTES[out]}").view(np.uint8)
        assert np.array_equal(got, expected), (relu, unsigned, shift)


L1_CORNERS = {
    Format.FP32: [
        0,
        1 << 31,
        1,
        0x7FFFFF,
        0x800000,
        0x80800000,
        0x7F7FFFFF,
        0xFF7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
    ],
    Format.BF16: [0, 1 << 15, 1, 0x7F, 0x80, 0x8080, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFF81, 0x7FFF, 0xFFFF],
    Format.FP16: [0, 1 << 15, 1, 0x3FF, 0x400, 0x8400, 0x7BFF, 0x7C00, 0xFC00, 0x7FFF, 0xFFFF, 0x7800, 0xF800],
}


@counts
@pytest.mark.parametrize("fmt", L1_CORNERS, ids=lambda each: each.name)
def test_accumulation_in_l1(reference, fmt, count):
    rng, width = np.random.default_rng(9), 8 * L1_BYTES[fmt]
    old, new = (rng.integers(0, 1 << width, 2 * count) for _ in range(2))
    near = old ^ 1 << width - 1 ^ rng.integers(0, 1 << 9, old.shape)
    new = np.choose(rng.integers(0, 3, old.shape), [new, near, rng.choice(L1_CORNERS[fmt], old.shape)])
    pairs = np.array(list(product(L1_CORNERS[fmt], repeat=2)))
    old, new = np.concatenate([old, pairs[:, 0]]), np.concatenate([new, pairs[:, 1]])
    l1, dst32 = old.astype(f"<u{width // 8}").view(np.uint8), width == 32
    # Early and late conversion change nothing.
    expected = tensix.pack(new.astype(np.uint32), fmt, fmt, dst32=dst32, raw=not dst32, l1=l1)
    got = reference.array_form("add_to_l1", old, new, fmt)
    assert np.array_equal(got.astype(f"<u{width // 8}").view(np.uint8), expected)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (5, 70, 35)])
def test_matmul(reference, fmt, m, k, n):
    rng = np.random.default_rng(k)
    if fmt == "int8":
        a, b = rng.integers(-127, 128, (m, k)).astype(np.int32), rng.integers(-127, 128, (k, n)).astype(np.int32)
    else:
        wide = [rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape)) for shape in ((m, k), (k, n))]
        a, b = (each.astype(np.float32) for each in wide)
        a[-1, -1], b[0, 0] = -0.0, np.inf
    for number, fidelity in enumerate(Fidelity):
        dst32 = fmt == "int8" or number % 2 == 0
        expected = tensix.matmul(a, b, format=fmt, fidelity=fidelity, dst32=dst32)
        options = C[FORMATS[fmt].register.name], C[fidelity.name], dst32
        got = reference.matmul("matmul", a.view(np.uint32), b.view(np.uint32), *options)
        assert np.array_equal(got, expected.view(np.uint32))


def test_known_answers_of_mvmul(kat, reference):
    archive, compared = kat("tensix_mvmul.npz"), 0
    for case, style in enumerate(archive["style"]):
        name = Style(archive["style_names"][style]).name
        options = [int(archive[each][case]) for each in ("use32", "phase", "fmtA", "fmtB")]
        operands = [archive[each][case].reshape(1, -1) for each in ("dst_in", "srcB", "srcA")]
        got = reference.array_form("mvmul", *operands, C[f"STYLE_{name}"], *options)
        assert np.array_equal(got[0], archive["dst_out"][case].reshape(-1))
        compared += got.size
    assert compared == archive["dst_out"].size
