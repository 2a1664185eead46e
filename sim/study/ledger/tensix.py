"""Rows of Tensix: element-wise operations, unpacking and packing, and matrix products."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.encodings import GOLDEN_FIELDS, GOLDEN_THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST32_ROWS, FIDELITY_PHASES, Format
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE, TensixNumerics
from bitpath.golden.tensix.operands.registers import dst32_rows
from bitpath.sim.study.ledger.row import (
    Evidence,
    Finding,
    Prediction,
    Verdict,
    bf16_codes,
    bf16_values,
    decided,
    matrices,
    undecided,
)

# BF16 codes through Tensix: register words, element-wise operations on pairs, and packing.


BLOCK = BLOCK_ROWS * COLUMNS
OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "elwadd": tensix.elwadd,
    "elwsub": tensix.elwsub,
    "elwmul": tensix.elwmul,
}
FIDELITIES = {each.value: phases for each, phases in FIDELITY_PHASES.items()}
"""Phases by the name of a fidelity."""


def sources(codes: np.ndarray) -> np.ndarray:
    """Return the logical source words of BF16 codes."""
    return tensix.unpack(codes.astype("<u2").view(np.uint8), Format.BF16, Format.BF16, count=codes.size)


def on_pairs(
    operation: str,
    src_a: np.ndarray,
    src_b: np.ndarray,
    *,
    phases: Sequence[int] = FIDELITIES["HiFi4"],
    dst32: bool = False,
    numerics: TensixNumerics = WORMHOLE.numerics,
) -> np.ndarray:
    """Return the Dst words of an element-wise operation on BF16 codes [n], in style BF16 onto a zero Dst."""
    blocks = [
        sources(np.pad(each, (0, -each.size % BLOCK))).reshape(-1, BLOCK_ROWS, COLUMNS) for each in (src_a, src_b)
    ]
    dst = np.zeros(blocks[0].shape, np.uint32)
    options: list[dict[str, Any]] = [{"phase": phase} for phase in phases] if operation == "elwmul" else [{}]
    for each in options:
        call = OPERATIONS[operation]
        dst = call(dst, blocks[1], blocks[0], style="BF16", dst32=dst32, numerics=numerics, **each)
    return dst.reshape(-1)[: src_a.size]


def packed(dst: np.ndarray, mid: str, out: str, *, dst32: bool = True, raw: bool = False) -> np.ndarray:
    """Return the bytes that the packer writes for Dst words."""
    return tensix.pack(np.ascontiguousarray(dst, np.uint32), mid, out, dst32=dst32, raw=raw)


def fp32_words(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return FP32 codes of numbers, uint32."""
    return np.asarray(values, np.float32).view(np.uint32)


