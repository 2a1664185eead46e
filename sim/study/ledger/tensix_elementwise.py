"""Rows of Tensix' element-wise operations: single values and special values."""

from dataclasses import replace
from typing import Any

import numpy as np

from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE
from bitpath.sim.study.ledger.evidence import Evidence
from bitpath.sim.study.ledger.operands import bf16_codes, bf16_values
from bitpath.sim.study.ledger.row import Finding, Prediction, decided, undecided
from bitpath.sim.study.ledger.tensix_words import FIDELITIES, on_pairs

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
        first = _away(units[1], max(distance - 3, 0)) + (units[0] << min(distance, 3))
        expected = _away(first, min(distance, 3))
        expected = np.where(expected >= 256, _away(first, min(distance, 3) + 1) << 1, expected)
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


def _away(value: np.ndarray, bits: int) -> np.ndarray:
    return value + (1 << bits >> 1) >> bits
