"""Rows of AMD: products, conversions and matmuls on XDNA2 and AIE2."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import CONTROL_REGISTERS
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS, AieNumerics
from bitpath.sim.study.ledger.row import (
    AbsentEvidenceError,
    Evidence,
    Finding,
    Prediction,
    Verdict,
    decided,
    matrices,
    undecided,
)

# Chains of bfp16ebs8 products on XDNA2: operands, golden's chain, and the measurers' FP32 chain.


FORMAT = BFP16EBS8.name
XDNA2, AIE_ML_V2 = "xdna2_bfp16ebs8", "aie_ml_v2"
BLOCK = 8
"""Elements of a block, and products of a chunk."""
BIAS = 133
"""An element is code * 2**(exponent - BIAS)."""
Product = tuple[int, int]
"""A chunk of one product: m * 2**q as (m, q)."""


@dataclass(frozen=True, eq=False)
class Operand:
    """Rows of chunks: codes int8 [chunks, rows, 8] and exponent bytes uint8 [chunks, rows]."""

    codes: np.ndarray
    exponents: np.ndarray

    def blocks(self, chunk: int) -> aie.MxBlocks:
        """Return a chunk's blocks, one for each row: [rows, 1]."""
        exponent = self.exponents[chunk][:, np.newaxis]
        return aie.MxBlocks(BFP16EBS8, exponent, np.zeros_like(exponent), self.codes[chunk][:, np.newaxis])

    @property
    def values(self) -> np.ndarray:
        """The elements' numbers, float64 [chunks, rows, 8]."""
        return np.ldexp(self.codes.astype(np.float64), self.exponents[..., np.newaxis].astype(int) - BIAS)


def golden_chain(a: Operand, b: Operand, numerics: AieNumerics = PRESETS[XDNA2].numerics) -> np.ndarray:
    """Return golden's FP32 accumulators, uint32 [rows of a, rows of b], after all chunks in order."""
    acc: Any = None
    for chunk in range(len(a.codes)):
        left, right = a.blocks(chunk)[:, np.newaxis], b.blocks(chunk)[np.newaxis]
        acc = aie.fused_dot(left, right, acc, format=FORMAT, numerics=numerics)
    return acc.view(np.uint32)


def rounded_chain(a: Operand, b: Operand) -> np.ndarray:
    """Return the chain that rounds each sum to FP32, nearest even. Sums of eight products and an FP32 number fit float64."""
    acc = np.zeros((a.codes.shape[1], b.codes.shape[1]), np.float32)
    for left, right in zip(a.values, b.values, strict=True):
        acc = (acc + left @ right.T).astype(np.float32)
    return acc.view(np.uint32)


def rounded_once(a: Operand, b: Operand) -> np.ndarray:
    """Return the sum of all products, rounded to FP32 at the end."""
    return np.einsum("cik,cjk->ij", a.values, b.values).astype(np.float32).view(np.uint32)


def chunks(*parts: Sequence[tuple[int, int, int, int]]) -> tuple[Operand, Operand]:
    """Return one lane's operands: for each chunk its products (a, ea, b, eb) of one pair of exponents."""
    codes, exponents = np.zeros((2, len(parts), 1, BLOCK), np.int8), np.zeros((2, len(parts), 1), np.uint8)
    for chunk, products in enumerate(parts):
        for place, (a, ea, b, eb) in enumerate(products):
            codes[:, chunk, 0, place] = a, b
            exponents[:, chunk, 0] = ea, eb
    return Operand(codes[0], exponents[0]), Operand(codes[1], exponents[1])


def lane(products: Iterable[Product | Sequence[Product]], numerics: AieNumerics = PRESETS[XDNA2].numerics) -> int:
    """Return golden's FP32 code of a chain of chunks, each a product (m, q) or a list of products with one q."""
    parts = []
    for each in products:
        pairs = [each] if isinstance(each, tuple) else each
        parts.append([_factors(m, q) for m, q in pairs])
    return int(golden_chain(*chunks(*parts), numerics)[0, 0])


