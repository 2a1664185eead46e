"""Tensix' operations for probes: one output of MVMUL, ELWMUL and ELWADD in a fidelity, datums packed and unpacked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.convert.unpack import unpack
from bitpath.golden.tensix.declarations import numerics as declared
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_ROWS,
    COLUMNS,
    FIDELITY_PHASES,
    STYLE_OWN_FORMAT,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import (
    add,
    add_to_l1,
    dot16_integer,
    early_float,
    late_float,
    multiply_add,
    trace_dot16,
    unpack_block,
    unpack_datum,
)
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul
from bitpath.golden.tensix.matrix.mvmul import mvmul, mvmul_row
from bitpath.sim.study.probe.unit import Dots, Operand, Operation, Unit, stacked

# Candidate dots of Tensix: register words whose products and sums lie around ties and alignment edges.


RANDOM = 500
"""Random candidates of each kind."""

DOTS: list[tuple[float, dict[int, tuple[float, float]]]] = [
    (-1.0, {0: (2.0**12, 2.0**12)}),
    (1.0, {0: (2.0**12, 2.0**12)}),
    (0.0, {0: (1.0, 1.0), 4: (2.0**-11, 1.0)}),
    (0.0, {0: (1.0, 1.0), 8: (2.0**-11, 1.0)}),
    (0.0, {0: (1.0, 1.0), 4: (-(2.0**-11), 1.0)}),
    (0.0, {0: (1.0, 1.0), 1: (3 * 2.0**-12, 1.0)}),
    (-1 - 2.0**-23, {0: (1.0, 1.0)}),
    *((0.0, {0: (1.0, a)}) for a in (1 + 2.0**-5, 1 + 2.0**-4)),
    *((0.0, {0: (b, 1.0)}) for b in (1 + 2.0**-7, 1 + 2.0**-6)),
    (0.0, {0: (2.0**100, 2.0**100)}),
]
"""Hand-made dots: Dst, and the operands (SrcB, SrcA) by index."""
ELEMENTS = [
    (0.0, 1.0, -(2.0**-11)),
    (0.0, 1.0, 2.0**-11),
    (0.0, 1.0, 2.0**-8),
    (0.0, -1.4921875, 1.0703125),
    (0.0, 1.4921875, 1.0703125),
    (0.0, 2.0**100, 2.0**100),
    (0.0, np.inf, -np.inf),
    (0.0, np.inf, np.inf),
    (0.0, np.inf, 0.0),
    (0.0, 1.0, 2.0**-127),
    (2.0**-126, 2.0**-127, 2.0**-127),
]
"""Hand-made element-wise operands: Dst, SrcB, SrcA."""


def dot_pool(style: Style, srcb_format: Format, dst32: bool, seed: int) -> Dots:
    """Return operands of MVMUL: the hand-made dots, and sparse ones with exponents around the alignment's edges."""
    if style is Style.INT8:
        return _integer_pool(seed)
    rng = np.random.default_rng([seed, len(style.value), srcb_format, dst32])
    narrow = style is Style.FP16
    middle, top = (15, 31) if narrow else (127, 255)
    fraction_b = 7 if srcb_format is Format.BF16 else 10
    fraction_a = 7 if style is Style.BF16 else 10
    b, a = (_sources(rng, (RANDOM, COLUMNS), middle, top, bits) for bits in (fraction_b, fraction_a))
    few = rng.integers(0, COLUMNS, (RANDOM, COLUMNS)) < rng.integers(1, 8, (RANDOM, 1))
    b = np.where(few, b, 0).astype(np.uint32)
    dst = _dst(rng, narrow, dst32)
    if narrow:
        # Zero products have an exponent too, 97 with a 32-bit Dst: numbers below it, alone.
        b[:16], dst[:16] = 0, rng.integers(60 << 23, 98 << 23, 16) if dst32 else 0
        return {"dst": dst, "src_b": b, "src_a": a}
    by_hand = {"dst": np.zeros(len(DOTS), np.uint32)} | {
        name: np.zeros((len(DOTS), COLUMNS), np.uint32) for name in ("src_b", "src_a")
    }
    for n, (start, products) in enumerate(DOTS):
        by_hand["dst"][n] = _fp32(start) >> (0 if dst32 else 16)
        for k, (x, y) in products.items():
            by_hand["src_b"][n, k], by_hand["src_a"][n, k] = _fp32(x) >> 13, _fp32(y) >> 13
    return stacked(by_hand, {"dst": dst, "src_b": b, "src_a": a})


