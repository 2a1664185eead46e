"""Rows of conversions on XDNA2 and AIE2."""

import ml_dtypes
import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import CONTROL_REGISTERS
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS
from bitpath.sim.study.ledger.amd_chains import FORMAT, XDNA2
from bitpath.sim.study.ledger.evidence import AbsentEvidenceError, Evidence
from bitpath.sim.study.ledger.row import Finding, Prediction, Verdict, decided, undecided

DEFAULT, BUMP = "aie_ml_v2", "aie_ml_v2_bump"
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
    for name in (XDNA2, DEFAULT):
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
    """A3."""
    return Finding(golden="rounding is an argument; code 0 is floor", verdicts={XDNA2: Verdict.NOT_EXPRESSIBLE})


def ties(evidence: Evidence) -> Finding:
    """A4: three blocks in each of ten modes."""
    return same_bytes(evidence, "ties")


def saturation(evidence: Evidence) -> Finding:
    """A5: 127.5 and -127.5 in one block, whose other elements are 32 and zeros, in units of 2**-6."""
    block = np.array([127.5, -127.5, 32, 0, 0, 0, 0, 0], np.float32) / 64
    agrees, exponents = {}, []
    for name in (XDNA2, DEFAULT):
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
    got = {name: [converted(block.view(np.uint32), mode, name) for mode in (0, 8)] for name in (XDNA2, DEFAULT)}
    agrees = {name: all((exponent, codes[0]) == (127, -128) for exponent, codes in each) for name, each in got.items()}
    return decided(f"codes {', '.join(str(codes[0]) for _, codes in got[XDNA2])} under exponent 127", **agrees)


def largest_number(evidence: Evidence) -> Finding:
    """A7: the largest FP32 number in floor; conv even would bump past 254, which nobody measured."""
    block = np.array([0x7F7FFFFF, *[0] * 7], np.uint32)
    got = {name: converted(block, 0, name) for name in (XDNA2, DEFAULT)}
    even = {name: converted(block, 12, name) for name in (XDNA2, DEFAULT)}
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
        for name in (XDNA2, DEFAULT)
    }
    return decided("e = 0 and codes 0", **agrees)


def not_finite(evidence: Evidence) -> Finding:
    """A9."""
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
    """A28."""
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
    """A32."""
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
    got = aie.fused_dot(a, b, fmt="bf16").view(np.uint32)
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
