"""Errors of Tensix's element-wise BF16 operations over pairs of operands, in units in the last place of BF16.

The error of a pair is the distance, in BF16 codes, from golden's result to the exact result rounded to nearest even. Tensix
has no subnormal numbers, so the reference counts them as zeros. The error is ``inf`` if one result of both is infinite.

Proof of the reference for sums ``x + y`` with abs(x) >= abs(y), both of 8 bits. If their exponents are at most 15 apart, the
sum has at most 24 bits, and FP32 holds it. Else abs(y) is below ``2**-15 * abs(x)``, but x is a BF16 number and more than
``2**-11 * abs(x)`` from the nearest tie: the exact sum and its FP32 rounding both round to x. Products have 16 bits, and FP32
holds them.

Ref: tt-metal #49944 (sums), #33701 (products).
"""

from collections import Counter
from math import inf

import ml_dtypes
import numpy as np

from bitpath.golden.arrays.parallel import cuts, mapped
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.sim.study.ledger.row import Evidence, Finding, decided
from bitpath.sim.study.ledger.tensix import on_pairs

Signs = tuple[int, int]
"""Sign bits of both operands."""
PAIRS = 1 << 15
"""Pairs at a time, so that their arrays stay in the cache."""
INFINITY = 0x7F80
SMALLEST_NORMAL = 0x0080

NORMAL = np.arange(SMALLEST_NORMAL, INFINITY, dtype=np.uint32)
"""Codes of all positive normal numbers, 32,512."""
MANTISSAS = np.arange(0x3F80, 0x4000, dtype=np.uint32)
"""Codes of 1.0 and above up to 2.0, 128."""


def add_errors(
    numerics: TensixNumerics, signs: Signs, operands: np.ndarray = NORMAL, rows: range | None = None
) -> dict[float, int]:
    """Count the errors of ``x + y`` by size, x and y each of `operands` with these signs; 16-bit Dst.

    Parameters
    ----------
    operands : codes of positive normal numbers, uint32.
    rows : positions of x among `operands`; None takes all.
    """
    return _errors("elwadd", np.add, numerics, operands if rows is None else operands[rows], operands, signs)


def multiply_errors(
    numerics: TensixNumerics, signs: Signs, operands: np.ndarray = MANTISSAS, rows: range | None = None
) -> dict[float, int]:
    """Count the errors of ``x * y`` by size, as `add_errors`; HiFi4, 16-bit Dst.

    Errors depend on the fractions alone where the products of all phases are normal numbers.
    """
    return _errors("elwmul", np.multiply, numerics, operands if rows is None else operands[rows], operands, signs)


def codes_between(low: float, high: float) -> np.ndarray:
    """Return the codes of the positive normal numbers from `low` to `high`."""
    values = _values(NORMAL)
    return NORMAL[(values >= low) & (values <= high)]


def _values(codes: np.ndarray) -> np.ndarray:
    """Return the FP32 numbers of BF16 codes."""
    return (codes << 16).view(np.float32)


def _errors(
    operation: str,
    exact: np.ufunc,
    numerics: TensixNumerics,
    xs: np.ndarray,
    ys: np.ndarray,
    signs: Signs,
) -> dict[float, int]:
    """Count the errors of all pairs of `xs` and `ys`, codes without signs, on all cores."""
    xs, ys = (each | np.uint32(sign << 15) for each, sign in zip((xs, ys), signs, strict=True))

    def count(rows: slice) -> Counter[float]:
        x, y = np.repeat(xs[rows], len(ys)), np.tile(ys, len(xs[rows]))
        with np.errstate(over="ignore"):
            wanted = exact(_values(x), _values(y)).astype(ml_dtypes.bfloat16).view(np.uint16)
        return _histogram(on_pairs(operation, x, y, numerics=numerics).astype(np.uint16), wanted)

    total: Counter[float] = Counter()
    for each in mapped(count, cuts(len(xs), PAIRS // len(ys) or 1)):
        total.update(each)
    return dict(sorted(total.items()))


def _histogram(got: np.ndarray, wanted: np.ndarray) -> Counter[float]:
    """Count the distances of BF16 codes."""
    wanted = np.where(wanted & INFINITY == 0, np.uint16(0), wanted)
    apart = got != wanted
    got, wanted = got[apart], wanted[apart]
    infinite = (got & 0x7FFF == INFINITY) != (wanted & 0x7FFF == INFINITY)
    errors = np.abs(_position(got) - _position(wanted))[~infinite]
    found = Counter[float]({0: len(apart) - len(got)})
    found.update(dict(enumerate(np.bincount(errors).tolist())))
    found[inf] = int(infinite.sum())
    return +found


def _position(codes: np.ndarray) -> np.ndarray:
    """Return codes in the order of their numbers; both zeros are 0."""
    magnitude = (codes & 0x7FFF).astype(np.int32)
    return np.where(codes >> 15 == 1, -magnitude, magnitude)


# Rows that count errors over all pairs of BF16 numbers.


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