def _factors(m: int, q: int) -> tuple[int, int, int, int]:
    """Return codes and exponents of m * 2**q as the measurers chose them: 64 m and 64 from 1 on, else m and 1."""
    scale = 64 if q >= 0 else 1
    total = q + 2 * BIAS - (12 if q >= 0 else 0)
    return scale * m, total // 2, scale, total - total // 2


def number(code: int) -> float:
    """Return the number of an FP32 code."""
    return float(np.uint32(code).view(np.float32))


def generated(seed: int, count: int) -> np.ndarray:
    """Return states of the measurers' generator after a seed, uint32: x = 1664525 x + 1013904223 modulo 2**32."""
    states = np.empty(count, np.uint32)
    for i in range(count):
        seed = (1664525 * seed + 1013904223) & 0xFFFFFFFF
        states[i] = seed
    return states


# Rows of conversions on XDNA2 and AIE2.


CONVERT, SILICON = "silicon_xdna2_convert.npz", "aie_silicon.npz"
BUMPING = (1, 3, 9, 11, 12)
"""Modes in which 127.5 leaves the range: ceil, symmetric ceil, +inf, from zero, conv even."""
RANDOM = 2046
"""Values of the comparison with numpy."""


def converted(x_bits: np.ndarray, mode: int, name: str = XDNA2) -> tuple[int, list[int]]:
    """Return exponent and codes of one block of FP32 codes [8]."""
    values = np.ascontiguousarray(x_bits).view(np.float32)
    blocks = aie.to_mx(values, FORMAT, rounding=RoundingCode(mode), numerics=PRESETS[name].numerics)
    return int(blocks.exponent[0]), blocks.codes[0].tolist()


def wrong_bytes(
    evidence: Evidence, *probes: str, modes: range | tuple[int, ...] = range(16)
) -> dict[str, tuple[int, int]]:
    """Count the bytes of the chosen probes and modes that differ, and all of them, under both numerics."""
    archive = evidence.archive(CONVERT)
    chosen = [
        i
        for i, (probe, mode) in enumerate(zip(archive["probe"], archive["mode"], strict=True))
        if probe in probes and mode in modes
    ]
    if not chosen:
        raise AbsentEvidenceError(f"{CONVERT} has no probe {' or '.join(probes)}")
    found = {}
    for name in (XDNA2, AIE_ML_V2):
        wrong = 0
        for i in chosen:
            exponent, codes = converted(archive["x_bits"][i], int(archive["mode"][i]), name)
            wrong += (exponent != archive["exponent"][i]) + int(np.sum(codes != archive["codes"][i]))
        found[name] = wrong, 9 * len(chosen)
    return found


def same_bytes(evidence: Evidence, *probes: str, modes: range | tuple[int, ...] = range(16)) -> Finding:
    """Compare the bytes of the chosen probes."""
    found = wrong_bytes(evidence, *probes, modes=modes)
    texts = [f"{count - wrong} of {count} bytes under {name}" for name, (wrong, count) in found.items()]
    return decided(", ".join(texts), **{name: wrong == 0 for name, (wrong, _) in found.items()})


def tile_layout(evidence: Evidence) -> Finding:
    """A2: 64 codes, then 8 exponents."""
    rng = np.random.Generator(np.random.PCG64(31))
    blocks = aie.to_mx(rng.standard_normal(64).astype(np.float32), FORMAT)
    image = aie.pack_tile(blocks)
    expected = [*blocks.codes.view(np.uint8).ravel(), *blocks.exponent]
    return decided(f"{image.size} bytes: codes, then exponents", xdna2_bfp16ebs8=image.ravel().tolist() == expected)


def initial_rounding(evidence: Evidence) -> Finding:
    """Row A3 of the ledger."""
    return Finding(golden="rounding is an argument; code 0 is floor", verdicts={XDNA2: Verdict.NOT_EXPRESSIBLE})


