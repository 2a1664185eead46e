"""Rows of Tensix' unpackers and packers."""

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Format
from bitpath.sim.study.ledger.evidence import Evidence
from bitpath.sim.study.ledger.operands import bf16_codes, bf16_values
from bitpath.sim.study.ledger.row import Finding, Prediction, Verdict, decided, undecided
from bitpath.sim.study.ledger.tensix_words import BLOCK, block_codes, fp32_words, packed

VALUES = "silicon_tensix_values.json"
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
    """T14."""
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
    """T16."""
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
    first = _away(numbers / np.exp2(own - 6)) * np.exp2(own - 6)
    twice, once = (
        np.clip(_away(each / np.exp2(exponents.repeat(COLUMNS) - 133.0)), -127, 127) for each in (first, numbers)
    )
    equal, differ = int(np.sum(codes == twice)), int(np.sum(codes != once))
    return decided(
        f"{equal:,} of {COUNT:,} equal two roundings; {differ:,} differ from one",
        tensix_wormhole=equal == COUNT and differ > 0,
    )


def _away(value: np.ndarray) -> np.ndarray:
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