def row_pool(seed: int) -> Dots:
    """Return operands of MVMUL with row broadcast: FP32 subnormals in the row that it need not write."""
    rng = np.random.default_rng([seed, 1])
    b, a = (_sources(rng, (4, COLUMNS), 127, 255, 7) for _ in range(2))
    dst = rng.integers(1, 1 << 23, (4, 2), dtype=np.uint32)
    return {"dst": dst | np.uint32(1 << 31) * rng.integers(0, 2, (4, 2), dtype=np.uint32), "src_b": b, "src_a": a}


def element_pool(dst32: bool, seed: int) -> Dots:
    """Return BF16 operands of ELWMUL and ELWADD."""
    rng = np.random.default_rng([seed, 2, dst32])
    codes = np.array([[_fp32(value) for value in values] for values in ELEMENTS], np.uint32)
    by_hand = {"dst": codes[:, 0] >> (0 if dst32 else 16), "src_b": codes[:, 1] >> 13, "src_a": codes[:, 2] >> 13}
    b, a = (_sources(rng, (RANDOM,), 127, 255, 7) for _ in range(2))
    return stacked(by_hand, {"dst": _dst(rng, False, dst32), "src_b": b, "src_a": a})


def pack_pool(seed: int) -> Dots:
    """Return FP32 Dst words at ties between BF16 numbers, and specials."""
    rng = np.random.default_rng([seed, 3])
    ties = rng.integers(0, 1 << 16, 32, dtype=np.uint32) << np.uint32(16) | np.uint32(0x8000)
    return {"dst": np.concatenate([ties, np.array([1, 0x80000001, 0x7F800001, 0x7F7FFFFF, 0xFF800000], np.uint32)])}


def l1_pool(seed: int) -> Dots:
    """Return FP16 numbers whose sum cancels or leaves the range below."""
    rng = np.random.default_rng([seed, 4])
    x = rng.integers(0, 1 << 15, 32, dtype=np.uint32)
    x[:12] = 0x7800 + x[:12] % 0x800  # exponents 30 and 31
    x[12:24] = 0x0400 + x[12:24] % 0x400  # exponent 1, whose differences are below the range
    near = np.where(np.arange(32) % 2, x, x ^ rng.integers(0, 4, 32, dtype=np.uint32))
    return {"dst": x, "l1": (near ^ 0x8000).astype(np.uint16)}


def block_pool(seed: int) -> Dots:
    """Return blocks of small exponents: a datum's leading zeros take the exponent below 0."""
    rng = np.random.default_rng([seed, 5])
    return {"exponent": np.arange(8, dtype=np.uint8), "datums": rng.integers(0, 256, (8, BLOCK), dtype=np.uint8)}


def fp8_pool(seed: int) -> Dots:
    """Return FP8 codes, first those with all bits but the sign set."""
    return {"code": np.append([0x7F, 0xFF], np.random.default_rng([seed, 7]).integers(0, 256, 14)).astype(np.uint8)}


def _integer_pool(seed: int) -> Dots:
    """Return integers, some of them with the exponent field 0."""
    rng = np.random.default_rng([seed, 6])
    sign, exponent, magnitude = (rng.integers(0, n, (2, 8, COLUMNS)) for n in (2, 2, 256))
    words = (sign << 18 | exponent * 16 << 10 | magnitude).astype(np.uint32)
    return {"dst": rng.integers(0, 1 << 20, 8, dtype=np.uint32), "src_b": words[0], "src_a": words[1]}


def _sources(rng: np.random.Generator, shape: tuple[int, ...], middle: int, top: int, fraction_bits: int) -> np.ndarray:
    """Return source words: exponents around the middle, few fraction bits set, some exponents at the range's ends."""
    exponent = np.clip(middle + rng.integers(-7, 8, shape), 1, top - 1)
    exponent = np.where(rng.random(shape) < 0.06, rng.choice([0, 1, top - 1, top], shape), exponent)
    fraction = np.zeros(shape, np.int64)
    for _ in range(3):
        fraction |= np.where(rng.random(shape) < 0.5, 1 << rng.integers(0, fraction_bits, shape), 0)
    sign = rng.integers(0, 2, shape)
    return (sign << 18 | exponent << 10 | fraction << 10 - fraction_bits).astype(np.uint32)


