"""Rows of products on XDNA2."""

from dataclasses import replace

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS
from bitpath.sim.study.ledger.amd_chains import (
    BIAS,
    XDNA2,
    Operand,
    chunks,
    generated,
    golden_chain,
    lane,
    number,
    rounded_chain,
    rounded_once,
)
from bitpath.sim.study.ledger.evidence import AbsentEvidenceError, Evidence
from bitpath.sim.study.ledger.row import Finding, Prediction, Verdict, decided, undecided

DEFAULT = "aie_ml_v2"
MMUL, CHAIN = "silicon_xdna2_mmul.npz", "silicon_xdna2_chain.json"
ONE, MINUS_ONE = (1, 0), (-1, 0)
UNIT = 2.0**-23
K, GROUP = 512, 32


def both(a: Operand, b: Operand) -> dict[str, np.ndarray]:
    """Return golden's chain under XDNA2's numerics and under those of AIE-ML v2."""
    return {name: golden_chain(a, b, PRESETS[name].numerics) for name in (XDNA2, DEFAULT)}


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
    """A11."""
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
    equal = dict.fromkeys((XDNA2, DEFAULT), 0)
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
        name: number(lane([(-1, 0), (-3, -23), (-1, -24), (1, 0)], PRESETS[name].numerics)) for name in (XDNA2, DEFAULT)
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
    codes = {name: [lane(each, PRESETS[name].numerics) for each in chains.values()] for name in (XDNA2, DEFAULT)}
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