def block_codes(packed_bytes: np.ndarray, count: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return exponents [count / 16] and signed codes [count] of block floats with `bits` bits a datum in L1."""
    blocks = count // COLUMNS
    data = packed_bytes[-(-blocks // COLUMNS) * COLUMNS :]
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    fields = (data[:, np.newaxis] >> shifts & ((1 << bits) - 1)).reshape(-1)[:count].astype(np.int32)
    magnitude = fields & (1 << bits - 1) - 1
    return packed_bytes[:blocks].astype(np.int32), np.where(fields >> bits - 1, -magnitude, magnitude)


# Rows of Tensix' element-wise operations: single values and special values.


VALUES = "silicon_tensix_values.json"
INFINITY, MINUS_INFINITY, LARGEST = 0x7F80, 0xFF80, 0x7F7F
BELOW_HALF_A_UNIT = 0x7AFF
"""The largest BF16 number below half a unit of the largest one."""


def one(operation: str, src_a: int, src_b: int, **options: Any) -> int:
    """Return the Dst word of one pair of BF16 codes."""
    a, b = (np.array([code], np.uint16) for code in (src_a, src_b))
    return int(on_pairs(operation, a, b, **options)[0])


def number(operation: str, a: float, b: float, **options: Any) -> float:
    """Return the result of one pair of BF16 numbers."""
    word = one(operation, *map(int, bf16_codes([a, b])), **options)
    return float(bf16_values(np.array([word]))[0])


def bf16(word: int) -> str:
    """Return a BF16 code in hexadecimal."""
    return f"0x{word:04x}"


def x_plus_one(evidence: Evidence) -> Finding:
    """T1: sums that torch rounds to even."""
    row = evidence.rows(VALUES)["tt-metal#34664"]
    got = bf16_values(on_pairs("elwadd", bf16_codes(row["a"]), bf16_codes(row["b"])))
    equal = int(np.sum(got == np.float32(row["out"])))
    return decided(f"{equal} of {got.size}: {', '.join(map(str, got))}", tensix_wormhole=equal == got.size)


def overflow(evidence: Evidence) -> Finding:
    """T5: finite sums that become infinities, in both orders and signs."""
    pairs = [(LARGEST, BELOW_HALF_A_UNIT), (BELOW_HALF_A_UNIT, LARGEST)]
    got = [one("elwadd", a | sign, b | sign) for sign in (0, 0x8000) for a, b in pairs]
    agrees = got == [INFINITY, INFINITY, MINUS_INFINITY, MINUS_INFINITY]
    return decided(", ".join(map(bf16, got)), tensix_wormhole=agrees, tensix_blackhole=agrees)


def specials(evidence: Evidence) -> Finding:
    """T6: sums, differences and HiFi4 products of infinities."""
    stated = evidence.rows(VALUES)["tt-metal#52141"]["cases"]
    cases = [(name, *(int(word, 16) for word in words)) for name, *words in stated]
    cases += [("elwmul", INFINITY, 0, 0), ("elwmul", INFINITY, 0x4000, INFINITY)]
    equal = {
        name: sum(one(operation, a, b, numerics=PRESETS[name].numerics) == word for operation, a, b, word in cases)
        for name in ("tensix_blackhole", "tensix_wormhole")
    }
    return decided(
        f"{equal['tensix_blackhole']} of {len(cases)}", **{name: count == len(cases) for name, count in equal.items()}
    )


def infinity_squared(evidence: Evidence) -> Finding:
    """T7: inf * inf by fidelity, under the presets and with the one field that decides it."""
    models = {name: each.numerics for name, each in PRESETS.items()}
    models["empty_terms_in_maximum off"] = replace(WORMHOLE.numerics, empty_terms_in_maximum=False)
    predictions = [
        Prediction(
            experiment=f"ELWMUL 0x7f80 * 0x7f80 in {fidelity}, 16-bit Dst",
            gives={
                name: bf16(one("elwmul", INFINITY, INFINITY, phases=phases, numerics=numerics))
                for name, numerics in models.items()
            },
        )
        for fidelity, phases in FIDELITIES.items()
    ]
    words = ", ".join(each.gives["tensix_wormhole"] for each in predictions)
    return undecided(f"{words} in {', '.join(FIDELITIES)}", "tensix_wormhole", *predictions)


def two_fidelities(evidence: Evidence) -> Finding:
    """T8: one product in HiFi2 and HiFi4."""
    cases = evidence.rows(VALUES)["tt-metal#12923"]["cases"]
    got = []
    for src_a, src_b, fidelity, _ in cases:
        a, b = (float(each.split()[1]) for each in (src_a, src_b))
        got.append(number("elwmul", a, b, phases=FIDELITIES[fidelity]))
    return decided(
        ", ".join(f"{value} in {case[2]}" for value, case in zip(got, cases, strict=True)),
        tensix_wormhole=got == [case[3] for case in cases],
    )


def two_products(evidence: Evidence) -> Finding:
    """T9: both operand orders."""
    got = {b: {number("elwmul", *pair) for pair in ((-3.640625, b), (b, -3.640625))} for b in (0.298828125, 0.30078125)}
    shown = ", ".join(str(value) for each in got.values() for value in each)
    return decided(shown, tensix_wormhole=list(got.values()) == [{-1.09375}, {-1.1015625}])


def integers(evidence: Evidence) -> Finding:
    """T10: 508 * 748, whose nearest BF16 number is 380928."""
    got = number("elwmul", 508, 748)
    return decided(f"508 * 748 = {got:.0f}", tensix_wormhole=got == 378880)


def rounded_twice(evidence: Evidence) -> Finding:
    """T11: every sum of 1.m and a smaller number of 1 to 12 binades below: rounded to 10 fraction bits, then to 7."""
    codes = np.arange(0x3F80, 0x4000, dtype=np.uint16)
    compared = equal = 0
    for distance in range(1, 13):
        a, b = (each.ravel() for each in np.meshgrid(codes, codes - np.uint16(distance << 7)))
        units = [_integers(each) for each in (a, b)]
        # Units of 2**-(7 + distance); both steps round magnitudes to nearest, ties away from zero. The first rounds the addend.
        first = _shifted_away(units[1], max(distance - 3, 0)) + (units[0] << min(distance, 3))
        expected = _shifted_away(first, min(distance, 3))
        expected = np.where(expected >= 256, _shifted_away(first, min(distance, 3) + 1) << 1, expected)
        got = bf16_values(on_pairs("elwadd", a, b)).astype(np.float64) * 128
        compared, equal = compared + a.size, equal + int(np.sum(got == expected))
    return decided(f"{equal:,} of {compared:,} sums equal the two roundings", tensix_wormhole=equal == compared)


def zero_flag(evidence: Evidence) -> Finding:
    """T21: x of all patterns with exponent fields 1 to 11, and of two fields above, plus a zero whose flag is disabled."""
    positive = np.arange(1 << 7, 14 << 7, dtype=np.uint16)
    codes = np.concatenate([positive, positive | 0x8000])
    x, field = bf16_values(codes).astype(np.float64), codes >> 7 & 0xFF
    # The zero counts as 2**-127, and is rounded to 10 fraction bits of x, ties away from zero.
    addend = np.select([field < 11, field == 11], [2.0**-127, 2.0**-126], 0.0)
    exact = np.where(np.abs(x + addend) < 2.0**-126, 0, x + addend)
    counts = {}
    for name in ("tensix_wormhole", "tensix_blackhole"):
        numerics = replace(PRESETS[name].numerics, zero_flag_disabled=True)
        got = on_pairs("elwadd", codes, np.zeros_like(codes), dst32=True, numerics=numerics).view(np.float32)
        counts[name] = [int(np.sum((got == exact)[part])) for part in (field < 12, field >= 12)]
    sizes = [int(np.sum(part)) for part in (field < 12, field >= 12)]
    (inside, above), (patterns, others) = counts["tensix_wormhole"], sizes
    text = f"{inside:,} of {patterns:,} patterns of the window, {above} of {others} above it"
    return decided(text, **{name: each == sizes for name, each in counts.items()})


def _integers(codes: np.ndarray) -> np.ndarray:
    return (codes.astype(np.int64) & 0x7F) + 128


def _shifted_away(value: np.ndarray, bits: int) -> np.ndarray:
    return value + (1 << bits >> 1) >> bits


# Rows of Tensix' unpackers and packers.


COUNT = 1 << 16
"""Random values of a statistic."""


def normal(scale: float = 1.0) -> np.ndarray:
    """Return random BF16 numbers of a normal distribution, float32 [COUNT], always the same."""
    numbers = np.random.Generator(np.random.PCG64(31)).standard_normal(COUNT) * scale
    return bf16_values(bf16_codes(numbers))


def bf16_pack(words: np.ndarray, **options: bool) -> np.ndarray:
    """Return the BF16 codes that the packer makes of Dst words, uint16."""
    return packed(words, "BF16", "BF16", **options).view("<u2")


def above_half_a_unit(evidence: Evidence) -> Finding:
    """Row T14 of the ledger."""
    row = evidence.rows(VALUES)["tt-metal#17018"]
    got = bf16_values(bf16_pack(fp32_words(row["dst"]))).tolist()
    return decided(f"{got[0]}", tensix_wormhole=got == row["l1"])


def half_way_integers(evidence: Evidence) -> Finding:
    """T15: all half-way integers of the binade from 256 to 512, both signs."""
    odd = np.arange(257, 512, 2, dtype=np.float32)
    got = bf16_values(bf16_pack(fp32_words([*odd, *-odd])))
    equal = int(np.sum(got == np.array([*(odd + 1), *(-odd - 1)])))
    return decided(f"{equal} of {got.size} go away from zero", tensix_wormhole=equal == got.size)


def fp16_overflow(evidence: Evidence) -> Finding:
    """Row T16 of the ledger."""
    row = evidence.rows(VALUES)["tt-metal#57215"]
    got = packed(fp32_words(row["dst"]), row["mid"], row["out"]).view("<f2")
    equal = int(np.sum((got == (expected := np.array(row["l1"], np.float16))) | np.isnan(got) & np.isnan(expected)))
    return decided(f"{equal} of {got.size}", tensix_wormhole=equal == got.size)


def sign_magnitude(evidence: Evidence) -> Finding:
    """T17: bytes of two's complement in, and the bytes that come out read as two's complement."""
    cases = [
        (1, 2, 3),
        (-1, -2, -1),
        (10, -3, -13),
        (3, -10, -13),
        (5, 3, 8),
        (-5, -3, -1),
        (5, -3, -8),
        (-5, 3, -8),
        (10, -10, -20),
    ]
    columns = np.array(cases, np.int8).T
    words = []
    for side in columns[:2]:
        data = np.zeros(BLOCK, np.int8)
        data[: side.size] = side
        words.append(
            tensix.unpack(data.view(np.uint8), Format.INT8, Format.INT8, count=BLOCK).reshape(BLOCK_ROWS, COLUMNS)
        )
    dst = tensix.elwadd(np.zeros_like(words[0]), words[1], words[0], style="INT8", dst32=True)
    got = packed(dst, "INT8", "INT8").reshape(-1)[: len(cases)].view(np.int8)
    equal = int(np.sum(got == columns[2]))
    return decided(f"{equal} of {len(cases)}: {', '.join(map(str, got))}", tensix_wormhole=equal == len(cases))


def bfp4_twice(evidence: Evidence) -> Finding:
    """T18: BFP4 from BF16 by way of BFP8, beside one rounding to nearest even."""
    block = np.zeros(COLUMNS, np.float32)
    block[:3] = 1.375, 1.6875, 1.2421875
    _, codes = block_codes(packed(fp32_words(block), "BFP8", "BFP4"), COLUMNS, 4)
    numbers = normal(3.0)
    exponents, twice = block_codes(packed(fp32_words(numbers), "BFP8", "BFP4"), COUNT, 4)
    once = np.clip(np.rint(numbers / np.exp2(exponents.repeat(COLUMNS) - 129.0)), -7, 7)
    differ = float(np.mean(twice != once))
    return decided(
        f"codes {', '.join(map(str, codes[:3]))}; {100 * differ:.1f} % of {COUNT:,} values differ",
        tensix_wormhole=codes[:3].tolist() == [5, 6, 5] and abs(differ - 0.42) < 0.02,
    )


def bfp8_errors(evidence: Evidence) -> Finding:
    """T19: mean and largest error of BF16 to BFP8 by way of BFP8 and by way of BF16."""
    numbers = normal()
    errors = []
    for mid in ("BFP8", "BF16"):
        exponents, codes = block_codes(packed(fp32_words(numbers), mid, "BFP8"), COUNT, 8)
        errors.append(np.abs(codes * np.exp2(exponents.repeat(COLUMNS) - 133.0) - numbers))
    (mean, most), ratio = (
        zip(*((each.mean(), each.max()) for each in errors), strict=True),
        errors[0].mean() / errors[1].mean(),
    )
    return decided(
        f"{ratio:.3f}: means {mean[0]:.3e} and {mean[1]:.3e}, largest {most[0]:.3e} and {most[1]:.3e}, for N(0, 1)",
        tensix_blackhole=abs(ratio - 1.18) < 0.01,
    )


def bf16_to_bf16(evidence: Evidence) -> Finding:
    """T20: all 65,536 codes, rounded and raw."""
    codes = np.arange(COUNT, dtype=np.uint32)
    got, raw = (bf16_pack(codes, dst32=False, raw=raw) for raw in (False, True))
    zero, nan = codes & 0x7F80 == 0, codes & 0x7FFF > 0x7F80
    expected = np.where(zero, 0, np.where(nan, codes & 0xFF80, codes))
    equal = int(np.sum(got == expected)), int(np.sum(raw == codes))
    agrees = equal == (COUNT, COUNT)
    return decided(
        f"{equal[0]:,} rounded and {equal[1]:,} raw of {COUNT:,}", tensix_wormhole=agrees, tensix_blackhole=agrees
    )


def tf32_truncates(evidence: Evidence) -> Finding:
    """T22: random FP32 numbers, and all integers within 512 of 1,000,000."""
    words = fp32_words([*normal(1e3), *np.arange(999936, 1000448)])
    got = tensix.unpack(words, Format.FP32, Format.TF32, count=words.size)
    equal = int(np.sum(got == words >> 13))
    collapsed = np.unique(got[COUNT:]).size
    return decided(
        f"{equal:,} of {got.size:,} are truncated; 512 integers at 1e6 give {collapsed} word",
        tensix_wormhole=equal == got.size and collapsed == 1,
    )


def bf16_ties(evidence: Evidence) -> Finding:
    """T32: every tie between two finite BF16 numbers."""
    low = np.arange(0x0080, 0x7F7F, dtype=np.uint32)
    words = np.concatenate([low, low | 0x8000])
    got = bf16_pack(words << 16 | 0x8000)
    equal = int(np.sum(got == words + 1))
    return decided(
        f"{equal:,} of {got.size:,} ties go away from zero",
        tensix_wormhole=equal == got.size,
        tensix_blackhole=equal == got.size,
    )


def bfp8_twice(evidence: Evidence) -> Finding:
    """T33: BFP8 by way of BFP8 equals rounding to 6 fraction bits and then to the block's last place."""
    numbers = normal()
    exponents, codes = block_codes(packed(fp32_words(numbers), "BFP8", "BFP8"), COUNT, 8)
    own = np.floor(np.log2(np.maximum(np.abs(numbers), 2.0**-126)))
    first = _rounded_away(numbers / np.exp2(own - 6)) * np.exp2(own - 6)
    twice, once = (
        np.clip(_rounded_away(each / np.exp2(exponents.repeat(COLUMNS) - 133.0)), -127, 127)
        for each in (first, numbers)
    )
    equal, differ = int(np.sum(codes == twice)), int(np.sum(codes != once))
    return decided(
        f"{equal:,} of {COUNT:,} equal two roundings; {differ:,} differ from one",
        tensix_wormhole=equal == COUNT and differ > 0,
    )


def _rounded_away(value: np.ndarray) -> np.ndarray:
    """Round float64 to integers, ties away from zero."""
    return np.trunc(value + np.copysign(0.5, value))


def reduced(evidence: Evidence) -> Finding:
    """T34: the packing alone."""
    words = fp32_words([4.998046875])
    gives = {mid: f"{bf16_values(packed(words, mid, 'BF16').view('<u2'))[0]}" for mid in ("FP32", "BF16")}
    golden = ", ".join(f"{value} by way of {mid}" for mid, value in gives.items())
    return Finding(golden=golden, verdicts={"tensix_wormhole": Verdict.NOT_EXPRESSIBLE})


def fp16_subnormals(evidence: Evidence) -> Finding:
    """T36: what golden keeps of FP16 subnormals."""
    codes = np.array([0x0001, 0x0200, 0x03FF, 0x8001] + [0] * 12, "<u2")
    got = tensix.unpack(codes.view(np.uint8), Format.FP16, Format.FP16, count=codes.size)
    predictions = [
        Prediction(experiment=f"unpack FP16 0x{code:04x} to SrcA", gives={"tensix_wormhole": f"0x{word:05x}"})
        for code, word in zip(codes[:4].tolist(), got[:4].tolist(), strict=True)
    ]
    return undecided(
        "the unpacker keeps the bits, and the Matrix unit reads exponent 0 as zero", "tensix_wormhole", *predictions
    )


# Rows of Tensix' matrix products.


PRESET = "tensix_wormhole"
STATISTICS = "silicon_statistics.json"
SIZE = 64
"""Rows and columns of the results that stand for larger ones."""


def product(a: np.ndarray, b: np.ndarray, fidelity: str, *, dst32: bool = True) -> np.ndarray:
    """Return the product as the packer writes it in BF16, float32."""
    return bf16_values(bf16_pack(fp32_words(tensix.matmul(a, b, fidelity=fidelity, dst32=dst32)))).reshape(len(a), -1)


def minus_one(evidence: Evidence) -> Finding:
    """T12: the sum that triggers Wormhole's bug."""
    dst = np.full((BLOCK_ROWS, COLUMNS), 0xBF800001, np.uint32)
    src = np.zeros((2, COLUMNS, COLUMNS), np.uint16)
    src[0, 0, 0] = src[1, 0, 0] = 0x3F80
    b, a = (sources(each.ravel()).reshape(COLUMNS, COLUMNS) for each in src)
    gives = {}
    for name, preset in PRESETS.items():
        word = tensix.mvmul(dst, b[:BLOCK_ROWS], a, style="BF16", dst32=True, phase=0, numerics=preset.numerics)[0, 0]
        gives[name] = f"0x{word:08x}"
    experiment = "MVMUL 1 * 1 in phase 0 onto the FP32 Dst word 0xbf800001"
    return undecided(
        f"{gives[PRESET]} = -16 where the exact sum is -2**-23",
        PRESET,
        Prediction(experiment=experiment, gives=gives),
    )


def wrong_values(evidence: Evidence) -> Finding:
    """T13: errors of a product of the stated shape."""
    a, b = matrices(128, 384, 1024)
    exact = a.astype(np.float64) @ b
    most = [np.abs(tensix.matmul(a, b, fidelity=each) - exact).max() for each in ("HiFi3", "HiFi4")]
    return undecided(f"largest error {most[0]:.3f} in HiFi3, {most[1]:.3f} in HiFi4, of {exact.size:,} outputs", PRESET)


def conv1d(evidence: Evidence) -> Finding:
    """T23: relative L2 error by reduction length, products of N(0, 1) for the convolution."""
    stated = evidence.rows(STATISTICS)["tt-xla#6009"]["rel_l2"]
    found, worst = [], 0.0
    for length, norm in stated.items():
        a, b = matrices(SIZE, int(length), SIZE)
        exact = a.astype(np.float64) @ b
        error = np.linalg.norm(tensix.matmul(a, b, dst32=False) - exact) / np.linalg.norm(exact)
        found.append(f"{length}: {error:.5f}")
        worst = max(worst, abs(error / norm - 1))
    return decided(f"{', '.join(found)}; at most {100 * worst:.1f} % away", tensix_wormhole=worst < 0.07)


def lofi_and_hifi2(evidence: Evidence) -> Finding:
    """T24: outputs that differ, K = 4096."""
    a, b = matrices(SIZE, 4096, SIZE)
    differ = 100 * float(np.mean(product(a, b, "LoFi") != product(a, b, "HiFi2")))
    return decided(f"{differ:.1f} % of {SIZE * SIZE:,} outputs", tensix_blackhole=94 < differ < 97)


def hifi2_and_hifi4(evidence: Evidence) -> Finding:
    """T25: largest difference by K, N(0, 1) and uniform."""
    found = []
    for depth in (512, 1024, 2048, 4096):
        most = []
        for uniform in (False, True):
            a, b = matrices(SIZE, depth, SIZE, uniform=uniform)
            most.append(np.abs(product(a, b, "HiFi2") - product(a, b, "HiFi4")).max())
        found.append(f"{depth}: {most[0]} and {most[1]}")
    return undecided(f"{', '.join(found)} for N(0, 1) and uniform inputs", PRESET)


def uniform_products(evidence: Evidence) -> Finding:
    """T26: distance from the product rounded to nearest even, in BF16 codes, for two shapes."""
    found = []
    for shape in ((256, 1024, 256), (1024, 256, 32)):
        a, b = matrices(*shape, uniform=True)
        nearest = bf16_codes(a.astype(np.float64) @ b).astype(np.int64)
        for fidelity in ("HiFi2", "HiFi4"):
            ulp = np.abs(bf16_codes(product(a, b, fidelity)).astype(np.int64) - nearest)
            found.append(f"{ulp.mean():.3f} in {fidelity} at K = {shape[1]} (largest {ulp.max()})")
    return undecided(", ".join(found), PRESET)


def long_product(evidence: Evidence) -> Finding:
    """T27: errors of 32 of the columns, onto a 16-bit Dst."""
    found = []
    for uniform in (False, True):
        a, b = matrices(1, 21843, 32, uniform=uniform)
        error = np.abs(tensix.matmul(a, b, dst32=False) - a.astype(np.float64) @ b)
        found.append(f"largest {error.max():.0f}, mean {error.mean():.0f}")
    return undecided(f"{found[0]} for N(0, 1), {found[1]} for uniform inputs", PRESET)


def deep_product(evidence: Evidence) -> Finding:
    """T11b: correlation with the exact product by the way of the partial sums, N(0, 1)."""
    a, b = matrices(32, 128256, COLUMNS)
    exact, right = a.astype(np.float64) @ b, tensix.prepare(b[np.newaxis])
    ways = (("spill_tf32", 32), ("spill_tf32", 64), ("spill_fp32", 64))
    found = []
    for partials, block_k in ways:
        got = tensix.multiply(a[np.newaxis], right, partials=partials, block_k=block_k)[0]
        found.append(float(np.corrcoef(exact.reshape(-1), got.reshape(-1))[0, 1]))
    one, two, whole = found
    golden = f"{one:.3f} and {two:.3f} with TF32 in blocks of 1 and 2 tiles, {whole:.5f} with FP32 written to Dst"
    return undecided(golden, PRESET)


def integer_product(evidence: Evidence) -> Finding:
    """T28: INT8 products in HiFi4 and in LoFi."""
    rng = np.random.Generator(np.random.PCG64(31))
    a, b = (rng.integers(-127, 128, shape, np.int8) for shape in ((SIZE, 256), (256, SIZE)))
    exact = a.astype(np.int64) @ b.astype(np.int64)
    most = [int(np.abs(tensix.matmul(a, b, format="int8", fidelity=each) - exact).max()) for each in ("HiFi4", "LoFi")]
    return undecided(f"largest difference {most[0]} in HiFi4, {most[1]:,} in LoFi, K = 256", PRESET)


def lofi_masks(evidence: Evidence) -> Finding:
    """T29: every pair of significands; the product of the masked operands is exact in FP32."""
    a, b = _significands()
    got = on_pairs("elwmul", a, b, phases=FIDELITIES["LoFi"], dst32=True).view(np.float32)
    equal = int(np.sum(got == bf16_values(a & 0xFFF8) * bf16_values(b & 0xFFFE)))
    return decided(f"{equal:,} of {got.size:,}", tensix_blackhole=equal == got.size, tensix_wormhole=equal == got.size)


def pieces(evidence: Evidence) -> Finding:
    """T30: each phase by itself multiplies one piece of each significand; every pair of BF16 significands."""
    a, b = _significands()
    high_a, high_b = (bf16_values(each & mask) for each, mask in ((a, 0xFFF8), (b, 0xFFFE)))
    parts_a, parts_b = (high_a, bf16_values(a) - high_a), (high_b, bf16_values(b) - high_b)
    equal, compared = 0, 0
    for phase, (first, second) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
        got = on_pairs("elwmul", a, b, phases=(phase,), dst32=True).view(np.float32)
        equal += int(np.sum(got == parts_a[first] * parts_b[second]))
        compared += got.size
    return decided(f"{equal:,} of {compared:,} products of pieces", tensix_wormhole=equal == compared)


def _significands() -> Iterator[np.ndarray]:
    codes = np.arange(0x3F80, 0x4000, dtype=np.uint16)
    return (each.ravel() for each in np.meshgrid(codes, codes))


def bf16_by_bfp4(evidence: Evidence) -> Finding:
    """T31: SrcA from BFP4 has three significand bits, all in its upper piece."""
    left, right = matrices(BLOCK_ROWS, COLUMNS, COLUMNS)
    datums = packed(right.view(np.uint32).ravel(), "BF16", "BFP4")
    a = tensix.unpack(datums, Format.BFP4, Format.BFP4, count=right.size).reshape(right.shape)
    b = sources(bf16_codes(left).ravel()).reshape(left.shape)
    results = {}
    for name, phases in FIDELITIES.items():
        dst = np.zeros(left.shape, np.uint32)
        for phase in phases:
            dst = tensix.mvmul(dst, b, a, style="BF16", dst32=True, phase=phase, srca_format="BFP4")
        results[name] = dst
    low, high = (np.array_equal(results[x], results[y]) for x, y in (("LoFi", "HiFi2"), ("HiFi3", "HiFi4")))
    return decided(f"LoFi equals HiFi2: {_yes(low)}; HiFi3 equals HiFi4: {_yes(high)}", tensix_wormhole=low and high)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def implied_format(evidence: Evidence) -> Finding:
    """Row T35 of the ledger."""
    return Finding(
        golden="an instruction names the formats of both sources",
        verdicts={"tensix_blackhole": Verdict.NOT_EXPRESSIBLE},
    )


def throttled(evidence: Evidence) -> Finding:
    """Row T37 of the ledger."""
    return Finding(
        golden="golden has instructions, not the kernel library's loops",
        verdicts={"tensix_blackhole": Verdict.NOT_EXPRESSIBLE},
    )


# Rows of programs on a core: rows of Dst that are cleared, moved and copied from L1.


CORE_L1 = 1 << 14
FACE_ROWS = 16


def core_of(chip: str, program: str, **fields: int) -> tensix.Core:
    """Return a core whose Matrix unit owns both sources, after a program of thread 1 with fields of the configuration."""
    core = tensix.Core(chip, l1_bytes=CORE_L1)
    for source in (core.state.src_a, core.state.src_b):
        source.hand_over(int(Format.BF16))
    own = GOLDEN_THREAD_FIELDS[core.chip]
    for name, value in fields.items():
        place = (own if name in own else GOLDEN_FIELDS[core.chip])[name][0]
        if name in own:
            core.config.write_thread(1, place.register, value << place.low)
        else:
            core.config.write(1, place.register, value << place.low, place.mask)
    core.dst[:], core.dst_defined[:] = 0x3F80, True
    core.push(1, tensix.isa.assemble(program, chip=chip))
    return core


def cleared_faces(evidence: Evidence) -> Finding:
    """T38: the 32-bit rows of tile 1 of either half that ZEROACCs of its four faces make undefined, in both widths."""
    found = []
    for wide in (0, 1):
        for first in (0, 256):
            faces = range(first // FACE_ROWS + 4, first // FACE_ROWS + 8) if wide else range(4, 8)
            core = core_of("wormhole", "\n".join(f"ZEROACC mode=1, dst32={wide}, operand={face}" for face in faces))
            core.run()
            rows = np.array([core.dst_defined[dst32_rows(row)[0]] for row in range(DST32_ROWS)])
            cleared = np.flatnonzero(~rows)
            found.append((cleared.min(), cleared.max() + 1, cleared.size))
    expected = [(32, 64, 32), (32, 64, 32), (64, 128, 64), (320, 384, 64)]
    shown = "; ".join(f"{size} rows from {low} on" for low, _, size in found)
    return decided(f"even and odd half, in 16 bits and in 32 bits: {shown}", tensix_wormhole=found == expected)


def copied_partials(evidence: Evidence) -> Finding:
    """T39: FP32 partial sums from L1 to Dst, by way of SrcA and straight."""
    words = fp32_words(np.random.Generator(np.random.PCG64(31)).standard_normal(COUNT))
    by_src_a = tensix.unpack(words, Format.FP32, Format.TF32, count=COUNT) << 13
    straight = tensix.unpack_to_dst(words, Format.FP32, Format.FP32, count=COUNT)
    lost, kept = int(np.sum(by_src_a != words)), int(np.sum(straight == words))
    agrees = np.array_equal(by_src_a, words & 0xFFFFE000) and kept == COUNT and lost > 0.99 * COUNT
    return decided(f"{lost:,} of {COUNT:,} lose bits by way of SrcA, {COUNT - kept} straight", tensix_wormhole=agrees)


def smallest_integer(evidence: Evidence) -> Finding:
    """T40: the word of INT32_MIN plus zero, and plus one, in Dst."""
    dst = np.full((BLOCK_ROWS, COLUMNS), 1 << 31, np.uint32)
    zero, one_word = np.zeros_like(dst), np.full_like(dst, 1 << 14 | 1)
    sums = [int(tensix.elwadd(dst, zero, each, style="INT8", dst32=True)[0, 0]) for each in (zero, one_word)]
    shown = ", ".join(map(str, sums))
    return decided(
        f"0x80000000 + 0 and + 1 are {shown}", tensix_wormhole=sums == [0, 1], tensix_blackhole=sums == [0, 1]
    )


def stale_half(evidence: Evidence) -> Finding:
    """T41: MOVA2D to the low half of a row that ZEROACC has cleared."""
    words = {}
    for chip in ("blackhole", "wormhole"):
        implied = {"implied_src_a_disabled": 1} if chip == "blackhole" else {}
        core = core_of(chip, "ZEROACC mode=3\nMOVA2D low_half=1", src_a_format=5, **implied)
        core.dst[0], core.src_a[0, 0] = 0xABCD, 0x1FC00
        core.run()
        words[f"tensix_{chip}"] = f"0x{core.dst[0, 0]:04x}{core.dst[8, 0]:04x}"
    shown = ", ".join(f"{name} {word}" for name, word in words.items())
    return decided(shown, tensix_blackhole=words["tensix_blackhole"] == "0xabcd007f")


def override_of_src_b(evidence: Evidence) -> Finding:
    """T42: MOVB2D of a word with all fraction bits under SrcA's override TF32, for SrcB's formats BF16 and TF32."""
    kept = {}
    for name in ("tensix_wormhole", "tensix_wormhole_documented"):
        words = []
        for src_b_format in (Format.BF16, Format.TF32):
            program = "MOVB2D"
            overrides = {"src_a_override": 1, "src_a_value": int(Format.TF32), "src_b_override": 1}
            core = core_of(
                "wormhole", program, src_a_format=5, src_b_format=5, **overrides, src_b_value=int(src_b_format)
            )
            core.state.numerics = PRESETS[name].numerics
            core.src_b[0, 0] = 0x1FFFF
            core.run()
            words.append((int(core.dst[0, 0]) << 16 | int(core.dst[8, 0])) >> 13 & 7)
        kept[name] = words
    shown = "; ".join(f"{name}: {words[0]:03b} with BF16, {words[1]:03b} with TF32" for name, words in kept.items())
    return decided(f"low fraction bits in {shown}", **{name: words == [0, 7] for name, words in kept.items()})


def trailing_unpack(evidence: Evidence) -> Finding:
    """T43: an UNPACR of FP32 to SrcA after unpacking to Dst, with and without zeros in place of datums."""
    outcomes = []
    fields = {"l1_format": 0, "unpack_out_format": 0, "uncompressed": 1, "x_dim": 16, "y_dim": 1, "context_x_dim": 16}
    for zero in (1, 0):
        program = f"SETADCXX units=1, end=15\nCLEARDVALID reset=1\nUNPACR multi_context=1, adc=1, zero={zero}"
        core = core_of("wormhole", program, **fields, base_address=15, dst_address=64)
        core.src_a[:] = 0x1FC00
        try:
            core.run()
            outcomes.append("zeros" if not core.src_a[0, 0].any() else "datums")
        except tensix.UndefinedBehavior:
            outcomes.append("refused")
    return decided(
        f"{outcomes[0]} with AllDatumsAreZero, {outcomes[1]} without", tensix_wormhole=outcomes == ["zeros", "refused"]
    )
