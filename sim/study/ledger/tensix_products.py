"""Rows of Tensix' matrix products."""

from collections.abc import Iterator

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Format
from bitpath.golden.tensix.declarations.numerics import PRESETS
from bitpath.sim.study.ledger.evidence import Evidence
from bitpath.sim.study.ledger.operands import bf16_codes, bf16_values, matrices
from bitpath.sim.study.ledger.row import Finding, Prediction, Verdict, decided, undecided
from bitpath.sim.study.ledger.tensix_packing import bf16_pack
from bitpath.sim.study.ledger.tensix_words import FIDELITIES, fp32_words, on_pairs, packed, sources

WORMHOLE = "tensix_wormhole"
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
        f"{gives[WORMHOLE]} = -16 where the exact sum is -2**-23",
        WORMHOLE,
        Prediction(experiment=experiment, gives=gives),
    )


def wrong_values(evidence: Evidence) -> Finding:
    """T13: errors of a product of the stated shape."""
    a, b = matrices(128, 384, 1024)
    exact = a.astype(np.float64) @ b
    most = [np.abs(tensix.matmul(a, b, fidelity=each) - exact).max() for each in ("HiFi3", "HiFi4")]
    return undecided(
        f"largest error {most[0]:.3f} in HiFi3, {most[1]:.3f} in HiFi4, of {exact.size:,} outputs", WORMHOLE
    )


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
    return undecided(f"{', '.join(found)} for N(0, 1) and uniform inputs", WORMHOLE)


def uniform_products(evidence: Evidence) -> Finding:
    """T26: distance from the product rounded to nearest even, in BF16 codes, for two shapes."""
    found = []
    for shape in ((256, 1024, 256), (1024, 256, 32)):
        a, b = matrices(*shape, uniform=True)
        nearest = bf16_codes(a.astype(np.float64) @ b).astype(np.int64)
        for fidelity in ("HiFi2", "HiFi4"):
            ulp = np.abs(bf16_codes(product(a, b, fidelity)).astype(np.int64) - nearest)
            found.append(f"{ulp.mean():.3f} in {fidelity} at K = {shape[1]} (largest {ulp.max()})")
    return undecided(", ".join(found), WORMHOLE)


def long_product(evidence: Evidence) -> Finding:
    """T27: errors of 32 of the columns, onto a 16-bit Dst."""
    found = []
    for uniform in (False, True):
        a, b = matrices(1, 21843, 32, uniform=uniform)
        error = np.abs(tensix.matmul(a, b, dst32=False) - a.astype(np.float64) @ b)
        found.append(f"largest {error.max():.0f}, mean {error.mean():.0f}")
    return undecided(f"{found[0]} for N(0, 1), {found[1]} for uniform inputs", WORMHOLE)


def integer_product(evidence: Evidence) -> Finding:
    """T28: INT8 products in HiFi4 and in LoFi."""
    rng = np.random.Generator(np.random.PCG64(31))
    a, b = (rng.integers(-127, 128, shape, np.int8) for shape in ((SIZE, 256), (256, SIZE)))
    exact = a.astype(np.int64) @ b.astype(np.int64)
    most = [int(np.abs(tensix.matmul(a, b, fmt="int8", fidelity=each) - exact).max()) for each in ("HiFi4", "LoFi")]
    return undecided(f"largest difference {most[0]} in HiFi4, {most[1]:,} in LoFi, K = 256", WORMHOLE)


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
    """T35."""
    return Finding(
        golden="an instruction names the formats of both sources",
        verdicts={"tensix_blackhole": Verdict.NOT_EXPRESSIBLE},
    )


def throttled(evidence: Evidence) -> Finding:
    """T37."""
    return Finding(
        golden="golden has instructions, not the kernel library's loops",
        verdicts={"tensix_blackhole": Verdict.NOT_EXPRESSIBLE},
    )