def ties(evidence: Evidence) -> Finding:
    """A4: three blocks in each of ten modes."""
    return same_bytes(evidence, "ties")


def saturation(evidence: Evidence) -> Finding:
    """A5: 127.5 and -127.5 in one block, whose other elements are 32 and zeros, in units of 2**-6."""
    block = np.array([127.5, -127.5, 32, 0, 0, 0, 0, 0], np.float32) / 64
    agrees, exponents = {}, []
    for name in (XDNA2, AIE_ML_V2):
        agrees[name] = True
        for mode in RoundingCode:
            exponent, codes = converted(block.view(np.uint32), mode, name)
            bumped = mode in BUMPING
            halves = (64, -63 if mode == RoundingCode.CEIL else -64, 16)
            agrees[name] &= (exponent == 128) is bumped and (not bumped or tuple(codes[:3]) == halves)
            if name == XDNA2:
                exponents.append(f"{mode.value}: {exponent}")
    return decided(f"exponent by mode: {', '.join(exponents)}", **agrees)


def lowest_code(evidence: Evidence) -> Finding:
    """A6: -127.5 in floor and -inf."""
    block = np.array([-127.5, 64, 0, 0, 0, 0, 0, 0], np.float32) / 64
    got = {name: [converted(block.view(np.uint32), mode, name) for mode in (0, 8)] for name in (XDNA2, AIE_ML_V2)}
    agrees = {name: all((exponent, codes[0]) == (127, -128) for exponent, codes in each) for name, each in got.items()}
    return decided(f"codes {', '.join(str(codes[0]) for _, codes in got[XDNA2])} under exponent 127", **agrees)


def largest_number(evidence: Evidence) -> Finding:
    """A7: the largest FP32 number in floor; conv even would bump past 254, which nobody measured."""
    block = np.array([0x7F7FFFFF, *[0] * 7], np.uint32)
    got = {name: converted(block, 0, name) for name in (XDNA2, AIE_ML_V2)}
    even = {name: converted(block, 12, name) for name in (XDNA2, AIE_ML_V2)}
    finding = decided(
        f"e = {got[XDNA2][0]}, m = {got[XDNA2][1][0]}",
        **{name: (exponent, codes[0]) == (254, 127) for name, (exponent, codes) in got.items()},
    )
    prediction = Prediction(
        experiment="to_mx of FP32 0x7f7fffff and seven zeros in conv even",
        gives={name: f"e = 0x{exponent:02x}, m = 0x{codes[0] & 0xFF:02x}" for name, (exponent, codes) in even.items()},
    )
    return Finding(golden=finding.golden, verdicts=finding.verdicts, predictions=(prediction,))


def subnormals(evidence: Evidence) -> Finding:
    """A8: eight equal subnormals, the smallest and the largest."""
    agrees = {
        name: all(
            converted(np.full(8, word, np.uint32), 0, name) == (0, [0] * 8) for word in (1, 0x007FFFFF, 0x807FFFFF)
        )
        for name in (XDNA2, AIE_ML_V2)
    }
    return decided("e = 0 and codes 0", **agrees)


def not_finite(evidence: Evidence) -> Finding:
    """Row A9 of the ledger."""
    return same_bytes(evidence, "X1")


def zeros(evidence: Evidence) -> Finding:
    """A10: the archive's zeros, and a block of -0."""
    finding = same_bytes(evidence, "N1", "N2")
    negative = converted(np.full(8, 0x80000000, np.uint32), 0)
    same = negative == (0, [0] * 8)
    return finding if same else decided(f"-0 gives {negative}", **dict.fromkeys(finding.verdicts, False))