def _dst(rng: np.random.Generator, fp16: bool, dst32: bool) -> np.ndarray:
    """Return Dst words: zeros, and numbers whose distance from the products is at most a significand."""
    exponent_bits, fraction_bits = (8, 23) if dst32 else (5, 10) if fp16 else (8, 7)
    bias = (1 << exponent_bits - 1) - 1
    exponent = np.clip(bias + rng.integers(-26, 27, RANDOM), 0, 2 * bias)
    fraction = rng.integers(0, 1 << fraction_bits, RANDOM)
    # Few bits, so that half of the words are ties once they are aligned.
    fraction &= np.where(rng.random(RANDOM) < 0.5, -1 << rng.integers(0, fraction_bits, RANDOM), -1)
    words = rng.integers(0, 2, RANDOM) << exponent_bits + fraction_bits | exponent << fraction_bits | fraction
    return np.where(rng.random(RANDOM) < 0.3, 0, words).astype(np.uint32)


def _fp32(value: float) -> int:
    return int(encode_array(FP32, np.array([value], np.float64))[0])


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Settings of the Matrix unit: style, a SrcB of another format, width of Dst, fidelity."""

    style: Style
    dst32: bool
    fidelity: Fidelity = Fidelity.LOFI
    srcb_format: Format | None = None

    @property
    def name(self) -> str:
        """As operations have it, such as bf16_dst32_lofi."""
        second = f"_{self.srcb_format.name}" if self.srcb_format else ""
        return f"{self.style.value}{second}_dst{32 if self.dst32 else 16}_{self.fidelity.value}".lower()

    @property
    def phases(self) -> Sequence[int]:
        return FIDELITY_PHASES[self.fidelity]

    @property
    def formats(self) -> dict[str, Format]:
        """Formats of the sources, as golden takes them."""
        own = STYLE_OWN_FORMAT[self.style]
        return {"srca_format": own, "srcb_format": self.srcb_format or own}

    @property
    def common(self) -> dict[str, Any]:
        """Arguments that vectorised and exact functions share."""
        return {"style": self.style, "dst32": self.dst32, **self.formats}


def dot16(
    numerics: TensixNumerics, dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray, *, setting: Setting
) -> np.ndarray:
    """Return one Dst word of each MVMUL, [N, 1]: dst [N], sources [N, 16]."""
    # Eight dots a block: dot r is output [r, r].
    blocks, places = -(-len(dst) // BLOCK_ROWS), np.arange(BLOCK_ROWS)
    words, rows, columns = (np.zeros((blocks, each, COLUMNS), np.uint32) for each in (BLOCK_ROWS, BLOCK_ROWS, COLUMNS))
    rows.reshape(-1, COLUMNS)[: len(dst)] = src_b
    columns.swapaxes(1, 2)[:, :BLOCK_ROWS] = _filled(src_a, BLOCK_ROWS).reshape(blocks, BLOCK_ROWS, COLUMNS)
    words[:, places, places] = _filled(dst, BLOCK_ROWS).reshape(blocks, BLOCK_ROWS)
    for phase in setting.phases:
        words = mvmul(words, rows, columns, phase=phase, numerics=numerics, **setting.common)
    return words[:, places, places].reshape(-1, 1)[: len(dst)]


def exact_dot16(
    numerics: TensixNumerics, dst: int, src_b: Sequence[int], src_a: Sequence[int], *, setting: Setting
) -> list[int]:
    """Return the result of `dot16` for one dot."""
    for phase in setting.phases:
        dst = exact_phase(numerics, dst, src_b, src_a, setting=setting, phase=phase)
    return [dst]


def exact_phase(
    numerics: TensixNumerics, dst: int, src_b: Sequence[int], src_a: Sequence[int], *, setting: Setting, phase: int
) -> int:
    """Return the Dst word after one MVMUL, in one fidelity phase."""
    if setting.style is Style.INT8:
        return dot16_integer(numerics, dst, src_b, src_a, phase)
    return trace_dot16(numerics, dst, src_b, src_a, phase=phase, **setting.common).result


def row_broadcast(numerics: TensixNumerics, dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray) -> np.ndarray:
    """Return Dst rows 0 and 1 [N, 2] of MVMULs with row broadcast, BF16 and a 32-bit Dst."""
    words, columns = (np.zeros((len(dst), each, COLUMNS), np.uint32) for each in (BLOCK_ROWS, COLUMNS))
    words[:, :2, 0], columns[:, :, 0] = dst, src_a
    row = src_b[:, np.newaxis]
    return mvmul_row(words, row, columns, style="BF16", dst32=True, phase=0, numerics=numerics)[:, :2, 0]


def exact_row_broadcast(
    numerics: TensixNumerics, dst: Sequence[int], src_b: Sequence[int], src_a: Sequence[int]
) -> list[int]:
    """Return the result of `row_broadcast` for one dot."""
    setting = Setting(style=Style.BF16, dst32=True)
    (first,) = exact_dot16(numerics, dst[0], src_b, src_a, setting=setting)
    (zeros,) = exact_dot16(numerics, dst[1], [0] * COLUMNS, src_a, setting=setting)
    return [first, zeros if numerics.row_broadcast_writes_all else dst[1]]


def product(
    numerics: TensixNumerics, dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray, *, setting: Setting
) -> np.ndarray:
    """Return Dst words [N, 1] of ELWMULs: dst, src_b and src_a [N]."""
    words, b, a = (_elements(each) for each in (dst, src_b, src_a))
    for phase in setting.phases:
        words = elwmul(words, b, a, phase=phase, numerics=numerics, **setting.common)
    return words.reshape(-1, 1)[: len(dst)]


def exact_product(numerics: TensixNumerics, dst: int, src_b: int, src_a: int, *, setting: Setting) -> list[int]:
    """Return the result of `product` for one dot."""
    for phase in setting.phases:
        dst = multiply_add(numerics, dst, src_b, src_a, phase=phase, **setting.common)
    return [dst]


def total(
    numerics: TensixNumerics, dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray, *, setting: Setting
) -> np.ndarray:
    """Return Dst words [N, 1] of ELWADDs onto Dst: dst, src_b and src_a [N]."""
    words = elwadd(*(_elements(each) for each in (dst, src_b, src_a)), numerics=numerics, **setting.common)
    return words.reshape(-1, 1)[: len(dst)]


def exact_total(numerics: TensixNumerics, dst: int, src_b: int, src_a: int, *, setting: Setting) -> list[int]:
    """Return the result of `total` for one dot."""
    return [add(numerics, dst, src_b, src_a, subtract=False, accumulating=True, **setting.common)]


def packed(numerics: TensixNumerics, dst: np.ndarray) -> np.ndarray:
    """Return BF16 codes [N, 1] that the packer makes of FP32 Dst words [N]."""
    return (
        pack(dst, Format.BF16, Format.BF16, dst32=True, numerics=numerics).view("<u2").astype(np.uint16)[:, np.newaxis]
    )


def exact_packed(numerics: TensixNumerics, dst: int) -> list[int]:
    """Return the result of `packed` for one dot."""
    return [late_float(early_float(numerics, dst, Format.BF16, dst32=True), Format.BF16, Format.BF16)]


def added(numerics: TensixNumerics, dst: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Return FP16 codes [N, 1] of Dst words added to L1's, both [N]."""
    l1 = np.ascontiguousarray(l1, "<u2").view(np.uint8)
    return (
        pack(dst, Format.FP16, Format.FP16, dst32=False, l1=l1, numerics=numerics)
        .view("<u2")
        .astype(np.uint16)[:, np.newaxis]
    )


