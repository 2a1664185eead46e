"""Rows that count errors over all pairs of BF16 numbers."""

from collections import Counter
from math import inf

from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.sim.study.ledger.evidence import Evidence
from bitpath.sim.study.ledger.row import Finding, decided
from bitpath.sim.study.ledger.statistics import add_errors, codes_between, multiply_errors

STATISTICS = "silicon_statistics.json"
BOTH = ("tensix_wormhole", "tensix_blackhole")
"""Chips that the threads do not tell apart; their numerics differ in a bug of the 32-bit Dst only."""


def equal_signs(evidence: Evidence) -> Finding:
    """T2: all pairs of positive numbers, and all of negative ones."""
    stated = evidence.rows(STATISTICS)["tt-metal#49944 same sign"]["ulp"]
    expected = {0: stated["0"], 1: stated["1"], inf: stated[">100"]}
    positive, negative = (add_errors(WORMHOLE.numerics, (sign, sign)) for sign in (0, 1))
    agrees = positive == negative == expected
    return decided(f"{_shown(positive)}, the same for negative pairs", **dict.fromkeys(BOTH, agrees))


def opposite_signs(evidence: Evidence) -> Finding:
    """T3: all pairs of a positive and a negative number, in both orders."""
    total = Counter(add_errors(WORMHOLE.numerics, (0, 1))) + Counter(add_errors(WORMHOLE.numerics, (1, 0)))
    share = 100 * total[1] / total.total()
    return decided(_shown(total), **dict.fromkeys(BOTH, max(total) == 1 and round(share, 2) == 0.49))


def products(evidence: Evidence) -> Finding:
    """T4: every pair of numbers of magnitude 1e-17 to 1e17 and both signs."""
    stated = evidence.rows(STATISTICS)["tt-metal#33701"]["percent"]
    total: Counter[float] = Counter()
    for signs in ((0, 0), (0, 1), (1, 0), (1, 1)):
        total.update(multiply_errors(WORMHOLE.numerics, signs, codes_between(1e-17, 1e17)))
    digits = {"0": 2, "1": 2, "2": 4}
    shares = {error: round(100 * total[int(error)] / total.total(), places) for error, places in digits.items()}
    return decided(_shown(total), **dict.fromkeys(BOTH, max(total) == 2 and shares == stated))


def _shown(errors: dict[float, int]) -> str:
    pairs = sum(errors.values())
    parts = [f"{errors[0]:,} right"]
    for error, count in sorted(errors.items()):
        if error:
            kind = "infinite on one side" if error == inf else f"off by {error:g}"
            parts.append(f"{count:,} ({100 * count / pairs:.4f} %) {kind}")
    return f"{', '.join(parts)} of {pairs:,}"