def bf16_and_numpy(evidence: Evidence) -> Finding:
    """A27: random numbers of N(0, 1)."""
    numbers = np.random.Generator(np.random.PCG64(31)).standard_normal(RANDOM).astype(np.float32)
    nearest = numbers.astype(ml_dtypes.bfloat16).view(np.uint16)
    even, floor = (aie.f32_to_bf16(numbers.view(np.uint32), rounding=mode) for mode in (12, 0))
    equal = [int(np.sum(each == nearest)) for each in (even, floor)]
    most = (floor.view(ml_dtypes.bfloat16).astype(np.float32) - numbers).max()
    return decided(
        f"{equal[0]} of {RANDOM} in conv even, {equal[1]} in floor; floor's largest error is {most:g}",
        aie_ml_v2=equal[0] == RANDOM and most <= 0,
    )


def rounding_codes(evidence: Evidence) -> Finding:
    """Row A28 of the ledger."""
    codes = {"floor": RoundingCode.FLOOR, "+inf": RoundingCode.POSITIVE_INF, "conv even": RoundingCode.CONV_EVEN}
    return decided(
        ", ".join(f"{name} {code.value}" for name, code in codes.items()),
        aie_ml_v2=[code.value for code in codes.values()] == [0, 9, 12],
    )


def control_registers(evidence: Evidence) -> Finding:
    """A29: golden has no control registers; AIE-ML v2's numbers are declared."""
    text = ", ".join(f"{name} is {CONTROL_REGISTERS[name]}" for name in ("crSat", "crRnd"))
    return Finding(golden=f"declared for AIE-ML v2: {text}", verdicts={XDNA2: Verdict.NOT_EXPRESSIBLE})


def truncation(evidence: Evidence) -> Finding:
    """A30: a tiny negative number beside 1.0 in code 0."""
    _, codes = converted(np.array([1, -(2.0**-20), 0, 0, 0, 0, 0, 0], np.float32).view(np.uint32), 0)
    word = int(aie.f32_to_bf16(np.array([0xBF800001], np.uint32), rounding=0)[0])
    truncated = codes[1] == 0 and word == 0xBF80
    return decided(
        f"-2**-20 beside 1.0 gives code {codes[1]}; FP32 0xbf800001 gives BF16 0x{word:04x}",
        xdna2_bfp16ebs8=truncated,
        aie_ml_v2=truncated,
    )


def ten_modes(evidence: Evidence) -> Finding:
    """Row A32 of the ledger."""
    archive = evidence.archive(SILICON)
    equal = count = 0
    for mode in RoundingCode:
        stated = archive[f"bf16_bits_rnd{mode.value}"]
        equal += int(np.sum(aie.f32_to_bf16(archive["f32_bits"], rounding=mode) == stated))
        count += stated.size
    return decided(f"{equal} of {count}", aie_ml_v2=equal == count)


def bf16_lanes(evidence: Evidence) -> Finding:
    """A33: NaN payloads depend on the datapath and are not compared."""
    archive = evidence.archive(SILICON)
    a = archive["mac_a"].view(ml_dtypes.bfloat16).reshape(-1, 4, 1, 8)
    b = archive["mac_b"].view(ml_dtypes.bfloat16).reshape(-1, 8, 4).swapaxes(1, 2)[:, np.newaxis]
    stated = archive["mac_out"].reshape(-1, 4, 4)
    got = aie.fused_dot(a, b, format="bf16").view(np.uint32)
    equal = int(np.sum((got == stated) | _is_nan(got) & _is_nan(stated)))
    return decided(f"{equal} of {stated.size} lanes", aie_ml_v2=equal == stated.size)


def _is_nan(words: np.ndarray) -> np.ndarray:
    return words & 0x7FFFFFFF > 0x7F800000


def widened(evidence: Evidence) -> Finding:
    """A34: all codes; the archive has no lanes of this conversion."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    got = aie.bf16_to_f32(codes)
    exact = codes.view(ml_dtypes.bfloat16).astype(np.float32)
    equal = int(np.sum((got.view(np.float32) == exact) | _is_nan(got) & np.isnan(exact)))
    return decided(f"{equal:,} of {codes.size:,} codes keep their number", aie_ml_v2=equal == codes.size)


def floors(evidence: Evidence) -> Finding:
    """A35: all BF16 numbers below 2**31 in magnitude; the archive has no lanes of this conversion."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    codes = codes[codes & 0x7FFF < 0x4F00]
    exact = np.floor(codes.view(ml_dtypes.bfloat16).astype(np.float64)).astype(np.int64)
    equal = int(np.sum(aie.bf16_to_int32(codes) == exact))
    return decided(f"{equal:,} of {codes.size:,} codes give their floor", aie_ml_v2=equal == codes.size)