def exact_added(numerics: TensixNumerics, dst: int, l1: int) -> list[int]:
    """Return the result of `added` for one dot."""
    return [add_to_l1(numerics, l1, early_float(numerics, dst, Format.FP16, dst32=False), Format.FP16)]


def unpacked(numerics: TensixNumerics, exponent: np.ndarray, datums: np.ndarray, *, fmt: Format) -> np.ndarray:
    """Return source words [N, 16] of blocks: exponents [N], datums [N, 16], each a byte."""
    stream = np.zeros(exponent_stream_bytes(datums.size), np.uint8)
    stream[: len(exponent)] = exponent
    l1 = np.concatenate([stream, datums.reshape(-1)])
    return unpack(l1, fmt, fmt, count=datums.size, numerics=numerics).reshape(-1, BLOCK)


def exact_unpacked(numerics: TensixNumerics, exponent: int, datums: Sequence[int], *, fmt: Format) -> list[int]:
    """Return the result of `unpacked` for one dot."""
    return unpack_block(numerics, fmt, exponent, datums)


def unpacked_fp8(numerics: TensixNumerics, code: np.ndarray) -> np.ndarray:
    """Return source words [N, 1] of E5M2 codes [N]."""
    return unpack(code, Format.FP8, Format.FP8, count=code.size, numerics=numerics)[:, np.newaxis]