def formats(evidence: Evidence) -> Finding:
    """A36: the formats that golden's to_mx takes."""
    return undecided("mx9, mx6 and mx4 under aie_ml_v2, bfp16ebs8 under xdna2_bfp16ebs8; no bfp16ebs16", XDNA2)


# Rows of whole matrix products through bfp16ebs8.


STATISTICS = "silicon_statistics.json"
EVEN, FLOOR = RoundingCode.CONV_EVEN, RoundingCode.FLOOR
SIZE = 128
"""Rows and columns of the results."""


def errors(a: np.ndarray, b: np.ndarray, rounding: RoundingCode) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors and the exact product."""
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return aie.matmul(a, b, format=FORMAT, rounding=rounding) - exact, exact


def correlation(error: np.ndarray, exact: np.ndarray) -> float:
    """Return the correlation of product and exact product."""
    return float(np.corrcoef((exact + error).ravel(), exact.ravel())[0, 1])


def norms(evidence: Evidence) -> Finding:
    """A23: the stated mean magnitude and the errors of both modes."""
    stated = evidence.rows(STATISTICS)["Triton-XDNA#93"]
    found = {}
    for mode in (EVEN, FLOOR):
        error, exact = errors(*matrices(SIZE, 256, SIZE), mode)
        size = np.abs(error)
        found[mode] = size.max(), size.mean(), float(np.sqrt(np.mean(error**2))), correlation(error, exact)
    near = [
        abs(mean / stated["mean"] - 1) < 0.05 and abs(rms / stated["rms"] - 1) < 0.05
        for _, mean, rms, _ in found.values()
    ]
    texts = [f"{most:.3f}, {mean:.3f}, {rms:.3f}, {corr:.6f}" for most, mean, rms, corr in found.values()]
    return decided(f"{texts[0]} in conv even; {texts[1]} in floor", xdna2_bfp16ebs8=near == [True, False])


def relative_errors(evidence: Evidence) -> Finding:
    """A24: relative L2 errors at K = 1024 by mode and distribution."""
    texts = []
    for uniform in (False, True):
        found = []
        for mode in (FLOOR, EVEN):
            error, exact = errors(*matrices(SIZE, 1024, SIZE, uniform=uniform), mode)
            found.append(float(np.linalg.norm(error) / np.linalg.norm(exact)))
        texts.append(f"{found[0]:.4f} and {found[1]:.4f}, ratio {found[0] / found[1]:.2f}")
    return undecided(f"floor and conv even: {texts[0]} for N(0, 1); {texts[1]} for uniform inputs", XDNA2)


def bias(evidence: Evidence) -> Finding:
    """A25: mean error per step of K at K = 512, uniform inputs."""
    found = [errors(*matrices(SIZE, 512, SIZE, uniform=True), mode)[0].mean() / 512 for mode in (FLOOR, EVEN)]
    return undecided(f"{found[0]:.5f} in floor, {found[1]:.5f} in conv even, for uniform inputs below 1", XDNA2)


def one_side(evidence: Evidence) -> Finding:
    """A26: correlation with one operand quantised and with both, K = 64."""
    a, b = matrices(SIZE, 64, SIZE)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    quantised = aie.from_mx(aie.to_mx(np.ascontiguousarray(b.T), FORMAT)).T.astype(np.float64)
    one = float(np.corrcoef((a.astype(np.float64) @ quantised).ravel(), exact.ravel())[0, 1])
    both = [correlation(*errors(*matrices(SIZE, 64, SIZE, uniform=uniform), EVEN)) for uniform in (False, True)]
    return undecided(
        f"{one:.6f} with one operand quantised, {both[0]:.6f} with both, N(0, 1); {both[1]:.6f} with both, uniform",
        XDNA2,
    )


def five_outputs(evidence: Evidence) -> Finding:
    """A31: the published BF16 outputs of the NPU and of a GPU; no inputs are published."""
    npu, gpu = (0x4D5E, 0x4E08, 0x4E58, 0x4E94, 0x4EBC), (0x4D60, 0x4E0A, 0x4E5C, 0x4E97, 0x4EC0)
    units = [b - a for a, b in zip(npu, gpu, strict=True)]
    return undecided(
        f"the NPU's codes are {', '.join(map(str, units))} units below the GPU's, as floor's bias is", XDNA2
    )


# Rows of products on XDNA2.


MMUL, CHAIN = "silicon_xdna2_mmul.npz", "silicon_xdna2_chain.json"
ONE, MINUS_ONE = (1, 0), (-1, 0)
UNIT = 2.0**-23
K, GROUP = 512, 32


def both(a: Operand, b: Operand) -> dict[str, np.ndarray]:
    """Return golden's chain under XDNA2's numerics and under those of AIE-ML v2."""
    return {name: golden_chain(a, b, PRESETS[name].numerics) for name in (XDNA2, AIE_ML_V2)}


def compared(stated: np.ndarray, a: Operand, b: Operand, more: str = "") -> Finding:
    """Compare golden's lanes with stated ones."""
    equal = {name: int(np.sum(each == stated)) for name, each in both(a, b).items()}
    return decided(
        f"{equal[XDNA2]} of {stated.size} lanes{more}", **{name: count == stated.size for name, count in equal.items()}
    )


def archived(evidence: Evidence, name: str) -> tuple[np.ndarray, Operand, Operand]:
    """Return a set of the archive: its outputs and both operands."""
    archive = evidence.archive(MMUL)
    a, b = (Operand(archive[f"{name}_{side}_codes"], archive[f"{name}_{side}_exp"]) for side in "ab")
    return archive[f"{name}_out_bits"], a, b


def one_product(evidence: Evidence) -> Finding:
    """A1: codes 64 and 1 under exponents 127 and 127."""
    got = {name: number(int(each[0, 0])) for name, each in both(*chunks([(64, 127, 1, 127)])).items()}
    return decided(f"{got[XDNA2]}", **{name: each == 0.015625 for name, each in got.items()})


def uniform_product(evidence: Evidence) -> Finding:
    """Row A11 of the ledger."""
    return compared(*archived(evidence, "p4_uniform"))


def wide_block(evidence: Evidence) -> Finding:
    """A12: a block of 32 as four of eight, then even codes halved under the next exponent."""
    stated, a, b = archived(evidence, "p5_mx32")
    even = Operand(a.codes & ~1, a.exponents)
    halved = Operand(even.codes >> 1, even.exponents + np.uint8(1))
    same = np.array_equal(golden_chain(even, b), golden_chain(halved, b))
    finding = compared(stated, a, b, f"; halved codes give equal bits: {'yes' if same else 'no'}")
    return finding if same else decided(finding.golden, **dict.fromkeys(finding.verdicts, False))


def chain_of_64(evidence: Evidence) -> Finding:
    """A13: 64 chunks, and how many lanes one rounding at the end would change. The archive holds four of the eight rows."""
    stated, a, b = archived(evidence, "xbfp_k512")
    left = int(np.sum(stated != rounded_once(a, b)))
    return compared(stated, a, b, f"; {left} differ from one rounding at the end")