def exact_unpacked_fp8(numerics: TensixNumerics, code: int) -> list[int]:
    """Return the result of `unpacked_fp8` for one code."""
    return [unpack_datum(numerics, code, Format.FP8, Format.FP8, unsigned=False)]


def _elements(words: np.ndarray) -> np.ndarray:
    """Return words [N] as blocks of 8x16."""
    return _filled(words, BLOCK_ROWS * COLUMNS).reshape(-1, BLOCK_ROWS, COLUMNS)


def _filled(array: np.ndarray, multiple: int) -> np.ndarray:
    """Return [N, ...] with zeros up to a multiple."""
    return np.pad(array, [(0, -len(array) % multiple)] + [(0, 0)] * (array.ndim - 1))


FLOATS = (
    Setting(style=Style.BF16, dst32=True),
    Setting(style=Style.BF16, dst32=False, fidelity=Fidelity.HIFI4),
    Setting(style=Style.BF16, dst32=True, fidelity=Fidelity.HIFI4, srcb_format=Format.TF32),
    Setting(style=Style.TF32, dst32=True, fidelity=Fidelity.HIFI4),
    Setting(style=Style.FP16, dst32=True, fidelity=Fidelity.HIFI2),
    Setting(style=Style.FP16, dst32=False),
)
INTEGERS = Setting(style=Style.INT8, dst32=True, fidelity=Fidelity.HIFI4)


def _operations() -> list[Operation]:
    word, sources = Operand("u4"), Operand("u4", (COLUMNS,))
    first, code = Operand("u4", (1,)), Operand("u2", (1,))
    wide = {"dst": word, "src_b": sources, "src_a": sources}
    narrow = dict.fromkeys(("dst", "src_b", "src_a"), word)
    found = []
    for setting in (*FLOATS, INTEGERS):
        pool = partial(dot_pool, setting.style, setting.formats["srcb_format"], setting.dst32)
        given = f"mvmul_{setting.name}", wide, first
        found.append(Operation(*given, dot16, exact_dot16, pool, {"setting": setting}))
    rows = {**wide, "dst": Operand("u4", (2,))}
    found.append(
        Operation("mvmul_row_bf16_dst32", rows, Operand("u4", (2,)), row_broadcast, exact_row_broadcast, row_pool)
    )
    for name, golden, exact in (("elwmul", product, exact_product), ("elwadd", total, exact_total)):
        for setting in FLOATS[:2]:
            pool = partial(element_pool, setting.dst32)
            given = f"{name}_{setting.name}", narrow, first
            found.append(Operation(*given, golden, exact, pool, {"setting": setting}))
    found.append(Operation("pack_bf16", {"dst": word}, code, packed, exact_packed, pack_pool))
    old = {"dst": word, "l1": Operand("u2")}
    found.append(Operation("pack_l1_fp16", old, code, added, exact_added, l1_pool))
    block = {"exponent": Operand("u1"), "datums": Operand("u1", (BLOCK,))}
    for fmt in (Format.BFP8, Format.BFP8A):
        given = f"unpack_{fmt.name.lower()}", block, sources
        found.append(Operation(*given, unpacked, exact_unpacked, block_pool, {"fmt": fmt}))
    found.append(Operation("unpack_fp8", {"code": Operand("u1")}, first, unpacked_fp8, exact_unpacked_fp8, fp8_pool))
    return found


MATRIX_UNIT = Unit(
    name="Matrix unit",
    presets=tuple(declared.PRESETS.values()),
    operations=_operations(),
    values={"group": (4, 8, 16), "product_guard_bits": range(14)},
    left_out={
        "src_a_row_step": "it limits the rows at which an instruction may start and changes no value",
        "fp8_e4m3": "it admits a format and changes no value",
        "round_10b_fp16": "it admits a conversion and changes no value",
        "sfpu_round_to_zero": "it admits a rounding and changes no value",
        "tilise_wide_rows": "it orders datums and changes no value",
    }
    | dict.fromkeys(
        ("gmpool_fp16", "move_masking", "moves_follow_fp32", "moves_widen_exponent", "low_half_shows_stale"),
        "no operation here pools or moves rows",
    )
    | dict.fromkeys(
        (
            "stochastic_compare",
            "sfpstore_flush",
            "sfpabs_clears_infinity",
            "sfpu_reset_conditional",
            "sfpu_sign_magnitude",
        ),
        "the Vector unit is not probed",
    ),
)