def order_operands() -> tuple[Operand, Operand]:
    """Return the operands of the order contract: seed 0x01481481, exponent 130 for the first group of 32, then 118."""
    codes = (generated(0x01481481, 2 * 8 * K) >> 24).astype(np.uint8).view(np.int8).reshape(2, 8, K)
    exponents = np.full((K // 8, 8), 118, np.uint8)
    exponents[: GROUP // 8] = 130
    a, b = (Operand(each.reshape(8, K // 8, 8).swapaxes(0, 1), exponents) for each in codes)
    return a, b


def order_contract(evidence: Evidence) -> Finding:
    """A14: lanes that leave the rounded chain: one on silicon."""
    a, b = order_operands()
    chain = rounded_chain(a, b)
    lanes = {name: np.argwhere(each != chain) for name, each in both(a, b).items()}
    (row, column), got = lanes[XDNA2][0], golden_chain(a, b)
    text = f"{64 - len(lanes[XDNA2])} of 64 lanes; lane ({row}, {column}) is 0x{got[row, column]:08x}, the chain's 0x{chain[row, column]:08x}"
    finding = decided(text, **{name: len(each) == 1 for name, each in lanes.items()})
    prediction = Prediction(
        experiment=f"lane ({row}, {column}) of the K = 512 run with seed 0x01481481",
        gives={XDNA2: f"0x{got[row, column]:08x}", "FP32 chain": f"0x{chain[row, column]:08x}"},
    )
    return replace(finding, predictions=(prediction,))


def quantised(seed: int) -> Operand:
    """Return eight rows of 512 numbers, states' upper halves / 2**14, as blocks of 32: MXINT8, nearest even."""
    halves = (generated(seed, 8 * K) >> 16).astype(np.uint16).view(np.int16)
    values = (halves / np.float32(16384)).astype(np.float64).reshape(8, K // GROUP, GROUP)
    largest = np.abs(values).max(axis=-1)
    exponents = np.floor(np.log2(np.where(largest > 0, largest, 1))).astype(int) + 127
    codes = np.clip(np.rint(values / np.exp2(exponents[..., np.newaxis] - float(BIAS))), -127, 127).astype(np.int8)
    spread = exponents.astype(np.uint8).repeat(GROUP // 8, axis=-1)
    return Operand(codes.reshape(8, K // 8, 8).swapaxes(0, 1), spread.swapaxes(0, 1))


def quantised_by_host(evidence: Evidence) -> Finding:
    """A15: seeds 0x01480001 and 0x01480002; silicon equals the rounded chain in all lanes."""
    a, b = quantised(0x01480001), quantised(0x01480002)
    return compared(rounded_chain(a, b), a, b)


def probes(evidence: Evidence, *prefixes: str) -> Finding:
    """Compare golden with the archive's single-lane chains whose names begin with a prefix."""
    stated = [each for name, each in evidence.rows(CHAIN, "probes").items() if name.startswith(prefixes)]
    if not stated:
        raise AbsentEvidenceError(f"{CHAIN} has no probe {' or '.join(prefixes)}")
    equal = dict.fromkeys((XDNA2, AIE_ML_V2), 0)
    for each in stated:
        parts = [
            [(a, chunk["ea"], b, chunk["eb"]) for a, b in zip(chunk["a"], chunk["b"], strict=True)]
            for chunk in each["chunks"]
        ]
        for name, got in both(*chunks(*parts)).items():
            equal[name] += number(int(got[0, 0])) == each["silicon"]
    return decided(
        f"{equal[XDNA2]} of {len(stated)} chains", **{name: count == len(stated) for name, count in equal.items()}
    )


def crafted_ties(evidence: Evidence) -> Finding:
    """A16: the archive's chain, and its negative."""
    finding = probes(evidence, "tie_odd")
    negative = {
        name: number(lane([(-1, 0), (-3, -23), (-1, -24), (1, 0)], PRESETS[name].numerics))
        for name in (XDNA2, AIE_ML_V2)
    }
    agrees = {name: each == -3 * UNIT for name, each in negative.items()}
    return decided(
        f"{finding.golden}; the negative gives {negative[XDNA2] / UNIT:g} units of 2**-23",
        **{name: each and finding.verdicts[name] is Verdict.REPRODUCED for name, each in agrees.items()},
    )


def serial_fp32(evidence: Evidence) -> Finding:
    """A17: 2**-20 to 2**-43 under 1.0, and the serial chain."""
    return probes(evidence, "sweep_", "structure")


def no_sticky(evidence: Evidence) -> Finding:
    """A18: E1 to E4 in golden; E1 and E3 are in the archive too."""
    chains = {
        "E1": [ONE, (1, -30), (1, -24), MINUS_ONE],
        "E2": [ONE, (-1, -30), (1, -24), MINUS_ONE],
        "E3": [ONE, (1, -25), (1, -25), MINUS_ONE],
        "E4": [ONE, (1, -30), ONE, (1, -23), (-1, 1)],
    }
    return _all_zero(chains)


def vanishing_tails(evidence: Evidence) -> Finding:
    """A19: E7, whose tails cancel, and E9 with 1 to 8 tails under 1.0 and 5 and 8 under 2**8."""
    cancelling = [(17, -30)] * 4 + [(-15, -30)] * 4
    chains = {"E7": [ONE, *[cancelling] * 61, MINUS_ONE]}
    chains |= {f"E9 with {count}": [ONE, [(-1, -30)] * count, MINUS_ONE] for count in (1, 2, 3, 5, 8)}
    chains |= {f"E9b with {count}": [(1, 8), [(-1, -30)] * count, (-1, 8)] for count in (5, 8)}
    return _all_zero(chains)


def _all_zero(chains: dict[str, list]) -> Finding:
    codes = {name: [lane(each, PRESETS[name].numerics) for each in chains.values()] for name in (XDNA2, AIE_ML_V2)}
    zero = {name: sum(code << 1 & 0xFFFFFFFF == 0 for code in each) for name, each in codes.items()}
    return decided(
        f"{zero[XDNA2]} of {len(chains)} chains give 0", **{name: count == len(chains) for name, count in zero.items()}
    )


def models_of_others(evidence: Evidence) -> Finding:
    """A20: the lanes that golden predicts for E6; its operands are those of A14."""
    a, b = order_operands()
    got, chain = golden_chain(a, b), rounded_chain(a, b)
    experiment = "lanes ({}, 0) to ({}, 7) of the K = 512 run with seed 0x01481481"
    predictions = [
        Prediction(
            experiment=experiment.format(row, row), gives={XDNA2: " ".join(f"{code:08x}" for code in got[row].tolist())}
        )
        for row in range(8)
    ]
    return undecided(f"{int(np.sum(got == chain))} of 64 lanes equal the FP32 chain", XDNA2, *predictions)


def eight_equal_terms(evidence: Evidence) -> Finding:
    """A21: what golden and single-field variants predict."""
    numerics = PRESETS[XDNA2].numerics
    models = {
        XDNA2: numerics,
        "mx_post_add_first off": replace(numerics, mx_post_add_first=False),
        "align_fraction_bits 22": replace(numerics, align_fraction_bits=22),
        "align_rounding away": replace(numerics, align_rounding=RoundingCode.SYMMETRIC_INF),
    }
    predictions = [
        Prediction(
            experiment=f"1, then eight products of 2**-{power}, then -1",
            gives={name: f"0x{lane([ONE, [(1, -power)] * 8, MINUS_ONE], each):08x}" for name, each in models.items()},
        )
        for power in range(24, 28)
    ]
    units = [number(int(each.gives[XDNA2], 16)) / UNIT for each in predictions]
    return undecided(f"{', '.join(f'{each:g}' for each in units)} units of 2**-23", XDNA2, *predictions)


def ones(evidence: Evidence) -> Finding:
    """A22: 1024 products of A = B = 1 under the scale of A1."""
    found = []
    for codes, exponent in (((64, 64), 127), ((64, 64), 128)):
        part = [(codes[0], exponent, codes[1], 127)] * 8
        found.append(number(int(golden_chain(*chunks(*[part] * 128))[0, 0])))
    return undecided(f"{found[0]:g}; {found[1]:g} with one operand's exponents plus one", XDNA2)
